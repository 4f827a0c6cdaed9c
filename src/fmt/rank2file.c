/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of ranks to files of a dataset: a tree of part files under one root. */
#include "base/path.h"
#include "base/str.h"
#include "fmt/state.h"
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 8 }; /* a tree this deep has more parts than there are ranks */

int scr_rank2file_set_root(scr_hash *h, int level, int ranks)
{
    if (h == NULL || level < 0 || level > LEVEL_MAX || ranks < 1)
        return SCR_E_ARG;
    scr_hash_set_val_i64(h, "LEVEL", level);
    scr_hash_set_val_i64(h, "RANKS", ranks);
    return scr_hash_ok(h) ? SCR_OK : SCR_E_NOMEM;
}

int scr_rank2file_set_part(scr_hash *h, int ranks)
{
    return scr_rank2file_set_root(h, 0, ranks);
}

/* Name of the part of `writer` one level below `level`; malloc'd. */
static char *part_name(int level, int writer)
{
    return scr_asprintf(".%d.%d", level - 1, writer);
}

int scr_rank2file_add_part(scr_hash *h, int writer)
{
    int level = 0;
    if (writer < 0 || !scr_hash_get_val_int(h, "LEVEL", &level) || level < 1)
        return SCR_E_ARG;
    char *name = part_name(level, writer);
    scr_hash *part = scr_hash_set_kv_int(h, "RANK", writer);
    scr_hash_set_val(part, "FILE", name);
    scr_hash_set_val_i64(part, "OFFSET", 0);
    free(name);
    return part != NULL && scr_hash_ok(part) ? SCR_OK : SCR_E_NOMEM;
}

int scr_rank2file_carry(scr_hash *to, const char *asked, int is_shared)
{
    int ok = (asked == NULL || scr_hash_set_val(to, "ASKED", asked) != NULL) &&
             (!is_shared || scr_hash_set_val(to, "SHARED", "1") != NULL);
    return ok ? SCR_OK : SCR_E_NOMEM;
}

int scr_rank2file_add_file(scr_hash *part, int rank, const char *path, uint64_t size,
                           const uint32_t *crc, const scr_hash *meta_extra)
{
    if (part == NULL || rank < 0 || path == NULL)
        return SCR_E_ARG;
    if (!scr_path_is_safe(path))
        return SCR_E_OUTSIDE;
    scr_hash *file =
        scr_hash_set_kv(scr_hash_set_kv_int(part, "RANK", rank), "FILE", path);
    if (file == NULL || scr_hash_merge(file, meta_extra) != SCR_OK)
        return SCR_E_NOMEM;
    scr_hash_set_val_u64(file, "SIZE", size);
    if (crc != NULL)
        scr_hash_set_val_crc(file, "CRC", *crc);
    return scr_hash_ok(file) ? SCR_OK
                             : SCR_E_NOMEM; /* only this file, not all before */
}

/* --- compressed files --- */

#define PACKED "ZSTD"

int scr_rank2file_set_packed(scr_hash *file, const struct scr_packed *p)
{
    scr_hash *packed = scr_hash_set(file, PACKED, NULL);
    scr_hash_set_val_u64(packed, "SIZE", p->size);
    scr_hash_set_val_crc(packed, "CRC", p->crc);
    return packed != NULL && scr_hash_ok(packed) ? SCR_OK : SCR_E_NOMEM;
}

int scr_rank2file_packed(const scr_hash *file, struct scr_packed *p)
{
    struct scr_packed got = { 0 };
    const scr_hash *packed = scr_hash_get(file, PACKED);
    if (packed == NULL)
        return 0;
    (void)scr_hash_get_val_u64(packed, "SIZE", &got.size);
    (void)scr_hash_get_val_crc(packed, "CRC", &got.crc);
    if (p != NULL)
        *p = got;
    return 1;
}

char *scr_rank2file_stored(const char *path, const scr_hash *file)
{
    return scr_hash_get(file, PACKED) != NULL ? scr_asprintf("%s.zst", path)
                                              : scr_strdup(path);
}

