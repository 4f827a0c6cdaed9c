/* SPDX-License-Identifier: BSD-3-Clause */
/* A scavenged dataset before it is whole. */
#include "ops/stage.h"

#include <stdlib.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "ops/move.h"
#include "store/demote.h"
#include "store/paths.h"
#include "xfer/copy.h"

enum {
    DIR_MODE = 0777,  /* cut by the umask */
    STAGE_MODE = 0700 /* files may come from directories that others cannot enter */
};

int scr_stage_make(const struct scr_env *env, const struct scr_prefix *p, int id,
                   struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id), *stage = scr_stage_dir(p, id);
    int rc;
    TRY_OUT(dir && stage ? scr_dir_make(env->sys, dir, DIR_MODE, err)
                         : scr_no_memory(err));
    TRY_OUT(scr_dir_make(env->sys, stage, STAGE_MODE, err));
out:
    free(stage);
    free(dir);
    return rc;
}

static void sweep(const struct scr_sys *sys, const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    if (scr_dir_list(sys, dir, &names, &n, NULL) != SCR_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        char *path = scr_path_join(dir, names[i]);
        if (path != NULL && scr_copy_is_tmp(names[i]))
            (void)scr_file_remove(sys, path, NULL);
        else if (path != NULL && scr_file_stat(sys, path, &st, NULL) == SCR_OK &&
                 S_ISDIR(st.st_mode))
            sweep(sys, path);
        free(path);
    }
    scr_names_free(names, n);
}

void scr_stage_sweep(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    char *dir = scr_prefix_dset_dir(p, id);
    if (dir != NULL)
        sweep(env->sys, dir);
    free(dir);
}

/* --- to their places --- */

/* One file, with its paths in the stage and in place. */
typedef int file_step(struct scr_move *m, const struct scr_listed *f,
                      const char *staged, const char *placed, struct scr_err *err);

static int take_step(struct scr_move *m, const struct scr_listed *f, file_step *step,
                     struct scr_err *err)
{
    char *staged = scr_path_join(m->stage, f->item.name);
    char *placed = scr_path_join(m->p->path, f->item.name);
    int rc = staged && placed ? step(m, f, staged, placed, err) : scr_no_memory(err);
    free(staged);
    free(placed);
    return rc;
}

static int each_file(struct scr_move *m, const struct scr_rank2file *files,
                     file_step *step, struct scr_err *err)
{
    for (SCR_LISTED(f, files))
        TRY(take_step(m, f, step, err));
    return SCR_OK;
}

