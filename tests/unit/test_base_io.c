/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole reads and writes over short and interrupted calls, loading and appending. */
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "helper_fault.h"

static const char old_text[] = "the old state";

/* --- whole reads and writes --- */

/* Writes and reads back with every transfer disturbed as armed by the caller before
 * each. */
static void round_trip(void (*disturb)(enum test_kind))
{
    const struct scr_sys *sys = &test_fault_sys;
    char out[1000], in[1000] = "";
    int fd;
    size_t got;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)('a' + i % 26);
    const char *path = test_path("data");
    assert_int_equal(scr_open(sys, path, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, NULL),
                     SCR_OK);

    disturb(TEST_WRITE);
    assert_int_equal(scr_write_all(SCR_FD(sys, fd, path), out, 500, NULL), SCR_OK);
    disturb(TEST_PWRITE);
    assert_int_equal(scr_pwrite_all(SCR_FD(sys, fd, path), out + 500, 500, 500, NULL),
                     SCR_OK);
    disturb(TEST_PREAD);
    assert_int_equal(scr_pread_all(SCR_FD(sys, fd, path), in + 1, 999, 1, NULL),
                     SCR_OK);
    assert_memory_equal(in + 1, out + 1, 999);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    disturb(TEST_READ);
    memset(in, 0, sizeof in);
    assert_int_equal(scr_read_upto(SCR_FD(sys, fd, path), in, sizeof in, &got, NULL),
                     SCR_OK);
    assert_int_equal(got, 1000);
    assert_memory_equal(in, out, 1000);

    test_fault_off();
    assert_int_equal(scr_close(sys, &fd, path, NULL), SCR_OK);
    assert_int_equal(fd, -1);
    assert_int_equal(scr_close(sys, &fd, path, NULL), SCR_OK);
}

static void every_transfer_one_byte(enum test_kind kind)
{
    test_fault_short(kind, 0, 1, TEST_FOREVER);
}

static void second_transfer_short(enum test_kind kind)
{
    test_fault_short(kind, 0, 333, TEST_ONCE);
}

static void interrupted_once(enum test_kind kind)
{
    test_fault_arm(kind, 0, EINTR, TEST_ONCE);
}

static void short_and_interrupted_transfers_are_completed(void **state)
{
    (void)state;
    round_trip(every_transfer_one_byte);
    assert_int_equal(test_fault_count(TEST_READ), 1000);
    round_trip(second_transfer_short);
    round_trip(interrupted_once);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void a_file_that_ends_early_is_missing_data(void **state)
{
    (void)state;
    const char *path = test_path("short");
    char buf[16];
    int fd;
    size_t got = 99;
    struct scr_err err = SCR_ERR_INIT;
    test_put(path, "12345", 5);
    assert_int_equal(scr_open(&scr_sys_posix, path, O_RDONLY, 0, &fd, NULL), SCR_OK);
    assert_int_equal(scr_pread_all(SCR_FD(&scr_sys_posix, fd, path), buf, 6, 0, &err),
                     SCR_E_MISSING);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(scr_pread_all(SCR_FD(&scr_sys_posix, fd, path), buf, 0, 100, NULL),
                     SCR_OK);
    assert_int_equal(
        scr_read_upto(SCR_FD(&scr_sys_posix, fd, path), buf, 16, &got, NULL), SCR_OK);
    assert_int_equal(got, 5);
    assert_int_equal(scr_close(&scr_sys_posix, &fd, path, NULL), SCR_OK);
}

static void errors_carry_code_and_path(void **state)
{
    (void)state;
    const struct scr_sys *sys = &test_fault_sys;
    const char *path = test_path("errors");
    char buf[4] = "abc";
    int fd;
    size_t got;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_open(sys, path, O_RDONLY, 0, &fd, &err), SCR_E_NOENT);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(scr_open(sys, path, O_RDWR | O_CREAT, 0600, &fd, NULL), SCR_OK);

    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_ONCE);
    assert_int_equal(scr_write_all(SCR_FD(sys, fd, path), buf, 3, NULL), SCR_E_FULL);
    test_fault_arm(TEST_PWRITE, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_pwrite_all(SCR_FD(sys, fd, path), buf, 3, 0, NULL), SCR_E_IO);
    test_fault_short(TEST_PWRITE, 0, 0, TEST_FOREVER); /* must not try for ever */
    assert_int_equal(scr_pwrite_all(SCR_FD(sys, fd, path), buf, 3, 0, NULL), SCR_E_IO);
    test_fault_arm(TEST_READ, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_read_upto(SCR_FD(sys, fd, path), buf, 3, &got, NULL),
                     SCR_E_IO);
    test_fault_arm(TEST_PREAD, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_pread_all(SCR_FD(sys, fd, path), buf, 3, 0, NULL), SCR_E_IO);
    test_fault_arm(TEST_FSYNC, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_fsync(sys, fd, path, NULL), SCR_E_IO);
    test_fault_arm(TEST_FSYNC, 0, EINTR, TEST_ONCE);
    assert_int_equal(scr_fsync(sys, fd, path, NULL), SCR_OK);
    test_fault_arm(TEST_CLOSE, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_close(sys, &fd, path, NULL), SCR_E_IO);
    test_fault_off();
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- loading --- */

