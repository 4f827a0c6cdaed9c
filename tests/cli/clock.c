/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: a clock that is two seconds further on each time it is looked at. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id,
                                                         struct timespec *t);

int clock_gettime(clockid_t id, struct timespec *t)
{
    static long looks;
    long rc = syscall(SYS_clock_gettime, id, t);
    if (rc == 0 && id == CLOCK_MONOTONIC)
        t->tv_sec += 2 * ++looks;
    return (int)rc;
}
