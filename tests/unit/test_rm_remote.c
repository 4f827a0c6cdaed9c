/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands on many nodes at once, and the tests of nodes built on them. ssh and srun
 * are fakes that run the command here; pdsh is the real one, where there is one. */
#include "helper_rm.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"
#include "rm/many.h"
#include "rm/nodetest.h"
#include "rm/remote.h"

/* --- many programs at once --- */

static void many_at_once(void **state)
{
    (void)state;
    enum { N = 100 };
    static const char *const sleeper[] = { "sh", "-c", "sleep 1; echo out; echo e >&2",
                                           NULL };
    struct scr_many_task *task = calloc(N, sizeof *task);
    for (int i = 0; i < N; i++)
        task[i].argv = sleeper;
    double start = scr_now_mono();
    assert_int_equal(scr_many_run(task, N, N, 90, NULL, NULL), SCR_OK);
    assert_true(scr_now_mono() - start < 60); /* one after another: 100 s */
    for (int i = 0; i < N; i++) {
        assert_int_equal(task[i].end, SCR_MANY_ENDED);
        assert_string_equal(task[i].out, "out\n");
        assert_string_equal(task[i].errout, "e\n");
    }
    scr_many_free(task, N);
    free(task);
}

/* How often what has to be quick may be tried: a machine may stand still for seconds,
 * but not each time. */
enum { TRIES = 5 };

/* Of n all but one are to end within the limit; what takes longer gets more. */
static void run_but(struct scr_many_task *task, size_t n, size_t width, size_t hung,
                    double limit)
{
    for (int i = 1;; i++) {
        size_t late = 0;
        double start = scr_now_mono();
        assert_int_equal(scr_many_run(task, n, width, limit, NULL, NULL), SCR_OK);
        assert_true(scr_now_mono() - start < limit + 60); /* of 600 */
        for (size_t k = 0; k < n; k++)
            late += k != hung && task[k].end == SCR_MANY_LATE;
        if (i == TRIES || (late == 0 && strlen(task[hung].out) > 0))
            return;
        scr_many_free(task, n);
        limit *= 2;
    }
}

static void each_has_its_own_end(void **state)
{
    (void)state;
    static const char *const lines[][4] = {
        { "sh", "-c", "exit 3", NULL },
        { "sh", "-c", "kill -9 $$", NULL },
        { "/no/such/program", NULL },
        { "sh", "-c", "echo begun; trap '' TERM; sleep 600 & wait; wait", NULL },
        { "sh", "-c", "sleep 600 & echo left a daemon", NULL },
        { "cat", NULL }, /* nothing on stdin */
        { "head", "-c", "1000000", "/dev/zero" },
    };
    struct scr_many_task task[7] = { { 0 } };
    const char *const head[] = { "head", "-c", "1000000", "/dev/zero", NULL };
    for (int i = 0; i < 6; i++)
        task[i].argv = lines[i];
    task[6].argv = head;
    run_but(task, 7, 0, 3, 4);
    assert_int_equal(task[0].status, 3);
    assert_int_equal(task[1].status, 128 + 9);
    assert_int_equal(task[2].end, SCR_MANY_FAILED);
    assert_contains(task[2].errout, "/no/such/program: no such file");
    assert_int_equal(task[3].end, SCR_MANY_LATE);
    assert_string_equal(task[3].out, "begun\n");
    assert_int_equal(task[4].end, SCR_MANY_ENDED);
    assert_string_equal(task[4].out, "left a daemon\n");
    assert_int_equal(task[5].status, 0);
    assert_int_equal(task[6].end, SCR_MANY_ENDED);
    scr_many_free(task, 7);
}

static void one_that_hangs_keeps_none_from_its_turn(void **state)
{
    (void)state;
    static const char *const hung[] = { "sh", "-c", "echo begun; exec sleep 600",
                                        NULL };
    static const char *const good[] = { "echo", "done", NULL };
    struct scr_many_task task[3] = { { .argv = hung },
                                     { .argv = good },
                                     { .argv = good } };
    run_but(task, 3, 1, 0, 4);
    assert_int_equal(task[0].end, SCR_MANY_LATE);
    assert_string_equal(task[1].out, "done\n");
    assert_int_equal(task[2].end, SCR_MANY_ENDED);
    scr_many_free(task, 3);
}

