/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Init_comm: runs over a part of the ranks, side by side in one program. */
/* ranks: 5 */
#include "mpi_test.h"

#include <fcntl.h>

#include "scr.h"

/* Ranks 0 and 2 are one member of an ensemble, 1 and 3 the other, in the opposite order
 * of the world; rank 4 is outside. */
struct member {
    int number; /* -1: outside */
    MPI_Comm comm;
    int rank, size;
    char prefix[600];
};

static void join(struct mpi_test *t, struct member *m)
{
    *m = (struct member){ .number = t->comm.rank < 4 ? t->comm.rank % 2 : -1 };
    MPI_Comm_split(t->comm.comm, m->number < 0 ? MPI_UNDEFINED : m->number,
                   -t->comm.rank, &m->comm);
    snprintf(m->prefix, sizeof m->prefix, "%s/prefix.%d", t->dir, m->number);
    if (m->number < 0)
        return;
    MPI_Comm_rank(m->comm, &m->rank);
    MPI_Comm_size(m->comm, &m->size);
    if (m->rank == 0)
        mkdir(m->prefix, 0700);
    MPI_Barrier(m->comm);
}

static void set(struct mpi_test *t, MPI_Comm comm, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void set(struct mpi_test *t, MPI_Comm comm, const char *fmt, ...)
{
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CHECK(SCR_Config_comm(comm, text) == NULL);
    CHECK_INT(SCR_Last_error(NULL), SCR_SUCCESS);
}

/* The communicator is freed at once. */
static int start(struct mpi_test *t, const struct member *m)
{
    MPI_Comm comm;
    MPI_Comm_dup(m->comm, &comm);
    set(t, comm, "SCR_PREFIX=%s", m->prefix);
    set(t, comm, "SCR_CACHE_BASE=%s/cache", t->dir);
    set(t, comm, "SCR_CNTL_BASE=%s/cache", t->dir);
    set(t, comm, "SCR_VNODES=m%d-n1,m%d-n2", m->number, m->number);
    set(t, comm, "SCR_COPY_TYPE=PARTNER");
    set(t, comm, "SCR_FLUSH=0");
    set(t, comm, "SCR_QUIET=1");
    int rc = SCR_Init_comm(comm);
    MPI_Comm_free(&comm);
    return rc;
}

static void route(struct mpi_test *t, const struct member *m, const char *name,
                  char *path)
{
    char file[800];
    snprintf(file, sizeof file, "%s/%s/rank_%d", m->prefix, name, m->rank);
    CHECK_INT(SCR_Route_file(file, path), SCR_SUCCESS);
}

static void checkpoint(struct mpi_test *t, const struct member *m, const char *name)
{
    char path[SCR_MAX_FILENAME];
    CHECK_INT(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
    route(t, m, name, path);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fprintf(f, "%s %d %d", name, m->number, m->rank) > 0);
    CHECK(f != NULL && fclose(f) == 0);
    CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
}

/* name NULL: there must be none. */
static void restart(struct mpi_test *t, const struct member *m, const char *name)
{
    char found[SCR_MAX_FILENAME] = "", path[SCR_MAX_FILENAME], of[32] = "";
    int have, number = -1, rank = -1;
    CHECK_INT(SCR_Have_restart(&have, found), SCR_SUCCESS);
    CHECK_INT(have, name != NULL);
    if (!have)
        return;
    CHECK(name != NULL && strcmp(found, name) == 0);
    CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
    route(t, m, found, path);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL && fscanf(f, "%31s %d %d", of, &number, &rank) == 3);
    CHECK(strcmp(of, found) == 0 && number == m->number && rank == m->rank);
    if (f != NULL)
        fclose(f);
    CHECK_INT(SCR_Complete_restart(1), SCR_SUCCESS);
}

static int exists(const char *dir, const char *file)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return access(path, F_OK) == 0;
}

/* --- what is no communicator of processes that can agree --- */

