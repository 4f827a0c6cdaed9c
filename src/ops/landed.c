/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes files that an asynchronous flush left on the prefix into the stage. */
#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/filemap.h"
#include "ops/move.h"
#include "ops/stage.h"
#include "store/arrival.h"
#include "store/dset_names.h"
#include "store/paths.h"
#include "store/realdir.h"
#include "xfer/copy.h"
#include "xfer/stored.h"
#include "xfer/zst.h"

struct landed {
    struct scr_move m;
    struct scr_rank2file files; /* as the flush listed them */
    struct scr_table taken;     /* paths of complete datasets */
    struct scr_realdir real;
    scr_hash *dset;         /* the dataset, as the flush entered it in the index */
    struct scr_table spent; /* compressed ones, their plain bytes are in the stage */
    int passed;             /* compressed ones that this build cannot unpack */
    uint64_t n;
};

/* A complete dataset lists it. */
static int is_taken(struct landed *l, const char *stored, int *taken,
                    struct scr_err *err)
{
    char *path = scr_realdir_path(&l->real, stored);
    *taken = path != NULL && scr_table_find(&l->taken, path) != NULL;
    free(path);
    return path != NULL ? SCR_OK : scr_no_memory(err);
}

static int take_one(struct landed *l, const struct scr_listed *is, struct scr_err *err)
{
    struct scr_move *m = &l->m;
    const char *dest = is->item.name;
    int taken;
    TRY(is_taken(l, dest, &taken, err));
    if (taken)
        return SCR_OK;
    char *staged = scr_path_join(m->stage, dest);
    char *placed = scr_path_join(m->p->path, dest);
    int moved = 0;
    int rc = staged && placed ? scr_move_back(m, staged, placed, is, &moved, err)
                              : scr_no_memory(err);
    l->n += (uint64_t)moved;
    free(placed);
    free(staged);
    return rc;
}

/* 1 if it is the file that is to blame, which then counts as one that had not landed.
 */
static int is_damaged(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_NOENT ||
           rc == SCR_E_UNSAFE;
}

/* The plain bytes of one that landed compressed, which stays until they are durable;
 * staged: they are there already, from a scavenge that was cut short. */
static int unpack_one(struct landed *l, const struct scr_listed *is, const char *to,
                      int staged, struct scr_err *err)
{
    const struct scr_sys *sys = l->m.env->sys;
    struct scr_err why = SCR_ERR_INIT;
    char *src = NULL;
    struct scr_copied got;
    struct scr_copy job = { .dst = to, .sync = 1 };
    int rc;
    TRY_OUT(scr_stored_job(l->m.p->path, is, &src, &job, err));
    TRY_OUT(scr_move_make_dir(&l->m, to, err));
    if ((staged ? scr_copy_check(sys, &job, &got, &why)
                : scr_copy_file(sys, &job, &got, &why)) == SCR_OK) {
        l->n += !staged;
        TRY_OUT(scr_table_add(&l->spent, src) != NULL ? SCR_OK : scr_no_memory(err));
    }
out:
    free(src);
    return why.code == SCR_OK || is_damaged(why.code)
               ? rc
               : scr_err_take(err, why.code, &why);
}

/* Files that cannot be unpacked here stay, with their records: a build with the library
 * can take them later. */
static int pass_over(struct landed *l)
{
    if (l->passed++ == 0)
        scr_log(l->m.env->log, SCR_LOG_WARN,
                "dataset %d: files that a flush compressed are not taken: SCR was "
                "built without libzstd; they stay where they are",
                l->m.id);
    return SCR_OK;
}

