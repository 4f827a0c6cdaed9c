/* SPDX-License-Identifier: BSD-3-Clause */
/* Says at Init which ranks a redundancy descriptor protects less than it was asked to.
 */
#include "core/weaken.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "ec/ec.h"

struct weaken {
    const struct scr_ctx *ctx;
    const struct scr_reddesc *red;
    const struct scr_set *set;
    const struct scr_comm *group;
    const char *scheme;
    int ranks;        /* of the job */
    int largest;      /* ranks of the largest group */
    int least;        /* members of the smallest set that has a parity, if any */
    int failures;     /* the scheme shall survive in a set */
    int64_t alone;    /* ranks without a partner */
    int64_t fewer[2]; /* ranks in sets of least and least + 1 that survive fewer */
};

/* Whether this rank's set, of n members, cannot survive as many as asked for. */
static int is_fewer(const struct weaken *w, int n)
{
    return w->set->n == n && n - 1 < w->failures;
}

/* Where no set has two members nothing is counted. */
static void count_all(struct weaken *w)
{
    const struct scr_comm *world = &w->ctx->world;
    w->alone = w->ranks;
    if (w->least > w->ranks)
        return;
    uint64_t ranks[] = { w->set->n == 1, (uint64_t)is_fewer(w, w->least),
                         (uint64_t)is_fewer(w, w->least + 1) };
    scr_sums_all(world, ranks, 3);
    w->alone = (int64_t)ranks[0];
    w->fewer[0] = (int64_t)ranks[1];
    w->fewer[1] = (int64_t)ranks[2];
}

/* A dataset that goes straight to the prefix is in no set. */
static int needs_sets(const struct scr_reddesc *red)
{
    return red->enabled && red->scheme != SCR_SCHEME_SINGLE && !red->bypass;
}

/* --- ranks without a partner --- */

/* The descriptors of one group need not all say that it is the only one. */
static int is_first_of_group(const struct scr_ctx *ctx, const struct scr_reddesc *red)
{
    for (const struct scr_reddesc *r = ctx->descs.red; r < red; r++)
        if (needs_sets(r) && strcmp(r->group, red->group) == 0)
            return 0;
    return 1;
}

/* Without partners are ranks of the largest group: it is more than half of the job. */
static int say_alone_all(const struct weaken *w, const char *value, struct scr_err *err)
{
    const struct scr_comm *world = &w->ctx->world;
    int is_largest = w->group->size == w->largest;
    char *name = is_largest ? scr_strdup(value) : NULL;
    int rc;
    TRY_OUT(scr_agree_all(world, scr_first_str_all(world, &name, err), err));
    scr_log(&w->ctx->log, SCR_LOG_WARN,
            "%s: %s group %s has %d of the %d ranks: %s finds no partner in "
            "another group for %lld of them, whose files are cached as SINGLE and "
            "do not survive its loss",
            w->red->origin, w->red->group, name ? name : "?", w->largest, w->ranks,
            w->scheme, (long long)w->alone);
out:
    free(name);
    return rc;
}

static int report_alone_all(const struct weaken *w, const char *value,
                            struct scr_err *err)
{
    if (w->alone == 0)
        return SCR_OK;
    if (w->largest == w->ranks) {
        if (is_first_of_group(w->ctx, w->red))
            scr_log(
                &w->ctx->log, SCR_LOG_WARN,
                "all ranks are in one %s group: no redundancy scheme can protect "
                "them, checkpoints are cached as SINGLE and do not survive its loss",
                w->red->group);
        return SCR_OK;
    }
    if (w->alone < w->ranks)
        return say_alone_all(w, value, err);
    scr_log(&w->ctx->log, SCR_LOG_WARN,
            "%s: SET_SIZE=%d leaves every rank alone: %s cannot protect them, "
            "checkpoints are cached as SINGLE and do not survive the loss of a %s "
            "group",
            w->red->origin, w->red->set_size, w->scheme, w->red->group);
    return SCR_OK;
}

/* --- sets smaller than asked for --- */

static void report_fewer_all(const struct weaken *w)
{
    if (w->fewer[0] == 0)
        return;
    int groups = (int)scr_sum_all(&w->ctx->world, w->group->rank == 0);
    char *more = NULL;
    if (w->fewer[1] > 0)
        more = scr_asprintf(", to %d for %lld in sets of %d", w->least,
                            (long long)w->fewer[1], w->least + 1);
    scr_log(&w->ctx->log, SCR_LOG_WARN,
            "%s: %s with SET_FAILURES=%d is reduced to %d for %lld of %d ranks in sets "
            "of %d%s (SET_SIZE=%d; %d %s group%s of at most %d rank%s)",
            w->red->origin, w->scheme, w->failures, w->least - 1,
            (long long)w->fewer[0], w->ranks, w->least, more ? more : "",
            w->red->set_size, groups, w->red->group, scr_plural(groups), w->largest,
            scr_plural(w->largest));
    free(more);
}

/* Only a job too large for one set is kept from a SET_SIZE that no set can have. */
static void report_size(const struct weaken *w)
{
    int size = w->red->set_size;
    int without = w->ranks / size > w->largest ? w->ranks / size : w->largest;
    if (size > SCR_EC_MAX && scr_set_count(w->ranks, w->largest, size) > without)
        scr_log(&w->ctx->log, SCR_LOG_WARN,
                "%s: SET_SIZE=%d: a set has at most %d ranks", w->red->origin, size,
                SCR_EC_MAX);
}

int scr_weaken_report_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                          const struct scr_set *set, const struct scr_cut *cut,
                          const char *value, struct scr_err *err)
{
    struct weaken w = { .ctx = ctx,
                        .red = red,
                        .set = set,
                        .group = cut->group,
                        .largest = cut->largest,
                        .least = cut->least };
    if (!needs_sets(red))
        return SCR_OK;
    w.scheme = scr_scheme_name(red->scheme);
    w.ranks = ctx->world.size;
    w.failures = red->scheme == SCR_SCHEME_XOR ? 1 : red->set_failures;
    if (cut->has_alone || cut->least - 1 < w.failures)
        count_all(&w);
    report_size(&w);
    report_fewer_all(&w);
    return report_alone_all(&w, value, err);
}

/* --- nodes without a group --- */

int scr_weaken_ungrouped_all(const struct scr_ctx *ctx, const struct scr_reddesc *red,
                             int first, int is_mine, struct scr_err *err)
{
    const struct scr_comm *world = &ctx->world;
    if (first == world->size || !needs_sets(red) || !is_first_of_group(ctx, red))
        return SCR_OK;
    char *host = world->rank == first ? scr_strdup(ctx->node_name) : NULL;
    uint64_t hosts = scr_sum_all(world, is_mine && ctx->node.rank == 0);
    int rc;
    TRY_OUT(scr_agree_all(world, scr_bcast_str_all(world, first, &host, err), err));
    scr_log(&ctx->log, SCR_LOG_WARN,
            "%s: group %s has no GROUPS line for host %s (%llu of %d hosts have none): "
            "each counts as a group by itself, and if several fail together, "
            "checkpoints in cache may be lost",
            red->origin, red->group, host ? host : "?", (unsigned long long)hosts,
            ctx->nodes);
out:
    free(host);
    return rc;
}
