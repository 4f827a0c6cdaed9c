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

/* Enters what is in place now, on disk, too. */
static int enter(struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_protect *p = s->p;
    if (s->have[s->set.me] & SCR_HAVE_PARITY)
        s->r.header_bytes = s->head.bytes;
    TRY(scr_redset_enter(&s->r, s->map, err));
    return p->cntl != NULL ? scr_cntl_write(p->env, p->cntl, s->map, err) : SCR_OK;
}

static int say(const struct scr_restoring *s, int64_t *least, struct scr_err *err)
{
    const struct scr_protect *p = s->p;
    return p->say != NULL ? p->say(p->arg, s->r.id, least, err) : SCR_OK;
}

/* Agrees on the last step, and reports. */
static int finish_all(const struct scr_restoring *s, int rc,
                      struct scr_restore_report *rep, struct scr_err *err)
{
    enum { RANKS, FILES, BYTES };
    struct scr_vote v = { .sum = { s->have[s->set.me] != SCR_HAVE_ALL,
                                   (uint64_t)s->lost_files, rebuilt_bytes(s) } };
    if (rc == SCR_OK)
        rc = say(s, v.least, err);
    rc = scr_vote_all(s->p->world, rc, &v, err);
    if (rc != SCR_OK) {
        scr_restore_remove_temporaries(s);
        return rc;
    }
    memcpy(rep->least, v.least, sizeof rep->least);
    rep->mine = s->have[s->set.me] != SCR_HAVE_ALL;
    rep->rebuilt_ranks = (int)v.sum[RANKS];
    rep->lost_files = v.sum[FILES] > INT32_MAX ? INT32_MAX : (int)v.sum[FILES];
    rep->bytes = v.sum[BYTES];
    return SCR_OK;
}

/* Agrees on rc. Where every rank has found that it lacks nothing, and the members of
 * each set agree about it, no rank has to learn who is in which. */
static int look_alone_all(struct scr_restoring *s, struct scr_restore_report *rep,
                          int rc, struct scr_err *err)
{
    enum { HAS_ALL = SCR_RESTORE_LEAST };
    const struct scr_redinfo *info = &s->head.info;
    struct scr_vote v = { .least = { 0 } };
    int has_all =
        rc == SCR_OK && scr_restore_has_all(s) && say(s, v.least, NULL) == SCR_OK;
    v.least[HAS_ALL] = has_all;
    if (has_all)
        v.sum[0] = scr_setdesc_share(&info->set, info->set.member, info->chunk);
    rc = scr_vote_all(s->p->world, rc, &v, err);
    rep->intact = rc == SCR_OK && v.least[HAS_ALL] && v.sum[0] == 0;
    memcpy(rep->least, v.least, sizeof rep->least);
    return rc;
}

static void restore_fini(struct scr_restoring *s)
{
    free(s->stem);
    free(s->tmpred);
    free(s->redfound);
    scr_redhead_fini(&s->head);
    scr_redset_fini(&s->r);
    if (s->p->set == NULL)
        scr_set_free(&s->set);
}

int scr_restore_all(const struct scr_protect *p, int id, const char *dset_dir,
                    scr_filemap *map, struct scr_restore_report *rep,
                    struct scr_err *err)
{
    struct scr_restoring s = { .p = p, .dset_dir = dset_dir, .map = map, .r.id = id };
    struct scr_restore_report unwanted;
    s.set.comm = (struct scr_comm)SCR_COMM_INIT;
    s.why = s.header_why = (struct scr_err)SCR_ERR_INIT;
    rep = rep != NULL ? rep : &unwanted;
    memset(rep, 0, sizeof *rep);
    int rc = p->rc;
    if (rc == SCR_OK)
        rc = scr_redset_init(&s.r, p, &s.set, id, dset_dir, err);
    if (p->whole)
        TRY_OUT(look_alone_all(&s, rep, rc, err));
    if (rep->intact)
        goto out;
    rc = scr_restore_find_set_all(&s, rc, err);
    if (s.set.n == 0)
        goto out;
    rc = scr_restore_find_files_all(&s, rc, err);
    rc = scr_restore_assess_all(&s, rc, err);
    TRY_OUT(scr_restore_mend_all(&s, rc, err));
    rc = scr_restore_put_in_place(&s, err);
    if (rc == SCR_OK)
        rc = enter(&s, err);
    rc = finish_all(&s, rc, rep, err);
out:
    restore_fini(&s);
    return rc;
}
