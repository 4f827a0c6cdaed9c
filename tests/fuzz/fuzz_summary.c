/* SPDX-License-Identifier: BSD-3-Clause */
/* Summaries of both versions. */
#include "fuzz.h"

#include "fmt/dataset.h"
#include "fmt/state.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    int complete = -1;
    scr_hash *dset = NULL, *part = NULL;
    struct scr_dataset d;
    int rc = scr_summary_get(h, &complete, &dset, &part, err);
    if (rc != SCR_OK)
        return rc;
    FUZZ_CHECK(complete == 0 || complete == 1);
    FUZZ_CHECK(scr_dataset_get(dset, &d, NULL) == SCR_OK);
    FUZZ_CHECK(part == NULL || scr_rank2file_check_part(part, NULL) == SCR_OK);
    scr_hash_delete(part);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
