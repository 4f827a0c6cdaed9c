/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the job of a prefix directory, gathered from its state files: for
 * scr status. A state file that is missing leaves its part unknown, one that is damaged
 * adds a note. Local; nothing is changed.
 *
 *     struct scr_status s;
 *     rc = scr_status_gather(&(struct scr_status_ask){ … }, &s, err);
 *     … s.state, s.log.job …
 *     scr_status_fini(&s);
 *
 * Times are seconds since 1970, 0: not known. Texts are malloc'd, NULL: not known. */
#ifndef SCR_OPS_STATUS_H
#define SCR_OPS_STATUS_H

#include "base/strv.h"
#include "cfg/cfg.h"
#include "ops/flush_progress.h"
#include "ops/incache.h"
#include "ops/runlog.h"

enum scr_status_state {
    SCR_STATUS_NONE,     /* no run was made */
    SCR_STATUS_RUNNING,  /* a process of the run holds the job's lock */
    SCR_STATUS_STARTING, /* the run loop lives: a run starts, or has just ended */
    SCR_STATUS_HALTED,   /* it ended because it was asked to */
    SCR_STATUS_ENDED,    /* it ended by SCR_Finalize, or how is not known */
    SCR_STATUS_DIED,     /* it has no end, and no process holds its lock */
    SCR_STATUS_STATES
};
/* "running", "starting", … */
const char *scr_status_state_name(enum scr_status_state state);

/* A dataset in cache or in the prefix directory. */
struct scr_status_dataset {
    int id; /* 0: there is none */
    char *name;
    uint64_t size, files;
    int64_t created;
    int is_ckpt, is_output;
};

struct scr_status_cache {
    struct scr_status_dataset d; /* newest checkpoint, else dataset, in cache */
    char *job, *nodes;
    int in_reach;    /* a cache of the job is */
    int is_away;     /* the caches in reach have nothing of it */
    int is_seen;     /* the caches in reach have all of it, or can rebuild it */
    int is_lost;     /* more of it is lost than its redundancy can rebuild */
    int is_mendable; /* some of it is lost, and can be rebuilt */
    int missing;     /* virtual nodes that are lost with it then, at least */
    int has_scheme;
    enum scr_scheme scheme;
    int survives;     /* losses of nodes, from now on; -1: not known */
    int unsaved;      /* number of datasets in cache only */
    int unsaved_outs; /* of these output */
};

struct scr_status {
    int64_t now;
    enum scr_status_state state;
    char *why;     /* why it halted, how it ended */
    char *job;     /* of the newest run */
    char *process; /* "process 17 on n1" that holds the job's lock */
    int64_t seen;  /* last sign of life */
    int64_t began, ended;
    int64_t nodes; /* of the newest run, 0: not known */
    struct scr_runlog log;
    int has_log;
    struct scr_status_cache cache;
    struct scr_status_dataset saved; /* newest complete checkpoint, else dataset, of the
                                        prefix directory */
    const struct scr_status_dataset *restart; /* what a restart finds; NULL: nothing */
    struct scr_flush_progress flush;
    int64_t failures[SCR_FAILURES];
    double interval;      /* to the next checkpoint, advised; 0: no advice */
    char *advice;         /* the reasons */
    int64_t next;         /* when it is due */
    struct scr_halt halt; /* reason: halt_reason */
    char *halt_reason, *halt_due;
    int64_t end;           /* of the allocation; 0: not known */
    int64_t spares;        /* nodes of the allocation that no run uses; -1: not known */
    struct scr_strv notes; /* what could not be read, one line each */
};

/* Where to look. */
struct scr_status_ask {
    const struct scr_env *env; /* its log is not used */
    const struct scr_prefix *prefix;
    const struct scr_params *prm; /* NULL: the configuration cannot be read */
    const struct scr_reach *reach;
    int64_t now;
};

/* SCR_OK or SCR_E_NOMEM. Free with scr_status_fini in any case. */
int scr_status_gather(const struct scr_status_ask *q, struct scr_status *out,
                      struct scr_err *err);
/* When the allocation ends, where the caller knows better; 0: it does not. The halt
 * conditions count with it. */
int scr_status_set_end(struct scr_status *s, const struct scr_params *prm, int64_t end,
                       struct scr_err *err);
void scr_status_note(struct scr_status *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void scr_status_fini(struct scr_status *s);

/* Seconds up to end, 0 when it is over; -1: not known. */
int64_t scr_status_left(const struct scr_status *s);
/* 1: it runs, or a restart finds a checkpoint. */
int scr_status_is_good(const struct scr_status *s);

#endif
