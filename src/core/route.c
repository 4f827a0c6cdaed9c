/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Route_file: from a name under the prefix to the path to use now. Local. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "core/bypass.h"
#include "core/ctx.h"
#include "core/layout.h"
#include "core/others.h"
#include "core/route.h"
#include "core/sharedstore.h"

/* Copies a result into the caller's buffer; what does not fit is an error, never cut.
 */
static int give(size_t room, const char *path, char *file, struct scr_err *err)
{
    size_t n = strlen(path);
    if (n >= room)
        return scr_fail(
            err, SCR_E_NAME, 0,
            "SCR_Route_file: the path %.64s… has %zu characters, at most %zu fit; %s",
            path, n, room - 1,
            n < SCR_MAX_NAME ? "give it a buffer of SCR_MAX_FILENAME"
                             : "use shorter names or a shorter SCR_CACHE_BASE");
    memcpy(file, path, n + 1);
    return SCR_OK;
}

/* Path of full as seen from the prefix, by its given or its resolved name; NULL:
 * outside. */
static char *below_prefix(const struct scr_ctx *ctx, const char *full, int *outside)
{
    char *dest = scr_path_below(ctx->prefix.path, full, outside);
    if (dest == NULL && *outside)
        dest = scr_path_below(ctx->prefix_real, full, outside);
    return dest;
}

/* name as the application gave it -> path below the prefix, malloc'd. */
static int dest_of(const struct scr_ctx *ctx, const char *name, char **dest,
                   struct scr_err *err)
{
    char *cwd = NULL;
    struct scr_err why = SCR_ERR_INIT;
    int outside = 0;
    *dest = NULL;
    int rc = name[0] == '/' ? SCR_OK : scr_cwd(&cwd, &why);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Route_file: %s: %s", name, why.text);
    char *full = scr_path_join(cwd != NULL ? cwd : "/", name);
    if (full)
        *dest = below_prefix(ctx, full, &outside);
    if (outside)
        rc = scr_fail(err, SCR_E_OUTSIDE, 0,
                      "SCR_Route_file: %s is outside the prefix directory %s (%s)",
                      full, ctx->prefix.path,
                      scr_cfg_is_set(ctx->cfg, "SCR_PREFIX")
                          ? "relative names begin at the current directory"
                          : "set SCR_PREFIX");
    else if (*dest == NULL)
        rc = scr_no_memory(err);
    else if (strcmp(*dest, ".") == 0 || scr_prefix_is_own(*dest))
        rc = scr_fail(err, SCR_E_OUTSIDE, 0, "SCR_Route_file: %s is reserved for SCR",
                      full);
    free(full);
    free(cwd);
    return rc;
}

/* --- output phase --- */

/* The filemap has all names that are given away. */
static int name_is_taken(void *arg, const char *rel)
{
    const struct scr_ctx *ctx = arg;
    char *path = scr_path_join(ctx->out.rank_dir, rel);
    const struct scr_entry *e =
        scr_filemap_entry(ctx->cache.map, ctx->out.id, ctx->world.rank);
    int taken = path != NULL && e != NULL && scr_table_find(&e->files, path) != NULL;
    free(path);
    return taken;
}

/* A destination below the prefix, and the path to write to. */
struct place {
    const char *dest, *path;
};

/* The texts of at become the filemap's. */
static int record_meta(struct scr_ctx *ctx, const char *rel, const char *name,
                       struct place *at, struct scr_err *err)
{
    struct scr_entry *e =
        scr_filemap_add_rank(ctx->cache.map, ctx->out.id, ctx->world.rank);
    struct scr_file *f = e != NULL ? scr_table_add(&e->files, at->path) : NULL;
    if (f != NULL) {
        scr_meta *meta = scr_file_need_meta(f, &e->files);
        scr_meta_set_text(meta, SCR_META_FILE, rel);
        scr_meta_set_text(meta, SCR_META_TYPE, "FULL");
        scr_meta_set_number(meta, SCR_META_COMPLETE, 0);
        scr_meta_set_number(meta, SCR_META_RANK, ctx->world.rank);
        scr_meta_set_number(meta, SCR_META_RANKS, ctx->world.size);
        scr_meta_set_number(meta, SCR_META_DSET, ctx->out.id);
        scr_meta_set_text(meta, SCR_META_ORIG, name);
        scr_meta_set_dest(meta, at->dest);
        *at =
            (struct place){ scr_arena_share(&e->files.arena, at->dest), f->item.name };
    }
    return f != NULL && scr_table_ok(&e->files) ? SCR_OK : scr_no_memory(err);
}

