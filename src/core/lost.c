/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that an earlier run of this job left in cache, that is not on the prefix and
 * that the start could not restore: it is reported, and the run goes back to a
 * checkpoint before it. The flush file, which has the only record of it, drops it last,
 * when CURRENT names that checkpoint: a start that is killed before that is repeated by
 * the next. */
#include "fmt/lost_output.h"

#include <stdlib.h>

#include "core/choose.h"
#include "core/ctx.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/manage.h"

/* Output that is kept for the next start, or for a different number of ranks, is not
 * lost.
 */
static int is_gone(const void *arg, int id)
{
    const struct scr_ctx *ctx = arg;
    return !scr_cache_has(ctx, id) || scr_cache_is(ctx, id, SCR_CACHE_LOST);
}

/* --- which checkpoint; on rank 0 --- */

/* A user who chooses a checkpoint goes to that one, as does a program that reads the
 * prefix itself. */
static int goes_back(const struct scr_ctx *ctx)
{
    return ctx->prm.fetch && !ctx->choice.wanted_taken &&
           !ctx->prm.restart_past_lost_output;
}

static int report(struct scr_ctx *ctx, const struct scr_index *index,
                  const struct scr_lost_output *l)
{
    int back = goes_back(ctx);
    struct scr_restart_list list = { 0 };
    scr_restart_copies(ctx, index, &list);
    struct scr_lost_output_choice c = scr_lost_output_choose(&list, l->oldest);
    char *text =
        scr_lost_output_text(l, &c, back ? SCR_LOST_OUTPUT_BACK : SCR_LOST_OUTPUT_STAY);
    int rc;
    TRY_OUT(list.bad || text == NULL ? SCR_E_NOMEM : SCR_OK);
    scr_log(&ctx->log, SCR_LOG_WARN, "%s", text);
    if (back && c.goes_back)
        ctx->choice.lost.below = l->oldest;
out:
    free(text);
    scr_restart_list_fini(&list);
    return rc;
}

/* On rank 0. A damaged flush file lists none; the next update sets it aside. */
static void look(struct scr_ctx *ctx)
{
    struct scr_lost_output l = SCR_LOST_OUTPUT_INIT;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    int rc;
    TRY_OUT(scr_prefix_state_read(&ctx->env, &ctx->prefix, "flush.scr", flush, &why));
    TRY_OUT(scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, &why));
    TRY_OUT(scr_lost_output_find(&l, flush, &index, ctx->prm.job_id, is_gone, ctx));
    if (l.oldest > 0)
        TRY_OUT(report(ctx, &index, &l));
out:
    ctx->choice.lost.found = rc == SCR_OK || rc == SCR_E_CORRUPT;
    if (!ctx->choice.lost.found)
        scr_log(
            &ctx->log, SCR_LOG_WARN,
            "cannot find out whether output is lost, the next start tries again: %s",
            rc == SCR_E_NOMEM ? "out of memory" : why.text);
    scr_lost_output_fini(&l);
    scr_hash_delete(flush);
    scr_index_fini(&index);
}

/* The name of the newest checkpoint below an id; NULL: there is none. */
static char *name_below(struct scr_ctx *ctx, int below)
{
    char *name = NULL;
    struct scr_index index = SCR_INDEX_INIT;
    if (scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK) {
        struct scr_restart_list list = { 0 };
        scr_restart_copies(ctx, &index, &list);
        name = scr_strdup(scr_lost_output_choose(&list, below).name);
        scr_restart_list_fini(&list);
    }
    scr_index_fini(&index);
    return name;
}

/* --- the way back --- */

/* The checkpoint to offer instead, and those that leave the cache for it, are in the
 * prefix directory first: later starts use CURRENT, and a user may choose otherwise.
 */
static int save_all(struct scr_ctx *ctx, const char *name, struct scr_err *err)
{
    int id = scr_cache_find_all(ctx, name), newest = scr_cache_newest_ckpt(ctx);
    if (id > 0)
        TRY(scr_flush_if_needed_all(ctx, id, err));
    return newest > 0 ? scr_flush_if_owed_all(ctx, newest, err) : SCR_OK;
}

/* *tried: id of the one that could not be loaded, 0: it was not that. */
static int go_below_all(struct scr_ctx *ctx, int below, int *tried, struct scr_err *err)
{
    char *name = ctx->world.rank == 0 ? name_below(ctx, below) : NULL;
    *tried = 0;
    int rc = scr_bcast_str_all(&ctx->world, 0, &name, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK && name == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0, "no checkpoint there can be read");
    if (rc == SCR_OK)
        rc = save_all(ctx, name, err);
    if (rc == SCR_OK)
        rc = scr_go_to_all(ctx, "lost output", name, tried, err);
    free(name);
    return rc;
}

/* A damaged checkpoint is skipped for an older one. */
static int go_back_all(struct scr_ctx *ctx, int *tried, struct scr_err *err)
{
    int below = ctx->choice.lost.below, rc;
    for (;;) {
        rc = go_below_all(ctx, below, tried, err);
        if (*tried == 0 || !scr_restart_is_passed_over(rc))
            return rc;
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", err->text);
        scr_err_clear(err);
        below = *tried;
    }
}

/* What was loaded, and could not be made current, is not gone to. */
static void stay(struct scr_ctx *ctx, const struct scr_err *why)
{
    scr_restart_fini(&ctx->restart);
    ctx->choice.below = ctx->choice.from_id = 0;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "this run does not go back to a checkpoint before the lost output: %s",
            why->text);
}

int scr_lost_output_go_back_all(struct scr_ctx *ctx)
{
    struct scr_err why = SCR_ERR_INIT;
    int tried = 0;
    if (ctx->choice.lost.below == 0)
        return 0;
    int rc = go_back_all(ctx, &tried, &why);
    /* A program that has not asked for it yet may do so, else a run that can read it
     * goes back. */
    ctx->choice.lost.waits = rc == SCR_E_RANKS && tried > 0;
    if (ctx->choice.lost.waits) {
        scr_ranks_pass_over(ctx, tried, &why);
        return 0;
    }
    if (rc != SCR_OK)
        stay(ctx, &why);
    ctx->choice.lost.below = 0;
    return rc == SCR_OK;
}

/* --- when --- */

void scr_lost_output_look_all(struct scr_ctx *ctx)
{
    struct scr_lost *l = &ctx->choice.lost;
    l->open = l->may;
    if (!l->may)
        return;
    if (ctx->world.rank == 0 && l->found)
        look(ctx);
    int64_t least[] = { -l->found, -l->below };
    scr_mins_all(&ctx->world, least, 2);
    l->open = least[0] != 0;
    l->below = (int)-least[1];
}

void scr_lost_output_settle_all(struct scr_ctx *ctx)
{
    int open = ctx->choice.lost.open;
    ctx->choice.lost = (struct scr_lost){ 0 };
    if (open)
        scr_flush_sweep(ctx, 0);
}
