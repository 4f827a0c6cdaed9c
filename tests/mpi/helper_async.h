/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs whose flushes the application does not wait for. */
#ifndef SCR_TEST_HELPER_ASYNC_H
#define SCR_TEST_HELPER_ASYNC_H

#include "helper_fault.h"
#include "helper_job.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "helper_shared.h"
#include <errno.h>

static const char *const nodes = "n[1-4]";

#define ASYNC "SCR_FLUSH_ASYNC=1", "SCR_FLUSH=1"

/* Collective; the same on all ranks. */
int entry(const struct job *job, int id);

/* Waits, without a call to SCR, until the index says that id is complete. */
int becomes_complete(const struct job *job, int id);

void async_begin(struct mpi_test *t, struct job *job);

/* Kills the job, with everything that still runs released at the same time. */
void kill_job(struct job *job, struct scr_ctx *ctx);

#endif
