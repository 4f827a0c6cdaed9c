/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: bring the cache back to life, choose a checkpoint, fall back to older ones.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"

void scr_restart_fini(struct scr_restart *r)
{
    free(r->name);
    scr_table_fini(&r->by_dest);
    scr_table_fini(&r->by_name);
    scr_filemap_delete(r->near);
    scr_table_fini(&r->bases);
    scr_catalog_fini(&r->catalog);
    scr_rank2file_fini(&r->share);
    free(r->list);
    scr_str_free(&r->told);
    scr_plains_fini(&r->plain);
    memset(r, 0, sizeof *r);
    scr_table_init(&r->by_dest, sizeof(struct scr_readable));
    scr_table_init(&r->by_name, sizeof(struct scr_readable));
    scr_table_init(&r->bases, sizeof(struct scr_base));
}

struct scr_readable *scr_readable_add(struct scr_table *files, const char *name,
                                      const char *path)
{
    const char *text = scr_arena_text(&files->arena, path);
    struct scr_readable *f = text != NULL ? scr_table_add(files, name) : NULL;
    if (f != NULL)
        f->path = text;
    return f;
}

int scr_restart_add(struct scr_restart *r, const char *dest, const char *path)
{
    const char *base = scr_path_base(dest);
    int again = scr_table_find(&r->by_name, base) != NULL;
    return scr_readable_add(&r->by_dest, dest, path) != NULL &&
                   scr_readable_add(&r->by_name, base, again ? "" : path) != NULL
               ? SCR_OK
               : SCR_E_NOMEM;
}

static int add_file(struct scr_restart *r, const char *path, const scr_meta *meta,
                    struct scr_table *shared)
{
    const char *asked = scr_meta_text(meta, SCR_META_ASKED);
    char *dest = asked ? scr_strdup(asked) : scr_meta_dest(meta);
    int none = asked == NULL && !scr_meta_has_dest(meta);
    int rc;
    TRY_OUT(dest ? scr_restart_add(r, dest, path) : none ? SCR_E_CORRUPT : SCR_E_NOMEM);
    if (scr_meta_is_shared(meta) && scr_readable_add(shared, dest, path) == NULL)
        TRY_OUT(SCR_E_NOMEM);
out:
    free(dest);
    return rc;
}

/* shared gets the files that other ranks may read too, by destination. */
static int index_files(struct scr_ctx *ctx, int id, struct scr_table *shared,
                       struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = SCR_OK;
    for (SCR_FILES(f, ctx->map, id, ctx->world.rank)) {
        const scr_meta *meta = scr_file_meta(f);
        if (rc == SCR_OK && scr_meta_is_full(meta))
            rc = add_file(r, f->item.name, meta, shared);
    }
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "files of dataset %d", id);
}

/* Makes id the checkpoint to read; on failure there is none. */
static int load_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    struct scr_dataset d = { 0 };
    struct scr_table shared = SCR_TABLE_OF(struct scr_readable);
    scr_restart_fini(r);
    int rc = scr_cache_dataset(ctx, id, &d, err);
    if (rc == SCR_OK) {
        r->name = scr_strdup(d.name);
        rc = r->name ? index_files(ctx, id, &shared, err) : SCR_E_NOMEM;
    }
    rc = scr_spread_shared_all(ctx, &shared, rc, err);
    scr_table_fini(&shared);
    if (rc != SCR_OK) {
        scr_restart_fini(r);
        return rc;
    }
    r->id = id;
    ctx->ckpt_id = d.ckpt > 0 ? d.ckpt : ctx->ckpt_id;
    return SCR_OK;
}

/* Errors that say something about the dataset. */
static int is_spoilt(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_LOST;
}

/* One whose id another job has taken on the prefix cannot be flushed either. All other
 * errors are this run's: an older one in its place would lose work for nothing. */
int scr_restart_is_passed_over(int rc)
{
    return is_spoilt(rc) || rc == SCR_E_TAKEN;
}

/* If the copy on the prefix is damaged, the one in cache takes its place there; if that
 * is what turns out to be damaged, it is rebuilt first. */
static int load_flushed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_restart_load_all(ctx, id, &why);
    if (!is_spoilt(rc) || !scr_cache_is_ready(ctx, id))
        return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
    scr_log(&ctx->log, SCR_LOG_WARN, "%s (dataset %d) is flushed again: %s",
            scr_cache_name_of(ctx, id), id, why.text);
    TRY(scr_cache_mend_all(ctx, id, err));
    return scr_restart_load_all(ctx, id, err);
}

