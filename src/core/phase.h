/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases, for drills: SCR_PHASE_FILE and SCR_PHASE_DELAY. A phase waits
 * while <SCR_PHASE_FILE>.hold names it. */
#ifndef SCR_CORE_PHASE_H
#define SCR_CORE_PHASE_H

#include "core/ctx.h"

void scr_phase_all(struct scr_ctx *ctx, const char *phase, int id);

#endif
