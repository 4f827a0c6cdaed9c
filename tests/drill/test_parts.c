/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of scr drill that need no processes: phase files and the comparison. */
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "drill/drill.h"

static void entries_are_counted_by_phase(void **state)
{
    (void)state;
    const char *text = "checkpoint 1\nencode 1\ncompute 1\ncheckpoint 2\nencode 2\n";
    assert_int_equal(scr_drill_phase_entry(text, "checkpoint", 1), 1);
    assert_int_equal(scr_drill_phase_entry(text, "encode", 2), 2);
    assert_int_equal(scr_drill_phase_entry(text, "encode", 3), -1);
    assert_int_equal(scr_drill_phase_entry(text, "flush", 1), -1);
    assert_int_equal(scr_drill_phase_entry("", "compute", 1), -1);
}

static void a_line_being_written_does_not_count_yet(void **state)
{
    (void)state;
    assert_int_equal(scr_drill_phase_entry("encode 1\nencode 1", "encode", 2), -1);
    assert_int_equal(scr_drill_phase_entry("encode 1\nencode 12\n", "encode", 2), 12);
}

static void what_is_no_phase_is_skipped(void **state)
{
    (void)state;
    const char *text = "\nencode\n 3\nan unreasonably long phase name 4\nencode 5\n";
    assert_int_equal(scr_drill_phase_entry(text, "encode", 1), 5);
    struct drill_phases f;
    scr_drill_phases(text, &f);
    assert_int_equal(f.restart, 0);
    assert_int_equal(f.complete, 0);
}

static void a_dataset_is_complete_when_the_program_computes_again(void **state)
{
    (void)state;
    struct drill_phases f;
    scr_drill_phases("checkpoint 1\nencode 1\ncompute 1\ncheckpoint 2\nencode 2\n", &f);
    assert_int_equal(f.begun, 2);
    assert_int_equal(f.complete, 1);
    assert_int_equal(f.restart, 0);
}

static void a_restart_reports_where_its_checkpoint_came_from(void **state)
{
    (void)state;
    struct drill_phases f;
    scr_drill_phases("rebuild 2\nrebuild 3\nrestart 3\ncompute 3\n", &f);
    assert_int_equal(f.restart, 3);
    assert_true(f.rebuilt && !f.fetched);
    scr_drill_phases("rebuild 6\nrebuild 7\nrestart 6\n", &f);
    assert_true(f.rebuilt && !f.fetched);
    scr_drill_phases("rebuild 3\nfetch 2\nrestart 2\n", &f);
    assert_int_equal(f.restart, 2);
    assert_true(f.fetched && !f.rebuilt);
    scr_drill_phases("restart 4\n", &f);
    assert_true(!f.fetched && !f.rebuilt);
}

static void what_was_flushed_is_known_when_the_program_computes_again(void **state)
{
    (void)state;
    struct drill_phases f;
    scr_drill_phases("flush 1\n", &f);
    assert_int_equal(f.flushed, 0);
    scr_drill_phases("flush 1\ncompute 1\nencode 2\ncompute 2\nencode 3\n", &f);
    assert_int_equal(f.flushed, 1);
    assert_int_equal(f.complete, 2);
    assert_string_equal(scr_drill_phase_name[f.last], "encode");
    assert_int_equal(f.lines, 5);
}

static void a_line_is_the_nth_entry_of_its_phase(void **state)
{
    (void)state;
    const char *text = "checkpoint 1\ncompute 1\nrestart 1\ncheckpoint 2\n";
    struct drill_moment m;
    assert_true(scr_drill_phase_line(text, 3, &m));
    assert_string_equal(m.phase, "checkpoint");
    assert_int_equal(m.entry, 2);
    assert_false(scr_drill_phase_line(text, 2, &m)); /* no phase to be struck in */
    assert_false(scr_drill_phase_line(text, 4, &m));
}

static void expect_diff(const char *a, size_t na, const char *b, size_t nb, int same,
                        uint64_t bytes)
{
    const char *pa = test_path("a"), *pb = test_path("b");
    struct drill_diff diff;
    test_put(pa, a, na);
    test_put(pb, b, nb);
    assert_int_equal(scr_drill_compare(&scr_sys_posix, pa, pb, &diff, NULL), SCR_OK);
    assert_int_equal(diff.same, same);
    assert_int_equal(diff.bytes, bytes);
}

static void results_are_compared_byte_by_byte(void **state)
{
    (void)state;
    enum { LONG = 3 * 65536 }; /* whole pieces of the comparison */
    char *big = calloc(2, LONG + 1);
    assert_non_null(big);
    expect_diff("", 0, "", 0, 1, 0);
    expect_diff("abc", 3, "abc", 3, 1, 3);
    expect_diff("abc", 3, "abd", 3, 0, 2);
    expect_diff("abc", 3, "ab", 2, 0, 2);
    expect_diff("", 0, "a", 1, 0, 0);
    expect_diff(big, LONG, big, LONG, 1, LONG);
    expect_diff(big, LONG, big, LONG + 1, 0, LONG);
    expect_diff(big, LONG + 1, big, LONG, 0, LONG);
    big[LONG - 1] = 1;
    expect_diff(big, LONG, big + LONG, LONG, 0, LONG - 1);
    free(big);
}

static void a_missing_result_is_an_error(void **state)
{
    (void)state;
    struct drill_diff diff = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    const char *a = test_path("there");
    test_put(a, "x", 1);
    assert_int_equal(
        scr_drill_compare(&scr_sys_posix, a, test_path("none"), &diff, &err),
        SCR_E_NOENT);
    assert_non_null(strstr(err.text, "none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_counted_by_phase),
        cmocka_unit_test(a_line_being_written_does_not_count_yet),
        cmocka_unit_test(what_is_no_phase_is_skipped),
        cmocka_unit_test(a_dataset_is_complete_when_the_program_computes_again),
        cmocka_unit_test(a_restart_reports_where_its_checkpoint_came_from),
        cmocka_unit_test(what_was_flushed_is_known_when_the_program_computes_again),
        cmocka_unit_test(a_line_is_the_nth_entry_of_its_phase),
        cmocka_unit_test(results_are_compared_byte_by_byte),
        cmocka_unit_test(a_missing_result_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
