/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash: its calls by example, its order, its cost, and hostile packed bytes. */
#include "helper_pack.h"
#include "helper_steps.h"
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_impl.h"
#include "base/units.h"

/* Keys of one level joined by spaces; valid until the next call. */
static const char *keys_of(const scr_hash *h)
{
    static char text[1024];
    size_t at = 0;
    text[0] = '\0';
    for (SCR_HASH_EACH(e, h))
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? " " : "",
                               scr_hash_elem_key(e));
    return text;
}

static scr_hash *with_keys(const char *first, ...)
{
    scr_hash *h = scr_hash_new();
    va_list ap;
    va_start(ap, first);
    for (const char *key = first; key != NULL; key = va_arg(ap, const char *))
        scr_hash_set(h, key, NULL);
    va_end(ap);
    return h;
}

/* n keys "key.<i>", each with the value i. */
static scr_hash *with_many(int n)
{
    char key[32];
    scr_hash *h = scr_hash_new();
    for (int i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "key.%d", i);
        assert_non_null(scr_hash_set_val_i64(h, key, i));
    }
    return h;
}

/* --- elements --- */

static void set_get_unset(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new(), *value = scr_hash_new();
    assert_ptr_equal(scr_hash_set(h, "RANK", value), value);
    assert_ptr_equal(scr_hash_get(h, "RANK"), value);
    assert_null(scr_hash_get(h, "rank"));
    assert_int_equal(scr_hash_size(h), 1);
    assert_int_equal(scr_hash_unset(h, "RANK"), 1);
    assert_int_equal(scr_hash_unset(h, "RANK"), 0);
    assert_int_equal(scr_hash_size(h), 0);
    assert_null(scr_hash_elem_first(h));
    scr_hash_delete(h);
}

static void set_replaces_in_its_place(void **state)
{
    (void)state;
    scr_hash *h = with_keys("a", "b", "c", NULL);
    scr_hash_set_kv(h, "b", "old");
    scr_hash *value = scr_hash_set(h, "b", NULL);
    assert_int_equal(scr_hash_size(value), 0);
    assert_ptr_equal(scr_hash_set(h, "b", value), value); /* itself: no change */
    assert_string_equal(keys_of(h), "a b c");
    scr_hash_delete(h);
}

static void extract_hands_over(void **state)
{
    (void)state;
    scr_hash *h = with_keys("a", "b", "c", NULL);
    scr_hash_set_kv(h, "b", "x");
    scr_hash *b = scr_hash_extract(h, "b");
    assert_string_equal(keys_of(h), "a c");
    assert_string_equal(keys_of(b), "x");
    assert_null(scr_hash_extract(h, "b"));
    scr_hash_delete(b);
    scr_hash_delete(h);
}

static void null_is_an_empty_hash(void **state)
{
    (void)state;
    int *list;
    size_t n;
    scr_hash_delete(NULL);
    scr_hash_unset_all(NULL);
    assert_null(
        scr_hash_set(NULL, "k", scr_hash_new())); /* takes the value all the same */
    assert_null(scr_hash_get(NULL, "k"));
    assert_int_equal(scr_hash_unset(NULL, "k"), 0);
    assert_int_equal(scr_hash_size(NULL), 0);
    assert_int_equal(scr_hash_ok(NULL), 1);
    assert_null(scr_hash_dup(NULL));
    assert_null(scr_hash_elem_first(NULL));
    assert_null(scr_hash_elem_next(NULL));
    assert_null(scr_hash_elem_key(NULL));
    assert_int_equal(scr_hash_elem_key_int(NULL), -1);
    assert_null(scr_hash_set_kv(NULL, "a", "b"));
    assert_null(scr_hash_get_kv(NULL, "a", "b"));
    assert_int_equal(scr_hash_unset_kv(NULL, "a", "b"), 0);
    assert_null(scr_hash_set_val(NULL, "a", "b"));
    assert_null(scr_hash_setf(NULL, NULL, "%d", 1));
    assert_null(scr_hash_getf(NULL, "%d", 1));
    assert_int_equal(scr_hash_list_int(NULL, &list, &n), 1);
    assert_null(list);
    assert_true(scr_hash_equal(NULL, NULL));
}

