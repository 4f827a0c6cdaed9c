/* SPDX-License-Identifier: BSD-3-Clause */
/* Room for files, from statvfs, /proc/meminfo and control groups. */
#include "base/memory.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"

enum { MAX_TEXT = 1 << 20 };

const struct scr_memory_at scr_memory_of_kernel = { "/proc", "/sys/fs/cgroup" };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Text of a file, malloc'd; NULL: it cannot be read. dir/name, or dir/sub/name. */
static char *load(const struct scr_sys *sys, const char *dir, const char *sub,
                  const char *name)
{
    void *text = NULL;
    size_t n = 0;
    char *path = scr_asprintf("%s%s/%s", dir, sub, name);
    if (path != NULL)
        (void)scr_file_load(sys, path, MAX_TEXT, &text, &n, NULL);
    free(path);
    return text;
}

/* The number at the beginning of text; "max", and what is none, is no limit. */
static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    return end == text || errno != 0 ? UINT64_MAX : n;
}

/* The text after key, at the beginning of a line; NULL: there is no such line. */
static const char *after(const char *text, const char *key)
{
    size_t n = strlen(key);
    while (text != NULL && strncmp(text, key, n) != 0) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return text != NULL ? text + n : NULL;
}

static uint64_t available(const struct scr_sys *sys, const char *proc)
{
    char *text = load(sys, proc, "", "meminfo");
    const char *at = after(text, "MemAvailable:");
    uint64_t kib = at != NULL ? number(at + strspn(at, " \t")) : UINT64_MAX;
    free(text);
    return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
}

/* --- control groups --- */

/* The files of a version. */
struct version {
    const char *sub; /* of the directory of control groups */
    const char *limit, *usage;
    const char *stat[2]; /* lines of memory.stat: pages of files */
};
static const struct version v1 = { "/memory",
                                   "memory.limit_in_bytes",
                                   "memory.usage_in_bytes",
                                   { "total_active_file ", "total_inactive_file " } };
static const struct version v2 = {
    "", "memory.max", "memory.current", { "active_file ", "inactive_file " }
};

static uint64_t number_in(const struct scr_sys *sys, const char *dir, const char *group,
                          const char *name)
{
    char *text = load(sys, dir, group, name);
    uint64_t n = text != NULL ? number(text) : UINT64_MAX;
    free(text);
    return n;
}

/* Bytes of files that the kernel can drop from memory. */
static uint64_t droppable(const struct scr_sys *sys, const struct version *v,
                          const char *dir, const char *group)
{
    uint64_t sum = 0;
    char *text = load(sys, dir, group, "memory.stat");
    for (int i = 0; i < 2; i++) {
        const char *at = after(text, v->stat[i]);
        uint64_t n = at != NULL ? number(at) : UINT64_MAX;
        sum += n == UINT64_MAX ? 0 : n;
    }
    free(text);
    return sum;
}

static uint64_t left_in(const struct scr_sys *sys, const struct version *v,
                        const char *dir, const char *group)
{
    uint64_t limit = number_in(sys, dir, group, v->limit);
    if (limit == UINT64_MAX)
        return limit;
    uint64_t usage = number_in(sys, dir, group, v->usage);
    if (usage == UINT64_MAX)
        return usage;
    uint64_t kept = usage - least(usage, droppable(sys, v, dir, group));
    return limit - least(limit, kept);
}

/* The group and all it is in. Where a container shows another part of the tree than
 * the group's path begins with, only the last, its top, exists. */
static uint64_t left_up(const struct scr_sys *sys, const struct version *v,
                        const char *cgroup, const char *path, size_t n)
{
    uint64_t left = UINT64_MAX;
    char *dir = scr_asprintf("%s%s", cgroup, v->sub);
    char *group = scr_asprintf("%.*s", (int)n, path);
    char *end = group;
    while (dir != NULL && end != NULL) {
        left = least(left, left_in(sys, v, dir, group));
        end = strrchr(group, '/');
        if (end != NULL)
            *end = '\0';
    }
    free(group);
    free(dir);
    return left;
}

/* "<n>:<controllers>:<path>": the controllers of version 2 are not listed. */
static const struct version *version_of(const char *line, const char **path)
{
    const char *list = strchr(line, ':');
    const char *end = list != NULL ? strchr(list + 1, ':') : NULL;
    if (end == NULL)
        return NULL;
    *path = end + 1;
    if (end == list + 1)
        return &v2;
    size_t n = strlen("memory");
    for (const char *at = list + 1; at < end; at += strcspn(at, ",:") + 1)
        if (strcspn(at, ",:") == n && strncmp(at, "memory", n) == 0)
            return &v1;
    return NULL;
}

static uint64_t left_in_groups(const struct scr_sys *sys,
                               const struct scr_memory_at *at)
{
    uint64_t left = UINT64_MAX;
    char *text = load(sys, at->proc, "", "self/cgroup");
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t n = strcspn(line, "\n");
        const char *path = NULL;
        const struct version *v = version_of(line, &path);
        if (v != NULL && path <= line + n)
            left = least(left,
                         left_up(sys, v, at->cgroup, path, (size_t)(line + n - path)));
        line += n + (line[n] == '\n');
    }
    free(text);
    return left;
}

uint64_t scr_memory_left(const struct scr_sys *sys, const struct scr_memory_at *at)
{
    return least(available(sys, at->proc), left_in_groups(sys, at));
}

/* --- file systems --- */

int scr_is_in_memory(const struct scr_sys *sys, int fd)
{
    struct statfs st;
    return sys->fstatfs(fd, &st) == 0 &&
           (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
}

static int is_in_memory(const struct scr_sys *sys, const char *path)
{
    int fd;
    if (scr_open(sys, path, O_RDONLY | O_DIRECTORY, 0, &fd, NULL) != SCR_OK)
        return 0;
    int is = scr_is_in_memory(sys, fd);
    (void)scr_close(sys, &fd, path, NULL);
    return is;
}

/* ramfs has no size: it reports no blocks at all. */
static uint64_t free_at(const struct scr_sys *sys, const char *path)
{
    struct statvfs st;
    if (sys->statvfs(path, &st) != 0 || st.f_blocks == 0)
        return UINT64_MAX;
    return (uint64_t)st.f_bavail * st.f_frsize;
}

uint64_t scr_room_at(const struct scr_sys *sys, const struct scr_memory_at *at,
                     const char *path)
{
    uint64_t room = free_at(sys, path);
    if (!is_in_memory(sys, path))
        return room;
    uint64_t left = scr_memory_left(sys, at);
    return left == UINT64_MAX ? room : least(room, left - left / 4);
}
