/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of our own: where they run, what reaches them, and one that writes. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include "base/thread.h"
#include "base/writer.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- where --- */

/* What the kernel is made to say of the processors that share a cache; NULL: nothing.
 */
static const char *neighbours;

static int open_neighbours(int dirfd, const char *path, int flags, mode_t mode)
{
    if (strncmp(path, "/sys/devices/system/cpu/", 24) != 0)
        return scr_sys_posix.openat(dirfd, path, flags, mode);
    if (neighbours == NULL) {
        errno = ENOENT;
        return -1;
    }
    test_put(test_path("list"), neighbours, strlen(neighbours));
    return open(test_path("list"), O_RDONLY);
}

/* Binds this thread to one of the processors it has; gives them all, and that one. */
static size_t bind_here(cpu_set_t *before)
{
    cpu_set_t one;
    size_t cpu = 0;
    if (sched_getaffinity(0, sizeof *before, before) != 0)
        skip(); /* more processors than a cpu_set_t has */
    while (!CPU_ISSET(cpu, before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return cpu;
}

static void a_bound_thread_has_place_beside_it(void **state)
{
    (void)state;
    struct scr_sys sys = scr_sys_posix;
    cpu_set_t before, where;
    sys.openat = open_neighbours;
    size_t here = bind_here(&before);
    neighbours = "0-3,900-901,1023\n";
    assert_int_equal(scr_thread_find_place(&sys, &where), 1);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int listed = cpu < 4 || cpu == 900 || cpu == 901 || cpu == 1023;
        assert_int_equal(CPU_ISSET(cpu, &where) != 0, listed && cpu != here);
    }
    char alone[24];
    const char *useless[] = { NULL, "",    "x",  "0-3,x",       "0-1024", "0-3junk",
                              "3-", "5 7", "-1", "99999999999", alone };
    snprintf(alone, sizeof alone, "%zu\n", here);
    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        neighbours = useless[i];
        assert_int_equal(scr_thread_find_place(&sys, &where), 0);
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) > 1) {
        assert_int_equal(scr_thread_find_place(&sys, &where), 1);
        assert_true(CPU_EQUAL(&where, &before));
    }
}

/* --- writing --- */

static atomic_int cpu_of_write, mask_is_full, may_go_on;

static ssize_t pwrite_looking(int fd, const void *buf, size_t n, off_t off)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    mask_is_full = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD);
    cpu_of_write = sched_getcpu();
    return pwrite(fd, buf, n, off);
}

static ssize_t pwrite_held(int fd, const void *buf, size_t n, off_t off)
{
    while (!may_go_on)
        sched_yield();
    return pwrite(fd, buf, n, off);
}

static int make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* A writer; the test is skipped where there is no second processor for it. */
static struct scr_writer *start(const struct scr_sys *sys)
{
    cpu_set_t mine;
    struct scr_writer *w = scr_writer_start(sys);
    if (w == NULL &&
        (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) == 1))
        skip();
    return w;
}

static void a_bound_process_gets_a_thread_elsewhere_without_signals(void **state)
{
    (void)state;
    struct scr_sys sys = scr_sys_posix;
    const char *path = test_path("elsewhere");
    cpu_set_t before;
    sys.pwrite = pwrite_looking;
    int fd = make_file(path), here = (int)bind_here(&before);
    struct scr_writer *w = scr_writer_start(&sys);
    if (w != NULL) { /* else there is none beside it, or none that we may use */
        assert_int_equal(scr_writer_put(w, fd, "abc", 3, 0, path), 1);
        assert_int_equal(scr_writer_finish(w, NULL), SCR_OK);
        assert_int_equal(mask_is_full, 1);
        assert_int_not_equal(cpu_of_write, here);
    }
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    close(fd);
}

