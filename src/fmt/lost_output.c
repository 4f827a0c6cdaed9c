/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that was in cache only and is gone with it. */
#include "fmt/lost_output.h"

void scr_lost_output_add(struct scr_lost_output *l, int id, const char *name)
{
    scr_str_printf(&l->names, "%s%s (dataset %d)", l->oldest > 0 ? ", " : "", name, id);
    if (l->oldest == 0 || id < l->oldest)
        l->oldest = id;
}

/* Around a checkpoint's name; rows as in enum scr_lost_output_way. */
static const struct {
    const char *head, *tail;
} ways[] = {
    { "SCR_CURRENT=", " goes back before it" },
    { "this run goes back to ", ", with SCR_RESTART_PAST_LOST_OUTPUT=1 it would not" },
    { "the next run goes back to ", "; scr_index --current takes another one" },
};

char *scr_lost_output_text(const struct scr_lost_output *l, int newest,
                           const char *before, enum scr_lost_output_way way)
{
    if (l->oldest == 0 || l->names.p == NULL)
        return NULL;
    if (newest < l->oldest)
        return scr_asprintf("output is lost: %s; no newer checkpoint exists: it is "
                            "written again",
                            l->names.p);
    if (before == NULL)
        return scr_asprintf("output is lost: %s; a run from a newer checkpoint does "
                            "not write it again, and no older one exists",
                            l->names.p);
    return scr_asprintf("output is lost: %s; a run from a newer checkpoint does not "
                        "write it again: %s%s%s",
                        l->names.p, ways[way].head, before, ways[way].tail);
}

void scr_lost_output_fini(struct scr_lost_output *l)
{
    scr_str_free(&l->names);
    *l = (struct scr_lost_output)SCR_LOST_OUTPUT_INIT;
}
