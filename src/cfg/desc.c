/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors once they are built: schemes, values of groups, which one applies. */
#include "cfg/desc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
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

static int list_has(const char *list, const char *host, int *has, struct scr_err *err)
{
    struct scr_hostlist hosts = SCR_HOSTLIST_INIT;
    int rc = scr_hostlist_expand(list, &hosts, err);
    *has = rc == SCR_OK && scr_hostlist_contains(&hosts, host);
    scr_hostlist_free(&hosts);
    return rc;
}

/* name: of the group, in upper case. */
static int value_of_lines(const struct scr_descs *d, const char *name, const char *host,
                          const char **value, struct scr_err *err)
{
    for (SCR_HASH_EACH(hosts, d->groups)) {
        const char *text = scr_hash_get_val(scr_hash_elem_hash(hosts), name);
        int has = 0;
        if (text != NULL)
            TRY(list_has(scr_hash_elem_key(hosts), host, &has, err));
        if (has)
            *value = text;
    }
    return SCR_OK;
}

int scr_descs_group_value(const struct scr_descs *d, const char *group,
                          const char *host, const char **value, struct scr_err *err)
{
    int is_node = strcasecmp(group, "NODE") == 0;
    int is_world = strcasecmp(group, "WORLD") == 0;
    *value = is_node ? host : is_world ? "WORLD" : NULL;
    if (*value != NULL)
        return SCR_OK;
    char *name = scr_conf_upper(group, strlen(group));
    int rc = name ? value_of_lines(d, name, host, value, err) : scr_no_memory(err);
    free(name);
    return rc;
}

static const struct scr_reddesc *output_desc(const struct scr_descs *d)
{
    for (int i = 0; i < d->nreds; i++)
        if (d->red[i].enabled && d->red[i].output)
            return &d->red[i];
    return NULL;
}

int scr_descs_uses(const struct scr_descs *d, int store)
{
    for (int i = 0; i < d->nreds; i++)
        if (d->red[i].enabled && d->red[i].store == store)
            return 1;
    return 0;
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