static int take_packed(struct landed *l, const struct scr_listed *is,
                       struct scr_err *err)
{
    const struct scr_move *m = &l->m;
    char *stored = scr_listed_stored(is);
    char *staged = scr_path_join(m->stage, is->item.name);
    int there = SCR_E_MISSING, taken = 0;
    int rc = stored && staged ? is_taken(l, stored, &taken, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        there = scr_move_look(m, staged, is, err);
    if (!scr_move_is_told(there))
        rc = there;
    else if (there != SCR_E_MISSING && !taken)
        rc = scr_zst_have() ? unpack_one(l, is, staged, there == SCR_OK, err)
                            : pass_over(l);
    free(staged);
    free(stored);
    return rc;
}

/* The record of a file that is not listed means nothing. */
static int take_landed(struct landed *l, int rank, const char *record,
                       struct scr_err *err)
{
    struct scr_packed packed;
    uint64_t stamp;
    const char *dest = record;
    int is_packed = scr_arrival_packed_parse(record, &stamp, &packed, &dest);
    const struct scr_rank_files *of = scr_rank2file_rank(&l->files, rank);
    const struct scr_listed *f = of ? scr_table_find(&of->files, dest) : NULL;
    if (f == NULL || scr_prefix_is_own(dest))
        return SCR_OK;
    struct scr_listed is = *f; /* the list does not say yet that it is compressed */
    if (is_packed)
        scr_listed_set_packed(&is, &packed);
    return is_packed ? take_packed(l, &is, err) : take_one(l, f, err);
}

/* The record of a landed file, as a rank's filemap has it. */
static int describe_file(struct landed *l, scr_filemap *map, int rank,
                         const struct scr_listed *f, struct scr_err *err)
{
    const char *dest = f->item.name;
    scr_meta *meta = scr_meta_new();
    if (f->has_size)
        scr_meta_set_filesize(meta, f->size);
    if (f->has_crc)
        scr_meta_set_crc32(meta, f->crc);
    if (f->is_shared)
        scr_meta_set_shared(meta);
    scr_meta_set_text(meta, SCR_META_ASKED, f->asked);
    scr_meta_set_text(meta, SCR_META_FILE, scr_path_base(dest));
    scr_meta_set_text(meta, SCR_META_TYPE, "FULL");
    scr_meta_set_dest(meta, dest);
    scr_meta_set_number(meta, SCR_META_RANK, rank);
    scr_meta_set_number(meta, SCR_META_RANKS, l->files.ranks);
    scr_meta_set_number(meta, SCR_META_COMPLETE, 1);
    scr_filemap_set_meta(map, l->m.id, rank, dest, meta);
    int ok = meta && !meta->arena->lost && scr_filemap_ok(map);
    scr_meta_delete(meta);
    return ok ? SCR_OK : scr_no_memory(err);
}

/* *all: 1 if every file of the rank is in the stage. */
static int has_all(const struct landed *l, const struct scr_table *files, int *all,
                   struct scr_err *err)
{
    int rc = SCR_OK;
    *all = 1;
    for (SCR_EACH(struct scr_listed, f, files)) {
        char *staged = scr_path_join(l->m.stage, f->item.name);
        int one = staged && scr_move_is_told(rc) ? scr_move_look(&l->m, staged, f, err)
                                                 : SCR_E_NOMEM;
        *all = *all && one == SCR_OK;
        rc = scr_move_is_told(one) ? rc : one;
        free(staged);
    }
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : rc;
}

static int write_map(struct landed *l, const struct scr_rank_files *of,
                     const char *path, struct scr_err *err)
{
    const struct scr_move *m = &l->m;
    int rank = of->rank;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_rank(map, m->id, rank);
    scr_filemap_set_dataset(map, m->id, rank, l->dset);
    scr_filemap_set_expected_files(map, m->id, rank, (int)of->files.n);
    int rc;
    TRY_OUT(map ? SCR_OK : scr_no_memory(err));
    for (SCR_EACH(struct scr_listed, f, &of->files))
        TRY_OUT(describe_file(l, map, rank, f, err));
    TRY_OUT(scr_filemap_write(m->env->sys, path, map, SCR_DURABLE, err));
out:
    scr_filemap_delete(map);
    return rc;
}

/* A rank whose files had all landed needs nothing from its node any more: its filemap
 * is written as a copy would have written it. */
static int list_rank(struct landed *l, const struct scr_rank_files *of,
                     struct scr_err *err)
{
    int all = 0, rc;
    char *name = scr_asprintf("%d" SCR_MAP_SUFFIX, of->rank);
    char *path = name ? scr_prefix_dset_file(l->m.p, l->m.id, name) : NULL;
    free(name);
    rc = path ? has_all(l, &of->files, &all, err) : scr_no_memory(err);
    if (rc == SCR_OK && all) {
        rc = scr_move_look(&l->m, path, NULL, err);
        rc = rc == SCR_E_NOENT      ? write_map(l, of, path, err)
             : scr_move_is_told(rc) ? SCR_OK
                                    : rc;
    }
    free(path);
    return rc;
}

static int take_record(struct landed *l, int node, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int id = l->m.id;
    int rc = map ? scr_arrival_read(l->m.env, l->m.p, id, node, map, err)
                 : scr_no_memory(err);
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files))
            if (rc == SCR_OK)
                rc = take_landed(l, e->rank, f->item.name, err);
    scr_filemap_delete(map);
    return rc;
}

