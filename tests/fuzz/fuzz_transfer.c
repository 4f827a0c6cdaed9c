/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer files. */
#include "fuzz.h"

#include "fmt/transfer.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    uint64_t left;
    struct scr_transfer t;
    int rc = scr_transfer_get(h, &t, err);
    if (rc == SCR_OK) {
        FUZZ_CHECK(t.bw >= 0 && t.percent >= 0);
        rc = scr_transfer_left(h, &left, err);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
