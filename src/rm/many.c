/* SPDX-License-Identifier: BSD-3-Clause */
/* Many programs at once, with one time limit for all of them. */
#include "rm/many.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"
#include "base/units.h"

enum {
    WIDTH = 64,
    WIDE = 400,
    SPARE_FDS = 64,        /* of the process, for everything else */
    TICK_MS = 20,          /* longest time between two looks at the processes */
    OUTPUT_MAX = 16 << 20, /* bytes kept of each stream; more went wrong */
};
static const double kill_grace_s = 0.7; /* from SIGTERM to SIGKILL */

struct many {
    struct scr_many_task *task;
    size_t n, next, running; /* task[next …] are not started yet */
    size_t few, wide;        /* places, and those from begin + share on */
    int scarce;              /* there was not what it takes to start one more */
    double begin, share;     /* seconds that each may keep its place if others wait */
    struct pollfd *fds;      /* two a task */
};

/* Two descriptors each, of the 1024 there usually are. */
static size_t wide_places(void)
{
    struct rlimit fds;
    if (getrlimit(RLIMIT_NOFILE, &fds) != 0 || fds.rlim_cur >= SPARE_FDS + 2 * WIDE)
        return WIDE;
    return fds.rlim_cur > SPARE_FDS + 2 ? (size_t)(fds.rlim_cur - SPARE_FDS) / 2 : 1;
}

/* Those that hang must not keep the others from their turn. As many shares as it takes
 * to give all a turn on the wide, and one before that for the few: where they are good,
 * none waits, and no more processes than those are needed. */
static void divide_time(struct many *m, size_t width, double seconds)
{
    size_t places = wide_places();
    m->few = width ? width : WIDTH;
    m->wide = m->few > places ? m->few : places;
    m->share = seconds / (double)((m->n + m->wide - 1) / m->wide + 1);
}

static int is_running(const struct scr_many_task *t)
{
    return t->pid > 0;
}

static void close_ends(int ends[2])
{
    for (int i = 0; i < 2; i++)
        (void)scr_close(&scr_sys_posix, &ends[i], "", NULL); /* only read from */
}

/* --- starting --- */

/* One pipe for each output stream: mine are to read from and do not block. */
static int make_pipes(int mine[2], int theirs[2], struct scr_err *err)
{
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return scr_fail(err, SCR_E_IO, errno, "pipe");
        mine[i] = ends[0];
        theirs[i] = ends[1];
        if (fcntl(mine[i], F_SETFL, O_NONBLOCK) != 0)
            return scr_fail(err, SCR_E_IO, errno, "pipe");
    }
    return SCR_OK;
}

/* There may be what it takes when another program has ended. */
static int is_scarce(int sys)
{
    return sys == EMFILE || sys == ENFILE || sys == EAGAIN;
}

/* A program that cannot be started is the task's affair, not an error of all. */
static int start_task(struct scr_many_task *t, struct scr_err *err)
{
    int theirs[2] = { -1, -1 };
    struct scr_err why = SCR_ERR_INIT;
    int rc;
    TRY_OUT(make_pipes(t->fd, theirs, err));
    const struct scr_proc_spec spec = { .argv = t->argv,
                                        .env = t->env,
                                        .in_path = "/dev/null",
                                        .out_fd = theirs[0],
                                        .err_fd = theirs[1],
                                        .new_group = 1 };
    int started = scr_proc_start(&spec, &t->pid, &why);
    t->begun = scr_now_mono();
    if (started != SCR_OK && is_scarce(why.sys))
        TRY_OUT(scr_err_take(err, started, &why));
    else if (started != SCR_OK) {
        t->end = SCR_MANY_FAILED;
        scr_str_append(&t->text[1], why.text);
    }
out:
    close_ends(theirs);
    if (!is_running(t))
        close_ends(t->fd);
    return rc;
}

/* Where descriptors or processes are scarce, the next one starts when another has
 * ended. */
static int start_some(struct many *m, size_t width, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    m->scarce = 0;
    while (m->next < m->n && m->running < width) {
        int rc = start_task(&m->task[m->next], &why);
        m->scarce = rc != SCR_OK;
        if (rc != SCR_OK)
            return m->running > 0 ? SCR_OK : scr_err_take(err, rc, &why);
        m->running += is_running(&m->task[m->next++]) ? 1 : 0;
    }
    return SCR_OK;
}

/* --- output --- */

