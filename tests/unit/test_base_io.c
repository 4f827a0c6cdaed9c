/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole reads and writes over short and interrupted calls, and the atomic replacement.
 */
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
static const char new_text[] = "the new state, which is longer";

static void assert_file(const char *path, const char *want)
{
    size_t n;
    char *got = test_get(path, &n);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(got, want, n);
    free(got);
}

/* Files in a directory of the test, which reports temporary files left. */
static size_t entries(const char *dir)
{
    char **names;
    size_t n;
    assert_int_equal(scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL), SCR_OK);
    scr_names_free(names, n);
    return n;
}

static const char *fresh_dir(const char *name)
{
    const char *dir = test_path("%s", name);
    assert_int_equal(scr_dir_remove(&scr_sys_posix, dir, NULL), SCR_OK);
    assert_int_equal(scr_dir_make(&scr_sys_posix, dir, 0700, NULL), SCR_OK);
    return dir;
}

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

/* --- replacing --- */

static int put_in_place(const struct scr_sys *sys, const char *path, const char *text,
                        enum scr_durability how)
{
    return scr_file_replace(sys, path, text, strlen(text),
                            (struct scr_replace){ 0600, how }, NULL);
}

static void replace_makes_and_replaces(void **state)
{
    (void)state;
    const char *dir = fresh_dir("replace"), *path = test_path("replace/state.scr");
    struct stat st;
    assert_int_equal(scr_file_replace(&scr_sys_posix, path, old_text, strlen(old_text),
                                      (struct scr_replace){ 0640, SCR_DURABLE }, NULL),
                     SCR_OK);
    assert_file(path, old_text);
    assert_int_equal(scr_file_stat(&scr_sys_posix, path, &st, NULL), SCR_OK);
    assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
    assert_int_equal(put_in_place(&scr_sys_posix, path, "", SCR_VOLATILE), SCR_OK);
    assert_file(path, "");
    assert_int_equal(entries(dir), 1);
}

static void only_durable_replacement_syncs(void **state)
{
    (void)state;
    (void)fresh_dir("sync");
    const char *path = test_path("sync/f");
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE); /* counts only */
    assert_int_equal(put_in_place(&test_fault_sys, path, "x", SCR_VOLATILE), SCR_OK);
    assert_int_equal(test_fault_count(TEST_FSYNC), 0);
    assert_int_equal(test_fault_count(TEST_ANY), 4); /* open, write, close, rename */
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE);
    assert_int_equal(put_in_place(&test_fault_sys, path, "x", SCR_DURABLE), SCR_OK);
    assert_int_equal(test_fault_count(TEST_FSYNC),
                     2); /* the file, then the directory */
}

/* The state after a replacement disturbed at its n-th call: 1 if that call was made. */
static int replace_disturbed(const char *dir, const char *path, enum scr_durability how,
                             long n, int error)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)fresh_dir(dir);
    test_put(path, old_text, strlen(old_text));
    test_fault_arm(TEST_ANY, n, error, TEST_ONCE);
    int rc = scr_file_replace(&test_fault_sys, path, new_text, strlen(new_text),
                              (struct scr_replace){ 0600, how }, &err);
    int fired = test_fault_off();
    assert_int_equal(rc, err.code);
    assert_int_equal(test_fault_open_fds(), 0);
    assert_int_equal(entries(test_path("%s", dir)), 1);
    /* Only when nothing but the sync of the directory is left to do may an error come
     * with the new content. */
    int renamed =
        test_fault_count(TEST_RENAMEAT) == 1 && test_fault_count(TEST_UNLINKAT) == 0;
    assert_file(path, rc == SCR_OK || renamed ? new_text : old_text);
    if (!fired)
        assert_int_equal(rc, SCR_OK);
    return fired;
}

static void replace_is_all_or_nothing_under_any_failing_call(void **state)
{
    (void)state;
    static const int errors[] = { EIO, ENOSPC, EDQUOT, EACCES };
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
        long durable = 0, fast = 0;
        while (replace_disturbed("atomic", test_path("atomic/f"), SCR_DURABLE, durable,
                                 errors[e]))
            durable++;
        while (replace_disturbed("atomic", test_path("atomic/f"), SCR_VOLATILE, fast,
                                 errors[e]))
            fast++;
        assert_int_equal(fast, 4);
        assert_int_equal(durable,
                         8); /* and fsync, open, fsync, close of the directory */
    }
}

static void a_crash_at_any_call_leaves_old_or_new(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        const char *path = test_path("crash/f");
        (void)fresh_dir("crash");
        test_put(path, old_text, strlen(old_text));
        test_fault_arm(TEST_ANY, n, EIO, TEST_FOREVER);
        (void)put_in_place(&test_fault_sys, path, new_text, SCR_DURABLE);
        if (!test_fault_off())
            break;
        size_t size;
        char *got = test_get(path, &size);
        assert_true(strcmp(got, old_text) == 0 || strcmp(got, new_text) == 0);
        free(got);

        /* and the next one works, with any temporary file there */
        assert_int_equal(put_in_place(&scr_sys_posix, path, "next", SCR_DURABLE),
                         SCR_OK);
        assert_file(path, "next");
    }
}

