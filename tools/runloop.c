/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of scr_srun and its relatives. */
#include "runloop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/units.h"
#include "events.h"
#include "runfile.h"
#include "stop.h"

/* A program that ends well when it is asked to has not done its work all the same. */
enum { STATUS_FAILED = 2, STATUS_HUNG = 128 + SIGTERM };
static const double TICK_S = 1;        /* between two looks at a running program */
static const double TERM_GRACE_S = 10; /* from asking a run to end to killing it */

#define SAY(l, level, ...) scr_log((l)->t->env.log, (level), __VA_ARGS__)

/* --- signals --- */

/* Requests to stop the run. SIGCHLD only wakes us up. Under nohup(1) the end of the
 * session is to change nothing. */
static void handled(sigset_t *set)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    struct sigaction hup = { .sa_handler = SIG_DFL };
    sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(set, signals[i]);
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN)
        sigdelset(set, SIGHUP);
}

/* Waits for a signal, but no longer than a tick: its number, 0: none. *hangs: it
 * reports that the run hangs (scr_watchdog). */
static int next_signal(double seconds, int *hangs)
{
    sigset_t set;
    siginfo_t info;
    handled(&set);
    struct timespec t = { (time_t)seconds,
                          (long)((seconds - (double)(time_t)seconds) * 1e9) };
    int got = sigtimedwait(&set, &info, &t);
    *hangs = got == SIGUSR2 && info.si_code == SI_QUEUE &&
             info.si_value.sival_int == RUNFILE_HANGS;
    return got > 0 && got != SIGCHLD ? got : 0;
}

/* Half of the time that is left is kept for saving what is in cache. */
static void set_deadline(struct runloop *l)
{
    double left = (double)(l->end_time - (int64_t)time(NULL));
    if (l->end_time <= 0)
        return;
    l->kill_at = scr_now_mono() + (left > 0 ? left / 2 : 0);
}

/* First signal: end well. Second, or SIGUSR2 (scr_halt --immediate): end now. */
static void take_signal(struct runloop *l, int signo)
{
    struct scr_err why = SCR_ERR_INIT;
    l->asked++;
    if (l->asked > 1 || signo == SIGUSR2) {
        SAY(l, SCR_LOG_NOTE, "%s: the run is ended now",
            signo == SIGUSR2 ? "scr_halt --immediate" : "asked again to stop");
        l->kill_at = scr_now_mono();
        return;
    }
    if (scr_stop_ask(l->t, &why) != SCR_OK)
        SAY(l, SCR_LOG_ERROR, "the program cannot be asked to stop: %s", why.text);
    set_deadline(l);
    if (l->kill_at > 0)
        SAY(l, SCR_LOG_NOTE,
            "signal %d: the program stops after its next checkpoint, in %.0f seconds "
            "at the latest",
            signo, l->kill_at - scr_now_mono());
    else
        SAY(l, SCR_LOG_NOTE,
            "signal %d: the program stops after its next checkpoint (a second signal "
            "ends it now)",
            signo);
}

/* --- the event log --- */

/* Takes note over; NULL: none. */
static void record(const struct runloop *l, const char *event, double seconds,
                   char *note)
{
    struct scr_event e = SCR_EVENT_INIT;
    e.event = event;
    e.secs = seconds;
    e.note = note;
    scr_tool_event_try(l->t, &l->job.prm, &e);
    free(note);
}

/* --- a run --- */

/* Launchers end their processes when asked to. A launcher that does not may leave a
 * step behind: the step is killed through the manager first. */
static void end_run(struct runloop *l, pid_t pid, int *status)
{
    char *step = NULL;
    (void)scr_proc_kill_group(pid, SIGTERM);
    if (scr_proc_wait(pid, TERM_GRACE_S, status, NULL) == SCR_OK)
        return;
    if (l->knows_others &&
        scr_rm_kill_step(&l->job.rm, NULL, &l->others, &step, NULL) == SCR_OK &&
        step != NULL)
        SAY(l, SCR_LOG_NOTE, "killed job step %s", step);
    free(step);
    (void)scr_proc_kill_group(pid, SIGKILL);
    (void)scr_proc_wait(pid, -1, status, NULL);
}

/* The status of a launcher may be 0 then. */
static int is_ended_by_us(const struct runloop *l)
{
    return l->kill_at > 0 && scr_now_mono() >= l->kill_at;
}

