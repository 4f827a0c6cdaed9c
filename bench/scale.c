/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the serial code of the library with made up input for 10^3, 10^4 … ranks, and
 * prints how time and memory grow.
 *
 *     scale [--most RANKS] [--limit SECONDS] [--only TEXT] DIR
 *
 * Each piece runs in its own process, with its files in a directory below DIR that
 * is removed afterwards. Seconds are of the processor, without waiting for a disk. For
 * work that one process does for all ranks, microseconds and bytes for each rank should
 * not grow; of what each rank does, those of a step. Bytes are the growth of the
 * resident memory at its peak, without the input. "growth" is the time of a rank, or
 * step, against that at a tenth of the ranks: 1 is linear in all, or flat for one. It
 * is marked from 2 on, where it is more than noise (a millisecond). For short pieces
 * the best of three runs counts. A piece that takes longer than the limit is killed.
 * The exit status does not depend on times. */
#include "scale.h"

#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/str.h"

enum { LEAST = 1000, MOST = 100000, LIMIT_S = 60, RUNS = 3, WATCHED = 2 };
static const double NOISE_S = 1e-3, SHORT_S = 0.5;

struct result {
    double seconds;
    size_t steps;
    long kib; /* that the resident memory grew by */
};

void scale_need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "scale: %s\n", what);
    exit(1);
}

void scale_done(int rc, const struct scr_err *err)
{
    scale_need(rc == SCR_OK, err->text);
}

/* --- memory --- */

/* A line of /proc/self/status, in KiB; 0: there is none. */
static long memory(const char *key)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtol(line + strlen(key), NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib;
}

/* The peak is what it is now. Memory that the input left free is given back, so that it
 * does not hide what the piece takes. */
static void forget_peak(void)
{
    malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "w");
    scale_need(f != NULL && fputs("5", f) >= 0 && fclose(f) == 0,
               "/proc/self/clear_refs cannot be written");
}

/* --- a piece --- */

/* Of this process, the system's work for it with it: other programs count less. */
static double processor_time(void)
{
    struct timespec t = { 0 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct result measure(const struct scale_piece *piece, struct scale *s)
{
    struct scr_err err = SCR_ERR_INIT;
    struct result r = { 0 };
    scale_done(scr_prefix_open(&s->env, s->dir, 1, &s->prefix, &err), &err);
    if (piece->prepare != NULL)
        piece->prepare(s);
    forget_peak();
    long before = memory("VmRSS:");
    double begun = processor_time();
    r.steps = piece->run(s);
    r.seconds = processor_time() - begun;
    r.kib = memory("VmHWM:") - before;
    return r;
}

/* In its own process: 1 if it came to its end. Its input has as much time again.
 */
static int run_piece(const struct scale_piece *piece, struct scale *s, unsigned limit_s,
                     struct result *r)
{
    int fd[2], status = -1;
    scale_need(pipe(fd) == 0, "no pipe");
    pid_t pid = fork();
    scale_need(pid >= 0, "no process");
    if (pid == 0) {
        alarm(2 * limit_s);
        struct result mine = measure(piece, s);
        _exit(write(fd[1], &mine, sizeof mine) != sizeof mine);
    }
    close(fd[1]);
    int got = read(fd[0], r, sizeof *r) == sizeof *r;
    close(fd[0]);
    waitpid(pid, &status, 0);
    scale_need(WIFSIGNALED(status) || status == 0, piece->name);
    return got;
}

/* The best of some runs, where they are short: other programs disturb. 0: one of them
 * took too long. */
static int run_best(const struct scale_piece *piece, struct scale *s, unsigned limit_s,
                    struct result *best)
{
    int ended = 1;
    for (int i = 0; i < RUNS && ended && (i == 0 || best->seconds < SHORT_S); i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct result r;
        scale_done(scr_dir_make(s->env.sys, s->dir, 0700, &err), &err);
        ended = run_piece(piece, s, limit_s, &r);
        scale_done(scr_dir_remove(s->env.sys, s->dir, &err), &err);
        if (ended && (i == 0 || r.seconds < best->seconds))
            *best = r;
    }
    return ended;
}

static void print(const struct scale_piece *piece, int ranks, const struct result *r,
                  double before)
{
    double each = r->seconds / (double)r->steps;
    printf("%-34s %8d %10.4f %10.3f", piece->name, ranks, r->seconds, each * 1e6);
    if (piece->is_for_all)
        printf(" %10.0f", (double)r->kib * 1024 / ranks);
    else
        printf(" %9ldK", r->kib);
    if (before > 0)
        printf(" %8.1f%s", each / before,
               each / before >= WATCHED && r->seconds > NOISE_S ? " !" : "");
    printf("\n");
    fflush(stdout);
}

static void grow(const struct scale_piece *piece, struct scale *s, int most,
                 unsigned limit_s)
{
    double before = 0;
    if (piece->most > 0 && most > piece->most)
        most = piece->most;
    for (int ranks = LEAST; ranks <= most; ranks *= 10) {
        struct result r;
        s->ranks = ranks;
        if (!run_best(piece, s, limit_s, &r)) {
            printf("%-34s %8d   more than %u s\n", piece->name, ranks, limit_s);
            return;
        }
        print(piece, ranks, &r, before);
        before = r.seconds / (double)r.steps;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "most", required_argument, NULL, 'm' },
                                             { "limit", required_argument, NULL, 'l' },
                                             { "only", required_argument, NULL, 'o' },
                                             { 0 } };
    int most = MOST, limit_s = LIMIT_S, ok = 1, c;
    const char *only = "";
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 'm':
            ok &= scr_parse_int(optarg, &most);
            break;
        case 'l':
            ok &= scr_parse_int(optarg, &limit_s) && limit_s > 0;
            break;
        case 'o':
            only = optarg;
            break;
        default:
            ok = 0;
        }
    if (!ok || optind != argc - 1) {
        fprintf(stderr,
                "usage: scale [--most RANKS] [--limit SECONDS] [--only TEXT] DIR\n");
        return 2;
    }
    struct scale s = { .env = { .sys = &scr_sys_posix },
                       .dir = scr_asprintf("%s/scr.scale.%d", argv[optind], getpid()) };
    scale_need(s.dir != NULL, "out of memory");
    printf("%-34s %8s %10s %10s %10s %8s\n", "", "ranks", "seconds", "us each",
           "bytes each", "growth");
    for (size_t i = 0; i < scale_npieces; i++)
        if (strstr(scale_pieces[i].name, only) != NULL)
            grow(&scale_pieces[i], &s, most, (unsigned)limit_s);
    free((char *)s.dir);
    return 0;
}
