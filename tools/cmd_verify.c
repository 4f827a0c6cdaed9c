/* SPDX-License-Identifier: BSD-3-Clause */
/* scr verify: every file of every dataset against its size and CRC32; with --repair,
 * rebuilt from redundancy where there is any. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "ops/build.h"
#include "ops/faults.h"
#include "ops/scan.h"
#include "reach.h"
#include "red/survey.h"
#include "tool.h"

enum { OPT_PREFIX, OPT_CACHE, OPT_CNTL, OPT_REPAIR };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_CACHE] = { "cache", 'C', NULL, "verify the caches of this node instead" },
    [OPT_CNTL] = { "cntl", 'c', "DIR",
                   "verify those of control directory DIR instead" },
    [OPT_REPAIR] = { "repair", 'r', NULL, "rebuild what is lost or damaged" },
    { 0 },
};

/* The results, over all datasets. */
struct tally {
    struct scr_tool *t;
    int repair;
    int datasets, skipped; /* verified; not complete, so not verified */
    uint64_t files, bytes;
    size_t found;    /* problems, before any repair */
    size_t left;     /* after it */
    size_t unsummed; /* files without a CRC32 */
    struct scr_progress progress;
    const char *label; /* of the dataset at work */
};

/* --- output --- */

static void tell_problem(void *arg, const char *text)
{
    struct tally *y = arg;
    scr_progress_hide(&y->progress);
    scr_tool_print_line(y->t, "%s: %s", y->label, text);
}

static void print_summary(struct tally *y)
{
    char size[32];
    scr_progress_hide(&y->progress);
    scr_tool_print(y->t, "verified %d dataset%s, %" PRIu64 " file%s, %s: ", y->datasets,
                   scr_plural(y->datasets), y->files, scr_plural((int64_t)y->files),
                   scr_format_size(y->bytes, size, sizeof size));
    if (y->found == 0)
        scr_tool_print(y->t, "no problems");
    else if (y->left == 0)
        scr_tool_print(y->t, "%zu problem%s, repaired", y->found,
                       y->found == 1 ? "" : "s");
    else
        scr_tool_print(y->t, "%zu problem%s%s", y->left, y->left == 1 ? "" : "s",
                       y->repair ? " left" : "");
    if (y->unsummed > 0)
        scr_tool_print(y->t, "; %zu file%s no recorded CRC32, only sizes compared",
                       y->unsummed, y->unsummed == 1 ? " has" : "s have");
    if (y->skipped > 0)
        scr_tool_print(y->t, "; %d incomplete dataset%s skipped", y->skipped,
                       y->skipped == 1 ? "" : "s");
    scr_tool_print(y->t, "\n");
}

static struct scr_faults faults_of(struct tally *y)
{
    struct scr_faults f = SCR_FAULTS_INIT;
    f.progress = &y->progress;
    f.tell = tell_problem;
    f.arg = y;
    return f;
}

/* --- which datasets --- */

/* 1 if the user asked for this one; without operands for all. */
static int is_wanted(const struct scr_args *a, int id, const char *name, int *seen)
{
    for (int i = 0; i < a->noperands; i++) {
        int number;
        if ((name != NULL && strcmp(a->operand[i], name) == 0) ||
            (scr_parse_int(a->operand[i], &number) && number == id)) {
            seen[i] = 1;
            return 1;
        }
    }
    return a->noperands == 0;
}

static int check_seen(const struct scr_args *a, const int *seen, const char *where,
                      struct scr_err *err)
{
    for (int i = 0; i < a->noperands; i++)
        if (!seen[i])
            return scr_fail(err, SCR_E_NOENT, 0, "no dataset \"%s\" in %s",
                            a->operand[i], where);
    return SCR_OK;
}

static char *label_of(int id, const char *name)
{
    return name ? scr_asprintf("dataset %d (%s)", id, name)
                : scr_asprintf("dataset %d", id);
}

/* --- the prefix directory --- */

