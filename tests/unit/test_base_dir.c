/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories in places that other users share (invariant D4), listing, removal. */
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "helper_fault.h"

static int exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int private(const char *base, const char *rel, struct scr_err *err)
{
    return scr_dir_make_private(&scr_sys_posix, base, rel, 0700, err);
}

/* --- private directories --- */

static void private_directories_are_made_0700(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("private");
    struct stat st;
    assert_int_equal(private(base, "user/scr.job/x", NULL), SCR_OK);
    static const char *const made[] = { "user", "user/scr.job", "user/scr.job/x" };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lstat(test_path("private/%s", made[i]), &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(st.st_uid, geteuid());
    }
    assert_int_equal(private(base, "user/./scr.job//x/", NULL), SCR_OK); /* again */
    assert_int_equal(private(base, "", NULL), SCR_OK);
    assert_int_equal(private(base, ".", NULL), SCR_OK);
}

/* A umask takes rights from the user at most, it gives none to others. (S1) */
static void private_directories_are_private_under_every_umask(void **state)
{
    (void)state;
    static const mode_t masks[] = { 0, 002, 022, 077, 0777 };
    const char *base = test_fresh_dir("umask");
    struct stat st;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "u%03o", (unsigned)masks[i]);
        mode_t old = umask(masks[i]);
        int rc = private(base, name, NULL);
        umask(old);
        assert_int_equal(rc, SCR_OK);
        assert_int_equal(lstat(test_path("umask/%s", name), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700 & ~masks[i]);
    }
}

/* What others put in our place before: nothing is made in it, nothing is changed. (S1)
 */
