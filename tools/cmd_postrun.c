/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_postrun: after the last run of a job, what is only in cache goes to the prefix
 * directory: output, and the newest checkpoint that can be made whole. */
#include <stdlib.h>

#include "base/units.h"
#include "fmt/lost_output.h"
#include "fmt/state.h"
#include "job.h"
#include "ops/build.h"
#include "ops/sweep.h"
#include "reach.h"
#include "red/survey.h"
#include "scavenge.h"
#include "store/arrival.h"

enum {
    OPT_PREFIX,
    OPT_LAUNCHER,
    OPT_JOBSET,
    OPT_DOWN,
    OPT_TIMEOUT,
    OPT_DRY_RUN,
    OPT_ENDED
};

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_LAUNCHER] = { "joblauncher", 'j', "NAME",
                       "launcher of the job, as srun; nothing depends on it" },
    [OPT_JOBSET] = { "jobset", 0, "NODES", "nodes of the job (default: all of it)" },
    [OPT_DOWN] = { "down", 'd', "NODES", "nodes that are lost" },
    [OPT_TIMEOUT] = { "timeout", 'T', "TIME",
                      "longest time for the nodes to copy (default: as the job has)" },
    [OPT_DRY_RUN] = { "dry-run", 'n', NULL, "only print what would be saved" },
    [OPT_ENDED] = { "ended", 'e', NULL,
                    "the run has ended, even if some of its processes still exist" },
    { 0 },
};

struct postrun {
    struct scr_tool *t;
    const struct scr_args *a;
    struct scr_scavenge s;
    int is_open; /* s: opened when there is something to do */
    scr_hash *flush;
    struct scr_index index;
    const char *job_id;                 /* borrowed from t->cfg */
    int stays;                          /* no run goes back for lost output */
    int lost;                           /* datasets that could not be saved */
    struct scr_lost_output lost_output; /* those of them that are output */
};

/* --- what is where --- */

static int note_cached(struct postrun *p, const scr_filemap *map, int id)
{
    const struct scr_entry *e = scr_filemap_first(map, id);
    if (scr_hash_get_kv_int(p->flush, "DATASET", id) != NULL || e == NULL ||
        e->expected < 0)
        return SCR_OK;
    TRY(scr_flush_set_dataset(p->flush, e->dataset));
    return scr_flush_set_location(p->flush, id, SCR_LOC_CACHE, 1);
}

/* The flush file is not synced, and may be lost with the node that wrote it or lack
 * what was written while the prefix directory was out of reach: the caches in reach say
 * themselves what is in them. */
static int ask_caches(struct postrun *p, struct scr_err *err)
{
    struct scr_tool *t = p->t;
    struct scr_reach reach = { 0 };
    struct scr_survey s = { .map = NULL };
    int *ids = NULL, n = 0;
    int rc;
    TRY_OUT(scr_tool_reach(t, t->prefix.path, NULL, &reach, err));
    scr_tool_tell_scr3(t);
    TRY_OUT(scr_survey_reach(&s, &t->env, &reach, err));
    TRY_OUT(scr_filemap_list_datasets(s.map, &n, &ids) == SCR_OK ? SCR_OK
                                                                 : scr_no_memory(err));
    for (int i = 0; i < n; i++)
        TRY_OUT(note_cached(p, s.map, ids[i]) == SCR_OK ? SCR_OK : scr_no_memory(err));
out:
    free(ids);
    scr_survey_fini(&s);
    scr_reach_fini(&reach);
    return rc;
}

/* Datasets in the caches of another job are left to its postrun. */
static int keep_own(struct postrun *p, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(p->flush, "DATASET"), &ids, &n))
        return scr_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!scr_flush_is_of_job(p->flush, ids[i], p->job_id))
            scr_flush_remove(p->flush, ids[i]);
    free(ids);
    return SCR_OK;
}

