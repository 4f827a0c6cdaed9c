/* SPDX-License-Identifier: BSD-3-Clause */
/* Which destinations several ranks have. */
#include "par/pfs/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "ec/ec.h"

/* Ways in which a path may name a rank: by its first numbers or its last ones, counting
 * ranks from 0 or from 1. */
enum { PLACES = 4, WAYS = 2 * 2 * PLACES };

/* Characters of a list of ranks in a message. */
enum { RANKS_SHOWN = 80 };

struct owners {
    const struct scr_comm *world;
    const struct scr_table *dests;
    struct scr_table *shared;
    int way; /* in which paths name ranks best */
};

/* --- numbers in a path --- */

struct numbers {
    size_t n; /* of all that are in the path */
    int64_t first[PLACES], last[PLACES];
};

/* Digits as a number; one too large for a rank stays too large. */
static int64_t read_number(const char **p)
{
    int64_t v = 0;
    for (; **p >= '0' && **p <= '9'; ++*p)
        if (v <= INT32_MAX)
            v = v * 10 + (**p - '0');
    return v;
}

static void find_numbers(const char *path, struct numbers *x)
{
    x->n = 0;
    for (const char *p = path; *p != '\0';) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        int64_t v = read_number(&p);
        if (x->n < PLACES)
            x->first[x->n] = v;
        x->last[x->n++ % PLACES] = v;
    }
}

/* The rank the path names in this way, -1: none. */
static int named_rank(const struct numbers *x, int way, int size)
{
    size_t place = (size_t)way % PLACES;
    int from_end = way / PLACES % 2, base = way / PLACES / 2;
    if (place >= x->n)
        return -1;
    int64_t v = from_end ? x->last[(x->n - 1 - place) % PLACES] : x->first[place];
    return v >= base && v - base < size ? (int)(v - base) : -1;
}

/* --- the reduction --- */

/* The sums over all ranks. Summed digests d and squares show whether all ranks have the
 * same paths: then size * sum(d * d) = sum(d) * sum(d). */
struct tally {
    uint64_t failed; /* ranks that had failed before */
    uint64_t digest, square;
    uint64_t nameless[WAYS]; /* ranks with paths that do not name them */
    uint64_t crossed[WAYS];  /* paths that name another rank */
    uint64_t total[SCR_OWNERS_TOTALS];
};

static void count_path(const struct owners *o, const char *path, struct tally *t)
{
    struct numbers x;
    find_numbers(path, &x);
    t->digest += scr_crc32(0, path, strlen(path)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int way = 0; way < WAYS; way++) {
        int rank = named_rank(&x, way, o->world->size);
        t->nameless[way] |= rank != o->world->rank;
        t->crossed[way] += rank >= 0 && rank != o->world->rank;
    }
}

static void count_all(const struct owners *o, uint64_t *totals, size_t ntotals, int rc,
                      struct tally *t)
{
    memset(t, 0, sizeof *t);
    t->failed = rc != SCR_OK;
    for (SCR_EACH(struct scr_item, e, o->dests))
        count_path(o, e->name, t);
    t->square = t->digest * t->digest;
    for (size_t i = 0; i < ntotals; i++)
        t->total[i] = totals[i];
    scr_sums_all(o->world, (uint64_t *)t, sizeof *t / sizeof(uint64_t));
    for (size_t i = 0; i < ntotals; i++)
        totals[i] = t->total[i];
}

/* Chooses o->way; 1 if no two ranks can have the same path. */
static int is_disjoint(struct owners *o, const struct tally *t)
{
    for (int way = 0; way < WAYS; way++) {
        uint64_t cost = t->nameless[way] + t->crossed[way];
        if (cost < t->nameless[o->way] + t->crossed[o->way])
            o->way = way;
        if (t->nameless[way] <= 1 && t->crossed[way] == 0)
            return 1;
    }
    return o->world->size == 1;
}

/* --- all ranks have the same paths --- */

