/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_rebuild_xor, _partner, _rs: rebuilds one redundancy set of a dataset that was
 * copied to the prefix directory. */
#include <stdlib.h>
#include <string.h>

#include "base/cwd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "cfg/desc.h"
#include "ops/stage.h"
#include "red/redfile.h"
#include "store/dset_names.h"
#include "tool.h"

enum { OPT_PREFIX, OPT_FILES };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the one the redundancy files are "
                     "in)" },
    [OPT_FILES] = { "files", 'f', "DIR",
                    "application files are below DIR (default: where scr_copy puts "
                    "them)" },
    { 0 },
};

/* The set, by the names of its files. */
struct set {
    enum scr_scheme scheme;
    int n, id;
    char *dir;                   /* all files are in it */
    const char *red[SCR_EC_MAX]; /* the existing ones, by member */
    char *out[SCR_EC_MAX];       /* where a lost one is written, by member */
};

static void set_fini(struct set *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->out[i]);
    free(s->dir);
}

/* --- the set --- */

static int set_open(struct scr_tool *t, struct set *s, const char *path,
                    struct scr_err *err)
{
    int member;
    if (!scr_redfile_parse(scr_path_base(path), &s->scheme, &member, &s->n, &s->id) ||
        s->n > SCR_EC_MAX) {
        s->n = 0;
        return scr_tool_usage(
            t, err, "%s is not the name of a redundancy file, such as 2_of_4_in_0.xor",
            path);
    }
    s->dir = scr_path_dir(path);
    for (int i = 0; i < s->n && s->dir != NULL; i++) {
        char *name = scr_redfile_name(s->scheme, i, s->n, s->id);
        s->out[i] = name ? scr_path_join(s->dir, name) : NULL;
        free(name);
        if (s->out[i] == NULL)
            break;
    }
    return s->dir != NULL && s->out[s->n - 1] != NULL ? SCR_OK : scr_no_memory(err);
}

/* scr_rebuild_xor is for XOR sets, and so on; as `scr rebuild` any. */
static int check_scheme(struct scr_tool *t, const struct set *s, struct scr_err *err)
{
    const char *of = strrchr(t->who, '_');
    enum scr_scheme scheme;
    if (of == NULL || !scr_scheme_parse(of + 1, &scheme) || scheme == s->scheme)
        return SCR_OK;
    return scr_tool_usage(t, err, "the set is protected by %s, use scr_rebuild_%s",
                          scr_scheme_name(s->scheme), scr_scheme_suffix(s->scheme));
}

static int take_file(struct scr_tool *t, struct set *s, const char *path,
                     struct scr_err *err)
{
    struct stat st;
    enum scr_scheme scheme;
    int member, n, id;
    char *dir = scr_path_dir(path);
    int same = dir != NULL &&
               scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &id) &&
               scheme == s->scheme && n == s->n && id == s->id &&
               strcmp(dir, s->dir) == 0;
    free(dir);
    if (!same)
        return scr_tool_usage(t, err, "%s is not of the same set", path);
    if (scr_file_stat(t->env.sys, s->out[member], &st, NULL) == SCR_OK)
        s->red[member] = s->out[member];
    return SCR_OK;
}

/* SIZE ROOT MISSING FILE…, the old way to say it. */
static int check_numbers(struct scr_tool *t, const struct scr_args *a,
                         const struct set *s, struct scr_err *err)
{
    int n, root;
    if (!scr_parse_int(a->operand[0], &n) || n != s->n)
        return scr_tool_usage(t, err, "a set of %s members, its files say %d",
                              a->operand[0], s->n);
    if (!scr_parse_int(a->operand[1], &root) || root < 0 || root >= n)
        return scr_tool_usage(t, err, "member %s: there are 0 to %d", a->operand[1],
                              n - 1);
    return SCR_OK;
}