/* --- the search (fmt/restart_order.h) --- */

void scr_restart_copies(const struct scr_ctx *ctx, const struct scr_index *index,
                        struct scr_restart_list *list)
{
    for (size_t i = 0; i < ctx->nheld; i++) {
        const struct scr_held *h = &ctx->held[i];
        int foreign = h->state == SCR_CACHE_FOREIGN;
        if (!foreign || !scr_regroup_is_left_behind(ctx, h->id))
            scr_restart_list_add(
                list, (struct scr_restart_copy){
                          .id = h->id,
                          .name = scr_cache_name_of(ctx, h->id),
                          .cached = 1,
                          .is_ckpt = (h->kind & SCR_IS_CKPT) != 0,
                          .foreign = foreign,
                          .state = h->state == SCR_CACHE_LOST   ? SCR_COPY_LOST
                                   : h->state == SCR_CACHE_KEPT ? SCR_COPY_KEPT
                                                                : SCR_COPY_WHOLE });
    }
    scr_restart_list_index(list, index);
}

/* Rank 0 has the list, and says whose turn it is. */
struct search {
    struct scr_index index;
    struct scr_restart_list list;
    int turn;
    int id, cached, unfinished; /* of the copy whose turn it is; id 0: none is left */
    int over;
    int before, rc_before; /* what was tried last in cache, and what came of it */
};

/* Without an index there is still what is in cache. On rank 0. */
static int order_copies(const struct scr_ctx *ctx, struct search *s,
                        struct scr_err *err)
{
    const struct scr_restart_ask q = { .fetch = ctx->prm.fetch,
                                       .global = ctx->prm.global_restart,
                                       .any_ranks = ctx->prm.restart_any_ranks,
                                       .below = ctx->tried_below };
    int rc = ctx->prm.fetch
                 ? scr_prefix_index_read(&ctx->env, &ctx->prefix, &s->index, err)
                 : SCR_OK;
    scr_restart_copies(ctx, &s->index, &s->list);
    scr_restart_order(&q, &s->list);
    if (!s->list.bad)
        return rc;
    scr_restart_list_fini(&s->list);
    return rc == SCR_OK ? scr_no_memory(err) : rc;
}

/* Since the index was read a flush, or a command, may have taken the mark of
 * completeness of a dataset: a fetch would mark it failed for that. */
static int look_again(const struct scr_ctx *ctx, const struct scr_restart_copy *c,
                      int *gone, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    *gone = 0;
    if (c->cached || c->turn == 1 || c->state != SCR_COPY_WHOLE)
        return SCR_OK;
    int rc = scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err);
    *gone = rc == SCR_OK && !scr_index_is_good(&index, c->id);
    scr_index_fini(&index);
    return rc;
}

static int next_all(struct scr_ctx *ctx, struct search *s, struct scr_err *err)
{
    int rc = SCR_OK, gone = 0;
    const struct scr_restart_copy *c;
    struct scr_vote v = { .least = { 0 } };
    if (ctx->world.rank == 0 && s->turn == 0)
        rc = order_copies(ctx, s, err);
    do {
        c = scr_restart_turn(&s->list, ++s->turn);
        if (c != NULL && rc == SCR_OK)
            rc = look_again(ctx, c, &gone, err);
    } while (c != NULL && gone);
    if (c != NULL) {
        v.least[0] = -c->id;
        v.least[1] = -c->cached;
        v.least[2] = -(c->state == SCR_COPY_INCOMPLETE);
    }
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    s->id = (int)-v.least[0];
    s->cached = v.least[1] != 0;
    s->unfinished = v.least[2] != 0;
    return rc;
}

/* Out of the cache, or flushed and read on the prefix. A damaged one counts as lost.
 * If something newer has its files on the prefix (P15) it is passed over: this run
 * could not read that, or it would have. Other errors are this run's: an older one
 * would lose work, and a program that is offered none begins anew. */
