/* SPDX-License-Identifier: BSD-3-Clause */
/* Index files: every dataset of an accepted one can be asked for, failed, removed. */
#include "fuzz.h"

#include "fmt/index.h"

static void use(scr_hash *index)
{
    int *ids;
    size_t n;
    struct scr_index_entry e;
    FUZZ_CHECK(scr_index_ids(index, &ids, &n) == SCR_OK);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(scr_index_get(index, ids[i], &e, NULL) == SCR_OK);
        FUZZ_CHECK(scr_index_find(index, e.dset.name) >= 1);
    }
    for (int id; (id = scr_index_newest(index, 0)) > 0;)
        scr_index_mark_failed(index, id, 0);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(scr_index_remove(index, ids[i]) == 1);
    FUZZ_CHECK(scr_index_max_id(index) == 0);
    free(ids);
}

static int decode(scr_hash *h, struct scr_err *err)
{
    int rc = scr_index_normal(h, err);
    if (rc != SCR_OK)
        return rc;
    scr_hash *index = scr_hash_dup(h);
    use(index);
    scr_hash_delete(index);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
