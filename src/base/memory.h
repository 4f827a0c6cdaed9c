/* SPDX-License-Identifier: BSD-3-Clause */
/* Room for files: on a file system, and in the memory that some of them are in.
 *
 * A file system in memory (tmpfs, ramfs) reports how much it may hold, not how much
 * memory exists: a program that fills it may be killed by the kernel first.
 */
#ifndef SCR_BASE_MEMORY_H
#define SCR_BASE_MEMORY_H

#include "base/sys.h"
#include <stdint.h>

/* Where the kernel reports its memory; tests have their own directories. */
struct scr_memory_at {
    const char *proc, *cgroup;
};
extern const struct scr_memory_at scr_memory_of_kernel; /* /proc, /sys/fs/cgroup */

/* Bytes of memory that this process and those it shares limits with can still take: the
 * least of MemAvailable and of what the limit of each control group it is in (version 1
 * and 2) leaves. Pages of files that the kernel can drop count as free. UINT64_MAX: the
 * kernel reports nothing. */
uint64_t scr_memory_left(const struct scr_sys *sys, const struct scr_memory_at *at);

/* 1 if the open file is in a tmpfs or ramfs. */
int scr_is_in_memory(const struct scr_sys *sys, int fd);

/* Bytes that files below the directory path may take: what its file system has free; in
 * memory at most three quarters of what is left there, as the program needs some, too.
 * UINT64_MAX: the file system does not report it. */
uint64_t scr_room_at(const struct scr_sys *sys, const struct scr_memory_at *at,
                     const char *path);

#endif
