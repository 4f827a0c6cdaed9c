/* SPDX-License-Identifier: BSD-3-Clause */
/* scr drill: rehearses the loss of a node. Runs a program undisturbed, runs it again
 * and kills a node on the way, restarts it on the survivors and a spare, and compares
 * the results; with --rounds over and over, at random. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "drill/drill_rounds.h"
#include "report.h"

enum { MAX_PHASES = 16 << 20 };

/* A plan on its way. */
struct course {
    struct scr_tool *t;
    struct drill_plan plan;
    int quiet;  /* 1: nothing is printed */
    int number; /* of the round, from 1 on; 0: there are no rounds */
    struct drill_round round;
    int complained; /* SCR reported an error in an undisturbed run */
    char *report;   /* path of the page, malloc'd; NULL: none was written */
    struct drill_reference reference;
    struct drill_tally tally;
};

/* --- the account --- */

static void say(const struct course *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct course *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->quiet)
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
    if (p->job != NULL)
        say(c, "drill: %s, and no real node is lost (scr_drill(1), IN A JOB)\n",
            p->job);
    say(c, "drill: %d rank%s on %d virtual node%s (%s), scheme %s\n", p->d.ranks,
        scr_plural(p->d.ranks), p->nodes, scr_plural(p->nodes), nodes ? nodes : "?",
        scr_scheme_name(p->d.scheme));
    free(nodes);
    say(c, "drill: program:");
    for (int i = 0; p->d.program[i] != NULL; i++)
        say(c, " %s", i ? p->d.program[i] : scr_path_base(p->d.program[i]));
    say(c, "\ndrill: working directory %s, storage of the nodes %s\n", p->work,
        p->storage);
    fflush(c->t->out);
}

static void print_strike(const struct course *c, const struct drill_strike *s,
                         const struct drill_run *r)
{
    say(c,
        "drill:    after %.2f s, phase %s of dataset %d: node %s lost; killed "
        "rank%s %s, removed its cache and control directories\n",
        r->struck_at, s->at.phase, r->struck_dataset, s->nodes.name[0],
        r->pids && strchr(r->pids, ',') ? "s" : "", r->pids ? r->pids : "?");
    say(c, "drill:    the run %s after %.2f s; newest complete checkpoint: %d\n",
        r->status == 0 ? "ended well" : "was ended by the launcher", r->seconds,
        r->phases.complete);
}

static void print_restart(const struct course *c, const struct drill_round *r)
{
    static const char *const words[DRILL_FROMS] = {
        [DRILL_CACHE] = "in cache, nothing to rebuild",
        [DRILL_REBUILT] = "in cache, lost parts rebuilt from the other nodes",
        [DRILL_PREFIX] = "fetched from the prefix directory"
    };
    if (r->from == DRILL_SCRATCH)
        say(c, "drill:    started from scratch\n");
    else
        say(c, "drill:    continued from checkpoint %d, %s\n", r->restart,
            words[r->from]);
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
    if (rc == SCR_OK && run->phases.begun == 0)
        return scr_fail(err, SCR_E_NOENT, 0,
                        "the program wrote no checkpoint: without a setting "
                        "SCR_Need_checkpoint asks for the first after 60 s; "
                        "SCR_CHECKPOINT_SECONDS=2 is for a short program");
    return rc;
}

/* The rounds draw their moments from the phases of this run. */
static int take_reference(struct course *c, const struct drill_run *run,
                          struct scr_err *err)
{
    void *text = NULL;
    size_t n;
    char *path = scr_asprintf("%s/phases.reference", c->plan.work);
    int rc = path ? scr_file_load(c->t->env.sys, path, MAX_PHASES, &text, &n, err)
                  : scr_no_memory(err);
    free(path);
    c->reference = (struct drill_reference){ text, run->seconds };
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
    if (rc == SCR_OK && c->plan.rounds > 0)
        rc = take_reference(c, &run, err);
    scr_drill_run_fini(&run);
    return rc == SCR_OK ? scr_drill_plan_clear_storage(c->t, &c->plan, err) : rc;
}

/* Directory of the runs but the undisturbed one, below the working directory;
 * malloc'd. */
static char *run_dir(const struct course *c)
{
    return c->number ? scr_asprintf("round.%d", c->number) : scr_strdup("drill");
}