static void what_stands_in_the_way_is_refused_and_left(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("squat");
    struct stat st;
    assert_int_equal(mkfifo(test_path("squat/fifo"), 0666), 0);
    assert_int_equal(mkdir(test_path("squat/open"), 0700), 0);
    assert_int_equal(chmod(test_path("squat/open"), 0777), 0);
    test_put(test_path("squat/file"), "x", 1);
    assert_int_equal(link(test_path("squat/file"), test_path("squat/hard")), 0);
    static const char *const names[] = { "fifo", "open", "file", "hard" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char rel[32];
        (void)snprintf(rel, sizeof rel, "%s/x", names[i]);
        assert_int_equal(private(base, names[i], NULL), SCR_E_UNSAFE);
        assert_int_equal(private(base, rel, NULL), SCR_E_UNSAFE);
    }
    assert_int_equal(lstat(test_path("squat/open"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0777);
    assert_int_equal(rmdir(test_path("squat/open")), 0);
}

static void the_base_must_exist_and_may_be_a_link(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("base"), *link = test_path("base-link");
    assert_int_equal(symlink(base, link), 0);
    assert_int_equal(private(link, "a", NULL), SCR_OK);
    assert_true(exists(test_path("base/a")));
    assert_int_equal(private(test_path("no-base"), "a", NULL), SCR_E_NOENT);
    assert_false(exists(test_path("no-base")));
    test_put(test_path("file"), "", 0);
    assert_int_equal(private(test_path("file"), "", NULL), SCR_E_IO);
}

static void a_path_that_leads_out_is_refused(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("out");
    static const char *const bad[] = { "../x", "a/../../x", "/x", "..", "a/.." };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(private(base, bad[i], NULL), SCR_E_UNSAFE);
    assert_false(exists(test_path("x")));
    assert_int_equal(rmdir(base), 0); /* nothing was made */
}

static void symbolic_links_in_the_way_are_refused(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("symlink");
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(mkdir(test_path("symlink/real"), 0700), 0);
    assert_int_equal(symlink("real", test_path("symlink/user")), 0);
    assert_int_equal(private(base, "user/job", &err), SCR_E_UNSAFE);
    assert_non_null(strstr(err.text, "symlink/user refused: it is a symbolic link"));
    assert_int_equal(rmdir(test_path("symlink/real")), 0); /* nothing was made in it */

    scr_err_clear(&err);
    assert_int_equal(private(base, "user", &err), SCR_E_UNSAFE); /* dangling now */
    test_put(test_path("symlink/f"), "", 0);
    scr_err_clear(&err);
    assert_int_equal(private(base, "f", &err), SCR_E_UNSAFE);
    assert_non_null(strstr(err.text, "it is a file"));
}

static void directories_others_may_write_to_are_refused(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("writable"), *user = test_path("writable/user");
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(mkdir(user, 0700), 0);
    static const mode_t bad[] = { 0720, 0702, 0777, 01777 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(chmod(user, bad[i]), 0);
        scr_err_clear(&err);
        assert_int_equal(private(base, "user/job", &err), SCR_E_UNSAFE);
        assert_non_null(strstr(err.text, "others may write to it"));
        assert_false(exists(test_path("writable/user/job")));
    }
    assert_int_equal(chmod(user, 0755), 0); /* readable is harmless */
    assert_int_equal(private(base, "user/job", NULL), SCR_OK);
}

static void directories_of_others_are_refused(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("foreign"), *user = test_path("foreign/user");
    struct scr_err err = SCR_ERR_INIT;
    if (geteuid() != 0) { /* the root directory's owner is foreign enough */
        assert_int_equal(private("/", "tmp", &err), SCR_E_UNSAFE);
        assert_non_null(strstr(err.text, "it belongs to user 0"));
        return;
    }
    assert_int_equal(mkdir(user, 0700), 0);
    assert_int_equal(chown(user, 65534, 65534), 0);
    assert_int_equal(private(base, "user/job", &err), SCR_E_UNSAFE);
    assert_non_null(strstr(err.text, "foreign/user refused: it belongs to user 65534"));
    assert_false(exists(test_path("foreign/user/job")));
}

static void private_fails_with_every_call_it_makes(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        const char *base = test_fresh_dir("private-fault");
        struct scr_err err = SCR_ERR_INIT;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_dir_make_private(&test_fault_sys, base, "a/b", 0700, &err);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_int_equal(rc, err.code);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
        assert_true(rc == SCR_E_IO || exists(test_path("private-fault/a/b")));
    }
}

/* --- directories of the user --- */

static void make_makes_all_parents(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("make");
    assert_int_equal(
        scr_dir_make(&scr_sys_posix, test_path("make/a/b//c/"), 0755, NULL), SCR_OK);
    assert_true(exists(test_path("make/a/b/c")));
    assert_int_equal(scr_dir_make(&scr_sys_posix, dir, 0755, NULL), SCR_OK);
    assert_int_equal(scr_dir_make(&scr_sys_posix, "/", 0755, NULL), SCR_OK);
    assert_int_equal(scr_dir_make(&scr_sys_posix, ".", 0755, NULL), SCR_OK);
    assert_int_equal(symlink("a", test_path("make/link")), 0);
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("make/link/d"), 0755, NULL),
                     SCR_OK);
    assert_true(exists(test_path("make/a/d")));
}

static void make_says_what_is_in_the_way(void **state)
{
    (void)state;
    (void)test_fresh_dir("way");
    struct scr_err err = SCR_ERR_INIT;
    test_put(test_path("way/f"), "", 0);
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("way/f"), 0755, &err),
                     SCR_E_IO);
    assert_int_equal(err.sys, ENOTDIR);
    scr_err_clear(&err);
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("way/f/x/y"), 0755, &err),
                     SCR_E_IO);
    assert_int_equal(err.sys, ENOTDIR);
    scr_err_clear(&err);
    assert_int_equal(symlink("nowhere", test_path("way/dangling")), 0);
    assert_int_equal(
        scr_dir_make(&scr_sys_posix, test_path("way/dangling/x"), 0755, &err),
        SCR_E_NOENT);
    assert_non_null(strstr(err.text, "way/dangling"));
}

static void make_accepts_what_exists_whatever_mkdir_says(void **state)
{
    (void)state;
    (void)test_fresh_dir("rofs");
    /* a read-only parent, and the first look missed the directory */
    test_fault_arm(TEST_MKDIRAT, 0, EROFS, TEST_FOREVER);
    assert_int_equal(scr_dir_make(&test_fault_sys, test_path("rofs/new"), 0755, NULL),
                     SCR_E_IO);
    assert_int_equal(scr_dir_make(&test_fault_sys, test_path("rofs"), 0755, NULL),
                     SCR_OK);
    test_fault_off();
}

