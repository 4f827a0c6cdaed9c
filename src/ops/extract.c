/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a dataset in the prefix directory as the application wrote them. */
#include "ops/extract.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "xfer/stored.h"

enum { DIR_MODE = 0777 }; /* cut by the umask */

struct job {
    const struct scr_env *env;
    const struct scr_prefix *p;
    const struct scr_extract *what;
    struct scr_extracted *out;
    struct scr_copy_pace pace;
    size_t faults;
    struct scr_err first;
};

/* 1 if a file exists; what it is, is compared with the record. */
static int is_there(const struct job *j, const char *path)
{
    struct stat st;
    return scr_file_stat(j->env->sys, path, &st, NULL) != SCR_E_NOENT;
}

/* The file at path must be the plain one. */
static int check_there(struct job *j, const struct scr_copy *want, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_copied got;
    const struct scr_copy job = { .src = want->dst,
                                  .dst = "",
                                  .size = want->size,
                                  .crc = want->crc,
                                  .pace = &j->pace };
    int rc = scr_copy_check(j->env->sys, &job, &got, &why);
    if (rc == SCR_E_IO || rc == SCR_E_NOMEM)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK)
        return scr_fail(err, SCR_E_EXIST, 0,
                        "%s is there and is another file: move it away, or extract to "
                        "another directory (--to)",
                        want->dst);
    j->out->there++;
    return SCR_OK;
}

/* Beside where it is stored nothing is written out of the prefix (invariant P20). */
static int check_inside(const struct job *j, const char *path, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_path_dir(path);
    int rc = dir ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && (rc = scr_path_check_inside(j->p->path, dir, &why)) != SCR_OK)
        scr_fail(err, rc, 0, "extract %s: %s; extract to a directory (--to)", path,
                 why.text);
    free(dir);
    return rc;
}

/* A file that appeared there in the meantime, perhaps of a newer dataset, stays. */
static int write_file(struct job *j, const struct scr_copy *job, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_copied got;
    if (j->what->to == NULL)
        TRY(check_inside(j, job->dst, err));
    TRY(scr_dir_make_parent(j->env->sys, job->dst, DIR_MODE, err));
    int rc = scr_copy_file(j->env->sys, job, &got, &why);
    if (rc == SCR_E_EXIST)
        return check_there(j, job, err);
    TRY(scr_err_take(err, rc, &why));
    TRY(scr_dir_sync_parent(j->env->sys, job->dst, err));
    j->out->files++;
    j->out->bytes += got.size;
    return SCR_OK;
}

static int extract_file(struct job *j, const struct scr_listed *f, struct scr_err *err)
{
    char *src = NULL;
    const char *dest = f->item.name;
    char *path = scr_path_join(j->what->to ? j->what->to : j->p->path, dest);
    struct scr_copy job = {
        .dst = path, .tag = (int)getpid(), .fresh = 1, .sync = 1, .pace = &j->pace
    };
    int in_place = j->what->to == NULL && !f->is_packed;
    int rc;
    TRY_OUT(path ? scr_stored_job(j->p->path, f, &src, &job, err) : scr_no_memory(err));
    TRY_OUT(in_place || is_there(j, path) ? check_there(j, &job, err)
                                          : write_file(j, &job, err));
out:
    free(src);
    free(path);
    return rc;
}

/* --- all of them --- */

/* A file that cannot be read does not stop the others. */
static void extract_files(struct job *j, const struct scr_rank2file *list)
{
    for (SCR_LISTED(f, list)) {
        struct scr_err why = SCR_ERR_INIT;
        int rc = extract_file(j, f, &why);
        if (rc == SCR_OK)
            continue;
        if (j->faults++ == 0)
            j->first = why;
        if (rc == SCR_E_FULL || rc == SCR_E_NOMEM)
            return;
    }
}

static int tell_faults(const struct job *j, int id, struct scr_err *err)
{
    if (j->faults == 0)
        return SCR_OK;
    if (j->faults == 1)
        return scr_fail(err, j->first.code, 0, "dataset %d: %s", id, j->first.text);
    return scr_fail(err, j->first.code, 0, "dataset %d: %s (and %zu more)", id,
                    j->first.text, j->faults - 1);
}

/* Summary and list of files. */
static int read_record(const struct job *j, int id, scr_hash *dset,
                       struct scr_rank2file *list, struct scr_err *err)
{
    int complete = 0;
    TRY(dset ? SCR_OK : scr_no_memory(err));
    int rc = scr_prefix_summary_read(j->env, j->p, id, &complete, dset, NULL);
    if (rc == SCR_E_NOENT || (rc == SCR_OK && !complete))
        return scr_fail(err, SCR_E_MISSING, 0,
                        "dataset %d is not complete: see scr_index --add %d", id, id);
    if (rc != SCR_OK) /* once more, for the words */
        return scr_prefix_summary_read(j->env, j->p, id, &complete, dset, err);
    return scr_prefix_rank2file_read(j->env, j->p, id, list, err);
}

int scr_extract_dataset(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const struct scr_extract *what, struct scr_extracted *out,
                        struct scr_err *err)
{
    struct job j = { .env = env,
                     .p = p,
                     .what = what,
                     .out = out,
                     .pace = { scr_progress_step, what->progress },
                     .first = SCR_ERR_INIT };
    struct scr_rank2file list = { 0 };
    scr_hash *dset = scr_hash_new();
    uint64_t total = 0;
    *out = (struct scr_extracted){ 0 };
    int rc;
    TRY_OUT(read_record(&j, id, dset, &list, err));
    (void)scr_hash_get_val_u64(dset, "SIZE", &total);
    if (what->progress != NULL)
        scr_progress_start(what->progress, what->progress_out, total);
    extract_files(&j, &list);
    scr_progress_hide(what->progress);
    TRY_OUT(tell_faults(&j, id, err));
out:
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    return rc;
}
