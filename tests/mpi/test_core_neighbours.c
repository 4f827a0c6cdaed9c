/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of another prefix directory in the caches of a job stay while there is room,
 * and leave, oldest first, when their room is needed (invariant C15). */
/* ranks: 4 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include "helper_job.h"
#include "helper_prefix.h"
#include "helper_stored.h"
#include "helper_walk.h"
#include "store/neighbour.h"
#include "xfer/daemon.h"

/* --- a store that holds so many bytes in all, of the files below a directory --- */

static struct {
    struct scr_sys sys;
    char dir[700];
    uint64_t holds, has;
} store;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    store.has += type == FTW_F ? (uint64_t)st->st_size : 0;
    return 0;
}

static uint64_t left_in_store(void)
{
    store.has = 0;
    (void)nftw(store.dir, add_size, 16, FTW_PHYS);
    return store.holds > store.has ? store.holds - store.has : 0;
}

static int narrow_statvfs(const char *path, struct statvfs *st)
{
    int rc = test_fault_sys.statvfs(path, st);
    st->f_frsize = st->f_bsize = 1;
    st->f_bavail = (fsblkcnt_t)left_in_store();
    return rc;
}

/* 1 if it does not fit. */
static int is_full(int fd, size_t n)
{
    char link[64], path[1024] = "";
    if (store.holds == UINT64_MAX)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    if (got < 0 || strncmp(path, store.dir, strlen(store.dir)) != 0 ||
        left_in_store() >= n)
        return 0;
    errno = ENOSPC;
    return 1;
}

static ssize_t narrow_write(int fd, const void *buf, size_t n)
{
    return is_full(fd, n) ? -1 : test_fault_sys.write(fd, buf, n);
}

static ssize_t narrow_pwrite(int fd, const void *buf, size_t n, off_t off)
{
    return is_full(fd, n) ? -1 : test_fault_sys.pwrite(fd, buf, n, off);
}

enum { MUCH = 100000, LITTLE = 40000, STRIDE = 5 };

static long of_20000(int rank, int file, int seed)
{
    (void)rank;
    (void)seed;
    return file < 2 ? 20000 : -1;
}

static const uint64_t dataset_bytes = 4 * 2 * 20000 * 2;

/* Room for so many more bytes. */
static void leave_room(struct job *job, uint64_t bytes)
{
    mpi_test_barrier(job->comm);
    (void)left_in_store();
    store.holds = store.has + bytes;
    mpi_test_barrier(job->comm);
}

static void widen(struct job *job)
{
    mpi_test_barrier(job->comm);
    store.holds = UINT64_MAX;
}

/* Two prefix directories that share a job. */
struct pair {
    struct job one, two;
};

static void begin(struct mpi_test *t, struct pair *p)
{
    job_new(t, &p->one, 4);
    p->one.size_of = of_20000;
    p->one.out = tmpfile();
    job_neighbour(t, &p->two, &p->one);
    store.sys = test_fault_sys;
    store.sys.statvfs = narrow_statvfs;
    store.sys.write = narrow_write;
    store.sys.pwrite = narrow_pwrite;
    store.holds = UINT64_MAX;
    memcpy(store.dir, p->one.cache, sizeof store.dir);
    p->two.sys = &store.sys;
    p->two.out = tmpfile();
}

static void end(struct pair *p)
{
    fclose(p->one.out);
    fclose(p->two.out);
    job_unshare(&p->two);
    job_free(&p->one);
}

/* A flushed one, a newer one in cache only; the run dies. */
static void write_one(struct pair *p, const char *nodes)
{
    struct scr_ctx *ctx = job_start(&p->one, nodes, NULL);
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test *t = p->one.t;
    job_checkpoint(&p->one, ctx, "flushed", 1);
    CHECK_RC(scr_flush_dataset_all(ctx, ctx->last_id, &err), SCR_OK, &err);
    job_checkpoint(&p->one, ctx, "cached", 2);
    job_kill(&p->one, ctx);
}

static void check_one(struct pair *p, const char *nodes, const char *name, int seed)
{
    struct scr_ctx *ctx = job_start(&p->one, nodes, NULL);
    job_check_restart(&p->one, ctx, name, seed);
    job_kill(&p->one, ctx);
}

static int lines(struct pair *p)
{
    return job_said(&p->two, "left the cache to make room");
}

