/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR_Config strings: set, unset, query, children; and the file they are kept in. */
#include "helper_cfg.h"

static void set(struct test_cfg *t, const char *text)
{
    char *reply;
    assert_int_equal(scr_cfg_app(t->cfg, text, &reply, &t->err), SCR_OK);
    assert_null(reply);
}

/* value NULL: the query has no answer. */
static void query(struct test_cfg *t, const char *text, const char *value)
{
    char *reply;
    assert_int_equal(scr_cfg_app(t->cfg, text, &reply, &t->err), SCR_OK);
    if (value == NULL)
        assert_null(reply);
    else
        assert_string_equal(reply, value);
    free(reply);
}

/* None of several values is chosen. */
static void query_several(struct test_cfg *t, const char *text, const char *why)
{
    char *reply;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_cfg_app(t->cfg, text, &reply, &err), SCR_E_ARG);
    assert_null(reply);
    assert_contains(err.text, why);
}

static void test_set_and_query(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    set(&t, "SCR_FLUSH=5");
    query(&t, "SCR_FLUSH", "5");
    set(&t, "SCR_FLUSH=6");
    query(&t, "scr_flush", "6");
    query(&t, "SCR_GROUP", NULL); /* its default is no setting */
    query(&t, "SCR_USER_NAME", NULL);
    query(&t, "SCR_CURRENT", NULL);
    query(&t, "SCR_NO_SUCH_THING", NULL);
    assert_string_equal(scr_cfg_origin(t.cfg, "SCR_FLUSH"), "SCR_Config");
    test_cfg_close(&t);
}

static void test_all_that_is_set_as_one_text(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    set(&t, "SCR_JOB_NAME=\"a b\"");
    set(&t, "SCR_FLUSH=5");
    set(&t, "CKPT=0 TYPE=XOR INTERVAL=1");
    char *text = scr_cfg_text(t.cfg);
    assert_non_null(text);
    assert_non_null(strstr(text, "SCR_FLUSH=5; "));
    assert_non_null(strstr(text, "SCR_JOB_NAME=\"a b\"; "));
    assert_non_null(strstr(text, "; CKPT=0 "));
    assert_non_null(strstr(text, " TYPE=XOR"));
    assert_null(strstr(text, "SCR_DEBUG"));
    free(text);
    test_cfg_close(&t);
}

static void test_unset_removes_only_the_applications_value(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, "SCR_DEBUG=1", NULL);
    set(&t, "SCR_FLUSH=5");
    set(&t, "SCR_FLUSH=");
    query(&t, "SCR_FLUSH", NULL);
    set(&t, "SCR_DEBUG=2");
    query(&t, "SCR_DEBUG", "1");
    set(&t, "SCR_DEBUG=");
    query(&t, "SCR_DEBUG", "1");
    set(&t, "SCR_CURRENT=ckpt.1");
    query(&t, "SCR_CURRENT", "ckpt.1");
    set(&t, "SCR_CURRENT= ");
    query(&t, "SCR_CURRENT", NULL);
    test_cfg_close(&t);
}

static void test_value_may_contain_an_equals_sign(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, "HOME=/h/me", NULL);
    set(&t, "SCR_CACHE_BASE=\"/my/dir/with/=/sign\"");
    query(&t, "SCR_CACHE_BASE", "/my/dir/with/=/sign");
    set(&t, "SCR_CACHE_BASE=/a=b=c");
    query(&t, "SCR_CACHE_BASE", "/a=b=c");
    set(&t, "SCR_CACHE_BASE=\"$HOME/my runs\"");
    query(&t, "SCR_CACHE_BASE", "/h/me/my runs");
    test_cfg_close(&t);
}

static void test_children(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    set(&t, "CKPT=0 TYPE=XOR SET_SIZE=16");
    query(&t, "CKPT=0 TYPE", "XOR");
    query(&t, "CKPT=0 SET_SIZE", "16");
    query(&t, "CKPT=0 GROUP", NULL);
    query(&t, "CKPT=1 TYPE", NULL);
    set(&t, "CKPT=0 TYPE=RS");
    query(&t, "CKPT=0 TYPE", "RS");
    query(&t, "CKPT=0 SET_SIZE", "16");
    set(&t, "CKPT=0 SET_SIZE=");
    query(&t, "CKPT=0 SET_SIZE", NULL);
    set(&t, "CKPT=1");
    query_several(&t, "CKPT", "CKPT has 2 values");
    set(&t, "CKPT=");
    query(&t, "CKPT", NULL);
    set(&t, "MY_OWN=1 A=2");
    query(&t, "MY_OWN=1 A", "2");
    test_cfg_close(&t);
}

