/* SPDX-License-Identifier: BSD-3-Clause */
/* Files written without SCR become a dataset. */
#include "ops/adopt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "ops/build.h"
#include "red/member.h"
#include "store/deletion.h"

enum { DEPTH_MAX = 64 /* of directories: no checkpoint is deeper */ };

/* --- patterns --- */

struct match {
    int rank; /* -1: no %r met yet */
};

static int match_from(const char *p, const char *s, struct match *m);

/* A '*' that stops at slashes, or a '**' that does not. */
static int match_star(const char *p, const char *s, struct match *m)
{
    int any = p[1] == '*';
    p += any ? 2 : 1;
    for (;; s++) {
        struct match try = *m;
        if (match_from(p, s, &try)) {
            *m = try;
            return 1;
        }
        if (*s == '\0' || (*s == '/' && !any))
            return 0;
    }
}

/* The number takes all digits there are: "1" of "12" is not a rank. */
static int match_rank(const char *p, const char *s, struct match *m)
{
    size_t n = strspn(s, "0123456789");
    int64_t rank = 0;
    if (n == 0 || n > 18)
        return 0;
    for (size_t i = 0; i < n; i++)
        rank = rank * 10 + (s[i] - '0');
    if (rank > INT_MAX || (m->rank >= 0 && m->rank != rank))
        return 0;
    m->rank = (int)rank;
    return match_from(p + 2, s + n, m);
}

static int match_from(const char *p, const char *s, struct match *m)
{
    for (; *p != '\0'; p++, s++) {
        if (*p == '*')
            return match_star(p, s, m);
        if (p[0] == '%' && p[1] == 'r')
            return match_rank(p, s, m);
        if (*p == '%')
            p++; /* "%%" */
        if (*p != *s)
            return 0;
    }
    return *s == '\0';
}

static int is_pattern(const char *p)
{
    if (!scr_path_is_safe(p))
        return 0;
    for (; *p != '\0'; p++)
        if (*p == '%' && *++p != 'r' && *p != '%')
            return 0;
    return 1;
}

int scr_adopt_match(const char *pattern, const char *path, int *rank)
{
    struct match m = { -1 };
    if (!is_pattern(pattern))
        return SCR_E_ARG;
    if (path == NULL || !match_from(pattern, path, &m))
        return 0;
    *rank = m.rank >= 0 ? m.rank : 0;
    return 1;
}

/* --- the files --- */

struct job {
    const struct scr_env *env;
    const struct scr_prefix *p;
    const struct scr_adopt *what;
    struct scr_adopted *out;
    char *below; /* the directory relative to the prefix, "." for itself */
    char *dir;   /* and absolute */
    struct scr_rank2file files; /* what is found */
    int64_t newest;             /* µs of the last change of a file */
    uint64_t total;
    int in_use; /* a job may be using the prefix, as the last reservation found */
};

/* Rank of a file by the first pattern it matches; -1: by none. */
static int owner(const struct job *j, const char *rel)
{
    int rank;
    for (int i = 0; i < j->what->npatterns; i++)
        if (scr_adopt_match(j->what->pattern[i], rel, &rank) == 1)
            return rank;
    return -1;
}