static void replace_survives_short_and_interrupted_calls(void **state)
{
    (void)state;
    (void)fresh_dir("eintr");
    const char *path = test_path("eintr/f");
    test_fault_short(TEST_WRITE, 0, 1, TEST_FOREVER);
    assert_int_equal(put_in_place(&test_fault_sys, path, new_text, SCR_DURABLE),
                     SCR_OK);
    test_fault_off();
    assert_file(path, new_text);
    static const enum test_kind kinds[] = { TEST_OPENAT, TEST_WRITE, TEST_FSYNC };
    for (size_t i = 0; i < 3; i++) {
        test_fault_arm(kinds[i], 0, EINTR, TEST_ONCE);
        assert_int_equal(put_in_place(&test_fault_sys, path, "the", SCR_DURABLE),
                         SCR_OK);
        assert_int_equal(test_fault_off(), 1);
        assert_file(path, "the");
    }
}

static void names_and_places_of_replaced_files(void **state)
{
    (void)state;
    const char *dir = fresh_dir("names");
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    /* the longest name a directory takes leaves no room for a suffix */
    const char *path = test_path("names/%s", name);
    assert_int_equal(put_in_place(&scr_sys_posix, path, "x", SCR_DURABLE), SCR_OK);
    assert_int_equal(entries(dir), 1);

    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(dir), 0);
    int rc = put_in_place(&scr_sys_posix, "plain", "x", SCR_DURABLE);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_int_equal(rc, SCR_OK);
    assert_file(test_path("names/plain"), "x");

    assert_int_equal(
        put_in_place(&scr_sys_posix, test_path("names/no/f"), "x", SCR_DURABLE),
        SCR_E_NOENT);
    assert_int_equal(mkdir(test_path("names/d"), 0700), 0);
    assert_int_equal(
        put_in_place(&scr_sys_posix, test_path("names/d"), "x", SCR_DURABLE), SCR_E_IO);
    assert_int_equal(entries(dir), 3);
}

static void replace_does_not_write_through_links(void **state)
{
    (void)state;
    (void)fresh_dir("links");
    const char *victim = test_path("links/victim"), *path = test_path("links/state");
    struct stat st;
    test_put(victim, old_text, strlen(old_text));
    assert_int_equal(symlink(victim, path), 0);
    /* another process guessed the temporary's name */
    assert_int_equal(
        symlink(victim, test_path("links/.state.%ld.0.tmp", (long)getpid())), 0);
    assert_int_equal(put_in_place(&scr_sys_posix, path, new_text, SCR_VOLATILE),
                     SCR_OK);
    assert_file(victim, old_text);
    assert_file(path, new_text);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
}

/* Replaces path count times with pages of one letter. */
static void replace_often(const char *path, char letter, int count)
{
    char page[8192];
    memset(page, letter, sizeof page);
    for (int i = 0; i < count; i++)
        if (scr_file_replace(&scr_sys_posix, path, page, sizeof page,
                             (struct scr_replace){ 0600, SCR_VOLATILE },
                             NULL) != SCR_OK)
            _exit(1);
}

static void several_processes_may_replace_one_path(void **state)
{
    (void)state;
    const char *dir = fresh_dir("race"), *path = test_path("race/f");
    replace_often(path, 'a', 1);
    pid_t pid[4];
    for (int i = 0; i < 4; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            replace_often(path, (char)('a' + i), 200);
            _exit(0);
        }
    }
    for (int i = 0; i < 200; i++) {
        size_t n;
        char *got = test_get(path, &n);
        assert_int_equal(n, 8192);
        for (size_t j = 1; j < n; j++)
            assert_int_equal(got[j], got[0]);
        free(got);
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(entries(dir), 1);
}

/* --- appending, names --- */

static void append_adds_at_the_end(void **state)
{
    (void)state;
    (void)fresh_dir("append");
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
    assert_file(path, "one\ntwo\nthree\n");
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Another who can write to the directory may have put them there. (S2) */
static void append_follows_no_link_and_waits_for_no_reader(void **state)
{
    (void)state;
    (void)fresh_dir("append-odd");
    const char *link = test_path("append-odd/link"),
               *fifo = test_path("append-odd/fifo"),
               *victim = test_path("append-odd/victim");
    test_put(victim, "mine", 4);
    assert_int_equal(symlink(victim, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(scr_file_append(&scr_sys_posix, link, "x", 1, 0600, NULL),
                     SCR_E_IO);
    assert_file(victim, "mine");
    assert_int_equal(scr_file_append(&scr_sys_posix, fifo, "x", 1, 0600, NULL),
                     SCR_E_IO);
}

static void stat_remove_rename(void **state)
{
    (void)state;
    (void)fresh_dir("srr");
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
        cmocka_unit_test(replace_makes_and_replaces),
        cmocka_unit_test(only_durable_replacement_syncs),
        cmocka_unit_test(replace_is_all_or_nothing_under_any_failing_call),
        cmocka_unit_test(a_crash_at_any_call_leaves_old_or_new),
        cmocka_unit_test(replace_survives_short_and_interrupted_calls),
        cmocka_unit_test(names_and_places_of_replaced_files),
        cmocka_unit_test(replace_does_not_write_through_links),
        cmocka_unit_test(several_processes_may_replace_one_path),
        cmocka_unit_test(append_adds_at_the_end),
        cmocka_unit_test(append_follows_no_link_and_waits_for_no_reader),
        cmocka_unit_test(stat_remove_rename),
        cmocka_unit_test(rename_new_takes_no_name_that_is_taken),
        cmocka_unit_test(no_fifo_is_waited_for_and_no_file_is_nonblocking),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