static const char nodes[] = "n1,n2";

/* --- when it leaves, and what --- */

MPI_CASE(with_room_for_all_no_dataset_leaves)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
    leave_room(&p.two, 3 * dataset_bytes);
    job_checkpoint(&p.two, ctx, "of two", 3);
    job_checkpoint(&p.two, ctx, "of two", 4);
    CHECK_INT(lines(&p), 0);
    widen(&p.two);
    job_kill(&p.two, ctx);
    check_one(&p, nodes, "cached", 2);
    end(&p);
}

/* The first dataset of a run has no measure but what the others have. */
MPI_CASE(the_oldest_leaves_and_the_newer_can_be_restored)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
    leave_room(&p.two, MUCH);
    job_checkpoint(&p.two, ctx, "of two", 3);
    widen(&p.two);
    job_kill(&p.two, ctx);
    CHECK_INT(job_said(&p.two, "1 dataset ("), 1);
    CHECK_INT(job_said(&p.two, "/prefix left the cache to make room"), 1);
    CHECK_INT(lines(&p), 1);
    check_one(&p, nodes, "cached", 2);
    CHECK_INT(job_said(&p.one, "not restored"), 0);
    ctx = job_start(&p.two, nodes, NULL);
    job_check_restart(&p.two, ctx, "of two", 3);
    job_kill(&p.two, ctx);
    end(&p);
}

/* A later one has the one before it. */
MPI_CASE(all_leave_when_the_next_ones_need_it)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
    leave_room(&p.two, LITTLE);
    job_checkpoint(&p.two, ctx, "of two", 3);
    job_checkpoint(&p.two, ctx, "of two", 4);
    widen(&p.two);
    job_kill(&p.two, ctx);
    CHECK_INT(job_count(&p.two, p.two.cache, "scr.dataset.1/rank.0/"), 2);
    check_one(&p, nodes, "flushed", 1); /* from the prefix */
    CHECK_INT(job_said(&p.one, "not restored"), 0);
    end(&p);
}

MPI_CASE(what_this_run_is_about_to_delete_is_room)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, "SCR_CACHE_SIZE=1", NULL);
    job_checkpoint(&p.two, ctx, "of two", 3);
    leave_room(&p.two, MUCH);
    job_checkpoint(&p.two, ctx, "of two", 4);
    CHECK_INT(lines(&p), 0);
    widen(&p.two);
    job_kill(&p.two, ctx);
    check_one(&p, nodes, "cached", 2);
    end(&p);
}

MPI_CASE(others_leave_before_the_newest_of_this_run)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, "SCR_CACHE_SIZE=-1", NULL);
    struct scr_err err = SCR_ERR_INIT;
    job_checkpoint(&p.two, ctx, "of two", 3);
    leave_room(&p.two, MUCH);
    CHECK_RC(scr_start_output_all(ctx, "of two", SCR_IS_CKPT, &err), SCR_OK, &err);
    CHECK(scr_cache_is_ready(ctx, 1));
    CHECK_INT(lines(&p), 1);
    CHECK_INT(job_said(&p.two, "no checkpoint is in cache"), 0);
    widen(&p.two);
    job_kill(&p.two, ctx);
    end(&p);
}

/* On the nodes where both are; what is elsewhere is rebuilt from. */
MPI_CASE(datasets_on_other_nodes_too_can_be_restored)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, "n2,n3", NULL);
    leave_room(&p.two, LITTLE);
    job_checkpoint(&p.two, ctx, "of two", 3);
    widen(&p.two);
    job_kill(&p.two, ctx);
    CHECK_INT(lines(&p), 1);
    check_one(&p, nodes, "cached", 2);
    end(&p);
}

/* --- what stays --- */

/* Also if it lives on one of the nodes only, and both want each other's room: neither
 * waits for a lock. */
