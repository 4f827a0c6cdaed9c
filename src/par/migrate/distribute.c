/* SPDX-License-Identifier: BSD-3-Clause */
/* Restart: files of a dataset to the nodes where their owners run now.
 *
 * Holders send owners their file lists (one sparse exchange). Then come passes until no
 * owner wants anything that a holder has: each owner asks the one holder that has most
 * of what it lacks for a batch, holders serve one owner a round, owners enter received
 * files in their filemap on disk and report it, holders remove them, unless they must
 * stay until the dataset is restored. Usually one pass; none if no rank moved. As a
 * file is removed only when its owner's filemap names the copy, the run may die
 * anywhere in between and the next one finds every file at one of the two, or at
 * both. */
#include "par/migrate/distribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "par/comm/ship.h"
#include "par/migrate/holdings.h"
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
    int stay;            /* holders keep what they gave away */
    struct offer *offer; /* what there is of ours, by ascending holder */
    size_t noffers;
    struct scr_table safe; /* rels of ours, in place, entered in the filemap on disk */
};

/* Our files at one holder. */
struct offer {
    int holder;
    struct scr_told told;   /* with the bytes found there, and what is recorded */
    struct scr_table tried; /* rels that could not be had there */
};

/* --- whether this is a dataset of ours --- */

/* Number of ranks that wrote the dataset, from rank's entry; 0: not recorded. */
static int recorded_ranks(const scr_filemap *map, int id, int rank)
{
    int ranks = scr_redplace_get(scr_filemap_get_desc(map, id, rank)).ranks;
    if (ranks != 0)
        return ranks;
    for (SCR_FILES(f, map, id, rank))
        if (scr_meta_get_int(scr_file_meta(f), SCR_META_RANKS, &ranks) == SCR_OK)
            return ranks;
    return 0;
}

static int check_ranks(const scr_filemap *map, int id, int size, struct scr_err *err)
{
    for (SCR_ENTRIES(e, map, id)) {
        int rank = e->rank, ranks = recorded_ranks(map, id, rank);
        if (ranks > 0 && ranks != size)
            return scr_fail(
                err, SCR_E_RANKS, 0,
                "dataset %d in cache was written by %d rank%s, this run has %d", id,
                ranks, scr_plural(ranks), size);
        if (rank < 0 || rank >= size)
            return scr_fail(
                err, SCR_E_RANKS, 0,
                "dataset %d in cache has files of rank %d, this run has %d rank%s", id,
                rank, size, scr_plural(size));
    }
    return SCR_OK;
}

/* Runs on nodes that have none in common may have given two datasets the same number.
 * Their files have the same names, so that they could not be distinguished later.
 * oldest, newest: of all ranks' entries. */
static int check_made(int id, int64_t oldest, int64_t newest, struct scr_err *err)
{
    if (newest == 0 || oldest == newest)
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "dataset %d in cache: the nodes hold parts of two datasets of this "
                    "number, which cannot be put together",
                    id);
}

int scr_check_one_dataset_all(const struct scr_comm *world, const scr_filemap *map,
                              int id, struct scr_err *err)
{
    int64_t oldest, newest;
    scr_filemap_made(map, id, &oldest, &newest);
    int64_t ends[] = { oldest, -newest };
    scr_mins_all(world, ends, 2);
    return check_made(id, ends[0], -ends[1], err);
}

/* --- what owners know --- */

/* Records about us in the entry of a holder, other than files (descriptors, number of
 * files), that ours lacks. */
static int adopt_entry(struct dist *d, const struct offer *o, struct scr_err *err)
{
    struct scr_entry *mine = scr_filemap_add_rank(d->h.map, d->h.id, d->h.me);
    return mine && scr_entry_adopt(mine, o->told.entry, &d->h.dirty) == SCR_OK
               ? SCR_OK
               : scr_no_memory(err);
}

