/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether compression pays. */
#include "xfer/gauge.h"

enum {
    BLOCK = 4096, /* file systems store no less */
    PATIENCE = 3, /* files in a row that may be of no use before some go by untried, */
    DOUBLINGS = 4 /* 1, 3, 7, then 15 of them */
};
/* Part of the bytes that has to be saved at least. */
static const double LEAST_SAVED = 0.02;
/* Bytes after which what was measured before counts half: a link is now this fast, now
 * that. */
static const double MEMORY = 512.0 * (1 << 20);

static void add(struct scr_rate *r, uint64_t bytes, double secs)
{
    if (bytes == 0 || !(secs > 0))
        return;
    if (r->bytes > MEMORY) {
        r->bytes /= 2;
        r->secs /= 2;
    }
    r->bytes += (double)bytes;
    r->secs += secs;
}

void scr_gauge_pack(struct scr_gauge *g, uint64_t bytes, double secs)
{
    add(&g->pack, bytes, secs);
}

void scr_gauge_link(struct scr_gauge *g, uint64_t bytes, double secs)
{
    add(&g->link, bytes, secs);
}

int scr_gauge_try(struct scr_gauge *g)
{
    if (g->rest == 0)
        return 1;
    g->rest--;
    return 0;
}

void scr_gauge_tried(struct scr_gauge *g, int paid)
{
    if (paid) {
        g->given_up = 0;
        g->rest = 0;
        return;
    }
    g->given_up += g->given_up < PATIENCE + DOUBLINGS;
    g->rest = g->given_up > PATIENCE ? (1u << (g->given_up - PATIENCE)) - 1 : 0;
}

int scr_gauge_pays(const struct scr_gauge *g, uint64_t plain, uint64_t stored)
{
    double saved = (double)plain - (double)stored;
    if (saved < BLOCK || saved < LEAST_SAVED * (double)plain)
        return 0;
    if (g->pack.bytes <= 0 || g->link.bytes <= 0)
        return 1;
    double packing = (double)plain * g->pack.secs / g->pack.bytes;
    double writing = saved * g->link.secs / g->link.bytes;
    return packing < writing;
}
