/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush while the application continues. */
#include "par/pfs/flush_async.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"
#include "base/units.h"
#include "par/pfs/outgoing.h"
#include "red/member.h"
#include "store/arrival.h"
#include "store/wanted.h"

struct scr_flush_async {
    struct scr_prefix_dset at;
    const struct scr_comm *of_node;
    struct scr_mover *mover;
    struct scr_xfer *xfer;
    int node, rank;
    double since;
    uint64_t bytes;
    uint64_t stamp;       /* of this attempt, in the plan and its records */
    scr_hash *dset;       /* ours */
    struct scr_dataset d; /* its view; id 0: it cannot be read */
    struct scr_wanted wanted;
    struct scr_flushing mark; /* rank 0's */
};

/* --- in the threads that copy --- */

/* Records of files, one each; those of compressed ones are malloc'd. */
static char **name_files(const struct scr_flush_async *a,
                         const struct scr_xfer_file *const *file, size_t n)
{
    char **name = scr_calloc(n, sizeof *name);
    for (size_t i = 0; i < n && name != NULL; i++) {
        const struct scr_packed is = { file[i]->stored_size, file[i]->stored_crc };
        name[i] = file[i]->packed
                      ? scr_arrival_packed_name(a->stamp, &is, file[i]->name)
                      : scr_strdup(file[i]->name);
        if (name[i] == NULL) {
            scr_names_free(name, i);
            name = NULL;
        }
    }
    return name;
}

static struct scr_arrival arrival_of(const struct scr_flush_async *a)
{
    return (struct scr_arrival){ a->at.env, a->at.prefix, a->at.id, a->node, a->rank };
}

typedef int tell(const struct scr_arrival *, const char *const *name, size_t n,
                 struct scr_err *);

static int tell_of(const struct scr_flush_async *a,
                   const struct scr_xfer_file *const *file, size_t n, tell *record,
                   struct scr_err *err)
{
    char **name = name_files(a, file, n);
    TRY(name ? SCR_OK : scr_no_memory(err));
    const struct scr_arrival of = arrival_of(a);
    int rc = record(&of, (const char *const *)name, n, err);
    scr_names_free(name, n);
    return rc;
}

/* Another job, or a command, may have taken the plan away. */
static int allowed(void *arg, struct scr_err *err)
{
    struct scr_flush_async *a = arg;
    return scr_wanted_check(&a->wanted, a->at.env, a->at.prefix, a->at.id, a->stamp,
                            err);
}

static int landed(void *arg, const struct scr_xfer_file *const *file, size_t n,
                  struct scr_err *err)
{
    return tell_of(arg, file, n, scr_arrival_landed, err);
}

static int tell_packed(const struct scr_flush_async *a, struct scr_err *err)
{
    size_t n = 0, packed = 0;
    const struct scr_xfer_file *file = scr_xfer_files(a->xfer, &n);
    const struct scr_xfer_file **some = scr_calloc(n, sizeof *some);
    TRY(some ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        if (file[i].packed)
            some[packed++] = &file[i];
    int rc = packed > 0 ? tell_of(a, some, packed, scr_arrival_packed, err) : SCR_OK;
    free(some);
    return rc;
}

/* That the dataset could not be completed is no failure of the transfer: the next call,
 * or the next start, does it. */
static int finished(void *arg, struct scr_err *err)
{
    const struct scr_flush_async *a = arg;
    TRY(tell_packed(a, err));
    const struct scr_arrival of = arrival_of(a);
    TRY(scr_arrival_arrived(&of, a->stamp, err));
    (void)scr_arrival_finish(a->at.env, a->at.prefix, a->at.id, a->node);
    return SCR_OK;
}

/* --- start --- */

/* CRCs that are not recorded are computed now, if they are wanted. */
static int sum_up(struct scr_outgoing *f, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < f->n && rc == SCR_OK; i++) {
        struct scr_xfer_file *x = &f->file[i].xfer;
        uint64_t size = 0;
        if (!f->o->crc || x->has_crc)
            continue;
        rc = scr_file_crc32(f->at.env, x->src, 0, &size, &x->crc, err);
        x->has_crc = rc == SCR_OK;
    }
    return rc;
}

