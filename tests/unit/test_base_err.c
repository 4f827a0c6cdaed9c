/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors keep the first cause on one line; log lines go to those who should see them.
 */
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"

static void fail_fills_code_errno_and_text(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    errno = 77;
    assert_int_equal(scr_fail(&err, SCR_E_IO, EIO, "rename %s", "/p/x"), SCR_E_IO);
    assert_int_equal(err.code, SCR_E_IO);
    assert_int_equal(err.sys, EIO);
    assert_string_equal(err.text, "rename /p/x: input/output error");
    assert_int_equal(errno, 77);
}

static void errno_refines_an_io_error_only(void **state)
{
    (void)state;
    assert_int_equal(scr_fail(NULL, SCR_E_IO, ENOSPC, "x"), SCR_E_FULL);
    assert_int_equal(scr_fail(NULL, SCR_E_IO, EDQUOT, "x"), SCR_E_FULL);
    assert_int_equal(scr_fail(NULL, SCR_E_IO, ENOMEM, "x"), SCR_E_NOMEM);
    assert_int_equal(scr_fail(NULL, SCR_E_IO, ENOENT, "x"), SCR_E_NOENT);
    assert_int_equal(scr_fail(NULL, SCR_E_IO, EACCES, "x"), SCR_E_IO);
    assert_int_equal(scr_fail(NULL, SCR_E_ARG, ENOSPC, "x"), SCR_E_ARG);
}

static void the_first_cause_wins(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    (void)scr_fail(&err, SCR_E_CORRUPT, 0, "first");
    assert_int_equal(scr_fail(&err, SCR_E_ARG, 0, "second"), SCR_E_ARG);
    assert_int_equal(err.code, SCR_E_CORRUPT);
    assert_string_equal(err.text, "first");
    scr_err_clear(&err);
    assert_int_equal(err.code, SCR_OK);
    assert_string_equal(err.text, "");
    scr_err_clear(NULL);
}

static void an_error_is_taken_with_its_text(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT, why = SCR_ERR_INIT;
    (void)scr_fail(&why, SCR_E_NOENT, 0, "open %s", "100%s");
    assert_int_equal(scr_err_take(&err, SCR_OK, &why), SCR_OK);
    assert_int_equal(err.code, SCR_OK);
    assert_int_equal(scr_err_take(&err, SCR_E_MISSING, &why), SCR_E_MISSING);
    assert_int_equal(err.code, SCR_E_MISSING);
    assert_string_equal(err.text, "open 100%s");
    assert_int_equal(scr_err_take(NULL, SCR_E_IO, &why), SCR_E_IO);
}

