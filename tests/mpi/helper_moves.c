/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_moves.h"

int block(int rank, int per_node)
{
    return rank / per_node;
}

void first_run(struct mpi_test *t, const char *root, int node,
               const enum move_kind *kinds, int ndsets)
{
    struct move_job job;
    move_start(t, &job, root, &posix, node);
    for (int d = 0; d < ndsets; d++)
        move_write(t, &job, d + 1, kinds[d]);
    move_stop(&job);
}

int distribute(struct mpi_test *t, struct move_job *job, int id, size_t buf,
               int *stayed, struct scr_err *err)
{
    const struct scr_moving m = { .env = &job->env,
                                  .world = &t->comm,
                                  .cntl = &job->cntl,
                                  .map = job->map,
                                  .buf_max = buf };
    return scr_distribute_all(&m, id, move_dset_dir(job, id), SCR_OK, stayed, err);
}

int scatter_all(struct mpi_test *t, struct move_job *job, struct scr_err *err)
{
    int rc = scr_scatter_filemaps_all(&job->env, &t->comm, &job->node, &job->cntl,
                                      job->map, err);
    return scr_agree_all(&t->comm, rc, err);
}

int restart(struct mpi_test *t, struct move_job *job, size_t buf, int *stayed,
            struct scr_err *err)
{
    struct scr_ids all = { 0 }, mine = { 0 };
    int n = 0;
    int rc = scatter_all(t, job, err);
    CHECK_INT(scr_filemap_list_datasets(job->map, &n, &mine.id), SCR_OK);
    mine.n = (size_t)n;
    int64_t said[SCR_IDS_SAID];
    scr_ids_say(&mine, 0, &all, said);
    scr_mins_all(&t->comm, said, SCR_IDS_SAID);
    if (rc == SCR_OK)
        rc = scr_ids_hear_all(&t->comm, &mine, said, &all, err);
    for (size_t i = 0; i < all.n && rc == SCR_OK; i++)
        rc = distribute(t, job, all.id[i], buf, stayed, err);
    scr_ids_fini(&mine);
    scr_ids_fini(&all);
    return rc;
}

/* 1 if this job has a rank on the node where rank's files lie. */
static int *reachable(struct mpi_test *t, int from, int to)
{
    int n = t->comm.size;
    int *was = calloc((size_t)n, sizeof *was), *now = calloc((size_t)n, sizeof *now);
    MPI_Allgather(&from, 1, MPI_INT, was, 1, MPI_INT, t->comm.comm);
    MPI_Allgather(&to, 1, MPI_INT, now, 1, MPI_INT, t->comm.comm);
    for (int r = 0; r < n; r++) {
        int found = 0;
        for (int i = 0; i < n; i++)
            found |= now[i] == was[r];
        was[r] = found;
    }
    free(now);
    return was;
}

void check_restart(struct mpi_test *t, const char *root, int from, int to,
                   const enum move_kind *kinds, int ndsets, size_t buf)
{
    struct scr_err err = SCR_ERR_INIT;
    struct move_job job;
    long want = 0;
    int *there = reachable(t, from, to);
    move_start(t, &job, root, &posix, to);
    CHECK_RC(restart(t, &job, buf, NULL, &err), SCR_OK, &err);
    for (int d = 0; d < ndsets; d++) {
        if (there[t->comm.rank])
            move_check(t, &job, d + 1, kinds[d]);
        else
            CHECK_INT(scr_filemap_num_files(job.map, d + 1, t->comm.rank), 0);
        want += move_expected(t->comm.size, kinds[d]);
    }
    move_stop(&job);
    CHECK_INT(move_count_files(t, root, NNODES), want);
    free(there);
}
