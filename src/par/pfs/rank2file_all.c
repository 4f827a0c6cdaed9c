/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset, written and read by many ranks. */
#include "par/pfs/rank2file_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "store/catalog.h"

/* --- write --- */

/* The rank that writes this rank's part: the first one whose bytes begin in the same
 * stretch of SCR_RANK2FILE_PART bytes, counted over all ranks in order. */
static int find_writer_all(const struct scr_comm *world, uint64_t bytes)
{
    uint64_t before = scr_sum_below_all(world, bytes);
    int is_last = before / SCR_RANK2FILE_PART != (before + bytes) / SCR_RANK2FILE_PART;
    uint64_t next = (uint64_t)world->rank + 1;
    return (int)scr_max_below_all(world, is_last ? next : 0);
}

/* Each entry as a separate packed hash. *taken: what they take in a part. */
static int pack(const struct scr_rank2file *mine, struct scr_str *packed,
                uint64_t *taken, struct scr_err *err)
{
    for (size_t i = 0; i < mine->n; i++)
        scr_rank_files_pack(packed, mine->of[i]);
    int ok = !packed->bad && scr_rank2file_ok(mine);
    *taken = ok ? packed->len - mine->n * SCR_RANK_FILES_AROUND : 0;
    return ok ? SCR_OK : scr_no_memory(err);
}

/* Takes what came, in the order of ranks. */
static int take(const struct scr_parcels *recv, struct scr_rank2file *files,
                struct scr_err *err)
{
    for (size_t i = 0; i < recv->n; i++)
        TRY(scr_rank_files_unpack(recv->of[i].bytes.p, recv->of[i].bytes.len, files,
                                  err));
    return SCR_OK;
}

/* Writes the part, if there is any, and reports it to rank 0. It is called by its first
 * rank. */
static int write_part(const struct scr_prefix_dset *at, int ranks,
                      const struct scr_parcels *recv, struct scr_parcels *told,
                      struct scr_err *err)
{
    struct scr_rank2file part;
    char *path = NULL;
    scr_rank2file_init(&part, ranks);
    int rc = take(recv, &part, err);
    if (rc != SCR_OK || part.n == 0)
        goto out;
    int first = part.of[0]->rank;
    path = scr_rank2file_part_path(at->prefix, at->id, first);
    TRY_OUT(path != NULL ? scr_parcel_bytes(told, 0, &first, sizeof first, err)
                         : scr_no_memory(err));
    TRY_OUT(scr_rank2file_write(at->env->sys, path, &part, err));
out:
    free(path);
    scr_rank2file_fini(&part);
    return rc;
}

/* Rank 0's; recv: the first rank of each part. */
static int write_root(const struct scr_prefix_dset *at, int ranks,
                      const struct scr_parcels *recv, struct scr_err *err)
{
    struct scr_rank2file_root root = { .level = 1, .ranks = ranks };
    char *path = scr_rank2file_path(at->prefix, at->id, "");
    root.part = scr_calloc(recv->n, sizeof *root.part);
    for (size_t i = 0; i < recv->n && root.part != NULL; i++)
        memcpy(&root.part[root.n++], recv->of[i].bytes.p, sizeof *root.part);
    int rc = path && root.part
                 ? scr_rank2file_root_write(at->env->sys, path, &root, err)
                 : scr_no_memory(err);
    scr_rank2file_root_fini(&root);
    free(path);
    return rc;
}

int scr_rank2file_write_all(const struct scr_prefix_dset *at,
                            const struct scr_rank2file *mine, int rc,
                            struct scr_err *err)
{
    const struct scr_comm *world = at->world;
    struct scr_parcels send = { 0 }, parts = { 0 }, told = { 0 }, firsts = { 0 };
    struct scr_str packed = SCR_STR_INIT;
    uint64_t bytes = 0;
    if (rc == SCR_OK)
        rc = pack(mine, &packed, &bytes, err);
    struct scr_vote v = { .sum = { bytes } };
    rc = scr_vote_all(world, rc, &v, err);
    if (rc != SCR_OK)
        goto out;
    int is_one = v.sum[0] <= SCR_RANK2FILE_PART; /* all of it in one part */
    int writer = is_one ? 0 : find_writer_all(world, bytes);
    rc = scr_parcel_bytes(&send, writer, packed.p, packed.len, err);
    rc = scr_parcels_exchange_all(world, rc, &send, &parts, err);
    if (rc != SCR_OK)
        goto out;
    if (parts.n > 0)
        rc = write_part(at, mine->ranks, &parts, &told, err);
    if (!is_one)
        rc = scr_parcels_exchange_all(world, rc, &told, &firsts, err);
    if (rc == SCR_OK && world->rank == 0)
        rc = write_root(at, mine->ranks, is_one ? &told : &firsts, err);
    rc = scr_agree_all(world, rc, err);
out:
    scr_str_free(&packed);
    scr_parcels_free(&send);
    scr_parcels_free(&parts);
    scr_parcels_free(&told);
    scr_parcels_free(&firsts);
    return rc;
}

