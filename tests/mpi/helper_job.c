/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_job.h"

#include <stdarg.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "helper_memory.h"
#include "store/identity.h"

void job_new(struct mpi_test *t, struct job *job, int ranks)
{
    static int serial;
    memset(job, 0, sizeof *job);
    job->t = t;
    job->in = t->comm.rank < ranks;
    mpi_test_barrier(t->comm.comm);
    MPI_Comm_split(t->comm.comm, job->in ? 0 : MPI_UNDEFINED, t->comm.rank, &job->comm);
    snprintf(job->dir, sizeof job->dir, "%s/job%d", t->dir, ++serial);
    snprintf(job->prefix, sizeof job->prefix, "%s/prefix", job->dir);
    snprintf(job->cache, sizeof job->cache, "%s/cache", job->dir);
    if (!job->in)
        return;
    MPI_Comm_rank(job->comm, &job->rank);
    MPI_Comm_size(job->comm, &job->size);
    if (job->rank == 0) {
        mkdir(job->dir, 0700);
        mkdir(job->prefix, 0700);
        mkdir(job->cache, 0700);
    }
    mpi_test_barrier(job->comm);
}

void job_share(struct mpi_test *t, struct job *job, const struct job *other, int ranks)
{
    job_new(t, job, ranks);
    if (job->in && job->rank == 0)
        mpi_test_remove(job->dir);
    memcpy(job->dir, other->dir, sizeof job->dir);
    memcpy(job->prefix, other->prefix, sizeof job->prefix);
    memcpy(job->cache, other->cache, sizeof job->cache);
    job->out = other->out;
    job->sys = other->sys;
    job->any_ranks = 1;
    mpi_test_barrier(t->comm.comm);
}

void job_unshare(struct job *job)
{
    if (job->comm != MPI_COMM_NULL)
        MPI_Comm_free(&job->comm);
    mpi_test_barrier(job->t->comm.comm);
}

void job_neighbour(struct mpi_test *t, struct job *job, const struct job *of)
{
    job_share(t, job, of, of->size);
    job->size_of = of->size_of;
    job->any_ranks = 0;
    snprintf(job->prefix, sizeof job->prefix, "%s/prefix2", job->dir);
    if (job->rank == 0)
        mkdir(job->prefix, 0700);
    scr_barrier_all(&t->comm);
}

void job_free(struct job *job)
{
    if (job->comm != MPI_COMM_NULL) {
        mpi_test_barrier(job->comm);
        if (job->rank == 0)
            mpi_test_remove(job->dir);
        MPI_Comm_free(&job->comm);
    }
}

static void set(struct job *job, struct scr_ctx *ctx, const char *text)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char *reply = NULL;
    CHECK_RC(scr_config_all(ctx, job->comm, text, &reply, &err), SCR_OK, &err);
}

static void setf(struct job *job, struct scr_ctx *ctx, const char *key,
                 const char *value)
{
    char text[1024];
    snprintf(text, sizeof text, "%s=%s", key, value);
    set(job, ctx, text);
}

struct scr_ctx *job_make(struct job *job, const char *vnodes,
                         const char *const *settings)
{
    struct scr_ctx *ctx = scr_ctx_new();
    if (job->sys)
        ctx->env.sys = job->sys;
    ctx->log.out = ctx->local_log.out = job->out;
    setf(job, ctx, "SCR_PREFIX", job->prefix);
    setf(job, ctx, "SCR_CACHE_BASE", job->cache);
    setf(job, ctx, "SCR_CNTL_BASE", job->cache);
    setf(job, ctx, "SCR_JOB_ID", "job");
    setf(job, ctx, "SCR_USER_NAME", "tester");
    setf(job, ctx, "SCR_CACHE_SIZE", "2");
    setf(job, ctx, "SCR_FLUSH", "0");
    setf(job, ctx, "SCR_QUIET", "1");
    if (job->any_ranks)
        set(job, ctx, "SCR_RESTART_ANY_RANKS=1");
    if (vnodes)
        setf(job, ctx, "SCR_VNODES", vnodes);
    for (; settings && *settings; settings++)
        set(job, ctx, *settings);
    return ctx;
}

int job_try_start(struct job *job, struct scr_ctx **ctx, struct scr_err *err,
                  const char *vnodes, const char *const *settings)
{
    *ctx = job_make(job, vnodes, settings);
    return scr_init_all(*ctx, job->comm, err);
}

