/* SPDX-License-Identifier: BSD-3-Clause */
/* Defaults from resource manager, password database and current directory. */
#include "cfg/derive.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/path.h"
#include "base/str.h"
#include "cfg/source.h"

/* Parameters that a variable of the environment gives; the first that is set counts. */
struct from_environ {
    const char *name, *variable;
};

static const struct from_environ from_environ[] = {
    { "SCR_JOB_ID", "SLURM_JOBID" },
    { "SCR_JOB_ID", "SLURM_JOB_ID" },
    { "SCR_JOB_ID", "LSB_JOBID" },
    { "SCR_JOB_ID", "PBS_JOBID" },
    { "SCR_JOB_ID", "FLUX_JOB_ID" },
    { "SCR_USER_NAME", "USER" },
    { "SCR_CLUSTER_NAME", "SLURM_CLUSTER_NAME" },
};

static int set_default(struct scr_cfg *cfg, const char *name, const char *value,
                       const char *from, struct scr_err *err)
{
    char *origin = scr_asprintf("default, from %s", from);
    TRY(origin ? SCR_OK : scr_no_memory(err));
    int rc = scr_source_set(cfg->source[SCR_CFG_DEFAULT], name, value, origin, err);
    free(origin);
    return rc;
}

static int has_default(const struct scr_cfg *cfg, const char *name)
{
    return scr_source_get(cfg->source[SCR_CFG_DEFAULT], name, NULL) != NULL;
}

static int derive_from_environ(struct scr_cfg *cfg, const struct from_environ *row,
                               struct scr_err *err)
{
    const char *value = scr_cfg_getenv(cfg, row->variable);
    if (value == NULL || has_default(cfg, row->name))
        return SCR_OK;
    char *from = scr_asprintf("$%s", row->variable);
    TRY(from ? SCR_OK : scr_no_memory(err));
    int rc = set_default(cfg, row->name, value, from, err);
    free(from);
    return rc;
}

/* Containers and batch systems often leave $USER unset. */
static int derive_user(struct scr_cfg *cfg, struct scr_err *err)
{
    enum { BUFFER = 16384 };
    if (has_default(cfg, "SCR_USER_NAME"))
        return SCR_OK;
    struct passwd pw, *found = NULL;
    char *buf = malloc(BUFFER);
    char *uid = scr_asprintf("%lu", (unsigned long)getuid());
    int rc;
    if (buf == NULL || uid == NULL)
        rc = scr_no_memory(err);
    else if (getpwuid_r(getuid(), &pw, buf, BUFFER, &found) == 0 && found != NULL &&
             found->pw_name[0] != '\0')
        rc = set_default(cfg, "SCR_USER_NAME", found->pw_name, "the password database",
                         err);
    else
        rc = set_default(cfg, "SCR_USER_NAME", uid, "the user id", err);
    free(uid);
    free(buf);
    return rc;
}

/* A current directory that is gone matters only if no prefix is set: no error here. */
static int derive_cwd(struct scr_cfg *cfg, struct scr_err *err)
{
    char *cwd = NULL;
    if (scr_cwd(&cwd, NULL) != SCR_OK)
        return SCR_OK;
    int rc = set_default(cfg, "SCR_PREFIX", cwd, "the current directory", err);
    free(cwd);
    return rc;
}

int scr_cfg_derive(struct scr_cfg *cfg, struct scr_err *err)
{
    int rc = SCR_OK;
    scr_hash_unset_all(cfg->source[SCR_CFG_DEFAULT]);
    for (size_t i = 0; i < sizeof from_environ / sizeof from_environ[0]; i++)
        if (rc == SCR_OK)
            rc = derive_from_environ(cfg, &from_environ[i], err);
    if (rc == SCR_OK && !has_default(cfg, "SCR_JOB_ID"))
        rc = scr_source_set(cfg->source[SCR_CFG_DEFAULT], "SCR_JOB_ID", SCR_NO_JOB_ID,
                            "default", err);
    if (rc == SCR_OK)
        rc = derive_user(cfg, err);
    return rc == SCR_OK ? derive_cwd(cfg, err) : rc;
}

int scr_cfg_derive_prefix(struct scr_cfg *cfg, struct scr_err *err)
{
    char *cwd = NULL;
    const char *text = scr_cfg_get(cfg, "SCR_PREFIX");
    if (text == NULL)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_PREFIX is not set and the current directory is gone");
    TRY(text[0] == '/' ? SCR_OK : scr_cwd(&cwd, err));
    free(cfg->prefix);
    cfg->prefix = scr_path_join(cwd ? cwd : "/", text);
    free(cwd);
    return cfg->prefix ? SCR_OK : scr_no_memory(err);
}
