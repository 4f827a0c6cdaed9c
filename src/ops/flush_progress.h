/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the flush of a dataset is, as it can be seen in the prefix directory: by the
 * records of an asynchronous one (store/arrival.h), and by the files it has written,
 * under their names or temporary ones. Local; nothing is changed. */
#ifndef SCR_OPS_FLUSH_PROGRESS_H
#define SCR_OPS_FLUSH_PROGRESS_H

#include "store/prefix.h"

struct scr_flush_progress {
    int id;               /* 0: no flush is under way or unfinished */
    char *name;           /* malloc'd */
    int is_async;         /* it does not need the program any more */
    int is_running;       /* a process holds its mark */
    int waiting;          /* flushes that run and come after this one */
    uint64_t bytes, done; /* of the dataset, plain */
    double since; /* when this attempt began, seconds since 1970; 0: not known */
    double turn;  /* when it began to copy: since, or the end of the flush before it */
    double rate;  /* bytes a second since its turn; 0: not known */
};

/* The oldest flush that runs, as they are copied in turn, else the newest unfinished
 * one. index: as it was read just before; now: seconds since 1970. SCR_E_NOMEM, or an
 * error of a record that cannot be read. Free with scr_flush_progress_fini in any
 * case. */
int scr_flush_progress_find(const struct scr_env *env, const struct scr_prefix *p,
                            const struct scr_index *index, double now,
                            struct scr_flush_progress *out, struct scr_err *err);
void scr_flush_progress_fini(struct scr_flush_progress *f);
/* Seconds to the end at this rate; < 0: not known. */
double scr_flush_progress_left(const struct scr_flush_progress *f);

#endif
