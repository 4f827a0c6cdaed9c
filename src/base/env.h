/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of every layer below the MPI line, in addition to its arguments.
 * Borrowed everywhere.
 */
#ifndef SCR_BASE_ENV_H
#define SCR_BASE_ENV_H

#include "base/err.h"
#include "base/log.h"
#include "base/sys.h"

struct scr_env {
    const struct scr_sys *sys;
    const struct scr_log *log; /* may be NULL: silent */
};

#endif