static int look_around(struct postrun *p, struct scr_err *err)
{
    struct scr_tool *t = p->t;
    struct scr_err why = SCR_ERR_INIT;
    int n = 0, dry = p->a->opt[OPT_DRY_RUN] != NULL;
    TRY(dry ? scr_prefix_index_look(&t->env, &t->prefix, &p->index, err)
            : scr_prefix_index_read(&t->env, &t->prefix, &p->index, err));
    if (dry)
        TRY(scr_arrivals_look(&t->env, &t->prefix, &p->index, NULL, &n, err));
    int rc = scr_prefix_state_read(&t->env, &t->prefix, "flush.scr", p->flush, &why);
    if (rc == SCR_OK)
        rc = keep_own(p, &why);
    if (rc == SCR_E_VERSION || rc == SCR_E_NOMEM)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK)
        scr_log(t->env.log, SCR_LOG_WARN, "%s; going by the caches in reach", why.text);
    int known = scr_hash_size(scr_hash_get(p->flush, "DATASET")) > 0;
    rc = ask_caches(p, known ? &why : err);
    if (rc == SCR_OK || !known)
        return rc;
    scr_log(t->env.log, SCR_LOG_WARN, "%s; going by flush.scr", why.text);
    return SCR_OK;
}

static int needs_saving(const struct postrun *p, int id)
{
    return scr_flush_is_unsaved(p->flush, &p->index, id);
}

static const char *name_of(const struct postrun *p, int id)
{
    return scr_flush_name(p->flush, id);
}

/* --- one dataset --- */

static int open_scavenge(struct postrun *p, struct scr_err *err)
{
    const struct scr_scavenge_opts o = { .jobset = p->a->opt[OPT_JOBSET],
                                         .down = p->a->opt[OPT_DOWN],
                                         .ended = p->a->opt[OPT_ENDED] != NULL,
                                         .timeout = p->a->opt[OPT_TIMEOUT] };
    if (p->is_open)
        return SCR_OK;
    int rc = scr_scavenge_open(p->t, &o, &p->s, err);
    p->is_open = 1;
    if (rc != SCR_OK || p->s.down.n == 0)
        return rc;
    char *down = NULL;
    if (scr_hostlist_compress(&p->s.down, 0, &down, NULL) == SCR_OK)
        scr_tool_print(p->t, "nodes %s are lost\n", down);
    free(down);
    return SCR_OK;
}

static void tell_saved(struct postrun *p, int id, const struct scr_build_report *r)
{
    char rebuilt[64] = "";
    if (r->rebuilt_ranks > 0)
        snprintf(rebuilt, sizeof rebuilt, ", %d rank%s rebuilt", r->rebuilt_ranks,
                 r->rebuilt_ranks > 1 ? "s" : "");
    scr_tool_print_line(p->t, "dataset %d (%s): complete in %s, %llu file%s%s", id,
                        name_of(p, id), p->t->prefix.path, (unsigned long long)r->files,
                        scr_plural((int64_t)r->files), rebuilt);
}

/* SCR_TOOL_NO: it is lost, and counted. An error: it may be saved by another try. */
static int save(struct postrun *p, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_build_report report;
    const scr_hash *dset = scr_hash_getf(p->flush, "DATASET %d DSETDESC", id);
    int rc = open_scavenge(p, err);
    if (rc == SCR_OK)
        rc = scr_scavenge_dataset(&p->s, id, dset, &why);
    fflush(p->t->out); /* what is warned of below comes after it */
    if (rc == SCR_OK)
        rc = scr_build_dataset(&p->t->env, &p->t->prefix, id, &report, &why);
    if (rc == SCR_OK)
        tell_saved(p, id, &report);
    if (rc != SCR_E_LOST && rc != SCR_E_NOENT && rc != SCR_E_TAKEN)
        return rc == SCR_OK || why.code == SCR_OK ? rc : scr_err_take(err, rc, &why);
    if (why.code == SCR_OK) /* no node is left */
        return rc;
    if (p->s.trouble != NULL)
        return scr_fail(err, SCR_E_IO, 0,
                        "dataset %d (%s) is not saved yet, try again: %s", id,
                        name_of(p, id), p->s.trouble);
    p->lost++;
    scr_log(p->t->env.log, SCR_LOG_WARN, "dataset %d (%s) is not saved: %s", id,
            name_of(p, id), why.text);
    return SCR_TOOL_NO;
}

/* --- all there is --- */

