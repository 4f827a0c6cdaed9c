/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset in the prefix directory, for readers that want some
 * of it. */
#include "store/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* --- root and parts --- */

char *scr_rank2file_path(const struct scr_prefix *p, int id, const char *suffix)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/rank2file%s", dir, suffix) : NULL;
    free(dir);
    return path;
}

char *scr_rank2file_part_path(const struct scr_prefix *p, int id, int part)
{
    char *suffix = scr_rank2file_part_name(1, part);
    char *path = suffix ? scr_rank2file_path(p, id, suffix) : NULL;
    free(suffix);
    return path;
}

/* A file named by another one: that it is gone is a loss, not an answer. */
static int lost_if_absent(int rc)
{
    return rc == SCR_E_NOENT ? SCR_E_MISSING : rc;
}

int scr_rank2file_top(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_rank2file_root *root, struct scr_rank2file *whole,
                      struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_rank2file_path(p, id, "");
    int rc = path ? scr_rank2file_root_read(env->sys, path, root, whole, &why)
                  : scr_no_memory(&why);
    free(path);
    if (rc == SCR_E_NOENT || (rc == SCR_OK && root->level > 1)) {
        int level = rc == SCR_OK ? root->level : -1;
        scr_rank2file_root_fini(root);
        scr_err_clear(&why);
        rc = scr_prefix_rank2file_read(env, p, id, whole, &why);
        root->level = level;
        root->ranks = whole->ranks;
    }
    return rc == SCR_OK ? rc
                        : scr_fail(err, lost_if_absent(rc), 0,
                                   "rank2file of dataset %d: %s", id, why.text);
}

int scr_rank2file_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int part, struct scr_rank2file *files, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_rank2file_part_path(p, id, part);
    scr_rank2file_init(files, files->ranks);
    int rc =
        path ? scr_rank2file_read(env->sys, path, files, &why) : scr_no_memory(&why);
    free(path);
    return rc == SCR_OK
               ? rc
               : scr_fail(err, lost_if_absent(rc), 0,
                          "rank2file.0.%d of dataset %d: %s", part, id, why.text);
}

/* --- look-up --- */

void scr_catalog_fini(struct scr_catalog *c)
{
    scr_rank2file_root_fini(&c->root);
    scr_table_fini(&c->files);
    scr_table_fini(&c->asked);
    *c = (struct scr_catalog){ 0 };
}

/* Where a file lies that is asked for by another path, the name of the item. */
struct asked {
    struct scr_item item;
    const char *path;
};

static void enter_real(struct scr_catalog *c, const struct scr_listed *f)
{
    struct scr_listed is = *f;
    char *real = scr_realdir_path(c->real, f->item.name);
    is.item.name = real;
    if (real == NULL)
        c->files.arena.lost = 1;
    else if (strcmp(real, f->item.name) != 0)
        (void)scr_listed_copy(&c->files, &is);
    free(real);
}

static void enter(struct scr_catalog *c, const struct scr_listed *f)
{
    struct scr_listed *mine = scr_listed_copy(&c->files, f);
    if (c->real != NULL)
        enter_real(c, f);
    struct asked *a = f->asked != NULL ? scr_table_add(&c->asked, f->asked) : NULL;
    if (a != NULL && mine != NULL)
        a->path = mine->item.name;
}

int scr_catalog_add(struct scr_catalog *c, const struct scr_rank2file *files,
                    struct scr_err *err)
{
    if (c->files.size == 0)
        scr_table_init(&c->files, sizeof(struct scr_listed));
    if (c->asked.size == 0)
        scr_table_init(&c->asked, sizeof(struct asked));
    for (SCR_LISTED(f, files))
        enter(c, f);
    return scr_table_ok(&c->files) && scr_table_ok(&c->asked) ? SCR_OK
                                                              : scr_no_memory(err);
}

