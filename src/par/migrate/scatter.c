/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: the filemaps of a node to the ranks that run there now, and the ids they
 * name. */
#include <stdlib.h>

#include "base/str.h"
#include "par/migrate/distribute.h"

/* Cuts all into one filemap per local rank: an owner that runs here gets its own, the
 * rest is distributed in turn. */
static int cut(const struct scr_comm *node, const int *local_ranks, scr_filemap *all,
               scr_filemap **part)
{
    int *ranks = NULL, n = 0, next = 0;
    int rc = scr_filemap_list_ranks(all, &n, &ranks);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        int local = 0;
        while (local < node->size && local_ranks[local] != ranks[i])
            local++;
        local = local < node->size ? local : next++ % node->size;
        scr_filemap *one = scr_filemap_extract_rank(all, ranks[i]);
        if (part[local] == NULL)
            part[local] = scr_filemap_new();
        rc = one != NULL ? scr_filemap_take(part[local], one) : SCR_E_NOMEM;
        scr_filemap_delete(one);
    }
    free(ranks);
    return rc;
}

static int deal(const struct scr_comm *node, const int *local_ranks, scr_filemap *all,
                struct scr_parcels *send, struct scr_err *err)
{
    scr_filemap **part = scr_calloc((size_t)node->size, sizeof(scr_filemap *));
    int rc = part != NULL ? cut(node, local_ranks, all, part) : SCR_E_NOMEM;
    for (int i = 0; part != NULL && i < node->size; i++) {
        struct scr_str *to =
            part[i] != NULL && rc == SCR_OK ? scr_parcel_to(send, i) : NULL;
        if (to != NULL)
            scr_filemap_pack(to, part[i]);
        if (part[i] != NULL && rc == SCR_OK && (to == NULL || to->bad))
            rc = SCR_E_NOMEM;
        scr_filemap_delete(part[i]);
    }
    free(part);
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

/* The whole of the node's filemaps under an unused local rank: while the ranks
 * replace theirs one by one, every file stays named. scr_cntl_write_master removes it.
 */
static int write_spare(const struct scr_env *env, const struct scr_comm *node,
                       const struct scr_cntl *cntl, const scr_filemap *all,
                       struct scr_err *err)
{
    struct scr_cntl spare;
    TRY(scr_cntl_open(env, cntl->dir, node->size, &spare, err));
    int rc = scr_cntl_write(env, &spare, all, err);
    scr_cntl_close(env, &spare);
    return rc;
}

/* Master: everything the node knows, made safe and distributed into send. */
static int read_and_deal(const struct scr_env *env, const struct scr_comm *node,
                         const struct scr_cntl *cntl, const int *local_ranks,
                         struct scr_parcels *send, struct scr_err *err)
{
    scr_filemap *all = scr_filemap_new();
    int rc;
    TRY_OUT(all != NULL ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_cntl_take_node(env, cntl, all, err));
    if ((all->n > 0 || all->aside != NULL))
        TRY_OUT(write_spare(env, node, cntl, all, err));
    TRY_OUT(deal(node, local_ranks, all, send, err));
out:
    scr_filemap_delete(all);
    return rc;
}

struct scatter {
    const struct scr_env *env;
    const struct scr_comm *world, *node;
    struct scr_cntl *cntl;
    scr_filemap *map;
    int *local_ranks; /* world rank of each rank of the node */
};

/* scr_vote_all on the node, where an error gets the rank's number in world. */
static int vote_node_all(const struct scatter *s, int rc, struct scr_vote *v,
                         struct scr_err *err)
{
    if (rc != SCR_OK && err != NULL && err->rank < 0)
        err->rank = s->world->rank;
    return scr_vote_all(s->node, rc, v, err);
}

/* The contents of the control directory of a node. */
enum state {
    STATE_OTHER,
    STATE_SETTLED, /* each rank's own filemap, in map, and no other */
    STATE_EMPTY
};

/* map is empty unless the node is settled. */
static int look_all(struct scatter *s, enum state *state, struct scr_err *err)
{
    enum { SETTLED, EMPTY };
    struct scr_vote v = { .least = { [EMPTY] = 1 } };
    s->local_ranks = scr_calloc((size_t)s->node->size, sizeof *s->local_ranks);
    v.least[SETTLED] = scr_cntl_read_own(s->env, s->cntl, s->world->rank, s->map);
    if (s->node->rank == 0) {
        v.least[SETTLED] &= scr_cntl_is_settled(s->env, s->cntl, s->node->size);
        v.least[EMPTY] = scr_cntl_is_empty(s->env, s->cntl);
    }
    int rc = s->local_ranks != NULL ? SCR_OK : scr_no_memory(err);
    rc = vote_node_all(s, rc, &v, err);
    *state = v.least[SETTLED] ? STATE_SETTLED
             : v.least[EMPTY] ? STATE_EMPTY
                              : STATE_OTHER;
    if (*state != STATE_SETTLED)
        scr_filemap_clear(s->map);
    return rc;
}

static int write_own(const struct scatter *s, struct scr_err *err)
{
    return scr_cntl_write(s->env, s->cntl, s->map, err);
}

/* Master: when every rank's filemap is in place, or there was nothing before. */
static int write_list(const struct scatter *s, struct scr_err *err)
{
    return s->node->rank == 0
               ? scr_cntl_write_master(s->env, s->cntl, s->node->size, err)
               : SCR_OK;
}

/* The master reads all and deals it out; each rank writes what it got. */
static int deal_all(struct scatter *s, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    struct scr_vote v = { .least = { 0 } };
    int rc = scr_allgather_bytes_all(s->node, &s->world->rank, sizeof s->world->rank,
                                     s->local_ranks, err);
    if (s->node->rank == 0 && rc == SCR_OK)
        rc = read_and_deal(s->env, s->node, s->cntl, s->local_ranks, &send, err);
    v.least[0] = -(send.n > 0);
    rc = vote_node_all(s, rc, &v, err);
    if (rc == SCR_OK && v.least[0] != 0)
        rc = scr_parcels_exchange_all(s->node, SCR_OK, &send, &recv, err);
    if (rc == SCR_OK && recv.n > 0)
        rc = scr_filemap_unpack(recv.of[0].bytes.p, recv.of[0].bytes.len, s->map, err);
    if (rc == SCR_OK)
        rc = write_own(s, err);
    rc = vote_node_all(s, rc, &v, err);
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc == SCR_OK ? write_list(s, err) : rc;
}

int scr_scatter_filemaps_all(const struct scr_env *env, const struct scr_comm *world,
                             const struct scr_comm *node, struct scr_cntl *cntl,
                             scr_filemap *map, struct scr_err *err)
{
    struct scatter s = {
        .env = env, .world = world, .node = node, .cntl = cntl, .map = map
    };
    enum state state = STATE_OTHER;
    int rc = look_all(&s, &state, err);
    if (rc == SCR_OK && state == STATE_EMPTY) {
        rc = write_own(&s, err);
        rc = rc == SCR_OK ? write_list(&s, err) : rc;
    } else if (rc == SCR_OK && state == STATE_OTHER)
        rc = deal_all(&s, err);
    free(s.local_ranks);
    return rc;
}

/* Ids are looked for in stretches of SCR_IDS_STRETCH, from the least one on. No rank
 * knows where a stretch begins: each says the least of its ids for each remainder, and
 * within a stretch no two have the same. Then: the largest id of all, negated; whether
 * there was no memory. */
enum { MOST = SCR_IDS_STRETCH, LOST };

/* Room for the ids of a stretch more. */
static int make_room(struct scr_ids *ids)
{
    int *more = scr_reallocarray(ids->id, ids->n + SCR_IDS_STRETCH, sizeof *more);
    if (more == NULL)
        return 0;
    ids->id = more;
    ids->room = ids->n + SCR_IDS_STRETCH;
    return 1;
}

static int64_t *said_of(int64_t *said, int64_t id)
{
    return &said[(uint64_t)id % SCR_IDS_STRETCH];
}

void scr_ids_say(const struct scr_ids *mine, int64_t from, struct scr_ids *all,
                 int64_t *said)
{
    for (int i = 0; i < SCR_IDS_STRETCH; i++)
        said[i] = INT64_MAX;
    for (size_t i = mine->n; i-- > 0 && mine->id[i] >= from;)
        *said_of(said, mine->id[i]) = mine->id[i];
    said[MOST] = mine->n > 0 ? -(int64_t)mine->id[mine->n - 1] : INT64_MAX;
    said[LOST] = make_room(all) ? 0 : -1;
}

/* Appends the ids of a stretch to all; where the next one begins, INT64_MAX: there is
 * none. */
static int64_t hear(int64_t *said, struct scr_ids *all)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < SCR_IDS_STRETCH; i++)
        first = said[i] < first ? said[i] : first;
    if (first == INT64_MAX)
        return first;
    int64_t next = first + SCR_IDS_STRETCH;
    for (int64_t id = first; id < next; id++)
        if (*said_of(said, id) == id)
            all->id[all->n++] = (int)id;
    return next <= -said[MOST] ? next : INT64_MAX;
}

int scr_ids_hear_all(const struct scr_comm *world, const struct scr_ids *mine,
                     int64_t *said, struct scr_ids *all, struct scr_err *err)
{
    while (!said[LOST]) {
        int64_t next = hear(said, all);
        if (next == INT64_MAX)
            return SCR_OK;
        scr_ids_say(mine, next, all, said);
        scr_mins_all(world, said, SCR_IDS_SAID);
    }
    int lost =
        all->room < all->n + SCR_IDS_STRETCH; /* here: the error names the rank */
    return scr_agree_all(world, lost ? scr_no_memory(err) : SCR_OK, err);
}