static void iteration_is_in_order_of_insertion(void **state)
{
    (void)state;
    scr_hash *h = with_keys("z", "a", "m", "b", NULL);
    assert_string_equal(keys_of(h), "z a m b");
    scr_hash_unset(h, "z");
    assert_string_equal(keys_of(h), "a m b");
    scr_hash_unset(h, "b");
    scr_hash_unset(h, "m");
    scr_hash_set(h, "z", NULL);
    assert_string_equal(keys_of(h), "a z");
    scr_hash_unset_all(h);
    scr_hash_set(h, "q", NULL);
    assert_string_equal(keys_of(h), "q");
    scr_hash_delete(h);
}

static void integer_keys_are_strict(void **state)
{
    (void)state;
    scr_hash *h =
        with_keys("7", "-3", "7x", "", "99999999999", "07", "+7", "-0", "0", NULL);
    int want[] = { 7, -3, -1, -1, -1, -1, -1, -1, 0 }, i = 0;
    for (SCR_HASH_EACH(e, h))
        assert_int_equal(scr_hash_elem_key_int(e), want[i++]);
    scr_hash_delete(h);
}

/* --- pairs, values, formats --- */

static void pairs(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    scr_hash *rank = scr_hash_set_kv_int(h, "RANK", 3);
    assert_ptr_equal(scr_hash_set_kv(h, "RANK", "3"), rank);
    assert_ptr_equal(scr_hash_get_kv_int(h, "RANK", 3), rank);
    assert_null(scr_hash_get_kv_int(h, "RANK", 4));
    scr_hash_set_kv_int(h, "RANK", -4);
    assert_int_equal(scr_hash_unset_kv_int(h, "RANK", 3), 1);
    assert_non_null(scr_hash_get(h, "RANK"));
    assert_int_equal(scr_hash_unset_kv(h, "RANK", "-4"), 1);
    assert_null(scr_hash_get(h, "RANK")); /* nothing left under it */
    assert_int_equal(scr_hash_unset_kv(h, "RANK", "-4"), 0);
    scr_hash_delete(h);
}

static void single_values(void **state)
{
    (void)state;
    int64_t i = 5;
    uint64_t u = 5;
    uint32_t crc = 5;
    int n = 5;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "TIMESTEP", "20");
    scr_hash_set_val(h, "TIMESTEP", "21");
    assert_string_equal(keys_of(scr_hash_get(h, "TIMESTEP")), "21");
    scr_hash_set_val(h, "TIMESTEP",
                     scr_hash_get_val(h, "TIMESTEP")); /* borrowed from it */
    assert_string_equal(scr_hash_get_val(h, "TIMESTEP"), "21");
    assert_null(scr_hash_get_val(h, "absent"));

    scr_hash_set_val_i64(h, "I", INT64_MIN);
    assert_true(scr_hash_get_val_i64(h, "I", &i));
    assert_true(i == INT64_MIN);
    scr_hash_set_val_u64(h, "U", UINT64_MAX);
    assert_true(scr_hash_get_val_u64(h, "U", &u));
    assert_true(u == UINT64_MAX);
    assert_false(scr_hash_get_val_i64(h, "U", &i)); /* out of range */
    assert_false(scr_hash_get_val_int(h, "U", &n));
    assert_false(scr_hash_get_val_u64(h, "I", &u));
    scr_hash_set_val(h, "CRC", "0x028eeb9e");
    assert_true(scr_hash_get_val_crc(h, "CRC", &crc));
    assert_int_equal(crc, 0x28eeb9e);
    scr_hash_set_kv(h, "TWO", "1");
    scr_hash_set_kv(h, "TWO", "2");
    assert_false(scr_hash_get_val_int(h, "TWO", &n)); /* ambiguous */
    assert_false(scr_hash_get_val_int(h, "absent", &n));
    assert_int_equal(n, 5); /* untouched by all of these */
    scr_hash_delete(h);
}

