/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache that all nodes share (STORE with GROUP=WORLD).
 *
 * Several ranks may write one file, so a file is written where its destination alone
 * says: <dataset>/shared/<destination>. Complete_output knows whose it is and moves it,
 * by a rename, to that rank's directory; from there on it is a cached file like any
 * other. But control directories are lost with their nodes, and another rank may have
 * the records of a rank that moved. So each rank's entry of the filemap is also stored
 * with the files, as .scr/<rank>.scrfilemap, and a start uses that (invariant C6). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "core/shared.h"
#include "core/sharedstore.h"
#include "par/pfs/lists.h"
#include "store/dset_names.h"

/* --- route --- */

int scr_shared_place(struct scr_ctx *ctx, const char *dest, char **path,
                     struct scr_err *err)
{
    char *rel = scr_asprintf("shared/%s", dest);
    *path = rel ? scr_path_join(ctx->out.dset_dir, rel) : NULL;
    int rc =
        *path ? scr_dir_make_private_parent(ctx->env.sys, ctx->out.dset_dir, rel, err)
              : scr_no_memory(err);
    free(rel);
    return rc;
}

/* --- complete --- */

static int is_taken(void *arg, const char *rel)
{
    return scr_table_find(arg, rel) != NULL;
}

/* The new name is in the journal before the file has it (invariant C1). */
static int move_file(struct scr_ctx *ctx, const char *path, const char *rel,
                     const char *to, struct scr_err *err)
{
    const struct scr_output *out = &ctx->out;
    TRY(scr_dir_make_private_parent(ctx->env.sys, out->rank_dir, rel, err));
    TRY(scr_cntl_journal(&ctx->env, &ctx->cntl, out->id, ctx->world.rank, to, err));
    return scr_file_rename(ctx->env.sys, path, to, err);
}

static int enter_moved(struct scr_ctx *ctx, const char *path, const char *dest,
                       const char *to, struct scr_err *err)
{
    int id = ctx->out.id, me = ctx->world.rank;
    scr_filemap_set_meta(ctx->cache.map, id, me, to,
                         scr_filemap_get_meta(ctx->cache.map, id, me, path));
    scr_meta *meta = scr_filemap_get_meta(ctx->cache.map, id, me, to);
    if (scr_table_find(&ctx->out.shared, dest) != NULL)
        scr_meta_set_shared(meta);
    return meta != NULL && !meta->arena->lost ? SCR_OK : scr_no_memory(err);
}

static int take_file(struct scr_ctx *ctx, const char *dest, const char *path,
                     struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    int mine = scr_output_is_mine(ctx, dest), rc = SCR_OK;
    char *rel = mine ? scr_cache_name(dest, is_taken, &out->taken) : NULL;
    char *to = rel ? scr_path_join(out->rank_dir, rel) : NULL;
    if (mine && (to == NULL || scr_table_add(&out->taken, rel) == NULL))
        rc = scr_no_memory(err);
    if (rc == SCR_OK && mine)
        rc = move_file(ctx, path, rel, to, err);
    if (rc == SCR_OK && mine)
        rc = enter_moved(ctx, path, dest, to, err);
    if (rc == SCR_OK)
        scr_filemap_remove_file(ctx->cache.map, out->id, ctx->world.rank, path);
    free(to);
    free(rel);
    return rc;
}

int scr_shared_take_files(struct scr_ctx *ctx, struct scr_err *err)
{
    for (SCR_EACH(struct scr_routed, r, &ctx->out.routed))
        TRY(take_file(ctx, r->item.name, r->path, err));
    return SCR_OK;
}

static char *shared_dir(const struct scr_ctx *ctx)
{
    return scr_path_join(ctx->out.dset_dir, "shared");
}

