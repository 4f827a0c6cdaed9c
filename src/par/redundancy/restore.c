/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings a dataset in cache back. Nothing that exists is changed before every rank
 * knows that its set can be rebuilt. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "par/redundancy/protect.h"
#include "par/redundancy/restoring.h"

static uint64_t rebuilt_bytes(const struct scr_restoring *s)
{
    int have = s->have[s->set.me];
    uint64_t n = have & SCR_HAVE_DATA ? 0 : s->r.g.len[s->set.me];
    if (!(have & SCR_HAVE_PARITY))
        n += scr_geom_parity_bytes(&s->r.g, s->set.me);
    return n;
}

static void report_all(const struct scr_restoring *s, struct scr_restore_report *rep)
{
    enum { RANKS, FILES, BYTES, N };
    uint64_t sum[N] = { s->have[s->set.me] != SCR_HAVE_ALL, (uint64_t)s->lost_files,
                        rebuilt_bytes(s) };
    scr_sums_all(s->p->world, sum, N);
    rep->mine = s->have[s->set.me] != SCR_HAVE_ALL;
    rep->rebuilt_ranks = (int)sum[RANKS];
    rep->lost_files = sum[FILES] > INT32_MAX ? INT32_MAX : (int)sum[FILES];
    rep->bytes = sum[BYTES];
}

static int enter(struct scr_restoring *s, struct scr_err *err)
{
    if (s->have[s->set.me] & SCR_HAVE_PARITY)
        s->r.header_bytes = s->head.bytes;
    return scr_redset_enter(&s->r, s->map, err);
}

/* A number that is another for another description of a set, at odds of one in 2^64. */
static uint64_t mark_of(const struct scr_redinfo *info)
{
    const struct scr_setdesc *d = &info->set;
    const uint64_t first[] = { info->chunk, d->scheme, (uint64_t)d->failures,
                               (uint64_t)d->n };
    uint64_t key = scr_bytes_key(SCR_KEY_OF_NOTHING, first, sizeof first);
    return scr_bytes_key(key, d->world, (size_t)d->n * sizeof d->world[0]);
}

/* Of a set that all its members describe alike these add up to nothing: the first has
 * what each of the others takes away. */
static uint64_t share_of(const struct scr_redinfo *info)
{
    uint64_t mark = mark_of(info);
    return info->set.member == 0 ? (uint64_t)(info->set.n - 1) * mark : 0 - mark;
}

/* Agrees on rc. Where every rank has found that it lacks nothing, and the members of
 * each set agree about it, no rank has to learn who is in which. */
static int look_alone_all(struct scr_restoring *s, int *intact, int rc,
                          struct scr_err *err)
{
    int has_all = rc == SCR_OK && s->p->whole && scr_restore_has_all(s);
    struct scr_vote v = { .least = { has_all },
                          .sum = { has_all ? share_of(&s->head.info) : 0 } };
    rc = scr_vote_all(s->p->world, rc, &v, err);
    *intact = rc == SCR_OK && v.least[0] && v.sum[0] == 0;
    return rc;
}

static void restore_fini(struct scr_restoring *s)
{
    scr_member_files_free(s->tmp, s->r.nfiles);
    free(s->tmpred);
    free(s->redfound);
    free(s->have);
    free(s->seen);
    scr_redhead_fini(&s->head);
    scr_redset_fini(&s->r);
    scr_set_free(&s->set);
}

int scr_restore_all(const struct scr_protect *p, int id, const char *dset_dir,
                    scr_filemap *map, struct scr_restore_report *rep,
                    struct scr_err *err)
{
    struct scr_restoring s = { .p = p, .dset_dir = dset_dir, .map = map };
    struct scr_restore_report unwanted;
    s.set.comm = (struct scr_comm)SCR_COMM_INIT;
    s.why = s.header_why = (struct scr_err)SCR_ERR_INIT;
    rep = rep != NULL ? rep : &unwanted;
    memset(rep, 0, sizeof *rep);
    int rc = scr_redset_init(&s.r, p, &s.set, id, dset_dir, err);
    rc = look_alone_all(&s, &rep->intact, rc, err);
    if (rc != SCR_OK || rep->intact)
        goto out;
    TRY_OUT(scr_restore_find_set_all(&s, err));
    rc = scr_restore_find_files_all(&s, err);
    if (rc == SCR_OK)
        rc = scr_restore_assess_all(&s, err);
    rc = scr_agree_all(p->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_restore_mend_all(&s, err);
    if (rc != SCR_OK)
        goto out;
    report_all(&s, rep);
    rc = scr_agree_all(p->world, enter(&s, err), err);
out:
    restore_fini(&s);
    return rc;
}
