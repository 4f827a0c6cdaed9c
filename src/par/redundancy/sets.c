/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts the world into redundancy sets, and finds the sets of a stored dataset again. */
#include "par/redundancy/sets.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ec/ec.h"
#include "red/geom.h"

/* This rank's number when ranks are counted group by group. The first rank of a group
 * is its lowest, so the ranks that lead a group, in world order, put the groups in
 * order. */
static int position(const struct scr_comm *world, const struct scr_comm *group)
{
    uint64_t lead = group->rank == 0 ? (uint64_t)group->size : 0;
    uint64_t before = scr_sum_below_all(world, lead);
    scr_bcast_bytes_all(group, 0, &before, sizeof before, NULL);
    return (int)before + group->rank;
}

int scr_set_count(int ranks, int largest_group, int set_size)
{
    int s = ranks / set_size;
    if (s < largest_group)
        s = largest_group;
    int needed = (ranks - 1) / SCR_EC_MAX + 1;
    return s < needed ? needed : s;
}

/* World ranks of the members; also the smallest. */
static int take_members(struct scr_set *out, const int *ranks, struct scr_err *err)
{
    out->world = scr_calloc((size_t)out->n, sizeof *out->world);
    TRY(out->world ? SCR_OK : scr_no_memory(err));
    memcpy(out->world, ranks, (size_t)out->n * sizeof *ranks);
    out->id = out->world[0];
    for (int i = 1; i < out->n; i++)
        if (out->world[i] < out->id)
            out->id = out->world[i];
    return SCR_OK;
}

/* Members exchange their lists. The code is each rank's own. */
static int list_members_all(const struct scr_comm *world, struct scr_set *out,
                            struct scr_err *err)
{
    int ranks[SCR_EC_MAX];
    out->n = out->comm.size;
    out->me = out->comm.rank;
    if (out->n > SCR_EC_MAX) /* those whose lists differ */
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "redundancy set of %d members: %d at most", out->n, SCR_EC_MAX);
    int rc = scr_allgather_bytes_all(&out->comm, &world->rank, sizeof world->rank,
                                     ranks, err);
    int taken = take_members(out, ranks, rc == SCR_OK ? err : NULL);
    return rc == SCR_OK ? taken : rc;
}

static const struct scr_set EMPTY_SET = { SCR_COMM_INIT, 0, -1, -1, NULL };

void scr_cut_say(const struct scr_comm *world, const struct scr_cut *cut,
                 int64_t *least)
{
    least[0] = -cut->group->size;
    least[1] = scr_comm_is_block(cut->group, world);
}

void scr_cut_hear(struct scr_cut *cut, const int64_t *least)
{
    cut->largest = (int)-least[0];
    cut->in_blocks = least[1] != 0;
}

/* Where positions are ranks, the members are known from those. */
static int count_members(const struct scr_comm *world, int sets, struct scr_set *out,
                         struct scr_err *err)
{
    int ranks[SCR_EC_MAX];
    out->n = out->comm.size;
    out->me = out->comm.rank;
    for (int i = 0; i < out->n; i++)
        ranks[i] = world->rank % sets + i * sets;
    return take_members(out, ranks, err);
}

int scr_set_cut_all(const struct scr_comm *world, struct scr_cut *cut, int rc,
                    struct scr_set *out, struct scr_err *err)
{
    *out = EMPTY_SET;
    int s = 1, p = cut->in_blocks ? world->rank : position(world, cut->group);
    if (rc == SCR_OK && cut->set_size < 1)
        rc = scr_fail(err, SCR_E_RANGE, 0, "set size %d: must be at least 1",
                      cut->set_size);
    if (rc == SCR_OK)
        s = scr_set_count(world->size, cut->largest, cut->set_size);
    int made = scr_comm_split_all(world, rc == SCR_OK ? p % s : -1, p / s, &out->comm,
                                  rc == SCR_OK ? err : NULL);
    rc = rc == SCR_OK ? made : rc;
    if (rc == SCR_OK)
        rc = cut->in_blocks ? count_members(world, s, out, err)
                            : list_members_all(world, out, err);
    cut->least = out->n > 1 ? out->n : INT_MAX - 1;
    cut->has_alone = out->n == 1;
    return rc;
}

