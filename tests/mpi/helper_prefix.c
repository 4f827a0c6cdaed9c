/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_prefix.h"
#include "store/arrival.h"

int job_entry(struct job *job, int id, int *current, int *failed)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_index_entry e = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    int complete = -1;
    mpi_test_barrier(job->comm);
    if (scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK &&
        scr_prefix_index_read(&env, &p, &index, NULL) == SCR_OK &&
        scr_index_get(&index, id, &e, NULL) == SCR_OK)
        complete = e.complete;
    if (current != NULL)
        *current = e.current;
    if (failed != NULL)
        *failed = e.failed != NULL;
    scr_prefix_fini(&p);
    scr_index_fini(&index);
    mpi_test_barrier(job->comm);
    return complete;
}

static int edit_failed(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    (void)err;
    scr_index_mark_failed(index, *(const int *)arg, 1);
    *changed = 1;
    return SCR_OK;
}

void job_fail_entry(struct job *job, int id)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        CHECK_INT(scr_prefix_open(&env, job->prefix, 0, &p, NULL), SCR_OK);
        CHECK_INT(scr_prefix_index_update(&env, &p, edit_failed, &id, NULL), SCR_OK);
        scr_prefix_fini(&p);
    }
    mpi_test_barrier(job->comm);
}

void job_block_flush(struct job *job, int seed, int on)
{
    char path[800];
    snprintf(path, sizeof path, "%s/step.%d", job->prefix, seed);
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && on)
        fclose(fopen(path, "w"));
    else if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
}

void job_lose_dataset(struct job *job, int id)
{
    mpi_test_barrier(job->comm);
    for (int i = 1; i <= 4 && job->rank == 0; i++) {
        char dir[900], path[940];
        job_node_dir(job, i, dir, sizeof dir);
        snprintf(path, sizeof path, "%s/scr.dataset.%d", dir, id);
        mpi_test_remove(path);
    }
    mpi_test_barrier(job->comm);
}

int job_offered(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    int have = 0;
    CHECK_RC(scr_have_restart_all(ctx, &have, NULL, &err), SCR_OK, &err);
    CHECK_INT(have, ctx->restart.id > 0);
    return ctx->restart.id;
}

int job_has(struct job *job, const char *path)
{
    char full[1000];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s", job->prefix, path);
    mpi_test_barrier(job->comm);
    int there = lstat(full, &st) == 0;
    mpi_test_barrier(job->comm);
    return there;
}

/* Files of all ranks that the records say have landed. */
static int count_landed(const struct job *job, const struct scr_env *env,
                        const struct scr_prefix *p, int id)
{
    scr_filemap *map = scr_filemap_new();
    int landed = 0;
    for (int r = 0; r < job->size; r++) {
        scr_arrival_read(env, p, id, r, map, NULL);
        landed += scr_filemap_num_files(map, id, r);
    }
    scr_filemap_delete(map);
    return landed;
}

void job_wait_landed(const struct job *job, int id, int n)
{
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    mpi_test_barrier(job->comm);
    if (job->rank == 0 && scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK)
        for (int i = 0; i < MPI_TEST_PATIENCE_MS && count_landed(job, &env, &p, id) < n;
             i++)
            usleep(1000);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
}

void job_check_prefix(struct job *job, const char *vnodes, const char *name, int seed)
{
    job_lose_node(job, vnodes);
    struct scr_ctx *ctx = job_start(job, vnodes, NULL);
    job_check_restart(job, ctx, name, seed);
    job_end(job, ctx);
}