/* Files of one directory mostly follow each other. */
void scr_shared_leave(struct scr_ctx *ctx)
{
    const char *last = "";
    char *all = shared_dir(ctx);
    for (SCR_EACH(struct scr_routed, r, &ctx->out.routed)) {
        if (scr_path_same_dir(last, r->item.name))
            continue;
        last = r->item.name;
        char *path = all ? scr_path_join(all, last) : NULL;
        char *dir = path ? scr_path_dir(path) : NULL;
        if (dir != NULL)
            (void)scr_dir_prune(ctx->env.sys, dir, all, NULL);
        free(dir);
        free(path);
    }
    free(all);
}

void scr_shared_tidy(struct scr_ctx *ctx)
{
    char *dir = shared_dir(ctx);
    if (dir != NULL && ctx->world.rank == 0)
        scr_dir_remove(ctx->env.sys, dir, NULL);
    free(dir);
}

/* --- the filemap stored with the files --- */

static char *copy_path(const char *cache, int id, int rank)
{
    char *name = scr_asprintf("filemap_%d.scrinfo", rank);
    char *path = name ? scr_cache_red_path(cache, id, name) : NULL;
    free(name);
    return path;
}

static int note_rank(struct scr_ctx *ctx, const char *path, int id, int rank,
                     struct scr_err *err)
{
    scr_filemap *one = scr_filemap_new();
    int rc = path && scr_filemap_copy_entry(one, ctx->cache.map, id, rank) == SCR_OK
                 ? scr_filemap_write(ctx->env.sys, path, one, SCR_VOLATILE, err)
                 : scr_no_memory(err);
    scr_filemap_delete(one);
    return rc;
}

int scr_shared_note(struct scr_ctx *ctx, const char *cache, int id, struct scr_err *err)
{
    char *path = copy_path(cache, id, ctx->world.rank);
    int rc = note_rank(ctx, path, id, ctx->world.rank, err);
    free(path);
    return rc;
}

static int forget_rank(struct scr_ctx *ctx, const char *cache, int id, int rank,
                       struct scr_err *err)
{
    char *path = copy_path(cache, id, rank);
    char *dir = path ? scr_cache_rank_dir(cache, id, rank) : NULL;
    int rc = dir ? scr_file_remove(ctx->env.sys, path, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        (void)scr_dir_prune(ctx->env.sys, dir, cache, NULL);
    free(dir);
    free(path);
    return rc;
}

int scr_shared_forget(struct scr_ctx *ctx, int id, struct scr_err *err)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (ctx->cache.dirs[i] != NULL && scr_store_is_shared(&ctx->descs.store[i]))
            for (SCR_ENTRIES(e, ctx->cache.map, id))
                TRY(forget_rank(ctx, ctx->cache.dirs[i], id, e->rank, err));
    return SCR_OK;
}

int scr_shared_read(const struct scr_ctx *ctx, const char *cache, int id, int rank,
                    scr_filemap *map)
{
    char *path = copy_path(cache, id, rank);
    int rc = path ? scr_filemap_read(ctx->env.sys, path, map, NULL) : SCR_E_NOMEM;
    free(path);
    return rc == SCR_OK;
}

/* --- start --- */

/* What a run that died began under this number, on a node that was not of the run which
 * then made the dataset of the store. Its files go, but for those of the same names;
 * one that cannot be removed goes with the dataset. */
static void drop_begun(struct scr_ctx *ctx, int id, int rank, const scr_filemap *store)
{
    struct scr_dataset was, is;
    scr_filemap *map = ctx->cache.map;
    if (scr_dataset_get(scr_filemap_get_dataset(map, id, rank), &was, NULL) != SCR_OK ||
        scr_dataset_get(scr_filemap_get_dataset(store, id, rank), &is, NULL) !=
            SCR_OK ||
        scr_dataset_is_same(&was, &is))
        return;
    for (SCR_FILES(f, map, id, rank)) {
        struct scr_err why = SCR_ERR_INIT;
        if (scr_filemap_get_meta(store, id, rank, f->item.name) == NULL &&
            scr_file_remove(ctx->env.sys, f->item.name, &why) != SCR_OK)
            scr_log(&ctx->local_log, SCR_LOG_WARN, "%s", why.text);
    }
    scr_filemap_remove_rank_by_dataset(map, id, rank);
}

