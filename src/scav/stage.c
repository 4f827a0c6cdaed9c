/* SPDX-License-Identifier: BSD-3-Clause */
/* A scavenged dataset before it is whole. */
#include "scav/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/filemap.h"
#include "store/arrival.h"
#include "store/paths.h"
#include "xfer/copy.h"
#include "xfer/stored.h"
#include "xfer/zst.h"

enum {
    VERSION = 1,
    DIR_MODE = 0777,  /* cut by the umask */
    STAGE_MODE = 0700 /* files may come from directories that others cannot enter */
};

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "scavenge of dataset %d: out of memory", id);
}

static char *in_dset_dir(const struct scr_prefix *p, int id, const char *name)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_path_join(dir, name) : NULL;
    free(dir);
    return path;
}

char *scr_stage_dir(const struct scr_prefix *p, int id)
{
    return in_dset_dir(p, id, "files");
}

static char *marker_path(const struct scr_prefix *p, int id)
{
    return in_dset_dir(p, id, "placing.scr");
}

int scr_stage_make(const struct scr_env *env, const struct scr_prefix *p, int id,
                   struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id), *stage = scr_stage_dir(p, id);
    int rc =
        dir && stage ? scr_dir_make(env->sys, dir, DIR_MODE, err) : no_memory(id, err);
    if (rc == SCR_OK)
        rc = scr_dir_make(env->sys, stage, STAGE_MODE, err);
    free(stage);
    free(dir);
    return rc;
}

/* Takes the path over. */
static int is_there(const struct scr_env *env, char *path)
{
    struct stat st;
    int there = path == NULL || scr_file_stat(env->sys, path, &st, NULL) != SCR_E_NOENT;
    free(path);
    return there;
}

int scr_stage_is_there(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    return is_there(env, scr_stage_dir(p, id));
}

int scr_stage_is_placing(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    return is_there(env, marker_path(p, id));
}

int scr_stage_is_ours(const char *dest)
{
    return strcmp(dest, ".scr") == 0 || strncmp(dest, ".scr/", 5) == 0;
}

/* --- files between the stage and their places --- */

struct move {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    char *stage;
    scr_hash *dirs;   /* {<directory>}: got files, to be synced */
    scr_hash *inside; /* {<directory>}: are in the prefix, links followed */
};

static int move_init(struct move *m, const struct scr_env *env,
                     const struct scr_prefix *p, int id, struct scr_err *err)
{
    *m = (struct move){ .env = env, .p = p, .id = id };
    m->stage = scr_stage_dir(p, id);
    m->dirs = scr_hash_new();
    m->inside = scr_hash_new();
    return m->stage && m->dirs && m->inside ? SCR_OK : no_memory(id, err);
}

static void move_fini(struct move *m)
{
    free(m->stage);
    scr_hash_delete(m->dirs);
    scr_hash_delete(m->inside);
}

/* Directories are made once each. */
static int make_dir(struct move *m, const char *path, struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc = dir ? SCR_OK : no_memory(m->id, err);
    if (rc == SCR_OK && scr_hash_get(m->dirs, dir) == NULL) {
        if (strncmp(dir, m->stage, strlen(m->stage)) == 0)
            rc = scr_stage_make(m->env, m->p, m->id, err);
        if (rc == SCR_OK)
            rc = scr_dir_make(m->env->sys, dir, DIR_MODE, err);
        if (rc == SCR_OK && scr_hash_set(m->dirs, dir, NULL) == NULL)
            rc = no_memory(m->id, err);
    }
    free(dir);
    return rc;
}

/* A directory may be a link to another file system. */
static int copy_over(const struct move *m, const char *from, const char *to,
                     struct scr_err *err)
{
    const struct scr_copy job = { .src = from, .dst = to, .sync = 1 };
    struct scr_copied got;
    int rc = scr_copy_file(m->env->sys, &job, &got, err);
    return rc == SCR_OK ? scr_file_remove(m->env->sys, from, err) : rc;
}

