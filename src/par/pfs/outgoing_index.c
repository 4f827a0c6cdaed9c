/* SPDX-License-Identifier: BSD-3-Clause */
/* The index as a flush begins: its own entry, and those whose files it replaces. */
#include "par/pfs/outgoing.h"

#include <stdlib.h>
#include <time.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/str.h"
#include "fmt/dataset.h"
#include "par/pfs/lists.h"
#include "store/arrival.h"
#include "store/deletion.h"
#include "store/demote.h"
#include "store/paths.h"
#include "store/replaced.h"
#include "store/replacing.h"
#include "store/scavenged.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

/* --- whose the files are that are about to be replaced --- */

/* Other datasets, the same on all ranks: pending ones, which the processes that still
 * copy them may yet complete, and complete ones, newest first, with those that an index
 * would call so that is rebuilt. */
struct others {
    int *ids;
    size_t n;
    size_t pending;   /* the first ones of them; on rank 0 only */
    uint64_t *hits;   /* how many of our destinations each lists; NULL: not asked */
    uint64_t *unsure; /* how many ranks do not know: its list is damaged or gone, */
    uint64_t *newer;  /* or, among these, of a newer version; both in one with hits */
};

static int add_id(struct others *o, int id, struct scr_err *err)
{
    int *more = scr_reallocarray(o->ids, o->n + 1, sizeof *more);
    TRY(more ? SCR_OK : scr_no_memory(err));
    o->ids = more;
    o->ids[o->n++] = id;
    return SCR_OK;
}

static int read_index(const struct scr_outgoing *f, struct scr_index *index,
                      struct scr_err *err)
{
    return scr_prefix_index_read(f->at.env, f->at.prefix, index, err);
}

/* Newer ones with all files are completed before they are asked for their files
 * (invariant P15); then the index is read once more. */
static int list_pending(const struct scr_outgoing *f, struct scr_index *index,
                        struct others *o, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_arrivals_pending(f->at.env, f->at.prefix, index, &ids, &n, err));
    if (n > 0 && ids[n - 1] > f->at.id) {
        (void)scr_arrivals_adopt(f->at.env, f->at.prefix, NULL, NULL);
        free(ids);
        ids = NULL;
        scr_index_fini(index);
        TRY_OUT(read_index(f, index, err));
        TRY_OUT(scr_arrivals_pending(f->at.env, f->at.prefix, index, &ids, &n, err));
    }
    for (size_t i = 0; i < n; i++)
        if (ids[i] != f->at.id)
            TRY_OUT(add_id(o, ids[i], err));
out:
    o->pending = o->n;
    free(ids);
    return rc;
}

/* A demotion that died before the summary was removed is finished by this flush, if it
 * replaces files of that one. */
