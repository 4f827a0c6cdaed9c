/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets in a prefix directory, version 2; version 1 is converted. */
#include "fmt/index.h"

#include "base/path.h"
#include "base/units.h"
#include <stdlib.h>
#include <string.h>

enum { VERSION = 2, STAMP = 32 };

static scr_hash *entry_of(const scr_hash *index, int id)
{
    return scr_hash_get_kv_int(index, "DSET", id);
}

/* Name of a dataset by its entry in the index; NULL if it has none. */
static const char *name_of(const scr_hash *entry)
{
    return scr_hash_get_val(scr_hash_get(entry, "DSET"), "NAME");
}

/* --- structure --- */

static int corrupt(struct scr_err *err, const char *what, const char *where)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "index: %s %s", what, where);
}

static int check_entry(const scr_hash_elem *e, struct scr_err *err)
{
    struct scr_dataset d;
    const scr_hash *entry = scr_hash_elem_hash(e);
    int complete;
    if (scr_hash_elem_key_int(e) < 1)
        return corrupt(err, "bad dataset id", scr_hash_elem_key(e));
    int rc = scr_dataset_get(scr_hash_get(entry, "DSET"), &d, err);
    if (rc != SCR_OK)
        return rc;
    if (d.id != scr_hash_elem_key_int(e))
        return corrupt(err, "another id recorded in dataset", scr_hash_elem_key(e));
    if (scr_hash_get(entry, "COMPLETE") != NULL &&
        !scr_hash_get_val_int(entry, "COMPLETE", &complete))
        return corrupt(err, "bad COMPLETE of dataset", scr_hash_elem_key(e));
    return SCR_OK;
}

/* 1 if NAME/<name> refers to exactly one dataset, and that has this name. */
static int name_ok(const scr_hash *index, const scr_hash_elem *name)
{
    const scr_hash *ids = scr_hash_get(scr_hash_elem_hash(name), "DSET");
    const char *id = scr_hash_elem_key(scr_hash_elem_first(ids));
    const char *has = name_of(scr_hash_get_kv(index, "DSET", id));
    return scr_hash_size(ids) == 1 && has != NULL &&
           strcmp(has, scr_hash_elem_key(name)) == 0;
}

/* NAME is only a way in to DSET, so it is mended rather than refused: names that lead
 * nowhere go, and a dataset no name leads to gets its own (the newest where several
 * share one). */
static int mend_names(scr_hash *index)
{
    scr_hash_elem *next;
    scr_hash *names = scr_hash_get(index, "NAME");
    for (scr_hash_elem *e = scr_hash_elem_first(names); e != NULL; e = next) {
        next = scr_hash_elem_next(e);
        if (!name_ok(index, e))
            (void)scr_hash_unset(names, scr_hash_elem_key(e));
    }
    scr_hash *mended = scr_hash_new(); /* names given here */
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET"))) {
        const char *name = name_of(scr_hash_elem_hash(e));
        int id = scr_hash_elem_key_int(e), other = scr_index_find(index, name);
        if (other >= 0 && (scr_hash_get(mended, name) == NULL || other > id))
            continue;
        scr_hash_set_val_i64(scr_hash_set_kv(index, "NAME", name), "DSET", id);
        scr_hash_set(mended, name, NULL);
    }
    int ok = mended != NULL && scr_hash_ok(mended) && scr_hash_ok(index);
    scr_hash_delete(mended);
    return ok ? SCR_OK : SCR_E_NOMEM;
}

static int check_version_2(scr_hash *index, struct scr_err *err)
{
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET"))) {
        int rc = check_entry(e, err);
        if (rc != SCR_OK)
            return rc;
    }
    if (mend_names(index) != SCR_OK)
        return scr_fail(err, SCR_E_NOMEM, 0, "index: out of memory");
    return SCR_OK;
}

/* --- version 1: CKPT/<id>/DIR/<dir>/{COMPLETE FLUSHED FETCHED FAILED}; its last
 * writers had DSET in the place of CKPT, and a dataset hash in each directory's --- */

