/* SPDX-License-Identifier: BSD-3-Clause */
/* One process at a time, none for ever. */
#include "helper_tmp.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/lock.h"
#include "base/str.h"
#include "base/units.h"
#include "helper_fault.h"

/* A process that has the lock by the time this returns, and keeps it until it is
 * killed, or for hold_ms. */
static pid_t start_holder(const char *path, int hold_ms)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct scr_lock lock = SCR_LOCK_INIT;
        if (scr_lock_acquire(&scr_sys_posix, path, 0, &lock, NULL) != SCR_OK)
            _exit(1);
        if (write(ready[1], "x", 1) != 1)
            _exit(2);
        if (hold_ms < 0)
            pause();
        usleep((useconds_t)hold_ms * 1000);
        scr_lock_release(&scr_sys_posix, &lock);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_holder(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_free_lock_is_taken_and_given_back(void **state)
{
    (void)state;
    const char *path = test_path("free.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct stat st;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(scr_lock_acquire(&test_fault_sys, path, 0, &lock, NULL),
                         SCR_OK);
        assert_true(lock.fd >= 0);
        scr_lock_release(&test_fault_sys, &lock);
        assert_int_equal(lock.fd, -1);
        scr_lock_release(&test_fault_sys, &lock); /* harmless */
    }
    assert_int_equal(stat(path, &st), 0); /* never removed */
    assert_int_equal(test_fault_open_fds(), 0);
}

static mode_t mode_under(mode_t mask)
{
    const char *path = test_path("mask.%03o.lock", (unsigned)mask);
    struct scr_lock lock = SCR_LOCK_INIT;
    struct stat st;
    mode_t old = umask(mask);
    int rc = scr_lock_acquire(&scr_sys_posix, path, 0, &lock, NULL);
    umask(old);
    assert_int_equal(rc, SCR_OK);
    scr_lock_release(&scr_sys_posix, &lock);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void the_umask_says_who_else_may_take_it(void **state)
{
    (void)state;
    assert_int_equal(mode_under(002), 0664);
    assert_int_equal(mode_under(022), 0644);
    assert_int_equal(mode_under(077), 0600);
}

/* As another user of group 54321: the code of taking the lock. */
static int taken_by_another(const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct scr_lock lock = SCR_LOCK_INIT;
        if (setgid(54321) != 0 || setuid(54322) != 0)
            _exit(99);
        _exit(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void another_user_of_the_group_takes_the_same_lock(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* no other process can be asked for it */
    const char *path = test_path("group/shared.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    mode_t old = umask(002);
    assert_int_equal(chmod(test_tmp(), 0755), 0);
    assert_int_equal(mkdir(test_path("group"), 0775), 0);
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, NULL), SCR_OK);
    umask(old);
    assert_int_equal(chown(path, 0, 54321), 0); /* as a set-group-ID directory would */
    assert_int_equal(taken_by_another(path), SCR_E_LOCKED);
    scr_lock_release(&scr_sys_posix, &lock);
    assert_int_equal(taken_by_another(path), SCR_OK);
}

static void waiting_ends_in_time_and_names_the_holder(void **state)
{
    (void)state;
    const char *path = test_path("held.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_err err = SCR_ERR_INIT;
    pid_t holder = start_holder(path, -1);
    char *who = scr_asprintf("process %ld on ", (long)holder);

    double before = scr_now_mono();
    assert_int_equal(scr_lock_acquire(&test_fault_sys, path, 150, &lock, &err),
                     SCR_E_LOCKED);
    double waited = scr_now_mono() - before;
    assert_true(waited >= 0.15 && waited < 60);
    assert_int_equal(lock.fd, -1);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, who));
    assert_int_equal(scr_lock_acquire(&test_fault_sys, path, 0, &lock, NULL),
                     SCR_E_LOCKED);
    assert_int_equal(test_fault_open_fds(), 0);
    free(who);
    end_holder(holder);
}

static void a_freed_lock_is_noticed_while_waiting(void **state)
{
    (void)state;
    const char *path = test_path("soon.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    pid_t holder = start_holder(path, 100);
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 20000, &lock, NULL),
                     SCR_OK);
    scr_lock_release(&scr_sys_posix, &lock);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
}

static void the_death_of_the_holder_frees_the_lock(void **state)
{
    (void)state;
    const char *path = test_path("dead.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    end_holder(start_holder(path, -1));
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, NULL), SCR_OK);
    scr_lock_release(&scr_sys_posix, &lock);
}