/* How many of those that end do; the time it takes, in *seconds. */
static int run_crowd(int hung, int good, double limit, double *seconds)
{
    static const char *const sleeper[] = { "sleep", "600", NULL };
    static const char *const quick[] = { "true", NULL };
    int n = hung + good, ended = 0;
    struct scr_many_task *task = calloc((size_t)n, sizeof *task);
    for (int i = 0; i < n; i++)
        task[i].argv = i < hung ? sleeper : quick;
    double start = scr_now_mono();
    assert_int_equal(scr_many_run(task, (size_t)n, 0, limit, NULL, NULL), SCR_OK);
    *seconds = scr_now_mono() - start;
    for (int i = 0; i < n; i++) {
        ended += task[i].end == SCR_MANY_ENDED;
        assert_true(i >= hung || task[i].end == SCR_MANY_LATE);
    }
    scr_many_free(task, (size_t)n);
    free(task);
    return ended;
}

/* More than there are places for, and those that answer are behind them. The machine
 * may stand still for seconds, but not each time, or be so busy that it takes long to
 * start them: then they get more time. */
static void a_thousand_that_hang_keep_none_from_its_turn(void **state)
{
    enum { HUNG = 1000, GOOD = 20, LIMIT_S = 8 };
    double limit = LIMIT_S, seconds = 0;
    int ended = run_crowd(HUNG, GOOD, limit, &seconds);
    (void)state;
    for (int i = 1; i < 4 && (ended != GOOD || seconds >= 1.25 * limit); i++) {
        limit *= 2;
        ended = run_crowd(HUNG, GOOD, limit, &seconds);
    }
    assert_int_equal(ended, GOOD);
    assert_true(seconds < 1.25 * limit);
}

static void few_descriptors_make_them_wait(void **state)
{
    (void)state;
    enum { N = 40, FEW = 30 };
    static const char *const good[] = { "echo", "done", NULL };
    struct scr_many_task task[N] = { { 0 } };
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FEW;
    for (size_t i = 0; i < N; i++)
        task[i].argv = good;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int rc = scr_many_run(task, N, 0, 30, NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, SCR_OK);
    for (size_t i = 0; i < N; i++)
        assert_string_equal(task[i].out, "done\n");
    scr_many_free(task, N);
}

static void without_time_nothing_is_started(void **state)
{
    (void)state;
    static const char *const good[] = { "echo", "done", NULL };
    struct scr_many_task task[1] = { { .argv = good } };
    assert_int_equal(scr_many_run(task, 1, 1, 0, NULL, NULL), SCR_OK);
    assert_int_equal(task[0].end, SCR_MANY_LATE);
    assert_string_equal(task[0].out, "");
    scr_many_free(task, 1);
}

/* --- remote --- */

static struct scr_remote_result *run_on(struct test_rm *m, const char *const *argv,
                                        double limit)
{
    struct scr_remote_result *res;
    if (scr_remote_run(&m->rm, &m->rm.nodes, argv, limit, &res, &m->t.err) != SCR_OK)
        fail_msg("%s", m->t.err.text);
    return res;
}

/* Nodes 0 and 2 are to answer within the limit, and those that hang not to take more.
 */
static struct scr_remote_result *run_in_time(struct test_rm *m, const char *const *argv,
                                             double limit)
{
    for (int i = 1;; i++) {
        double start = scr_now_mono();
        struct scr_remote_result *res = run_on(m, argv, limit);
        double seconds = scr_now_mono() - start;
        if (i == TRIES)
            assert_true(seconds < limit + 2);
        if (i == TRIES || (seconds < limit + 2 && res[0].answered && res[2].answered))
            return res;
        scr_remote_free(res, m->rm.nodes.n);
    }
}

/* The common behaviour of ssh, pdsh and srun; "dead" hangs, "gone" refuses. */
static void run_everywhere(const char *remote, const char *job, const char *nodelist)
{
    struct test_rm m;
    char setting[64];
    (void)snprintf(setting, sizeof setting, "SCR_REMOTE=%s", remote);
    test_rm_open(&m, "remote", setting, "SCR_NODELIST=n1,dead2,n3,gone4", job);
    assert_string_equal(m.rm.ops->name, nodelist);
    const char *script = "echo \"$FAKE_NODE: $0|$1|$2|$SCR_TEST_X\"; echo a word >&2; "
                         "[ $FAKE_NODE != n3 ] || exit 7";
    const char *argv[] = { "sh", "-c", script, "a b", "$HOME", "it's", NULL };
    struct scr_remote_result *res = run_in_time(&m, argv, 2);
    assert_int_equal(res[0].answered, 1);
    assert_int_equal(res[0].status, 0);
    assert_string_equal(res[0].out, "n1: a b|$HOME|it's|x  'y'\n");
    assert_contains(res[0].why, "a word");
    assert_int_equal(res[1].answered, 0);
    assert_int_equal(res[1].status, -1);
    assert_int_not_equal(res[1].why[0], '\0');
    assert_int_equal(res[2].answered, 1);
    assert_int_equal(res[2].status, 7);
    assert_int_equal(res[3].answered, 0);
    assert_int_not_equal(res[3].why[0], '\0');
    scr_remote_free(res, 4);
    test_rm_close(&m);
}