static void sync_reports_errors_but_not_missing_support(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("sync");
    test_fault_arm(TEST_FSYNC, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_dir_sync(&test_fault_sys, dir, NULL), SCR_E_IO);
    test_fault_arm(TEST_FSYNC, 0, ENOSPC, TEST_ONCE);
    assert_int_equal(scr_dir_sync(&test_fault_sys, dir, NULL), SCR_E_FULL);
    test_fault_arm(TEST_FSYNC, 0, EINVAL, TEST_ONCE);
    assert_int_equal(scr_dir_sync(&test_fault_sys, dir, NULL), SCR_OK);
    test_fault_off();
    assert_int_equal(scr_dir_sync(&test_fault_sys, test_path("no"), NULL), SCR_E_NOENT);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- listing --- */

static void lists_are_sorted_by_bytes(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("list");
    char **names;
    size_t n;
    assert_int_equal(scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL), SCR_OK);
    assert_int_equal(n, 0);
    scr_names_free(names, n);

    static const char *const want[] = { ".hidden", "10", "2", "B", "a", "\xc3\xa4" };
    for (size_t i = 0; i < 6; i++)
        test_put(test_path("list/%s", want[5 - i]), "", 0);
    assert_int_equal(scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL), SCR_OK);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(names[i], want[i]);
    scr_names_free(names, n);
    assert_int_equal(scr_dir_list(&scr_sys_posix, test_path("no"), &names, &n, NULL),
                     SCR_E_NOENT);
    assert_null(names);
    assert_int_equal(
        scr_dir_list(&scr_sys_posix, test_path("list/a"), &names, &n, NULL), SCR_E_IO);
}

static void a_list_is_whole_or_an_error(void **state)
{
    (void)state;
    const char *dir = test_fresh_dir("list-fault");
    for (int i = 0; i < 5; i++)
        test_put(test_path("list-fault/%d", i), "", 0);
    for (long call = 0;; call++) {
        char **names;
        size_t n;
        test_fault_arm(TEST_ANY, call, EIO, TEST_ONCE);
        int rc = scr_dir_list(&test_fault_sys, dir, &names, &n, NULL);
        int fired = test_fault_off();
        assert_int_equal(n, rc == SCR_OK ? 5 : 0);
        scr_names_free(names, n);
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired)
            break;
        assert_true(rc == SCR_E_IO || test_fault_count(TEST_CLOSEDIR) == 1);
    }
}

/* --- removal --- */

/* A tree with files, links, and a way out that must not be taken. */
static void plant(const char *dir)
{
    (void)test_fresh_dir(dir);
    assert_int_equal(
        scr_dir_make(&scr_sys_posix, test_path("%s/tree/a/b", dir), 0755, NULL),
        SCR_OK);
    assert_int_equal(mkdir(test_path("%s/outside", dir), 0755), 0);
    test_put(test_path("%s/outside/keep", dir), "k", 1);
    test_put(test_path("%s/tree/f", dir), "", 0);
    test_put(test_path("%s/tree/a/b/g", dir), "", 0);
    assert_int_equal(symlink("../outside", test_path("%s/tree/way-out", dir)), 0);
}

static void a_sum_is_of_all_below_but_locks(void **state)
{
    (void)state;
    const char *base = test_fresh_dir("sum");
    const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
    struct scr_dir_sum sum = { 0 };
    assert_int_equal(mkdir(test_path("sum/d"), 0700), 0);
    test_put(test_path("sum/d/a"), "12345", 5);
    test_put(test_path("sum/b.lock"), "12", 2);
    assert_int_equal(symlink("/", test_path("sum/link")), 0);
    const char *const all[] = { "sum/d/a", "sum/d", "sum/link", "sum" };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            utimensat(AT_FDCWD, test_path("%s", all[i]), old, AT_SYMLINK_NOFOLLOW), 0);
    scr_dir_measure(&scr_sys_posix, base, &sum);
    assert_int_equal(sum.bytes, 5 + 2 + 1); /* of the link, its text */
    assert_int_equal(sum.newest, 1000);
    scr_dir_measure(&scr_sys_posix, test_path("sum/none"), &sum);
    assert_int_equal(sum.bytes, 5 + 2 + 1);
    assert_true(scr_dir_is_same(&scr_sys_posix, base, test_path("sum/d/..")));
    assert_false(scr_dir_is_same(&scr_sys_posix, base, test_path("sum/d")));
}

