/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset, written and read by many ranks. */
#include "par/rank2file.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "par/mpi_call.h"
#include "store/catalog.h"

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "rank2file of dataset %d: out of memory", id);
}

/* <dataset directory>/rank2file<suffix>, malloc'd. */
static char *path_of(const struct scr_prefix *p, int id, const char *suffix)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/rank2file%s", dir, suffix) : NULL;
    free(dir);
    return path;
}

/* --- write --- */

/* The rank that writes this rank's part: the first one whose bytes begin in the same
 * stretch of SCR_RANK2FILE_PART bytes, counted over all ranks in order. Three scans. */
static int find_writer(const struct scr_comm *world, uint64_t bytes, int *writer,
                       struct scr_err *err)
{
    uint64_t before = 0;
    int64_t part, last = -1, first, found = 0;
    int code = MPI_Exscan(&bytes, &before, 1, MPI_UINT64_T, MPI_SUM, world->comm);
    part = world->rank == 0 ? 0 : (int64_t)(before / SCR_RANK2FILE_PART);
    int code1 = MPI_Exscan(&part, &last, 1, MPI_INT64_T, MPI_MAX, world->comm);
    first = world->rank == 0 || last != part ? world->rank : 0;
    int code2 = MPI_Scan(&first, &found, 1, MPI_INT64_T, MPI_MAX, world->comm);
    *writer = (int)found;
    code = code != MPI_SUCCESS ? code : code1 != MPI_SUCCESS ? code1 : code2;
    return scr_mpi_check(code, "scan of sizes", err);
}

static int write_file(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const char *suffix, const scr_hash *h, struct scr_err *err)
{
    char *path = path_of(p, id, suffix);
    int rc = path ? scr_hash_file_write(env->sys, path, h, SCR_DURABLE, err)
                  : no_memory(id, err);
    free(path);
    return rc;
}

/* The lowest rank in a part; -1: it has none. */
static int first_of(const scr_hash *part)
{
    int first = -1;
    for (SCR_HASH_EACH(e, scr_hash_get(part, "RANK"))) {
        int rank = scr_hash_elem_key_int(e);
        first = first < 0 || rank < first ? rank : first;
    }
    return first;
}

/* recv: {<from>: {RANK/<r>/…}}, this writer's own included, in the order of ranks.
 * *first: what the part is called by, -1: there is nothing to write. */
static int write_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                      int ranks, const scr_hash *recv, int *first, struct scr_err *err)
{
    scr_hash *part = scr_hash_new();
    char *suffix = NULL;
    int rc = part ? scr_rank2file_set_part(part, ranks) : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, recv))
        if (rc == SCR_OK)
            rc = scr_hash_merge(part, scr_hash_elem_hash(e));
    *first = first_of(part);
    if (rc == SCR_OK && (suffix = scr_asprintf(".0.%d", *first)) == NULL)
        rc = SCR_E_NOMEM;
    if (rc != SCR_OK)
        no_memory(id, err);
    else if (*first >= 0)
        rc = write_file(env, p, id, suffix, part, err);
    free(suffix);
    scr_hash_delete(part);
    return rc;
}

/* writers: {<writer>: {<first>}}. */
static int write_root(const struct scr_env *env, const struct scr_prefix *p, int id,
                      int ranks, const scr_hash *writers, struct scr_err *err)
{
    scr_hash *root = scr_hash_new();
    int rc = root ? scr_rank2file_set_root(root, 1, ranks) : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, writers)) {
        const scr_hash_elem *part = scr_hash_elem_first(scr_hash_elem_hash(e));
        int first = scr_hash_elem_key_int(part);
        if (rc == SCR_OK)
            rc = scr_rank2file_add_part(root, first);
    }
    rc = rc == SCR_OK ? write_file(env, p, id, "", root, err) : no_memory(id, err);
    scr_hash_delete(root);
    return rc;
}

