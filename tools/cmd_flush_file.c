/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_flush_file: what the flush file of a prefix directory says of the datasets in
 * cache. */
#include <stdlib.h>

#include "store/arrival.h"
#include "tool.h"

enum {
    OPT_LATEST,
    OPT_NEED_FLUSH,
    OPT_LOCATION,
    OPT_NAME,
    OPT_LIST_OUTPUT,
    OPT_LIST_CKPT,
    OPT_BEFORE,
    OPT_RESUME,
    OPT_SUMMARY,
    OPT_DIR,
    OPT_PREFIX,
    OPT_NEEDFLUSH_OLD,
    OPT_ID_OLD
};

static const struct scr_opt opts[] = {
    [OPT_LATEST] = { "latest", 'l', NULL, "print the id of the newest checkpoint" },
    [OPT_NEED_FLUSH] = { "need-flush", 'n', "ID",
                         "answer whether dataset ID is in cache only" },
    [OPT_LOCATION] = { "location", 'L', "ID", "print where dataset ID is" },
    [OPT_NAME] = { "name", 's', "ID", "print the name of dataset ID" },
    [OPT_LIST_OUTPUT] = { "list-output", 'o', NULL,
                          "list the outputs in cache only, oldest first" },
    [OPT_LIST_CKPT] = { "list-ckpt", 'c', NULL,
                        "list the checkpoints in cache only, newest first" },
    [OPT_BEFORE] = { "before", 'b', "ID", "with --list-ckpt: only those before ID" },
    [OPT_RESUME] = { "resume", 'r', NULL,
                     "with --name: complete dataset ID if all of it has arrived" },
    [OPT_SUMMARY] = { "summary", 'S', NULL, "the same; the summary is part of it" },
    [OPT_DIR] = { "dir", 'd', "DIR", "prefix directory (default: the current one)" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "the same" },
    [OPT_NEEDFLUSH_OLD] = { "needflush", 0, "ID", NULL },
    [OPT_ID_OLD] = { "id", 0, "ID", NULL },
    { 0 },
};

static const int actions[] = { OPT_LATEST,        OPT_NEED_FLUSH,  OPT_LOCATION,
                               OPT_NAME,          OPT_LIST_OUTPUT, OPT_LIST_CKPT,
                               OPT_NEEDFLUSH_OLD, OPT_ID_OLD,      -1 };

/* --- answers: SCR_OK, or SCR_TOOL_NO --- */

static int tell_latest(struct scr_tool *t, const scr_hash *h, int id)
{
    (void)id;
    int latest = scr_flush_latest(h);
    if (latest < 0)
        return SCR_TOOL_NO;
    scr_tool_print(t, "%d\n", latest);
    return SCR_OK;
}

static int tell_need(struct scr_tool *t, const scr_hash *h, int id)
{
    (void)t;
    return scr_flush_need(h, id) ? SCR_OK : SCR_TOOL_NO;
}

static int tell_location(struct scr_tool *t, const scr_hash *h, int id)
{
    const scr_hash *at =
        scr_hash_get(scr_hash_get_kv_int(h, "DATASET", id), "LOCATION");
    struct scr_str line = SCR_STR_INIT;
    for (SCR_HASH_EACH(e, at))
        scr_str_printf(&line, "%s%s", line.len > 0 ? " " : "", scr_hash_elem_key(e));
    if (scr_hash_size(at) > 0)
        scr_tool_print_line(t, "%s", line.p ? line.p : "");
    scr_str_free(&line);
    return scr_hash_size(at) > 0 ? SCR_OK : SCR_TOOL_NO;
}

static int tell_name(struct scr_tool *t, const scr_hash *h, int id)
{
    const char *name = scr_hash_get_val(scr_hash_get_kv_int(h, "DATASET", id), "NAME");
    if (name == NULL)
        return SCR_TOOL_NO;
    scr_tool_print_line(t, "%s", name);
    return SCR_OK;
}

/* Ids below `below` (0: all) with that flag, of datasets that are nowhere else, on one
 * line as SCR 3.x prints them. */
static int list(struct scr_tool *t, const scr_hash *h, const char *flag,
                int newest_first, int below, struct scr_err *err)
{
    int *ids, found = 0;
    size_t n;
    if (!scr_hash_list_int(scr_hash_get(h, "DATASET"), &ids, &n))
        return scr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        int id = ids[newest_first ? n - 1 - i : i];
        if (!scr_flush_need(h, id) || !scr_flush_has(h, id, flag) ||
            (below > 0 && id >= below))
            continue;
        scr_tool_print(t, found ? " %d" : "%d", id);
        found = 1;
    }
    if (found)
        scr_tool_print(t, "\n");
    free(ids);
    return found ? SCR_OK : SCR_TOOL_NO;
}

/* --- the command --- */

