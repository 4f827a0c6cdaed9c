/* SPDX-License-Identifier: BSD-3-Clause */
/* The atomic replacement of a file. */
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "helper_fault.h"

static const char old_text[] = "the old state";
static const char new_text[] = "the new state, which is longer";

/* Files in a directory of the test, which reports temporary files left. */
static size_t entries(const char *dir)
{
    char **names;
    size_t n;
    assert_int_equal(scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL), SCR_OK);
    scr_names_free(names, n);
    return n;
}

static int put_in_place(const struct scr_sys *sys, const char *path, const char *text,
                        enum scr_durability how)
{
    return scr_file_replace(sys, path, text, strlen(text),
                            (struct scr_replace){ 0600, how }, NULL);
}

static void replace_makes_and_replaces(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("replace"), *path = test_path("replace/state.scr");
    struct stat st;
    assert_int_equal(scr_file_replace(&scr_sys_posix, path, old_text, strlen(old_text),
                                      (struct scr_replace){ 0640, SCR_DURABLE }, NULL),
                     SCR_OK);
    test_file_is(path, old_text);
    assert_int_equal(scr_file_stat(&scr_sys_posix, path, &st, NULL), SCR_OK);
    assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
    assert_int_equal(put_in_place(&scr_sys_posix, path, "", SCR_VOLATILE), SCR_OK);
    test_file_is(path, "");
    assert_int_equal(entries(dir), 1);
}

static void only_durable_replacement_syncs(void **state)
{
    (void)state;
    (void)test_fresh_dir("sync");
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
    (void)test_fresh_dir(dir);
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
    test_file_is(path, rc == SCR_OK || renamed ? new_text : old_text);
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
        (void)test_fresh_dir("crash");
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
        test_file_is(path, "next");
    }
}

static void replace_survives_short_and_interrupted_calls(void **state)
{
    (void)state;
    (void)test_fresh_dir("eintr");
    const char *path = test_path("eintr/f");
    test_fault_short(TEST_WRITE, 0, 1, TEST_FOREVER);
    assert_int_equal(put_in_place(&test_fault_sys, path, new_text, SCR_DURABLE),
                     SCR_OK);
    test_fault_off();
    test_file_is(path, new_text);
    static const enum test_kind kinds[] = { TEST_OPENAT, TEST_WRITE, TEST_FSYNC };
    for (size_t i = 0; i < 3; i++) {
        test_fault_arm(kinds[i], 0, EINTR, TEST_ONCE);
        assert_int_equal(put_in_place(&test_fault_sys, path, "the", SCR_DURABLE),
                         SCR_OK);
        assert_int_equal(test_fault_off(), 1);
        test_file_is(path, "the");
    }
}

static void names_and_places_of_replaced_files(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("names");
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
    test_file_is(test_path("names/plain"), "x");

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
    (void)test_fresh_dir("links");
    const char *victim = test_path("links/victim"), *path = test_path("links/state");
    struct stat st;
    test_put(victim, old_text, strlen(old_text));
    assert_int_equal(symlink(victim, path), 0);
    /* another process guessed the temporary's name */
    assert_int_equal(
        symlink(victim, test_path("links/.state.%ld.0.tmp", (long)getpid())), 0);
    assert_int_equal(put_in_place(&scr_sys_posix, path, new_text, SCR_VOLATILE),
                     SCR_OK);
    test_file_is(victim, old_text);
    test_file_is(path, new_text);
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
    const char *dir = test_fresh_dir("race"), *path = test_path("race/f");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replace_makes_and_replaces),
        cmocka_unit_test(only_durable_replacement_syncs),
        cmocka_unit_test(replace_is_all_or_nothing_under_any_failing_call),
        cmocka_unit_test(a_crash_at_any_call_leaves_old_or_new),
        cmocka_unit_test(replace_survives_short_and_interrupted_calls),
        cmocka_unit_test(names_and_places_of_replaced_files),
        cmocka_unit_test(replace_does_not_write_through_links),
        cmocka_unit_test(several_processes_may_replace_one_path),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