/* Takes what there is; closes the descriptor at its end. */
static void drain(struct scr_many_task *t, int i)
{
    char buf[16384];
    for (;;) {
        ssize_t n = t->fd[i] >= 0 ? read(t->fd[i], buf, sizeof buf) : -1;
        if (n < 0 && errno == EINTR && t->fd[i] >= 0)
            continue;
        if (n > 0 && t->text[i].len < OUTPUT_MAX)
            scr_str_append_n(&t->text[i], buf, (size_t)n);
        if (n == 0)
            (void)scr_close(&scr_sys_posix, &t->fd[i], "", NULL);
        if (n <= 0)
            return;
    }
}

/* Waits until a process wrote something, or for one tick. */
static void wait_for_output(struct many *m)
{
    nfds_t n = 0;
    for (size_t i = 0; i < m->next; i++)
        for (int k = 0; k < 2; k++)
            if (is_running(&m->task[i]) && m->task[i].fd[k] >= 0)
                m->fds[n++] =
                    (struct pollfd){ .fd = m->task[i].fd[k], .events = POLLIN };
    (void)poll(m->fds, n, TICK_MS); /* what it finds is read by look() */
}

/* --- ends --- */

/* Ends with the program, even if a daemon it left holds its pipes. */
static void look(struct many *m, struct scr_many_task *t)
{
    int status;
    if (!is_running(t))
        return;
    int ended = scr_proc_wait(t->pid, 0, &status, NULL) == SCR_OK;
    drain(t, 0);
    drain(t, 1);
    if (!ended)
        return;
    t->status = t->told > 0 ? -1 : status; /* asked to end, it has not in time */
    t->end = t->told > 0 ? SCR_MANY_LATE : SCR_MANY_ENDED;
    t->pid = -1;
    close_ends(t->fd);
    m->running--;
}

static void look_at_all(struct many *m)
{
    for (size_t i = 0; i < m->next; i++)
        look(m, &m->task[i]);
}

/* --- putting down --- */

/* A process that does not end soon after it was asked to is killed. */
static void tell_to_end(struct scr_many_task *t, double now)
{
    if (!is_running(t))
        return;
    if (t->told <= 0)
        (void)scr_proc_kill_group(t->pid, SIGTERM);
    else if (now - t->told >= kill_grace_s)
        (void)scr_proc_kill_group(t->pid, SIGKILL);
    t->told = t->told > 0 ? t->told : now;
}

static void put_down(struct many *m)
{
    while (m->running > 0) {
        double now = scr_now_mono();
        for (size_t i = 0; i < m->next; i++)
            tell_to_end(&m->task[i], now);
        wait_for_output(m);
        look_at_all(m);
    }
}

/* Those that have had their share make room, if all places are taken. */
static void make_room(struct many *m, size_t width)
{
    double now = scr_now_mono();
    if (m->next == m->n || width < m->wide || (m->running < width && !m->scarce))
        return;
    for (size_t i = 0; i < m->next; i++)
        if (now - m->task[i].begun >= m->share)
            tell_to_end(&m->task[i], now);
}

/* One round of starting, waiting, looking. */
static int go_on(struct many *m, struct scr_err *err)
{
    size_t width = scr_now_mono() < m->begin + m->share ? m->few : m->wide;
    int rc = start_some(m, width, err);
    if (m->running == 0 && m->next == m->n)
        return rc;
    wait_for_output(m);
    look_at_all(m);
    make_room(m, width);
    return rc;
}

static int hand_over(struct scr_many_task *t, struct scr_err *err)
{
    t->out = scr_str_take(&t->text[0]);
    t->errout = scr_str_take(&t->text[1]);
    return t->out && t->errout ? SCR_OK : scr_no_memory(err);
}

int scr_many_run(struct scr_many_task *task, size_t n, size_t width, double timeout_s,
                 const atomic_int *stop, struct scr_err *err)
{
    struct many m = { .task = task, .n = n, .begin = scr_now_mono() };
    double end = m.begin + timeout_s;
    int rc = SCR_OK;
    for (size_t i = 0; i < n; i++)
        task[i] = (struct scr_many_task){ .argv = task[i].argv,
                                          .env = task[i].env,
                                          .status = -1,
                                          .pid = -1,
                                          .fd = { -1, -1 } };
    m.fds = scr_calloc(2 * n, sizeof *m.fds);
    TRY(m.fds ? SCR_OK : scr_no_memory(err));
    divide_time(&m, width, timeout_s);
    do {
        if (scr_now_mono() >= end || (stop != NULL && *stop))
            break;
        rc = go_on(&m, err);
    } while (rc == SCR_OK && (m.running > 0 || m.next < n));
    put_down(&m);
    for (size_t i = 0; i < n; i++)
        rc = scr_first(rc, hand_over(&task[i], err));
    free(m.fds);
    return rc;
}

void scr_many_free(struct scr_many_task *task, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(task[i].out);
        free(task[i].errout);
        task[i].out = task[i].errout = NULL;
    }
}