static int must_end(struct runloop *l)
{
    double limit;
    int signo = next_signal(TICK_S, &l->hangs);
    if (l->hangs) {
        SAY(l, SCR_LOG_WARN, "scr_watchdog: the program hangs, the run is ended");
        return 1;
    }
    if (signo != 0)
        take_signal(l, signo);
    if (is_ended_by_us(l)) {
        SAY(l, SCR_LOG_NOTE, "the run is ended");
        return 1;
    }
    if (!l->job.prm.watchdog || !scr_watch_hangs(l->t, &l->watch, &limit))
        return 0;
    SAY(l, SCR_LOG_WARN,
        "no new dataset for %.0f second%s: the program hangs, the run is ended", limit,
        scr_plural((int64_t)limit));
    l->hangs = 1;
    return 1;
}

static int watch_run(struct runloop *l, pid_t pid, struct scr_err *err)
{
    int rc;
    while ((rc = scr_proc_wait(pid, 0, &l->status, NULL)) == SCR_E_LOCKED)
        if (must_end(l)) {
            end_run(l, pid, &l->status);
            if (l->hangs && l->status == 0)
                l->status = STATUS_HUNG;
            return SCR_OK;
        }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "wait for %s", l->launcher.name);
}

static int make_line(struct runloop *l, struct scr_strv *argv, struct scr_strv *env,
                     struct scr_err *err)
{
    const struct scr_launch what = { scr_strv_argv(&l->line), &l->good, &l->down.nodes,
                                     l->need };
    scr_strv_printf(env, "SCR_PREFIX=%s", l->t->prefix.path);
    if (l->end_time > 0)
        scr_strv_printf(env, "SCR_END_TIME=%lld", (long long)l->end_time);
    return scr_launch_line(&l->job.rm, &l->launcher, &what, argv, env, err);
}

static void say_start(const struct runloop *l, const struct scr_strv *argv)
{
    char *line = scr_strv_text(argv);
    char of[24] = "";
    if (l->job.prm.runs >= 0)
        (void)snprintf(of, sizeof of, " of %d", l->job.prm.runs);
    SAY(l, SCR_LOG_NOTE, "run %d%s, %zu of %zu nodes can be used, %zu needed: %s",
        l->runs, of, l->good.n, l->job.rm.nodes.n, l->need, line ? line : "");
    record(l, "RUN_START", -1,
           scr_asprintf("run %d%s on %zu of %zu nodes: %s", l->runs, of, l->good.n,
                        l->job.rm.nodes.n, line ? line : ""));
    free(line);
}

/* why: the run ended by an error of ours; empty: by itself. */
static void say_end(const struct runloop *l, double seconds, const struct scr_err *why)
{
    if (why->code == SCR_OK)
        SAY(l, SCR_LOG_NOTE, "run %d ended after %.1f s: exit status %d", l->runs,
            seconds, l->status);
    record(l, "RUN_END", seconds,
           why->code == SCR_OK
               ? scr_asprintf("run %d: exit status %d", l->runs, l->status)
               : scr_asprintf("run %d: %s", l->runs, why->text));
}

/* Its own group, so that Control-C reaches us only; then it may not read from the
 * terminal. */
static int start(struct runloop *l, const struct scr_strv *argv,
                 const struct scr_strv *env, pid_t *pid, struct scr_err *err)
{
    const struct scr_proc_spec spec = { .argv = scr_strv_argv(argv),
                                        .env = scr_strv_argv(env),
                                        .in_path =
                                            isatty(STDIN_FILENO) ? "/dev/null" : NULL,
                                        .new_group = 1 };
    fflush(l->t->out);
    return scr_proc_start(&spec, pid, err);
}

/* ckpt: name of the checkpoint that there is to continue from; NULL: none. */
static int set_line(struct runloop *l, const char *ckpt, struct scr_err *err)
{
    scr_strv_free(&l->line);
    scr_commands_line(&l->commands, ckpt, &l->line);
    return l->line.bad ? scr_no_memory(err) : SCR_OK;
}

static int choose_line(struct runloop *l, struct scr_err *err)
{
    char *ckpt = NULL;
    int rc;
    TRY_OUT(l->commands.again.n == 0
                ? SCR_OK
                : scr_commands_ckpt(&l->job, &l->good, &ckpt, err));
    TRY_OUT(set_line(l, ckpt, err));
out:
    free(ckpt);
    return rc;
}

static int run_once(struct runloop *l, struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT, env = SCR_STRV_INIT;
    pid_t pid;
    l->runs++;
    int rc = choose_line(l, err);
    if (rc == SCR_OK)
        rc = make_line(l, &argv, &env, err);
    if (rc == SCR_OK) {
        double begin = scr_now_mono();
        say_start(l, &argv);
        scr_watch_start(&l->job.prm, &l->watch);
        if ((rc = start(l, &argv, &env, &pid, err)) == SCR_OK)
            rc = watch_run(l, pid, err);
        say_end(l, scr_now_mono() - begin, err);
    }
    scr_strv_free(&argv);
    scr_strv_free(&env);
    return rc;
}

