/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that several ranks write. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "core/ctx.h"
#include "core/layout.h"
#include "core/shared.h"
#include "ec/ec.h"
#include "par/pfs/owners.h"
#include "xfer/copy.h"

/* --- where each rank has its own directory --- */

/* The fault of a file, called by `name`, and what to do about it. */
static int refuse_file(const struct scr_store *store, const char *name,
                       const char *more, const char *ranks, struct scr_err *err)
{
    return scr_fail(err, SCR_E_EXIST, 0,
                    "%s%s: written by several ranks (%s), but the store %s (%s) keeps "
                    "the files of each rank apart: set SCR_CACHE_BYPASS=1 or use a "
                    "STORE with GROUP=WORLD",
                    name, more, ranks, store->path, store->origin);
}

/* Every rank has a separate file there, and none of them is the right one. */
static int refuse(const struct scr_ctx *ctx, struct scr_err *err)
{
    const struct scr_table *shared = &ctx->out.shared;
    const struct scr_shared *f = (const struct scr_shared *)shared->first;
    if (f == NULL)
        return SCR_OK;
    return refuse_file(&ctx->descs.store[ctx->out.red->store], f->item.name,
                       shared->n > 1 ? " and further files" : "", f->ranks, err);
}

/* 1 if files of several ranks have one place in the open dataset. */
static int holds_shared(const struct scr_ctx *ctx)
{
    return ctx->out.bypass ||
           scr_store_is_shared(&ctx->descs.store[ctx->out.red->store]);
}

/* --- complete --- */

int scr_output_is_mine(const struct scr_ctx *ctx, const char *dest)
{
    const struct scr_shared *f = scr_table_find(&ctx->out.shared, dest);
    return f == NULL || f->owner == ctx->world.rank;
}

/* If the store cannot hold a file of several ranks, each of them finds another error in
 * its own copy: only the cause must be reported. */
static int look_for_cause_all(struct scr_ctx *ctx, int rc, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_owners q = { .dests = &ctx->out.routed, .shared = &ctx->out.shared };
    int looked = scr_owners_find_all(&ctx->world, &q, SCR_OK, &why);
    if (looked != SCR_OK || !q.any)
        return rc;
    rc = scr_agree_all(&ctx->world, refuse(ctx, &why), &why);
    if (err != NULL)
        *err = why;
    return rc;
}

int scr_settle_owners_all(struct scr_ctx *ctx, uint64_t *totals, size_t ntotals, int rc,
                          struct scr_err *err)
{
    struct scr_output *out = &ctx->out;
    struct scr_owners q = { &out->routed, totals, ntotals, &out->shared, 0 };
    rc = scr_owners_find_all(&ctx->world, &q, rc, err);
    out->has_shared = q.any;
    if (holds_shared(ctx))
        return rc;
    if (rc != SCR_OK)
        return look_for_cause_all(ctx, rc, err);
    return q.any ? scr_agree_all(&ctx->world, refuse(ctx, err), err) : rc;
}

/* --- files that MPI opens. Other threads may begin or end a phase meanwhile: whether
 * the ranks are asked, and what each answers, depends on the path, the communicator and
 * what has not changed since SCR_Init --- */

/* MPI libraries know paths with the kind of the file system before them, as
 * "ufs:/dir/file". */
static const char *without_kind(const char *path)
{
    size_t kind = strcspn(path, ":/");
    return path + (path[kind] == ':' ? kind + 1 : 0);
}

/* The destination that path was given for, NULL: none of this rank. */
static const char *dest_of(const struct scr_output *out, const char *path)
{
    for (SCR_EACH(struct scr_routed, r, &out->routed))
        if (strcmp(r->path, path) == 0)
            return r->item.name;
    return NULL;
}

/* The place where other ranks may have other paths for the same name: number of the
 * store that keeps the files of each rank apart. If a dataset bypasses the cache, some
 * ranks may write next to the file of an older dataset and others in its place, if the
 * older one changes at the same time: the number of stores. -1: in no such place. */
static int place_of(const struct scr_ctx *ctx, const char *path)
{
    for (int i = 0; i < ctx->descs.nstores; i++)
        if (ctx->cache.dirs != NULL && scr_path_rest(ctx->cache.dirs[i], path) &&
            !scr_store_is_shared(&ctx->descs.store[i]))
            return i;
    return strstr(path, "/" SCR_COPY_TMP) != NULL ? ctx->descs.nstores : -1;
}

/* Not so where other programs, which do not ask, were connected to. MPI libraries
 * compare each process of one with each of the other. */
static int has_no_strangers(const struct scr_ctx *ctx, MPI_Comm comm)
{
    MPI_Group all, some, strangers;
    int n = -1, is = MPI_UNEQUAL;
    MPI_Comm_compare(ctx->world.comm, comm, &is); /* the usual case costs little */
    if (is != MPI_UNEQUAL)
        return 1;
    MPI_Comm_group(ctx->world.comm, &all);
    MPI_Comm_group(comm, &some);
    MPI_Group_difference(some, all, &strangers);
    MPI_Group_size(strangers, &n);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    if (strangers != MPI_GROUP_EMPTY)
        MPI_Group_free(&strangers);
    return n == 0;
}

