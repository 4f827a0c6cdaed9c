/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what is left of a redundancy set suffices. */
#include "par/redundancy/setjudge.h"

#include <stdio.h>
#include <string.h>

#include "red/geom.h"

int scr_setjudge_tell(const struct scr_comm *world, const struct scr_setdesc *known,
                      const struct scr_setjudge_told *told, struct scr_parcels *send,
                      struct scr_err *err)
{
    int judge = known->n > 0 ? known->id % world->size : -1;
    if (judge < 0)
        return SCR_OK;
    TRY(scr_parcel_bytes(send, judge, told, sizeof *told, err));
    return scr_parcel_bytes(send, judge, known, scr_setdesc_size(known), err);
}

/* The set of created that is, made if it is heard of first; NULL: out of memory. */
static struct scr_judged *set_of(struct scr_table *sets, int64_t created,
                                 const struct scr_setdesc *is)
{
    char name[64];
    snprintf(name, sizeof name, "%lld.%d", (long long)created, is->id);
    struct scr_judged *set = scr_table_add(sets, name);
    if (set == NULL || set->member != NULL)
        return set;
    set->created = created;
    set->scheme = is->scheme;
    set->failures = is->failures;
    set->ranks = is->ranks;
    set->member = scr_arena_get(&sets->arena, (size_t)is->n * sizeof *set->member);
    set->n = set->member != NULL ? is->n : 0;
    for (int i = 0; i < set->n; i++)
        set->member[i] = (struct scr_judged_member){ .rank = is->world[i],
                                                     .data = -1,
                                                     .parity = -1 };
    return set->member != NULL ? set : NULL;
}

/* Holders are heard by ascending rank. */
static void hear(struct scr_judged *set, const struct scr_setjudge_told *told,
                 int holder)
{
    for (int i = 0; i < set->n; i++) {
        struct scr_judged_member *m = &set->member[i];
        if (m->rank != told->rank)
            continue;
        m->have |= told->have;
        if ((told->have & SCR_HAVE_DATA) && m->data < 0)
            m->data = holder;
        if ((told->have & SCR_HAVE_PARITY) && m->parity < 0)
            m->parity = holder;
    }
}

int scr_setjudge_hear(const struct scr_parcels *recv, struct scr_table *sets,
                      struct scr_err *err)
{
    scr_table_init(sets, sizeof(struct scr_judged));
    for (size_t i = 0; i < recv->n; i++) {
        const struct scr_str *bytes = &recv->of[i].bytes;
        struct scr_setjudge_told told;
        struct scr_setdesc is;
        for (size_t at = 0; at < bytes->len;) {
            memcpy(&told, bytes->p + at, sizeof told);
            at += sizeof told;
            at += scr_setdesc_take(&is, bytes->p + at);
            struct scr_judged *set = set_of(sets, told.created, &is);
            TRY(set ? SCR_OK : scr_no_memory(err));
            hear(set, &told, recv->of[i].rank);
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
    if (set->failures < 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "no scheme of the redundancy");
    for (int i = 0; i < set->n; i++)
        have[i] = set->member[i].have;
    TRY(scr_geom_init(&geom, set->scheme, set->n, set->failures, none, err));
    *ok = scr_geom_recoverable(&geom, have);
    return SCR_OK;
}
