/* SPDX-License-Identifier: BSD-3-Clause */
/* Building groups, stores and redundancy descriptors from parameters and lines. */
#include "cfg/desc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/path.h"
#include "base/str.h"
#include "cfg/grammar.h"
#include "cfg/source.h"
#include "cfg/spec.h"

/* --- what all parts of the building need --- */

struct builder {
    const struct scr_cfg *cfg;
    const struct scr_params *prm;
    struct scr_descs *out;
    struct scr_err *err;
};

/* A line being turned into a descriptor: "CKPT=1 (/p/.scrconf:7)" in messages. */
struct line {
    const char *key, *value;
    const scr_hash *hash;
    const char *origin;
};

static struct line line_of(const char *key, const scr_hash_elem *e)
{
    struct line line = { key, scr_hash_elem_key(e), scr_hash_elem_hash(e), NULL };
    (void)scr_cfg_line_get(line.hash, NULL, &line.origin);
    return line;
}

/* Builds one object of each line with that key. */
static int each_line(const struct builder *b, const char *key,
                     int (*take)(const struct builder *b, const struct line *line))
{
    int rc = SCR_OK;
    scr_hash *lines = scr_cfg_lines(b->cfg, key);
    TRY(lines ? SCR_OK : scr_no_memory(b->err));
    for (SCR_HASH_EACH(e, lines)) {
        struct line line = line_of(key, e);
        if (rc == SCR_OK)
            rc = take(b, &line);
    }
    scr_hash_delete(lines);
    return rc;
}

/* The default of a child, which "$SCR_NAME" takes from a parameter. */
static const char *default_text(const struct builder *b, const struct scr_spec *spec,
                                const char **origin)
{
    *origin = "default";
    if (spec->def == NULL || spec->def[0] != '$')
        return spec->def;
    *origin = scr_cfg_origin(b->cfg, spec->def + 1);
    return scr_cfg_get(b->cfg, spec->def + 1);
}

/* Value of a child of a line, or its default; *text and *origin: as it was written. */
static int get_child(const struct builder *b, const struct line *line,
                     const char *child, struct scr_value *v, const char **text,
                     const char **origin)
{
    char expected[160];
    const struct scr_spec *spec = scr_spec_child(line->key, child);
    *text = scr_cfg_line_get(line->hash, child, origin);
    if (*text == NULL)
        *text = default_text(b, spec, origin);
    if (scr_spec_parse(spec, *text, v))
        return SCR_OK;
    return scr_fail(b->err, SCR_E_CONFIG, 0, "%s=%s %s=%s (%s): expected %s", line->key,
                    line->value, child, *text, *origin,
                    scr_spec_expected(spec, expected, sizeof expected));
}

static int get_int(const struct builder *b, const struct line *line, const char *child,
                   int *out)
{
    struct scr_value v = { 0 };
    const char *text, *origin;
    int rc = get_child(b, line, child, &v, &text, &origin);
    *out = v.i;
    return rc;
}

/* --- groups --- */

static int group_exists(const struct scr_descs *d, const char *name)
{
    int exists = strcmp(name, "NODE") == 0 || strcmp(name, "WORLD") == 0;
    for (SCR_HASH_EACH(hosts, d->groups))
        exists = exists || scr_hash_get(scr_hash_elem_hash(hosts), name) != NULL;
    return exists;
}

static int check_hosts(const struct builder *b, const struct line *line)
{
    struct scr_hostlist hosts = SCR_HOSTLIST_INIT;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_hostlist_expand(line->value, &hosts, &why);
    scr_hostlist_free(&hosts);
    if (rc == SCR_OK)
        return SCR_OK;
    return scr_fail(b->err, rc == SCR_E_ARG ? SCR_E_CONFIG : rc, 0, "GROUPS (%s): %s",
                    line->origin, why.text);
}

/* Appended, even if an earlier line has the same list: the last line of a host counts.
 */
