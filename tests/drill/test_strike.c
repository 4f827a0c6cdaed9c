/* SPDX-License-Identifier: BSD-3-Clause */
/* The strike of a drill, with a shell script in the place of mpirun. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "drill/drill.h"
#include "store/identity.h"

/* A process of node n1 leaves its pid in the directory of the prefix in here. */
#define JOB_DIR "drill/storage/cntl/vnode.n1/drill/scr.job"

struct rig {
    char *script, *work, *storage;
    struct drill d;
    struct scr_tool t;
    struct drill_run run;
    struct scr_err err;
};

static void make_prefix(void)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_identity id;
    struct scr_prefix p;
    assert_int_equal(scr_dir_make(env.sys, test_path("drill/job"), 0700, NULL), SCR_OK);
    assert_int_equal(scr_prefix_open(&env, test_path("drill/job"), 1, &p, NULL),
                     SCR_OK);
    assert_int_equal(scr_identity_make(&env, &p, &id, NULL), SCR_OK);
    assert_int_equal(
        scr_dir_make(env.sys, test_path(JOB_DIR "/%s", id.name), 0700, NULL), SCR_OK);
    scr_prefix_fini(&p);
}

static void rig_open(struct rig *g, const char *text)
{
    static const char *const program[] = { "program", NULL };
    *g = (struct rig){ .err = SCR_ERR_INIT };
    assert_int_equal(scr_dir_remove(&scr_sys_posix, test_path("drill"), NULL), SCR_OK);
    make_prefix();
    g->work = scr_strdup(test_path("drill"));
    g->storage = scr_strdup(test_path("drill/storage"));
    g->script = scr_asprintf("%s/mpirun", g->work);
    assert_int_equal(scr_file_replace(&scr_sys_posix, g->script, text, strlen(text),
                                      (struct scr_replace){ 0700, SCR_VOLATILE }, NULL),
                     SCR_OK);
    assert_int_equal(chmod(g->script, 0700), 0);
    g->d = (struct drill){ .mpirun = g->script,
                           .program = program,
                           .ranks = 1,
                           .scheme = SCR_SCHEME_SINGLE,
                           .timeout = 60,
                           .work = g->work,
                           .storage = g->storage };
    g->t.env.sys = &test_fault_sys;
}

static int rig_run(struct rig *g)
{
    char *name[] = { (char *)"n1" };
    const struct scr_hostlist nodes = { .name = name, .n = 1 };
    const struct drill_moment first = { "compute", 1 };
    const struct drill_strike strike = { nodes, first, first, 0 };
    const struct drill_leg leg = { "first", "job", &nodes, &strike };
    return scr_drill_run(&g->t, &g->d, &leg, &g->run, &g->err);
}

static void rig_close(struct rig *g)
{
    test_fault_off();
    scr_drill_run_fini(&g->run);
    free(g->script);
    free(g->work);
    free(g->storage);
}

static void write_pid(pid_t pid)
{
    char *text = scr_asprintf("%ld 0\n", (long)pid);
    char *dir = test_find(JOB_DIR "/prefix.*");
    char *path = scr_path_join(dir, "pid.0");
    assert_int_equal(scr_file_replace(&scr_sys_posix, path, text, strlen(text),
                                      (struct scr_replace){ 0600, SCR_VOLATILE }, NULL),
                     SCR_OK);
    free(path);
    free(dir);
    free(text);
}

static void pids_of_an_earlier_run_are_not_killed(void **state)
{
    (void)state;
    struct rig g;
    int status;
    rig_open(&g, "#!/bin/sh\necho compute 1 >$SCR_PHASE_FILE\nexec sleep 60\n");
    pid_t bystander = fork();
    if (bystander == 0) {
        pause();
        _exit(0);
    }
    write_pid(bystander);
    int rc = rig_run(&g);
    assert_int_equal(waitpid(bystander, &status, WNOHANG), 0); /* alive */
    assert_int_equal(kill(bystander, SIGKILL), 0);
    assert_int_equal(waitpid(bystander, &status, 0), bystander);
    assert_int_equal(rc, SCR_E_NOENT);
    assert_non_null(strstr(g.err.text, "no process of node n1"));
    rig_close(&g);
}

/* Is its own process of n1: killed by the strike. */
static const char victim[] = "#!/bin/sh\n"
                             "cd $SCR_CNTL_BASE/vnode.n1/drill/scr.job/prefix.*\n"
                             "echo $$ 0 >pid.0\n"
                             "echo compute 1 >$SCR_PHASE_FILE\n"
                             "exec sleep 60\n";

static void storage_that_resists_the_strike_goes_at_the_end(void **state)
{
    (void)state;
    struct rig g;
    rig_open(&g, victim);
    test_fault_arm(TEST_UNLINKAT, 0, ENOTEMPTY, TEST_ONCE);
    if (rig_run(&g) != SCR_OK)
        fail_msg("%s", g.err.text);
    assert_true(test_fault_off());
    assert_non_null(strstr(g.run.pids, "0 (pid "));
    assert_int_not_equal(access(test_path("drill/storage/cntl/vnode.n1"), F_OK), 0);
    rig_close(&g);
}

static void storage_that_stays_is_an_error(void **state)
{
    (void)state;
    struct rig g;
    rig_open(&g, victim);
    test_fault_arm(TEST_UNLINKAT, 0, EIO, TEST_FOREVER);
    assert_int_equal(rig_run(&g), SCR_E_IO);
    assert_non_null(strstr(g.run.pids, "0 (pid "));
    rig_close(&g);
}

static void a_process_that_left_the_group_of_mpirun_is_killed(void **state)
{
    (void)state;
    struct rig g;
    int status;
    rig_open(&g, "#!/bin/sh\n"
                 "setsid sleep 60 &\n"
                 "echo compute 1 >$SCR_PHASE_FILE\n"
                 "wait\n");
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(rig_run(&g), SCR_E_NOENT); /* n1 has no process: the run ends */
    assert_true(waitpid(-1, &status, 0) > 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pids_of_an_earlier_run_are_not_killed),
        cmocka_unit_test(storage_that_resists_the_strike_goes_at_the_end),
        cmocka_unit_test(storage_that_stays_is_an_error),
        cmocka_unit_test(a_process_that_left_the_group_of_mpirun_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