/* --- decisions --- */

/* Nodes that became unusable since the last look; each is reported once. */
static int find_down(struct runloop *l, struct scr_err *err)
{
    size_t known = l->down.nodes.n, at = 0;
    int rc = scr_job_test_nodes(&l->job, &l->job.rm.nodes, 0, 0, &l->down, err);
    for (SCR_EACH(const struct scr_down, d, &l->down.why))
        if (at++ >= known && rc == SCR_OK)
            SAY(l, SCR_LOG_NOTE, "node %s is left out: %s", d->item.name, d->reason);
    scr_tool_event_down(l->t, &l->job.prm, &l->down, known, -1);
    scr_hostlist_free(&l->good);
    if (rc == SCR_OK)
        rc = scr_hostlist_minus(&l->job.rm.nodes, &l->down.nodes, &l->good, err);
    return rc;
}

static int has_nodes(struct runloop *l, int *go, struct scr_err *err)
{
    const char *from;
    int rc = scr_job_needs(&l->job, &l->t->prefix,
                           scr_launch_asks_nodes(&l->launcher, scr_strv_argv(&l->line)),
                           &l->need, &from, err);
    *go = rc == SCR_OK && l->good.n >= l->need && l->good.n > 0;
    if (rc == SCR_OK && !*go)
        SAY(l, SCR_LOG_NOTE, "no run: %zu of %zu nodes are left, %zu are needed (%s)",
            l->good.n, l->job.rm.nodes.n, l->need, from);
    return rc;
}

static int is_halted(struct runloop *l, int *halted, struct scr_err *err)
{
    char *why;
    int is_end = 0;
    int rc = scr_job_halted(&l->job, &l->t->prefix, l->end_time, &why, &is_end, err);
    *halted = rc == SCR_OK && (why != NULL || l->asked > 0);
    if (why != NULL && is_end)
        SAY(l, SCR_LOG_NOTE, "no %srun: %s", l->runs ? "other " : "", why);
    else if (why != NULL)
        SAY(l, SCR_LOG_NOTE,
            "no %srun: %s (scr_halt --list --prefix %s shows the conditions, scr_halt "
            "--remove deletes them)",
            l->runs ? "other " : "", why, l->t->prefix.path);
    else if (*halted)
        SAY(l, SCR_LOG_NOTE, "no other run: asked to stop");
    free(why);
    return rc;
}

static int has_runs(const struct runloop *l)
{
    if (l->job.prm.runs < 0 || l->runs < l->job.prm.runs)
        return 1;
    SAY(l, SCR_LOG_NOTE, "no other run: SCR_RUNS=%d allows no more", l->job.prm.runs);
    return 0;
}

/* Nodes get time to clean up; a signal cuts it short. */
static void pause_before_run(struct runloop *l)
{
    double end = scr_now_mono() + l->job.prm.run_sleep;
    if (l->job.prm.run_sleep > 0)
        SAY(l, SCR_LOG_NOTE, "the next run starts in %.0f second%s",
            l->job.prm.run_sleep, fabs(l->job.prm.run_sleep - 1) < 0.5 ? "" : "s");
    while (l->asked == 0 && scr_now_mono() < end) {
        double left = end - scr_now_mono();
        int hangs; /* what does is over */
        int signo = next_signal(left < TICK_S ? left : TICK_S, &hangs);
        if (signo != 0 && !hangs)
            take_signal(l, signo);
    }
}

/* A file that is just being edited must not end the job. */
static void reload(struct runloop *l)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_job_reload(&l->job, &why) != SCR_OK)
        SAY(l, SCR_LOG_WARN, "the configuration of the last run is used: %s", why.text);
}

/* Whether another run follows the last one, and then waits for it. */
static int goes_on(struct runloop *l, int *go, struct scr_err *err)
{
    int halted = 0;
    *go = 0;
    if (l->status == 0 && !is_ended_by_us(l)) {
        SAY(l, SCR_LOG_NOTE, "no other run: the program ended well");
        return SCR_OK;
    }
    int rc = is_halted(l, &halted, err);
    if (rc != SCR_OK || halted || !has_runs(l))
        return rc;
    pause_before_run(l);
    rc = is_halted(l, &halted, err); /* the condition may have been removed */
    *go = rc == SCR_OK && !halted;
    if (*go)
        reload(l);
    return rc;
}