MPI_CASE(what_a_running_job_has_stays_however_little_room_there_is)
{
    static const char *const at[] = { "n1,n2", "n2,n3" };
    struct pair p;
    begin(t, &p);
    p.one.sys = &store.sys;
    struct scr_ctx *ctx = job_start(&p.one, nodes, NULL);
    job_checkpoint(&p.one, ctx, "first", 1);
    scr_hash *before = job_cached(&p.one, 1);
    for (int i = 0; i < 2; i++) {
        struct scr_ctx *other = job_start(&p.two, at[i], NULL);
        leave_room(&p.two, LITTLE);
        double start = scr_now_mono();
        scr_neighbours_give_way_all(other, scr_descs_select(&other->descs, 1, 0));
        scr_neighbours_give_way_all(ctx, scr_descs_select(&ctx->descs, 1, 0));
        CHECK(scr_now_mono() - start < 10);
        widen(&p.two);
        job_checkpoint(&p.two, other, "of two", 2 + i);
        job_kill(&p.two, other);
    }
    CHECK_INT(lines(&p), 0);
    scr_hash *after = job_cached(&p.one, 1);
    CHECK(job_has_kept(&p.one, before, NULL, after));
    job_kill(&p.one, ctx);
    check_one(&p, nodes, "first", 1);
    scr_hash_delete(before);
    scr_hash_delete(after);
    end(&p);
}

/* The datasets of job one that leave where there is no room, and the number of
 * lines. */
static void squeeze(struct pair *p, int want_lines)
{
    struct mpi_test *t = p->one.t;
    struct scr_ctx *ctx = job_start(&p->two, nodes, NULL);
    leave_room(&p->two, MUCH);
    scr_neighbours_give_way_all(ctx, scr_descs_select(&ctx->descs, 1, 0));
    CHECK_INT(lines(p), want_lines);
    widen(&p->two);
    job_kill(&p->two, ctx);
}

/* Its control directory is below its own base. */
MPI_CASE(a_run_with_another_control_base_is_seen)
{
    struct pair p;
    char base[800];
    begin(t, &p);
    snprintf(base, sizeof base, "SCR_CNTL_BASE=%.700s/cntl", p.one.dir);
    struct scr_ctx *ctx = job_start(&p.one, nodes, base, NULL);
    job_checkpoint(&p.one, ctx, "first", 1);
    squeeze(&p, 0);
    job_kill(&p.one, ctx);
    ctx = job_start(&p.one, nodes, base, NULL);
    job_check_restart(&p.one, ctx, "first", 1);
    job_checkpoint(&p.one, ctx, "second", 2);
    job_kill(&p.one, ctx);
    squeeze(&p, 1);
    ctx = job_start(&p.one, nodes, base, NULL);
    job_check_restart(&p.one, ctx, "second", 2);
    CHECK_INT(job_said(&p.one, "not restored"), 0);
    job_kill(&p.one, ctx);
    end(&p);
}

/* Output has no other copy, and the program does not write it again (invariant P7). */
MPI_CASE(output_that_is_not_on_its_prefix_stays)
{
    struct pair p;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &p);
    struct scr_ctx *ctx = job_start(&p.one, nodes, NULL);
    job_block_flush(&p.one, 1, 1);
    CHECK(job_write(&p.one, ctx, "out", 1, SCR_IS_OUTPUT, &err) != SCR_OK);
    job_checkpoint(&p.one, ctx, "second", 2);
    job_kill(&p.one, ctx);
    squeeze(&p, 1);
    CHECK(job_count(&p.two, p.two.cache, "scr.dataset.1/") > 0);
    CHECK_INT(job_count(&p.two, p.two.cache, "scr.dataset.2/"), 0);
    job_block_flush(&p.one, 1, 0);
    ctx = job_start(&p.one, nodes, NULL);
    CHECK_INT(job_entry(&p.one, 1, NULL, NULL), 1);
    job_kill(&p.one, ctx);
    end(&p);
}

MPI_CASE(output_that_is_on_its_prefix_leaves)
{
    struct pair p;
    struct scr_err err = SCR_ERR_INIT;
    begin(t, &p);
    struct scr_ctx *ctx = job_start(&p.one, nodes, NULL);
    CHECK_RC(job_write(&p.one, ctx, "both", 1, SCR_IS_OUTPUT | SCR_IS_CKPT, &err),
             SCR_OK, &err);
    job_kill(&p.one, ctx);
    squeeze(&p, 1);
    CHECK_INT(job_count(&p.two, p.two.cache, "scr.dataset."), 0);
    check_one(&p, nodes, "both", 1);
    end(&p);
}

