/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a prefix directory, as its event log records them: how many, how the
 * newest one does, what failed. Pure, except scr_runlog_read.
 *
 *     struct scr_runlog l = SCR_RUNLOG_INIT;
 *     rc = scr_runlog_read(&env, &prefix, &l, err);
 *     … l.runs, l.job …
 *     scr_runlog_fini(&l); */
#ifndef SCR_OPS_RUNLOG_H
#define SCR_OPS_RUNLOG_H

#include "base/table.h"
#include "cfg/desc.h"
#include "fmt/autopilot.h"
#include "fmt/event.h"
#include "store/prefix.h"

struct scr_runlog_node {
    struct scr_item item;
    int64_t run; /* runs + 1 when it was left out last; 0: it was not left out */
};

/* Times are seconds since 1970, 0: not known. Texts are malloc'd, NULL: not known. */
struct scr_runlog {
    int64_t events;   /* that were read */
    uint64_t damaged; /* lines that are no events */
    int64_t runs;     /* of the library */
    /* The newest run. */
    double began, ended, seen; /* seen: the newest event that the library wrote */
    char *job, *nodelist;
    char *config;         /* the parameters set, in one text */
    char *halt;           /* why it was asked to stop */
    char *exit;           /* what the run loop reports of its end */
    int64_t ranks, nodes; /* 0: not known */
    double ckpt_ended;    /* when it wrote its newest checkpoint */
    double interval;      /* advised, seconds; 0: none */
    char *advice;         /* the reasons for it */
    size_t lost_since;    /* nodes left out since it began, each once */
    /* All runs. */
    struct scr_table lost; /* of struct scr_runlog_node: each lost node once */
    int64_t failures[SCR_FAILURES];
    int encoded;            /* newest dataset with redundancy, 0: none */
    enum scr_scheme scheme; /* of that dataset */
};
#define SCR_RUNLOG_INIT                                                                \
    {                                                                                  \
        .lost = SCR_TABLE_OF(struct scr_runlog_node)                                   \
    }

/* Events in the order of the log; those of a kind that says nothing here are passed
 * over. SCR_OK or SCR_E_NOMEM. */
int scr_runlog_add(struct scr_runlog *l, const struct scr_event *e,
                   struct scr_err *err);
/* All of the log; a missing log has no events. l is empty before. After an error it has
 * the events before it. */
int scr_runlog_read(const struct scr_env *env, const struct scr_prefix *p,
                    struct scr_runlog *l, struct scr_err *err);
void scr_runlog_fini(struct scr_runlog *l);

/* Losses of nodes that redundancy of this scheme survives with the configuration of the
 * newest run. */
int scr_runlog_survives(const struct scr_runlog *l, enum scr_scheme scheme);

#endif
