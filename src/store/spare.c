/* SPDX-License-Identifier: BSD-3-Clause */
/* A redundancy file kept for the next dataset. */
#include "store/spare.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"
#include "store/dset_names.h"

/* Longer than what a hash file begins with. */
enum { BLANK = 64 };

#define IN_DIR ".scr"
#define STEM   "spare."

static char *spare_path(const char *dset_dir, int rank)
{
    return scr_asprintf("%s/" IN_DIR "/" STEM "%d", dset_dir, rank);
}

static int blank(const struct scr_env *env, const char *path, struct scr_err *err)
{
    static const char zeros[BLANK];
    int fd;
    int rc;
    TRY_OUT(scr_open(env->sys, path, O_WRONLY | O_NOFOLLOW, 0, &fd, err));
    TRY_OUT(scr_pwrite_all(SCR_FD(env->sys, fd, path), zeros, sizeof zeros, 0, err));
out:
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
}

int scr_spare_keep(const struct scr_env *env, const char *path, const char *cache,
                   int id, int rank, struct scr_err *err)
{
    char *dset_dir = scr_dset_path(cache, id);
    char *to = dset_dir != NULL ? spare_path(dset_dir, rank) : NULL;
    int rc;
    TRY_OUT(to != NULL ? blank(env, path, err) : scr_no_memory(err));
    TRY_OUT(scr_cache_make(env, cache, id, rank, err));
    TRY_OUT(scr_file_rename(env->sys, path, to, err));
out:
    free(to);
    free(dset_dir);
    return rc;
}

int scr_spare_take(const struct scr_env *env, const char *dset_dir, int rank,
                   const char *path, struct scr_err *err)
{
    char *from = spare_path(dset_dir, rank);
    int rc =
        from != NULL ? scr_file_rename(env->sys, from, path, err) : scr_no_memory(err);
    free(from);
    return rc;
}

/* Of an entry of the dataset's directory. A file is none that can be listed. */
static int has_no_data(const struct scr_env *env, const char *dset_dir,
                       const char *name)
{
    char **names = NULL;
    size_t n = 0;
    char *path = scr_path_join(dset_dir, name);
    int may_have = strcmp(name, IN_DIR) == 0;
    int is = path != NULL && scr_dir_list(env->sys, path, &names, &n, NULL) == SCR_OK;
    for (size_t i = 0; i < n; i++)
        is = is && may_have && strncmp(names[i], STEM, sizeof STEM - 1) == 0;
    scr_names_free(names, n);
    free(path);
    return is;
}

int scr_spare_is_all(const struct scr_env *env, const char *dset_dir)
{
    char **names = NULL;
    size_t n = 0;
    int is = scr_dir_list(env->sys, dset_dir, &names, &n, NULL) == SCR_OK;
    for (size_t i = 0; i < n; i++)
        is = is && has_no_data(env, dset_dir, names[i]);
    scr_names_free(names, n);
    return is;
}
