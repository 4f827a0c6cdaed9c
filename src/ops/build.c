/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks, rebuilds and enters one dataset of the prefix directory. */
#include "ops/build.h"

#include <stdlib.h>

#include "base/dir.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/state.h"
#include "ops/faults.h"
#include "ops/scan.h"
#include "ops/stage.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "store/flushing.h"
#include "store/paths.h"
#include "store/replaced.h"
#include "store/replacing.h"
#include "store/saved.h"

enum {
    PART_BYTES = 1 << 20, /* a part of rank2file is closed once it is about this big */
    DIR_MODE = 0777       /* cut by the umask */
};

/* --- the verdict --- */

/* What is built, and how it gets into the index. */
struct build {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    struct scr_build_report *report;
    int in_cache;        /* a cache has it */
    int goes_on, mended; /* as in struct scr_entering */
};

/* The facts about a dataset before its redundancy files are looked at. */
struct known {
    int complete;         /* there is a summary that confirms it */
    int damaged;          /* and it is not true */
    const scr_hash *dset; /* by the summary; NULL: there is none */
};

static int enter(const struct build *b, const scr_hash *dset, int complete, time_t when,
                 struct scr_err *err)
{
    const struct scr_entering e = { dset, complete, when, b->goes_on, b->mended };
    return scr_prefix_index_put(b->env, b->p, &e, err);
}

/* The verdict on a dataset that is not whole: recorded first, then told. Files that
 * could not be looked at may be good, so that they change nothing. */
static int reject(const struct build *b, const scr_hash *dset,
                  const struct known *known, const struct scr_faults *f,
                  struct scr_err *err)
{
    int id = b->id;
    const char *first = f->first ? f->first : "files are missing";
    if (!known->damaged && !scr_faults_real(f))
        return scr_fail(err, SCR_E_IO, 0, "dataset %d cannot be checked: %s", id,
                        first);
    /* The summary stays: with it the dataset can be added again when the file is back.
     */
    if (scr_hash_size(dset) > 0)
        TRY(enter(b, dset, 0, time(NULL), err));
    if (!scr_faults_real(f)) /* the rebuild is to blame, and may do better later */
        return scr_fail(err, SCR_E_IO, 0,
                        "dataset %d is not whole, and could not be repaired: %s", id,
                        first);
    if (f->n > 1)
        return scr_fail(err, SCR_E_LOST, 0,
                        "dataset %d is not whole: %s (and %zu more)", id, first,
                        f->n - 1);
    return scr_fail(err, SCR_E_LOST, 0, "dataset %d is not whole: %s", id, first);
}

/* scr_faults_check, with a bar. */
static void check_files(const struct build *b, const char *root, const scr_hash *dset,
                        const struct scr_rank2file *list, struct scr_faults *f)
{
    struct scr_build_report *report = b->report;
    uint64_t total = 0;
    (void)scr_hash_get_val_u64(dset, "SIZE", &total);
    if (report->progress != NULL)
        scr_progress_start(report->progress, report->progress_out, total);
    f->progress = report->progress;
    scr_faults_check(b->env, root, dset, list, f, &report->files);
    scr_progress_hide(report->progress);
}

/* --- rank2file --- */

