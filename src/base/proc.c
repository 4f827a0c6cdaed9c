/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting processes, always from an argument array, never through a shell. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"

enum {
    TICK_MS = 20,            /* longest time between two looks at a running process */
    INHERITED_MAX = 1 << 16, /* descriptors looked at */
    OUTPUT_MAX = 64 * 1024 * 1024 /* captured; a command that prints more went wrong */
};
static const double kill_grace_s = 2.0; /* from SIGTERM to SIGKILL */

/* --- environment --- */

/* Whether one of the settings, "K=V" or "K", is about the variable of entry. */
static int overridden(const char *entry, const char *const *settings)
{
    for (; *settings != NULL; settings++) {
        size_t n = strcspn(*settings, "=");
        if (strncmp(*settings, entry, n) == 0 && entry[n] == '=')
            return 1;
    }
    return 0;
}

/* Ours with the settings applied: an array to free, of borrowed strings. */
static char **merge_env(const char *const *settings)
{
    static const char *const none[] = { NULL };
    size_t n = 0, m = 0;
    settings = settings ? settings : none;
    while (environ != NULL && environ[n] != NULL)
        n++;
    while (settings[m] != NULL)
        m++;
    char **env = scr_calloc(n + m + 1, sizeof *env), **at = env;
    if (env == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!overridden(environ[i], settings))
            *at++ = environ[i];
    for (size_t i = 0; i < m; i++)
        if (strchr(settings[i], '=') != NULL)
            *at++ =
                (char *)(uintptr_t)settings[i]; /* posix_spawn does not write to it */
    return env;
}

/* --- starting --- */

/* The resources of a start that must be released. */
struct launch {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int in, out, err; /* -1: inherited */
};

static int open_streams(const struct scr_proc_spec *spec, struct launch *l,
                        struct scr_err *err)
{
    static const int output = O_WRONLY | O_CREAT | O_TRUNC;
    int one =
        spec->out_path && spec->err_path && strcmp(spec->out_path, spec->err_path) == 0;
    const struct scr_sys *sys = &scr_sys_posix;
    if (spec->in_path != NULL)
        TRY(scr_open(sys, spec->in_path, O_RDONLY, 0, &l->in, err));
    if (spec->out_path != NULL)
        TRY(scr_open(sys, spec->out_path, output, 0666, &l->out, err));
    if (spec->err_path != NULL && !one)
        TRY(scr_open(sys, spec->err_path, output, 0666, &l->err, err));
    return SCR_OK;
}

/* The child has copies; ours were not written to. Those given stay open. */
static void close_streams(const struct scr_proc_spec *spec, struct launch *l)
{
    (void)scr_close(&scr_sys_posix, &l->in, "", NULL);
    if (spec->out_path != NULL)
        (void)scr_close(&scr_sys_posix, &l->out, "", NULL);
    if (spec->err_path != NULL)
        (void)scr_close(&scr_sys_posix, &l->err, "", NULL);
}

/* Everything the child does between its birth and the program; an errno. */
static int describe(const struct scr_proc_spec *spec, struct launch *l)
{
    int out = l->out;
    int err = spec->err_path != NULL && l->err < 0 ? l->out : l->err;
    int rc = 0;
    if (l->in >= 0)
        rc = posix_spawn_file_actions_adddup2(&l->files, l->in, STDIN_FILENO);
    if (rc == 0 && out >= 0)
        rc = posix_spawn_file_actions_adddup2(&l->files, out, STDOUT_FILENO);
    if (rc == 0 && err >= 0)
        rc = posix_spawn_file_actions_adddup2(&l->files, err, STDERR_FILENO);
    if (rc == 0 && spec->cwd != NULL)
        rc = posix_spawn_file_actions_addchdir_np(&l->files, spec->cwd);

    /* The program does not inherit the signals we block or ignore. */
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, dfl;
    sigemptyset(&none);
    sigemptyset(&dfl);
    sigaddset(&dfl, SIGPIPE);
    if (spec->new_group)
        flags |= POSIX_SPAWN_SETPGROUP; /* its default group 0 means a new one */
    if (spec->new_session)
        flags |= POSIX_SPAWN_SETSID;
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(&l->attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(&l->attr, &dfl);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&l->attr, flags);
    return rc;
}

/* posix_spawn and not fork: it reports why a program cannot be executed, and copies no
 * page tables, nor memory registered with a network card, of a large process. */
static int spawn(const struct scr_proc_spec *spec, struct launch *l, pid_t *pid)
{
    char **env = merge_env(spec->env);
    char *const *argv = (char *const *)(uintptr_t)spec->argv;
    if (env == NULL)
        return ENOMEM;
    int rc = describe(spec, l);
    if (rc == 0)
        rc = posix_spawnp(pid, argv[0], &l->files, &l->attr, argv, env);
    free(env);
    return rc;
}

