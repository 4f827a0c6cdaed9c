/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of the datasets in the prefix directory. */
#include "par/pfs/lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ec/ec.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "store/realdir.h"
#include "xfer/zst.h"

struct lists {
    struct scr_lists of;
    struct scr_realdir real;
    struct scr_parcels deal; /* for keepers: texts "<id>/<path>" */
};

int scr_path_keeper(const struct scr_comm *world, const char *path)
{
    return (int)(scr_crc32(0, path, strlen(path)) % (uint32_t)world->size);
}

/* Piece by piece, so that a rank without memory for them takes part. */
int scr_share_ids_all(const struct scr_comm *world, int rc, int **ids, size_t *n,
                      struct scr_err *err)
{
    struct scr_vote v = { .sum = { world->rank == 0 && rc == SCR_OK ? *n : 0 } };
    rc = scr_vote_all(world, rc, &v, err);
    size_t count = (size_t)v.sum[0];
    if (world->rank != 0)
        *n = count;
    if (rc != SCR_OK || count == 0)
        return rc;
    if (world->rank != 0 && (*ids = scr_calloc(count, sizeof **ids)) == NULL)
        rc = scr_no_memory(err);
    for (size_t at = 0, some; at < count; at += some) {
        int piece[1024];
        some = count - at < 1024 ? count - at : 1024;
        if (world->rank == 0)
            memcpy(piece, *ids + at, some * sizeof *piece);
        int rc1 = scr_bcast_bytes_all(world, 0, piece, some * sizeof *piece, err);
        rc = rc == SCR_OK ? rc1 : rc;
        if (rc == SCR_OK && world->rank != 0)
            memcpy(*ids + at, piece, some * sizeof *piece);
    }
    return scr_agree_all(world, rc, err);
}

/* --- roots: each read by one rank, which sends others the parts to read --- */

/* There never was one, or another process that deletes the dataset has removed the root
 * and then this part of it. */
static int has_no_list(const struct lists *l, int id)
{
    struct scr_rank2file none = { 0 };
    int rc = scr_prefix_rank2file_read(l->of.env, l->of.prefix, id, &none, NULL);
    int has_no = rc == SCR_E_NOENT && none.ranks == 0;
    scr_rank2file_fini(&none);
    return has_no;
}

/* What to do about the i-th list, which could not be read. That a read failed says
 * nothing about the list: the next one may not. */
static int judge(const struct lists *l, size_t i, int rc, const struct scr_err *why,
                 struct scr_err *err)
{
    int damaged = rc == SCR_E_CORRUPT || rc == SCR_E_MISSING;
    int newer = rc == SCR_E_VERSION;
    if (rc == SCR_OK)
        return SCR_OK;
    int ignored = l->of.spare ? damaged || newer
                              : rc == SCR_E_MISSING && has_no_list(l, l->of.ids[i]);
    if (!ignored)
        return scr_err_take(err, rc, why);
    if (l->of.state == NULL)
        return SCR_OK;
    if (newer) /* whatever else is wrong with its parts */
        l->of.state[i] = SCR_LIST_NEWER;
    else if (l->of.state[i] == SCR_LIST_READ)
        l->of.state[i] = SCR_LIST_UNREAD;
    return SCR_OK;
}

static int deal(struct lists *l, int id, const char *path, struct scr_err *err)
{
    char *real = scr_realdir_path(&l->real, path);
    int rc = real != NULL
                 ? scr_parcel_printf(&l->deal, scr_path_keeper(l->of.world, real), err,
                                     "%d/%s", id, real)
                 : scr_no_memory(err);
    free(real);
    return rc;
}

static int deal_files(struct lists *l, int id, const struct scr_rank2file *files,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_LISTED(f, files)) {
        char *path = scr_listed_stored(f);
        if (rc == SCR_OK)
            rc = path != NULL ? deal(l, id, path, err) : scr_no_memory(err);
        free(path);
    }
    return rc;
}

/* What a rank is to read. */
struct order {
    size_t list; /* its place among the ids */
    int part, ranks;
};

/* The i-th list: its parts are spread over the ranks from this one on. */
static int read_root(struct lists *l, size_t i, struct scr_parcels *orders,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rank2file_root root = { 0 };
    struct scr_rank2file whole = { 0 };
    int rc =
        scr_rank2file_top(l->of.env, l->of.prefix, l->of.ids[i], &root, &whole, &why);
    rc = judge(l, i, rc, &why, err);
    if (rc == SCR_OK)
        rc = deal_files(l, l->of.ids[i], &whole, err);
    for (size_t k = 0; k < root.n && rc == SCR_OK; k++) {
        const struct order o = { i, root.part[k], root.ranks };
        int to = (int)((i + k) % (size_t)l->of.world->size);
        rc = scr_parcel_bytes(orders, to, &o, sizeof o, err);
    }
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&whole);
    return rc;
}

static int read_roots(struct lists *l, struct scr_parcels *orders, struct scr_err *err)
{
    size_t step = (size_t)l->of.world->size;
    for (size_t i = (size_t)l->of.world->rank; i < l->of.n; i += step)
        TRY(read_root(l, i, orders, err));
    return SCR_OK;
}

