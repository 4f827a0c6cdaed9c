/* SPDX-License-Identifier: BSD-3-Clause */
/* scr drill: rehearses the loss of a node. Runs a program undisturbed, runs it again
 * and kills a node on the way, restarts it on the survivors and a spare, and compares
 * the results. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "drill/drill_plan.h"
#include "report.h"

/* A plan on its way. */
struct course {
    struct scr_tool *t;
    struct drill_plan plan;
    int complete;   /* newest checkpoint that was complete before a strike */
    int complained; /* SCR reported an error in an undisturbed run */
    char *report;   /* path of the page, malloc'd; NULL: none was written */
};

/* --- the account --- */

/* With --json the verdict is all that is printed. */
static void say(const struct course *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct course *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->plan.json)
        vfprintf(c->t->out, fmt, ap);
    va_end(ap);
}

static void print_step(struct course *c, int number, const char *what, const char *node)
{
    say(c, "drill: %d. %s%s\n", number, what, node);
    fflush(c->t->out);
}

static void print_plan(const struct course *c)
{
    const struct drill_plan *p = &c->plan;
    char *nodes = NULL;
    scr_hostlist_compress(&p->names, 0, &nodes, NULL);
    say(c, "drill: %d ranks on %d virtual nodes (%s), scheme %s\n", p->d.ranks,
        p->nodes, nodes ? nodes : "?", scr_scheme_name(p->d.scheme));
    free(nodes);
    say(c, "drill: program:");
    for (int i = 0; p->d.program[i] != NULL; i++)
        say(c, " %s", i ? p->d.program[i] : scr_path_base(p->d.program[i]));
    say(c, "\ndrill: working directory %s, storage of the nodes %s\n", p->work,
        p->storage);
    fflush(c->t->out);
}

static const char *ending(const struct drill_run *r)
{
    return r->status == 0 ? "ended well" : "was ended by the launcher";
}

static void print_strike(const struct course *c, const struct drill_strike *s,
                         const struct drill_run *r)
{
    say(c,
        "drill:    after %.2f s, phase %s of dataset %d: node %s lost; killed "
        "rank%s %s, removed its cache and control directories\n",
        r->struck_at, s->phase, r->struck_dataset, s->node, r->killed > 1 ? "s" : "",
        r->pids ? r->pids : "?");
    say(c, "drill:    the run %s after %.2f s; newest complete checkpoint: %d\n",
        ending(r), r->seconds, r->phases.complete);
}

static void print_restart(const struct course *c, const struct drill_phases *f)
{
    if (f->restart == 0)
        say(c, "drill:    started from scratch\n");
    else
        say(c, "drill:    continued from checkpoint %d, %s\n", f->restart,
            f->fetched   ? "fetched from the prefix directory"
            : f->rebuilt ? "in cache, lost parts rebuilt from the other nodes"
                         : "in cache, nothing to rebuild");
}

/* Of runs that nothing happened to: the others have every reason to complain. */
static void take_complaint(struct course *c, const struct drill_run *r)
{
    if (r->complaint == NULL)
        return;
    c->complained = 1;
    say(c, "drill:    its output says: %s\n", r->complaint);
}

/* --- the runs --- */

/* The run must have ended well and written its result. */
static int check_reference(const struct course *c, const struct drill_run *run,
                           struct stat *result, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    if (run->status != 0)
        return scr_fail(err, SCR_E_FAILURE, 0,
                        "the undisturbed run failed with status %d; --keep keeps its "
                        "output, log.reference",
                        run->status);
    char *path = scr_asprintf("%s/reference/%s", p->work, p->result);
    int rc = path ? scr_file_stat(c->t->env.sys, path, result, NULL) : SCR_E_NOMEM;
    if (rc != SCR_OK)
        scr_fail(
            err, rc, 0,
            "the program wrote no %s in its working directory; name its result with "
            "--result",
            p->result);
    free(path);
    return rc;
}

