/* SPDX-License-Identifier: BSD-3-Clause */
/* Halt files: what is accepted is written as it was read. */
#include "fuzz.h"

#include "fmt/state.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    char *why;
    struct scr_halt halt, again;
    int rc = scr_halt_get(h, &halt, err);
    if (rc != SCR_OK)
        return rc;
    (void)scr_halt_due(&halt, 1298937600, &why);
    free(why);
    scr_hash *copy = scr_hash_dup(h);
    FUZZ_CHECK(scr_halt_set(copy, &halt) == SCR_OK);
    FUZZ_CHECK(scr_halt_get(copy, &again, NULL) == SCR_OK);
    FUZZ_CHECK(again.exit_after == halt.exit_after);
    scr_hash_delete(copy);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
