/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows into files of a memory file system. */
#include "base/map.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    BLOCK = 512, /* unit of st_blocks */
    /* A mapping that is kept goes on to the end of a page of this size: the length of a
     * header varies by some bytes. */
    SLACK = 64 * 1024
};

static const struct scr_map UNMAPPED;

/* 1 if the first n bytes are there, and pages enough for them. */
static int has_pages(const struct scr_sys *sys, int fd, uint64_t n, struct stat *st)
{
    return sys->fstat(fd, st) == 0 && (uint64_t)st->st_size >= n &&
           (uint64_t)st->st_blocks * BLOCK >= n;
}

/* Pages may lie past the end of the file, so that their number alone says nothing. */
static int has_no_hole(const struct scr_sys *sys, int fd, uint64_t n)
{
    off_t hole = sys->lseek(fd, 0, SEEK_HOLE);
    return hole >= 0 && (uint64_t)hole >= n;
}

static void unmap(const struct scr_sys *sys, struct scr_map *map)
{
    if (map->at != NULL)
        (void)sys->munmap(map->at, (size_t)map->len);
    *map = UNMAPPED;
}

/* --- what is kept --- */

/* Takes slot i out of keep. */
static struct scr_map take(struct scr_map_keep *keep, int i)
{
    struct scr_map map = keep->map[i];
    memmove(&keep->map[i], &keep->map[i + 1],
            (size_t)(SCR_MAPS_KEPT - 1 - i) * sizeof keep->map[0]);
    keep->map[SCR_MAPS_KEPT - 1] = UNMAPPED;
    return map;
}

static struct scr_map find(struct scr_map_keep *keep, const struct stat *st)
{
    for (int i = 0; i < SCR_MAPS_KEPT; i++)
        if (keep->map[i].at != NULL && keep->map[i].ino == st->st_ino &&
            keep->map[i].dev == st->st_dev)
            return take(keep, i);
    return UNMAPPED;
}

static void put(const struct scr_sys *sys, struct scr_map_keep *keep,
                const struct scr_map *map)
{
    unmap(sys, &keep->map[SCR_MAPS_KEPT - 1]);
    memmove(&keep->map[1], &keep->map[0], (SCR_MAPS_KEPT - 1) * sizeof keep->map[0]);
    keep->map[0] = *map;
}

void scr_map_forget(const struct scr_sys *sys, struct scr_map_keep *keep,
                    const char *path)
{
    struct stat st;
    if (keep->map[0].at == NULL ||
        sys->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    struct scr_map map = find(keep, &st);
    unmap(sys, &map);
}

void scr_map_keep_fini(const struct scr_sys *sys, struct scr_map_keep *keep)
{
    for (int i = 0; i < SCR_MAPS_KEPT; i++)
        unmap(sys, &keep->map[i]);
}

/* --- mappings --- */

static uint64_t with_slack(uint64_t n)
{
    return (n + SLACK - 1) / SLACK * SLACK;
}

static struct scr_map map_new(const struct scr_sys *sys, int fd, uint64_t n,
                              int writable, const struct stat *st)
{
    uint64_t len = writable ? with_slack(n) : n;
    int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = sys->mmap(NULL, (size_t)len, prot, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return UNMAPPED;
    /* Used once, in order: the pages keep their places in the kernel's lists, whose
     * upkeep would cost as much as a copy. */
    (void)sys->madvise(at, (size_t)len, MADV_SEQUENTIAL);
    return (struct scr_map){
        at, n, len, .writable = writable, .dev = st->st_dev, .ino = st->st_ino
    };
}

void scr_map_open(const struct scr_sys *sys, struct scr_map_keep *keep, int fd,
                  uint64_t n, struct scr_map *map)
{
    struct stat st;
    *map = UNMAPPED;
    if (n < SCR_MAP_LEAST || n > SIZE_MAX - SLACK || sys->fstat(fd, &st) != 0 ||
        !scr_is_in_memory(sys, fd))
        return;
    if (keep != NULL)
        *map = find(keep, &st);
    /* A file that was cut has lost pages that the mapping, and network adapters that
     * know it, may still hold: such a mapping is not used again. */
    int whole = has_pages(sys, fd, n, &st) && has_no_hole(sys, fd, n);
    if (!whole || with_slack(map->n) != with_slack(n))
        unmap(sys, map);
    if (whole && map->at == NULL)
        *map = map_new(sys, fd, n, keep != NULL, &st);
    map->n = map->at != NULL ? n : 0;
}

/* A read brings in many pages at a time, writable ones if the mapping is; a first write
 * would bring in one. */
static void touch(struct scr_map *map, uint64_t off, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i += page)
        (void)*(const volatile uint8_t *)(map->at + off + i);
    map->touched += n;
}

uint8_t *scr_map_window(const struct scr_sys *sys, struct scr_map *map, int fd,
                        uint64_t off, size_t n)
{
    struct stat st;
    if (map->at == NULL || off > map->n || n > map->n - off ||
        (!map->writable && !has_pages(sys, fd, map->n, &st)))
        return NULL;
    if (map->writable && map->touched < map->len)
        touch(map, off, n);
    return map->at + off;
}

void scr_map_close(const struct scr_sys *sys, struct scr_map_keep *keep,
                   struct scr_map *map)
{
    if (keep == NULL || map->at == NULL) {
        unmap(sys, map);
        return;
    }
    map->touched = map->touched >= map->n / 2 ? map->len : 0;
    put(sys, keep, map);
    *map = UNMAPPED;
}