/* rel: relative to the directory. */
static int take_file(struct job *j, const char *rel, const struct stat *st,
                     struct scr_err *err)
{
    int rank = owner(j, rel);
    if (rank < 0) {
        j->out->unmatched++;
        return SCR_OK;
    }
    if (!S_ISREG(st->st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s/%s: not a regular file", j->dir, rel);
    char *path = scr_path_join(j->below, rel);
    int64_t changed =
        (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
    struct scr_listed *f = path ? scr_rank2file_add_file(&j->files, rank, path) : NULL;
    free(path);
    TRY(f ? SCR_OK : scr_no_memory(err));
    scr_listed_set_size(f, (uint64_t)st->st_size);
    j->newest = changed > j->newest ? changed : j->newest;
    j->total += (uint64_t)st->st_size;
    return SCR_OK;
}

static int walk(struct job *j, const char *rel, int depth, struct scr_err *err);

static int take_name(struct job *j, const char *rel, const char *name, int depth,
                     struct scr_err *err)
{
    struct stat st;
    char *at = *rel ? scr_asprintf("%s/%s", rel, name) : scr_strdup(name);
    char *path = at ? scr_path_join(j->dir, at) : NULL;
    int rc;
    TRY_OUT(path ? scr_file_stat(j->env->sys, path, &st, err) : scr_no_memory(err));
    TRY_OUT(S_ISDIR(st.st_mode) ? walk(j, at, depth + 1, err)
                                : take_file(j, at, &st, err));
out:
    free(path);
    free(at);
    return rc;
}

static int walk(struct job *j, const char *rel, int depth, struct scr_err *err)
{
    char **names = NULL, *dir = *rel ? scr_path_join(j->dir, rel) : scr_strdup(j->dir);
    size_t n = 0;
    if (depth > DEPTH_MAX)
        scr_fail(err, SCR_E_RANGE, 0, "%s: more than %d directories deep", j->dir,
                 DEPTH_MAX);
    int rc = dir == NULL         ? scr_no_memory(err)
             : depth > DEPTH_MAX ? SCR_E_RANGE
             : strcmp(dir, j->p->scr) == 0
                 ? SCR_OK /* SCR's own */
                 : scr_dir_list(j->env->sys, dir, &names, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = take_name(j, rel, names[i], depth, err);
    scr_names_free(names, n);
    free(dir);
    return rc;
}

/* --- checks --- */

static int check_patterns(const struct scr_adopt *what, struct scr_err *err)
{
    int rank;
    for (int i = 0; i < what->npatterns; i++)
        if (scr_adopt_match(what->pattern[i], NULL, &rank) == SCR_E_ARG)
            return scr_fail(
                err, SCR_E_ARG, 0,
                "pattern \"%s\" not understood: a path below the directory "
                "with %%r for the rank, * and ** for other characters, %%%% "
                "for a percent sign, for example ckpt.%%r.dat",
                what->pattern[i]);
    return SCR_OK;
}

static int find_dir(struct job *j, struct scr_err *err)
{
    struct stat st;
    int outside = 0;
    j->dir = scr_path_join(j->p->path, j->what->dir);
    j->below = j->dir ? scr_path_below(j->p->path, j->dir, &outside) : NULL;
    if (outside)
        return scr_fail(
            err, SCR_E_OUTSIDE, 0,
            "%s is not below the prefix directory %s, where a restart reads "
            "its files",
            j->dir, j->p->path);
    TRY(j->below ? SCR_OK : scr_no_memory(err));
    if (scr_prefix_is_own(j->below))
        return scr_fail(err, SCR_E_ARG, 0, "%s: this directory is SCR's own", j->dir);
    TRY(scr_file_stat(j->env->sys, j->dir, &st, err));
    if (!S_ISDIR(st.st_mode))
        return scr_fail(err, SCR_E_ARG, 0, "%s: not a directory", j->dir);
    return SCR_OK;
}

static int choose_name(struct job *j, struct scr_err *err)
{
    const char *name = j->what->name;
    if (name == NULL && strcmp(j->below, ".") == 0)
        return scr_fail(err, SCR_E_ARG, 0,
                        "give the dataset a name with --name: the directory is the "
                        "prefix directory itself");
    name = name ? name : scr_path_base(j->below);
    if (*name == '\0')
        return scr_fail(err, SCR_E_NAME, 0, "the name is empty");
    j->out->name = scr_strdup(name);
    return j->out->name ? SCR_OK : scr_no_memory(err);
}

/* Ranks 0 … n-1 must all own a file. */
static int check_ranks(struct job *j, struct scr_err *err)
{
    const struct scr_rank2file *l = &j->files;
    int missing = 0, want = j->what->ranks, max = l->n > 0 ? l->of[l->n - 1]->rank : -1;
    while ((size_t)missing < l->n && l->of[missing]->rank == missing)
        missing++;
    if (l->n == 0)
        return scr_fail(err, SCR_E_MISSING, 0, "no file below %s matches a pattern",
                        j->dir);
    if (missing <= max)
        return scr_fail(
            err, SCR_E_MISSING, 0,
            "%s: rank %d has no file, but rank %d has: the set is not whole", j->dir,
            missing, max);
    if (want > 0 && max + 1 != want)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: files of %d rank%s, not of %d",
                        j->dir, max + 1, scr_plural(max + 1), want);
    j->out->ranks = j->files.ranks = max + 1;
    return SCR_OK;
}

/* --- reading --- */

static int sum_file(struct job *j, struct scr_listed *f, struct scr_err *err)
{
    struct scr_file_sum sum = { .told = scr_progress_add, .arg = j->what->progress };
    char *path = scr_path_join(j->p->path, f->item.name);
    int rc;
    TRY_OUT(path ? scr_file_sum(j->env, path, &sum, err) : scr_no_memory(err));
    if (sum.size != f->size)
        TRY_OUT(
            scr_fail(err, SCR_E_CORRUPT, 0, "%s: it changed while it was read", path));
    TRY_OUT(scr_file_sync(j->env->sys, path, err));
    scr_listed_set_crc(f, sum.crc);
    j->out->files++;
    j->out->bytes += sum.size;
out:
    free(path);
    return rc;
}

static int sum_files(struct job *j, struct scr_err *err)
{
    int rc = SCR_OK;
    if (j->what->progress != NULL)
        scr_progress_start(j->what->progress, j->what->progress_out, j->total);
    for (SCR_LISTED(f, &j->files))
        if (rc == SCR_OK)
            rc = sum_file(j, f, err);
    scr_progress_hide(j->what->progress);
    return rc;
}

/* --- the record --- */

static int describe(const struct job *j, scr_hash *dset)
{
    const struct scr_adopted *out = j->out;
    const struct scr_dataset d = { .id = out->id,
                                   .name = out->name,
                                   .size = out->bytes,
                                   .files = out->files,
                                   .created = j->newest,
                                   .ckpt = j->what->is_output ? 0 : out->id,
                                   .complete = 1,
                                   .is_ckpt = !j->what->is_output,
                                   .is_output = j->what->is_output };
    return scr_dataset_set(dset, &d);
}

/* The dataset of that name, if it is more than what an interrupted command or flush
 * left; 0: there is none. */
static int name_owner(const struct scr_index *index, const char *name)
{
    int id = scr_index_find(index, name);
    return scr_index_is_complete(index, id) ? id : 0;
}

/* Whether a run has the prefix directory; so it is where locks cannot be looked at. */
static int is_in_use(const struct job *j)
{
    return scr_prefix_lock_is_held(j->env, j->p, SCR_RUNS_LOCK) != 0;
}

/* The largest id that is not to be taken: known, of the index and the directories, or
 * one that jobs have in their caches. A job that runs counts on from the largest that
 * it found at its start, without a look at the index: those that it gets to soon are
 * left to it. */
static int max_taken(struct job *j, int known)
{
    int max = 0, in_cache = 0;
    scr_hash *flush = scr_hash_new();
    if (scr_prefix_state_read(j->env, j->p, "flush.scr", flush, NULL) == SCR_OK) {
        max = scr_flush_max_id(flush);
        in_cache = max > 0 && scr_flush_latest(flush) > 0;
    }
    scr_hash_delete(flush);
    max = known > max ? known : max;
    j->in_use = in_cache || is_in_use(j);
    return j->in_use ? scr_index_far_id(max) : max;
}

/* Name and id are taken under the lock of the index: no other process has them then. */
static int edit_reserve(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    struct job *j = arg;
    int max_dir = 0, max = scr_index_max_id(index), wish = j->what->id;
    int taken = name_owner(index, j->out->name);
    if (taken > 0)
        return scr_fail(err, SCR_E_EXIST, 0,
                        "dataset %d is called \"%s\" already: choose another --name",
                        taken, j->out->name);
    TRY(scr_prefix_max_dset_dir(j->env, j->p, &max_dir, err));
    max = max_dir > max ? max_dir : max;
    if (wish > 0 && wish <= max)
        return scr_fail(err, SCR_E_EXIST, 0,
                        "id %d may have been used: choose one above %d, or none", wish,
                        max);
    max = max_taken(j, max);
    if (wish == 0 && max == INT_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "no id is left above %d", max);
    j->out->id = wish > 0 ? wish : max + 1;
    scr_hash *dset = scr_hash_new();
    int rc = describe(j, dset);
    if (rc == SCR_OK)
        rc = scr_index_add(index, dset, 0, time(NULL));
    scr_hash_delete(dset);
    *changed = 1;
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

/* The id was new, so that all there is of it is ours. The index goes first: at no time
 * does it call complete what is being removed. */
static void forget(const struct job *j)
{
    const struct scr_env quiet = { .sys = j->env->sys };
    char *dir = scr_prefix_dset_dir(j->p, j->out->id);
    if (dir != NULL && scr_deletion_forget(&quiet, j->p, j->out->id, NULL) == SCR_OK)
        scr_dir_remove(quiet.sys, dir, NULL);
    free(dir);
}

/* A run that began meanwhile may have read the index before the entry was there, after
 * nobody was seen to hold its lock: it would take the same id. */
static int reserve(struct job *j, struct scr_err *err)
{
    TRY(scr_prefix_index_update(j->env, j->p, edit_reserve, j, err));
    if (j->in_use || j->what->id > 0 || !is_in_use(j))
        return SCR_OK;
    forget(j);
    return scr_prefix_index_update(j->env, j->p, edit_reserve, j, err);
}

static int record(struct job *j, struct scr_err *err)
{
    scr_hash *dset = NULL;
    TRY(reserve(j, err));
    dset = scr_hash_new();
    int rc = describe(j, dset) == SCR_OK
                 ? scr_build_record(j->env, j->p, j->out->id, dset, &j->files, err)
                 : scr_no_memory(err);
    scr_hash_delete(dset);
    if (rc != SCR_OK)
        forget(j);
    return rc;
}

static int adopt(struct job *j, struct scr_err *err)
{
    TRY(check_patterns(j->what, err));
    TRY(find_dir(j, err));
    TRY(choose_name(j, err));
    TRY(walk(j, "", 0, err));
    TRY(check_ranks(j, err));
    TRY(sum_files(j, err));
    return record(j, err);
}

int scr_adopt_directory(const struct scr_env *env, const struct scr_prefix *p,
                        const struct scr_adopt *what, struct scr_adopted *out,
                        struct scr_err *err)
{
    struct job j = { .env = env, .p = p, .what = what, .out = out };
    *out = (struct scr_adopted){ 0 };
    int rc = adopt(&j, err);
    scr_rank2file_fini(&j.files);
    free(j.below);
    free(j.dir);
    return rc;
}
