/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration files that are bad or missing, unknown names, calls that fail. */
#include "cfg/source.h"
#include "helper_cfg.h"
#include "helper_fault.h"
#include "helper_pack.h"
#include "helper_sources.h"
#include <errno.h>
#include <pwd.h>
#include <unistd.h>

/* --- bad files --- */

static void load_fails(struct test_cfg *t, const char *text, const char *message)
{
    const char *path = test_cfg_file("prefix/.scrconf", text);
    test_cfg_open(t, NULL);
    assert_int_equal(test_cfg_load(t), SCR_E_CONFIG);
    assert_contains(t->err.text, path);
    assert_contains(t->err.text, message);
    test_cfg_close(t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_bad_lines_name_file_line_and_text(void **state)
{
    (void)state;
    struct test_cfg t;
    load_fails(&t, "SCR_FLUSH=1\nSCR_FLUSH 10\n",
               ".scrconf:2: \"SCR_FLUSH 10\": expected NAME=VALUE");
    load_fails(&t, "hello", ".scrconf:1: \"hello\": expected NAME=VALUE");
    load_fails(
        &t, "\n\nSCR_PREFIX=$NO_SUCH_VARIABLE/x\n",
        ".scrconf:3: \"SCR_PREFIX=$NO_SUCH_VARIABLE/x\": $NO_SUCH_VARIABLE is not "
        "defined");
    load_fails(&t, "SCR_FLUSH=10 SCR_DEBUG=1\n",
               ".scrconf:1: \"SCR_FLUSH=10 SCR_DEBUG=1\": SCR_FLUSH takes one value");
    load_fails(&t, "SCR_CACHE_BASE=/my dir\n",
               ":1: \"SCR_CACHE_BASE=/my dir\": "
               "SCR_CACHE_BASE takes one value");
    load_fails(&t, "CKPT=0 TYPE\n", ":1: \"CKPT=0 TYPE\": expected TYPE=VALUE");
    load_fails(&t, "SCR_PREFIX=\"/a\nSCR_DEBUG=1\n",
               ":1: \"SCR_PREFIX=\"/a\": closing");
}

static void test_binary_file_is_refused(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_prefix();
    test_put(test_path("prefix/.scrconf"), "\0\1\2\3\377garbage", 12);
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_E_CONFIG);
    assert_contains(t.err.text, ".scrconf:1: ");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_missing_conf_file_is_an_error(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, "SCR_CONF_FILE=/no/such/file.conf", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_E_CONFIG);
    assert_string_equal(t.err.text,
                        "SCR_CONF_FILE=/no/such/file.conf (environment): no "
                        "such file");
    test_cfg_close(&t);
    test_cfg_open(&t, "SCR_CONF_FILE=/", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_E_CONFIG);
    assert_string_equal(t.err.text,
                        "SCR_CONF_FILE=/ (environment): not a regular file");
    test_cfg_close(&t);
}

static void test_missing_scrconf_and_system_file_are_fine(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    scr_cfg_set_system_file(t.cfg, "/no/such/system.conf");
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    test_cfg_close(&t);
}

static void test_directory_in_place_of_a_file(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_prefix();
    assert_int_equal(mkdir(test_path("prefix/.scrconf"), 0700), 0);
    test_cfg_open(&t, NULL);
    assert_int_not_equal(test_cfg_load(&t), SCR_OK);
    assert_contains(t.err.text, ".scrconf");
    test_cfg_close(&t);
    assert_int_equal(rmdir(test_path("prefix/.scrconf")), 0);
}

/* Settings that say where files are cannot stand in the files found by them. */
static void test_settings_that_come_too_late(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "SCR_CONF_FILE=/x\nSCR_PREFIX=/y\nSCR_FLUSH=2\n");
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_null(scr_cfg_get(t.cfg, "SCR_CONF_FILE"));
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_PREFIX"), test_cfg_prefix());
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "2");
    assert_contains(test_cfg_log(&t), "SCR_CONF_FILE (");
    assert_contains(test_cfg_log(&t), ".scrconf:2) is ignored");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