static struct offer *offer_of(const struct dist *d, int holder)
{
    for (size_t i = 0; i < d->noffers; i++)
        if (d->offer[i].holder == holder)
            return &d->offer[i];
    return NULL;
}

/* The first of our files that holder has. */
static struct scr_file *first_at(const struct dist *d, int holder)
{
    const struct offer *o = offer_of(d, holder);
    return o != NULL ? (struct scr_file *)o->told.entry->files.first : NULL;
}

/* Meta data of our file rel from any other holder; NULL: none. */
static const scr_meta *meta_elsewhere(const struct dist *d, const char *rel)
{
    const scr_meta *meta = NULL;
    for (size_t i = 0; i < d->noffers && meta == NULL; i++)
        meta = scr_file_meta(scr_table_find(&d->offer[i].told.entry->files, rel));
    return meta;
}

/* A file that came to a node but was not entered any more, because the run died, has
 * its meta data elsewhere only: takes it over, wherever the file is taken from. If it
 * is not the one recorded, the holder does not have it. */
static int complete_offer(struct dist *d, struct offer *o, struct scr_file *f,
                          struct scr_err *err)
{
    uint64_t want = 0;
    const scr_meta *meta =
        scr_file_meta(f) != NULL ? NULL : meta_elsewhere(d, f->item.name);
    if (meta == NULL)
        return SCR_OK;
    if (scr_meta_get_filesize(meta, &want) == SCR_OK && f->meta.size != want)
        return scr_table_add(&o->tried, f->item.name) ? SCR_OK : scr_no_memory(err);
    scr_meta_copy(scr_file_need_meta(f, &o->told.entry->files), meta);
    return scr_table_ok(&o->told.entry->files) ? SCR_OK : scr_no_memory(err);
}

static int complete_offers(struct dist *d, struct scr_err *err)
{
    for (size_t i = 0; i < d->noffers; i++)
        for (SCR_EACH(struct scr_file, f, &d->offer[i].told.entry->files))
            TRY(complete_offer(d, &d->offer[i], f, err));
    return SCR_OK;
}

static int is_wanted(const struct dist *d, const struct offer *o, const char *rel)
{
    return scr_table_find(&d->safe, rel) == NULL &&
           scr_table_find(&o->tried, rel) == NULL;
}

/* 1 if the filemap knows more of our file at path than its name. */
static int is_entered(const struct dist *d, const char *path)
{
    uint64_t size;
    const scr_meta *meta = scr_filemap_get_meta(d->h.map, d->h.id, d->h.me, path);
    return scr_meta_get_filesize(meta, &size) == SCR_OK;
}

/* Sorts our own files into those in place (safe) and those that lie elsewhere on this
 * node (away). */
static int sort_own(struct dist *d, struct scr_table *away, struct scr_err *err)
{
    int rc = SCR_OK;
    for (struct scr_file *f = first_at(d, d->h.me); f != NULL && rc == SCR_OK;
         f = scr_file_next(f)) {
        const char *rel = f->item.name;
        const char *path = scr_holdings_path(&d->h, d->h.me, rel);
        const char *target = scr_holdings_target(&d->h, rel);
        TRY(path && target ? SCR_OK : scr_no_memory(err));
        if (!is_wanted(d, offer_of(d, d->h.me), rel))
            continue;
        int in_place = strcmp(path, target) == 0;
        if (scr_table_add(in_place ? &d->safe : away, rel) == NULL)
            return scr_no_memory(err);
        if (in_place && scr_file_meta(f) != NULL && !is_entered(d, target))
            rc = scr_holdings_enter(&d->h, rel, &f->meta, err);
    }
    return rc;
}

/* By rename, or as a copy where that is another file system (the source then goes at
 * the end, with all that are safe elsewhere). In both cases unchanged: restore finds
 * damaged files, and can rebuild them only if the rest came. */
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
    TRY(scr_err_take(err, rc, &why));
    TRY(scr_table_add(&d->safe, rel) != NULL ? SCR_OK : scr_no_memory(err));
    return scr_holdings_enter(&d->h, rel, meta, err);
}

