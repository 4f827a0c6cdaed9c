/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_paths.h"

int write_at(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
             const char *dir, int shift, const char *text, struct scr_err *err)
{
    char file[900], path[SCR_MAX_NAME] = "";
    int rc = scr_start_output_all(ctx, name, flags, err);
    if (rc != SCR_OK)
        return rc;
    snprintf(file, sizeof file, "%s/%s/f.%d", job->prefix, dir,
             (job->rank + shift) % job->size);
    FILE *f = scr_route(ctx, file, path, err) == SCR_OK ? fopen(path, "w") : NULL;
    int ok = f != NULL && fputs(text, f) >= 0;
    ok = (f == NULL || fclose(f) == 0) && ok;
    return scr_complete_output_all(ctx, ok, err);
}

void paths_write_ok(struct job *job, struct scr_ctx *ctx, const char *name, int flags,
                    const char *dir, const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(write_at(job, ctx, name, flags, dir, 0, text, &err), SCR_OK, &err);
}

int all_are(struct job *job, const char *dir, const char *text)
{
    char path[900], got[64] = "";
    int all = 0;
    snprintf(path, sizeof path, "%s/%s/f.%d", job->prefix, dir, job->rank);
    mpi_test_barrier(job->comm);
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(got, 1, sizeof got - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    int is = n > 0 && strcmp(got, text) == 0;
    MPI_Allreduce(&is, &all, 1, MPI_INT, MPI_MIN, job->comm);
    return all;
}

void die_before_summary(struct mpi_test *t, struct job *job)
{
    struct scr_err err = SCR_ERR_INIT;
    job_new(t, job, 4);
    job->out = fopen("/dev/null", "w");
    pfs_reset();
    job->sys = &pfs_sys;
    struct scr_ctx *ctx = job_start(job, nodes, "SCR_FLUSH=1", NULL);
    pfs_control.fail_path = "summary.scr";
    CHECK_RC(write_at(job, ctx, "x", CKPT, "A", 0, "first", &err), SCR_OK, &err);
    job_kill(job, ctx);
    pfs_reset();
    job_lose_node(job, nodes);
    CHECK_INT(job_entry(job, 1, NULL, NULL), 0);
    CHECK(all_are(job, "A", "first"));
}

void keep_pending(int written)
{
    pfs_reset();
    pfs_control.fail_path = written ? "summary.scr" : NULL;
    pfs_control.write_error = written ? 0 : ENOSPC;
}

uint64_t leave_pending_as(struct job *job, int written, int id, const char *name,
                          const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    uint64_t stamp = 0;
    scr_hash *plan = scr_hash_new();
    keep_pending(written);
    job->sys = &pfs_sys;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_FLUSH=1", "SCR_FLUSH_ASYNC=1", NULL);
    paths_write_ok(job, ctx, name, CKPT, "A", text);
    CHECK(scr_async_wait_all(ctx, id, &err) != SCR_OK);
    job_kill(job, ctx);
    job_lose_node(job, nodes);
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, NULL), SCR_OK, &err);
    CHECK_RC(scr_arrival_plan_read(&env, &p, id, plan, NULL), SCR_OK, &err);
    CHECK(scr_hash_get_val_u64(plan, "STAMP", &stamp));
    scr_hash_delete(plan);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
    return stamp;
}

void arrive_late_as(struct job *job, int id, uint64_t stamp)
{
    struct mpi_test *t = job->t;
    struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    char dir[64];
    snprintf(dir, sizeof dir, ".scr/scr.dataset.%d", id);
    int want = job_has(job, dir) ? SCR_OK : SCR_E_NOENT;
    CHECK_RC(scr_prefix_open(&env, job->prefix, 0, &p, &err), SCR_OK, &err);
    const struct scr_arrival a = { &env, &p, id, job->rank, job->rank };
    CHECK_RC(scr_arrival_arrived(&a, stamp, &err), want, &err);
    scr_err_clear(&err);
    CHECK_INT(scr_arrival_finish(&env, &p, id, job->rank), SCR_OK);
    scr_prefix_fini(&p);
    mpi_test_barrier(job->comm);
}

void put_file(struct job *job, const char *dir, const char *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", job->prefix, dir);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/f.%d", job->prefix, dir, job->rank);
    FILE *f = fopen(path, "w");
    int ok = f != NULL && fputs(text, f) >= 0;
    ok = (f == NULL || fclose(f) == 0) && ok;
    if (!ok)
        mpi_test_fail(job->t, __FILE__, __LINE__, "cannot write %s", path);
    mpi_test_barrier(job->comm);
}