static int add_hosts(const struct builder *b, const struct line *line)
{
    TRY(check_hosts(b, line));
    (void)scr_hash_unset(b->out->groups, line->value);
    scr_hash *hosts = scr_hash_set(b->out->groups, line->value, NULL);
    TRY(hosts ? SCR_OK : scr_no_memory(b->err));
    for (SCR_HASH_EACH(e, scr_cfg_line_children(line->hash))) {
        const char *child = scr_hash_elem_key(e);
        const char *value = scr_cfg_line_get(line->hash, child, NULL);
        if (scr_hash_set_val(hosts, child, value) == NULL)
            return scr_no_memory(b->err);
    }
    return SCR_OK;
}

/* Those of the first source in order of precedence come last. The lists stay short: a
 * rank looks for one host, and there may be 10^5. */
static int add_groups(const struct builder *b)
{
    b->out->groups = scr_hash_new();
    TRY(b->out->groups ? SCR_OK : scr_no_memory(b->err));
    for (int s = SCR_CFG_NSOURCES - 1; s >= 0; s--)
        for (SCR_HASH_EACH(e, scr_source_lines(b->cfg->source[s], "GROUPS"))) {
            struct line line = line_of("GROUPS", e);
            TRY(add_hosts(b, &line));
        }
    return SCR_OK;
}

/* name in upper case into *out; "what" names it in the error if there is none. */
static int take_group(const struct builder *b, const char *name, const char *what,
                      const char *origin, char **out)
{
    *out = scr_conf_upper(name, strlen(name));
    TRY(*out ? SCR_OK : scr_no_memory(b->err));
    if (group_exists(b->out, *out))
        return SCR_OK;
    return scr_fail(
        b->err, SCR_E_CONFIG, 0,
        "%s=%s (%s): no such group; there are NODE, WORLD and those of GROUPS", what,
        name, origin);
}

static int take_group_of_line(const struct builder *b, const struct line *line,
                              char **out)
{
    struct scr_value v;
    const char *text, *origin;
    TRY(get_child(b, line, "GROUP", &v, &text, &origin));
    char *what = scr_asprintf("%s=%s GROUP", line->key, line->value);
    int rc = what ? take_group(b, text, what, origin, out) : scr_no_memory(b->err);
    free(what);
    return rc;
}

/* --- stores --- */

static int find_store(const struct scr_descs *d, const char *path)
{
    for (int i = 0; i < d->nstores; i++)
        if (strcmp(d->store[i].path, path) == 0)
            return i;
    return -1;
}

/* A new zeroed store of this path and origin; *path is taken over, also on failure. */
static int append_store(const struct builder *b, char *path, const char *origin,
                        struct scr_store **out)
{
    struct scr_descs *d = b->out;
    struct scr_store *grown =
        scr_reallocarray(d->store, (size_t)d->nstores + 1, sizeof *d->store);
    char *copy = scr_strdup(origin);
    if (grown != NULL)
        d->store = grown;
    if (grown == NULL || copy == NULL) {
        free(path);
        free(copy);
        return scr_no_memory(b->err);
    }
    *out = &d->store[d->nstores++];
    **out = (struct scr_store){ .path = path, .origin = copy };
    return SCR_OK;
}

/* Path of a store, normalised and malloc'd. */
static int take_path(const struct builder *b, const char *text, const char *what,
                     const char *origin, char **path)
{
    if (text == NULL || text[0] != '/')
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "%s=%s (%s): expected an absolute path", what, text ? text : "",
                        origin ? origin : "default");
    *path = scr_path_normal(text);
    return *path ? SCR_OK : scr_no_memory(b->err);
}

static int fill_store(const struct builder *b, const struct line *line,
                      struct scr_store *s)
{
    struct scr_value flush = { 0 };
    const char *text, *origin;
    TRY(get_int(b, line, "ENABLED", &s->enabled));
    TRY(get_int(b, line, "COUNT", &s->count));
    TRY(get_int(b, line, "MKDIR", &s->mkdir));
    TRY(get_child(b, line, "FLUSH", &flush, &text, &origin));
    s->flush = flush.id;
    return take_group_of_line(b, line, &s->group);
}

