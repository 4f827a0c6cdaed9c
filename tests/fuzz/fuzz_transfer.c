/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer files: the limits, and what is asked for datasets and of files. */
#include "fuzz.h"

#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include <math.h>

/* The rank of a dataset that is taken out leaves nothing of itself. */
static void check_jobs(const scr_hash *h)
{
    scr_hash *copy = scr_hash_dup(h);
    int code;
    const char *text;
    FUZZ_CHECK(copy != NULL);
    for (SCR_HASH_EACH(e, scr_hash_get(h, "DSET"))) {
        struct scr_transfer_dset d;
        int id = scr_hash_elem_key_int(e);
        if (scr_transfer_get_dset(h, id, &d) != SCR_OK)
            continue;
        FUZZ_CHECK(d.prefix[0] == '/' && d.node >= 0 && !isnan(d.bw) &&
                   !isnan(d.percent));
        (void)scr_transfer_cancel(copy, id, -1);
        FUZZ_CHECK(!scr_transfer_is_pending(copy, id, 0));
        scr_transfer_end_rank(copy, id, d.stamp, 0, SCR_OK, NULL);
        FUZZ_CHECK(scr_transfer_has_ended(copy, id, d.stamp, 0, &code, &text));
        scr_transfer_remove_dset(copy, id);
        FUZZ_CHECK(scr_transfer_get_dset(copy, id, &d) == SCR_E_NOENT);
    }
    for (SCR_HASH_EACH(e, scr_hash_get(h, "FILES"))) {
        int id, rank;
        if (scr_transfer_owner(e, &id, &rank))
            FUZZ_CHECK(rank >= 0);
    }
    scr_hash_delete(copy);
}

static int decode(scr_hash *h, struct scr_err *err)
{
    uint64_t left;
    struct scr_transfer t;
    check_jobs(h);
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