static int loop(struct runloop *l, struct scr_err *err)
{
    int go = 1, halted = 0;
    TRY(is_halted(l, &halted, err));
    if (halted)
        l->status = 0; /* as was asked for */
    while (go && !halted) {
        TRY(find_down(l, err));
        TRY(has_nodes(l, &go, err));
        if (!go)
            break;
        TRY(run_once(l, err));
        TRY(goes_on(l, &go, err));
    }
    return SCR_OK;
}

/* --- before and after --- */

static void find_end_time(struct runloop *l)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_rm_end_time(&l->job.rm, &l->end_time, &why);
    if (l->end_time == 0 && l->job.prm.halt_seconds > 0)
        scr_rm_warn_no_end(l->t->env.log, &why);
    else if (rc != SCR_OK)
        SAY(l, SCR_LOG_WARN, "end of the allocation not known: %s", why.text);
}

/* Steps that run in the job already are not ours, and outlive our runs. */
static void find_others(struct runloop *l)
{
    struct scr_err why = SCR_ERR_INIT;
    l->knows_others = scr_rm_steps(&l->job.rm, &l->others, &why) == SCR_OK;
    if (!l->knows_others)
        SAY(l, SCR_LOG_WARN,
            "job steps are not known, so none is killed if a run does not end by "
            "itself: %s",
            why.text);
}

/* Without a resource manager the launcher's own options may name the nodes; without
 * them mpirun starts all processes on this machine. */
static int find_nodes(struct runloop *l, struct scr_err *err)
{
    struct scr_hostlist *nodes = &l->job.rm.nodes;
    if (nodes->n > 0)
        return SCR_OK;
    TRY(scr_launch_names_nodes(&l->job.rm, &l->launcher, scr_strv_argv(&l->line), nodes,
                               err));
    if (nodes->n > 0)
        return SCR_OK;
    if (!scr_launch_runs_here(&l->launcher))
        return scr_fail(
            err, SCR_E_CONFIG, 0,
            "outside of an allocation: run this in a job of a resource manager, "
            "or set SCR_NODELIST");
    SAY(l, SCR_LOG_NOTE,
        "outside of an allocation: runs on this machine, %s, alone; SCR_NODELIST "
        "names other nodes",
        l->job.rm.host);
    return scr_hostlist_add(nodes, l->job.rm.host, err);
}

static int check_line(struct runloop *l, struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT, env = SCR_STRV_INIT;
    const struct scr_launch what = { scr_strv_argv(&l->line), &l->job.rm.nodes,
                                     &l->down.nodes, 1 };
    int rc = scr_launch_line(&l->job.rm, &l->launcher, &what, &argv, &env, err);
    scr_strv_free(&argv);
    scr_strv_free(&env);
    return rc;
}

/* One to begin with may be missing where there is one to continue with; what its name
 * is may depend on the checkpoint. */
static int check_programs(struct runloop *l, struct scr_err *err)
{
    int rc = SCR_OK;
    if (l->commands.again.n > 0 &&
        strstr(l->commands.again.v[0], SCR_COMMANDS_CKPT) == NULL &&
        (rc = set_line(l, "", err)) == SCR_OK)
        rc = check_line(l, err);
    if (rc == SCR_OK && (rc = set_line(l, NULL, err)) == SCR_OK &&
        (l->commands.anew.n > 0 || l->commands.again.n == 0))
        rc = check_line(l, err);
    return rc;
}

static int open_loop(struct runloop *l, const char *launcher, const char *const *args,
                     struct scr_err *err)
{
    TRY(scr_job_open(l->t, NULL, &l->job, err));
    TRY(scr_launcher_open(&l->job.rm, launcher, &l->launcher, err));
    TRY(scr_commands_take(&l->launcher, args, &l->commands, err));
    TRY(set_line(l, NULL, err));
    TRY(find_nodes(l, err));
    TRY(check_programs(l, err));
    TRY(scr_tool_prefix(l->t, l->job.prm.prefix, 1, err));
    TRY(scr_prefix_state_remove(&l->t->env, &l->t->prefix, "nodes.scr", err));
    find_end_time(l);
    find_others(l);
    return SCR_OK;
}

/* The second signal while we save is taken for an order to leave that. */
static int wait_for_save(struct runloop *l, pid_t pid, int *status, struct scr_err *err)
{
    int rc, signals = 0;
    while ((rc = scr_proc_wait(pid, 0, status, NULL)) == SCR_E_LOCKED) {
        int hangs; /* what does is over */
        if (next_signal(TICK_S, &hangs) == 0 || hangs)
            continue;
        SAY(l, SCR_LOG_NOTE, "%s",
            ++signals > 1 ? "asked again to stop: scr_postrun is ended"
                          : "what is in cache is being saved (a second signal ends "
                            "that)");
        if (signals > 1)
            (void)scr_proc_kill_group(pid, SIGTERM);
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "wait for scr_postrun");
}