static void check_set(const struct scr_env *env, const struct scr_scan_set *set, int id,
                      struct scr_faults *f)
{
    for (int i = 0; i < set->n; i++)
        if (set->found[i])
            scr_faults_check_redfile(env, set->red[i], id, f);
        else
            scr_faults_add(f, "%s is gone", set->red[i]);
}

/* Redundancy files that a scavenge left with the record. */
static int check_redfiles(struct tally *y, int id, struct scr_faults *f,
                          struct scr_err *err)
{
    const struct scr_tool *t = y->t;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_scan s;
    int rc = scr_scan_open(&s, &t->env, &t->prefix, id, &why);
    for (SCR_EACH(const struct scr_scan_set, set, &s.sets))
        if (rc == SCR_OK)
            check_set(&t->env, set, id, f);
    scr_scan_fini(&s);
    /* Without a directory, or anything of a scavenge in it, there are none. */
    if (rc != SCR_OK && rc != SCR_E_NOENT && rc != SCR_E_NOMEM)
        scr_faults_add_err(f, &why);
    return rc == SCR_E_NOMEM ? scr_err_take(err, rc, &why) : SCR_OK;
}

/* Record and files; those found wrong go to f. *good: except for redundancy files
 * nothing is. */
static int look_at_prefix(struct tally *y, int id, struct scr_faults *f,
                          uint64_t *files, int *good, struct scr_err *err)
{
    const struct scr_tool *t = y->t;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rank2file list = { 0 };
    scr_hash *dset = scr_hash_new();
    int complete = 0;
    int rc = scr_prefix_summary_read(&t->env, &t->prefix, id, &complete, dset, &why);
    if (rc == SCR_OK)
        rc = scr_prefix_rank2file_read(&t->env, &t->prefix, id, &list, &why);
    if (rc == SCR_OK)
        scr_faults_check(&t->env, t->prefix.path, dset, &list, f, files);
    else if (rc != SCR_E_NOMEM)
        scr_faults_add_err(f, &why);
    if (rc == SCR_OK && !complete)
        scr_faults_add(f, "its summary says that it is incomplete");
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    *good = f->n == 0;
    if (rc == SCR_E_NOMEM)
        return scr_fail(err, rc, 0, "dataset %d: out of memory", id);
    return check_redfiles(y, id, f, err);
}

/* Rebuilds redundancy files whose application files are all right. Remaining problems
 * are found afterwards; err has the reason. */
static void mend_redfiles(const struct scr_env *env, const struct scr_prefix *p, int id,
                          struct scr_err *err)
{
    struct scr_scan s;
    struct scr_faults f = SCR_FAULTS_INIT;
    if (scr_scan_open(&s, env, p, id, NULL) == SCR_OK && s.sets.n > 0)
        (void)scr_scan_rebuild(&s, &f, err);
    scr_faults_fini(&f);
    scr_scan_fini(&s);
}

static void tell_repair(struct tally *y, int built, const char *why, int newer)
{
    scr_progress_hide(&y->progress);
    if (built == SCR_E_LOST && newer > 0)
        scr_tool_print_line(y->t,
                            "%s: its files were written over by dataset %d, nothing is "
                            "rebuilt; marked incomplete",
                            y->label, newer);
    else if (built == SCR_E_LOST)
        tell_problem(y, "beyond repair, marked incomplete: no restart takes it");
    else
        tell_problem(y, *why != '\0' ? why : "not repaired");
}

/* Repairs all it can, and checks everything again. good: redundancy files
 * only. */
static int repair_prefix(struct tally *y, int id, int good, size_t *left,
                         struct scr_err *err)
{
    const struct scr_tool *t = y->t;
    const struct scr_env quiet = { .sys = t->env.sys };
    struct scr_build_report report = { 0 };
    struct scr_err why = SCR_ERR_INIT;
    struct scr_faults again = SCR_FAULTS_INIT;
    uint64_t files = 0;
    int built = good ? SCR_OK : scr_build_repair(&quiet, &t->prefix, id, &report, &why);
    if (built == SCR_OK)
        mend_redfiles(&quiet, &t->prefix, id, &why);
    again.progress = &y->progress;
    int rc = look_at_prefix(y, id, &again, &files, &good, err);
    *left = again.n;
    if (rc == SCR_OK && again.n == 0)
        tell_problem(y, "repaired");
    else if (rc == SCR_OK)
        tell_repair(y, built, why.text, report.newer);
    scr_faults_fini(&again);
    return rc;
}