static void it_excludes_the_same_process_too(void **state)
{
    (void)state;
    const char *path = test_path("self.lock");
    struct scr_lock a = SCR_LOCK_INIT, b = SCR_LOCK_INIT;
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &a, NULL), SCR_OK);
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &b, NULL), SCR_E_LOCKED);
    /* closing b's descriptor must not have freed a's lock, as plain fcntl locks would
     */
    pid_t pid = fork();
    if (pid == 0) {
        int rc = scr_lock_acquire(&scr_sys_posix, path, 0, &b, NULL);
        _exit(rc == SCR_E_LOCKED ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    scr_lock_release(&scr_sys_posix, &a);
}

/* Reads the number in a file, adds one and writes it back, without a care. */
static void count_one(const char *path)
{
    void *buf;
    size_t n;
    int v;
    if (scr_file_load(&scr_sys_posix, path, 100, &buf, &n, NULL) != SCR_OK ||
        !scr_parse_int(buf, &v))
        _exit(1);
    free(buf);
    char *text = scr_asprintf("%d", v + 1);
    if (scr_file_replace(&scr_sys_posix, path, text, strlen(text),
                         (struct scr_replace){ 0600, SCR_VOLATILE }, NULL) != SCR_OK)
        _exit(2);
    free(text);
}

static void no_update_under_the_lock_is_lost(void **state)
{
    (void)state;
    const char *path = test_path("count.lock"), *file = test_path("count");
    test_put(file, "0", 1);
    pid_t pid[4];
    for (int i = 0; i < 4; i++) {
        pid[i] = fork();
        if (pid[i] != 0)
            continue;
        for (int j = 0; j < 50; j++) {
            struct scr_lock lock = SCR_LOCK_INIT;
            if (scr_lock_acquire(&scr_sys_posix, path, 60000, &lock, NULL) != SCR_OK)
                _exit(3);
            count_one(file);
            scr_lock_release(&scr_sys_posix, &lock);
        }
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    size_t n;
    char *text = test_get(file, &n);
    assert_string_equal(text, "200");
    free(text);
}

static void what_is_no_lock_file_is_refused(void **state)
{
    (void)state;
    struct scr_lock lock = SCR_LOCK_INIT;
    struct stat st;
    assert_int_equal(symlink(test_path("victim"), test_path("link.lock")), 0);
    assert_int_equal(
        scr_lock_acquire(&test_fault_sys, test_path("link.lock"), 0, &lock, NULL),
        SCR_E_UNSAFE);
    assert_int_not_equal(lstat(test_path("victim"), &st), 0);
    assert_int_equal(mkfifo(test_path("fifo.lock"), 0600), 0);
    assert_int_equal(
        scr_lock_acquire(&test_fault_sys, test_path("fifo.lock"), 0, &lock, NULL),
        SCR_E_UNSAFE);
    assert_int_equal(scr_lock_acquire(&test_fault_sys, test_tmp(), 0, &lock, NULL),
                     SCR_E_IO);
    assert_int_equal(
        scr_lock_acquire(&test_fault_sys, test_path("no/x"), 0, &lock, NULL),
        SCR_E_NOENT);
    assert_int_equal(lock.fd, -1);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void a_failing_call_costs_the_hint_or_the_lock(void **state)
{
    (void)state;
    const char *path = test_path("fault.lock");
    for (long n = 0;; n++) {
        struct scr_lock lock = SCR_LOCK_INIT;
        struct scr_err err = SCR_ERR_INIT;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_lock_acquire(&test_fault_sys, path, 0, &lock, &err);
        int fired = test_fault_off();
        assert_int_equal(rc == SCR_OK, lock.fd >= 0);
        assert_int_equal(rc, err.code);
        if (test_fault_count(TEST_PWRITE) > 0)
            assert_int_equal(rc, SCR_OK); /* the holder's line is only a hint */
        scr_lock_release(&test_fault_sys, &lock);
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired)
            break;
    }
}

static void a_file_system_without_locks_is_named_at_once(void **state)
{
    (void)state;
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_err err = SCR_ERR_INIT;
    test_fault_arm(TEST_SETLK, 0, ENOLCK, TEST_FOREVER);
    assert_int_equal(
        scr_lock_acquire(&test_fault_sys, test_path("nolock"), 60000, &lock, &err),
        SCR_E_IO);
    test_fault_off();
    assert_non_null(strstr(err.text, "-o flock"));
    test_fault_arm(TEST_SETLK, 0, EINTR, TEST_ONCE); /* a signal is no refusal */
    assert_int_equal(
        scr_lock_acquire(&test_fault_sys, test_path("nolock"), 1000, &lock, NULL),
        SCR_OK);
    test_fault_off();
    scr_lock_release(&test_fault_sys, &lock);
}

static void a_hostile_line_in_the_lock_file_stays_one_line(void **state)
{
    (void)state;
    const char *path = test_path("hostile.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_err err = SCR_ERR_INIT;
    pid_t holder = start_holder(path, -1);
    char junk[4096];
    memset(junk, '\033', sizeof junk);
    test_put(path, junk, sizeof junk);
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, &err),
                     SCR_E_LOCKED);
    assert_null(strchr(err.text, '\033'));
    assert_true(strlen(err.text) < 512);
    end_holder(holder);
}

static void a_look_finds_the_holder_and_blocks_no_process(void **state)
{
    (void)state;
    const char *path = test_path("look.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_lock_holder who;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_lock_look(&scr_sys_posix, path, &who, &err), SCR_OK);
    assert_false(who.held);
    assert_int_equal(access(path, F_OK), -1);
    pid_t holder = start_holder(path, -1);
    assert_int_equal(scr_lock_look(&scr_sys_posix, path, &who, &err), SCR_OK);
    assert_true(who.held);
    assert_int_equal(who.pid, holder);
    end_holder(holder);
    assert_int_equal(scr_lock_look(&scr_sys_posix, path, &who, &err), SCR_OK);
    assert_false(who.held);
    assert_int_equal(who.pid, 0);
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, &err), SCR_OK);
    scr_lock_release(&scr_sys_posix, &lock);
}