/* out: where stdout goes, -1 as spec says. */
static int start(const struct scr_proc_spec *spec, int out, pid_t *pid,
                 struct scr_err *err)
{
    struct launch l = { .in = -1,
                        .out = spec->out_fd > 0 ? spec->out_fd : out,
                        .err = spec->err_fd > 0 ? spec->err_fd : -1 };
    *pid = -1;
    if (spec->argv == NULL || spec->argv[0] == NULL || spec->argv[0][0] == '\0')
        return scr_fail(err, SCR_E_ARG, 0, "start a program: no name given");
    if (posix_spawn_file_actions_init(&l.files) != 0)
        return scr_no_memory(err);
    if (posix_spawnattr_init(&l.attr) != 0) {
        posix_spawn_file_actions_destroy(&l.files);
        return scr_no_memory(err);
    }
    int rc;
    TRY_OUT(open_streams(spec, &l, err));
    int cause = spawn(spec, &l, pid);
    if (cause != 0)
        TRY_OUT(scr_fail(err, SCR_E_IO, cause, "start %s%s%s", spec->argv[0],
                         spec->cwd ? " in " : "", spec->cwd ? spec->cwd : ""));
out:
    close_streams(spec, &l);
    posix_spawnattr_destroy(&l.attr);
    posix_spawn_file_actions_destroy(&l.files);
    return rc;
}

int scr_proc_start(const struct scr_proc_spec *spec, pid_t *pid, struct scr_err *err)
{
    return start(spec, -1, pid, err);
}

int scr_proc_exec(const char *path, const char *const *argv, struct scr_err *err)
{
    (void)execv(path, (char *const *)(uintptr_t)argv);
    return scr_fail(err, SCR_E_IO, errno, "start %s", path);
}

/* --- waiting --- */

/* 1 and *status if it has ended, 0 if not, -1 with errno. */
static int reap(pid_t pid, int flags, int *status)
{
    int raw;
    pid_t got;
    do
        got = waitpid(pid, &raw, flags);
    while (got < 0 && errno == EINTR);
    if (got == pid)
        *status = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
    return got == pid ? 1 : (int)got;
}

int scr_proc_wait(pid_t pid, double timeout_s, int *status, struct scr_err *err)
{
    double end = scr_now_mono() + timeout_s;
    if (pid <= 0) /* waitpid would take any child of ours */
        return scr_fail(err, SCR_E_ARG, 0, "wait for process %ld", (long)pid);
    for (int ms = 1;; ms = 2 * ms < TICK_MS ? 2 * ms : TICK_MS) {
        int got = reap(pid, timeout_s < 0 ? 0 : WNOHANG, status);
        if (got > 0)
            return SCR_OK;
        if (got < 0)
            return scr_fail(err, SCR_E_IO, errno, "wait for process %ld", (long)pid);
        if (scr_now_mono() >= end)
            return scr_fail(err, SCR_E_LOCKED, 0,
                            "process %ld still running after %.1f seconds", (long)pid,
                            timeout_s);
        scr_nap_ms(ms);
    }
}

int scr_proc_kill_group(pid_t pid, int signo)
{
    if (pid <= 1) /* kill(-1) and kill(0) mean others than this group */
        return SCR_E_ARG;
    return kill(-pid, signo) == 0 || errno == ESRCH ? SCR_OK : SCR_E_IO;
}

void scr_proc_kill(pid_t pid)
{
    if (pid > 1)
        (void)kill(pid, SIGKILL);
}

void scr_proc_fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDONLY);
}

/* Readers of inherited descriptors would wait for this process. */
void scr_proc_detach(void)
{
    long most = sysconf(_SC_OPEN_MAX);
    most = most > 0 && most < INHERITED_MAX ? most : INHERITED_MAX;
    for (int fd = STDERR_FILENO + 1; fd < most; fd++)
        (void)close(fd);
    (void)close(STDIN_FILENO);
    scr_proc_fill_streams();
}

/* Asks it to end, then makes it; reaped afterwards. */
static void put_down(const struct scr_proc_spec *spec, pid_t pid)
{
    pid_t target = spec->new_group ? -pid : pid;
    int status;
    (void)kill(target, SIGTERM);
    if (scr_proc_wait(pid, kill_grace_s, &status, NULL) == SCR_OK)
        return;
    (void)kill(target, SIGKILL);
    (void)reap(pid, 0, &status);
}

/* --- whole runs --- */

/* Milliseconds that poll may wait before the clock or the process is due for a look. */
static int poll_ms(double end)
{
    double left = 1e3 * (end - scr_now_mono());
    return left >= TICK_MS ? TICK_MS : left > 0 ? (int)left + 1 : 0;
}

