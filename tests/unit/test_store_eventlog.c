/* SPDX-License-Identifier: BSD-3-Clause */
/* Where events go: to the log of the prefix directory, to syslog as the parameters
 * SCR_LOG_SYSLOG_* say, to both or to none. */
#include "helper_store.h"
#include "store/eventlog.h"

#include <stdarg.h>
#include <sys/wait.h>
#include <syslog.h>

static struct {
    int lines, priority;
    char text[1024];
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
    e.jobid = "7";
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

static const struct scr_eventlog_to both = { .text = 1,
                                             .syslog = 1,
                                             .word = "SCR",
                                             .facility = LOCAL7,
                                             .level = INFO,
                                             .user = "alice" };

static void syslog_gets_the_line_behind_whose_it_is(void **state)
{
    (void)state;
    struct scr_eventlog_to to = both;
    to.text = 0;
    assert_null(write_one(&to));
    assert_int_equal(told.lines, 1);
    assert_int_equal(told.priority, LOG_LOCAL7 | LOG_INFO);
    const char *words = "SCR: user=alice jobid=7 prefix=/";
    assert_int_equal(strncmp(told.text, words, strlen(words)), 0);
    assert_non_null(strstr(told.text, "/prefix {\"time\":\""));
    assert_non_null(strstr(told.text, "\"100% full\"}"));
    assert_null(strchr(told.text, '\n'));
}

static void prefix_facility_and_level_are_chosen(void **state)
{
    (void)state;
    free(write_one(&(struct scr_eventlog_to){
        .syslog = 1, .word = "my job", .facility = LOCAL0, .level = ERR }));
    assert_int_equal(told.priority, LOG_LOCAL0 | LOG_ERR);
    assert_int_equal(strncmp(told.text, "my job: user=? ", 15), 0);
}

static void both_get_the_same_line(void **state)
{
    (void)state;
    char *log = write_one(&both);
    assert_non_null(log);
    const char *line = strchr(told.text, '{');
    assert_non_null(line);
    size_t n = strlen(line);
    assert_int_equal(strncmp(log, line, n), 0);
    assert_string_equal(log + n, "\n");
    free(log);
}

static void syslog_gets_nothing_unless_it_is_asked_for(void **state)
{
    (void)state;
    free(write_one(&(struct scr_eventlog_to){ .text = 1 }));
    assert_int_equal(told.lines, 0);
}

/* --- rotation --- */

static int write_id(struct test_store *t, uint64_t size, int id)
{
    const struct scr_eventlog_to to = { .text = 1, .size = size };
    struct scr_event e = SCR_EVENT_INIT;
    e.time = "2026-01-31T12:00:00Z";
    e.host = "n1";
    e.event = "ENCODE";
    e.dset = id;
    return scr_eventlog_write(&t->env, &t->p, &e, &to, &t->err);
}

/* Events in the log, and the bytes of one of its files. */
static int add_one(void *arg, const struct scr_event *e, struct scr_err *err)
{
    (void)e, (void)err;
    ++*(int *)arg;
    return SCR_OK;
}

static int count_events(const struct test_store *t)
{
    int n = 0;
    struct scr_eventlog_reader r = { .event = add_one, .arg = &n };
    assert_int_equal(scr_eventlog_walk(&t->env, &t->p, &r, NULL), SCR_OK);
    assert_int_equal(r.damaged, 0);
    return n;
}

static size_t size_of(const char *name)
{
    struct stat st;
    const char *path = test_path("prefix/.scr/%s", name);
    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static void a_full_log_is_renamed(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(write_id(&t, 0, 1), SCR_OK);
    size_t line = size_of("log");
    for (int id = 2; id <= 4; id++)
        assert_int_equal(write_id(&t, 3 * line, id), SCR_OK);
    assert_int_equal(size_of("log.1"), 3 * line); /* found full by the fourth */
    assert_int_equal(size_of("log"), line);
    for (int id = 5; id <= 7; id++) /* the first three go */
        assert_int_equal(write_id(&t, 3 * line, id), SCR_OK);
    assert_int_equal(count_events(&t), 4);
    for (int id = 0; id < 20; id++) /* 0: never */
        assert_int_equal(write_id(&t, 0, 9), SCR_OK);
    assert_int_equal(size_of("log"), 21 * line);
    test_store_close(&t);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* One of them renames the log: what the others write before or after is not lost. */
static void processes_that_rotate_at_once_lose_nothing(void **state)
{
    (void)state;
    enum { PROCESSES = 4, LINES = 300 };
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(write_id(&t, 0, 1), SCR_OK);
    size_t line = size_of("log");
    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid > 0)
            continue;
        for (int n = 0; n < LINES; n++)
            if (write_id(&t, (PROCESSES * LINES * 2 / 3) * line, 2) != SCR_OK)
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_true(size_of("log.1") > 0);
    assert_int_equal(count_events(&t), PROCESSES * LINES + 1);
    test_store_close(&t);
}

/* The process that has the lock renames it; the others write to it as it is. */
static void a_log_that_another_rotates_is_still_written(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(write_id(&t, 0, 1), SCR_OK);
    test_fault_arm(TEST_SETLK, 0, EWOULDBLOCK, TEST_ONCE);
    assert_int_equal(write_id(&t, 1, 2), SCR_OK);
    assert_true(test_fault_off());
    assert_int_equal(size_of("log.1"), 0);
    test_fault_arm(TEST_SETLK, 0, ENOSYS, TEST_ONCE); /* no locks here */
    assert_int_equal(write_id(&t, 1, 3), SCR_OK);
    assert_true(test_fault_off());
    assert_true(size_of("log.1") > 0);
    assert_int_equal(count_events(&t), 3);
    test_store_close(&t);
}

static void a_fifo_does_not_hang_a_job(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(mkfifo(test_path("prefix/.scr/log"), 0600), 0);
    assert_int_not_equal(write_id(&t, 1, 1), SCR_OK);
    test_store_close(&t);
}

/* It may be one of the user's that another who can write here chose. (S2) */
static void a_link_leads_to_no_other_file(void **state)
{
    (void)state;
    struct test_store t;
    size_t n = 0;
    test_store_open(&t);
    const char *victim = test_path("victim");
    test_put(victim, "mine", 4);
    assert_int_equal(symlink(victim, test_path("prefix/.scr/log")), 0);
    assert_int_not_equal(write_id(&t, 1, 1), SCR_OK);
    char *bytes = test_get(victim, &n);
    assert_int_equal(n, 4);
    free(bytes);
    assert_false(test_exists(test_path("prefix/.scr/log.1")));
    test_store_close(&t);
}

/* The log of a machine is read by its administrators, line by line. (S10) */
static void syslog_gets_one_line_whatever_the_names(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_event e = SCR_EVENT_INIT;
    struct scr_eventlog_to to = both;
    test_store_open(&t);
    to.user = "alice\nroot: su\033[2J";
    e.host = "n1";
    e.event = "FLUSH_FAIL";
    e.jobid = "7\r8";
    e.note = "a\nb";
    assert_int_equal(scr_eventlog_write(&t.env, &t.p, &e, &to, &t.err), SCR_OK);
    assert_non_null(strstr(told.text, "user=alice?root: su?[2J jobid=7?8 prefix="));
    assert_null(strpbrk(told.text, "\n\r\033"));
    test_store_close(&t);
}

/* Each system call of a write that rotates fails in turn: an error, or it did not
 * matter; no line is lost that was there before. */
static void a_call_that_fails_costs_no_other_event(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct test_store t;
        test_store_open(&t);
        assert_int_equal(write_id(&t, 0, 1), SCR_OK);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = write_id(&t, 1, 2), fired = test_fault_off();
        int events = count_events(&t);
        assert_true(rc == SCR_OK ? events == 2 : fired && events >= 1);
        test_store_close(&t);
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syslog_gets_the_line_behind_whose_it_is),
        cmocka_unit_test(prefix_facility_and_level_are_chosen),
        cmocka_unit_test(both_get_the_same_line),
        cmocka_unit_test(syslog_gets_nothing_unless_it_is_asked_for),
        cmocka_unit_test(a_full_log_is_renamed),
        cmocka_unit_test(processes_that_rotate_at_once_lose_nothing),
        cmocka_unit_test(a_log_that_another_rotates_is_still_written),
        cmocka_unit_test(a_fifo_does_not_hang_a_job),
        cmocka_unit_test(a_link_leads_to_no_other_file),
        cmocka_unit_test(syslog_gets_one_line_whatever_the_names),
        cmocka_unit_test(a_call_that_fails_costs_no_other_event),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
