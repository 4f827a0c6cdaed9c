/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that was in cache only and is gone with it. A program that goes on from a
 * newer checkpoint does not write it again, so whoever finds it lost tells how to go
 * back. Pure: used by SCR_Init and scr_postrun. */
#ifndef SCR_FMT_LOST_OUTPUT_H
#define SCR_FMT_LOST_OUTPUT_H

#include "base/str.h"

struct scr_lost_output {
    int oldest;           /* id, 0: none is lost */
    struct scr_str names; /* with the ids, as they are told */
};
#define SCR_LOST_OUTPUT_INIT                                                           \
    {                                                                                  \
        0, SCR_STR_INIT                                                                \
    }

/* In any order. */
void scr_lost_output_add(struct scr_lost_output *l, int id, const char *name);
/* What is done about it where there is a newer checkpoint and an older one. */
enum scr_lost_output_way {
    SCR_LOST_OUTPUT_STAY, /* nothing: the user goes on from the newer one */
    SCR_LOST_OUTPUT_BACK, /* this run goes back */
    SCR_LOST_OUTPUT_NEXT  /* the next run does */
};
/* Which output is lost, and what to do; NULL: none is, or out of memory. newest: id of
 * the newest checkpoint there is; before: the name of the newest one that is older than
 * l->oldest, NULL: there is none. Malloc'd. */
char *scr_lost_output_text(const struct scr_lost_output *l, int newest,
                           const char *before, enum scr_lost_output_way way);
void scr_lost_output_fini(struct scr_lost_output *l);

#endif