/* Those who can write to the prefix directory choose no program. (S7) */
static void test_a_program_is_not_taken_from_the_prefix_directory(void **state)
{
    (void)state;
    struct test_cfg t;
    char variable[1200];
    test_cfg_file("prefix/.scrconf", "SCR_TRANSFER_PROGRAM=/x\nSCR_FLUSH=2\n");
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_null(scr_cfg_get(t.cfg, "SCR_TRANSFER_PROGRAM"));
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "2");
    assert_contains(test_cfg_log(&t), ".scrconf:1) is ignored");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
    (void)snprintf(variable, sizeof variable, "SCR_CONF_FILE=%s",
                   test_cfg_file("mine.conf", "SCR_TRANSFER_PROGRAM=/x\n"));
    test_cfg_open(&t, variable, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_TRANSFER_PROGRAM"), "/x");
    test_cfg_close(&t);
}

/* --- unknown names --- */

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

static void test_unknown_names_are_warned_about_once(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "SCR_FLSUH=1\nSCR_FLSUH=2\nSTORE=/ssd CUONT=3\n"
                                     "WHATEVER=0 A=1\nGROUPS=h1 POWER=p\n");
    test_cfg_open(&t, "SCR_CACHESIZE=3", "SCRATCH=/x", "SCR_OUTLANDISH_THING=1", NULL);
    app(&t, "SCR_DEBUUG=1");
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    const char *log = test_cfg_log(&t);
    assert_int_equal(count(log, "SCR_FLSUH"), 1);
    assert_contains(log, "SCR: warning: unknown parameter SCR_FLSUH (");
    assert_contains(log, ".scrconf:2): did you mean SCR_FLUSH?\n");
    assert_contains(log, "SCR_CACHESIZE (environment): did you mean SCR_CACHE_SIZE?\n");
    assert_contains(log, "SCR_DEBUUG (SCR_Config): did you mean SCR_DEBUG?\n");
    assert_contains(log, "unknown child CUONT of STORE (");
    assert_contains(log, ":3): did you mean COUNT?\n");
    assert_int_equal(count(log, "WHATEVER"), 1);
    assert_int_equal(count(log, "SCR_OUTLANDISH_THING"), 1);
    assert_int_equal(count(log, "\n"), 6);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