/* Where a file of this rank alone is written: its name in the rank's directory. */
static int choose_place(struct scr_ctx *ctx, const char *dest, char **rel, char **path,
                        struct scr_err *err)
{
    *rel = scr_cache_name(dest, name_is_taken, ctx);
    *path = *rel ? scr_path_join(ctx->out.rank_dir, *rel) : NULL;
    TRY(*path ? SCR_OK : scr_no_memory(err));
    return scr_dir_make_private_parent(ctx->env.sys, ctx->out.rank_dir, *rel, err);
}

/* A name that is routed again gets the same path. The texts stay the caller's; one that
 * is NULL could not be had. */
static int note_routed(struct scr_ctx *ctx, const struct place *at, int waits,
                       struct scr_err *err)
{
    (void)pthread_mutex_lock(&ctx->opens);
    struct scr_routed *r = at->path ? scr_table_lend(&ctx->out.routed, at->dest) : NULL;
    if (r != NULL) {
        r->path = at->path;
        r->waits = waits;
    }
    (void)pthread_mutex_unlock(&ctx->opens);
    return r != NULL ? SCR_OK : scr_no_memory(err);
}

/* A destination seen for the first time: a place in cache, the journal, the map. */
static int register_file(struct scr_ctx *ctx, const char *name, const char *dest,
                         char *file, struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    char *rel = NULL, *path = NULL;
    int rc;
    TRY_OUT(scr_store_is_shared(&ctx->descs.store[out->red->store])
                ? scr_shared_place(ctx, dest, &path, err)
                : choose_place(ctx, dest, &rel, &path, err));
    TRY_OUT(give(ctx->room, path, file, err));
    TRY_OUT(
        scr_cntl_journal(&ctx->env, &ctx->cntl, out->id, ctx->world.rank, path, err));
    struct place kept = { dest, path };
    TRY_OUT(record_meta(ctx, rel ? rel : dest, name, &kept, err));
    TRY_OUT(note_routed(ctx, &kept, 0, err));
out:
    free(path);
    free(rel);
    return rc;
}

/* A file that bypasses the cache: the application writes it in its place. */
static int register_bypass(struct scr_ctx *ctx, const char *dest, char *file,
                           struct scr_err *err)
{
    char *path = NULL;
    int waits = 0;
    int rc;
    TRY_OUT(scr_bypass_place(ctx, dest, &path, &waits, err));
    TRY_OUT(give(ctx->room, path, file, err));
    struct scr_arena *kept = &ctx->out.routed.arena;
    struct place at = { scr_arena_text(kept, dest), scr_arena_text(kept, path) };
    TRY_OUT(note_routed(ctx, &at, waits, err));
out:
    free(path);
    return rc;
}

static int route_output(struct scr_ctx *ctx, const char *name, char *file,
                        struct scr_err *err)
{
    char *dest = NULL;
    int rc = dest_of(ctx, name, &dest, err);
    const struct scr_routed *known =
        rc == SCR_OK ? scr_table_find(&ctx->out.routed, dest) : NULL;
    if (known != NULL)
        rc = give(ctx->room, known->path, file, err);
    else if (rc == SCR_OK)
        rc = ctx->out.bypass ? register_bypass(ctx, dest, file, err)
                             : register_file(ctx, name, dest, file, err);
    free(dest);
    return rc;
}

/* --- restart phase --- */