static void load_gives_the_whole_file(void **state)
{
    (void)state;
    const char *path = test_path("load");
    void *buf;
    size_t n = 0;
    test_put(path, "a\0b", 3);
    assert_int_equal(scr_file_load(&scr_sys_posix, path, 3, &buf, &n, NULL), SCR_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(buf, "a\0b\0", 4);
    free(buf);
    assert_int_equal(scr_file_load(&scr_sys_posix, path, 2, &buf, &n, NULL),
                     SCR_E_RANGE);
    assert_null(buf);
    test_put(path, "", 0);
    assert_int_equal(scr_file_load(&scr_sys_posix, path, 0, &buf, &n, NULL), SCR_OK);
    assert_int_equal(n, 0);
    free(buf);
}

static void load_reads_files_that_have_no_size(void **state)
{
    (void)state;
    void *buf;
    size_t n = 0;
    assert_int_equal(
        scr_file_load(&scr_sys_posix, "/proc/self/status", 1 << 20, &buf, &n, NULL),
        SCR_OK);
    assert_non_null(strstr(buf, "Pid:"));
    free(buf);
    assert_int_equal(
        scr_file_load(&scr_sys_posix, "/proc/self/status", 10, &buf, &n, NULL),
        SCR_E_RANGE);
}

static void load_refuses_what_is_no_file(void **state)
{
    (void)state;
    void *buf;
    size_t n;
    const char *fifo = test_path("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(scr_file_load(&scr_sys_posix, fifo, 9, &buf, &n, NULL),
                     SCR_E_UNSAFE);
    assert_int_equal(scr_file_load(&scr_sys_posix, test_tmp(), 9, &buf, &n, NULL),
                     SCR_E_UNSAFE);
    assert_int_equal(scr_file_load(&scr_sys_posix, "/dev/null", 9, &buf, &n, NULL),
                     SCR_E_UNSAFE);
    assert_int_equal(scr_file_load(&scr_sys_posix, test_path("no"), 9, &buf, &n, NULL),
                     SCR_E_NOENT);
}

/* Close is not tried: what it says of a file that was read does not matter. */
static void load_opens_a_stale_file_again(void **state)
{
    (void)state;
    static const enum test_kind calls[] = { TEST_OPENAT, TEST_FSTAT, TEST_READ };
    const char *path = test_path("load-stale");
    test_put(path, old_text, strlen(old_text));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *buf;
        size_t n;
        struct scr_err err = SCR_ERR_INIT;
        test_fault_arm(calls[i], 0, ESTALE, TEST_ONCE);
        assert_int_equal(scr_file_load(&test_fault_sys, path, 100, &buf, &n, &err),
                         SCR_OK);
        assert_true(test_fault_off());
        /* by its name, or an NFS client would open the same file again */
        assert_int_equal(test_fault_count(TEST_FSTATAT), 1);
        assert_string_equal(buf, old_text);
        assert_string_equal(err.text, "");
        free(buf);
        test_fault_arm(calls[i], 0, ESTALE, TEST_FOREVER);
        assert_int_equal(scr_file_load(&test_fault_sys, path, 100, &buf, &n, &err),
                         SCR_E_IO);
        test_fault_off();
        assert_int_equal(err.sys, ESTALE);
        assert_non_null(strstr(err.text, path));
        assert_null(buf);
        assert_int_equal(test_fault_open_fds(), 0);
    }
}