static int plan(struct postrun *p, int id, const char *what, struct scr_err *err)
{
    scr_tool_print_line(p->t, "%s %d (%s) is in cache only%s", what, id, name_of(p, id),
                        p->a->opt[OPT_DRY_RUN] ? "" : ": saving it");
    fflush(p->t->out);
    return p->a->opt[OPT_DRY_RUN] ? SCR_OK : save(p, id, err);
}

static int save_output(struct postrun *p, const int *ids, size_t n, int *found,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < n && (rc == SCR_OK || rc == SCR_TOOL_NO); i++)
        if (scr_flush_has(p->flush, ids[i], "OUTPUT") && needs_saving(p, ids[i])) {
            *found = 1;
            rc = plan(p, ids[i], "output", err);
            if (rc == SCR_TOOL_NO && scr_flush_is_open_output(p->flush, ids[i]))
                scr_lost_output_add(&p->lost_output, ids[i], name_of(p, ids[i]));
        }
    return rc == SCR_TOOL_NO ? SCR_OK : rc;
}

/* From the newest on, until one is saved or the next older one is in the prefix. */
static int save_ckpt(struct postrun *p, const int *ids, size_t n, int *found,
                     struct scr_err *err)
{
    int there = scr_index_newest(&p->index);
    for (size_t i = n; i-- > 0 && ids[i] >= there;) {
        if (!scr_flush_has(p->flush, ids[i], "CKPT") || !needs_saving(p, ids[i]) ||
            scr_flush_has(p->flush, ids[i], "OUTPUT"))
            continue;
        *found = 1;
        int rc = plan(p, ids[i], "checkpoint", err);
        if (rc != SCR_TOOL_NO)
            return rc;
    }
    if (p->lost > 0 && there > 0)
        scr_tool_print_line(p->t, "checkpoint %d in %s is the newest there is", there,
                            p->t->prefix.path);
    return SCR_OK;
}

/* CURRENT goes back before the lost output, if there is a checkpoint; the printed
 * result. */
static int edit_back(struct scr_index *index, void *arg, int *changed,
                     struct scr_err *err)
{
    struct postrun *p = arg;
    const struct scr_lost_output *l = &p->lost_output;
    struct scr_restart_list list = { 0 };
    scr_restart_list_index(&list, index);
    struct scr_lost_output_choice c = scr_lost_output_choose(&list, l->oldest);
    int bad = list.bad;
    scr_restart_list_fini(&list);
    TRY(!bad ? SCR_OK : scr_no_memory(err));
    char *text = scr_lost_output_text(
        l, &c, p->stays ? SCR_LOST_OUTPUT_STAY : SCR_LOST_OUTPUT_NEXT);
    if (text != NULL)
        scr_log(p->t->env.log, SCR_LOG_WARN, "%s", text);
    free(text);
    *changed = c.goes_back && !p->stays;
    return *changed ? scr_index_set_current(index, c.name) : SCR_OK;
}

/* When all is saved that can be: what is in cache only goes with the allocation. */
static int go_back(struct postrun *p, struct scr_err *err)
{
    if (p->lost_output.oldest == 0)
        return SCR_OK;
    return scr_prefix_index_update(&p->t->env, &p->t->prefix, edit_back, p, err);
}

/* Leftovers of a postrun that was killed after all was in place, before the cleanup. */
static void tidy(const struct postrun *p)
{
    for (size_t i = p->index.n; i-- > 0;)
        if (p->index.of[i].complete && !p->index.of[i].failed)
            scr_build_tidy(&p->t->env, &p->t->prefix, p->index.of[i].id);
}

/* A prefix directory without data is mostly one that is not that of the job. */
static void tell_nothing(const struct postrun *p, size_t cached)
{
    struct scr_err why = SCR_ERR_INIT;
    if (cached > 0)
        scr_tool_print(p->t, "nothing to save: all that is in cache is in the prefix "
                             "directory, was deleted there, or is older\n");
    else if (scr_tool_check_data(p->t, &why) != SCR_OK)
        scr_tool_print_line(p->t, "nothing to save: %s", why.text);
    else
        scr_tool_print(p->t, "nothing to save: nothing is in cache\n");
}

