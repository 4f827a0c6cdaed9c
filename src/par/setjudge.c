/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what is left of a redundancy set suffices. */
#include "par/setjudge.h"

#include <stdlib.h>
#include <string.h>

#include "par/restoring.h"
#include "red/geom.h"

/* What a judge is told: this, and the world ranks of the n members. The set is called
 * by the lowest of them. */
struct tale {
    struct scr_setjudge_told told;
    int set, scheme, failures, ranks, n;
};

static int lowest(const int *members, int n)
{
    int low = members[0];
    for (int i = 1; i < n; i++)
        low = members[i] < low ? members[i] : low;
    return low;
}

int scr_setjudge_tell(const struct scr_comm *world, const scr_hash *known,
                      const struct scr_setjudge_told *told, struct scr_parcels *send,
                      struct scr_err *err)
{
    struct tale t = { .told = *told, .scheme = -1, .failures = -1 };
    const char *type = scr_hash_get_val(known, "TYPE");
    enum scr_scheme scheme;
    int *members = NULL;
    int rc = scr_restore_members(known, &members, &t.n, err);
    t.set = rc == SCR_OK && t.n > 0 ? lowest(members, t.n) : -1;
    if (rc != SCR_OK || t.set < 0) { /* no members, or none that can be */
        free(members);
        return rc;
    }
    if (type != NULL && scr_scheme_parse(type, &scheme))
        t.scheme = (int)scheme;
    (void)scr_hash_get_val_int(known, "FAILURES", &t.failures);
    (void)scr_hash_get_val_int(known, "RANKS", &t.ranks);
    int judge = t.set % world->size;
    rc = scr_parcel_bytes(send, judge, &t, sizeof t);
    if (rc == SCR_OK)
        rc = scr_parcel_bytes(send, judge, members, (size_t)t.n * sizeof *members);
    if (rc != SCR_OK)
        scr_fail(err, SCR_E_NOMEM, 0, "redundancy set of rank %d", told->rank);
    free(members);
    return rc;
}

/* The set a tale is of, made if it is the first of it; NULL: out of memory. members: in
 * the bytes, not aligned. */
static struct scr_judged *set_of(struct scr_table *sets, const struct tale *t,
                                 const char *members)
{
    char name[64];
    snprintf(name, sizeof name, "%lld.%d", (long long)t->told.created, t->set);
    struct scr_judged *set = scr_table_add(sets, name);
    if (set == NULL || set->member != NULL)
        return set;
    set->created = t->told.created;
    set->scheme = t->scheme;
    set->failures = t->failures;
    set->ranks = t->ranks;
    set->member = scr_arena_get(&sets->arena, (size_t)t->n * sizeof *set->member);
    set->n = set->member != NULL ? t->n : 0;
    for (int i = 0; i < set->n; i++) {
        set->member[i] = (struct scr_judged_member){ .data = -1, .parity = -1 };
        memcpy(&set->member[i].rank, members + (size_t)i * sizeof(int), sizeof(int));
    }
    return set->member != NULL ? set : NULL;
}

/* Holders are heard by ascending rank. */
static void hear(struct scr_judged *set, const struct tale *t, int holder)
{
    for (int i = 0; i < set->n; i++) {
        struct scr_judged_member *m = &set->member[i];
        if (m->rank != t->told.rank)
            continue;
        m->have |= t->told.have;
        if ((t->told.have & SCR_HAVE_DATA) && m->data < 0)
            m->data = holder;
        if ((t->told.have & SCR_HAVE_PARITY) && m->parity < 0)
            m->parity = holder;
    }
}

int scr_setjudge_hear(const struct scr_parcels *recv, struct scr_table *sets,
                      struct scr_err *err)
{
    scr_table_init(sets, sizeof(struct scr_judged));
    for (size_t i = 0; i < recv->n; i++) {
        const struct scr_str *bytes = &recv->of[i].bytes;
        struct tale t;
        for (size_t at = 0; at < bytes->len; at += (size_t)t.n * sizeof(int)) {
            memcpy(&t, bytes->p + at, sizeof t);
            at += sizeof t;
            struct scr_judged *set = set_of(sets, &t, bytes->p + at);
            if (set == NULL)
                return scr_fail(err, SCR_E_NOMEM, 0, "redundancy sets: out of memory");
            hear(set, &t, recv->of[i].rank);
        }
    }
    return SCR_OK;
}

int scr_setjudge_lost(const struct scr_judged *set)
{
    int lost = 0;
    for (int i = 0; i < set->n; i++)
        lost += !(set->member[i].have & SCR_HAVE_DATA);
    return lost;
}

/* Which rows there are does not depend on lengths. */
int scr_setjudge_suffices(const struct scr_judged *set, int *ok, struct scr_err *err)
{
    struct scr_geom geom = { 0 };
    uint64_t none[SCR_EC_MAX] = { 0 };
    int have[SCR_EC_MAX];
    *ok = 0;
    if (set->scheme < 0 || set->failures < 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "no scheme of the redundancy");
    for (int i = 0; i < set->n; i++)
        have[i] = set->member[i].have;
    int rc = scr_geom_init(&geom, (enum scr_scheme)set->scheme, set->n, set->failures,
                           none, err);
    if (rc == SCR_OK)
        *ok = scr_geom_recoverable(&geom, have);
    return rc;
}
