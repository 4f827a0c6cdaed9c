/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a drill: options, names of nodes, program, directories. */
#include "drill/drill_plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "red/geom.h"
#include "rm/names.h"
#include "rm/rm.h"

enum {
    OPT_SCHEME,
    OPT_NODES,
    OPT_RANKS,
    OPT_KILL,
    OPT_DURING,
    OPT_AT,
    OPT_ROUNDS,
    OPT_SEED,
    OPT_RESULT,
    OPT_TIMEOUT,
    OPT_MPIRUN,
    OPT_DIR,
    OPT_KEEP,
    OPT_REPORT,
    OPT_JSON
};

const struct scr_opt scr_drill_opts[] = {
    [OPT_SCHEME] = { "scheme", 's', "TYPE", "SINGLE, PARTNER, XOR (default) or RS" },
    [OPT_NODES] = { "nodes", 'N', "N", "virtual nodes, spares not counted (4)" },
    [OPT_RANKS] = { "ranks", 'n', "N", "processes (8)" },
    [OPT_KILL] = { "kill", 'k', "NODE", "the node to lose, n1 to nN (n2)" },
    [OPT_DURING] = { "during", 'd', "PHASE",
                     "compute (default), checkpoint, encode, flush or rebuild" },
    [OPT_AT] = { "at", 0, "N", "lose it in the N-th such phase (3; rebuild: 1)" },
    [OPT_ROUNDS] = { "rounds", 0, "N",
                     "N losses of random nodes at random moments, one verdict" },
    [OPT_SEED] = { "seed", 0, "N", "what is drawn in the first of them (random)" },
    [OPT_RESULT] = { "result", 'r', "FILE",
                     "what PROGRAM writes in its directory (field.bin)" },
    [OPT_TIMEOUT] = { "timeout", 't', "SECONDS", "longest time of one run (600)" },
    [OPT_MPIRUN] = { "mpirun", 0, "PATH", "launcher (" SCR_MPIRUN ")" },
    [OPT_DIR] = { "dir", 0, "DIR",
                  "make the working directory in DIR ($TMPDIR or /tmp)" },
    [OPT_KEEP] = { "keep", 0, NULL,
                   "keep the working directory and the nodes' storage" },
    [OPT_REPORT] = { "report", 0, "FILE",
                     "write a page on the runs (scr report) to FILE" },
    [OPT_JSON] = { "json", 0, NULL, "print the verdict alone, as JSON" },
    { 0 }
};

/* The solver that runs when no program is given: about two seconds, seven checkpoints.
 */
static const char *const solver_args[] = { "--steps",  "160",       "--size",     "128",
                                           "--every",  "20",        "--sleep-ms", "5",
                                           "--output", "field.bin", NULL };

/* --- the plan --- */

static const char *option(const struct scr_args *a, int row, const char *otherwise)
{
    return a->opt[row] ? a->opt[row] : otherwise;
}

static int read_numbers(struct scr_tool *t, const struct scr_args *a,
                        struct drill_plan *p, struct scr_err *err)
{
    int64_t nodes = 4, ranks = 8, timeout = 600;
    int64_t at = strcmp(p->during, "rebuild") == 0 ? 1 : 3;
    TRY(scr_tool_int(t, a, OPT_NODES, SCR_BETWEEN(1, 1024), &nodes, err));
    TRY(scr_tool_int(t, a, OPT_RANKS, SCR_BETWEEN(1, 65536), &ranks, err));
    TRY(scr_tool_int(t, a, OPT_TIMEOUT, SCR_BETWEEN(1, 1000000), &timeout, err));
    TRY(scr_tool_int(t, a, OPT_AT, SCR_BETWEEN(1, 1000000), &at, err));
    if (ranks < nodes)
        return scr_tool_usage(t, err, "--ranks %d: fewer than one for each of %d nodes",
                              (int)ranks, (int)nodes);
    if (nodes == 1 && p->d.scheme != SCR_SCHEME_SINGLE)
        return scr_tool_usage(t, err, "--nodes 1: %s needs a second node",
                              scr_scheme_name(p->d.scheme));
    p->nodes = (int)nodes;
    p->d.ranks = (int)ranks;
    p->d.timeout = (double)timeout;
    p->entry = (int)at;
    return SCR_OK;
}

