/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_tmp.h"

#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tmp_dir[512];

const char *test_tmp(void)
{
    if (tmp_dir[0] == '\0') {
        const char *base = getenv("TMPDIR");
        if (base == NULL)
            base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(tmp_dir, sizeof tmp_dir, "%s/scr-unit.XXXXXX", base);
        assert_non_null(mkdtemp(tmp_dir));
    }
    return tmp_dir;
}

const char *test_path(const char *fmt, ...)
{
    static char slots[16][1024];
    static unsigned next;
    char *slot = slots[next++ % 16];
    int n = snprintf(slot, sizeof slots[0], "%s/", test_tmp());
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(slot + n, sizeof slots[0] - (size_t)n, fmt, ap);
    va_end(ap);
    return slot;
}

char *test_find(const char *fmt, ...)
{
    char pattern[1024];
    glob_t found;
    int n = snprintf(pattern, sizeof pattern, "%s/", test_tmp());
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(pattern + n, sizeof pattern - (size_t)n, fmt, ap);
    va_end(ap);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    char *path = strdup(found.gl_pathv[0]);
    globfree(&found);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void test_tmp_remove(void)
{
    if (tmp_dir[0] != '\0')
        nftw(tmp_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    tmp_dir[0] = '\0';
}

int test_tmp_teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return 0;
}

void test_put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

void *test_get(const char *path, size_t *n)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    char *buf = calloc(1, (size_t)st.st_size + 1);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(buf, 1, (size_t)st.st_size, f), (size_t)st.st_size);
    fclose(f);
    *n = (size_t)st.st_size;
    return buf;
}

void test_file_is(const char *path, const char *want)
{
    size_t n;
    char *got = test_get(path, &n);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(got, want, n);
    free(got);
}

const char *test_fresh_dir(const char *name)
{
    const char *dir = test_path("%s", name);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(dir, 0755), 0);
    return dir;
}
