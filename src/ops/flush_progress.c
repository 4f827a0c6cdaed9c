/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a flush is. */
#include "ops/flush_progress.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/arrival.h"
#include "store/flushing.h"
#include "xfer/copy.h"

/* A rate of less time says little. */
enum { SETTLED_S = 2 };

/* One flush that is looked at. */
struct look {
    const struct scr_env *env;
    const struct scr_prefix *p;
    struct scr_flush_progress *f;
    int tag;                   /* of temporary files of a transfer process; 0: none */
    const scr_filemap *landed; /* as recorded; NULL: there are no records */
    uint64_t fresh;            /* of what is done: since the attempt began */
};

void scr_flush_progress_fini(struct scr_flush_progress *f)
{
    free(f->name);
    *f = (struct scr_flush_progress){ 0 };
}

double scr_flush_progress_left(const struct scr_flush_progress *f)
{
    uint64_t left = f->bytes > f->done ? f->bytes - f->done : 0;
    return f->rate > 0 ? (double)left / f->rate : -1;
}

/* --- files --- */

/* Takes path over. 1 if it is a file. */
static int stat_file(const struct look *l, char *path, struct stat *st)
{
    int is = path != NULL && scr_file_stat(l->env->sys, path, st, NULL) == SCR_OK &&
             S_ISREG(st->st_mode);
    free(path);
    return is;
}

static int find_temporary(const struct look *l, const char *dst, int rank,
                          struct stat *st)
{
    return stat_file(l, scr_copy_tmp(dst, rank), st) ||
           (l->tag != 0 && stat_file(l, scr_copy_tmp(dst, l->tag), st));
}

static int has_landed(const struct look *l, int rank, const char *path)
{
    const struct scr_entry *e =
        l->landed ? scr_filemap_entry(l->landed, l->f->id, rank) : NULL;
    return e != NULL && scr_table_find(&e->files, path) != NULL;
}

static void add(struct look *l, uint64_t bytes, int is_fresh)
{
    l->f->done += bytes;
    l->fresh += is_fresh ? bytes : 0;
}

/* A file at its place may be an older dataset's, unless it was recorded or changed
 * since the attempt began. */
static void look_at(struct look *l, const struct scr_listed *file, int rank)
{
    struct stat st;
    uint64_t size = file->has_size ? file->size : 0;
    char *dst = scr_path_join(l->p->path, file->item.name);
    int landed = has_landed(l, rank, file->item.name);
    if (dst == NULL)
        return;
    int is = stat_file(l, scr_strdup(dst), &st) ||
             stat_file(l, scr_asprintf("%s.zst", dst), &st);
    int is_fresh = !is || (double)st.st_ctime + 1 >= l->f->since;
    if (landed || (is && is_fresh))
        add(l, size, is_fresh);
    else if (find_temporary(l, dst, rank, &st))
        add(l, (uint64_t)st.st_size < size ? (uint64_t)st.st_size : size, 1);
    free(dst);
}

/* --- one flush --- */

static int read_landed(struct look *l, const scr_hash *plan, scr_filemap *map,
                       struct scr_err *err)
{
    int rc = map ? SCR_OK : scr_no_memory(err);
    for (SCR_HASH_EACH(e, scr_hash_get(plan, "NODE")))
        if (rc == SCR_OK)
            rc = scr_arrival_read(l->env, l->p, l->f->id, scr_hash_elem_key_int(e), map,
                                  err);
    l->landed = map;
    return rc;
}

static int count(struct look *l, const scr_hash *plan, struct scr_err *err)
{
    struct scr_rank2file list = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    scr_filemap *map = scr_filemap_new();
    uint64_t stamp = 0;
    int rc;
    if (scr_hash_get_val_u64(plan, "STAMP", &stamp))
        l->tag = scr_arrival_tag(stamp);
    TRY_OUT(read_landed(l, plan, map, err));
    rc = scr_prefix_rank2file_read(l->env, l->p, l->f->id, &list, &why);
    if (rc == SCR_E_NOENT) /* it has not written anything yet */
        rc = SCR_OK;
    TRY_OUT(scr_err_take(err, rc, &why));
    for (size_t i = 0; i < list.n; i++)
        for (SCR_EACH(const struct scr_listed, file, &list.of[i]->files))
            look_at(l, file, list.of[i]->rank);
    if (l->f->bytes == 0)
        l->f->bytes = scr_rank2file_bytes(&list);
out:
    scr_rank2file_fini(&list);
    scr_filemap_delete(map);
    return rc;
}

