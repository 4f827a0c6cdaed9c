/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits of the index that all ranks agree on, and checks of what a call was given. */
#include <string.h>

#include "core/ctx.h"
#include "core/edits.h"

int scr_edit_index_all(struct scr_ctx *ctx, scr_index_edit edit, void *arg,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    if (ctx->world.rank == 0)
        rc = scr_prefix_index_update(&ctx->env, &ctx->prefix, edit, arg, err);
    return scr_agree_all(&ctx->world, rc, err);
}

int scr_check_name(const char *call, const char *text, int optional,
                   struct scr_err *err)
{
    size_t n = text ? strlen(text) : 0;
    if (text == NULL && !optional)
        return scr_fail(err, SCR_E_ARG, 0, "%s: the name is NULL", call);
    if (text && n == 0)
        return scr_fail(err, SCR_E_NAME, 0, "%s: the name is empty", call);
    if (n >= SCR_MAX_NAME)
        return scr_fail(err, SCR_E_NAME, 0,
                        "%s: the name has %zu characters, at most %d are allowed", call,
                        n, SCR_MAX_NAME - 1);
    return SCR_OK;
}

int scr_check_same(const char *call, const char *what, int64_t least,
                   int64_t least_negated, struct scr_err *err)
{
    if (least == -least_negated)
        return SCR_OK;
    return scr_fail(err, SCR_E_MISMATCH, 0, "%s: the %s between ranks", call, what);
}

int scr_check_name_all(const struct scr_ctx *ctx, const char *call, const char *text,
                       struct scr_err *err)
{
    int64_t mark = scr_text_mark(text);
    struct scr_vote v = { .least = { mark, -mark } };
    TRY(scr_vote_all(&ctx->world, scr_check_name(call, text, 0, err), &v, err));
    return scr_check_same(call, "name differs", v.least[0], v.least[1], err);
}

struct scr_prefix_dset scr_prefix_dset_of(const struct scr_ctx *ctx, int id)
{
    return (struct scr_prefix_dset){ &ctx->env, &ctx->world, &ctx->prefix, id };
}
