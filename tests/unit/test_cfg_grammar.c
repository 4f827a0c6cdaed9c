/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of a configuration line, by examples and by random bytes. */
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cfg/grammar.h"

static const char *lookup(const char *name, void *arg)
{
    (void)arg;
    if (strcmp(name, "HOME") == 0)
        return "/h/me";
    if (strcmp(name, "SPACED") == 0)
        return "two words # and more";
    if (strcmp(name, "LINES") == 0)
        return "one\ntwo";
    return NULL;
}

static int parse(const char *text, struct scr_conf_line *line, struct scr_err *err)
{
    return scr_conf_parse(text, strlen(text), lookup, NULL, line, err);
}

/* --- what is accepted --- */

struct example {
    const char *text, *key, *value; /* value NULL: no '=' */
};

static const struct example examples[] = {
    { "SCR_FLUSH=10", "SCR_FLUSH", "10" },
    { "scr_flush=10", "SCR_FLUSH", "10" },
    { "  SCR_FLUSH = 10  ", "SCR_FLUSH", "10" },
    { "SCR_FLUSH=10 # every tenth", "SCR_FLUSH", "10" },
    { "SCR_FLUSH=10# every tenth", "SCR_FLUSH", "10" },
    { "SCR_FLUSH=10\r", "SCR_FLUSH", "10" },
    { "\tSCR_FLUSH\t=\t10", "SCR_FLUSH", "10" },
    { "SCR_FLUSH=", "SCR_FLUSH", "" },
    { "SCR_FLUSH=\"\"", "SCR_FLUSH", "" },
    { "SCR_FLUSH", "SCR_FLUSH", NULL },
    { "SCR_PREFIX=/a/=/b", "SCR_PREFIX", "/a/=/b" },
    { "SCR_PREFIX=\"/a/=/b c\"", "SCR_PREFIX", "/a/=/b c" },
    { "SCR_PREFIX=/a/\"b c\"/d", "SCR_PREFIX", "/a/b c/d" },
    { "SCR_PREFIX=\"/a # b\"", "SCR_PREFIX", "/a # b" },
    { "SCR_PREFIX=/a\\ b\\#c\\\"d\\\\e", "SCR_PREFIX", "/a b#c\"d\\e" },
    { "SCR_PREFIX=\"/a\\\"b\\$HOME\"", "SCR_PREFIX", "/a\"b$HOME" },
    { "SCR_PREFIX=$HOME/run", "SCR_PREFIX", "/h/me/run" },
    { "SCR_PREFIX=${HOME}run", "SCR_PREFIX", "/h/merun" },
    { "SCR_PREFIX=\"$HOME/my run\"", "SCR_PREFIX", "/h/me/my run" },
    { "SCR_PREFIX=$SPACED", "SCR_PREFIX", "two words # and more" },
    { "SCR_PREFIX=a$", "SCR_PREFIX", "a$" },
    { "SCR_PREFIX=$1/$-", "SCR_PREFIX", "$1/$-" },
    { "SCR_PREFIX=/\xc3\xa4", "SCR_PREFIX", "/\xc3\xa4" },
};

static void test_one_setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct scr_conf_line line;
        struct scr_err err = SCR_ERR_INIT;
        assert_int_equal(parse(examples[i].text, &line, &err), SCR_OK);
        assert_int_equal(line.n, 1);
        assert_string_equal(line.item[0].key, examples[i].key);
        if (examples[i].value == NULL)
            assert_null(line.item[0].value);
        else
            assert_string_equal(line.item[0].value, examples[i].value);
        scr_conf_line_free(&line);
    }
}

static void test_key_with_children(void **state)
{
    (void)state;
    struct scr_conf_line line;
    assert_int_equal(
        parse("ckpt=0 INTERVAL=1 GROUP=NODE STORE=\"/my tmp\" Type=XOR", &line, NULL),
        SCR_OK);
    assert_int_equal(line.n, 5);
    assert_string_equal(line.item[0].key, "CKPT");
    assert_string_equal(line.item[0].value, "0");
    assert_string_equal(line.item[3].key, "STORE");
    assert_string_equal(line.item[3].value, "/my tmp");
    assert_string_equal(line.item[4].key, "TYPE");
    assert_string_equal(line.item[4].value, "XOR");
    scr_conf_line_free(&line);
}

static void test_blank_lines_are_empty(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "   \t", "# SCR_FLUSH=10", "  # x", "\r" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct scr_conf_line line;
        assert_int_equal(parse(texts[i], &line, NULL), SCR_OK);
        assert_int_equal(line.n, 0);
        scr_conf_line_free(&line);
    }
}