static int record_landed(const struct scr_flush_async *a, const struct scr_outgoing *f,
                         struct scr_err *err)
{
    size_t n = 0;
    const struct scr_xfer_file **file = scr_calloc(f->n, sizeof *file);
    TRY(file ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < f->n; i++)
        if (f->file[i].xfer.whole)
            file[n++] = &f->file[i].xfer;
    int rc = tell_of(a, file, n, scr_arrival_landed, err);
    free(file);
    return rc;
}

/* A node: its lowest rank, by which it is called, and how many it has. */
struct node {
    int first, ranks;
};

/* Rank 0's: the plan, from the data of every node's lowest rank. */
static int write_plan(const struct scr_flush_async *a, const struct scr_outgoing *f,
                      const struct scr_parcels *told, uint64_t files,
                      struct scr_err *err)
{
    scr_hash *dset = scr_outgoing_dataset(f, a->bytes, files);
    scr_hash *nodes = scr_hash_new();
    const struct scr_attempt plan = { a->stamp, dset, nodes, &f->older };
    scr_hash_set_val_i64(dset, "COMPLETE", 0);
    for (size_t i = 0; i < told->n; i++) {
        struct node node;
        memcpy(&node, told->of[i].bytes.p, sizeof node);
        scr_hash_setf(nodes, NULL, "%d %d", node.first, node.ranks);
    }
    int ok = dset && nodes && scr_hash_ok(dset) && scr_hash_ok(nodes);
    int rc = ok ? scr_arrival_plan(a->at.env, a->at.prefix, a->at.id, &plan, err)
                : scr_no_memory(err);
    scr_hash_delete(dset);
    scr_hash_delete(nodes);
    return rc;
}

/* Once the plan exists, a process that completes a dataset with one of our paths
 * cancels it. Those that did so before that are replaced, too, or keep us from it. */
static int look_again_all(const struct scr_flush_async *a, struct scr_outgoing *f,
                          int rc, const struct scr_parcels *told, uint64_t files,
                          struct scr_err *err)
{
    size_t known = f->older.n;
    rc = scr_outgoing_look_again_all(f, rc, err);
    if (a->rank == 0 && rc == SCR_OK && f->older.n > known)
        rc = write_plan(a, f, told, files, err);
    if (a->rank == 0 && rc != SCR_OK)
        (void)scr_arrival_give_up(a->at.env, a->at.prefix, a->at.id, NULL);
    return scr_agree_all(a->at.world, rc, err);
}

static int plan_all(struct scr_flush_async *a, struct scr_outgoing *f, int rc,
                    int nranks, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, told = { 0 };
    const struct node mine = { a->node, nranks };
    struct scr_vote v = { .sum = { scr_outgoing_bytes(f), f->n } };
    v.least[0] = a->rank == 0 ? (int64_t)scr_now_usec() : INT64_MAX;
    rc = scr_vote_all(a->at.world, rc, &v, err);
    if (rc != SCR_OK)
        return rc;
    a->bytes = v.sum[0];
    a->stamp = (uint64_t)v.least[0];
    rc = record_landed(a, f, err); /* no rank removes old records any more */
    if (rc == SCR_OK && a->node == a->rank)
        rc = scr_parcel_bytes(&send, 0, &mine, sizeof mine, err);
    rc = scr_parcels_exchange_all(a->at.world, rc, &send, &told, err);
    if (rc != SCR_OK)
        goto out;
    if (a->rank == 0)
        rc = write_plan(a, f, &told, v.sum[1], err);
    rc = look_again_all(a, f, rc, &told, v.sum[1], err);
out:
    scr_parcels_free(&send);
    scr_parcels_free(&told);
    return rc;
}

static int prepare_all(struct scr_flush_async *a, struct scr_outgoing *f,
                       const scr_filemap *map, int nranks, struct scr_err *err)
{
    TRY(scr_outgoing_collect_all(f, map, err));
    TRY(scr_outgoing_begin_all(f, scr_outgoing_resume_all(f, sum_up(f, err), err),
                               err));
    int rc = scr_outgoing_make_dirs_all(f, err);
    scr_outgoing_fix_sizes(f);
    rc = scr_outgoing_record_all(f, rc, err);
    return rc == SCR_OK ? plan_all(a, f, scr_outgoing_forget(f, err), nranks, err) : rc;
}

/* How many copy, processes that have files, or nodes whose transfer process has some;
 * and how fast this one may: by its share of the bytes, or that of its node, so that
 * all end at the same time and the whole of bw is used until then; if not all may copy
 * at once (*width > 0), the same for each that does. A rank without bytes needs
 * none. */
