/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a memory file system (tmpfs, ramfs), used in place.
 *
 * There, read(2) and write(2) copy from memory to memory, page by page, and a first
 * read of what was just written costs as much again for the kernel's page lists. So
 * what is to be sent, checked or received is used where it lies. Everywhere else a
 * mapping would turn an error of the device into SIGBUS, so none is made.
 *
 * A file must have all its pages, then no access can find the file system full. Files
 * of others are asked before each window whether that still holds: one that somebody
 * cut short shows as a window that is not to be had, and the pread(2) done instead then
 * says why.
 *
 * Making a mapping of a large file costs as much as copying it. So mappings of files
 * that are written over and over can be kept: a scr_map_keep holds those of the last
 * few, by inode, and whoever removes such a file forgets it there. */
#ifndef SCR_BASE_MAP_H
#define SCR_BASE_MAP_H

#include "base/sys.h"
#include <stddef.h>
#include <stdint.h>

struct scr_map {
    uint8_t *at;      /* NULL: not mapped */
    uint64_t n;       /* bytes of the file to be used */
    uint64_t len;     /* bytes mapped, >= n */
    uint64_t touched; /* bytes handed out so far, or len: all pages are in place */
    int writable;     /* a file of our own, that nobody else changes */
    dev_t dev;
    ino_t ino;
};

enum { SCR_MAPS_KEPT = 4 };
struct scr_map_keep {
    struct scr_map map[SCR_MAPS_KEPT]; /* the last used first */
};

/* Files smaller than this are not worth a mapping. */
enum { SCR_MAP_LEAST = 256 * 1024 };

/* Maps the first n bytes of an open file if it is large enough, lies in memory and has
 * all its pages (new ones are cheaper made by write(2), and holes shall stay holes);
 * else map->at is NULL. Never an error. Either way the offset of fd may have moved:
 * what is not mapped is read with pread(2). keep: for a file of our own, open for
 * O_RDWR, which is to be written; NULL: to be read. */
void scr_map_open(const struct scr_sys *sys, struct scr_map_keep *keep, int fd,
                  uint64_t n, struct scr_map *map);
/* n bytes at off; NULL: use pread(2) or pwrite(2). fd: of the same file. */
uint8_t *scr_map_window(const struct scr_sys *sys, struct scr_map *map, int fd,
                        uint64_t off, size_t n);
/* keep as in the open. */
void scr_map_close(const struct scr_sys *sys, struct scr_map_keep *keep,
                   struct scr_map *map);

/* The file at path is about to be removed: its pages shall go with it. */
void scr_map_forget(const struct scr_sys *sys, struct scr_map_keep *keep,
                    const char *path);
void scr_map_keep_fini(const struct scr_sys *sys, struct scr_map_keep *keep);

#endif