/* The part with the rank whose place in the dataset is the asker's in its run. */
static size_t own_part(const struct scr_catalog *c)
{
    const struct scr_rank2file_root *root = &c->root;
    int64_t place = c->size > 0 ? (int64_t)root->ranks * c->rank / c->size : 0;
    size_t own = 0;
    for (size_t i = 1; i < root->n; i++)
        if (root->part[i] <= place && root->part[i] > root->part[own])
            own = i;
    return own;
}

/* Parts are read from the end: there is the asker's own, before it the one after that,
 * the one before that, and so on: so wanted ranks that are near cost few parts. */
static int order_parts(struct scr_catalog *c, struct scr_err *err)
{
    struct scr_rank2file_root *root = &c->root;
    size_t n = root->n;
    size_t own = own_part(c);
    int *order = scr_calloc(n, sizeof *order);
    TRY(order ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        order[n - 1 - i] = root->part[(own + (i % 2 ? i / 2 + 1 : n - i / 2)) % n];
    free(root->part);
    root->part = order;
    return SCR_OK;
}

static int read_root(struct scr_catalog *c, struct scr_err *err)
{
    struct scr_rank2file whole = { 0 };
    int rc;
    TRY_OUT(scr_rank2file_top(c->env, c->prefix, c->id, &c->root, &whole, err));
    TRY_OUT(scr_catalog_add(c, &whole, err));
    TRY_OUT(order_parts(c, err));
out:
    c->begun = rc == SCR_OK;
    if (rc != SCR_OK) /* so that the next call can try again */
        scr_rank2file_root_fini(&c->root);
    scr_rank2file_fini(&whole);
    return rc;
}

/* Reads the root, or else the next part. */
static int read_more(struct scr_catalog *c, struct scr_err *err)
{
    if (!c->begun)
        return read_root(c, err);
    struct scr_rank2file part = { .ranks = c->root.ranks };
    int rc;
    TRY_OUT(scr_rank2file_part(c->env, c->prefix, c->id, c->root.part[c->root.n - 1],
                               &part, err));
    TRY_OUT(scr_catalog_add(c, &part, err));
    c->root.n--;
out:
    scr_rank2file_fini(&part);
    return rc;
}

static int has_more(const struct scr_catalog *c)
{
    return !c->begun || c->root.n > 0;
}

int scr_catalog_find(struct scr_catalog *c, const char *dest,
                     const struct scr_listed **f, struct scr_err *err)
{
    int rc = SCR_OK;
    while ((*f = scr_table_find(&c->files, dest)) == NULL && has_more(c) &&
           rc == SCR_OK)
        rc = read_more(c, err);
    return rc == SCR_OK && *f == NULL && !scr_table_ok(&c->files) ? scr_no_memory(err)
                                                                  : rc;
}

const char *scr_catalog_asked(const struct scr_catalog *c, const char *dest)
{
    const struct asked *a = scr_table_find(&c->asked, dest);
    return a != NULL ? a->path : NULL;
}

/* The path without .zst, malloc'd; NULL: it does not end so. */
static char *without_suffix(const char *stored)
{
    static const char suffix[] = ".zst";
    size_t n = strlen(stored), m = sizeof suffix - 1;
    return n > m && strcmp(stored + n - m, suffix) == 0
               ? scr_asprintf("%.*s", (int)(n - m), stored)
               : NULL;
}

int scr_catalog_find_stored(struct scr_catalog *c, const char *stored,
                            const struct scr_listed **f, struct scr_err *err)
{
    int rc = scr_catalog_find(c, stored, f, err);
    if (rc == SCR_OK && *f != NULL && !(*f)->is_packed)
        return SCR_OK;
    char *plain = without_suffix(stored);
    *f = NULL;
    if (rc == SCR_OK && plain != NULL)
        rc = scr_catalog_find(c, plain, f, err);
    if (*f != NULL && !(*f)->is_packed)
        *f = NULL;
    free(plain);
    return rc;
}

int scr_catalog_read_all(struct scr_catalog *c, struct scr_err *err)
{
    while (has_more(c))
        TRY(read_more(c, err));
    return SCR_OK;
}
