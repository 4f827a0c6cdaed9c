/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_PRESERVE_DIRECTORIES=0: every dataset in its own directory below the prefix,
 * scr.dataset.<id>/<name>, without the directories that the application named; ranks
 * that call files alike get one each in it. The path the application asks for is kept
 * as ASKED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/layout.h"
#include "par/pfs/owners.h"

struct dest {
    struct scr_item item; /* below the prefix */
    struct scr_file *of;
};

/* Names in the rank's directory are unique. */
static int choose_dests(const struct scr_ctx *ctx, int by_rank, struct scr_table *dests,
                        struct scr_err *err)
{
    int id = ctx->out.id, me = ctx->world.rank;
    size_t skip = strlen(ctx->out.rank_dir) + 1;
    scr_table_fini(dests);
    for (SCR_FILES(f, ctx->cache.map, id, me)) {
        const char *name = f->item.name + skip;
        char *dest = by_rank ? scr_asprintf("scr.dataset.%d/rank.%d/%s", id, me, name)
                             : scr_asprintf("scr.dataset.%d/%s", id, name);
        struct dest *d = dest != NULL ? scr_table_add(dests, dest) : NULL;
        free(dest);
        TRY(d ? SCR_OK : scr_no_memory(err));
        d->of = f;
    }
    return SCR_OK;
}

static int set_dest(const struct dest *d)
{
    scr_meta *meta = scr_file_meta(d->of);
    char *asked = scr_meta_dest(meta);
    if (asked != NULL) {
        scr_meta_set_text(meta, SCR_META_ASKED, asked);
        scr_meta_set_dest(meta, d->item.name);
    }
    int ok = asked != NULL && !meta->arena->lost;
    free(asked);
    return ok;
}

int scr_layout_all(struct scr_ctx *ctx, struct scr_err *err)
{
    struct scr_table dests = SCR_TABLE_OF(struct dest);
    struct scr_table alike = SCR_TABLE_OF(struct scr_shared);
    struct scr_owners q = { .dests = &dests, .shared = &alike };
    int rc = choose_dests(ctx, 0, &dests, err);
    rc = scr_owners_find_all(&ctx->world, &q, rc, err);
    if (rc == SCR_OK && q.any)
        rc = choose_dests(ctx, 1, &dests, err);
    for (SCR_EACH(struct dest, d, &dests))
        if (rc == SCR_OK && !set_dest(d))
            rc = scr_no_memory(err);
    scr_table_fini(&dests);
    scr_table_fini(&alike);
    return scr_agree_all(&ctx->world, rc, err);
}

/* A program seldom says why it could not write: a full file system is looked for. */
static int not_valid(const struct scr_ctx *ctx, struct scr_err *err)
{
    enum { NEARLY_NONE = 1 << 20 };
    const struct scr_output *out = &ctx->out;
    const char *dir = out->red == NULL || out->bypass
                          ? ctx->prefix.path
                          : ctx->cache.dirs[out->red->store];
    uint64_t left = dir != NULL ? scr_room_at(ctx->env.sys, &scr_memory_of_kernel, dir)
                                : NEARLY_NONE;
    char text[32];
    if (left >= NEARLY_NONE)
        return scr_fail(err, SCR_E_INVALID, 0, "the application passed valid=0");
    return scr_fail(err, SCR_E_INVALID, 0,
                    "the application passed valid=0; %s is full (%s left)", dir,
                    scr_format_size(left, text, sizeof text));
}

int scr_output_lacks(struct scr_ctx *ctx, const struct scr_err *why)
{
    (void)pthread_mutex_lock(&ctx->opens);
    int first = ctx->out.refused.code == SCR_OK;
    if (first)
        ctx->out.refused = *why;
    (void)pthread_mutex_unlock(&ctx->opens);
    return first;
}

void scr_output_heed_opens(struct scr_ctx *ctx, int id)
{
    (void)pthread_mutex_lock(&ctx->opens);
    ctx->opens_id = id;
    (void)pthread_mutex_unlock(&ctx->opens);
}

int scr_output_check(const struct scr_ctx *ctx, int valid, struct scr_err *err)
{
    char more[40] = "";
    if (ctx->out.more_refused > 0)
        snprintf(more, sizeof more, " and %d more", ctx->out.more_refused);
    if (ctx->out.refused.code != SCR_OK)
        return scr_fail(err, ctx->out.refused.code, 0, "the dataset lacks a file%s: %s",
                        more, ctx->out.refused.text);
    return valid ? SCR_OK : not_valid(ctx, err);
}

int scr_output_check_files(const struct scr_ctx *ctx, uint64_t files,
                           struct scr_err *err)
{
    if (files > 0 || !ctx->out.is_ckpt)
        return SCR_OK;
    return scr_fail(err, SCR_E_MISSING, 0,
                    "a checkpoint without any file: no rank called SCR_Route_file");
}