/* The scheme survives as many losses as parameters of the user say. */
static int read_sets(struct scr_tool *t, struct drill_plan *p, struct scr_err *err)
{
    struct scr_params prm;
    enum scr_scheme scheme = p->d.scheme;
    TRY(scr_tool_cfg(t, NULL, err));
    TRY(scr_cfg_params(t->cfg, &prm, err));
    p->d.set_size = prm.set_size;
    p->d.set_failures = prm.set_failures;
    if (scheme == SCR_SCHEME_PARTNER && !scr_cfg_is_set(t->cfg, "SCR_SET_FAILURES"))
        p->d.set_failures = 1;
    p->survives = scheme == SCR_SCHEME_XOR ? 1 : p->d.set_failures;
    scr_geom_weaken(&scheme, &p->survives,
                    p->nodes < prm.set_size ? p->nodes : prm.set_size);
    if (scheme == SCR_SCHEME_SINGLE)
        p->survives = 0;
    return SCR_OK;
}

static int read_rounds(struct scr_tool *t, const struct scr_args *a,
                       struct drill_plan *p, struct scr_err *err)
{
    static const int drawn[] = { OPT_KILL, OPT_DURING, OPT_AT };
    int64_t rounds = 0, seed = (int64_t)(scr_now_usec() % 1000000);
    TRY(scr_tool_int(t, a, OPT_ROUNDS, SCR_BETWEEN(1, 100000), &rounds, err));
    TRY(scr_tool_int(t, a, OPT_SEED, SCR_BETWEEN(0, INT32_MAX), &seed, err));
    if (rounds == 0)
        return a->opt[OPT_SEED] ? scr_tool_usage(t, err, "--seed: only with --rounds")
                                : SCR_OK;
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++)
        if (a->opt[drawn[i]])
            return scr_tool_usage(t, err,
                                  "--%s: not with --rounds, which draws nodes and "
                                  "moments",
                                  scr_drill_opts[drawn[i]].name);
    p->rounds = (int)rounds;
    p->seed = (uint32_t)seed;
    p->d.flush = 2; /* some of the newest checkpoints are in cache only */
    return read_sets(t, p, err);
}

static int read_options(struct scr_tool *t, const struct scr_args *a,
                        struct drill_plan *p, struct scr_err *err)
{
    const char *scheme = option(a, OPT_SCHEME, "XOR");
    p->during = option(a, OPT_DURING, "compute");
    p->result = option(a, OPT_RESULT, "field.bin");
    p->d.mpirun = option(a, OPT_MPIRUN, SCR_MPIRUN);
    p->dir = a->opt[OPT_DIR];
    p->keep = a->opt[OPT_KEEP] != NULL;
    p->json = a->opt[OPT_JSON] != NULL;
    p->report = a->opt[OPT_REPORT];
    if (!scr_scheme_parse(scheme, &p->d.scheme))
        return scr_tool_usage(
            t, err, "--scheme %s: expected SINGLE, PARTNER, XOR or RS", scheme);
    if (scr_drill_phase_find(p->during) < 0 || strcmp(p->during, "fetch") == 0)
        return scr_tool_usage(
            t, err,
            "--during %s: expected compute, checkpoint, encode, flush "
            "or rebuild",
            p->during);
    if (p->d.scheme == SCR_SCHEME_SINGLE && strcmp(p->during, "rebuild") == 0)
        return scr_tool_usage(t, err, "--during rebuild: SINGLE rebuilds nothing");
    if (!scr_path_is_safe(p->result))
        return scr_tool_usage(t, err,
                              "--result %s: expected a path below the directory "
                              "PROGRAM runs in",
                              p->result);
    /* Where a node's loss cannot be made good from cache, the prefix directory must do.
     */
    p->d.flush = p->d.scheme == SCR_SCHEME_SINGLE || strcmp(p->during, "flush") == 0;
    TRY(read_numbers(t, a, p, err));
    return read_rounds(t, a, p, err);
}