static void remove_takes_the_tree_and_nothing_behind_links(void **state)
{
    (void)state;
    plant("rm");
    assert_int_equal(
        scr_dir_remove(&scr_sys_posix, test_path("rm/tree/way-out/"), NULL), SCR_OK);
    assert_true(exists(test_path("rm/outside/keep")));
    plant("rm");
    assert_int_equal(scr_dir_remove(&scr_sys_posix, test_path("rm/tree"), NULL),
                     SCR_OK);
    assert_false(exists(test_path("rm/tree")));
    assert_true(exists(test_path("rm/outside/keep")));
    assert_int_equal(scr_dir_remove(&scr_sys_posix, test_path("rm/tree"), NULL),
                     SCR_OK);
    assert_int_equal(scr_dir_remove(&scr_sys_posix, test_path("rm/outside/keep"), NULL),
                     SCR_OK);
    static const char *const never[] = { "/", ".", "..", "", "a/../..", "//" };
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        assert_int_equal(scr_dir_remove(&scr_sys_posix, never[i], NULL), SCR_E_ARG);
}

static void remove_continues_after_an_error(void **state)
{
    (void)state;
    plant("rm-err");
    struct scr_err err = SCR_ERR_INIT;
    /* the list of tree is a, f, way-out; the call after tree itself is the one for a */
    test_fault_arm(TEST_UNLINKAT, 1, EACCES, TEST_ONCE);
    assert_int_equal(scr_dir_remove(&test_fault_sys, test_path("rm-err/tree"), &err),
                     SCR_E_IO);
    assert_int_equal(test_fault_off(), 1);
    assert_int_equal(err.sys, EACCES);
    assert_non_null(strstr(err.text, "rm-err/tree/a: permission denied"));
    assert_true(exists(test_path("rm-err/tree/a/b/g")));
    assert_false(exists(test_path("rm-err/tree/f")));
    assert_false(exists(test_path("rm-err/tree/way-out")));
}

static void remove_fails_with_every_call_it_makes(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        plant("rm-fault");
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_dir_remove(&test_fault_sys, test_path("rm-fault/tree"), NULL);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_true(exists(test_path("rm-fault/outside/keep")));
        assert_int_equal(exists(test_path("rm-fault/tree")), rc != SCR_OK);
        if (!fired)
            break;
    }
}

static void prune_leaves_parents_in_a_directory_of_others(void **state)
{
    (void)state;
    const char *top = test_fresh_dir("prune-other");
    const char *job = test_path("prune-other/user/job");
    assert_int_equal(scr_dir_make(&scr_sys_posix, job, 0700, NULL), SCR_OK);
    test_fault_arm(TEST_UNLINKAT, 0, EACCES, TEST_ONCE);
    assert_int_equal(scr_dir_prune(&test_fault_sys, job, top, NULL), SCR_E_IO);
    assert_true(exists(job));
    test_fault_arm(TEST_UNLINKAT, 1, EACCES, TEST_ONCE);
    assert_int_equal(scr_dir_prune(&test_fault_sys, job, top, NULL), SCR_OK);
    test_fault_off();
    assert_false(exists(job));
    assert_true(exists(test_path("prune-other/user")));
}

