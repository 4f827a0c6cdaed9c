/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run has written so far. */
#include "core/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static void note_ckpt(int *newest, char **kept, int id, const char *name)
{
    if (id < *newest)
        return;
    *newest = id;
    free(*kept);
    *kept = scr_strdup(name);
}

void scr_tally_add(struct scr_tally *t, const struct scr_event *e)
{
    const char *is = e->event;
    int on_prefix = e->to != NULL && strcmp(e->to, "prefix") == 0;
    if (strcmp(is, "FAILURE") == 0)
        t->failures++;
    if (strcmp(is, "CHECKPOINT_END") == 0 && e->note == NULL) {
        t->ckpts++;
        t->bytes += (uint64_t)e->bytes;
        note_ckpt(&t->newest, &t->newest_name, (int)e->dset, e->name);
        if (on_prefix)
            note_ckpt(&t->safe, &t->safe_name, (int)e->dset, e->name);
    }
}

void scr_tally_flushed(struct scr_tally *t, int id, const char *name)
{
    t->flushes++;
    note_ckpt(&t->safe, &t->safe_name, id, name);
}

void scr_tally_fini(struct scr_tally *t)
{
    free(t->newest_name);
    free(t->safe_name);
    *t = (struct scr_tally){ 0 };
}
