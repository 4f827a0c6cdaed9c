/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint of a different number of ranks is offered to a program that has asked
 * for it, by SCR_RESTART_ANY_RANKS or by calling SCR_Restart_ranks. Any other would
 * read part of the data and take it for all. */
#include "core/ctx.h"

int scr_ranks_check(const struct scr_ctx *ctx, const struct scr_err *why,
                    struct scr_err *err)
{
    if (ctx->prm.restart_any_ranks)
        return SCR_OK;
    return scr_fail(err, SCR_E_RANKS, 0,
                    "%s; set SCR_RESTART_ANY_RANKS=1 if the program can read it",
                    why->text);
}

void scr_ranks_pass_over(struct scr_ctx *ctx, int id, const struct scr_err *why)
{
    struct scr_ranks *r = &ctx->choice.ranks;
    if (id < r->passed)
        return;
    r->passed = id;
    r->why = *why;
}

int scr_ranks_ask_all(struct scr_ctx *ctx)
{
    if (!ctx->prm.restart_any_ranks)
        ctx->prm.restart_any_ranks = scr_or_all(&ctx->world, ctx->choice.ranks.asked);
    return ctx->prm.restart_any_ranks;
}

void scr_ranks_tell(struct scr_ctx *ctx)
{
    struct scr_ranks *r = &ctx->choice.ranks;
    if (ctx->prm.restart_any_ranks || r->passed == r->told)
        return;
    r->told = r->passed;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "%s: it is skipped, and stays until a newer checkpoint is complete",
            r->why.text);
}
