/* SPDX-License-Identifier: BSD-3-Clause */
#include "written.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

uint32_t written_mix(const int32_t *parts, size_t n)
{
    uint32_t x = 2166136261u;
    for (size_t i = 0; i < n; i++)
        x = (x ^ (uint32_t)parts[i]) * 16777619u * 31u + 7u;
    return x;
}

int written_id(const char *path)
{
    static const char mark[] = "/scr.dataset.";
    const char *at = strstr(path, mark);
    return at != NULL ? (int)strtol(at + sizeof mark - 1, NULL, 10) : 0;
}

int written_newest(void)
{
    static const char mark[] = "scr.dataset.";
    int newest = 0, id;
    DIR *dir = opendir(".scr");
    for (struct dirent *e = dir ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (strncmp(e->d_name, mark, sizeof mark - 1) != 0)
            continue;
        id = (int)strtol(e->d_name + sizeof mark - 1, NULL, 10);
        newest = id > newest ? id : newest;
    }
    if (dir != NULL)
        closedir(dir);
    return newest;
}
