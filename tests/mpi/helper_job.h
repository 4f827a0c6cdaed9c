/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs inside one mpirun: contexts over a part of the ranks, on virtual nodes, that are
 * started, killed, robbed of nodes and started again, as the runs of an allocation
 * would be.
 *
 *     struct job job;
 *     job_new(t, &job, 4);                  // 4 ranks; the others: if (!job.in) …
 *     struct scr_ctx *ctx = job_start(&job, "n1,n2", "SCR_COPY_TYPE=XOR", NULL);
 *     job_checkpoint(&job, ctx, "one", 1);
 *     job_kill(&job, ctx);                  // no Finalize, as if the ranks had died
 *     job_lose_node(&job, "n2");
 *     ctx = job_start(&job, "n1,n3", NULL);
 *     job_check_restart(&job, ctx, "one", 1);
 *     job_end(&job, ctx);                   // Finalize
 *     job_free(&job); */
#ifndef SCR_TEST_HELPER_JOB_H
#define SCR_TEST_HELPER_JOB_H

#include "core/asyncctl.h"
#include "core/cachectl.h"
#include "core/choose.h"
#include "core/ctx.h"
#include "core/edits.h"
#include "core/fetchctl.h"
#include "core/flushctl.h"
#include "core/flushfile.h"
#include "core/foreign.h"
#include "core/init.h"
#include "core/manage.h"
#include "core/meeting.h"
#include "core/mend.h"
#include "core/neighbours.h"
#include "core/restart.h"
#include "core/retain.h"
#include "core/route.h"
#include "core/shared.h"
#include "helper_fault.h"
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
    int armed;                 /* this rank's calls, see job_arm */
    int kind;                  /* of them */
    FILE *out;                 /* of SCR's messages; NULL: stderr */
    /* Bytes of a rank's file, -1: there are no more of them; a pure function. NULL:
       JOB_FILES of several sizes. */
    long (*size_of)(int rank, int file, int seed);
    int even;      /* 1: bytes that compress well */
    int any_ranks; /* SCR_RESTART_ANY_RANKS; job_share sets it */
};

enum { JOB_FILES = 3 };

void job_new(struct mpi_test *t, struct job *job, int ranks);
void job_free(struct job *job); /* removes the directories */
/* A case with a job of so many ranks, which is freed after it:
 *
 *     JOB_CASE(a_checkpoint_is_read_again, 4)
 *     {
 *         struct scr_ctx *ctx = job_start(job, nodes, NULL);
 *         ...
 *     }
 */
#define JOB_CASE(name, ranks)                                                          \
    static void name##_of(struct mpi_test *t __attribute__((unused)),                  \
                          struct job *job);                                            \
    MPI_CASE(name)                                                                     \
    {                                                                                  \
        struct job job;                                                                \
        job_new(t, &job, ranks);                                                       \
        name##_of(t, &job);                                                            \
        job_free(&job);                                                                \
    }                                                                                  \
    static void name##_of(struct mpi_test *t __attribute__((unused)), struct job *job)
/* A job on a different number of ranks with the directories of other, which stay. All
 * ranks of the test make both calls. */
void job_share(struct mpi_test *t, struct job *job, const struct job *other, int ranks);
void job_unshare(struct job *job);
/* Another case: the same job and nodes, but its own prefix directory. Ends with
 * job_unshare. */
void job_neighbour(struct mpi_test *t, struct job *job, const struct job *of);

/* A context with these nodes and settings ("K=V" …, NULL ends); rc of scr_init_all in
 * job_rc. */
struct scr_ctx *job_start(struct job *job, const char *vnodes, ...);
/* The same before scr_init_all. */
struct scr_ctx *job_make(struct job *job, const char *vnodes,
                         const char *const *settings);
int job_try_start(struct job *job, struct scr_ctx **ctx, struct scr_err *err,
                  const char *vnodes, const char *const *settings);
void job_kill(struct job *job, struct scr_ctx *ctx);
void job_end(struct job *job, struct scr_ctx *ctx);

/* Kinds of job_arm: allocations of SCR instead of system calls, whatever its sys is. Of
 * JOB_PLACE the next one at a new place fails, whatever n is (test_memory_arm_place).
 */
enum { JOB_ALLOCATION = TEST_ANY + 1, JOB_PLACE };

/* Call n of a kind, counted from here, fails on rank victim; with victim -1 on every
 * rank. For jobs whose sys is &test_fault_sys when they start. TEST_FOREVER: as if the
 * victim, or the job, had died there. */
void job_arm(struct job *job, int victim, int kind, long n, int error,
             enum test_how how);
/* All calls work again; 1 on all ranks if one has failed on any. Collective. */
int job_disarm(struct job *job);
/* 1 on all ranks if they all have the same code. Collective. */
int job_same_code(const struct job *job, int rc);

/* Path of the job's directory, control and cache, on the virtual node n<node>. */
void job_node_dir(const struct job *job, int node, char *path, size_t n);

/* Removes everything these nodes (a host list) store: their sub-directories of cache
 * and control base. */
void job_lose_node(struct job *job, const char *vnodes);

/* Start, route, write (content by rank, file and seed), complete. */
int job_write(struct job *job, struct scr_ctx *ctx, const char *name, int seed,
              int flags, struct scr_err *err);
void job_checkpoint(struct job *job, struct scr_ctx *ctx, const char *name, int seed);

/* 1 on all ranks if a restart offers name; reads every file and compares all bytes.
 * NULL: there must be none. */
void job_check_restart(struct job *job, struct scr_ctx *ctx, const char *name,
                       int seed);
/* After a fault, with all calls working: the restart offers "two", of seed 2, or,
 * unless that was acknowledged, "one", of seed 1. */
void job_check_one_or_two(struct job *job, const char *vnodes, int two_acknowledged);
/* Reads the loaded checkpoint and says whether all bytes are those of seed, on this
 * rank. */
int job_read_ok(struct job *job, struct scr_ctx *ctx, int seed);
/* The same of the files that another rank wrote. */
int job_read_of(struct job *job, struct scr_ctx *ctx, int rank, int seed);

/* 1 if this rank's files of seed are in the prefix directory, with the bytes that
 * job_write wrote. */
int job_copied_ok(const struct job *job, int seed);

/* Lines with part in them that rank 0 has printed to job->out; the same on all ranks.
 */
int job_said(struct job *job, const char *part);

#endif