/* Of two copies of a checkpoint the one to keep: complete, not failed, flushed last. */
static int better_copy(const scr_hash *a, const scr_hash *b)
{
    int a_done = 0, b_done = 0;
    (void)scr_hash_get_val_int(a, "COMPLETE", &a_done);
    (void)scr_hash_get_val_int(b, "COMPLETE", &b_done);
    if (a_done != b_done)
        return a_done > b_done;
    int a_failed = scr_hash_get(a, "FAILED") != NULL;
    int b_failed = scr_hash_get(b, "FAILED") != NULL;
    if (a_failed != b_failed)
        return a_failed < b_failed;
    const char *a_when = scr_hash_get_val(a, "FLUSHED");
    const char *b_when = scr_hash_get_val(b, "FLUSHED");
    return a_when != NULL && (b_when == NULL || strcmp(a_when, b_when) > 0);
}

static scr_hash_elem *best_copy(const scr_hash *dirs)
{
    scr_hash_elem *best = scr_hash_elem_first(dirs);
    for (SCR_HASH_EACH(e, dirs))
        if (better_copy(scr_hash_elem_hash(e), scr_hash_elem_hash(best)))
            best = e;
    return best;
}

/* Gives the entry the dataset hash that version 1 did not keep, or completes the one it
 * has. */
static void add_dataset(scr_hash *entry, int id, const char *name)
{
    scr_hash *dset = scr_hash_get(entry, "DSET");
    if (dset == NULL) {
        dset = scr_hash_set(entry, "DSET", NULL);
        scr_hash_set_val_i64(dset, "CKPT", id);
        scr_hash_set_val_i64(dset, "FLAG_CKPT", 1);
        scr_hash_set_val_i64(dset, "FLAG_OUTPUT", 0);
    }
    scr_hash_set_val_i64(dset, "ID", id);
    scr_hash_set_val(dset, "NAME", name);
}

static int convert_entry(scr_hash *index, const scr_hash_elem *e, struct scr_err *err)
{
    int id = scr_hash_elem_key_int(e);
    scr_hash_elem *copy = best_copy(scr_hash_get(scr_hash_elem_hash(e), "DIR"));
    const char *dir = scr_hash_elem_key(copy);
    if (id < 1 || dir == NULL || !scr_path_is_safe(dir))
        return corrupt(err, "bad entry of checkpoint", scr_hash_elem_key(e));
    scr_hash *entry = scr_hash_set_kv_int(index, "DSET", id);
    (void)scr_hash_merge(entry, scr_hash_elem_hash(copy));
    scr_hash_set_val(entry, "DIR", dir);
    add_dataset(entry, id, dir);
    return SCR_OK;
}

static int convert_version_1(scr_hash *index, struct scr_err *err)
{
    scr_hash *fresh = scr_hash_dup(index);
    scr_hash *old = scr_hash_extract(fresh, "CKPT");
    if (old == NULL)
        old = scr_hash_extract(fresh, "DSET");
    (void)scr_hash_unset(fresh, "DSET");
    (void)scr_hash_unset(fresh, "DIR");
    (void)scr_hash_unset(fresh, "NAME"); /* no key of version 1 */
    scr_hash_set_val_i64(fresh, "VERSION", VERSION);

    int rc = fresh != NULL ? SCR_OK : SCR_E_NOMEM;
    for (SCR_HASH_EACH(e, old))
        if (rc == SCR_OK)
            rc = convert_entry(fresh, e, err);
    if (rc == SCR_OK && !scr_hash_ok(fresh))
        rc = SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = check_version_2(fresh, err);
    if (rc == SCR_OK)
        scr_hash_move(index, fresh);
    scr_hash_delete(old);
    scr_hash_delete(fresh);
    return rc == SCR_E_NOMEM ? scr_fail(err, rc, 0, "index: out of memory") : rc;
}

