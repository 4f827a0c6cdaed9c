/* SPDX-License-Identifier: BSD-3-Clause */
/* Which destinations several ranks have. */
#include "par/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ec/ec.h"

/* Ways in which a path may name a rank: by its first numbers or its last ones, counting
 * ranks from 0 or from 1. */
enum { PLACES = 4, WAYS = 2 * 2 * PLACES };

/* Characters of a list of ranks in a message. */
enum { RANKS_SHOWN = 80 };

struct owners {
    const struct scr_comm *world;
    const scr_hash *dests;
    scr_hash *shared;
    int way; /* in which paths name ranks best */
};

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "owners of files: out of memory");
}

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

/* What all ranks sum up. Summed digests d and squares tell whether all ranks have the
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
    for (SCR_HASH_EACH(e, o->dests))
        count_path(o, scr_hash_elem_key(e), t);
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

static int note_shared(scr_hash *shared, const char *path, int owner, const char *ranks)
{
    scr_hash *h = scr_hash_set(shared, path, NULL);
    return scr_hash_set_val_i64(h, "OWNER", owner) != NULL &&
                   scr_hash_set_val(h, "RANKS", ranks) != NULL
               ? SCR_OK
               : SCR_E_NOMEM;
}

/* Told by comparing them. Without memory for that they count as different. */
static int is_same_all(const struct owners *o)
{
    scr_hash *sorted = scr_hash_dup(o->dests);
    struct scr_str all = SCR_STR_INIT;
    scr_hash_sort(sorted, SCR_HASH_ASC);
    for (SCR_HASH_EACH(e, sorted))
        scr_str_append_n(&all, scr_hash_elem_key(e), strlen(scr_hash_elem_key(e)) + 1);
    int same = scr_same_all(o->world, all.p, all.len);
    int good = scr_and_all(o->world, sorted != NULL && !all.bad);
    scr_str_free(&all);
    scr_hash_delete(sorted);
    return same && good;
}

static int share_everything(struct owners *o, struct scr_err *err)
{
    int rc = SCR_OK;
    char *ranks = scr_asprintf("0-%d", o->world->size - 1);
    for (SCR_HASH_EACH(e, o->dests))
        if (rc == SCR_OK)
            rc = ranks ? note_shared(o->shared, scr_hash_elem_key(e), 0, ranks)
                       : SCR_E_NOMEM;
    free(ranks);
    return rc == SCR_OK ? rc : no_memory(err);
}

/* --- the exchange --- */

/* The rank that looks after path: the one it names, else any that all agree on. */
static int keeper_of(const struct owners *o, const char *path)
{
    struct numbers x;
    find_numbers(path, &x);
    int rank = named_rank(&x, o->way, o->world->size);
    uint32_t crc = rank < 0 ? scr_crc32(0, path, strlen(path)) : 0;
    return rank >= 0 ? rank : (int)(crc % (uint32_t)o->world->size);
}

/* send = {<keeper>: {<path>}} of the paths others look after. */
static int claim(const struct owners *o, scr_hash *send, struct scr_err *err)
{
    for (SCR_HASH_EACH(e, o->dests)) {
        const char *path = scr_hash_elem_key(e);
        int keeper = keeper_of(o, path);
        if (keeper != o->world->rank &&
            scr_hash_set(scr_hash_setf(send, NULL, "%d", keeper), path, NULL) == NULL)
            return no_memory(err);
    }
    return SCR_OK;
}

/* who = {<path>: {<rank>}} of the paths this rank looks after. */
static int enter_claims(const struct owners *o, const scr_hash *claims, scr_hash *who)
{
    for (SCR_HASH_EACH(from, claims))
        for (SCR_HASH_EACH(e, scr_hash_elem_hash(from))) {
            const char *path = scr_hash_elem_key(e);
            scr_hash *ranks = scr_hash_setf(who, NULL, "%s", path);
            if (scr_hash_set(ranks, scr_hash_elem_key(from), NULL) == NULL)
                return SCR_E_NOMEM;
            if (scr_hash_get(o->dests, path) != NULL &&
                scr_hash_setf(ranks, NULL, "%d", o->world->rank) == NULL)
                return SCR_E_NOMEM;
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

/* Tells all that have path whose it is: reply = {<rank>: {<path>: …}}. */
static int answer(struct owners *o, const char *path, const scr_hash *who,
                  scr_hash *reply)
{
    int *rank = NULL;
    size_t n = 0;
    int rc = scr_hash_list_int(who, &rank, &n) ? SCR_OK : SCR_E_NOMEM;
    char *text = rc == SCR_OK && n > 1 ? ranks_text(rank, n) : NULL;
    if (n > 1 && text == NULL)
        rc = SCR_E_NOMEM;
    for (size_t i = 0; i < n && n > 1 && rc == SCR_OK; i++) {
        int me = rank[i] == o->world->rank;
        scr_hash *to = me ? o->shared : scr_hash_setf(reply, NULL, "%d", rank[i]);
        rc = note_shared(to, path, rank[0], text);
    }
    free(text);
    free(rank);
    return rc;
}

static int answer_claims(struct owners *o, const scr_hash *claims, scr_hash *reply,
                         struct scr_err *err)
{
    scr_hash *who = scr_hash_new();
    int rc = who ? enter_claims(o, claims, who) : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, who))
        if (rc == SCR_OK)
            rc = answer(o, scr_hash_elem_key(e), scr_hash_elem_hash(e), reply);
    scr_hash_delete(who);
    return rc == SCR_OK ? rc : no_memory(err);
}

static int learn_all(struct owners *o, const scr_hash *reply, struct scr_err *err)
{
    scr_hash *recv = scr_hash_new();
    int rc = scr_agree_all(o->world, recv ? SCR_OK : no_memory(err), err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(o->world, reply, recv, err);
    for (SCR_HASH_EACH(from, recv))
        if (rc == SCR_OK)
            rc = scr_hash_merge(o->shared, scr_hash_elem_hash(from));
    scr_hash_delete(recv);
    return scr_agree_all(o->world, rc, err);
}

static int exchange_all(struct owners *o, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new(), *reply = scr_hash_new();
    int rc = send && recv && reply ? claim(o, send, err) : no_memory(err);
    rc = scr_agree_all(o->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(o->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(o->world, answer_claims(o, recv, reply, err), err);
    if (rc == SCR_OK && scr_or_all(o->world, scr_hash_size(reply) > 0))
        rc = learn_all(o, reply, err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    scr_hash_delete(reply);
    return rc;
}

int scr_owners_find_all(const struct scr_comm *world, const scr_hash *dests,
                        uint64_t *totals, size_t ntotals, int rc, scr_hash *shared,
                        int *any, struct scr_err *err)
{
    struct owners o = { .world = world, .dests = dests, .shared = shared };
    struct tally t;
    count_all(&o, totals, ntotals, rc, &t);
    *any = 0;
    if (t.failed > 0)
        return scr_agree_all(world, rc, err);
    if (is_disjoint(&o, &t))
        return SCR_OK;
    uint64_t size = (uint64_t)world->size;
    int alike = size * t.square == t.digest * t.digest && is_same_all(&o);
    rc = alike ? scr_agree_all(world, share_everything(&o, err), err)
               : exchange_all(&o, err);
    *any = scr_or_all(world, scr_hash_size(shared) > 0);
    return rc;
}