static int settle_own(struct dist *d, struct scr_err *err)
{
    struct scr_table away = SCR_TABLE_OF(struct scr_item);
    int rc = sort_own(d, &away, err);
    if (rc == SCR_OK && away.n > 0)
        rc = scr_holdings_announce(&d->h, &away, err);
    for (SCR_EACH(struct scr_item, e, &away)) {
        const struct scr_table *mine = &offer_of(d, d->h.me)->told.entry->files;
        if (rc == SCR_OK)
            rc =
                move_own(d, e->name, scr_file_meta(scr_table_find(mine, e->name)), err);
    }
    for (size_t i = 0; i < d->noffers && rc == SCR_OK; i++)
        rc = adopt_entry(d, &d->offer[i], err);
    if (rc == SCR_OK)
        rc = scr_holdings_store(&d->h, err);
    scr_table_fini(&away);
    return rc;
}

static int take_offers(struct dist *d, const struct scr_parcels *in,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    d->offer = scr_calloc(in->n, sizeof *d->offer);
    TRY(d->offer ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < in->n && rc == SCR_OK; i++) {
        struct offer *o = &d->offer[d->noffers++];
        o->holder = in->of[i].rank;
        scr_table_init(&o->tried, sizeof(struct scr_item));
        rc = scr_told_take(&o->told, &in->of[i].bytes, d->h.id, d->h.me, err);
    }
    return rc;
}

/* Tells owners what this rank has for them; learns which of its files others have. rc:
 * of this rank until now. */
static int learn_all(struct dist *d, int rc, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    if (rc == SCR_OK)
        rc = scr_holdings_inspect(&d->h, &send, err);
    rc = scr_parcels_trade_all(d->world, rc, &send, &recv, err);
    scr_parcels_free(&send);
    if (rc == SCR_OK)
        rc = take_offers(d, &recv, err);
    scr_parcels_free(&recv);
    if (rc == SCR_OK)
        rc = complete_offers(d, err);
    if (rc == SCR_OK)
        rc = settle_own(d, err);
    return scr_agree_all(d->world, rc, err);
}

/* --- one pass --- */

/* The holder with most of what we lack, the lowest of equals; -1: none has any. */
static int choose_holder(const struct dist *d)
{
    int best = -1;
    size_t most = 0;
    for (size_t i = 0; i < d->noffers; i++) {
        const struct offer *o = &d->offer[i];
        size_t n = 0;
        for (SCR_EACH(struct scr_file, f, &o->told.entry->files))
            n += (size_t)(o->holder != d->h.me && is_wanted(d, o, f->item.name));
        if (n > most) {
            most = n;
            best = o->holder;
        }
    }
    return best;
}

/* A batch of files that a holder has and we lack, with the sizes that both sides
 * use. */
static int choose_files(const struct dist *d, const struct offer *o,
                        struct scr_table *wish, struct scr_err *err)
{
    uint64_t bytes = 0, most = (uint64_t)d->ship.slice * BATCH_MESSAGES;
    for (SCR_EACH(struct scr_file, f, &o->told.entry->files)) {
        uint64_t size = f->meta.size;
        if (!is_wanted(d, o, f->item.name))
            continue;
        if (wish->n > 0 && (size > most || bytes > most - size))
            break;
        bytes += size;
        struct scr_file *w = scr_table_add(wish, f->item.name);
        TRY(w ? SCR_OK : scr_no_memory(err));
        w->meta.size = size;
    }
    return SCR_OK;
}

/* A place in a list to be shipped for each file of a wish. */
static int make_list(int peer, const struct scr_table *wish, struct scr_ship_list *list,
                     struct scr_err *err)
{
    *list = (struct scr_ship_list){ .peer = peer };
    list->file = scr_calloc(wish->n, sizeof *list->file);
    return list->file != NULL ? SCR_OK : scr_no_memory(err);
}

