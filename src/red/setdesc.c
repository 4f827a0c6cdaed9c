/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a redundancy set. */
#include "red/setdesc.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static int number(const scr_hash *h, const char *key, int least, int most)
{
    int is;
    return scr_hash_get_val_int(h, key, &is) && is >= least && is <= most ? is : -1;
}

static int is_in(const int *rank, int n, int wanted)
{
    for (int i = 0; i < n; i++)
        if (rank[i] == wanted)
            return 1;
    return 0;
}

/* How many of the first n members have a rank for themselves. */
static int take_ranks(struct scr_setdesc *d, const scr_hash *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        char key[12];
        snprintf(key, sizeof key, "%d", i);
        d->world[i] = number(ranks, key, 0, d->ranks - 1);
        if (d->world[i] < 0 || is_in(d->world, i, d->world[i]))
            return i;
        if (i == 0 || d->world[i] < d->id)
            d->id = d->world[i];
    }
    return n;
}

void scr_setdesc_get(const scr_hash *h, struct scr_setdesc *d)
{
    const scr_hash *group = scr_hash_get(h, "GROUP");
    const char *type = scr_hash_get_val(h, "TYPE");
    *d = (struct scr_setdesc){ .id = -1, .failures = -1 };
    if (scr_scheme_parse(type, &d->scheme))
        d->failures = number(h, "FAILURES", 0, SCR_EC_MAX);
    d->ranks = number(h, "RANKS", 1, INT_MAX);
    d->member = number(h, "MEMBER", 0, SCR_EC_MAX - 1);
    int n = number(group, "RANKS", 1, SCR_EC_MAX);
    if (n > 0 && take_ranks(d, scr_hash_get(group, "RANK"), n) == n)
        d->n = n;
    if (d->member >= d->n)
        d->member = -1;
}

size_t scr_setdesc_size(const struct scr_setdesc *d)
{
    return offsetof(struct scr_setdesc, world) + (size_t)d->n * sizeof d->world[0];
}

size_t scr_setdesc_take(struct scr_setdesc *d, const void *bytes)
{
    memcpy(d, bytes, offsetof(struct scr_setdesc, world));
    memcpy(d, bytes, scr_setdesc_size(d));
    return scr_setdesc_size(d);
}

/* A number that is another for another description. */
static uint64_t mark_of(const struct scr_setdesc *d, uint64_t chunk)
{
    const uint64_t first[] = { chunk, d->scheme, (uint64_t)d->failures,
                               (uint64_t)d->n };
    uint64_t key = scr_bytes_key(SCR_KEY_OF_NOTHING, first, sizeof first);
    return scr_bytes_key(key, d->world, (size_t)d->n * sizeof d->world[0]);
}

/* The first has what each of the others takes away. */
uint64_t scr_setdesc_share(const struct scr_setdesc *d, int me, uint64_t chunk)
{
    uint64_t mark = mark_of(d, chunk);
    return me == 0 ? (uint64_t)(d->n - 1) * mark : 0 - mark;
}
