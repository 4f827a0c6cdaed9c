/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_CURRENT applies once an allocation: its next runs go on from what was written
 * since, and do not go back again. current.scr in the prefix directory has, for each
 * job, the name that was gone to; a name that is new to the job is gone to again. */
#include <string.h>

#include "core/ctx.h"
#include "fmt/state.h"

static int knows(const scr_hash *h, const struct scr_params *prm)
{
    return scr_gone_to_is(h, prm->job_id, prm->current);
}

int scr_wanted_is_due_all(struct scr_ctx *ctx)
{
    if (ctx->prm.current == NULL)
        return 0;
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int done = ctx->world.rank == 0 &&
               scr_prefix_state_read(&ctx->env, &ctx->prefix, "current.scr", h, &why) ==
                   SCR_OK &&
               knows(h, &ctx->prm);
    scr_hash_delete(h);
    done = scr_or_all(&ctx->world, done);
    if (done)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "SCR_CURRENT: job %s has gone back to %s before, this run goes on from "
                "what was written since (scr_index --current %s goes back once more)",
                ctx->prm.job_id, ctx->prm.current, ctx->prm.current);
    return !done;
}

static int edit_gone(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_params *prm = arg;
    *changed = !knows(h, prm);
    return !*changed || scr_gone_to_set(h, prm->job_id, prm->current) == SCR_OK
               ? SCR_OK
               : scr_fail(err, SCR_E_NOMEM, 0, "current.scr: out of memory");
}

static int edit_forget(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_params *prm = arg;
    (void)err;
    *changed = knows(h, prm);
    if (*changed)
        scr_gone_to_forget(h, prm->job_id);
    return SCR_OK;
}

/* Before the first checkpoint is complete: whoever is killed until then has written
 * nothing that could be lost. */
void scr_wanted_note_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    ctx->ranks.wanted = 0; /* what is written now is not left for it any more */
    if (!ctx->wanted_taken)
        return;
    ctx->wanted_taken = 0;
    if (scr_edit_state_all(ctx, "current.scr", edit_gone, &ctx->prm, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "SCR_CURRENT=%s applies to the next run again, which would leave what "
                "this one writes: %s",
                ctx->prm.current, why.text);
}

/* Without a resource manager all jobs have one name: one that has ended well is over.
 */
void scr_wanted_forget_all(struct scr_ctx *ctx)
{
    if (ctx->prm.current != NULL && strcmp(ctx->prm.job_id, SCR_NO_JOB_ID) == 0)
        (void)scr_edit_state_all(ctx, "current.scr", edit_forget, &ctx->prm, NULL);
}