static int verify_entry(struct tally *y, const struct scr_index_entry *e,
                        struct scr_err *err)
{
    struct scr_faults f = faults_of(y);
    uint64_t files = 0;
    char *label = label_of(e->id, e->dset.name);
    int good;
    y->label = label ? label : "dataset";
    int rc = look_at_prefix(y, e->id, &f, &files, &good, err);
    size_t left = f.n;
    y->datasets++;
    y->files += files;
    y->bytes += e->dset.size;
    y->found += f.n;
    y->unsummed += f.unsummed;
    if (rc == SCR_OK && f.n > 0 && y->repair)
        rc = repair_prefix(y, e->id, good, &left, err);
    y->left += left;
    scr_faults_fini(&f);
    free(label);
    return rc;
}

/* 1 if an incomplete dataset can be made complete: the last repair was cut short, or
 * could not read enough of it. */
static int can_be_rebuilt(const struct tally *y, int id)
{
    const struct scr_env quiet = { .sys = y->t->env.sys };
    struct scr_scan s;
    int can = scr_scan_open(&s, &quiet, &y->t->prefix, id, NULL) == SCR_OK &&
              scr_scan_can_rebuild(&s, 0);
    scr_scan_fini(&s);
    return can;
}

static int is_verified(const struct tally *y, const struct scr_args *a,
                       const struct scr_index_entry *e)
{
    return e->complete || a->noperands > 0 ||
           (y->repair && !e->doomed && can_be_rebuilt(y, e->id));
}

/* Calls for every dataset of the index the user asked for, oldest first. */
static int each_entry(struct tally *y, const struct scr_args *a,
                      const struct scr_index *index, int *seen, struct scr_err *err)
{
    uint64_t total = 0;
    int rc = SCR_OK;
    for (int pass = 0; pass < 2 && rc == SCR_OK; pass++) {
        for (size_t i = 0; i < index->n && rc == SCR_OK; i++) {
            const struct scr_index_entry *e = &index->of[i];
            if (!is_wanted(a, e->id, e->dset.name, seen))
                continue;
            int take = is_verified(y, a, e);
            if (pass == 0)
                total += take ? e->dset.size : 0;
            else if (take)
                rc = verify_entry(y, e, err);
            else
                y->skipped++;
        }
        if (pass == 0)
            scr_progress_start(&y->progress, y->t->log.out, total);
        if (pass == 0 && rc == SCR_OK) /* before anything is repaired */
            rc = check_seen(a, seen, y->t->prefix.path, err);
    }
    return rc;
}

static int verify_prefix(struct tally *y, const struct scr_args *a, int *seen,
                         struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY_OUT((y->repair ? scr_prefix_index_read : scr_prefix_index_look)(
        &y->t->env, &y->t->prefix, &index, err));
    TRY_OUT(each_entry(y, a, &index, seen, err));
out:
    scr_index_fini(&index);
    return rc;
}

/* --- caches --- */

static void look_at_file(const struct scr_survey *s, const char *path,
                         const scr_meta *meta, int rank, struct scr_faults *f)
{
    struct scr_listed is = { .has_size = 0 };
    uint64_t size;
    uint32_t crc;
    if (scr_meta_get_filesize(meta, &size) == SCR_OK)
        scr_listed_set_size(&is, size);
    if (scr_meta_get_crc32(meta, &crc) == SCR_OK)
        scr_listed_set_crc(&is, crc);
    scr_faults_check_file(s->env, path, &is, 1, rank, f);
}

