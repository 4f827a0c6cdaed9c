/* SPDX-License-Identifier: BSD-3-Clause */
/* Where values come from: precedence, origins, files, derived defaults, and the
 * broadcast. */

#include "cfg/source.h"
#include "helper_cfg.h"
#include "helper_pack.h"
#include "helper_sources.h"
#include <pwd.h>
#include <unistd.h>

static void assert_value(struct test_cfg *t, const char *name, const char *value,
                         const char *origin)
{
    assert_string_equal(scr_cfg_get(t->cfg, name), value);
    assert_string_equal(scr_cfg_origin(t->cfg, name), origin);
}

/* --- precedence --- */

/* With all five sources set, taking them away one by one uncovers the next. */
static void test_first_found_wins(void **state)
{
    (void)state;
    struct test_cfg t;
    const char *sys = test_cfg_file("system.conf", "# site\nSCR_FLUSH=14\n");
    const char *user = test_cfg_file("prefix/.scrconf", "SCR_FLUSH=12\n");
    char user_origin[1200], sys_origin[1200];
    (void)snprintf(user_origin, sizeof user_origin, "%s:1", user);
    (void)snprintf(sys_origin, sizeof sys_origin, "%s:2", sys);
    for (int missing = 0; missing <= SCR_CFG_DEFAULT; missing++) {
        test_cfg_open(&t, missing > SCR_CFG_ENV ? "A=1" : "SCR_FLUSH=11", NULL);
        if (missing > SCR_CFG_USER)
            test_cfg_file("prefix/.scrconf", "");
        if (missing <= SCR_CFG_APP)
            app(&t, "SCR_FLUSH=13");
        if (missing <= SCR_CFG_SYSTEM)
            scr_cfg_set_system_file(t.cfg, sys);
        assert_int_equal(test_cfg_load(&t), SCR_OK);
        const char *const origins[] = { "environment", user_origin, "SCR_Config",
                                        sys_origin, "default" };
        const char *const values[] = { "11", "12", "13", "14", "10" };
        assert_value(&t, "SCR_FLUSH", values[missing], origins[missing]);
        test_cfg_close(&t);
    }
}

