/* SPDX-License-Identifier: BSD-3-Clause */
/* A few open descriptors standing for many files: the least recently used is closed for
 * the next. So a member may have any number of files. */
#ifndef SCR_RED_FDCACHE_H
#define SCR_RED_FDCACHE_H

#include "base/err.h"
#include "base/sys.h"
#include <stddef.h>
#include <stdint.h>

enum { SCR_FDCACHE_MAX = 32 };

struct scr_fdcache {
    const struct scr_sys *sys; /* borrowed */
    int flags;                 /* of open(2); files created are 0600 */
    int max;                   /* descriptors kept, 1 … SCR_FDCACHE_MAX */
    int n;
    uint64_t clock;
    struct {
        int fd;
        size_t id;
        char *path; /* for messages */
        uint64_t used;
    } slot[SCR_FDCACHE_MAX];
};

void scr_fdcache_init(struct scr_fdcache *c, const struct scr_sys *sys, int flags,
                      int max);
/* Descriptor of file number id at path; *fd belongs to the
 * cache and lasts until the next call. */
int scr_fdcache_get(struct scr_fdcache *c, size_t id, const char *path, int *fd,
                    struct scr_err *err);
/* Closes all; the first failed close is the error. */
int scr_fdcache_close(struct scr_fdcache *c, struct scr_err *err);

#endif