/* The entry of a rank, unless a control directory had it. *changed: it came. */
static int adopt_rank(struct scr_ctx *ctx, const char *cache, int id, int rank,
                      int *changed, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const scr_hash *desc = scr_filemap_get_desc(ctx->cache.map, id, rank);
    if (scr_redplace_get(desc).store != NULL)
        return SCR_OK;
    char *path = copy_path(cache, id, rank);
    scr_filemap *one = scr_filemap_new();
    int rc;
    TRY_OUT(path && one ? SCR_OK : scr_no_memory(err));
    rc = scr_filemap_read(ctx->env.sys, path, one, &why);
    if (rc == SCR_OK) {
        drop_begun(ctx, id, rank, one);
        rc = scr_filemap_take(ctx->cache.map, one);
        *changed = 1;
    } else if (rc != SCR_E_NOMEM) {
        if (rc != SCR_E_NOENT)
            scr_log(&ctx->local_log, SCR_LOG_WARN, "%s", why.text);
        rc = SCR_OK; /* without it the redundancy of the dataset decides */
    }
    TRY_OUT(rc == SCR_OK ? rc : scr_no_memory(err));
out:
    scr_filemap_delete(one);
    free(path);
    return rc;
}

/* The rank in "filemap_<rank>.scrinfo"; -1: that is not what name is. */
static int rank_in(const char *name)
{
    static const char head[] = "filemap_";
    const char *end;
    if (strncmp(name, head, sizeof head - 1) != 0)
        return -1;
    int rank = scr_parse_front(name + sizeof head - 1, &end);
    return strcmp(end, ".scrinfo") == 0 ? rank : -1;
}

/* Uses the existing entries: the number of ranks in an entry may be any. */
static int adopt_listed(struct scr_ctx *ctx, const char *cache, int id, int *changed,
                        struct scr_err *err)
{
    const struct scr_comm *world = &ctx->world;
    char **names = NULL, *dir = scr_cache_red_path(cache, id, "");
    size_t n = 0;
    int rc;
    TRY_OUT(dir ? scr_dir_list(ctx->env.sys, dir, &names, &n, err)
                : scr_no_memory(err));
    for (size_t i = 0; i < n; i++) {
        int r = rank_in(names[i]);
        if (r >= world->size && r % world->size == world->rank)
            TRY_OUT(adopt_rank(ctx, cache, id, r, changed, err));
    }
out:
    scr_names_free(names, n);
    free(dir);
    return rc;
}

/* All ranks that list a directory with entries of all ranks take long: as far as the
 * number may be true, the entries that this rank takes are looked for by their names.
 */
static int adopt_more(struct scr_ctx *ctx, const char *cache, int id, int ranks,
                      int *changed, struct scr_err *err)
{
    enum { MOST = 1000 };
    const struct scr_comm *world = &ctx->world;
    if (ranks / world->size > MOST)
        return adopt_listed(ctx, cache, id, changed, err);
    for (int r = world->rank; r < ranks - world->size;) {
        r += world->size;
        TRY(adopt_rank(ctx, cache, id, r, changed, err));
    }
    return SCR_OK;
}

/* This rank's entry; of a dataset of more ranks also those of the ranks that are this
 * one modulo the number of ranks now. */
static int adopt(struct scr_ctx *ctx, const char *cache, int id, struct scr_err *err)
{
    int changed = 0;
    TRY(adopt_rank(ctx, cache, id, ctx->world.rank, &changed, err));
    const scr_hash *desc = scr_filemap_get_desc(ctx->cache.map, id, ctx->world.rank);
    int ranks = scr_redplace_get(desc).ranks;
    if (ranks > ctx->world.size)
        TRY(adopt_more(ctx, cache, id, ranks, &changed, err));
    return changed ? scr_cntl_write(&ctx->env, &ctx->cntl, ctx->cache.map, err)
                   : SCR_OK;
}