static void several_levels(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    scr_hash *ckpt = scr_hash_setf(h, NULL, "%s %d %s %d", "RANK", 0, "CKPT", 10);
    assert_ptr_equal(ckpt, scr_hash_getf(h, "%s %d %s %d", "RANK", 0, "CKPT", 10));
    assert_ptr_equal(ckpt, scr_hash_getf(h, "RANK 0 CKPT %d", 10));
    scr_hash_set_kv(ckpt, "FILES", "2");
    assert_ptr_equal(ckpt, scr_hash_setf(h, NULL, "RANK 0 CKPT 10"));
    assert_int_equal(scr_hash_size(ckpt), 1); /* kept */
    scr_hash *other = scr_hash_new();
    assert_ptr_equal(scr_hash_setf(h, other, "RANK %d CKPT %d", 0, 10), other);
    assert_int_equal(scr_hash_size(other), 0); /* replaced */
    assert_null(scr_hash_getf(h, "RANK %d CKPT", 1));
    scr_hash_delete(h);
}

static void bad_formats_change_nothing(void **state)
{
    (void)state;
    const char *bad[] = { "",     " ",   "a ",   " a",     "a  b", "%",    "%q",
                          "%5d",  "a%d", "%d%d", "%d, %d", "%-s",  "%s %", "%n",
                          "%hhd", "%*d", "%ld",  "%f",     "%x" };
    scr_hash *h = scr_hash_new();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(scr_hash_setf(h, scr_hash_new(), bad[i], 1, 2, 3));
        assert_null(scr_hash_getf(h, bad[i], 1, 2, 3));
    }
    assert_int_equal(scr_hash_size(h), 0);
    assert_int_equal(scr_hash_ok(h), 1);
    scr_hash_delete(h);
}

/* --- whole hashes --- */

static void merging(void **state)
{
    (void)state;
    scr_hash *a = scr_hash_new(), *b = scr_hash_new();
    scr_hash_set_kv(a, "RANK", "0");
    scr_hash_setf(b, NULL, "RANK 0 FILE x");
    scr_hash_setf(b, NULL, "RANK 1");
    assert_int_equal(scr_hash_merge(a, b), SCR_OK);
    assert_non_null(scr_hash_getf(a, "RANK 0 FILE x"));
    assert_string_equal(keys_of(scr_hash_get(a, "RANK")), "0 1");
    assert_int_equal(scr_hash_merge(a, a), SCR_OK);
    assert_int_equal(scr_hash_merge(a, NULL), SCR_OK);
    assert_int_equal(scr_hash_merge(NULL, NULL), SCR_OK);
    assert_int_equal(scr_hash_merge(NULL, scr_hash_getf(a, "RANK 1")), SCR_OK);
    assert_int_equal(scr_hash_merge(NULL, a), SCR_E_NOMEM); /* it would be lost */
    scr_hash *copy = scr_hash_dup(a);
    assert_true(scr_hash_equal(a, copy));
    scr_hash_set(copy, "more", NULL);
    assert_false(scr_hash_equal(a, copy));
    assert_null(scr_hash_get(a, "more")); /* a deep copy */
    scr_hash_delete(a);
    scr_hash_delete(b);
    scr_hash_delete(copy);
}

static void moving(void **state)
{
    (void)state;
    scr_hash *a = with_keys("old", NULL), *b = with_many(20);
    scr_hash_move(a, b);
    assert_int_equal(scr_hash_size(a), 20);
    assert_string_equal(scr_hash_get_val(a, "key.19"), "19");
    assert_int_equal(scr_hash_size(b), 0);
    scr_hash_set(b, "usable", NULL);
    scr_hash_move(a, a);
    scr_hash_move(a, NULL);
    scr_hash_move(NULL, b);
    assert_int_equal(scr_hash_size(a), 20);
    assert_string_equal(keys_of(b), "usable");
    scr_hash_delete(a);
    scr_hash_delete(b);
}