/* The line of this rank. */
static int refused(struct mpi_test *t, MPI_Comm comm, const char *word)
{
    char text[SCR_MAX_FILENAME];
    int quiet = open("/dev/null", O_WRONLY), saved = dup(2);
    dup2(quiet, 2);
    int rc = SCR_Init_comm(comm), told = SCR_Last_error(text);
    dup2(saved, 2);
    close(saved);
    close(quiet);
    CHECK_INT(rc, SCR_E_ARG);
    CHECK_INT(told, SCR_E_ARG);
    if (strstr(text, word) == NULL)
        mpi_test_fail(t, __FILE__, __LINE__, "no \"%s\" in: %s", word, text);
    return rc;
}

static MPI_Comm make_inter(struct mpi_test *t)
{
    MPI_Comm part, inter;
    int odd = t->comm.rank % 2;
    MPI_Comm_split(t->comm.comm, odd, 0, &part);
    MPI_Intercomm_create(part, 0, t->comm.comm, !odd, 7, &inter);
    MPI_Comm_free(&part);
    return inter;
}

/* The program's error handlers stay as they are. */
MPI_CASE(what_is_no_communicator_is_refused)
{
    MPI_Errhandler before, after;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    refused(t, MPI_COMM_NULL, "MPI_COMM_NULL");
    MPI_Comm inter = make_inter(t);
    refused(t, inter, "inter-communicator");
    MPI_Comm_free(&inter);
    t->held.comms--; /* what made it is not counted, what freed it is */
    MPI_Comm one, copy;
    MPI_Comm_dup(t->comm.comm, &one);
    copy = one;
    MPI_Comm_free(&one);
    refused(t, copy, "freed");
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
    CHECK(before == after);
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&after);
    int have;
    CHECK_INT(SCR_Have_restart(&have, NULL), SCR_E_STATE); /* it has not begun */
}

/* --- two runs and a process outside --- */

