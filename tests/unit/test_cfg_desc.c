/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups, stores and redundancy descriptors, good and bad. */
#include "helper_cfg.h"

#include <limits.h>

#include "cfg/desc.h"

/* Builds from the text of a user file and these environment variables. */
static int build_env(struct test_cfg *t, const char *text, char *variable,
                     struct scr_descs *d)
{
    struct scr_params prm;
    test_cfg_file("prefix/.scrconf", text);
    test_cfg_open(t, variable, NULL);
    assert_int_equal(test_cfg_load(t), SCR_OK);
    assert_int_equal(scr_cfg_params(t->cfg, &prm, &t->err), SCR_OK);
    return scr_descs_build(t->cfg, &prm, d, &t->err);
}

static int build(struct test_cfg *t, const char *text, struct scr_descs *d)
{
    return build_env(t, text, NULL, d);
}

static void finish(struct test_cfg *t, struct scr_descs *d)
{
    scr_descs_fini(d);
    test_cfg_close(t);
    test_cfg_file("prefix/.scrconf", "");
}

/* --- without lines --- */

static void test_implied_descriptor(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, "", &d), SCR_OK);
    assert_int_equal(d.nreds, 1);
    assert_int_equal(d.red[0].scheme, SCR_SCHEME_XOR);
    assert_int_equal(d.red[0].interval, 1);
    assert_int_equal(d.red[0].set_size, 8);
    assert_int_equal(d.red[0].set_failures, 2);
    assert_int_equal(d.red[0].count, -1);
    assert_string_equal(d.red[0].group, "NODE");
    assert_string_equal(d.red[0].origin, "SCR_COPY_TYPE, default");
    assert_int_equal(d.nstores, 1);
    assert_string_equal(d.store[0].path, "/tmp");
    assert_string_equal(d.store[0].group, "NODE");
    assert_int_equal(d.store[0].count, -1);
    assert_int_equal(d.store[0].enabled && d.store[0].mkdir && d.store[0].flush, 1);
    assert_int_equal(d.cntl_store, 0);
    finish(&t, &d);
}

static void test_implied_descriptor_follows_the_parameters(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(
        build(&t,
              "SCR_COPY_TYPE=rs\nSCR_CACHE_BASE=/ssd//\nSCR_CNTL_BASE=/ram\n"
              "SCR_CACHE_SIZE=4\nSCR_SET_SIZE=5\nSCR_SET_FAILURES=3\n"
              "SCR_GROUP=world\nSCR_CACHE_BYPASS=1\n",
              &d),
        SCR_OK);
    assert_int_equal(d.red[0].scheme, SCR_SCHEME_RS);
    assert_int_equal(d.red[0].set_size, 5);
    assert_int_equal(d.red[0].set_failures, 3);
    assert_int_equal(d.red[0].bypass, 1);
    assert_string_equal(d.red[0].group, "WORLD");
    assert_int_equal(d.nstores, 2);
    assert_string_equal(d.store[d.red[0].store].path, "/ssd");
    assert_int_equal(d.store[d.red[0].store].count, 4);
    assert_string_equal(d.store[d.cntl_store].path, "/ram");
    finish(&t, &d);
}

/* SCR_SET_FAILURES is 2 by default, for RS; copies of PARTNER are 1 unless asked for.
 */
static void test_copies_of_partner(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, "SCR_COPY_TYPE=PARTNER\n", &d), SCR_OK);
    assert_int_equal(d.red[0].set_failures, 1);
    finish(&t, &d);
    assert_int_equal(build(&t, "SCR_COPY_TYPE=PARTNER\nSCR_SET_FAILURES=3\n", &d),
                     SCR_OK);
    assert_int_equal(d.red[0].set_failures, 3);
    finish(&t, &d);
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=PARTNER\n"
                           "CKPT=1 INTERVAL=2 TYPE=PARTNER SET_FAILURES=2\n",
                           &d),
                     SCR_OK);
    assert_int_equal(d.red[0].set_failures, 1);
    assert_int_equal(d.red[1].set_failures, 2);
    finish(&t, &d);
}

