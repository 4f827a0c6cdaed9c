/* SPDX-License-Identifier: BSD-3-Clause */
/* At most `width` ranks at a time: rank r goes after rank r - width. */
#ifndef SCR_PAR_TURNS_H
#define SCR_PAR_TURNS_H

#include "par/comm.h"

/* Waits for this rank's turn; the code that the rank before it passed on (SCR_OK for
 * the first ones), so that nobody starts what has failed already. */
int scr_turn_take(const struct scr_comm *c, int width);
/* Ends it: the next rank's turn comes. Every rank that took a turn passes it, whatever
 * happened. */
void scr_turn_pass(const struct scr_comm *c, int width, int rc);

#endif