static void load_fails_with_every_call_it_makes(void **state)
{
    (void)state;
    const char *path = test_path("load-fault");
    test_put(path, old_text, strlen(old_text));
    for (long call = 0;; call++) {
        void *buf;
        size_t n;
        test_fault_arm(TEST_ANY, call, EIO, TEST_ONCE);
        int rc = scr_file_load(&test_fault_sys, path, 100, &buf, &n, NULL);
        if (!test_fault_off()) {
            assert_int_equal(rc, SCR_OK);
            free(buf);
            break;
        }
        /* the close of a file only read does not matter */
        assert_true(rc == SCR_E_IO || test_fault_count(TEST_CLOSE) == 1);
        assert_true((rc == SCR_OK) == (buf != NULL));
        free(buf);
        assert_int_equal(test_fault_open_fds(), 0);
    }
}

/* --- appending, names --- */

static void append_adds_at_the_end(void **state)
{
    (void)state;
    (void)test_fresh_dir("append");
    const char *path = test_path("append/log");
    assert_int_equal(scr_file_append(&scr_sys_posix, path, "one\n", 4, 0600, NULL),
                     SCR_OK);
    test_fault_short(TEST_WRITE, 0, 2, TEST_ONCE);
    assert_int_equal(scr_file_append(&test_fault_sys, path, "two\n", 4, 0600, NULL),
                     SCR_OK);
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_ONCE);
    assert_int_equal(scr_file_append(&test_fault_sys, path, "no\n", 3, 0600, NULL),
                     SCR_E_FULL);
    test_fault_arm(TEST_CLOSE, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_file_append(&test_fault_sys, path, "", 0, 0600, NULL),
                     SCR_E_IO);
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE);
    assert_int_equal(scr_file_append(&test_fault_sys, path, "three\n", 6, 0600, NULL),
                     SCR_OK);
    assert_int_equal(test_fault_count(TEST_WRITE), 1);
    test_file_is(path, "one\ntwo\nthree\n");
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Another who can write to the directory may have put them there. (S2) */
static void append_follows_no_link_and_waits_for_no_reader(void **state)
{
    (void)state;
    (void)test_fresh_dir("append-odd");
    const char *link = test_path("append-odd/link"),
               *fifo = test_path("append-odd/fifo"),
               *victim = test_path("append-odd/victim");
    test_put(victim, "mine", 4);
    assert_int_equal(symlink(victim, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(scr_file_append(&scr_sys_posix, link, "x", 1, 0600, NULL),
                     SCR_E_IO);
    test_file_is(victim, "mine");
    assert_int_equal(scr_file_append(&scr_sys_posix, fifo, "x", 1, 0600, NULL),
                     SCR_E_IO);
}

static void stat_remove_rename(void **state)
{
    (void)state;
    (void)test_fresh_dir("srr");
    const char *a = test_path("srr/a"), *b = test_path("srr/b"),
               *l = test_path("srr/l");
    struct stat st;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_file_stat(&scr_sys_posix, a, &st, NULL), SCR_E_NOENT);
    assert_int_equal(scr_file_remove(&scr_sys_posix, a, NULL), SCR_OK);
    assert_int_equal(scr_file_rename(&scr_sys_posix, a, b, NULL), SCR_E_NOENT);
    test_put(a, "abc", 3);
    assert_int_equal(symlink(a, l), 0);
    assert_int_equal(scr_file_stat(&scr_sys_posix, l, &st, NULL), SCR_OK);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(scr_file_rename(&scr_sys_posix, a, b, NULL), SCR_OK);
    assert_int_equal(scr_file_stat(&scr_sys_posix, b, &st, NULL), SCR_OK);
    assert_int_equal(st.st_size, 3);
    test_fault_arm(TEST_UNLINKAT, 0, EACCES, TEST_ONCE);
    assert_int_equal(scr_file_remove(&test_fault_sys, b, &err), SCR_E_IO);
    assert_non_null(strstr(err.text, "permission denied"));
    test_fault_off();
    assert_int_equal(scr_file_remove(&scr_sys_posix, b, NULL), SCR_OK);
}

static void rename_new_takes_no_name_that_is_taken(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    struct stat st;
    const int no_links[] = { 0, EPERM, EOPNOTSUPP };
    const char *a = strdup(test_path("new_a")), *b = strdup(test_path("new_b"));
    for (size_t i = 0; i < sizeof no_links / sizeof *no_links; i++) {
        for (int there = 0; there <= 1; there++) {
            test_put(a, "abc", 3);
            unlink(b);
            if (there)
                test_put(b, "other", 5);
            test_fault_arm(TEST_LINKAT, no_links[i] ? 0 : 1000000, no_links[i],
                           TEST_ONCE);
            assert_int_equal(scr_file_rename_new(&test_fault_sys, a, b, &err),
                             there ? SCR_E_EXIST : SCR_OK);
            test_fault_off();
            assert_int_equal(stat(b, &st), 0);
            assert_int_equal(st.st_size, there ? 5 : 3);
            assert_int_equal(access(a, F_OK), there ? 0 : -1);
        }
    }
    unlink(b);
    test_put(a, "abc", 3);
    test_fault_arm(TEST_LINKAT, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_file_rename_new(&test_fault_sys, a, b, &err), SCR_E_IO);
    test_fault_off();
    assert_int_equal(access(b, F_OK), -1);
    unlink(a);
    free((char *)a);
    free((char *)b);
}

static void only_a_file_that_grew_gets_a_hint(void **state)
{
    (void)state;
    assert_non_null(strstr(scr_size_hint(1, 0), "SCR_Complete_output"));
    assert_string_equal(scr_size_hint(0, 1), "");
}

/* S2. Lustre refuses reads and writes of a file that another node has a lock of, if it
 * is open with O_NONBLOCK. */
static void no_fifo_is_waited_for_and_no_file_is_nonblocking(void **state)
{
    (void)state;
    static const int flags[] = { O_RDONLY | O_NOFOLLOW, O_RDONLY | O_NONBLOCK,
                                 O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW,
                                 O_RDWR | O_CREAT | O_NOFOLLOW };
    const char *file = test_path("blocking"), *fifo = test_path("blocking-fifo");
    int fd;
    test_put(file, "x", 1);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_int_equal(scr_open(&scr_sys_posix, file, flags[i], 0600, &fd, NULL),
                         SCR_OK);
        assert_int_equal(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND),
                         flags[i] & O_APPEND);
        assert_int_equal(scr_close(&scr_sys_posix, &fd, file, NULL), SCR_OK);
        alarm(60);
        (void)scr_open(&scr_sys_posix, fifo, flags[i], 0600, &fd, NULL);
        alarm(0);
        (void)scr_close(&scr_sys_posix, &fd, fifo, NULL);
    }
}