static int add_store(const struct builder *b, const struct line *line)
{
    char *path = NULL;
    struct scr_store *s;
    TRY(take_path(b, line->value, "STORE", line->origin, &path));
    if (find_store(b->out, path) >= 0) {
        /* "/tmp/" after "/tmp": the first one counts */
        free(path);
        return SCR_OK;
    }
    TRY(append_store(b, path, line->origin, &s));
    return fill_store(b, line, s);
}

/* The store of a base directory: a STORE line with its path, else one made for it. */
static int add_base(const struct builder *b, const char *name, const char *text,
                    int *index)
{
    const char *origin = scr_cfg_origin(b->cfg, name);
    struct line line = { "STORE", text, NULL, NULL };
    char *path = NULL, *from = NULL;
    struct scr_store *s;
    TRY(take_path(b, text, name, origin, &path));
    *index = find_store(b->out, path);
    if (*index >= 0) {
        free(path);
        return SCR_OK;
    }
    *index = b->out->nstores;
    from = scr_asprintf("%s, %s", name, origin);
    if (from == NULL) {
        free(path);
        return scr_no_memory(b->err);
    }
    int rc = append_store(b, path, from, &s);
    free(from);
    return rc == SCR_OK ? fill_store(b, &line, s) : rc;
}

static int build_stores(const struct builder *b, int *cache_store)
{
    TRY(each_line(b, "STORE", add_store));
    TRY(add_base(b, "SCR_CACHE_BASE", b->prm->cache_base, cache_store));
    TRY(add_base(b, "SCR_CNTL_BASE", b->prm->cntl_base, &b->out->cntl_store));
    if (!b->out->store[b->out->cntl_store].enabled)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "STORE=%s (%s): ENABLED=0, but SCR_CNTL_BASE needs it",
                        b->prm->cntl_base, b->out->store[b->out->cntl_store].origin);
    if (scr_store_is_shared(&b->out->store[b->out->cntl_store]))
        return scr_fail(
            b->err, SCR_E_CONFIG, 0,
            "STORE=%s (%s): GROUP=WORLD, but it is SCR_CNTL_BASE too, which "
            "must be storage of each node: set SCR_CNTL_BASE to such",
            b->prm->cntl_base, b->out->store[b->out->cntl_store].origin);
    return SCR_OK;
}

/* --- redundancy descriptors --- */

/* Copies of PARTNER: one, unless the user said otherwise. */
static int replicas(const struct builder *b, int asked)
{
    return scr_cfg_is_set(b->cfg, "SCR_SET_FAILURES") ? asked : 1;
}

static int check_store_of(const struct builder *b, const char *what, const char *origin,
                          const char *text, int store)
{
    if (store < 0)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "%s=%s (%s): no such store; declare it with a line STORE=%s",
                        what, text, origin, text);
    if (!b->out->store[store].enabled)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "%s=%s (%s): the store is disabled (%s)", what, text, origin,
                        b->out->store[store].origin);
    return SCR_OK;
}

/* The one descriptor of a configuration without CKPT lines. */
static int build_implied(const struct builder *b, int cache_store)
{
    const struct scr_params *prm = b->prm;
    struct scr_reddesc *r = b->out->red = scr_calloc(1, sizeof *b->out->red);
    TRY(r ? SCR_OK : scr_no_memory(b->err));
    b->out->nreds = 1;
    *r = (struct scr_reddesc){ .enabled = 1,
                               .interval = 1,
                               .bypass = prm->cache_bypass,
                               .store = cache_store,
                               .set_size = prm->set_size,
                               .set_failures = prm->set_failures,
                               .count = -1 };
    (void)scr_scheme_parse(prm->copy_type, &r->scheme);
    if (r->scheme == SCR_SCHEME_PARTNER)
        r->set_failures = replicas(b, prm->set_failures);
    r->origin =
        scr_asprintf("SCR_COPY_TYPE, %s", scr_cfg_origin(b->cfg, "SCR_COPY_TYPE"));
    TRY(r->origin ? SCR_OK : scr_no_memory(b->err));
    TRY(take_group(b, prm->group, "SCR_GROUP", scr_cfg_origin(b->cfg, "SCR_GROUP"),
                   &r->group));
    return check_store_of(b, "SCR_CACHE_BASE", r->origin, prm->cache_base, cache_store);
}

