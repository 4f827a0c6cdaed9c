/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets whose files are written straight to the prefix directory. */
/* ranks: 4 */
#include "helper_fault.h"
#include "helper_shared.h"
#include "helper_stored.h"

#include <errno.h>

static const char *const nodes = "n[1-4]";
static const char *const bypass = "SCR_CACHE_BYPASS=1";

/* The state of id in the index: 1 complete, 0 incomplete, -1 nothing. */
static int entry(struct job *job, int id)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    int complete = -1;
    mpi_test_barrier(job->comm);
    if (scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK &&
        scr_prefix_index_read(&env, &p, &index, NULL) == SCR_OK &&
        scr_index_get(&index, id, &e, NULL) == SCR_OK)
        complete = e.complete;
    scr_prefix_fini(&p);
    scr_index_fini(&index);
    mpi_test_barrier(job->comm);
    return complete;
}

static int write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 0;
    fputs(text, f);
    return fclose(f) == 0;
}

/* --- checkpoints --- */

JOB_CASE(a_bypass_checkpoint_is_in_the_prefix_and_nowhere_else, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], want[1000];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_INT(entry(job, 1), 0); /* begun, and visible as such */
    CHECK_RC(job_route(job, ctx, "deep/er/file", path, &err), SCR_OK, &err);
    snprintf(want, sizeof want, "%s/deep/er/file", job->prefix);
    CHECK(strcmp(path, want) == 0);
    CHECK(write_text(path, "all the same"));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(entry(job, 1), 1);
    job_checkpoint(job, ctx, "two", 2);
    CHECK_INT(entry(job, 2), 1);
    CHECK_INT(job_count(job, job->cache, "scr.dataset"), 0);
    job_kill(job, ctx);
}

JOB_CASE(a_bypass_checkpoint_is_restarted_in_place, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, "n2"); /* costs nothing */
    ctx = job_start(job, nodes, NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_read_ok(job, ctx, 1));
    char file[900];
    snprintf(file, sizeof file, "%s/step.1/file0.%d", job->prefix, job->rank);
    CHECK_RC(scr_route(ctx, file, path, &err), SCR_OK, &err);
    CHECK(strcmp(path, file) == 0);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(job_count(job, job->cache, "scr.dataset"), 0);
    job_end(job, ctx);
}

JOB_CASE(the_newest_of_cached_and_bypassing_checkpoints_is_offered, 4)
{
    static const char *const a = "CKPT=0 INTERVAL=1 TYPE=XOR";
    static const char *const b = "CKPT=1 INTERVAL=2 BYPASS=1";
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, NULL);
    job_checkpoint(job, ctx, "c1", 1);
    job_checkpoint(job, ctx, "c2", 2);
    CHECK_INT(entry(job, 1), -1); /* cached */
    CHECK_INT(entry(job, 2), 1);
    CHECK(scr_cache_is_ready(ctx, 1)); /* the other one took nothing from the cache */
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, NULL);
    job_check_restart(job, ctx, "c2", 2);
    CHECK_INT(ctx->ckpt_id, 2);
    job_checkpoint(job, ctx, "c3", 3);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, NULL);
    job_check_restart(job, ctx, "c3", 3);
    job_kill(job, ctx);
    job_lose_node(job, "n1");
    job_lose_node(job, "n2");
    ctx = job_start(job, nodes, "SCR_COPY_TYPE=FILE", a, b, NULL);
    job_check_restart(job, ctx, "c2", 2);
    job_kill(job, ctx);
}

JOB_CASE(an_output_descriptor_may_bypass, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_COPY_TYPE=FILE", "CKPT=0 INTERVAL=1 TYPE=XOR",
                  "CKPT=1 INTERVAL=1000 OUTPUT=1 BYPASS=1", NULL);
    job_checkpoint(job, ctx, "c1", 1);
    CHECK_RC(job_write(job, ctx, "out", 2, SCR_IS_OUTPUT, &err), SCR_OK, &err);
    CHECK_INT(entry(job, 2), 1);
    CHECK_INT(job_count(job, job->cache, "scr.dataset.2"), 0);
    CHECK_INT(job_count(job, job->prefix, "step.2"), 12);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "c1", 1);
    job_kill(job, ctx);
}

JOB_CASE(fetch_bypass_reads_a_flushed_checkpoint_in_place, 4)
{
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, "SCR_FETCH_BYPASS=1", NULL);
    job_check_restart(job, ctx, "one", 1);
    CHECK_INT(job_count(job, job->cache, "scr.dataset.1"), 0);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "one", 1);
    CHECK(job_count(job, job->cache, "scr.dataset.1") > 0);
    job_kill(job, ctx);
}

