/* SPDX-License-Identifier: BSD-3-Clause */
/* scr drill: rehearses the loss of a node. Runs a program undisturbed, runs it again
 * and kills a node on the way, restarts it on the survivors and a spare, and compares
 * the results. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "drill.h"

enum {
    OPT_SCHEME,
    OPT_NODES,
    OPT_RANKS,
    OPT_KILL,
    OPT_DURING,
    OPT_AT,
    OPT_RESULT,
    OPT_TIMEOUT,
    OPT_MPIRUN,
    OPT_DIR,
    OPT_KEEP
};

static const struct scr_opt opts[] = {
    [OPT_SCHEME] = { "scheme", 's', "TYPE", "SINGLE, PARTNER, XOR (default) or RS" },
    [OPT_NODES] = { "nodes", 'N', "N", "virtual nodes, spares not counted (4)" },
    [OPT_RANKS] = { "ranks", 'n', "N", "processes (8)" },
    [OPT_KILL] = { "kill", 'k', "NODE", "the node to lose, n1 to nN (n2)" },
    [OPT_DURING] = { "during", 'd', "PHASE",
                     "compute (default), checkpoint, encode, flush or rebuild" },
    [OPT_AT] = { "at", 0, "N", "lose it in the N-th such phase (3; rebuild: 1)" },
    [OPT_RESULT] = { "result", 'r', "FILE",
                     "what PROGRAM writes in its directory (field.bin)" },
    [OPT_TIMEOUT] = { "timeout", 't', "SECONDS", "longest time of one run (600)" },
    [OPT_MPIRUN] = { "mpirun", 0, "PATH", "launcher (" SCR_MPIRUN ")" },
    [OPT_DIR] = { "dir", 0, "DIR",
                  "make the working directory in DIR ($TMPDIR or /tmp)" },
    [OPT_KEEP] = { "keep", 0, NULL,
                   "keep the working directory and the nodes' storage" },
    { 0 }
};

static const char *const phases[] = { "compute", "checkpoint", "encode", "flush",
                                      "rebuild" };
enum { NPHASES = sizeof phases / sizeof phases[0] };

/* The solver that runs when no program is given: about two seconds, seven checkpoints.
 */
static const char *const solver_args[] = { "--steps",  "160",       "--size",     "128",
                                           "--every",  "20",        "--sleep-ms", "5",
                                           "--output", "field.bin", NULL };

enum { MAX_RUNS = 3, MAX_ARGS = 1000 };

/* All a drill needs, from the options. */
struct plan {
    struct drill d;
    int nodes, entry;
    const char *during, *result;
    char *kill; /* malloc'd */
    struct drill_strike strike[MAX_RUNS - 1];
    int nstrikes;
    struct scr_hostlist names; /* of the nodes in use, in the order of their ranks */
    char *spare[MAX_RUNS - 1];
    const char **program; /* what drill.program points to */
    char *solver;         /* path of the program, malloc'd */
    char *work, *storage; /* malloc'd */
    int work_made, storage_made;
    int complained; /* SCR reported an error in the undisturbed run */
};

/* --- the plan --- */

static int find_phase(const char *name)
{
    for (int i = 0; i < NPHASES; i++)
        if (strcmp(name, phases[i]) == 0)
            return 1;
    return 0;
}

static const char *option(const struct scr_args *a, int row, const char *otherwise)
{
    return a->opt[row] ? a->opt[row] : otherwise;
}

