/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Datasets. The copies are those that a search orders, and whether one is offered
 * is the rule of fmt/restart_order.h. */
#include "core/datasets.h"

#include <stdlib.h>
#include <string.h>

#include "core/choose.h"
#include "core/ctx.h"

/* Newest first; of one number the copy in cache first. */
static int compare(const void *a, const void *b)
{
    const struct scr_restart_copy *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id) - (x->id > y->id) : y->cached - x->cached;
}

static struct scr_dataset describe(const struct scr_ctx *ctx,
                                   const struct scr_index *index,
                                   const struct scr_restart_copy *c)
{
    struct scr_dataset d = { .id = c->id };
    struct scr_index_entry e;
    if (!c->cached)
        return scr_index_get(index, c->id, &e, NULL) == SCR_OK ? e.dset : d;
    (void)scr_cache_view(ctx, c->id, &d); /* rank 0 may have no part of it */
    return d;
}

static int flags_of(const struct scr_restart_ask *q, const struct scr_restart_copy *c,
                    const struct scr_dataset *d)
{
    int flags = (c->is_ckpt ? SCR_IS_CKPT : 0) | (d->is_output ? SCR_IS_OUTPUT : 0);
    if (c->state == SCR_COPY_WHOLE)
        flags |= c->cached ? SCR_IS_CACHED : SCR_IS_STORED;
    return flags | (scr_copy_is_tried(q, c) ? SCR_IS_OFFERED : 0);
}

/* Two datasets of one number, of different jobs, are two rows. */
static int is_same(const struct scr_restart_copy *a, const struct scr_restart_copy *b)
{
    return a->id == b->id &&
           (a->name == NULL || b->name == NULL || strcmp(a->name, b->name) == 0);
}

/* What is made on rank 0. */
struct making {
    struct scr_index index;
    struct scr_restart_list list;
    struct scr_str rows, names;
    int n;
};

static void add_row(struct making *m, const struct scr_dataset *d, const char *name,
                    int flags)
{
    struct scr_dataset_row row = { .id = d->id,
                                   .flags = flags,
                                   .bytes = (double)d->size,
                                   .when = (double)d->created / 1e6,
                                   .name = m->names.len };
    scr_str_append_n(&m->rows, &row, sizeof row);
    scr_str_append_n(&m->names, name, strlen(name) + 1);
    m->n++;
}

/* A row for all copies of a dataset. */
static void make_rows(const struct scr_ctx *ctx, struct making *m)
{
    struct scr_restart_ask q = scr_restart_ask_of(ctx);
    const struct scr_restart_copy *end = m->list.c + m->list.n;
    for (const struct scr_restart_copy *c = m->list.c, *next; c < end; c = next) {
        struct scr_dataset d = describe(ctx, &m->index, c);
        const char *name = c->name;
        int flags = flags_of(&q, c, &d);
        for (next = c + 1; next < end && is_same(c, next); next++) {
            struct scr_dataset more = describe(ctx, &m->index, next);
            flags |= flags_of(&q, next, &more);
            d = d.created > 0 ? d : more;
            name = name != NULL ? name : next->name;
        }
        add_row(m, &d, name != NULL ? name : "", flags);
    }
}

static int make(const struct scr_ctx *ctx, struct making *m, struct scr_err *err)
{
    TRY(scr_prefix_index_read(&ctx->env, &ctx->prefix, &m->index, err));
    scr_restart_copies(ctx, &m->index, &m->list);
    TRY(!m->list.bad ? SCR_OK : scr_no_memory(err));
    if (m->list.n > 0)
        qsort(m->list.c, m->list.n, sizeof *m->list.c, compare);
    make_rows(ctx, m);
    scr_str_append_n(&m->rows, m->names.p, m->names.len);
    return m->rows.bad || m->names.bad ? scr_no_memory(err) : SCR_OK;
}

int scr_datasets_all(struct scr_ctx *ctx, int *n, struct scr_err *err)
{
    struct scr_datasets *all = &ctx->datasets;
    struct making m = { .index = SCR_INDEX_INIT };
    int rc = n ? SCR_OK : scr_fail(err, SCR_E_ARG, 0, "SCR_Datasets: n is NULL");
    (void)scr_ranks_ask_all(ctx);
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = make(ctx, &m, err);
    scr_str_free(&all->bytes);
    rc = scr_bytes_share_all(&ctx->world, rc, &m.rows, &all->bytes, err);
    all->is_known = rc == SCR_OK;
    all->n = rc == SCR_OK ? (int)scr_sum_all(&ctx->world, (uint64_t)m.n) : 0;
    if (n != NULL)
        *n = all->n;
    scr_restart_list_fini(&m.list);
    scr_index_fini(&m.index);
    scr_str_free(&m.rows);
    scr_str_free(&m.names);
    return rc;
}

int scr_dataset_of(const struct scr_ctx *ctx, int i, char *name,
                   struct scr_dataset_row *row, struct scr_err *err)
{
    const struct scr_datasets *all = &ctx->datasets;
    if (!all->is_known)
        return scr_fail(err, SCR_E_STATE, 0, "SCR_Dataset: call SCR_Datasets first");
    if (i < 0 || i >= all->n)
        return scr_fail(err, SCR_E_RANGE, 0, "SCR_Dataset: dataset %d of %d", i,
                        all->n);
    memcpy(row, all->bytes.p + (size_t)i * sizeof *row, sizeof *row);
    const char *is = all->bytes.p + (size_t)all->n * sizeof *row + row->name;
    size_t n = strlen(is);
    if (name != NULL && n >= ctx->room)
        return scr_fail(err, SCR_E_NAME, 0,
                        "SCR_Dataset: the name of dataset %d has %zu characters, at "
                        "most %zu fit",
                        row->id, n, ctx->room - 1);
    if (name != NULL)
        memcpy(name, is, n + 1);
    return SCR_OK;
}