int scr_index_normal(scr_hash *index, struct scr_err *err)
{
    int version = 0;
    if (scr_hash_size(index) == 0) {
        if (scr_hash_set_val_i64(index, "VERSION", VERSION) == NULL)
            return scr_fail(err, SCR_E_NOMEM, 0, "index: out of memory");
        return SCR_OK;
    }
    if (!scr_hash_get_val_int(index, "VERSION", &version) || version < 1)
        return corrupt(err, "bad or missing", "VERSION");
    if (version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "index: version %d is newer than this reader's %d", version,
                        VERSION);
    if (scr_hash_size(scr_hash_get(index, "CURRENT")) > 1)
        return corrupt(err, "several values of", "CURRENT");
    return version == 1 ? convert_version_1(index, err) : check_version_2(index, err);
}

/* --- edits --- */

/* 1 if name leads to dataset id. */
static int leads_to(const scr_hash *index, const char *name, int id)
{
    return name != NULL && scr_index_find(index, name) == id;
}

/* Takes CURRENT away if it leads to dataset id. */
static void drop_current(scr_hash *index, int id)
{
    if (leads_to(index, scr_index_get_current(index), id))
        scr_index_unset_current(index);
}

/* Takes the way in by the name of dataset id away, if that is where its name leads. */
static void drop_name(scr_hash *index, int id)
{
    const char *name = name_of(entry_of(index, id));
    if (leads_to(index, name, id))
        (void)scr_hash_unset_kv(index, "NAME", name);
}

int scr_index_mend(scr_hash *index, const scr_hash *dset, int complete, time_t when)
{
    struct scr_dataset d;
    char stamp[STAMP];
    int rc = scr_dataset_get(dset, &d, NULL);
    if (rc != SCR_OK)
        return SCR_E_ARG;
    scr_hash *copy = scr_hash_dup(dset);
    scr_hash *entry = copy == NULL ? NULL : scr_hash_set_kv_int(index, "DSET", d.id);
    if (entry == NULL) {
        scr_hash_delete(copy);
        return SCR_E_NOMEM;
    }
    const char *name =
        scr_hash_get_val(copy, "NAME"); /* d may borrow from the old entry */
    if (name_of(entry) != NULL && strcmp(name_of(entry), name) != 0)
        drop_name(index, d.id);
    scr_hash_set(entry, "DSET", copy);
    scr_hash_set_val_i64(entry, "COMPLETE", complete != 0);
    scr_hash_set_val(entry, "FLUSHED", scr_format_stamp(when, stamp, sizeof stamp));
    (void)scr_hash_unset(entry, "DELETING");
    (void)scr_hash_unset(entry, "OWN");
    scr_hash *way_in = scr_hash_set_kv(index, "NAME", name);
    int ok = scr_hash_set_val_i64(way_in, "DSET", d.id) != NULL && scr_hash_ok(entry);
    return ok ? SCR_OK : SCR_E_NOMEM;
}

int scr_index_add(scr_hash *index, const scr_hash *dset, int complete, time_t when)
{
    struct scr_dataset d;
    int rc = scr_index_mend(index, dset, complete, when);
    if (rc == SCR_OK && complete && scr_dataset_get(dset, &d, NULL) == SCR_OK)
        scr_index_clear_failed(index, d.id);
    return rc;
}

int scr_index_remove(scr_hash *index, int id)
{
    drop_current(index, id);
    drop_name(index, id);
    return scr_hash_unset_kv_int(index, "DSET", id);
}

int scr_index_drop_after(scr_hash *index, int id, int *changed)
{
    int *ids;
    size_t n;
    int rc = scr_index_ids(index, &ids, &n);
    for (size_t i = 0; rc == SCR_OK && i < n && ids[i] > id; i++)
        *changed |= scr_index_remove(index, ids[i]);
    free(ids);
    return rc;
}

int scr_index_set_current(scr_hash *index, const char *name)
{
    if (name == NULL || scr_index_find(index, name) < 0)
        return SCR_E_NOENT;
    return scr_hash_set_val(index, "CURRENT", name) != NULL ? SCR_OK : SCR_E_NOMEM;
}

void scr_index_unset_current(scr_hash *index)
{
    (void)scr_hash_unset(index, "CURRENT");
}

const char *scr_index_get_current(const scr_hash *index)
{
    return scr_hash_get_val(index, "CURRENT");
}