/* A lock that this rank holds, if it is rank 0, for as long as a step takes. */
static void hold_lock(struct job *job, const char *path, int shared,
                      struct scr_lock *lock)
{
    struct mpi_test *t = job->t;
    *lock = (struct scr_lock)SCR_LOCK_INIT;
    if (job->rank == 0)
        CHECK_INT(shared ? scr_lock_share(&scr_sys_posix, path, 0, lock, NULL)
                         : scr_lock_acquire(&scr_sys_posix, path, 0, lock, NULL),
                  SCR_OK);
    mpi_test_barrier(job->comm);
}

/* By scr_copy on one node, or by a scavenge of its prefix directory. */
MPI_CASE(what_is_being_copied_stays)
{
    struct pair p;
    struct scr_lock lock;
    char dir[900], path[1000];
    begin(t, &p);
    write_one(&p, nodes);
    job_node_dir(&p.one, 2, dir, sizeof dir);
    snprintf(path, sizeof path, "%s/" SCR_CNTL_COPY_LOCK, dir);
    hold_lock(&p.one, path, 1, &lock);
    squeeze(&p, 0);
    scr_lock_release(&scr_sys_posix, &lock);
    snprintf(path, sizeof path, "%s/.scr/" SCR_SCAVENGE_LOCK, p.one.prefix);
    hold_lock(&p.one, path, 0, &lock);
    squeeze(&p, 0);
    scr_lock_release(&scr_sys_posix, &lock);
    mpi_test_barrier(p.one.comm);
    check_one(&p, nodes, "cached", 2);
    squeeze(&p, 1);
    end(&p);
}

/* scr_copy waits until nothing leaves any more. */
MPI_CASE(scr_copy_takes_the_lock_of_copies)
{
    struct pair p;
    struct scr_lock lock;
    char dir[900], path[1000];
    int status = 0;
    begin(t, &p);
    write_one(&p, nodes);
    job_node_dir(&p.one, 1, dir, sizeof dir);
    snprintf(path, sizeof path, "%s/" SCR_CNTL_COPY_LOCK, dir);
    hold_lock(&p.one, path, 0, &lock);
    pid_t pid = p.one.rank == 0 ? fork() : -1;
    if (pid == 0) {
        execl(SCR_TOOL "_copy", "scr_copy", "--cntldir", dir, "--prefix", p.one.prefix,
              "--id", "2", (char *)NULL);
        _exit(9);
    }
    if (pid > 0) {
        usleep(300000);
        CHECK_INT(waitpid(pid, &status, WNOHANG), 0);
        scr_lock_release(&scr_sys_posix, &lock);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
    }
    mpi_test_barrier(p.one.comm);
    CHECK(job_count(&p.one, p.one.prefix, "/files/step.2/") > 0);
    end(&p);
}

/* The file of a transfer process that has work left. */
static void list_work(struct mpi_test *t, const char *dir)
{
    const struct scr_transfer_dset d = { .prefix = "/nowhere", .stamp = 1 };
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    scr_hash *h = scr_hash_new();
    CHECK_INT(scr_transfer_add_rank(h, 1, &d, 0), SCR_OK);
    CHECK_INT(scr_hash_file_write(&scr_sys_posix, file, h, SCR_VOLATILE, NULL), SCR_OK);
    scr_hash_delete(h);
    free(file);
}

MPI_CASE(what_a_transfer_process_copies_stays)
{
    struct pair p;
    struct scr_lock lock;
    char dir[900], path[1000];
    begin(t, &p);
    write_one(&p, nodes);
    job_node_dir(&p.one, 1, dir, sizeof dir);
    snprintf(path, sizeof path, "%s/" SCR_TRANSFER_LIFE, dir);
    if (p.one.rank == 0)
        list_work(t, dir);
    hold_lock(&p.one, path, 0, &lock);
    squeeze(&p, 0);
    scr_lock_release(&scr_sys_posix, &lock);
    mpi_test_barrier(p.one.comm);
    check_one(&p, nodes, "cached", 2);
    squeeze(&p, 1);
    end(&p);
}

/* --- a fetch, and a rebuild, that find no room --- */

MPI_CASE(a_fetch_finds_room)
{
    struct pair p;
    begin(t, &p);
    struct scr_ctx *ctx = job_start(&p.two, nodes, "SCR_FLUSH=1", NULL);
    job_checkpoint(&p.two, ctx, "of two", 3);
    job_kill(&p.two, ctx);
    job_lose_node(&p.two, nodes);
    write_one(&p, nodes);
    leave_room(&p.two, MUCH);
    ctx = job_start(&p.two, nodes, NULL);
    job_check_restart(&p.two, ctx, "of two", 3);
    CHECK_INT(lines(&p), 1);
    widen(&p.two);
    job_kill(&p.two, ctx);
    check_one(&p, nodes, "cached", 2);
    end(&p);
}