static int is_readable(const struct scr_ctx *ctx, const char *path, struct scr_err *err)
{
    int fd;
    TRY(scr_open(ctx->env.sys, path, O_RDONLY, 0, &fd, err));
    return scr_close(ctx->env.sys, &fd, path, err);
}

/* By its path below the prefix, or by its base name: a file of this rank, else
 * another's. */
static int find_file(struct scr_ctx *ctx, int by_base, const char *name,
                     const char **path, struct scr_err *err)
{
    const struct scr_table *known =
        by_base ? &ctx->restart.by_name : &ctx->restart.by_dest;
    TRY(by_base ? scr_restart_enter_names(ctx, err) : SCR_OK);
    if (scr_table_find(known, name) == NULL)
        TRY(by_base ? scr_others_find_base(ctx, name, err)
                    : scr_others_find(ctx, name, err));
    return scr_readable_path(ctx, scr_table_find(known, name), path, err);
}

/* More names, or longer ones, cost more time than a hint is worth. */
enum { TRIED = 1000, LONGEST = 100 };

/* Of the files that this rank knows of. */
static const char *nearest_file(const struct scr_ctx *ctx, const char *name)
{
    const struct scr_restart *r = &ctx->restart;
    struct scr_nearest near = { name, NULL, 2 + (int)strlen(name) / 4 };
    int left = strlen(name) <= LONGEST ? TRIED : 0;
    for (SCR_EACH(struct scr_readable, f, &r->by_dest))
        if (left-- > 0)
            scr_nearest_try(&near, f->item.name);
    for (SCR_EACH(struct scr_listed, f, &r->catalog.files))
        if (left-- > 0)
            scr_nearest_try(&near, f->item.name);
    return near.best;
}

/* A file of this rank, or the first that it knows of; NULL: none, or the name is too
 * long for a line. */
static const char *any_file(const struct scr_ctx *ctx)
{
    const struct scr_restart *r = &ctx->restart;
    const struct scr_item *f =
        r->by_dest.first != NULL ? r->by_dest.first : r->catalog.files.first;
    return f != NULL && strlen(f->name) <= LONGEST ? f->name : NULL;
}

/* For the end of a message: a name that the program may have meant. */
static void add_hint(const struct scr_ctx *ctx, const char *name, char *hint, size_t n)
{
    const char *best = nearest_file(ctx, name);
    const char *any = best == NULL ? any_file(ctx) : NULL;
    hint[0] = '\0';
    if (best != NULL)
        snprintf(hint, n, " (did you mean %s?)", best);
    else if (any != NULL)
        snprintf(hint, n, " (it has %s, for example)", any);
}

/* name: as it was asked for; dest: that below the prefix, NULL: it is not there. */
static int no_such_file(const struct scr_ctx *ctx, const char *name, const char *dest,
                        struct scr_err *err)
{
    const struct scr_restart *r = &ctx->restart;
    char hint[SCR_MAX_NAME / 4];
    add_hint(ctx, dest != NULL ? dest : name, hint, sizeof hint);
    if (r->is_foreign)
        return scr_fail(err, SCR_E_NOENT, 0,
                        "SCR_Route_file: checkpoint %s, which %d rank%s wrote, has no "
                        "file %s%s",
                        r->name, r->share.ranks, scr_plural(r->share.ranks), name,
                        hint);
    /* All its files are known, or all of them are on this node. */
    if (r->catalog.prefix != NULL || ctx->nodes == 1)
        return scr_fail(err, SCR_E_NOENT, 0,
                        "SCR_Route_file: checkpoint %s has no file %s%s", r->name, name,
                        hint);
    return scr_fail(
        err, SCR_E_NOENT, 0,
        "SCR_Route_file: checkpoint %s has no file %s of rank %d or of "
        "another rank on its node%s; what a rank of another node wrote can be "
        "read with SCR_GLOBAL_RESTART=1",
        r->name, name, ctx->world.rank, hint);
}

