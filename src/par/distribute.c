/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: files of a dataset to the nodes where their owners run now.
 *
 * Holders tell owners what they have (one sparse exchange). Then come passes until no
 * owner wants anything that somebody has: each owner asks the one holder that has most
 * of what it lacks for a batch, holders serve one owner a round, owners enter what
 * came in their filemap on disk and say so, holders remove it, unless it is to stay
 * until the dataset is restored. Usually one pass; none if nobody moved. As a file is
 * removed only when its owner's filemap names the copy, the run may die anywhere in
 * between and the next one finds every file at one of the two, or at both. */
#include "par/distribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/holdings.h"
#include "par/ship.h"
#include "store/cache.h"
#include "xfer/copy.h"

/* A pass moves at most this many messages' worth per owner, so that a node whose ranks
 * all swap places with another needs little more space than before (256 MiB with 128
 * KiB buffers). */
enum { BATCH_MESSAGES = 2048 };

struct dist {
    const struct scr_env *env;
    const struct scr_comm *world;
    struct scr_holdings h;
    struct scr_ship ship;
    int stay;         /* holders keep what they gave away */
    scr_hash *offers; /* {<holder>: {ENTRY, FILE/<rel>/{SIZE, META}}}: what there is of
                         ours */
    scr_hash *safe;   /* {<rel>}: ours, in place, entered in the filemap on disk */
    scr_hash *tried;  /* {<holder>: {<rel>}}: could not be had there */
};

static int no_memory(const struct dist *d, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "move files of dataset %d: out of memory",
                    d->h.id);
}

/* --- whether this is a dataset of ours --- */

/* Number of ranks that wrote the dataset, from rank's entry; 0: not recorded. */
static int recorded_ranks(const scr_filemap *map, int id, int rank)
{
    int ranks = 0;
    if (scr_hash_get_val_int(scr_filemap_get_desc(map, id, rank), "RANKS", &ranks))
        return ranks;
    for (scr_hash_elem *e = scr_filemap_first_file(map, id, rank); e != NULL;
         e = scr_hash_elem_next(e))
        if (scr_meta_get_ranks(scr_hash_get(scr_hash_elem_hash(e), "META"), &ranks) ==
            SCR_OK)
            return ranks;
    return 0;
}

static int check_ranks(const scr_filemap *map, int id, int size, struct scr_err *err)
{
    for (scr_hash_elem *e = scr_filemap_first_rank_by_dataset(map, id); e != NULL;
         e = scr_hash_elem_next(e)) {
        int rank = scr_hash_elem_key_int(e), ranks = recorded_ranks(map, id, rank);
        if (ranks > 0 && ranks != size)
            return scr_fail(
                err, SCR_E_RANKS, 0,
                "dataset %d in cache was written by %d ranks, this run has %d", id,
                ranks, size);
        if (rank < 0 || rank >= size)
            return scr_fail(
                err, SCR_E_RANKS, 0,
                "dataset %d in cache has files of rank %d, this run has %d ranks", id,
                rank, size);
    }
    return SCR_OK;
}

/* Runs on nodes that have none in common may have given two datasets the same number.
 * Their files have the same names, so that nobody could tell them apart later. */
int scr_check_one_dataset_all(const struct scr_comm *world, const scr_filemap *map,
                              int id, struct scr_err *err)
{
    int64_t oldest, newest;
    scr_filemap_made(map, id, &oldest, &newest);
    int64_t ends[] = { oldest, -newest };
    scr_mins_all(world, ends, 2);
    if (ends[1] == 0 || ends[0] == -ends[1])
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "dataset %d in cache: the nodes hold parts of two datasets of this "
                    "number, which cannot be put together",
                    id);
}

/* --- what owners know --- */

/* What the entry of a holder says about us besides files (descriptors, number of
 * files) and ours does not. */
static int adopt_entry(struct dist *d, const scr_hash *offer, struct scr_err *err)
{
    scr_filemap_add_rank(d->h.map, d->h.id, d->h.me);
    scr_hash *entry = scr_hash_getf(d->h.map, "RANK %d DSET %d", d->h.me, d->h.id);
    for (SCR_HASH_EACH(e, scr_hash_get(offer, "ENTRY"))) {
        const char *key = scr_hash_elem_key(e);
        if (scr_hash_get(entry, key) != NULL)
            continue;
        scr_hash *copy = scr_hash_dup(scr_hash_elem_hash(e));
        if (copy == NULL || scr_hash_set(entry, key, copy) == NULL)
            return no_memory(d, err);
        d->h.dirty = 1;
    }
    return entry != NULL ? SCR_OK : no_memory(d, err);
}