static void test_every_source_can_be_asked(void **state)
{
    (void)state;
    struct test_cfg t;
    const char *origin;
    test_cfg_file("prefix/.scrconf", "\nSCR_DEBUG=2\n");
    test_cfg_open(&t, "SCR_DEBUG=1", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get_from(t.cfg, "SCR_DEBUG", SCR_CFG_ENV, &origin),
                        "1");
    assert_string_equal(origin, "environment");
    assert_string_equal(scr_cfg_get_from(t.cfg, "scr_debug", SCR_CFG_USER, &origin),
                        "2");
    assert_contains(origin, "/.scrconf:2");
    assert_null(scr_cfg_get_from(t.cfg, "SCR_DEBUG", SCR_CFG_APP, &origin));
    assert_null(origin);
    assert_string_equal(scr_cfg_get_from(t.cfg, "SCR_DEBUG", SCR_CFG_DEFAULT, &origin),
                        "0");
    assert_null(scr_cfg_get(t.cfg, "SCR_NO_SUCH"));
    assert_null(scr_cfg_origin(t.cfg, "SCR_CURRENT"));
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_conf_file_replaces_scrconf(void **state)
{
    (void)state;
    struct test_cfg t;
    char variable[1200];
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=1\n");
    (void)snprintf(variable, sizeof variable, "SCR_CONF_FILE=%s",
                   test_cfg_file("mine.conf", "SCR_DEBUG=1\n"));
    test_cfg_open(&t, variable, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_DEBUG"), "1");
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "10");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

/* A change of prefix by the application leads to another user file. */
static void test_load_again_follows_the_prefix(void **state)
{
    (void)state;
    struct test_cfg t;
    char setting[1200];
    char *envp[] = { NULL };
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=7\n");
    test_cfg_open(&t, NULL);
    scr_cfg_free(t.cfg);
    t.cfg = scr_cfg_new();
    assert_int_equal(scr_cfg_set_environ(t.cfg, envp, NULL), SCR_OK);
    scr_cfg_set_system_file(t.cfg, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "10");
    (void)snprintf(setting, sizeof setting, "SCR_PREFIX=%s", test_cfg_prefix());
    app(&t, setting);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_FLUSH"), "7");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_empty_counts_as_not_set(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=\nSCR_DEBUG=1\n");
    test_cfg_open(&t, "SCR_DEBUG=", "USER=", "SLURM_JOBID=", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_value(&t, "SCR_FLUSH", "10", "default");
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_DEBUG"), "1");
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_JOB_ID"), "defjobid");
    assert_true(strlen(scr_cfg_get(t.cfg, "SCR_USER_NAME")) > 0);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_an_option_wins_over_everything(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, "SCR_FLUSH=1", NULL);
    assert_int_equal(scr_cfg_override(t.cfg, "SCR_FLUSH", "2", "option --flush", NULL),
                     SCR_OK);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_value(&t, "SCR_FLUSH", "2", "option --flush");
    test_cfg_close(&t);
}

static void test_alias(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params prm;
    test_cfg_open(&t, "SCR_HALT_EXIT=0", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_string_equal(test_cfg_log(&t), "");
    assert_int_equal(scr_cfg_params(t.cfg, &prm, NULL), SCR_OK);
    assert_int_equal(prm.halt_enabled, 0);
    assert_value(&t, "SCR_HALT_EXIT", "0", "environment, as SCR_HALT_EXIT");
    test_cfg_close(&t);
    test_cfg_open(&t, "SCR_HALT_ENABLED=1", "SCR_HALT_EXIT=0", NULL);
    assert_value(&t, "SCR_HALT_ENABLED", "1", "environment");
    test_cfg_close(&t);
}

/* --- typed values --- */

static void test_params_are_typed(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params prm;
    test_cfg_open(&t, "SCR_MPI_BUF_SIZE=1.5m", "SCR_HALT_SECONDS=30m",
                  "SCR_CHECKPOINT_OVERHEAD=2.5", "SCR_COPY_TYPE=rs", "SCR_FETCH=0",
                  "SCR_RUNS=-1", NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
    assert_int_equal(prm.mpi_buf_size, 1572864);
    assert_true(prm.halt_seconds == 1800);
    assert_true(prm.checkpoint_overhead == 2.5);
    assert_string_equal(prm.copy_type, "rs");
    assert_int_equal(prm.copy_type_id, 3);
    assert_int_equal(prm.fetch, 0);
    assert_int_equal(prm.runs, -1);
    assert_int_equal(prm.file_buf_size, 131072);
    assert_true(prm.mtbf == 1825.0 * 86400);
    assert_null(prm.current);
    test_cfg_close(&t);
}

static void test_defaults_of_the_manual(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params prm;
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
    assert_int_equal(prm.enable, 1);
    assert_int_equal(prm.flush, 10);
    assert_int_equal(prm.cache_size, -1);
    assert_int_equal(prm.set_size, 8);
    assert_int_equal(prm.set_failures, 2);
    assert_int_equal(prm.mpi_buf_size, 262144);
    assert_int_equal(prm.crc_on_copy, 1);
    assert_int_equal(prm.crc_on_delete, 0);
    assert_int_equal(prm.fetch_width, 256);
    assert_int_equal(prm.runs, 1);
    assert_string_equal(prm.group, "NODE");
    assert_string_equal(prm.copy_type, "XOR");
    assert_string_equal(prm.prefix, test_cfg_prefix());
    test_cfg_close(&t);
}

static void refused(const char *setting, const char *message)
{
    struct test_cfg t;
    struct scr_params prm;
    test_cfg_open(&t, setting, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_E_CONFIG);
    assert_string_equal(t.err.text, message);
    test_cfg_close(&t);
}

static void test_bad_values_name_origin_value_and_range(void **state)
{
    (void)state;
    refused("SCR_SET_SIZE=abc", "SCR_SET_SIZE=abc (environment): expected an integer "
                                "from 1 to 2147483647");
    refused("SCR_SET_SIZE=0",
            "SCR_SET_SIZE=0 (environment): expected an integer from 1 "
            "to 2147483647");
    refused("SCR_MPI_BUF_SIZE=0",
            "SCR_MPI_BUF_SIZE=0 (environment): expected a size in "
            "bytes (or k, m, g) from 1 to 1073741824");
    refused("SCR_MPI_BUF_SIZE=4g",
            "SCR_MPI_BUF_SIZE=4g (environment): expected a size in "
            "bytes (or k, m, g) from 1 to 1073741824");
    refused("SCR_CACHE_SIZE=-2", "SCR_CACHE_SIZE=-2 (environment): expected an integer "
                                 "from -1 to 2147483647");
    refused("SCR_COPY_TYPE=RAID", "SCR_COPY_TYPE=RAID (environment): expected one of "
                                  "SINGLE, PARTNER, XOR, RS, FILE, LOCAL");
    refused("SCR_END_TIME=2h",
            "SCR_END_TIME=2h (environment): expected a point in "
            "time in seconds since 1970, as of date +%s, or 0; not a "
            "duration");
    refused("SCR_END_TIME=999999999",
            "SCR_END_TIME=999999999 (environment): expected a point in time in seconds "
            "since 1970, as of date +%s, or 0; not a duration");
    refused("SCR_HALT_EXIT=2", "SCR_HALT_ENABLED=2 (environment, as SCR_HALT_EXIT): "
                               "expected 0 or 1");
    refused("SCR_JOB_ID=../x", "SCR_JOB_ID=../x (environment): expected a name without "
                               "'/'");
}

static void test_an_end_is_a_point_in_time(void **state)
{
    static const char *const ends[] = { "SCR_END_TIME=0", "SCR_END_TIME=1000000000" };
    static const double seconds[] = { 0, 1e9 };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct test_cfg t;
        struct scr_params prm;
        test_cfg_open(&t, ends[i], NULL);
        assert_int_equal(test_cfg_load(&t), SCR_OK);
        assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
        assert_true(prm.end_time >= seconds[i] && prm.end_time <= seconds[i]);
        test_cfg_close(&t);
    }
}

static void test_bad_value_in_a_file_names_the_line(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params prm;
    const char *path = test_cfg_file("prefix/.scrconf", "# one\n\nSCR_CACHE_SIZE=-2\n");
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_E_CONFIG);
    assert_contains(t.err.text, "SCR_CACHE_SIZE=-2 (");
    assert_contains(t.err.text, path);
    assert_contains(t.err.text, ":3): expected an integer from -1");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

/* --- derived defaults --- */

static void test_job_id_of_the_scheduler(void **state)
{
    (void)state;
    static char *const variables[] = { "SLURM_JOBID=1", "SLURM_JOB_ID=2", "LSB_JOBID=3",
                                       "PBS_JOBID=4", "FLUX_JOB_ID=5" };
    static const char *const ids[] = { "1", "2", "3", "4", "5" };
    struct test_cfg t;
    for (size_t i = 0; i < 5; i++) {
        test_cfg_open(&t, variables[i], NULL);
        assert_string_equal(scr_cfg_get(t.cfg, "SCR_JOB_ID"), ids[i]);
        assert_contains(scr_cfg_origin(t.cfg, "SCR_JOB_ID"), "default, from $");
        test_cfg_close(&t);
    }
    test_cfg_open(&t, "FLUX_JOB_ID=5", "SLURM_JOBID=1", NULL);
    assert_value(&t, "SCR_JOB_ID", "1", "default, from $SLURM_JOBID");
    test_cfg_close(&t);
    test_cfg_open(&t, "SLURM_JOBID=1", "SCR_JOB_ID=mine", NULL);
    assert_value(&t, "SCR_JOB_ID", "mine", "environment");
    test_cfg_close(&t);
    test_cfg_open(&t, NULL);
    assert_value(&t, "SCR_JOB_ID", "defjobid", "default");
    test_cfg_close(&t);
}

static void test_user_name_with_and_without_USER(void **state)
{
    (void)state;
    struct test_cfg t;
    char uid[32];
    const struct passwd *pw = getpwuid(getuid());
    (void)snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
    test_cfg_open(&t, "USER=somebody", NULL);
    assert_value(&t, "SCR_USER_NAME", "somebody", "default, from $USER");
    test_cfg_close(&t);
    test_cfg_open(&t, NULL);
    assert_string_equal(scr_cfg_get(t.cfg, "SCR_USER_NAME"), pw ? pw->pw_name : uid);
    test_cfg_close(&t);
}

static void in_directory(const char *dir, const char *prefix, const char *expected)
{
    struct test_cfg t;
    struct scr_params prm;
    char variable[1200];
    char *envp[] = { variable, NULL };
    char *cwd = getcwd(NULL, 0);
    (void)snprintf(variable, sizeof variable, "SCR_PREFIX=%s", prefix);
    test_cfg_open(&t, NULL);
    scr_cfg_free(t.cfg);
    assert_int_equal(chdir(dir), 0);
    t.cfg = scr_cfg_new();
    scr_cfg_set_system_file(t.cfg, NULL);
    assert_int_equal(scr_cfg_set_environ(t.cfg, envp, &t.err), SCR_OK);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(chdir(cwd), 0);
    assert_int_equal(scr_cfg_params(t.cfg, &prm, &t.err), SCR_OK);
    assert_string_equal(prm.prefix, expected);
    test_cfg_close(&t);
    free(cwd);
}

static void test_prefix_is_absolute(void **state)
{
    (void)state;
    char *here = realpath(test_cfg_prefix(), NULL);
    in_directory(here, "", here);
    in_directory(here, ".", here);
    in_directory("/", "usr/../usr/", "/usr");
    in_directory(here, "/usr//share/.", "/usr/share");
    free(here);
}

/* --- between ranks --- */

static scr_hash *packed(const struct scr_cfg *cfg)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_cfg_pack(cfg, h, NULL), SCR_OK);
    return h;
}

static void test_pack_gives_the_same_values_elsewhere(void **state)
{
    (void)state;
    struct test_cfg t;
    struct scr_params a, b;
    test_cfg_file("prefix/.scrconf", "SCR_FLUSH=\"3\"\nSTORE=/ssd COUNT=2\nCKPT=0\n");
    test_cfg_open(&t, "SCR_DEBUG=2", "USER=somebody", "SCR_HALT_EXIT=0", NULL);
    app(&t, "SCR_CACHE_BASE=\"/my cache\"");
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    scr_hash *h = packed(t.cfg);
    size_t n;
    void *bytes = test_hash_packed(h, &n);
    scr_hash *received = scr_hash_new();
    assert_int_equal(scr_hash_unpack(bytes, n, received, NULL, NULL), SCR_OK);

    struct scr_cfg *other = scr_cfg_new();
    assert_int_equal(scr_cfg_unpack(other, received, &t.err), SCR_OK);
    scr_hash *again = packed(other);
    size_t m;
    void *more = test_hash_packed(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(bytes, more, n);

    assert_int_equal(scr_cfg_params(t.cfg, &a, NULL), SCR_OK);
    assert_int_equal(scr_cfg_params(other, &b, NULL), SCR_OK);
    assert_string_equal(a.prefix, b.prefix);
    assert_string_equal(b.user_name, "somebody");
    assert_string_equal(b.cache_base, "/my cache");
    assert_int_equal(b.debug, 2);
    assert_string_equal(scr_cfg_origin(other, "SCR_FLUSH"),
                        scr_cfg_origin(t.cfg, "SCR_FLUSH"));
    scr_hash *lines = scr_cfg_lines(other, "STORE");
    assert_string_equal(scr_cfg_line_get(scr_hash_get(lines, "/ssd"), "COUNT", NULL),
                        "2");
    scr_hash_delete(lines);
    scr_cfg_free(other);
    scr_hash_delete(again);
    scr_hash_delete(received);
    scr_hash_delete(h);
    free(bytes);
    free(more);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_unpack_refuses_what_pack_did_not_make(void **state)
{
    (void)state;
    struct scr_cfg *cfg = scr_cfg_new();
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_cfg_unpack(cfg, h, &err), SCR_E_CORRUPT);
    assert_int_equal(scr_cfg_unpack(cfg, NULL, NULL), SCR_E_CORRUPT);
    scr_hash_delete(h);
    scr_cfg_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_found_wins),
        cmocka_unit_test(test_every_source_can_be_asked),
        cmocka_unit_test(test_conf_file_replaces_scrconf),
        cmocka_unit_test(test_load_again_follows_the_prefix),
        cmocka_unit_test(test_empty_counts_as_not_set),
        cmocka_unit_test(test_an_option_wins_over_everything),
        cmocka_unit_test(test_alias),
        cmocka_unit_test(test_params_are_typed),
        cmocka_unit_test(test_defaults_of_the_manual),
        cmocka_unit_test(test_bad_values_name_origin_value_and_range),
        cmocka_unit_test(test_an_end_is_a_point_in_time),
        cmocka_unit_test(test_bad_value_in_a_file_names_the_line),
        cmocka_unit_test(test_job_id_of_the_scheduler),
        cmocka_unit_test(test_user_name_with_and_without_USER),
        cmocka_unit_test(test_prefix_is_absolute),
        cmocka_unit_test(test_pack_gives_the_same_values_elsewhere),
        cmocka_unit_test(test_unpack_refuses_what_pack_did_not_make),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