JOB_CASE(what_is_damaged_in_the_prefix_is_not_offered, 4)
{
    char path[900];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%d", i);
        job_checkpoint(job, ctx, name, i);
    }
    job_kill(job, ctx);
    if (job->rank == 0) {
        snprintf(path, sizeof path, "%s/step.3/file2.1", job->prefix);
        job_flip(path, 17); /* same size, other bytes */
        snprintf(path, sizeof path, "%s/step.2/file0.1", job->prefix);
        CHECK(truncate(path, 5) == 0 && unlink(path) == 0);
    }
    ctx = job_start(job, nodes, NULL);
    job_check_restart(job, ctx, "c1", 1);
    job_kill(job, ctx);
}

JOB_CASE(a_bypass_checkpoint_is_found_dropped_and_deleted_by_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    int have = -1;
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "two", 2);
    job_kill(job, ctx);
    ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_current_all(ctx, "one", &err), SCR_OK, &err);
    job_check_restart(job, ctx, "one", 1);
    CHECK_RC(scr_current_all(ctx, "two", &err), SCR_OK, &err);
    CHECK_RC(scr_delete_all(ctx, "two", &err), SCR_OK, &err);
    CHECK_INT(entry(job, 2), -1);
    CHECK_INT(job_count(job, job->prefix, "step.2"), 0);
    job_check_restart(job, ctx, "one", 1);
    CHECK_RC(scr_delete_all(ctx, "one", &err), SCR_OK, &err);
    CHECK_RC(scr_have_restart_all(ctx, &have, NULL, &err), SCR_OK, &err);
    CHECK_INT(have, 0);
    job_kill(job, ctx);
}

/* --- shared files --- */

JOB_CASE(all_ranks_write_one_file, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_start_output_all(ctx, "one", 3, &err), SCR_OK, &err);
    CHECK(job_write_shared(job, ctx, 1));
    CHECK(job_write_shared(job, ctx, 2));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
    if (job->rank == 0) { /* recorded once, as the lowest rank's */
        struct scr_rank2file list = { 0 };
        CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
        CHECK_RC(scr_prefix_rank2file_read(&env, &p, 1, &list, &err), SCR_OK, &err);
        const struct scr_rank_files *mine = scr_rank2file_rank(&list, 0);
        const struct scr_listed *f =
            mine ? scr_table_find(&mine->files, "shared.1") : NULL;
        CHECK(f != NULL && f->has_size && f->size == 400 && f->has_crc);
        CHECK(mine != NULL && mine->files.n == 2);
        CHECK_INT(scr_rank2file_num_files(&list), 2);
        scr_rank2file_fini(&list);
        scr_prefix_fini(&p);
    }
    job_lose_node(job, nodes);
    ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_start_restart_all(ctx, NULL, &err), SCR_OK, &err);
    CHECK(job_shared_ok(job, ctx, 1));
    CHECK(job_shared_ok(job, ctx, 2));
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    job_kill(job, ctx);
}

/* --- interrupted, misused (invariants P1, P2, P8) --- */

JOB_CASE(an_interrupted_one_is_seen_not_offered_and_its_id_not_used_again, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    job_checkpoint(job, ctx, "one", 1);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_route(job, ctx, "half", path, &err), SCR_OK, &err);
    CHECK(write_text(path, "half"));
    job_kill(job, ctx);
    CHECK_INT(entry(job, 2), 0);
    ctx = job_start(job, nodes, bypass, NULL);
    job_check_restart(job, ctx, "one", 1);
    job_checkpoint(job, ctx, "three", 3);
    CHECK_INT(entry(job, 2), 0);
    CHECK_INT(entry(job, 3), 1);
    /* The same when the application says that it failed. */
    CHECK_RC(scr_start_output_all(ctx, "four", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_complete_output_all(ctx, job->rank != 2, &err), SCR_E_INVALID, &err);
    CHECK_INT(entry(job, 4), 0);
    job_checkpoint(job, ctx, "five", 5);
    CHECK_INT(entry(job, 5), 1);
    job_kill(job, ctx);
}

