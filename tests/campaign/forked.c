/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts ranks of promises.c. The program reads a line for each run from stdin, fields
 * separated by tabs:
 *
 *     RANKS  SECONDS  DIRECTORY  LOG  NAME=VALUE…  --  ARGUMENT…
 *
 * and answers with the status of each rank (128 + signal), or "hung". When a rank is
 * killed, the others are, as a launcher does. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forked.h"
#include "promises.h"

enum { FIELDS = 256 };

struct run {
    int n, pairs[RANKS][RANKS];
    double seconds;
    char *dir, *log, **env, **args;
    int nenv, nargs;
    pid_t pids[RANKS];
    int status[RANKS];
};

static void become_rank(struct run *run, int rank)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wires_open(rank, run->n, run->pairs[rank]);
    comms_open(rank, run->n);
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < run->n; b++)
            if (a != rank && a != b)
                close(run->pairs[a][b]);
    int log = open(run->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    if (log < 0 || null < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
        dup2(null, 0) < 0)
        wires_fatal(run->log);
    close(log);
    close(null);
    for (int i = 0; i < run->nenv; i++)
        putenv(run->env[i]);
    if (chdir(run->dir) != 0)
        wires_fatal(run->dir);
    exit(promises(run->nargs, run->args));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void kill_all(const struct run *run)
{
    for (int r = 0; r < run->n; r++)
        if (run->pids[r] > 0)
            kill(run->pids[r], SIGKILL);
}

/* Processes that the ranks left have become children of this one. */
static void kill_orphans(void)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int tries = 0; tries < 1000; tries++) {
        FILE *f = fopen(path, "r");
        if (f == NULL)
            return;
        size_t n = fread(line, 1, sizeof line - 1, f);
        fclose(f);
        line[n] = '\0';
        char *at = line;
        long pid = strtol(at, &at, 10);
        if (pid <= 0)
            return;
        kill((pid_t)pid, SIGKILL);
        waitpid((pid_t)pid, NULL, 0);
    }
}

/* 0: it took too long. */
static int reap(struct run *run)
{
    int left = run->n, in_time = 1;
    const double until = now() + run->seconds;
    while (left > 0) {
        int st, r = 0;
        pid_t pid = waitpid(-1, &st, WNOHANG);
        while (r < run->n && run->pids[r] != pid)
            r++;
        if (pid > 0 && r < run->n) {
            run->status[r] = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
            run->pids[r] = 0;
            left--;
            if (run->status[r] != 0)
                kill_all(run);
        } else if (pid <= 0) {
            const struct timespec nap = { 0, 200000 };
            nanosleep(&nap, NULL);
        }
        if (in_time && now() > until) {
            in_time = 0;
            kill_all(run);
        }
    }
    return in_time;
}

static void start(struct run *run)
{
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < a; b++) {
            int fd[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
                wires_fatal("socketpair");
            run->pairs[a][b] = fd[0];
            run->pairs[b][a] = fd[1];
        }
    for (int r = 0; r < run->n; r++) {
        run->pids[r] = fork();
        if (run->pids[r] == 0)
            become_rank(run, r);
    }
    for (int a = 0; a < run->n; a++)
        for (int b = 0; b < run->n; b++)
            if (a != b)
                close(run->pairs[a][b]);
}

static int parse(char *line, struct run *run, char **fields)
{
    int n = 0, at = 4;
    for (char *rest = line, *f; n < FIELDS - 1 && (f = strsep(&rest, "\t\n")) != NULL;)
        if (*f != '\0')
            fields[n++] = f;
    fields[n] = NULL;
    if (n < 6)
        return 0;
    run->n = (int)strtol(fields[0], NULL, 10);
    run->seconds = strtod(fields[1], NULL);
    run->dir = fields[2];
    run->log = fields[3];
    for (run->env = &fields[at]; at < n && strcmp(fields[at], "--") != 0; at++)
        run->nenv++;
    run->args = &fields[at];
    run->nargs = n - at;
    return run->n > 0 && run->n <= RANKS && run->nargs > 0;
}

int main(void)
{
    static char line[1 << 16], *fields[FIELDS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct run run = { 0 };
        if (!parse(line, &run, fields))
            return 2;
        start(&run);
        int in_time = reap(&run);
        kill_orphans();
        for (int r = 0; r < run.n && in_time; r++)
            printf("%d ", run.status[r]);
        printf("%s\n", in_time ? "" : "hung");
        fflush(stdout);
    }
    return 0;
}