static scr_hash *files_at(const struct dist *d, int holder)
{
    return scr_hash_get(scr_hash_getf(d->offers, "%d", holder), "FILE");
}

static scr_hash *note(scr_hash *list, const char *rel)
{
    return scr_hash_set(list, rel, NULL);
}

/* Meta data of our file rel from any other holder; NULL: none. */
static const scr_meta *meta_elsewhere(const struct dist *d, const char *rel)
{
    for (SCR_HASH_EACH(o, d->offers)) {
        const scr_hash *files = scr_hash_get(scr_hash_elem_hash(o), "FILE");
        const scr_meta *meta = scr_hash_get(scr_hash_get(files, rel), "META");
        if (meta != NULL)
            return meta;
    }
    return NULL;
}

/* A file that came to a node but was not entered any more, because the run died, has
 * its meta data elsewhere only: takes it over, wherever the file is taken from. If it
 * is not the one recorded, it is not to be had there. */
static int complete_offer(struct dist *d, int holder, const char *rel, scr_hash *info,
                          struct scr_err *err)
{
    uint64_t have = 0, want = 0;
    const scr_meta *meta = scr_hash_get(info, "META") ? NULL : meta_elsewhere(d, rel);
    (void)scr_hash_get_val_u64(info, "SIZE", &have);
    if (meta == NULL)
        return SCR_OK;
    if (scr_meta_get_filesize(meta, &want) == SCR_OK && have != want)
        return note(scr_hash_setf(d->tried, NULL, "%d", holder), rel)
                   ? SCR_OK
                   : no_memory(d, err);
    scr_hash *copy = scr_hash_dup(meta);
    if (copy == NULL || scr_hash_set(info, "META", copy) == NULL)
        return no_memory(d, err);
    return SCR_OK;
}

static int complete_offers(struct dist *d, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(o, d->offers))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(o), "FILE")))
            if (rc == SCR_OK)
                rc = complete_offer(d, scr_hash_elem_key_int(o), scr_hash_elem_key(f),
                                    scr_hash_elem_hash(f), err);
    return rc;
}

static int is_wanted(const struct dist *d, int holder, const char *rel)
{
    return scr_hash_get(d->safe, rel) == NULL &&
           scr_hash_get(scr_hash_getf(d->tried, "%d", holder), rel) == NULL;
}

/* 1 if the filemap knows more of our file at path than its name. */
static int is_entered(const struct dist *d, const char *path)
{
    uint64_t size;
    const scr_meta *meta = scr_filemap_get_meta(d->h.map, d->h.id, d->h.me, path);
    return meta != NULL && scr_meta_get_filesize(meta, &size) == SCR_OK;
}

/* Sorts our own files into those in place (safe) and those that lie elsewhere on this
 * node (away). */
static int sort_own(struct dist *d, scr_hash *away, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, files_at(d, d->h.me))) {
        const char *rel = scr_hash_elem_key(e);
        const char *path = scr_holdings_path(&d->h, d->h.me, rel);
        const char *target = scr_holdings_target(&d->h, rel);
        if (path == NULL || target == NULL)
            return no_memory(d, err);
        if (!is_wanted(d, d->h.me, rel))
            continue;
        int in_place = strcmp(path, target) == 0;
        if (note(in_place ? d->safe : away, rel) == NULL)
            return no_memory(d, err);
        const scr_meta *meta = scr_hash_get(scr_hash_elem_hash(e), "META");
        if (in_place && meta != NULL && !is_entered(d, target))
            rc = scr_holdings_enter(&d->h, rel, meta, err);
        if (rc != SCR_OK)
            return rc;
    }
    return SCR_OK;
}

/* By rename, or as a copy where that is another file system (the source then goes at
 * the end, with all that are safe elsewhere). Either way as it is: restore finds what
 * is damaged, and can mend it only if the rest came. */
