/* SPDX-License-Identifier: BSD-3-Clause */
/* The command lines that leave nodes out, launcher by launcher. */
#include "helper_rm.h"

#include "rm/launch.h"
#include "rm/launch_impl.h"

enum { MAX_WORDS = 32 };

static struct scr_hostlist list(const char *text)
{
    struct scr_hostlist l = SCR_HOSTLIST_INIT;
    assert_int_equal(scr_hostlist_expand(text, &l, NULL), SCR_OK);
    return l;
}

/* Words of a text, between blanks. */
static const char *const *words(char *text)
{
    static const char *v[MAX_WORDS + 1];
    size_t n = 0;
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        if (n < MAX_WORDS)
            v[n++] = w;
    v[n] = NULL;
    return v;
}

struct line {
    const char *which, *a, *b; /* fixtures and settings */
    const char *launcher, *args, *good, *bad;
    size_t need;
    const char *want, *env; /* the line without the path of the launcher */
};

static int try_line(const struct line *row, char *out, size_t n, char *env, size_t m,
                    struct scr_err *err)
{
    struct test_rm rm;
    struct scr_launcher l;
    struct scr_strv argv = SCR_STRV_INIT, added = SCR_STRV_INIT;
    struct scr_hostlist good = list(row->good), bad = list(row->bad);
    char *text = strdup(row->args);
    test_rm_open(&rm, row->which, row->a, row->b, NULL);
    int rc = scr_launcher_open(&rm.rm, row->launcher, &l, err);
    if (rc == SCR_OK) {
        const struct scr_launch what = { words(text), &good, &bad, row->need };
        rc = scr_launch_line(&rm.rm, &l, &what, &argv, &added, err);
        scr_launcher_close(&l);
    }
    if (rc == SCR_OK) {
        char *line = scr_strv_text(&argv), *e = scr_strv_text(&added);
        (void)snprintf(out, n, "%s", strchr(line, ' ') + 1);
        (void)snprintf(env, m, "%s", e);
        free(line);
        free(e);
    }
    scr_strv_free(&argv);
    scr_strv_free(&added);
    scr_hostlist_free(&good);
    scr_hostlist_free(&bad);
    test_rm_close(&rm);
    free(text);
    return rc;
}

static void check(const struct line *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char line[4096] = "", env[4096] = "";
        struct scr_err err = SCR_ERR_INIT;
        if (try_line(&rows[i], line, sizeof line, env, sizeof env, &err) != SCR_OK)
            fail_msg("%s %s: %s", rows[i].launcher, rows[i].args, err.text);
        assert_string_equal(line, rows[i].want);
        assert_string_equal(env, rows[i].env ? rows[i].env : "");
    }
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof(rows)[0])

static void srun(void **state)
{
    (void)state;
    static const struct line rows[] = {
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "srun", "-n512 -N 64 cat -x 3",
          "n[1-5]", "", 5, "--kill-on-bad-exit=1 -n512 -N 64 cat -x 3", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "srun", "-N4 --mpi pmix cat -K",
          "n1,n3,n5", "n2,n4", 4,
          "--exclude=n[2,4] --kill-on-bad-exit=1 -N4 --mpi pmix cat -K", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "srun",
          "-N4 --kill-on-bad-exit=0 cat", "n[1-5]", "", 4,
          "-N4 --kill-on-bad-exit=0 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "srun", "-K -N4 cat", "n[1-5]", "",
          4, "-K -N4 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", "SLURM_KILL_BAD_EXIT=0", "srun",
          "-N4 cat", "n[1-5]", "", 4, "-N4 cat", NULL },
    };
    CHECK(rows);
}

