/* SPDX-License-Identifier: BSD-3-Clause */
/* A node comes back with files of an older dataset that has the number of the newest
 * one: that costs no more than an empty node in its place (invariant C14). */
/* ranks: 4 */
#include "helper_rivals.h"
#include "helper_stored.h"

#include <errno.h>

#include "base/str.h"
#include "helper_walk.h"

static const char *const nodes = RIVALS_NODES;

static void check_start(struct job *job, const char *where, const char *name, int seed)
{
    struct scr_ctx *ctx = job_start(job, where, NULL);
    job_check_restart(job, ctx, name, seed);
    job_end(job, ctx);
}

/* --- the newest that can be rebuilt --- */

static const struct scheme {
    const char *setting;
    int stale[3];
    const char *where; /* the ranks run now */
} schemes[] = {
    { "SCR_COPY_TYPE=XOR", { 4 }, "n1,n2,n3,n4" },
    { "SCR_COPY_TYPE=XOR", { 2 }, "n4,n3,n2,n1" },
    { "SCR_COPY_TYPE=PARTNER", { 4 }, "n1,n2,n3,n4" },
    { "SCR_COPY_TYPE=PARTNER", { 1, 3 }, "n2,n3,n4,n1" },
    { "SCR_COPY_TYPE=RS", { 3 }, "n1,n2,n3,n4" },
};

MPI_CASE(a_stale_part_costs_no_more_than_an_empty_node)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const struct scheme *s = &schemes[i];
        struct job job;
        job_new(t, &job, 4);
        rivals_two_runs(&job, s->setting, nodes, s->stale, 0);
        struct scr_ctx *ctx = job_start(&job, s->where, NULL);
        job_check_restart(&job, ctx, "two", 12);
        CHECK_INT(job_count(&job, job.cache, "/aside."), 0);
        job_end(&job, ctx);
        check_start(&job, s->where, "two", 12); /* and so it stays */
        job_free(&job);
    }
}

/* The first run was on fewer nodes: its redundancy files have other members' names. */
JOB_CASE(redundancy_files_of_one_name_are_not_mixed, 4)
{
    static const int stale[] = { 2, 0 };
    rivals_two_runs(job, "SCR_COPY_TYPE=XOR", "n1,n2", stale, 0);
    check_start(job, "n2,n1,n3,n4", "two", 12);
    CHECK_INT(job_count(job, job->cache, "/aside."), 0);
}

/* Two of four parts of each exist. */
JOB_CASE(where_none_can_be_rebuilt_nothing_is_touched, 4)
{
    static const int stale[] = { 2, 3, 0 };
    rivals_two_runs(job, "SCR_COPY_TYPE=XOR", nodes, stale, SCR_IS_OUTPUT);
    scr_hash *before = job_cached(job, 2);
    struct scr_ctx *ctx = job_start(job, nodes, NULL);
    scr_hash *after = job_cached(job, 2);
    CHECK(job_has_kept(job, before, NULL, after));
    job_check_restart(job, ctx, "one", 11); /* from the prefix directory */
    job_end(job, ctx);
    scr_hash_delete(before);
    scr_hash_delete(after);
}

/* The damage of a file of the second run. */
enum damage { NONE, GONE, FLIPPED };

static void do_damage(struct job *job, enum damage damage)
{
    struct mpi_test *t = job->t;
    int n = 0, i = 0;
    char *dir = scr_asprintf("%s/vnode.n2", job->cache);
    char **paths = job_find(dir, "/rank.3/", &n);
    while (i < n && strstr(paths[i], "/.scr/") != NULL)
        i++;
    CHECK(i < n);
    if (i < n && damage == GONE)
        CHECK_INT(unlink(paths[i]), 0);
    else if (i < n)
        job_flip(paths[i], 3);
    job_find_free(paths, n);
    free(dir);
}

/* All of the first run on n1, all of the second on n2. */
static void split(struct mpi_test *t, struct job *job, enum damage damage, int seed)
{
    job_new(t, job, 4);
    struct scr_ctx *ctx = job_start(job, "n1", "SCR_COPY_TYPE=SINGLE", NULL);
    job_checkpoint(job, ctx, "one", 1);
    job_kill(job, ctx);
    rivals_take_away(job, 1, 0);
    rivals_forget(job);
    ctx = job_start(job, "n2", "SCR_COPY_TYPE=SINGLE", NULL);
    job_checkpoint(job, ctx, "one", 11);
    job_kill(job, ctx);
    rivals_take_away(job, 1, 1);
    if (damage != NONE && job->rank == 0)
        do_damage(job, damage);
    mpi_test_barrier(job->comm);
    job->out = tmpfile();
    ctx = job_start(job, "n1,n2", "SCR_COPY_TYPE=SINGLE", NULL);
    job_check_restart(job, ctx, "one", seed);
    CHECK_INT(job_said(job, "of this number is not restored"), damage == FLIPPED);
    fclose(job->out);
    CHECK_INT(job_count(job, job->cache, "/aside."), 0);
    job_end(job, ctx);
    job_free(job);
}

