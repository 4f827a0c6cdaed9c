/* SPDX-License-Identifier: BSD-3-Clause */
/* At most `width` ranks at a time.
 *
 * The first `width` ranks that have work begin at once; of the others the one that has
 * waited longest begins as soon as any of those at work has ended. Ranks without work
 * take no place and do not wait. The last rank with work decides which rank begins
 * next, and begins last: it has nothing else to do until then. It gets and sends a few
 * numbers for each rank that waits; nothing is sent while all may work at once.
 */
#ifndef SCR_PAR_TURNS_H
#define SCR_PAR_TURNS_H

#include "par/comm/comm.h"

typedef int (*scr_turn_work)(void *arg, struct scr_err *err);

/* Collective over c. Calls work(arg, err) on the ranks whose has_work is not 0, on no
 * more than width (>= 1, less counts as 1) of them at once. After a rank has failed no
 * other begins. Every rank leaves with the code of the lowest rank that failed. work
 * makes no call that is collective over c. */
int scr_in_turns_all(const struct scr_comm *c, int width, int has_work,
                     scr_turn_work work, void *arg, struct scr_err *err);
/* The same, but the code is each rank's own, to be agreed on; others may still work
 * when it returns. */
int scr_take_turns_all(const struct scr_comm *c, int width, int has_work,
                       scr_turn_work work, void *arg, struct scr_err *err);

#endif
