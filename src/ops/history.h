/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a prefix directory: what the lines of its event log (fmt/event.h) say
 * of runs, datasets, failures and costs, and sums of it.
 *
 *     struct scr_history h;
 *     scr_history_init(&h);
 *     … rc = scr_history_add(&h, &event, err) for each event, in the order of the log;
 *     rc = scr_history_finish(&h, err);
 *     … h.run[0 … h.nruns], h.sums …
 *     scr_history_fini(&h);
 *
 * Pure: it reads no file, no clock and no environment. No log is wrong: what cannot be
 * used is counted (struct scr_hist_doubts). Times are seconds since 1970, lengths are
 * seconds, bytes are those of all ranks together; negative ones are not known.
 *
 * A run is what process 0 does from SCR_Init to its end. Events belong to the run that
 * is open on their host in their job: two jobs that write to one log do not mix.
 * A run begins RUN_START.secs before its RUN_START, and is over at its RUN_END; where
 * that is missing, when the run loop noted that the program ended, else at its last
 * event.
 *
 * The length of a run is what its clock advanced from event to event. Time that goes
 * backwards adds nothing, and where COMPUTE_END or RUN_END say how long it was, that
 * counts instead. The time of a run is divided without overlap:
 *
 *     restart     SCR_Init, and what fetches and SCR_Start_restart to
 *                 SCR_Complete_restart took after it
 *     checkpoint  sums of CHECKPOINT_END.secs
 *     output      sums of OUTPUT_END.secs
 *     flush       sums of FLUSH_SUCCESS.secs and FLUSH_FAIL.secs: the program waited
 *     lost        time of computing that was done again: in runs before the one that
 *                 restarted, and after the end of the checkpoint it took
 *     kept        all other time of computing
 *     other       the rest
 *
 * Computing is what COMPUTE_END says, without restart time; in older logs, and in a run
 * that died, what passed from a start, or the end of a dataset or flush, to the next
 * dataset or to the end of the run. A restart without a checkpoint after a failure
 * loses all computing of the run that failed, and of those before it that failed
 * without a checkpoint, too. Time between runs is idle. */
#ifndef SCR_OPS_HISTORY_H
#define SCR_OPS_HISTORY_H

#include "base/table.h"
#include "fmt/event.h"
#include "ops/history_costs.h"

enum { SCR_HIST_NONE = -1 }; /* no run, no dataset */

enum scr_hist_time {
    SCR_TIME_KEPT,
    SCR_TIME_CHECKPOINT,
    SCR_TIME_OUTPUT,
    SCR_TIME_FLUSH,
    SCR_TIME_RESTART,
    SCR_TIME_LOST,
    SCR_TIME_OTHER,
    SCR_TIME_IDLE, /* of the history only */
    SCR_TIMES
};

enum scr_hist_end {
    SCR_RUN_OPEN,   /* no end in the log, and no later run */
    SCR_RUN_ENDED,  /* SCR_Finalize */
    SCR_RUN_HALTED, /* SCR ended it for a halt */
    SCR_RUN_FAILED, /* no end, and the next run found a failure */
    SCR_RUN_CUT,    /* no end, and the next run found none: the allocation ended */
    SCR_RUN_ENDS
};

struct scr_hist_run {
    const char *jobid, *host;                       /* of the process 0 */
    const char *nodelist, *version, *config, *halt; /* NULL: not known, none */
    int64_t number, ranks, nodes;
    double begin, wall, init; /* init: SCR_Init */
    double secs[SCR_TIMES];
    enum scr_hist_end end;
    int64_t restarted; /* number of the dataset it continued from, or SCR_HIST_NONE */
    const char *from;  /* "cache" or "prefix" */
    int64_t ckpts, outputs; /* that were completed */
    int64_t failure;        /* of the runs before, which it found at its start, or
                        SCR_HIST_NONE */
    int computed;           /* 0: computing is what no other event claims */
    int is_end_noted;       /* 1: the run loop noted when the program ended */
    int64_t phases;         /* of computing that had begun before it */
    uint64_t first, last;   /* numbers of its first and last event */
};

enum scr_hist_state {
    SCR_HIST_NOT,   /* it was not begun */
    SCR_HIST_BEGUN, /* there is no end of it in the log */
    SCR_HIST_DONE,
    SCR_HIST_FAILED
};

