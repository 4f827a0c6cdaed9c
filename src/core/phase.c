/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases, written to SCR_PHASE_FILE if that is set: a failure drill watches them to
 * strike at a chosen moment. <SCR_PHASE_FILE>.hold names entries at which the job waits
 * for that, so that the strike lands there however busy the machine is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "core/ctx.h"
#include "core/phase.h"

enum {
    HOLD_MS = 20, /* between two looks at what holds the job */
    HOLD_MAX = 4096,
    FILE_MAX = 16 << 20 /* as scr drill takes */
};

/* How often the phase was entered, from the phase file. */
static int count_entries(const char *told, const char *phase)
{
    size_t n = strlen(phase);
    int entries = 0;
    for (; *told != '\0'; told += strcspn(told, "\n"), told += *told == '\n')
        entries += strncmp(told, phase, n) == 0 && told[n] == ' ';
    return entries;
}

/* 1 if one of the lines is "<phase> <entry>". */
static int has_line(const char *lines, const char *phase, int entry)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %d", phase, entry), found = 0;
    for (; *lines != '\0' && !found; lines += *lines == '\n') {
        size_t len = strcspn(lines, "\n");
        found = len == (size_t)n && strncmp(lines, line, len) == 0;
        lines += len;
    }
    return found;
}

static int is_held(const struct scr_ctx *ctx, const char *hold, const char *phase)
{
    void *lines = NULL, *told = NULL;
    size_t n;
    int held =
        scr_file_load(ctx->env.sys, hold, HOLD_MAX, &lines, &n, NULL) == SCR_OK &&
        scr_file_load(ctx->env.sys, ctx->prm.phase_file, FILE_MAX, &told, &n, NULL) ==
            SCR_OK &&
        has_line(lines, phase, count_entries(told, phase));
    free(lines);
    free(told);
    return held;
}

static void wait_while_held(const struct scr_ctx *ctx, const char *phase)
{
    char *hold = scr_asprintf("%s.hold", ctx->prm.phase_file);
    while (hold != NULL && is_held(ctx, hold, phase))
        scr_nap_ms(HOLD_MS);
    free(hold);
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
        scr_nap_ms(ctx->prm.phase_delay);
        wait_while_held(ctx, phase);
    }
    scr_barrier_all(&ctx->world);
}