static int move_own(struct dist *d, const char *rel, const scr_meta *meta,
                    struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const char *from = scr_holdings_path(&d->h, d->h.me, rel);
    const char *to = scr_holdings_target(&d->h, rel);
    struct scr_copied got;
    struct scr_copy job = { .src = from,
                            .dst = to,
                            .tmp = d->h.tmp,
                            .buf = d->ship.slice,
                            .mode_or = S_IRUSR };
    int rc = scr_file_rename(d->env->sys, from, to, &why);
    if (rc != SCR_OK && why.sys == EXDEV) {
        scr_err_clear(&why);
        rc = scr_copy_file(d->env->sys, &job, &got, &why);
    }
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    if (note(d->safe, rel) == NULL)
        return no_memory(d, err);
    return scr_holdings_enter(&d->h, rel, meta, err);
}

static int settle_own(struct dist *d, struct scr_err *err)
{
    scr_hash *away = scr_hash_new();
    scr_hash *mine = files_at(d, d->h.me);
    int rc = away != NULL ? sort_own(d, away, err) : no_memory(d, err);
    if (rc == SCR_OK && scr_hash_size(away) > 0)
        rc = scr_holdings_announce(&d->h, away, err);
    for (SCR_HASH_EACH(e, away)) {
        const char *rel = scr_hash_elem_key(e);
        if (rc == SCR_OK)
            rc = move_own(d, rel, scr_hash_get(scr_hash_get(mine, rel), "META"), err);
    }
    for (SCR_HASH_EACH(o, d->offers))
        if (rc == SCR_OK)
            rc = adopt_entry(d, scr_hash_elem_hash(o), err);
    if (rc == SCR_OK)
        rc = scr_holdings_store(&d->h, err);
    scr_hash_delete(away);
    return rc;
}

/* Tells owners what this rank has for them; learns what others have of its own. */
static int learn_all(struct dist *d, struct scr_err *err)
{
    scr_hash *send = scr_hash_new();
    int rc = send != NULL ? scr_holdings_inspect(&d->h, send, err) : no_memory(d, err);
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(d->world, send, d->offers, err);
    scr_hash_delete(send);
    if (rc != SCR_OK)
        return rc;
    rc = complete_offers(d, err);
    if (rc == SCR_OK)
        rc = settle_own(d, err);
    return scr_agree_all(d->world, rc, err);
}

/* --- one pass --- */

/* The holder with most of what we lack, the lowest of equals; -1: nobody has any. */
static int choose_holder(const struct dist *d)
{
    int best = -1;
    size_t most = 0;
    for (SCR_HASH_EACH(o, d->offers)) {
        int holder = scr_hash_elem_key_int(o);
        size_t n = 0;
        for (SCR_HASH_EACH(f, files_at(d, holder)))
            n += holder != d->h.me && is_wanted(d, holder, scr_hash_elem_key(f));
        if (n > most) {
            most = n;
            best = holder;
        }
    }
    return best;
}

/* A batch of what holder has and we lack. */
static int choose_files(const struct dist *d, int holder, scr_hash *wish,
                        struct scr_err *err)
{
    uint64_t bytes = 0, most = (uint64_t)d->ship.slice * BATCH_MESSAGES;
    for (SCR_HASH_EACH(f, files_at(d, holder))) {
        uint64_t size = 0;
        const char *rel = scr_hash_elem_key(f);
        if (!is_wanted(d, holder, rel))
            continue;
        (void)scr_hash_get_val_u64(scr_hash_elem_hash(f), "SIZE", &size);
        if (scr_hash_size(wish) > 0 && (size > most || bytes > most - size))
            break;
        bytes += size;
        if (note(wish, rel) == NULL)
            return no_memory(d, err);
    }
    return SCR_OK;
}

/* Files of a wish as a list to be shipped: out from where we have them, in to their
 * targets. wish_size: sizes and meta data by rel. */
static int make_list(struct dist *d, int owner, int peer, const scr_hash *wish,
                     const scr_hash *known, struct scr_ship_list *list,
                     struct scr_err *err)
{
    *list = (struct scr_ship_list){ .peer = peer };
    if ((list->file = scr_calloc(scr_hash_size(wish), sizeof *list->file)) == NULL)
        return no_memory(d, err);
    for (SCR_HASH_EACH(e, wish)) {
        const char *rel = scr_hash_elem_key(e);
        const scr_hash *info = scr_hash_get(known, rel);
        struct scr_ship_file *f = &list->file[list->n++];
        f->path = owner == d->h.me ? scr_holdings_target(&d->h, rel)
                                   : scr_holdings_path(&d->h, owner, rel);
        f->meta = scr_hash_get(info, "META");
        if (f->path == NULL || !scr_hash_get_val_u64(info, "SIZE", &f->size))
            return scr_fail(err, SCR_E_CORRUPT, 0,
                            "rank %d wants %s, which is not here", owner, rel);
    }
    return SCR_OK;
}

