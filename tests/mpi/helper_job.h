/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs inside one mpirun: contexts over a part of the ranks, on virtual nodes, that are
 * started, killed, robbed of nodes and started again, as the runs of an allocation
 * would be.
 *
 *     struct job job;
 *     job_new(t, &job, 4);                        // 4 ranks; others skip: if (!job.in)
 * return struct scr_ctx *ctx = job_start(&job, "n1,n2", "SCR_COPY_TYPE=XOR", NULL);
 *     job_checkpoint(&job, ctx, "one", 1);
 *     job_kill(&job, ctx);                        // no Finalize: as if the ranks had
 * died job_lose_node(&job, "n2"); ctx = job_start(&job, "n1,n3", NULL);
 *     job_check_restart(&job, ctx, "one", 1);
 *     job_end(&job, ctx);                         // Finalize
 *     job_free(&job); */
#ifndef SCR_TEST_HELPER_JOB_H
#define SCR_TEST_HELPER_JOB_H

#include "core/ctx.h"
#include "mpi_test.h"

struct job {
    struct mpi_test *t;
    int in;        /* this rank takes part */
    MPI_Comm comm; /* of those that do */
    int rank, size;
    char dir[600]; /* prefix/ and cache/ are in it */
    char prefix[700];
    char cache[700];
    const struct scr_sys *sys; /* NULL: the real calls */
};

/* Files a rank writes, and how long they are: a pure function of (rank, seed). */
enum { JOB_FILES = 3 };

void job_new(struct mpi_test *t, struct job *job, int ranks);
void job_free(struct job *job); /* removes the directories */

/* A context with these nodes and settings ("K=V" …, NULL ends); rc of scr_init_all in
 * job_rc. */
struct scr_ctx *job_start(struct job *job, const char *vnodes, ...);
int job_try_start(struct job *job, struct scr_ctx **ctx, struct scr_err *err,
                  const char *vnodes, const char *const *settings);
void job_kill(struct job *job, struct scr_ctx *ctx);
void job_end(struct job *job, struct scr_ctx *ctx);

/* Removes everything the node stores: its sub-directories under cache and control base.
 */
void job_lose_node(struct job *job, const char *vnode);

/* Start, route, write (content by rank, file and seed), complete. */
int job_write(struct job *job, struct scr_ctx *ctx, const char *name, int seed,
              int flags, struct scr_err *err);
void job_checkpoint(struct job *job, struct scr_ctx *ctx, const char *name, int seed);

/* 1 on all ranks if a restart offers name; reads every file and compares all bytes.
 * NULL: there must be none. */
void job_check_restart(struct job *job, struct scr_ctx *ctx, const char *name,
                       int seed);
/* Reads the loaded checkpoint and says whether all bytes are those of seed, on this
 * rank. */
int job_read_ok(struct job *job, struct scr_ctx *ctx, int seed);

/* Flips one byte of a file (rank 0 of the job does it for all if collective use is
 * wanted). */
void job_flip(const char *path, long at);
/* Paths of regular files below dir whose path contains part, malloc'd array; count in
 * *n. */
char **job_find(const char *dir, const char *part, int *n);
void job_find_free(char **paths, int n);

#endif
