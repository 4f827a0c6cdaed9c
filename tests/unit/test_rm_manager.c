/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of each resource manager about a job, from answers of its tools in
 * tests/fixtures/rm. */
#include "helper_rm.h"

#include <time.h>
#include <unistd.h>

#include "base/str.h"

#define FIXTURES TEST_RM_FIXTURES

static void has_nodes(const struct scr_hostlist *list, const char *want)
{
    char *text = NULL;
    assert_int_equal(scr_hostlist_compress(list, 0, &text, NULL), SCR_OK);
    assert_string_equal(text, want);
    free(text);
}

/* dead: those of them whose caches cannot be reached. */
static void has_down(struct test_rm *m, const char *want, const char *want_dead)
{
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_hostlist dead = SCR_HOSTLIST_INIT;
    struct scr_str s = SCR_STR_INIT;
    if (scr_rm_down(&m->rm, &m->rm.nodes, &down, &m->t.err) != SCR_OK)
        fail_msg("%s", m->t.err.text);
    for (SCR_EACH(const struct scr_down, d, &down.why))
        scr_str_printf(&s, "%s: %s\n", d->item.name, d->reason);
    char *text = scr_str_take(&s);
    assert_string_equal(text, want);
    free(text);
    assert_int_equal(scr_downs_dead(&down, &dead, NULL), SCR_OK);
    has_nodes(&dead, want_dead);
    scr_hostlist_free(&dead);
    scr_downs_free(&down);
}

static void ends_in(struct test_rm *m, int64_t seconds)
{
    int64_t end, now = (int64_t)time(NULL);
    assert_int_equal(scr_rm_end_time(&m->rm, &end, &m->t.err), SCR_OK);
    assert_in_range(end - seconds, now - 1, now + 60);
}

static void kills(struct test_rm *m, const char *step, const char *want)
{
    char *killed;
    if (scr_rm_kill_step(&m->rm, step, NULL, &killed, &m->t.err) != SCR_OK)
        fail_msg("%s", m->t.err.text);
    assert_string_equal(killed, want);
    free(killed);
}

static void kills_besides(struct test_rm *m, const char *others, const char *want)
{
    char *killed;
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    assert_int_equal(scr_hostlist_expand(others, &list, &m->t.err), SCR_OK);
    if (scr_rm_kill_step(&m->rm, NULL, &list, &killed, &m->t.err) != SCR_OK)
        fail_msg("%s", m->t.err.text);
    assert_string_equal(killed ? killed : "none", want);
    free(killed);
    scr_hostlist_free(&list);
}

static void has_steps(struct test_rm *m, const char *want)
{
    struct scr_hostlist steps = SCR_HOSTLIST_INIT;
    assert_int_equal(scr_rm_steps(&m->rm, &steps, &m->t.err), SCR_OK);
    has_nodes(&steps, want);
    scr_hostlist_free(&steps);
}

static void slurm(void **state)
{
    (void)state;
    struct test_rm m;
    int64_t end;
    test_rm_open(&m, "slurm", "SLURM_JOBID=1234", "SLURM_NODELIST=n[1-5]", NULL);
    assert_string_equal(m.rm.ops->name, "SLURM");
    assert_string_equal(m.rm.job, "1234");
    has_nodes(&m.rm.nodes, "n[1-5]");
    has_down(&m,
             "n3: Slurm says down*: Not responding\n"
             "n5: Slurm says draining: disk errors\n",
             "n3");
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 1795316207);
    kills(&m, NULL, "1234.10"); /* neither ours nor the batch script, by number */
    kills(&m, "4", "1234.4");
    has_steps(&m, "1234.[9-10]");
    kills_besides(&m, "1234.9", "1234.10");
    kills_besides(&m, "1234.4,1234.[9-10]", "none");
    test_rm_close(&m);
}

static void slurm_without_a_limit_or_an_answer(void **state)
{
    (void)state;
    struct test_rm m;
    int64_t end;
    test_rm_open(&m, "slurm", "SLURM_JOBID=77", "SLURM_NODELIST=n1", NULL);
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 0);
    test_rm_close(&m);
    test_rm_open(&m, "slurm", "SLURM_JOBID=78", "SLURM_NODELIST=n1", NULL);
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 0); /* a time before 1970 is none */
    test_rm_close(&m);
    test_rm_open(&m, "slurm", "SLURM_JOBID=99", "SLURM_NODELIST=n1", NULL);
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_E_FAILURE);
    assert_contains(m.t.err.text, "squeue: exit status 1: slurm_load_jobs error");
    test_rm_close(&m);
}

