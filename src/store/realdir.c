/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of files with links to directories followed. */
#include "store/realdir.h"

#include <stdlib.h>
#include <string.h>

#include "base/cwd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"

void scr_realdir_fini(struct scr_realdir *r)
{
    scr_table_fini(&r->dirs);
}

/* Where full, a link, leads below the prefix, also to what is not there; NULL:
 * elsewhere. Or SCR_E_NOMEM. */
static int find_target(const struct scr_realdir *r, const char *full, char **target)
{
    char *real = NULL, *root = NULL;
    int outside = 1, rc = scr_realpath_to_be(full, &real, NULL);
    if (rc == SCR_OK)
        rc = scr_realpath(r->p->path, &root, NULL);
    if (rc == SCR_OK)
        *target = scr_path_below(root, real, &outside);
    free(real);
    free(root);
    return rc == SCR_E_NOMEM || (*target == NULL && !outside) ? SCR_E_NOMEM : SCR_OK;
}

/* Takes dir, whose last component may be a link; NULL: out of memory. */
static char *follow(const struct scr_realdir *r, char *dir)
{
    struct stat st;
    char *full = scr_path_join(r->p->path, dir), *target = NULL;
    int rc = full != NULL ? SCR_OK : SCR_E_NOMEM;
    if (rc == SCR_OK && scr_file_stat(r->env->sys, full, &st, NULL) == SCR_OK &&
        S_ISLNK(st.st_mode))
        rc = find_target(r, full, &target);
    free(full);
    if (rc == SCR_OK && target == NULL)
        return dir;
    free(dir);
    return target;
}

static const char *real_of(struct scr_realdir *r, const char *dir)
{
    if (strcmp(dir, ".") == 0)
        return dir;
    struct scr_realdir_known *known = scr_table_find(&r->dirs, dir);
    if (known != NULL)
        return known->real;
    char *above = scr_path_dir(dir);
    const char *top = above != NULL ? real_of(r, above) : NULL;
    char *real = top != NULL ? scr_path_join(top, scr_path_base(dir)) : NULL;
    real = real != NULL ? follow(r, real) : NULL;
    const char *kept = real != NULL ? scr_arena_text(&r->dirs.arena, real) : NULL;
    if (kept != NULL && (known = scr_table_add(&r->dirs, dir)) != NULL)
        known->real = kept;
    free(real);
    free(above);
    return known != NULL ? known->real : NULL;
}

char *scr_realdir_path(struct scr_realdir *r, const char *path)
{
    char *dir = scr_path_dir(path);
    const char *real = dir != NULL ? real_of(r, dir) : NULL;
    char *name = real != NULL ? scr_path_join(real, scr_path_base(path)) : NULL;
    free(dir);
    return name;
}

int scr_realdir_add(struct scr_realdir *r, const char *path, struct scr_table *paths)
{
    char *real = scr_realdir_path(r, path);
    int ok = real != NULL && scr_table_add(paths, real) != NULL;
    free(real);
    return ok;
}
