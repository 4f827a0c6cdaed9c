/* SPDX-License-Identifier: BSD-3-Clause */
/* Many rounds of a drill: what is drawn for each, and what they add up to.
 * cmd_drill.c runs them.
 *
 *     struct drill_tally all = { 0 };
 *     for each round: scr_drill_draw(&plan, &reference, seed, &round, err);
 *                     … runs, compares, fills round …
 *                     scr_drill_tally_add(&all, &round);
 *     scr_drill_tally_text(&plan, &all) */
#ifndef SCR_TOOLS_DRILL_ROUNDS_H
#define SCR_TOOLS_DRILL_ROUNDS_H

#include <jansson.h>

#include "drill/drill_plan.h"

enum drill_from {
    DRILL_SCRATCH,
    DRILL_CACHE,
    DRILL_REBUILT,
    DRILL_PREFIX,
    DRILL_FROMS
};

/* The undisturbed run: moments are drawn from what it went through. */
struct drill_reference {
    char *phases; /* text of its phase file, malloc'd */
    double seconds;
};

struct drill_round {
    uint32_t seed;
    int beyond;                    /* more nodes are lost than the scheme survives */
    int complete, flushed;         /* newest checkpoints before the strikes, 0: none */
    int lost;                      /* nodes of the first strike */
    int struck[DRILL_MAX_STRIKES]; /* phases, as scr_drill_phase_find says */
    int nstruck;                   /* 0: the run had ended before the moment */
    int restart;                   /* checkpoint, 0: none */
    enum drill_from from;
    double restarted;  /* seconds from the start to the restart; < 0: unknown */
    const char *wrong; /* NULL: nothing */
};

struct drill_tally {
    int done, wrong, beyond;
    int unstruck; /* rounds */
    int struck[DRILL_PHASES], from[DRILL_FROMS];
    int nodes;         /* lost at once, at most */
    int checkpoints;   /* complete ones lost in a round, at most */
    double restart;    /* slowest, seconds */
    const char *fault; /* the first */
    uint32_t fault_seed;
};

/* Nodes and moments of a round into the plan, seed and beyond into the round. The same
 * seed, plan and phases give the same ones. */
int scr_drill_draw(struct drill_plan *p, const struct drill_reference *ref,
                   uint32_t seed, struct drill_round *round, struct scr_err *err);

void scr_drill_tally_add(struct drill_tally *all, const struct drill_round *round);
/* The verdict in words, without a newline, malloc'd, and as JSON; NULL: no memory. A
 * tally of fewer rounds than planned is INCOMPLETE. */
char *scr_drill_tally_text(const struct drill_plan *p, const struct drill_tally *all);
json_t *scr_drill_tally_json(const struct drill_plan *p, const struct drill_tally *all,
                             const char *report);

extern const char *const scr_drill_from_name[DRILL_FROMS];

#endif