static void prune_takes_empty_parents_up_to_stop(void **state)
{
    (void)state;
    const char *top = test_fresh_dir("prune");
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("prune/a/b/c"), 0755, NULL),
                     SCR_OK);
    test_put(test_path("prune/a/f"), "", 0);
    assert_int_equal(scr_dir_prune(&scr_sys_posix, test_path("prune/a/b/c"), top, NULL),
                     SCR_OK);
    assert_false(exists(test_path("prune/a/b")));
    assert_true(exists(test_path("prune/a/f")));
    assert_int_equal(unlink(test_path("prune/a/f")), 0);
    /* a file that another process removed already does not stop it */
    assert_int_equal(scr_dir_prune(&scr_sys_posix, test_path("prune/a/b/c"), top, NULL),
                     SCR_OK);
    assert_false(exists(test_path("prune/a")));
    assert_true(exists(top));
    assert_int_equal(scr_dir_prune(&scr_sys_posix, top, top, NULL), SCR_OK);
    assert_true(exists(top));
    assert_int_equal(scr_dir_prune(&scr_sys_posix, test_path("prunes"), top, NULL),
                     SCR_E_OUTSIDE);
    assert_int_equal(scr_dir_prune(&scr_sys_posix, test_path("prune/../x"), top, NULL),
                     SCR_E_OUTSIDE);
    assert_int_equal(mkdir(test_path("prune/a"), 0700), 0);
    test_fault_arm(TEST_UNLINKAT, 0, EACCES, TEST_ONCE);
    assert_int_equal(scr_dir_prune(&test_fault_sys, test_path("prune/a"), top, NULL),
                     SCR_E_IO);
    test_fault_off();
}

/* --- real paths --- */

/* <tmp>/real/<path> is, or would be made, at <tmp>/real/<at>. */
static void resolves_to(const char *path, const char *at)
{
    char *real = NULL, *top = NULL, expected[900];
    assert_int_equal(scr_realpath(test_path("real"), &top, NULL), SCR_OK);
    snprintf(expected, sizeof expected, "%s/%s", top, at);
    assert_int_equal(scr_realpath_to_be(test_path("real/%s", path), &real, NULL),
                     SCR_OK);
    assert_string_equal(real, expected);
    free(real);
    free(top);
}

static void a_path_that_is_not_there_follows_links(void **state)
{
    char *real = NULL, text[300];
    (void)state;
    test_fresh_dir("real");
    assert_int_equal(mkdir(test_path("real/d"), 0700), 0);
    assert_int_equal(symlink("../gone/deep", test_path("real/d/up")), 0);
    assert_int_equal(symlink("d/up", test_path("real/two")), 0);
    assert_int_equal(symlink(test_path("real/d/new"), test_path("real/whole")), 0);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = text[250] = '\0';
    assert_int_equal(symlink(text, test_path("real/long")), 0);
    resolves_to("d", "d");
    resolves_to("d/x/y", "d/x/y");
    resolves_to("d/up", "gone/deep");
    resolves_to("two/sub", "gone/deep/sub");
    resolves_to("whole", "d/new");
    resolves_to("long", text);

    assert_int_equal(symlink("loop", test_path("real/loop")), 0);
    assert_int_equal(scr_realpath_to_be(test_path("real/loop/x"), &real, NULL),
                     SCR_E_IO);
    assert_int_equal(scr_realpath_to_be(test_path("real/none/.."), &real, NULL),
                     SCR_E_NOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_directories_are_made_0700),
        cmocka_unit_test(private_directories_are_private_under_every_umask),
        cmocka_unit_test(what_stands_in_the_way_is_refused_and_left),
        cmocka_unit_test(the_base_must_exist_and_may_be_a_link),
        cmocka_unit_test(a_path_that_leads_out_is_refused),
        cmocka_unit_test(symbolic_links_in_the_way_are_refused),
        cmocka_unit_test(directories_others_may_write_to_are_refused),
        cmocka_unit_test(directories_of_others_are_refused),
        cmocka_unit_test(private_fails_with_every_call_it_makes),
        cmocka_unit_test(make_makes_all_parents),
        cmocka_unit_test(make_says_what_is_in_the_way),
        cmocka_unit_test(make_accepts_what_exists_whatever_mkdir_says),
        cmocka_unit_test(sync_reports_errors_but_not_missing_support),
        cmocka_unit_test(lists_are_sorted_by_bytes),
        cmocka_unit_test(a_list_is_whole_or_an_error),
        cmocka_unit_test(a_sum_is_of_all_below_but_locks),
        cmocka_unit_test(remove_takes_the_tree_and_nothing_behind_links),
        cmocka_unit_test(remove_continues_after_an_error),
        cmocka_unit_test(remove_fails_with_every_call_it_makes),
        cmocka_unit_test(prune_leaves_parents_in_a_directory_of_others),
        cmocka_unit_test(prune_takes_empty_parents_up_to_stop),
        cmocka_unit_test(a_path_that_is_not_there_follows_links),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
