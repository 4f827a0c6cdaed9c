/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several ranks write. */
#include "core/ctx.h"
#include "par/owners.h"

/* Every rank has a file of its own there, and nobody could say which is the right one.
 */
static int refuse(const struct scr_ctx *ctx, struct scr_err *err)
{
    const struct scr_output *out = &ctx->out;
    const scr_hash_elem *e = scr_hash_elem_first(out->shared);
    size_t more = scr_hash_size(out->shared);
    if (e == NULL)
        return SCR_OK;
    return scr_fail(
        err, SCR_E_EXIST, 0,
        "ranks %s all routed %s%s, and the store %s (%s) cannot "
        "hold a file of several ranks: set SCR_CACHE_BYPASS=1 or use a STORE with "
        "GROUP=WORLD",
        scr_hash_get_val(scr_hash_elem_hash(e), "RANKS"), scr_hash_elem_key(e),
        more > 1 ? " and further files" : "", ctx->descs.store[out->red->store].path,
        ctx->descs.store[out->red->store].origin);
}

int scr_output_is_mine(const struct scr_ctx *ctx, const char *dest)
{
    int owner = ctx->world.rank;
    (void)scr_hash_get_val_int(scr_hash_get(ctx->out.shared, dest), "OWNER", &owner);
    return owner == ctx->world.rank;
}

int scr_settle_owners_all(struct scr_ctx *ctx, uint64_t *totals, size_t ntotals, int rc,
                          struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    int any = 0;
    rc = scr_owners_find_all(&ctx->world, out->routed, totals, ntotals, rc, out->shared,
                             &any, err);
    out->has_shared = any;
    if (rc != SCR_OK || !any || out->bypass ||
        scr_store_is_shared(&ctx->descs.store[out->red->store]))
        return rc;
    return scr_agree_all(&ctx->world, refuse(ctx, err), err);
}

/* --- restart --- */

/* What all ranks have, on all of them; rank 0 collects it. */
static int collect_all(struct scr_ctx *ctx, scr_hash *shared, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? SCR_OK : SCR_E_NOMEM;
    scr_hash *slot = scr_hash_setf(send, NULL, "0");
    if (rc == SCR_OK)
        rc = slot ? scr_hash_merge(slot, shared) : SCR_E_NOMEM;
    if (rc != SCR_OK)
        scr_fail(err, rc, 0, "files of several ranks");
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(&ctx->world, send, recv, err);
    for (SCR_HASH_EACH(from, recv))
        if (rc == SCR_OK)
            rc = scr_hash_merge(shared, scr_hash_elem_hash(from));
    rc = scr_agree_all(&ctx->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(&ctx->world, scr_hash_bcast_all(&ctx->world, 0, shared, err),
                           err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

int scr_spread_shared_all(struct scr_ctx *ctx, scr_hash *shared, struct scr_err *err)
{
    if (!scr_or_all(&ctx->world, scr_hash_size(shared) > 0))
        return SCR_OK;
    struct scr_restart *r = &ctx->restart;
    int rc = collect_all(ctx, shared, err);
    if (rc != SCR_OK)
        return rc;
    r->others = scr_hash_new();
    for (SCR_HASH_EACH(e, shared)) {
        const char *dest = scr_hash_elem_key(e);
        if (rc != SCR_OK || scr_hash_get(r->by_dest, dest) != NULL)
            continue;
        rc = scr_hash_set(r->others, dest, NULL) != NULL
                 ? scr_restart_add(r, dest, scr_hash_get_val(shared, dest))
                 : SCR_E_NOMEM;
    }
    return scr_agree_all(
        &ctx->world, rc == SCR_OK ? rc : scr_fail(err, rc, 0, "files of several ranks"),
        err);
}