static int list_claimed(const struct scr_outgoing *f, const struct scr_index *index,
                        struct others *o, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = SCR_OK;
    if (scr_paths_claimed(f->at.env, f->at.prefix, index, f->at.id, &ids, &n) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(add_id(o, ids[i], err));
out:
    free(ids);
    return rc;
}

/* A complete one has all its files; those of a pending one may be still to come.
 * The index is read. */
static int list_others(const struct scr_outgoing *f, int replaces,
                       struct scr_index *index, struct others *o, struct scr_err *err)
{
    TRY(read_index(f, index, err));
    TRY(list_pending(f, index, o, err));
    return replaces ? list_claimed(f, index, o, err) : SCR_OK;
}

static void count_hits(const struct scr_outgoing *f, const struct scr_table *kept,
                       const enum scr_list_state *state, struct others *o)
{
    for (SCR_EACH(struct scr_out_dest, d, &f->dests)) {
        const struct scr_kept *k = scr_table_find(kept, d->item.name);
        if (k == NULL || (d->is_packed && f->pack == 0))
            continue;
        for (const struct scr_kept_id *of = k->of; of != NULL; of = of->next)
            for (size_t i = 0; i < o->n; i++)
                o->hits[i] += o->ids[i] == of->id;
    }
    for (size_t i = 0; i < o->n; i++) {
        o->unsure[i] += state[i] != SCR_LIST_READ;
        o->newer[i] += state[i] == SCR_LIST_NEWER;
    }
}

static int alloc_counts(struct others *o, struct scr_err *err)
{
    o->hits = scr_calloc(o->n, 3 * sizeof *o->hits);
    TRY(o->hits ? SCR_OK : scr_no_memory(err));
    o->unsure = o->hits + o->n;
    o->newer = o->unsure + o->n;
    return SCR_OK;
}

/* Reads the lists of rank 0's others, unless rc is an error. A complete one with a
 * damaged list stays unchanged: it cannot be restored, or its checksums will show it.
 * One of a newer version can be, by others: check_readable. */
static int read_listed_all(const struct scr_outgoing *f, int rc, struct others *o,
                           struct scr_err *err)
{
    enum scr_list_state *state = NULL;
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    rc = scr_share_ids_all(f->at.world, rc, &o->ids, &o->n, err);
    if (rc != SCR_OK || o->n == 0)
        return rc;
    rc = alloc_counts(o, err);
    if (rc == SCR_OK && (state = scr_calloc(o->n, sizeof *state)) == NULL)
        rc = scr_no_memory(err);
    const struct scr_lists lists = { f->at.env, f->at.world, f->at.prefix,  o->ids,
                                     o->n,      .spare = 1,  .state = state };
    rc = scr_lists_read_all(&lists, rc, &kept, err);
    if (rc == SCR_OK) {
        count_hits(f, &kept, state, o);
        scr_sums_all(f->at.world, o->hits, 3 * (int)o->n);
    }
    scr_table_fini(&kept);
    free(state);
    return rc;
}

/* --- index --- */

struct index_edit {
    const scr_hash *dset;
    int id;
    const struct others *others;
    const struct scr_prefix *p;
    const struct scr_ids *known; /* as in struct scr_outgoing */
};

/* Its files came while ours were written in the same places: whose bytes are there is
 * not known. */
static int check_meanwhile(const struct index_edit *e, const struct scr_dataset *d,
                           const struct scr_index_entry *other, struct scr_err *err)
{
    if (e->known == NULL || scr_ids_has(e->known, other->id))
        return SCR_OK;
    return scr_fail(
        err, SCR_E_TAKEN, 0,
        "dataset %d: %s (dataset %d) of job %s has been written to the same "
        "files meanwhile; give each job its own prefix directory",
        d->id, other->dset.name, other->id,
        other->dset.jobid ? other->dset.jobid : "unknown");
}

/* A newer one keeps its files, unless it is no good itself. */
static int check_newer(const struct scr_index *index, const struct index_edit *e,
                       const struct scr_dataset *d, struct scr_err *err)
{
    struct scr_index_entry old;
    for (size_t i = 0; i < e->others->n; i++) {
        if (e->others->hits[i] == 0 ||
            scr_index_get(index, e->others->ids[i], &old, NULL) != SCR_OK ||
            !old.complete || old.failed)
            continue;
        if (old.id > e->id)
            return scr_fail(err, SCR_E_NEWER, 0,
                            "flush of %s (dataset %d): %s (dataset %d) is newer and "
                            "has files at the same paths",
                            d->name, d->id, old.dset.name, old.id);
        TRY(check_meanwhile(e, d, &old, err));
    }
    return SCR_OK;
}

/* An earlier attempt was allowed, and may have left its files. */
static int is_again(const struct scr_index *index, const struct scr_dataset *d)
{
    struct scr_index_entry old;
    return d->created > 0 && scr_index_get(index, d->id, &old, NULL) == SCR_OK &&
           scr_dataset_is_alike(&old.dset, d);
}

/* The files that are about to be replaced may be those of a complete one whose list
 * only a newer version can read: it would be broken, and still be called complete. */
static int check_readable(const struct scr_index *index, const struct index_edit *e,
                          const struct scr_dataset *d, struct scr_err *err)
{
    struct scr_index_entry old;
    for (size_t i = 0; i < e->others->n; i++)
        if (e->others->newer[i] > 0 &&
            !(e->others->ids[i] < d->id && is_again(index, d)) &&
            scr_index_get(index, e->others->ids[i], &old, NULL) == SCR_OK &&
            old.complete)
            return scr_fail(err, SCR_E_VERSION, 0,
                            "flush of %s (dataset %d): existing files may belong to %s "
                            "(dataset %d), whose list is of a newer version of SCR; "
                            "use that version, or drop it: scr_index --drop %s",
                            d->name, d->id, old.dset.name, old.id, old.dset.name);
    return SCR_OK;
}

/* Nothing leads to a dataset that is written again. */
static void leave_current(struct scr_index *index, int id)
{
    if (index->current_id == id)
        scr_index_unset_current(index);
}

static int check_owner(const struct scr_index *index, const struct index_edit *e,
                       const struct scr_dataset *d, struct scr_err *err)
{
    int rc = scr_prefix_check_owner(e->p, index, d, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "flush of %s", d->name);
    return rc;
}

static int check_entry(const struct scr_index *index, const struct index_edit *e,
                       struct scr_err *err)
{
    struct scr_dataset d;
    TRY(scr_dataset_get(e->dset, &d, err));
    TRY(check_owner(index, e, &d, err));
    TRY(check_newer(index, e, &d, err));
    return check_readable(index, e, &d, err);
}

static int edit_index(struct scr_index *index, void *arg, int *changed,
                      struct scr_err *err)
{
    const struct index_edit *e = arg;
    TRY(check_entry(index, e, err));
    leave_current(index, e->id);
    int rc = scr_index_add(index, e->dset, 0, time(NULL));
    *changed = 1;
    return rc == SCR_OK ? rc
                        : scr_fail(err, rc, 0, "index: entry of dataset %d", e->id);
}

/* A process that copies one of them finds no plan before its next file gets its name.
 * So does who copies one whose list cannot be read: its files may be any, and without a
 * list it is of no use. */
static int give_up_plans(const struct scr_outgoing *f, const struct others *o,
                         struct scr_err *err)
{
    for (size_t i = 0; i < o->pending; i++)
        if (o->hits[i] > 0 || o->unsure[i] > 0)
            TRY(scr_arrival_give_up(f->at.env, f->at.prefix, o->ids[i], err));
    return SCR_OK;
}

/* Not before it is clear that we may continue; but before the index is edited, from
 * when on no process may make them complete. Here the index is only looked at: the
 * plans have their own lock, and a process that completes a dataset has it when it
 * locks the index. */
static int give_up_others(const struct scr_outgoing *f, const struct index_edit *e,
                          struct scr_err *err)
{
    if (e->others->pending == 0)
        return SCR_OK;
    struct scr_index index;
    int rc = read_index(f, &index, err);
    if (rc == SCR_OK)
        rc = check_entry(&index, e, err);
    scr_index_fini(&index);
    return rc == SCR_OK ? give_up_plans(f, e->others, err) : rc;
}

static int open_entry_of(const struct scr_outgoing *f, const struct others *o,
                         struct scr_err *err)
{
    struct index_edit e = {
        .dset = f->dset, .id = f->at.id, .others = o, .p = f->at.prefix
    };
    TRY(give_up_others(f, &e, err));
    return scr_prefix_index_update(f->at.env, f->at.prefix, edit_index, &e, err);
}

static int note_older(struct scr_outgoing *f, const struct others *o,
                      struct scr_err *err)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->hits[i] > 0)
            TRY(scr_ids_add(&f->older, o->ids[i], err));
    return SCR_OK;
}

