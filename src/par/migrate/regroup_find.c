/* SPDX-License-Identifier: BSD-3-Clause */
/* Regroup, first part: what the nodes still have of the old ranks' files. One rank
 * decides on each set: the holders report to it, and it sends them their work. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "par/migrate/regrouping.h"
#include "par/redundancy/restoring.h"
#include "par/redundancy/verify.h"

/* --- what this rank has --- */

static void note_loss(struct scr_regrouping *g, int r, const struct scr_err *why)
{
    if (scr_err_may_pass(why->code))
        g->unread = *why;
    scr_log(g->at.env->log, SCR_LOG_INFO, "files of rank %d, dataset %d: %s", r,
            g->at.id, why->text);
}

/* 1 if every file of old rank r is here and good. */
static int has_data(struct scr_regrouping *g, int r)
{
    int n = 0;
    for (SCR_FILES(f, g->map, g->at.id, r)) {
        struct scr_err why = SCR_ERR_INIT;
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        if (!scr_meta_is_full(meta))
            continue;
        if (scr_verify_meta(g->at.env, path, meta, &why) != SCR_OK) {
            note_loss(g, r, &why);
            return 0;
        }
        n++;
    }
    return n == scr_filemap_num_expected_files(g->map, g->at.id, r);
}

/* 1 if old rank r's redundancy file has a good header, which is in head then. */
static int find_header(struct scr_regrouping *g, int r, struct scr_redhead *head)
{
    for (SCR_FILES(f, g->map, g->at.id, r)) {
        struct scr_err why = SCR_ERR_INIT;
        const char *path = f->item.name;
        if (!scr_regroup_is_redfile(g, r, path))
            continue;
        if (scr_restore_read_header(g->at.env, path, g->at.id, r, head, &why) == SCR_OK)
            return 1;
        note_loss(g, r, &why);
    }
    return 0;
}

int scr_regroup_is_redfile(const struct scr_regrouping *g, int r, const char *path)
{
    enum scr_scheme scheme;
    int member, n, set;
    const scr_meta *meta = scr_filemap_get_meta(g->map, g->at.id, r, path);
    return !scr_meta_is_full(meta) &&
           scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &set);
}

/* Entries that were only begun have no description and are not sent. */
static int look_at(struct scr_regrouping *g, int r, struct scr_parcels *send,
                   struct scr_err *err)
{
    struct scr_redhead head = { 0 };
    struct scr_setdesc known;
    int have = find_header(g, r, &head) ? SCR_HAVE_PARITY : 0;
    if (have)
        known = head.info.set;
    else
        scr_setdesc_get(scr_filemap_get_desc(g->map, g->at.id, r), &known);
    scr_redhead_fini(&head);
    if (known.n == 0)
        return SCR_OK;
    if (has_data(g, r))
        have |= SCR_HAVE_DATA;
    const struct scr_setjudge_told told = { .rank = r, .have = have };
    return scr_setjudge_tell(g->at.world, &known, &told, send, err);
}

static int look(struct scr_regrouping *g, struct scr_parcels *send, struct scr_err *err)
{
    for (SCR_ENTRIES(e, g->map, g->at.id))
        TRY(look_at(g, e->rank, send, err));
    return SCR_OK;
}

/* --- the rank that decides on a set --- */

static int check_members(const struct scr_regrouping *g, const struct scr_judged *set,
                         struct scr_err *err)
{
    for (int i = 0; i < set->n; i++)
        if (set->member[i].rank < 0 || set->member[i].rank >= g->ranks)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "dataset %d of %d ranks: a set of it names rank %d",
                            g->at.id, g->ranks, set->member[i].rank);
    return SCR_OK;
}

static int too_much(const struct scr_regrouping *g, const struct scr_judged *set,
                    struct scr_err *err)
{
    struct scr_str lost = SCR_STR_INIT, all = SCR_STR_INIT;
    for (int i = 0; i < set->n; i++) {
        const struct scr_judged_member *m = &set->member[i];
        scr_str_printf(&all, "%s%d", i > 0 ? "," : "", m->rank);
        if (!(m->have & SCR_HAVE_DATA))
            scr_str_printf(&lost, "%s%d", lost.len > 0 ? "," : "", m->rank);
    }
    char *who = scr_str_take(&lost), *of = scr_str_take(&all);
    int rc =
        scr_fail(err, SCR_E_LOST, 0,
                 "dataset %d: ranks %s of the set %s have lost files, more than %s "
                 "rebuilds",
                 g->at.id, who ? who : "?", of ? of : "?",
                 scr_scheme_name((enum scr_scheme)set->scheme));
    free(who);
    free(of);
    return rc;
}

