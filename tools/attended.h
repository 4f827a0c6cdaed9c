/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_copy works for a scavenge that may be killed, and whose death it does not notice:
 * ssh leaves what it started behind. The next scavenge must not find it at work on the
 * files it copies itself. So each scavenge writes a number into the prefix directory,
 * larger than the previous one, and copies for an older one end. Numbers, as
 * another node may see an old file for a while; and it ends, too, when it has seen the
 * lock of the scavenge held and it is not any more. */
#ifndef SCR_TOOL_ATTENDED_H
#define SCR_TOOL_ATTENDED_H

#include "tool.h"

/* In the .scr directory of the prefix, like SCR_SCAVENGE_LOCK. */
#define SCR_SCAVENGE_NUMBER "scavenge.number"
/* Text that scr_copy --alone prints with its error. */
#define SCR_COPY_IN_USE "the cache is in use by a run"
/* Texts of an scr_copy that copies nothing. */
#define SCR_COPY_NOTHING  "nothing of it is in cache on this node"
#define SCR_COPY_NO_CACHE "no cache of the job is on this node"

struct scr_attended {
    const struct scr_tool *t;
    char *lock, *number; /* paths */
    int64_t mine;
    int seen;    /* the lock was seen held */
    double next; /* when to look again, scr_now_mono() */
};

/* Of a scavenge that holds the lock in t->prefix: its number, for scr_copy --for. */
int scr_attended_begin(const struct scr_tool *t, int64_t *number, struct scr_err *err);

/* t->prefix is open. Close in any case. SCR_E_CANCELLED: it has gone. */
int scr_attended_open(const struct scr_tool *t, int64_t number, struct scr_attended *a,
                      struct scr_err *err);
/* As struct scr_gather wants it; looks only now and then. If it cannot be seen, it
 * counts as existing.
 */
int scr_attended_check(void *attended, struct scr_err *err);
void scr_attended_close(struct scr_attended *a);

#endif
