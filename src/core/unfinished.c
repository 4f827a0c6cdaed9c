/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints on the prefix that lack nothing but their record: a flush died before it
 * wrote the summary, or was to replace their files and died before it did. */
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/unfinished.h"
#include "par/pfs/lists.h"
#include "par/pfs/plain.h"
#include "par/pfs/rank2file_all.h"
#include "store/arrival.h"
#include "store/paths.h"
#include "store/replaced.h"

/* --- which there are --- */

/* Rank 0's: checkpoints that are not complete, newest first, below ctx->choice.below.
 */
static int list_unfinished(const struct scr_ctx *ctx, int **ids, size_t *n,
                           struct scr_err *err)
{
    size_t all = 0;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_ids(&ctx->env, &ctx->prefix, &index, ids, &all, err);
    for (size_t i = 0; i < all; i++) {
        struct scr_index_entry e;
        int id = (*ids)[i];
        if (scr_index_get(&index, id, &e, NULL) == SCR_OK && e.dset.is_ckpt &&
            scr_copy_state_of(&e) == SCR_COPY_INCOMPLETE &&
            (ctx->choice.below == 0 || id < ctx->choice.below))
            (*ids)[(*n)++] = id;
    }
    scr_index_fini(&index);
    return rc;
}

/* --- whether they are whole --- */

struct counts {
    uint64_t bytes, files;
};

static int check_file(const struct scr_ctx *ctx, const struct scr_listed *f,
                      struct counts *c, struct scr_err *err)
{
    if (!f->has_size || !f->has_crc)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: no CRC32 is recorded of it",
                        f->item.name);
    c->bytes += f->size;
    c->files++;
    return scr_plain_check(&ctx->env, &ctx->prefix, f, 1, err);
}

static int check_share(const struct scr_ctx *ctx, const struct scr_rank2file *share,
                       struct counts *c, struct scr_err *err)
{
    for (SCR_LISTED(f, share))
        TRY(check_file(ctx, f, c, err));
    return SCR_OK;
}

/* Every listed file exists, with the recorded size and CRC32.
 * share: the part of the list that this rank is responsible for. *c: of all ranks. */
