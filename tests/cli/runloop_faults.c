/* SPDX-License-Identifier: BSD-3-Clause */
/* The run loop with every system call on its state files failing in turn: it ends, with
 * at most one line of complaint, what was run is saved, and the halt conditions are the
 * old or the new ones. And scr_halt --immediate, which reads the record of the loop.
 *
 * The program scr that the loop runs for other steps is this one. */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hashfile.h"
#include "base/io.h"
#include "base/str.h"
#include "base/strv.h"
#include "helper_fault.h"
#include "helper_tmp.h"
#include "runfile.h"
#include "runloop.h"

extern char **environ;

static const struct scr_env plain = { .sys = &scr_sys_posix };
static char prefix[4096];
static sigset_t mask; /* of before the first run: the loop blocks signals for good */

/* --- what stands for other programs --- */

/* "scr postrun --prefix=DIR …" notes that it was called. */
static int be_scr(char **argv)
{
    const char *dir = getenv("SCR_PREFIX");
    char *path = dir ? scr_asprintf("%s/saved", dir) : NULL;
    int rc = SCR_OK;
    if (strcmp(argv[1], "postrun") == 0)
        rc =
            scr_file_append(&scr_sys_posix, path ? path : "", "saved\n", 6, 0600, NULL);
    free(path);
    return rc == SCR_OK ? 0 : 2;
}

static void write_script(const char *path, const char *text)
{
    struct scr_err err = SCR_ERR_INIT;
    if (scr_file_append(&scr_sys_posix, path, text, strlen(text), 0700, &err) != SCR_OK)
        fail_msg("%s", err.text);
}

static void clean_environment(void)
{
    static const char *const ours[] = { "SCR_", "SLURM_", "LSB_", "PBS_", "FLUX_" };
    struct scr_strv names = SCR_STRV_INIT;
    for (char **v = environ; *v != NULL; v++)
        for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
            if (strncmp(*v, ours[i], strlen(ours[i])) == 0)
                scr_strv_printf(&names, "%.*s", (int)strcspn(*v, "="), *v);
    for (size_t i = 0; i < names.n; i++)
        unsetenv(names.v[i]);
    scr_strv_free(&names);
}

static char *in_prefix(const char *name)
{
    return scr_asprintf("%s/%s", prefix, name);
}

static int has(const char *name)
{
    char *path = in_prefix(name);
    int there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)type;
    return ftw->level == 0 && strcmp(path, prefix) == 0 ? 0 : remove(path);
}