/* ranks: as text, the owner first. */
static void note_shared(struct scr_table *shared, const char *path, const char *ranks)
{
    struct scr_shared *s = scr_table_add(shared, path);
    if (s == NULL)
        return;
    s->owner = (int)strtol(ranks, NULL, 10);
    s->ranks = scr_arena_text(&shared->arena, ranks);
}

/* The names of all dests, sorted, each with its NUL; bad: out of memory. */
static void list_sorted(const struct owners *o, struct scr_str *all)
{
    size_t n = 0;
    const char **name = scr_calloc(o->dests->n, sizeof *name);
    if (name == NULL) {
        scr_str_spoil(all);
        return;
    }
    for (SCR_EACH(struct scr_item, e, o->dests))
        name[n++] = e->name;
    qsort(name, n, sizeof *name, scr_by_text);
    for (size_t i = 0; i < n; i++)
        scr_str_append_n(all, name[i], strlen(name[i]) + 1);
    free(name);
}

/* Told by comparing them. A rank without memory for that gives its number instead, so
 * that they differ. */
static int is_same_all(const struct owners *o)
{
    struct scr_str all = SCR_STR_INIT;
    list_sorted(o, &all);
    if (all.bad)
        scr_str_free(&all);
    const void *mine = all.p != NULL ? (const void *)all.p : &o->world->rank;
    int same = scr_same_all(o->world, mine, all.p != NULL ? all.len : sizeof(int));
    scr_str_free(&all);
    return same;
}

static int share_everything_all(struct owners *o, struct scr_err *err)
{
    char *ranks = scr_asprintf("0-%d", o->world->size - 1);
    for (SCR_EACH(struct scr_item, e, o->dests))
        if (ranks != NULL)
            note_shared(o->shared, e->name, ranks);
    int ok = ranks != NULL && scr_table_ok(o->shared);
    free(ranks);
    return scr_agree_all(o->world, ok ? SCR_OK : scr_no_memory(err), err);
}

/* --- the exchange --- */

/* The rank that is responsible for path: the one it names, else any that all agree on.
 */
static int keeper_of(const struct owners *o, const char *path)
{
    struct numbers x;
    find_numbers(path, &x);
    int rank = named_rank(&x, o->way, o->world->size);
    uint32_t crc = rank < 0 ? scr_crc32(0, path, strlen(path)) : 0;
    return rank >= 0 ? rank : (int)(crc % (uint32_t)o->world->size);
}

/* Sends the paths others are responsible for to them. */
static int claim(const struct owners *o, struct scr_parcels *send, struct scr_err *err)
{
    for (SCR_EACH(struct scr_item, e, o->dests)) {
        int keeper = keeper_of(o, e->name);
        if (keeper != o->world->rank)
            TRY(scr_parcel_text(send, keeper, e->name, err));
    }
    return SCR_OK;
}

/* A path that this rank is responsible for, and the ranks that have it. */
struct claimed {
    struct scr_item item;
    struct scr_ids ranks;
};

static int enter_claims(const struct owners *o, const struct scr_parcels *claims,
                        struct scr_table *who, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < claims->n; i++)
        for (SCR_TEXTS(path, &claims->of[i].bytes)) {
            struct claimed *c = scr_table_add(who, path);
            TRY(c ? SCR_OK : scr_no_memory(err));
            rc = scr_ids_add(&c->ranks, claims->of[i].rank, err);
            if (rc == SCR_OK && scr_table_find(o->dests, path) != NULL)
                rc = scr_ids_add(&c->ranks, o->world->rank, err);
            if (rc != SCR_OK)
                return rc;
        }
    return SCR_OK;
}

