/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: bring the cache back to life, choose a checkpoint, fall back to older ones.
 */
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/choose.h"
#include "core/ctx.h"
#include "core/current.h"
#include "core/edits.h"
#include "core/event_note.h"
#include "core/flushctl.h"
#include "core/foreign.h"
#include "core/manage.h"
#include "core/mend.h"
#include "core/phase.h"
#include "core/restart.h"

/* Goes to the checkpoint SCR_CURRENT names. A damaged one is skipped like any other,
 * for an older one: a user who goes back wants nothing newer. A checkpoint that this
 * run cannot load, for lack of room or memory, say, is an error: the user has chosen.
 * *done: what to restart from is settled. */
static int go_to_wanted_all(struct scr_ctx *ctx, int *done, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int tried = 0;
    int rc = scr_go_to_all(ctx, "SCR_CURRENT", ctx->prm.current, &tried, &why);
    *done = rc == SCR_OK || ctx->restart.id > 0;
    if (rc == SCR_OK)
        return rc;
    ctx->choice.ranks.wanted = tried > 0 && rc == SCR_E_RANKS;
    if (tried > 0 && !scr_restart_is_passed_over(rc) && !ctx->choice.ranks.wanted)
        return scr_fail(err, rc, 0,
                        "%s; no older checkpoint is used instead: repair that, or "
                        "start without SCR_CURRENT",
                        why.text);
    if (ctx->choice.ranks.wanted)
        scr_ranks_pass_over(ctx, tried, &why);
    else
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", why.text);
    if (tried == 0)
        return SCR_OK;
    ctx->choice.below = tried;
    rc = scr_restart_find_all(ctx, err);
    *done = ctx->restart.id > 0;
    ctx->choice.below = *done ? tried : 0;
    return rc;
}

static int settle_all(struct scr_ctx *ctx, int rc)
{
    TRY(rc);
    if (!ctx->choice.lost.waits)
        scr_lost_output_settle_all(ctx);
    return SCR_OK;
}

/* The program has asked for what a search passed over before: it is made again. */
static int find_any_ranks_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int done = 0, rc = SCR_OK;
    ctx->choice.ranks.passed = 0;
    if (ctx->choice.ranks.wanted)
        rc = go_to_wanted_all(ctx, &done, err);
    else
        done = scr_lost_output_go_back_all(ctx);
    if (rc == SCR_OK && !done) {
        ctx->choice.below = ctx->choice.ranks.below;
        rc = scr_restart_find_all(ctx, err);
    }
    return settle_all(ctx, rc);
}

int scr_restart_init_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int done = 0;
    ctx->choice.wanted_taken = scr_wanted_is_due_all(ctx);
    scr_lost_output_look_all(ctx);
    int rc = ctx->choice.wanted_taken ? go_to_wanted_all(ctx, &done, err) : SCR_OK;
    if (!ctx->choice.wanted_taken)
        done = scr_lost_output_go_back_all(ctx);
    if (rc == SCR_OK && ctx->prm.flush_on_restart &&
        scr_flush_pending_all(ctx, 1, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "flush at restart failed, tried again later: %s", why.text);
    if (rc == SCR_OK && !done)
        rc = scr_restart_find_all(ctx, err);
    return settle_all(ctx, rc);
}

/* --- the calls --- */

/* Whether the name of what is offered, if there is any, fits where it is wanted. */
static int check_room(const struct scr_ctx *ctx, const char *call, const char *name,
                      struct scr_err *err)
{
    size_t n = ctx->restart.id > 0 ? strlen(ctx->restart.name) : 0;
    if (name == NULL || n < ctx->room)
        return SCR_OK;
    return scr_fail(err, SCR_E_NAME, 0,
                    "%s: the name %.64s… has %zu characters, at most %zu fit; give it "
                    "a buffer of SCR_MAX_FILENAME",
                    call, ctx->restart.name, n, ctx->room - 1);
}