static void test_lines_are_ignored_unless_asked_for(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, "CKPT=0 TYPE=RS\nCKPT=7 GROUP=NONE\n", &d), SCR_OK);
    assert_int_equal(d.nreds, 1);
    assert_int_equal(d.red[0].scheme, SCR_SCHEME_XOR);
    finish(&t, &d);
}

/* The job finds out what its sets can have: only numbers that no set can have are
 * errors.
 */
static void test_limits_of_sets(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nSCR_SET_SIZE=300\n"
                           "CKPT=0 TYPE=RS SET_SIZE=1 SET_FAILURES=1\n"
                           "CKPT=1 INTERVAL=2 TYPE=RS SET_SIZE=2 SET_FAILURES=254\n"
                           "CKPT=2 INTERVAL=4 TYPE=PARTNER SET_FAILURES=254\n"
                           "CKPT=3 INTERVAL=8 SET_SIZE=2147483647\n",
                           &d),
                     SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    assert_int_equal(d.red[0].set_size, 1);
    assert_int_equal(d.red[0].set_failures, 1);
    assert_int_equal(d.red[1].set_size, 2);
    assert_int_equal(d.red[1].set_failures, 254);
    assert_int_equal(d.red[2].set_size, 300);
    assert_int_equal(d.red[2].set_failures, 254);
    assert_int_equal(d.red[3].set_size, INT_MAX);
    finish(&t, &d);
}

/* --- with lines --- */

static const char manual[] =
    "GROUPS=host1  POWER=psu1  SWITCH=0\n"
    "GROUPS=host2  POWER=psu1  SWITCH=1\n"
    "GROUPS=host3  POWER=psu2  SWITCH=0\n"
    "STORE=/tmp          GROUP=NODE   COUNT=1\n"
    "STORE=/ssd          GROUP=NODE   COUNT=3\n"
    "STORE=/dev/persist  GROUP=NODE   COUNT=1  ENABLED=1  MKDIR=0\n"
    "STORE=/p/lscratcha  GROUP=WORLD FLUSH=0\n"
    "SCR_COPY_TYPE=FILE\n"
    "CKPT=0 INTERVAL=1 GROUP=NODE   STORE=/tmp TYPE=XOR     SET_SIZE=16\n"
    "CKPT=1 INTERVAL=4 GROUP=NODE   STORE=/ssd TYPE=XOR     SET_SIZE=9  OUTPUT=1\n"
    "CKPT=2 INTERVAL=8 GROUP=switch STORE=/ssd/ TYPE=PARTNER COUNT=2 BYPASS=1\n";

static void test_example_of_the_manual(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, manual, &d), SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    assert_int_equal(d.nstores, 4);
    assert_int_equal(d.store[1].count, 3);
    assert_int_equal(d.store[2].mkdir, 0);
    assert_int_equal(d.store[3].flush, 0);
    assert_int_equal(d.store[3].count, -1);
    assert_string_equal(d.store[3].group, "WORLD");
    assert_string_equal(d.store[d.cntl_store].path, "/tmp");
    assert_int_equal(d.nreds, 3);
    assert_int_equal(d.red[0].set_size, 16);
    assert_int_equal(d.red[1].output, 1);
    assert_int_equal(d.red[2].scheme, SCR_SCHEME_PARTNER);
    assert_int_equal(d.red[2].store, 1);
    assert_int_equal(d.red[2].count, 2);
    assert_int_equal(d.red[2].bypass, 1);
    assert_string_equal(d.red[2].group, "SWITCH");
    assert_contains(d.red[2].origin, ".scrconf:11");
    finish(&t, &d);
}

static void refuse(const char *text, const char *why)
{
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, text, &d), SCR_E_CONFIG);
    assert_contains(t.err.text, why);
    finish(&t, &d);
}

static void test_stores_in_use_are_refused_what_they_cannot_be(void **state)
{
    (void)state;
    refuse("STORE=/tmp MKDIR=0\n", ".scrconf:1): MKDIR=0");
    refuse("STORE=/tmp FLUSH=0\n", ".scrconf:1): FLUSH=0");
    refuse("STORE=/tmp FLUSH=PTHREAD\n", "set that");
    refuse("SCR_COPY_TYPE=FILE\nSTORE=/ssd MKDIR=0\nCKPT=0 STORE=/ssd\n", "/ssd");
    refuse("SCR_COPY_TYPE=FILE\nSTORE=/ssd FLUSH=0\nCKPT=0 STORE=/ssd\n", "/ssd");
    refuse("SCR_CNTL_BASE=/ctl\nSTORE=/ctl MKDIR=0\n", "/ctl");
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(
        build(&t, "SCR_FLUSH_TYPE=PTHREAD\nSTORE=/tmp FLUSH=PTHREAD MKDIR=1\n", &d),
        SCR_OK);
    finish(&t, &d);
}