MPI_CASE(a_rebuild_finds_room)
{
    struct pair p;
    begin(t, &p);
    struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
    job_checkpoint(&p.two, ctx, "of two", 3);
    job_kill(&p.two, ctx);
    job_lose_node(&p.two, "n2");
    write_one(&p, "n1,n3");
    leave_room(&p.two, LITTLE);
    ctx = job_start(&p.two, "n1,n3", NULL);
    job_check_restart(&p.two, ctx, "of two", 3);
    CHECK_INT(lines(&p), 1);
    CHECK_INT(job_said(&p.two, "not restored"), 0);
    widen(&p.two);
    job_kill(&p.two, ctx);
    check_one(&p, "n1,n3", "cached", 2);
    end(&p);
}

/* Not a byte is left: neither for this run's records, nor for the filemaps of what is
 * to leave. */
MPI_CASE(a_store_that_is_quite_full_gets_room)
{
    struct pair p;
    begin(t, &p);
    write_one(&p, nodes);
    struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
    leave_room(&p.two, 0);
    job_checkpoint(&p.two, ctx, "of two", 3);
    widen(&p.two);
    job_kill(&p.two, ctx);
    check_one(&p, nodes, "flushed", 1);
    CHECK_INT(job_said(&p.one, "not restored"), 0);
    end(&p);
}

/* --- calls that fail, and deaths --- */

/* Of the calls that make it leave every fifth fails in turn, once or for good, as if
 * the run had died there: both cases continue. The checkpoint that the first one gets
 * is whole: its newest or what is on its prefix. */
MPI_CASE(leaving_may_fail_at_every_call)
{
    static const int error[] = { EIO, ENOENT, ENOSPC };
    struct pair p;
    struct scr_err err = SCR_ERR_INIT;
    char name[SCR_MAX_NAME];
    int fired = 1;
    begin(t, &p);
    for (long n = walk_from(0); fired; n = walk_from(n + STRIDE)) {
        write_one(&p, nodes);
        struct scr_ctx *ctx = job_start(&p.two, nodes, NULL);
        int both = n % 3 == 0;
        leave_room(&p.two, both ? LITTLE : MUCH);
        int once = n % 2 != 0;
        job_arm(&p.two, 0, TEST_ANY, n, error[n / 2 % 3],
                once ? TEST_ONCE : TEST_FOREVER);
        scr_neighbours_give_way_all(ctx, scr_descs_select(&ctx->descs, 1, 0));
        fired = job_disarm(&p.two);
        widen(&p.two);
        if (once)
            job_checkpoint(&p.two, ctx, "of two", 2);
        job_kill(&p.two, ctx);
        int have = 0;
        ctx = job_start(&p.one, nodes, NULL);
        CHECK_RC(scr_have_restart_all(ctx, &have, name, &err), SCR_OK, &err);
        int cached = have && strcmp(name, "cached") == 0;
        job_check_restart(&p.one, ctx, cached ? "cached" : "flushed", cached ? 2 : 1);
        CHECK(cached || once || both);
        job_kill(&p.one, ctx);
    }
    end(&p);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(with_room_for_all_no_dataset_leaves),
                  RUN(the_oldest_leaves_and_the_newer_can_be_restored),
                  RUN(all_leave_when_the_next_ones_need_it),
                  RUN(what_this_run_is_about_to_delete_is_room),
                  RUN(others_leave_before_the_newest_of_this_run),
                  RUN(datasets_on_other_nodes_too_can_be_restored),
                  RUN(what_a_running_job_has_stays_however_little_room_there_is),
                  RUN(a_run_with_another_control_base_is_seen),
                  RUN(output_that_is_not_on_its_prefix_stays),
                  RUN(output_that_is_on_its_prefix_leaves),
                  RUN(what_is_being_copied_stays),
                  RUN(scr_copy_takes_the_lock_of_copies),
                  RUN(what_a_transfer_process_copies_stays), RUN(a_fetch_finds_room),
                  RUN(a_rebuild_finds_room), RUN(a_store_that_is_quite_full_gets_room),
                  RUN(leaving_may_fail_at_every_call)));
}
