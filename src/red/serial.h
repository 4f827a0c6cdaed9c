/* SPDX-License-Identifier: BSD-3-Clause */
/* The row plans run in one process that reaches the files of every member: the
 * commands' counterpart of the engine over MPI, with the same bytes. */
#ifndef SCR_RED_SERIAL_H
#define SCR_RED_SERIAL_H

#include "red/member.h"

/* Computes all that have[] lacks. members[i] are open for what the plans need of them:
 * data or parity to read where had, to write where not. */
int scr_rows_run(const struct scr_geom *g, const int *have,
                 struct scr_member *const *members, struct scr_err *err);

#endif
