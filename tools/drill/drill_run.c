/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a drill: its environment, the watch over its phases, the strike, its end.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/units.h"
#include "drill/drill.h"
#include "store/cache.h"
#include "store/identity.h"

static const char job_user[] = "drill";

enum {
    MAX_PHASE_FILE = 16 << 20,
    MAX_PID_FILE = 256,
    MAX_LOG = 256 << 20,
    MAX_ENVIRON = 4 << 20
};
static const double poll_s = 0.01;    /* between two looks at the phase file */
static const double graceful_s = 5.0; /* for mpirun to end its processes when asked
                                       * to */

/* --- the environment of a run --- */

/* More processes than cores, perhaps as root in a container: settings that MPI
 * libraries need, and the place where Open MPI puts files that a killed process leaves
 * behind. */
static void env_add_mpi(struct scr_strv *e, const struct drill *d)
{
    static const char *const fixed[] = {
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_mpi_yield_when_idle=1",
        "OMPI_MCA_hwloc_base_binding_policy=none",
        "OMPI_MCA_btl_vader_single_copy_mechanism=none",
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        scr_strv_add(e, fixed[i]);
    scr_strv_add_all(e, scr_strv_argv(&d->hidden));
    scr_strv_printf(e, "OMPI_MCA_btl_vader_backing_directory=%s", d->storage);
    scr_strv_printf(e, "OMPI_MCA_orte_tmpdir_base=%s", d->storage);
}

/* Settings of the drill win over everything else: the environment comes first. */
static void env_add_scr(struct scr_strv *e, const struct drill *d, const char *prefix,
                        const char *name, const struct scr_hostlist *nodes)
{
    scr_strv_join(e, "SCR_VNODES=", nodes->name, nodes->n);
    scr_strv_add(e, "SCR_ENABLE=1");
    scr_strv_add(e, "SCR_CONF_FILE");
    scr_strv_printf(e, "SCR_USER_NAME=%s", job_user);
    scr_strv_printf(e, "SCR_JOB_ID=%s", scr_path_base(prefix));
    scr_strv_printf(e, "SCR_PREFIX=%s", prefix);
    scr_strv_printf(e, "SCR_CACHE_BASE=%s/cache", d->storage);
    scr_strv_printf(e, "SCR_CNTL_BASE=%s/cntl", d->storage);
    scr_strv_add(e, "SCR_GROUP=NODE");
    scr_strv_printf(e, "SCR_COPY_TYPE=%s", scr_scheme_name(d->scheme));
    scr_strv_printf(e, "SCR_FLUSH=%d", d->flush);
    if (d->set_size > 0) {
        scr_strv_add(e, "SCR_FLUSH_ASYNC=0"); /* phases say what was flushed */
        scr_strv_printf(e, "SCR_SET_SIZE=%d", d->set_size);
        scr_strv_printf(e, "SCR_SET_FAILURES=%d", d->set_failures);
    }
    scr_strv_printf(e, "SCR_PHASE_FILE=%s/phases.%s", d->work, name);
    scr_strv_add(e, "SCR_PHASE_DELAY=0");
}

/* --- processes of a node --- */

struct node_files {
    char *dir;    /* control directory of the job on this node */
    char **names; /* its files */
    size_t n;
};

/* SCR_E_NOENT: no process has begun to use the prefix directory. */
static int identity_of(const struct scr_sys *sys, const struct drill *d,
                       const char *jobid, struct scr_identity *id, struct scr_err *err)
{
    const struct scr_env env = { .sys = sys };
    struct scr_prefix p;
    char *path = scr_path_join(d->work, jobid);
    int rc = path ? scr_prefix_open(&env, path, 0, &p, err) : scr_no_memory(err);
    free(path);
    if (rc != SCR_OK)
        return rc;
    TRY_OUT(scr_identity_read(&env, &p, id, err));
    if (id->name[0] == '\0')
        TRY_OUT(scr_fail(err, SCR_E_NOENT, 0, "%s: no run has used it", p.path));
out:
    scr_prefix_fini(&p);
    return rc;
}

static int node_files_list(const struct scr_sys *sys, const struct drill *d,
                           const char *jobid, const char *node, struct node_files *f,
                           struct scr_err *err)
{
    struct scr_identity id;
    struct scr_place place = { job_user, jobid, node, id.name };
    *f = (struct node_files){ 0 };
    TRY(identity_of(sys, d, jobid, &id, err));
    char *base = scr_asprintf("%s/cntl", d->storage);
    f->dir = base ? scr_place_dir(&place, base, 1) : NULL;
    free(base);
    TRY(f->dir ? SCR_OK : scr_no_memory(err));
    return scr_dir_list(sys, f->dir, &f->names, &f->n, err);
}

static void node_files_free(struct node_files *f)
{
    scr_names_free(f->names, f->n);
    free(f->dir);
}

/* "<pid> <world rank>\n"; 0 if the file is not that. */
static int read_pid(const struct scr_sys *sys, const char *dir, const char *name,
                    pid_t *pid, int *rank)
{
    char *path = scr_path_join(dir, name), *end = NULL;
    void *text = NULL;
    size_t n;
    long p = 0, r = -1;
    if (path && scr_file_load(sys, path, MAX_PID_FILE, &text, &n, NULL) == SCR_OK) {
        p = strtol(text, &end, 10);
        r = strtol(end, NULL, 10);
    }
    free(text);
    free(path);
    *pid = (pid_t)p;
    *rank = (int)r;
    return p > 1 && r >= 0;
}

/* SIGKILL to the node's processes; adds them to who. */
static int kill_node(const struct scr_sys *sys, const struct drill *d,
                     const char *jobid, const char *node, struct scr_str *who,
                     struct scr_err *err)
{
    struct node_files f;
    int rc = node_files_list(sys, d, jobid, node, &f, err);
    for (size_t i = 0; rc == SCR_OK && i < f.n; i++) {
        pid_t pid;
        int rank;
        if (strncmp(f.names[i], "pid.", 4) != 0 ||
            !read_pid(sys, f.dir, f.names[i], &pid, &rank) || kill(pid, SIGKILL) != 0)
            continue;
        scr_str_printf(who, "%s%d (pid %d)", who->len ? ", " : "", rank, (int)pid);
    }
    node_files_free(&f);
    /* The launcher may have killed those of the other nodes by now. */
    if (rc == SCR_OK && who->len == 0)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "no process of node %s found on this host: does the program call "
                      "SCR_Init, and does the launcher start all processes here?",
                      node);
    return rc;
}

