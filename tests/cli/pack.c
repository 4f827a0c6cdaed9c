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
static int pack(const struct scr_prefix *p, int rank, const char *dest,
                struct scr_rank2file *packed, struct scr_err *err)
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
        const struct scr_packed is = { got.stored_size, got.stored_crc };
        scr_listed_set_packed(scr_rank2file_add_file(packed, rank, dest), &is);
    }
    free(dst);
    free(src);
    return rc;
}

static int pack_all(const struct scr_prefix *p, int id, size_t *n, struct scr_err *err)
{
    struct scr_rank2file list = { 0 }, packed = { 0 };
    int rc = scr_prefix_rank2file_read(&env, p, id, &list, err);
    for (size_t i = 0; i < list.n; i++)
        for (SCR_EACH(struct scr_listed, f, &list.of[i]->files))
            if (rc == SCR_OK)
                rc = pack(p, list.of[i]->rank, f->item.name, &packed, err);
    if (rc == SCR_OK)
        rc = scr_packed_enter(&env, p, id, &packed, err);
    *n = scr_rank2file_num_files(&packed);
    scr_rank2file_fini(&packed);
    scr_rank2file_fini(&list);
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