static void by_ssh(void **state)
{
    (void)state;
    run_everywhere("SSH", NULL, "NONE");
}

static void by_srun(void **state)
{
    (void)state;
    run_everywhere("SRUN", "SLURM_JOBID=1", "SLURM");
    /* as sbatch --export=NONE sets it */
    assert_int_equal(setenv("SLURM_EXPORT_ENV", "NONE", 1), 0);
    run_everywhere("SRUN", "SLURM_JOBID=1", "SLURM");
    assert_int_equal(unsetenv("SLURM_EXPORT_ENV"), 0);
}

static void by_pdsh(void **state)
{
    (void)state;
    if (access("/usr/bin/pdsh", X_OK) != 0)
        skip();
    run_everywhere("PDSH", NULL, "NONE");
}

static void on_virtual_nodes(void **state)
{
    (void)state;
    struct test_rm m;
    const char *means;
    const char *argv[] = { "sh", "-c", "echo $SCR_VNODES of $SCR_NODELIST", NULL };
    test_rm_open(&m, "remote", "SCR_VNODES=v[1-3]", NULL, NULL);
    assert_int_equal(scr_remote_means(&m.rm, &m.rm.nodes, &means, NULL), SCR_OK);
    assert_string_equal(means, "LOCAL");
    struct scr_remote_result *res = run_on(&m, argv, 60);
    assert_string_equal(res[2].out, "v3 of v1,v2,v3\n");
    scr_remote_free(res, 3);
    test_rm_close(&m);
}

static void which_way_is_taken(void **state)
{
    (void)state;
    struct test_rm m;
    const char *means;
    test_rm_open(&m, "remote", "SLURM_JOBID=1", "SLURM_NODELIST=n1", NULL);
    assert_int_equal(scr_remote_means(&m.rm, &m.rm.nodes, &means, NULL), SCR_OK);
    assert_string_equal(means, "SRUN");
    test_rm_close(&m);
    test_rm_open(&m, "remote", "SCR_NODELIST=localhost", NULL, NULL);
    assert_int_equal(scr_remote_means(&m.rm, &m.rm.nodes, &means, NULL), SCR_OK);
    assert_string_equal(means, "LOCAL");
    test_rm_close(&m);
    /* nothing to use */
    struct scr_remote_result *res;
    const char *argv[] = { "true", NULL };
    test_rm_open(&m, "remote", "SCR_NODELIST=n1,n2", NULL, NULL);
    struct test_cfg bare;
    test_cfg_open(&bare, "PATH=/x", NULL);
    m.rm.cfg = bare.cfg;
    assert_int_not_equal(scr_remote_run(&m.rm, &m.rm.nodes, argv, 5, &res, &m.t.err),
                         SCR_OK);
    assert_contains(m.t.err.text,
                    "no way to run commands on n1: neither pdsh nor ssh is in PATH");
    test_cfg_close(&bare);
    test_rm_close(&m);
}

static void the_program_of_the_resource_manager_is_missing(void **state)
{
    (void)state;
    struct test_rm m;
    struct test_cfg bare;
    struct scr_remote_result *res;
    const char *argv[] = { "true", NULL };
    test_rm_open(&m, "remote", "SLURM_JOBID=1", "SLURM_NODELIST=n1", NULL);
    test_cfg_open(&bare, "PATH=/x", NULL);
    m.rm.cfg = bare.cfg;
    assert_int_not_equal(scr_remote_run(&m.rm, &m.rm.nodes, argv, 5, &res, &m.t.err),
                         SCR_OK);
    assert_null(res);
    assert_contains(m.t.err.text, "run commands on n1: ");
    assert_contains(m.t.err.text, "srun");
    test_cfg_close(&bare);
    test_rm_close(&m);
}

/* Lists of resource managers are taken as they are. (S8) */
static void a_name_that_is_an_option_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "-oProxyCommand=touch ran", "^ran", "n1|ran", "a b", "n1;ran", "../n1", ".", ""
    };
    static const char *const argv[] = { "true", NULL };
    struct test_rm m;
    struct scr_remote_result *res;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int pdsh = 0; pdsh < 2; pdsh++) {
            test_rm_open(&m, "remote", pdsh ? "SCR_REMOTE=PDSH" : "SCR_REMOTE=SSH",
                         "SCR_NODELIST=n1", NULL);
            assert_int_equal(scr_hostlist_add(&m.rm.nodes, names[i], NULL), SCR_OK);
            assert_int_equal(
                scr_remote_run(&m.rm, &m.rm.nodes, argv, 9, &res, &m.t.err),
                SCR_E_UNSAFE);
            assert_null(res);
            assert_contains(m.t.err.text, " is no name of a node");
            test_rm_close(&m);
        }
}

