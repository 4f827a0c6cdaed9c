/* SPDX-License-Identifier: BSD-3-Clause */
/* Temporary files that killed copies left. */
#include "xfer/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

static int add_stem(const char *dst, struct scr_table *stems)
{
    char *stem = scr_copy_tmp_stem(dst);
    int ok = stem != NULL && scr_table_add(stems, stem) != NULL;
    free(stem);
    return ok;
}

/* A compressed file is copied under the name of the plain one. */
static int add_name(const char *dir, const char *name, struct scr_table *stems)
{
    size_t len = strlen(name), suffix = strlen(SCR_ZST_SUFFIX);
    char *dst = scr_path_join(dir, name);
    int ok = dst != NULL && add_stem(dst, stems);
    if (ok && len > suffix && strcmp(name + len - suffix, SCR_ZST_SUFFIX) == 0) {
        dst[strlen(dst) - suffix] = '\0';
        ok = add_stem(dst, stems);
    }
    free(dst);
    return ok;
}

static int is_left(const char *base, const struct scr_table *stems, int below)
{
    int tag = 0;
    char *stem = scr_copy_tmp_parse(base, &tag);
    int is = stem != NULL && scr_table_find(stems, stem) != NULL &&
             (below <= 0 || tag < below);
    free(stem);
    return is;
}

static int remove_part(const struct scr_sys *sys, const char *dir, const char *base,
                       struct scr_err *err)
{
    char *path = scr_path_join(dir, base);
    int rc = path ? scr_file_remove(sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

int scr_parts_remove(const struct scr_sys *sys, const char *dir,
                     const struct scr_table *names, int below, uint64_t *n,
                     struct scr_err *err)
{
    char **base = NULL;
    size_t all = 0;
    struct scr_table stems = SCR_TABLE_OF(struct scr_item);
    int ok = 1;
    for (SCR_EACH(const struct scr_item, e, names))
        ok = ok && add_name(dir, e->name, &stems);
    int rc = ok ? scr_dir_list(sys, dir, &base, &all, err) : scr_no_memory(err);
    for (size_t i = 0; i < all; i++) {
        if (!is_left(base[i], &stems, below))
            continue;
        int one = remove_part(sys, dir, base[i], rc == SCR_OK ? err : NULL);
        *n += one == SCR_OK;
        rc = scr_first(rc, one);
    }
    scr_names_free(base, all);
    scr_table_fini(&stems);
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}