static int move_file(struct move *m, const char *from, const char *to,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = make_dir(m, to, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_file_rename(m->env->sys, from, to, &why);
    if (rc != SCR_OK && why.sys == EXDEV)
        return copy_over(m, from, to, err);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}

static int sync_dirs(const struct move *m, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(e, m->dirs))
        if (rc == SCR_OK)
            rc = scr_dir_sync(m->env->sys, scr_hash_elem_key(e), err);
    return rc;
}

/* SCR_OK: a regular file of the size in info, if one is recorded there. SCR_E_MISSING:
 * something else; SCR_E_NOENT: nothing. SCR_E_IO: that cannot be told. */
static int look(const struct move *m, const char *path, const scr_hash *info,
                struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    uint64_t size;
    int rc = scr_file_stat(m->env->sys, path, &st, &why);
    if (rc == SCR_E_NOENT || why.sys == ENOTDIR)
        return SCR_E_NOENT;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    int same = S_ISREG(st.st_mode) && (!scr_hash_get_val_u64(info, "SIZE", &size) ||
                                       size == (uint64_t)st.st_size);
    return same ? SCR_OK : SCR_E_MISSING;
}

/* 1 for what look() tells of the file; else it is an error. */
static int is_told(int rc)
{
    return rc == SCR_OK || rc == SCR_E_MISSING || rc == SCR_E_NOENT;
}

/* Calls for each file of part, with its paths in the stage and in place. */
static int each_file(struct move *m, const scr_hash *part,
                     int (*f)(struct move *m, const char *dest, const char *staged,
                              const char *placed, const scr_hash *info,
                              struct scr_err *err),
                     struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(r), "FILE"))) {
            const char *dest = scr_hash_elem_key(e);
            char *staged = scr_path_join(m->stage, dest);
            char *placed = scr_path_join(m->p->path, dest);
            if (rc == SCR_OK)
                rc = staged && placed
                         ? f(m, dest, staged, placed, scr_hash_elem_hash(e), err)
                         : no_memory(m->id, err);
            free(staged);
            free(placed);
        }
    return rc;
}

/* --- to their places --- */

/* Where a file is to be placed, each directory once (invariant P20). */
static int check_dir(struct move *m, const char *placed, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_path_dir(placed);
    int rc = dir ? SCR_OK : no_memory(m->id, err);
    if (rc == SCR_OK && scr_hash_get(m->inside, dir) == NULL) {
        rc = scr_prefix_check_inside(m->p, dir, &why);
        if (rc != SCR_OK)
            scr_fail(err, rc, 0, "dataset %d: %s", m->id, why.text);
        else if (scr_hash_set(m->inside, dir, NULL) == NULL)
            rc = no_memory(m->id, err);
    }
    free(dir);
    return rc;
}