/* "exec:n1" would run the command here. (S8) */
static void pdsh_gets_no_name_with_a_colon(void **state)
{
    (void)state;
    if (access("/usr/bin/pdsh", X_OK) != 0)
        skip();
    static const char *const argv[] = { "true", NULL };
    const char *means;
    struct test_rm m;
    struct scr_remote_result *res;
    test_rm_open(&m, "remote", "SCR_REMOTE=PDSH", "SCR_NODELIST=exec:n1", NULL);
    assert_int_equal(scr_remote_run(&m.rm, &m.rm.nodes, argv, 9, &res, &m.t.err),
                     SCR_E_UNSAFE);
    assert_null(res);
    assert_contains(m.t.err.text, "pdsh takes \"exec:n1\"");
    test_rm_close(&m);
    test_rm_open(&m, "remote", "SCR_NODELIST=n1,exec:n2", NULL, NULL);
    assert_true(scr_remote_means(&m.rm, &m.rm.nodes, &means, NULL) != SCR_OK ||
                strcmp(means, "SSH") == 0);
    test_rm_close(&m);
}

/* --- tests of nodes --- */

static void check_down(const char *a, const char *b, const char *c,
                       const char *const *check, const char *want,
                       const char *want_dead)
{
    struct test_rm m;
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_hostlist dead = SCR_HOSTLIST_INIT;
    char text[2048] = "", *list = NULL;
    test_rm_open(&m, "remote", a, b, c);
    struct scr_node_tests t = { &m.rm, check, 10 };
    if (scr_nodes_test(&t, &m.rm.nodes, &down, &m.t.err) != SCR_OK)
        fail_msg("%s", m.t.err.text);
    for (SCR_EACH(const struct scr_down, d, &down.why)) {
        size_t n = strlen(text);
        char *within = strstr(d->reason, "within ");
        if (within != NULL) /* how long, other work on the machine may decide */
            *within = '\0';
        (void)snprintf(text + n, sizeof text - n, "%s: %s\n", d->item.name, d->reason);
    }
    assert_string_equal(text, want);
    assert_int_equal(scr_downs_dead(&down, &dead, NULL), SCR_OK);
    assert_int_equal(scr_hostlist_compress(&dead, 0, &list, NULL), SCR_OK);
    assert_string_equal(list, want_dead);
    free(list);
    scr_hostlist_free(&dead);
    scr_downs_free(&down);
    test_rm_close(&m);
}

static void nodes_are_tested_all_at_once(void **state)
{
    (void)state;
    const char *check[] = {
        "sh", "-c",
        "echo Welcome; [ $FAKE_NODE = n5 ] && echo 'FAIL: /tmp: full' "
        "|| echo PASS; [ $FAKE_NODE != n6 ] || exit 0",
        NULL
    };
    check_down(
        "SCR_REMOTE=SSH", "SCR_NODELIST=n1,dead2,silent3,gone4,n[5-7],x8",
        "SCR_EXCLUDE_NODES=n7,elsewhere", check,
        "n7: listed in SCR_EXCLUDE_NODES\n"
        "silent3: no reply to ping\n"
        "dead2: no command can be run on it: no answer \n"
        "gone4: no command can be run on it: ssh: connect to host gone4 port 22: "
        "No route to host\n"
        "n5: /tmp: full\n",
        "silent3,dead2,gone4");
}

static void only_the_tests_asked_for(void **state)
{
    (void)state;
    check_down("SCR_REMOTE=SSH", "SCR_NODELIST=n1,silent2", "SCR_NODE_TESTS=echo", NULL,
               "", "");
    check_down(
        "SCR_REMOTE=SSH", "SCR_NODELIST=n1,silent2,gone3",
        "SCR_NODE_TESTS=ping, pdsh_echo", NULL,
        "silent2: no reply to ping\n"
        "gone3: no command can be run on it: ssh: connect to host gone3 port 22: "
        "No route to host\n",
        "silent2,gone3");
}