struct scr_ctx *job_start(struct job *job, const char *vnodes, ...)
{
    struct mpi_test *t = job->t;
    const char *settings[16] = { NULL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    va_list ap;
    va_start(ap, vnodes);
    for (int i = 0; i < 15 && (settings[i] = va_arg(ap, const char *)) != NULL; i++)
        ;
    va_end(ap);
    CHECK_RC(job_try_start(job, &ctx, &err, vnodes, settings), SCR_OK, &err);
    return ctx;
}

void job_kill(struct job *job, struct scr_ctx *ctx)
{
    mpi_test_barrier(job->comm);
    scr_ctx_free(ctx);
    mpi_test_barrier(job->comm);
}

void job_arm(struct job *job, int victim, int kind, long n, int error,
             enum test_how how)
{
    job->armed = victim < 0 || victim == job->rank;
    job->kind = kind;
    if (job->armed && kind == JOB_ALLOCATION)
        test_memory_arm(n, how == TEST_FOREVER);
    else if (job->armed && kind == JOB_PLACE)
        test_memory_arm_place(how == TEST_FOREVER);
    else if (job->armed)
        test_fault_arm((enum test_kind)kind, n, error, how);
}

int job_disarm(struct job *job)
{
    int any = 0, fired = !job->armed                   ? 0
                         : job->kind >= JOB_ALLOCATION ? test_memory_off()
                                                       : test_fault_off();
    job->armed = 0;
    MPI_Allreduce(&fired, &any, 1, MPI_INT, MPI_MAX, job->comm);
    return any;
}

int job_same_code(const struct job *job, int rc)
{
    int low = 0, high = 0;
    MPI_Allreduce(&rc, &low, 1, MPI_INT, MPI_MIN, job->comm);
    MPI_Allreduce(&rc, &high, 1, MPI_INT, MPI_MAX, job->comm);
    return low == high;
}

static void remove_halt(struct job *job)
{
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/halt.scr", job->prefix);
    mpi_test_barrier(job->comm);
    if (job->rank == 0)
        unlink(path);
    mpi_test_barrier(job->comm);
}

void job_end(struct job *job, struct scr_ctx *ctx)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_finalize_all(ctx, &err), SCR_OK, &err);
    job_kill(job, ctx);
    remove_halt(job);
}

void job_node_dir(const struct job *job, int node, char *path, size_t n)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_prefix p;
    struct scr_identity id = { 0 };
    if (scr_prefix_open(&env, job->prefix, 0, &p, NULL) == SCR_OK)
        (void)scr_identity_read(&env, &p, &id, NULL);
    scr_prefix_fini(&p);
    snprintf(path, n, "%s/vnode.n%d/tester/scr.job/%s", job->cache, node, id.name);
}

void job_lose_node(struct job *job, const char *vnodes)
{
    struct mpi_test *t = job->t;
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(scr_hostlist_expand(vnodes, &list, &err), SCR_OK, &err);
    mpi_test_barrier(job->comm);
    for (size_t i = 0; i < list.n && job->rank == 0; i++) {
        char *path = scr_asprintf("%s/vnode.%s", job->cache, list.name[i]);
        mpi_test_remove(path);
        free(path);
    }
    mpi_test_barrier(job->comm);
    scr_hostlist_free(&list);
}

/* --- contents --- */

/* -1: the rank has no such file. */
static long file_size(const struct job *job, int rank, int file, int seed)
{
    static const long sizes[] = { 1000, 0, 65537, 1, 4096, 12345 };
    if (job->size_of != NULL)
        return job->size_of(rank, file, seed);
    return file < JOB_FILES ? sizes[(size_t)(rank * 2 + file * 3 + seed) % 6] : -1;
}

static unsigned char byte_at(const struct job *job, int rank, int file, int seed,
                             long i)
{
    if (job->even)
        return (unsigned char)(rank * 131 + file * 17 + seed * 19 + i / 64);
    uint64_t x = (uint64_t)i * 2654435761u + (uint64_t)(rank * 131 + file * 17) +
                 (uint64_t)seed * 7919; /* a seed may be any int */
    return (unsigned char)((x >> 13) ^ x);
}

static void file_name(char *name, size_t n, const struct job *job, int rank, int file,
                      int seed)
{
    /* The second file of every rank has one base name in several directories. */
    if (file == 1)
        snprintf(name, n, "%s/step.%d/rank.%d/state", job->prefix, seed, rank);
    else
        snprintf(name, n, "%s/step.%d/file%d.%d", job->prefix, seed, file, rank);
}

