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

#include <signal.h>
#include <sys/types.h>

#include "base/hostlist.h"
#include "base/strv.h"
#include "cfg/desc.h"
#include "tool.h"

/* Shared data of all runs of a drill. Strings are owned by the caller. */
struct drill {
    const char *mpirun;
    const char *const *program; /* NULL-terminated: program and its arguments */
    int ranks;
    enum scr_scheme scheme;
    int flush; /* SCR_FLUSH: 0, or 1 when datasets must reach the prefix */
    int set_size, set_failures; /* 0: as the user has them, and SCR_FLUSH_ASYNC, too */
    double timeout;             /* seconds a run may take */
    struct scr_strv hidden;     /* variables that mpirun must not see */
    const char *work;           /* directory of everything that is not node-local */
    const char *storage;        /* directory of the nodes' storage */
};

/* Entry into a phase, 1: the first one of the run. */
struct drill_moment {
    const char *phase;
    int entry;
};

/* The nodes' processes are killed and their storage is removed `delay` seconds after
 * the run entered a phase. It waits there, or with a delay at a later entry, as it must
 * not end before the strike. */
struct drill_strike {
    struct scr_hostlist nodes;
    struct drill_moment at, wait;
    double delay;
};

enum { DRILL_PHASES = 6 };
extern const char *const scr_drill_phase_name[DRILL_PHASES];
/* Position in that list, -1: none. */
int scr_drill_phase_find(const char *name);

/* The lines "<phase> <dataset>" of a run. */
struct drill_phases {
    int begun;    /* newest checkpoint that was begun, 0: none */
    int complete; /* newest dataset that was complete when the run ended, 0: none */
    int flushed;  /* newest one that was flushed by then, if flushes are synchronous */
    int last;     /* phase it ended in, as scr_drill_phase_find says; -1: another */
    int lines;
    int restart; /* dataset the program read at its start, 0: none */
    int fetched; /* 1: that one came from the prefix directory */
    int rebuilt; /* 1: parts of it were rebuilt */
};

struct drill_run {
    int status;          /* of mpirun: exit status, or 128 + signal */
    double seconds;      /* from start to end */
    double entered_at;   /* seconds after the start, strike's phase; < 0: not yet */
    double struck_at;    /* < 0: not struck */
    double restarted_at; /* < 0: no checkpoint was read */
    int struck_dataset;  /* dataset of the phase that was waited for */
    char *pids;          /* "4 (pid 4711), 5 (pid 4712)": killed ranks, malloc'd */
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
/* An interrupt must not leave processes and directories behind: its signals are held
 * back, and looked for. before: the mask that gives them their effect again. */
void scr_drill_hold_signals(sigset_t *before);
/* 1: the caller of the command wants it to end. */
int scr_drill_interrupted(void);

/* Text of a phase file -> what it says. Lines it does not know are skipped. */
void scr_drill_phases(const char *text, struct drill_phases *out);
/* The line of that number, from 0 on, as a moment; 0: it is no phase. */
int scr_drill_phase_line(const char *text, int line, struct drill_moment *out);
/* Dataset of the entry-th line of phase; -1 while there is none. */
int scr_drill_phase_entry(const char *text, const char *phase, int entry);

struct drill_diff {
    uint64_t bytes; /* equal ones at the start */
    int same;       /* 0: the next byte differs, or one of the two ends there */
};

int scr_drill_compare(const struct scr_sys *sys, const char *a, const char *b,
                      struct drill_diff *out, struct scr_err *err);

#endif