static void tests_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *text;
    } rows[] = { { "SCR_NODE_TESTS=ping,luck", "no test is called \"luck\"" },
                 { "SCR_EXCLUDE_NODES=n[1-", "SCR_EXCLUDE_NODES=n[1- (environment)" } };
    for (size_t i = 0; i < 2; i++) {
        struct test_rm m;
        struct scr_downs down = SCR_DOWNS_INIT;
        test_rm_open(&m, "remote", "SCR_NODELIST=n1", rows[i].setting, NULL);
        struct scr_node_tests t = { &m.rm, NULL, 2 };
        assert_int_equal(scr_nodes_test(&t, &m.rm.nodes, &down, &m.t.err),
                         SCR_E_CONFIG);
        assert_contains(m.t.err.text, rows[i].text);
        scr_downs_free(&down);
        test_rm_close(&m);
    }
}

/* A manager that does not answer is no reason to stop. */
static void a_silent_manager_is_a_warning(void **state)
{
    (void)state;
    struct test_rm m;
    struct scr_downs down = SCR_DOWNS_INIT;
    test_rm_open(&m, "slurm", "SLURM_JOBID=4", "SLURM_NODELIST=n9",
                 "SCR_NODE_TESTS=RM");
    struct scr_node_tests t = { &m.rm, NULL, 5 };
    assert_int_equal(scr_nodes_test(&t, &m.rm.nodes, &down, &m.t.err), SCR_OK);
    assert_contains(test_cfg_log(&m.t), "SLURM does not report which nodes are down: ");
    assert_int_equal(down.nodes.n, 0);
    test_rm_close(&m);
}

/* A slow one is not either: the other tests have two thirds of the time. */
static void a_slow_manager_costs_no_node(void **state)
{
    (void)state;
    static const char *const check[] = { "echo", "PASS", NULL };
    struct test_rm m;
    struct scr_downs down = SCR_DOWNS_INIT;
    test_rm_open(&m, "slow", "SLURM_JOBID=4", "SLURM_NODELIST=n1,n2", NULL);
    struct scr_node_tests t = { &m.rm, check, 9 };
    assert_int_equal(scr_nodes_test(&t, &m.rm.nodes, &down, &m.t.err), SCR_OK);
    assert_contains(test_cfg_log(&m.t), "sinfo: no answer within ");
    assert_int_equal(down.nodes.n, 0);
    scr_downs_free(&down);
    test_rm_close(&m);
}

/* One that hangs takes all the time of a test: the next is not made, and no other node
 * is taken for dead. */
static void a_test_without_time_is_not_made(void **state)
{
    (void)state;
    static const char *const check[] = { "echo", "PASS", NULL };
    struct test_rm m;
    struct scr_downs down = SCR_DOWNS_INIT;
    test_rm_open(&m, "remote", "SCR_REMOTE=SSH", "SCR_NODELIST=n1,dead2",
                 "SCR_NODE_TESTS=CHECK,ECHO");
    struct scr_node_tests t = { &m.rm, check, 5 };
    assert_int_equal(scr_nodes_test(&t, &m.rm.nodes, &down, &m.t.err), SCR_OK);
    assert_contains(test_cfg_log(&m.t), "no time is left for the test ECHO of 1 node:");
    assert_int_equal(down.nodes.n, 1);
    assert_string_equal(down.nodes.name[0], "dead2");
    scr_downs_free(&down);
    test_rm_close(&m);
}

int main(void)
{
    /* pdsh looks for ssh by itself */
    if (setenv("PATH", TEST_RM_FIXTURES "/remote/bin:/usr/bin:/bin", 1) != 0 ||
        setenv("SCR_TEST_X", "x  'y'", 1) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(each_has_its_own_end),
        cmocka_unit_test(one_that_hangs_keeps_none_from_its_turn),
        cmocka_unit_test(a_thousand_that_hang_keep_none_from_its_turn),
        cmocka_unit_test(few_descriptors_make_them_wait),
        cmocka_unit_test(without_time_nothing_is_started),
        cmocka_unit_test(by_ssh),
        cmocka_unit_test(by_srun),
        cmocka_unit_test(by_pdsh),
        cmocka_unit_test(on_virtual_nodes),
        cmocka_unit_test(which_way_is_taken),
        cmocka_unit_test(the_program_of_the_resource_manager_is_missing),
        cmocka_unit_test(a_name_that_is_an_option_is_refused),
        cmocka_unit_test(pdsh_gets_no_name_with_a_colon),
        cmocka_unit_test(nodes_are_tested_all_at_once),
        cmocka_unit_test(only_the_tests_asked_for),
        cmocka_unit_test(tests_that_cannot_be),
        cmocka_unit_test(a_silent_manager_is_a_warning),
        cmocka_unit_test(a_slow_manager_costs_no_node),
        cmocka_unit_test(a_test_without_time_is_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