static int reference_run(struct course *c, struct scr_err *err)
{
    struct drill_run run;
    struct stat result;
    print_step(c, 1, "an undisturbed run, for the expected result", "");
    const struct drill_leg leg = { "reference", "reference", &c->plan.names, NULL };
    int rc = scr_drill_run(c->t, &c->plan.d, &leg, &run, err);
    if (rc == SCR_OK)
        rc = check_reference(c, &run, &result, err);
    if (rc == SCR_OK)
        say(c,
            "drill:    ended well after %.2f s; newest checkpoint: %d; %s has "
            "%lld bytes\n",
            run.seconds, run.phases.complete, c->plan.result,
            (long long)result.st_size);
    take_complaint(c, &run);
    scr_drill_run_fini(&run);
    return rc == SCR_OK ? scr_drill_plan_clear_storage(c->t, &c->plan, err) : rc;
}

static int struck_run(struct course *c, int i, struct scr_err *err)
{
    const struct drill_strike *s = &c->plan.strike[i];
    struct drill_run run;
    print_step(c, i + 2, i ? "a restart that loses node " : "a run that loses node ",
               s->node);
    const struct drill_leg leg = { i ? "second" : "first", "drill", &c->plan.names, s };
    int rc = scr_drill_run(c->t, &c->plan.d, &leg, &run, err);
    if (rc == SCR_OK && run.struck_at < 0)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "the run ended with status %d before phase %s was entered %d "
                      "time%s; see --at, and --keep for its output",
                      run.status, s->phase, s->entry, s->entry > 1 ? "s" : "");
    if (rc == SCR_OK)
        print_strike(c, s, &run);
    if (run.phases.complete > c->complete)
        c->complete = run.phases.complete;
    scr_drill_run_fini(&run);
    return rc == SCR_OK ? scr_drill_plan_replace(&c->plan, i, err) : rc;
}

static int final_run(struct course *c, struct drill_run *run, struct scr_err *err)
{
    char *nodes = NULL;
    scr_hostlist_compress(&c->plan.names, 0, &nodes, NULL);
    print_step(c, c->plan.nstrikes + 2, "a restart on ", nodes ? nodes : "?");
    free(nodes);
    const struct drill_leg leg = { "last", "drill", &c->plan.names, NULL };
    TRY(scr_drill_run(c->t, &c->plan.d, &leg, run, err));
    print_restart(c, &run->phases);
    say(c, "drill:    the run ended with status %d after %.2f s\n", run->status,
        run->seconds);
    take_complaint(c, run);
    return SCR_OK;
}

/* --- the verdict --- */

/* The fault of the restart, NULL: none. */
static const char *fault(const struct course *c, const struct drill_run *last)
{
    const struct drill_phases *f = &last->phases;
    if (last->status != 0)
        return "the restarted run failed";
    if (c->complained)
        return "SCR reported an error in an undisturbed run";
    if (f->restart == 0)
        return "the restart began from scratch";
    if (f->restart < c->complete)
        return "the restart did not take the newest complete checkpoint";
    if (f->fetched && c->plan.d.scheme != SCR_SCHEME_SINGLE)
        return "the checkpoint had to be fetched instead of being rebuilt in cache";
    return NULL;
}

static int compare_results(struct course *c, int *same, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    struct drill_diff diff = { 0, 0 };
    char *a = scr_asprintf("%s/reference/%s", p->work, p->result);
    char *b = scr_asprintf("%s/drill/%s", p->work, p->result);
    int rc = a && b ? scr_drill_compare(c->t->env.sys, a, b, &diff, err)
                    : scr_no_memory(err);
    free(a);
    free(b);
    *same = diff.same;
    if (rc == SCR_OK)
        say(c,
            diff.same ? "drill: %s: all %llu bytes identical\n"
                      : "drill: %s: identical up to byte %llu only\n",
            p->result, (unsigned long long)diff.bytes);
    return rc;
}

static int print_json(struct course *c, const struct drill_run *last, const char *wrong,
                      struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    const struct drill_phases *f = &last->phases;
    return scr_tool_json(
        c->t,
        json_pack("{s:b, s:s?, s:s, s:i, s:i, s:s, s:s, s:i, s:i, s:s?, s:o}", "passed",
                  wrong == NULL, "fault", wrong, "scheme", scr_scheme_name(p->d.scheme),
                  "ranks", p->d.ranks, "nodes", p->nodes, "lost", p->kill, "during",
                  p->during, "complete", c->complete, "restart", f->restart, "from",
                  f->restart == 0 ? NULL
                  : f->fetched    ? "prefix"
                                  : "cache",
                  "report", scr_tool_json_text(c->report)),
        err);
}

