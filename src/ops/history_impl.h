/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by history*.c: what is kept while events are added. */
#ifndef SCR_OPS_HISTORY_IMPL_H
#define SCR_OPS_HISTORY_IMPL_H

#include "ops/history.h"

/* A time of computing, in the order of their begins. */
struct scr_hist_phase {
    int64_t run;
    double secs;
    int64_t before; /* the one before it that is not lost; set by scr_history_finish */
};

/* A run that began, or continued from a dataset: computing since then is done again. */
struct scr_hist_again {
    int64_t run, dset; /* index of a dataset, or SCR_HIST_NONE: from the beginning */
    int64_t phases;    /* that had begun before */
};

/* Where events of one job on one host go. */
struct scr_hist_seat {
    struct scr_item item; /* "<job>\n<host>" */
    const char *jobid, *host;
    int64_t run;      /* that is open, or SCR_HIST_NONE */
    int64_t phase;    /* of computing that is open, or SCR_HIST_NONE */
    int64_t failure;  /* found by the run that is about to begin, or SCR_HIST_NONE */
    int has_computed; /* the run has had a dataset, or a time of computing that ended */
    double last;      /* clock of its last event */
    double since;     /* what the clock advanced after the phase began */
    double restarting; /* restart time after that, which is no computing */
    double flushing;   /* flushes that were waited for since the dataset was begun */
    /* SCR_Init writes of fetches and rebuilds before RUN_START. Until it is known which
     * run they are of: clock of the first, NAN: none; seconds of all. */
    double early, early_secs;
};

/* The newest dataset of a number. */
struct scr_hist_id {
    struct scr_item item;
    int64_t dset;
    int is_known;
};

struct scr_hist_job {
    struct scr_item item;
    struct scr_hist_seat *seat; /* of its newest run; NULL: none */
    const char *down;           /* nodes lost since that began */
};

/* --- history.c --- */
/* The same text for as long as h lives; NULL for NULL. */
const char *scr_hist_text(struct scr_history *h, const char *text);
/* Out of memory: scr_history_add and _finish fail. */
void scr_hist_spoil(struct scr_history *h);
int scr_hist_ok(const struct scr_history *h);
struct scr_hist_failure *scr_hist_failure_add(struct scr_history *h, double at);
/* Ends the time of computing that is open, of secs, or < 0: as the clock says. */
void scr_hist_phase_end(struct scr_history *h, struct scr_hist_seat *s, double secs);

/* history_advice.c: plan and advice, from the sums. */
int scr_hist_advise(struct scr_history *h, struct scr_err *err);

#endif