/* What is printed would be written into it. */
static void no_file_takes_the_place_of_a_closed_stream(void **state)
{
    (void)state;
    const char *file = test_path("stream");
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        int saved = fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), fd;
        (void)close(stream);
        int rc = scr_open(&scr_sys_posix, file, O_RDWR | O_CREAT, 0600, &fd, NULL);
        int is_closed = fcntl(stream, F_GETFD) < 0;
        (void)dup2(saved, stream);
        (void)close(saved);
        assert_int_equal(rc, SCR_OK);
        assert_true(is_closed);
        assert_in_range(fd, STDERR_FILENO + 1, 1000);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(scr_close(&scr_sys_posix, &fd, file, NULL), SCR_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_file_that_grew_gets_a_hint),
        cmocka_unit_test(short_and_interrupted_transfers_are_completed),
        cmocka_unit_test(a_file_that_ends_early_is_missing_data),
        cmocka_unit_test(errors_carry_code_and_path),
        cmocka_unit_test(load_gives_the_whole_file),
        cmocka_unit_test(load_reads_files_that_have_no_size),
        cmocka_unit_test(load_refuses_what_is_no_file),
        cmocka_unit_test(load_opens_a_stale_file_again),
        cmocka_unit_test(load_fails_with_every_call_it_makes),
        cmocka_unit_test(append_adds_at_the_end),
        cmocka_unit_test(append_follows_no_link_and_waits_for_no_reader),
        cmocka_unit_test(stat_remove_rename),
        cmocka_unit_test(rename_new_takes_no_name_that_is_taken),
        cmocka_unit_test(no_fifo_is_waited_for_and_no_file_is_nonblocking),
        cmocka_unit_test(no_file_takes_the_place_of_a_closed_stream),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