static void give_name(const struct scr_ctx *ctx, char *name)
{
    if (name != NULL)
        memcpy(name, ctx->restart.name, strlen(ctx->restart.name) + 1);
}

/* Searches have to stay below this id; 0: below none. */
static int still_set_aside(const struct scr_ctx *ctx)
{
    const struct scr_choice *c = &ctx->choice;
    return c->set_aside_last == ctx->last_id ? c->set_aside : 0;
}

/* Where no search is due the name is known, and is judged in the first agreement. */
int scr_have_restart_all(struct scr_ctx *ctx, int *flag, char *name,
                         struct scr_err *err)
{
    int again = ctx->choice.ask_again || ctx->choice.ranks.passed > 0, rc = SCR_OK;
    if (flag == NULL)
        rc = scr_fail(err, SCR_E_ARG, 0, "SCR_Have_restart: flag is NULL");
    else if (!again)
        rc = check_room(ctx, "SCR_Have_restart", name, err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (flag != NULL)
        *flag = 0;
    if (rc != SCR_OK)
        return rc;
    scr_async_poll_all(ctx);
    if (ctx->choice.ask_again) {
        ctx->choice.below = still_set_aside(ctx);
        rc = scr_restart_find_all(ctx, err);
        ctx->choice.ask_again = rc != SCR_OK;
        again = 1;
    }
    if (rc == SCR_OK && ctx->choice.ranks.passed > 0 && scr_ranks_ask_all(ctx))
        ctx->choice.ask_again = (rc = find_any_ranks_all(ctx, err)) != SCR_OK;
    ctx->choice.ranks.known = 1;
    scr_ranks_tell(ctx);
    if (rc == SCR_OK && again)
        rc = scr_agree_all(&ctx->world, check_room(ctx, "SCR_Have_restart", name, err),
                           err);
    *flag = rc == SCR_OK && ctx->restart.id > 0;
    if (*flag)
        give_name(ctx, name);
    return rc;
}

int scr_start_restart_all(struct scr_ctx *ctx, char *name, struct scr_err *err)
{
    if (ctx->restart.id == 0)
        return scr_fail(
            err, SCR_E_STATE, 0,
            "SCR_Start_restart: there is no checkpoint, ask SCR_Have_restart "
            "first");
    TRY(scr_agree_all(&ctx->world, check_room(ctx, "SCR_Start_restart", name, err),
                      err));
    give_name(ctx, name);
    ctx->state = SCR_STATE_RESTART;
    ctx->restart.start = scr_now_mono();
    scr_phase_all(ctx, "restart", ctx->restart.id);
    return SCR_OK;
}

/* A checkpoint of a different number of ranks is read on the prefix. */
static void note_event(struct scr_ctx *ctx, const char *event)
{
    const struct scr_restart *r = &ctx->restart;
    int on_prefix = scr_restart_is_on_prefix(r) || ctx->choice.fetched == r->id;
    SCR_EVENT(ctx, .event = event, .dset = r->id, .name = r->name,
              .from = on_prefix ? "prefix" : "cache",
              .secs = scr_now_mono() - r->start);
}

/* The older one that was read is where the job continues from, also for the next
 * allocation; but not where a newer one is good for a different number of ranks. */
static void note_restart_all(struct scr_ctx *ctx)
{
    const struct scr_restart *r = &ctx->restart;
    ctx->choice.from_id = r->id;
    ctx->choice.from_last = ctx->last_id;
    struct scr_err why = SCR_ERR_INIT;
    scr_log(&ctx->log, SCR_LOG_NOTE, "restarted from checkpoint %s (dataset %d)",
            r->name, r->id);
    note_event(ctx, "RESTART_SUCCESS");
    int keep_newer = ctx->choice.ranks.passed > r->id || still_set_aside(ctx) > r->id;
    if (scr_note_current_all(ctx, r->id, r->name, keep_newer, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "current not noted: %s", why.text);
}

static int edit_failed(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    int id = *(const int *)arg;
    (void)err;
    *changed = scr_index_has(index, id);
    scr_index_mark_failed(index, id, time(NULL));
    return SCR_OK;
}

static int is_good_on_prefix(const struct scr_ctx *ctx, int id)
{
    struct scr_index index = SCR_INDEX_INIT;
    int good = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, NULL) == SCR_OK &&
               scr_index_is_good(&index, id);
    scr_index_fini(&index);
    return good;
}

/* The copy in cache could not be read; the one on the prefix, not tried so far,
 * takes its place if there is one. */
static void read_other_copy_all(struct scr_ctx *ctx, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    int good = ctx->world.rank == 0 && is_good_on_prefix(ctx, id);
    if (!ctx->prm.fetch || !scr_or_all(&ctx->world, good))
        return;
    scr_log(&ctx->log, SCR_LOG_NOTE,
            "dataset %d is also in %s, that copy is tried before an older one", id,
            ctx->prefix.path);
    int rc = scr_restart_load_all(ctx, id, &why);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not fetched: %s", id, why.text);
}

/* What was refused is damaged where it was read, in the prefix directory, and is in
 * cache still: it is copied from there once more. 1: it is offered again, and its bytes
 * are others now. */
static int copy_anew_all(struct scr_ctx *ctx, int id)
{
    struct scr_err damage = SCR_ERR_INIT, why = SCR_ERR_INIT;
    int usable =
        scr_cache_is_ready(ctx, id) || scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    if (!usable || !scr_restart_is_spoilt(scr_restart_verify_all(ctx, id, &damage)))
        return 0;
    scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is copied from cache once more: %s",
            id, damage.text);
    scr_restart_fini(&ctx->restart);
    int ready = scr_cache_is_ready(ctx, id);
    int rc;
    TRY_OUT(ready ? scr_cache_mend_all(ctx, id, &why) : SCR_OK);
    TRY_OUT(scr_flush_dataset_all(ctx, id, &why));
    TRY_OUT(scr_restart_load_all(ctx, id, &why));
out:
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not loaded again: %s", id,
                why.text);
    return ctx->restart.id == id;
}