static int read_numbers(struct scr_tool *t, const struct scr_args *a, struct plan *p,
                        struct scr_err *err)
{
    int64_t nodes = 4, ranks = 8, timeout = 600;
    int64_t at = strcmp(p->during, "rebuild") == 0 ? 1 : 3;
    int rc;
    if ((rc = scr_tool_int(t, a, OPT_NODES, 1, 1024, &nodes, err)) != SCR_OK ||
        (rc = scr_tool_int(t, a, OPT_RANKS, 1, 65536, &ranks, err)) != SCR_OK ||
        (rc = scr_tool_int(t, a, OPT_TIMEOUT, 1, 1000000, &timeout, err)) != SCR_OK ||
        (rc = scr_tool_int(t, a, OPT_AT, 1, 1000000, &at, err)) != SCR_OK)
        return rc;
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

static int read_options(struct scr_tool *t, const struct scr_args *a, struct plan *p,
                        struct scr_err *err)
{
    const char *scheme = option(a, OPT_SCHEME, "XOR");
    p->during = option(a, OPT_DURING, "compute");
    p->result = option(a, OPT_RESULT, "field.bin");
    p->d.mpirun = option(a, OPT_MPIRUN, SCR_MPIRUN);
    p->d.delay = 0.2;
    if (!scr_scheme_parse(scheme, &p->d.scheme))
        return scr_tool_usage(
            t, err, "--scheme %s: expected SINGLE, PARTNER, XOR or RS", scheme);
    if (!find_phase(p->during))
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
    return read_numbers(t, a, p, err);
}

static int name_nodes(struct scr_tool *t, const struct scr_args *a, struct plan *p,
                      struct scr_err *err)
{
    p->names.name = scr_calloc((size_t)p->nodes, sizeof *p->names.name);
    int bad = p->names.name == NULL;
    for (int i = 0; i < p->nodes && !bad; i++) {
        bad = (p->names.name[i] = scr_asprintf("n%d", i + 1)) == NULL;
        p->names.n += !bad;
    }
    for (int i = 0; i < MAX_RUNS - 1 && !bad; i++)
        bad = (p->spare[i] = scr_asprintf("n%d", p->nodes + 1 + i)) == NULL;
    if (!bad)
        p->kill = scr_strdup(option(a, OPT_KILL, p->names.name[p->nodes > 1]));
    if (bad || p->kill == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "name %d nodes", p->nodes);
    if (!scr_hostlist_contains(&p->names, p->kill))
        return scr_tool_usage(t, err, "--kill %s: the nodes are n1 to n%d", p->kill,
                              p->nodes);
    return SCR_OK;
}

/* A loss during the rebuild needs a loss before: then the node that is being rebuilt is
 * lost. */
static void plan_strikes(struct plan *p)
{
    int again = strcmp(p->during, "rebuild") == 0;
    p->strike[0] = (struct drill_strike){ p->kill, again ? "compute" : p->during,
                                          again ? 3 : p->entry };
    p->strike[1] = (struct drill_strike){ p->spare[0], "rebuild", p->entry };
    p->nstrikes = again ? 2 : 1;
}

/* The solver lies beside the program in a build directory, or where it was installed.
 * The kernel knows the path we were started with. */
static int find_solver(struct scr_tool *t, struct plan *p, struct scr_err *err)
{
    static const char *const places[] = { "examples/heat2d", "../libexec/scr/heat2d",
                                          SCR_LIBEXECDIR "/heat2d" };
    const char *self = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char *real = NULL, *dir = NULL;
    struct stat st;
    int rc = scr_realpath(self ? self : t->self, &real, err);
    if (rc == SCR_OK && (dir = scr_path_dir(real)) == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "find heat2d");
    for (size_t i = 0; rc == SCR_OK && i < sizeof places / sizeof places[0]; i++) {
        char *path = scr_path_join(dir, places[i]);
        if (path && scr_file_stat(t->env.sys, path, &st, NULL) == SCR_OK) {
            p->solver = path;
            break;
        }
        free(path);
    }
    free(dir);
    free(real);
    if (rc == SCR_OK && p->solver == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "the solver heat2d is not installed; "
                      "give a program after --");
    return rc;
}

/* The program is started in another directory: a relative path would not be found
 * there. */
static int find_program(const char *name, struct plan *p, struct scr_err *err)
{
    char *here = NULL;
    int rc = strchr(name, '/') ? scr_cwd(&here, err) : SCR_OK;
    if (rc == SCR_OK)
        p->solver = here ? scr_path_join(here, name) : scr_strdup(name);
    free(here);
    return rc == SCR_OK && p->solver == NULL
               ? scr_fail(err, SCR_E_NOMEM, 0, "start %s", name)
               : rc;
}

static int choose_program(struct scr_tool *t, const struct scr_args *a, struct plan *p,
                          struct scr_err *err)
{
    const char *const *args = a->noperands ? a->operand + 1 : solver_args;
    size_t n = 0;
    int rc =
        a->noperands ? find_program(a->operand[0], p, err) : find_solver(t, p, err);
    if (rc != SCR_OK)
        return rc;
    while (args[n] != NULL)
        n++;
    p->program = scr_calloc(n + 2, sizeof *p->program);
    if (p->program == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "start %s", p->solver);
    p->program[0] = p->solver;
    memcpy(p->program + 1, args, n * sizeof *args);
    p->d.program = p->program;
    return SCR_OK;
}

/* --- directories --- */

/* base/<name>, private; *path is malloc'd. */
static int make_dir(struct scr_tool *t, const char *base, const char *name, char **path,
                    int *made, struct scr_err *err)
{
    int rc = scr_dir_make_private(t->env.sys, base, name, 0700, err);
    *made = rc == SCR_OK;
    *path = scr_path_join(base, name);
    return rc == SCR_OK && *path == NULL
               ? scr_fail(err, SCR_E_NOMEM, 0, "make %s", name)
               : rc;
}

/* The nodes' storage is in memory if that can be had. */
static int make_dirs(struct scr_tool *t, const struct scr_args *a, struct plan *p,
                     struct scr_err *err)
{
    char *base = NULL, *name = NULL;
    const char *given = a->opt[OPT_DIR];
    int rc = given ? SCR_OK : scr_tool_cfg(t, NULL, err);
    const char *tmp = t->cfg && !given ? scr_cfg_getenv(t->cfg, "TMPDIR") : NULL;
    if (rc == SCR_OK)
        rc = scr_realpath(given ? given : (tmp && *tmp ? tmp : "/tmp"), &base, err);
    if (rc != SCR_OK)
        goto out;
    name = scr_asprintf("scr-drill.%d.%llx", (int)getpid(),
                        (unsigned long long)scr_now_usec());
    if (name == NULL) {
        rc = scr_fail(err, SCR_E_NOMEM, 0, "make a working directory");
        goto out;
    }
    if ((rc = make_dir(t, base, name, &p->work, &p->work_made, err)) != SCR_OK)
        goto out;
    if (given ||
        make_dir(t, "/dev/shm", name, &p->storage, &p->storage_made, NULL) != SCR_OK) {
        free(p->storage);
        rc = make_dir(t, p->work, "storage", &p->storage, &p->storage_made, err);
    }
    for (int i = 0; i < 2 && rc == SCR_OK; i++)
        rc = scr_dir_make_private(t->env.sys, p->storage, i ? "cntl" : "cache", 0700,
                                  err);
    p->d.work = p->work;
    p->d.storage = p->storage;
out:
    free(name);
    free(base);
    return rc;
}

static int remove_dirs(struct scr_tool *t, const struct plan *p, struct scr_err *err)
{
    int rc = SCR_OK;
    if (p->storage_made)
        rc = scr_dir_remove(t->env.sys, p->storage, err);
    if (p->work_made && scr_dir_remove(t->env.sys, p->work, err) != SCR_OK)
        rc = err->code;
    return rc;
}

/* --- results --- */

enum { COMPARE_BUF = 1 << 16 };

struct diff {
    uint64_t bytes; /* compared */
    int same;       /* 0: they differ in byte number bytes, or one ends there */
};

static int diff_open(const struct scr_sys *sys, int a, int b, struct diff *out,
                     struct scr_err *err)
{
    static const size_t half = COMPARE_BUF;
    char *buf = scr_calloc(2, half);
    size_t na = half, nb = half;
    int rc = buf ? SCR_OK : scr_fail(err, SCR_E_NOMEM, 0, "compare results");
    *out = (struct diff){ 0, 1 };
    while (rc == SCR_OK && out->same && na == half) {
        if ((rc = scr_read_upto(sys, a, buf, half, &na, "result", err)) != SCR_OK ||
            (rc = scr_read_upto(sys, b, buf + half, half, &nb, "result", err)) !=
                SCR_OK)
            break;
        size_t n = na < nb ? na : nb, i = 0;
        while (i < n && buf[i] == buf[half + i])
            i++;
        out->bytes += i;
        out->same = i == na && na == nb;
    }
    free(buf);
    return rc;
}

static int diff_results(struct scr_tool *t, const struct plan *p, struct diff *out,
                        struct scr_err *err)
{
    char *a = scr_asprintf("%s/reference/%s", p->work, p->result);
    char *b = scr_asprintf("%s/drill/%s", p->work, p->result);
    int fda = -1, fdb = -1, rc = SCR_E_NOMEM;
    if (a == NULL || b == NULL)
        scr_fail(err, rc, 0, "compare results");
    else if ((rc = scr_open(t->env.sys, a, O_RDONLY, 0, &fda, err)) == SCR_OK &&
             (rc = scr_open(t->env.sys, b, O_RDONLY, 0, &fdb, err)) == SCR_OK)
        rc = diff_open(t->env.sys, fda, fdb, out, err);
    (void)scr_close(t->env.sys, &fda, a, NULL); /* only read */
    (void)scr_close(t->env.sys, &fdb, b, NULL);
    free(a);
    free(b);
    return rc;
}

/* --- the account --- */

static void print_plan(struct scr_tool *t, const struct plan *p)
{
    char *nodes = NULL;
    scr_hostlist_compress(&p->names, 0, &nodes, NULL);
    scr_tool_print(t, "drill: %d ranks on %d virtual nodes (%s), scheme %s\n",
                   p->d.ranks, p->nodes, nodes ? nodes : "?",
                   scr_scheme_name(p->d.scheme));
    free(nodes);
    scr_tool_print(t, "drill: program:");
    for (int i = 0; p->d.program[i] != NULL; i++)
        scr_tool_print(t, " %s", i ? p->d.program[i] : scr_path_base(p->d.program[i]));
    scr_tool_print(t, "\ndrill: working directory %s, storage of the nodes %s\n",
                   p->work, p->storage);
    fflush(t->out);
}

static const char *ending(const struct drill_run *r)
{
    return r->status == 0 ? "ended well" : "was ended by the launcher";
}

static void print_strike(struct scr_tool *t, const struct drill_strike *s,
                         const struct drill_run *r)
{
    scr_tool_print(
        t,
        "drill:    after %.2f s, phase %s of dataset %d: node %s lost; killed "
        "rank%s %s, removed its cache and control directories\n",
        r->struck_at, s->phase, r->struck_dataset, s->node, r->killed > 1 ? "s" : "",
        r->pids ? r->pids : "?");
    scr_tool_print(
        t, "drill:    the run %s after %.2f s; newest complete checkpoint: %d\n",
        ending(r), r->seconds, r->phases.complete);
}

static void print_restart(struct scr_tool *t, const struct drill_phases *f)
{
    if (f->restart == 0)
        scr_tool_print(t, "drill:    started from scratch\n");
    else
        scr_tool_print(t, "drill:    continued from checkpoint %d, %s\n", f->restart,
                       f->fetched ? "fetched from the prefix directory"
                       : f->rebuilt
                           ? "in cache, lost parts rebuilt from the other nodes"
                           : "in cache, nothing to rebuild");
}

/* Only of runs that nothing happened to: the others have every reason to complain. */
static void print_complaint(struct scr_tool *t, const struct drill_run *r)
{
    if (r->complaint)
        scr_tool_print(t, "drill:    its output says: %s\n", r->complaint);
}

/* --- the runs --- */

static int reference_run(struct scr_tool *t, struct plan *p, struct scr_err *err)
{
    struct drill_run run;
    struct stat st;
    char *result = scr_asprintf("%s/reference/%s", p->work, p->result);
    scr_tool_print(t, "drill: 1. an undisturbed run, for the result to expect\n");
    fflush(t->out);
    int rc =
        scr_drill_run(t, &p->d, "reference", "reference", &p->names, NULL, &run, err);
    if (rc == SCR_OK && run.status != 0)
        rc = scr_fail(err, SCR_E_FAILURE, 0,
                      "the undisturbed run failed with status %d; its output is in "
                      "%s/log.reference (see --keep)",
                      run.status, p->work);
    if (rc == SCR_OK && result == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "look for %s", p->result);
    if (rc == SCR_OK && (rc = scr_file_stat(t->env.sys, result, &st, NULL)) != SCR_OK)
        rc = scr_fail(
            err, SCR_E_NOENT, 0,
            "the program wrote no %s in its working directory; name its result "
            "with --result",
            p->result);
    if (rc == SCR_OK)
        scr_tool_print(
            t,
            "drill:    ended well after %.2f s; newest checkpoint: %d; %s has "
            "%lld bytes\n",
            run.seconds, run.phases.complete, p->result, (long long)st.st_size);
    print_complaint(t, &run);
    p->complained |= run.complaint != NULL;
    scr_drill_run_fini(&run);
    free(result);
    return rc;
}

static int struck_run(struct scr_tool *t, struct plan *p, int i, int *complete,
                      struct scr_err *err)
{
    const struct drill_strike *s = &p->strike[i];
    struct drill_run run;
    scr_tool_print(t, "drill: %d. %s that loses node %s\n", i + 2,
                   i ? "a restart" : "a run", s->node);
    fflush(t->out);
    int rc = scr_drill_run(t, &p->d, i ? "second" : "first", "drill", &p->names, s,
                           &run, err);
    if (rc == SCR_OK && run.struck_at < 0)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "the run ended with status %d before phase %s was entered %d "
                      "time%s; see --at, and --keep for its output",
                      run.status, s->phase, s->entry, s->entry > 1 ? "s" : "");
    if (rc == SCR_OK)
        print_strike(t, s, &run);
    if (run.phases.complete > *complete)
        *complete = run.phases.complete;
    scr_drill_run_fini(&run);
    return rc;
}