static int try_cached_all(struct scr_ctx *ctx, struct search *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int id = s->id, global = ctx->prm.global_restart;
    int foreign = scr_cache_is(ctx, id, SCR_CACHE_FOREIGN);
    if (!foreign && !scr_cache_is_ready(ctx, id))
        return SCR_OK; /* it has left for one that was fetched */
    int rc = global    ? load_flushed_all(ctx, id, &why)
             : foreign ? scr_regroup_cached_all(ctx, id, &why)
                       : load_all(ctx, id, &why);
    s->before = id;
    s->rc_before = rc;
    s->over = rc == SCR_OK;
    if (rc == SCR_E_RANKS) {
        scr_ranks_pass_over(ctx, id, &why);
    } else if (scr_restart_is_passed_over(rc) || rc == SCR_E_NEWER) {
        scr_log(&ctx->log, SCR_LOG_WARN, "%s (dataset %d) is skipped: %s",
                scr_cache_name_of(ctx, id), id, why.text);
        if (!global && !foreign)
            scr_cache_set_state(ctx, id, SCR_CACHE_LOST);
    } else if (rc != SCR_OK) {
        s->over = 1;
        return scr_fail(err, rc, 0, "%sdataset %d in cache: %s",
                        global ? "SCR_GLOBAL_RESTART: " : "", id, why.text);
    }
    return SCR_OK;
}

/* Errors that are this run's fault: an older dataset would lose work for nothing, or be
 * taken only because it is smaller. */
static int is_ours(int rc)
{
    return rc == SCR_E_FULL || rc == SCR_E_NOMEM || rc == SCR_E_UNSAFE ||
           rc == SCR_E_CONFIG || rc == SCR_E_MPI || rc == SCR_E_UNSUPPORTED;
}

static int try_stored_all(struct scr_ctx *ctx, struct search *s, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int id = s->id;
    int rc = scr_fetch_or_open_all(ctx, id, &why);
    s->over = rc == SCR_OK;
    if (rc == SCR_OK)
        return ctx->restart.id != id ? load_all(ctx, id, err) : SCR_OK;
    if (is_ours(rc))
        return scr_fail(err, rc, 0, "fetch of dataset %d: %s", id, why.text);
    if (rc == SCR_E_RANKS)
        scr_ranks_pass_over(ctx, id, &why);
    else
        scr_log(&ctx->log, SCR_LOG_WARN, "dataset %d is not fetched: %s", id, why.text);
    return SCR_OK;
}

/* Where nothing else is found: the newest unfinished one of which all files are there.
 */
static int try_unfinished_all(struct scr_ctx *ctx, struct search *s,
                              struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    s->over = 1;
    TRY(scr_unfinished_enter_all(ctx, &s->id, err));
    int rc = s->id > 0 ? scr_fetch_or_open_all(ctx, s->id, &why) : SCR_OK;
    if (rc == SCR_E_RANKS)
        scr_ranks_pass_over(ctx, s->id, &why);
    else if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "fetch of dataset %d: %s", s->id, why.text);
    return rc == SCR_OK && ctx->restart.id != s->id ? load_all(ctx, s->id, err)
                                                    : SCR_OK;
}

static int try_next_all(struct scr_ctx *ctx, struct search *s, struct scr_err *err)
{
    int global = ctx->prm.global_restart, takes_number = global && s->id == s->before;
    int rc = SCR_OK;
    if (s->unfinished)
        return try_unfinished_all(ctx, s, err);
    if (takes_number)
        ctx->tried_below = s->id + 1;
    if (s->cached)
        rc = try_cached_all(ctx, s, err);
    else if (!takes_number || s->rc_before == SCR_E_TAKEN)
        rc = try_stored_all(ctx, s, err);
    if (global && rc == SCR_OK && !s->over)
        ctx->tried_below = s->id;
    return rc;
}

/* After an error of this run only what is in cache is tried, and the error stays. */
int scr_restart_find_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct search s = { .index = SCR_INDEX_INIT };
    int rc = SCR_OK;
    ctx->ranks.below = ctx->tried_below;
    scr_restart_fini(&ctx->restart);
    do {
        rc = scr_first(rc, next_all(ctx, &s, rc == SCR_OK ? err : NULL));
        if (s.id > 0 && (rc == SCR_OK || s.cached))
            rc = scr_first(rc, try_next_all(ctx, &s, rc == SCR_OK ? err : NULL));
    } while (s.id > 0 && !s.over && (rc == SCR_OK || !ctx->prm.global_restart));
    scr_restart_list_fini(&s.list);
    scr_index_fini(&s.index);
    return rc;
}