static void test_what_may_not_be_kept_bypasses_the_cache(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, "SCR_CACHE_SIZE=0\n", &d), SCR_OK);
    assert_int_equal(d.red[0].bypass, 1);
    finish(&t, &d);
    assert_int_equal(build(&t, "SCR_CACHE_SIZE=1\n", &d), SCR_OK);
    assert_int_equal(d.red[0].bypass, 0);
    finish(&t, &d);
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nSTORE=/ssd COUNT=0\n"
                           "CKPT=0\nCKPT=1 INTERVAL=2 COUNT=0\n"
                           "CKPT=2 INTERVAL=4 STORE=/ssd\n",
                           &d),
                     SCR_OK);
    assert_int_equal(d.red[0].bypass, 0);
    assert_int_equal(d.red[1].bypass, 1);
    assert_int_equal(d.red[2].bypass, 1);
    finish(&t, &d);
}

static const char *value_of(const struct scr_descs *d, const char *group,
                            const char *host)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *value = "";
    assert_int_equal(scr_descs_group_value(d, group, host, &value, &err), SCR_OK);
    return value;
}

static void test_values_of_groups(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, manual, &d), SCR_OK);
    assert_string_equal(value_of(&d, "NODE", "host9"), "host9");
    assert_string_equal(value_of(&d, "WORLD", "host9"), "WORLD");
    assert_string_equal(value_of(&d, "POWER", "host2"), "psu1");
    assert_string_equal(value_of(&d, "power", "host3"), "psu2");
    assert_null(value_of(&d, "POWER", "host9"));
    assert_null(value_of(&d, "NONE", "host1"));
    finish(&t, &d);
}

static void test_groups_take_lists_of_hosts(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    struct scr_params prm;
    test_cfg_file("prefix/.scrconf", "GROUPS=n[1-4],login SWITCH=A\n"
                                     "GROUPS=n3 SWITCH=C\n"
                                     "GROUPS=n[5-8] SWITCH=B\nGROUPS=n7 RACK=r\n");
    test_cfg_open(&t, NULL);
    const char *site = test_cfg_file("site.conf", "GROUPS=n[1-9] SWITCH=old POWER=p\n");
    assert_int_equal(scr_cfg_set_system_file(t.cfg, site), SCR_OK);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
    assert_int_equal(scr_descs_build(t.cfg, &prm, &d, &t.err), SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    assert_string_equal(value_of(&d, "SWITCH", "n1"), "A");
    assert_string_equal(value_of(&d, "SWITCH", "login"), "A");
    assert_string_equal(value_of(&d, "SWITCH", "n3"), "C");
    assert_string_equal(value_of(&d, "SWITCH", "n7"), "B");
    assert_string_equal(value_of(&d, "RACK", "n7"), "r");
    assert_string_equal(value_of(&d, "POWER", "n7"), "p");
    assert_string_equal(value_of(&d, "SWITCH", "n9"), "old");
    assert_null(value_of(&d, "SWITCH", "n10"));
    assert_null(value_of(&d, "SWITCH", "n[1-4],login"));
    finish(&t, &d);
    refuse("GROUPS=n[3-1] SWITCH=A\n", ".scrconf:1): ");
    refuse("SCR_FLUSH=1\nGROUPS=n[1-3 SWITCH=A\n", "GROUPS (");
    refuse("GROUPS=n1,,n2 SWITCH=A\n", ".scrconf:1): ");
}

static void test_selection(void **state)
{
    (void)state;
    static const struct {
        int id, output, index;
    } rows[] = { { 1, 0, 0 },  { 3, 0, 0 }, { 4, 0, 1 }, { 8, 0, 2 }, { 12, 0, 1 },
                 { 24, 0, 2 }, { 1, 1, 1 }, { 8, 1, 1 }, { 0, 1, 1 }, { 0, 0, 0 } };
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, manual, &d), SCR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(scr_descs_select(&d, rows[i].id, rows[i].output)->index,
                         rows[i].index);
    finish(&t, &d);
}