JOB_CASE(one_that_dies_leaves_the_older_of_its_name_complete, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    job_checkpoint(job, ctx, "restart", 1);
    /* Other paths: what is there stays what it is. */
    CHECK_RC(scr_start_output_all(ctx, "restart", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_route(job, ctx, "elsewhere", path, &err), SCR_OK, &err);
    job_kill(job, ctx);
    CHECK_INT(entry(job, 1), 1);
    ctx = job_start(job, nodes, bypass, NULL);
    job_check_restart(job, ctx, "restart", 1);
    job_checkpoint(job, ctx, "restart", 3);
    /* The same paths again. */
    CHECK_RC(scr_start_output_all(ctx, "restart", SCR_IS_CKPT, &err), SCR_OK, &err);
    char file[64];
    snprintf(file, sizeof file, "step.3/file0.%d", job->rank);
    CHECK_RC(job_route(job, ctx, file, path, &err), SCR_OK, &err);
    job_kill(job, ctx);
    CHECK_INT(entry(job, 3), 1);
    ctx = job_start(job, nodes, bypass, NULL);
    job_check_restart(job, ctx, "restart", 3);
    job_kill(job, ctx);
}

struct misuse {
    const char *name, *text;
    int code;
};

static void write_into(struct job *job, struct scr_ctx *ctx, const char *name,
                       const char *dir)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char file[64], path[SCR_MAX_NAME];
    snprintf(file, sizeof file, "%s/file.%d", dir, job->rank);
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_route(job, ctx, file, path, &err), SCR_OK, &err);
    CHECK(write_text(path, name));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

JOB_CASE(whose_files_are_written_over_is_incomplete_whatever_its_name, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    char file[64], path[SCR_MAX_NAME];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    write_into(job, ctx, "restart", "A"); /* 1 */
    write_into(job, ctx, "restart", "B"); /* 2 */
    CHECK_RC(scr_start_output_all(ctx, "restart", SCR_IS_CKPT, &err), SCR_OK, &err);
    snprintf(file, sizeof file, "A/file.%d", job->rank);
    if (job->rank == 2) { /* one file is enough */
        CHECK_RC(job_route(job, ctx, file, path, &err), SCR_OK, &err);
        CHECK(write_text(path, "new"));
    }
    CHECK_INT(entry(job, 1), 1);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
    CHECK_INT(entry(job, 1), 0);
    CHECK_INT(entry(job, 2), 1); /* of the same name, but whole */
    job_kill(job, ctx);
    ctx = job_start(job, nodes, bypass, NULL);
    CHECK_RC(scr_start_restart_all(ctx, path, &err), SCR_OK, &err);
    CHECK_INT(ctx->restart.id, 3);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
    write_into(job, ctx, "other", "B"); /* 4 */
    CHECK_INT(entry(job, 2), -1);
    CHECK_INT(entry(job, 4), 1);
    job_kill(job, ctx);
}

JOB_CASE(destinations_that_cannot_be_written_are_refused, 4)
{
    static const struct misuse cases[] = {
        { "../outside", "outside the prefix directory", SCR_E_OUTSIDE },
        { ".scr/index.scr", "reserved for SCR", SCR_E_OUTSIDE },
        { "dir", "is a directory", SCR_E_UNSAFE },
        { "link", "is a symbolic link", SCR_E_UNSAFE },
        { "away/file", "outside the prefix directory", SCR_E_OUTSIDE },
        { "away/deeper/still/file", "outside the prefix directory", SCR_E_OUTSIDE },
        { "file/below", "file", SCR_E_IO },
    };
    char path[SCR_MAX_NAME], full[900];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    if (job->rank == 0) {
        snprintf(full, sizeof full, "%s/dir", job->prefix);
        mkdir(full, 0700);
        snprintf(full, sizeof full, "%s/link", job->prefix);
        CHECK(symlink("/etc/passwd", full) == 0);
        snprintf(full, sizeof full, "%s/away", job->prefix);
        CHECK(symlink(job->cache, full) == 0);
        snprintf(full, sizeof full, "%s/file", job->prefix);
        CHECK(write_text(full, "x"));
    }
    mpi_test_barrier(job->comm);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scr_err err = SCR_ERR_INIT, late = SCR_ERR_INIT;
        const struct misuse *c = &cases[i];
        CHECK_RC(scr_start_output_all(ctx, NULL, SCR_IS_CKPT, &err), SCR_OK, &err);
        if (job->rank == 1) {
            CHECK_RC(job_route(job, ctx, c->name, path, &err), c->code, &err);
            CHECK_TEXT(&err, c->text);
        }
        CHECK_RC(scr_complete_output_all(ctx, 1, &late), c->code, &late);
        CHECK_TEXT(&late, "the dataset lacks a file");
    }
    CHECK_INT(job_count(job, job->cache, "deeper"), 0);
    job_checkpoint(job, ctx, "good", 1);
    job_kill(job, ctx);
}

