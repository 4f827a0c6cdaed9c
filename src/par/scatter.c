/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: the filemaps of a node to the ranks that run there now, and the ids they
 * name. */
#include <stdlib.h>

#include "base/str.h"
#include "par/distribute.h"

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "filemaps: out of memory");
}

/* Local rank of each world rank on this node, on its rank 0: {<world>: {<local>: {}}}.
 * rc: of this rank until now; the code is its own again. */
static int gather_node(const struct scr_comm *world, const struct scr_comm *node,
                       scr_hash *local_of, int rc, struct scr_err *err)
{
    int *ranks = scr_calloc((size_t)node->size, sizeof *ranks);
    if (rc == SCR_OK && ranks == NULL)
        rc = no_memory(err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc =
            scr_allgather_bytes_all(node, &world->rank, sizeof world->rank, ranks, err);
    for (int i = 0; rc == SCR_OK && node->rank == 0 && i < node->size; i++)
        scr_hash_setf(local_of, NULL, "%d %d", ranks[i], i);
    if (rc == SCR_OK && !scr_hash_ok(local_of))
        rc = no_memory(err);
    free(ranks);
    return rc;
}

/* Cuts all into one filemap per local rank: an owner that runs here gets its own, the
 * rest is dealt out in turn. */
static int cut(const struct scr_comm *node, const scr_hash *local_of, scr_filemap *all,
               scr_filemap **part)
{
    int *ranks = NULL, n = 0, next = 0;
    int rc = scr_filemap_list_ranks(all, &n, &ranks);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        scr_hash_elem *home =
            scr_hash_elem_first(scr_hash_getf(local_of, "%d", ranks[i]));
        int local = home ? scr_hash_elem_key_int(home) : next++ % node->size;
        scr_filemap *one = scr_filemap_extract_rank(all, ranks[i]);
        if (part[local] == NULL) {
            part[local] = one;
            rc = one != NULL ? SCR_OK : SCR_E_NOMEM;
            continue;
        }
        rc = one != NULL ? scr_filemap_merge(part[local], one) : SCR_E_NOMEM;
        scr_filemap_delete(one);
    }
    free(ranks);
    return rc;
}

static int deal(const struct scr_comm *node, const scr_hash *local_of, scr_filemap *all,
                struct scr_parcels *send, struct scr_err *err)
{
    scr_filemap **part = scr_calloc((size_t)node->size, sizeof(scr_filemap *));
    int rc = part != NULL ? cut(node, local_of, all, part) : SCR_E_NOMEM;
    for (int i = 0; part != NULL && i < node->size; i++) {
        struct scr_str *to =
            part[i] != NULL && rc == SCR_OK ? scr_parcel_to(send, i) : NULL;
        if (to != NULL)
            scr_filemap_pack(to, part[i]);
        if (part[i] != NULL && rc == SCR_OK && (to == NULL || to->bad))
            rc = SCR_E_NOMEM;
        scr_filemap_delete(part[i]);
    }
    free(part);
    return rc == SCR_OK ? rc : no_memory(err);
}

/* The whole of the node's filemaps under a local rank nobody has: while the ranks
 * replace theirs one by one, every file stays named. scr_cntl_write_master removes it.
 */
static int write_spare(const struct scr_env *env, const struct scr_comm *node,
                       const struct scr_cntl *cntl, const scr_filemap *all,
                       struct scr_err *err)
{
    struct scr_cntl spare;
    int rc = scr_cntl_open(env, cntl->dir, node->size, &spare, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_cntl_write(env, &spare, all, err);
    scr_cntl_close(env, &spare);
    return rc;
}

/* Master: everything the node knows, made safe and dealt into send. */
static int read_and_deal(const struct scr_env *env, const struct scr_comm *node,
                         const struct scr_cntl *cntl, const scr_hash *local_of,
                         struct scr_parcels *send, struct scr_err *err)
{
    scr_filemap *all = scr_filemap_new();
    int rc = all != NULL ? SCR_OK : no_memory(err);
    if (rc == SCR_OK)
        rc = scr_cntl_take_node(env, cntl, all, err);
    if (rc == SCR_OK && scr_filemap_num_ranks(all) > 0)
        rc = write_spare(env, node, cntl, all, err);
    if (rc == SCR_OK)
        rc = deal(node, local_of, all, send, err);
    scr_filemap_delete(all);
    return rc;
}

int scr_scatter_filemaps_all(const struct scr_env *env, const struct scr_comm *world,
                             const struct scr_comm *node, struct scr_cntl *cntl,
                             scr_filemap *map, struct scr_err *err)
{
    scr_hash *local_of = scr_hash_new();
    struct scr_parcels send = { 0 }, recv = { 0 };
    int rc = local_of ? SCR_OK : no_memory(err);
    rc = gather_node(world, node, local_of, rc, err);
    if (node->rank == 0 && rc == SCR_OK)
        rc = read_and_deal(env, node, cntl, local_of, &send, err);
    struct scr_vote v = { .least = { -(send.n > 0) } };
    if ((rc = scr_vote_all(world, rc, &v, err)) != SCR_OK)
        goto out;

    if (v.least[0] != 0) /* some node has filemaps */
        rc = scr_parcels_exchange_all(node, &send, &recv, err);
    if (rc == SCR_OK && recv.n > 0)
        rc = scr_filemap_unpack(recv.of[0].bytes.p, recv.of[0].bytes.len, map, err);
    if (rc == SCR_OK)
        rc = scr_cntl_write(env, cntl, map, err);
    if ((rc = scr_agree_all(world, rc, err)) != SCR_OK)
        goto out;

    if (node->rank == 0) /* only now, when every rank's filemap is in place */
        rc = scr_cntl_write_master(env, cntl, node->size, err);
    rc = scr_agree_all(world, rc, err);
out:
    scr_hash_delete(local_of);
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc;
}

/* Smallest id in ids[0…n) above last; INT64_MAX: none. ids ascending. */
static int64_t next_id(const int *ids, int n, int64_t last)
{
    for (int i = 0; i < n; i++)
        if (ids[i] > last)
            return ids[i];
    return INT64_MAX;
}

static int push(int **ids, int *n, int id, struct scr_err *err)
{
    int *p = scr_reallocarray(*ids, (size_t)*n + 1, sizeof *p);
    if (p == NULL)
        return no_memory(err);
    *ids = p;
    p[(*n)++] = id;
    return SCR_OK;
}

int scr_list_datasets_all(const struct scr_comm *world, const scr_filemap *map,
                          int **ids, int *n, struct scr_err *err)
{
    int *mine = NULL, nmine = 0;
    *ids = NULL;
    *n = 0;
    int rc = scr_filemap_list_datasets(map, &nmine, &mine);
    if (rc != SCR_OK)
        nmine = 0;
    int64_t id = 0;
    while ((id = scr_min_all(world, next_id(mine, nmine, id))) != INT64_MAX)
        if (rc == SCR_OK)
            rc = push(ids, n, (int)id, err);
    free(mine);
    rc = scr_agree_all(world, rc, err);
    if (rc != SCR_OK) {
        free(*ids);
        *ids = NULL;
        *n = 0;
    }
    return rc;
}