static int check_left(const struct scr_regrouping *g, const struct scr_judged *set,
                      struct scr_err *err)
{
    int ok = 0;
    int rc = scr_setjudge_suffices(set, &ok, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "dataset %d", g->at.id);
    return rc != SCR_OK || ok ? rc : too_much(g, set, err);
}

/* What a holder is to do about an old rank. */
struct order {
    enum { PLAY, SHIP, SHIP_RED } what;
    int rank;
};

static int give(int holder, struct order o, struct scr_parcels *send,
                struct scr_err *err)
{
    return holder < 0 ? SCR_OK : scr_parcel_bytes(send, holder, &o, sizeof o, err);
}

static int judge(const struct scr_regrouping *g, const struct scr_judged *set,
                 struct scr_parcels *send, struct scr_err *err)
{
    int lost = scr_setjudge_lost(set) > 0;
    TRY(check_members(g, set, err));
    if (lost)
        TRY(check_left(g, set, err));
    for (int i = 0; i < set->n; i++) {
        const struct scr_judged_member *m = &set->member[i];
        TRY(give(m->data, (struct order){ PLAY, m->rank }, send, err));
        if (lost)
            TRY(give(m->data, (struct order){ SHIP, m->rank }, send, err));
        if (lost)
            TRY(give(m->parity, (struct order){ SHIP_RED, m->rank }, send, err));
    }
    return SCR_OK;
}

/* Receives all sets of this rank and decides on them; *members: how many old ranks they
 * have; *lost: how many of these are without data. */
static int judge_sets(struct scr_regrouping *g, const struct scr_parcels *told,
                      struct scr_parcels *send, uint64_t *members, uint64_t *lost,
                      struct scr_err *err)
{
    int rc = scr_setjudge_hear(told, &g->sets, err);
    for (SCR_EACH(struct scr_judged, set, &g->sets)) {
        if (rc == SCR_OK)
            rc = judge(g, set, send, err);
        if (rc != SCR_OK)
            break;
        *members += (uint64_t)set->n;
        *lost += (uint64_t)scr_setjudge_lost(set);
    }
    return rc;
}

/* --- all of it --- */

/* How many ranks wrote the dataset, as this rank's entries say; 0: they do not. */
static int recorded_ranks(const struct scr_regrouping *g)
{
    int ranks = 0;
    for (SCR_ENTRIES(e, g->map, g->at.id))
        ranks = ranks != 0 ? ranks : scr_redplace_get(e->desc).ranks;
    return ranks;
}

static int take_orders(struct scr_regrouping *g, const struct scr_parcels *orders,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < orders->n; i++) {
        const struct scr_str *bytes = &orders->of[i].bytes;
        struct order o;
        for (size_t at = 0; at < bytes->len && rc == SCR_OK; at += sizeof o) {
            memcpy(&o, bytes->p + at, sizeof o);
            rc = scr_ids_add(o.what == PLAY   ? &g->to_play
                             : o.what == SHIP ? &g->to_ship
                                              : &g->to_ship_red,
                             o.rank, err);
        }
    }
    return rc;
}

/* Results go back to the holders. Old ranks that no set names are those of sets nothing
 * is left of. */
static int order_all(struct scr_regrouping *g, const struct scr_parcels *told,
                     int *lost, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, orders = { 0 };
    struct scr_vote v = { .sum = { 0 } };
    int rc = judge_sets(g, told, &send, &v.sum[0], &v.sum[1], err);
    rc = scr_vote_all(g->at.world, rc, &v, err);
    *lost = v.sum[1] > 0;
    if (rc == SCR_OK && v.sum[0] != (uint64_t)g->ranks)
        rc = scr_fail(err, SCR_E_LOST, 0,
                      "dataset %d: of %d ranks %llu are left or can be rebuilt",
                      g->at.id, g->ranks, (unsigned long long)v.sum[0]);
    if (rc == SCR_OK)
        rc = scr_parcels_exchange_all(g->at.world, rc, &send, &orders, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(g->at.world, take_orders(g, &orders, err), err);
    scr_parcels_free(&send);
    scr_parcels_free(&orders);
    return rc;
}

int scr_regroup_find_all(struct scr_regrouping *g, int *lost, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, told = { 0 };
    g->ranks = (int)scr_max_all(g->at.world, recorded_ranks(g));
    if (g->ranks == 0)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", g->at.id);
    int rc =
        scr_parcels_exchange_all(g->at.world, look(g, &send, err), &send, &told, err);
    if (rc == SCR_OK) /* holders have told judges */
        rc = order_all(g, &told, lost, err);
    scr_parcels_free(&send);
    scr_parcels_free(&told);
    return scr_restore_doubt_all(g->at.world, rc, &g->unread, err);
}
