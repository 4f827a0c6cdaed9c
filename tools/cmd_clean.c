/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_clean: removes what finished jobs left in the node-local directories. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/units.h"
#include "cfg/desc.h"
#include "job.h"
#include "ops/clean.h"
#include "rm/remote.h"
#include "store/identity.h"

enum {
    OPT_PREFIX,
    OPT_JOBID,
    OPT_OLDER,
    OPT_DRY_RUN,
    OPT_FORCE,
    OPT_ENDED,
    OPT_ALL_NODES,
    OPT_USER,
    OPT_RUNNING
};

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "read the configuration for this directory" },
    [OPT_JOBID] = { "jobid", 'j', "ID", "only what this job left" },
    [OPT_OLDER] = { "older", 'o', "TIME",
                    "only what has not changed for so long, as 3d" },
    [OPT_DRY_RUN] = { "dry-run", 'n', NULL, "only print what would be removed" },
    [OPT_FORCE] = { "force", 'f', NULL, "also datasets that are nowhere else" },
    [OPT_ENDED] = { "ended", 'e', NULL,
                    "the job of --jobid has ended; no resource manager is asked" },
    [OPT_ALL_NODES] = { "all-nodes", 'a', NULL, "on all nodes of the allocation" },
    [OPT_USER] = { "user", 'u', "NAME", "as root: of this user" },
    [OPT_RUNNING] = { "running", 0, "IDS", NULL }, /* among ourselves: these jobs run */
    { 0 },
};

enum { ALL_NODES_S = 600 }; /* for the nodes to answer */

struct clean {
    struct scr_tool *t;
    const struct scr_args *a;
    struct job job;
    const char *user;
    double older_s; /* 0: any age */
    struct scr_hostlist running;
    struct scr_hostlist vnodes; /* that are asked; none: all */
    int removed;                /* leftovers */
    uint64_t bytes;
    int kept; /* of what was asked for */
    int told; /* lines */
};

/* --- one leftover --- */

static char *title_of(const struct scr_leftover *o)
{
    return scr_asprintf("%s%s%sjob %s%s%s", o->vnode ? "node " : "",
                        o->vnode ? o->vnode : "", o->vnode ? ": " : "",
                        o->job[0] ? o->job : "?", o->prefix ? " of " : "",
                        o->prefix ? o->prefix : "");
}

static void tell_kept(struct clean *c, const struct scr_leftover *o, const char *why)
{
    char *title = title_of(o);
    scr_tool_print_line(c->t, "%s: kept, %s", title ? title : "", why);
    free(title);
    c->told++;
}

/* NULL: the prefix directory is the one that the runs had. A quiet log, as in
 * scr_leftover_judge. */
static const char *why_not_saved(const struct clean *c, const struct scr_leftover *o)
{
    const struct scr_env quiet = { .sys = c->t->env.sys };
    struct scr_prefix p;
    struct stat st;
    if (scr_identity_open(&quiet, o->prefix, o->name, &p)) {
        scr_prefix_fini(&p);
        return NULL;
    }
    return scr_file_stat(quiet.sys, o->prefix, &st, NULL) == SCR_E_NOENT
               ? "its prefix directory is gone"
               : "its prefix directory is another one now, or cannot be read";
}

/* The settings that a command needs which is started without those of the run. */
static void add_settings(const struct clean *c, const struct scr_leftover *o,
                         struct scr_str *line)
{
    const char *base = scr_leftover_cntl_base(&c->t->env, o);
    scr_str_printf(line, "SCR_JOB_ID=%s ", o->job);
    if (base != NULL && (scr_cfg_is_set(c->t->cfg, "SCR_CNTL_BASE") ||
                         !scr_dir_is_same(c->t->env.sys, base, c->job.prm.cntl_base)))
        scr_str_printf(line, "SCR_CNTL_BASE=%s ", base);
}