static const struct {
    int opt;
    int (*tell)(struct scr_tool *t, const scr_hash *h, int id);
} questions[] = {
    { OPT_LATEST, tell_latest },      { OPT_NEED_FLUSH, tell_need },
    { OPT_NEEDFLUSH_OLD, tell_need }, { OPT_ID_OLD, tell_need },
    { OPT_LOCATION, tell_location },  { OPT_NAME, tell_name },
};

static int answer(struct scr_tool *t, const struct scr_args *a, const scr_hash *h,
                  struct scr_err *err)
{
    int64_t id = 0, before = 0;
    TRY(scr_tool_int(t, a, OPT_BEFORE, SCR_AT_LEAST(1), &before, err));
    if (a->opt[OPT_LIST_OUTPUT] != NULL)
        return list(t, h, "OUTPUT", 0, 0, err);
    if (a->opt[OPT_LIST_CKPT] != NULL)
        return list(t, h, "CKPT", 1, (int)before, err);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        int opt = questions[i].opt;
        if (a->opt[opt] == NULL)
            continue;
        if (opts[opt].metavar != NULL)
            TRY(scr_tool_int(t, a, opt, SCR_AT_LEAST(1), &id, err));
        return questions[i].tell(t, h, (int)id);
    }
    return scr_tool_usage(t, err, "nothing to report: give --latest, --need-flush, …");
}

static int is_completion(const struct scr_args *a)
{
    return a->opt[OPT_RESUME] != NULL || a->opt[OPT_SUMMARY] != NULL;
}

static int check_use(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    TRY(scr_tool_exclusive(t, a, err, actions));
    if (a->opt[OPT_DIR] != NULL && a->opt[OPT_PREFIX] != NULL)
        TRY(scr_tool_usage(t, err, "the prefix is given twice"));
    if (a->opt[OPT_BEFORE] != NULL && a->opt[OPT_LIST_CKPT] == NULL)
        TRY(scr_tool_usage(t, err, "option --before goes with --list-ckpt"));
    if (is_completion(a) && a->opt[OPT_NAME] == NULL)
        TRY(scr_tool_usage(t, err, "option --%s goes with --name ID",
                           a->opt[OPT_RESUME] ? "resume" : "summary"));
    return SCR_OK;
}

/* Which datasets are in the prefix directory the index knows better. */
static int go_by_index(struct scr_tool *t, scr_hash *h, struct scr_err *err)
{
    int *ids = NULL, arrived;
    size_t n = 0;
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT(scr_prefix_index_look(&t->env, &t->prefix, &index, err));
    TRY_OUT(scr_arrivals_look(&t->env, &t->prefix, &index, h, &arrived, err));
    if (!scr_hash_list_int(scr_hash_get(h, "DATASET"), &ids, &n))
        TRY_OUT(scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(scr_flush_set_location(h, ids[i], SCR_LOC_PFS,
                                       scr_flush_is_saved(h, &index, ids[i], NULL)));
out:
    free(ids);
    scr_index_fini(&index);
    return rc;
}

static int tell(struct scr_tool *t, const struct scr_args *a, scr_hash *h,
                struct scr_err *err)
{
    TRY(scr_prefix_state_read(&t->env, &t->prefix, "flush.scr", h, err));
    TRY(go_by_index(t, h, err));
    return answer(t, a, h, err);
}

/* Of an asynchronous flush. Files that have not arrived are copied by the
 * transfer process that has them in its list, or by a scavenge. */
static int complete(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    int64_t id = 0;
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT(scr_tool_int(t, a, OPT_NAME, SCR_AT_LEAST(1), &id, err));
    TRY_OUT(scr_arrivals_adopt(&t->env, &t->prefix, NULL, err));
    TRY_OUT(scr_prefix_index_read(&t->env, &t->prefix, &index, err));
    TRY_OUT(scr_index_is_complete(&index, (int)id) ? SCR_OK : SCR_TOOL_NO);
out:
    scr_index_fini(&index);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    const char *dir = a->opt[OPT_DIR] ? a->opt[OPT_DIR] : a->opt[OPT_PREFIX];
    scr_hash *h = scr_hash_new();
    int rc = check_use(t, a, err);
    if (rc == SCR_OK)
        rc = scr_tool_prefix(t, dir, 0, err);
    if (rc == SCR_OK && is_completion(a))
        rc = complete(t, a, err);
    else if (rc == SCR_OK)
        rc = tell(t, a, h, err);
    scr_hash_delete(h);
    return rc;
}

const struct scr_cmd scr_cmd_flush_file = {
    .usage = "[OPTION]...",
    .about =
        "Prints what the flush file of a prefix directory records of the datasets\n"
        "that are, or were, in cache. The exit status is 0 if there is an answer,\n"
        "or it is yes, else 1.",
    .opts = opts,
    .run = run,
};