/* On rank 0: those that need not be asked again. Where destinations exist that is known
 * of those only whose lists were read. */
static int note_judged(struct scr_outgoing *f, const struct others *o,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    if (f->any_replaces)
        scr_ids_fini(&f->judged);
    for (size_t i = 0; i < o->n && rc == SCR_OK; i++)
        if (o->hits[i] == 0 && o->unsure[i] == 0)
            rc = scr_ids_add(&f->judged, o->ids[i], err);
    return rc;
}

int scr_outgoing_note_complete(struct scr_outgoing *f, struct scr_err *err)
{
    struct others o = { 0 };
    struct scr_index index;
    int rc = read_index(f, &index, err);
    if (rc == SCR_OK)
        rc = list_claimed(f, &index, &o, err);
    scr_index_fini(&index);
    for (size_t i = o.n; i-- > 0 && rc == SCR_OK;) /* ascending, as they are kept */
        rc = scr_ids_add(&f->judged, o.ids[i], err);
    free(o.ids);
    return rc;
}

/* The dataset's directory, without the summary that would call it complete. */
static int open_dset_dir(struct scr_outgoing *f, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(f->at.prefix, f->at.id);
    int rc;
    TRY_OUT(dir ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_dir_make(f->at.env->sys, dir, DIR_MODE, err));
    TRY_OUT(scr_dir_sync(f->at.env->sys, f->at.prefix->scr, err));
    TRY_OUT(scr_flushing_begin(f->at.env, f->at.prefix, f->at.id, &f->mark, err));
    TRY_OUT(scr_prefix_summary_remove(f->at.env, f->at.prefix, f->at.id, err));
out:
    free(dir);
    return rc;
}

