/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flush compressed, entered into a list of files that was written before. */
#include "store/packed.h"

#include <stdlib.h>

#include "base/str.h"
#include "store/catalog.h"

static int no_memory(int id, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "rank2file of dataset %d: out of memory", id);
}

/* Enters those of one rank that the part lists; *n counts them. */
static int enter_rank(const scr_hash *files, const scr_hash *packed, size_t *n)
{
    for (SCR_HASH_EACH(e, packed)) {
        scr_hash *file = scr_hash_get(files, scr_hash_elem_key(e));
        struct scr_packed is = { 0 };
        if (file == NULL)
            continue;
        (void)scr_hash_get_val_u64(scr_hash_elem_hash(e), "SIZE", &is.size);
        (void)scr_hash_get_val_crc(scr_hash_elem_hash(e), "CRC", &is.crc);
        if (scr_rank2file_set_packed(file, &is) != SCR_OK)
            return SCR_E_NOMEM;
        ++*n;
    }
    return SCR_OK;
}

static int write_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const char *suffix, const scr_hash *part, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/rank2file%s", dir, suffix) : NULL;
    int rc = path ? scr_hash_file_write(env->sys, path, part, SCR_DURABLE, err)
                  : no_memory(id, err);
    free(path);
    free(dir);
    return rc;
}

static int enter_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const char *suffix, const scr_hash *packed, size_t *n,
                      struct scr_err *err)
{
    size_t before = *n;
    scr_hash *part = scr_hash_new();
    int rc =
        part ? scr_rank2file_part(env, p, id, suffix, part, err) : no_memory(id, err);
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        if (rc == SCR_OK &&
            enter_rank(scr_hash_get(scr_hash_elem_hash(r), "FILE"),
                       scr_hash_get(packed, scr_hash_elem_key(r)), n) != SCR_OK)
            rc = no_memory(id, err);
    if (rc == SCR_OK && *n > before)
        rc = write_part(env, p, id, suffix, part, err);
    scr_hash_delete(part);
    return rc;
}

static size_t count(const scr_hash *packed)
{
    size_t n = 0;
    for (SCR_HASH_EACH(r, packed))
        n += scr_hash_size(scr_hash_elem_hash(r));
    return n;
}

int scr_packed_enter(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const scr_hash *packed, struct scr_err *err)
{
    int ranks = 0;
    size_t n = 0, want = count(packed);
    if (want == 0)
        return SCR_OK;
    scr_hash *root = scr_hash_new(), *whole = scr_hash_new();
    int rc = root && whole ? scr_rank2file_top(env, p, id, root, whole, &ranks, err)
                           : no_memory(id, err);
    if (rc == SCR_OK && scr_hash_size(root) == 0) /* all of it is in the root */
        rc = enter_part(env, p, id, "", packed, &n, err);
    for (SCR_HASH_EACH(e, scr_hash_get(root, "RANK")))
        if (rc == SCR_OK)
            rc = enter_part(env, p, id, scr_hash_get_val(scr_hash_elem_hash(e), "FILE"),
                            packed, &n, err);
    if (rc == SCR_OK && n != want)
        rc = scr_fail(err, SCR_E_CORRUPT, 0,
                      "rank2file of dataset %d: %zu of its %zu compressed files are "
                      "listed",
                      id, n, want);
    scr_hash_delete(root);
    scr_hash_delete(whole);
    return rc;
}
