/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job (helper_job.h) has on its prefix and in cache, and what may happen to it.
 * All collective over the job. */
#ifndef SCR_TEST_HELPER_PREFIX_H
#define SCR_TEST_HELPER_PREFIX_H

#include "helper_job.h"

/* Entry of the index under this id: complete, -1 if there is none; *current: named by
 * CURRENT; *failed: marked failed. Both may be NULL. */
int job_entry(struct job *job, int id, int *current, int *failed);

enum job_listed { ABSENT = -1, INCOMPLETE, COMPLETE };
enum job_current { NOT_CURRENT, CURRENT };
#define CHECK_ENTRY(job, id, listed, current)                                          \
    do {                                                                               \
        int current_;                                                                  \
        CHECK_INT(job_entry(job, id, &current_, NULL), listed);                        \
        CHECK_INT(current_, current);                                                  \
    } while (0)

/* Marks the entry as a fetch that found damage does. */
void job_fail_entry(struct job *job, int id);
/* A file where the flush of this seed wants a directory, until it is removed again. */
void job_block_flush(struct job *job, int seed, int on);
/* Dataset id vanishes from every node; the filemaps that name it stay. */
void job_lose_dataset(struct job *job, int id);
/* Id of the checkpoint Have_restart offers, 0: none. */
int job_offered(struct job *job, struct scr_ctx *ctx);
/* Whether <prefix>/<path> exists. */
int job_has(struct job *job, const char *path);
/* Waits until n files of dataset id have landed on the prefix by their records; five
 * seconds at most. */
void job_wait_landed(const struct job *job, int id, int n);
/* These nodes lose all they store; a run on them gets checkpoint name of this seed back
 * from the prefix. */
void job_check_prefix(struct job *job, const char *vnodes, const char *name, int seed);

#endif
