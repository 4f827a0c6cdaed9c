/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a program: writes what SCR asked of it and answered to each rank into
 * the file TEST_LEDGER, a line each (records.py), with one write. What a line says has
 * happened has happened, also if the process is killed after it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scr.h"

#define PUBLIC __attribute__((visibility("default")))

static const char *current = "-"; /* the dataset of the phase */

/* dlsym gives data pointers, and C has no conversion of those to functions. */
#define REAL(call, ...)                                                                \
    int (*real)(__VA_ARGS__);                                                          \
    void *symbol = dlsym(RTLD_NEXT, #call);                                            \
    memcpy(&real, &symbol, sizeof real)

static const char *rank_name(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL)
        rank = getenv("PMI_RANK");
    return rank != NULL ? rank : "-";
}

static void note(const char *what, const char *name, int value)
{
    char line[SCR_MAX_FILENAME + 128];
    struct timespec t;
    const char *ledger = getenv("TEST_LEDGER");
    clock_gettime(CLOCK_REALTIME, &t);
    int n = snprintf(line, sizeof line, "%lld.%06ld %s %s %s %d\n", (long long)t.tv_sec,
                     t.tv_nsec / 1000, rank_name(), what, name, value);
    int fd = ledger ? open(ledger, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

static void enter(const char *name)
{
    static char kept[SCR_MAX_FILENAME];
    snprintf(kept, sizeof kept, "%s", name);
    current = kept;
}

PUBLIC int SCR_Init(void)
{
    REAL(SCR_Init, void);
    int rc = real();
    note("init", "-", rc);
    return rc;
}

PUBLIC int SCR_Start_output(const char *name, int flags)
{
    REAL(SCR_Start_output, const char *, int);
    int rc = real(name, flags);
    enter(name);
    note("start", name, rc);
    return rc;
}

PUBLIC int SCR_Complete_output(int valid)
{
    REAL(SCR_Complete_output, int);
    note("wrote", current, valid);
    int rc = real(valid);
    note("complete", current, rc);
    return rc;
}

PUBLIC int SCR_Have_restart(int *flag, char *name)
{
    REAL(SCR_Have_restart, int *, char *);
    int rc = real(flag, name);
    if (rc == SCR_SUCCESS && *flag)
        enter(name);
    note("offer", rc == SCR_SUCCESS && *flag ? name : "-", rc);
    return rc;
}

PUBLIC int SCR_Complete_restart(int valid)
{
    REAL(SCR_Complete_restart, int);
    note("read", current, valid);
    int rc = real(valid);
    note("restart", current, rc);
    return rc;
}