JOB_CASE(a_file_never_written_and_one_replaced_fail_complete, 4)
{
    struct scr_err err = SCR_ERR_INIT, again = SCR_ERR_INIT;
    char path[SCR_MAX_NAME], name[32];
    struct scr_ctx *ctx = job_start(job, nodes, bypass, NULL);
    snprintf(name, sizeof name, "f.%d", job->rank);
    CHECK_RC(scr_start_output_all(ctx, "one", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(job_route(job, ctx, name, path, &err), SCR_OK, &err);
    if (job->rank != 3)
        CHECK(write_text(path, "x"));
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_E_MISSING, &err);
    CHECK_TEXT(&err, "f.3 was routed but never written");
    CHECK_INT(entry(job, 1), 0);
    CHECK_RC(scr_start_output_all(ctx, "two", SCR_IS_CKPT, &again), SCR_OK, &again);
    CHECK_RC(job_route(job, ctx, name, path, &again), SCR_OK, &again);
    if (job->rank == 2) {
        unlink(path);
        CHECK(mkdir(path, 0700) == 0);
    } else {
        CHECK(write_text(path, "x"));
    }
    CHECK_RC(scr_complete_output_all(ctx, 1, &again), SCR_E_UNSAFE, &again);
    CHECK_INT(entry(job, 2), 0);
    job_kill(job, ctx);
}

/* --- system calls that fail --- */

/* Call number n of a bypass checkpoint fails; 0 when there is no call n. */
static int fail_checkpoint(struct mpi_test *t, int victim, int error, long n)
{
    struct job job;
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, &job, 4);
    job.sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(&job, nodes, bypass, NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_arm(&job, victim, TEST_ANY, n, error, victim < 0 ? TEST_FOREVER : TEST_ONCE);
    int rc = job_write(&job, ctx, "two", 2, 1, &err);
    int fired = job_disarm(&job);
    CHECK(job_same_code(&job, rc));
    CHECK(fired || rc == SCR_OK);
    CHECK_INT(ctx->state, SCR_STATE_IDLE);
    job_kill(&job, ctx);
    job.sys = NULL;
    int two = entry(&job, 2) == 1;
    CHECK(two || rc != SCR_OK);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, two ? "two" : "one", two ? 2 : 1);
    job_kill(&job, ctx);
    job_free(&job);
    return fired;
}

/* The system calls of a flush are walked over in test_core_fault; here those in between
 * suffice. */
#ifdef MPICH_VERSION
enum { STRIDE = 17 };
#else
enum { STRIDE = 5 };
#endif

static void fail_each(struct mpi_test *t, int victim, int error)
{
    long n = 0;
    while (n < 2000 && mpi_test_good(t) && fail_checkpoint(t, victim, error, n))
        n += STRIDE;
    CHECK(n > 10 && n < 2000);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", n / STRIDE, n);
}

MPI_CASE(each_call_of_a_bypass_checkpoint_fails_once)
{
    fail_each(t, 0, EROFS);
    fail_each(t, 2, ENOSPC);
}

MPI_CASE(the_job_dies_at_each_call_of_a_bypass_checkpoint)
{
    fail_each(t, -1, EROFS);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_bypass_checkpoint_is_in_the_prefix_and_nowhere_else),
                  RUN(a_bypass_checkpoint_is_restarted_in_place),
                  RUN(the_newest_of_cached_and_bypassing_checkpoints_is_offered),
                  RUN(an_output_descriptor_may_bypass),
                  RUN(fetch_bypass_reads_a_flushed_checkpoint_in_place),
                  RUN(what_is_damaged_in_the_prefix_is_not_offered),
                  RUN(a_bypass_checkpoint_is_found_dropped_and_deleted_by_name),
                  RUN(all_ranks_write_one_file),
                  RUN(an_interrupted_one_is_seen_not_offered_and_its_id_not_used_again),
                  RUN(one_that_dies_leaves_the_older_of_its_name_complete),
                  RUN(whose_files_are_written_over_is_incomplete_whatever_its_name),
                  RUN(destinations_that_cannot_be_written_are_refused),
                  RUN(a_file_never_written_and_one_replaced_fail_complete),
                  RUN(each_call_of_a_bypass_checkpoint_fails_once),
                  RUN(the_job_dies_at_each_call_of_a_bypass_checkpoint)));
}