static void equality_ignores_order(void **state)
{
    (void)state;
    scr_hash *a = with_keys("a", "b", NULL), *b = with_keys("b", "a", NULL);
    assert_true(scr_hash_equal(a, b));
    scr_hash_set_kv(b, "a", "x");
    assert_false(scr_hash_equal(a, b));
    scr_hash_delete(a);
    scr_hash_delete(b);
}

static void lists_of_integers(void **state)
{
    (void)state;
    int *list;
    size_t n;
    scr_hash *h = with_keys("10", "2", "x", "-5", "2147483648", "010", NULL);
    assert_int_equal(scr_hash_list_int(h, &list, &n), 1);
    assert_int_equal(n, 3);
    assert_int_equal(list[0], -5);
    assert_int_equal(list[1], 2);
    assert_int_equal(list[2], 10);
    free(list);
    scr_hash_delete(h);
}

static void a_lost_insertion_is_found_anywhere(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_hash *deep = scr_hash_setf(h, NULL, "a b c");
    assert_int_equal(scr_hash_ok(h), 1);
    assert_null(scr_hash_set(deep, NULL, NULL)); /* the key could not be made */
    assert_int_equal(scr_hash_ok(h), 0);
    scr_hash_append(&s, h);
    assert_true(s.bad);
    scr_hash *copy = scr_hash_dup(h);
    assert_int_equal(scr_hash_ok(copy), 0); /* a copy is as incomplete */
    scr_hash_unset_all(deep);
    assert_int_equal(scr_hash_ok(h), 1);
    scr_hash_delete(copy);
    scr_hash_delete(h);
}

/* --- many keys --- */

static void many_keys_come_and_go(void **state)
{
    (void)state;
    enum { N = 5000 };
    char key[32];
    int v, expect = 1;
    scr_hash *h = with_many(N);
    for (int i = 0; i < N; i += 2) {
        (void)snprintf(key, sizeof key, "key.%d", i);
        assert_int_equal(scr_hash_unset(h, key), 1);
    }
    assert_int_equal(scr_hash_size(h), N / 2);
    for (int i = 0; i < N; i++) {
        (void)snprintf(key, sizeof key, "key.%d", i);
        assert_int_equal(scr_hash_get_val_int(h, key, &v), i % 2);
        assert_true(i % 2 == 0 || v == i);
    }
    for (SCR_HASH_EACH(e, h)) { /* order survives */
        assert_true(scr_hash_get_val_int(h, scr_hash_elem_key(e), &v));
        assert_int_equal(v, expect);
        expect += 2;
    }
    while (scr_hash_size(h) >
           0) /* from the front, which is also how a map is emptied */
        assert_int_equal(scr_hash_unset(h, scr_hash_elem_key(scr_hash_elem_first(h))),
                         1);
    assert_null(scr_hash_elem_first(h));
    scr_hash_set_kv(h, "again", "x");
    assert_string_equal(scr_hash_get_val(h, "again"), "x");
    scr_hash_delete(h);
}

/* Steps of looking up every key: about one each whatever the number, where a walk of
 * the list would need half that number each. */
static void look_up_is_linear_in_the_number_of_keys(void **state)
{
    (void)state;
    size_t few, many;
    scr_hash *h = with_many(25000);
    few = test_steps(&h->items, NULL);
    scr_hash_delete(h);
    h = with_many(100000);
    many = test_steps(&h->items, NULL);
    scr_hash_delete(h);
    print_message("look-ups of 25,000 and 100,000 keys: %zu and %zu steps\n", few,
                  many);
    assert_true(many < 8 * few);
    assert_true(many < 4 * 100000);
    h = with_many(8); /* no index: a walk */
    assert_int_equal(test_steps(&h->items, NULL), 36);
    scr_hash_delete(h);
}

