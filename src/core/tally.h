/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run has written so far, by its events, for the line at its end. */
#ifndef SCR_CORE_TALLY_H
#define SCR_CORE_TALLY_H

#include "fmt/event.h"

/* Of rank 0. */
struct scr_tally {
    int ckpts, flushes, failures;
    uint64_t bytes;   /* of the checkpoints */
    int newest, safe; /* the last checkpoint; the last that is on the prefix, 0: none */
    char *newest_name, *safe_name; /* NULL: none, or no memory */
};

void scr_tally_add(struct scr_tally *t, const struct scr_event *e);
/* A checkpoint has reached the prefix directory. */
void scr_tally_flushed(struct scr_tally *t, int id, const char *name);
void scr_tally_fini(struct scr_tally *t);

#endif