static int save_all(struct postrun *p, struct scr_err *err)
{
    int *ids = NULL, found = 0, rc = look_around(p, err);
    size_t n = 0;
    if (rc == SCR_OK && p->a->opt[OPT_DRY_RUN] == NULL)
        tidy(p);
    if (rc == SCR_OK && !scr_hash_list_int(scr_hash_get(p->flush, "DATASET"), &ids, &n))
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        rc = save_output(p, ids, n, &found, err);
    if (rc == SCR_OK && found && !p->a->opt[OPT_DRY_RUN]) {
        scr_index_fini(&p->index); /* what was output and a checkpoint is there now */
        rc = scr_prefix_index_read(&p->t->env, &p->t->prefix, &p->index, err);
    }
    if (rc == SCR_OK)
        rc = save_ckpt(p, ids, n, &found, err);
    if (rc == SCR_OK || rc == SCR_TOOL_NO) {
        int back = go_back(p, err);
        rc = back == SCR_OK ? rc : back;
    }
    if (rc == SCR_OK && !found)
        tell_nothing(p, n);
    free(ids);
    return rc;
}

static void adopt(struct scr_tool *t)
{
    int n = scr_tool_adopt(t);
    if (n > 0)
        scr_tool_print(t, "%d dataset%s copied by a flush: complete now\n", n,
                       n > 1 ? "s" : "");
}

/* Removes temporary files of killed flushes. */
static void sweep(struct scr_tool *t)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t n = 0;
    if (scr_sweep_killed(&t->env, &t->prefix, &n, &why) != SCR_OK)
        scr_log(t->env.log, SCR_LOG_WARN,
                "temporary files of killed flushes stay in %s until the next start: %s",
                t->prefix.path, why.text);
    scr_err_clear(&why);
    if (scr_sweep_records(&t->env, &t->prefix, &why) != SCR_OK)
        scr_log(t->env.log, SCR_LOG_WARN, "temporary files of state files stay: %s",
                why.text);
    if (n > 0)
        scr_tool_print(t, "%llu temporary file%s of killed flushes removed\n",
                       (unsigned long long)n, n > 1 ? "s" : "");
}

/* SCR_ENABLE=0: there has been no SCR in the job. */
static int is_enabled(struct postrun *p, int *enabled, struct scr_err *err)
{
    struct scr_tool *t = p->t;
    struct scr_params prm;
    TRY(scr_tool_params(t, t->prefix.path, &prm, err));
    *enabled = prm.enable;
    p->job_id = prm.job_id;
    p->stays = prm.restart_past_lost_output;
    if (!prm.enable)
        scr_tool_print(t, "nothing to save: SCR is disabled by SCR_ENABLE=0\n");
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct postrun p = { .t = t, .a = a };
    int enabled = 0;
    TRY(scr_job_launcher(t, a, OPT_LAUNCHER, err));
    TRY(scr_tool_hosts(t, a, OPT_JOBSET, NULL, err));
    TRY(scr_tool_hosts(t, a, OPT_DOWN, NULL, err));
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    TRY(is_enabled(&p, &enabled, err));
    if (!enabled)
        return SCR_OK;
    if (a->opt[OPT_DRY_RUN] == NULL) {
        adopt(t);
        sweep(t);
    }
    p.flush = scr_hash_new();
    int rc = p.flush ? save_all(&p, err) : scr_no_memory(err);
    if (p.is_open)
        scr_scavenge_close(&p.s);
    scr_lost_output_fini(&p.lost_output);
    scr_hash_delete(p.flush);
    scr_index_fini(&p.index);
    return rc == SCR_OK && p.lost > 0 ? SCR_TOOL_NO : rc;
}

const struct scr_cmd scr_cmd_postrun = {
    .usage = "[OPTION]...",
    .about = "After the last run of a job, copies what is only in cache to the prefix\n"
             "directory and makes it whole: all output, oldest first, then the newest\n"
             "checkpoint, or if that is lost, an older one. The exit status is 0 if "
             "nothing\n"
             "is lost, 1 if something is, 2 if it could not be tried: then try again.",
    .opts = opts,
    .max_operands = 0,
    .run = run,
};