static void free_others(struct others *o)
{
    free(o->ids);
    free(o->hits);
}

/* A dataset without destinations yet (scr_publish_begin_all) replaces nothing. */
int scr_outgoing_begin_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    struct others o = { 0 };
    int first = f->at.world->rank == 0;
    if (f->has_dests) {
        if (rc == SCR_OK && first)
            rc = list_others(f, f->any_replaces, &index, &o, err);
        scr_index_fini(&index);
        rc = read_listed_all(f, rc, &o, err);
    }
    if (rc == SCR_OK && first)
        rc = note_older(f, &o, err);
    if (rc == SCR_OK && first)
        rc = note_judged(f, &o, err);
    if (rc == SCR_OK && first)
        rc = open_entry_of(f, &o, err);
    if (rc == SCR_OK && first)
        rc = open_dset_dir(f, err);
    free_others(&o);
    return scr_agree_all(f->at.world, rc, err);
}

/* --- and once more --- */

/* Those that were neither complete nor pending when it was asked last. */
static int list_new(const struct scr_outgoing *f, struct scr_index *index,
                    struct others *o, struct scr_err *err)
{
    struct others now = { 0 };
    int rc = list_others(f, 1, index, &now, err);
    for (size_t i = 0; i < now.n && rc == SCR_OK; i++) {
        if (!scr_ids_has(&f->judged, now.ids[i]) && !scr_ids_has(&f->older, now.ids[i]))
            rc = add_id(o, now.ids[i], err);
        if (i + 1 == now.pending)
            o->pending = o->n;
    }
    free(now.ids);
    return rc;
}

/* As when it began, also of those that were replaced then: one that was pending may be
 * complete now, and newer. */
static int check_again(const struct scr_outgoing *f, const struct scr_index *index,
                       const struct others *o, struct scr_err *err)
{
    struct others known = { 0 };
    struct scr_dataset d;
    const struct index_edit fresh = { f->dset, f->at.id, o, f->at.prefix, f->known };
    const struct index_edit e = { f->dset, f->at.id, &known, f->at.prefix, f->known };
    int rc = check_entry(index, &fresh, err);
    for (size_t i = 0; i < f->older.n && rc == SCR_OK; i++)
        rc = add_id(&known, f->older.id[i], err);
    known.hits = scr_calloc(known.n, sizeof *known.hits);
    if (rc == SCR_OK && known.hits == NULL)
        rc = scr_no_memory(err);
    for (size_t i = 0; i < known.n && rc == SCR_OK; i++)
        known.hits[i] = 1;
    if (rc == SCR_OK && (rc = scr_dataset_get(f->dset, &d, err)) == SCR_OK)
        rc = check_newer(index, &e, &d, err);
    free_others(&known);
    return rc;
}

