/* SPDX-License-Identifier: BSD-3-Clause */
/* Two datasets of one number: a node is away while the other is written. */
#ifndef SCR_TEST_HELPER_RIVALS_H
#define SCR_TEST_HELPER_RIVALS_H

#include "helper_job.h"

#define RIVALS_NODES "n[1-4]"

/* Node n<node> is down, or up again (back) with what it had. */
void rivals_take_away(struct job *job, int node, int back);
/* The prefix directory remembers nothing, so that numbers are given again. */
void rivals_forget(struct job *job);
/* Two runs that both write "one" and "two" as 1 and 2, with seeds 1, 2 and 11, 12; then
 * the nodes stale, up to a 0, are as they were after the first. first: where that one
 * runs; flags: more of "one" of the second. */
void rivals_two_runs(struct job *job, const char *scheme, const char *first,
                     const int *stale, int flags);

#endif