/* Each finds its own again after a node of one was lost; halt files are their own. */
MPI_CASE(members_of_an_ensemble_do_not_mix)
{
    struct member m;
    char node[700];
    join(t, &m);
    if (m.number >= 0) {
        CHECK_INT(start(t, &m), SCR_SUCCESS);
        restart(t, &m, NULL);
        checkpoint(t, &m, "first");
        checkpoint(t, &m, m.number == 0 ? "ofzero" : "ofone");
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
    mpi_test_barrier(t->comm.comm);
    snprintf(node, sizeof node, "%s/cache/vnode.m0-n2", t->dir);
    CHECK_INT(access(node, F_OK), 0);
    mpi_test_barrier(t->comm.comm);
    if (t->comm.rank == 4)
        mpi_test_remove(node);
    mpi_test_barrier(t->comm.comm);
    if (m.number >= 0) {
        CHECK_INT(start(t, &m), SCR_SUCCESS);
        restart(t, &m, m.number == 0 ? "ofzero" : "ofone");
        checkpoint(t, &m, "third");
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
        CHECK(exists(m.prefix, ".scr/halt.scr"));
        CHECK(exists(m.prefix, ".scr/flush.scr"));
        MPI_Comm_free(&m.comm);
    }
}

/* --- the rest of the rules --- */

/* A number of processes of its own: what two wrote is read by one, which is not the
 * first of the world. The settings of SCR_Config hold for all. */
MPI_CASE(a_member_is_restarted_with_fewer_processes)
{
    struct member m;
    join(t, &m);
    if (m.number == 0) {
        CHECK_INT(start(t, &m), SCR_SUCCESS);
        CHECK_INT(SCR_Start_output("many", SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT),
                  SCR_SUCCESS);
        char path[SCR_MAX_FILENAME];
        route(t, &m, "many", path);
        FILE *f = fopen(path, "w");
        CHECK(f != NULL && fputs("text", f) >= 0 && fclose(f) == 0);
        CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
    if (m.comm != MPI_COMM_NULL)
        MPI_Comm_free(&m.comm);
    SCR_Config("SCR_RESTART_ANY_RANKS=1");
    SCR_Config("SCR_COPY_TYPE=SINGLE");
    if (t->comm.rank == 2) {
        char name[SCR_MAX_FILENAME], file[800];
        int have = 0, ranks = 0, n = 0;
        set(t, MPI_COMM_SELF, "SCR_PREFIX=%s/prefix.0", t->dir);
        set(t, MPI_COMM_SELF, "SCR_CACHE_BASE=%s/cache.self", t->dir);
        set(t, MPI_COMM_SELF, "SCR_CNTL_BASE=%s/cache.self", t->dir);
        CHECK_INT(SCR_Init_comm(MPI_COMM_SELF), SCR_SUCCESS);
        CHECK_INT(SCR_Have_restart(&have, name), SCR_SUCCESS);
        CHECK(have && strcmp(name, "many") == 0);
        CHECK_INT(SCR_Restart_ranks(&ranks), SCR_SUCCESS);
        CHECK_INT(ranks, 2);
        CHECK_INT(SCR_Start_restart(NULL), SCR_SUCCESS);
        CHECK_INT(SCR_Restart_files(&n), SCR_SUCCESS);
        CHECK_INT(n, 2);
        snprintf(file, sizeof file, "%s/prefix.0/many/rank_1", t->dir);
        CHECK_INT(SCR_Route_file(file, name), SCR_SUCCESS);
        CHECK_INT(access(name, R_OK), 0);
        CHECK_INT(SCR_Complete_restart(1), SCR_SUCCESS);
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
}

/* Where SCR_Init_comm fails its processes still agree among themselves, without the
 * communicator that they passed. */
MPI_CASE(a_member_without_scr_keeps_to_its_processes)
{
    struct member m;
    join(t, &m);
    if (m.number == 0) {
        set(t, m.comm, "SCR_PREFIX=/no/such/directory");
        set(t, m.comm, "SCR_CHECKPOINT_INTERVAL=1");
        CHECK_INT(SCR_Init_comm(m.comm), SCR_E_NOENT);
    }
    if (m.comm != MPI_COMM_NULL)
        MPI_Comm_free(&m.comm);
    if (m.number == 0) {
        int need = 0;
        CHECK_INT(SCR_Need_checkpoint(&need), SCR_SUCCESS);
        CHECK_INT(need, 1);
        CHECK_INT(SCR_Start_output("x", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
        CHECK_INT(SCR_Complete_output(t->comm.rank != 0), SCR_E_INVALID);
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
}

static void start_without_a_duplicate(struct mpi_test *t, const struct member *m)
{
    test_dups_fail = 1;
    CHECK_INT(SCR_Init_comm(m->comm), SCR_E_MPI);
    test_dups_fail = 0;
}

/* SCR_Config asks the processes of the member, too, not those of the world. */
MPI_CASE(a_member_without_a_duplicate_does_not_wait_for_others)
{
    struct member m;
    join(t, &m);
    if (m.number == 0) {
        start_without_a_duplicate(t, &m);
        CHECK(SCR_Config("SCR_FLUSH") == NULL);
        CHECK_INT(SCR_Last_error(NULL), SCR_SUCCESS);
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
    if (m.comm != MPI_COMM_NULL)
        MPI_Comm_free(&m.comm);
}

/* SCR has no duplicate of what the program frees. */
MPI_CASE(a_member_without_a_duplicate_frees_its_communicator)
{
    int need = 0;
    struct member m;
    join(t, &m);
    if (m.number == 0)
        start_without_a_duplicate(t, &m);
    if (m.comm != MPI_COMM_NULL)
        MPI_Comm_free(&m.comm);
    if (m.number == 0) {
        CHECK_INT(SCR_Need_checkpoint(&need), SCR_SUCCESS);
        CHECK_INT(need, 1);
        CHECK_INT(SCR_Start_output("x", SCR_FLAG_CHECKPOINT), SCR_SUCCESS);
        CHECK_INT(SCR_Complete_output(1), SCR_SUCCESS);
        CHECK(SCR_Config("SCR_FLUSH") == NULL);
        CHECK_INT(SCR_Finalize(), SCR_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    mpi_test_forget_settings();
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(what_is_no_communicator_is_refused),
                  RUN(members_of_an_ensemble_do_not_mix),
                  RUN(a_member_is_restarted_with_fewer_processes),
                  RUN(a_member_without_scr_keeps_to_its_processes),
                  RUN(a_member_without_a_duplicate_does_not_wait_for_others),
                  RUN(a_member_without_a_duplicate_frees_its_communicator)));
}
