/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of small numbers: sorted arrays, as most of them hold a few. */
#include "base/ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void scr_ids_fini(struct scr_ids *s)
{
    free(s->id);
    *s = (struct scr_ids){ 0 };
}

/* Where id is, or would be. */
static size_t place_of(const struct scr_ids *s, int id)
{
    size_t from = 0, to = s->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (s->id[mid] < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

int scr_ids_has(const struct scr_ids *s, int id)
{
    size_t at = place_of(s, id);
    return at < s->n && s->id[at] == id;
}

int scr_ids_add(struct scr_ids *s, int id, struct scr_err *err)
{
    size_t at = place_of(s, id);
    if (at < s->n && s->id[at] == id)
        return SCR_OK;
    if (s->n == s->room) {
        size_t room = s->room == 0 ? 8 : s->room * 2;
        int *more = scr_reallocarray(s->id, room, sizeof *more);
        if (more == NULL)
            return scr_no_memory(err);
        s->id = more;
        s->room = room;
    }
    memmove(&s->id[at + 1], &s->id[at], (s->n - at) * sizeof *s->id);
    s->id[at] = id;
    s->n++;
    return SCR_OK;
}