/* Noted with the communicator, as programs open many files with one; a duplicate has
 * the note, too. */
static int is_of_this_run(const struct scr_ctx *ctx, MPI_Comm comm)
{
    void *known = NULL, *yes = ctx->cfg, *no = NULL; /* nothing but marks */
    int found = 0;
    if (ctx->open_key == MPI_KEYVAL_INVALID)
        return has_no_strangers(ctx, comm);
    MPI_Comm_get_attr(comm, ctx->open_key, &known, &found);
    if (found)
        return known == yes;
    int is = has_no_strangers(ctx, comm);
    MPI_Comm_set_attr(comm, ctx->open_key, is ? yes : no);
    return is;
}

/* Several ranks, that all ask. */
static int is_asked_all(const struct scr_ctx *ctx, MPI_Comm comm, struct scr_comm *c)
{
    int inter = 1;
    *c = (struct scr_comm){ .comm = comm };
    if (comm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    return !inter && c->size > 1 && is_of_this_run(ctx, comm);
}

/* 0: no dataset is written, or it is being completed. */
static int written_now(struct scr_ctx *ctx)
{
    (void)pthread_mutex_lock(&ctx->opens);
    int id = ctx->opens_id;
    (void)pthread_mutex_unlock(&ctx->opens);
    return id;
}

/* id: the dataset that was written when the ranks asked each other; it may have ended,
 * and the next one have begun, since then. */
static int refuse_open(struct scr_ctx *ctx, int id, int place, int nranks,
                       const char *path, struct scr_err *err)
{
    char ranks[32];
    snprintf(ranks, sizeof ranks, "%d in MPI_File_open", nranks);
    (void)pthread_mutex_lock(&ctx->opens);
    int counts = id > 0 && id == ctx->opens_id;
    const char *dest = counts ? dest_of(&ctx->out, path) : NULL;
    const char *name = dest != NULL ? dest : path;
    int rc = place == ctx->descs.nstores
                 ? scr_bypass_refuse_paths(name, err)
                 : refuse_file(&ctx->descs.store[place], name, "", ranks, err);
    if (counts && ctx->out.refused.code == SCR_OK)
        ctx->out.refused = *err;
    (void)pthread_mutex_unlock(&ctx->opens);
    return rc;
}

/* Ranks with one path, of one of them, do not need this: MPI then decides whether they
 * can all open it. In a restart each may read what it has. */
int scr_check_open_all(struct scr_ctx *ctx, MPI_Comm comm, const char *path,
                       struct scr_err *err)
{
    struct scr_comm c;
    if (!is_asked_all(ctx, comm, &c))
        return SCR_OK;
    const char *text = without_kind(path != NULL ? path : "");
    int64_t crc = scr_crc32(0, text, strlen(text));
    int place = place_of(ctx, text), writes = ctx->state == SCR_STATE_OUTPUT;
    int id = written_now(ctx);
    int64_t least[] = { -place, crc, -crc, -writes };
    scr_mins_all(&c, least, 4);
    if (least[0] > 0 || least[1] == -least[2] || least[3] == 0)
        return SCR_OK;
    return refuse_open(ctx, id, (int)-least[0], c.size, text, err);
}

/* --- restart --- */

/* Those of all ranks, in bytes: "<destination>\0<path>\0" of each. */
static int enter_shared(struct scr_restart *r, const struct scr_str *bytes)
{
    const char *dest = NULL;
    for (SCR_TEXTS(text, bytes)) {
        if (dest == NULL) {
            dest = text;
            continue;
        }
        if (scr_table_find(&r->by_dest, dest) == NULL) {
            if (scr_restart_add(r, dest, text) != SCR_OK)
                return SCR_E_NOMEM;
            struct scr_readable *f = scr_table_find(&r->by_dest, dest);
            f->is_others = 1;
        }
        dest = NULL;
    }
    return SCR_OK;
}

int scr_spread_shared_all(struct scr_ctx *ctx, const struct scr_table *shared, int rc,
                          struct scr_err *err)
{
    struct scr_str mine = SCR_STR_INIT, all = SCR_STR_INIT;
    struct scr_vote v = { .sum = { shared->n } };
    rc = scr_vote_all(&ctx->world, rc, &v, err);
    if (rc != SCR_OK || v.sum[0] == 0)
        return rc;
    for (SCR_EACH(struct scr_readable, f, shared)) {
        scr_str_append_n(&mine, f->item.name, strlen(f->item.name) + 1);
        scr_str_append_n(&mine, f->path, strlen(f->path) + 1);
    }
    rc = scr_bytes_share_all(&ctx->world, rc, &mine, &all, err);
    if (rc == SCR_OK) {
        if ((rc = enter_shared(&ctx->restart, &all)) != SCR_OK)
            scr_fail(err, rc, 0, "files of several ranks");
        rc = scr_agree_all(&ctx->world, rc, err);
    }
    scr_str_free(&mine);
    scr_str_free(&all);
    return rc;
}

int scr_bypass_refuse_paths(const char *name, struct scr_err *err)
{
    return scr_fail(err, SCR_E_MISMATCH, 0,
                    "%s: written to two paths, as an older dataset that has the file "
                    "was changed during the output; write it again",
                    name);
}