static double share_all(const struct scr_flush_async *a, const struct scr_outgoing *f,
                        double bw, uint64_t *movers, int *width)
{
    uint64_t mine[] = { f->n > 0, 0 };
    int daemon = scr_mover_is_daemon(a->mover);
    for (size_t i = 0; i < f->n; i++)
        mine[1] += f->file[i].xfer.whole ? 0 : f->file[i].xfer.size;
    if (daemon)
        scr_sums_all(a->of_node, mine, 2);
    int counts = !daemon || a->node == a->rank; /* once a node */
    uint64_t all[] = { counts && mine[0] > 0, counts ? mine[1] : 0 };
    scr_sums_all(f->at.world, all, 2);
    *movers = all[0];
    *width = (uint64_t)f->o->width < *movers ? f->o->width : 0;
    if (*width > 0)
        return bw / *width;
    return all[1] > 0 ? bw * ((double)mine[1] / (double)all[1]) : bw;
}

static int launch_all(struct scr_flush_async *a, const struct scr_outgoing *f,
                      const struct scr_flush_by *by, struct scr_err *err)
{
    uint64_t movers = 0;
    int width = 0, done = 0;
    double bw = share_all(a, f, by->bw, &movers, &width);
    int copies = f->n > 0 || scr_mover_is_daemon(a->mover); /* or its node does */
    const struct scr_xfer_where where = { .prefix = a->at.prefix->path,
                                          .id = a->at.id,
                                          .node = a->node,
                                          .rank = a->rank,
                                          .stamp = a->stamp };
    struct scr_xfer_opts o = { .sync_dirs = 1,
                               .bw = bw,
                               .percent = by->percent,
                               .slot_dir = a->at.prefix->scr,
                               .width = copies ? width : 0,
                               .crowd = (int)movers,
                               .allowed = allowed,
                               .landed = landed,
                               .finished = finished,
                               .arg = a,
                               .where = &where };
    a->xfer = scr_outgoing_xfer(f, &o, err);
    int rc = a->xfer ? scr_mover_start(a->mover, a->xfer, err) : SCR_E_NOMEM;
    int all = scr_agree_all(a->at.world, rc, err);
    if (all != SCR_OK && rc != SCR_OK) { /* nothing of ours runs */
        scr_xfer_free(a->xfer);
        a->xfer = NULL;
    }
    if (all != SCR_OK)
        (void)scr_flush_cancel_all(a, &done, NULL);
    return all;
}

static void free_async(struct scr_flush_async *a)
{
    if (a != NULL) {
        scr_flushing_end(a->at.env, a->at.prefix, &a->mark);
        scr_hash_delete(a->dset);
    }
    free(a);
}

int scr_flush_start_all(struct scr_flush_async **out, const struct scr_prefix_dset *at,
                        const struct scr_flush_by *by, const scr_hash *dset,
                        const scr_filemap *map, struct scr_err *err)
{
    const struct scr_comm *world = at->world;
    *out = NULL;
    struct scr_flush_async *a = scr_calloc(1, sizeof *a);
    int ok = a != NULL && ((a->dset = scr_hash_dup(dset)) != NULL || dset == NULL);
    int rc = scr_agree_all(world, ok ? SCR_OK : scr_no_memory(err), err);
    if (rc != SCR_OK) {
        free_async(a);
        return rc;
    }
    *a = (struct scr_flush_async){ .at = *at,
                                   .of_node = by->node,
                                   .mover = by->mover,
                                   .node = (int)scr_min_all(by->node, world->rank),
                                   .rank = world->rank,
                                   .since = scr_now_mono(),
                                   .dset = a->dset };
    (void)scr_dataset_get(a->dset, &a->d, NULL);
    scr_wanted_init(&a->wanted);
    struct scr_outgoing f = { .at = *at, .o = by->o, .dset = dset };
    rc = prepare_all(a, &f, map, by->node->size, err);
    a->mark = f.mark;
    f.mark.id = 0;
    if (rc == SCR_OK)
        rc = launch_all(a, &f, by, err); /* frees a if it fails */
    else
        scr_flush_kill(a);
    scr_outgoing_fini(&f);
    *out = rc == SCR_OK ? a : NULL;
    return rc;
}

/* --- later --- */

int scr_flush_async_id(const struct scr_flush_async *a)
{
    return a->at.id;
}

double scr_flush_async_since(const struct scr_flush_async *a)
{
    return a->since;
}