static void a_long_path_is_cut_and_the_cause_kept(void **state)
{
    (void)state;
    char path[3000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct scr_err err = SCR_ERR_INIT;
    (void)scr_fail(&err, SCR_E_IO, EIO, "open %s", path);
    assert_int_equal(strlen(err.text), SCR_ERR_TEXT - 1);
    assert_non_null(strstr(err.text, "...: input/output error"));

    scr_err_prefix(&err, "%s", path);
    assert_true(strlen(err.text) < SCR_ERR_TEXT);
    assert_non_null(strstr(err.text, "...: open ppp"));
}

static void an_error_is_one_line(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    (void)scr_fail(&err, SCR_E_ARG, 0, "open %s", "a\nb\x1b[31m");
    assert_string_equal(err.text, "open a?b?[31m");
    scr_err_prefix(&err, "c\rd");
    assert_string_equal(err.text, "c?d: open a?b?[31m");
}

/* U+009B starts a sequence, too; other letters of two bytes stay. (S10) */
static void control_characters_of_the_second_set_are_masked(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    (void)scr_fail(&err, SCR_E_ARG, 0, "open %s",
                   "\xc2\x9b"
                   "31m caf\xc3\xa9 \xc2\xa0\xc2");
    assert_string_equal(err.text, "open ??31m caf\xc3\xa9 \xc2\xa0\xc2");
}

static void prefix_needs_an_error(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    scr_err_prefix(&err, "x");
    scr_err_prefix(NULL, "x");
    assert_string_equal(err.text, "");
}

static void codes_have_meanings(void **state)
{
    (void)state;
    assert_string_equal(scr_err_meaning(SCR_E_IO), "input/output error");
    assert_string_equal(scr_err_meaning(-1), "unknown error");
}

/* The output of log, into a buffer of the caller. */
static const char *logged(const struct scr_log *spec, int level, const char *text)
{
    static char buf[8192];
    struct scr_log log = *spec;
    memset(buf, 0, sizeof buf);
    log.out = fmemopen(buf, sizeof buf, "w");
    assert_non_null(log.out);
    scr_log(&log, level, "%s", text);
    fclose(log.out);
    return buf;
}

static void levels_choose_and_label(void **state)
{
    (void)state;
    struct scr_log plain = { .who = "SCR", .level = 0 };
    assert_string_equal(logged(&plain, SCR_LOG_ERROR, "a"), "SCR: error: a\n");
    assert_string_equal(logged(&plain, SCR_LOG_WARN, "a"), "SCR: warning: a\n");
    assert_string_equal(logged(&plain, SCR_LOG_NOTE, "a"), "SCR: a\n");
    assert_string_equal(logged(&plain, SCR_LOG_INFO, "a"), "");

    struct scr_log chatty = { .who = "scr_halt", .level = 2 };
    assert_string_equal(logged(&chatty, SCR_LOG_INFO, "a"), "scr_halt: a\n");
    assert_string_equal(logged(&chatty, SCR_LOG_DEBUG, "a"), "scr_halt: debug: a\n");

    struct scr_log timed = { .who = "SCR", .has_time = 1 };
    const char *line = logged(&timed, SCR_LOG_WARN, "late");
    char time[64];
    assert_int_equal(sscanf(line, "%63s SCR: warning: late", time), 1);
    assert_int_equal(strlen(time), strlen("2014-01-14T11:26:06.000123+01:00"));
    assert_string_equal(line + strlen(time), " SCR: warning: late\n");
    assert_true(scr_log_time(1) == 1 && scr_log_time(0) == 0);
    struct scr_log quiet = { .who = "SCR", .level = 2, .quiet = 1 };
    assert_string_equal(logged(&quiet, SCR_LOG_ERROR, "a"), "");
    scr_log(NULL, SCR_LOG_ERROR, "nobody listens");
}

static void a_message_is_one_line_of_any_length(void **state)
{
    (void)state;
    struct scr_log log = { .who = "SCR" };
    assert_string_equal(logged(&log, SCR_LOG_NOTE, "a\nSCR: b\033"),
                        "SCR: a?SCR: b?\n");
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(strlen(logged(&log, SCR_LOG_NOTE, text)), 3999 + 6);
}

static void a_filled_error_is_logged(void **state)
{
    (void)state;
    char buf[256] = "";
    struct scr_log log = { .out = fmemopen(buf, sizeof buf, "w"), .who = "SCR" };
    struct scr_err err = SCR_ERR_INIT;
    scr_log_err(&log, &err);
    scr_log_err(&log, NULL);
    (void)scr_fail(&err, SCR_E_IO, EIO, "read %s", "100%s");
    scr_log_err(&log, &err);
    fclose(log.out);
    assert_string_equal(buf, "SCR: error: read 100%s: input/output error\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_code_errno_and_text),
        cmocka_unit_test(errno_refines_an_io_error_only),
        cmocka_unit_test(the_first_cause_wins),
        cmocka_unit_test(an_error_is_taken_with_its_text),
        cmocka_unit_test(a_long_path_is_cut_and_the_cause_kept),
        cmocka_unit_test(an_error_is_one_line),
        cmocka_unit_test(control_characters_of_the_second_set_are_masked),
        cmocka_unit_test(prefix_needs_an_error),
        cmocka_unit_test(codes_have_meanings),
        cmocka_unit_test(levels_choose_and_label),
        cmocka_unit_test(a_message_is_one_line_of_any_length),
        cmocka_unit_test(a_filled_error_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
