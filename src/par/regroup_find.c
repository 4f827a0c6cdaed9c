/* SPDX-License-Identifier: BSD-3-Clause */
/* Regroup, first part: what the nodes still have of the old ranks' files. Each set is
 * judged by one rank, which is told by the holders and tells them what to do. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "par/redset.h"
#include "par/regrouping.h"
#include "par/restoring.h"
#include "par/setjudge.h"
#include "par/verify.h"

/* --- what this rank has --- */

static void note_loss(struct scr_regrouping *g, int r, const struct scr_err *why)
{
    if (scr_err_may_pass(why->code))
        g->unread = *why;
    scr_log(g->env->log, SCR_LOG_INFO, "files of rank %d, dataset %d: %s", r, g->id,
            why->text);
}

static int verify_meta(const struct scr_regrouping *g, const char *path,
                       const scr_meta *meta, struct scr_err *err)
{
    uint64_t size = 0;
    uint32_t crc = 0;
    int has_size = scr_meta_get_filesize(meta, &size) == SCR_OK;
    int has_crc = scr_meta_get_crc32(meta, &crc) == SCR_OK;
    return scr_verify_file(g->env, path, has_size ? &size : NULL, has_crc ? &crc : NULL,
                           err);
}

/* 1 if every file of old rank r is here and good. */
static int has_data(struct scr_regrouping *g, int r)
{
    int n = 0;
    for (struct scr_file *f = scr_filemap_first_file(g->map, g->id, r); f;
         f = scr_file_next(f)) {
        struct scr_err why = SCR_ERR_INIT;
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        if (scr_meta_check_filetype(meta, "FULL") != SCR_OK)
            continue;
        if (verify_meta(g, path, meta, &why) != SCR_OK) {
            note_loss(g, r, &why);
            return 0;
        }
        n++;
    }
    return n == scr_filemap_num_expected_files(g->map, g->id, r);
}

/* 1 if old rank r's redundancy file has a good header, which is in head then. */
static int find_header(struct scr_regrouping *g, int r, struct scr_redhead *head)
{
    for (struct scr_file *f = scr_filemap_first_file(g->map, g->id, r); f;
         f = scr_file_next(f)) {
        struct scr_err why = SCR_ERR_INIT;
        const char *path = f->item.name;
        if (!scr_regroup_is_redfile(g, r, path))
            continue;
        if (scr_restore_read_header(g->env, path, g->id, r, head, &why) == SCR_OK)
            return 1;
        note_loss(g, r, &why);
    }
    return 0;
}

int scr_regroup_is_redfile(const struct scr_regrouping *g, int r, const char *path)
{
    enum scr_scheme scheme;
    int member, n, set;
    const scr_meta *meta = scr_filemap_get_meta(g->map, g->id, r, path);
    return scr_meta_check_filetype(meta, "FULL") != SCR_OK &&
           scr_redfile_parse(scr_path_base(path), &scheme, &member, &n, &set);
}

/* What was only begun there is not described, and nothing is told of it. */
static int look_at(struct scr_regrouping *g, int r, scr_hash *send, struct scr_err *err)
{
    struct scr_redhead head = { 0 };
    scr_hash *known = NULL;
    int have = find_header(g, r, &head) ? SCR_HAVE_PARITY : 0;
    int rc = scr_restore_describe(
        have ? head.set : scr_filemap_get_desc(g->map, g->id, r), &known, err);
    if (known != NULL && has_data(g, r))
        have |= SCR_HAVE_DATA;
    const struct scr_setjudge_told told = { "", r, have };
    if (known != NULL)
        rc = scr_setjudge_tell(g->world, known, &told, send, err);
    scr_hash_delete(known);
    scr_redhead_fini(&head);
    return rc;
}

