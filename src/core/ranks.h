/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a checkpoint of a different number of ranks is offered. */
#ifndef SCR_CORE_RANKS_H
#define SCR_CORE_RANKS_H

#include "base/err.h"

struct scr_ctx;

/* Checkpoints of a different number of ranks (ranks.c). */
struct scr_ranks {
    int asked;  /* this rank has called SCR_Restart_ranks before SCR_Have_restart */
    int known;  /* SCR_Have_restart was called: what is offered is settled */
    int passed; /* newest one that was passed over; 0: none. The same on all ranks */
    int below;  /* scr_choice.below of the last search */
    int wanted; /* it is the one SCR_CURRENT names */
    int told;   /* id of the one that was reported */
    struct scr_err why;
};

/* SCR_OK if the program has asked for it, else SCR_E_RANKS. why: which numbers. */
int scr_ranks_check(const struct scr_ctx *ctx, const struct scr_err *why,
                    struct scr_err *err);
/* Dataset id was passed over, for that error. */
void scr_ranks_pass_over(struct scr_ctx *ctx, int id, const struct scr_err *why);
/* 1 if the program has asked on any rank, now or before. */
int scr_ranks_ask_all(struct scr_ctx *ctx);
/* Tells of what was passed over, once. */
void scr_ranks_tell(struct scr_ctx *ctx);

#endif