static int run_leg(struct course *c, const char *what, const struct drill_strike *s,
                   struct drill_run *run, struct scr_err *err)
{
    char *dir = run_dir(c);
    char *name =
        c->number ? scr_asprintf("%s.%s", dir ? dir : "", what) : scr_strdup(what);
    const struct drill_leg leg = { name, dir, &c->plan.names, s };
    *run = (struct drill_run){ .struck_at = -1 };
    int rc = dir && name ? scr_drill_run(c->t, &c->plan.d, &leg, run, err)
                         : scr_no_memory(err);
    free(name);
    free(dir);
    return rc;
}

static int not_struck(const struct drill_strike *s, const struct drill_run *run,
                      struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOENT, 0,
                    "the run ended with status %d before phase %s was entered %d "
                    "time%s; %ssee --at, and --keep for its output",
                    run->status, s->at.phase, s->at.entry, s->at.entry > 1 ? "s" : "",
                    run->status == 0 ? "let it run longer or save more often, or "
                                     : "");
}

/* Notes the newest checkpoints at the time of the strike. */
static void take_strike(struct drill_round *r, const struct drill_phases *f)
{
    r->struck[r->nstruck++] = f->last;
    if (f->complete > r->complete)
        r->complete = f->complete;
    if (f->flushed > r->flushed)
        r->flushed = f->flushed;
}

static int struck_run(struct course *c, int i, struct drill_run *run,
                      struct scr_err *err)
{
    const struct drill_strike *s = &c->plan.strike[i];
    print_step(c, i + 2, i ? "a restart that loses node " : "a run that loses node ",
               s->nodes.name[0]);
    TRY(run_leg(c, i ? "second" : "first", s, run, err));
    if (run->struck_at < 0)
        return c->number ? SCR_OK : not_struck(s, run, err);
    print_strike(c, s, run);
    take_strike(&c->round, &run->phases);
    return scr_drill_plan_replace(&c->plan, i, err);
}

static void take_restart(struct drill_round *r, const struct drill_run *run)
{
    const struct drill_phases *f = &run->phases;
    r->restart = f->restart;
    r->restarted = run->restarted_at;
    r->from = f->restart == 0 ? DRILL_SCRATCH
              : f->fetched    ? DRILL_PREFIX
              : f->rebuilt    ? DRILL_REBUILT
                              : DRILL_CACHE;
}

static int final_run(struct course *c, struct drill_run *run, struct scr_err *err)
{
    char *nodes = NULL;
    scr_hostlist_compress(&c->plan.names, 0, &nodes, NULL);
    print_step(c, c->plan.nstrikes + 2, "a restart on ", nodes ? nodes : "?");
    free(nodes);
    TRY(run_leg(c, "last", NULL, run, err));
    take_restart(&c->round, run);
    print_restart(c, &c->round);
    say(c, "drill:    the run ended with status %d after %.2f s\n", run->status,
        run->seconds);
    take_complaint(c, run);
    return SCR_OK;
}

/* --- the verdict --- */

/* The fault of the restart, NULL: none. A round may be struck before its first
 * checkpoint is complete, or lose all that was in cache. */
static const char *fault(const struct course *c, const struct drill_run *last)
{
    const struct drill_round *r = &c->round;
    int expected = r->beyond ? r->flushed : r->complete;
    if (last->status != 0)
        return "the restarted run failed";
    if (c->complained)
        return "SCR reported an error in an undisturbed run";
    if (r->restart == 0 && (expected > 0 || c->number == 0))
        return "the restart began from scratch";
    if (r->restart < expected)
        return r->beyond ? "the restart did not take the newest flushed checkpoint"
                         : "the restart did not take the newest complete checkpoint";
    if (r->from == DRILL_PREFIX && !r->beyond && c->plan.d.scheme != SCR_SCHEME_SINGLE)
        return "the checkpoint had to be fetched instead of being rebuilt in cache";
    return NULL;
}

static int compare_results(struct course *c, int *same, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    struct drill_diff diff = { 0, 0 };
    char *a = scr_asprintf("%s/reference/%s", p->work, p->result);
    char *dir = run_dir(c);
    char *b = dir ? scr_asprintf("%s/%s/%s", p->work, dir, p->result) : NULL;
    int rc = a && b ? scr_drill_compare(c->t->env.sys, a, b, &diff, err)
                    : scr_no_memory(err);
    free(a);
    free(b);
    free(dir);
    *same = diff.same;
    if (rc == SCR_OK)
        say(c,
            diff.same ? "drill: %s: all %llu bytes identical\n"
                      : "drill: %s: identical up to byte %llu only\n",
            p->result, (unsigned long long)diff.bytes);
    return rc;
}

