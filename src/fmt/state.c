/* SPDX-License-Identifier: BSD-3-Clause */
/* The small state files: halt, flush, nodes. */
#include "fmt/state.h"

#include "base/str.h"
#include "base/units.h"
#include "fmt/dataset.h"
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* --- halt.scr --- */

static const struct {
    const char *key;
    size_t at; /* of the number in struct scr_halt */
} halt_numbers[] = {
    { "CheckpointsLeft", offsetof(struct scr_halt, checkpoints_left) },
    { "ExitAfter", offsetof(struct scr_halt, exit_after) },
    { "ExitBefore", offsetof(struct scr_halt, exit_before) },
    { "HaltSeconds", offsetof(struct scr_halt, halt_seconds) },
};
enum { NHALT = sizeof halt_numbers / sizeof halt_numbers[0] };

static int64_t *halt_at(struct scr_halt *halt, size_t i)
{
    return (int64_t *)(void *)((char *)halt + halt_numbers[i].at);
}

int scr_halt_get(const scr_hash *h, struct scr_halt *out, struct scr_err *err)
{
    struct scr_halt halt = { -1, -1, -1, -1, NULL, 0 };
    for (size_t i = 0; i < NHALT; i++) {
        const char *key = halt_numbers[i].key;
        if (scr_hash_get(h, key) == NULL)
            continue;
        if (!scr_hash_get_val_i64(h, key, halt_at(&halt, i)))
            return scr_fail(err, SCR_E_CORRUPT, 0, "halt file: bad %s", key);
        if (*halt_at(&halt, i) < 0)
            *halt_at(&halt, i) = 0; /* a counter that others count past the end */
    }
    if (scr_hash_size(scr_hash_get(h, "ExitReason")) > 1)
        return scr_fail(err, SCR_E_CORRUPT, 0, "halt file: several ExitReason");
    halt.reason = scr_hash_get_val(h, "ExitReason");
    *out = halt;
    return SCR_OK;
}