/* What a rank does in a pass. */
struct pass {
    int holder;      /* whom we ask, -1: nobody */
    scr_hash *wish;  /* {<rel>}: for what */
    scr_hash *asked; /* {<owner>: {<rel>/{SIZE}}}: what others ask of us */
    int *owner;      /* in the order they are served, one a round */
    int nowners;
    int my_round; /* in which our holder serves us, -1: never */
    struct scr_ship_list in;
};

/* Sends wishes, with the sizes both sides go by. */
static int ask_all(struct dist *d, struct pass *p, struct scr_err *err)
{
    scr_hash *send = scr_hash_new();
    int rc = send != NULL ? SCR_OK : no_memory(d, err);
    if (rc == SCR_OK && p->holder >= 0)
        rc = choose_files(d, p->holder, p->wish, err);
    scr_hash *slot = p->holder >= 0 ? scr_hash_setf(send, NULL, "%d", p->holder) : NULL;
    for (SCR_HASH_EACH(e, p->wish)) {
        const char *rel = scr_hash_elem_key(e);
        uint64_t size = 0;
        (void)scr_hash_get_val_u64(scr_hash_get(files_at(d, p->holder), rel), "SIZE",
                                   &size);
        scr_hash_set_val_u64(scr_hash_below(slot, rel), "SIZE", size);
    }
    if (rc == SCR_OK && p->holder >= 0 && (slot == NULL || !scr_hash_ok(send)))
        rc = no_memory(d, err);
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(d->world, send, p->asked, err);
    scr_hash_delete(send);
    return rc;
}

/* Owners above us first, then round: when all ranks moved by some ranks on, everybody
 * is served in the first round by somebody else. Tells each owner its round. */
static int schedule(struct dist *d, struct pass *p, scr_hash *send, struct scr_err *err)
{
    int n = 0;
    p->owner = scr_calloc(scr_hash_size(p->asked), sizeof *p->owner);
    if (p->owner == NULL)
        return no_memory(d, err);
    for (int wrapped = 0; wrapped <= 1; wrapped++)
        for (SCR_HASH_EACH(e, p->asked)) {
            int owner = scr_hash_elem_key_int(e);
            if ((owner < d->h.me) == wrapped)
                p->owner[n++] = owner;
        }
    p->nowners = n;
    for (int i = 0; i < n; i++)
        if (scr_hash_set_val_i64(scr_hash_setf(send, NULL, "%d", p->owner[i]), "ROUND",
                                 i) == NULL)
            return no_memory(d, err);
    return SCR_OK;
}

static int schedule_all(struct dist *d, struct pass *p, struct scr_err *err)
{
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new();
    int rc = send && recv ? schedule(d, p, send, err) : no_memory(d, err);
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(d->world, send, recv, err);
    p->my_round = -1;
    if (rc == SCR_OK && p->holder >= 0)
        (void)scr_hash_get_val_int(scr_hash_getf(recv, "%d", p->holder), "ROUND",
                                   &p->my_round);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    return rc;
}

/* Serves the k-th owner and takes our own batch if this is its round. */
static int run_round(struct dist *d, struct pass *p, int k, struct scr_err *err)
{
    struct scr_ship_list out = { .peer = MPI_PROC_NULL },
                         none = { .peer = MPI_PROC_NULL };
    int rc = SCR_OK, in_rc = SCR_OK;
    if (k < p->nowners) {
        const scr_hash *wish = scr_hash_getf(p->asked, "%d", p->owner[k]);
        rc = make_list(d, p->owner[k], p->owner[k], wish, wish, &out, err);
    }
    /* Short of memory here, the owner must not wait: agreed before anything is sent. */
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        in_rc = scr_ship_run(&d->ship, &out, k == p->my_round ? &p->in : &none, SCR_OK,
                             err);
    free(out.file);
    return rc == SCR_OK ? in_rc : rc;
}