/* Gathers the parts at their writers. *is_writer: whether this rank is one. */
static int gather_all(const struct scr_comm *world, int id, scr_hash *mine,
                      scr_hash *recv, int *is_writer, struct scr_err *err)
{
    int writer = 0;
    scr_hash *send = scr_hash_new(), *ranks = scr_hash_extract(mine, "RANK");
    if (ranks == NULL)
        ranks = scr_hash_new();
    int rc = find_writer(world, scr_hash_pack_size(ranks), &writer, err);
    scr_hash *slot = scr_hash_setf(send, NULL, "%d", writer);
    if (slot == NULL)
        scr_hash_delete(ranks);
    if (slot == NULL || ranks == NULL || scr_hash_set(slot, "RANK", ranks) == NULL)
        rc = no_memory(id, err);
    *is_writer = writer == world->rank;
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(world, send, recv, err);
    scr_hash_delete(send);
    return rc;
}

/* Tells rank 0 of the parts, each by its first rank; it writes the root. */
static int root_all(const struct scr_env *env, const struct scr_comm *world,
                    const struct scr_prefix *p, int id, int ranks, int first,
                    struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? SCR_OK : no_memory(id, err);
    if (rc == SCR_OK && first >= 0 && scr_hash_setf(send, NULL, "0 %d", first) == NULL)
        rc = no_memory(id, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(world, send, recv, err);
    if (rc == SCR_OK && world->rank == 0)
        rc = write_root(env, p, id, ranks, recv, err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return scr_agree_all(world, rc, err);
}

int scr_rank2file_write_all(const struct scr_env *env, const struct scr_comm *world,
                            const struct scr_prefix *p, int id, scr_hash *mine,
                            struct scr_err *err)
{
    int is_writer = 0, first = -1, ranks = world->size;
    (void)scr_hash_get_val_int(mine, "RANKS", &ranks);
    scr_hash *recv = scr_hash_new();
    int rc = scr_agree_all(world, recv ? SCR_OK : no_memory(id, err), err);
    if (rc == SCR_OK)
        rc = gather_all(world, id, mine, recv, &is_writer, err);
    if (rc == SCR_OK) {
        if (is_writer)
            rc = write_part(env, p, id, ranks, recv, &first, err);
        rc = scr_agree_all(world, rc, err);
    }
    scr_hash_delete(recv);
    return rc == SCR_OK ? root_all(env, world, p, id, ranks, first, err) : rc;
}

/* --- read --- */

/* Tells readers, spread evenly over the ranks, which parts to read. */
static int assign_all(const struct scr_comm *world, int id, const scr_hash *root,
                      scr_hash *parts, struct scr_err *err)
{
    scr_hash *send = scr_hash_new();
    const scr_hash *all = scr_hash_get(root, "RANK");
    uint64_t n = scr_hash_size(all), i = 0;
    int rc = send ? SCR_OK : no_memory(id, err);
    for (SCR_HASH_EACH(e, all)) {
        int reader = (int)(i++ * (uint64_t)world->size / n);
        const char *suffix = scr_hash_get_val(scr_hash_elem_hash(e), "FILE");
        if (scr_hash_set_kv(scr_hash_setf(send, NULL, "%d", reader), "PART", suffix) ==
            NULL)
            rc = no_memory(id, err);
    }
    scr_hash *recv = scr_hash_new();
    rc = recv ? rc : no_memory(id, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(world, send, recv, err);
    if (rc == SCR_OK) /* only rank 0 had any to give */
        rc = scr_hash_merge(parts, scr_hash_getf(recv, "%d PART", 0));
    scr_hash_delete(recv);
    scr_hash_delete(send);
    return scr_agree_all(world, rc, err);
}

/* What is known of the map while it is read. */
struct map {
    scr_hash *root;  /* on rank 0: with parts to be read, empty if there are none */
    scr_hash *whole; /* on rank 0: a part of all ranks, or empty */
    scr_hash *parts; /* names of those this rank reads */
    int ranks;       /* that wrote the dataset */
};

/* Puts the entries of a part into send, for the ranks that get them: their own, or, if
 * the run has fewer, also those of others. */
static int deal_part(const struct scr_comm *world, int id, int ranks,
                     const char *suffix, const scr_hash *part, scr_hash *send,
                     struct scr_err *err)
{
    for (SCR_HASH_EACH(e, scr_hash_get(part, "RANK"))) {
        int rank = scr_hash_elem_key_int(e);
        if (rank < 0 || rank >= ranks)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "rank2file%s of dataset %d: no such rank: %s", suffix, id,
                            scr_hash_elem_key(e));
        scr_hash *slot =
            scr_hash_setf(send, NULL, "%d RANK %d", rank % world->size, rank);
        if (slot == NULL || scr_hash_merge(slot, scr_hash_elem_hash(e)) != SCR_OK)
            return no_memory(id, err);
    }
    return SCR_OK;
}

static int read_part(const struct scr_env *env, const struct scr_comm *world,
                     const struct scr_prefix *p, int id, int ranks, const char *suffix,
                     scr_hash *send, struct scr_err *err)
{
    scr_hash *part = scr_hash_new();
    int rc =
        part ? scr_rank2file_part(env, p, id, suffix, part, err) : no_memory(id, err);
    if (rc == SCR_OK)
        rc = deal_part(world, id, ranks, suffix, part, send, err);
    scr_hash_delete(part);
    return rc;
}

/* Reads the parts assigned and hands every rank its share. */
static int scatter_all(const struct scr_env *env, const struct scr_comm *world,
                       const struct scr_prefix *p, int id, const struct map *m,
                       scr_hash *share, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? SCR_OK : no_memory(id, err);
    if (rc == SCR_OK)
        rc = deal_part(world, id, m->ranks, "", m->whole, send, err);
    for (SCR_HASH_EACH(e, m->parts))
        if (rc == SCR_OK)
            rc =
                read_part(env, world, p, id, m->ranks, scr_hash_elem_key(e), send, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(world, send, recv, err);
    if (rc == SCR_OK) {
        for (SCR_HASH_EACH(e, recv))
            if (rc == SCR_OK)
                rc = scr_hash_merge(share, scr_hash_elem_hash(e));
        rc = scr_agree_all(world, rc, err);
    }
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* Two-level trees are read by many; anything else (older writers, deeper trees) by
 * rank 0. wanted: the number of ranks the dataset must be of, 0: any. */
static int read_all(const struct scr_env *env, const struct scr_comm *world,
                    const struct scr_prefix *p, int id, int wanted, struct map *m,
                    scr_hash *share, struct scr_err *err)
{
    m->root = scr_hash_new();
    m->whole = scr_hash_new();
    m->parts = scr_hash_new();
    int rc = m->root && m->whole && m->parts ? SCR_OK : no_memory(id, err);
    if (rc == SCR_OK && world->rank == 0)
        rc = scr_rank2file_top(env, p, id, m->root, m->whole, &m->ranks, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(
            world, scr_bcast_bytes_all(world, 0, &m->ranks, sizeof m->ranks, err), err);
    if (rc == SCR_OK && wanted > 0 && m->ranks != wanted)
        rc = scr_fail(
            err, SCR_E_RANKS, 0,
            "dataset %d in the prefix directory was written by %d ranks, this run "
            "has %d",
            id, m->ranks, wanted);
    if (rc == SCR_OK)
        rc = assign_all(world, id, m->root, m->parts, err);
    return rc == SCR_OK ? scatter_all(env, world, p, id, m, share, err) : rc;
}

static void map_fini(struct map *m)
{
    scr_hash_delete(m->root);
    scr_hash_delete(m->whole);
    scr_hash_delete(m->parts);
}

int scr_rank2file_read_all(const struct scr_env *env, const struct scr_comm *world,
                           const struct scr_prefix *p, int id, scr_hash *mine,
                           struct scr_err *err)
{
    struct map m = { 0 };
    scr_hash *share = scr_hash_new();
    int rc = scr_agree_all(world, share ? SCR_OK : no_memory(id, err), err);
    if (rc == SCR_OK)
        rc = read_all(env, world, p, id, world->size, &m, share, err);
    if (rc == SCR_OK) {
        rc = scr_hash_merge(mine, scr_hash_getf(share, "RANK %d", world->rank));
        rc = scr_agree_all(world, rc == SCR_OK ? rc : no_memory(id, err), err);
    }
    map_fini(&m);
    scr_hash_delete(share);
    return rc;
}

int scr_rank2file_share_all(const struct scr_env *env, const struct scr_comm *world,
                            const struct scr_prefix *p, int id, int *ranks,
                            scr_hash *share, struct scr_err *err)
{
    struct map m = { 0 };
    int rc = read_all(env, world, p, id, 0, &m, share, err);
    *ranks = m.ranks;
    map_fini(&m);
    return rc;
}