/* --- parts --- */

static int read_part(struct lists *l, const struct order *o, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rank2file files = { .ranks = o->ranks };
    int id = l->of.ids[o->list];
    int rc = scr_rank2file_part(l->of.env, l->of.prefix, id, o->part, &files, &why);
    rc = judge(l, o->list, rc, &why, err);
    if (rc == SCR_OK)
        rc = deal_files(l, id, &files, err);
    scr_rank2file_fini(&files);
    return rc;
}

static int read_parts(struct lists *l, const struct scr_parcels *orders,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < orders->n; i++) {
        const struct scr_str *bytes = &orders->of[i].bytes;
        struct order o;
        for (size_t at = 0; at < bytes->len && rc == SCR_OK; at += sizeof o) {
            memcpy(&o, bytes->p + at, sizeof o);
            rc = read_part(l, &o, err);
        }
    }
    return rc;
}

/* --- all of it --- */

int scr_kept_lists(const struct scr_kept *k, int id)
{
    const struct scr_kept_id *of = k->of;
    while (of != NULL && of->id != id)
        of = of->next;
    return of != NULL;
}

static void keep(struct scr_table *kept, int id, const char *path)
{
    struct scr_kept *k = scr_table_add(kept, path);
    if (k == NULL || scr_kept_lists(k, id))
        return;
    struct scr_kept_id *of = scr_arena_get(&kept->arena, sizeof *of);
    if (of != NULL) {
        *of = (struct scr_kept_id){ id, k->of };
        k->of = of;
    }
}

/* Hands the paths to their keepers, unless rc is an error. */
static int keep_all(const struct lists *l, int rc, struct scr_table *kept,
                    struct scr_err *err)
{
    struct scr_parcels recv = { 0 };
    TRY(scr_parcels_exchange_all(l->of.world, rc, &l->deal, &recv, err));
    for (size_t i = 0; i < recv.n; i++)
        for (SCR_TEXTS(text, &recv.of[i].bytes)) {
            char *slash;
            long id = strtol(text, &slash, 10);
            keep(kept, (int)id, slash + 1);
        }
    scr_parcels_free(&recv);
    return scr_agree_all(l->of.world, scr_table_ok(kept) ? SCR_OK : scr_no_memory(err),
                         err);
}

int scr_lists_read_all(const struct scr_lists *lists, int rc, struct scr_table *kept,
                       struct scr_err *err)
{
    struct lists l = { .of = *lists,
                       .real = SCR_REALDIR_OF(lists->env, lists->prefix) };
    const struct scr_comm *world = lists->world;
    struct scr_parcels send = { 0 }, orders = { 0 };
    if (lists->n == 0)
        return scr_agree_all(world, rc, err);
    for (size_t i = 0; lists->state != NULL && i < lists->n; i++)
        lists->state[i] = SCR_LIST_READ;
    if (rc == SCR_OK)
        rc = read_roots(&l, &send, err);
    rc = scr_parcels_exchange_all(world, rc, &send, &orders, err);
    if (rc == SCR_OK)
        rc = keep_all(&l, read_parts(&l, &orders, err), kept, err);
    scr_parcels_free(&send);
    scr_parcels_free(&orders);
    scr_parcels_free(&l.deal);
    scr_realdir_fini(&l.real);
    return rc;
}

/* --- what landed and is in no list yet --- */

static int deal_packed(struct lists *l, const char *record, int id, struct scr_err *err)
{
    struct scr_packed is;
    uint64_t stamp;
    const char *dest;
    if (!scr_arrival_packed_parse(record, &stamp, &is, &dest))
        return SCR_OK;
    char *path = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    int rc = path != NULL ? deal(l, id, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

static int read_landed(struct lists *l, int id, int node, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc = map ? scr_arrival_read(l->of.env, l->of.prefix, id, node, map, err)
                 : scr_no_memory(err);
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files))
            if (rc == SCR_OK)
                rc = deal_packed(l, f->item.name, id, err);
    scr_filemap_delete(map);
    return rc;
}

/* The records are spread over the ranks. */
static int read_share(struct lists *l, int id, const int *node, size_t n,
                      struct scr_err *err)
{
    size_t step = (size_t)l->of.world->size;
    for (size_t i = (size_t)l->of.world->rank; i < n; i += step)
        TRY(read_landed(l, id, node[i], err));
    return SCR_OK;
}

int scr_lists_landed_all(const struct scr_env *env, const struct scr_comm *world,
                         const struct scr_prefix *p, int id, struct scr_table *kept,
                         struct scr_err *err)
{
    struct lists l = { .of = { .env = env, .world = world, .prefix = p },
                       .real = SCR_REALDIR_OF(env, p) };
    int *node = NULL, rc = SCR_OK;
    size_t n = 0;
    if (world->rank == 0)
        rc = scr_arrival_nodes(env, p, id, &node, &n, err);
    rc = scr_share_ids_all(world, rc, &node, &n, err);
    if (rc == SCR_OK && n > 0)
        rc = keep_all(&l, read_share(&l, id, node, n, err), kept, err);
    scr_parcels_free(&l.deal);
    scr_realdir_fini(&l.real);
    free(node);
    return rc;
}
