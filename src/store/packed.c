/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flush compressed, entered into a list of files that was written before. */
#include "store/packed.h"

#include <stdlib.h>

#include "store/catalog.h"

/* Enters those of one rank that the part lists; how many. */
static size_t enter_rank(const struct scr_rank_files *r,
                         const struct scr_rank_files *packed)
{
    size_t n = 0;
    for (SCR_EACH(const struct scr_listed, f, &packed->files)) {
        struct scr_listed *file = scr_table_find(&r->files, f->item.name);
        if (file == NULL)
            continue;
        scr_listed_set_packed(file, &f->packed);
        n++;
    }
    return n;
}

struct job {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    const struct scr_rank2file *packed;
    size_t n; /* of them were entered */
};

/* path: of the file that holds the list. */
static int enter_list(struct job *j, const char *path, const struct scr_rank2file *list,
                      struct scr_err *err)
{
    size_t before = j->n;
    for (size_t i = 0; i < j->packed->n; i++) {
        const struct scr_rank_files *of = j->packed->of[i];
        const struct scr_rank_files *r = scr_rank2file_rank(list, of->rank);
        j->n += r != NULL ? enter_rank(r, of) : 0;
    }
    if (j->n == before)
        return SCR_OK;
    return path ? scr_rank2file_write(j->env->sys, path, list, err)
                : scr_no_memory(err);
}

static int enter_part(struct job *j, int part, int ranks, struct scr_err *err)
{
    struct scr_rank2file list = { .ranks = ranks };
    char *path = scr_rank2file_part_path(j->p, j->id, part);
    int rc;
    TRY_OUT(scr_rank2file_part(j->env, j->p, j->id, part, &list, err));
    TRY_OUT(enter_list(j, path, &list, err));
out:
    scr_rank2file_fini(&list);
    free(path);
    return rc;
}

/* All of it is in the root. */
static int enter_whole(struct job *j, const struct scr_rank2file *whole,
                       struct scr_err *err)
{
    char *path = scr_rank2file_path(j->p, j->id, "");
    int rc = enter_list(j, path, whole, err);
    free(path);
    return rc;
}

/* Deeper trees and lists in summaries have other writers, which compress nothing. */
static int check_level(int id, int level, struct scr_err *err)
{
    return level == 0 || level == 1
               ? SCR_OK
               : scr_fail(err, level > 1 ? SCR_E_CORRUPT : SCR_E_MISSING, 0,
                          "rank2file of dataset %d: no list that can be rewritten", id);
}

int scr_packed_enter(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const struct scr_rank2file *packed, struct scr_err *err)
{
    struct job j = { .env = env, .p = p, .id = id, .packed = packed };
    struct scr_rank2file_root root = { 0 };
    struct scr_rank2file whole = { 0 };
    size_t want = scr_rank2file_num_files(packed);
    if (want == 0)
        return SCR_OK;
    int rc;
    TRY_OUT(scr_rank2file_top(env, p, id, &root, &whole, err));
    TRY_OUT(check_level(id, root.level, err));
    TRY_OUT(enter_whole(&j, &whole, err));
    for (size_t i = 0; i < root.n; i++)
        TRY_OUT(enter_part(&j, root.part[i], root.ranks, err));
    if (j.n != want)
        TRY_OUT(scr_fail(err, SCR_E_CORRUPT, 0,
                         "rank2file of dataset %d: %zu of its %zu compressed files are "
                         "listed",
                         id, j.n, want));
out:
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&whole);
    return rc;
}