static void all_that_is_put_is_written_in_its_place(void **state)
{
    (void)state;
    enum { N = 300000 };
    const char *path = test_path("all");
    int fd = make_file(path);
    uint8_t *bytes = malloc(N);
    uint64_t last = 0;
    for (size_t i = 0; i < N; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    struct scr_writer *w = start(&scr_sys_posix);
    assert_non_null(w);
    assert_int_equal(scr_writer_is_done(w, 0), 1);
    for (size_t at = 0, n; at < N; at += n) {
        n = N - at < 4321 ? N - at : 4321;
        uint64_t number = scr_writer_put(w, fd, bytes + at, n, (off_t)at, path);
        if (number == 0) {
            assert_int_equal(pwrite(fd, bytes + at, n, (off_t)at), n);
            continue;
        }
        assert_int_equal(number, last + 1);
        last = number;
        while (at % 5 == 0 && !scr_writer_is_done(w, number))
            sched_yield();
    }
    assert_true(last > 0);
    assert_int_equal(scr_writer_finish(w, NULL), SCR_OK);
    size_t n;
    uint8_t *got = test_get(path, &n);
    assert_int_equal(n, N);
    assert_memory_equal(got, bytes, N);
    free(got);
    free(bytes);
    close(fd);
}

static void a_full_queue_takes_no_more(void **state)
{
    (void)state;
    struct scr_sys sys = scr_sys_posix;
    const char *path = test_path("full");
    uint64_t number, last = 0;
    int fd = make_file(path);
    sys.pwrite = pwrite_held;
    may_go_on = 0;
    struct scr_writer *w = start(&sys);
    assert_non_null(w);
    while ((number = scr_writer_put(w, fd, "x", 1, (off_t)last, path)) > 0) {
        last = number;
        assert_true(last < 100);
    }
    assert_true(last >= 1);
    assert_int_equal(scr_writer_is_done(w, 1), 0);
    assert_int_equal(scr_writer_has_room(w), 0);
    may_go_on = 1;
    while (!scr_writer_is_done(w, last))
        sched_yield();
    assert_int_equal(scr_writer_has_room(w), 1);
    assert_int_equal(scr_writer_put(w, fd, "y", 1, 0, path), last + 1);
    assert_int_equal(scr_writer_finish(w, NULL), SCR_OK); /* waits for it */
    size_t n;
    char *got = test_get(path, &n);
    assert_int_equal(n, last);
    assert_int_equal(got[0], 'y');
    free(got);
    close(fd);
}

static void after_a_failure_nothing_is_written(void **state)
{
    (void)state;
    const char *path = test_path("failing");
    struct scr_err err = SCR_ERR_INIT;
    int fd = make_file(path);
    struct scr_writer *w = start(&test_fault_sys);
    assert_non_null(w);
    test_fault_arm(TEST_PWRITE, 1, EIO, TEST_ONCE);
    for (int i = 0; i < 4; i++) {
        uint64_t number = scr_writer_put(w, fd, "x", 1, i, path);
        assert_int_equal(number, i + 1);
        while (!scr_writer_is_done(w, number))
            sched_yield();
    }
    assert_int_equal(scr_writer_finish(w, &err), SCR_E_IO);
    assert_int_equal(test_fault_off(), 1);
    assert_int_equal(test_fault_count(TEST_PWRITE), 2);
    assert_int_equal(err.sys, EIO);
    assert_non_null(strstr(err.text, path));
    size_t n;
    free(test_get(path, &n));
    assert_int_equal(n, 1);
    close(fd);
}

/* A stack larger than there are addresses: no thread can be had. */
static void without_a_thread_there_is_no_writer(void **state)
{
    (void)state;
    pthread_attr_t usual, huge;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 60), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_null(scr_writer_start(&scr_sys_posix));
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
    assert_int_equal(scr_writer_finish(NULL, NULL), SCR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_thread_has_place_beside_it),
        cmocka_unit_test(a_bound_process_gets_a_thread_elsewhere_without_signals),
        cmocka_unit_test(all_that_is_put_is_written_in_its_place),
        cmocka_unit_test(a_full_queue_takes_no_more),
        cmocka_unit_test(after_a_failure_nothing_is_written),
        cmocka_unit_test(without_a_thread_there_is_no_writer),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