static int rounds_all(struct dist *d, struct pass *p, struct scr_err *err)
{
    int rc = SCR_OK;
    int rounds = (int)scr_max_all(d->world, p->nowners);
    if (p->holder >= 0) {
        rc = make_list(d, d->h.me, p->holder, p->wish, files_at(d, p->holder), &p->in,
                       err);
        if (rc == SCR_OK)
            rc = scr_holdings_announce(&d->h, p->wish, err);
    }
    rc = scr_agree_all(d->world, rc, err);
    for (int k = 0; k < rounds && rc == SCR_OK; k++)
        rc = scr_agree_all(d->world, run_round(d, p, k, err), err);
    return rc;
}

/* Enters what came, on disk; done gets it for the holder. What did not come is not
 * asked for there again. */
static int commit(struct dist *d, struct pass *p, scr_hash *done, struct scr_err *err)
{
    size_t i = 0;
    scr_hash *slot = scr_hash_setf(done, NULL, "%d", p->holder);
    scr_hash *tried = scr_hash_setf(d->tried, NULL, "%d", p->holder);
    int rc = slot != NULL && tried != NULL ? SCR_OK : no_memory(d, err);
    for (SCR_HASH_EACH(e, p->wish)) {
        const char *rel = scr_hash_elem_key(e);
        const struct scr_ship_file *f = &p->in.file[i++];
        if (rc == SCR_OK && note(tried, rel) == NULL)
            rc = no_memory(d, err);
        if (rc != SCR_OK || !f->whole)
            continue;
        rc = scr_holdings_enter(&d->h, rel, f->meta, err);
        if (rc == SCR_OK && (note(slot, rel) == NULL || note(d->safe, rel) == NULL))
            rc = no_memory(d, err);
    }
    return rc == SCR_OK ? scr_holdings_store(&d->h, err) : rc;
}