/* A checkpoint that the application could not read leaves the cache. The prefix's copy
 * is marked failed only if it is what was read; one in cache that was not read stays
 * for the next start, until room is needed, or, if it should repair the copy on the
 * prefix, as before. */
static int drop_copy_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int from_prefix = ctx->choice.fetched == id, rc = SCR_OK;
    int unread = ctx->restart.in_place && scr_cache_is_ready(ctx, id);
    if (from_prefix) {
        rc = scr_edit_index_all(ctx, edit_failed, &id, err);
        if (rc == SCR_OK)
            scr_log(
                &ctx->log, SCR_LOG_WARN,
                "dataset %d is marked failed in %s (scr_index --add %d checks it and "
                "removes the mark)",
                id, ctx->prefix.path, id);
    }
    if (scr_cache_is(ctx, id, SCR_CACHE_KEPT)) {
        scr_restart_fini(&ctx->restart);
        return rc;
    }
    if (unread) {
        scr_restart_fini(&ctx->restart);
        scr_cache_set_state(ctx, id, SCR_CACHE_LOST);
        return rc;
    }
    if (!from_prefix)
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is deleted from cache", id);
    int left = scr_cache_drop_all(ctx, id, "the program could not read it",
                                  rc == SCR_OK ? err : NULL);
    if (!from_prefix && left == SCR_OK)
        read_other_copy_all(ctx, id);
    return scr_first(rc, left);
}

/* That these ranks cannot use what another number wrote says nothing about it: it stays
 * (invariant P5). */
static int give_up_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int id = ctx->restart.id, rc = SCR_OK;
    scr_log(
        &ctx->log, SCR_LOG_WARN,
        "checkpoint %s (dataset %d) is abandoned, the application could not read it",
        ctx->restart.name, id);
    note_event(ctx, "RESTART_FAIL");
    if (scr_restart_is_on_prefix(&ctx->restart) && copy_anew_all(ctx, id))
        return SCR_OK;
    if (ctx->restart.is_foreign || ctx->restart.id == 0)
        scr_restart_fini(&ctx->restart);
    else
        rc = drop_copy_all(ctx, id, err);
    if (ctx->restart.id > 0)
        return rc;
    ctx->choice.below = id;
    return scr_first(rc, scr_restart_find_all(ctx, rc == SCR_OK ? err : NULL));
}

