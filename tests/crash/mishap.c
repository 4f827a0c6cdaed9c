/* SPDX-License-Identifier: BSD-3-Clause */
#include "mishap.h"
#include "strike.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int rank, n, pids[MISHAP_MOST];
    char mark[PATH_MAX];
    int alone;
} mishap;

void mishap_job(const char *journal)
{
    int pid = (int)getpid();
    MPI_Comm_rank(MPI_COMM_WORLD, &mishap.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mishap.n);
    if (mishap.n > MISHAP_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(mishap.mark, sizeof mishap.mark, "%s.died", journal);
    strike_open(mishap.rank);
    MPI_Allgather(&pid, 1, MPI_INT, mishap.pids, 1, MPI_INT, MPI_COMM_WORLD);
}

/* Stopped first, so that no process sees another one die. Of two that die at the same
 * time the first one makes the mark: else they could stop each other. */
static void die(void)
{
    long fd =
        syscall(SYS_openat, AT_FDCWD, mishap.mark, O_WRONLY | O_CREAT | O_EXCL, 0600);
    while (fd < 0 && errno == EEXIST)
        pause();
    if (fd >= 0)
        syscall(SYS_close, fd);
    for (int i = 0; i < mishap.n && !mishap.alone; i++)
        if (mishap.pids[i] != getpid())
            kill(mishap.pids[i], SIGSTOP);
    for (int i = 0; i < mishap.n && !mishap.alone; i++)
        if (mishap.pids[i] != getpid())
            kill(mishap.pids[i], SIGKILL);
    raise(SIGKILL);
}

/* when: RANK:N. */
static int die_later(const char *when, int alone)
{
    char what[64];
    int rank = -1, changes = 0;
    if (sscanf(when, "%d:%d", &rank, &changes) != 2 || rank != mishap.rank)
        return 1;
    mishap.alone = alone;
    snprintf(what, sizeof what, "change:%d:before", changes);
    return strike_arm(what, die);
}

/* of: RANK:WHAT. */
static int strike(const char *of)
{
    char *what;
    return strtol(of, &what, 10) != mishap.rank || strike_arm(what + 1, die);
}

int mishap_step(const char *what, const char *arg)
{
    if (strcmp(what, "heal") == 0)
        strike_refuse("", 0);
    else if (strcmp(what, "die") == 0)
        return die_later(arg, 0);
    else if (strcmp(what, "alone") == 0)
        return die_later(arg, 1);
    else if (strcmp(what, "strike") == 0)
        return strike(arg);
    else if (strcmp(what, "full") == 0)
        strike_refuse(arg, ENOSPC);
    else if (strcmp(what, "readonly") == 0)
        strike_refuse(arg, EROFS);
    else
        return 0;
    return 1;
}