/* Names and values of SCR 3.x: nothing is refused, and each has its line. */
static void test_what_has_no_effect_is_reported(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params prm;
    test_cfg_file("prefix/.scrconf", "SCR_LOG_DB_HOST=h\nSTORE=/ssd VIEW=PRIVATE "
                                     "FLUSH=BBAPI\nSCR_COPY_METADATA=1\n");
    test_cfg_open(&t, "SCR_FLUSH_TYPE=BBAPI", "SCR_FETCH_TYPE=SYNC",
                  "SCR_LOG_SYSLOG_LEVEL=LOG_ERR", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    const char *log = test_cfg_log(&t);
    assert_contains(log, "SCR_FETCH_TYPE (environment) has no effect: files are "
                         "fetched");
    assert_contains(log, "SCR_LOG_DB_HOST (");
    assert_contains(log, "SCR_COPY_METADATA (");
    assert_contains(log, "VIEW of STORE (");
    assert_contains(
        log, "SCR_FLUSH_TYPE=BBAPI (environment) is not supported, PTHREAD is used\n");
    assert_contains(log, "STORE FLUSH=BBAPI (");
    assert_int_equal(count(log, "\n"), 6);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
    assert_int_equal(prm.flush_type_id, 1); /* PTHREAD */
    assert_int_equal(prm.log_syslog_level_id, 3);
    assert_int_equal(prm.log_syslog_facility_id, 9);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

/* --- system calls that fail --- */

static void test_each_failing_call_is_reported(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=3\n");
    const char *sys = test_cfg_file("system.conf", "SCR_DEBUG=1\n");
    for (long n = 0;; n++) {
        test_cfg_open(&t, NULL);
        scr_cfg_set_system_file(t.cfg, sys);
        t.env.sys = &test_fault_sys;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = test_cfg_load(&t);
        int fired = test_fault_off();
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "3");
            test_cfg_close(&t);
            break;
        }
        /* The close of a file that was only read says nothing about its bytes. */
        if (rc != SCR_OK)
            assert_contains(t.err.text, "conf");
        else
            assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "3");
        test_cfg_close(&t);
    }
    assert_int_equal(test_fault_open_fds(), 0);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_unreadable_file_is_an_error(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=3\n");
    test_cfg_open(&t, NULL);
    t.env.sys = &test_fault_sys;
    test_fault_arm(TEST_OPENAT, 0, EACCES, TEST_FOREVER);
    assert_int_equal(test_cfg_load(&t), SCR_E_IO);
    (void)test_fault_off();
    assert_contains(t.err.text, ".scrconf");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void check_warning(const char *text, const char *what, const char *line)
{
    struct test_cfg t;
    const char *path = test_cfg_file("prefix/.scrconf", text);
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(test_cfg_load(&t), SCR_OK); /* still reported once */
    const char *log = test_cfg_log(&t);
    assert_contains(log, what);
    assert_contains(log, path);
    assert_contains(log, line);
    assert_ptr_equal(strchr(log, '\n'), log + strlen(log) - 1);
    test_cfg_close(&t);
}

static void test_what_is_given_twice_in_a_file_is_reported(void **state)
{
    (void)state;
    struct test_cfg t;
    const char *same = "CKPT=0 TYPE=XOR\n\nCKPT=0 TYPE=SINGLE INTERVAL=1\n"
                       "SCR_COPY_TYPE=FILE\n";
    check_warning(same, "CKPT=0 (", ":3) was given before (");
    check_warning("CKPT=0 TYPE=XOR TYPE=SINGLE INTERVAL=1 # once\nSCR_COPY_TYPE=FILE\n",
                  "CKPT=0 (", ":1) has TYPE more than once: the last one is used");
    check_warning("STORE=/a COUNT=1\nSTORE=/a COUNT=2\n", "STORE=/a (",
                  ":2) was given before (");
    test_cfg_file("prefix/.scrconf", same);
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    const scr_hash *line =
        scr_hash_get(scr_source_lines(t.cfg->source[SCR_CFG_USER], "CKPT"), "0");
    assert_string_equal(scr_cfg_line_get(line, "TYPE", NULL), "SINGLE");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "SCR_COPY_TYPE=FILE\n"
                                     "CKPT=0 TYPE=XOR\nCKPT=1 TYPE=XOR\n"
                                     "GROUPS=h1 A=1\nGROUPS=h1 B=1\n");
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_a_byte_order_mark_is_skipped(void **state)
{
    (void)state;
    struct test_cfg t;
    const char *text = "\xEF\xBB\xBF"
                       "SCR_FLUSH=3\n";
    check_warning(text, "begins with a byte order mark", ":1: ");
    test_cfg_file("prefix/.scrconf", text);
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "3");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_lines_name_file_line_and_text),
        cmocka_unit_test(test_binary_file_is_refused),
        cmocka_unit_test(test_missing_conf_file_is_an_error),
        cmocka_unit_test(test_missing_scrconf_and_system_file_are_fine),
        cmocka_unit_test(test_directory_in_place_of_a_file),
        cmocka_unit_test(test_settings_that_come_too_late),
        cmocka_unit_test(test_a_program_is_not_taken_from_the_prefix_directory),
        cmocka_unit_test(test_unknown_names_are_warned_about_once),
        cmocka_unit_test(test_what_has_no_effect_is_reported),
        cmocka_unit_test(test_each_failing_call_is_reported),
        cmocka_unit_test(test_unreadable_file_is_an_error),
        cmocka_unit_test(test_what_is_given_twice_in_a_file_is_reported),
        cmocka_unit_test(test_a_byte_order_mark_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