static int list_ship(struct scr_ship_list *list, const struct scr_file *w,
                     const char *path, const scr_meta *meta)
{
    list->file[list->n++] =
        (struct scr_ship_file){ .path = path, .size = w->meta.size, .meta = meta };
    return path != NULL;
}

/* Files that owner asked for: sent from their place here. */
static int list_out(struct dist *d, int owner, const struct scr_table *wish,
                    struct scr_ship_list *list, struct scr_err *err)
{
    int rc = make_list(owner, wish, list, err);
    for (SCR_EACH(struct scr_file, w, wish)) {
        const char *rel = w->item.name;
        if (rc == SCR_OK &&
            !list_ship(list, w, scr_holdings_path(&d->h, owner, rel), NULL))
            rc = scr_fail(err, SCR_E_CORRUPT, 0, "rank %d wants %s, which is not here",
                          owner, rel);
    }
    return rc;
}

/* Files that we asked for: received into their place here. */
static int list_in(struct dist *d, const struct offer *o, const struct scr_table *wish,
                   struct scr_ship_list *list, struct scr_err *err)
{
    int rc = make_list(o->holder, wish, list, err);
    for (SCR_EACH(struct scr_file, w, wish)) {
        const char *rel = w->item.name;
        const scr_meta *meta =
            scr_file_meta(scr_table_find(&o->told.entry->files, rel));
        if (rc == SCR_OK && !list_ship(list, w, scr_holdings_target(&d->h, rel), meta))
            rc = scr_no_memory(err);
    }
    return rc;
}

/* The request of another rank. */
struct asked {
    int owner;
    struct scr_told told; /* with the sizes that both sides use */
};

/* What a rank does in a pass. */
struct pass {
    struct offer *holder; /* whom we ask, NULL: none */
    struct scr_told wish; /* for what */
    struct asked *asked;  /* in the order they are served, one a round */
    int nasked;
    int my_round; /* in which our holder serves us, -1: never */
    struct scr_ship_list in;
};

/* Owners above us first, then round: when all ranks moved by some ranks on, another
 * holder serves every rank in the first round. */
static int take_wishes(struct dist *d, struct pass *p, const struct scr_parcels *in,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    p->asked = scr_calloc(in->n, sizeof *p->asked);
    TRY(p->asked ? SCR_OK : scr_no_memory(err));
    for (int wrapped = 0; wrapped <= 1; wrapped++)
        for (size_t i = 0; i < in->n && rc == SCR_OK; i++) {
            int owner = in->of[i].rank;
            if ((owner < d->h.me) != wrapped)
                continue;
            struct asked *a = &p->asked[p->nasked++];
            a->owner = owner;
            rc = scr_told_take(&a->told, &in->of[i].bytes, d->h.id, owner, err);
        }
    return rc;
}

/* Sends wishes. */
static int ask_all(struct dist *d, struct pass *p, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    int rc = scr_told_new(&p->wish, d->h.id, d->h.me, err);
    if (rc == SCR_OK && p->holder != NULL)
        rc = choose_files(d, p->holder, &p->wish.entry->files, err);
    if (rc == SCR_OK && p->holder != NULL)
        rc = scr_told_post(&p->wish, p->holder->holder, &send, err);
    rc = scr_parcels_exchange_all(d->world, rc, &send, &recv, err);
    if (rc == SCR_OK)
        rc = take_wishes(d, p, &recv, err);
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc;
}

/* Tells each owner its round. The code is each rank's own. */
static int schedule_all(struct dist *d, struct pass *p, int rc, struct scr_err *err)
{
    struct scr_parcels send = { 0 }, recv = { 0 };
    for (int i = 0; i < p->nasked && rc == SCR_OK; i++)
        rc = scr_parcel_bytes(&send, p->asked[i].owner, &i, sizeof i, err);
    rc = scr_parcels_trade_all(d->world, rc, &send, &recv, err);
    p->my_round = -1;
    if (recv.n > 0 && recv.of[0].bytes.len == sizeof p->my_round) /* of our holder */
        memcpy(&p->my_round, recv.of[0].bytes.p, sizeof p->my_round);
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc;
}