static int check_file(struct move *m, const char *dest, const char *staged,
                      const char *placed, const scr_hash *info, struct scr_err *err)
{
    struct stat st;
    if (scr_stage_is_ours(dest) || !scr_path_is_safe(dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0, "dataset %d: no file of it can be %s",
                        m->id, dest);
    if (scr_file_stat(m->env->sys, placed, &st, NULL) == SCR_OK && S_ISDIR(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0,
                        "dataset %d: %s is to be a file and is a directory", m->id,
                        placed);
    int rc = check_dir(m, placed, err);
    if (rc != SCR_OK)
        return rc;
    int at_stage = look(m, staged, info, err), in_place = SCR_E_NOENT;
    if (is_told(at_stage) && at_stage != SCR_OK)
        in_place = look(m, placed, info, err);
    if (at_stage == SCR_OK || in_place == SCR_OK)
        return SCR_OK;
    if (!is_told(at_stage) || !is_told(in_place))
        return is_told(at_stage) ? in_place : at_stage;
    return scr_fail(err, SCR_E_MISSING, 0, "dataset %d: %s is gone", m->id, staged);
}

static int place_file(struct move *m, const char *dest, const char *staged,
                      const char *placed, const scr_hash *info, struct scr_err *err)
{
    (void)dest;
    struct stat st;
    (void)info;
    int rc = scr_file_stat(m->env->sys, staged, &st, NULL);
    return rc == SCR_E_NOENT ? make_dir(m, placed, err) /* in place: to be synced */
                             : move_file(m, staged, placed, err);
}

static int edit_demote(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    scr_hash *entry = scr_hash_get_kv_int(index, "DSET", *(const int *)arg);
    *changed = entry != NULL;
    if (entry != NULL && scr_hash_set_val_i64(entry, "COMPLETE", 0) == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "index: out of memory");
    return SCR_OK;
}

/* Complete datasets of which a file is about to be replaced are complete no more. */
static int demote_others(const struct move *m, const scr_hash *paths,
                         struct scr_err *err)
{
    int *ids = NULL, rc;
    size_t n = 0;
    rc = scr_paths_shared(m->env, m->p, m->id, paths, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        scr_log(m->env->log, SCR_LOG_NOTE,
                "dataset %d is no longer complete: dataset %d has files of the same "
                "names",
                ids[i], m->id);
        rc = scr_prefix_index_update(m->env, m->p, edit_demote, &ids[i], err);
        if (rc == SCR_OK)
            rc = scr_prefix_summary_remove(m->env, m->p, ids[i], err);
    }
    free(ids);
    return rc;
}

static int write_marker(const struct move *m, const scr_hash *dset, struct scr_err *err)
{
    scr_hash *h = scr_hash_new();
    char *path = marker_path(m->p, m->id);
    scr_hash_set_val_i64(h, "VERSION", VERSION);
    scr_hash_set(h, "DSET", scr_hash_dup(dset));
    int rc = h && path && scr_hash_ok(h)
                 ? scr_hash_file_write(m->env->sys, path, h, SCR_DURABLE, err)
                 : no_memory(m->id, err);
    free(path);
    scr_hash_delete(h);
    return rc;
}

int scr_stage_read_placing(const struct scr_env *env, const struct scr_prefix *p,
                           int id, scr_hash *dset, struct scr_err *err)
{
    int version = 0;
    scr_hash *h = scr_hash_new();
    char *path = marker_path(p, id);
    int rc =
        h && path ? scr_hash_file_read(env->sys, path, h, err) : no_memory(id, err);
    if (rc == SCR_OK &&
        (!scr_hash_get_val_int(h, "VERSION", &version) || version != VERSION))
        rc = scr_fail(err, version > VERSION ? SCR_E_VERSION : SCR_E_CORRUPT, 0,
                      "%s: version %d, this reader knows %d", path, version, VERSION);
    if (rc == SCR_OK && scr_hash_merge(dset, scr_hash_get(h, "DSET")) != SCR_OK)
        rc = no_memory(id, err);
    free(path);
    scr_hash_delete(h);
    return rc;
}

static int check_newest(const struct move *m, const scr_hash *paths,
                        struct scr_err *err)
{
    int newer = 0;
    int rc = scr_paths_written_over(m->env, m->p, m->id, paths, &newer, err);
    return rc == SCR_OK && newer > 0
               ? scr_fail(err, SCR_E_LOST, 0,
                          "dataset %d: its files were written over by dataset %d",
                          m->id, newer)
               : rc;
}

static int place(struct move *m, const scr_hash *dset, const scr_hash *part,
                 struct scr_err *err)
{
    scr_hash *paths = scr_hash_new();
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            scr_hash_set(paths, scr_hash_elem_key(e), NULL);
    int rc = paths && scr_hash_ok(paths) ? SCR_OK : no_memory(m->id, err);
    if (rc == SCR_OK && (rc = check_newest(m, paths, err)) == SCR_OK &&
        (rc = each_file(m, part, check_file, err)) == SCR_OK &&
        (rc = write_marker(m, dset, err)) == SCR_OK &&
        (rc = demote_others(m, paths, err)) == SCR_OK &&
        (rc = each_file(m, part, place_file, err)) == SCR_OK)
        rc = sync_dirs(m, err);
    scr_hash_delete(paths);
    return rc;
}

int scr_stage_place(const struct scr_env *env, const struct scr_prefix *p, int id,
                    const scr_hash *dset, const scr_hash *part, struct scr_err *err)
{
    struct move m;
    int rc = move_init(&m, env, p, id, err);
    if (rc == SCR_OK)
        rc = place(&m, dset, part, err);
    move_fini(&m);
    return rc;
}

/* --- back --- */

/* What is in place and not in the stage goes there. *moved: it did. */
static int move_back(struct move *m, const char *staged, const char *placed,
                     const scr_hash *info, int *moved, struct scr_err *err)
{
    int at_stage = look(m, staged, NULL, err), in_place = SCR_E_NOENT;
    *moved = 0;
    if (at_stage == SCR_E_NOENT)
        in_place = look(m, placed, info, err);
    if (!is_told(at_stage) || !is_told(in_place))
        return is_told(at_stage) ? in_place : at_stage;
    if (in_place != SCR_OK)
        return SCR_OK;
    int rc = move_file(m, placed, staged, err);
    *moved = rc == SCR_OK;
    return rc;
}

static int take_file_back(struct move *m, const char *dest, const char *staged,
                          const char *placed, const scr_hash *info, struct scr_err *err)
{
    int moved;
    (void)dest;
    return move_back(m, staged, placed, info, &moved, err);
}

static int remove_marker(const struct move *m, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(m->p, m->id), *path = marker_path(m->p, m->id);
    int rc =
        dir && path ? scr_file_remove(m->env->sys, path, err) : no_memory(m->id, err);
    if (rc == SCR_OK)
        rc = scr_dir_sync(m->env->sys, dir, err);
    free(path);
    free(dir);
    return rc;
}

int scr_stage_take_back(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const scr_hash *part, struct scr_err *err)
{
    struct move m;
    int rc = move_init(&m, env, p, id, err);
    if (rc == SCR_OK && (rc = each_file(&m, part, take_file_back, err)) == SCR_OK &&
        (rc = sync_dirs(&m, err)) == SCR_OK)
        rc = remove_marker(&m, err);
    move_fini(&m);
    return rc;
}

int scr_stage_remove(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_err *err)
{
    struct move m;
    int rc = move_init(&m, env, p, id, err);
    if (rc == SCR_OK && scr_stage_is_placing(env, p, id))
        rc = remove_marker(&m, err);
    if (rc == SCR_OK && scr_stage_is_there(env, p, id))
        rc = scr_dir_remove(env->sys, m.stage, err);
    move_fini(&m);
    return rc;
}

/* --- what an asynchronous flush left --- */

struct landed {
    struct move m;
    scr_hash *part;  /* rank2file of the flush */
    scr_hash *taken; /* {<path>}: of complete datasets */
    scr_hash *dset;  /* the dataset, as the flush entered it in the index */
    scr_hash *spent; /* {<path>}: compressed, their plain bytes are in the stage */
    int passed;      /* compressed ones that this build cannot unpack */
    uint64_t n;
};

static int take_one(struct landed *l, const char *rank, const char *dest,
                    struct scr_err *err)
{
    struct move *m = &l->m;
    const scr_hash *info = scr_hash_getf(l->part, "RANK %s FILE %s", rank, dest);
    if (info == NULL || !scr_path_is_safe(dest) || scr_stage_is_ours(dest) ||
        scr_hash_get(l->taken, dest) != NULL)
        return SCR_OK;
    char *staged = scr_path_join(m->stage, dest);
    char *placed = scr_path_join(m->p->path, dest);
    int moved = 0;
    int rc = staged && placed ? move_back(m, staged, placed, info, &moved, err)
                              : no_memory(m->id, err);
    l->n += (uint64_t)moved;
    free(placed);
    free(staged);
    return rc;
}

/* 1 if it is the file that is to blame, which then counts as one that had not landed.
 */
static int is_damaged(int rc)
{
    return rc == SCR_E_CORRUPT || rc == SCR_E_MISSING || rc == SCR_E_NOENT ||
           rc == SCR_E_UNSAFE;
}

/* The plain bytes of one that landed compressed, which stays until they are durable;
 * staged: they are there already, from a scavenge that was cut short. */
static int unpack_one(struct landed *l, const char *dest, const scr_hash *info,
                      const char *to, int staged, struct scr_err *err)
{
    const struct scr_sys *sys = l->m.env->sys;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_stored s = { 0 };
    struct scr_copied got;
    struct scr_copy job = { .dst = to, .sync = 1 };
    int rc = scr_stored_job(l->m.p->path, dest, info, &s, &job, err);
    if (rc == SCR_OK)
        rc = make_dir(&l->m, to, err);
    if (rc == SCR_OK && (staged ? scr_copy_check(sys, &job, &got, &why)
                                : scr_copy_file(sys, &job, &got, &why)) == SCR_OK) {
        l->n += !staged;
        if (scr_hash_set(l->spent, s.src, NULL) == NULL)
            rc = no_memory(l->m.id, err);
    }
    scr_stored_fini(&s);
    return why.code == SCR_OK || is_damaged(why.code)
               ? rc
               : scr_fail(err, why.code, 0, "%s", why.text);
}

/* What cannot be unpacked here stays, and so do the records of it: a build with the
 * library can take it later. */
static int pass_over(struct landed *l)
{
    if (l->passed++ == 0)
        scr_log(l->m.env->log, SCR_LOG_WARN,
                "dataset %d: files that a flush compressed are not taken: SCR was "
                "built without libzstd; they stay where they are",
                l->m.id);
    return SCR_OK;
}

static int take_packed(struct landed *l, const char *rank, const char *dest,
                       const struct scr_packed *is, struct scr_err *err)
{
    const struct move *m = &l->m;
    scr_hash *info =
        scr_hash_dup(scr_hash_getf(l->part, "RANK %s FILE %s", rank, dest));
    if (info == NULL || scr_stage_is_ours(dest)) {
        scr_hash_delete(info);
        return SCR_OK;
    }
    int rc =
        scr_rank2file_set_packed(info, is) == SCR_OK ? SCR_OK : no_memory(m->id, err);
    char *stored = scr_rank2file_stored(dest, info);
    char *staged = scr_path_join(m->stage, dest);
    if (rc == SCR_OK && (stored == NULL || staged == NULL))
        rc = no_memory(m->id, err);
    int there = rc == SCR_OK ? look(m, staged, info, err) : SCR_E_MISSING;
    if (!is_told(there))
        rc = there;
    if (there != SCR_E_MISSING && is_told(there) &&
        scr_hash_get(l->taken, stored) == NULL)
        rc = scr_zst_have() ? unpack_one(l, dest, info, staged, there == SCR_OK, err)
                            : pass_over(l);
    free(staged);
    free(stored);
    scr_hash_delete(info);
    return rc;
}

static int take_landed(struct landed *l, const char *rank, const char *record,
                       struct scr_err *err)
{
    struct scr_packed is;
    uint64_t stamp;
    const char *dest;
    return scr_arrival_packed_parse(record, &stamp, &is, &dest)
               ? take_packed(l, rank, dest, &is, err)
               : take_one(l, rank, record, err);
}

/* What is known of a landed file, as a rank's filemap has it. */
static int describe_file(struct landed *l, scr_filemap *map, int rank,
                         const scr_hash_elem *file, struct scr_err *err)
{
    const char *dest = scr_hash_elem_key(file);
    int ranks = 0;
    char *dir = scr_path_dir(dest);
    scr_meta *meta = scr_meta_new();
    (void)scr_hash_get_val_int(l->part, "RANKS", &ranks);
    int rc = dir && meta ? scr_hash_merge(meta, scr_hash_elem_hash(file)) : SCR_E_NOMEM;
    scr_meta_set_filename(meta, scr_path_base(dest));
    scr_meta_set_filetype(meta, "FULL");
    scr_meta_set_origpath(meta, dir);
    scr_meta_set_origname(meta, scr_path_base(dest));
    scr_meta_set_rank(meta, rank);
    scr_meta_set_ranks(meta, ranks);
    scr_meta_set_complete(meta, 1);
    scr_filemap_set_meta(map, l->m.id, rank, dest, meta);
    scr_meta_delete(meta);
    free(dir);
    return rc == SCR_OK && scr_hash_ok(map) ? SCR_OK : no_memory(l->m.id, err);
}

/* *all: 1 if every file of the rank is in the stage. */
static int has_all(const struct landed *l, const scr_hash *files, int *all,
                   struct scr_err *err)
{
    int rc = SCR_OK;
    *all = 1;
    for (SCR_HASH_EACH(e, files)) {
        char *staged = scr_path_join(l->m.stage, scr_hash_elem_key(e));
        int one = staged && is_told(rc)
                      ? look(&l->m, staged, scr_hash_elem_hash(e), err)
                      : SCR_E_NOMEM;
        *all = *all && one == SCR_OK;
        rc = is_told(one) ? rc : one;
        free(staged);
    }
    return rc == SCR_E_NOMEM ? no_memory(l->m.id, err) : rc;
}

static int write_map(struct landed *l, int rank, const scr_hash *files,
                     const char *path, struct scr_err *err)
{
    const struct move *m = &l->m;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_rank(map, m->id, rank);
    scr_filemap_set_dataset(map, m->id, rank, l->dset);
    scr_filemap_set_expected_files(map, m->id, rank, (int)scr_hash_size(files));
    int rc = map ? SCR_OK : no_memory(m->id, err);
    for (SCR_HASH_EACH(e, files))
        if (rc == SCR_OK)
            rc = describe_file(l, map, rank, e, err);
    if (rc == SCR_OK)
        rc = scr_hash_file_write(m->env->sys, path, map, SCR_DURABLE, err);
    scr_filemap_delete(map);
    return rc;
}

/* A rank whose files had all landed needs nothing from its node any more: its filemap
 * is written as a copy would have written it. */
static int list_rank(struct landed *l, const char *key, const scr_hash *files,
                     struct scr_err *err)
{
    int rank = -1, all = 0, rc;
    char *name = scr_asprintf("%s.scrfilemap", key);
    char *path = name ? in_dset_dir(l->m.p, l->m.id, name) : NULL;
    free(name);
    rc = path ? has_all(l, files, &all, err) : no_memory(l->m.id, err);
    if (rc == SCR_OK && all && scr_parse_int(key, &rank)) {
        rc = look(&l->m, path, NULL, err);
        rc = rc == SCR_E_NOENT ? write_map(l, rank, files, path, err)
             : is_told(rc)     ? SCR_OK
                               : rc;
    }
    free(path);
    return rc;
}

static int list_ranks(struct landed *l, struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(r, scr_hash_get(l->part, "RANK")))
        if (rc == SCR_OK)
            rc = list_rank(l, scr_hash_elem_key(r),
                           scr_hash_get(scr_hash_elem_hash(r), "FILE"), err);
    return rc;
}

static int take_record(struct landed *l, int node, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int id = l->m.id;
    int rc = map ? scr_arrival_read(l->m.env, l->m.p, id, node, map, err)
                 : no_memory(id, err);
    for (scr_hash_elem *r = scr_filemap_first_rank_by_dataset(map, id);
         r != NULL && rc == SCR_OK; r = scr_hash_elem_next(r))
        for (scr_hash_elem *f =
                 scr_filemap_first_file(map, id, scr_hash_elem_key_int(r));
             f != NULL && rc == SCR_OK; f = scr_hash_elem_next(f))
            rc = take_landed(l, scr_hash_elem_key(r), scr_hash_elem_key(f), err);
    scr_filemap_delete(map);
    return rc;
}

static int add_taken(struct landed *l, struct scr_err *err)
{
    int *ids = NULL;
    size_t n = 0;
    int rc = scr_paths_complete(l->m.env, l->m.p, l->m.id, &ids, &n, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = scr_paths_add(l->m.env, l->m.p, ids[i], l->taken, err);
    free(ids);
    return rc;
}

/* The entry may be another dataset's by now, or none: then nothing is taken. */
static int read_dset(struct landed *l, struct scr_err *err)
{
    const struct move *m = &l->m;
    scr_hash *index = scr_hash_new();
    int rc = scr_prefix_index_read(m->env, m->p, index, err);
    if (rc == SCR_OK &&
        scr_hash_merge(l->dset, scr_hash_getf(index, "DSET %d DSET", m->id)) != SCR_OK)
        rc = no_memory(m->id, err);
    scr_hash_delete(index);
    return rc;
}

/* One that is gone or damaged is as good as none. */
static int read_list(struct landed *l, struct scr_err *err)
{
    const struct move *m = &l->m;
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_prefix_rank2file_read(m->env, m->p, m->id, l->part, &why);
    if (rc == SCR_E_IO || rc == SCR_E_NOMEM)
        return scr_fail(err, rc, 0, "%s", why.text);
    if (rc != SCR_OK)
        scr_hash_unset_all(l->part);
    return SCR_OK;
}

static int take_records(struct landed *l, const int *node, size_t n,
                        struct scr_err *err)
{
    int rc = add_taken(l, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = take_record(l, node[i], err);
    if (rc == SCR_OK)
        rc = sync_dirs(&l->m, err);
    for (SCR_HASH_EACH(e, l->spent))
        if (rc == SCR_OK)
            rc = scr_file_remove(l->m.env->sys, scr_hash_elem_key(e), err);
    return rc == SCR_OK ? list_ranks(l, err) : rc;
}

/* Without a list of files nothing is known of what landed: it is copied again. */
static int take_all(struct landed *l, const int *node, size_t n, struct scr_err *err)
{
    const struct move *m = &l->m;
    l->part = scr_hash_new();
    l->taken = scr_hash_new();
    l->dset = scr_hash_new();
    l->spent = scr_hash_new();
    int rc = l->part && l->taken && l->dset && l->spent
                 ? scr_arrival_give_up(m->env, m->p, m->id, err)
                 : no_memory(m->id, err);
    if (rc == SCR_OK)
        rc = read_dset(l, err);
    if (rc == SCR_OK && scr_hash_size(l->dset) > 0)
        rc = read_list(l, err);
    if (rc == SCR_OK && scr_hash_size(l->part) > 0)
        rc = take_records(l, node, n, err);
    for (size_t i = 0; i < n && rc == SCR_OK && l->passed == 0; i++)
        rc = scr_arrival_forget(m->env, m->p, m->id, node[i], err);
    return rc;
}

int scr_stage_take_landed(const struct scr_env *env, const struct scr_prefix *p, int id,
                          uint64_t *n, struct scr_err *err)
{
    struct landed l = { .n = 0 };
    int *node = NULL;
    size_t nnodes = 0;
    int rc = move_init(&l.m, env, p, id, err);
    if (rc == SCR_OK)
        rc = scr_arrival_nodes(env, p, id, &node, &nnodes, err);
    /* A plan without records may still become one: nothing had landed. */
    if (rc == SCR_OK)
        rc = nnodes > 0 ? take_all(&l, node, nnodes, err)
                        : scr_arrival_give_up(env, p, id, err);
    *n = l.n;
    free(node);
    scr_hash_delete(l.part);
    scr_hash_delete(l.taken);
    scr_hash_delete(l.dset);
    scr_hash_delete(l.spent);
    move_fini(&l.m);
    return rc;
}
