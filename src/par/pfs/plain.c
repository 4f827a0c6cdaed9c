/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a dataset in the prefix directory, possibly compressed. */
#include "par/pfs/plain.h"

#include <stdlib.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "par/redundancy/verify.h"
#include "xfer/stored.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

static char *unpacked_path(const struct scr_prefix *p, int id, const char *dest)
{
    char *dir = scr_prefix_dset_file(p, id, "plain");
    char *path = dir ? scr_path_join(dir, dest) : NULL;
    free(dir);
    return path;
}

char *scr_plain_path(const struct scr_prefix *p, int id, const struct scr_listed *f)
{
    return f->is_packed ? unpacked_path(p, id, f->item.name)
                        : scr_path_join(p->path, f->item.name);
}

/* The error of the copy, as a fault of the file if it is one. */
static int fault_code(int rc)
{
    return rc == SCR_E_NOENT ? SCR_E_MISSING : rc == SCR_E_UNSAFE ? SCR_E_CORRUPT : rc;
}

static int check_packed(const struct scr_env *env, const struct scr_copy *job, int deep,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_copied got;
    int rc = deep ? scr_copy_check(env->sys, job, &got, &why)
                  : scr_verify_file(env, job->src, job->stored_size, NULL, &why);
    return rc == SCR_OK ? rc : scr_err_take(err, fault_code(rc), &why);
}

int scr_plain_check(const struct scr_env *env, const struct scr_prefix *p,
                    const struct scr_listed *f, int deep, struct scr_err *err)
{
    char *src = NULL;
    struct scr_copy job = { .dst = "" };
    int rc;
    TRY_OUT(scr_stored_job(p->path, f, &src, &job, err));
    TRY_OUT(job.code == SCR_COPY_UNPACK
                ? check_packed(env, &job, deep, err)
                : scr_verify_file(env, job.src, job.size, deep ? job.crc : NULL, err));
out:
    free(src);
    return rc;
}

int scr_plain_make(const struct scr_env *env, const struct scr_prefix *p, int id,
                   int rank, const struct scr_listed *f, struct scr_err *err)
{
    char *src = NULL;
    struct scr_copy job = { .tag = rank, .mode_or = S_IRUSR };
    struct scr_err why = SCR_ERR_INIT;
    struct scr_copied got;
    char *path = unpacked_path(p, id, f->item.name);
    int rc = path ? scr_stored_job(p->path, f, &src, &job, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = scr_dir_make_parent(env->sys, path, DIR_MODE, err);
    job.dst = path;
    /* Another process may have been here before. */
    if (rc == SCR_OK && scr_verify_file(env, path, job.size, job.crc, NULL) != SCR_OK &&
        (rc = scr_copy_file(env->sys, &job, &got, &why)) != SCR_OK)
        rc = scr_err_take(err, fault_code(rc), &why);
    free(src);
    free(path);
    return rc;
}

void scr_plain_remove(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const char *dest)
{
    char *dset = scr_prefix_dset_dir(p, id), *path = unpacked_path(p, id, dest);
    char *dir = path ? scr_path_dir(path) : NULL;
    if (dset != NULL && dir != NULL && scr_file_remove(env->sys, path, NULL) == SCR_OK)
        scr_dir_prune(env->sys, dir, dset, NULL);
    free(dir);
    free(path);
    free(dset);
}

int scr_plains_note(struct scr_plains *s, const struct scr_listed *f,
                    struct scr_err *err)
{
    if (!f->is_packed)
        return SCR_OK;
    if (s->made.size == 0)
        scr_table_init(&s->made, sizeof(struct scr_item));
    return scr_table_add(&s->made, f->item.name) != NULL ? SCR_OK : scr_no_memory(err);
}

void scr_plains_fini(struct scr_plains *s)
{
    for (SCR_EACH(struct scr_item, e, &s->made))
        scr_plain_remove(s->env, s->prefix, s->id, e->name);
    scr_table_fini(&s->made);
}