static int take_store_of_line(const struct builder *b, const struct line *line,
                              int *store)
{
    struct scr_value v;
    const char *text, *origin;
    char *path = NULL;
    int rc;
    TRY(get_child(b, line, "STORE", &v, &text, &origin));
    char *what = scr_asprintf("CKPT=%s STORE", line->value);
    TRY_OUT(what ? take_path(b, text, what, origin, &path) : scr_no_memory(b->err));
    *store = find_store(b->out, path);
    TRY_OUT(check_store_of(b, what, origin, text, *store));
out:
    free(what);
    free(path);
    return rc;
}

static int take_scheme_of_line(const struct builder *b, const struct line *line,
                               struct scr_reddesc *r)
{
    struct scr_value v;
    const char *text, *origin;
    TRY(get_child(b, line, "TYPE", &v, &text, &origin));
    (void)scr_scheme_parse(text, &r->scheme);
    if (r->scheme == SCR_SCHEME_PARTNER &&
        scr_cfg_line_get(line->hash, "SET_FAILURES", NULL) == NULL)
        r->set_failures = replicas(b, r->set_failures);
    return SCR_OK;
}

static int fill_red(const struct builder *b, const struct line *line,
                    struct scr_reddesc *r)
{
    TRY(get_int(b, line, "INTERVAL", &r->interval));
    TRY(get_int(b, line, "OUTPUT", &r->output));
    TRY(get_int(b, line, "BYPASS", &r->bypass));
    TRY(get_int(b, line, "SET_SIZE", &r->set_size));
    TRY(get_int(b, line, "SET_FAILURES", &r->set_failures));
    TRY(get_int(b, line, "COUNT", &r->count));
    TRY(take_scheme_of_line(b, line, r));
    TRY(take_store_of_line(b, line, &r->store));
    return take_group_of_line(b, line, &r->group);
}

/* A disabled descriptor keeps its number; the rest of its line is not looked at. */
static int add_red(const struct builder *b, const struct line *line)
{
    int index;
    if (!scr_parse_int(line->value, &index) || index < 0)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "CKPT=%s (%s): expected a number from 0 on", line->value,
                        line->origin);
    if (index >= b->out->nreds)
        return scr_fail(
            b->err, SCR_E_CONFIG, 0,
            "CKPT=%d (%s): %d CKPT lines must be numbered 0 to %d without gaps", index,
            line->origin, b->out->nreds, b->out->nreds - 1);
    struct scr_reddesc *r = &b->out->red[index];
    if (r->origin != NULL)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "CKPT=%s (%s): number %d is taken by %s", line->value,
                        line->origin, index, r->origin);
    *r = (struct scr_reddesc){
        .index = index, .interval = 1, .set_size = 1, .set_failures = 1, .count = -1
    };
    r->origin = scr_strdup(line->origin);
    TRY(r->origin ? SCR_OK : scr_no_memory(b->err));
    int rc = get_int(b, line, "ENABLED", &r->enabled);
    if (rc != SCR_OK || r->enabled)
        return rc == SCR_OK ? fill_red(b, line, r) : rc;
    r->group = scr_strdup("NODE");
    return r->group ? SCR_OK : scr_no_memory(b->err);
}

/* One descriptor applies to every checkpoint, and at most one takes output. */
static int check_reds(const struct builder *b)
{
    const struct scr_reddesc *every = NULL, *output = NULL;
    for (int i = 0; i < b->out->nreds; i++) {
        const struct scr_reddesc *r = &b->out->red[i];
        if (r->enabled && r->interval == 1)
            every = r;
        if (r->enabled && r->output && output != NULL)
            return scr_fail(b->err, SCR_E_CONFIG, 0,
                            "CKPT=%d (%s): OUTPUT=1 is already at CKPT=%d (%s)", i,
                            r->origin, output->index, output->origin);
        if (r->enabled && r->output)
            output = r;
    }
    if (every == NULL)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "CKPT=%d (%s): one CKPT line needs INTERVAL=1 (and be enabled)",
                        0, b->out->red[0].origin);
    return SCR_OK;
}

