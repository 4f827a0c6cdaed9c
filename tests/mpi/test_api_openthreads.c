/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that ranks open together by MPI, while another thread of each process opens
 * files, too: in a phase, and while one begins or ends. And such opens while another
 * thread is in a call of SCR. */
/* ranks: 4 */
#define MPI_TEST_LEVEL MPI_THREAD_MULTIPLE
#include "helper_open.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 8, ROUTED = 60 };

/* A thread that opens a file of all ranks again and again. */
struct opener {
    pthread_t thread;
    MPI_Comm comm;
    char path[SCR_MAX_FILENAME + 8];
    atomic_int stop; /* of this rank; it ends when all agree */
    int opens, failed;
};

static void *open_again_and_again(void *arg)
{
    struct opener *o = arg;
    int stop = 0;
    while (!stop) {
        MPI_File file;
        int mine = atomic_load(&o->stop);
        if (MPI_File_open(o->comm, o->path, CREATE, MPI_INFO_NULL, &file) !=
            MPI_SUCCESS)
            o->failed++;
        else
            MPI_File_close(&file);
        o->opens++;
        MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_MIN, o->comm);
    }
    return NULL;
}

static void start(struct mpi_test *t, struct opener *o, const char *path)
{
    *o = (struct opener){ .comm = MPI_COMM_NULL };
    MPI_Comm_dup(t->comm.comm, &o->comm);
    snprintf(o->path, sizeof o->path, "%s", path);
    CHECK_INT(pthread_create(&o->thread, NULL, open_again_and_again, o), 0);
}

static void stop(struct mpi_test *t, struct opener *o)
{
    atomic_store(&o->stop, 1);
    pthread_join(o->thread, NULL);
    CHECK(o->opens > 0);
    MPI_Comm_free(&o->comm);
}

static void be_refused(struct mpi_test *t)
{
    MPI_File file;
    char path[SCR_MAX_FILENAME];
    int class = MPI_SUCCESS;
    CHECK_INT(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    open_route(t, "all.h5", path);
    int code = MPI_File_open(t->comm.comm, path, CREATE, MPI_INFO_NULL, &file);
    MPI_Error_class(code, &class);
    CHECK_INT(class, MPI_ERR_NOT_SAME);
    CHECK_INT(SCR_Complete_output(1), SCR_E_EXIST);
}

static void be_written(struct mpi_test *t)
{
    char path[SCR_MAX_FILENAME], name[32];
    CHECK_INT(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    snprintf(name, sizeof name, "own.%d", t->comm.rank);
    open_route(t, name, path);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs("own", f) >= 0 && fclose(f) == 0);
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
}

static int has_threads(void)
{
    int level;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

MPI_CASE(a_routed_file_is_refused_while_another_thread_opens_files)
{
    struct opener o;
    char plot[700];
    if (!has_threads())
        return;
    open_place(t);
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
    snprintf(plot, sizeof plot, "%s/plot", t->dir);
    start(t, &o, plot);
    for (int i = 0; i < ROUNDS; i++) {
        be_refused(t);
        be_written(t);
    }
    stop(t, &o);
    CHECK_INT(o.failed, 0);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

/* With the thread sanitizer this fails if the two use the list of files at once. */
MPI_CASE(another_thread_is_refused_a_file_while_more_are_routed)
{
    struct opener o;
    char path[SCR_MAX_FILENAME], part[SCR_MAX_FILENAME + 8], name[32];
    if (!has_threads())
        return;
    open_place(t);
    CHECK_INT(SCR_Init(), SCR_SUCCESS);
    CHECK_INT(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    open_route(t, "all", path);
    snprintf(part, sizeof part, "%s.part", path); /* next to it: no place of a file */
    start(t, &o, part);
    for (int i = 0; i < ROUTED; i++) {
        snprintf(name, sizeof name, "own.%d.%d", t->comm.rank, i);
        open_route(t, name, path);
    }
    stop(t, &o);
    CHECK_INT(o.failed, o.opens);
    CHECK_INT(SCR_Complete_output(1), SCR_E_EXIST);
    be_written(t);
    CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_routed_file_is_refused_while_another_thread_opens_files),
                  RUN(another_thread_is_refused_a_file_while_more_are_routed)));
}