/* Killed processes leave their pid files: those pids may be anyone's by now. */
static int forget_pids(const struct scr_sys *sys, const struct drill *d,
                       const char *jobid, const char *node, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct node_files f;
    int rc = node_files_list(sys, d, jobid, node, &f, &why);
    for (size_t i = 0; rc == SCR_OK && i < f.n; i++) {
        if (strncmp(f.names[i], "pid.", 4) != 0)
            continue;
        char *path = scr_path_join(f.dir, f.names[i]);
        rc = path ? scr_file_remove(sys, path, &why) : scr_no_memory(&why);
        free(path);
    }
    node_files_free(&f);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

/* Removes the data lost with nodes: their directories under both bases. */
static int remove_storage(const struct scr_sys *sys, const struct drill *d,
                          const struct scr_hostlist *nodes, struct scr_err *err)
{
    static const char *const bases[] = { "cache", "cntl" };
    int rc = SCR_OK;
    for (size_t i = 0; i < 2 * nodes->n && rc == SCR_OK; i++) {
        char *dir = scr_asprintf("%s/%s/vnode.%s", d->storage, bases[i % 2],
                                 nodes->name[i / 2]);
        rc = dir ? scr_dir_remove(sys, dir, err) : scr_no_memory(err);
        free(dir);
    }
    return rc;
}

/* --- watching --- */

struct watch {
    const struct scr_sys *sys;
    const struct drill *d;
    const char *jobid;
    char *phase_file, *hold; /* at hold's entry the job waits for the strike */
    pid_t pid;
    double start;
};

static int hold_for(const struct watch *w, const struct drill_strike *strike,
                    struct scr_err *err)
{
    char *line = scr_asprintf("%s %d\n", strike->wait.phase, strike->wait.entry);
    int rc = line ? scr_file_replace(w->sys, w->hold, line, strlen(line),
                                     (struct scr_replace){ 0600, SCR_VOLATILE }, err)
                  : scr_no_memory(err);
    free(line);
    return rc;
}

/* The phase file so far, "" while it does not exist; malloc'd. */
static char *phase_text(const struct watch *w)
{
    void *text = NULL;
    size_t n;
    if (scr_file_load(w->sys, w->phase_file, MAX_PHASE_FILE, &text, &n, NULL) != SCR_OK)
        return scr_strdup("");
    return text;
}

/* Notes what the run has come to. */
static void look(const struct watch *w, const struct drill_strike *strike,
                 struct drill_run *run)
{
    char *text = phase_text(w);
    double now = scr_now_mono() - w->start;
    if (text != NULL && run->restarted_at < 0 &&
        scr_drill_phase_entry(text, "restart", 1) >= 0)
        run->restarted_at = now;
    if (text != NULL && strike != NULL && run->entered_at < 0) {
        run->struck_dataset =
            scr_drill_phase_entry(text, strike->at.phase, strike->at.entry);
        run->entered_at = run->struck_dataset >= 0 ? now : -1;
    }
    free(text);
}

static int strike_is_due(const struct watch *w, const struct drill_strike *strike,
                         const struct drill_run *run)
{
    return strike != NULL && run->struck_at < 0 && run->entered_at >= 0 &&
           scr_now_mono() - w->start >= run->entered_at + strike->delay;
}

static int do_strike(const struct watch *w, const struct drill_strike *strike,
                     struct drill_run *run, struct scr_err *err)
{
    struct scr_str who = SCR_STR_INIT;
    run->struck_at = scr_now_mono() - w->start;
    /* Without a delay the others stay where they are until all of these are dead. */
    int rc;
    for (size_t i = 0; i < strike->nodes.n; i++)
        TRY_OUT(kill_node(w->sys, w->d, w->jobid, strike->nodes.name[i], &who, err));
    /* Processes still dying may get in the way; watch_run removes what stays. */
    (void)remove_storage(w->sys, w->d, &strike->nodes, NULL);
out:
    run->pids = scr_str_take(&who);
    (void)scr_file_remove(w->sys, w->hold, NULL);
    return rc;
}

/* Whether the run started that process: all of a run have its phase file in their
 * environment. */
static int is_of_run(const struct watch *w, const char *pid)
{
    char *path = scr_asprintf("/proc/%s/environ", pid);
    char *mark = scr_asprintf("SCR_PHASE_FILE=%s", w->phase_file);
    void *text = NULL;
    size_t n;
    int is = 0;
    if (path && mark &&
        scr_file_load(w->sys, path, MAX_ENVIRON, &text, &n, NULL) == SCR_OK)
        for (const char *e = text; !is && e < (const char *)text + n;
             e += strlen(e) + 1)
            is = strcmp(e, mark) == 0;
    free(text);
    free(mark);
    free(path);
    return is;
}

/* An mpirun that is ended while it starts may leave daemons and ranks, in sessions of
 * their own and not yet in SCR_Init. Looks again, as they may start others. */
static void kill_rest(const struct watch *w)
{
    double until = scr_now_mono() + graceful_s;
    char **names;
    size_t n;
    int found = 1;
    while (found && scr_now_mono() < until &&
           scr_dir_list(w->sys, "/proc", &names, &n, NULL) == SCR_OK) {
        found = 0;
        for (size_t i = 0; i < n; i++) {
            pid_t pid = (pid_t)strtol(names[i], NULL, 10);
            if (pid > 1 && is_of_run(w, names[i]) && kill(pid, SIGKILL) == 0)
                found = 1;
        }
        scr_names_free(names, n);
    }
}

/* Ends a run that is not to continue: mpirun first, then whatever is left of it. */
static void end_run(const struct watch *w)
{
    int status;
    kill(w->pid, SIGTERM);
    int rc = scr_proc_wait(w->pid, graceful_s, &status, NULL);
    kill_rest(w);
    if (rc != SCR_OK)
        scr_proc_wait(w->pid, graceful_s, &status, NULL);
}

/* SIGPIPE: drill | head -1. */
static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
enum { INTERRUPTS = sizeof interrupts / sizeof interrupts[0] };

void scr_drill_hold_signals(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (int i = 0; i < INTERRUPTS; i++)
        sigaddset(&held, interrupts[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

int scr_drill_interrupted(void)
{
    sigset_t pending;
    int found = 0;
    if (sigpending(&pending) != 0)
        return 0;
    for (int i = 0; i < INTERRUPTS; i++)
        found |= sigismember(&pending, interrupts[i]) == 1;
    return found;
}

static int check_end(const struct watch *w, struct scr_err *err)
{
    if (scr_drill_interrupted())
        return scr_fail(err, SCR_E_FAILURE, 0, "interrupted");
    if (scr_now_mono() - w->start > w->d->timeout)
        return scr_fail(err, SCR_E_LOCKED, 0, "still running after %.0f s: killed",
                        w->d->timeout);
    return SCR_OK;
}

static int watch_run(const struct watch *w, const struct drill_strike *strike,
                     struct drill_run *run, struct scr_err *err)
{
    int rc;
    while ((rc = scr_proc_wait(w->pid, poll_s, &run->status, NULL)) == SCR_E_LOCKED) {
        look(w, strike, run);
        rc = strike_is_due(w, strike, run) ? do_strike(w, strike, run, err) : SCR_OK;
        if (rc != SCR_OK || (rc = check_end(w, err)) != SCR_OK) {
            end_run(w);
            return rc;
        }
    }
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "wait for process %d", (int)w->pid);
    /* A process can have written its directories between the strike and its death. */
    return run->struck_at >= 0 ? remove_storage(w->sys, w->d, &strike->nodes, err)
                               : SCR_OK;
}

/* The first error SCR reported in the output of the run, NULL if there is none. */
static char *first_complaint(const struct scr_sys *sys, const char *log)
{
    static const char mark[] = "SCR: error: ";
    void *text = NULL;
    size_t n;
    char *line = NULL;
    if (scr_file_load(sys, log, MAX_LOG, &text, &n, NULL) != SCR_OK)
        return NULL;
    const char *at = strstr(text, mark);
    if (at != NULL)
        line = scr_asprintf("%.*s", (int)strcspn(at, "\n"), at);
    free(text);
    return line;
}

/* --- the run --- */

static int start_run(const struct drill *d, const char *prefix, const char *log,
                     const struct scr_strv *env, pid_t *pid, struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT;
    scr_strv_printf(&argv, "%s", d->mpirun);
    scr_strv_printf(&argv, "-n");
    scr_strv_printf(&argv, "%d", d->ranks);
    scr_strv_add_all(&argv, d->program);
    const struct scr_proc_spec spec = { .argv = scr_strv_argv(&argv),
                                        .env = scr_strv_argv(env),
                                        .cwd = prefix,
                                        .out_path = log,
                                        .err_path = log,
                                        .new_group = 1 };
    int rc = argv.bad ? scr_no_memory(err) : scr_proc_start(&spec, pid, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", d->mpirun);
    scr_strv_free(&argv);
    return rc;
}

int scr_drill_run(struct scr_tool *t, const struct drill *d,
                  const struct drill_leg *leg, struct drill_run *run,
                  struct scr_err *err)
{
    const struct scr_hostlist *nodes = leg->nodes;
    const char *name = leg->name;
    struct scr_strv env = SCR_STRV_INIT;
    struct watch w = { .sys = t->env.sys, .d = d, .jobid = leg->dir };
    char *prefix = scr_path_join(d->work, leg->dir);
    char *log = scr_asprintf("%s/log.%s", d->work, name);
    char *text = NULL;
    int rc;
    *run = (struct drill_run){
        .entered_at = -1, .struck_at = -1, .restarted_at = -1, .struck_dataset = -1
    };
    w.phase_file = scr_asprintf("%s/phases.%s", d->work, name);
    w.hold = scr_asprintf("%s/phases.%s.hold", d->work, name);
    if (prefix) {
        env_add_mpi(&env, d);
        env_add_scr(&env, d, prefix, name, nodes);
    }
    if (prefix == NULL || log == NULL || w.phase_file == NULL || w.hold == NULL ||
        env.bad)
        TRY_OUT(scr_no_memory(err));
    TRY_OUT(scr_dir_make(t->env.sys, prefix, 0700, err));
    if (leg->strike != NULL)
        TRY_OUT(hold_for(&w, leg->strike, err));
    for (size_t i = 0; i < nodes->n; i++)
        TRY_OUT(forget_pids(t->env.sys, d, leg->dir, nodes->name[i], err));
    w.start = scr_now_mono();
    TRY_OUT(start_run(d, prefix, log, &env, &w.pid, err));
    rc = watch_run(&w, leg->strike, run, err);
    look(&w, NULL, run);
    run->seconds = scr_now_mono() - w.start;
    run->complaint = first_complaint(t->env.sys, log);
    if ((text = phase_text(&w)) != NULL)
        scr_drill_phases(text, &run->phases);
out:
    free(text);
    free(w.phase_file);
    free(w.hold);
    free(log);
    free(prefix);
    scr_strv_free(&env);
    return rc;
}

void scr_drill_run_fini(struct drill_run *run)
{
    free(run->pids);
    free(run->complaint);
    run->pids = run->complaint = NULL;
}