static int run_save(struct runloop *l, const struct scr_proc_spec *spec, int *status,
                    struct scr_err *err)
{
    pid_t pid;
    TRY(scr_proc_start(spec, &pid, err));
    return wait_for_save(l, pid, status, err);
}

/* Saves what is in cache and not on the prefix yet, by the command of that name. Nodes
 * that are only unfit for another run are asked for what they have, too. */
static int save(struct runloop *l, struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT;
    struct scr_hostlist dead = SCR_HOSTLIST_INIT;
    char *nodes = NULL, *down = NULL;
    int status = 0;
    int rc;
    TRY_OUT(scr_hostlist_compress(&l->job.rm.nodes, 0, &nodes, err));
    TRY_OUT(scr_downs_dead(&l->down, &dead, err));
    TRY_OUT(scr_hostlist_compress(&dead, 0, &down, err));
    scr_strv_printf(&argv, "%s", l->job.self);
    scr_strv_printf(&argv, "postrun");
    scr_strv_printf(&argv, "--prefix=%s", l->t->prefix.path);
    scr_strv_printf(&argv, "--jobset=%s", nodes);
    scr_strv_printf(&argv, "--ended");
    if (*down != '\0')
        scr_strv_printf(&argv, "--down=%s", down);
    const struct scr_proc_spec spec = { .argv = scr_strv_argv(&argv),
                                        .in_path = "/dev/null",
                                        .new_group = 1 };
    TRY_OUT(argv.bad ? scr_no_memory(err) : run_save(l, &spec, &status, err));
    if (status >= 2)
        TRY_OUT(scr_fail(err, SCR_E_FAILURE, 0,
                         "scr_postrun failed: what is in cache may be lost with the "
                         "allocation"));
out:
    scr_strv_free(&argv);
    scr_hostlist_free(&dead);
    free(nodes);
    free(down);
    return rc;
}

/* A failure after a run must not hide how the run ended. */
static int finish(struct runloop *l, int rc, int *status, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (rc != SCR_OK && l->status >= 0) {
        SAY(l, SCR_LOG_ERROR, "%s", err->text);
        scr_err_clear(err);
        rc = SCR_OK;
    } else if (rc == SCR_OK && l->runs > 0 && find_down(l, &why) != SCR_OK) {
        SAY(l, SCR_LOG_WARN, "nodes lost in the last run: %s", why.text);
        scr_err_clear(&why);
    }
    if (save(l, &why) != SCR_OK) {
        SAY(l, SCR_LOG_ERROR, "%s", why.text);
        l->status = l->status == 0 ? STATUS_FAILED : l->status;
    }
    *status = l->status >= 0 ? l->status : STATUS_FAILED;
    return rc;
}

/* A signal was about the runs of one scr_srun: the next one is not to find what it
 * left. No other command runs here, by the lock of run.scr. */
static void take_back(const struct runloop *l)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_stop_take_back(l->t, &why) != SCR_OK)
        SAY(l, SCR_LOG_WARN, "halt conditions: %s", why.text);
}

static void close_loop(struct runloop *l)
{
    scr_hostlist_free(&l->others);
    scr_downs_free(&l->down);
    scr_hostlist_free(&l->good);
    scr_commands_free(&l->commands);
    scr_strv_free(&l->line);
    scr_launcher_close(&l->launcher);
    scr_job_close(&l->job);
}

int scr_runloop(struct scr_tool *t, const char *launcher, const char *const *args,
                int *status, struct scr_err *err)
{
    struct runloop l = { .t = t, .down = SCR_DOWNS_INIT, .status = -1 };
    struct runfile file = RUNFILE_INIT;
    sigset_t set;
    handled(&set);
    sigprocmask(SIG_BLOCK, &set, NULL); /* to be taken one by one */
    int rc = open_loop(&l, launcher, args, err);
    const struct scr_hostlist *others = l.knows_others ? &l.others : NULL;
    if (rc == SCR_OK && (rc = scr_runfile_open(&l.job, others, &file, err)) == SCR_OK) {
        take_back(&l); /* of one that was killed */
        rc = loop(&l, err);
        take_back(&l);
        rc = finish(&l, rc, status, err);
    }
    scr_runfile_close(t, &file);
    close_loop(&l);
    return rc;
}
