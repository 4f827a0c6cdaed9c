/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of jobs, kept and deleted. */
#ifndef SCR_TEST_HELPER_DATASETS_H
#define SCR_TEST_HELPER_DATASETS_H

#include "helper_fault.h"
#include "helper_prefix.h"

static const char *const nodes = "n[1-4]";

enum { CKPT = 1, OUTPUT = 2, BOTH = 3 };

void datasets_write_ok(struct job *job, struct scr_ctx *ctx, int seed, int flags);

void write_some(struct job *job, struct scr_ctx *ctx, int from, int to);

/* Datasets the index calls complete, as "1 3 4". */
int complete_are(struct job *job, const char *want);

/* <prefix>/<name> as this text; NULL: removed. */
void put(struct job *job, const char *name, const char *text);

#endif
