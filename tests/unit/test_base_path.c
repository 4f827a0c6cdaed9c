/* SPDX-License-Identifier: BSD-3-Clause */
/* Path algebra. */
#include "helper_tmp.h"

#include <stdlib.h>

#include "base/path.h"

static void is(char *got, const char *want)
{
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

static void normal_paths(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "", "." },
        { ".", "." },
        { "/", "/" },
        { "//", "/" },
        { "/.", "/" },
        { "/..", "/" },
        { "/../a", "/a" },
        { "a", "a" },
        { "a/", "a" },
        { "./a", "a" },
        { "a//b/./c/", "a/b/c" },
        { "a/..", "." },
        { "a/../b", "b" },
        { "a/b/../..", "." },
        { "a/b/../../..", ".." },
        { "..", ".." },
        { "../a", "../a" },
        { "../../a", "../../a" },
        { "../a/..", ".." },
        { "/a/b/../c", "/a/c" },
        { "/a/../..", "/" },
        { "a/..b", "a/..b" },
        { "/a/.../b", "/a/.../b" },
        { "/a/..", "/" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        is(scr_path_normal(rows[i][0]), rows[i][1]);
        is(scr_path_normal(rows[i][1]), rows[i][1]);
    }
}

static void joined_paths(void **state)
{
    (void)state;
    is(scr_path_join("/p", "a/b"), "/p/a/b");
    is(scr_path_join("/p/", "../a"), "/a");
    is(scr_path_join("/p", "/q"), "/q");
    is(scr_path_join("/", "a"), "/a");
    is(scr_path_join("", "a"), "a");
    is(scr_path_join("/p", ""), "/p");
    is(scr_path_join("p", "."), "p");
}

static void paths_below_a_directory(void **state)
{
    (void)state;
    int outside = 7;
    is(scr_path_below("/p", "/p/x/y", &outside), "x/y");
    assert_int_equal(outside, 0);
    is(scr_path_below("/p", "/p", &outside), ".");
    is(scr_path_below("/", "/x", &outside), "x");
    is(scr_path_below("/", "/", &outside), ".");
    static const char *const out[][2] = {
        { "/p", "/px" },  { "/p", "/" },   { "/p/q", "/p" },
        { "/p", "/q/p" }, { "/p", "p/x" },
    };
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
        assert_null(scr_path_below(out[i][0], out[i][1], &outside));
        assert_int_equal(outside, 1);
        assert_null(scr_path_rest(out[i][0], out[i][1]));
    }
    assert_string_equal(scr_path_rest("/p", "/p/x/y"), "x/y");
    assert_null(scr_path_rest("/p", "/p"));
    assert_null(scr_path_rest("", "/p"));
    assert_null(scr_path_rest(NULL, "/p"));
}

static void base_and_directory(void **state)
{
    (void)state;
    assert_string_equal(scr_path_base("/a/b"), "b");
    assert_string_equal(scr_path_base("b"), "b");
    assert_string_equal(scr_path_base("/"), "");
    is(scr_path_dir("/a/b"), "/a");
    is(scr_path_dir("/a"), "/");
    is(scr_path_dir("a"), ".");
    is(scr_path_dir("/"), "/");
    is(scr_path_dir("a//b"), "a");
    is(scr_path_dir("//b"), "/");
}

static void paths_from_files_must_stay_below(void **state)
{
    (void)state;
    static const char *const good[] = { "a",   "a/b",   "a/./b", "..a",
                                        "a..", "a/...", ".a",    "a/" };
    static const char *const bad[] = { "",     "/",      "/a",           ".",
                                       "./",   "././",   "..",           "../a",
                                       "a/..", "a/../b", "a/b/../../..", "./.." };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(scr_path_is_safe(good[i]), 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_path_is_safe(bad[i]), 0);
    assert_int_equal(scr_path_is_safe(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_paths),
        cmocka_unit_test(joined_paths),
        cmocka_unit_test(paths_below_a_directory),
        cmocka_unit_test(base_and_directory),
        cmocka_unit_test(paths_from_files_must_stay_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
