/* SPDX-License-Identifier: BSD-3-Clause */
/* Remains of a scavenge of a dataset that a job then flushed itself. */
#include "store/scavenged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"

#define STAGE "files"

/* <rank>.scrfilemap, or <member>_of_<n>_in_<set>.<scheme>. */
static int is_of_scavenge(const char *name)
{
    int of[3], at = 0;
    const char *dot = strrchr(name, '.');
    return (dot != NULL && strcmp(dot, ".scrfilemap") == 0) ||
           (sscanf(name, "%d_of_%d_in_%d.%n", &of[0], &of[1], &of[2], &at) == 3 &&
            at > 0);
}

static int has(const struct scr_env *env, const char *dir, const char *name)
{
    char *path = scr_path_join(dir, name);
    int is = path != NULL && scr_file_is_there(env->sys, path);
    free(path);
    return is;
}

static int drop(const struct scr_env *env, const char *dir, const char *name,
                struct scr_err *err)
{
    char *path = scr_path_join(dir, name);
    int rc = path ? scr_dir_remove(env->sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* The stage goes last: it tells the next one that there is something to remove. */
static int drop_all(const struct scr_env *env, const char *dir, struct scr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_dir_list(env->sys, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        if (is_of_scavenge(names[i]))
            TRY_OUT(drop(env, dir, names[i], err));
    TRY_OUT(drop(env, dir, STAGE, err));
out:
    scr_names_free(names, n);
    return rc;
}

void scr_scavenged_remove(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    char *dir = scr_prefix_dset_dir(p, id);
    if (dir != NULL && has(env, dir, STAGE) && !has(env, dir, "placing.scr") &&
        scr_prefix_lock_is_held(env, p, SCR_SCAVENGE_LOCK) == 0 &&
        drop_all(env, dir, &why) != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN,
                "dataset %d: what scr_scavenge copied stays, no data are at risk: %s",
                id, why.text);
    free(dir);
}
