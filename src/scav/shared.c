/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache that all nodes share after the job. */
#include "scav/shared.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "store/cache.h"

/* What others can write to names files at will (invariant D4). */
static int check_ours(const struct scr_env *env, const char *cache, struct scr_err *err)
{
    struct stat st;
    int rc = scr_file_stat(env->sys, cache, &st, err);
    if (rc == SCR_OK && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
                         (st.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        rc = scr_fail(err, SCR_E_UNSAFE, 0,
                      "shared cache %s: not a directory that only we can write to",
                      cache);
    return rc;
}

static int is_entry(const char *name)
{
    const char *digits = strncmp(name, "filemap_", 8) == 0 ? name + 8 : "";
    size_t n = strspn(digits, "0123456789");
    return n > 0 && strcmp(digits + n, ".scrinfo") == 0;
}

static int read_entry(const struct scr_env *env, const char *dir, const char *name,
                      scr_filemap *map, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_path_join(dir, name);
    int rc = path ? scr_filemap_read(env->sys, path, map, &why) : SCR_E_NOMEM;
    free(path);
    if (rc == SCR_E_NOMEM)
        return scr_fail(err, rc, 0, "filemap: out of memory");
    if (rc != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN, "%s", why.text);
    return SCR_OK;
}

int scr_shared_read(const struct scr_env *env, const char *cache, int id,
                    scr_filemap *map, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names = NULL, *dset = scr_cache_dset_dir(cache, id);
    char *dir = dset ? scr_path_join(dset, ".scr") : NULL;
    size_t n = 0;
    int rc = dir ? check_ours(env, cache, &why)
                 : scr_fail(&why, SCR_E_NOMEM, 0, "filemap: out of memory");
    if (rc == SCR_OK) {
        rc = scr_dir_list(env->sys, dir, &names, &n, &why);
        if (rc == SCR_E_NOENT)
            rc = SCR_OK;
    }
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        if (is_entry(names[i]))
            rc = read_entry(env, dir, names[i], map, &why);
    scr_names_free(names, n);
    free(dir);
    free(dset);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why.text);
}
