/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of the files of a dataset: untrusted bytes. */
#include "base/cursor.h"
#include "base/hashfile.h"
#include "fmt/rank2file.h"
#include "helper_golden.h"
#include "helper_lists.h"
#include "helper_rank2file.h"
#include "helper_tmp.h"
#include <stdio.h>
#include <string.h>

/* --- hostile bytes --- */

/* Taken or refused, with nothing left behind; what is taken is taken again. */
static void check_any(const void *bytes, size_t n)
{
    struct scr_rank2file l = { 0 }, again = { 0 };
    struct scr_rank2file_root root;
    struct scr_err err = SCR_ERR_INIT;
    int rc = test_take_list(bytes, n, &l, &err);
    if (rc != SCR_OK) {
        assert_int_equal(rc, SCR_E_CORRUPT);
        assert_true(err.code == rc && err.text[0] != '\0' && test_list_is_empty(&l));
    } else {
        struct scr_str s = test_list_packed(&l);
        assert_int_equal(scr_rank2file_unpack(s.p, s.len, &again, NULL), SCR_OK);
        assert_true(test_lists_same(&l, &again));
        scr_str_free(&s);
    }
    rc = scr_rank2file_root_unpack(bytes, n, &root, NULL);
    assert_true(rc == SCR_OK || (rc == SCR_E_CORRUPT && root.n == 0 && !root.part));
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&again);
}

static void check_cuts_and_flips(const struct scr_str *s)
{
    for (size_t n = 0; n < s->len; n++) {
        struct scr_rank2file l = { 0 };
        struct scr_rank2file_root root;
        assert_int_equal(test_take_list(s->p, n, &l, NULL), SCR_E_CORRUPT);
        assert_int_equal(scr_rank2file_root_unpack(s->p, n, &root, NULL),
                         SCR_E_CORRUPT);
        assert_true(test_list_is_empty(&l) && root.part == NULL);
    }
    for (size_t bit = 0; bit < 8 * s->len; bit++) {
        s->p[bit / 8] ^= (char)(1 << bit % 8);
        check_any(s->p, s->len);
        s->p[bit / 8] ^= (char)(1 << bit % 8);
    }
    check_any(s->p, s->len);
}

static void every_cut_and_flip(void **state)
{
    (void)state;
    int parts[] = { 0, 2, 3 };
    struct scr_rank2file_root root = { 1, 4, parts, 3 };
    struct scr_rank2file l;
    make_list(&l);
    struct scr_str s = test_list_packed(&l);
    check_cuts_and_flips(&s);
    scr_str_free(&s);
    scr_rank2file_root_pack(&s, &root);
    check_cuts_and_flips(&s);
    scr_str_free(&s);
    scr_rank2file_fini(&l);
}

/* {LEVEL=0, RANKS=4, RANK/{<a>/FILE/{x/{<key>=1, other=1}, y}, <b>}}, where SIZE and
 * "path" are given twice. */
static struct scr_str part_with(int a, int b, const char *key)
{
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 3);
    scr_pack_i64(&s, "LEVEL", 0);
    scr_pack_i64(&s, "RANKS", 4);
    scr_pack_key(&s, "RANK");
    scr_pack_count(&s, 2);
    scr_pack_key_int(&s, a);
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "FILE");
    scr_pack_count(&s, 2);
    scr_pack_key(&s, "x");
    scr_pack_count(&s, 2);
    scr_pack_val(&s, key, "1");
    scr_pack_val(&s, strcmp(key, "SIZE") == 0 ? "SIZE" : "other", "1");
    scr_pack_key(&s, strcmp(key, "path") == 0 ? "x" : "y");
    scr_pack_count(&s, 0);
    scr_pack_key_int(&s, b);
    scr_pack_count(&s, 0);
    return s;
}

static void nothing_is_given_twice(void **state)
{
    (void)state;
    static const struct {
        int a, b;
        const char *key;
        int code;
    } cases[] = {
        { 0, 1, "unknown", SCR_OK },        { 1, 0, "unknown", SCR_OK },
        { 1, 1, "unknown", SCR_E_CORRUPT }, { 0, 1, "SIZE", SCR_E_CORRUPT },
        { 0, 1, "path", SCR_E_CORRUPT },    { 0, -1, "unknown", SCR_E_CORRUPT },
        { 0, 4, "unknown", SCR_E_CORRUPT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scr_rank2file l = { 0 };
        struct scr_str s = part_with(cases[i].a, cases[i].b, cases[i].key);
        assert_int_equal(test_take_list(s.p, s.len, &l, NULL), cases[i].code);
        scr_rank2file_fini(&l);
        scr_str_free(&s);
    }
}

static void no_part_is_named_twice(void **state)
{
    (void)state;
    int parts[] = { 2, 0, 2 };
    struct scr_rank2file_root root = { 1, 4, parts, 3 }, got;
    struct scr_str s = SCR_STR_INIT;
    scr_rank2file_root_pack(&s, &root);
    assert_int_equal(scr_rank2file_root_unpack(s.p, s.len, &got, NULL), SCR_E_CORRUPT);
    scr_str_free(&s);
    root.n = 2;
    scr_rank2file_root_pack(&s, &root);
    assert_int_equal(scr_rank2file_root_unpack(s.p, s.len, &got, NULL), SCR_OK);
    assert_true(got.n == 2 && got.part[0] == 2 && got.part[1] == 0); /* as they were */
    scr_rank2file_root_fini(&got);
    scr_str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_and_flip),
        cmocka_unit_test(nothing_is_given_twice),
        cmocka_unit_test(no_part_is_named_twice),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
