/* SPDX-License-Identifier: BSD-3-Clause */
/* Compresses the files of a dataset in the prefix directory as a flush would have done:
 *
 *     cli_pack PREFIX ID
 *
 * Prints how many; exit status 77 if there is no library to do it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/str.h"
#include "store/packed.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

static const struct scr_env env = { .sys = &scr_sys_posix };

/* Enters what became of the file in packed. */
static int pack(const struct scr_prefix *p, const char *rank, const char *dest,
                scr_hash *packed, struct scr_err *err)
{
    char *src = scr_asprintf("%s/%s", p->path, dest);
    char *dst = scr_asprintf("%s" SCR_ZST_SUFFIX, src);
    const struct scr_copy job = {
        .src = src, .dst = dst, .code = SCR_COPY_PACK, .level = SCR_ZST_LEVEL
    };
    struct scr_copied got;
    int rc = scr_copy_file(env.sys, &job, &got, err);
    if (rc == SCR_OK)
        rc = scr_file_remove(env.sys, got.packed ? src : dst, err);
    if (rc == SCR_OK && got.packed) {
        scr_hash *file = scr_hash_setf(packed, NULL, "%s %s", rank, dest);
        scr_hash_set_val_u64(file, "SIZE", got.stored_size);
        scr_hash_set_val_crc(file, "CRC", got.stored_crc);
    }
    free(dst);
    free(src);
    return rc;
}

static int pack_all(const struct scr_prefix *p, int id, size_t *n, struct scr_err *err)
{
    scr_hash *part = scr_hash_new(), *packed = scr_hash_new();
    int rc = scr_prefix_rank2file_read(&env, p, id, part, err);
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
            if (rc == SCR_OK)
                rc = pack(p, scr_hash_elem_key(r), scr_hash_elem_key(f), packed, err);
    if (rc == SCR_OK)
        rc = scr_packed_enter(&env, p, id, packed, err);
    for (SCR_HASH_EACH(r, packed))
        *n += scr_hash_size(scr_hash_elem_hash(r));
    scr_hash_delete(packed);
    scr_hash_delete(part);
    return rc;
}

int main(int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    size_t n = 0;
    int id;
    if (argc != 3 || !scr_parse_int(argv[2], &id)) {
        fprintf(stderr, "usage: cli_pack PREFIX ID\n");
        return 1;
    }
    if (!scr_zst_have())
        return 77;
    int rc = scr_prefix_open(&env, argv[1], 0, &p, &err);
    if (rc == SCR_OK)
        rc = pack_all(&p, id, &n, &err);
    scr_prefix_fini(&p);
    if (rc != SCR_OK)
        fprintf(stderr, "cli_pack: %s\n", err.text);
    else
        printf("%zu\n", n);
    return rc != SCR_OK;
}