MPI_CASE(of_two_that_are_whole_the_newer_is_restored)
{
    struct job job;
    split(t, &job, NONE, 11);
}

MPI_CASE(the_older_is_restored_where_the_newer_cannot_be)
{
    struct job job;
    split(t, &job, GONE, 1);
}

/* Sizes and headers are right: only the checksum differs. */
MPI_CASE(the_older_is_restored_where_the_newer_is_damaged)
{
    struct job job;
    split(t, &job, FLIPPED, 1);
}

/* --- a different number of ranks --- */

MPI_CASE(a_part_of_a_different_number_of_ranks_is_kept)
{
    struct job job, two;
    job_new(t, &job, 4);
    job_share(t, &two, &job, 2);
    if (two.in) {
        struct scr_ctx *ctx = job_start(&two, "n4", "SCR_COPY_TYPE=SINGLE", NULL);
        job_checkpoint(&two, ctx, "one", 1);
        job_kill(&two, ctx);
        rivals_take_away(&two, 4, 0);
        rivals_forget(&two);
    }
    job_unshare(&two);
    struct scr_ctx *ctx = job_start(&job, nodes, "SCR_COPY_TYPE=XOR", NULL);
    job_checkpoint(&job, ctx, "one", 11);
    job_kill(&job, ctx);
    char *n4 = scr_asprintf("%s/vnode.n4", job.cache);
    char *away = scr_asprintf("%s/away.n4", job.dir);
    int files = job_count(&job, away, "/scr.dataset.1/");
    rivals_take_away(&job, 4, 1);
    ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, "one", 11);
    CHECK(files > 0 && job_count(&job, n4, "/aside.") == files);
    job_checkpoint(&job, ctx, "two", 12);
    job_checkpoint(&job, ctx, "three", 13); /* "one" leaves, with all that is of 1 */
    CHECK_INT(job_count(&job, job.cache, "/scr.dataset.1/"), 0);
    job_end(&job, ctx);
    free(away);
    free(n4);
    job_free(&job);
}

/* Four ranks on n4 die in call n of writing a checkpoint, and two have written another
 * one of its number, when n4 takes the place of one of their nodes. */
static int begin_on_n4(struct job *job, int victim, long n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test *t = job->t;
    job_go_back(job);
    job->sys = &test_fault_sys;
    struct scr_ctx *ctx = job_start(job, "n4", "SCR_COPY_TYPE=SINGLE", NULL);
    job_arm(job, victim, TEST_ANY, n, EIO, TEST_FOREVER);
    int rc = job_write(job, ctx, "one", 1, SCR_IS_CKPT, &err);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    job_kill(job, ctx);
    job->sys = NULL;
    rivals_take_away(job, 4, 0);
    rivals_forget(job);
    return fired;
}

static int begin_beside_two(struct job *job, int victim, long n)
{
    struct mpi_test *t = job->t;
    struct job two;
    int fired = begin_on_n4(job, victim, n);
    job_share(t, &two, job, 2);
    if (two.in) {
        struct scr_ctx *ctx = job_start(&two, "n1,n3", "SCR_COPY_TYPE=XOR", NULL);
        job_checkpoint(&two, ctx, "one", 11);
        CHECK_INT(ctx->last_id, 1);
        job_kill(&two, ctx);
        job_lose_node(&two, "n3");
        rivals_take_away(&two, 4, 1);
        check_start(&two, "n1,n4", "one", 11);
    }
    job_unshare(&two);
    return fired;
}

static void begin_at_each_call(struct mpi_test *t, int victim)
{
    enum { STEP = 3, MOST = 3000 };
    struct job job;
    long n = walk_from(0), failed = 0;
    job_new(t, &job, 4);
    job_save(&job);
    for (; n < MOST && mpi_test_good(t) && begin_beside_two(&job, victim, n); failed++)
        n = walk_from(n + STEP);
    CHECK(failed > 5 && n < MOST);
    job_free(&job);
}