int scr_restart_load_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    int rc = SCR_OK;
    int ready = scr_cache_is_ready(ctx, id), global = ctx->prm.global_restart;
    scr_restart_fini(&ctx->restart);
    if (scr_cache_is(ctx, id, SCR_CACHE_FOREIGN))
        return scr_regroup_cached_all(ctx, id, err);
    if (ready && global)
        rc = scr_flush_if_needed_all(ctx, id, err);
    if (rc == SCR_OK && (!ready || global)) {
        if (!ctx->prm.fetch)
            return SCR_OK; /* a program that reads the prefix itself */
        rc = scr_fetch_or_open_all(ctx, id, err);
    }
    return rc == SCR_OK && ctx->restart.id != id ? load_all(ctx, id, err) : rc;
}

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
    ctx->ranks.wanted = tried > 0 && rc == SCR_E_RANKS;
    if (tried > 0 && !scr_restart_is_passed_over(rc) && !ctx->ranks.wanted)
        return scr_fail(err, rc, 0,
                        "%s; no older checkpoint is used instead: repair that, or "
                        "start without SCR_CURRENT",
                        why.text);
    if (ctx->ranks.wanted)
        scr_ranks_pass_over(ctx, tried, &why);
    else
        scr_log(&ctx->log, SCR_LOG_WARN, "%s", why.text);
    if (tried == 0)
        return SCR_OK;
    ctx->tried_below = tried;
    rc = scr_restart_find_all(ctx, err);
    *done = ctx->restart.id > 0;
    ctx->tried_below = *done ? tried : 0;
    return rc;
}

static int settle_all(struct scr_ctx *ctx, int rc)
{
    TRY(rc);
    if (!ctx->lost.waits)
        scr_lost_output_settle_all(ctx);
    return SCR_OK;
}

/* The program has asked for what a search passed over before: it is made again. */
static int find_any_ranks_all(struct scr_ctx *ctx, struct scr_err *err)
{
    int done = 0, rc = SCR_OK;
    ctx->ranks.passed = 0;
    if (ctx->ranks.wanted)
        rc = go_to_wanted_all(ctx, &done, err);
    else
        done = scr_lost_output_go_back_all(ctx);
    if (rc == SCR_OK && !done) {
        ctx->tried_below = ctx->ranks.below;
        rc = scr_restart_find_all(ctx, err);
    }
    return settle_all(ctx, rc);
}

int scr_restart_init_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int done = 0;
    ctx->wanted_taken = scr_wanted_is_due_all(ctx);
    scr_lost_output_look_all(ctx);
    int rc = ctx->wanted_taken ? go_to_wanted_all(ctx, &done, err) : SCR_OK;
    if (!ctx->wanted_taken)
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

/* The name of what is offered, to those that want it, if it fits everywhere. */
static int give_name_all(const struct scr_ctx *ctx, const char *call, char *name,
                         struct scr_err *err)
{
    size_t n = strlen(ctx->restart.name);
    int rc = SCR_OK;
    if (name != NULL && n >= ctx->room)
        rc = scr_fail(err, SCR_E_NAME, 0,
                      "%s: the name %.64s… has %zu characters, at most %zu fit; give "
                      "it a buffer of SCR_MAX_FILENAME",
                      call, ctx->restart.name, n, ctx->room - 1);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK && name != NULL)
        memcpy(name, ctx->restart.name, n + 1);
    return rc;
}

int scr_have_restart_all(struct scr_ctx *ctx, int *flag, char *name,
                         struct scr_err *err)
{
    int rc =
        flag ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "SCR_Have_restart: flag is NULL");
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc != SCR_OK)
        return rc;
    scr_async_poll_all(ctx);
    if (ctx->ask_again) {
        ctx->tried_below = 0;
        rc = scr_restart_find_all(ctx, err);
        ctx->ask_again = rc != SCR_OK;
    }
    if (rc == SCR_OK && ctx->ranks.passed > 0 && scr_ranks_ask_all(ctx))
        ctx->ask_again = (rc = find_any_ranks_all(ctx, err)) != SCR_OK;
    ctx->ranks.known = 1;
    scr_ranks_tell(ctx);
    if (rc == SCR_OK && ctx->restart.id > 0)
        rc = give_name_all(ctx, "SCR_Have_restart", name, err);
    *flag = rc == SCR_OK && ctx->restart.id > 0;
    return rc;
}

int scr_start_restart_all(struct scr_ctx *ctx, char *name, struct scr_err *err)
{
    if (ctx->restart.id == 0)
        return scr_fail(
            err, SCR_E_STATE, 0,
            "SCR_Start_restart: there is no checkpoint, ask SCR_Have_restart "
            "first");
    TRY(give_name_all(ctx, "SCR_Start_restart", name, err));
    ctx->state = SCR_STATE_RESTART;
    scr_phase_all(ctx, "restart", ctx->restart.id);
    return SCR_OK;
}

struct current {
    const struct scr_ctx *ctx;
    int id;
    const char *name;
    int keep_newer; /* a newer one that is current stays it */
};

