/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in memory used in place: what is mapped, what is not, and what is kept. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include "base/map.h"
#include "base/pages.h"
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 600 * 1000 };

static const struct scr_sys *const sys = &test_fault_sys;
static char dir[] = "/dev/shm/scr.test_map.XXXXXX";
static char path[64];
static int in_memory;

static int setup(void **state)
{
    struct statfs st;
    (void)state;
    in_memory =
        mkdtemp(dir) != NULL && statfs(dir, &st) == 0 && st.f_type == TMPFS_MAGIC;
    snprintf(path, sizeof path, "%s/file", dir);
    return in_memory ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    test_tmp_remove();
    return rmdir(dir);
}

/* The file anew, of n bytes, open for reading and writing. */
static int make(const char *at, size_t n)
{
    char *bytes = malloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    unlink(at);
    int fd = open(at, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    free(bytes);
    return fd;
}

static void assert_unmapped(const struct scr_map *map)
{
    assert_null(map->at);
    assert_int_equal(map->n, 0);
}

static void a_file_in_memory_is_read_where_it_lies(void **state)
{
    (void)state;
    char part[1000];
    struct scr_map map;
    int fd = make(path, N);
    scr_map_open(sys, NULL, fd, N, &map);
    const uint8_t *window = scr_map_window(sys, &map, fd, 12345, sizeof part);
    assert_non_null(window);
    assert_int_equal(pread(fd, part, sizeof part, 12345), sizeof part);
    assert_memory_equal(window, part, sizeof part);
    assert_null(scr_map_window(sys, &map, fd, N - 10, 11)); /* past the end */
    scr_map_close(sys, NULL, &map);
    assert_unmapped(&map);
    close(fd);
}

static void what_is_put_in_a_window_is_in_the_file(void **state)
{
    (void)state;
    char part[6];
    struct scr_map map;
    struct scr_map_keep keep = { 0 };
    int fd = make(path, N);
    scr_map_open(sys, &keep, fd, N, &map);
    uint8_t *window = scr_map_window(sys, &map, fd, N - 6, 6);
    assert_non_null(window);
    memcpy(window, "parity", 6);
    assert_int_equal(pread(fd, part, 6, N - 6), 6);
    assert_memory_equal(part, "parity", 6);
    scr_map_close(sys, &keep, &map);
    scr_map_keep_fini(sys, &keep);
    close(fd);
}

static void small_and_sparse_files_and_those_on_disks_are_not_mapped(void **state)
{
    (void)state;
    struct statfs st;
    struct scr_map map;
    int fd = make(path, SCR_MAP_LEAST - 1);
    scr_map_open(sys, NULL, fd, SCR_MAP_LEAST - 1, &map);
    assert_unmapped(&map);
    assert_int_equal(ftruncate(fd, N), 0); /* the rest is a hole */
    scr_map_open(sys, NULL, fd, N, &map);
    assert_unmapped(&map);
    close(fd);
    fd = make(test_path("disk"), N);
    assert_int_equal(fstatfs(fd, &st), 0);
    scr_map_open(sys, NULL, fd, N, &map);
    assert_int_equal(map.at != NULL, st.f_type == TMPFS_MAGIC);
    scr_map_close(sys, NULL, &map);
    close(fd);
}

static void a_file_that_was_cut_short_has_no_windows(void **state)
{
    (void)state;
    struct scr_map map;
    int fd = make(path, N);
    scr_map_open(sys, NULL, fd, N, &map);
    assert_int_equal(ftruncate(fd, N - 1), 0);
    assert_null(scr_map_window(sys, &map, fd, 0, 10));
    scr_map_close(sys, NULL, &map);
    close(fd);
}

/* Opens, takes a window over most of it, closes; 1 if a mapping had to be made. */
static int use(struct scr_map_keep *keep, int fd, size_t n)
{
    struct scr_map map;
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE);
    scr_map_open(sys, keep, fd, n, &map);
    assert_non_null(scr_map_window(sys, &map, fd, 0, n));
    scr_map_close(sys, keep, &map);
    return test_fault_count(TEST_MMAP) > 0;
}

static void mappings_are_kept_until_their_file_is_forgotten(void **state)
{
    (void)state;
    struct scr_map_keep keep = { 0 };
    char other[64];
    snprintf(other, sizeof other, "%s/other", dir);
    int fd = make(path, N), fd2 = make(other, N);
    assert_int_equal(use(&keep, fd, N), 1);
    assert_int_equal(use(&keep, fd2, N), 1);
    assert_int_equal(use(&keep, fd, N), 0);
    assert_int_equal(use(&keep, fd, N - 1000), 0); /* of other lengths too */
    assert_int_equal(use(&keep, fd2, N), 0);
    scr_map_forget(sys, &keep, path);
    assert_int_equal(use(&keep, fd2, N), 0);
    assert_int_equal(use(&keep, fd, N), 1);
    scr_map_forget(sys, &keep, "/dev/shm/there is no such file");
    scr_map_keep_fini(sys, &keep);
    for (int i = 0; i < SCR_MAPS_KEPT; i++)
        assert_null(keep.map[i].at);
    close(fd);
    close(fd2);
    unlink(other);
}

static void only_the_last_few_are_kept(void **state)
{
    (void)state;
    struct scr_map_keep keep = { 0 };
    int fd[SCR_MAPS_KEPT + 1];
    for (int i = 0; i <= SCR_MAPS_KEPT; i++) {
        fd[i] = make(path, N); /* the inode lives on with its descriptor */
        assert_int_equal(use(&keep, fd[i], N), 1);
    }
    assert_int_equal(use(&keep, fd[1], N), 0);
    assert_int_equal(use(&keep, fd[0], N), 1);
    scr_map_keep_fini(sys, &keep);
    for (int i = 0; i <= SCR_MAPS_KEPT; i++)
        close(fd[i]);
}

/* Whatever fails, there is a mapping or there is none. */
static void failing_calls_only_cost_the_mapping(void **state)
{
    (void)state;
    int fd = make(path, N), fired = 1;
    for (long n = 0; fired; n++) {
        struct scr_map map;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        scr_map_open(sys, NULL, fd, N, &map);
        const uint8_t *window = scr_map_window(sys, &map, fd, 100, 5);
        fired = test_fault_off();
        if (window != NULL)
            assert_int_equal(window[0], 100 * 7 % 256);
        assert_true(fired || window != NULL);
        scr_map_close(sys, NULL, &map);
    }
    close(fd);
}

static void pages_are_zeros(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 4096, 600 * 1024, 5 * 1024 * 1024 + 1 };
    for (size_t i = 0; i < 4; i++) {
        uint8_t *at = scr_pages_alloc(sizes[i]);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % 4096, 0);
        assert_int_equal(at[0] | at[sizes[i] / 2] | at[sizes[i] - 1], 0);
        memset(at, 1, sizes[i]);
        scr_pages_free(at, sizes[i]);
    }
    assert_null(scr_pages_alloc(0));
    assert_null(scr_pages_alloc(SIZE_MAX - 5));
    scr_pages_free(NULL, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_in_memory_is_read_where_it_lies),
        cmocka_unit_test(what_is_put_in_a_window_is_in_the_file),
        cmocka_unit_test(small_and_sparse_files_and_those_on_disks_are_not_mapped),
        cmocka_unit_test(a_file_that_was_cut_short_has_no_windows),
        cmocka_unit_test(mappings_are_kept_until_their_file_is_forgotten),
        cmocka_unit_test(only_the_last_few_are_kept),
        cmocka_unit_test(failing_calls_only_cost_the_mapping),
        cmocka_unit_test(pages_are_zeros),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
