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

/* Where full, a link, leads below the prefix; NULL: elsewhere. */
static char *target_of(const struct scr_realdir *r, const char *full)
{
    char *real = NULL, *root = NULL, *below = NULL;
    int outside;
    if (scr_realpath(full, &real, NULL) == SCR_OK &&
        scr_realpath(r->p->path, &root, NULL) == SCR_OK)
        below = scr_path_below(root, real, &outside);
    free(real);
    free(root);
    return below;
}

/* Takes dir, whose last component may be a link. */
static char *follow(const struct scr_realdir *r, char *dir)
{
    struct stat st;
    char *full = scr_path_join(r->p->path, dir);
    char *target = NULL;
    if (full != NULL && scr_file_stat(r->env->sys, full, &st, NULL) == SCR_OK &&
        S_ISLNK(st.st_mode))
        target = target_of(r, full);
    if (full == NULL || target != NULL) {
        free(dir);
        dir = target;
    }
    free(full);
    return dir;
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