/* What a rank says of the checkpoint it was offered. The first of all ranks counts. */
enum verdict {
    DAMAGED, /* SCR_Route_file found a file damaged, or could not read it */
    OUTSIDE, /* it asked for files outside the prefix directory, which none has */
    ASIDE,   /* it could not ask for files of this one */
    BAD,
    GOOD
};

static enum verdict verdict_of(const struct scr_ctx *ctx, int valid)
{
    int refused = ctx->restart.refused;
    return valid                      ? GOOD
           : ctx->restart.damaged     ? DAMAGED
           : refused == SCR_E_OUTSIDE ? OUTSIDE
           : refused != SCR_OK        ? ASIDE
                                      : BAD;
}

/* The checkpoint was not read, so nothing is known against it. Where the prefix
 * directory is another one than the program means, none of them can be used, and each
 * would have to be fetched to find that out. */
static int set_aside_all(struct scr_ctx *ctx, enum verdict verdict, struct scr_err *err)
{
    int id = ctx->restart.id;
    struct scr_held *h = scr_cache_held(ctx, id);
    scr_log(
        &ctx->log, SCR_LOG_WARN,
        "checkpoint %s (dataset %d) stays as it is, for another run: SCR_Route_file "
        "failed in this one, so it was not read",
        ctx->restart.name, id);
    note_event(ctx, "RESTART_FAIL");
    if (h != NULL)
        h->set_aside = h->state == SCR_CACHE_READY;
    ctx->choice.below = ctx->choice.set_aside = verdict == OUTSIDE ? 1 : id;
    ctx->choice.set_aside_last = ctx->last_id;
    return scr_restart_find_all(ctx, err);
}

int scr_complete_restart_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    ctx->state = SCR_STATE_IDLE;
    scr_async_poll_all(ctx);
    enum verdict verdict =
        (enum verdict)scr_min_all(&ctx->world, verdict_of(ctx, valid));
    if (verdict == GOOD) {
        note_restart_all(ctx);
        scr_restart_fini(&ctx->restart);
        ctx->choice.below = 0;
        ctx->choice.ask_again = 1;
        scr_phase_all(ctx, "compute", scr_cache_newest_ckpt(ctx));
        return SCR_OK;
    }
    struct scr_err why = SCR_ERR_INIT;
    int id = ctx->restart.id;
    int unread = verdict == OUTSIDE || verdict == ASIDE;
    int rc = unread ? set_aside_all(ctx, verdict, &why) : give_up_all(ctx, &why);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "fall-back to an older checkpoint: %s",
                why.text);
    const char *next = ctx->restart.id == id ? "its copy on the prefix is loaded"
                       : ctx->restart.id > 0 ? "an older checkpoint is loaded"
                       : verdict == OUTSIDE
                           ? "no other is offered, as none has files outside the "
                             "prefix directory: start the program where the "
                             "checkpoints were written, or with the SCR_PREFIX of then"
                           : "no older checkpoint is left";
    return scr_fail(
        err, SCR_E_INVALID, 0, "SCR_Complete_restart: %s; %s",
        unread ? "SCR_Route_file failed on a rank" : "a rank passed valid=0", next);
}

void scr_restart_close_all(struct scr_ctx *ctx, const char *call)
{
    if (ctx->state != SCR_STATE_RESTART)
        return;
    scr_log(&ctx->log, SCR_LOG_WARN,
            "%s: the restart from %s is still open and is completed now, as if all had "
            "been read well: call SCR_Complete_restart, which says whether it was",
            call, ctx->restart.name);
    (void)scr_complete_restart_all(ctx, 1, NULL);
}