/* srun and its like start processes as part of the job, wherever it has nodes. */
static int check_launcher(struct scr_tool *t, const struct drill_plan *p,
                          struct scr_rm *rm, struct scr_err *err)
{
    struct scr_rm_names names = { 0 };
    char *nodes = NULL;
    int rc;
    TRY_OUT(rm->ops->nodes(rm, &rm->nodes, err));
    TRY_OUT(scr_rm_names_init(&names, &rm->nodes, err));
    if (rm->nodes.n == 1 && scr_rm_match(&names, rm->host) != NULL)
        goto out;
    TRY_OUT(scr_hostlist_compress(&rm->nodes, 0, &nodes, err));
    TRY_OUT(scr_tool_usage(t, err,
                           "--mpirun %s: starts processes on the nodes of job %s, %s; "
                           "all of a drill runs on this node, %s: use an mpirun, or "
                           "start it in a job of one node",
                           p->d.mpirun, rm->job, nodes, rm->host));
out:
    scr_rm_names_fini(&names);
    free(nodes);
    return rc;
}

/* An mpirun that does not see the job starts all processes on this node. */
static int read_job(struct scr_tool *t, struct drill_plan *p, struct scr_err *err)
{
    struct scr_params prm;
    struct scr_rm rm;
    int rc;
    TRY(scr_tool_cfg(t, NULL, err));
    TRY(scr_cfg_params(t->cfg, &prm, err));
    TRY(scr_rm_open_anywhere(&t->env, t->cfg, &prm, &rm, err));
    const char *launcher = scr_path_base(p->d.mpirun);
    int is_managers =
        rm.job && strcmp(launcher, rm.ops->launcher) == 0 && strcmp(launcher, "mpirun");
    TRY_OUT(is_managers ? check_launcher(t, p, &rm, err) : SCR_OK);
    if (!is_managers)
        scr_rm_hide_job(t->environ, &p->d.hidden);
    if (rm.job != NULL)
        p->job = scr_asprintf("job %s of %s: all processes run on this node, %s",
                              rm.job, rm.ops->name, rm.host);
    if (p->d.hidden.bad || (rm.job != NULL && p->job == NULL))
        rc = scr_no_memory(err);
out:
    scr_rm_close(&rm);
    return rc;
}

static int name_nodes(struct scr_tool *t, const struct scr_args *a,
                      struct drill_plan *p, struct scr_err *err)
{
    TRY(scr_drill_plan_reset(p, err));
    p->kill = scr_strdup(option(a, OPT_KILL, p->names.name[p->nodes > 1]));
    TRY(p->kill ? SCR_OK : scr_no_memory(err));
    if (!scr_hostlist_contains(&p->names, p->kill))
        return scr_tool_usage(t, err, "--kill %s: the nodes are n1 to n%d", p->kill,
                              p->nodes);
    return SCR_OK;
}

/* A loss during the rebuild needs a loss before: then the node that is being rebuilt is
 * lost. */
static int plan_strikes(struct drill_plan *p, struct scr_err *err)
{
    int again = strcmp(p->during, "rebuild") == 0;
    p->strike[0].at =
        (struct drill_moment){ again ? "compute" : p->during, again ? 3 : p->entry };
    p->strike[1].at = (struct drill_moment){ "rebuild", p->entry };
    for (int i = 0; i < DRILL_MAX_STRIKES; i++)
        p->strike[i].wait = p->strike[i].at;
    p->nstrikes = again ? 2 : 1;
    return scr_hostlist_add(&p->strike[0].nodes, p->kill, err);
}