/* Serves the k-th owner and takes our own batch if this is its round. */
static int run_round(struct dist *d, struct pass *p, int k, struct scr_err *err)
{
    struct scr_ship_list out = { .peer = MPI_PROC_NULL },
                         none = { .peer = MPI_PROC_NULL };
    int rc = SCR_OK, in_rc = SCR_OK;
    if (k < p->nasked)
        rc = list_out(d, p->asked[k].owner, &p->asked[k].told.entry->files, &out, err);
    /* Short of memory here, the owner must not wait: agreed before anything is sent. */
    rc = scr_agree_all(d->world, rc, err);
    if (rc == SCR_OK)
        in_rc = scr_ship_run(&d->ship, &out, k == p->my_round ? &p->in : &none, err);
    free(out.file);
    return scr_first(rc, in_rc);
}

static int rounds_all(struct dist *d, struct pass *p, int rc, struct scr_err *err)
{
    struct scr_vote v = { .least = { -p->nasked } };
    if (rc == SCR_OK && p->holder != NULL) {
        rc = list_in(d, p->holder, &p->wish.entry->files, &p->in, err);
        if (rc == SCR_OK)
            rc = scr_holdings_announce(&d->h, &p->wish.entry->files, err);
    }
    rc = scr_vote_all(d->world, rc, &v, err);
    for (int k = 0; k < -v.least[0] && rc == SCR_OK; k++)
        rc = scr_agree_all(d->world, run_round(d, p, k, err), err);
    return rc;
}

/* Enters what came, on disk; done gets it for the holder. Files that did not come are
 * not asked for there again. */
static int commit(struct dist *d, struct pass *p, struct scr_parcels *done,
                  struct scr_err *err)
{
    size_t i = 0;
    struct scr_told came;
    int rc = scr_told_new(&came, d->h.id, d->h.me, err);
    for (SCR_EACH(struct scr_file, w, &p->wish.entry->files)) {
        const char *rel = w->item.name;
        const struct scr_ship_file *f = &p->in.file[i++];
        if (rc == SCR_OK && scr_table_add(&p->holder->tried, rel) == NULL)
            rc = scr_no_memory(err);
        if (rc != SCR_OK || !f->whole)
            continue;
        rc = scr_holdings_enter(&d->h, rel, f->meta, err);
        if (rc == SCR_OK && (scr_table_add(&came.entry->files, rel) == NULL ||
                             scr_table_add(&d->safe, rel) == NULL))
            rc = scr_no_memory(err);
    }
    if (rc == SCR_OK)
        rc = scr_told_post(&came, p->holder->holder, done, err);
    scr_told_fini(&came);
    return rc == SCR_OK ? scr_holdings_store(&d->h, err) : rc;
}

/* Removes what owner says is safe with it. */
static int release(struct dist *d, int owner, const struct scr_str *bytes,
                   struct scr_err *err)
{
    struct scr_told done;
    int rc = scr_told_take(&done, bytes, d->h.id, owner, err);
    if (rc == SCR_OK)
        for (SCR_EACH(struct scr_file, f, &done.entry->files))
            scr_holdings_release(&d->h, owner, f->item.name, NULL);
    scr_told_fini(&done);
    return rc;
}

/* Owners say what is safe with them, holders remove it. rc: of this rank until now. */
static int release_all(struct dist *d, int rc, const struct scr_parcels *done,
                       struct scr_err *err)
{
    struct scr_parcels recv = { 0 };
    rc = scr_parcels_trade_all(d->world, rc, done, &recv, err);
    for (size_t i = 0; i < recv.n && rc == SCR_OK; i++)
        rc = release(d, recv.of[i].rank, &recv.of[i].bytes, err);
    scr_parcels_free(&recv);
    return scr_agree_all(d->world, rc, err);
}

