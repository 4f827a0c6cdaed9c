/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a scavenged dataset between the stage and their places. */
#include "ops/move.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dirset.h"
#include "base/io.h"
#include "base/path.h"
#include "ops/stage.h"
#include "xfer/copy.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

int scr_move_init(struct scr_move *m, const struct scr_env *env,
                  const struct scr_prefix *p, int id, struct scr_err *err)
{
    *m = (struct scr_move){ .env = env,
                            .p = p,
                            .id = id,
                            .stage = scr_stage_dir(p, id),
                            .dirs = SCR_TABLE_OF(struct scr_item),
                            .inside = SCR_TABLE_OF(struct scr_item) };
    return m->stage ? SCR_OK : scr_no_memory(err);
}

void scr_move_fini(struct scr_move *m)
{
    free(m->stage);
    scr_table_fini(&m->dirs);
    scr_table_fini(&m->inside);
}

int scr_move_make_dir(struct scr_move *m, const char *path, struct scr_err *err)
{
    int rc = SCR_OK;
    if (!m->has_stage && strncmp(path, m->stage, strlen(m->stage)) == 0) {
        rc = scr_stage_make(m->env, m->p, m->id, err);
        m->has_stage = rc == SCR_OK;
    }
    return rc == SCR_OK
               ? scr_dirset_make(m->env->sys, &m->dirs, m->p->path, path, DIR_MODE, err)
               : rc;
}

static int copy(const struct scr_move *m, const char *from, const char *to,
                struct scr_err *err)
{
    const struct scr_copy job = { .src = from, .dst = to, .sync = 1 };
    struct scr_copied got;
    return scr_copy_file(m->env->sys, &job, &got, err);
}

int scr_move_file(struct scr_move *m, const char *from, const char *to,
                  struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    TRY(scr_move_make_dir(m, to, err));
    int rc = scr_file_rename(m->env->sys, from, to, &why);
    if (rc == SCR_OK)
        return rc;
    if (why.sys != EXDEV) /* a directory may be a link to another file system */
        return scr_err_take(err, rc, &why);
    TRY(copy(m, from, to, err));
    return scr_file_remove(m->env->sys, from, err);
}

int scr_move_sync(const struct scr_move *m, struct scr_err *err)
{
    return scr_dirset_sync(m->env->sys, &m->dirs, err);
}

int scr_move_look(const struct scr_move *m, const char *path,
                  const struct scr_listed *is, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    int rc = scr_file_stat(m->env->sys, path, &st, &why);
    if (rc == SCR_E_NOENT || why.sys == ENOTDIR)
        return SCR_E_NOENT;
    TRY(scr_err_take(err, rc, &why));
    int same = S_ISREG(st.st_mode) &&
               (is == NULL || !is->has_size || is->size == (uint64_t)st.st_size);
    return same ? SCR_OK : SCR_E_MISSING;
}

int scr_move_is_told(int rc)
{
    return rc == SCR_OK || rc == SCR_E_MISSING || rc == SCR_E_NOENT;
}

int scr_move_check_inside(struct scr_move *m, const char *path, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_path_dir(path);
    int rc = dir ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && scr_table_find(&m->inside, dir) == NULL) {
        rc = scr_path_check_inside(m->p->path, dir, &why);
        if (rc != SCR_OK)
            scr_fail(err, rc, 0, "dataset %d: %s", m->id, why.text);
        else if (scr_table_add(&m->inside, dir) == NULL)
            rc = scr_no_memory(err);
    }
    free(dir);
    return rc;
}

/* A file behind a link that leads out, for example in an archive, must stay.
 */
static int take(struct scr_move *m, const char *from, const char *to,
                struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_move_check_inside(m, from, &why);
    if (rc == SCR_OK)
        return scr_move_file(m, from, to, err);
    if (rc != SCR_E_OUTSIDE)
        return scr_err_take(err, rc, &why);
    TRY(scr_move_make_dir(m, to, err));
    return copy(m, from, to, err);
}

int scr_move_back(struct scr_move *m, const char *staged, const char *placed,
                  const struct scr_listed *is, int *moved, struct scr_err *err)
{
    int at_stage = scr_move_look(m, staged, NULL, err), in_place = SCR_E_NOENT;
    *moved = 0;
    if (at_stage == SCR_E_NOENT)
        in_place = scr_move_look(m, placed, is, err);
    if (!scr_move_is_told(at_stage) || !scr_move_is_told(in_place))
        return scr_move_is_told(at_stage) ? in_place : at_stage;
    if (in_place != SCR_OK)
        return SCR_OK;
    int rc = take(m, placed, staged, err);
    *moved = rc == SCR_OK;
    return rc;
}