/* The spare takes the place of the lost node, so that the other ranks stay where they
 * are. */
static int replace_node(struct plan *p, const char *lost, const char *spare,
                        struct scr_err *err)
{
    for (size_t i = 0; i < p->names.n; i++) {
        if (strcmp(p->names.name[i], lost) != 0)
            continue;
        char *name = scr_strdup(spare);
        if (name == NULL)
            return scr_fail(err, SCR_E_NOMEM, 0, "replace node %s", lost);
        free(p->names.name[i]);
        p->names.name[i] = name;
        break;
    }
    return SCR_OK;
}

static int final_run(struct scr_tool *t, const struct plan *p, struct drill_run *run,
                     struct scr_err *err)
{
    char *nodes = NULL;
    scr_hostlist_compress(&p->names, 0, &nodes, NULL);
    scr_tool_print(t, "drill: %d. a restart on %s\n", p->nstrikes + 2,
                   nodes ? nodes : "?");
    free(nodes);
    fflush(t->out);
    int rc = scr_drill_run(t, &p->d, "last", "drill", &p->names, NULL, run, err);
    if (rc == SCR_OK) {
        print_restart(t, &run->phases);
        scr_tool_print(t, "drill:    the run ended with status %d after %.2f s\n",
                       run->status, run->seconds);
        print_complaint(t, run);
    }
    return rc;
}

