/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms in which scr status prints what it gathered. */
#ifndef SCR_TOOL_STATUS_PRINT_H
#define SCR_TOOL_STATUS_PRINT_H

#include "ops/status.h"
#include "tool.h"

/* For people: about a dozen rows, at most 80 columns wide; malloc'd, ends with a
 * newline. NULL: out of memory. */
char *scr_status_text(const struct scr_tool *t, const struct scr_status *s);
/* One line for a prompt, without a newline; malloc'd, NULL: out of memory. */
char *scr_status_line(const struct scr_status *s);
/* For programs: one object, its keys are in scr_status(1). NULL: out of memory. */
struct json_t *scr_status_json(const struct scr_tool *t, const struct scr_status *s);
/* In Prometheus' text format; malloc'd, NULL: out of memory. */
char *scr_status_prometheus(const struct scr_tool *t, const struct scr_status *s);

#endif
