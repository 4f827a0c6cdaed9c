/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint is loaded, and the calls that search and load. */
#ifndef SCR_CORE_CHOOSE_H
#define SCR_CORE_CHOOSE_H

#include "core/lost.h"
#include "core/ranks.h"
#include "fmt/restart_order.h"

struct scr_ctx;

/* What is known of the choice of a checkpoint to restart from. */
struct scr_choice {
    int below;     /* restarts look for ids below this; 0: any */
    int failed;    /* on rank 0: checkpoints that are passed over as marked failed */
    int set_aside; /* ids from this one on are not offered to this run again: it could
                      not ask for their files; 0: none */
    int set_aside_last; /* last_id then: what was written since is offered */
    struct scr_ranks ranks;
    struct scr_lost lost;
    int wanted_taken;  /* SCR_CURRENT was applied, and nothing was written since */
    char *gone_before; /* what current.scr had for the job before that, or NULL */
    int ask_again;     /* the next Have_restart searches the newest checkpoint again */
    int from_id;       /* dataset from which this run continues, 0: none */
    int from_last;     /* last_id then: newer datasets were written since */
    int fetched; /* dataset in cache that this run copied from the prefix; 0: none */
};

/* Adds what is in cache, and the index, to a list for fmt/restart_order.h, which
 * borrows from both. On rank 0. */
void scr_restart_copies(const struct scr_ctx *ctx, const struct scr_index *index,
                        struct scr_restart_list *list);
/* What a search asks for now. */
struct scr_restart_ask scr_restart_ask_of(const struct scr_ctx *ctx);
/* Loads the first checkpoint that can be read in the order of fmt/restart_order.h, of
 * those with an id below ctx->choice.below. Finding none is success. */
int scr_restart_find_all(struct scr_ctx *ctx, struct scr_err *err);
/* 1: an error that says something about the dataset. */
int scr_restart_is_spoilt(int rc);
/* 1: an error that says something about the dataset, so that an older one is tried. */
int scr_restart_is_passed_over(int rc);
/* Loads this one, from cache, else (unless SCR_FETCH=0) from the prefix. */
int scr_restart_load_all(struct scr_ctx *ctx, int id, struct scr_err *err);
/* CURRENT=name if the index lists it under this id; keep_newer: unless CURRENT is a
 * newer one. */
int scr_note_current_all(struct scr_ctx *ctx, int id, const char *name, int keep_newer,
                         struct scr_err *err);

#endif
