/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint is loaded: the newest that can be read, from cache or from the
 * prefix. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "core/choose.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/fetchctl.h"
#include "core/flushctl.h"
#include "core/foreign.h"
#include "core/mend.h"
#include "core/shared.h"
#include "core/unfinished.h"

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

/* What is before the file's name below the rank's directory. */
static char *dir_of(const char *path, const scr_meta *meta)
{
    const char *file = scr_meta_text(meta, SCR_META_FILE);
    size_t n = file != NULL ? strlen(file) + 1 : 0, len = strlen(path);
    if (n == 0 || n >= len || strcmp(path + len - n + 1, file) != 0)
        return scr_path_dir(path);
    char *dir = scr_strdup(path);
    if (dir != NULL)
        dir[len - n] = '\0';
    return dir;
}

/* shared gets the files that other ranks may read too, by destination. */
static int index_files(struct scr_ctx *ctx, int id, struct scr_table *shared,
                       struct scr_err *err)
{
    struct scr_restart *r = &ctx->restart;
    int rc = SCR_OK;
    for (SCR_FILES(f, ctx->cache.map, id, ctx->world.rank)) {
        const scr_meta *meta = scr_file_meta(f);
        if (rc != SCR_OK || !scr_meta_is_full(meta))
            continue;
        if (r->dir == NULL && (r->dir = dir_of(f->item.name, meta)) == NULL)
            rc = SCR_E_NOMEM;
        else
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
int scr_restart_is_spoilt(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_LOST;
}

/* One whose id another job has taken on the prefix cannot be flushed either. All other
 * errors are this run's: an older one in its place would lose work for nothing. */
int scr_restart_is_passed_over(int rc)
{
    return scr_restart_is_spoilt(rc) || rc == SCR_E_TAKEN;
}

/* If the copy on the prefix is damaged, the one in cache takes its place there; if that
 * is what turns out to be damaged, it is rebuilt first. */
static int load_flushed_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_restart_load_all(ctx, id, &why);
    if (!scr_restart_is_spoilt(rc) || !scr_cache_is_ready(ctx, id))
        return scr_err_take(err, rc, &why);
    scr_log(&ctx->log, SCR_LOG_WARN, "%s (dataset %d) is flushed again: %s",
            scr_cache_name_of(ctx, id), id, why.text);
    TRY(scr_cache_mend_all(ctx, id, err));
    return scr_restart_load_all(ctx, id, err);
}

/* --- the search (fmt/restart_order.h) --- */

void scr_restart_copies(const struct scr_ctx *ctx, const struct scr_index *index,
                        struct scr_restart_list *list)
{
    for (size_t i = 0; i < ctx->cache.nheld; i++) {
        const struct scr_held *h = &ctx->cache.held[i];
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

struct scr_restart_ask scr_restart_ask_of(const struct scr_ctx *ctx)
{
    return (struct scr_restart_ask){ .fetch = ctx->prm.fetch,
                                     .global = ctx->prm.global_restart,
                                     .any_ranks = ctx->prm.restart_any_ranks,
                                     .below = ctx->choice.below };
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

static int count_failed(const struct scr_restart_list *list)
{
    int n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->c[i].is_ckpt && list->c[i].state == SCR_COPY_FAILED;
    return n;
}

/* Without an index there is still what is in cache. On rank 0. */
static int order_copies(struct scr_ctx *ctx, struct search *s, struct scr_err *err)
{
    const struct scr_restart_ask q = scr_restart_ask_of(ctx);
    int rc = ctx->prm.fetch
                 ? scr_prefix_index_read(&ctx->env, &ctx->prefix, &s->index, err)
                 : SCR_OK;
    scr_restart_copies(ctx, &s->index, &s->list);
    scr_restart_order(&q, &s->list);
    ctx->choice.failed = count_failed(&s->list);
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
 * would lose work, and a program that is offered none begins again. */
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

/* Where nothing else is found: the newest unfinished one whose files all exist. */
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
        ctx->choice.below = s->id + 1;
    if (s->cached)
        rc = try_cached_all(ctx, s, err);
    else if (!takes_number || s->rc_before == SCR_E_TAKEN)
        rc = try_stored_all(ctx, s, err);
    if (global && rc == SCR_OK && !s->over)
        ctx->choice.below = s->id;
    return rc;
}

/* After an error of this run only what is in cache is tried, and the error stays. */
int scr_restart_find_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct search s = { .index = SCR_INDEX_INIT };
    int rc = SCR_OK;
    ctx->choice.ranks.below = ctx->choice.below;
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

/* --- CURRENT --- */

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
    return scr_cache_view(c->ctx, c->id, &d) &&
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

int scr_note_current_all(struct scr_ctx *ctx, int id, const char *name, int keep_newer,
                         struct scr_err *err)
{
    struct current c = { ctx, id, name, keep_newer };
    return scr_edit_index_all(ctx, edit_current, &c, err);
}