/* The user file wins over the application, child lines of CKPT as a whole. */
static void test_user_lines_replace_those_of_the_application(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_file("prefix/.scrconf", "CKPT=0 TYPE=PARTNER\nSTORE=/ssd COUNT=9\n");
    test_cfg_open(&t, NULL);
    set(&t, "CKPT=0 TYPE=XOR SET_SIZE=16");
    set(&t, "CKPT=1 TYPE=RS");
    set(&t, "STORE=/ssd COUNT=1 GROUP=WORLD");
    set(&t, "STORE=/other COUNT=2");
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    query(&t, "CKPT", "0");
    query(&t, "CKPT=0 TYPE", "PARTNER");
    query(&t, "CKPT=0 SET_SIZE", NULL);
    query_several(&t, "STORE", "STORE has 2 values");
    query(&t, "STORE=/ssd COUNT", "9");
    query(&t, "STORE=/ssd GROUP", NULL);
    query(&t, "STORE=/other COUNT", "2");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scrconf", "");
}

static void test_misuse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *why;
    } bad[] = {
        { NULL, SCR_E_ARG, "NULL" },
        { "", SCR_E_ARG, "nothing to set" },
        { "  # comment", SCR_E_ARG, "nothing to set" },
        { "=5", SCR_E_CONFIG, "SCR_Config(\"=5\"): expected NAME=VALUE" },
        { "SCR_FLUSH=5 SCR_DEBUG=1", SCR_E_CONFIG, "SCR_FLUSH takes one value" },
        { "SCR_CACHE_BASE=/my dir/x", SCR_E_CONFIG, "expected NAME=VALUE" },
        { "SCR_FLUSH SCR_DEBUG", SCR_E_CONFIG, "expected SCR_FLUSH=VALUE" },
        { "CKPT=0 TYPE=XOR SET_SIZE", SCR_E_CONFIG, "expected SET_SIZE=VALUE" },
        { "SCR_CACHE_BASE=$NO_SUCH", SCR_E_CONFIG, "$NO_SUCH is not defined" },
        { "SCR_CACHE_BASE=\"/x", SCR_E_CONFIG, "closing quote" },
    };
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *reply;
        struct scr_err err = SCR_ERR_INIT;
        int rc = scr_cfg_app(t.cfg, bad[i].text, &reply, &err);
        if (bad[i].code == SCR_E_CONFIG && rc == SCR_OK)
            fail_msg("accepted: %s", bad[i].text);
        assert_int_equal(rc, bad[i].code);
        assert_null(reply);
        assert_contains(err.text, bad[i].why);
    }
    char *text = scr_cfg_app_text(t.cfg);
    assert_string_equal(text, "");
    free(text);
    test_cfg_close(&t);
}

static void test_what_is_a_query(void **state)
{
    (void)state;
    assert_int_equal(scr_cfg_app_is_query("SCR_FLUSH"), 1);
    assert_int_equal(scr_cfg_app_is_query(" SCR_FLUSH "), 1);
    assert_int_equal(scr_cfg_app_is_query("CKPT=0 TYPE"), 1);
    assert_int_equal(scr_cfg_app_is_query("CKPT=$X TYPE"), 1);
    assert_int_equal(scr_cfg_app_is_query("SCR_FLUSH=5"), 0);
    assert_int_equal(scr_cfg_app_is_query("SCR_FLUSH="), 0);
    assert_int_equal(scr_cfg_app_is_query("CKPT=0"), 0);
    assert_int_equal(scr_cfg_app_is_query("CKPT=0 TYPE=XOR"), 0);
    assert_int_equal(scr_cfg_app_is_query(""), 0);
    assert_int_equal(scr_cfg_app_is_query("\"x"), 0);
    assert_int_equal(scr_cfg_app_is_query(NULL), 0);
}

/* --- app.conf --- */

/* Settings of the application reach the commands through the file, with any content.
 */
