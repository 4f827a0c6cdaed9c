/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank-to-file map of a dataset in the prefix directory, for readers that want some
 * of it. */
#include "store/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "rank2file of dataset %d: out of memory", id);
}

/* --- root and parts --- */

static int read_file(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const char *suffix, scr_hash *h, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/rank2file%s", dir, suffix) : NULL;
    int rc = path ? scr_hash_file_read(env->sys, path, h, err) : no_memory(id, err);
    free(path);
    free(dir);
    return rc;
}

/* A file named by another one: that it is gone is a loss, not an answer. */
static int bad(int id, const char *suffix, const struct scr_err *why, int rc,
               struct scr_err *err)
{
    return scr_fail(err, rc == SCR_E_NOENT ? SCR_E_MISSING : rc, 0,
                    "rank2file%s of dataset %d: %s", suffix, id, why->text);
}

int scr_rank2file_top(const struct scr_env *env, const struct scr_prefix *p, int id,
                      scr_hash *root, scr_hash *whole, int *ranks, struct scr_err *err)
{
    int level = -1;
    struct scr_err why = SCR_ERR_INIT;
    int rc = read_file(env, p, id, "", root, &why);
    if (rc == SCR_OK)
        rc = scr_rank2file_check_root(root, &why);
    (void)scr_hash_get_val_int(root, "LEVEL", &level);
    if (rc == SCR_E_NOENT || (rc == SCR_OK && level != 1)) {
        scr_hash_unset_all(root);
        scr_err_clear(&why);
        rc = scr_prefix_rank2file_read(env, p, id, whole, &why);
        if (rc == SCR_OK)
            rc = scr_rank2file_check_part(whole, &why);
    }
    if (rc == SCR_OK &&
        !scr_hash_get_val_int(level == 1 ? root : whole, "RANKS", ranks))
        rc = scr_fail(&why, SCR_E_CORRUPT, 0, "it does not say for how many ranks");
    return rc == SCR_OK ? rc : bad(id, "", &why, rc, err);
}

int scr_rank2file_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                       const char *suffix, scr_hash *part, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = read_file(env, p, id, suffix, part, &why);
    if (rc == SCR_OK)
        rc = scr_rank2file_check_part(part, &why);
    return rc == SCR_OK ? rc : bad(id, suffix, &why, rc, err);
}

/* --- look-up --- */

void scr_catalog_fini(struct scr_catalog *c)
{
    scr_hash_delete(c->parts);
    scr_hash_delete(c->files);
    scr_hash_delete(c->asked);
    *c = (struct scr_catalog){ 0 };
}

static int enter_asked(struct scr_catalog *c, const scr_hash *files)
{
    for (SCR_HASH_EACH(e, files)) {
        const char *asked = scr_hash_get_val(scr_hash_elem_hash(e), "ASKED");
        if (asked && scr_hash_set_val(c->asked, asked, scr_hash_elem_key(e)) == NULL)
            return 0;
    }
    return 1;
}

int scr_catalog_add(struct scr_catalog *c, const scr_hash *part, struct scr_err *err)
{
    if (c->files == NULL)
        c->files = scr_hash_new();
    if (c->asked == NULL)
        c->asked = scr_hash_new();
    int ok = c->files != NULL && c->asked != NULL;
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK"))) {
        const scr_hash *files = scr_hash_get(scr_hash_elem_hash(r), "FILE");
        ok = ok && scr_hash_merge(c->files, files) == SCR_OK && enter_asked(c, files);
    }
    return ok ? SCR_OK : no_memory(c->id, err);
}

/* The names of all parts, from the asker's place on and around. */
static int list_parts(struct scr_catalog *c, const scr_hash *root, struct scr_err *err)
{
    const scr_hash *all = scr_hash_get(root, "RANK");
    size_t n = scr_hash_size(all);
    size_t first = c->size > 0 ? n * (size_t)c->rank / (size_t)c->size : 0;
    for (int wrapped = 0; wrapped <= 1; wrapped++) {
        size_t i = 0;
        for (SCR_HASH_EACH(e, all)) {
            const char *suffix = scr_hash_get_val(scr_hash_elem_hash(e), "FILE");
            if ((i++ < first) == wrapped &&
                scr_hash_set(c->parts, suffix, NULL) == NULL)
                return no_memory(c->id, err);
        }
    }
    return SCR_OK;
}

static int read_root(struct scr_catalog *c, struct scr_err *err)
{
    int ranks = 0;
    scr_hash *root = scr_hash_new(), *whole = scr_hash_new();
    c->parts = scr_hash_new();
    int rc = root && whole && c->parts ? SCR_OK : no_memory(c->id, err);
    if (rc == SCR_OK)
        rc = scr_rank2file_top(c->env, c->prefix, c->id, root, whole, &ranks, err);
    if (rc == SCR_OK)
        rc = scr_catalog_add(c, whole, err);
    if (rc == SCR_OK)
        rc = list_parts(c, root, err);
    if (rc != SCR_OK) { /* the next call tries again */
        scr_hash_delete(c->parts);
        c->parts = NULL;
    }
    scr_hash_delete(whole);
    scr_hash_delete(root);
    return rc;
}

/* Reads the root, or else the next part. */
static int read_more(struct scr_catalog *c, struct scr_err *err)
{
    if (c->parts == NULL)
        return read_root(c, err);
    const char *suffix = scr_hash_elem_key(scr_hash_elem_first(c->parts));
    scr_hash *part = scr_hash_new();
    int rc = part ? scr_rank2file_part(c->env, c->prefix, c->id, suffix, part, err)
                  : no_memory(c->id, err);
    if (rc == SCR_OK)
        rc = scr_catalog_add(c, part, err);
    if (rc == SCR_OK)
        scr_hash_unset(c->parts, suffix);
    scr_hash_delete(part);
    return rc;
}

static int has_more(const struct scr_catalog *c)
{
    return c->parts == NULL || scr_hash_size(c->parts) > 0;
}

int scr_catalog_find(struct scr_catalog *c, const char *dest, const scr_hash **info,
                     struct scr_err *err)
{
    int rc = SCR_OK;
    while ((*info = scr_hash_get(c->files, dest)) == NULL && has_more(c) &&
           rc == SCR_OK)
        rc = read_more(c, err);
    return rc;
}

const char *scr_catalog_asked(const struct scr_catalog *c, const char *dest)
{
    return scr_hash_get_val(c->asked, dest);
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
                            const scr_hash **info, struct scr_err *err)
{
    int rc = scr_catalog_find(c, stored, info, err);
    if (rc == SCR_OK && *info != NULL && !scr_rank2file_packed(*info, NULL))
        return SCR_OK;
    char *plain = without_suffix(stored);
    *info = NULL;
    if (rc == SCR_OK && plain != NULL)
        rc = scr_catalog_find(c, plain, info, err);
    if (*info != NULL && !scr_rank2file_packed(*info, NULL))
        *info = NULL;
    free(plain);
    return rc;
}

int scr_catalog_read_all(struct scr_catalog *c, struct scr_err *err)
{
    int rc = SCR_OK;
    while (has_more(c) && rc == SCR_OK)
        rc = read_more(c, err);
    return rc;
}
