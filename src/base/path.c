/* SPDX-License-Identifier: BSD-3-Clause */
/* Path algebra on strings. */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* The component at *p after skipping slashes; its length, 0 at the end. */
static size_t component(const char **p)
{
    *p += strspn(*p, "/");
    return strcspn(*p, "/");
}

static int is_word(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

/* Removes the last component of out[0..len), which ends in no slash; the new length. */
static size_t drop_last(const char *out, size_t len, size_t root)
{
    while (len > root && out[len - 1] != '/')
        len--;
    return len > root ? len - 1 : len;
}

/* Whether out ends in a component that ".." can fold away. */
static int foldable(const char *out, size_t len, size_t root)
{
    size_t start = len;
    while (start > root && out[start - 1] != '/')
        start--;
    return len > root && !is_word(out + start, len - start, "..");
}

char *scr_path_normal(const char *path)
{
    char *out = malloc(strlen(path) + 2);
    if (out == NULL)
        return NULL;
    size_t root = path[0] == '/', len = root;
    out[0] = '/';
    for (size_t n; (n = component(&path)) > 0; path += n) {
        if (is_word(path, n, "."))
            continue;
        if (is_word(path, n, "..") && (foldable(out, len, root) || root)) {
            len = drop_last(out, len, root);
            continue;
        }
        if (len > root)
            out[len++] = '/';
        memcpy(out + len, path, n);
        len += n;
    }
    if (len == 0)
        out[len++] = '.';
    out[len] = '\0';
    return out;
}

char *scr_path_join(const char *a, const char *b)
{
    if (b[0] == '/' || a[0] == '\0')
        return scr_path_normal(b);
    char *both = scr_asprintf("%s/%s", a, b);
    char *out = both ? scr_path_normal(both) : NULL;
    free(both);
    return out;
}

char *scr_path_below(const char *dir, const char *path, int *outside)
{
    size_t n = strlen(dir);
    if (n == 1 && dir[0] == '/')
        n = 0; /* its slash is the separator */
    *outside = 0;
    if (strcmp(dir, path) == 0)
        return scr_strdup(".");
    if (strncmp(dir, path, n) == 0 && path[n] == '/' && path[n + 1] != '\0')
        return scr_strdup(path + n + 1);
    *outside = 1;
    return NULL;
}

const char *scr_path_rest(const char *dir, const char *path)
{
    size_t n = dir != NULL ? strlen(dir) : 0;
    return n > 0 && strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

const char *scr_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int scr_path_same_dir(const char *a, const char *b)
{
    size_t n = (size_t)(scr_path_base(a) - a);
    return n == (size_t)(scr_path_base(b) - b) && memcmp(a, b, n) == 0;
}

char *scr_path_dir(const char *path)
{
    const char *base = scr_path_base(path);
    if (base == path)
        return scr_strdup(".");
    size_t n = (size_t)(base - path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return strndup(path, n);
}

int scr_path_is_safe(const char *rel)
{
    int named = 0;
    if (rel == NULL || rel[0] == '/')
        return 0;
    for (size_t n; (n = component(&rel)) > 0; rel += n) {
        if (is_word(rel, n, ".."))
            return 0;
        if (!is_word(rel, n, "."))
            named = 1;
    }
    return named;
}
