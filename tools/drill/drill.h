/* SPDX-License-Identifier: BSD-3-Clause */
/* A failure drill: a program run on virtual nodes, struck at a chosen moment, and its
 * phase file. cmd_drill.c decides what is run; this does it.
 *
 *     struct drill_run run;
 *     scr_drill_run(t, &drill, &leg, &run, err);
 *     … run.status, run.phases …
 *     scr_drill_run_fini(&run); */
#ifndef SCR_TOOLS_DRILL_H
#define SCR_TOOLS_DRILL_H

#include <sys/types.h>

#include "base/hostlist.h"
#include "cfg/desc.h"
#include "tool.h"

/* Shared data of all runs of a drill. Strings are owned by the caller. */
struct drill {
    const char *mpirun;
    const char *const *program; /* NULL-terminated: program and its arguments */
    int ranks;
    enum scr_scheme scheme;
    int flush;           /* SCR_FLUSH: 0, or 1 when datasets must reach the prefix */
    double timeout;      /* seconds a run may take */
    const char *work;    /* directory of everything that is not node-local */
    const char *storage; /* directory of the nodes' storage */
};

/* The node's processes are killed and its storage is removed when the run enters a
 * phase. */
struct drill_strike {
    const char *node;
    const char *phase;
    int entry; /* 1: the first time */
};

/* The lines "<phase> <dataset>" of a run. */
struct drill_phases {
    int complete; /* newest dataset that was complete when the run ended, 0: none */
    int restart;  /* dataset the program read at its start, 0: none */
    int fetched;  /* 1: that one came from the prefix directory */
    int rebuilt;  /* 1: parts of it were rebuilt */
};

struct drill_run {
    int status;         /* of mpirun: exit status, or 128 + signal */
    double seconds;     /* from start to end */
    double struck_at;   /* seconds after the start; < 0: not struck */
    int struck_dataset; /* dataset of the phase it was struck in */
    int killed;         /* processes killed */
    char *pids;         /* "4 (pid 4711), 5 (pid 4712)": killed ranks, malloc'd */
    char
        *complaint; /* first line "SCR: error: …" of its output, malloc'd; NULL: none */
    struct drill_phases phases;
};

/* One run of the program: in <work>/<dir>, which becomes its working and prefix
 * directory, output to <work>/log.<name>. */
struct drill_leg {
    const char *name; /* "first" */
    const char *dir;
    const struct scr_hostlist *nodes;
    const struct drill_strike *strike; /* NULL: none */
};
/* Errors: what keeps the run from taking place, a time-out; a program that fails is not
 * one. */
int scr_drill_run(struct scr_tool *t, const struct drill *d,
                  const struct drill_leg *leg, struct drill_run *run,
                  struct scr_err *err);
void scr_drill_run_fini(struct drill_run *run);

/* Text of a phase file -> what it says. Lines it does not know are skipped. */
void scr_drill_phases(const char *text, struct drill_phases *out);
/* Dataset of the entry-th line of phase; -1 while there is none. */
int scr_drill_phase_entry(const char *text, const char *phase, int entry);

struct drill_diff {
    uint64_t bytes; /* equal ones at the start */
    int same;       /* 0: the next byte differs, or one of the two ends there */
};

int scr_drill_compare(const struct scr_sys *sys, const char *a, const char *b,
                      struct drill_diff *out, struct scr_err *err);

#endif