/* Files of one rank as the filemap has them. */
static void look_at_rank(struct tally *y, const struct scr_survey *s,
                         const struct scr_entry *e, struct scr_faults *f,
                         uint64_t *files)
{
    uint64_t size;
    int listed = 0;
    for (SCR_EACH(struct scr_file, file, &e->files)) {
        enum scr_scheme scheme;
        const char *path = file->item.name;
        const scr_meta *meta = scr_file_meta(file);
        if (scr_scheme_parse(scr_meta_text(meta, SCR_META_TYPE), &scheme)) {
            scr_faults_check_redfile(s->env, path, e->dset, f);
            continue;
        }
        look_at_file(s, path, meta, e->rank, f);
        if (scr_meta_get_filesize(meta, &size) == SCR_OK)
            y->bytes += size;
        listed++;
    }
    *files += (uint64_t)listed;
    if (listed < e->expected)
        scr_faults_add(f, "rank %d: names %d of its %d file%s", e->rank, listed,
                       e->expected, scr_plural(e->expected));
}

static void look_at_cache(struct tally *y, const struct scr_survey *s, int id,
                          struct scr_faults *f, uint64_t *files)
{
    for (SCR_ENTRIES(e, s->map, id))
        look_at_rank(y, s, e, f, files);
}

static void repair_cache(struct tally *y, const struct scr_survey *s,
                         const struct scr_survey_dataset *d, size_t *left)
{
    const struct scr_survey quiet = { .env = &(struct scr_env){ .sys = s->env->sys },
                                      .map = s->map };
    struct scr_faults again = SCR_FAULTS_INIT;
    uint64_t files = 0, bytes = y->bytes;
    again.progress = &y->progress;
    for (SCR_EACH(const struct scr_survey_set, set, &d->sets)) {
        struct scr_err why = SCR_ERR_INIT;
        int ranks;
        if (scr_survey_mend(&quiet, set, &ranks, &why) != SCR_OK)
            tell_problem(y, why.text);
    }
    look_at_cache(y, s, d->id, &again, &files);
    y->bytes = bytes; /* not counted twice */
    *left = again.n;
    tell_problem(y, again.n == 0 ? "repaired" : "not repaired");
    scr_faults_fini(&again);
}

static void verify_cached(struct tally *y, const struct scr_survey *s,
                          const struct scr_survey_dataset *d)
{
    struct scr_faults f = faults_of(y);
    if (d->ranks == 0) {
        y->skipped++;
        return;
    }
    look_at_cache(y, s, d->id, &f, &y->files);
    size_t left = f.n;
    y->datasets++;
    y->found += f.n;
    y->unsummed += f.unsummed;
    if (f.n > 0 && y->repair)
        repair_cache(y, s, d, &left);
    y->left += left;
    scr_faults_fini(&f);
}

/* By the first rank that describes it; NULL: none does. */
static const char *cached_name(const struct scr_survey *s, int id)
{
    struct scr_dataset d;
    for (SCR_ENTRIES(e, s->map, id))
        if (scr_dataset_get(e->dataset, &d, NULL) == SCR_OK)
            return d.name;
    return NULL;
}

static void count_fault(struct tally *y, const char *text)
{
    tell_problem(y, text);
    y->found++;
    y->left++;
}

static int verify_copy(struct tally *y, const struct scr_survey *s, int id,
                       struct scr_err *err)
{
    struct scr_survey_dataset d;
    struct scr_err why = SCR_ERR_INIT;
    char *label = label_of(id, cached_name(s, id));
    y->label = label ? label : "dataset";
    int rc = scr_survey_dataset(s, id, &d, &why);
    if (rc == SCR_OK) {
        verify_cached(y, s, &d);
        scr_survey_dataset_fini(&d);
    } else if (rc == SCR_E_CORRUPT) {
        y->datasets++;
        count_fault(y, why.text);
        rc = SCR_OK;
    } else {
        scr_err_take(err, rc, &why);
    }
    free(label);
    return rc;
}

static int verify_cached_id(struct tally *y, const struct scr_args *a,
                            const struct scr_survey *s, int id, int *seen,
                            struct scr_err *err)
{
    if (!is_wanted(a, id, cached_name(s, id), seen))
        return SCR_OK;
    for (; (s = scr_survey_copy(s, id)) != NULL; s = s->next)
        TRY(verify_copy(y, s, id, err));
    return SCR_OK;
}