static void a_holder_on_another_host_has_no_pid_here(void **state)
{
    (void)state;
    const char *path = test_path("far.lock");
    static const char *const notes[] = { "process 42 on far.away\n", "process x on y\n",
                                         "process 99999999999999999 on z\n", "proc",
                                         "process 42" };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct scr_lock_holder who;
        pid_t holder = start_holder(path, -1);
        test_put(path, notes[i], strlen(notes[i]));
        assert_int_equal(scr_lock_look(&scr_sys_posix, path, &who, NULL), SCR_OK);
        assert_true(who.held);
        assert_int_equal(who.pid, 0);
        end_holder(holder);
    }
}

static void a_sign_of_life_is_seen_and_a_lock_that_is_gone_noticed(void **state)
{
    (void)state;
    const char *path = test_path("beat.lock");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_lock_holder before, after;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_lock_acquire(&scr_sys_posix, path, 0, &lock, &err), SCR_OK);
    assert_int_equal(scr_lock_look(&scr_sys_posix, path, &before, &err), SCR_OK);
    usleep(20000);
    assert_int_equal(scr_lock_beat(&scr_sys_posix, &lock, path, &err), SCR_OK);
    assert_int_equal(scr_lock_look(&scr_sys_posix, path, &after, &err), SCR_OK);
    assert_true(before.beat.tv_sec != after.beat.tv_sec ||
                before.beat.tv_nsec != after.beat.tv_nsec);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(scr_lock_beat(&scr_sys_posix, &lock, path, NULL), SCR_E_NOENT);
    test_put(path, "", 0);
    assert_int_equal(scr_lock_beat(&scr_sys_posix, &lock, path, NULL), SCR_E_NOENT);
    scr_lock_release(&scr_sys_posix, &lock);
}

/* A check that failed never reports that there is no holder. */
static void a_look_that_fails_is_an_error(void **state)
{
    (void)state;
    const char *path = test_path("blind.lock");
    pid_t holder = start_holder(path, -1);
    int n = 0, fired = 1;
    for (; fired; n++) {
        struct scr_lock_holder who;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_lock_look(&test_fault_sys, path, &who, NULL);
        fired = test_fault_off();
        assert_true(rc != SCR_OK || who.held);
    }
    assert_true(n > 3);
    end_holder(holder);
}