static int look(struct scr_regrouping *g, scr_hash *send, struct scr_err *err)
{
    int *ranks = NULL, n = 0;
    int rc = scr_filemap_list_ranks_by_dataset(g->map, g->id, &n, &ranks);
    if (rc != SCR_OK)
        scr_regroup_no_memory(g, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = look_at(g, ranks[i], send, err);
    free(ranks);
    return rc;
}

/* --- the judge of a set --- */

/* The lowest holder of what there is twice, after a run that died while files moved. */
static void note_holder(scr_hash *rank, const char *what, int holder)
{
    int before = holder;
    (void)scr_hash_get_val_int(rank, what, &before);
    scr_hash_set_val_i64(rank, what, holder < before ? holder : before);
}

/* What one holder said of one set. */
static int hear_set(struct scr_regrouping *g, int holder, const char *name,
                    const scr_hash *said, struct scr_err *err)
{
    scr_hash *set = scr_hash_setf(g->sets, NULL, "%s", name);
    scr_hash *desc = scr_hash_setf(set, NULL, "DESC");
    if (scr_hash_size(desc) == 0 &&
        scr_hash_merge(desc, scr_hash_get(said, "DESC")) != SCR_OK)
        return scr_regroup_no_memory(g, err);
    for (SCR_HASH_EACH(e, scr_hash_get(said, "RANK"))) {
        int have = 0;
        scr_hash *rank = scr_hash_setf(set, NULL, "RANK %s", scr_hash_elem_key(e));
        (void)scr_hash_get_val_int(scr_hash_elem_hash(e), "HAVE", &have);
        if (have & SCR_HAVE_DATA)
            note_holder(rank, "DATA", holder);
        if (have & SCR_HAVE_PARITY)
            note_holder(rank, "PARITY", holder);
    }
    return scr_hash_ok(set) ? SCR_OK : scr_regroup_no_memory(g, err);
}

static int hear(struct scr_regrouping *g, const scr_hash *recv, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(h, recv))
        for (SCR_HASH_EACH(s, scr_hash_elem_hash(h)))
            if (rc == SCR_OK)
                rc = hear_set(g, scr_hash_elem_key_int(h), scr_hash_elem_key(s),
                              scr_hash_elem_hash(s), err);
    return rc;
}

/* A set before its judge. */
struct bench {
    scr_hash *set;
    int *members, n;
    int *have; /* SCR_HAVE_* of each */
    int lost;  /* members without data */
};

static int open_bench(const struct scr_regrouping *g, scr_hash *set, struct bench *b,
                      struct scr_err *err)
{
    *b = (struct bench){ .set = set };
    int rc = scr_restore_members(scr_hash_get(set, "DESC"), &b->members, &b->n, err);
    if (rc != SCR_OK)
        return rc;
    b->have = scr_calloc((size_t)b->n, sizeof *b->have);
    if (b->have == NULL)
        return scr_regroup_no_memory(g, err);
    for (int i = 0; i < b->n; i++) {
        const scr_hash *rank = scr_hash_getf(set, "RANK %d", b->members[i]);
        if (b->members[i] < 0 || b->members[i] >= g->ranks)
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "dataset %d of %d ranks: a set of it names rank %d", g->id,
                            g->ranks, b->members[i]);
        b->have[i] = (scr_hash_get(rank, "DATA") ? SCR_HAVE_DATA : 0) |
                     (scr_hash_get(rank, "PARITY") ? SCR_HAVE_PARITY : 0);
        b->lost += !(b->have[i] & SCR_HAVE_DATA);
    }
    return SCR_OK;
}

static void close_bench(struct bench *b)
{
    free(b->members);
    free(b->have);
}

static int too_much(const struct scr_regrouping *g, const struct bench *b,
                    struct scr_err *err)
{
    struct scr_str lost = SCR_STR_INIT, all = SCR_STR_INIT;
    for (int i = 0; i < b->n; i++) {
        scr_str_printf(&all, "%s%d", i > 0 ? "," : "", b->members[i]);
        if (!(b->have[i] & SCR_HAVE_DATA))
            scr_str_printf(&lost, "%s%d", lost.len > 0 ? "," : "", b->members[i]);
    }
    char *who = scr_str_take(&lost), *of = scr_str_take(&all);
    int rc =
        scr_fail(err, SCR_E_LOST, 0,
                 "dataset %d: ranks %s of the set %s have lost files, more than %s "
                 "rebuilds",
                 g->id, who ? who : "?", of ? of : "?",
                 scr_hash_get_val(scr_hash_get(b->set, "DESC"), "TYPE"));
    free(who);
    free(of);
    return rc;
}