/* Before anything is repaired. */
static int check_cached_names(const struct scr_args *a, const struct scr_survey *s,
                              const int *ids, int n, int *seen, struct scr_err *err)
{
    for (int i = 0; i < n; i++)
        (void)is_wanted(a, ids[i], cached_name(s, ids[i]), seen);
    return check_seen(a, seen, "the caches in reach", err);
}

/* Bytes of all files the filemap names. */
static uint64_t named_bytes(const struct scr_survey *s, const int *ids, int n)
{
    uint64_t total = 0, size;
    for (; s != NULL; s = s->next)
        for (int i = 0; i < n; i++)
            for (SCR_ENTRIES(e, s->map, ids[i]))
                for (SCR_EACH(struct scr_file, f, &e->files))
                    if (scr_meta_get_filesize(scr_file_meta(f), &size) == SCR_OK)
                        total += size;
    return total;
}

/* The files that such a filemap names are lost, whichever datasets they are of. */
static void tell_unread(struct tally *y, const struct scr_survey *s)
{
    y->label = "filemaps";
    for (SCR_EACH(struct scr_item, line, &s->unread))
        count_fault(y, line->name);
}

static int verify_cache(struct tally *y, const struct scr_args *a, int *seen,
                        struct scr_err *err)
{
    struct scr_reach reach;
    struct scr_survey s = { 0 };
    int *ids = NULL, n = 0;
    const struct scr_env quiet = { .sys = y->t->env.sys };
    int rc = scr_tool_reach(y->t, y->t->prefix.path, a->opt[OPT_CNTL], &reach, err);
    if (rc == SCR_OK)
        rc = scr_survey_reach(&s, &quiet, &reach, err);
    for (struct scr_survey *at = &s; at != NULL; at = at->next)
        at->env = &y->t->env;
    if (rc == SCR_OK && scr_filemap_list_datasets(s.map, &n, &ids) != SCR_OK)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        rc = check_cached_names(a, &s, ids, n, seen, err);
    if (rc == SCR_OK)
        tell_unread(y, &s);
    scr_progress_start(&y->progress, y->t->log.out, named_bytes(&s, ids, n));
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = verify_cached_id(y, a, &s, ids[i], seen, err);
    free(ids);
    scr_survey_fini(&s);
    scr_reach_fini(&reach);
    return rc;
}

/* --- the command --- */

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct tally y = { .t = t, .repair = a->opt[OPT_REPAIR] != NULL };
    int cache = a->opt[OPT_CACHE] != NULL || a->opt[OPT_CNTL] != NULL;
    int *seen = scr_calloc((size_t)a->noperands, sizeof *seen);
    int rc = seen ? scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err) : scr_no_memory(err);
    if (rc == SCR_OK && !cache)
        scr_tool_note_no_data(t);
    if (rc == SCR_OK)
        rc = cache ? verify_cache(&y, a, seen, err) : verify_prefix(&y, a, seen, err);
    scr_progress_hide(&y.progress);
    free(seen);
    if (rc != SCR_OK)
        return rc;
    print_summary(&y);
    return y.left == 0 ? SCR_OK : SCR_TOOL_NO;
}

const struct scr_cmd scr_cmd_verify = {
    .usage = "[OPTION]... [DATASET]...",
    .about =
        "Reads every file of the complete datasets in a prefix directory, or of the\n"
        "datasets in cache, and compares size and CRC32 with what was recorded.\n"
        "DATASET is an id or a name; without one, all are verified. The exit status\n"
        "is 1 if problems are found and not repaired.",
    .opts = opts,
    .notes =
        "--repair rebuilds files from redundancy data: in cache, where all members\n"
        "of a set are in reach; in the prefix directory, where a scavenge left\n"
        "redundancy files. Files that are right are not touched. Repair a cache\n"
        "only while no job uses it.",
    .max_operands = -1,
    .run = run,
};