static int add_taken(struct landed *l, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_paths_complete(l->m.env, l->m.p, l->m.id, &ids, &n, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(scr_paths_add(l->m.env, l->m.p, ids[i], &l->taken, err));
out:
    free(ids);
    return rc;
}

/* The entry may be another dataset's by now, or none: then nothing is taken. */
static int read_dset(struct landed *l, struct scr_err *err)
{
    const struct scr_move *m = &l->m;
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT(scr_prefix_index_read(m->env, m->p, &index, err));
    if (scr_index_dataset(&index, m->id, l->dset) == SCR_E_NOMEM)
        TRY_OUT(scr_no_memory(err));
out:
    scr_index_fini(&index);
    return rc;
}

/* A list that is gone or damaged is as good as none. */
static int read_list(struct landed *l, struct scr_err *err)
{
    const struct scr_move *m = &l->m;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_rank2file_read(m->env, m->p, m->id, &l->files, &why);
    if (rc == SCR_E_IO || rc == SCR_E_NOMEM)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK)
        scr_rank2file_fini(&l->files);
    return SCR_OK;
}

/* Their plain bytes are durable. One behind a link that leads out of the prefix stays.
 */
static int remove_spent(struct landed *l, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_EACH(struct scr_item, e, &l->spent)) {
        struct scr_err why = SCR_ERR_INIT;
        if (rc != SCR_OK)
            break;
        rc = scr_move_check_inside(&l->m, e->name, &why);
        if (rc == SCR_OK)
            rc = scr_file_remove(l->m.env->sys, e->name, err);
        else
            rc = rc == SCR_E_OUTSIDE ? SCR_OK : scr_err_take(err, rc, &why);
    }
    return rc;
}

static int take_records(struct landed *l, const int *node, size_t n,
                        struct scr_err *err)
{
    TRY(add_taken(l, err));
    for (size_t i = 0; i < n; i++)
        TRY(take_record(l, node[i], err));
    TRY(scr_move_sync(&l->m, err));
    TRY(remove_spent(l, err));
    for (size_t i = 0; i < l->files.n; i++)
        TRY(list_rank(l, l->files.of[i], err));
    return SCR_OK;
}

/* Without a list of files nothing is known of what landed: it is copied again. */
static int take_all(struct landed *l, const int *node, size_t n, struct scr_err *err)
{
    const struct scr_move *m = &l->m;
    l->dset = scr_hash_new();
    TRY(l->dset ? scr_arrival_give_up(m->env, m->p, m->id, err) : scr_no_memory(err));
    TRY(read_dset(l, err));
    if (scr_hash_size(l->dset) > 0)
        TRY(read_list(l, err));
    if (l->files.n > 0)
        TRY(take_records(l, node, n, err));
    for (size_t i = 0; i < n && l->passed == 0; i++)
        TRY(scr_arrival_forget(m->env, m->p, m->id, node[i], err));
    return SCR_OK;
}

int scr_stage_take_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                          uint64_t *n, struct scr_err *err)
{
    struct landed l = { .taken = SCR_TABLE_OF(struct scr_item),
                        .real = SCR_REALDIR_OF(env, p),
                        .spent = SCR_TABLE_OF(struct scr_item) };
    int *node = NULL;
    size_t nnodes = 0;
    int rc;
    TRY_OUT(scr_move_init(&l.m, env, p, id, err));
    TRY_OUT(scr_arrival_nodes(env, p, id, &node, &nnodes, err));
    /* A plan without records may still become one: nothing had landed. */
    TRY_OUT(nnodes > 0 ? take_all(&l, node, nnodes, err)
                       : scr_arrival_give_up(env, p, id, err));
out:
    *n = l.n;
    free(node);
    scr_rank2file_fini(&l.files);
    scr_realdir_fini(&l.real);
    scr_table_fini(&l.taken);
    scr_hash_delete(l.dset);
    scr_table_fini(&l.spent);
    scr_move_fini(&l.m);
    return rc;
}
