/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of small numbers: sorted arrays, as most of them hold a few. */
#include "base/ids.h"

#include <stdlib.h>

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
    int *ids = scr_insert(s->id, at, &s->n, &s->room, sizeof *ids);
    TRY(ids ? SCR_OK : scr_no_memory(err));
    s->id = ids;
    ids[at] = id;
    return SCR_OK;
}

int scr_ids_merge(struct scr_ids *s, const struct scr_ids *more, struct scr_err *err)
{
    for (size_t i = 0; i < more->n; i++)
        TRY(scr_ids_add(s, more->id[i], err));
    return SCR_OK;
}
