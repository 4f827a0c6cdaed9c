/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes that are under way: the list of them, what copies them, and how one is
 * stopped. */
#ifndef SCR_CORE_UNDERWAY_H
#define SCR_CORE_UNDERWAY_H

#include "par/pfs/flush.h"

struct scr_ctx;
struct scr_flush_async;

/* Flushes under way: the same on all ranks. */
struct scr_flusher {
    struct scr_mover *threads, *daemon; /* NULL until needed */
    int daemon_lost; /* on some node: threads copy what is started from then on */
    int leftovers;   /* on some node a transfer process works for an earlier run */
    int unsure;      /* whether the processes that were lost are dead */
    int stuck;       /* one that was killed is not */
    int paused;      /* threads are not to begin yet */
    struct scr_flush_async **flush; /* oldest first */
    int n;
    int owed; /* a periodic flush failed and is not tried again: the next checkpoint is
                 flushed */
    struct scr_err untold; /* why the flush file could not be written, if so */
};

/* As the configuration says; the type is that of flushes that are waited for. */
struct scr_copy_opts scr_flush_opts(const struct scr_ctx *ctx);
int scr_async_is_on(const struct scr_ctx *ctx);       /* SCR_FLUSH_ASYNC */
int scr_async_has(const struct scr_ctx *ctx, int id); /* under way */
/* Local: threads do not begin what is started from now on until scr_async_go, or until
 * it is waited for. A call that has agreements left would share the processors with
 * them. */
void scr_async_pause(struct scr_ctx *ctx);
void scr_async_go(struct scr_ctx *ctx);
/* Cancels the flush of id, if it is under way, before its cached files go; what has
 * landed of a checkpoint that is not complete goes, too (invariant P28). */
void scr_async_stop_all(struct scr_ctx *ctx, int id);
/* The same, but what has landed stays. 1 if it was under way and is not complete, or
 * had failed. */
int scr_async_drop_all(struct scr_ctx *ctx, int id);
/* Stops transfer processes that still work for an earlier run, and sees that those that
 * were lost are dead: before anything under the prefix is replaced or deleted.
 * SCR_E_LOCKED: one of them may still write, nothing may be touched. A reduction if
 * there are any, else nothing. */
int scr_async_let_go_all(struct scr_ctx *ctx, struct scr_err *err);
/* At the end of a run, when nothing is under way: transfer processes it started end. */
void scr_async_dismiss(struct scr_ctx *ctx);
/* At a start: 1 if a transfer process of this node still works for an earlier run, to
 * be kept in flusher.leftovers if there is one on any. Local. */
int scr_async_find_leftovers(struct scr_ctx *ctx);
void scr_async_fini(struct scr_ctx *ctx); /* local: stops them as a death would */
/* Place of the flush of dataset id in the list, -1: it is not under way. */
int scr_async_place(const struct scr_ctx *ctx, int id);
/* Room in the list for one more; 0: out of memory. */
int scr_async_reserve(struct scr_flusher *s);
/* Takes number i out of the list. */
struct scr_flush_async *scr_async_take(struct scr_flusher *s, int i);
/* The mover of new flushes, made when it is needed first; NULL on error. */
struct scr_mover *scr_async_mover(struct scr_ctx *ctx, struct scr_err *err);
/* 1 if a transfer process was lost since the last call: then no rank uses them any
 * more. */
int scr_async_lose_daemon_all(struct scr_ctx *ctx);
/* failed: the flush of id starts again later; mend: its files are rebuilt before. */
void scr_async_note_failed(const struct scr_ctx *ctx, int id, int failed, int mend);
/* Removes the copied files of checkpoint id (invariant P28); those of an output stay: a
 * scavenge can use them. */
void scr_async_take_back_all(struct scr_ctx *ctx, int id, int for_good);

#endif