static void test_selection_without_output_descriptor(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=2\nCKPT=1\n"
                           "CKPT=2 INTERVAL=4 ENABLED=0 TYPE=WHATEVER OUTPUT=1\n",
                           &d),
                     SCR_OK);
    assert_int_equal(d.red[2].enabled, 0);
    assert_int_equal(scr_descs_select(&d, 0, 1)->index, 1);
    assert_int_equal(scr_descs_select(&d, 4, 1)->index, 0);
    assert_int_equal(scr_descs_select(&d, 3, 0)->index, 1);
    finish(&t, &d);
}

static void test_children_default_to_parameters(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nSCR_SET_SIZE=3\nSCR_GROUP=WORLD\n"
                           "SCR_CACHE_BASE=/dev/shm\nSCR_SET_FAILURES=4\nCKPT=0\n",
                           &d),
                     SCR_OK);
    assert_int_equal(d.red[0].set_size, 3);
    assert_int_equal(d.red[0].set_failures, 4);
    assert_int_equal(d.red[0].scheme, SCR_SCHEME_XOR);
    assert_string_equal(d.red[0].group, "WORLD");
    assert_string_equal(d.store[d.red[0].store].path, "/dev/shm");
    finish(&t, &d);
}

/* The bases need no STORE line, also when only a CKPT line names them. */
static void test_bases_are_stores(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t,
                           "SCR_COPY_TYPE=FILE\nSCR_CACHE_BASE=/c1\nSCR_CNTL_BASE=/c2\n"
                           "CKPT=0 STORE=/c2\nCKPT=1 INTERVAL=2 STORE=/c1/../c1\n",
                           &d),
                     SCR_OK);
    assert_string_equal(d.store[d.red[0].store].path, "/c2");
    assert_string_equal(d.store[d.red[1].store].path, "/c1");
    finish(&t, &d);
}

/* --- bad lines --- */

static void refused(const char *text, const char *where, const char *why)
{
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build(&t, text, &d), SCR_E_CONFIG);
    assert_contains(t.err.text, where);
    assert_contains(t.err.text, why);
    assert_int_equal(d.nreds + d.nstores, 0);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_unknown_names_point_at_the_line(void **state)
{
    (void)state;
    refused("SCR_COPY_TYPE=FILE\nCKPT=0\nCKPT=1 INTERVAL=2 GROUP=RACK\n", ".scrconf:3)",
            "CKPT=1 GROUP=RACK (");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 STORE=/nvme\n", ".scrconf:2)",
            "no such store; declare it with a line STORE=/nvme");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=RAID6\n", ".scrconf:2)",
            "CKPT=0 TYPE=RAID6 (");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=FILE\n", ".scrconf:2)", "expected one of");
    refused("STORE=/ssd GROUP=RACK\n", ".scrconf:1)", "STORE=/ssd GROUP=RACK (");
    refused("SCR_GROUP=RACK\n", ".scrconf:1)", "SCR_GROUP=RACK (");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=XOR\nCKPT=0 GROUP=RACK\n", ".scrconf:3)",
            "no such group");
}

static void test_bad_values_point_at_the_line(void **state)
{
    (void)state;
    refused("STORE=ssd\n", ".scrconf:1)", "expected an absolute path");
    refused("SCR_CACHE_BASE=tmp\n", ".scrconf:1)", "expected an absolute path");
    refused("STORE=/ssd COUNT=-2\n", ".scrconf:1)", "expected an integer from -1");
    refused("STORE=/tmp ENABLED=0\nSCR_CACHE_BASE=/ssd\n", ".scrconf:1)",
            "SCR_CNTL_BASE needs it");
    refused("STORE=/ssd ENABLED=0\nSCR_COPY_TYPE=FILE\nCKPT=0 STORE=/ssd\n",
            ".scrconf:3)", "the store is disabled");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 SET_SIZE=0\n", ".scrconf:2)",
            "CKPT=0 SET_SIZE=0");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=0\n", ".scrconf:2)", "INTERVAL=0");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 SET_FAILURES=0\n", ".scrconf:2)",
            "SET_FAILURES=0");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=RS SET_FAILURES=255\n", ".scrconf:2)",
            "expected an integer from 1 to 254");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 SET_SIZE=2147483648\n", ".scrconf:2)",
            "SET_SIZE=2147483648");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 SET_SIZE=8k\n", ".scrconf:2)", "SET_SIZE=8k");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 OUTPUT=maybe\n", ".scrconf:2)", "0 or 1");
}