static int has_list(const struct scr_outgoing *f)
{
    char *root = scr_prefix_dset_file(f->at.prefix, f->at.id, "rank2file");
    int has = root && scr_file_is_there(f->at.env->sys, root);
    free(root);
    return has;
}

/* A deletion records itself first, and removes the list before the entry (invariant
 * P3): an index that was rebuilt in between has no entry, either. */
static int check_wanted(const struct scr_outgoing *f, const struct scr_index *index,
                        struct scr_err *err)
{
    struct scr_index_entry e;
    int listed = scr_index_get(index, f->at.id, &e, NULL) == SCR_OK;
    if (listed ? !e.doomed : has_list(f))
        return SCR_OK;
    return scr_fail(err, SCR_E_CANCELLED, 0,
                    "flush of dataset %d: it was deleted meanwhile", f->at.id);
}

int scr_outgoing_look_again_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    struct others o = { 0 };
    int first = f->at.world->rank == 0;
    /* A deletion that began before our list was written does not spare our files. */
    if (rc == SCR_OK && first && f->any_replaces)
        rc = scr_deletion_wait(f->at.env, f->at.prefix, err);
    if (rc == SCR_OK && first)
        rc = list_new(f, &index, &o, err);
    rc = read_listed_all(f, rc, &o, err);
    if (rc == SCR_OK && first)
        rc = note_older(f, &o, err);
    if (rc == SCR_OK && first && o.n > 0) { /* lists were read meanwhile */
        scr_index_fini(&index);
        rc = read_index(f, &index, err);
    }
    if (rc == SCR_OK && first)
        rc = check_wanted(f, &index, err);
    if (rc == SCR_OK && first)
        rc = check_again(f, &index, &o, err);
    if (rc == SCR_OK && first)
        rc = give_up_plans(f, &o, err);
    scr_index_fini(&index);
    free_others(&o);
    return rc;
}

/* --- the index as a flush ends --- */

static int look_wanted(const struct scr_outgoing *f, struct scr_err *err)
{
    struct scr_index index;
    int rc;
    TRY_OUT(read_index(f, &index, err));
    TRY_OUT(check_wanted(f, &index, err));
out:
    scr_index_fini(&index);
    return rc;
}

int scr_outgoing_demote_all(struct scr_outgoing *f, int rc, struct scr_err *err)
{
    int first = f->at.world->rank == 0;
    rc = scr_outgoing_look_again_all(f, rc, err);
    if (rc == SCR_OK && f->replacing != NULL)
        rc = scr_replacing_begin(f->at.env, f->at.prefix, f->at.id, f->replacing, err);
    if (rc == SCR_OK && first)
        rc = scr_demote(f->at.env, f->at.prefix, &f->older, err);
    return scr_agree_all(f->at.world, rc, err);
}

struct completion {
    const struct scr_outgoing *f;
    const scr_hash *dset;
};

static int edit_complete(struct scr_index *index, void *arg, int *changed,
                         struct scr_err *err)
{
    const struct completion *c = arg;
    TRY(check_wanted(c->f, index, err));
    int rc = scr_index_arrive(index, c->dset, time(NULL));
    *changed = 1;
    return rc == SCR_OK
               ? rc
               : scr_fail(err, rc, 0, "index: entry of dataset %d", c->f->at.id);
}

int scr_outgoing_complete(const struct scr_outgoing *f, const scr_hash *dset,
                          struct scr_err *err)
{
    struct completion c = { f, dset };
    int rc = look_wanted(f, err);
    if (rc == SCR_OK)
        rc = scr_prefix_summary_write(f->at.env, f->at.prefix, f->at.id, dset, 1, err);
    if (rc == SCR_OK)
        rc = scr_prefix_index_update(f->at.env, f->at.prefix, edit_complete, &c, err);
    if (rc == SCR_E_CANCELLED)
        (void)scr_prefix_summary_remove(f->at.env, f->at.prefix, f->at.id, NULL);
    if (rc == SCR_OK) {
        scr_replaced_remove(f->at.env, f->at.prefix, f->at.id);
        scr_scavenged_remove(f->at.env, f->at.prefix, f->at.id);
    }
    return rc;
}
