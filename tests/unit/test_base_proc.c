/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs started from argument arrays: status, output, time limits. */
#include "helper_tmp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/units.h"

#define ARGV(...)                                                                      \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

static char *run(const char *const *argv, int *status)
{
    struct scr_proc_spec spec = { .argv = argv };
    char *out = NULL;
    assert_int_equal(scr_proc_run(&spec, 60, &out, status, NULL), SCR_OK);
    return out;
}

static void output_and_status_come_back(void **state)
{
    (void)state;
    int status;
    char *out = run(ARGV("echo", "a  b", "$HOME; `id` *"), &status);
    assert_string_equal(out, "a  b $HOME; `id` *\n"); /* no shell saw it */
    assert_int_equal(status, 0);
    free(out);
    out = run(ARGV("sh", "-c", "exit 7"), &status);
    assert_string_equal(out, "");
    assert_int_equal(status, 7);
    free(out);
    out = run(ARGV("sh", "-c", "kill -9 $$"), &status);
    assert_int_equal(status, 128 + 9);
    free(out);
    out = run(ARGV("head", "-c", "3000000", "/dev/zero"), &status);
    assert_int_equal(status, 0); /* more than a pipe holds */
    free(out);
}

static void a_process_becomes_the_program(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    int raw;
    assert_int_equal(scr_proc_exec("/no/such/program", ARGV("x"), &err), SCR_E_NOENT);
    assert_string_equal(err.text, "start /no/such/program: no such file or directory");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(scr_proc_exec("/bin/sh", ARGV("sh", "-c", "exit 7"), NULL) ? 99 : 98);
    assert_int_equal(waitpid(pid, &raw, 0), pid);
    assert_int_equal(WEXITSTATUS(raw), 7);
}

static void a_program_that_cannot_run_is_an_error_at_once(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    pid_t pid = 1;
    int status;
    struct scr_proc_spec spec = { .argv = ARGV("no-such-program-anywhere") };
    assert_int_equal(scr_proc_start(&spec, &pid, &err), SCR_E_NOENT);
    assert_int_equal(pid, -1);
    assert_string_equal(err.text,
                        "start no-such-program-anywhere: no such file or directory");
    char *out = (char *)&err;
    assert_int_equal(scr_proc_run(&spec, 1, &out, &status, NULL), SCR_E_NOENT);
    assert_null(out);
    assert_int_equal(status, -1);

    test_put(test_path("plain"), "echo x\n",
             7); /* not executable, and no shell tries it */
    spec.argv = ARGV(test_path("plain"));
    assert_int_equal(scr_proc_start(&spec, &pid, NULL), SCR_E_IO);
    assert_int_equal(chmod(test_path("plain"), 0700), 0);
    assert_int_equal(scr_proc_start(&spec, &pid, NULL), SCR_E_IO);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
}

static void misuse_is_an_argument_error(void **state)
{
    (void)state;
    pid_t pid;
    int status;
    char *out;
    struct scr_proc_spec none = { .argv = NULL }, empty = { .argv = ARGV("") };
    struct scr_proc_spec both = { .argv = ARGV("true"), .out_path = "x" };
    assert_int_equal(scr_proc_start(&none, &pid, NULL), SCR_E_ARG);
    assert_int_equal(scr_proc_start(&empty, &pid, NULL), SCR_E_ARG);
    assert_int_equal(scr_proc_run(&none, 1, NULL, &status, NULL), SCR_E_ARG);
    assert_int_equal(scr_proc_run(&both, 1, &out, &status, NULL), SCR_E_ARG);
    assert_int_equal(scr_proc_wait(-1, 1, &status, NULL), SCR_E_ARG);
    assert_int_equal(scr_proc_wait(getpid(), 1, &status, NULL), SCR_E_IO);
    assert_int_equal(scr_proc_kill_group(1, SIGTERM), SCR_E_ARG);
    assert_int_equal(scr_proc_kill_group(-1, SIGTERM), SCR_E_ARG);
}

static void the_environment_is_ours_with_changes(void **state)
{
    (void)state;
    setenv("SCR_TEST_KEEP", "kept", 1);
    setenv("SCR_TEST_CHANGE", "old", 1);
    setenv("SCR_TEST_DROP", "dropped", 1);
    struct scr_proc_spec spec = {
        .argv = ARGV(
            "sh", "-c",
            "echo $SCR_TEST_KEEP $SCR_TEST_CHANGE ${SCR_TEST_DROP-none} $SCR_TEST_NEW"),
        .env = ARGV("SCR_TEST_CHANGE=new", "SCR_TEST_DROP", "SCR_TEST_NEW=a=b",
                    "SCR_TEST_K"),
    };
    int status;
    char *out;
    assert_int_equal(scr_proc_run(&spec, 60, &out, &status, NULL), SCR_OK);
    assert_string_equal(out, "kept new none a=b\n");
    free(out);
    assert_string_equal(getenv("SCR_TEST_CHANGE"), "old");
}

