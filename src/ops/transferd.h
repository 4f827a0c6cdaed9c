/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfer process of a node: copies what the transfer file of a control directory
 * lists (developer's manual 9.7), and records on the prefix what has arrived. */
#ifndef SCR_TOOL_TRANSFERD_H
#define SCR_TOOL_TRANSFERD_H

#include "base/env.h"

struct scr_transferd_opts {
    const char *dir; /* control directory */
    double idle;     /* seconds without work after which it ends; 0: never */
    int once;        /* ends as soon as there is nothing to do */
};

/* Runs until EXIT is set, it has been idle, or the control directory is gone.
 * SCR_E_LOCKED: another one is responsible for this directory. With once the first
 * error of a transfer; without, the file records them for the jobs that listed the
 * files. */
int scr_transferd_run(const struct scr_env *env, const struct scr_transferd_opts *o,
                      struct scr_err *err);

#endif