static int parse(struct scr_tool *t, const struct scr_args *a, struct set *s,
                 struct scr_err *err)
{
    int ignored, old = a->noperands > 2 && scr_parse_int(a->operand[0], &ignored);
    int first = old ? 2 : 0;
    TRY(set_open(t, s, a->operand[first], err));
    TRY(check_scheme(t, s, err));
    if (old)
        TRY(check_numbers(t, a, s, err));
    for (int i = first; i < a->noperands; i++)
        TRY(take_file(t, s, a->operand[i], err));
    return SCR_OK;
}

/* --- where the application files are --- */

/* <prefix> of <prefix>/.scr/scr.dataset.<id>, and that id; malloc'd, or NULL. */
static char *prefix_of(const char *dir, int *id)
{
    char *cwd = NULL, *path = NULL, *scr;
    if (scr_cwd(&cwd, NULL) == SCR_OK)
        path = scr_path_join(cwd, dir);
    scr = path ? scr_path_dir(path) : NULL;
    free(cwd);
    *id = path ? scr_dset_id(scr_path_base(path)) : -1;
    char *prefix = scr && *id > 0 && strcmp(scr_path_base(scr), ".scr") == 0
                       ? scr_path_dir(scr)
                       : NULL;
    free(scr);
    free(path);
    return prefix;
}

static int open_prefix(struct scr_tool *t, const struct scr_args *a,
                       const struct set *s, int *id, struct scr_err *err)
{
    char *found = prefix_of(s->dir, id);
    const char *given = a->opt[OPT_PREFIX] ? a->opt[OPT_PREFIX] : found;
    int rc = given ? scr_tool_prefix(t, given, 0, err)
                   : scr_tool_usage(t, err,
                                    "%s is not the directory of a dataset: say with "
                                    "--prefix where its files belong",
                                    s->dir);
    free(found);
    return rc;
}

/* malloc'd */
static char *files_dir(struct scr_tool *t, const struct scr_args *a, int id)
{
    if (a->opt[OPT_FILES] != NULL)
        return scr_strdup(a->opt[OPT_FILES]);
    return id > 0 && scr_stage_is_there(&t->env, &t->prefix, id)
               ? scr_stage_dir(&t->prefix, id)
               : scr_strdup(t->prefix.path);
}

/* --- the command --- */

static int rebuild(struct scr_tool *t, const struct set *s, const char *files,
                   struct scr_err *err)
{
    int rebuilt[SCR_EC_MAX] = { 0 }, n = 0;
    const struct scr_rebuild_set left = {
        .n = s->n, .red = s->red, .out = (const char *const *)s->out, .prefix = files
    };
    TRY(scr_rebuild_serial(&t->env, &left, rebuilt, err));
    for (int i = 0; i < s->n; i++) {
        n += rebuilt[i] != 0;
        if (rebuilt[i] != 0)
            scr_tool_print_line(t, "member %d rebuilt: %s", i + 1, s->out[i]);
    }
    if (n == 0)
        scr_tool_print(t, "all %d members are whole\n", s->n);
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct set s = { .n = 0 };
    char *files = NULL;
    int id = -1;
    int rc;
    TRY_OUT(parse(t, a, &s, err));
    TRY_OUT(open_prefix(t, a, &s, &id, err));
    TRY_OUT((files = files_dir(t, a, id)) != NULL ? SCR_OK : scr_no_memory(err));
    TRY_OUT(rebuild(t, &s, files, err));
out:
    free(files);
    set_fini(&s);
    return rc;
}

const struct scr_cmd scr_cmd_rebuild = {
    .usage = "[OPTION]... [SIZE MEMBER] FILE...",
    .about =
        "Rebuilds what is lost or damaged of one redundancy set: the files of the\n"
        "application and the redundancy files, bit for bit. FILE... are the\n"
        "redundancy files of the set, in the directory of the dataset; those that\n"
        "are not there, or not named, count as lost. scr_index --build does this for\n"
        "all sets of a dataset.",
    .opts = opts,
    .notes = "SIZE, the members of the set, and MEMBER, the lost one from 0, may come\n"
             "first, as in SCR 3.x; the names of the files give both.",
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