static void tell_unsaved(struct clean *c, const struct scr_leftover *o)
{
    struct scr_str why = SCR_STR_INIT;
    const char *hopeless = o->prefix ? why_not_saved(c, o) : NULL;
    if (o->prefix == NULL)
        scr_str_printf(&why,
                       "only in cache, of a prefix directory that is not known: %s; "
                       "--force removes it",
                       o->unsaved);
    else if (hopeless != NULL)
        scr_str_printf(&why, "only in cache: %s; %s, --force removes it", o->unsaved,
                       hopeless);
    else {
        scr_str_printf(&why, "only in cache: %s; --force removes it, ", o->unsaved);
        add_settings(c, o, &why);
        scr_str_printf(&why, "scr_postrun --prefix %s saves it", o->prefix);
    }
    tell_kept(c, o, why.bad ? "it is only in cache" : why.p);
    scr_str_free(&why);
    c->kept++;
}

static void tell_removed(struct clean *c, const struct scr_leftover *o)
{
    char size[32], *title = title_of(o);
    const char *does = c->a->opt[OPT_DRY_RUN] ? "would remove" : "removed";
    if (o->name[0] == '\0')
        scr_tool_print_line(c->t, "%s: %s an empty directory", title ? title : "",
                            does);
    else
        scr_tool_print_line(c->t, "%s: %s %d dataset%s, %s%s%s", title ? title : "",
                            does, o->ndatasets, o->ndatasets == 1 ? "" : "s",
                            scr_format_size(o->bytes, size, sizeof size),
                            o->unsaved ? ", among them, only in cache: " : "",
                            o->unsaved ? o->unsaved : "");
    free(title);
    c->told++;
    c->removed++;
    c->bytes += o->bytes;
}

/* Again under the locks: a run may have come and gone in between. */
static int remove_one(struct clean *c, struct scr_leftover *o, struct scr_err *err)
{
    const struct scr_env *env = &c->t->env;
    TRY(scr_leftover_hold(env, o, err));
    TRY(scr_leftover_judge(env, o, err));
    if (o->unsaved != NULL && c->a->opt[OPT_FORCE] == NULL) {
        tell_unsaved(c, o);
        return SCR_OK;
    }
    TRY(scr_leftover_remove(env, o, err));
    tell_removed(c, o);
    return SCR_OK;
}

/* Nothing is written as long as it may have to stay: its age counts. */
static int clean_one(struct clean *c, struct scr_leftover *o, struct scr_err *err)
{
    TRY(scr_leftover_look(&c->t->env, o, err));
    TRY(scr_leftover_judge(&c->t->env, o, err));
    if (o->unsaved != NULL && c->a->opt[OPT_FORCE] == NULL)
        tell_unsaved(c, o);
    else if (c->a->opt[OPT_DRY_RUN] != NULL)
        tell_removed(c, o);
    else
        return remove_one(c, o, err);
    return SCR_OK;
}

static int is_meant(const struct clean *c, const struct scr_leftover *o)
{
    const char *job = c->a->opt[OPT_JOBID];
    int here = c->vnodes.n == 0 ||
               (o->vnode != NULL && scr_hostlist_contains(&c->vnodes, o->vnode));
    return here && (job == NULL || o->job[0] == '\0' || strcmp(job, o->job) == 0) &&
           (double)(time(NULL) - o->newest) >= c->older_s;
}

static int is_running(const struct clean *c, const struct scr_leftover *o)
{
    return c->a->opt[OPT_ENDED] == NULL &&
           (scr_rm_is_listed(&c->running, o->job) ||
            (c->job.rm.job != NULL && strcmp(c->job.rm.job, o->job) == 0));
}

/* Directories that another job uses stay; if one job is asked about, they are no part
 * of the answer. */