/* squeue prints a line for each part. */
static void slurm_with_a_job_of_parts(void **state)
{
    (void)state;
    struct test_rm m;
    int64_t end;
    test_rm_open(&m, "slurm", "SLURM_JOBID=500", "SLURM_NODELIST=n[1-4]", NULL);
    has_down(&m, "n4: Slurm has taken it out of the allocation\n", "n4");
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 1795316207);
    test_rm_close(&m);
}

static void a_node_is_dead_once_any_source_reports_it(void **state)
{
    (void)state;
    struct scr_downs down = SCR_DOWNS_INIT;
    struct scr_hostlist dead = SCR_HOSTLIST_INIT;
    assert_int_equal(scr_downs_add(&down, "a", SCR_NODE_UNFIT, NULL, "full"), SCR_OK);
    assert_int_equal(scr_downs_add(&down, "b", SCR_NODE_UNFIT, NULL, "full"), SCR_OK);
    assert_int_equal(scr_downs_add(&down, "b", SCR_NODE_DEAD, NULL, "silent"), SCR_OK);
    assert_int_equal(scr_downs_add(&down, "b", SCR_NODE_UNFIT, NULL, "full"), SCR_OK);
    has_nodes(&down.nodes, "a,b");
    const struct scr_down *b = scr_table_find(&down.why, "b");
    assert_string_equal(b->reason, "full");
    assert_int_equal(scr_downs_dead(&down, &dead, NULL), SCR_OK);
    has_nodes(&dead, "b");
    scr_hostlist_free(&dead);
    scr_downs_free(&down);
}

static void lsf(void **state)
{
    (void)state;
    struct test_rm m;
    test_rm_open(&m, "lsf", "LSB_JOBID=881",
                 "LSB_DJOB_HOSTFILE=" FIXTURES "/lsf/hostfile", NULL);
    assert_string_equal(m.rm.ops->name, "LSF");
    has_nodes(&m.rm.nodes, "c699c[010-012]"); /* without the launch node */
    has_down(&m, "c699c011: LSF says unreach\nc699c012: LSF says closed_Adm\n",
             "c699c011");
    ends_in(&m, 5400);
    has_steps(&m, "[3,10]");
    kills(&m, NULL, "10");
    kills(&m, "3", "3");
    kills_besides(&m, "10", "3");
    kills_besides(&m, "3,10", "none");
    test_rm_close(&m);
    test_rm_open(&m, "lsf", "LSB_JOBID=882", "LSB_HOSTS=a1 a2 a3", NULL);
    has_nodes(&m.rm.nodes, "a[1-3]"); /* one slot each: all are to run on */
    int64_t end;
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 0);
    test_rm_close(&m);
}

static void flux(void **state)
{
    (void)state;
    struct test_rm m;
    test_rm_open(&m, "flux", "FLUX_URI=local:///tmp/x", "SLURM_JOBID=1", NULL);
    assert_string_equal(m.rm.ops->name, "FLUX");
    assert_string_equal(m.rm.job, "fAbCdEf");
    has_nodes(&m.rm.nodes, "tux[0-3,7]");
    has_down(&m,
             "tux1: Flux says drained: bad DIMM, see 4711\n"
             "tux7: Flux says drained: bad DIMM, see 4711\n"
             "tux2: Flux says down\n",
             "tux2");
    ends_in(&m, 5400);
    has_steps(&m, "f2VmPn5pLR,f2WLkSdyUK");
    kills(&m, NULL, "f2WLkSdyUK");
    kills_besides(&m, "f2WLkSdyUK,f2VmPn5pLR", "none");
    test_rm_close(&m);
}

static void pbs(void **state)
{
    (void)state;
    struct test_rm m;
    char *killed;
    test_rm_open(&m, "pbs", "PBS_JOBID=55.sdb",
                 "PBS_NODEFILE=" FIXTURES "/pbs/nodefile", NULL);
    assert_string_equal(m.rm.ops->name, "PBS");
    assert_int_equal(m.rm.nodes.n, 3);
    assert_string_equal(m.rm.nodes.name[2], "nid00100.local");
    has_down(&m, "nid00013.local: PBS says offline,down: no heartbeat since 10:15\n",
             "nid00013.local");
    ends_in(&m, 2 * 3600 - 630);
    kills(&m, "4711", "4711");
    assert_int_equal(scr_rm_kill_step(&m.rm, NULL, NULL, &killed, &m.t.err),
                     SCR_E_UNSUPPORTED);
    test_rm_close(&m);
    test_rm_open(&m, "pbs", "PBS_JOBID=56.torque",
                 "PBS_NODEFILE=" FIXTURES "/pbs/nodefile", NULL);
    ends_in(&m, 2990);
    test_rm_close(&m);
}

