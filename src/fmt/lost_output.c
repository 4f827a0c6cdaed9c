/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that was in cache only and is gone with it. */
#include "fmt/lost_output.h"

void scr_lost_output_add(struct scr_lost_output *l, int id, const char *name)
{
    scr_str_printf(&l->names, "%s%s (dataset %d)", l->oldest > 0 ? ", " : "", name, id);
    if (l->oldest == 0 || id < l->oldest)
        l->oldest = id;
}

char *scr_lost_output_text(const struct scr_lost_output *l, int newest,
                           const char *before)
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
                        "write it again: SCR_CURRENT=%s goes back before it",
                        l->names.p, before);
}

void scr_lost_output_fini(struct scr_lost_output *l)
{
    scr_str_free(&l->names);
    *l = (struct scr_lost_output)SCR_LOST_OUTPUT_INIT;
}
