/* SPDX-License-Identifier: BSD-3-Clause */
/* How to run SCR on a machine that is only described: scheme, intervals, and what comes
 * of them. Pure: struct in, struct out.
 *
 * The model. A node has D = ranks / nodes x bytes (ranks rounded up). Sets have n
 * members, one a node; p is what redundancy stores, s what a node sends, for a byte of
 * data:
 *                 XOR          RS of k                 PARTNER   SINGLE
 *   p             1/(n - 1)    k/(n - k)               1         0
 *   s             1            1 + (k - 1)/(n - k)     1         0
 * (red/geom.h; bench/model.py has counted s.) Nothing overlaps, no node waits:
 *
 *   checkpoint    C = D / writing + (1 + p) D / cache + s D / network: the program
 *                 writes data, at most as fast as the cache takes them; these are
 *                 read and sent, parity is written
 *   flush         F = nodes D / file system, at least D / network and D / cache;
 *                 asynchronous, it costs scr_flush_slowdown of that
 *   restart       (1 + p) D / cache, every byte is verified; after the loss of a node
 *                 also n/(n - 1) D / network; from the file system F + C. Each after
 *                 `restart`, until the program runs again.
 *
 * Failures come at random, nodes / mtbf in all, in the classes of fmt/autopilot.h and
 * the shares there. All of the third class need a flushed checkpoint. A failure of the
 * second class, a lost node, goes beyond the scheme and needs one, too, if
 *   - as many of the n - 1 others of its set (PARTNER: of 2) fail as it does not
 *     survive, each for itself once in mtbf, in `restart` and the time of a rebuild;
 *   - it takes so many others along: one in a share `several` of losses, yet another in
 *     the same share of those, and so on;
 *   - there is one copy in cache and it strikes while that is written, C of T + C. */
#ifndef SCR_OPS_PLAN_H
#define SCR_OPS_PLAN_H

#include "base/interval.h"
#include "cfg/desc.h"

/* Sizes are bytes, of a node unless it says otherwise; bandwidths bytes, times seconds.
 * All above 0 except for disk, program, writing, several and allocation. */
struct scr_machine {
    double nodes, ranks;         /* of the job */
    double bytes;                /* of a rank's checkpoint */
    double memory, memory_speed; /* and what files in it are written with */
    double program;              /* memory that the program needs */
    double disk, disk_speed;     /* 0: there is none */
    double writing;              /* by the program; 0: as fast as the cache takes it */
    double network;              /* bandwidth */
    double files;                /* bandwidth of the parallel file system, for all */
    double mtbf;                 /* mean time between failures of one node */
    double several;              /* share, 0 to 1 */
    double restart;              /* from a failure until the program starts again */
    double allocation;           /* the longest; 0: no limit */
    int is_async;                /* flushes let the program run */
};

struct scr_outlook {
    /* what to set */
    enum scr_scheme scheme;
    int set_size, set_failures; /* members; losses of them that a set survives */
    int on_disk;
    int copies; /* checkpoints in cache, 2 or 1 */
    struct scr_pace pace;
    /* what comes of it */
    double data, stored, room; /* D, (1 + p) D, bytes that the cache may take */
    double sent;               /* s D */
    double cost, flush;        /* C, F */
    double rebuilt, fetched; /* restart from cache, on average; from the file system */
    double beyond;           /* share of lost nodes that go beyond the scheme */
    double near, far;        /* failures a second, by the level they need */
    double efficiency;       /* work a second, by the Markov model */
};

/* The best of these schemes, of those that fit; another than XOR of 8 only where it
 * gains a thousandth. SCR_OK; SCR_E_FULL: none fits, *o is XOR of 8; SCR_E_RANGE: on
 * average a failure comes before a checkpoint is complete, as *o has it. */
int scr_outlook_find(const struct scr_machine *m, struct scr_outlook *o);
/* Efficiency of the same settings on another machine; NaN: they do not fit there. */
double scr_outlook_on(const struct scr_machine *m, const struct scr_outlook *o);

#endif