/* Takes what the pipe holds; 1 if more may come, 0 at its end, -1 with errno. */
static int drain_once(int fd, struct scr_str *text)
{
    char buf[16384];
    ssize_t n = read(fd, buf, sizeof buf);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 1 : -1;
    scr_str_append_n(text, buf, (size_t)n);
    if (text->bad || text->len > OUTPUT_MAX) {
        errno = text->bad ? ENOMEM : EFBIG;
        return -1;
    }
    return n > 0;
}

/* A process that is seen through to its end. */
struct seen {
    pid_t pid;
    int fd;              /* of the pipe its output comes through; -1: none */
    struct scr_str text; /* that output */
    int ended, status;
};

/* Collects output until the pipe ends, or the process has ended and the pipe is empty:
 * a daemon that inherited the pipe must not keep us here. */
static int collect(struct seen *s, double timeout_s, struct scr_err *err)
{
    double end = scr_now_mono() + (timeout_s < 0 ? 1e9 : timeout_s);
    for (;;) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        int was_ended = s->ended;
        int ready = poll(&p, 1, was_ended ? 0 : poll_ms(end));
        if (ready > 0) {
            int more = drain_once(s->fd, &s->text);
            if (more < 0)
                return scr_fail(err, SCR_E_IO, errno, "read output of process %ld",
                                (long)s->pid);
            if (more == 0)
                return SCR_OK;
        } else if (ready == 0 && was_ended) {
            return SCR_OK;
        }
        if (scr_now_mono() >= end)
            return scr_fail(err, SCR_E_LOCKED, 0,
                            "process %ld still running after %.1f seconds",
                            (long)s->pid, timeout_s);
        if (ready <= 0 && !s->ended)
            s->ended = reap(s->pid, WNOHANG, &s->status) > 0;
    }
}

static int see_through(const struct scr_proc_spec *spec, struct seen *s,
                       double timeout_s, struct scr_err *err)
{
    int rc = SCR_OK;
    double end = scr_now_mono() + timeout_s;
    if (s->fd >= 0)
        rc = collect(s, timeout_s, err);
    if (rc == SCR_OK && !s->ended) {
        double left = end - scr_now_mono();
        left = timeout_s < 0 ? -1 : left > 0 ? left : 0;
        rc = scr_proc_wait(s->pid, left, &s->status, err);
    }
    if (rc != SCR_OK && !s->ended)
        put_down(spec, s->pid);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", spec->argv[0]);
    return rc;
}

int scr_proc_run(const struct scr_proc_spec *spec, double timeout_s, char **out,
                 int *status, struct scr_err *err)
{
    struct seen s = { .text = SCR_STR_INIT };
    int ends[2] = { -1, -1 };
    *status = -1;
    if (out != NULL) {
        *out = NULL;
        if (spec->out_path != NULL)
            return scr_fail(err, SCR_E_ARG, 0,
                            "run a program: output both captured and to %s",
                            spec->out_path);
        if (pipe2(ends, O_CLOEXEC) != 0)
            return scr_fail(err, SCR_E_IO, errno, "run a program: pipe");
    }
    int rc = start(spec, ends[1], &s.pid, err);
    s.fd = ends[0];
    (void)scr_close(&scr_sys_posix, &ends[1], "", NULL); /* the child has a copy */
    if (rc == SCR_OK)
        rc = see_through(spec, &s, timeout_s, err);
    (void)scr_close(&scr_sys_posix, &ends[0], "",
                    NULL); /* nothing written through it */
    if (rc == SCR_OK && out != NULL && (*out = scr_str_take(&s.text)) == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        *status = s.status;
    scr_str_free(&s.text);
    return rc;
}

int scr_proc_become(const char *user, struct scr_err *err)
{
    enum { BUFFER = 16384 };
    struct passwd pw, *found = NULL;
    char *buf = malloc(BUFFER);
    int rc = SCR_OK;
    TRY(buf ? SCR_OK : scr_no_memory(err));
    if (getpwnam_r(user, &pw, buf, BUFFER, &found) != 0 || found == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0, "user %s is not known here", user);
    else if (pw.pw_uid != geteuid() && geteuid() != 0)
        rc = scr_fail(err, SCR_E_UNSAFE, 0, "only root or %s can do this", user);
    else if (pw.pw_uid != geteuid() &&
             (initgroups(user, pw.pw_gid) != 0 || setgid(pw.pw_gid) != 0 ||
              setuid(pw.pw_uid) != 0))
        rc = scr_fail(err, SCR_E_FAILURE, errno, "become user %s", user);
    free(buf);
    return rc;
}