static void pass_fini(struct pass *p)
{
    for (int i = 0; i < p->nasked; i++)
        scr_told_fini(&p->asked[i].told);
    free(p->asked);
    free(p->in.file);
    scr_told_fini(&p->wish);
}

static int pass_all(struct dist *d, int holder, struct scr_err *err)
{
    struct pass p = { .holder = offer_of(d, holder), .my_round = -1 };
    struct scr_parcels done = { 0 };
    int rc = ask_all(d, &p, err);
    rc = schedule_all(d, &p, rc, err);
    rc = rounds_all(d, &p, rc, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(d->world,
                           p.holder != NULL ? commit(d, &p, &done, err) : SCR_OK, err);
    if (rc == SCR_OK && !d->stay)
        rc = release_all(d, rc, &done, err);
    scr_parcels_free(&done);
    pass_fini(&p);
    return rc;
}

/* --- all of it --- */

/* Copies at other holders of files that are safe with us; *any: there is some. */
static int list_seconds(const struct dist *d, struct scr_parcels *list, int *any,
                        struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < d->noffers && rc == SCR_OK; i++) {
        const struct offer *o = &d->offer[i];
        struct scr_told l;
        if (o->holder == d->h.me)
            continue;
        rc = scr_told_new(&l, d->h.id, d->h.me, err);
        if (rc == SCR_OK)
            for (SCR_EACH(struct scr_file, f, &o->told.entry->files))
                if (scr_table_find(&d->safe, f->item.name) != NULL)
                    (void)scr_table_add(&l.entry->files, f->item.name);
        if (rc == SCR_OK && l.entry->files.n > 0) {
            *any = 1;
            rc = scr_told_post(&l, o->holder, list, err);
        }
        scr_told_fini(&l);
    }
    return rc;
}

/* Second copies go, or stay: *stayed says whether there are any. */
static int seconds_all(struct dist *d, int *stayed, struct scr_err *err)
{
    int any = 0;
    struct scr_parcels list = { 0 };
    int rc = list_seconds(d, &list, &any, err);
    struct scr_vote v = { .least = { -any } };
    rc = d->stay ? scr_vote_all(d->world, rc, &v, err) : release_all(d, rc, &list, err);
    if (d->stay)
        *stayed = v.least[0] != 0;
    scr_parcels_free(&list);
    return rc;
}

/* Those on our own node go in any case: they would be lost with it. The code is each
 * rank's own. */
static int finish_all(struct dist *d, int *stayed, struct scr_err *err)
{
    int rc = seconds_all(d, stayed, err);
    for (SCR_EACH(struct scr_item, s, &d->safe))
        if (rc == SCR_OK)
            scr_holdings_release(&d->h, d->h.me, s->name,
                                 scr_holdings_target(&d->h, s->name));
    return rc == SCR_OK ? scr_holdings_sweep(&d->h, err) : rc;
}

static int run_all(struct dist *d, const char *cache, int rc, int *stayed,
                   struct scr_err *err)
{
    rc = learn_all(d, rc, err);
    if (rc == SCR_OK && !d->stay) /* what they take up may be needed */
        rc = seconds_all(d, stayed, err);
    while (rc == SCR_OK) {
        int holder = choose_holder(d);
        if (!scr_or_all(d->world, holder >= 0))
            break;
        rc = pass_all(d, holder, err);
    }
    if (rc != SCR_OK)
        return rc;
    rc = finish_all(d, stayed, err);
    if (rc == SCR_OK) /* pruning may have taken empty directories of ours */
        rc = scr_cache_make(d->env, cache, d->h.id, d->h.me, err);
    return scr_agree_all(d->world, rc, err);
}

