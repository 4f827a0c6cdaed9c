/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole event logs: no log is wrong, and no sum of one makes no sense. */
#include "fuzz.h"

#include "ops/history.h"
#include <math.h>
#include <string.h>

static void check_sums(const struct scr_history *h)
{
    const struct scr_hist_sums *s = &h->sums;
    FUZZ_CHECK(isfinite(s->wall) && s->wall >= 0 && isfinite(s->span));
    FUZZ_CHECK(s->efficiency >= 0 && s->efficiency <= 1);
    for (int i = 0; i < SCR_TIMES; i++)
        FUZZ_CHECK(isfinite(s->secs[i]) && s->secs[i] > -1);
    for (size_t i = 0; i < h->nruns; i++) {
        const struct scr_hist_run *run = &h->run[i];
        FUZZ_CHECK(run->wall >= 0 && run->jobid != NULL && run->host != NULL);
        FUZZ_CHECK(run->end >= SCR_RUN_OPEN && run->end < SCR_RUN_ENDS);
        for (int t = 0; t < SCR_TIMES; t++)
            FUZZ_CHECK(isfinite(run->secs[t]) && run->secs[t] > -1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_history h;
    char *log = malloc(n > 0 ? n : 1), *end;
    FUZZ_CHECK(log != NULL);
    memcpy(log, data, n);
    scr_history_init(&h);
    for (char *line = log; line < log + n; line = end + 1) {
        struct scr_event e;
        size_t left = n - (size_t)(line - log);
        end = memchr(line, '\n', left);
        end = end ? end : line + left;
        if (scr_event_decode(line, (size_t)(end - line), &e))
            FUZZ_CHECK(scr_history_add(&h, &e, NULL) == SCR_OK);
    }
    FUZZ_CHECK(scr_history_finish(&h, NULL) == SCR_OK);
    check_sums(&h);
    scr_history_fini(&h);
    free(log);
    return 0;
}
