/* SPDX-License-Identifier: BSD-3-Clause */
/* A bar on standard error for work that takes long, if that is a terminal:
 *
 *     [#########---------------------]  31%  1.24 GiB of 4.00 GiB
 *
 * or only how much is done if the total is not known. It appears after a second, is
 * drawn a few times a second, and leaves nothing behind.
 */
#ifndef SCR_TOOL_PROGRESS_H
#define SCR_TOOL_PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct scr_progress {
    FILE *out;            /* NULL: no bar */
    uint64_t done, total; /* bytes; total may turn out to be less; 0: not known */
    double next;          /* when to draw again, on the clock of scr_now_mono */
    int shown;
};

/* out: where messages go. Without a terminal there no call below prints anything. */
void scr_progress_start(struct scr_progress *p, FILE *out, uint64_t total);
/* n more bytes are done. p is a struct scr_progress, and may be NULL. */
void scr_progress_add(void *p, size_t n);
/* The same for struct scr_copy_pace. */
int scr_progress_step(void *p, size_t n, struct scr_err *err);
/* Wipes the bar, before something else is printed and at the end. NULL is fine. */
void scr_progress_hide(struct scr_progress *p);

#endif