static int print_json(struct course *c, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    const struct drill_round *r = &c->round;
    return scr_tool_json(
        c->t,
        json_pack("{s:b, s:s?, s:s, s:i, s:i, s:s, s:s, s:i, s:i, s:s?, s:o}", "passed",
                  r->wrong == NULL, "fault", r->wrong, "scheme",
                  scr_scheme_name(p->d.scheme), "ranks", p->d.ranks, "nodes", p->nodes,
                  "lost", p->kill, "during", p->during, "complete", r->complete,
                  "restart", r->restart, "from",
                  r->restart == 0           ? NULL
                  : r->from == DRILL_PREFIX ? "prefix"
                                            : "cache",
                  "report", scr_tool_json_text(c->report)),
        err);
}

static int judge(struct course *c, const struct drill_run *last, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int same = 0;
    c->round.wrong = fault(c, last);
    if (last->status != 0)
        return SCR_OK;
    int rc = compare_results(c, &same, &why);
    if (rc == SCR_E_NOENT)
        c->round.wrong = "the restarted run wrote no result";
    else if (rc != SCR_OK)
        return scr_err_take(err, rc, &why);
    else if (!same)
        c->round.wrong = "the result differs from that of the undisturbed run";
    return SCR_OK;
}

static int verdict(struct course *c, struct scr_err *err)
{
    const struct drill_round *r = &c->round;
    if (r->wrong != NULL)
        say(c, "verdict: FAILED: %s\n", r->wrong);
    else
        say(c,
            "verdict: PASSED: node %s lost during %s, restarted from checkpoint %d %s, "
            "identical result\n",
            c->plan.kill, c->plan.during, r->restart,
            r->from == DRILL_PREFIX ? "on the prefix" : "in cache");
    if (c->plan.json)
        TRY(print_json(c, err));
    return r->wrong != NULL ? SCR_TOOL_NO : SCR_OK;
}

/* A page on the runs but the undisturbed one: where the user wants it, or in the
 * directory that is kept. Of several rounds on the first that is wrong, else the last.
 */
static int write_report(struct course *c, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    if (p->report == NULL && !p->keep)
        return SCR_OK;
    char *dir = run_dir(c);
    char *prefix = dir ? scr_path_join(p->work, dir) : NULL;
    free(dir);
    c->report =
        p->report ? scr_strdup(p->report) : scr_asprintf("%s/scr_report.html", p->work);
    int rc = prefix && c->report ? scr_report_page(c->t, prefix, c->report, err)
                                 : scr_no_memory(err);
    if (rc == SCR_OK)
        say(c, "drill: report on these runs: %s\n", c->report);
    free(prefix);
    return rc;
}

/* A run that ends before its strike is the last one. */
static int run_to_end(struct course *c, struct scr_err *err)
{
    struct drill_run run;
    for (int i = 0; i < c->plan.nstrikes; i++) {
        int rc = struck_run(c, i, &run, err);
        if (rc == SCR_OK && run.struck_at < 0) {
            take_restart(&c->round, &run);
            rc = judge(c, &run, err);
        }
        int over = rc != SCR_OK || run.struck_at < 0;
        scr_drill_run_fini(&run);
        if (over)
            return rc;
    }
    int rc = final_run(c, &run, err);
    if (rc == SCR_OK)
        rc = judge(c, &run, err);
    scr_drill_run_fini(&run);
    return rc;
}

static int drill(struct course *c, struct scr_err *err)
{
    TRY(reference_run(c, err));
    TRY(run_to_end(c, err));
    TRY(write_report(c, err));
    return verdict(c, err);
}

/* --- many rounds --- */

static void print_round(struct course *c)
{
    const struct drill_round *r = &c->round;
    char *nodes = NULL;
    scr_hostlist_compress(&c->plan.strike[0].nodes, 1, &nodes, NULL);
    say(c, "drill: round %d, seed %u: ", c->number, r->seed);
    if (r->nstruck == 0)
        say(c, "ended before it was struck");
    for (int i = 0; i < r->nstruck; i++)
        say(c, "%s%s lost in %s", i ? ", its spares" : "node ", i ? "" : nodes,
            r->struck[i] >= 0 ? scr_drill_phase_name[r->struck[i]] : "between phases");
    if (r->nstruck > 0)
        say(c, "; newest checkpoint %d, flushed %d; restarted from %d, %s", r->complete,
            r->flushed, r->restart, scr_drill_from_name[r->from]);
    say(c, ": %s\n", r->wrong ? r->wrong : "right");
    fflush(c->t->out);
    free(nodes);
}