static int check_left(const struct scr_regrouping *g, const struct bench *b,
                      struct scr_err *err)
{
    int ok = 0;
    int rc =
        scr_setjudge_suffices(scr_hash_get(b->set, "DESC"), b->n, b->have, &ok, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "dataset %d", g->id);
    return rc != SCR_OK || ok ? rc : too_much(g, b, err);
}

/* Adds to what holder is to do. */
static void order(scr_hash *send, const scr_hash *rank, const char *from,
                  const char *what, int r)
{
    const char *holder = scr_hash_get_val(rank, from);
    if (holder != NULL)
        scr_hash_setf(send, NULL, "%s %s %d", holder, what, r);
}

static int judge(const struct scr_regrouping *g, struct bench *b, scr_hash *send,
                 struct scr_err *err)
{
    int rc = b->lost ? check_left(g, b, err) : SCR_OK;
    for (int i = 0; i < b->n && rc == SCR_OK; i++) {
        int r = b->members[i];
        const scr_hash *rank = scr_hash_getf(b->set, "RANK %d", r);
        order(send, rank, "DATA", "PLAY", r);
        if (b->lost) {
            order(send, rank, "DATA", "SHIP", r);
            order(send, rank, "PARITY", "RED", r);
        }
    }
    if (b->lost)
        scr_hash_set_val(b->set, "LOST", "1");
    return rc == SCR_OK && !(scr_hash_ok(send) && scr_hash_ok(b->set))
               ? scr_regroup_no_memory(g, err)
               : rc;
}

/* Judges all sets of this rank; *members: how many old ranks they have; *lost: whether
 * any has lost something. */
static int judge_sets(const struct scr_regrouping *g, scr_hash *send, uint64_t *members,
                      int *lost, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, g->sets)) {
        struct bench b = { 0 };
        if (rc == SCR_OK)
            rc = open_bench(g, scr_hash_elem_hash(e), &b, err);
        if (rc == SCR_OK)
            rc = judge(g, &b, send, err);
        *members += (uint64_t)b.n;
        *lost = *lost || b.lost > 0;
        close_bench(&b);
    }
    return rc;
}

/* --- all of it --- */

/* How many ranks wrote the dataset, as this rank's entries say; 0: they do not. */
static int recorded_ranks(const struct scr_regrouping *g)
{
    int ranks = 0;
    for (SCR_ENTRIES(e, g->map, g->id))
        if (scr_hash_get_val_int(e->desc, "RANKS", &ranks))
            return ranks;
    return 0;
}

/* Holders tell judges. */
static int tell_all(struct scr_regrouping *g, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? look(g, send, err) : scr_regroup_no_memory(g, err);
    rc = scr_agree_all(g->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(g->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(g->world, hear(g, recv, err), err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

static int take_orders(struct scr_regrouping *g, const scr_hash *recv,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, recv))
        if (rc == SCR_OK)
            rc = scr_hash_merge(g->orders, scr_hash_elem_hash(e));
    return rc == SCR_OK ? rc : scr_regroup_no_memory(g, err);
}

/* Judges tell holders. Old ranks that no set names are those of sets nothing is left
 * of. */
static int order_all(struct scr_regrouping *g, int *lost, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    uint64_t members = 0;
    *lost = 0;
    int rc = send && recv ? judge_sets(g, send, &members, lost, err)
                          : scr_regroup_no_memory(g, err);
    rc = scr_agree_all(g->world, rc, err);
    *lost = scr_or_all(g->world, *lost);
    members = scr_sum_all(g->world, members);
    if (rc == SCR_OK && members != (uint64_t)g->ranks)
        rc = scr_fail(err, SCR_E_LOST, 0,
                      "dataset %d: of %d ranks %llu are left or can be rebuilt", g->id,
                      g->ranks, (unsigned long long)members);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(g->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(g->world, take_orders(g, recv, err), err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

int scr_regroup_find_all(struct scr_regrouping *g, int *lost, struct scr_err *err)
{
    g->ranks = (int)scr_max_all(g->world, recorded_ranks(g));
    if (g->ranks == 0)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", g->id);
    int rc = tell_all(g, err);
    if (rc == SCR_OK)
        rc = order_all(g, lost, err);
    return scr_restore_doubt_all(g->world, rc, &g->unread, err);
}