static void openmpi(void **state)
{
    (void)state;
    static const struct line rows[] = {
        /* 8 on 4 of 5 nodes: two slots each, so that the fifth stays a spare */
        { "openmpi", "SCR_NODELIST=n[1-5]", NULL, "mpirun", "-np 8 cat -n 3", "n[1-5]",
          "", 4, "--host n1:2,n2:2,n3:2,n4:2,n5:2 -np 8 cat -n 3", NULL },
        { "openmpi", "SCR_NODELIST=n[1-5]", NULL, "mpirun", "-np 9 cat", "n[1,3-5]",
          "n2", 4, "--host n1:3,n3:3,n4:3,n5:3 -np 9 cat", NULL },
        { "openmpi", "SCR_NODELIST=n[1-2]", NULL, "mpiexec", "--npernode 4 cat",
          "n[1-2]", "", 2, "--host n1:4,n2:4 --npernode 4 cat", NULL },
        { "openmpi", "SCR_NODELIST=n[1-2]", NULL, "mpirun", "--mca btl tcp,self cat",
          "n[1-2]", "", 2, "--host n1:auto,n2:auto --mca btl tcp,self cat", NULL },
        { "openmpi", "SCR_NODELIST=n[1-3]", NULL, "mpirun",
          "-H n1:2,n2:2,n3 -x A=1 -n 4 cat", "n1,n3", "n2", 2,
          "--host n1:2,n3:auto -x A=1 -n 4 cat", NULL },
        /* the manager's names and those of the user may differ in the domain */
        { "openmpi", "SCR_NODELIST=n[1-3]", NULL, "mpirun",
          "-H n1.cluster:2,n2.cluster:2,n3.cluster cat", "n1,n3", "n2", 2,
          "--host n1.cluster:2,n3.cluster:auto cat", NULL },
        /* virtual nodes: as many as are needed, no list */
        { "openmpi", "SCR_VNODES=n[1-5]", NULL, "mpirun", "-n 8 cat", "n1,n[3-5]", "n2",
          3, "-n 8 cat", "SCR_VNODES=n1,n3,n4" },
        { "openmpi", "SCR_NODELIST=localhost", NULL, "mpirun", "-n 2 cat", "localhost",
          "", 1, "-n 2 cat", NULL },
    };
    CHECK(rows);
}

static void openmpi_hostfile(void **state)
{
    (void)state;
    char args[600];
    const char *file = test_cfg_file("hosts", "# ours\nn1 slots=2 max_slots=4\nn2:2\n"
                                              "  n3   # the third\n\n"
                                              "n4.cluster slots=3\n");
    (void)snprintf(args, sizeof args, "--hostfile %s -n 4 cat", file);
    const struct line row = { "openmpi",
                              "SCR_NODELIST=n[1-4]",
                              NULL,
                              "mpirun",
                              args,
                              "n1,n3,n4",
                              "n2",
                              2,
                              "--host n1:2,n3:auto,n4.cluster:3 -n 4 cat",
                              NULL };
    check(&row, 1);
}

static void mpich(void **state)
{
    (void)state;
    static const struct line rows[] = {
        { "mpich", "SCR_NODELIST=n[1-5]", NULL, "mpirun", "-n 8 cat -f x", "n[1,3-5]",
          "n2", 4, "-hosts n1:2,n3:2,n4:2,n5:2 -n 8 cat -f x", NULL },
        { "mpich", "SCR_NODELIST=n[1-3]", NULL, "mpiexec", "-genv A 1 -ppn 2 -n 4 cat",
          "n1,n3", "n2", 2, "-hosts n1:2,n3:2 -genv A 1 -ppn 2 -n 4 cat", NULL },
        { "mpich", "SCR_NODELIST=n[1-3]", NULL, "mpirun", "-hosts n1,n2:4,n3 cat",
          "n2,n3", "n1", 2, "-hosts n2:4,n3 cat", NULL },
    };
    CHECK(rows);
}

