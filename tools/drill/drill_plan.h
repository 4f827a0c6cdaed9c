/* SPDX-License-Identifier: BSD-3-Clause */
/* What a drill is to do, from the options of the command, and the directories it does
 * it in.
 *
 *     struct drill_plan p = { 0 };
 *     rc = scr_drill_plan(t, args, &p, err);   // touches nothing
 *     rc = scr_drill_plan_dirs(t, &p, err);
 *     … p.d, p.strike, p.names …
 *     scr_drill_plan_remove_dirs(t, &p, err);
 *     scr_drill_plan_fini(&p); */
#ifndef SCR_TOOLS_DRILL_PLAN_H
#define SCR_TOOLS_DRILL_PLAN_H

#include "drill/drill.h"

enum { DRILL_MAX_STRIKES = 2, DRILL_MAX_ARGS = 1000 };

extern const struct scr_opt scr_drill_opts[];

struct drill_plan {
    struct drill d;
    int nodes, entry, keep, json;
    int rounds;         /* 0: one loss, as the options say */
    uint32_t seed;      /* of the first round; the next ones have the next numbers */
    int survives;       /* lost nodes that the scheme makes good, wherever they are */
    const char *during; /* phase of the loss the user asked for */
    const char *result; /* relative to the directory of a run */
    const char *dir;    /* --dir or NULL */
    const char *report; /* file of the page, or NULL */
    char *kill;         /* node of that loss; malloc'd, like all that follows */
    char *job;          /* where the drill runs inside of a job; NULL: in none */
    struct drill_strike strike[DRILL_MAX_STRIKES];
    int nstrikes;
    struct scr_hostlist names;   /* of the nodes in use, in the order of their ranks */
    int spare;                   /* number of the next spare */
    char *path;                  /* of the program */
    const char **program;        /* with its arguments */
    char *work, *storage;        /* directories, as in d */
    int work_made, storage_made; /* ours to remove */
};

int scr_drill_plan(struct scr_tool *t, const struct scr_args *a, struct drill_plan *p,
                   struct scr_err *err);
void scr_drill_plan_fini(struct drill_plan *p);

int scr_drill_plan_dirs(struct scr_tool *t, struct drill_plan *p, struct scr_err *err);
/* Empties the nodes' storage. */
int scr_drill_plan_clear_storage(struct scr_tool *t, const struct drill_plan *p,
                                 struct scr_err *err);
int scr_drill_plan_remove_dirs(struct scr_tool *t, const struct drill_plan *p,
                               struct scr_err *err);

/* All nodes are n1 to nN again, and no strike is planned. */
int scr_drill_plan_reset(struct drill_plan *p, struct scr_err *err);
/* Spares take the places of the nodes lost in strike i, so that the other ranks stay
 * where they are. If there is a next strike, it is these that it hits. */
int scr_drill_plan_replace(struct drill_plan *p, int i, struct scr_err *err);

#endif