MPI_CASE(a_part_only_begun_by_more_ranks_blocks_nothing)
{
    begin_at_each_call(t, -1);
    begin_at_each_call(t, 2);
}

/* --- failures --- */

static struct {
    struct scr_sys sys;
    int failed, error;
} spot;

/* Rebuilt files find no room. */
static int spot_openat(int at, const char *path, int flags, mode_t mode)
{
    if ((flags & O_CREAT) == 0 || strstr(path, "rebuild.") == NULL)
        return scr_sys_posix.openat(at, path, flags, mode);
    spot.failed++;
    errno = spot.error;
    return -1;
}

static void fail_restore(struct mpi_test *t, int error)
{
    static const int stale[] = { 4, 0 };
    struct job job;
    job_new(t, &job, 4);
    rivals_two_runs(&job, "SCR_COPY_TYPE=XOR", nodes, stale, 0);
    scr_hash *before = job_cached(&job, 2);
    memset(&spot, 0, sizeof spot);
    spot.sys = scr_sys_posix;
    spot.sys.openat = spot_openat;
    spot.error = error;
    job.sys = &spot.sys;
    struct scr_ctx *ctx = job_start(&job, nodes, NULL);
    job_check_restart(&job, ctx, NULL, 0);
    job_kill(&job, ctx);
    CHECK(scr_or_all(&(struct scr_comm){ job.comm, job.rank, job.size }, spot.failed));
    scr_hash *after = job_cached(&job, 2);
    CHECK_INT(job_count(&job, job.cache, "/aside."), 0);
    CHECK(job_has_kept(&job, before, NULL, after));
    if (job.rank == 0)
        CHECK(scr_hash_equal(before, after));
    job.sys = NULL;
    check_start(&job, nodes, "two", 12);
    scr_hash_delete(before);
    scr_hash_delete(after);
    job_free(&job);
}

MPI_CASE(a_restore_that_fails_puts_the_stale_part_back)
{
    fail_restore(t, ENOSPC);
    fail_restore(t, EIO);
}

/* Call n of a start fails: the next start finds everything. */
static int fail_start(struct job *job, int victim, enum test_how how, long n)
{
    struct mpi_test *t = job->t;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_ctx *ctx;
    job_go_back(job);
    job->sys = &test_fault_sys;
    job_arm(job, victim, TEST_ANY, n, EIO, how);
    int rc = job_try_start(job, &ctx, &err, "n2,n1,n3,n4", NULL);
    int fired = job_disarm(job);
    CHECK(job_same_code(job, rc));
    CHECK(fired || rc == SCR_OK);
    job_kill(job, ctx);
    job->sys = NULL;
    check_start(job, "n2,n1,n3,n4", "two", 12);
    return fired;
}

static void fail_every_start(struct mpi_test *t, int victim, enum test_how how)
{
    enum { STEP = 7, MOST = 3000 };
    static const int stale[] = { 4, 0 };
    struct job job;
    long n = walk_from(0), failed = 0;
    job_new(t, &job, 4);
    rivals_two_runs(&job, "SCR_COPY_TYPE=XOR", nodes, stale, 0);
    job_save(&job);
    for (; n < MOST && mpi_test_good(t) && fail_start(&job, victim, how, n); failed++)
        n = walk_from(n + STEP);
    CHECK(n > 20 && n < MOST);
    if (t->comm.rank == 0)
        printf("       %ld calls failed in turn, of %ld\n", failed, n);
    job_free(&job);
}

MPI_CASE(each_call_of_such_a_start_fails_once)
{
    fail_every_start(t, 3, TEST_ONCE);
}

MPI_CASE(the_job_dies_at_each_call_of_such_a_start)
{
    fail_every_start(t, -1, TEST_FOREVER);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_stale_part_costs_no_more_than_an_empty_node),
                  RUN(redundancy_files_of_one_name_are_not_mixed),
                  RUN(where_none_can_be_rebuilt_nothing_is_touched),
                  RUN(of_two_that_are_whole_the_newer_is_restored),
                  RUN(the_older_is_restored_where_the_newer_cannot_be),
                  RUN(the_older_is_restored_where_the_newer_is_damaged),
                  RUN(a_part_of_a_different_number_of_ranks_is_kept),
                  RUN(a_part_only_begun_by_more_ranks_blocks_nothing),
                  RUN(a_restore_that_fails_puts_the_stale_part_back),
                  RUN(each_call_of_such_a_start_fails_once),
                  RUN(the_job_dies_at_each_call_of_such_a_start)));
}
