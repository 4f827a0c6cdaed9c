/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary files that killed flushes left on the prefix. Their marks
 * (store/flushing.h) say of which datasets, the lists of those in which directories. */
#include <stdlib.h>

#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "par/lists.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "xfer/parts.h"

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "out of memory");
}

/* {<rank>: {<directory>: {<name>}}} of the paths this rank keeps: each directory is
 * read by one rank. */
static int deal(const struct scr_ctx *ctx, const scr_hash *kept, scr_hash *send,
                struct scr_err *err)
{
    int ok = 1;
    for (SCR_HASH_EACH(e, kept)) {
        char *dir = scr_path_dir(scr_hash_elem_key(e));
        ok = ok && dir != NULL &&
             scr_hash_setf(send, NULL, "%d %s %s", scr_path_keeper(&ctx->world, dir),
                           dir, scr_path_base(scr_hash_elem_key(e))) != NULL;
        free(dir);
    }
    return ok ? SCR_OK : no_memory(err);
}

/* What lies behind a link out of the prefix no flush has written (invariant P20). */
static int sweep_dir(const struct scr_ctx *ctx, const scr_hash_elem *dir, uint64_t *n,
                     struct scr_err *err)
{
    int rc = SCR_OK;
    char *path = scr_path_join(ctx->prefix.path, scr_hash_elem_key(dir));
    if (path == NULL)
        rc = no_memory(err);
    else if (scr_prefix_check_inside(&ctx->prefix, path, NULL) == SCR_OK)
        rc = scr_parts_remove(ctx->env.sys, path, scr_hash_elem_hash(dir),
                              SCR_ARRIVAL_TAG, n, err);
    free(path);
    return rc;
}

/* recv = {<from>: {<directory>: {<name>}}}; a directory that fails does not keep the
 * others. */
static int sweep(const struct scr_ctx *ctx, const scr_hash *recv, uint64_t *n,
                 struct scr_err *err)
{
    scr_hash *dirs = scr_hash_new();
    int rc = dirs ? SCR_OK : no_memory(err);
    for (SCR_HASH_EACH(from, recv))
        if (rc == SCR_OK && scr_hash_merge(dirs, scr_hash_elem_hash(from)) != SCR_OK)
            rc = no_memory(err);
    for (SCR_HASH_EACH(d, dirs)) {
        int one = sweep_dir(ctx, d, n, rc == SCR_OK ? err : NULL);
        rc = rc == SCR_OK ? one : rc;
    }
    scr_hash_delete(dirs);
    return rc;
}

/* One whose list is gone has written nothing; of a damaged one nothing can be told. */
static int sweep_all(struct scr_ctx *ctx, const int *ids, size_t n, uint64_t *files,
                     struct scr_err *err)
{
    scr_hash *kept = scr_hash_new(), *unread = scr_hash_new();
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = kept && unread && send && recv ? SCR_OK : no_memory(err);
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_lists_read_all(&ctx->env, &ctx->world, &ctx->prefix, ids, n, unread,
                                kept, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, deal(ctx, kept, send, err), err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(&ctx->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, sweep(ctx, recv, files, err), err);
    scr_hash_delete(kept);
    scr_hash_delete(unread);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* Rank 0's, by their marks. */
static int list_dead(const struct scr_ctx *ctx, struct scr_flushing **marks, int **ids,
                     size_t *n, struct scr_err *err)
{
    int rc = scr_flushing_take_dead(&ctx->env, &ctx->prefix, marks, n, err);
    *ids = scr_calloc(*n, sizeof **ids);
    if (rc == SCR_OK && *ids == NULL)
        rc = no_memory(err);
    for (size_t i = 0; i < *n && rc == SCR_OK; i++)
        (*ids)[i] = (*marks)[i].id;
    return rc;
}

void scr_leftovers_sweep_all(struct scr_ctx *ctx)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_flushing *marks = NULL;
    int *ids = NULL, rc = SCR_OK;
    size_t n = 0, taken = 0;
    uint64_t files = 0;
    if (ctx->world.rank == 0)
        rc = list_dead(ctx, &marks, &ids, &n, &err);
    taken = n;
    rc = scr_agree_all(&ctx->world, rc, &err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(&ctx->world, &ids, &n, &err);
    if (rc == SCR_OK && n > 0)
        rc = sweep_all(ctx, ids, n, &files, &err);
    files = scr_sum_all(&ctx->world, files);
    for (size_t i = 0; i < taken && marks != NULL; i++)
        if (rc == SCR_OK)
            scr_flushing_end(&ctx->env, &ctx->prefix, &marks[i]);
        else
            scr_flushing_leave(&ctx->env, &marks[i]);
    if (rc != SCR_OK)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "temporary files of killed flushes stay in %s until the next start: %s",
                ctx->prefix.path, err.text);
    if (files > 0)
        scr_log(&ctx->log, SCR_LOG_INFO,
                "%llu temporary file%s of killed flushes removed from %s",
                (unsigned long long)files, files == 1 ? "" : "s", ctx->prefix.path);
    free(marks);
    free(ids);
}