static int check_file(struct scr_move *m, const struct scr_listed *f,
                      const char *staged, const char *placed, struct scr_err *err)
{
    struct stat st;
    const char *dest = f->item.name;
    if (scr_prefix_is_own(dest) || !scr_path_is_safe(dest))
        return scr_fail(err, SCR_E_OUTSIDE, 0, "dataset %d: no file of it can be %s",
                        m->id, dest);
    if (scr_file_stat(m->env->sys, placed, &st, NULL) == SCR_OK && S_ISDIR(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0,
                        "dataset %d: %s is a directory, expected a file", m->id,
                        placed);
    TRY(scr_move_check_inside(m, placed, err));
    int at_stage = scr_move_look(m, staged, f, err), in_place = SCR_E_NOENT;
    if (scr_move_is_told(at_stage) && at_stage != SCR_OK)
        in_place = scr_move_look(m, placed, f, err);
    if (at_stage == SCR_OK || in_place == SCR_OK)
        return SCR_OK;
    if (!scr_move_is_told(at_stage) || !scr_move_is_told(in_place))
        return scr_move_is_told(at_stage) ? in_place : at_stage;
    return scr_fail(err, SCR_E_MISSING, 0, "dataset %d: %s is gone", m->id, staged);
}

static int place_file(struct scr_move *m, const struct scr_listed *f,
                      const char *staged, const char *placed, struct scr_err *err)
{
    (void)f;
    return scr_file_is_there(m->env->sys, staged)
               ? scr_move_file(m, staged, placed, err)
               : scr_move_make_dir(m, placed, err); /* in place: to be synced */
}

/* Complete datasets that are about to lose a file are not complete any more. */
static int demote_others(const struct scr_move *m, const struct scr_ids *others,
                         struct scr_err *err)
{
    for (size_t i = 0; i < others->n; i++)
        scr_log(m->env->log, SCR_LOG_NOTE,
                "dataset %d is no longer complete: dataset %d has files of the same "
                "names",
                others->id[i], m->id);
    return scr_demote(m->env, m->p, others, err);
}

/* Only a newer version knows its owner (invariant P16). Files that have left the stage
 * are ours. */
static int check_free(struct scr_move *m, const struct scr_listed *f,
                      const char *staged, const char *placed, struct scr_err *err)
{
    struct stat st;
    (void)f;
    if (scr_file_stat(m->env->sys, staged, &st, NULL) != SCR_OK ||
        !scr_file_is_there(m->env->sys, placed))
        return SCR_OK;
    return scr_fail(
        err, SCR_E_VERSION, 0,
        "dataset %d: %s exists, and may be a file of dataset %d, whose list is of a "
        "newer version of SCR; use that version, or drop it: scr_index --drop",
        m->id, placed, m->newer);
}

/* Complete datasets that list one of the paths. */
static int find_others(struct scr_move *m, const struct scr_rank2file *files,
                       const struct scr_table *paths, struct scr_ids *others,
                       struct scr_err *err)
{
    const struct scr_paths_of of = { m->id, paths, NULL };
    int rc = scr_paths_shared(m->env, m->p, &of, others, &m->newer, err);
    return rc == SCR_OK && m->newer > 0 ? each_file(m, files, check_free, err) : rc;
}

static int check_newest(const struct scr_move *m, const struct scr_dataset *d,
                        const struct scr_table *paths, struct scr_err *err)
{
    int newer;
    int rc = scr_paths_written_over(m->env, m->p, d, paths, &newer, err);
    if (rc == SCR_E_LOST)
        scr_err_prefix(err, "dataset %d", m->id);
    return rc;
}

/* Flushes to these paths are cancelled. A dataset that became complete before that may
 * be newer. */
static int give_up_others(const struct scr_move *m, const struct scr_dataset *d,
                          const struct scr_table *paths, struct scr_err *err)
{
    size_t n = 0;
    TRY(scr_paths_give_up(m->env, m->p, m->id, paths, &n, err));
    return check_newest(m, d, paths, err);
}

static int place(struct scr_move *m, const scr_hash *dset,
                 const struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_table paths = SCR_TABLE_OF(struct scr_item);
    struct scr_ids others = { 0 };
    struct scr_dataset d;
    int rc;
    TRY_OUT(scr_dataset_get(dset, &d, err));
    TRY_OUT(scr_paths_add_listed(m->env, m->p, files, &paths) ? SCR_OK
                                                              : scr_no_memory(err));
    TRY_OUT(check_newest(m, &d, &paths, err));
    TRY_OUT(each_file(m, files, check_file, err));
    TRY_OUT(give_up_others(m, &d, &paths, err));
    TRY_OUT(find_others(m, files, &paths, &others, err));
    TRY_OUT(scr_prefix_record_write(m->env, m->p, m->id, SCR_PLACING, dset, err));
    TRY_OUT(demote_others(m, &others, err));
    TRY_OUT(each_file(m, files, place_file, err));
    TRY_OUT(scr_move_sync(m, err));
out:
    scr_ids_fini(&others);
    scr_table_fini(&paths);
    return rc;
}

int scr_stage_place(const struct scr_env *env, const struct scr_prefix *p, int id,
                    const scr_hash *dset, const struct scr_rank2file *files,
                    struct scr_err *err)
{
    struct scr_move m;
    int rc;
    TRY_OUT(scr_move_init(&m, env, p, id, err));
    TRY_OUT(place(&m, dset, files, err));
out:
    scr_move_fini(&m);
    return rc;
}

/* --- back --- */

static int take_file_back(struct scr_move *m, const struct scr_listed *f,
                          const char *staged, const char *placed, struct scr_err *err)
{
    int moved;
    return scr_move_back(m, staged, placed, f, &moved, err);
}

int scr_stage_take_back(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_move m;
    int rc = scr_move_init(&m, env, p, id, err);
    if (rc == SCR_OK && (rc = each_file(&m, files, take_file_back, err)) == SCR_OK &&
        (rc = scr_move_sync(&m, err)) == SCR_OK)
        rc = scr_prefix_record_remove(env, p, id, SCR_PLACING, err);
    scr_move_fini(&m);
    return rc;
}

int scr_stage_remove(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_err *err)
{
    struct scr_move m;
    int rc;
    TRY_OUT(scr_move_init(&m, env, p, id, err));
    if (scr_stage_is_placing(env, p, id))
        TRY_OUT(scr_prefix_record_remove(env, p, id, SCR_PLACING, err));
    if (scr_stage_is_there(env, p, id))
        TRY_OUT(scr_dir_remove(env->sys, m.stage, err));
out:
    scr_move_fini(&m);
    return rc;
}
