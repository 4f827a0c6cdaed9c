/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_check_node: whether the node it runs on can hold the datasets of a job. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "cfg/desc.h"
#include "reach.h"
#include "rm/rm.h"
#include "store/cache.h"

enum { OPT_PREFIX, OPT_FREE, OPT_CNTL, OPT_CACHE };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_FREE] = { "free", 'f', NULL,
                   "compare capacities with what is free, not in all" },
    [OPT_CNTL] = { "cntl", 0, "DIR[:SIZE]", "check this control directory only" },
    [OPT_CACHE] = { "cache", 0, "DIR[:SIZE]", "check this cache directory only" },
    { 0 },
};

enum { PROBE = 1 << 20 }; /* bytes written and read back */

struct check {
    struct scr_tool *t;
    struct scr_place place;
    int use_free;
};

/* --- one directory --- */

static int write_and_read(const struct check *c, const char *path, struct scr_err *err)
{
    void *back = NULL;
    size_t n = 0;
    char *bytes = malloc(PROBE);
    TRY(bytes ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < PROBE; i++)
        bytes[i] = (char)(i * 31 + (i >> 8));
    int rc;
    TRY_OUT(scr_file_replace(c->t->env.sys, path, bytes, PROBE,
                             (struct scr_replace){ 0600, SCR_DURABLE }, err));
    TRY_OUT(scr_file_load(c->t->env.sys, path, PROBE, &back, &n, err));
    if ((n != PROBE || memcmp(bytes, back, n) != 0))
        TRY_OUT(scr_fail(err, SCR_E_CORRUPT, 0,
                         "%s: data read differ from data written", path));
out:
    free(back);
    free(bytes);
    return rc;
}

static int probe(const struct check *c, const char *dir, struct scr_err *err)
{
    char *path = scr_asprintf("%s/check.%ld", dir, (long)getpid());
    int rc = path ? write_and_read(c, path, err) : scr_no_memory(err);
    int removed = path ? scr_file_remove(c->t->env.sys, path, err) : rc;
    free(path);
    return rc == SCR_OK ? removed : rc;
}

static int check_capacity(const struct check *c, const char *base, uint64_t want,
                          struct scr_err *err)
{
    struct statvfs st;
    char have_text[32], want_text[32];
    if (want == 0)
        return SCR_OK;
    if (c->t->env.sys->statvfs(base, &st) != 0)
        return scr_fail(err, SCR_E_IO, 0, "%s: cannot find out its capacity", base);
    uint64_t have = (uint64_t)(c->use_free ? st.f_bavail : st.f_blocks) * st.f_frsize;
    if (have >= want)
        return SCR_OK;
    return scr_fail(err, SCR_E_FULL, 0, "%s: %s %s, expected %s", base,
                    scr_format_size(have, have_text, sizeof have_text),
                    c->use_free ? "free" : "in all",
                    scr_format_size(want, want_text, sizeof want_text));
}

static int check_store(const struct check *c, const char *base, int is_local,
                       uint64_t want, struct scr_err *err)
{
    int rc = check_capacity(c, base, want, err);
    if (rc == SCR_OK)
        rc = scr_place_make(&c->t->env, &c->place, base, is_local, err);
    char *dir = rc == SCR_OK ? scr_place_dir(&c->place, base, is_local) : NULL;
    if (rc == SCR_OK)
        rc = dir ? probe(c, dir, err) : scr_no_memory(err);
    free(dir);
    return rc;
}

/* --- which --- */

/* BYTES of the line key=path, 0 without one. */
static uint64_t expected(const struct check *c, const char *key, const char *path)
{
    uint64_t bytes = 0;
    scr_hash *lines = scr_cfg_lines(c->t->cfg, key);
    const scr_hash *line = lines ? scr_hash_get(lines, path) : NULL;
    const char *text = line ? scr_cfg_line_get(line, "BYTES", NULL) : NULL;
    if (text != NULL)
        (void)scr_parse_size(text, &bytes);
    scr_hash_delete(lines);
    return bytes;
}

static int check_all(const struct check *c, const struct scr_descs *d,
                     struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; i < d->nstores && rc == SCR_OK; i++) {
        const struct scr_store *s = &d->store[i];
        if (i != d->cntl_store && !scr_descs_uses(d, i))
            continue;
        uint64_t want =
            expected(c, i == d->cntl_store ? "CNTLDIR" : "CACHEDIR", s->path);
        rc = check_store(c, s->path, strcmp(s->group, "NODE") == 0, want, err);
    }
    return rc;
}

/* DIR[:SIZE] of the command line. */
static int check_given(struct scr_tool *t, const struct check *c, const char *text,
                       struct scr_err *err)
{
    const char *colon = strrchr(text, ':');
    uint64_t want = 0;
    if (colon != NULL && !scr_parse_size(colon + 1, &want))
        return scr_tool_usage(t, err, "\"%s\" is not DIR:SIZE", text);
    char *base =
        colon ? scr_asprintf("%.*s", (int)(colon - text), text) : scr_strdup(text);
    int rc = base ? check_store(c, base, 1, want, err) : scr_no_memory(err);
    free(base);
    return rc;
}

static int check_dirs(const struct check *c, const struct scr_args *a,
                      const struct scr_descs *d, struct scr_err *err)
{
    const char *cntl = a->opt[OPT_CNTL], *cache = a->opt[OPT_CACHE];
    if (cntl == NULL && cache == NULL)
        return check_all(c, d, err);
    int rc = cntl ? check_given(c->t, c, cntl, err) : SCR_OK;
    return rc == SCR_OK && cache ? check_given(c->t, c, cache, err) : rc;
}

static int check_node(struct scr_tool *t, const struct scr_args *a, struct check *c,
                      struct scr_err *err)
{
    struct scr_params prm;
    struct scr_descs d = { 0 };
    int rc = SCR_OK;
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    TRY(scr_tool_descs(t, a->opt[OPT_PREFIX], &prm, &d, err));
    c->place = (struct scr_place){ prm.user_name, prm.job_id, NULL, NULL };
    struct scr_hostlist vnodes = SCR_HOSTLIST_INIT;
    if (prm.vnodes != NULL)
        rc = scr_rm_expand(t->cfg, "SCR_VNODES", prm.vnodes, &vnodes, err);
    for (size_t i = 0; rc == SCR_OK && i < (vnodes.n ? vnodes.n : 1); i++) {
        c->place.vnode = vnodes.n ? vnodes.name[i] : NULL;
        rc = check_dirs(c, a, &d, err);
    }
    scr_hostlist_free(&vnodes);
    scr_descs_fini(&d);
    return rc;
}

/* Whatever is wrong here keeps the node from being used: it is the answer. */
static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct check c = { .t = t, .use_free = a->opt[OPT_FREE] != NULL };
    struct scr_err why = SCR_ERR_INIT;
    int rc = check_node(t, a, &c, &why);
    if (rc == SCR_E_USAGE)
        return scr_err_take(err, rc, &why);
    if (rc == SCR_OK)
        scr_tool_print(t, "PASS\n");
    else
        scr_tool_print(t, "FAIL: %s\n", why.text);
    return rc == SCR_OK ? SCR_OK : SCR_TOOL_NO;
}

const struct scr_cmd scr_cmd_check_node = {
    .usage = "[OPTION]...",
    .about = "Writes to the control and cache directories of the job on this node, "
             "reads back\n"
             "what was written, and compares the capacity with CNTLDIR and CACHEDIR "
             "lines of\n"
             "the configuration. Prints PASS, or FAIL and the reason; then the exit "
             "status is\n"
             "1.",
    .opts = opts,
    .run = run,
};