/* A round leaves its directory only with --keep, and the storage empty. */
static int end_round(struct course *c, struct scr_err *err)
{
    const struct drill_plan *p = &c->plan;
    char *dir = run_dir(c);
    char *path = dir ? scr_path_join(p->work, dir) : NULL;
    int rc = path ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && c->report == NULL &&
        (c->round.wrong != NULL || c->number == p->rounds))
        rc = write_report(c, err);
    if (rc == SCR_OK && !p->keep)
        rc = scr_dir_remove(c->t->env.sys, path, err);
    free(path);
    free(dir);
    return rc == SCR_OK ? scr_drill_plan_clear_storage(c->t, p, err) : rc;
}

static int one_round(struct course *c, struct scr_err *err)
{
    uint32_t seed = c->plan.seed + (uint32_t)c->number - 1;
    struct scr_err why = SCR_ERR_INIT;
    TRY(scr_drill_draw(&c->plan, &c->reference, seed, &c->round, err));
    c->complained = 0;
    c->quiet = 1;
    int rc = run_to_end(c, &why);
    c->quiet = c->plan.json;
    if (rc == SCR_E_LOCKED) /* as from watch_run */
        c->round.wrong = "a run did not end in time";
    else if (rc != SCR_OK)
        return scr_err_take(err, rc, &why);
    print_round(c);
    scr_drill_tally_add(&c->tally, &c->round);
    return end_round(c, err);
}

/* Printed also when an error or a signal ends the rounds early. */
static int rounds_verdict(struct course *c, struct scr_err *err)
{
    const struct drill_tally *all = &c->tally;
    char *text = scr_drill_tally_text(&c->plan, all);
    int rc = text ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK)
        say(c, "%s\n", text);
    if (rc == SCR_OK && c->plan.json)
        rc = scr_tool_json(c->t, scr_drill_tally_json(&c->plan, all, c->report), err);
    fflush(c->t->out);
    free(text);
    return rc;
}

static int drill_rounds(struct course *c, struct scr_err *err)
{
    const struct drill_tally *all = &c->tally;
    int rc;
    say(c, "drill: %d rounds, --seed %u\n", c->plan.rounds, c->plan.seed);
    TRY(reference_run(c, err));
    if (c->complained)
        return scr_fail(err, SCR_E_FAILURE, 0,
                        "SCR reported an error in the undisturbed run; see --keep");
    do {
        c->number++;
        rc = one_round(c, err);
    } while (rc == SCR_OK && c->number < c->plan.rounds);
    if (rc == SCR_OK && all->unstruck == all->done)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "every run ended before it was struck: do its checkpoints "
                      "depend on time?");
    int rc2 = rounds_verdict(c, rc == SCR_OK ? err : NULL);
    rc = rc == SCR_OK ? rc2 : rc;
    return rc == SCR_OK && all->wrong > 0 ? SCR_TOOL_NO : rc;
}

/* --- the command --- */

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
    scr_drill_hold_signals(&before);
    int rc = scr_drill_plan_dirs(c->t, &c->plan, err);
    if (rc == SCR_OK) {
        print_plan(c);
        rc = c->plan.rounds > 0 ? drill_rounds(c, err) : drill(c, err);
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
    c.quiet = c.plan.json; /* the verdict is all that is printed then */
    TRY_OUT(hold_drill(&c, err));
out:
    free(c.report);
    free(c.reference.phases);
    scr_drill_plan_fini(&c.plan);
    return rc;
}

const struct scr_cmd scr_cmd_drill = {
    .usage = "[OPTION]... [-- PROGRAM ARG...]",
    .about =
        "Rehearses the loss of a node on this machine: runs an MPI program "
        "undisturbed;\n"
        "runs it again on virtual nodes, kills the processes of one node and removes\n"
        "its storage; restarts it on the survivors and a spare; compares the results\n"
        "bit for bit. Without PROGRAM it runs a solver of the heat equation. --rounds\n"
        "repeats it with random nodes at random moments, for one verdict.",
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