static void mark(scr_hash *index, int id, const char *key, time_t when)
{
    char stamp[STAMP];
    scr_hash *entry = entry_of(index, id);
    if (entry != NULL)
        scr_hash_set_kv(entry, key, scr_format_stamp(when, stamp, sizeof stamp));
}

void scr_index_mark_fetched(scr_hash *index, int id, time_t when)
{
    mark(index, id, "FETCHED", when);
}

void scr_index_mark_failed(scr_hash *index, int id, time_t when)
{
    mark(index, id, "FAILED", when);
    drop_current(index, id);
}

void scr_index_clear_failed(scr_hash *index, int id)
{
    (void)scr_hash_unset(entry_of(index, id), "FAILED");
}

void scr_index_mark_doomed(scr_hash *index, int id)
{
    scr_hash *entry = entry_of(index, id);
    if (entry == NULL)
        return;
    scr_hash_set_val_i64(entry, "COMPLETE", 0);
    scr_hash_set_val_i64(entry, "DELETING", 1);
}

void scr_index_set_own(scr_hash *index, int id, const char *path)
{
    scr_hash *entry = entry_of(index, id);
    if (entry != NULL)
        scr_hash_set_val(entry, "OWN", path);
}

int scr_index_advance_current(scr_hash *index, int id)
{
    struct scr_index_entry e;
    const char *current = scr_index_get_current(index);
    if (scr_index_get(index, id, &e, NULL) != SCR_OK || !e.complete || e.failed ||
        !e.dset.is_ckpt || !leads_to(index, e.dset.name, id))
        return SCR_OK;
    if (current != NULL && scr_index_find(index, current) >= id)
        return SCR_OK;
    return scr_index_set_current(index, e.dset.name);
}

/* --- questions --- */

int scr_index_find(const scr_hash *index, const char *name)
{
    int id = -1;
    (void)scr_hash_get_val_int(scr_hash_get_kv(index, "NAME", name), "DSET", &id);
    return id;
}

int scr_index_max_id(const scr_hash *index)
{
    int max = 0;
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET")))
        if (scr_hash_elem_key_int(e) > max)
            max = scr_hash_elem_key_int(e);
    return max;
}

int scr_index_get(const scr_hash *index, int id, struct scr_index_entry *e,
                  struct scr_err *err)
{
    const scr_hash *entry = entry_of(index, id);
    if (entry == NULL)
        return scr_fail(err, SCR_E_NOENT, 0, "index: no dataset %d", id);
    struct scr_index_entry out = { .id = id };
    int rc = scr_dataset_get(scr_hash_get(entry, "DSET"), &out.dset, err);
    if (rc != SCR_OK)
        return rc;
    (void)scr_hash_get_val_int(entry, "COMPLETE", &out.complete);
    out.complete = out.complete == 1;
    out.failed = scr_hash_get(entry, "FAILED") != NULL;
    out.doomed = scr_hash_get(entry, "DELETING") != NULL;
    out.current = leads_to(index, scr_index_get_current(index), id);
    out.flushed = scr_hash_get_val(entry, "FLUSHED");
    out.dir = scr_hash_get_val(entry, "DIR");
    out.own = scr_hash_get_val(entry, "OWN");
    *e = out;
    return SCR_OK;
}

int scr_index_newest(const scr_hash *index, int below)
{
    struct scr_index_entry entry;
    int newest = -1;
    for (SCR_HASH_EACH(e, scr_hash_get(index, "DSET"))) {
        int id = scr_hash_elem_key_int(e);
        if (id <= newest || (below > 0 && id >= below))
            continue;
        if (scr_index_get(index, id, &entry, NULL) == SCR_OK && entry.complete &&
            !entry.failed && entry.dset.is_ckpt)
            newest = id;
    }
    return newest;
}

int scr_index_ids(const scr_hash *index, int **ids, size_t *n)
{
    if (!scr_hash_list_int(scr_hash_get(index, "DSET"), ids, n))
        return SCR_E_NOMEM;
    for (size_t i = 0, j = *n; i + 1 < j; i++) {
        int low = (*ids)[i];
        (*ids)[i] = (*ids)[--j];
        (*ids)[j] = low;
    }
    return SCR_OK;
}