uint64_t scr_flush_async_bytes(const struct scr_flush_async *a)
{
    return a->bytes;
}

enum scr_xfer_state scr_flush_poll_all(const struct scr_flush_async *a)
{
    enum scr_xfer_state mine = scr_mover_poll(a->mover, a->xfer);
    int left = mine == SCR_XFER_RUNNING ? 2 : mine == SCR_XFER_FAILED;
    int64_t most = scr_max_all(a->at.world, left);
    return most == 2 ? SCR_XFER_RUNNING : most == 1 ? SCR_XFER_FAILED : SCR_XFER_DONE;
}

void scr_flush_kill(struct scr_flush_async *a)
{
    if (a == NULL)
        return;
    if (a->xfer != NULL)
        scr_mover_cancel(a->mover, a->xfer);
    scr_xfer_free(a->xfer);
    scr_wanted_fini(&a->wanted);
    free_async(a);
}

/* 1 if nothing is left to be done for the dataset: its plan has gone. It is opened, as
 * attributes that a file system keeps may know one that another node has removed. */
static int has_no_plan(const struct scr_flush_async *a)
{
    scr_hash *plan = scr_hash_new();
    int rc = scr_arrival_plan_read(a->at.env, a->at.prefix, a->at.id, plan, NULL);
    scr_hash_delete(plan);
    return rc == SCR_E_NOENT;
}

/* 1 if the index lists the dataset as complete: this attempt entered it as incomplete,
 * so only its completion can have set that. */
static int is_entered(const struct scr_flush_async *a)
{
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int there =
        scr_prefix_index_read(a->at.env, a->at.prefix, &index, NULL) == SCR_OK &&
        scr_index_get(&index, a->at.id, &e, NULL) == SCR_OK && e.complete &&
        !e.failed && a->d.id > 0 && scr_dataset_is_alike(&a->d, &e.dset);
    scr_index_fini(&index);
    return there;
}

/* A process that copies may die, or fail to report, after its last file has arrived:
 * the prefix decides. The code of the transfer, agreed. */
static int settle_all(const struct scr_flush_async *a, int rc,
                      const struct scr_err *why, struct scr_err *err)
{
    if (rc == SCR_OK)
        return rc;
    int done = a->rank == 0 && a->d.created > 0 && has_no_plan(a) && is_entered(a);
    return scr_or_all(a->at.world, done) ? SCR_OK : scr_err_take(err, rc, why);
}

/* All has arrived: the dataset is complete, or becomes so here. A missing plan may also
 * mean that the flush was cancelled. */
static int complete(const struct scr_flush_async *a, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int gone = has_no_plan(a), rc = SCR_OK;
    if (!gone) {
        rc = scr_arrivals_adopt(a->at.env, a->at.prefix, NULL, &why);
        gone = has_no_plan(a);
    }
    if (gone && is_entered(a))
        return SCR_OK; /* what failed was another dataset's */
    TRY(scr_err_take(err, rc, &why));
    return scr_fail(err, SCR_E_MISSING, 0,
                    gone ? "flush of dataset %d: another job or a command cancelled it"
                         : "flush of dataset %d: its records are gone",
                    a->at.id);
}

int scr_flush_end_all(struct scr_flush_async *a, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_mover_wait(a->mover, a->xfer, &why);
    rc = scr_agree_all(a->at.world, rc, &why);
    rc = settle_all(a, rc, &why, err);
    if (rc == SCR_OK && a->rank == 0)
        rc = complete(a, err);
    rc = scr_agree_all(a->at.world, rc, err);
    scr_flush_kill(a);
    return rc;
}

int scr_flush_cancel_all(struct scr_flush_async *a, int *done, struct scr_err *err)
{
    int rc = SCR_E_CANCELLED;
    if (a->xfer != NULL) {
        scr_mover_cancel(a->mover, a->xfer);
        rc = scr_mover_wait(a->mover, a->xfer, NULL);
    }
    *done = scr_and_all(a->at.world, rc == SCR_OK);
    if (*done)
        return scr_flush_end_all(a, err);
    /* The records of what has landed stay: a deletion of the dataset finds by them
     * what is compressed, which its list does not say yet (invariant P3). */
    rc = a->rank == 0 ? scr_arrival_give_up(a->at.env, a->at.prefix, a->at.id, err)
                      : SCR_OK;
    rc = scr_agree_all(a->at.world, rc, err);
    scr_flush_kill(a);
    return rc;
}
