/* SPDX-License-Identifier: BSD-3-Clause */
/* Many programs at once, with one time limit for all of them, each with its output.
 *
 *     struct scr_many_task task[2] = { { .argv = a }, { .argv = b } };
 *     rc = scr_many_run(task, 2, 64, 10.0, NULL, err);
 *     … task[0].end, task[0].status, task[0].out …
 *     scr_many_free(task, 2); */
#ifndef SCR_RM_MANY_H
#define SCR_RM_MANY_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

enum scr_many_end {
    SCR_MANY_LATE,   /* had not ended when the time was over, or was not even started */
    SCR_MANY_FAILED, /* could not be started; errout says why */
    SCR_MANY_ENDED
};

struct scr_many_task {
    const char *const *argv, *const *env; /* as in struct scr_proc_spec; borrowed */
    /* The rest is filled by scr_many_run. */
    enum scr_many_end end;
    int status;         /* 0…255, or 128 + signal; -1 unless it ended */
    char *out, *errout; /* what it printed so far, malloc'd, never NULL */
    /* For scr_many_run only. */
    pid_t pid;
    double begun, told; /* when it was started, and asked to end (0: it was not) */
    int fd[2];
    struct scr_str text[2];
};

/* Runs them with nothing on stdin for timeout_s seconds altogether; those that still
 * run then are killed, which takes up to a second. `width` of them at a time (0: 64)
 * or, if those do not end, 400. Hanging ones keep none from its turn: where there are
 * more, one that has had its share of the time makes room, and counts as late. The
 * share is half of the time for up to 400, a third for up to 800, and so on; less where
 * descriptors are few. The time is over at once when another thread sets *stop, which
 * may be NULL. Fails only for lack of memory or descriptors; scr_many_free in any case.
 */
int scr_many_run(struct scr_many_task *task, size_t n, size_t width, double timeout_s,
                 const atomic_int *stop, struct scr_err *err);
void scr_many_free(struct scr_many_task *task, size_t n);

#endif
