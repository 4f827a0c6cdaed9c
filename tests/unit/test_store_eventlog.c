/* SPDX-License-Identifier: BSD-3-Clause */
/* Where events go: to the log of the prefix directory, to syslog as the parameters
 * SCR_LOG_SYSLOG_* say, to both or to none. */
#include "helper_store.h"
#include "store/eventlog.h"

#include <stdarg.h>
#include <syslog.h>

static struct {
    int lines, priority;
    char text[512];
} told;

/* In the place of that of the C library. */
void syslog(int priority, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    told.lines++;
    told.priority = priority;
    (void)vsnprintf(told.text, sizeof told.text, fmt, args);
    va_end(args);
}

/* One event, with a fresh prefix directory. The log as it is then, malloc'd; NULL:
 * there is none. */
static char *write_one(const struct scr_eventlog_to *to)
{
    struct test_store t;
    struct scr_event e = SCR_EVENT_INIT;
    size_t n = 0;
    told.lines = 0;
    test_store_open(&t);
    e.host = "n1";
    e.event = "FLUSH_FAIL";
    e.note = "100% full";
    assert_int_equal(scr_eventlog_write(&t.env, &t.p, &e, to, &t.err), SCR_OK);
    const char *path = test_path("prefix/.scr/log");
    char *log = test_exists(path) ? test_get(path, &n) : NULL;
    test_store_close(&t);
    return log;
}

/* Numbers of values as params.def has them. */
enum { LOCAL7 = 9, LOCAL0 = 2, ERR = 3, INFO = 6 };

static void syslog_gets_the_line_behind_the_prefix(void **state)
{
    (void)state;
    char *log = write_one(&(struct scr_eventlog_to){ 0, 1, "SCR", LOCAL7, INFO });
    assert_null(log);
    assert_int_equal(told.lines, 1);
    assert_int_equal(told.priority, LOG_LOCAL7 | LOG_INFO);
    assert_int_equal(strncmp(told.text, "SCR: {", 6), 0);
    assert_non_null(strstr(told.text, "\"100% full\""));
    assert_null(strchr(told.text, '\n'));
}

static void prefix_facility_and_level_are_chosen(void **state)
{
    (void)state;
    free(write_one(&(struct scr_eventlog_to){ 0, 1, "my job", LOCAL0, ERR }));
    assert_int_equal(told.priority, LOG_LOCAL0 | LOG_ERR);
    assert_int_equal(strncmp(told.text, "my job: {", 9), 0);
}

static void both_get_the_same_line(void **state)
{
    (void)state;
    char *log = write_one(&(struct scr_eventlog_to){ 1, 1, "SCR", LOCAL7, INFO });
    assert_non_null(log);
    size_t n = strlen(told.text + 5);
    assert_int_equal(strncmp(log, told.text + 5, n), 0);
    assert_string_equal(log + n, "\n");
    free(log);
}

static void syslog_gets_nothing_unless_it_is_asked_for(void **state)
{
    (void)state;
    free(write_one(&(struct scr_eventlog_to){ 1, 0, "SCR", LOCAL7, INFO }));
    assert_int_equal(told.lines, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syslog_gets_the_line_behind_the_prefix),
        cmocka_unit_test(prefix_facility_and_level_are_chosen),
        cmocka_unit_test(both_get_the_same_line),
        cmocka_unit_test(syslog_gets_nothing_unless_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