/* The solver is next to the program in a build directory, or where it was installed.
 */
static int find_solver(struct scr_tool *t, struct drill_plan *p, struct scr_err *err)
{
    static const char *const places[] = { "examples/heat2d", "../libexec/scr/heat2d",
                                          SCR_LIBEXECDIR "/heat2d" };
    char *real = NULL, *dir = NULL;
    struct stat st;
    int rc = scr_tool_program(t, &real, err);
    if (rc == SCR_OK && (dir = scr_path_dir(real)) == NULL)
        rc = scr_no_memory(err);
    for (size_t i = 0; rc == SCR_OK && i < sizeof places / sizeof places[0]; i++) {
        char *path = scr_path_join(dir, places[i]);
        if (path && scr_file_stat(t->env.sys, path, &st, NULL) == SCR_OK) {
            p->path = path;
            break;
        }
        free(path);
    }
    free(dir);
    free(real);
    if (rc == SCR_OK && p->path == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "the solver heat2d is not installed; "
                      "give a program after --");
    return rc;
}

/* The program is started in another directory: a relative path would not be found
 * there. A name without a slash is looked up by the launcher. */
static int find_program(const struct scr_tool *t, const char *name,
                        struct drill_plan *p, struct scr_err *err)
{
    char *here = NULL;
    int has_path = strchr(name, '/') != NULL, rc = SCR_OK;
    TRY_OUT(has_path ? scr_cwd(&here, err) : SCR_OK);
    p->path = has_path ? scr_path_join(here, name) : scr_strdup(name);
    TRY_OUT(p->path ? SCR_OK : scr_no_memory(err));
    if (has_path && !scr_rm_is_program(t->env.sys, p->path))
        rc = scr_fail(err, SCR_E_NOENT, 0, "program %s: no such executable file", name);
out:
    free(here);
    return rc;
}

static int choose_program(struct scr_tool *t, const struct scr_args *a,
                          struct drill_plan *p, struct scr_err *err)
{
    const char *const *args = a->noperands ? a->operand + 1 : solver_args;
    size_t n = 0;
    TRY(a->noperands ? find_program(t, a->operand[0], p, err) : find_solver(t, p, err));
    while (args[n] != NULL)
        n++;
    p->program = scr_calloc(n + 2, sizeof *p->program);
    TRY(p->program ? SCR_OK : scr_no_memory(err));
    p->program[0] = p->path;
    memcpy(p->program + 1, args, n * sizeof *args);
    p->d.program = p->program;
    return SCR_OK;
}

/* --- directories --- */

/* base/<name>, private; *path is malloc'd. */
static int make_dir(struct scr_tool *t, const char *base, const char *name, char **path,
                    int *made, struct scr_err *err)
{
    *path = scr_path_join(base, name);
    TRY(*path ? SCR_OK : scr_no_memory(err));
    int rc = scr_dir_make_private(t->env.sys, base, name, 0700, err);
    *made = rc == SCR_OK;
    return rc;
}

/* The parent of the working directory, malloc'd. */
static int find_base(struct scr_tool *t, const char *given, char **base,
                     struct scr_err *err)
{
    TRY(given ? SCR_OK : scr_tool_cfg(t, NULL, err));
    if (given == NULL)
        given = scr_cfg_getenv(t->cfg, "TMPDIR");
    return scr_realpath(given && *given ? given : "/tmp", base, err);
}

/* In memory if that can be had and the user did not say where. */
static int make_storage(struct scr_tool *t, const char *name, struct drill_plan *p,
                        struct scr_err *err)
{
    if (p->dir == NULL &&
        make_dir(t, "/dev/shm", name, &p->storage, &p->storage_made, NULL) == SCR_OK)
        return SCR_OK;
    free(p->storage);
    return make_dir(t, p->work, "storage", &p->storage, &p->storage_made, err);
}