int scr_set_make_all(const struct scr_comm *world, struct scr_cut *cut, int rc,
                     struct scr_set *out, struct scr_err *err)
{
    struct scr_vote v = { .least = { 0 } };
    *out = EMPTY_SET;
    scr_cut_say(world, cut, v.least);
    rc = scr_vote_all(world, rc, &v, err);
    if (rc != SCR_OK)
        return rc;
    scr_cut_hear(cut, v.least);
    rc = scr_set_cut_all(world, cut, rc, out, err);
    v = (struct scr_vote){ .least = { cut->least, -cut->has_alone } };
    rc = scr_vote_all(world, rc, &v, err);
    cut->least = (int)v.least[0];
    cut->has_alone = v.least[1] != 0;
    if (rc != SCR_OK)
        scr_set_free(out);
    return rc;
}

/* A list from a file: distinct world ranks, this one among them. *me: its index. */
static int check_members(const struct scr_comm *world, const struct scr_setdesc *known,
                         int *me, struct scr_err *err)
{
    const int *members = known->world;
    int n = known->n;
    *me = -1;
    if (n < 1)
        return scr_fail(err, SCR_E_LOST, 0,
                        "rank %d: no remaining file names its redundancy set",
                        world->rank);
    if (n > SCR_EC_MAX)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "redundancy set of %d members: %d at most", n, SCR_EC_MAX);
    for (int i = 0; i < n; i++) {
        if (members[i] < 0 || members[i] >= world->size)
            return scr_fail(err, SCR_E_CORRUPT, 0, "redundancy set names rank %d of %d",
                            members[i], world->size);
        for (int j = 0; j < i; j++)
            if (members[i] == members[j])
                return scr_fail(err, SCR_E_CORRUPT, 0,
                                "redundancy set names rank %d twice", members[i]);
        if (members[i] == world->rank)
            *me = i;
    }
    if (*me < 0)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "redundancy set does not name its rank %d", world->rank);
    return SCR_OK;
}

/* All that needs no communicator: what fails then is MPI, and fails on all ranks. */
static int take_known(const struct scr_comm *world, const struct scr_setdesc *known,
                      struct scr_set *out, struct scr_err *err)
{
    TRY(check_members(world, known, &out->me, err));
    out->n = known->n;
    return take_members(out, known->world, err);
}

int scr_set_restore_all(const struct scr_comm *world, const struct scr_setdesc *known,
                        int rc, struct scr_set *out, struct scr_err *err)
{
    *out = EMPTY_SET;
    if (rc == SCR_OK)
        rc = take_known(world, known, out, err);
    struct scr_vote v = { .sum = { rc == SCR_OK ? scr_setdesc_share(known, out->me, 0)
                                                : 0 } };
    rc = scr_vote_all(world, rc, &v, err);
    if (rc == SCR_OK && v.sum[0] != 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0,
                      "the members of a redundancy set disagree about it");
    if (rc == SCR_OK)
        rc = scr_comm_split_all(world, out->id, out->me, &out->comm, err);
    if (rc != SCR_OK)
        scr_set_free(out);
    return rc;
}

void scr_set_describe(const struct scr_set *s, int ranks, enum scr_scheme scheme, int k,
                      struct scr_setdesc *d)
{
    scr_geom_weaken(&scheme, &k, s->n);
    *d = (struct scr_setdesc){ scheme, k, ranks, s->me, s->id, s->n, { 0 } };
    memcpy(d->world, s->world, (size_t)s->n * sizeof *s->world);
}

int scr_set_agree_all(const struct scr_set *s, int rc, struct scr_err *err)
{
    if (rc != SCR_OK && err != NULL && err->code == SCR_OK)
        scr_fail(err, rc, 0, "%s", scr_err_meaning(rc));
    if (rc != SCR_OK && err != NULL && err->rank < 0)
        err->rank = s->world[s->me];
    return scr_agree_all(&s->comm, rc, err);
}

void scr_set_free(struct scr_set *s)
{
    scr_comm_free(&s->comm);
    free(s->world);
    *s = EMPTY_SET;
}