struct scr_hist_dset {
    int64_t id;
    const char *name, *scheme, *note; /* NULL: not known; of the last error */
    int64_t run;                      /* that wrote it, or SCR_HIST_NONE */
    int is_ckpt;
    double at;    /* when it was begun, or its first event */
    double write; /* Start_output to the end of Complete_output, without a flush */
    double encode, flush;
    int64_t bytes, files;
    enum scr_hist_state written, flushed;
    int is_async;                /* its flush let the program run */
    int is_bypass;               /* the program wrote it to the prefix, not to cache */
    int restarts;                /* runs that continued from it */
    int gone_cache, gone_prefix; /* 1: deleted there */
    int64_t phases;              /* of computing that had begun when it was complete */
};

struct scr_hist_failure {
    double at; /* end of the run that failed; if that is not known, when it was found */
    const char *class; /* "process", "node", "beyond"; NULL: not recorded */
    const char *nodes, *note;
    int64_t run, next; /* that failed, that followed; or SCR_HIST_NONE */
    double lost;       /* computing that was done again because of it */
};

/* A node that was said to be lost, by a failure or as NODE_FAIL. */
struct scr_hist_node {
    struct scr_item item;
    int64_t n;
    double last;
    const char *why;
};

/* How good the interval was: M is the time of runs for each failure, C the mean cost of
 * a checkpoint with what it waited for its flush, R the mean time of a restart. */
struct scr_hist_plan {
    int is_known; /* 0: without a failure, or a checkpoint, nothing else counts */
    double mean, cost, restart;
    double interval, best;              /* computing for each checkpoint: as it was, and
                                           scr_interval_best */
    double efficiency, best_efficiency; /* expected with either, by the Markov model of
                                           one level */
    double gain; /* share of the time that the best one would save */
};

struct scr_hist_sums {
    double secs[SCR_TIMES];
    double wall;         /* of all runs */
    double span;         /* from the first begin to the last end */
    double efficiency;   /* kept / wall; 0 without runs */
    double lost_without; /* lost where no failure was found: the allocation ended */
    double begin, end;
    int64_t runs_ended[SCR_RUN_ENDS];
    int64_t ckpts, outputs, broken; /* complete; begun and not complete */
    int64_t flushes, flushes_failed, fetches, fetches_failed;
    int64_t rebuilds, rebuilds_failed, restarts, restarts_failed;
};

/* Counts of what is missing or odd in the log. */
struct scr_hist_doubts {
    uint64_t damaged;   /* lines that are no events; set by the caller */
    uint64_t events;    /* events taken */
    uint64_t unknown;   /* events of other names */
    uint64_t jumps;     /* clocks that went back, or forward by more than a minute */
    uint64_t headless;  /* runs without RUN_START */
    uint64_t old;       /* runs that do not say how long they computed */
    uint64_t strangers; /* restarts from datasets that the log does not have */
    uint64_t unseen;    /* runs that died, and the log does not say when */
    uint64_t overlaps;  /* runs that began while one of another job was going on */
};

struct scr_hist_advice {
    char *text;  /* malloc'd */
    double gain; /* share of the time of runs; < 0: not known */
};
enum { SCR_HIST_ADVICES = 8 };

struct scr_hist_interval { /* INTERVAL: what the autopilot advised last */
    double secs;
    const char *why;
};

struct scr_history {
    struct scr_hist_run *run; /* in the order of their first events */
    size_t nruns;
    struct scr_hist_dset *dset; /* in the same order */
    size_t ndsets;
    struct scr_hist_failure *failure; /* in the order of the log */
    size_t nfailures;
    struct scr_table nodes; /* of struct scr_hist_node */
    struct scr_hist_moves moves[SCR_MOVE_LEVELS];
    struct scr_hist_costs costs[SCR_COSTS];
    struct scr_hist_sums sums;
    struct scr_hist_plan plan;
    struct scr_hist_interval advised;
    struct scr_hist_doubts doubts;
    struct scr_hist_advice advice[SCR_HIST_ADVICES];
    size_t nadvices;

    /* For history*.c alone. */
    size_t runs_room, dsets_room, failures_room;
    struct scr_table texts; /* each once */
    struct scr_table seats; /* by job and host: the run that is open there */
    struct scr_table jobs;  /* by job: its newest run */
    struct scr_table ids;   /* by number: the newest dataset of it */
    struct scr_hist_phase *phase;
    size_t nphases, phases_room;
    struct scr_hist_again *again;
    size_t nagains, agains_room;
};

void scr_history_init(struct scr_history *h);
/* e->at counts, not e->time. SCR_OK or SCR_E_NOMEM. */
int scr_history_add(struct scr_history *h, const struct scr_event *e,
                    struct scr_err *err);
/* Once, when all is added: ends of runs, lost work, sums, plan and advice. */
int scr_history_finish(struct scr_history *h, struct scr_err *err);
void scr_history_fini(struct scr_history *h);

#endif