static void others(void **state)
{
    (void)state;
    static const struct line rows[] = {
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "jsrun", "-n4 -r1 cat", "n1,n3",
          "n2,n4", 2, "--exclude_hosts=n2,n4 -n4 -r1 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "lrun", "-N4 -n8 cat", "n1", "n2",
          1, "--exclude_hosts=n2 -N4 -n8 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "flux", "run -N4 cat", "n1",
          "n[2-3]", 1, "run --requires=-host:n[2-3] -N4 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "flux", "mini run -N4 cat", "n1",
          "n2", 1, "mini run --requires=-host:n2 -N4 cat", NULL },
        { "launchers", "SCR_NODELIST=n[1-5]", NULL, "flux", "-N4 cat", "n1", "", 1,
          "run -N4 cat", NULL },
        { "launchers", "SCR_NODELIST=nid[00010-00012]", NULL, "aprun", "-n 8 cat",
          "nid00010,nid00012", "nid00011", 2, "-L 10,12 -n 8 cat", NULL },
        { "launchers", "SCR_NODELIST=nid[00010-00012]", NULL, "aprun", "-n 8 cat",
          "nid00010", "", 2, "-n 8 cat", NULL },
    };
    CHECK(rows);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct line rows[] = {
        { "launchers", NULL, NULL, "srun", "-x n1 cat", "n1", "", 1,
          "option -x of srun conflicts", NULL },
        { "launchers", NULL, NULL, "srun", "--nodelist=n1 cat", "n1", "", 1,
          "option --nodelist=n1 of srun conflicts", NULL },
        { "launchers", NULL, NULL, "aprun", "-L 3 cat", "n1", "", 1,
          "option -L of aprun conflicts", NULL },
        { "launchers", NULL, NULL, "flux", "run --requires=a cat", "n1", "n2", 1,
          "option --requires=a of flux conflicts", NULL },
        { "openmpi", NULL, NULL, "mpirun", "-H n1 --hostfile x cat", "n1", "", 1,
          "both a list of hosts and a host file", NULL },
        { "openmpi", NULL, NULL, "mpirun", "-H n2:4,n3 cat", "n1", "n2", 1,
          "none of the hosts given to mpirun can be used (n2:4,n3)", NULL },
        { "openmpi", NULL, NULL, "mpirun",
          "--hostfile " TEST_RM_FIXTURES "/pbs/nodefile cat", "n1", "", 1,
          "none of the hosts given to mpirun can be used (", NULL },
        { "mpich", NULL, NULL, "mpirun", "-hosts n2 cat", "n1", "n2", 1,
          "none of the hosts given to mpirun can be used (n2)", NULL },
        { "openmpi", NULL, NULL, "mpirun", "--hostfile /no/such cat", "n1", "", 1,
          "/no/such", NULL },
        { "openmpi", NULL, NULL, "mpirun", "-np 4", "n1", "", 1,
          "no program given to mpirun", NULL },
        { "openmpi", NULL, NULL, "mpirun", "-np", "n1", "", 1,
          "option -np of mpirun needs a value", NULL },
        { "other", NULL, NULL, "mpirun", "-np 4 cat", "n1", "", 1,
          "launcher mpirun: neither Open MPI nor MPICH", NULL },
        { "launchers", NULL, NULL, "srun", "./no-such", "n1", "", 1,
          "program ./no-such: no such executable file", NULL },
        { "launchers", NULL, NULL, "qrsh", "cat", "n1", "", 1,
          "launcher qrsh is not known, only srun, mpirun, jsrun, lrun, flux, aprun",
          NULL },
        { "other", NULL, NULL, "aprun", "cat", "n1", "", 1,
          "launcher: aprun: no such program in PATH", NULL },
        { "other", NULL, NULL, "/no/such/srun", "cat", "n1", "", 1,
          "/no/such/srun: no such program", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[16], env[16];
        struct scr_err err = SCR_ERR_INIT;
        assert_int_not_equal(
            try_line(&rows[i], line, sizeof line, env, sizeof env, &err), SCR_OK);
        assert_contains(err.text, rows[i].want);
    }
}

static void options_about_nodes(void **state)
{
    (void)state;
    struct test_rm m;
    struct scr_launcher l;
    struct scr_hostlist nodes = SCR_HOSTLIST_INIT;
    static const struct {
        const char *args;
        size_t n;
    } rows[] = { { "-N4 -n8 ./a -N 9", 4 }, { "--nodes=2-6 a", 2 },
                 { "--nodes 3 a", 3 },      { "-n 4 a", 0 },
                 { "-N x a", 0 },           { "-J -N7 -N2 a", 2 } };
    test_rm_open(&m, "launchers", NULL, NULL, NULL);
    assert_int_equal(scr_launcher_open(&m.rm, "srun", &l, &m.t.err), SCR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = strdup(rows[i].args);
        assert_int_equal(scr_launch_asks_nodes(&l, words(text)), rows[i].n);
        free(text);
    }
    scr_launcher_close(&l);
    test_rm_close(&m);

    char text[] = "-n 4 -host a1:2,a3,a1 cat";
    test_rm_open(&m, "openmpi", NULL, NULL, NULL);
    assert_int_equal(scr_launcher_open(&m.rm, "mpirun", &l, &m.t.err), SCR_OK);
    assert_ptr_equal(l.ops, &scr_launch_openmpi);
    assert_int_equal(scr_launch_names_nodes(&m.rm, &l, words(text), &nodes, &m.t.err),
                     SCR_OK);
    assert_int_equal(nodes.n, 2);
    assert_string_equal(nodes.name[1], "a3");
    scr_hostlist_free(&nodes);
    scr_launcher_close(&l);
    test_rm_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(srun),
        cmocka_unit_test(openmpi),
        cmocka_unit_test(openmpi_hostfile),
        cmocka_unit_test(mpich),
        cmocka_unit_test(others),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(options_about_nodes),
    };
    /* Launchers get the SCR variables that are set, which ctest does. */
    if (unsetenv("SCR_LOG_TIME") != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
