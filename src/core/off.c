/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a program in which SCR does not run: its files go where it names them,
 * and it learns of them what it would learn with SCR. */
#include <string.h>

#include "base/units.h"
#include "core/ctx.h"
#include "core/layout.h"
#include "core/off.h"

/* As text: other parameters may be what is wrong, or this one. */
int scr_off_is_refused_all(const struct scr_ctx *ctx, const struct scr_comm *world)
{
    const char *required = NULL;
    if (world->rank == 0 && ctx->cfg != NULL)
        required = scr_cfg_get(ctx->cfg, "SCR_REQUIRED");
    return scr_or_all(world, required != NULL && strcmp(required, "0") != 0);
}

int scr_off_need_checkpoint_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int *flag, struct scr_err *err)
{
    int rc = SCR_OK;
    if (flag == NULL)
        rc = scr_fail(err, SCR_E_ARG, 0, "SCR_Need_checkpoint: flag is NULL");
    TRY(scr_agree_all(world, rc, err));
    ctx->times.need_calls++;
    *flag = scr_or_all(world, world->rank == 0 && scr_is_time_for_ckpt(ctx));
    return SCR_OK;
}

void scr_off_start_output(struct scr_ctx *ctx)
{
    double now = scr_now_mono();
    ctx->times.compute += now - ctx->times.compute_start;
    ctx->out.start = now;
    ctx->state = SCR_STATE_OFF_OUTPUT;
}

int scr_off_complete_output_all(struct scr_ctx *ctx, const struct scr_comm *world,
                                int valid, struct scr_err *err)
{
    int rc = scr_agree_all(world, scr_output_check(ctx, valid, err), err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "SCR_Complete_output");
    double now = scr_now_mono();
    ctx->times.ckpt += now - ctx->out.start;
    ctx->times.ckpts++;
    ctx->times.compute_start = ctx->times.last_ckpt = now;
    scr_output_fini(&ctx->out);
    ctx->state = SCR_STATE_OFF;
    return rc;
}