/* Writes a part of those ranks. */
static int write_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const struct scr_rank2file *ranks, struct scr_err *err)
{
    char *path = scr_rank2file_part_path(p, id, ranks->of[0]->rank);
    int rc =
        path ? scr_rank2file_write(env->sys, path, ranks, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* Parts of bounded size, of one rank after the other; root gets their names. */
static int write_parts(const struct scr_env *env, const struct scr_prefix *p, int id,
                       const struct scr_rank2file *all, struct scr_rank2file_root *root,
                       struct scr_err *err)
{
    int rc = SCR_OK;
    size_t first = 0;
    struct scr_str packed = SCR_STR_INIT; /* to know how long the part gets */
    for (size_t i = 0; i < all->n && rc == SCR_OK; i++) {
        scr_rank_files_pack(&packed, all->of[i]);
        size_t around = (i + 1 - first) * SCR_RANK_FILES_AROUND;
        if (packed.len - around < PART_BYTES && i < all->n - 1)
            continue;
        const struct scr_rank2file part = { .ranks = all->ranks,
                                            .of = &all->of[first],
                                            .n = i + 1 - first };
        rc = write_part(env, p, id, &part, err);
        root->part[root->n++] = all->of[first]->rank;
        first = i + 1;
        scr_str_free(&packed);
    }
    scr_str_free(&packed);
    return rc;
}

static int write_rank2file(const struct scr_env *env, const struct scr_prefix *p,
                           int id, const struct scr_rank2file *all, struct scr_err *err)
{
    char *path = scr_rank2file_path(p, id, "");
    struct scr_rank2file_root root = { .level = 1,
                                       .ranks = all->ranks,
                                       .part = scr_calloc(all->n, sizeof *root.part) };
    int rc;
    TRY_OUT(path && root.part ? write_parts(env, p, id, all, &root, err)
                              : scr_no_memory(err));
    TRY_OUT(scr_rank2file_root_write(env->sys, path, &root, err));
out:
    scr_rank2file_root_fini(&root);
    free(path);
    return rc;
}

void scr_build_tidy(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_stage_is_there(env, p, id) && scr_stage_remove(env, p, id, &why) != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN, "dataset %d is complete, but not tidied up: %s",
                id, why.text);
}

/* staged: the files are not in their places yet. */
static int record(const struct build *b, const scr_hash *dset,
                  const struct scr_rank2file *all, int staged, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(b->p, b->id);
    int rc = dir ? scr_dir_make(b->env->sys, dir, DIR_MODE, err) : scr_no_memory(err);
    free(dir);
    if (rc != SCR_OK)
        return rc;
    /* The entry before the summary, as a flush has it (invariant P1): a summary without
     * an index means that the index was lost. */
    TRY(enter(b, dset, 0, time(NULL), err));
    TRY(write_rank2file(b->env, b->p, b->id, all, err));
    if (staged)
        TRY(scr_stage_place(b->env, b->p, b->id, dset, all, err));
    TRY(scr_prefix_summary_write(b->env, b->p, b->id, dset, 1, err));
    return enter(b, dset, 1, time(NULL), err);
}

int scr_build_record(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const scr_hash *dset, const struct scr_rank2file *all,
                     struct scr_err *err)
{
    const struct build b = { env, p, id, .goes_on = 1 };
    return record(&b, dset, all, 0, err);
}

/* --- a scavenged dataset --- */

/* All files exist: update the records, the index last. Meanwhile no
 * older summary vouches for a list of files that is half old and half new. */
static int publish(const struct build *b, struct scr_scan *s, int complete,
                   struct scr_err *err)
{
    if (scr_hash_size(s->dset) == 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "dataset %d: no file describes it",
                        s->id);
    if (scr_hash_set_val_i64(s->dset, "COMPLETE", 1) == NULL)
        return scr_no_memory(err);
    if (complete) {
        TRY(enter(b, s->dset, 0, time(NULL), err));
        TRY(scr_prefix_summary_remove(s->env, s->p, s->id, err));
    }
    return record(b, s->dset, &s->files, s->staged, err);
}

/* Files are missing because sets could not be rebuilt: that is reported first. */
static void blame_sets(struct scr_scan *s, struct scr_faults *f)
{
    if (f->n == 0 || s->lost.n == 0)
        return;
    free(f->first);
    f->first = s->lost.first;
    f->n += s->lost.n;
    s->lost.first = NULL;
}

static int rebuild_and_check(const struct build *b, struct scr_scan *s,
                             struct scr_faults *f, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_scan_rebuild(s, f, &why);
    if (rc == SCR_E_LOST)
        scr_faults_add_err(f, &why);
    else if (rc != SCR_OK)
        return scr_err_take(err, rc, &why);
    /* Of what could not be read nothing is known: that is not to count as lost. */
    else if (f->n == 0 || scr_faults_real(f)) {
        f->trusted = s->trusted;
        check_files(b, s->root, s->dset, &s->files, f);
    }
    blame_sets(s, f);
    return SCR_OK;
}

static int build_scavenged(const struct build *b, const struct known *known,
                           struct scr_err *err)
{
    struct scr_scan s;
    struct scr_faults f = SCR_FAULTS_INIT;
    int rc;
    TRY_OUT(scr_scan_open(&s, b->env, b->p, b->id, err));
    TRY_OUT(rebuild_and_check(b, &s, &f, err));
    TRY_OUT(f.n > 0 ? reject(b, scr_hash_size(s.dset) ? s.dset : known->dset, known, &f,
                             err)
                    : publish(b, &s, known->complete, err));
out:
    b->report->rebuilt_ranks = s.rebuilt_ranks;
    b->report->newer = s.newer;
    b->report->built = rc == SCR_OK;
    scr_faults_fini(&f);
    scr_scan_fini(&s);
    return rc;
}

/* --- a flushed dataset --- */

static time_t flushed_at(const struct build *b)
{
    time_t when = scr_prefix_summary_time(b->env, b->p, b->id);
    return when != 0 ? when : time(NULL);
}

/* Whether a scavenge left something to rebuild from beside an unusable summary. */
static int is_scavenged(const struct build *b)
{
    struct scr_scan s;
    int rc = scr_scan_open(&s, b->env, b->p, b->id, NULL);
    scr_scan_fini(&s);
    return rc == SCR_OK;
}

/* Checks the files that rank2file lists. */
static int check_flushed(const struct build *b, const scr_hash *dset, int complete,
                         struct scr_faults *f, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rank2file list = { 0 };
    int rc = scr_prefix_rank2file_read(b->env, b->p, b->id, &list, &why);
    if (rc == SCR_OK)
        check_files(b, b->p->path, dset, &list, f);
    else if (rc != SCR_E_NOMEM)
        scr_faults_add_err(f, &why);
    if (!complete)
        scr_faults_add(f, "its summary says that it is incomplete");
    scr_rank2file_fini(&list);
    return rc == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
}

static int build_flushed(const struct build *b, const scr_hash *dset, int complete,
                         struct scr_err *err)
{
    struct scr_faults f = SCR_FAULTS_INIT;
    int rc = check_flushed(b, dset, complete, &f, err);
    const struct known known = { complete, scr_faults_real(&f), dset };
    if (rc == SCR_OK && f.n == 0)
        rc = enter(b, dset, 1, flushed_at(b), err);
    else if (rc == SCR_OK && is_scavenged(b)) {
        b->report->files = 0;
        rc = build_scavenged(b, &known, err);
    } else if (rc == SCR_OK)
        rc = reject(b, dset, &known, &f, err);
    scr_faults_fini(&f);
    return rc;
}

/* --- one without a summary: a flush died before it wrote that, or took it away to
 * replace the files and died before it did --- */

/* Of one that is being deleted files may be gone in a moment. */
static int check_stays(const struct build *b, const struct scr_index *index,
                       struct scr_err *err)
{
    struct scr_index_entry e;
    if (scr_index_get(index, b->id, &e, NULL) != SCR_OK || !(e.doomed || e.failed))
        return SCR_OK;
    if (!e.doomed && is_scavenged(b))
        return SCR_E_NOENT;
    return scr_fail(err, e.doomed ? SCR_E_CANCELLED : SCR_E_INVALID, 0,
                    "%s (dataset %d) is %s", e.dset.name, b->id,
                    e.doomed ? "being deleted" : "marked as failed");
}

/* Its entry in the index, and its list of files. SCR_E_NOENT: one of them is not
 * there, or cannot be used. */
static int read_listed(const struct build *b, scr_hash *dset,
                       struct scr_rank2file *list, struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc =
        dset ? scr_prefix_index_read(b->env, b->p, &index, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = check_stays(b, &index, err);
    if (rc == SCR_OK && (rc = scr_index_dataset(&index, b->id, dset)) == SCR_E_NOMEM)
        rc = scr_no_memory(err);
    if (rc == SCR_OK &&
        scr_prefix_rank2file_read(b->env, b->p, b->id, list, NULL) != SCR_OK)
        rc = SCR_E_NOENT;
    scr_index_fini(&index);
    return rc;
}

static int enter_listed(const struct build *b, scr_hash *dset,
                        const struct scr_rank2file *list, struct scr_err *err)
{
    int rc = scr_dataset_finish(dset, scr_rank2file_bytes(list),
                                scr_rank2file_num_files(list));
    TRY_OUT(rc == SCR_OK ? scr_arrival_give_up(b->env, b->p, b->id, err)
                         : scr_no_memory(err));
    TRY_OUT(scr_paths_sync(b->env, b->p, list, err));
    TRY_OUT(scr_prefix_summary_write(b->env, b->p, b->id, dset, 1, err));
    TRY_OUT(enter(b, dset, 1, time(NULL), err));
out:
    if (rc == SCR_E_CANCELLED)
        (void)scr_prefix_summary_remove(b->env, b->p, b->id, NULL);
    return rc;
}

/* Datasets on their way to the same paths: a process that copies one found this
 * one incomplete, and would put its files in their places. *n: how many there were. */
static int give_up_meeting(const struct build *b, size_t *n, struct scr_err *err)
{
    struct scr_table paths = SCR_TABLE_OF(struct scr_item);
    *n = 0;
    int rc;
    TRY_OUT(scr_paths_add(b->env, b->p, b->id, &paths, err));
    TRY_OUT(scr_paths_give_up(b->env, b->p, b->id, &paths, n, err));
out:
    scr_table_fini(&paths);
    return rc;
}

/* Only a CRC32 shows that a file is the dataset's own, and not one that took its place.
 */
static void check_listed(const struct build *b, const scr_hash *dset,
                         const struct scr_rank2file *list, struct scr_faults *f)
{
    b->report->files = 0;
    check_files(b, b->p->path, dset, list, f);
    if (f->unsummed > 0)
        scr_faults_add(f, "of %zu file%s no CRC32 is recorded", f->unsummed,
                       scr_plural((int64_t)f->unsummed));
    if (b->report->files == 0)
        scr_faults_add(f, "it lists no file");
}

/* SCR_E_NOENT: there is no such dataset. */
static int build_listed(const struct build *b, struct scr_err *err)
{
    struct scr_faults f = SCR_FAULTS_INIT;
    const struct known known = { 0 };
    size_t given_up = 0;
    struct scr_rank2file list = { 0 };
    scr_hash *dset = scr_hash_new();
    int rc = read_listed(b, dset, &list, err);
    if (rc == SCR_OK)
        check_listed(b, dset, &list, &f);
    if (rc == SCR_OK && f.n == 0)
        rc = give_up_meeting(b, &given_up, err);
    if (rc == SCR_OK && given_up > 0) /* files may have been replaced meanwhile */
        check_listed(b, dset, &list, &f);
    if (rc == SCR_OK && f.n == 0)
        rc = enter_listed(b, dset, &list, err);
    else if (rc == SCR_OK)
        rc = is_scavenged(b) ? SCR_E_NOENT : reject(b, dset, &known, &f, err);
    b->report->built = rc == SCR_OK;
    scr_faults_fini(&f);
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    return rc;
}

/* --- a scavenged dataset that was being put in place --- */

/* *done: 1 if it is complete now, or cannot be for now (an error). 0: what there is was
 * put back, and has to be looked at once more. */
static int resume_placing(const struct build *b, int *done, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rank2file list = { 0 };
    scr_hash *dset = scr_hash_new();
    int rc = dset ? scr_prefix_record_read(b->env, b->p, b->id, SCR_PLACING, dset, &why)
                  : scr_no_memory(&why);
    if (rc == SCR_OK)
        rc = scr_prefix_rank2file_read(b->env, b->p, b->id, &list, &why);
    if (rc == SCR_OK)
        rc = record(b, dset, &list, 1, &why);
    b->report->files = scr_rank2file_num_files(&list);
    b->report->built = *done = rc == SCR_OK;
    if (rc == SCR_E_MISSING || rc == SCR_E_CORRUPT || rc == SCR_E_NOENT)
        rc = scr_stage_take_back(b->env, b->p, b->id, &list, err);
    else
        scr_err_take(err, rc, &why);
    scr_rank2file_fini(&list);
    scr_hash_delete(dset);
    return rc;
}

/* --- a dataset that bypassed the cache, with files not renamed yet --- */

/* Completes the placing of a dataset. While its job lives the job does it. */
static int resume_replacing(const struct build *b, int *done, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t files = 0;
    if (scr_flushing_is_held(b->env, b->p, b->id))
        return scr_fail(err, SCR_E_LOCKED, 0, "dataset %d: a job is writing it", b->id);
    int rc = scr_replacing_finish(b->env, b->p, b->id, &files, &why);
    b->report->files = files;
    b->report->built = *done = rc == SCR_OK;
    if (rc == SCR_OK)
        return SCR_OK;
    return scr_err_may_pass(rc) ? scr_err_take(err, rc, &why)
                                : scr_replacing_end(b->env, b->p, b->id, err);
}

/* --- the dataset, whatever it is --- */

static int build_any(const struct build *b, struct scr_err *err)
{
    const struct known nothing = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    int complete = 0;
    scr_hash *dset = scr_hash_new();
    int rc = scr_prefix_summary_read(b->env, b->p, b->id, &complete, dset, &why);
    if (rc == SCR_OK)
        rc = build_flushed(b, dset, complete, err);
    else if (rc == SCR_E_VERSION || rc == SCR_E_NOMEM || rc == SCR_E_IO)
        scr_err_take(err, rc, &why); /* may be good, or newer: left alone */
    else if ((rc = build_listed(b, err)) == SCR_E_NOENT) {
        b->report->files = 0;
        rc = build_scavenged(b, &nothing, err);
    }
    scr_hash_delete(dset);
    return rc;
}

static int build(const struct build *b, struct scr_err *err)
{
    int done = 0;
    if (scr_replacing_is_begun(b->env, b->p, b->id))
        TRY(resume_replacing(b, &done, err));
    if (!done && scr_stage_is_placing(b->env, b->p, b->id))
        TRY(resume_placing(b, &done, err));
    if (!done)
        TRY(build_any(b, err));
    (void)scr_saved_note(b->env, b->p, &b->id, 1, b->in_cache, NULL);
    scr_build_tidy(b->env, b->p, b->id);
    scr_replaced_remove(b->env, b->p, b->id);
    return SCR_OK;
}

int scr_build_add(const struct scr_env *env, const struct scr_prefix *p, int id,
                  struct scr_build_report *report, struct scr_err *err)
{
    return build(&(struct build){ env, p, id, .report = report }, err);
}

int scr_build_dataset(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_build_report *report, struct scr_err *err)
{
    *report = (struct scr_build_report){ 0 };
    return build(&(struct build){ env, p, id, report, 1, .goes_on = 1 }, err);
}

int scr_build_repair(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_build_report *report, struct scr_err *err)
{
    *report = (struct scr_build_report){ 0 };
    return build(&(struct build){ env, p, id, report, .mended = 1 }, err);
}
