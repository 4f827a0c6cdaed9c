/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_CURRENT applies once an allocation: its next runs continue from what was written
 * since, and do not go back again. current.scr in the prefix directory has, for each
 * job, the name that was gone to; a name that is new to the job is gone to again. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/ctx.h"
#include "core/current.h"
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
        scr_log(
            &ctx->log, SCR_LOG_NOTE,
            "SCR_CURRENT: job %s has gone back to %s before, this run restarts from "
            "what was written since (scr_index --current %s goes back once more)",
            ctx->prm.job_id, ctx->prm.current, ctx->prm.current);
    return !done;
}

static int edit_gone(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_ctx *ctx = arg;
    const char *before = scr_gone_to_name(h, ctx->prm.job_id);
    *changed = !knows(h, &ctx->prm);
    if (!*changed)
        return SCR_OK;
    free(ctx->choice.gone_before);
    ctx->choice.gone_before = before ? scr_strdup(before) : NULL;
    if (before != NULL && ctx->choice.gone_before == NULL)
        return scr_no_memory(err);
    return scr_gone_to_set(h, ctx->prm.job_id, ctx->prm.current) == SCR_OK
               ? SCR_OK
               : scr_no_memory(err);
}

static int edit_back(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_ctx *ctx = arg;
    const char *job = ctx->prm.job_id;
    *changed = knows(h, &ctx->prm);
    if (*changed && ctx->choice.gone_before != NULL)
        return scr_gone_to_set(h, job, ctx->choice.gone_before) == SCR_OK
                   ? SCR_OK
                   : scr_no_memory(err);
    if (*changed)
        scr_gone_to_forget(h, job);
    return SCR_OK;
}

/* Rank 0's edit of the file, agreed. */
static int edit_all(struct scr_ctx *ctx, scr_hash_edit edit, struct scr_err *err)
{
    const struct scr_env *env = &ctx->env;
    int rc = SCR_OK;
    if (ctx->world.rank == 0)
        rc = scr_prefix_state_update(env, &ctx->prefix, "current.scr", edit, ctx, err);
    return scr_agree_all(&ctx->world, rc, err);
}

/* Before the first checkpoint is complete: a run that is killed until then has written
 * nothing that could be lost. */
void scr_wanted_note_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    if (ctx->choice.wanted_taken && edit_all(ctx, edit_gone, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "SCR_CURRENT=%s applies to the next run again, which would leave what "
                "this one writes: %s",
                ctx->prm.current, why.text);
}

void scr_wanted_settle_all(struct scr_ctx *ctx, int complete)
{
    struct scr_err why = SCR_ERR_INIT;
    if (complete) {
        ctx->choice.wanted_taken = 0;
        ctx->choice.ranks.wanted = 0; /* what was written is not left for it any more */
    } else if (ctx->choice.wanted_taken && edit_all(ctx, edit_back, &why) != SCR_OK) {
        scr_log(&ctx->log, SCR_LOG_WARN,
                "SCR_CURRENT=%s does not apply to the next run, though this one has "
                "written nothing since (scr_index --current %s does the same): %s",
                ctx->prm.current, ctx->prm.current, why.text);
    }
}

/* Without a resource manager all jobs have one name: one that has ended well is over.
 */
void scr_wanted_forget_all(struct scr_ctx *ctx)
{
    if (ctx->prm.current == NULL || strcmp(ctx->prm.job_id, SCR_NO_JOB_ID) != 0)
        return;
    free(ctx->choice.gone_before);
    ctx->choice.gone_before = NULL; /* the job leaves the file */
    (void)edit_all(ctx, edit_back, NULL);
}
