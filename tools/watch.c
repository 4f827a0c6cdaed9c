/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a run still makes datasets. */
#include "watch.h"

#include "base/str.h"
#include "base/units.h"

void scr_watch_start(const struct scr_params *prm, struct watch *w)
{
    *w = (struct watch){ .timeout = prm->watchdog_timeout,
                         .timeout_pfs = prm->watchdog_timeout_pfs,
                         .newest = -1,
                         .since = scr_now_mono() };
}

/* Newest dataset of the flush file and where it is, as one number that changes with
 * either; *flushing: one is on its way to the parallel file system. */
static int read_state(const struct scr_tool *t, int *flushing)
{
    int newest = 0, where = 0;
    scr_hash *h = scr_hash_new();
    *flushing = 0;
    if (scr_prefix_state_read(&t->env, &t->prefix, "flush.scr", h, NULL) == SCR_OK) {
        const scr_hash *all = scr_hash_get(h, "DATASET");
        for (SCR_HASH_EACH(e, all)) {
            int id;
            if (!scr_parse_int(scr_hash_elem_key(e), &id))
                continue;
            int loc = scr_flush_get_location(h, id);
            *flushing |= (loc & (SCR_LOC_FLUSHING | SCR_LOC_SYNC_FLUSHING)) != 0;
            if (id >= newest) {
                newest = id;
                where = loc;
            }
        }
    }
    scr_hash_delete(h);
    return 16 * newest + where;
}

int scr_watch_hangs(const struct scr_tool *t, struct watch *w, double *limit)
{
    int flushing;
    int now = read_state(t, &flushing);
    *limit = flushing ? w->timeout_pfs : w->timeout;
    if (now != w->newest) {
        w->newest = now;
        w->since = scr_now_mono();
    }
    return *limit > 0 && scr_now_mono() - w->since > *limit;
}