static int verdict(struct course *c, const struct drill_run *last, struct scr_err *err)
{
    int same = 0, rc = SCR_OK;
    const char *wrong = fault(c, last);
    if (last->status == 0 && (rc = compare_results(c, &same, err)) != SCR_OK)
        return rc;
    if (last->status == 0 && !same)
        wrong = "the result differs from that of the undisturbed run";
    if (wrong != NULL)
        say(c, "verdict: FAILED: %s\n", wrong);
    else
        say(c,
            "verdict: PASSED: node %s lost during %s, restarted from checkpoint %d %s, "
            "identical result\n",
            c->plan.kill, c->plan.during, last->phases.restart,
            last->phases.fetched ? "on the prefix" : "in cache");
    if (c->plan.json)
        rc = print_json(c, last, wrong, err);
    return rc != SCR_OK ? rc : wrong != NULL ? SCR_TOOL_NO : SCR_OK;
}

/* A page on the runs but the undisturbed one: where the user wants it, or in the
 * directory that is kept. */
static int write_report(struct course *c, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    if (p->report == NULL && !p->keep)
        return SCR_OK;
    char *prefix = scr_asprintf("%s/drill", p->work);
    c->report =
        p->report ? scr_strdup(p->report) : scr_asprintf("%s/scr_report.html", p->work);
    int rc = prefix && c->report ? scr_report_page(c->t, prefix, c->report, err)
                                 : scr_no_memory(err);
    if (rc == SCR_OK)
        say(c, "drill: report on these runs: %s\n", c->report);
    free(prefix);
    return rc;
}

static int drill(struct course *c, struct scr_err *err)
{
    struct drill_run last;
    int rc = reference_run(c, err);
    for (int i = 0; i < c->plan.nstrikes && rc == SCR_OK; i++)
        rc = struck_run(c, i, err);
    if (rc != SCR_OK)
        return rc;
    TRY_OUT(final_run(c, &last, err));
    TRY_OUT(write_report(c, err));
    TRY_OUT(verdict(c, &last, err));
out:
    scr_drill_run_fini(&last);
    return rc;
}

/* --- the command --- */

/* An interrupt must not leave processes and directories behind: drill_run.c looks for
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

/* What was made is removed or, with --keep, named. */
static int clean_up(struct course *c, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    if (!p->keep)
        return scr_drill_plan_remove_dirs(c->t, p, err);
    if (p->work_made)
        say(c, "drill: kept %s and %s\n", p->work,
            p->storage_made ? p->storage : "nothing else");
    return SCR_OK;
}

static int hold_drill(struct course *c, struct scr_err *err)
{
    sigset_t before;
    hold_signals(&before);
    int rc = scr_drill_plan_dirs(c->t, &c->plan, err);
    if (rc == SCR_OK) {
        print_plan(c);
        rc = drill(c, err);
    }
    int rc2 = clean_up(c, err);
    sigprocmask(SIG_SETMASK, &before, NULL); /* a signal held back ends us here */
    return rc == SCR_OK ? rc2 : rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct course c = { .t = t };
    int rc;
    TRY_OUT(scr_drill_plan(t, a, &c.plan, err));
    TRY_OUT(hold_drill(&c, err));
out:
    free(c.report);
    scr_drill_plan_fini(&c.plan);
    return rc;
}

const struct scr_cmd scr_cmd_drill = {
    .name = "drill",
    .usage = "[OPTION]... [-- PROGRAM ARG...]",
    .about =
        "Rehearses the loss of a node on this machine: runs an MPI program "
        "undisturbed;\n"
        "runs it again on virtual nodes, kills the processes of one node and removes\n"
        "its storage; restarts it on the survivors and a spare; compares the results\n"
        "bit for bit. Without PROGRAM it runs a solver of the heat equation.",
    .opts = scr_drill_opts,
    .notes =
        "PROGRAM checkpoints with SCR and writes its result, which must not depend on\n"
        "timing, to FILE (see --result) in the directory it is started in.\n"
        "Exit status: 0 if the result is identical and the program went on from the\n"
        "newest checkpoint; 1 if not; 2 if the drill could not be run.",
    .min_operands = 0,
    .max_operands = DRILL_MAX_ARGS,
    .stop_at_operand = 1,
    .run = run,
};
