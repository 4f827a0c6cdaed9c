/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of scr.h that must fail: with their code on all ranks, and exactly one line on
 * stderr, which is also that of SCR_Last_error. */
#ifndef SCR_TEST_HELPER_MISUSE_H
#define SCR_TEST_HELPER_MISUSE_H

#include <fcntl.h>

#include "mpi_test.h"
#include "scr.h"

struct capture {
    int saved;
    char path[600];
};

static void capture_start(struct mpi_test *t, struct capture *c)
{
    snprintf(c->path, sizeof c->path, "%s/stderr.%d", t->dir, t->comm.rank);
    fflush(stderr);
    c->saved = dup(2);
    int fd = open(c->path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(fd, 2);
    close(fd);
}

/* Lines of all ranks together; text gets this rank's. */
static int capture_end(struct capture *c, char *text, size_t n)
{
    fflush(stderr);
    dup2(c->saved, 2);
    close(c->saved);
    FILE *f = fopen(c->path, "r");
    size_t got = f ? fread(text, 1, n - 1, f) : 0;
    text[got] = '\0';
    if (f)
        fclose(f);
    int lines = 0, all = 0;
    for (size_t i = 0; i < got; i++)
        lines += text[i] == '\n';
    MPI_Allreduce(&lines, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* SCR_Last_error has the code of the call and, if it printed a line, that line. */
static void check_last(struct mpi_test *t, int rc, const char *printed)
{
    char text[SCR_MAX_FILENAME];
    CHECK_INT(SCR_Last_error(text), rc);
    CHECK_INT(SCR_Last_error(NULL), rc);
    CHECK((rc == SCR_SUCCESS) == (text[0] == '\0'));
    CHECK(printed == NULL || strstr(printed, text) != NULL);
}

/* A collective call that must fail with this code, one line and, if word is given, that
 * word. */
#define MISUSE(call, want, word)                                                       \
    do {                                                                               \
        struct capture cap_;                                                           \
        char text_[4096];                                                              \
        capture_start(t, &cap_);                                                       \
        int rc_ = (call);                                                              \
        int lines_ = capture_end(&cap_, text_, sizeof text_);                          \
        if (rc_ != (want))                                                             \
            mpi_test_fail(t, __FILE__, __LINE__, "%s = %s, not %s: %s", #call,         \
                          scr_err_meaning(rc_), scr_err_meaning(want), text_);         \
        if (lines_ != 1)                                                               \
            mpi_test_fail(t, __FILE__, __LINE__, "%s: %d lines: %s", #call, lines_,    \
                          text_);                                                      \
        if (t->comm.rank == 0 && strstr(text_, word) == NULL)                          \
            mpi_test_fail(t, __FILE__, __LINE__, "%s: no \"%s\" in: %s", #call, word,  \
                          text_);                                                      \
        check_last(t, rc_, t->comm.rank == 0 ? text_ : NULL);                          \
    } while (0)

/* Route_file is local: the rank that errs speaks, so its lines are not counted over the
 * ranks. */
#define MISROUTE(name, file, want)                                                     \
    do {                                                                               \
        struct capture cap_;                                                           \
        char text_[4096];                                                              \
        capture_start(t, &cap_);                                                       \
        int rc_ = SCR_Route_file(name, file);                                          \
        capture_end(&cap_, text_, sizeof text_);                                       \
        if (rc_ != (want) || strchr(text_, '\n') != strrchr(text_, '\n') || !text_[0]) \
            mpi_test_fail(t, __FILE__, __LINE__, "route %s = %s, not %s: %s", #name,   \
                          scr_err_meaning(rc_), scr_err_meaning(want), text_);         \
        check_last(t, rc_, text_);                                                     \
    } while (0)

static int config_code(const char *text)
{
    free((char *)(uintptr_t)SCR_Config(text));
    return SCR_Last_error(NULL); /* Config itself has no code */
}

#endif