static void files_and_directory_of_the_program(void **state)
{
    (void)state;
    const char *out = test_path("out"), *both = test_path("both");
    struct scr_proc_spec spec = { .argv = ARGV("sh", "-c", "pwd; echo problem >&2"),
                                  .cwd = "/",
                                  .out_path = out,
                                  .err_path = test_path("err") };
    int status;
    size_t n;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_OK);
    char *text = test_get(out, &n);
    assert_string_equal(text, "/\n");
    free(text);
    text = test_get(test_path("err"), &n);
    assert_string_equal(text, "problem\n");
    free(text);

    spec.out_path = spec.err_path = both;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_OK);
    text = test_get(both, &n);
    assert_string_equal(text, "/\nproblem\n");
    free(text);

    spec.out_path = test_path("no/out");
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_E_NOENT);
    spec.out_path = NULL;
    spec.cwd = test_path("nowhere");
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_E_NOENT);
}

static void waiting_has_a_limit(void **state)
{
    (void)state;
    struct scr_proc_spec spec = { .argv = ARGV("sleep", "100"), .new_group = 1 };
    pid_t pid;
    int status = 0;
    assert_int_equal(scr_proc_start(&spec, &pid, NULL), SCR_OK);
    assert_int_equal(scr_proc_wait(pid, 0.05, &status, NULL), SCR_E_LOCKED);
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(scr_proc_kill_group(pid, SIGTERM), SCR_OK);
    assert_int_equal(scr_proc_wait(pid, -1, &status, NULL), SCR_OK);
    assert_int_equal(status, 128 + SIGTERM);
    assert_int_equal(scr_proc_kill_group(pid, SIGTERM), SCR_OK); /* gone is fine */
}

static void a_run_out_of_time_is_put_down(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_proc_spec spec = { .argv =
                                      ARGV("sh", "-c", "echo x; sleep 100; sleep 100"),
                                  .new_group = 1 };
    int status;
    char *out;
    double before = scr_now_mono();
    assert_int_equal(scr_proc_run(&spec, 0.1, &out, &status, &err), SCR_E_LOCKED);
    assert_true(scr_now_mono() - before < 60); /* of 200 */
    assert_null(out);
    assert_int_equal(status, -1);
    assert_non_null(strstr(err.text, "sh: process"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* reaped */
    spec.out_path = "/dev/null";
    assert_int_equal(scr_proc_run(&spec, 0.1, NULL, &status, NULL), SCR_E_LOCKED);
}

static void a_daemon_left_behind_does_not_hold_us(void **state)
{
    (void)state;
    struct scr_proc_spec spec = { .argv = ARGV("sh", "-c", "sleep 300 & echo $!") };
    int status;
    char *out;
    double before = scr_now_mono();
    assert_int_equal(scr_proc_run(&spec, 250, &out, &status, NULL), SCR_OK);
    assert_true(scr_now_mono() - before < 100);
    assert_int_equal(status, 0);
    assert_int_equal(kill((pid_t)strtol(out, NULL, 10), SIGKILL), 0);
    free(out);
}

static void signals_start_clean_and_files_stay_ours(void **state)
{
    (void)state;
    int status, fd = fcntl(0, F_DUPFD_CLOEXEC, 60);
    assert_int_equal(fd, 60);
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &old);
    signal(SIGPIPE, SIG_IGN);
    char *out = run(ARGV("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"), &status);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_non_null(strstr(out, "SigBlk:\t0000000000000000"));
    assert_null(strstr(out, "1000\n")); /* bit of SIGPIPE in SigIgn */
    free(out);

    out = run(ARGV("ls", "/proc/self/fd"), &status);
    assert_non_null(strstr(out, "0\n1\n"));
    assert_null(strstr(out, "60\n"));
    free(out);
    close(fd);
}

static void many_runs_leak_no_descriptors(void **state)
{
    (void)state;
    struct scr_proc_spec bad = { .argv = ARGV("no-such-program-anywhere"),
                                 .out_path = test_path("leak") };
    int status, before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        free(run(ARGV("true"), &status));
        assert_int_equal(scr_proc_run(&bad, 1, NULL, &status, NULL), SCR_E_NOENT);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status_come_back),
        cmocka_unit_test(a_process_becomes_the_program),
        cmocka_unit_test(a_program_that_cannot_run_is_an_error_at_once),
        cmocka_unit_test(misuse_is_an_argument_error),
        cmocka_unit_test(the_environment_is_ours_with_changes),
        cmocka_unit_test(files_and_directory_of_the_program),
        cmocka_unit_test(waiting_has_a_limit),
        cmocka_unit_test(a_run_out_of_time_is_put_down),
        cmocka_unit_test(a_daemon_left_behind_does_not_hold_us),
        cmocka_unit_test(signals_start_clean_and_files_stay_ours),
        cmocka_unit_test(many_runs_leak_no_descriptors),
    };
    setenv("PATH", "/usr/bin:/bin", 1); /* no directory of it unreadable */
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