static int clean_if_meant(struct clean *c, struct scr_leftover *o, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int asked = c->a->opt[OPT_JOBID] != NULL, rc;
    if (!is_meant(c, o))
        return SCR_OK;
    if (o->rc != SCR_OK) {
        tell_kept(c, o, o->why ? o->why : "refused");
        c->kept++;
    } else if (is_running(c, o)) {
        tell_kept(c, o, "the job still runs");
        c->kept += asked;
    } else if ((rc = clean_one(c, o, &why)) == SCR_E_NOMEM)
        return scr_no_memory(err);
    else if (rc != SCR_OK && scr_leftover_is_gone(&c->t->env, o))
        return SCR_OK;
    else if (rc == SCR_E_LOCKED) {
        tell_kept(c, o, why.text);
        c->kept += asked;
    } else if (rc != SCR_OK) {
        scr_log(c->t->env.log, SCR_LOG_ERROR, "job %s: %s", o->job, why.text);
        c->kept++;
    }
    return SCR_OK;
}

/* --- this node --- */

static int list_bases(const struct clean *c, struct scr_strv *bases,
                      struct scr_err *err)
{
    struct scr_descs d = { 0 };
    TRY(scr_descs_build(c->t->cfg, &c->job.prm, &d, err));
    for (int i = 0; i < d.nstores; i++)
        if (strcmp(d.store[i].group, "NODE") == 0)
            scr_strv_add(bases, d.store[i].path);
    scr_descs_fini(&d);
    return bases->bad ? scr_no_memory(err) : SCR_OK;
}

static void tell_sum(const struct clean *c)
{
    char size[32];
    if (c->told == 0 && c->kept == 0)
        scr_tool_print(c->t, "nothing to remove\n");
    else if (c->removed > 1 && c->bytes > 0)
        scr_tool_print(c->t, "%s in all\n",
                       scr_format_size(c->bytes, size, sizeof size));
}

/* Directories of another user are cleaned as that user, which gives no access to those
 * of a third. */
static int clean_here(struct clean *c, struct scr_err *err)
{
    struct scr_strv bases = SCR_STRV_INIT;
    const struct scr_clean_at at = { &c->t->env, c->user, &bases };
    struct scr_leftover *list = NULL;
    size_t n = 0;
    int rc;
    const char *vnodes = c->job.prm.vnodes;
    TRY_OUT(vnodes ? scr_rm_expand(c->t->cfg, "SCR_VNODES", vnodes, &c->vnodes, err)
                   : SCR_OK);
    TRY_OUT(list_bases(c, &bases, err));
    TRY_OUT(c->a->opt[OPT_USER] ? scr_proc_become(c->user, err) : SCR_OK);
    TRY_OUT(scr_leftovers_list(&at, &list, &n, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(clean_if_meant(c, &list[i], err));
    tell_sum(c);
    rc = c->kept > 0 ? SCR_TOOL_NO : SCR_OK;
out:
    scr_leftovers_free(&c->t->env, list, n);
    scr_strv_free(&bases);
    return rc;
}

/* --- all nodes --- */

static void tell_lines(const struct clean *c, const char *node, const char *text)
{
    while (*text != '\0') {
        int n = (int)strcspn(text, "\n");
        scr_tool_print_line(c->t, "%s: %.*s", node, n, text);
        text += n + (text[n] == '\n');
    }
}

static int ask_nodes(struct clean *c, const char *const *argv, struct scr_err *err)
{
    const struct scr_hostlist *nodes = &c->job.rm.nodes;
    struct scr_remote_result *res;
    if (nodes->n == 0)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "outside of an allocation: run this in a job of a resource "
                        "manager, or name its nodes in SCR_NODELIST");
    TRY(scr_remote_run(&c->job.rm, nodes, argv, ALL_NODES_S, &res, err));
    for (size_t i = 0; i < nodes->n; i++) {
        tell_lines(c, nodes->name[i], res[i].out);
        if (*res[i].why != '\0')
            scr_log(c->t->env.log, SCR_LOG_WARN, "node %s: %.*s", nodes->name[i],
                    (int)strcspn(res[i].why, "\n"), res[i].why);
        c->kept += !res[i].answered || res[i].status != 0;
    }
    scr_remote_free(res, nodes->n);
    return c->kept > 0 ? SCR_TOOL_NO : SCR_OK;
}

static int take_running(struct clean *c, const char *ids, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t n; *ids != '\0' && rc == SCR_OK; ids += n + (ids[n] == ',')) {
        n = strcspn(ids, ",");
        char *id = scr_asprintf("%.*s", (int)n, ids);
        rc = id ? scr_hostlist_add(&c->running, id, err) : scr_no_memory(err);
        free(id);
    }
    return rc;
}