static void test_numbering(void **state)
{
    (void)state;
    refused("SCR_COPY_TYPE=FILE\nCKPT=0\nCKPT=2 INTERVAL=2\n", ".scrconf:3)",
            "without gaps");
    refused("SCR_COPY_TYPE=FILE\nCKPT=1\n", ".scrconf:2)", "without gaps");
    refused("SCR_COPY_TYPE=FILE\nCKPT=first\n", ".scrconf:2)", "expected a number");
    refused("SCR_COPY_TYPE=FILE\nCKPT=-1\n", ".scrconf:2)", "expected a number");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0\nCKPT=00 INTERVAL=2\n", ".scrconf:3)",
            "is taken by");
    refused("SCR_COPY_TYPE=FILE\n", ".scrconf:1)", "there are no CKPT lines");
}

static void test_one_interval_of_1_and_one_output(void **state)
{
    (void)state;
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=2\n", ".scrconf:2)", "INTERVAL=1");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 ENABLED=0\nCKPT=1 INTERVAL=2\n", ".scrconf:2)",
            "INTERVAL=1");
    refused("SCR_COPY_TYPE=FILE\nCKPT=0 OUTPUT=1\nCKPT=1 INTERVAL=2 OUTPUT=1\n",
            ".scrconf:3)", "OUTPUT=1 is already at CKPT=0");
}

static void test_bad_group_from_the_environment(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_descs d;
    assert_int_equal(build_env(&t, "", "SCR_GROUP=RACK", &d), SCR_E_CONFIG);
    assert_contains(t.err.text, "SCR_GROUP=RACK (environment): no such group");
    test_cfg_close(&t);
}

/* --- schemes --- */

static void test_names_of_schemes(void **state)
{
    (void)state;
    enum scr_scheme s;
    assert_int_equal(scr_scheme_parse("xor", &s), 1);
    assert_int_equal(s, SCR_SCHEME_XOR);
    assert_int_equal(scr_scheme_parse("LOCAL", &s), 1);
    assert_int_equal(s, SCR_SCHEME_SINGLE);
    assert_int_equal(scr_scheme_parse("FILE", &s), 0);
    assert_int_equal(scr_scheme_parse(NULL, &s), 0);
    for (int i = SCR_SCHEME_SINGLE; i <= SCR_SCHEME_RS; i++) {
        assert_int_equal(scr_scheme_parse(scr_scheme_name((enum scr_scheme)i), &s), 1);
        assert_int_equal((int)s, i);
    }
    assert_string_equal(scr_scheme_suffix(SCR_SCHEME_PARTNER), "partner");
    assert_string_equal(scr_scheme_suffix(SCR_SCHEME_SINGLE), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_implied_descriptor),
        cmocka_unit_test(test_implied_descriptor_follows_the_parameters),
        cmocka_unit_test(test_copies_of_partner),
        cmocka_unit_test(test_lines_are_ignored_unless_asked_for),
        cmocka_unit_test(test_limits_of_sets),
        cmocka_unit_test(test_example_of_the_manual),
        cmocka_unit_test(test_stores_in_use_are_refused_what_they_cannot_be),
        cmocka_unit_test(test_what_may_not_be_kept_bypasses_the_cache),
        cmocka_unit_test(test_values_of_groups),
        cmocka_unit_test(test_groups_take_lists_of_hosts),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_selection_without_output_descriptor),
        cmocka_unit_test(test_children_default_to_parameters),
        cmocka_unit_test(test_bases_are_stores),
        cmocka_unit_test(test_unknown_names_point_at_the_line),
        cmocka_unit_test(test_bad_values_point_at_the_line),
        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_one_interval_of_1_and_one_output),
        cmocka_unit_test(test_bad_group_from_the_environment),
        cmocka_unit_test(test_names_of_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