static void test_settings_reach_the_commands(void **state)
{
    (void)state;
    struct test_cfg t, u;
    test_cfg_open(&t, "HOME=/h/me", NULL);
    set(&t, "SCR_FLUSH=5");
    set(&t, "SCR_PREFIX=/somewhere/else");
    set(&t, "SCR_CACHE_BASE=\"$HOME/a \\\"b\\\" \\$c # =\"");
    set(&t, "CKPT=0 TYPE=XOR STORE=\"/my ssd\"");
    set(&t, "CKPT=1");
    char *text = scr_cfg_app_text(t.cfg);
    assert_non_null(text);
    test_cfg_prefix();
    (void)mkdir(test_path("prefix/.scr"), 0700);
    test_cfg_file("prefix/.scr/app.conf", text);

    test_cfg_open(&u, NULL);
    assert_int_equal(test_cfg_load(&u), SCR_OK);
    query(&u, "SCR_FLUSH", NULL);
    assert_int_equal(scr_cfg_load_app_conf(&u.env, u.cfg, &u.err), SCR_OK);
    query(&u, "SCR_FLUSH", "5");
    query(&u, "SCR_CACHE_BASE", "/h/me/a \"b\" $c # =");
    query_several(&u, "CKPT", "CKPT has 2 values");
    query(&u, "CKPT=0 STORE", "/my ssd");
    query(&u, "SCR_PREFIX", test_cfg_prefix());
    assert_contains(scr_cfg_origin(u.cfg, "SCR_FLUSH"), ".scr/app.conf:1");
    assert_string_equal(test_cfg_log(&u), "");
    test_cfg_close(&u);
    free(text);
    test_cfg_close(&t);
    test_cfg_file("prefix/.scr/app.conf", "");
}

/* Its children are unset again: what is left must not become the value of the key. */
static void test_an_empty_line_of_an_unknown_key_is_not_its_value(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    set(&t, "SITE_KEY=3");
    set(&t, "SITE_KEY=2 PART=");
    set(&t, "CKPT=2 TYPE=");
    char *text = scr_cfg_app_text(t.cfg);
    assert_string_equal(text, "SITE_KEY=\"3\"\nCKPT=\"2\"\n");
    free(text);
    test_cfg_close(&t);
}

static void test_user_file_named_by_the_application(void **state)
{
    (void)state;
    struct test_cfg t;
    char text[1200];
    (void)snprintf(text, sizeof text, "SCR_CONF_FILE=\"%s\"\n",
                   test_cfg_file("app_user.conf", "SCR_FLUSH=77\n"));
    test_cfg_prefix();
    (void)mkdir(test_path("prefix/.scr"), 0700);
    test_cfg_file("prefix/.scr/app.conf", text);
    test_cfg_open(&t, NULL);
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    assert_int_equal(scr_cfg_load_app_conf(&t.env, t.cfg, &t.err), SCR_OK);
    query(&t, "SCR_FLUSH", "77");
    test_cfg_close(&t);
    test_cfg_file("prefix/.scr/app.conf", "");
}

static void test_absent_and_damaged_app_conf(void **state)
{
    (void)state;
    struct test_cfg t;
    test_cfg_open(&t, NULL);
    set(&t, "SCR_DEBUG=1");
    assert_int_equal(test_cfg_load(&t), SCR_OK);
    (void)mkdir(test_path("prefix/.scr"), 0700);
    test_cfg_file("prefix/.scr/app.conf", "SCR_FLUSH=3\ngarbage\n");
    assert_int_equal(scr_cfg_load_app_conf(&t.env, t.cfg, &t.err), SCR_E_CONFIG);
    assert_contains(t.err.text, ".scr/app.conf:2: \"garbage\"");
    query(&t, "SCR_DEBUG", "1");
    query(&t, "SCR_FLUSH", NULL);
    test_cfg_file("prefix/.scr/app.conf", "");
    scr_err_clear(&t.err);
    assert_int_equal(scr_cfg_load_app_conf(&t.env, t.cfg, &t.err), SCR_OK);
    query(&t, "SCR_FLUSH", NULL);
    test_cfg_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_query),
        cmocka_unit_test(test_all_that_is_set_as_one_text),
        cmocka_unit_test(test_unset_removes_only_the_applications_value),
        cmocka_unit_test(test_value_may_contain_an_equals_sign),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_user_lines_replace_those_of_the_application),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_what_is_a_query),
        cmocka_unit_test(test_settings_reach_the_commands),
        cmocka_unit_test(test_an_empty_line_of_an_unknown_key_is_not_its_value),
        cmocka_unit_test(test_user_file_named_by_the_application),
        cmocka_unit_test(test_absent_and_damaged_app_conf),
    };
    return cmocka_run_group_tests(tests, NULL, test_cfg_teardown);
}
