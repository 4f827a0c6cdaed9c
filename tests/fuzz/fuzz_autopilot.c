/* SPDX-License-Identifier: BSD-3-Clause */
/* Autopilot files: what is accepted leads to advice that can be followed, and is
 * written as it was read. */
#include "fuzz.h"

#include <math.h>

#include "fmt/autopilot.h"

static int decode(scr_hash *h, struct scr_err *err)
{
    const struct scr_autopilot_job job = { 100, 157680000, 10, 0, 0, 0 };
    struct scr_autopilot a, again;
    const struct scr_observer me = { "17", 1, 1 << 30, 1 << 30 };
    const struct scr_open_run run = { "17", 1 << 30, 0 };
    struct scr_advice advice;
    int rc = scr_autopilot_get(h, &a, err);
    if (rc != SCR_OK)
        return rc;
    scr_autopilot_advise(&a, &job, &advice);
    FUZZ_CHECK(advice.interval >= 0 && advice.waste >= 0 && advice.waste <= 1);
    free(scr_advice_text(&advice, &a));
    scr_hash *copy = scr_hash_dup(h);
    FUZZ_CHECK(scr_autopilot_settle(copy, &a, &me) >= 0);
    FUZZ_CHECK(scr_autopilot_set(copy, &a) == SCR_OK);
    FUZZ_CHECK(scr_autopilot_enter(copy, &run) == SCR_OK);
    FUZZ_CHECK(scr_autopilot_get(copy, &again, NULL) == SCR_OK);
    for (int i = 0; i < SCR_FAILURES; i++)
        FUZZ_CHECK(again.failures[i] == a.failures[i]);
    scr_autopilot_leave(copy, "17");
    scr_hash_delete(copy);
    return SCR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_decoder(data, n, decode);
    return 0;
}
