/* SPDX-License-Identifier: BSD-3-Clause */
/* Deleted files in memory, whose pages a thread gives back. */
#include "helper_fault.h"
#include "helper_threads.h"
#include "helper_tmp.h"

#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/release.h"

static const off_t MIB = 1 << 20;
static unsigned fs_type = TMPFS_MAGIC;

static int said_fstatfs(int fd, struct statfs *st)
{
    int rc = test_fault_sys.fstatfs(fd, st);
    st->f_type = fs_type;
    return rc;
}

/* The file system that tests run on is called a tmpfs. */
static struct scr_sys here(void)
{
    struct scr_sys sys = test_fault_sys;
    sys.fstatfs = said_fstatfs;
    return sys;
}

static const char *file_of(const char *name, off_t bytes)
{
    const char *path = test_path("%s", name);
    test_put(path, "", 0);
    assert_int_equal(truncate(path, bytes), 0);
    return path;
}

static void a_deleted_file_is_held_until_it_is_released(void **state)
{
    (void)state;
    const struct scr_sys sys = here();
    struct scr_release r = { 0 };
    const char *path = file_of("big", MIB);
    scr_release_hold(&r, &sys, path);
    assert_int_equal(unlink(path), 0);
    struct stat st;
    assert_int_equal(r.n, 1);
    assert_int_equal(fstat(r.fd[0], &st), 0);
    assert_int_equal(st.st_nlink, 0);
    scr_release_start(&r);
    scr_release_wait(&r);
    assert_int_equal(r.n, 0);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void what_was_not_started_is_released_by_waiting(void **state)
{
    (void)state;
    const struct scr_sys sys = here();
    struct scr_release r = { 0 };
    scr_release_wait(&r);
    scr_release_hold(&r, &sys, file_of("big", MIB));
    assert_int_equal(test_fault_open_fds(), 1);
    scr_release_wait(&r);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void short_files_and_other_file_systems_are_not_held(void **state)
{
    (void)state;
    const struct scr_sys sys = here();
    struct scr_release r = { 0 };
    const char *big = file_of("big", MIB), *link = test_path("link");
    (void)unlink(link);
    assert_int_equal(symlink(big, link), 0);
    scr_release_hold(&r, &sys, file_of("short", MIB - 1));
    scr_release_hold(&r, &sys, link);
    scr_release_hold(&r, &sys, test_tmp());
    scr_release_hold(&r, &sys, test_path("none"));
    fs_type = NFS_SUPER_MAGIC;
    scr_release_hold(&r, &sys, big);
    fs_type = TMPFS_MAGIC;
    assert_int_equal(r.n, 0);
    assert_int_equal(test_fault_open_fds(), 0);
    for (int i = 0; i <= SCR_RELEASE_MOST; i++)
        scr_release_hold(&r, &sys, big);
    assert_int_equal(r.n, SCR_RELEASE_MOST);
    assert_int_equal(test_fault_open_fds(), SCR_RELEASE_MOST);
    scr_release_start(&r);
    scr_release_wait(&r);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void without_a_thread_the_caller_releases(void **state)
{
    (void)state;
    const struct scr_sys sys = here();
    struct scr_release r = { 0 };
    scr_release_hold(&r, &sys, file_of("big", MIB));
    pthread_attr_t before;
    test_threads_off(&before);
    scr_release_start(&r);
    test_threads_on(&before);
    assert_int_equal(r.runs, 0);
    assert_int_equal(r.n, 0);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void a_call_that_fails_only_costs_time(void **state)
{
    (void)state;
    const struct scr_sys sys = here();
    for (long n = 0;; n++) {
        struct scr_release r = { 0 };
        const char *path = file_of("big", MIB);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        scr_release_hold(&r, &sys, path);
        scr_release_start(&r);
        scr_release_wait(&r);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_file_is_held_until_it_is_released),
        cmocka_unit_test(what_was_not_started_is_released_by_waiting),
        cmocka_unit_test(short_files_and_other_file_systems_are_not_held),
        cmocka_unit_test(without_a_thread_the_caller_releases),
        cmocka_unit_test(a_call_that_fails_only_costs_time),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