static int write_file(const struct job *job, const char *path, long n, int rank,
                      int file, int seed)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return 0;
    for (long i = 0; i < n; i++)
        putc_unlocked(byte_at(job, rank, file, seed, i), f);
    return fclose(f) == 0;
}

static int read_file_ok(const struct job *job, const char *path, long n, int rank,
                        int file, int seed)
{
    long i = 0;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return 0;
    int c;
    while ((c = getc_unlocked(f)) != EOF && i < n &&
           c == byte_at(job, rank, file, seed, i))
        i++;
    fclose(f);
    return c == EOF && i == n;
}

int job_write(struct job *job, struct scr_ctx *ctx, const char *name, int seed,
              int flags, struct scr_err *err)
{
    int rc = scr_start_output_all(ctx, name, flags, err);
    int valid = 1;
    long n;
    if (rc != SCR_OK)
        return rc;
    for (int f = 0; (n = file_size(job, job->rank, f, seed)) >= 0; f++) {
        char file[900], path[SCR_MAX_NAME];
        file_name(file, sizeof file, job, job->rank, f, seed);
        valid = valid && scr_route(ctx, file, path, err) == SCR_OK &&
                write_file(job, path, n, job->rank, f, seed);
    }
    return scr_complete_output_all(ctx, valid, err);
}

int job_copied_ok(const struct job *job, int seed)
{
    int ok = 1;
    long n;
    for (int f = 0; (n = file_size(job, job->rank, f, seed)) >= 0; f++) {
        char file[900];
        file_name(file, sizeof file, job, job->rank, f, seed);
        ok = read_file_ok(job, file, n, job->rank, f, seed) && ok;
    }
    return ok;
}

void job_checkpoint(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    CHECK_RC(job_write(job, ctx, name, seed, 1, &err), SCR_OK, &err);
}

int job_read_ok(struct job *job, struct scr_ctx *ctx, int seed)
{
    return job_read_of(job, ctx, job->rank, seed);
}

int job_read_of(struct job *job, struct scr_ctx *ctx, int rank, int seed)
{
    int ok = 1;
    long n;
    for (int f = 0; (n = file_size(job, rank, f, seed)) >= 0; f++) {
        char file[900], path[SCR_MAX_NAME];
        struct scr_err err = SCR_ERR_INIT;
        file_name(file, sizeof file, job, rank, f, seed);
        if (scr_route(ctx, file, path, &err) != SCR_OK) {
            fprintf(stderr, "rank %d: %s\n", job->rank, err.text);
            ok = 0;
        } else {
            ok = read_file_ok(job, path, n, rank, f, seed) && ok;
        }
    }
    return ok;
}

void job_check_restart(struct job *job, struct scr_ctx *ctx, const char *name, int seed)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char got[SCR_MAX_NAME] = "";
    int have = 0;
    CHECK_RC(scr_have_restart_all(ctx, &have, got, &err), SCR_OK, &err);
    CHECK_INT(have, name != NULL);
    if (!have)
        return;
    if (name != NULL && strcmp(got, name) != 0)
        mpi_test_fail(t, __FILE__, __LINE__, "restart offers %s, not %s", got, name);
    CHECK_RC(scr_start_restart_all(ctx, got, &err), SCR_OK, &err);
    int ok = job_read_ok(job, ctx, seed);
    CHECK(ok);
    CHECK_RC(scr_complete_restart_all(ctx, 1, &err), SCR_OK, &err);
}

void job_check_one_or_two(struct job *job, const char *vnodes, int two_acknowledged)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME] = "";
    int have = 0;
    struct scr_ctx *ctx = job_start(job, vnodes, NULL);
    CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
    CHECK_INT(have, 1);
    int two = strcmp(name, "two") == 0;
    CHECK(two || strcmp(name, "one") == 0);
    CHECK(two || !two_acknowledged);
    if (have)
        job_check_restart(job, ctx, name, two ? 2 : 1);
    job_kill(job, ctx);
}

int job_said(struct job *job, const char *part)
{
    char line[2000];
    int n = 0;
    rewind(job->out);
    while (fgets(line, sizeof line, job->out) != NULL)
        n += strstr(line, part) != NULL;
    MPI_Bcast(&n, 1, MPI_INT, 0, job->comm);
    return n;
}