/* Seconds to insert, look up, pack, unpack and empty n keys. */
static double round_of(int n)
{
    char key[32];
    size_t used;
    double start = scr_now_mono();
    scr_hash *h = with_many(n), *back = scr_hash_new();
    for (int i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "key.%d", i);
        assert_non_null(scr_hash_get(h, key));
    }
    size_t bytes;
    void *buf = test_hash_packed(h, &bytes);
    assert_int_equal(scr_hash_unpack(buf, bytes, back, &used, NULL), SCR_OK);
    assert_int_equal(used, bytes);
    assert_true(scr_hash_equal(h, back));
    while (scr_hash_size(back) > 0)
        scr_hash_unset(back, scr_hash_elem_key(scr_hash_elem_first(back)));
    free(buf);
    scr_hash_delete(h);
    scr_hash_delete(back);
    return scr_now_mono() - start;
}

/* The times are for people: a machine may be busy. */
static void a_round_of_many_keys(void **state)
{
    (void)state;
    double few = round_of(25000), many = round_of(100000);
    print_message("25,000 keys %.3f s, 100,000 keys %.3f s, ratio %.1f\n", few, many,
                  many / few);
}

/* --- bytes --- */

static void packing(void **state)
{
    (void)state;
    size_t used = 0, n;
    scr_hash *h = scr_hash_new(), *back = scr_hash_new();
    scr_hash_set_val(h, "NODES", "3");
    void *buf = test_hash_packed(h, &n);
    assert_int_equal(n, 20);
    assert_memory_equal(buf,
                        "\0\0\0\1NODES\0\0\0\0\1"
                        "3\0\0\0\0\0",
                        20);
    assert_int_equal(scr_hash_unpack(buf, 20, back, &used, NULL), SCR_OK);
    assert_int_equal(used, 20);
    assert_true(scr_hash_equal(h, back));
    free(buf);
    scr_hash_delete(h);
    scr_hash_delete(back);
}

static void unpacking_merges(void **state)
{
    (void)state;
    scr_hash *a = scr_hash_new(), *b = scr_hash_new(), *want;
    scr_hash_setf(a, NULL, "RANK 0 FILE a");
    scr_hash_setf(b, NULL, "RANK 0 FILE b");
    scr_hash_setf(b, NULL, "RANK 1");
    want = scr_hash_dup(a);
    assert_int_equal(scr_hash_merge(want, b), SCR_OK);
    size_t n;
    void *buf = test_hash_packed(b, &n);
    assert_int_equal(scr_hash_unpack(buf, n, a, NULL, NULL), SCR_OK);
    free(buf);
    assert_true(scr_hash_equal(a, want));
    for (int i = 0; i < 20; i++) /* with an index on both sides */
        scr_hash_set_kv_int(a, "MANY", i), scr_hash_set_kv_int(b, "MANY", i + 10);
    buf = test_hash_packed(b, &n);
    assert_int_equal(scr_hash_unpack(buf, n, a, NULL, NULL), SCR_OK);
    free(buf);
    assert_int_equal(scr_hash_size(scr_hash_get(a, "MANY")), 30);
    assert_non_null(scr_hash_getf(a, "MANY 29"));
    scr_hash_delete(a);
    scr_hash_delete(b);
    scr_hash_delete(want);
}

/* Every cut of packed bytes, and every byte of a count set to 0xff, in a buffer of
 * exactly that size: an error, and nothing changed. (S4) */