/* "0-3,7" of ascending ranks, cut where it grows too long to be read; malloc'd. */
static char *ranks_text(const int *rank, size_t n)
{
    struct scr_str s = SCR_STR_INIT;
    for (size_t i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && rank[last + 1] == rank[last] + 1; last++)
            ;
        if (s.len > RANKS_SHOWN) {
            scr_str_printf(&s, ",… (%zu ranks)", n);
            break;
        }
        scr_str_printf(&s, "%s%d", i > 0 ? "," : "", rank[i]);
        if (last > i)
            scr_str_printf(&s, "-%d", rank[last]);
    }
    return scr_str_take(&s);
}

/* Tells all that have the path which ranks these are. */
static int answer(struct owners *o, const struct claimed *c, struct scr_parcels *reply,
                  struct scr_err *err)
{
    const struct scr_ids *of = &c->ranks;
    if (of->n < 2)
        return SCR_OK;
    char *ranks = ranks_text(of->id, of->n);
    int rc = ranks != NULL ? SCR_OK : scr_no_memory(err);
    for (size_t i = 0; i < of->n && rc == SCR_OK; i++)
        if (of->id[i] == o->world->rank)
            note_shared(o->shared, c->item.name, ranks);
        else if ((rc = scr_parcel_text(reply, of->id[i], c->item.name, err)) == SCR_OK)
            rc = scr_parcel_text(reply, of->id[i], ranks, err);
    free(ranks);
    return rc;
}

static int answer_claims(struct owners *o, const struct scr_parcels *claims,
                         struct scr_parcels *reply, struct scr_err *err)
{
    struct scr_table who = SCR_TABLE_OF(struct claimed);
    int rc = enter_claims(o, claims, &who, err);
    for (SCR_EACH(struct claimed, c, &who)) {
        if (rc == SCR_OK)
            rc = answer(o, c, reply, err);
        scr_ids_fini(&c->ranks);
    }
    scr_table_fini(&who);
    return rc;
}

static int learn_all(struct owners *o, const struct scr_parcels *reply,
                     struct scr_err *err)
{
    struct scr_parcels recv = { 0 };
    TRY(scr_parcels_exchange_all(o->world, SCR_OK, reply, &recv, err));
    for (size_t i = 0; i < recv.n; i++)
        for (SCR_TEXTS(path, &recv.of[i].bytes)) {
            const char *ranks = scr_texts_next(&recv.of[i].bytes, path);
            note_shared(o->shared, path, ranks);
            path = ranks;
        }
    scr_parcels_free(&recv);
    int rc = scr_table_ok(o->shared) ? SCR_OK : scr_no_memory(err);
    return scr_agree_all(o->world, rc, err);
}

/* Of the ranks that have a path one at most is its keeper, and keepers do not answer to
 * themselves: so if any path is shared, some rank gets an answer. */
static int exchange_all(struct owners *o, int *any, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 }, reply = { 0 };
    int rc =
        scr_parcels_exchange_all(o->world, claim(o, &send, err), &send, &recv, err);
    scr_parcels_free(&send);
    if (rc != SCR_OK)
        return rc;
    rc = answer_claims(o, &recv, &reply, err);
    scr_parcels_free(&recv);
    struct scr_vote v = { .sum = { reply.n } };
    rc = scr_vote_all(o->world, rc, &v, err);
    *any = rc == SCR_OK && v.sum[0] > 0;
    if (*any)
        rc = learn_all(o, &reply, err);
    scr_parcels_free(&reply);
    return rc;
}

int scr_owners_find_all(const struct scr_comm *world, struct scr_owners *q, int rc,
                        struct scr_err *err)
{
    struct owners o = { .world = world, .dests = q->dests, .shared = q->shared };
    struct tally t;
    count_all(&o, q->totals, q->ntotals, rc, &t);
    q->any = 0;
    if (t.failed > 0)
        return scr_agree_all(world, rc, err);
    if (is_disjoint(&o, &t))
        return SCR_OK;
    uint64_t size = (uint64_t)world->size;
    if (size * t.square != t.digest * t.digest || !is_same_all(&o))
        return exchange_all(&o, &q->any, err);
    q->any = q->dests->n > 0;
    return share_everything_all(&o, err);
}