static int route_restart(struct scr_ctx *ctx, const char *name, char *file,
                         struct scr_err *err)
{
    struct scr_err outside = SCR_ERR_INIT;
    const char *path = NULL;
    char *dest = NULL;
    (void)dest_of(ctx, name, &dest, &outside);
    int rc;
    /* path: "" if several files are called so, NULL if none is. The path below the
     * prefix (dest) comes first, of whichever rank it is: what has the base name only
     * may be another file. */
    TRY_OUT(dest != NULL ? find_file(ctx, 0, dest, &path, err) : SCR_OK);
    if (path == NULL && strchr(name, '/') == NULL)
        TRY_OUT(find_file(ctx, 1, name, &path, err));
    if (path != NULL && path[0] == '\0')
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "SCR_Route_file: several files of checkpoint %s are called %s; "
                      "give the path under the prefix",
                      ctx->restart.name, name);
    else if (path == NULL && outside.code != SCR_OK && strchr(name, '/') != NULL)
        rc = scr_err_take(err, outside.code, &outside);
    else if (path == NULL)
        rc = no_such_file(ctx, name, dest, err);
    else if ((rc = is_readable(ctx, path, err)) == SCR_OK)
        rc = give(ctx->room, path, file, err);
out:
    free(dest);
    return rc;
}

/* --- without SCR --- */

/* The application writes the file at its final place. */
static int route_off(struct scr_ctx *ctx, const char *name, char *file,
                     struct scr_err *err)
{
    enum { DIR_MODE = 0777 }; /* less the umask */
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_dir_make_parent(ctx->env.sys, name, DIR_MODE, &why);
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "SCR_Route_file: %s", why.text);
    return give(ctx->room, name, file, err);
}

static int check_arguments(const char *name, const char *file, struct scr_err *err)
{
    if (name == NULL || file == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "SCR_Route_file: the %s is NULL",
                        name == NULL ? "name" : "buffer for the path");
    if (name[0] == '\0')
        return scr_fail(err, SCR_E_NAME, 0, "SCR_Route_file: the name is empty");
    return SCR_OK;
}

int scr_route_outside(const char *name, char *file, size_t room, struct scr_err *err)
{
    TRY(check_arguments(name, file, err));
    return give(room, name, file, err);
}

static int route(struct scr_ctx *ctx, const char *name, char *file, struct scr_err *err)
{
    TRY(check_arguments(name, file, err));
    if (ctx->state == SCR_STATE_OUTPUT)
        return route_output(ctx, name, file, err);
    if (ctx->state == SCR_STATE_RESTART)
        return route_restart(ctx, name, file, err);
    if (ctx->state == SCR_STATE_OFF_OUTPUT)
        return route_off(ctx, name, file, err);
    return give(ctx->room, name, file, err);
}

/* Errors of a restart that say nothing about the checkpoint. */
static int is_of_request(int rc)
{
    return rc == SCR_E_OUTSIDE || rc == SCR_E_NOENT || rc == SCR_E_NAME ||
           rc == SCR_E_ARG || rc == SCR_E_NOMEM;
}

static void note_error(struct scr_restart *r, int rc)
{
    r->damaged |= rc != SCR_OK && !is_of_request(rc);
    if (r->refused == SCR_OK && is_of_request(rc))
        r->refused = rc;
}

int scr_route(struct scr_ctx *ctx, const char *name, char *file, struct scr_err *err)
{
    enum { TOLD = 5 }; /* failures of a rank that have a line each */
    struct scr_err mine = SCR_ERR_INIT;
    int rc = route(ctx, name, file, &mine);
    int writing = ctx->state == SCR_STATE_OUTPUT || ctx->state == SCR_STATE_OFF_OUTPUT;
    /* A program that overlooks the error must not get a dataset without this file; the
     * rest are counted for the message of the end. */
    if (rc != SCR_OK && writing && !scr_output_lacks(ctx, &mine))
        ctx->is_told = ++ctx->out.more_refused >= TOLD;
    if (ctx->state == SCR_STATE_RESTART)
        note_error(&ctx->restart, rc);
    if (rc != SCR_OK && err != NULL)
        *err = mine;
    return rc;
}