static void hostile_bytes_change_nothing(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new(), *into = with_keys("here", NULL);
    scr_hash_setf(h, NULL, "RANK 0 FILE a");
    scr_hash_setf(h, NULL, "RANK 1 FILE b");
    size_t n;
    unsigned char *good = test_hash_packed(h, &n);
    for (size_t cut = 0; cut < n; cut++) {
        struct scr_err err = SCR_ERR_INIT;
        unsigned char *exact = malloc(cut + 1);
        memcpy(exact, good, cut);
        assert_int_equal(scr_hash_unpack(exact, cut, into, NULL, &err), SCR_E_CORRUPT);
        assert_non_null(strstr(err.text, "packed hash: "));
        free(exact);
    }
    for (size_t i = 0; i < 4; i++) {
        unsigned char right = good[i];
        good[i] = 0xff;
        assert_int_equal(scr_hash_unpack(good, n, into, NULL, NULL), SCR_E_CORRUPT);
        good[i] = right;
    }
    free(good);
    assert_string_equal(keys_of(into), "here");
    scr_hash_delete(h);
    scr_hash_delete(into);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    enum { DEEP = 1000000 };
    unsigned char *bomb = malloc((size_t)DEEP * 6 + 4);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(bomb + 6 * i, "\0\0\0\1k", 6);
    scr_hash *h = scr_hash_new(), *at = h;
    memset(bomb + (size_t)6 * SCR_HASH_DEPTH, 0, 4);
    assert_int_equal(scr_hash_unpack(bomb, 6 * SCR_HASH_DEPTH + 4, h, NULL, NULL),
                     SCR_OK);
    scr_hash_unset_all(h);
    memcpy(bomb + (size_t)6 * SCR_HASH_DEPTH, "\0\0\0\1k", 6);
    assert_int_equal(scr_hash_unpack(bomb, (size_t)DEEP * 6, h, NULL, NULL),
                     SCR_E_CORRUPT);
    free(bomb);
    for (int i = 0; i < DEEP;
         i++) /* what a program builds may be deeper: freed all the same */
        at = scr_hash_set(at, "k", NULL);
    scr_hash_delete(h);
}

/* --- people --- */

static void printing(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "NODES", "3");
    scr_hash_setf(h, NULL, "RANK 0 FILES 2");
    scr_hash_setf(h, NULL, "RANK 0 FILE foo");
    scr_hash_setf(h, NULL, "RANK 0 FILE bar");
    scr_hash_setf(h, NULL, "FLAG");
    scr_hash_set_val(h, "esc\x1b[2J",
                     "a\nb\xc2\x9b"
                     "2J");
    FILE *out = open_memstream(&text, &n);
    scr_hash_fprint(out, h, 1);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, " NODES = 3\n"
                              " RANK\n"
                              "   0\n"
                              "     FILES = 2\n"
                              "     FILE\n"
                              "       foo\n"
                              "       bar\n"
                              " FLAG\n"
                              " esc\\x1B[2J = a\\x0Ab\\xC2\x9b"
                              "2J\n");
    free(text);
    scr_hash_delete(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_get_unset),
        cmocka_unit_test(set_replaces_in_its_place),
        cmocka_unit_test(extract_hands_over),
        cmocka_unit_test(null_is_an_empty_hash),
        cmocka_unit_test(iteration_is_in_order_of_insertion),
        cmocka_unit_test(integer_keys_are_strict),
        cmocka_unit_test(pairs),
        cmocka_unit_test(single_values),
        cmocka_unit_test(several_levels),
        cmocka_unit_test(bad_formats_change_nothing),
        cmocka_unit_test(merging),
        cmocka_unit_test(moving),
        cmocka_unit_test(equality_ignores_order),
        cmocka_unit_test(lists_of_integers),
        cmocka_unit_test(a_lost_insertion_is_found_anywhere),
        cmocka_unit_test(many_keys_come_and_go),
        cmocka_unit_test(look_up_is_linear_in_the_number_of_keys),
        cmocka_unit_test(a_round_of_many_keys),
        cmocka_unit_test(packing),
        cmocka_unit_test(unpacking_merges),
        cmocka_unit_test(hostile_bytes_change_nothing),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
