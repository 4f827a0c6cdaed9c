/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes are lost between two runs: what is in cache is rebuilt or refused, on all ranks
 * alike. */
/* ranks: 6 */
#include "helper_job.h"
#include "helper_stored.h"

#include "base/str.h"

/* The result of a loss does not depend on the MPI: one walks over all of them, where
 * waiting ranks spin on the cores every seventh is enough. */
#ifdef MPICH_VERSION
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif

/* "n1,n2,…,n<count>" with node `gone` (1-based, 0: none) replaced by `by`, rotated by
 * turn. */
static void node_list(char *text, size_t n, int count, int gone, const char *by,
                      int turn)
{
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        int node = (i + turn) % count + 1;
        size_t len = strlen(text);
        if (node == gone)
            snprintf(text + len, n - len, "%s%s", i ? "," : "", by);
        else
            snprintf(text + len, n - len, "%sn%d", i ? "," : "", node);
    }
}

/* Two ranks a node as far as they go. */
static int ranks_for(const struct mpi_test *t, int nodes)
{
    return nodes * 2 <= t->comm.size ? nodes * 2 : t->comm.size;
}

static void lose_one(struct mpi_test *t, const char *scheme, int nodes, int gone,
                     int turn)
{
    struct job job;
    char before[128], after[128], lost[16];
    job_new(t, &job, ranks_for(t, nodes));
    if (job.in) {
        node_list(before, sizeof before, nodes, 0, "", 0);
        node_list(after, sizeof after, nodes, gone, "spare", turn);
        snprintf(lost, sizeof lost, "n%d", gone);
        struct scr_ctx *ctx = job_start(&job, before, scheme, NULL);
        job_checkpoint(&job, ctx, "first", 1);
        job_checkpoint(&job, ctx, "second", 2);
        job_kill(&job, ctx);
        job_lose_node(&job, lost);
        ctx = job_start(&job, after, scheme, NULL);
        job_check_restart(&job, ctx, "second", 2);
        job_checkpoint(&job, ctx, "third", 3);
        CHECK_INT(ctx->last_id, 3);
        job_end(&job, ctx);
    }
    job_free(&job);
}

static void lose_every_node(struct mpi_test *t, const char *scheme)
{
    int number = 0;
    for (int nodes = 2; nodes <= 6; nodes++)
        for (int gone = 1; gone <= nodes; gone++)
            for (int turn = 0; turn < 2; turn++)
                if (number++ % STRIDE == 0)
                    lose_one(t, scheme, nodes, gone, turn);
}

MPI_CASE(xor_survives_every_single_node_with_spare_and_moved_ranks)
{
    lose_every_node(t, "SCR_COPY_TYPE=XOR");
}

MPI_CASE(partner_survives_every_single_node_with_spare_and_moved_ranks)
{
    lose_every_node(t, "SCR_COPY_TYPE=PARTNER");
}

MPI_CASE(nothing_lost_nothing_rebuilt)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(two_nodes_of_a_set_lost_without_a_flush_is_no_restart)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, "n2,n3");
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, NULL, 0);
    job_checkpoint(&job, ctx, "again", 5);
    CHECK_INT(ctx->last_id, 2);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(two_nodes_of_a_set_lost_falls_back_to_the_prefix)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_FLUSH=2", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2); /* flushed */
    job_checkpoint(&job, ctx, "three", 3);
    job_kill(&job, ctx);
    job_lose_node(&job, "n1,n4");
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "two", 2);
    job_checkpoint(&job, ctx, "four", 4);
    CHECK_INT(ctx->last_id, 4);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(all_nodes_lost_fetches_and_protects_again)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_lose_node(&job, "n[1-4]");
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    /* What was fetched is protected like any checkpoint: a loss is rebuilt from cache.
     */
    job_lose_node(&job, "n2");
    ctx = job_start(&job, "n1,n3,n5,n4", "SCR_FETCH=0", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_end(&job, ctx);
    job_free(&job);
}

MPI_CASE(uneven_ranks_per_node_are_rebuilt)
{
    /* 5 ranks on 3 nodes: blocks of 2, 2, 1. */
    for (int gone = 1; gone <= 3; gone++) {
        struct job job;
        char lost[8], after[64];
        int ranks = t->comm.size < 5 ? t->comm.size : 5;
        job_new(t, &job, ranks);
        if (job.in) {
            struct scr_ctx *ctx = job_start(&job, "n1,n2,n3", "SCR_SET_SIZE=2", NULL);
            job_checkpoint(&job, ctx, "one", 1);
            job_kill(&job, ctx);
            snprintf(lost, sizeof lost, "n%d", gone);
            job_lose_node(&job, lost);
            node_list(after, sizeof after, 3, gone, "n4", 1);
            ctx = job_start(&job, after, "SCR_SET_SIZE=2", NULL);
            job_check_restart(&job, ctx, "one", 1);
            job_end(&job, ctx);
        }
        job_free(&job);
    }
}

MPI_CASE(one_node_falls_to_single_and_restarts)
{
    for (int ranks = 1; ranks <= 2 && ranks <= t->comm.size; ranks++) {
        struct job job;
        job_new(t, &job, ranks);
        if (job.in) {
            struct scr_ctx *ctx = job_start(&job, "n1", NULL);
            job_checkpoint(&job, ctx, "one", 1);
            job_kill(&job, ctx);
            ctx = job_start(&job, "n1", NULL);
            job_check_restart(&job, ctx, "one", 1);
            job_end(&job, ctx);
        }
        job_free(&job);
    }
}