static void shared_ones_exclude_only_exclusive_ones(void **state)
{
    (void)state;
    const char *path = test_path("shared.lock");
    struct scr_lock a = SCR_LOCK_INIT, b = SCR_LOCK_INIT, other = SCR_LOCK_INIT;
    struct scr_lock_holder who;
    assert_int_equal(scr_lock_share(&test_fault_sys, path, 0, &a, NULL), SCR_OK);
    assert_int_equal(scr_lock_share(&test_fault_sys, path, 0, &b, NULL), SCR_OK);
    scr_lock_release(&test_fault_sys, &a);
    assert_int_equal(scr_lock_acquire(&test_fault_sys, path, 0, &other, NULL),
                     SCR_E_LOCKED);
    assert_int_equal(scr_lock_look(&test_fault_sys, path, &who, NULL), SCR_OK);
    assert_false(who.held);
    scr_lock_release(&test_fault_sys, &b);
    assert_int_equal(scr_lock_acquire(&test_fault_sys, path, 0, &other, NULL), SCR_OK);
    assert_int_equal(scr_lock_share(&test_fault_sys, path, 0, &a, NULL), SCR_E_LOCKED);
    scr_lock_release(&test_fault_sys, &other);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Three keys; two of them sign on the same line. */
static void each_key_of_a_file_has_its_own_lock(void **state)
{
    (void)state;
    const char *path = test_path("keys.lock");
    struct scr_lock one = SCR_LOCK_INIT, two = SCR_LOCK_INIT, none = SCR_LOCK_INIT;
    struct scr_lock_holder who;
    uint64_t a = scr_str_key("4711"), b = a + 8 * 64, unheld = a + 8;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_lock_acquire_key(&test_fault_sys, path, a, 0, &one, NULL), 0);
    assert_int_equal(scr_lock_acquire_key(&test_fault_sys, path, b, 0, &two, NULL), 0);
    assert_int_equal(scr_lock_acquire_key(&test_fault_sys, path, a, 0, &none, &err),
                     SCR_E_LOCKED);
    assert_non_null(strstr(err.text, "held after 0 ms by process "));
    assert_int_equal(scr_lock_look_key(&test_fault_sys, path, b, &who, NULL), SCR_OK);
    assert_int_equal(who.held, 1);
    assert_int_equal(who.pid, getpid());
    assert_int_equal(scr_lock_look_key(&test_fault_sys, path, unheld, &who, NULL),
                     SCR_OK);
    assert_int_equal(who.held, 0);
    scr_lock_release(&test_fault_sys, &one);
    assert_int_equal(scr_lock_acquire_key(&test_fault_sys, path, a, 0, &none, NULL), 0);
    scr_lock_release(&test_fault_sys, &none);
    scr_lock_release(&test_fault_sys, &two);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Keys are those of a program elsewhere: known answers of FNV-1a. */
static void keys_of_texts_are_the_same_everywhere(void **state)
{
    (void)state;
    assert_true(scr_str_key("") == UINT64_C(0xcbf29ce484222325));
    assert_true(scr_str_key("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(scr_str_key("foobar") == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_lock_is_taken_and_given_back),
        cmocka_unit_test(the_umask_says_who_else_may_take_it),
        cmocka_unit_test(another_user_of_the_group_takes_the_same_lock),
        cmocka_unit_test(waiting_ends_in_time_and_names_the_holder),
        cmocka_unit_test(a_freed_lock_is_noticed_while_waiting),
        cmocka_unit_test(the_death_of_the_holder_frees_the_lock),
        cmocka_unit_test(it_excludes_the_same_process_too),
        cmocka_unit_test(no_update_under_the_lock_is_lost),
        cmocka_unit_test(what_is_no_lock_file_is_refused),
        cmocka_unit_test(a_failing_call_costs_the_hint_or_the_lock),
        cmocka_unit_test(a_file_system_without_locks_is_named_at_once),
        cmocka_unit_test(a_hostile_line_in_the_lock_file_stays_one_line),
        cmocka_unit_test(a_look_finds_the_holder_and_blocks_no_process),
        cmocka_unit_test(a_holder_on_another_host_has_no_pid_here),
        cmocka_unit_test(a_sign_of_life_is_seen_and_a_lock_that_is_gone_noticed),
        cmocka_unit_test(a_look_that_fails_is_an_error),
        cmocka_unit_test(shared_ones_exclude_only_exclusive_ones),
        cmocka_unit_test(each_key_of_a_file_has_its_own_lock),
        cmocka_unit_test(keys_of_texts_are_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
