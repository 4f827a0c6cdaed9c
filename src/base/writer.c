/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that writes to files. */
#include "base/writer.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "base/thread.h"

/* One is written, one waits. */
enum { QUEUE = 2 };

struct job {
    int fd;
    const void *buf;
    size_t n;
    off_t off;
    const char *path;
};

struct scr_writer {
    const struct scr_sys *sys;
    pthread_t thread;
    pthread_mutex_t lock; /* of all up to quit */
    pthread_cond_t moved;
    struct job queue[QUEUE]; /* number i is at i % QUEUE */
    uint64_t put, done;
    int quit;
    int rc; /* the thread's, until it has ended */
    struct scr_err err;
};

/* The next one; 0: no more will come. */
static int next_job(struct scr_writer *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    while (w->done == w->put && !w->quit)
        pthread_cond_wait(&w->moved, &w->lock);
    int any = w->done < w->put;
    if (any)
        *job = w->queue[(w->done + 1) % QUEUE];
    pthread_mutex_unlock(&w->lock);
    return any;
}

static void write_job(struct scr_writer *w, const struct job *job)
{
    if (w->rc == SCR_OK)
        w->rc = scr_pwrite_all(w->sys, job->fd, job->buf, job->n, job->off, job->path,
                               &w->err);
    pthread_mutex_lock(&w->lock);
    w->done++;
    pthread_mutex_unlock(&w->lock);
}

/* Whoever has this processor besides may be one whose message everybody waits for. */
static void *run(void *arg)
{
    struct scr_writer *w = arg;
    struct job job;
    while (next_job(w, &job)) {
        write_job(w, &job);
        sched_yield();
    }
    return NULL;
}

static void discard(struct scr_writer *w)
{
    pthread_cond_destroy(&w->moved);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

struct scr_writer *scr_writer_start(const struct scr_sys *sys)
{
    cpu_set_t where;
    if (!scr_thread_find_place(sys, &where))
        return NULL;
    struct scr_writer *w = scr_calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->sys = sys;
    w->err = (struct scr_err)SCR_ERR_INIT;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->moved, NULL);
    if (scr_thread_start(&w->thread, &where, run, w) == 0)
        return w;
    discard(w);
    return NULL;
}

int scr_writer_has_room(struct scr_writer *w)
{
    pthread_mutex_lock(&w->lock);
    int room = w->put - w->done < QUEUE;
    pthread_mutex_unlock(&w->lock);
    return room;
}

uint64_t scr_writer_put(struct scr_writer *w, int fd, const void *buf, size_t n,
                        off_t off, const char *path)
{
    uint64_t number = 0;
    pthread_mutex_lock(&w->lock);
    if (w->put - w->done < QUEUE) {
        number = ++w->put;
        w->queue[number % QUEUE] = (struct job){ fd, buf, n, off, path };
        pthread_cond_signal(&w->moved);
    }
    pthread_mutex_unlock(&w->lock);
    return number;
}

int scr_writer_is_done(struct scr_writer *w, uint64_t number)
{
    pthread_mutex_lock(&w->lock);
    int done = w->done >= number;
    pthread_mutex_unlock(&w->lock);
    return done;
}

int scr_writer_finish(struct scr_writer *w, struct scr_err *err)
{
    if (w == NULL)
        return SCR_OK;
    pthread_mutex_lock(&w->lock);
    w->quit = 1;
    pthread_cond_signal(&w->moved);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    int rc = w->rc;
    if (rc != SCR_OK && err != NULL && err->code == SCR_OK)
        *err = w->err;
    discard(w);
    return rc;
}