int scr_drill_plan_dirs(struct scr_tool *t, struct drill_plan *p, struct scr_err *err)
{
    char *base = NULL;
    char *name = scr_asprintf("scr-drill.%d.%llx", (int)getpid(),
                              (unsigned long long)scr_now_usec());
    int rc;
    TRY_OUT(name ? SCR_OK : scr_no_memory(err));
    TRY_OUT(find_base(t, p->dir, &base, err));
    TRY_OUT(make_dir(t, base, name, &p->work, &p->work_made, err));
    TRY_OUT(make_storage(t, name, p, err));
    TRY_OUT(scr_drill_plan_clear_storage(t, p, err));
out:
    p->d.work = p->work;
    p->d.storage = p->storage;
    free(name);
    free(base);
    return rc;
}

int scr_drill_plan_clear_storage(struct scr_tool *t, const struct drill_plan *p,
                                 struct scr_err *err)
{
    static const char *const bases[] = { "cache", "cntl" };
    int rc = SCR_OK;
    for (size_t i = 0; i < 2 && rc == SCR_OK; i++) {
        char *path = scr_path_join(p->storage, bases[i]);
        rc = path ? scr_dir_remove(t->env.sys, path, err) : scr_no_memory(err);
        if (rc == SCR_OK)
            rc = scr_dir_make_private(t->env.sys, p->storage, bases[i], 0700, err);
        free(path);
    }
    return rc;
}

int scr_drill_plan_remove_dirs(struct scr_tool *t, const struct drill_plan *p,
                               struct scr_err *err)
{
    int rc = SCR_OK;
    if (p->storage_made)
        rc = scr_dir_remove(t->env.sys, p->storage, err);
    if (p->work_made) {
        int rc2 = scr_dir_remove(t->env.sys, p->work, err);
        rc = rc == SCR_OK ? rc2 : rc;
    }
    return rc;
}

/* --- the whole --- */

int scr_drill_plan(struct scr_tool *t, const struct scr_args *a, struct drill_plan *p,
                   struct scr_err *err)
{
    TRY(read_options(t, a, p, err));
    TRY(read_job(t, p, err));
    TRY(name_nodes(t, a, p, err));
    TRY(choose_program(t, a, p, err));
    return plan_strikes(p, err);
}

int scr_drill_plan_reset(struct drill_plan *p, struct scr_err *err)
{
    char name[32];
    for (int i = 0; i < DRILL_MAX_STRIKES; i++) {
        scr_hostlist_free(&p->strike[i].nodes);
        p->strike[i] = (struct drill_strike){ .delay = 0 };
    }
    p->nstrikes = 0;
    scr_hostlist_free(&p->names);
    for (p->spare = 1; p->spare <= p->nodes; p->spare++) {
        snprintf(name, sizeof name, "n%d", p->spare);
        TRY(scr_hostlist_add(&p->names, name, err));
    }
    return SCR_OK;
}

int scr_drill_plan_replace(struct drill_plan *p, int i, struct scr_err *err)
{
    for (size_t k = 0; k < p->names.n; k++) {
        if (!scr_hostlist_contains(&p->strike[i].nodes, p->names.name[k]))
            continue;
        char *name = scr_asprintf("n%d", p->spare++);
        TRY(name ? SCR_OK : scr_no_memory(err));
        free(p->names.name[k]);
        p->names.name[k] = name;
        if (i + 1 < p->nstrikes)
            TRY(scr_hostlist_add(&p->strike[i + 1].nodes, name, err));
    }
    return SCR_OK;
}

void scr_drill_plan_fini(struct drill_plan *p)
{
    scr_hostlist_free(&p->names);
    for (int i = 0; i < DRILL_MAX_STRIKES; i++)
        scr_hostlist_free(&p->strike[i].nodes);
    scr_strv_free(&p->d.hidden);
    free(p->kill);
    free(p->job);
    free(p->program);
    free(p->path);
    free(p->work);
    free(p->storage);
}