/* A prefix directory in which a loop that was killed had passed on a signal. */
static void arrange(void)
{
    struct scr_err err = SCR_ERR_INIT;
    char *dir = in_prefix(".scr"), *path = in_prefix(".scr/halt.scr");
    char *job = in_prefix("job");
    scr_hash *h = scr_hash_new();
    assert_int_equal(nftw(prefix, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    /* fails once, so that the loop goes round */
    write_script(job, "#!/bin/sh\n[ -e \"$SCR_PREFIX/ran\" ] && exit 0\n"
                      ": >\"$SCR_PREFIX/ran\"\nexit 1\n");
    scr_hash_set_val_i64(h, "CheckpointsLeft", 1);
    scr_hash_set_val_i64(h, "CheckpointsLeftBefore", 5);
    if (scr_hash_file_write(&scr_sys_posix, path, h, SCR_VOLATILE, &err) != SCR_OK)
        fail_msg("%s", err.text);
    scr_hash_delete(h);
    free(job);
    free(path);
    free(dir);
}

static int64_t checkpoints_left(void)
{
    struct scr_err err = SCR_ERR_INIT;
    int64_t left = -1;
    char *path = in_prefix(".scr/halt.scr");
    scr_hash *h = scr_hash_new();
    if (scr_hash_file_read(&scr_sys_posix, path, h, &err) != SCR_OK)
        fail_msg("%s", err.text);
    (void)scr_hash_get_val_i64(h, "CheckpointsLeft", &left);
    scr_hash_delete(h);
    free(path);
    return left;
}

static int setup(void **state)
{
    (void)state;
    char *bin = scr_asprintf("%s", test_path("bin"));
    (void)snprintf(prefix, sizeof prefix, "%s", test_path("prefix"));
    char *mpirun = scr_asprintf("%s/mpirun", bin);
    assert_int_equal(mkdir(bin, 0700), 0);
    assert_int_equal(mkdir(prefix, 0700), 0);
    write_script(mpirun,
                 "#!/bin/sh\n"
                 "[ \"$1\" != --version ] || { echo \"mpirun (Open MPI) 4\"; exit; }\n"
                 "exec \"$@\"\n");
    const char *const settings[][2] = {
        { "PATH", bin },
        { "SCR_PREFIX", prefix },
        { "SCR_VNODES", "2" },
        { "SCR_RUNS", "3" },
        { "SCR_RUN_SLEEP", "0" },
        { "SCR_USER_NAME", "tester" },
        { "SCR_JOB_ID", "job" },
        { "SCR_LOG_ENABLE", "1" },
        { "SCR_CNTL_BASE", prefix },
        { "SCR_CACHE_BASE", prefix },
        { "SCR_NODE_TESTS", "EXCLUDE" },
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        setenv(settings[i][0], settings[i][1], 1);
    free(mpirun);
    free(bin);
    return sigprocmask(SIG_SETMASK, NULL, &mask);
}

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* --- the loop --- */

struct outcome {
    int rc, status;
    int complaints; /* lines that are warnings or errors, the last error included */
    char *log;      /* malloc'd */
    struct scr_err err;
};

static int lines_with(const char *log, const char *what)
{
    int n = 0;
    for (const char *p = log; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static struct outcome run_loop(const struct scr_sys *sys)
{
    char *job = in_prefix("job");
    const char *const args[] = { job, NULL };
    struct outcome o = { .status = -1, .err = SCR_ERR_INIT };
    size_t size;
    FILE *out = open_memstream(&o.log, &size);
    struct scr_tool t = { .env = { .sys = sys },
                          .log = { .out = out, .who = "scr_mpirun" },
                          .who = "scr_mpirun",
                          .self = "scr_mpirun",
                          .environ = environ,
                          .out = out };
    t.env.log = &t.log;
    o.rc = scr_runloop(&t, "mpirun", args, &o.status, &o.err);
    scr_prefix_fini(&t.prefix);
    scr_cfg_free(t.cfg);
    fclose(out);
    free(job);
    o.complaints = lines_with(o.log, "warning: ") + lines_with(o.log, "error: ") +
                   (o.rc != SCR_OK ? 1 : 0);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return o;
}

static void check_outcome(const struct outcome *o, long n, int most_complaints)
{
    int64_t left = checkpoints_left();
    assert_int_equal(o->err.code, o->rc);
    if (o->rc != SCR_OK)
        assert_true(o->err.text[0] != '\0');
    if (o->complaints > most_complaints)
        fail_msg("call %ld: %d complaints: %s%s", n, o->complaints, o->log,
                 o->err.text);
    if (has("ran") && !has("saved"))
        fail_msg("call %ld: run and not saved: %s%s", n, o->log, o->err.text);
    if (o->rc == SCR_OK && o->status == 0 && !has("ran"))
        fail_msg("call %ld: success without a run: %s", n, o->log);
    if (left != 1 && left != 5)
        fail_msg("call %ld: %lld checkpoints left", n, (long long)left);
    assert_int_equal(test_fault_open_fds(), 0);
}

static void survive(enum test_kind kind, int error, enum test_how how,
                    int most_complaints)
{
    for (long n = 0;; n++) {
        arrange();
        test_fault_arm(kind, n, error, how);
        struct outcome o = run_loop(&test_fault_sys);
        int fired = test_fault_off();
        check_outcome(&o, n, most_complaints);
        if (!fired) {
            assert_int_equal(o.rc, SCR_OK);
            assert_int_equal(o.status, 0);
            assert_int_equal(o.complaints, 0);
            assert_int_equal(checkpoints_left(), 5);
            assert_false(has(".scr/run.scr"));
        }
        free(o.log);
        if (!fired)
            return;
    }
}

static void one_failing_call_costs_one_line(void **state)
{
    (void)state;
    survive(TEST_ANY, EIO, TEST_ONCE, 1);
}

static void a_signal_in_a_call_costs_nothing(void **state)
{
    (void)state;
    static const enum test_kind kinds[] = { TEST_OPENAT, TEST_READ, TEST_WRITE,
                                            TEST_SETLK };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        survive(kinds[i], EINTR, TEST_ONCE, 0);
}

/* A prefix directory that is gone from then on. */
static void a_file_system_that_is_gone_ends_it(void **state)
{
    (void)state;
    survive(TEST_ANY, EIO, TEST_FOREVER, 8);
}

/* --- scr_halt --immediate --- */

static int got_signal(void)
{
    static const struct timespec now = { 0, 0 };
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, &info, &now) == SIGUSR2 &&
           info.si_value.sival_int == RUNFILE_HANGS;
}

static void the_record_is_read_or_it_is_said(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_tool t = { .env = plain, .environ = environ };
    struct runfile file = RUNFILE_INIT;
    struct job job;
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    assert_int_equal(scr_job_open(&t, NULL, &job, &err), SCR_OK);
    assert_int_equal(scr_tool_prefix(&t, prefix, 1, &err), SCR_OK);
    assert_int_equal(scr_runfile_open(&job, NULL, &file, &err), SCR_OK);
    t.env.sys = &test_fault_sys;
    for (long n = 0, fired = 1; fired; n++) {
        char *what = NULL;
        scr_err_clear(&err);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_runfile_kill(&t, RUNFILE_HANGS, &what, &err);
        fired = test_fault_off();
        assert_int_equal(got_signal(), rc == SCR_OK);
        assert_int_equal(what != NULL, rc == SCR_OK);
        assert_true(rc == SCR_OK || (fired && err.text[0] != '\0'));
        free(what);
    }
    t.env.sys = &scr_sys_posix;
    scr_runfile_close(&t, &file);
    scr_job_close(&job);
    scr_prefix_fini(&t.prefix);
    scr_cfg_free(t.cfg);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_failing_call_costs_one_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_signal_in_a_call_costs_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_system_that_is_gone_ends_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_record_is_read_or_it_is_said, setup,
                                        teardown),
    };
    if (argc > 1)
        return be_scr(argv);
    clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
