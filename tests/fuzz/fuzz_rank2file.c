/* SPDX-License-Identifier: BSD-3-Clause */
/* Roots and parts of the rank-to-file map. */
#include "fuzz.h"

#include "fmt/state.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    int rc = scr_rank2file_check_root(h, err);
    FUZZ_CHECK(rc == SCR_OK || scr_rank2file_check_part(h, NULL) != SCR_OK);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
