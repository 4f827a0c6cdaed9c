/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of dataset directories. */
#include "store/dset_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"

#define PREFIX "scr.dataset."

char *scr_dset_path(const char *dir, int id)
{
    return scr_asprintf("%s/" PREFIX "%d", strcmp(dir, "/") == 0 ? "" : dir, id);
}

int scr_dset_id(const char *name)
{
    const size_t skip = sizeof PREFIX - 1;
    int id;
    if (strncmp(name, PREFIX, skip) != 0 || name[skip] < '1' || name[skip] > '9')
        return -1;
    return scr_parse_int(name + skip, &id) ? id : -1;
}

int scr_dset_ids(const struct scr_env *env, const char *dir, int **ids, size_t *n,
                 struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char **names;
    size_t nnames;
    *ids = NULL;
    *n = 0;
    int rc = scr_dir_list(env->sys, dir, &names, &nnames, &why);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "%s", why.text);
    *ids = scr_calloc(nnames, sizeof **ids);
    for (size_t i = 0; *ids != NULL && i < nnames; i++) {
        int id = scr_dset_id(names[i]);
        if (id > 0)
            (*ids)[(*n)++] = id;
    }
    scr_names_free(names, nnames);
    TRY(*ids ? SCR_OK : scr_no_memory(err));
    qsort(*ids, *n, sizeof **ids, scr_by_int);
    return SCR_OK;
}
