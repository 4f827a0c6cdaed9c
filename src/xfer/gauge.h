/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether compression pays, by what is measured as files go by: how fast bytes are
 * packed, how fast they are written and synced, and how many are left of them. Packing
 * pays if it takes less time than writing what it saves. Callers that share a gauge
 * have a lock. */
#ifndef SCR_XFER_GAUGE_H
#define SCR_XFER_GAUGE_H

#include <stdint.h>

struct scr_rate {
    double secs, bytes;
};

struct scr_gauge {
    struct scr_rate pack; /* plain bytes, and the time to pack them */
    struct scr_rate link; /* bytes, and the time to write and sync them */
    unsigned given_up;    /* files in a row that did not pay */
    unsigned rest;        /* files to go by before the next one is tried */
};

void scr_gauge_pack(struct scr_gauge *g, uint64_t bytes, double secs);
void scr_gauge_link(struct scr_gauge *g, uint64_t bytes, double secs);

/* 1 if the next file is to be tried: most are like those before them, so after files
 * that did not pay some go by untried. */
int scr_gauge_try(struct scr_gauge *g);
/* What became of one that was tried. */
void scr_gauge_tried(struct scr_gauge *g, int paid);

/* 1 if it pays to make `stored` bytes of `plain` ones. What is not measured so far is
 * no argument against it; next to nothing saved is. */
int scr_gauge_pays(const struct scr_gauge *g, uint64_t plain, uint64_t stored);

#endif