static void none(void **state)
{
    (void)state;
    struct test_rm m;
    int64_t end;
    char *killed;
    test_rm_open(&m, "none", NULL, NULL, NULL);
    assert_string_equal(m.rm.ops->name, "NONE");
    assert_int_equal(m.rm.nodes.n, 0);
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 0);
    assert_int_equal(scr_rm_kill_step(&m.rm, NULL, NULL, &killed, &m.t.err),
                     SCR_E_UNSUPPORTED);
    test_rm_close(&m);
    test_rm_open(&m, "none", "SCR_NODELIST=a[1-3],a2", "SCR_END_TIME=4000000000", NULL);
    has_nodes(&m.rm.nodes, "a[1-3]");
    assert_int_equal(m.rm.is_virtual, 0);
    assert_int_equal(scr_rm_end_time(&m.rm, &end, &m.t.err), SCR_OK);
    assert_int_equal(end, 4000000000);
    test_rm_close(&m);
    test_rm_open(&m, "none", "SCR_VNODES=3", NULL, NULL);
    has_nodes(&m.rm.nodes, "n[1-3]");
    assert_int_equal(m.rm.is_virtual, 1);
    has_down(&m, "", "");
    test_rm_close(&m);
}

static void settings_come_first(void **state)
{
    (void)state;
    struct test_rm m;
    test_rm_open(&m, "slurm", "SLURM_JOBID=1234", "SCR_NODELIST=n[3-4]",
                 "SCR_RESOURCE_MANAGER=none");
    assert_string_equal(m.rm.ops->name, "NONE");
    has_nodes(&m.rm.nodes, "n[3-4]");
    test_rm_close(&m);
}

/* One clear line each. */
static void what_cannot_be(void **state)
{
    (void)state;
    struct test_rm m;
    static const struct {
        const char *a, *b;
        const char *text;
    } rows[] = {
        { "SCR_RESOURCE_MANAGER=SLURM", NULL,
          "SLURM_JOBID is not set, so this is outside" },
        { "SLURM_JOBID=1234", NULL, "SLURM_NODELIST is not set" },
        { "LSB_JOBID=1", NULL, "LSB_DJOB_HOSTFILE" },
        { "LSB_JOBID=1", "LSB_DJOB_HOSTFILE=/no/such", "/no/such: no such file" },
        { "PBS_JOBID=1", NULL, "PBS_NODEFILE is not set" },
        { "LSB_JOBID=1", "LSB_HOSTS=a1 -oProxyCommand=x", "is no name of a node" },
        { "PBS_JOBID=1", "PBS_NODEFILE=" FIXTURES "/pbs/nodefile-odd",
          "\"^n2\" is no name of a node" },
        { "FLUX_URI=x", NULL, "flux: no such program in PATH" },
        { "SCR_NODELIST=n[3-1]", NULL, "SCR_NODELIST=n[3-1] (environment)" },
        { "SCR_VNODES=0", NULL,
          "SCR_VNODES=0 (environment): expected node names or a count" },
        { "SCR_VNODES=n[1-", NULL, "SCR_VNODES=n[1- (environment)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_not_equal(test_rm_try(&m, "slurm", rows[i].a, rows[i].b, NULL),
                             SCR_OK);
        assert_contains(m.t.err.text, rows[i].text);
        test_rm_close(&m);
    }
}

static void a_job_we_are_outside_of(void **state)
{
    (void)state;
    struct test_rm m;
    test_rm_open(&m, "slurm", NULL, NULL, NULL);
    scr_rm_close(&m.rm);
    const struct scr_rm_job slurm = { "SLURM", "1234" }, cobalt = { "COBALT", "1" };
    assert_int_equal(
        scr_rm_open_job(&m.t.env, m.t.cfg, &m.prm, &slurm, &m.rm, &m.t.err), SCR_OK);
    kills(&m, NULL, "1234.10");
    scr_rm_close(&m.rm);
    assert_int_equal(
        scr_rm_open_job(&m.t.env, m.t.cfg, &m.prm, &cobalt, &m.rm, &m.t.err),
        SCR_E_ARG);
    /* as one who can write run.scr may put it there (S8) */
    static const char *const odd[] = { "-u", "--help", "", "1 -u root", "1\n2" };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const struct scr_rm_job given = { "PBS", odd[i] };
        assert_int_equal(
            scr_rm_open_job(&m.t.env, m.t.cfg, &m.prm, &given, &m.rm, NULL),
            SCR_E_UNSAFE);
    }
    test_rm_close(&m);
}

