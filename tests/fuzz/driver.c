/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target without libFuzzer: every file given, then random changes of them.
 *
 *     fuzz_index [-r ROUNDS] [-t SECONDS] [-s SEED] [-k KEPT] [FILE|DIRECTORY]...
 *
 * The same seed, rounds and files make the same inputs, so a crash repeats; with
 * seconds there are as many rounds as they have room for. The input that crashes it, or
 * takes longer than HANGS_S, is written to the file KEPT. */
#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "fuzz.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_INPUT = 1 << 20, MOST_INPUTS = 4096, GROWTH = 64, HANGS_S = 20 };

struct input {
    uint8_t *bytes;
    size_t n;
};

static struct {
    struct input list[MOST_INPUTS];
    size_t n;
} corpus;

static uint64_t next_random(uint64_t *state) /* xorshift64* */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static size_t below(uint64_t *state, size_t n)
{
    return n == 0 ? 0 : (size_t)(next_random(state) % n);
}

/* --- inputs --- */

static int load(const char *path)
{
    void *bytes;
    struct scr_err err = SCR_ERR_INIT;
    struct input *in = &corpus.list[corpus.n];
    if (corpus.n == MOST_INPUTS)
        return 0;
    if (scr_file_load(&scr_sys_posix, path, LARGEST_INPUT, &bytes, &in->n, &err) !=
        SCR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 0;
    }
    in->bytes = bytes;
    corpus.n++;
    return 1;
}

static int load_all(const char *path)
{
    struct dirent *entry;
    DIR *dir = opendir(path);
    int ok = 1;
    if (dir == NULL)
        return load(path);
    while (ok && (entry = readdir(dir)) != NULL) {
        char *file = scr_asprintf("%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            ok = file != NULL && load(file);
        free(file);
    }
    closedir(dir);
    return ok;
}

/* --- runs --- */

/* What runs now, the caller's copy, which no target can change. */
static struct {
    const char *kept;
    const uint8_t *bytes;
    size_t n;
} current;

/* Also called by signal handlers. */
static void keep(void)
{
    int fd = current.kept != NULL && current.bytes != NULL
                 ? open(current.kept, O_WRONLY | O_CREAT | O_TRUNC, 0666)
                 : -1;
    if (fd < 0)
        return;
    if (write(fd, current.bytes, current.n) == (ssize_t)current.n)
        (void)!write(STDERR_FILENO, "input kept\n", 11);
    (void)close(fd);
}

static void keep_and_die(int sig)
{
    keep();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

/* Sanitizers report before they end the process, and have handlers of their own. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void keep_what_crashes(const char *path)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    current.kept = path;
    (void)signal(SIGABRT, keep_and_die);
    (void)signal(SIGALRM, keep_and_die);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(keep);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (__sanitizer_set_death_callback == NULL)
            (void)signal(faults[i], keep_and_die);
}

/* In a block of exactly its size, so that a read past its end is found. */
static void run(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n > 0 ? n : 1);
    FUZZ_CHECK(exact != NULL);
    memcpy(exact, bytes, n);
    current.n = n;
    current.bytes = bytes;
    (void)alarm(HANGS_S);
    (void)LLVMFuzzerTestOneInput(exact, n);
    (void)alarm(0);
    current.bytes = NULL;
    free(exact);
}

/* --- changes --- */

static void change(uint8_t *p, size_t *n, uint64_t *rnd)
{
    static const uint8_t telling[] = {
        0x00, 0x01, 0x7f, 0x80, 0xff, '0', '9', '/', '.'
    };
    size_t at = below(rnd, *n), from = below(rnd, *n), len = below(rnd, GROWTH);
    if (*n == 0)
        return;
    switch (next_random(rnd) % 6) {
    case 0:
        p[at] = (uint8_t)(p[at] ^ 1U << next_random(rnd) % 8);
        break;
    case 1:
        p[at] = telling[below(rnd, sizeof telling)];
        break;
    case 2:
        p[at] = (uint8_t)next_random(rnd);
        break;
    case 3: /* cut out */
        len = len < *n - at ? len : *n - at;
        memmove(p + at, p + at + len, *n - at - len);
        *n -= len;
        break;
    case 4: /* put a piece in twice */
        len = len < *n - from ? len : *n - from;
        memmove(p + at + len, p + at, *n - at);
        memmove(p + at, p + (from >= at ? from + len : from), len);
        *n += len;
        break;
    default: /* cut off */
        *n = at;
    }
}

static void run_changed(const struct input *in, uint64_t *rnd)
{
    enum { CHANGES = 6 };
    size_t n = in->n, times = 1 + below(rnd, CHANGES);
    uint8_t *p = malloc(n + (CHANGES + 1) * GROWTH);
    FUZZ_CHECK(p != NULL);
    memcpy(p, in->bytes, n);
    for (size_t i = 0; i < times; i++)
        change(p, &n, rnd);
    run(p, n);
    free(p);
}

static int usage(void)
{
    fputs("usage: fuzz_... [-r ROUNDS] [-t SECONDS] [-s SEED] [-k KEPT] "
          "[FILE|DIRECTORY]...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t rounds = 0, seconds = 0, seed = 1;
    for (int opt; (opt = getopt(argc, argv, "r:t:s:k:")) != -1;) {
        if (opt == 'k') {
            keep_what_crashes(optarg);
            continue;
        }
        uint64_t *value = opt == 'r' ? &rounds : opt == 't' ? &seconds : &seed;
        if (opt == '?' || !scr_parse_u64(optarg, value) || seed == 0)
            return usage();
    }
    for (int i = optind; i < argc; i++)
        if (!load_all(argv[i]))
            return 1;
    if (corpus.n == 0) /* begins with zeros */
        corpus.list[corpus.n++] = (struct input){ scr_calloc(GROWTH, 1), GROWTH };
    FUZZ_CHECK(corpus.list[0].bytes != NULL);
    run((const uint8_t *)"", 0);
    for (size_t i = 0; i < corpus.n; i++)
        run(corpus.list[i].bytes, corpus.list[i].n);
    const double until = scr_now_mono() + (double)seconds;
    uint64_t done = 0;
    for (; done < rounds || (seconds > 0 && scr_now_mono() < until); done++)
        run_changed(&corpus.list[below(&seed, corpus.n)], &seed);
    printf("%zu files and %llu changes of them: fine\n", corpus.n,
           (unsigned long long)done);
    for (size_t i = 0; i < corpus.n; i++)
        free(corpus.list[i].bytes);
    return 0;
}
