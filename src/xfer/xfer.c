/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of back ends, and the two that need no other process. */
#include "xfer/xfer.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/thread.h"
#include "base/units.h"
#include "xfer/mover.h"

enum {
    THREADS = 4, /* of a process: enough to keep a server busy while one waits */
    LOOK_MS = 20
};

void scr_mover_append(struct scr_mover *m, struct scr_xfer *x)
{
    x->after = NULL;
    if (m->last != NULL)
        m->last->after = x;
    else
        m->first = x;
    m->last = x;
}

void scr_mover_remove(struct scr_mover *m, struct scr_xfer *x)
{
    struct scr_xfer *before = NULL;
    for (struct scr_xfer *at = m->first; at != NULL && at != x; at = at->after)
        before = at;
    if (before != NULL)
        before->after = x->after;
    else
        m->first = x->after;
    m->last = m->last == x ? before : m->last;
}

static enum scr_xfer_state state_of(const struct scr_xfer *x)
{
    return x->rc == SCR_OK ? SCR_XFER_DONE : SCR_XFER_FAILED;
}

/* --- SYNC --- */

static int start_sync(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    (void)err;
    scr_xfer_run(x, m->sys, 1);
    x->state = state_of(x);
    return SCR_OK;
}

/* --- PTHREAD --- */

/* The transfers one after another, until there is nothing left to quit for. */
static void *run_queue(void *arg)
{
    struct scr_mover *m = arg;
    pthread_mutex_lock(&m->lock);
    while (!m->quit) {
        struct scr_xfer *x = m->first;
        if (x == NULL || m->paused) {
            pthread_cond_wait(&m->moved, &m->lock);
            continue;
        }
        pthread_mutex_unlock(&m->lock);
        scr_xfer_run(x, m->sys, THREADS);
        pthread_mutex_lock(&m->lock);
        scr_mover_remove(m, x);
        x->state = state_of(x);
        pthread_cond_broadcast(&m->moved);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static int make_thread(struct scr_mover *m, struct scr_err *err)
{
    if (m->have_thread)
        return SCR_OK;
    int code = scr_thread_start(&m->thread, run_queue, m);
    m->have_thread = code == 0;
    return code == 0 ? SCR_OK
                     : scr_fail(err, SCR_E_NOMEM, code, "start a thread for transfers");
}

static int start_pthread(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    TRY(make_thread(m, err));
    pthread_mutex_lock(&m->lock);
    scr_mover_append(m, x);
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    return SCR_OK;
}

/* A waiting thread sees its cancellation immediately. */
static void stop_pthread(struct scr_mover *m)
{
    pthread_mutex_lock(&m->lock);
    for (struct scr_xfer *x = m->first; x != NULL; x = x->after)
        scr_pace_cancel(&x->pace);
    while (m->first != NULL)
        pthread_cond_wait(&m->moved, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

/* A job that has not begun need not wait for those before it. */
static void cancel_pthread(struct scr_mover *m, struct scr_xfer *x)
{
    pthread_mutex_lock(&m->lock);
    scr_pace_cancel(&x->pace);
    if (m->first != x && x->state == SCR_XFER_RUNNING) {
        scr_mover_remove(m, x);
        x->rc = scr_fail(&x->err, SCR_E_CANCELLED, 0, "the transfer was cancelled");
        x->state = SCR_XFER_FAILED;
    }
    pthread_mutex_unlock(&m->lock);
}

static void fini_pthread(struct scr_mover *m)
{
    pthread_mutex_lock(&m->lock);
    m->quit = 1;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    if (m->have_thread)
        pthread_join(m->thread, NULL);
}

/* --- the table --- */

static const struct scr_back_end back_ends[SCR_XFER_NTYPES] = {
    [SCR_XFER_SYNC] = { .start = start_sync },
    [SCR_XFER_PTHREAD] = { .start = start_pthread,
                           .cancel = cancel_pthread,
                           .stop = stop_pthread,
                           .fini = fini_pthread },
};

struct scr_mover *scr_mover_make(const struct scr_back_end *b,
                                 const struct scr_sys *sys, struct scr_err *err)
{
    struct scr_mover *m = scr_calloc(1, sizeof *m);
    if (m == NULL) {
        scr_no_memory(err);
        return NULL;
    }
    m->back_end = b;
    m->sys = sys;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->moved, NULL);
    return m;
}

struct scr_mover *scr_mover_new(enum scr_xfer_type type, const struct scr_sys *sys,
                                struct scr_err *err)
{
    return scr_mover_make(&back_ends[type], sys, err);
}

int scr_mover_is_daemon(const struct scr_mover *m)
{
    return m != NULL && m->daemon != NULL;
}

void scr_mover_free(struct scr_mover *m)
{
    if (m == NULL)
        return;
    if (m->back_end->fini != NULL)
        m->back_end->fini(m);
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->moved);
    free(m);
}

int scr_mover_start(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    x->state = SCR_XFER_RUNNING;
    int rc = m->back_end->start(m, x, err);
    if (rc != SCR_OK)
        x->state = SCR_XFER_FAILED;
    return rc;
}

enum scr_xfer_state scr_mover_poll(struct scr_mover *m, struct scr_xfer *x)
{
    if (m->back_end->look != NULL && x->state == SCR_XFER_RUNNING)
        m->back_end->look(m, x);
    pthread_mutex_lock(&m->lock);
    enum scr_xfer_state state = x->state;
    pthread_mutex_unlock(&m->lock);
    return state;
}

static void set_paused(struct scr_mover *m, int paused)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    if (m->paused != paused)
        pthread_cond_broadcast(&m->moved);
    m->paused = paused;
    pthread_mutex_unlock(&m->lock);
}

void scr_mover_pause(struct scr_mover *m)
{
    set_paused(m, 1);
}

void scr_mover_go(struct scr_mover *m)
{
    set_paused(m, 0);
}

int scr_mover_wait(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    scr_mover_go(m);
    while (m->back_end->look != NULL && scr_mover_poll(m, x) == SCR_XFER_RUNNING)
        scr_nap_ms(LOOK_MS);
    pthread_mutex_lock(&m->lock);
    while (x->state == SCR_XFER_RUNNING)
        pthread_cond_wait(&m->moved, &m->lock);
    pthread_mutex_unlock(&m->lock);
    if (x->rc != SCR_OK && err != NULL && err->code == SCR_OK)
        *err = x->err;
    return x->rc;
}

void scr_mover_stop(struct scr_mover *m)
{
    scr_mover_go(m);
    if (m != NULL && m->back_end->stop != NULL)
        m->back_end->stop(m);
}

void scr_mover_interrupt(struct scr_mover *m, struct scr_xfer *x)
{
    if (m->back_end->cancel != NULL)
        m->back_end->cancel(m, x);
}

void scr_mover_cancel(struct scr_mover *m, struct scr_xfer *x)
{
    scr_mover_interrupt(m, x);
    (void)scr_mover_wait(m, x, NULL);
}