/* --- the verdict --- */

/* What is wrong with the restart, NULL if nothing is. */
static const char *fault(const struct plan *p, const struct drill_run *last,
                         int complete)
{
    const struct drill_phases *f = &last->phases;
    if (last->status != 0)
        return "the restarted run failed";
    if (p->complained || last->complaint != NULL)
        return "SCR reported an error in a run that nothing happened to";
    if (f->restart == 0)
        return "the restart began from scratch";
    if (f->restart < complete)
        return "the restart did not take the newest complete checkpoint";
    if (f->fetched && p->d.scheme != SCR_SCHEME_SINGLE)
        return "the restart had to fetch the checkpoint instead of rebuilding it in "
               "cache";
    return NULL;
}

static int verdict(struct scr_tool *t, const struct plan *p,
                   const struct drill_run *last, int complete, struct scr_err *err)
{
    const char *wrong = fault(p, last, complete);
    struct diff diff = { 0, 0 };
    if (last->status == 0) {
        int rc = diff_results(t, p, &diff, err);
        if (rc != SCR_OK)
            return rc;
        scr_tool_print(t,
                       diff.same ? "drill: %s: all %llu bytes identical\n"
                                 : "drill: %s: differs at byte %llu\n",
                       p->result, (unsigned long long)diff.bytes);
        if (!diff.same)
            wrong = "the result differs from that of the undisturbed run";
    }
    if (wrong != NULL) {
        scr_tool_print(t, "verdict: FAILED: %s\n", wrong);
        return SCR_TOOL_NO;
    }
    scr_tool_print(
        t,
        "verdict: PASSED: node %s lost during %s, restarted from checkpoint %d "
        "%s, identical result\n",
        p->kill, p->during, last->phases.restart,
        last->phases.fetched ? "on the prefix" : "in cache");
    return SCR_OK;
}