static int is_anothers(const struct scr_ctx *ctx, int rank)
{
    return rank % ctx->world.size != ctx->world.rank;
}

/* Another store has the files of that number: they are moved as those of any store. */
static int is_elsewhere(const struct scr_ctx *ctx, const char *cache, int id, int rank)
{
    for (SCR_FILES(f, ctx->cache.map, id, rank))
        return scr_path_rest(cache, f->item.name) == NULL;
    return 0;
}

/* Records kept here of files of other ranks, of which the store has none because the
 * job died before it wrote them. The files must not be moved: they would be copied to
 * where they are, and then released. */
static int note_others(struct scr_ctx *ctx, const char *cache, int id,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    for (int rank = -1;
         rc == SCR_OK && scr_filemap_next_rank(ctx->cache.map, id, &rank);) {
        if (!is_anothers(ctx, rank) || is_elsewhere(ctx, cache, id, rank) ||
            scr_filemap_num_files(ctx->cache.map, id, rank) == 0)
            continue;
        char *path = copy_path(cache, id, rank);
        if (path == NULL || !scr_file_is_there(ctx->env.sys, path))
            rc = note_rank(ctx, path, id, rank, err);
        free(path);
    }
    return rc;
}

/* Records kept here of files of other ranks: these take them from the store. */
static int hand_over(struct scr_ctx *ctx, const char *cache, int id,
                     struct scr_err *err)
{
    int dropped = 0;
    for (int rank = -1; scr_filemap_next_rank(ctx->cache.map, id, &rank);) {
        struct stat st;
        int goes = is_anothers(ctx, rank) && !is_elsewhere(ctx, cache, id, rank);
        char *path = goes ? copy_path(cache, id, rank) : NULL;
        if (path != NULL && scr_file_stat(ctx->env.sys, path, &st, NULL) == SCR_OK &&
            ++dropped)
            scr_filemap_remove_rank_by_dataset(ctx->cache.map, id, rank);
        free(path);
    }
    return dropped ? scr_cntl_write(&ctx->env, &ctx->cntl, ctx->cache.map, err)
                   : SCR_OK;
}

static int adopt_dataset_all(struct scr_ctx *ctx, const char *cache, int id,
                             struct scr_err *err)
{
    TRY(scr_agree_all(&ctx->world, note_others(ctx, cache, id, err), err));
    TRY(scr_agree_all(&ctx->world, adopt(ctx, cache, id, err), err));
    TRY(scr_agree_all(&ctx->world, hand_over(ctx, cache, id, err), err));
    /* Begun, and all that knew of it are gone. */
    int known = scr_filemap_num_ranks_by_dataset(ctx->cache.map, id) > 0;
    if (!scr_or_all(&ctx->world, known) && ctx->world.rank == 0)
        scr_cache_remove(&ctx->env, cache, id, NULL);
    return SCR_OK;
}

/* Of the datasets there, as rank 0 sees them. */
static int adopt_store_all(struct scr_ctx *ctx, const char *cache, int rc,
                           struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    if (rc == SCR_OK && ctx->world.rank == 0)
        rc = scr_dset_ids(&ctx->env, cache, &ids, &n, err);
    rc = scr_share_ids_all(&ctx->world, rc, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = adopt_dataset_all(ctx, cache, ids[i], err);
    free(ids);
    return rc;
}

int scr_shared_adopt_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (ctx->cache.dirs[i] != NULL && scr_store_is_shared(&ctx->descs.store[i]))
            rc = adopt_store_all(ctx, ctx->cache.dirs[i], rc, err);
    return rc;
}
