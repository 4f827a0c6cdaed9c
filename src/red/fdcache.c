/* SPDX-License-Identifier: BSD-3-Clause */
/* A few open descriptors standing for many files. */
#include "red/fdcache.h"

#include "base/io.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

void scr_fdcache_init(struct scr_fdcache *c, const struct scr_sys *sys, int flags,
                      int max)
{
    memset(c, 0, sizeof *c);
    c->sys = sys;
    c->flags = flags;
    c->max = max < 1 ? 1 : max > SCR_FDCACHE_MAX ? SCR_FDCACHE_MAX : max;
}

static int close_slot(struct scr_fdcache *c, int slot, struct scr_err *err)
{
    int rc = scr_close(c->sys, &c->slot[slot].fd, c->slot[slot].path, err);
    free(c->slot[slot].path);
    c->slot[slot].path = NULL;
    return rc;
}

/* The slot to (re)use: a fresh one, or the least recently used, closed. */
static int free_slot(struct scr_fdcache *c, int *slot, struct scr_err *err)
{
    *slot = c->n;
    if (c->n < c->max)
        return SCR_OK;
    *slot = 0;
    for (int i = 1; i < c->n; i++)
        if (c->slot[i].used < c->slot[*slot].used)
            *slot = i;
    return close_slot(c, *slot, err);
}

int scr_fdcache_get(struct scr_fdcache *c, size_t id, const char *path, int *fd,
                    struct scr_err *err)
{
    for (int i = 0; i < c->n; i++) {
        if (c->slot[i].fd >= 0 && c->slot[i].id == id) {
            c->slot[i].used = ++c->clock;
            *fd = c->slot[i].fd;
            return SCR_OK;
        }
    }
    int slot;
    TRY(free_slot(c, &slot, err));
    char *copy = scr_strdup(path);
    int rc = copy != NULL ? scr_open(c->sys, path, c->flags | O_NOFOLLOW, 0600, fd, err)
                          : scr_no_memory(err);
    if (rc != SCR_OK) {
        free(copy);
        return rc;
    }
    c->slot[slot].fd = *fd;
    c->slot[slot].id = id;
    c->slot[slot].path = copy;
    c->slot[slot].used = ++c->clock;
    if (slot == c->n)
        c->n++;
    return SCR_OK;
}

int scr_fdcache_close(struct scr_fdcache *c, struct scr_err *err)
{
    int rc = SCR_OK;
    for (int i = 0; i < c->n; i++)
        rc = scr_first(rc, close_slot(c, i, err));
    c->n = 0;
    return rc;
}