static int drill(struct scr_tool *t, struct plan *p, struct scr_err *err)
{
    struct drill_run last;
    int complete = 0, rc = reference_run(t, p, err);
    for (int i = 0; i < p->nstrikes && rc == SCR_OK; i++) {
        rc = struck_run(t, p, i, &complete, err);
        if (rc == SCR_OK)
            rc = replace_node(p, p->strike[i].node, p->spare[i], err);
    }
    if (rc != SCR_OK)
        return rc;
    rc = final_run(t, p, &last, err);
    if (rc == SCR_OK)
        rc = verdict(t, p, &last, complete, err);
    scr_drill_run_fini(&last);
    return rc;
}

/* --- the command --- */

static void plan_fini(struct plan *p)
{
    scr_hostlist_free(&p->names);
    for (int i = 0; i < MAX_RUNS - 1; i++)
        free(p->spare[i]);
    free(p->kill);
    free(p->program);
    free(p->solver);
    free(p->work);
    free(p->storage);
}

/* An interrupt must not leave processes and directories behind; drill_run.c looks for
 * it. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, before);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct plan p = { 0 };
    sigset_t before;
    int rc = read_options(t, a, &p, err);
    if (rc == SCR_OK)
        rc = name_nodes(t, a, &p, err);
    if (rc == SCR_OK)
        rc = choose_program(t, a, &p, err);
    if (rc != SCR_OK) {
        plan_fini(&p);
        return rc;
    }
    plan_strikes(&p);
    hold_signals(&before);
    rc = make_dirs(t, a, &p, err);
    if (rc == SCR_OK) {
        print_plan(t, &p);
        rc = drill(t, &p, err);
    }
    if (a->opt[OPT_KEEP])
        scr_tool_print(t, "drill: kept %s and %s\n", p.work ? p.work : "nothing",
                       p.storage ? p.storage : "nothing");
    else if (remove_dirs(t, &p, err) != SCR_OK && rc == SCR_OK)
        rc = err->code;
    sigprocmask(SIG_SETMASK, &before, NULL);
    plan_fini(&p);
    return rc;
}

const struct scr_cmd scr_cmd_drill = {
    .name = "drill",
    .usage = "[OPTION]... [-- PROGRAM ARG...]",
    .about = "Rehearses the loss of a node on this machine: runs an MPI program "
             "undisturbed;\n"
             "runs it again on virtual nodes, kills the processes of one node and "
             "removes its\n"
             "storage; restarts it on the survivors and a spare; compares the results "
             "bit for\n"
             "bit. Without PROGRAM it runs a solver of the heat equation.",
    .opts = opts,
    .notes =
        "PROGRAM checkpoints with SCR and writes its result, which must not depend on\n"
        "timing, to FILE (see --result) in the directory it is started in.\n"
        "Exit status: 0 if the result is identical and the program went on from the\n"
        "newest checkpoint; 1 if not; 2 if the drill could not be held.",
    .min_operands = 0,
    .max_operands = MAX_ARGS,
    .stop_at_operand = 1,
    .run = run,
};