/* Owners say what is safe with them, holders remove it. */
static int release_all(struct dist *d, const scr_hash *done, struct scr_err *err)
{
    scr_hash *recv = scr_hash_new();
    int rc = scr_agree_all(d->world, recv ? SCR_OK : no_memory(d, err), err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(d->world, done, recv, err);
    for (SCR_HASH_EACH(o, recv))
        for (SCR_HASH_EACH(f, scr_hash_elem_hash(o)))
            if (rc == SCR_OK)
                scr_holdings_release(&d->h, scr_hash_elem_key_int(o),
                                     scr_hash_elem_key(f), NULL);
    scr_hash_delete(recv);
    return rc;
}

static int pass_all(struct dist *d, int holder, struct scr_err *err)
{
    struct pass p = { .holder = holder, .my_round = -1 };
    scr_hash *done = scr_hash_new();
    p.wish = scr_hash_new();
    p.asked = scr_hash_new();
    int rc = done && p.wish && p.asked ? SCR_OK : no_memory(d, err);
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        rc = ask_all(d, &p, err);
    if (rc == SCR_OK)
        rc = schedule_all(d, &p, err);
    if (rc == SCR_OK)
        rc = rounds_all(d, &p, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(d->world, holder >= 0 ? commit(d, &p, done, err) : SCR_OK,
                           err);
    if (rc == SCR_OK && !d->stay)
        rc = release_all(d, done, err);
    free(p.in.file);
    free(p.owner);
    scr_hash_delete(p.wish);
    scr_hash_delete(p.asked);
    scr_hash_delete(done);
    return rc;
}

/* --- all of it --- */

/* What other holders still have of files that are safe with us. */
static int list_seconds(const struct dist *d, scr_hash *list, struct scr_err *err)
{
    for (SCR_HASH_EACH(o, d->offers)) {
        int holder = scr_hash_elem_key_int(o);
        for (SCR_HASH_EACH(f, files_at(d, holder))) {
            const char *rel = scr_hash_elem_key(f);
            if (holder != d->h.me && scr_hash_get(d->safe, rel) != NULL)
                note(scr_hash_setf(list, NULL, "%d", holder), rel);
        }
    }
    return scr_hash_ok(list) ? SCR_OK : no_memory(d, err);
}

/* Second copies go, or stay: *stayed says whether there are any. */
static int seconds_all(struct dist *d, int *stayed, struct scr_err *err)
{
    scr_hash *list = scr_hash_new();
    int rc = list != NULL ? list_seconds(d, list, err) : no_memory(d, err);
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK && d->stay)
        *stayed = scr_or_all(d->world, scr_hash_size(list) > 0);
    else if (rc == SCR_OK)
        rc = release_all(d, list, err);
    scr_hash_delete(list);
    return rc;
}

/* Those on our own node go in any case: they would be lost with it. */
static int finish_all(struct dist *d, int *stayed, struct scr_err *err)
{
    int rc = seconds_all(d, stayed, err);
    for (SCR_HASH_EACH(s, d->safe))
        if (rc == SCR_OK)
            scr_holdings_release(&d->h, d->h.me, scr_hash_elem_key(s),
                                 scr_holdings_target(&d->h, scr_hash_elem_key(s)));
    return rc == SCR_OK ? scr_agree_all(d->world, scr_holdings_sweep(&d->h, err), err)
                        : rc;
}

static int run_all(struct dist *d, const char *cache, int *stayed, struct scr_err *err)
{
    int rc = learn_all(d, err);
    if (rc == SCR_OK && !d->stay) /* what they take up may be needed */
        rc = seconds_all(d, stayed, err);
    while (rc == SCR_OK) {
        int holder = choose_holder(d);
        if (!scr_or_all(d->world, holder >= 0))
            break;
        rc = pass_all(d, holder, err);
    }
    if (rc == SCR_OK)
        rc = finish_all(d, stayed, err);
    if (rc == SCR_OK) /* pruning may have taken empty directories of ours */
        rc = scr_agree_all(d->world,
                           scr_cache_make(d->env, cache, d->h.id, d->h.me, err), err);
    return rc;
}

static int dist_init(struct dist *d, const char *cache, struct scr_err *err)
{
    d->offers = scr_hash_new();
    d->safe = scr_hash_new();
    d->tried = scr_hash_new();
    int rc = scr_holdings_init(&d->h, err);
    if (rc == SCR_OK && (cache == NULL || !d->offers || !d->safe || !d->tried))
        rc = no_memory(d, err);
    d->ship.tmp = d->h.tmp;
    if (rc == SCR_OK)
        rc = scr_ship_init(&d->ship, err);
    return rc;
}

static void dist_fini(struct dist *d)
{
    scr_ship_fini(&d->ship);
    scr_holdings_fini(&d->h);
    scr_hash_delete(d->offers);
    scr_hash_delete(d->safe);
    scr_hash_delete(d->tried);
}

/* Bytes of a file in a message that is no longer than buf_max with its head. */
static int64_t pick_slice(size_t buf_max)
{
    int64_t most = buf_max < 1 << 30 ? (int64_t)buf_max : 1 << 30;
    return most > SCR_SHIP_HEAD ? most - SCR_SHIP_HEAD : 1;
}

static int distribute_all(const struct scr_moving *m, int id, const char *dset_dir,
                          int *stayed, struct scr_err *err)
{
    const struct scr_comm *world = m->world;
    int64_t slice = scr_min_all(world, pick_slice(m->buf_max));
    char *cache = scr_path_dir(dset_dir);
    struct dist d = { .env = m->env, .world = world, .stay = stayed != NULL };
    if (stayed == NULL && m->released != NULL)
        *m->released = 1;
    d.h = (struct scr_holdings){ .env = m->env,
                                 .cntl = m->cntl,
                                 .map = m->map,
                                 .id = id,
                                 .me = world->rank,
                                 .dset_dir = dset_dir };
    d.ship = (struct scr_ship){ .env = m->env, .comm = world, .slice = (size_t)slice };
    int rc = dist_init(&d, cache, err);
    if (rc == SCR_OK)
        rc = scr_cache_make(m->env, cache, id, world->rank, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = run_all(&d, cache, stayed, err);
    dist_fini(&d);
    free(cache);
    return rc;
}

int scr_distribute_all(const struct scr_moving *m, int id, const char *dset_dir,
                       int *stayed, struct scr_err *err)
{
    int rc = scr_agree_all(m->world, check_ranks(m->map, id, m->world->size, err), err);
    if (rc == SCR_OK)
        rc = scr_check_one_dataset_all(m->world, m->map, id, err);
    if (rc != SCR_OK)
        return rc;
    if (stayed != NULL)
        *stayed = 0;
    rc = distribute_all(m, id, dset_dir, stayed, err);
    if (rc != SCR_E_FULL || stayed == NULL)
        return rc;
    scr_log(m->env->log, SCR_LOG_INFO,
            "dataset %d: no room for its files both here and where they came from", id);
    scr_err_clear(err);
    *stayed = 0;
    return distribute_all(m, id, dset_dir, NULL, err);
}