/* --- read --- */

/* Puts the entries of a part into send, for the ranks that get them: their own, or, if
 * the run has fewer, also those of others. */
static int deal(const struct scr_prefix_dset *at, const struct scr_rank2file *part,
                struct scr_parcels *send, struct scr_err *err)
{
    for (size_t i = 0; i < part->n; i++) {
        int to = part->of[i]->rank % at->world->size;
        struct scr_str *bytes = scr_parcel_to(send, to);
        if (bytes != NULL)
            scr_rank_files_pack(bytes, part->of[i]);
        TRY(bytes && !bytes->bad ? SCR_OK : scr_no_memory(err));
    }
    return SCR_OK;
}

static int read_part(const struct scr_prefix_dset *at, int part, int ranks,
                     struct scr_parcels *send, struct scr_err *err)
{
    struct scr_rank2file files = { .ranks = ranks };
    int rc;
    TRY_OUT(scr_rank2file_part(at->env, at->prefix, at->id, part, &files, err));
    TRY_OUT(deal(at, &files, send, err));
out:
    scr_rank2file_fini(&files);
    return rc;
}

/* Rank 0 tells readers, spread evenly over the ranks, which parts to read, and they
 * deal them out. */
static int read_parts_all(const struct scr_prefix_dset *at,
                          const struct scr_rank2file_root *root, int ranks,
                          struct scr_parcels *send, struct scr_err *err)
{
    struct scr_parcels orders = { 0 }, mine = { 0 };
    int rc = SCR_OK, part;
    for (size_t i = 0; i < root->n && rc == SCR_OK; i++) {
        int reader = (int)(i * (size_t)at->world->size / root->n);
        rc = scr_parcel_bytes(&orders, reader, &root->part[i], sizeof part, err);
    }
    rc = scr_parcels_exchange_all(at->world, rc, &orders, &mine, err);
    for (size_t off = 0; mine.n > 0 && off < mine.of->bytes.len; off += sizeof part) {
        memcpy(&part, mine.of->bytes.p + off, sizeof part);
        if (rc == SCR_OK)
            rc = read_part(at, part, ranks, send, err);
    }
    scr_parcels_free(&orders);
    scr_parcels_free(&mine);
    return rc;
}

/* Two-level trees are read by many; one part, and anything else (older writers, deeper
 * trees), by rank 0. wanted: the number of ranks the dataset must be of, 0: any. */
static int read_all(const struct scr_prefix_dset *at, int wanted, int rc,
                    struct scr_rank2file *share, struct scr_err *err)
{
    struct scr_rank2file_root root = { 0 };
    struct scr_rank2file whole = { 0 };
    struct scr_parcels send = { 0 }, recv = { 0 };
    if (rc == SCR_OK && at->world->rank == 0)
        rc = scr_rank2file_top(at->env, at->prefix, at->id, &root, &whole, err);
    struct scr_vote v = { .sum = { (uint64_t)root.ranks, root.n } };
    rc = scr_vote_all(at->world, rc, &v, err);
    share->ranks = (int)v.sum[0];
    if (rc == SCR_OK && wanted > 0 && share->ranks != wanted)
        rc = scr_fail(err, SCR_E_RANKS, 0,
                      "dataset %d in the prefix directory was written by %d rank%s, "
                      "this run has %d",
                      at->id, share->ranks, scr_plural(share->ranks), wanted);
    if (rc != SCR_OK)
        goto out;
    if (v.sum[1] > 1)
        rc = read_parts_all(at, &root, share->ranks, &send, err);
    else if (root.n == 1)
        rc = read_part(at, root.part[0], share->ranks, &send, err);
    else
        rc = deal(at, &whole, &send, err);
    rc = scr_parcels_exchange_all(at->world, rc, &send, &recv, err);
    if (rc == SCR_OK)
        rc = take(&recv, share, err);
out:
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&whole);
    return rc;
}

int scr_rank2file_read_all(const struct scr_prefix_dset *at, int rc,
                           struct scr_rank2file *mine, struct scr_err *err)
{
    return read_all(at, at->world->size, rc, mine, err);
}

int scr_rank2file_share_all(const struct scr_prefix_dset *at, int rc,
                            struct scr_rank2file *share, struct scr_err *err)
{
    return read_all(at, 0, rc, share, err);
}