/* The mark and the plan are written as an attempt begins. */
static double begin_of(const struct look *l)
{
    struct stat st;
    int is = stat_file(l, scr_prefix_dset_file(l->p, l->f->id, "flushing.lock"), &st) ||
             stat_file(l, scr_arrival_plan_path(l->p, l->f->id), &st);
    return is ? (double)st.st_mtime : 0;
}

/* Flushes are copied in turn, whenever they were asked for: this one began to copy when
 * the one before it was complete, at the latest. A summary is written then. */
static double turn_of(const struct look *l, const struct scr_index *index)
{
    struct stat st;
    int before = 0;
    for (size_t i = 0; i < index->n && index->of[i].id < l->f->id; i++)
        if (index->of[i].complete)
            before = index->of[i].id;
    int is = before != 0 &&
             stat_file(l, scr_prefix_dset_file(l->p, before, "summary.scr"), &st);
    return is && (double)st.st_mtime > l->f->since ? (double)st.st_mtime : l->f->since;
}

/* By its plan, or else by the index. */
static int describe(struct look *l, const scr_hash *plan, const struct scr_index *index,
                    struct scr_err *err)
{
    struct scr_dataset d = { 0 };
    struct scr_index_entry e;
    if (scr_dataset_get(scr_hash_get(plan, "DSET"), &d, NULL) != SCR_OK &&
        scr_index_get(index, l->f->id, &e, NULL) == SCR_OK)
        d = e.dset;
    l->f->bytes = d.size;
    l->f->name = scr_strdup(d.name ? d.name : "?");
    return l->f->name ? SCR_OK : scr_no_memory(err);
}

static int measure(struct look *l, const struct scr_index *index, double now,
                   struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_arrival_plan_read(l->env, l->p, l->f->id, plan, &why);
    if (rc != SCR_OK && rc != SCR_E_NOENT)
        TRY_OUT(scr_err_take(err, rc, &why));
    l->f->is_async = rc == SCR_OK;
    TRY_OUT(describe(l, plan, index, err));
    l->f->since = begin_of(l);
    l->f->turn = turn_of(l, index);
    TRY_OUT(count(l, plan, err));
    if (l->f->since > 0 && now - l->f->turn >= SETTLED_S)
        l->f->rate = (double)l->fresh / (now - l->f->turn);
out:
    scr_hash_delete(plan);
    return rc;
}

/* A bypassed dataset has a mark too, and no copy is made. */
static int is_flush(const struct scr_index *index, int id)
{
    struct scr_index_entry e;
    return scr_index_get(index, id, &e, NULL) != SCR_OK ||
           (!e.complete && !e.doomed && !e.dset.is_bypass);
}

int scr_flush_progress_find(const struct scr_env *env, const struct scr_prefix *p,
                            const struct scr_index *index, double now,
                            struct scr_flush_progress *out, struct scr_err *err)
{
    struct look l = { .env = env, .p = p, .f = out };
    int *ids = NULL;
    size_t n = 0;
    int rc;
    *out = (struct scr_flush_progress){ 0 };
    TRY_OUT(scr_prefix_unfinished_ids(env, p, index, &ids, &n, err));
    for (size_t i = 0; i < n; i++) {
        int is_held = is_flush(index, ids[i]) && scr_flushing_is_held(env, p, ids[i]);
        if (is_held && out->is_running) {
            out->waiting++;
        } else if (is_held ||
                   (!out->is_running && scr_arrival_has_plan(env, p, ids[i]))) {
            out->id = ids[i];
            out->is_running = is_held;
        }
    }
    if (out->id != 0)
        TRY_OUT(measure(&l, index, now, err));
out:
    free(ids);
    return rc;
}