static const char *jobs_of(struct test_rm *m, const char *user, struct scr_hostlist *l)
{
    static char text[256];
    text[0] = '\0';
    scr_hostlist_free(l);
    if (scr_rm_jobs(&m->rm, user, l, &m->t.err) != SCR_OK)
        return m->t.err.text;
    for (size_t i = 0; i < l->n; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                       l->name[i]);
    return text;
}

static void jobs_that_have_not_ended(void **state)
{
    (void)state;
    struct test_rm m;
    struct scr_hostlist l = SCR_HOSTLIST_INIT;
    test_rm_open(&m, "slurm", NULL, NULL, NULL); /* outside of any job */
    if (geteuid() == 0)                          /* others are asked about by number */
        assert_string_equal(jobs_of(&m, "user1", &l), "1234 1240 ");
    assert_non_null(strstr(jobs_of(&m, "user2", &l), "SLURM does not report"));
    test_rm_close(&m);
    test_rm_open(&m, "lsf", "SCR_RESOURCE_MANAGER=LSF", "LSB_JOBID=881",
                 "LSB_HOSTS=n1");
    assert_string_equal(jobs_of(&m, "user1", &l), "881 882 ");
    assert_string_equal(jobs_of(&m, "user2", &l), "");
    test_rm_close(&m);
    test_rm_open(&m, "pbs", "SCR_RESOURCE_MANAGER=PBS", "PBS_JOBID=55.sdb",
                 "SCR_NODELIST=n1");
    assert_string_equal(jobs_of(&m, "user1", &l), "55.sdb 56.sdb ");
    test_rm_close(&m);
    test_rm_open(&m, "slurm", "SCR_RESOURCE_MANAGER=NONE", NULL, NULL);
    assert_string_equal(jobs_of(&m, "user1", &l), "");
    test_rm_close(&m);
    scr_hostlist_free(&l);
}

static void elements_of_a_listed_array(void **state)
{
    (void)state;
    char *names[] = { "15", "1234[].srv", "9[7].srv" };
    const struct scr_hostlist l = { names, 3 };
    const char *const listed[] = { "15", "1234[].srv", "1234[5].srv", "1234[60].srv",
                                   "9[7].srv" };
    const char *const others[] = { "5",           "150",         "1234.srv",
                                   "1234[x].srv", "1234[5].old", "1234[5]",
                                   "123[5].srv",  "9[8].srv",    "" };
    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++)
        assert_true(scr_rm_is_listed(&l, listed[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(scr_rm_is_listed(&l, others[i]));
}

static void programs_are_found_in_path(void **state)
{
    (void)state;
    struct test_rm m;
    char *path;
    test_rm_open(&m, "slurm", NULL, NULL, NULL);
    assert_true(scr_rm_has_program(&m.rm, "sinfo"));
    assert_true(scr_rm_has_program(&m.rm, "/bin/sh"));
    assert_false(scr_rm_has_program(&m.rm, "bin")); /* a directory */
    assert_false(scr_rm_has_program(&m.rm, "/tmp"));
    assert_int_equal(scr_rm_program(&m.rm, "sinfo", &path, NULL), SCR_OK);
    assert_string_equal(path, FIXTURES "/slurm/bin/sinfo");
    free(path);
    test_rm_close(&m);
}

static void a_job_is_hidden(void **state)
{
    (void)state;
    char slurm_id[] = "SLURM_JOB_ID=7", path[] = "PATH=/bin", pbs[] = "PBS_NODEFILE=/f";
    char lsf[] = "LSB_HOSTS=a b", flux[] = "FLUX_URI=local:///x", mine[] = "MY_PBS_=1";
    char *const envp[] = { slurm_id, path, pbs, lsf, flux, mine, NULL };
    struct scr_strv env = SCR_STRV_INIT;
    scr_rm_hide_job(envp, &env);
    char *text = scr_strv_text(&env);
    assert_string_equal(text, "FLUX_URI SLURM_JOB_ID LSB_HOSTS PBS_NODEFILE");
    free(text);
    scr_strv_free(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm),
        cmocka_unit_test(slurm_without_a_limit_or_an_answer),
        cmocka_unit_test(slurm_with_a_job_of_parts),
        cmocka_unit_test(a_node_is_dead_once_any_source_reports_it),
        cmocka_unit_test(lsf),
        cmocka_unit_test(flux),
        cmocka_unit_test(pbs),
        cmocka_unit_test(none),
        cmocka_unit_test(settings_come_first),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(a_job_we_are_outside_of),
        cmocka_unit_test(jobs_that_have_not_ended),
        cmocka_unit_test(elements_of_a_listed_array),
        cmocka_unit_test(programs_are_found_in_path),
        cmocka_unit_test(a_job_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
