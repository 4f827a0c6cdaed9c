/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: rank 0 appends to <prefix>/.scr/log unless SCR_LOG_ENABLE is 0. */
#ifndef SCR_CORE_EVENT_NOTE_H
#define SCR_CORE_EVENT_NOTE_H

#include "core/ctx.h"

void scr_event_note(struct scr_ctx *ctx, struct scr_event e);
/* scr_event_note with the members that apply: SCR_EVENT(ctx, .event = "FETCH_START",
 * .dset = id). Members left out (0, NULL) are not recorded. */
#define SCR_EVENT(ctx, ...) scr_event_note(ctx, (struct scr_event){ __VA_ARGS__ })

#endif