/* The redundancy files of members 1 … 4 with their bit in gone go, whatever their
 * scheme calls them. */
static void lose_redundancy(struct job *job, int gone)
{
    int n = 0;
    char **paths = job_find(job->cache, "/.scr/", &n);
    mpi_test_barrier(job->comm);
    for (int i = 0; i < n && job->rank == 0; i++) {
        long member = strtol(strrchr(paths[i], '/') + 1, NULL, 10);
        if (gone & 1 << (member - 1))
            unlink(paths[i]);
    }
    mpi_test_barrier(job->comm);
    job_find_free(paths, n);
}

/* Without headers the filemaps know the files, on the node where they were written and
 * after they moved to another one. */
static void lose_each_redundancy(struct mpi_test *t, const char *scheme)
{
    struct job job;
    job_new(t, &job, 4);
    if (job.in) {
        struct scr_ctx *ctx = job_start(&job, "n[1-4]", scheme, NULL);
        job_checkpoint(&job, ctx, "one", 1);
        job_kill(&job, ctx);
        scr_hash *files = job_cached(&job, 1);
        job_save(&job);
        for (int i = 0; i < 32; i += STRIDE) {
            lose_redundancy(&job, i % 16);
            ctx = job_start(&job, i < 16 ? "n[1-4]" : "n2,n3,n4,n1", scheme, NULL);
            job_check_restart(&job, ctx, "one", 1);
            scr_hash *now = job_cached(&job, 1);
            CHECK(job_has_kept(&job, files, NULL, now));
            scr_hash_delete(now);
            job_kill(&job, ctx);
            job_go_back(&job);
        }
        scr_hash_delete(files);
    }
    job_free(&job);
}

MPI_CASE(any_redundancy_files_may_go_if_the_data_exists)
{
    lose_each_redundancy(t, "SCR_COPY_TYPE=XOR");
    lose_each_redundancy(t, "SCR_COPY_TYPE=RS");
    lose_each_redundancy(t, "SCR_COPY_TYPE=PARTNER");
    lose_each_redundancy(t, "SCR_COPY_TYPE=SINGLE");
}

/* Every file in cache that contains part gets a flipped byte, one at a time. */
static void flip_each(struct mpi_test *t, const char *part)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    int n = 0;
    char **paths = job_find(job.cache, part, &n);
    CHECK(n >= job.size);
    for (int i = 0; i < n; i += STRIDE) {
        struct stat st;
        if (stat(paths[i], &st) != 0 || st.st_size == 0)
            continue;
        mpi_test_barrier(job.comm);
        if (job.rank == 0)
            job_flip(paths[i], (long)(st.st_size * (i % 4 + 1) / 5));
        mpi_test_barrier(job.comm);
        ctx = job_start(&job, "n[1-4]", NULL);
        job_check_restart(&job, ctx, "one", 1);
        job_kill(&job, ctx);
    }
    job_find_free(paths, n);
    job_free(&job);
}

MPI_CASE(flipped_byte_in_a_cached_file_is_repaired)
{
    flip_each(t, "/rank.");
}

MPI_CASE(flipped_byte_in_parity_or_its_header_is_repaired)
{
    flip_each(t, ".xor");
}

MPI_CASE(flipped_byte_on_the_prefix_falls_back_to_the_older_dataset)
{
    struct job job;
    job_new(t, &job, t->comm.size);
    struct scr_ctx *ctx = job_start(&job, "n[1-4]", "SCR_FLUSH=1", NULL);
    job_checkpoint(&job, ctx, "one", 1);
    job_checkpoint(&job, ctx, "two", 2);
    job_kill(&job, ctx);
    int n = 0;
    char **paths = job_find(job.prefix, "step.2/", &n);
    CHECK(n > 0);
    mpi_test_barrier(job.comm);
    if (job.rank == 0) {
        struct stat st = { 0 };
        int i = 0;
        while (i < n && stat(paths[i], &st) == 0 && st.st_size == 0)
            i++;
        job_flip(paths[i], (long)st.st_size / 2);
    }
    job_find_free(paths, n);
    job_lose_node(&job, "n[1-4]");
    ctx = job_start(&job, "n[1-4]", NULL);
    job_check_restart(&job, ctx, "one", 1);
    job_kill(&job, ctx);
    job_free(&job);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(nothing_lost_nothing_rebuilt),
                  RUN(two_nodes_of_a_set_lost_without_a_flush_is_no_restart),
                  RUN(two_nodes_of_a_set_lost_falls_back_to_the_prefix),
                  RUN(all_nodes_lost_fetches_and_protects_again),
                  RUN(uneven_ranks_per_node_are_rebuilt),
                  RUN(one_node_falls_to_single_and_restarts),
                  RUN(any_redundancy_files_may_go_if_the_data_exists),
                  RUN(flipped_byte_in_a_cached_file_is_repaired),
                  RUN(flipped_byte_in_parity_or_its_header_is_repaired),
                  RUN(flipped_byte_on_the_prefix_falls_back_to_the_older_dataset),
                  RUN(xor_survives_every_single_node_with_spare_and_moved_ranks),
                  RUN(partner_survives_every_single_node_with_spare_and_moved_ranks)));
}