int scr_halt_set(scr_hash *h, const struct scr_halt *in)
{
    struct scr_halt halt = *in;
    for (size_t i = 0; i < NHALT; i++) {
        if (*halt_at(&halt, i) >= 0)
            scr_hash_set_val_i64(h, halt_numbers[i].key, *halt_at(&halt, i));
        else
            (void)scr_hash_unset(h, halt_numbers[i].key);
    }
    if (halt.reason != NULL)
        scr_hash_set_val(h, "ExitReason", halt.reason);
    else
        (void)scr_hash_unset(h, "ExitReason");
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

const char *scr_halt_due(const struct scr_halt *h, int64_t now, char **why)
{
    char when[32];
    int64_t early = h->halt_seconds > 0 ? h->halt_seconds : 0;
    *why = NULL;
    if (h->reason != NULL && *h->reason != '\0') {
        *why = scr_asprintf("exit reason is %s", h->reason);
        return h->reason;
    }
    if (h->checkpoints_left == 0) {
        *why = scr_asprintf("no checkpoints left to take");
        return "NO_CHECKPOINTS_LEFT";
    }
    if (h->exit_after >= 0 && now >= h->exit_after) {
        *why = scr_asprintf("it is past %s, the time to exit after",
                            scr_format_stamp(h->exit_after, when, sizeof when));
        return "EXIT_AFTER_TIME";
    }
    if (h->exit_before >= 0 && now >= h->exit_before - early) {
        scr_format_stamp(h->exit_before, when, sizeof when);
        *why = h->is_job_end
                   ? scr_asprintf("less than %" PRId64
                                  " second%s left before the end of the allocation, %s "
                                  "(SCR_HALT_SECONDS, SCR_END_TIME)",
                                  early, scr_plural(early), when)
                   : scr_asprintf("less than %" PRId64 " second%s left before %s",
                                  early, scr_plural(early), when);
        return h->is_job_end ? SCR_HALT_JOB_END : "EXIT_BEFORE_TIME";
    }
    return NULL;
}

int scr_halt_waits(const struct scr_halt *h)
{
    return h->reason != NULL && strcmp(h->reason, SCR_HALT_ASKED) == 0 &&
           h->checkpoints_left > 0;
}

void scr_halt_add_job(struct scr_halt *h, int64_t halt_seconds, int64_t end_time)
{
    if (h->halt_seconds < 0)
        h->halt_seconds = halt_seconds;
    if (h->halt_seconds > 0 && end_time > 0 &&
        (h->exit_before < 0 || end_time < h->exit_before)) {
        h->exit_before = end_time;
        h->is_job_end = 1;
    }
}

/* Reasons that libraries record. */
static int is_of_a_run(const char *reason)
{
    static const char *const words[] = { SCR_HALT_FINALIZED, SCR_HALT_JOB_END,
                                         "NO_CHECKPOINTS_LEFT", "EXIT_AFTER_TIME",
                                         "EXIT_BEFORE_TIME" };
    for (size_t i = 0; reason != NULL && i < sizeof words / sizeof *words; i++)
        if (strcmp(reason, words[i]) == 0)
            return 1;
    return 0;
}

int scr_halt_is_of_another(const scr_hash *h, const char *job_id)
{
    const char *id = scr_hash_get_val(h, SCR_HALT_EXIT_JOB);
    return id != NULL ? strcmp(id, job_id) != 0
                      : is_of_a_run(scr_hash_get_val(h, "ExitReason"));
}

/* --- flush.scr --- */

static const struct {
    const char *key;
    int loc;
} locations[] = {
    { "CACHE", SCR_LOC_CACHE },
    { "PFS", SCR_LOC_PFS },
    { "FLUSHING", SCR_LOC_FLUSHING },
    { "SYNC_FLUSHING", SCR_LOC_SYNC_FLUSHING },
};
enum { NLOCATIONS = sizeof locations / sizeof locations[0] };

static void set_flag(scr_hash *h, const char *key, int on)
{
    if (on)
        scr_hash_set_val_i64(h, key, 1);
    else
        (void)scr_hash_unset(h, key);
}

/* A key that one of them lacks is not compared. */
static int is_same(const struct scr_dataset *d, const scr_hash *other)
{
    struct scr_dataset o;
    return other == NULL || scr_dataset_get(other, &o, NULL) != SCR_OK ||
           scr_dataset_is_same(d, &o);
}

static void forget_locations(scr_hash *entry)
{
    (void)scr_hash_unset(entry, "LOCATION");
    (void)scr_hash_unset(entry, "REPLACED");
    set_flag(entry, "DELETED", 0);
    set_flag(entry, "LOST", 0);
}

int scr_flush_set_dataset(scr_hash *h, const scr_hash *dset)
{
    struct scr_dataset d;
    if (h == NULL || scr_dataset_get(dset, &d, NULL) != SCR_OK)
        return SCR_E_ARG;
    scr_hash *copy = scr_hash_dup(dset);
    scr_hash *entry = scr_hash_set_kv_int(h, "DATASET", d.id);
    if (!is_same(&d, scr_hash_get(entry, "DSETDESC")))
        forget_locations(entry);
    if (copy == NULL || entry == NULL) {
        scr_hash_delete(copy);
        return SCR_E_NOMEM;
    }
    scr_hash_set_val(entry, "NAME", d.name);
    set_flag(entry, "CKPT", d.is_ckpt);
    set_flag(entry, "OUTPUT", d.is_output);
    scr_hash_set(entry, "DSETDESC", copy);
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_flush_set_location(scr_hash *h, int id, int loc, int on)
{
    scr_hash *entry = on ? scr_hash_set_kv_int(h, "DATASET", id)
                         : scr_hash_get_kv_int(h, "DATASET", id);
    if (on && (loc & SCR_LOC_PFS) != 0)
        (void)scr_hash_unset(entry, "REPLACED");
    if (on && (loc & ~SCR_LOC_CACHE) != 0)
        set_flag(entry, "DELETED", 0);
    for (size_t i = 0; i < NLOCATIONS; i++) {
        if ((loc & locations[i].loc) == 0)
            continue;
        if (on)
            scr_hash_set_kv(entry, "LOCATION", locations[i].key);
        else
            (void)scr_hash_unset_kv(entry, "LOCATION", locations[i].key);
    }
    if (on && (loc & SCR_LOC_CACHE))
        set_flag(entry, "LOST", 0);
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_flush_get_location(const scr_hash *h, int id)
{
    int bits = 0;
    const scr_hash *entry = scr_hash_get_kv_int(h, "DATASET", id);
    for (size_t i = 0; i < NLOCATIONS; i++)
        if (scr_hash_get_kv(entry, "LOCATION", locations[i].key) != NULL)
            bits |= locations[i].loc;
    return bits;
}

int scr_flush_remove(scr_hash *h, int id)
{
    return scr_hash_unset_kv_int(h, "DATASET", id);
}

int scr_flush_need(const scr_hash *h, int id)
{
    int loc = scr_flush_get_location(h, id);
    return (loc & SCR_LOC_CACHE) != 0 && (loc & SCR_LOC_PFS) == 0 &&
           !scr_flush_has(h, id, "DELETED");
}

void scr_flush_set_replaced(scr_hash *h, int id, int by)
{
    scr_hash *entry = scr_hash_get_kv_int(h, "DATASET", id);
    if (entry == NULL)
        return;
    scr_hash_set_val_i64(entry, "REPLACED", by);
    set_flag(entry, "DELETED", 0);
}

/* What replaced it; 0: nothing. Chains end: each number is larger than the last. */
static int heir_of(const scr_hash *h, int id)
{
    int by = 0;
    (void)scr_hash_get_val_int(scr_hash_get_kv_int(h, "DATASET", id), "REPLACED", &by);
    return by;
}

/* 0 if the dataset was replaced, and the index does not call complete what replaced it,
 * or what replaced that. */
static int has_good_heir(const scr_hash *h, const struct scr_index *index, int id)
{
    if (heir_of(h, id) == 0)
        return 1;
    for (int by; (by = heir_of(h, id)) > id; id = by)
        if (scr_index_has(index, by))
            return scr_index_is_good(index, by);
    return 0;
}

static int is_heir(const scr_hash *h, int heir, int id)
{
    for (int by; (by = heir_of(h, id)) > id; id = by)
        if (by == heir)
            return 1;
    return 0;
}

int scr_flush_is_saved(const scr_hash *h, const struct scr_index *index, int id,
                       const scr_hash *dset)
{
    struct scr_dataset d;
    struct scr_index_entry e;
    const scr_hash *marked = scr_hash_getf(h, "DATASET %d DSETDESC", id);
    const scr_hash *is = dset != NULL ? dset : marked;
    int known = is != NULL && scr_dataset_get(is, &d, NULL) == SCR_OK;
    if (scr_index_get(index, id, &e, NULL) == SCR_OK)
        return e.complete && !e.failed && (!known || scr_dataset_is_same(&d, &e.dset));
    return (scr_flush_get_location(h, id) & SCR_LOC_PFS) != 0 &&
           (!known || is_same(&d, marked)) && has_good_heir(h, index, id);
}

int scr_flush_is_of(const scr_hash *h, int id, const struct scr_dataset *d)
{
    return is_same(d, scr_hash_getf(h, "DATASET %d DSETDESC", id));
}

int scr_flush_set_deleted(scr_hash *h, int id, int on)
{
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DATASET"))) {
        int at = scr_hash_elem_key_int(e);
        if (at != id && !(on && is_heir(h, id, at)))
            continue;
        set_flag(scr_hash_elem_hash(e), "DELETED", on);
        (void)scr_flush_set_location(h, at, SCR_LOC_PFS, 0);
    }
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_flush_set_saved(scr_hash *h, const scr_hash *dset, int in_cache, int *changed)
{
    struct scr_dataset d;
    const int flushing = SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING;
    int rc;
    *changed = 0;
    TRY_OUT(scr_dataset_get(dset, &d, NULL));
    int has_entry = scr_hash_get_kv_int(h, "DATASET", d.id) != NULL;
    if (has_entry ? !scr_flush_is_of(h, d.id, &d) : !in_cache)
        return SCR_OK;
    int is = scr_flush_get_location(h, d.id);
    *changed = !has_entry || (is & flushing) != 0 || (is & SCR_LOC_PFS) == 0 ||
               heir_of(h, d.id) != 0;
    if (!has_entry) {
        TRY_OUT(scr_flush_set_dataset(h, dset));
        TRY_OUT(scr_flush_set_location(h, d.id, SCR_LOC_CACHE, 1));
    }
    (void)scr_flush_set_location(h, d.id, flushing, 0);
    rc = scr_flush_set_location(h, d.id, SCR_LOC_PFS, 1);
out:
    return rc;
}

int scr_flush_is_deleted(const scr_hash *h, const struct scr_index *index, int id,
                         const scr_hash *dset)
{
    struct scr_dataset d;
    struct scr_index_entry e;
    if (!scr_flush_has(h, id, "DELETED") ||
        (scr_index_get(index, id, &e, NULL) == SCR_OK && !e.doomed))
        return 0;
    return dset == NULL || scr_dataset_get(dset, &d, NULL) != SCR_OK ||
           scr_flush_is_of(h, id, &d);
}

int scr_flush_is_settled(const scr_hash *h, const struct scr_index *index, int id,
                         const scr_hash *dset)
{
    return scr_flush_is_saved(h, index, id, dset) ||
           scr_flush_is_deleted(h, index, id, dset);
}

int scr_flush_is_unsaved(const scr_hash *h, const struct scr_index *index, int id)
{
    return (scr_flush_get_location(h, id) & SCR_LOC_CACHE) != 0 &&
           !scr_flush_is_settled(h, index, id, NULL);
}

const char *scr_flush_name(const scr_hash *h, int id)
{
    const char *name = scr_hash_get_val(scr_hash_get_kv_int(h, "DATASET", id), "NAME");
    return name ? name : "?";
}

int scr_flush_is_of_job(const scr_hash *h, int id, const char *jobid)
{
    struct scr_dataset d;
    const scr_hash *dset = scr_hash_getf(h, "DATASET %d DSETDESC", id);
    return dset == NULL || scr_dataset_get(dset, &d, NULL) != SCR_OK ||
           d.jobid == NULL || strcmp(d.jobid, jobid) == 0;
}

int scr_flush_max_id(const scr_hash *h)
{
    int max = 0;
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DATASET"))) {
        int id = scr_hash_elem_key_int(e);
        max = id > max ? id : max;
    }
    return max;
}

/* A flag that is there counts, unless it says 0. */
static int flag_of(const scr_hash *h, const char *key)
{
    int v = 1;
    (void)scr_hash_get_val_int(h, key, &v);
    return scr_hash_get(h, key) != NULL && v != 0;
}

int scr_flush_has(const scr_hash *h, int id, const char *flag)
{
    return flag_of(scr_hash_get_kv_int(h, "DATASET", id), flag);
}

int scr_flush_set_lost(scr_hash *h, int id)
{
    set_flag(scr_hash_get_kv_int(h, "DATASET", id), "LOST", 1);
    return h != NULL && scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_flush_is_open_output(const scr_hash *h, int id)
{
    return scr_flush_has(h, id, "OUTPUT") && !scr_flush_has(h, id, "LOST") &&
           scr_flush_need(h, id);
}

int scr_flush_has_open_output(const scr_hash *h)
{
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DATASET")))
        if (scr_flush_is_open_output(h, scr_hash_elem_key_int(e)))
            return 1;
    return 0;
}

int scr_flush_latest(const scr_hash *h)
{
    int latest = -1;
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DATASET"))) {
        int id = scr_hash_elem_key_int(e);
        if (id > latest && scr_flush_has(h, id, "CKPT") &&
            (scr_flush_get_location(h, id) & SCR_LOC_CACHE) != 0)
            latest = id;
    }
    return latest;
}

/* --- nodes.scr --- */

int scr_nodes_get(const scr_hash *h, int *nodes, struct scr_err *err)
{
    int n = 0;
    if (scr_hash_get(h, "NODES") == NULL)
        return scr_fail(err, SCR_E_NOENT, 0, "nodes file: no number of nodes");
    if (!scr_hash_get_val_int(h, "NODES", &n) || n < 1)
        return scr_fail(err, SCR_E_CORRUPT, 0, "nodes file: bad number of nodes");
    *nodes = n;
    return SCR_OK;
}

int scr_nodes_set(scr_hash *h, int nodes)
{
    if (nodes < 1)
        return SCR_E_ARG;
    return scr_hash_set_val_i64(h, "NODES", nodes) != NULL ? SCR_OK : SCR_E_NOMEM;
}

/* --- current.scr --- */

enum { JOBS_KEPT = 16 };

const char *scr_gone_to_name(const scr_hash *h, const char *job_id)
{
    return scr_hash_get_val(scr_hash_get_kv(h, "JOB", job_id), "NAME");
}

int scr_gone_to_is(const scr_hash *h, const char *job_id, const char *name)
{
    const char *gone = scr_gone_to_name(h, job_id);
    return gone != NULL && strcmp(gone, name) == 0;
}

void scr_gone_to_forget(scr_hash *h, const char *job_id)
{
    scr_hash_unset(scr_hash_get(h, "JOB"), job_id);
}

int scr_gone_to_set(scr_hash *h, const char *job_id, const char *name)
{
    scr_gone_to_forget(h, job_id); /* the newest comes last */
    int ok = scr_hash_set_val(scr_hash_set_kv(h, "JOB", job_id), "NAME", name) != NULL;
    scr_hash *jobs = scr_hash_get(h, "JOB");
    while (scr_hash_size(jobs) > JOBS_KEPT)
        scr_hash_unset(jobs, scr_hash_elem_key(scr_hash_elem_first(jobs)));
    return ok ? SCR_OK : SCR_E_NOMEM;
}
