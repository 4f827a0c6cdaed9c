/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases, told to whoever asked with SCR_PHASE_FILE: what a failure drill watches to
 * strike at a chosen moment. SCR_PHASE_DELAY holds the job there so that the strike can
 * land. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/str.h"
#include "core/ctx.h"

static void sleep_ms(int ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
    nanosleep(&t, NULL);
}

void scr_phase_all(struct scr_ctx *ctx, const char *phase, int id)
{
    scr_log(&ctx->log, SCR_LOG_DEBUG, "phase %s, dataset %d", phase, id);
    if (ctx->prm.phase_file == NULL)
        return;
    if (ctx->world.rank == 0) {
        char *line = scr_asprintf("%s %d\n", phase, id);
        struct scr_err err = SCR_ERR_INIT;
        if (line && scr_file_append(ctx->env.sys, ctx->prm.phase_file, line,
                                    strlen(line), 0600, &err) != SCR_OK)
            scr_log(&ctx->log, SCR_LOG_WARN, "SCR_PHASE_FILE: %s", err.text);
        free(line);
        sleep_ms(ctx->prm.phase_delay);
    }
    scr_barrier_all(&ctx->world);
}
