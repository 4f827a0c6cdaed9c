/* SPDX-License-Identifier: BSD-3-Clause */
/* What other prefix directories have in the caches of this job: it keeps its place
 * while there is room for the next dataset beside it, then the oldest leaves (invariant
 * C14). What a run uses stays. In a store that nodes share everything stays: a run that
 * uses it may be on other nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "core/ctx.h"
#include "store/identity.h"

enum {
    MOST = 64,           /* that leave at once */
    MAX_RECORD = 1 << 16 /* bytes of a path */
};

/* --- what there is on this node --- */

/* Their directories in the job's below a store, as names. */
static int list(const struct scr_ctx *ctx, const struct scr_store *store, char ***names,
                size_t *n, char **job)
{
    struct scr_place place = ctx->place;
    place.prefix = NULL;
    *names = NULL;
    *n = 0;
    *job = scr_place_dir(&place, store->path, 1);
    return *job != NULL && scr_dir_list(ctx->env.sys, *job, names, n, NULL) == SCR_OK;
}

static int is_other(const struct scr_ctx *ctx, const char *name)
{
    return scr_identity_is_name(name) && strcmp(name, ctx->prefix_name) != 0;
}

static char *dir_of(const struct scr_ctx *ctx, const struct scr_store *store,
                    const char *name)
{
    struct scr_place place = ctx->place;
    place.prefix = name;
    return scr_place_dir(&place, store->path, 1);
}

/* 0 if it is not there; nanoseconds. */
static int64_t time_of(const struct scr_ctx *ctx, const char *dir)
{
    struct stat st;
    if (scr_file_stat(ctx->env.sys, dir, &st, NULL) != SCR_OK)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* The one that was used longest ago, but after that; malloc'd, NULL: none. */
static char *oldest(const struct scr_ctx *ctx, const struct scr_store *store,
                    int64_t after, int64_t *when)
{
    char **names = NULL, *job = NULL, *found = NULL;
    size_t n = 0;
    *when = INT64_MAX;
    (void)list(ctx, store, &names, &n, &job);
    for (size_t i = 0; i < n; i++) {
        char *dir = is_other(ctx, names[i]) ? scr_path_join(job, names[i]) : NULL;
        int64_t at = dir ? time_of(ctx, dir) : 0;
        free(dir);
        if (at <= after || at >= *when)
            continue;
        *when = at;
        free(found);
        found = scr_strdup(names[i]);
    }
    if (found == NULL)
        *when = INT64_MAX;
    scr_names_free(names, n);
    free(job);
    return found;
}

/* --- room --- */

static uint64_t bytes_in(const scr_filemap *map)
{
    uint64_t sum = 0;
    for (scr_hash_elem *d = scr_filemap_first_dataset(map); d;
         d = scr_hash_elem_next(d)) {
        int id = scr_hash_elem_key_int(d);
        for (scr_hash_elem *r = scr_filemap_first_rank_by_dataset(map, id); r;
             r = scr_hash_elem_next(r)) {
            int rank = scr_hash_elem_key_int(r);
            for (scr_hash_elem *f = scr_filemap_first_file(map, id, rank); f;
                 f = scr_hash_elem_next(f)) {
                uint64_t size = 0;
                (void)scr_meta_get_filesize(
                    scr_filemap_get_meta(map, id, rank, scr_hash_elem_key(f)), &size);
                sum += size;
            }
        }
    }
    return sum;
}

/* What the filemaps of one say that it has on this node. */
static uint64_t bytes_of(const struct scr_ctx *ctx, const char *name)
{
    const struct scr_env env = { .sys = ctx->env.sys };
    struct scr_cntl cntl;
    uint64_t sum = 0;
    char *dir = dir_of(ctx, &ctx->descs.store[ctx->descs.cntl_store], name);
    scr_filemap *map = scr_filemap_new();
    if (dir && map && scr_cntl_open(&env, dir, 0, &cntl, NULL) == SCR_OK) {
        if (scr_cntl_read_node(&env, &cntl, map, NULL) == SCR_OK)
            sum = bytes_in(map);
        scr_cntl_close(&env, &cntl);
    }
    scr_filemap_delete(map);
    free(dir);
    return sum;
}

static uint64_t bytes_of_all_of_them(const struct scr_ctx *ctx,
                                     const struct scr_store *store)
{
    char **names = NULL, *job = NULL;
    size_t n = 0;
    uint64_t sum = 0;
    (void)list(ctx, store, &names, &n, &job);
    for (size_t i = 0; i < n; i++)
        sum += is_other(ctx, names[i]) ? bytes_of(ctx, names[i]) : 0;
    scr_names_free(names, n);
    free(job);
    return sum;
}

/* How large the first dataset will be nobody knows: as much as they have. */
static int is_narrow_all(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_cache_newest_ckpt(ctx, 0) > 0)
        return !scr_space_for_next_all(ctx, red, &why);
    const struct scr_store *store = &ctx->descs.store[red->store];
    int narrow = ctx->node.rank == 0 &&
                 scr_space_left(ctx, red) < bytes_of_all_of_them(ctx, store);
    return scr_or_all(&ctx->world, narrow);
}

/* --- leaving --- */