static int dist_init(struct dist *d, const char *cache, struct scr_err *err)
{
    scr_table_init(&d->safe, sizeof(struct scr_item));
    int rc = scr_holdings_init(&d->h, err);
    if (rc == SCR_OK && cache == NULL)
        rc = scr_no_memory(err);
    d->ship.tmp = d->h.tmp;
    if (rc == SCR_OK)
        rc = scr_ship_init(&d->ship, err);
    return rc;
}

static void dist_fini(struct dist *d)
{
    scr_ship_fini(&d->ship);
    scr_holdings_fini(&d->h);
    for (size_t i = 0; i < d->noffers; i++) {
        scr_told_fini(&d->offer[i].told);
        scr_table_fini(&d->offer[i].tried);
    }
    free(d->offer);
    scr_table_fini(&d->safe);
}

/* Bytes of a file in a message that is no longer than buf_max with its head. */
static int64_t pick_slice(size_t buf_max)
{
    int64_t most = buf_max < 1 << 30 ? (int64_t)buf_max : 1 << 30;
    return most > SCR_SHIP_HEAD ? most - SCR_SHIP_HEAD : 1;
}

static int distribute_all(const struct scr_moving *m, int id, const char *dset_dir,
                          size_t slice, int *stayed, struct scr_err *err)
{
    const struct scr_comm *world = m->world;
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
    d.ship = (struct scr_ship){ .env = m->env, .comm = world, .slice = slice };
    int rc = dist_init(&d, cache, err);
    if (rc == SCR_OK)
        rc = scr_cache_make(m->env, cache, id, world->rank, err);
    rc = run_all(&d, cache, rc, stayed, err);
    dist_fini(&d);
    free(cache);
    return rc;
}

/* The same on all ranks: 1 if there is nothing to do, and all seems to be there; 1 if
 * there is nothing to do; bytes of a message. */
struct survey {
    int whole, settled;
    size_t slice;
};

/* Checks before any change: whether this is one dataset, and of the same number of
 * ranks. */
static int survey_all(const struct scr_moving *m, int id, const char *dset_dir, int rc,
                      struct survey *found, struct scr_err *err)
{
    enum { OLDEST, NEWEST, SLICE, WHOLE, SETTLED };
    int64_t oldest, newest;
    if (rc == SCR_OK)
        rc = check_ranks(m->map, id, m->world->size, err);
    int me = m->world->rank;
    int settled =
        rc == SCR_OK && scr_holdings_are_settled(m->env, m->map, id, me, dset_dir);
    int whole = settled && scr_holdings_are_whole(m->env, m->map, id, me, dset_dir);
    scr_filemap_made(m->map, id, &oldest, &newest);
    struct scr_vote v = { .least = { [OLDEST] = oldest,
                                     [NEWEST] = -newest,
                                     [SLICE] = pick_slice(m->buf_max),
                                     [WHOLE] = whole,
                                     [SETTLED] = settled } };
    rc = scr_vote_all(m->world, rc, &v, err);
    found->whole = v.least[WHOLE] != 0;
    found->settled = v.least[SETTLED] != 0;
    found->slice = (size_t)v.least[SLICE];
    return rc == SCR_OK ? check_made(id, v.least[OLDEST], -v.least[NEWEST], err) : rc;
}

int scr_distribute_all(const struct scr_moving *m, int id, const char *dset_dir, int rc,
                       int *stayed, struct scr_err *err)
{
    struct survey found = { 0 };
    rc = survey_all(m, id, dset_dir, rc, &found, err);
    if (stayed != NULL)
        *stayed = 0;
    if (m->whole != NULL)
        *m->whole = found.whole;
    if (rc != SCR_OK || found.settled)
        return rc;
    rc = distribute_all(m, id, dset_dir, found.slice, stayed, err);
    if (rc != SCR_E_FULL || stayed == NULL)
        return rc;
    scr_log(m->env->log, SCR_LOG_INFO,
            "dataset %d: no room for its files both here and where they came from", id);
    scr_err_clear(err);
    *stayed = 0;
    return distribute_all(m, id, dset_dir, found.slice, NULL, err);
}
