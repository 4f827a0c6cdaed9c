/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_held.h"

#include <dirent.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- MPI: the calls by which libscr makes and frees, counted on their way --- */

atomic_int test_longest_isend;
atomic_int test_collectives;
int test_splits_fail, test_dups_fail;

static atomic_long comms, requests; /* threads of one process count, too */

static int made(int code, const MPI_Comm *comm)
{
    test_collectives++;
    comms += code == MPI_SUCCESS && *comm != MPI_COMM_NULL;
    return code;
}

static int begun(int code, const MPI_Request *request)
{
    requests += code == MPI_SUCCESS && *request != MPI_REQUEST_NULL;
    return code;
}

static int collective(int code, const MPI_Request *request)
{
    test_collectives++;
    return begun(code, request);
}

int MPI_Comm_dup_with_info(MPI_Comm from, MPI_Info info, MPI_Comm *comm)
{
    if (test_dups_fail)
        return MPI_ERR_OTHER;
    return made(PMPI_Comm_dup_with_info(from, info, comm), comm);
}

/* With the hints of from, as up to MPI 3.1. */
int MPI_Comm_dup(MPI_Comm from, MPI_Comm *comm)
{
    MPI_Info info;
    MPI_Comm_get_info(from, &info);
    int code = MPI_Comm_dup_with_info(from, info, comm);
    MPI_Info_free(&info);
    return code;
}

int MPI_Comm_split(MPI_Comm from, int color, int key, MPI_Comm *comm)
{
    if (test_splits_fail)
        return MPI_ERR_OTHER;
    return made(PMPI_Comm_split(from, color, key, comm), comm);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    comms--;
    return PMPI_Comm_free(comm);
}

int MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    test_longest_isend = n > test_longest_isend ? n : test_longest_isend;
    return begun(PMPI_Isend(buf, n, type, to, tag, comm, request), request);
}

int MPI_Issend(const void *buf, int n, MPI_Datatype type, int to, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    return begun(PMPI_Issend(buf, n, type, to, tag, comm, request), request);
}

int MPI_Irecv(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return begun(PMPI_Irecv(buf, n, type, from, tag, comm, request), request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return collective(PMPI_Ibarrier(comm, request), request);
}

int MPI_Ibcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    return collective(PMPI_Ibcast(buf, n, type, root, comm, request), request);
}

int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    return collective(PMPI_Iallreduce(mine, all, n, type, op, comm, request), request);
}

int MPI_Iexscan(const void *mine, void *below, int n, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request *request)
{
    return collective(PMPI_Iexscan(mine, below, n, type, op, comm, request), request);
}

int MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                   MPI_Datatype all_type, MPI_Comm comm, MPI_Request *request)
{
    return collective(PMPI_Iallgather(mine, n, type, all, m, all_type, comm, request),
                      request);
}

int MPI_Exscan(const void *mine, void *below, int n, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm)
{
    test_collectives++;
    return PMPI_Exscan(mine, below, n, type, op, comm);
}

int MPI_Scan(const void *mine, void *upto, int n, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
{
    test_collectives++;
    return PMPI_Scan(mine, upto, n, type, op, comm);
}

int MPI_Gather(const void *mine, int n, MPI_Datatype type, void *all, int m,
               MPI_Datatype all_type, int root, MPI_Comm comm)
{
    test_collectives++;
    return PMPI_Gather(mine, n, type, all, m, all_type, root, comm);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    int was = *request != MPI_REQUEST_NULL;
    int code = PMPI_Test(request, done, status);
    requests -= was && *request == MPI_REQUEST_NULL;
    return code;
}

/* --- descriptors --- */

static int each_fd(void (*look)(const char *fd, const char *target))
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char link[300], target[600];
        snprintf(link, sizeof link, "/proc/self/fd/%s", e->d_name);
        ssize_t len = readlink(link, target, sizeof target - 1);
        if (len < 0)
            continue;
        target[len] = '\0';
        look(e->d_name, target);
        n++;
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void look_away(const char *fd, const char *target)
{
    (void)fd, (void)target;
}

static void print(const char *fd, const char *target)
{
    fprintf(stderr, "descriptor %s: %s\n", fd, target);
}

struct test_held test_held_now(void)
{
    struct test_held held = { comms, requests, each_fd(look_away) };
    return held;
}

void test_held_print_fds(void)
{
    (void)each_fd(print);
}

int test_held_deleted(const char *part)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[4096] = "";
        ssize_t got = readlinkat(dirfd(dir), e->d_name, path, sizeof path - 1);
        n +=
            got > 0 && strstr(path, part) != NULL && strstr(path, " (deleted)") != NULL;
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}