/* The manager is asked once, here. */
static int clean_nodes(struct clean *c, struct scr_err *err)
{
    static const int passed[] = { OPT_DRY_RUN, OPT_FORCE, OPT_ENDED };
    static const int valued[] = { OPT_PREFIX, OPT_JOBID, OPT_OLDER, OPT_USER };
    struct scr_strv argv = SCR_STRV_INIT;
    int rc;
    scr_strv_add(&argv, c->job.self);
    scr_strv_add(&argv, "clean");
    /* Ids of jobs are no host names: those of an array have empty brackets. */
    scr_strv_join(&argv, "--running=", c->running.name, c->running.n);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        if (c->a->opt[passed[i]] != NULL)
            scr_strv_printf(&argv, "--%s", opts[passed[i]].name);
    for (size_t i = 0; i < sizeof valued / sizeof valued[0]; i++)
        if (c->a->opt[valued[i]] != NULL)
            scr_strv_printf(&argv, "--%s=%s", opts[valued[i]].name,
                            c->a->opt[valued[i]]);
    TRY_OUT(argv.bad ? scr_no_memory(err) : ask_nodes(c, scr_strv_argv(&argv), err));
out:
    scr_strv_free(&argv);
    return rc;
}

/* --- the command --- */

static int find_running(struct clean *c, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (c->a->opt[OPT_ENDED] != NULL)
        return SCR_OK;
    if (c->a->opt[OPT_RUNNING] != NULL)
        return take_running(c, c->a->opt[OPT_RUNNING], err);
    int rc = scr_rm_jobs(&c->job.rm, c->user, &c->running, &why);
    return rc == SCR_OK
               ? rc
               : scr_fail(err, rc, 0,
                          "%s; with --jobid and --ended, or SCR_RESOURCE_MANAGER=NONE, "
                          "it is not asked",
                          why.text);
}

static int check_usage(struct clean *c, struct scr_err *err)
{
    const struct scr_args *a = c->a;
    if (a->opt[OPT_ENDED] != NULL && a->opt[OPT_JOBID] == NULL)
        return scr_tool_usage(c->t, err,
                              "which job has ended? option --jobid is missing");
    if (a->opt[OPT_OLDER] != NULL &&
        (!scr_parse_seconds(a->opt[OPT_OLDER], &c->older_s) || c->older_s < 0))
        return scr_tool_usage(c->t, err, "option --older: \"%s\" is not a time",
                              a->opt[OPT_OLDER]);
    return SCR_OK;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct clean c = {
        .t = t, .a = a, .running = SCR_HOSTLIST_INIT, .vnodes = SCR_HOSTLIST_INIT
    };
    int rc;
    TRY(check_usage(&c, err));
    TRY_OUT((a->opt[OPT_ALL_NODES] ? scr_job_open : scr_job_open_anywhere)(
        t, a->opt[OPT_PREFIX], &c.job, err));
    c.user = a->opt[OPT_USER] ? a->opt[OPT_USER] : c.job.prm.user_name;
    TRY_OUT(find_running(&c, err));
    TRY_OUT(a->opt[OPT_ALL_NODES] ? clean_nodes(&c, err) : clean_here(&c, err));
out:
    scr_hostlist_free(&c.running);
    scr_hostlist_free(&c.vnodes);
    scr_job_close(&c.job);
    return rc;
}

const struct scr_cmd scr_cmd_clean = {
    .usage = "[OPTION]...",
    .about =
        "Removes the control and cache directories that finished jobs of this user\n"
        "left on this node, and prints what they held. What a run uses stays, and so\n"
        "do jobs that the resource manager knows, datasets that are in no prefix\n"
        "directory, and whatever is no directory of SCR.",
    .opts = opts,
    .notes = "Exit status: 0: nothing that was asked for is left, 1: something is.\n",
    .run = run,
};
