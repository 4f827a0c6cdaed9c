/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits for the thread that gives back the memory of deleted files. */
/* ranks: 4 */
#include <dlfcn.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/units.h"
#include "core/fetchctl.h"
#include "helper_held.h"
#include "helper_job.h"

static const char *const nodes = "n[1-4]";

/* The thread closes nothing until it is waited for, or a fetch has begun to write. */
static struct {
    struct scr_sys sys;
    pthread_t main;
    atomic_int armed, waited_for, written;
    int held; /* deleted files that were open when that began */
} late;

/* Of all of the process: the one that is called is the C library's. */
int pthread_join(pthread_t thread, void **result)
{
    int (*join)(pthread_t, void **);
    *(void **)&join = dlsym(RTLD_NEXT, "pthread_join");
    atomic_store(&late.waited_for, 1);
    return join(thread, result);
}

static int close_late(int fd)
{
    while (atomic_load(&late.armed) && !pthread_equal(pthread_self(), late.main) &&
           !atomic_load(&late.waited_for) && !atomic_load(&late.written))
        scr_nap_ms(1);
    return scr_sys_posix.close(fd);
}

static int note_write(int at, const char *path, int flags, mode_t mode)
{
    if ((flags & O_CREAT) != 0 && strstr(path, "/scr.dataset.1/rank.") != NULL &&
        !atomic_load(&late.written)) {
        late.held = test_held_deleted("/scr.dataset.");
        atomic_store(&late.written, 1);
    }
    return scr_sys_posix.openat(at, path, flags, mode);
}

/* Wherever the test has its cache. */
static int in_memory(int fd, struct statfs *st)
{
    int rc = scr_sys_posix.fstatfs(fd, st);
    st->f_type = TMPFS_MAGIC;
    return rc;
}

/* Of at least what is held. */
static void large(struct job *job, struct scr_ctx *ctx, const char *name)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    char path[SCR_MAX_NAME];
    char *own = scr_asprintf("%s/%s.%d", job->prefix, name, job->rank);
    CHECK_RC(scr_start_output_all(ctx, name, SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK_RC(scr_route(ctx, own, path, &err), SCR_OK, &err);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && ftruncate(fileno(f), 1 << 20) == 0 && fclose(f) == 0);
    free(own);
    CHECK_RC(scr_complete_output_all(ctx, 1, &err), SCR_OK, &err);
}

JOB_CASE(the_room_of_one_is_back_before_a_fetch, 4)
{
    struct scr_err err = SCR_ERR_INIT;
    late.sys = scr_sys_posix;
    late.sys.close = close_late;
    late.sys.openat = note_write;
    late.sys.fstatfs = in_memory;
    late.main = pthread_self();
    job->sys = &late.sys;
    struct scr_ctx *ctx =
        job_start(job, nodes, "SCR_CACHE_SIZE=-1", "SCR_FLUSH=1", NULL);
    large(job, ctx, "one");
    large(job, ctx, "two");
    CHECK(!scr_cache_has(ctx, 1));
    scr_release_wait(&ctx->cache.release);
    atomic_store(&late.written, 0);
    late.held = -1;
    atomic_store(&late.waited_for, 0);
    atomic_store(&late.armed, 1);
    large(job, ctx, "three");
    CHECK(ctx->cache.release.n > 0);
    CHECK(!atomic_load(&late.waited_for));
    CHECK(test_held_deleted("/scr.dataset.2/") > 0);
    CHECK_RC(scr_fetch_dataset_all(ctx, 1, &err), SCR_OK, &err);
    CHECK(scr_cache_has(ctx, 1));
    CHECK(atomic_load(&late.written));
    CHECK_INT(late.held, 0);
    atomic_store(&late.armed, 0);
    job_end(job, ctx);
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(the_room_of_one_is_back_before_a_fetch)));
}