/* --- what is refused --- */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "=10", "expected NAME=VALUE" },
        { "/some/path", "expected NAME=VALUE" },
        { "SCR FLUSH:10", "expected NAME=VALUE" },
        { "SCR_FLUSH=10 ,", "expected NAME=VALUE" },
        { "\"SCR_FLUSH\"=10", "expected NAME=VALUE" },
        { "SCR_PREFIX=\"/a", "closing quote missing" },
        { "SCR_PREFIX=/a\\", "nothing follows the backslash" },
        { "SCR_PREFIX=\"/a\\", "nothing follows the backslash" },
        { "SCR_PREFIX=$NO_SUCH/a", "$NO_SUCH is not defined" },
        { "SCR_PREFIX=\"${NO_SUCH}\"", "$NO_SUCH is not defined" },
        { "SCR_PREFIX=${HOME", "${ is not followed" },
        { "SCR_PREFIX=${}", "${ is not followed" },
        { "SCR_PREFIX=${HOME-x}", "${ is not followed" },
        { "SCR_PREFIX=$LINES", "$LINES contains a line break" },
        { "SCR_FLUSH=1\nSCR_DEBUG=1", "line break" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scr_conf_line line;
        struct scr_err err = SCR_ERR_INIT;
        assert_int_equal(parse(bad[i].text, &line, &err), SCR_E_CONFIG);
        assert_int_equal(line.n, 0);
        assert_non_null(strstr(err.text, bad[i].why));
    }
}

static void test_zero_byte_is_refused(void **state)
{
    (void)state;
    struct scr_conf_line line;
    assert_int_equal(scr_conf_parse("A=1\0B", 5, lookup, NULL, &line, NULL),
                     SCR_E_CONFIG);
}

/* A long line of expansions must not eat the memory of the machine. */
static const char *huge(const char *name, void *arg)
{
    (void)name;
    return arg;
}

static void test_expansion_is_bounded(void **state)
{
    (void)state;
    struct scr_conf_line line;
    struct scr_err err = SCR_ERR_INIT;
    char *value = calloc(1, 300001);
    memset(value, 'x', 300000);
    const char *text = "A=$V$V$V$V$V$V$V$V";
    assert_int_equal(scr_conf_parse(text, strlen(text), huge, value, &line, &err),
                     SCR_E_CONFIG);
    assert_non_null(strstr(err.text, "value longer than"));
    free(value);
}

static void test_names_and_items_are_bounded(void **state)
{
    (void)state;
    struct scr_conf_line line;
    struct scr_str text = SCR_STR_INIT;
    for (int i = 0; i < 300; i++)
        scr_str_append(&text, "k");
    scr_str_append(&text, "=1");
    assert_int_equal(parse(text.p, &line, NULL), SCR_E_CONFIG);
    scr_str_free(&text);
    for (int i = 0; i < 5000; i++)
        scr_str_append(&text, "k=1 ");
    assert_int_equal(parse(text.p, &line, NULL), SCR_E_CONFIG);
    scr_str_free(&text);
}

/* --- quoting --- */

static void round_trip(const char *value)
{
    struct scr_str text = SCR_STR_INIT;
    struct scr_conf_line line;
    scr_str_append(&text, "K=");
    scr_conf_quote(&text, value);
    assert_int_equal(scr_conf_parse(text.p, text.len, lookup, NULL, &line, NULL),
                     SCR_OK);
    assert_int_equal(line.n, 1);
    assert_string_equal(line.item[0].value, value);
    scr_conf_line_free(&line);
    scr_str_free(&text);
}

static void test_quoting_round_trips(void **state)
{
    (void)state;
    round_trip("10");
    round_trip("/my dir/with/=/sign");
    round_trip("a \"quoted\" word, a \\ and $HOME ${X} # no comment");
    round_trip("trailing\\");
    round_trip("\t\r\x01\xff");
}

/* --- hostile bytes --- */

/* Bytes that mean something to the grammar, so that random lines get past the first
 * one. */
static const char alphabet[] = "AB=  \"\\$${}#\t\r_9.-/\xff\x01";

static void random_line(unsigned *seed, char *buf, size_t n)
{
    int raw = rand_r(seed) % 4 == 0;
    for (size_t i = 0; i < n; i++) {
        unsigned r = (unsigned)rand_r(seed);
        buf[i] = raw ? (char)r : alphabet[r % (sizeof alphabet - 1)];
    }
}

static void check_line(const struct scr_conf_line *line)
{
    for (size_t i = 0; i < line->n; i++) {
        assert_true(strlen(line->item[i].key) > 0);
        if (line->item[i].value != NULL && strchr(line->item[i].value, '\n') == NULL)
            round_trip(line->item[i].value);
    }
}

static void test_random_bytes(void **state)
{
    (void)state;
    unsigned seed = 20140114;
    int accepted = 0;
    for (int i = 0; i < 200000; i++) {
        size_t n = (size_t)(rand_r(&seed) % 40);
        char *buf = malloc(n + 1); /* exact size: reading past it is found */
        random_line(&seed, buf, n);
        char *exact = malloc(n ? n : 1);
        memcpy(exact, buf, n);
        struct scr_conf_line line;
        int rc = scr_conf_parse(exact, n, lookup, NULL, &line, NULL);
        free(exact);
        free(buf);
        assert_true(rc == SCR_OK || rc == SCR_E_CONFIG);
        accepted += rc == SCR_OK && line.n > 0;
        check_line(&line);
        scr_conf_line_free(&line);
    }
    assert_true(accepted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_setting),
        cmocka_unit_test(test_key_with_children),
        cmocka_unit_test(test_blank_lines_are_empty),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_zero_byte_is_refused),
        cmocka_unit_test(test_expansion_is_bounded),
        cmocka_unit_test(test_names_and_items_are_bounded),
        cmocka_unit_test(test_quoting_round_trips),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