static int check_all(struct scr_ctx *ctx, const struct scr_rank2file *share,
                     struct counts *c, struct scr_err *err)
{
    *c = (struct counts){ 0 };
    int rc = check_share(ctx, share, c, err);
    struct scr_vote v = { .sum = { c->bytes, c->files } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    *c = (struct counts){ v.sum[0], v.sum[1] };
    return rc;
}

/* --- what others bring to its paths --- */

/* Pending datasets, the same on all ranks. */
struct pending {
    int *ids; /* behind that of the dataset itself */
    size_t n;
    uint64_t *meets;            /* ranks that found a path in common, or do not know */
    enum scr_list_state *state; /* of their lists, as this rank found them */
};

/* Rank 0's: the dataset, then the pending ones. */
static int list_pending(const struct scr_ctx *ctx, int id, struct pending *o,
                        struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_arrivals_pending(&ctx->env, &ctx->prefix, NULL, &ids, &n, err);
    o->ids = scr_calloc(n + 1, sizeof *o->ids);
    if (rc == SCR_OK && o->ids == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        o->ids[o->n++] = id;
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        if (ids[i] != id)
            o->ids[o->n++] = ids[i];
    free(ids);
    return rc;
}

static void count_meets(const struct scr_table *kept, int id, struct pending *o)
{
    for (SCR_EACH(struct scr_kept, k, kept))
        for (size_t i = 1; i < o->n && scr_kept_lists(k, id); i++)
            o->meets[i] += (uint64_t)scr_kept_lists(k, o->ids[i]);
    for (size_t i = 1; i < o->n; i++)
        o->meets[i] += o->state[i] != SCR_LIST_READ;
}

static int find_meeting_all(struct scr_ctx *ctx, int id, struct pending *o,
                            struct scr_err *err)
{
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    int rc = ctx->world.rank == 0 ? list_pending(ctx, id, o, err) : SCR_OK;
    rc = scr_share_ids_all(&ctx->world, rc, &o->ids, &o->n, err);
    if (rc != SCR_OK || o->n < 2)
        return rc;
    o->meets = scr_calloc(o->n, sizeof *o->meets);
    o->state = scr_calloc(o->n, sizeof *o->state);
    rc = o->meets && o->state ? SCR_OK : scr_no_memory(err);
    const struct scr_lists lists = { &ctx->env, &ctx->world, &ctx->prefix,     o->ids,
                                     o->n,      .spare = 1,  .state = o->state };
    rc = scr_lists_read_all(&lists, rc, &kept, err);
    if (rc == SCR_OK) {
        count_meets(&kept, id, o);
        scr_sums_all(&ctx->world, o->meets, (int)o->n);
    }
    scr_table_fini(&kept);
    return rc;
}

/* A process that copies one of them found the dataset incomplete, and would put its
 * files in their places. *n: how many there were. */
static int give_up_meeting_all(struct scr_ctx *ctx, int id, size_t *n,
                               struct scr_err *err)
{
    struct pending o = { 0 };
    *n = 0;
    int rc = find_meeting_all(ctx, id, &o, err);
    for (size_t i = 1; i < o.n && rc == SCR_OK; i++) {
        *n += o.meets[i] > 0;
        if (o.meets[i] > 0 && ctx->world.rank == 0)
            rc = scr_arrival_give_up(&ctx->env, &ctx->prefix, o.ids[i], err);
    }
    free(o.ids);
    free(o.meets);
    free(o.state);
    return scr_agree_all(&ctx->world, rc, err);
}

/* --- the record --- */

/* Its entry in the index, if that is unchanged. */
static int read_entry(const struct scr_ctx *ctx, int id, scr_hash *dset,
                      struct scr_err *err)
{
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT(scr_prefix_index_read(&ctx->env, &ctx->prefix, &index, err));
    if ((scr_index_get(&index, id, &e, NULL) != SCR_OK || e.doomed || e.failed))
        TRY_OUT(scr_fail(err, SCR_E_CANCELLED, 0,
                         "dataset %d has failed or was deleted meanwhile", id));
    if (scr_index_dataset(&index, id, dset) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
out:
    scr_index_fini(&index);
    return rc;
}

/* No process copies it any more: all files exist. */
static int enter(const struct scr_ctx *ctx, int id, const struct counts *c,
                 struct scr_err *err)
{
    scr_hash *dset = scr_hash_new();
    const struct scr_env *env = &ctx->env;
    const struct scr_prefix *p = &ctx->prefix;
    int rc;
    TRY_OUT(read_entry(ctx, id, dset, err));
    if (scr_dataset_finish(dset, c->bytes, c->files) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
    TRY_OUT(scr_arrival_give_up(env, p, id, err));
    TRY_OUT(scr_prefix_summary_write(env, p, id, dset, 1, err));
    TRY_OUT(scr_prefix_index_enter(env, p, dset, 1, time(NULL), err));
    scr_replaced_remove(env, p, id);
out:
    if (rc == SCR_E_CANCELLED)
        (void)scr_prefix_summary_remove(env, p, id, NULL);
    scr_hash_delete(dset);
    return rc;
}

/* A second check finds files that were replaced while others were cancelled. That
 * a directory was synced is not recorded anywhere. */
static int verify_all(struct scr_ctx *ctx, int id, struct counts *c,
                      struct scr_err *err)
{
    size_t given_up = 0;
    struct scr_rank2file share = { 0 };
    const struct scr_prefix_dset at = scr_prefix_dset_of(ctx, id);
    int rc;
    TRY_OUT(scr_agree_all(&ctx->world,
                          scr_rank2file_share_all(&at, SCR_OK, &share, err), err));
    TRY_OUT(check_all(ctx, &share, c, err));
    if (c->files == 0)
        TRY_OUT(scr_fail(err, SCR_E_MISSING, 0, "dataset %d lists no file", id));
    TRY_OUT(give_up_meeting_all(ctx, id, &given_up, err));
    if (given_up > 0)
        TRY_OUT(check_all(ctx, &share, c, err));
    TRY_OUT(scr_agree_all(&ctx->world,
                          scr_paths_sync(&ctx->env, &ctx->prefix, &share, err), err));
out:
    scr_rank2file_fini(&share);
    return rc;
}

static int enter_all(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    struct counts c = { 0 };
    TRY(verify_all(ctx, id, &c, err));
    int rc = ctx->world.rank == 0 ? enter(ctx, id, &c, err) : SCR_OK;
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        scr_log(&ctx->log, SCR_LOG_NOTE,
                "dataset %d on the prefix was not recorded as complete; all its files "
                "have the recorded sizes and checksums: it is complete now",
                id);
    return rc;
}

/* Newest first. Of one that this run could not check nothing is known: an older one in
 * its place would be current from now on, and no start look at this one again. */
static int enter_newest_all(struct scr_ctx *ctx, const int *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct scr_err why = SCR_ERR_INIT;
        int rc = enter_all(ctx, ids[i], &why);
        if (rc == SCR_OK)
            return ids[i];
        if (!scr_err_may_pass(rc))
            continue;
        scr_log(&ctx->log, SCR_LOG_WARN,
                "dataset %d on the prefix is not used, and no older one instead: %s; "
                "it may be whole: start again, or drop it with scr_index --drop",
                ids[i], why.text);
        return 0;
    }
    return 0;
}

int scr_unfinished_enter_all(struct scr_ctx *ctx, int *entered, struct scr_err *err)
{
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0;
    *entered = 0;
    if (ctx->flusher.n > 0) /* which may be replacing files */
        return SCR_OK;
    rc = scr_async_let_go_all(ctx, err);
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = list_unfinished(ctx, &ids, &n, err);
    rc = scr_share_ids_all(&ctx->world, rc, &ids, &n, err);
    if (rc == SCR_OK)
        *entered = enter_newest_all(ctx, ids, n);
    free(ids);
    return rc;
}
