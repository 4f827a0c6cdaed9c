/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps: what passes the check can be taken apart completely. */
#include "fuzz.h"

#include "fmt/filemap.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    int rc = scr_filemap_check(h, err), n, *ranks;
    if (rc != SCR_OK)
        return rc;
    scr_filemap *map = scr_hash_dup(h);
    FUZZ_CHECK(scr_filemap_list_ranks(map, &n, &ranks) == SCR_OK);
    for (int i = 0; i < n; i++) {
        scr_filemap *one = scr_filemap_extract_rank(map, ranks[i]);
        FUZZ_CHECK(scr_filemap_check(one, NULL) == SCR_OK);
        FUZZ_CHECK(scr_filemap_check(map, NULL) == SCR_OK);
        scr_filemap_delete(one);
    }
    FUZZ_CHECK(scr_filemap_num_datasets(map) == 0 && scr_filemap_num_ranks(map) == 0);
    free(ranks);
    scr_filemap_delete(map);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
