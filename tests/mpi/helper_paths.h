/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files go to the same paths on the prefix: jobs of four ranks that
 * write and compare them. */
#ifndef SCR_TEST_HELPER_PATHS_H
#define SCR_TEST_HELPER_PATHS_H

#include "helper_fault.h"
#include "helper_pfs.h"
#include "helper_prefix.h"
#include "store/arrival.h"
#include <errno.h>

static const char *const nodes = "n[1-4]";

static const char *const plan_of_1 = ".scr/scr.dataset.1/outgoing.scr";

enum { CKPT = 1, OUTPUT = 2, BOTH = 3 };

/* Newer datasets have replaced all of its files: no record of it is left (P27). */
#define CHECK_GONE(job, id)                                                            \
    do {                                                                               \
        CHECK_ENTRY(job, id, ABSENT, NOT_CURRENT);                                     \
        CHECK(!job_has(job, ".scr/scr.dataset." #id));                                 \
    } while (0)

/* One file a rank, <prefix>/<dir>/f.<rank + shift>, with this text. */
int write_at(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
             const char *dir, int shift, const char *text, struct scr_err *err);

void paths_write_ok(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                    const char *dir, const char *text);

/* 1 on all ranks if all of <dir>/f.* have that text. */
int all_are(struct job *job, const char *dir, const char *text);

/* The flush dies between its last file and the summary. */
void die_before_summary(struct mpi_test *t, struct job *job);

/* The call that must fail so that dataset 1 does not become complete: its files are
 * written, or not.
 */
void keep_pending(int written);

/* A job ends with dataset id of that name and text in A pending, and loses its nodes.
 * The stamp of the plan. */
uint64_t leave_pending_as(struct job *job, int written, int id, const char *name,
                          const char *text);

/* Processes that went on with it, on nodes this job has nothing to do with, are
 * through. Where its records have gone theirs have no place. */
void arrive_late_as(struct job *job, int id, uint64_t stamp);

/* This rank's file, as the copying process leaves it. */
void put_file(struct job *job, const char *dir, const char *text);

#endif