static int is_there(const struct scr_ctx *ctx, const struct scr_store *store,
                    const char *name)
{
    char *dir = dir_of(ctx, store, name);
    int there = dir == NULL || time_of(ctx, dir) > 0;
    free(dir);
    return there;
}

/* Its lock, so that no run of it begins meanwhile. 1: it may leave this node, or is not
 * there. */
static int hold(const struct scr_ctx *ctx, const struct scr_store *in, const char *name,
                struct scr_lock *lock)
{
    const struct scr_store *store = &ctx->descs.store[ctx->descs.cntl_store];
    struct scr_place place = ctx->place;
    if (!is_there(ctx, in, name) && !is_there(ctx, store, name))
        return 1;
    place.prefix = name;
    char *dir = dir_of(ctx, store, name);
    char *path = dir ? scr_path_join(dir, SCR_CNTL_JOB_LOCK) : NULL;
    int may = path != NULL &&
              scr_place_make(&ctx->env, &place, store->path, 1, NULL) == SCR_OK &&
              scr_lock_acquire(ctx->env.sys, path, 0, lock, NULL) == SCR_OK;
    free(path);
    free(dir);
    return may;
}

/* scr_place_make: what is not ours alone is not removed either (invariant D4). */
static int remove_it(const struct scr_ctx *ctx, const struct scr_store *store,
                     const char *name)
{
    struct scr_place place = ctx->place;
    place.prefix = name;
    char *dir = dir_of(ctx, store, name);
    int gone = dir != NULL &&
               scr_place_make(&ctx->env, &place, store->path, 1, NULL) == SCR_OK &&
               scr_dir_remove(ctx->env.sys, dir, NULL) == SCR_OK;
    free(dir);
    return gone;
}

/* Where its prefix directory is, as it was when it was used last; malloc'd. */
static char *path_of(const struct scr_ctx *ctx, const char *name)
{
    void *text = NULL;
    size_t n = 0;
    char *dir = dir_of(ctx, &ctx->descs.store[ctx->descs.cntl_store], name);
    char *record = dir ? scr_path_join(dir, SCR_CNTL_JOB_PREFIX) : NULL;
    if (record)
        (void)scr_file_load(ctx->env.sys, record, MAX_RECORD, &text, &n, NULL);
    free(record);
    free(dir);
    return text;
}

/* From all nodes, or, if a run uses it on one, from none. */
static int drop_all(const struct scr_ctx *ctx, const struct scr_store *store,
                    const char *name)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int first = ctx->node.rank == 0;
    int gone = scr_and_all(&ctx->world, !first || hold(ctx, store, name, &lock));
    if (gone)
        gone = lock.fd >= 0 && remove_it(ctx, store, name);
    scr_lock_release(ctx->env.sys, &lock);
    return scr_or_all(&ctx->world, gone);
}

/* The oldest that any node has after that one, on all ranks: its name and its path in
 * one text, malloc'd. NULL: none. */
static char *next_all(const struct scr_ctx *ctx, const struct scr_store *store,
                      int64_t *after)
{
    int64_t when = INT64_MAX;
    char *name = ctx->node.rank == 0 ? oldest(ctx, store, *after, &when) : NULL;
    char *path = name ? path_of(ctx, name) : NULL, *text = NULL;
    *after = scr_min_all(&ctx->world, when);
    int mine = *after == when && name != NULL;
    int root = (int)scr_min_all(&ctx->world, mine ? ctx->world.rank : ctx->world.size);
    if (ctx->world.rank == root)
        text = scr_asprintf("%s %s", name, path ? path : "");
    free(path);
    free(name);
    if (root == ctx->world.size ||
        scr_bcast_str_all(&ctx->world, root, &text, NULL) != SCR_OK) {
        free(text);
        return NULL;
    }
    return text;
}

static void tell(const struct scr_ctx *ctx, int gone, const char *path)
{
    const char *what = *path ? path : "another prefix directory";
    if (gone == 1)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what %s had in cache left to make room: its next run goes on from "
                "what was flushed",
                what);
    else if (gone > 1)
        scr_log(&ctx->log, SCR_LOG_WARN,
                "what %s and %d other prefix directories had in cache left to make "
                "room: their next runs go on from what was flushed",
                what, gone - 1);
}

void scr_neighbours_give_way_all(const struct scr_ctx *ctx,
                                 const struct scr_reddesc *red)
{
    const struct scr_store *store = &ctx->descs.store[red->store];
    int64_t after = 0;
    int gone = 0;
    char *first = NULL, *text = NULL;
    if (strcmp(store->group, "NODE") != 0)
        return;
    char *any = ctx->node.rank == 0 ? oldest(ctx, store, 0, &after) : NULL;
    int there = scr_or_all(&ctx->world, any != NULL);
    free(any);
    after = 0;
    for (int i = 0; there && i < MOST && is_narrow_all(ctx, red); i++) {
        if ((text = next_all(ctx, store, &after)) == NULL)
            break;
        char *path = strchr(text, ' ');
        *path++ = '\0';
        int left = drop_all(ctx, store, text);
        if (left && first == NULL)
            first = scr_strdup(path);
        gone += left;
        free(text);
    }
    tell(ctx, gone, first ? first : "");
    free(first);
}