/* 1 if the entry of that number is not of what is in cache (invariant P14). */
static int is_anothers(const struct scr_index *index, const struct current *c)
{
    struct scr_index_entry e;
    struct scr_dataset d;
    const scr_hash *ours = scr_cache_any_dataset(c->ctx, c->id);
    return ours != NULL && scr_dataset_get(ours, &d, NULL) == SCR_OK &&
           scr_index_get(index, c->id, &e, NULL) == SCR_OK &&
           !scr_dataset_is_same(&d, &e.dset);
}

/* Only an existing entry: a checkpoint in cache alone has none. */
static int edit_current(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    const struct current *c = arg;
    int now = index->current_id;
    (void)err;
    *changed = scr_index_find(index, c->name) == c->id && !is_anothers(index, c) &&
               now != c->id && !(c->keep_newer && now > c->id);
    return *changed ? scr_index_set_current(index, c->name) : SCR_OK;
}

int scr_note_current_all(struct scr_ctx *ctx, int id, const char *name,
                         struct scr_err *err)
{
    struct current c = { ctx, id, name, 0 };
    return scr_edit_index_all(ctx, edit_current, &c, err);
}

/* The older one that was read is where the job continues from, also for the next
 * allocation; but not where a newer one is good for a different number of ranks. */
static void note_restart_all(struct scr_ctx *ctx)
{
    const struct scr_restart *r = &ctx->restart;
    ctx->from_id = r->id;
    ctx->from_last = ctx->last_id;
    struct scr_err why = SCR_ERR_INIT;
    scr_log(&ctx->log, SCR_LOG_NOTE, "restarted from checkpoint %s (dataset %d)",
            r->name, r->id);
    SCR_EVENT(ctx, .event = "RESTART_SUCCESS", .dset = r->id, .name = r->name);
    struct current c = { ctx, r->id, r->name, ctx->ranks.passed > r->id };
    if (scr_edit_index_all(ctx, edit_current, &c, &why) != SCR_OK)
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
    if (!usable || !is_spoilt(scr_restart_verify_all(ctx, id, &damage)))
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
    int from_prefix = ctx->fetched == id, rc = SCR_OK;
    int unread = ctx->restart.in_place && scr_cache_is_ready(ctx, id);
    if (from_prefix)
        rc = scr_edit_index_all(ctx, edit_failed, &id, err);
    if (scr_cache_is(ctx, id, SCR_CACHE_KEPT)) {
        scr_restart_fini(&ctx->restart);
        return rc;
    }
    if (unread) {
        scr_restart_fini(&ctx->restart);
        scr_cache_set_state(ctx, id, SCR_CACHE_LOST);
        return rc;
    }
    int left = scr_cache_delete_all(ctx, id, rc == SCR_OK ? err : NULL);
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
    SCR_EVENT(ctx, .event = "RESTART_FAIL", .dset = id, .name = ctx->restart.name);
    int on_prefix = ctx->restart.is_foreign || ctx->restart.in_place;
    if (on_prefix && copy_anew_all(ctx, id))
        return SCR_OK;
    if (ctx->restart.is_foreign || ctx->restart.id == 0)
        scr_restart_fini(&ctx->restart);
    else
        rc = drop_copy_all(ctx, id, err);
    if (ctx->restart.id > 0)
        return rc;
    ctx->tried_below = id;
    return scr_first(rc, scr_restart_find_all(ctx, rc == SCR_OK ? err : NULL));
}

int scr_complete_restart_all(struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    ctx->state = SCR_STATE_IDLE;
    scr_async_poll_all(ctx);
    if (scr_and_all(&ctx->world, valid)) {
        note_restart_all(ctx);
        scr_restart_fini(&ctx->restart);
        ctx->tried_below = 0;
        ctx->ask_again = 1;
        scr_phase_all(ctx, "compute", scr_cache_newest_ckpt(ctx, 0));
        return SCR_OK;
    }
    struct scr_err why = SCR_ERR_INIT;
    int id = ctx->restart.id;
    if (give_up_all(ctx, &why) != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN, "fall-back to an older checkpoint: %s",
                why.text);
    const char *next = ctx->restart.id == id ? "its copy on the prefix is loaded"
                       : ctx->restart.id > 0 ? "an older checkpoint is loaded"
                                             : "no older checkpoint is left";
    return scr_fail(err, SCR_E_INVALID, 0,
                    "SCR_Complete_restart: a rank passed valid=0; %s", next);
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
