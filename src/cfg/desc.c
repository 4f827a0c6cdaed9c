/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors once they are built: schemes, values of groups, which one applies. */
#include "cfg/desc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cfg/grammar.h"

/* --- schemes --- */

struct scheme_row {
    const char *name, *suffix;
    enum scr_scheme scheme;
};

/* Rows 0 to 3 in the order of the enum; then other names. */
static const struct scheme_row schemes[] = {
    { "SINGLE", "", SCR_SCHEME_SINGLE }, { "PARTNER", "partner", SCR_SCHEME_PARTNER },
    { "XOR", "xor", SCR_SCHEME_XOR },    { "RS", "rs", SCR_SCHEME_RS },
    { "LOCAL", "", SCR_SCHEME_SINGLE },
};

const char *scr_scheme_name(enum scr_scheme s)
{
    return schemes[s].name;
}

const char *scr_scheme_suffix(enum scr_scheme s)
{
    return schemes[s].suffix;
}

int scr_scheme_parse(const char *text, enum scr_scheme *out)
{
    for (size_t i = 0; text != NULL && i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strcasecmp(text, schemes[i].name) != 0)
            continue;
        *out = schemes[i].scheme;
        return 1;
    }
    return 0;
}

/* --- built descriptors --- */

void scr_descs_fini(struct scr_descs *d)
{
    for (int i = 0; i < d->nstores; i++) {
        free(d->store[i].path);
        free(d->store[i].group);
        free(d->store[i].origin);
    }
    for (int i = 0; i < d->nreds; i++) {
        free(d->red[i].group);
        free(d->red[i].origin);
    }
    free(d->store);
    free(d->red);
    scr_hash_delete(d->groups);
    memset(d, 0, sizeof *d);
}

const char *scr_descs_group_value(const struct scr_descs *d, const char *group,
                                  const char *host)
{
    if (strcasecmp(group, "NODE") == 0)
        return host;
    if (strcasecmp(group, "WORLD") == 0)
        return "WORLD";
    char *name = scr_conf_upper(group, strlen(group));
    const char *value =
        name ? scr_hash_get_val(scr_hash_get(d->groups, host), name) : NULL;
    free(name);
    return value;
}

static const struct scr_reddesc *output_desc(const struct scr_descs *d)
{
    for (int i = 0; i < d->nreds; i++)
        if (d->red[i].enabled && d->red[i].output)
            return &d->red[i];
    return NULL;
}

int scr_store_is_shared(const struct scr_store *store)
{
    return strcmp(store->group, "WORLD") == 0;
}

const struct scr_reddesc *scr_descs_select(const struct scr_descs *d, int ckpt_id,
                                           int is_output)
{
    const struct scr_reddesc *best = is_output ? output_desc(d) : NULL;
    if (best != NULL)
        return best;
    int id = ckpt_id > 0 ? ckpt_id : 1; /* a pure output: only INTERVAL=1 divides 1 */
    for (int i = 0; i < d->nreds; i++) {
        const struct scr_reddesc *r = &d->red[i];
        if (r->enabled && id % r->interval == 0 &&
            (best == NULL || r->interval > best->interval))
            best = r;
    }
    return best;
}
