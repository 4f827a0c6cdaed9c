/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and nodes files: the questions asked of them. */
#include "fuzz.h"

#include "fmt/state.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    int nodes, latest = scr_flush_latest(h);
    (void)err;
    (void)scr_nodes_get(h, &nodes, NULL);
    FUZZ_CHECK(latest < 0 || (scr_flush_get_location(h, latest) & SCR_LOC_CACHE) != 0);
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DATASET")))
        (void)scr_flush_need(h, scr_hash_elem_key_int(e));
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
