/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of our own, and where they run. */
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"

enum { LIST_MAX = 64 * 1024 }; /* bytes, of a list of processors */

int scr_thread_start(pthread_t *thread, const cpu_set_t *where, void *(*run)(void *),
                     void *arg)
{
    sigset_t all, before;
    pthread_attr_t attr;
    int code = pthread_attr_init(&attr);
    if (code != 0)
        return code;
    if (where != NULL)
        code = pthread_attr_setaffinity_np(&attr, sizeof *where, where);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (code == 0)
        code = pthread_create(thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return code;
}

/* "3" or "0-3"; 1 on success. */
static int add_range(char *text, cpu_set_t *set)
{
    int first, last;
    char *dash = strchr(text, '-');
    if (dash != NULL)
        *dash = '\0';
    if (!scr_parse_int(text, &first) ||
        !scr_parse_int(dash != NULL ? dash + 1 : text, &last) || first < 0 ||
        last >= CPU_SETSIZE)
        return 0;
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET((size_t)cpu, set);
    return 1;
}

/* "0-3,8,12-15" as the kernel writes it; 1 if all of it could be read. */
static int parse_processors(char *text, cpu_set_t *set)
{
    char *save = NULL;
    CPU_ZERO(set);
    for (char *part = strtok_r(text, ",\n", &save); part != NULL;
         part = strtok_r(NULL, ",\n", &save))
        if (!add_range(part, set))
            return 0;
    return 1;
}

/* What two threads hand each other goes through that cache, and their memory is the
 * same. */
static int find_neighbours(const struct scr_sys *sys, int cpu, cpu_set_t *set)
{
    char path[96];
    void *text = NULL;
    size_t n;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
    int known = scr_file_load(sys, path, LIST_MAX, &text, &n, NULL) == SCR_OK &&
                parse_processors(text, set);
    free(text);
    return known;
}

static int first_processor(const cpu_set_t *set)
{
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET((size_t)cpu, set))
        cpu++;
    return cpu;
}

int scr_thread_find_place(const struct scr_sys *sys, cpu_set_t *where)
{
    if (sched_getaffinity(0, sizeof *where, where) != 0)
        return 0;
    if (CPU_COUNT(where) > 1)
        return 1;
    int mine = first_processor(where);
    if (!find_neighbours(sys, mine, where))
        return 0;
    CPU_CLR((size_t)mine, where);
    return CPU_COUNT(where) > 0;
}