static int build_reds(const struct builder *b)
{
    scr_hash *lines = scr_cfg_lines(b->cfg, "CKPT");
    size_t n = scr_hash_size(lines);
    scr_hash_delete(lines);
    TRY(lines ? SCR_OK : scr_no_memory(b->err));
    if (n == 0)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "SCR_COPY_TYPE=FILE (%s): there are no CKPT lines",
                        scr_cfg_origin(b->cfg, "SCR_COPY_TYPE"));
    if (n > 1024)
        return scr_fail(b->err, SCR_E_CONFIG, 0, "more than 1024 CKPT lines");
    b->out->red = scr_calloc(n, sizeof *b->out->red);
    TRY(b->out->red ? SCR_OK : scr_no_memory(b->err));
    b->out->nreds = (int)n;
    TRY(each_line(b, "CKPT", add_red));
    return check_reds(b);
}

/* --- what stores in use cannot be --- */

/* FLUSH names a type in the order of SCR_FLUSH_TYPE, after 0 and 1. */
static int check_flush_of(const struct builder *b, const struct scr_store *s)
{
    enum { NEVER, DEFAULT, FIRST_TYPE };
    if (s->flush == NEVER)
        return scr_fail(
            b->err, SCR_E_CONFIG, 0,
            "STORE=%s (%s): FLUSH=0 is not possible: output has to reach the "
            "prefix directory; SCR_FLUSH=0 keeps checkpoints in cache",
            s->path, s->origin);
    if (s->flush != DEFAULT && s->flush - FIRST_TYPE != b->prm->flush_type_id)
        return scr_fail(b->err, SCR_E_CONFIG, 0,
                        "STORE=%s (%s): FLUSH is not SCR_FLUSH_TYPE=%s (%s), by which "
                        "all stores are flushed: set that",
                        s->path, s->origin, b->prm->flush_type,
                        scr_cfg_origin(b->cfg, "SCR_FLUSH_TYPE"));
    return SCR_OK;
}

static int check_mkdir_of(const struct builder *b, const struct scr_store *s)
{
    if (s->mkdir)
        return SCR_OK;
    return scr_fail(b->err, SCR_E_CONFIG, 0,
                    "STORE=%s (%s): MKDIR=0, but SCR makes directories in every store "
                    "it uses: take another one",
                    s->path, s->origin);
}

static int check_used_stores(const struct builder *b)
{
    int rc = check_mkdir_of(b, &b->out->store[b->out->cntl_store]);
    for (int i = 0; i < b->out->nreds && rc == SCR_OK; i++) {
        const struct scr_reddesc *r = &b->out->red[i];
        if (!r->enabled)
            continue;
        rc = check_mkdir_of(b, &b->out->store[r->store]);
        if (rc == SCR_OK)
            rc = check_flush_of(b, &b->out->store[r->store]);
    }
    return rc;
}

/* Where nothing may be kept, nothing is written. */
static void bypass_what_is_not_kept(const struct builder *b)
{
    for (int i = 0; i < b->out->nreds; i++) {
        struct scr_reddesc *r = &b->out->red[i];
        if (r->enabled && (r->count == 0 || b->out->store[r->store].count == 0))
            r->bypass = 1;
    }
}

/* --- the whole --- */

int scr_descs_build(const struct scr_cfg *cfg, const struct scr_params *prm,
                    struct scr_descs *out, struct scr_err *err)
{
    struct builder b = { cfg, prm, out, err };
    int cache_store = 0;
    memset(out, 0, sizeof *out);
    int rc;
    TRY_OUT(add_groups(&b));
    TRY_OUT(build_stores(&b, &cache_store));
    TRY_OUT(strcasecmp(prm->copy_type, "FILE") == 0 ? build_reds(&b)
                                                    : build_implied(&b, cache_store));
    TRY_OUT(check_used_stores(&b));
    bypass_what_is_not_kept(&b);
out:
    if (rc != SCR_OK)
        scr_descs_fini(out);
    return rc;
}
