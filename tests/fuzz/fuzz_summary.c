/* SPDX-License-Identifier: BSD-3-Clause */
/* Summaries of both versions. */
#include "fuzz.h"

#include "fmt/dataset.h"
#include "fmt/state.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    int complete = -1;
    scr_hash *dset = NULL;
    struct scr_dataset d;
    struct scr_rank2file files = { 0 };
    int rc = scr_summary_get(h, &complete, &dset, &files, err);
    if (rc != SCR_OK) {
        FUZZ_CHECK(files.n == 0 && files.of == NULL);
        return rc;
    }
    FUZZ_CHECK(complete == 0 || complete == 1);
    FUZZ_CHECK(scr_dataset_get(dset, &d, NULL) == SCR_OK);
    FUZZ_CHECK((scr_hash_get(h, "RANK2FILE") != NULL) == (files.ranks > 0));
    FUZZ_CHECK(scr_rank2file_ok(&files));
    scr_rank2file_fini(&files);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
