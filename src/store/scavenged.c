/* SPDX-License-Identifier: BSD-3-Clause */
/* A scavenged dataset that is not whole, and its remains. */
#include "store/scavenged.h"

#include <stdlib.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "store/dset_names.h"

char *scr_stage_dir(const struct scr_prefix *p, int id)
{
    return scr_prefix_dset_file(p, id, SCR_STAGE);
}

/* Takes the path over. */
static int is_there(const struct scr_env *env, char *path)
{
    int there = path == NULL || scr_file_is_there(env->sys, path);
    free(path);
    return there;
}

int scr_stage_is_there(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    return is_there(env, scr_stage_dir(p, id));
}

int scr_stage_is_placing(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    return is_there(env, scr_prefix_dset_file(p, id, SCR_PLACING));
}

static int is_of_scavenge(const char *name)
{
    enum scr_scheme scheme;
    int member, n, set_id;
    return scr_map_rank(name) >= 0 ||
           scr_redfile_parse(name, &scheme, &member, &n, &set_id);
}

static int drop(const struct scr_env *env, const char *dir, const char *name,
                struct scr_err *err)
{
    char *path = scr_path_join(dir, name);
    int rc = path ? scr_dir_remove(env->sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* The stage goes last: by it the next one knows that something is left to remove. */
static int drop_all(const struct scr_env *env, const char *dir, struct scr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_dir_list(env->sys, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        if (is_of_scavenge(names[i]))
            TRY_OUT(drop(env, dir, names[i], err));
    TRY_OUT(drop(env, dir, SCR_STAGE, err));
out:
    scr_names_free(names, n);
    return rc;
}

void scr_scavenged_remove(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    if (!scr_stage_is_there(env, p, id) || scr_stage_is_placing(env, p, id) ||
        scr_prefix_lock_is_held(env, p, SCR_SCAVENGE_LOCK) != 0)
        return;
    char *dir = scr_prefix_dset_dir(p, id);
    if ((dir ? drop_all(env, dir, &why) : scr_no_memory(&why)) != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN,
                "dataset %d: what scr_scavenge copied stays, no data are at risk: %s",
                id, why.text);
    free(dir);
}