/* --- checks --- */

static int corrupt(struct scr_err *err, const char *what, const char *where)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "rank2file: %s %s", what, where);
}

/* LEVEL and RANKS, and every key of RANK is a rank. */
static int check_top(const scr_hash *h, int *level, struct scr_err *err)
{
    int ranks;
    if (!scr_hash_get_val_int(h, "LEVEL", level) || *level < 0 || *level > LEVEL_MAX)
        return corrupt(err, "bad or missing", "LEVEL");
    if (!scr_hash_get_val_int(h, "RANKS", &ranks) || ranks < 1)
        return corrupt(err, "bad or missing", "RANKS");
    for (SCR_HASH_EACH(e, scr_hash_get(h, "RANK"))) {
        int rank = scr_hash_elem_key_int(e);
        if (rank < 0 || rank >= ranks)
            return corrupt(err, "no such rank:", scr_hash_elem_key(e));
    }
    return SCR_OK;
}

/* Older writers leave SIZE and CRC out; what is there must be right. */
static int check_file(const scr_hash_elem *e, struct scr_err *err)
{
    uint64_t size;
    uint32_t crc;
    const scr_hash *file = scr_hash_elem_hash(e);
    if (!scr_path_is_safe(scr_hash_elem_key(e)))
        return corrupt(err, "path outside the prefix directory:", scr_hash_elem_key(e));
    if (scr_hash_get(file, "SIZE") != NULL &&
        !scr_hash_get_val_u64(file, "SIZE", &size))
        return corrupt(err, "bad SIZE of", scr_hash_elem_key(e));
    if (scr_hash_get(file, "CRC") != NULL && !scr_hash_get_val_crc(file, "CRC", &crc))
        return corrupt(err, "bad CRC of", scr_hash_elem_key(e));
    const scr_hash *packed = scr_hash_get(file, PACKED);
    if (packed != NULL && (!scr_hash_get_val_u64(file, "SIZE", &size) ||
                           !scr_hash_get_val_u64(packed, "SIZE", &size) ||
                           !scr_hash_get_val_crc(packed, "CRC", &crc)))
        return corrupt(err, "bad or missing SIZE or CRC of compressed",
                       scr_hash_elem_key(e));
    return SCR_OK;
}

int scr_rank2file_check_part(const scr_hash *part, struct scr_err *err)
{
    int level, rc = check_top(part, &level, err);
    if (rc == SCR_OK && level != 0)
        rc = corrupt(err, "LEVEL of a part is not", "0");
    if (rc != SCR_OK)
        return rc;
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            if ((rc = check_file(f, err)) != SCR_OK)
                return rc;
    return SCR_OK;
}

/* The name of a part is put after the name of the root, so only names of the form that
 * writers give are accepted. */
static int check_part_name(const scr_hash_elem *e, int level, struct scr_err *err)
{
    const char *name = scr_hash_get_val(scr_hash_elem_hash(e), "FILE");
    char *want = part_name(level, scr_hash_elem_key_int(e));
    if (want == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "rank2file: out of memory");
    int ok = name != NULL && strcmp(name, want) == 0;
    free(want);
    return ok ? SCR_OK : corrupt(err, "bad name of part", scr_hash_elem_key(e));
}

int scr_rank2file_check_root(const scr_hash *root, struct scr_err *err)
{
    int level, rc = check_top(root, &level, err);
    if (rc != SCR_OK || level == 0)
        return rc != SCR_OK ? rc : scr_rank2file_check_part(root, err);
    for (SCR_HASH_EACH(e, scr_hash_get(root, "RANK"))) {
        int64_t offset = 0;
        const scr_hash *part = scr_hash_elem_hash(e);
        if ((rc = check_part_name(e, level, err)) != SCR_OK)
            return rc;
        if (scr_hash_get(part, "OFFSET") != NULL &&
            (!scr_hash_get_val_i64(part, "OFFSET", &offset) || offset != 0))
            return corrupt(err, "bad OFFSET of part", scr_hash_elem_key(e));
    }
    return SCR_OK;
}
