/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that got files. */
#include "base/dirset.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"

/* dir, and those above it as far as top. */
static int add_up(struct scr_table *set, const char *top, const char *dir)
{
    int ok = scr_table_add(set, dir) != NULL;
    char *above = scr_path_dir(dir);
    ok = ok && above != NULL;
    if (ok && strlen(above) >= strlen(top) && scr_table_find(set, above) == NULL)
        ok = add_up(set, top, above);
    free(above);
    return ok;
}

int scr_dirset_make(const struct scr_sys *sys, struct scr_table *set, const char *top,
                    const char *file, mode_t mode, struct scr_err *err)
{
    char *dir = scr_path_dir(file);
    int rc;
    TRY_OUT(dir ? SCR_OK : scr_no_memory(err));
    if (scr_table_find(set, dir) == NULL) {
        TRY_OUT(scr_dir_make(sys, dir, mode, err));
        TRY_OUT(add_up(set, top, dir) ? SCR_OK : scr_no_memory(err));
    }
out:
    free(dir);
    return rc;
}

int scr_dirset_sync(const struct scr_sys *sys, const struct scr_table *set,
                    struct scr_err *err)
{
    for (SCR_EACH(const struct scr_item, e, set))
        TRY(scr_dir_sync(sys, e->name, err));
    return SCR_OK;
}
