/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed hashes without a tree: written they are the bytes of a tree, and read they are
 * believed in no byte. */
#include "helper_alloc.h"
#include "helper_pack.h"
#include "helper_tmp.h"

#include <stdio.h>
#include <string.h>

#include "base/cursor.h"

static scr_hash *unpacked(const struct scr_str *s)
{
    scr_hash *h = scr_hash_new();
    assert_false(s->bad);
    assert_int_equal(scr_hash_unpack(s->p, s->len, h, NULL, NULL), SCR_OK);
    return h;
}

/* The same bytes as the tree packs to; frees both. */
static void assert_packs_as(struct scr_str *s, scr_hash *h)
{
    size_t n;
    char *want = test_hash_packed(h, &n);
    assert_false(s->bad);
    assert_int_equal(s->len, n);
    assert_memory_equal(s->p, want, n);
    free(want);
    scr_str_free(s);
    scr_hash_delete(h);
}

/* --- writing --- */

static void counts_and_keys_are_those_of_a_tree(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_pack_count(&s, 0);
    assert_packs_as(&s, h);

    h = scr_hash_new();
    scr_hash_set(scr_hash_set(scr_hash_set(h, "a", NULL), "", NULL), "a b", NULL);
    scr_hash_set(h, "b", NULL);
    scr_pack_count(&s, 2);
    scr_pack_key(&s, "a");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "a b");
    scr_pack_count(&s, 0);
    scr_pack_key(&s, "b");
    scr_pack_count(&s, 0);
    assert_packs_as(&s, h);
}

static void a_count_takes_four_bytes(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 0x12fe0380);
    assert_int_equal(s.len, 4);
    assert_memory_equal(s.p, "\x12\xfe\x03\x80", 4);
    scr_str_free(&s);
}

static void values_are_written_as_a_tree_writes_them(void **state)
{
    (void)state;
    static const int64_t ints[] = { 0,           1,         -1,         9,
                                    10,          -10,       2147483647, 2147483648,
                                    -2147483648, INT64_MAX, INT64_MIN,  INT64_MIN + 1 };
    static const uint64_t units[] = { 0,
                                      7,
                                      10,
                                      99,
                                      100,
                                      UINT32_MAX,
                                      (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX,
                                      UINT64_C(10000000000000000000) };
    static const uint32_t crcs[] = { 0, 1, 0x10, 0x1b39e4e4, 0xdeadbeef, UINT32_MAX };
    static const char *const texts[] = { "", "1", "some text\nin lines",
                                         "\xff\x80 is no ASCII" };
    enum {
        INTS = sizeof ints / sizeof ints[0],
        UNITS = sizeof units / sizeof units[0],
        CRCS = sizeof crcs / sizeof crcs[0],
        TEXTS = sizeof texts / sizeof texts[0]
    };
    char key[32], crc[16];
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_pack_count(&s, INTS + UNITS + CRCS + TEXTS);
    for (int i = 0; i < INTS; i++) {
        snprintf(key, sizeof key, "i%d", i);
        scr_pack_i64(&s, key, ints[i]);
        scr_hash_set_val_i64(h, key, ints[i]);
    }
    for (int i = 0; i < UNITS; i++) {
        snprintf(key, sizeof key, "u%d", i);
        scr_pack_u64(&s, key, units[i]);
        scr_hash_set_val_u64(h, key, units[i]);
    }
    for (int i = 0; i < CRCS; i++) {
        snprintf(key, sizeof key, "c%d", i);
        scr_pack_crc(&s, key, crcs[i]);
        snprintf(crc, sizeof crc, "0x%08x", crcs[i]);
        scr_hash_set_val(h, key, crc);
    }
    for (int i = 0; i < TEXTS; i++) {
        snprintf(key, sizeof key, "t%d", i);
        scr_pack_val(&s, key, texts[i]);
        scr_hash_set_val(h, key, texts[i]);
    }
    assert_packs_as(&s, h);
}

static void whole_hashes_are_put_in(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new(), *part = scr_hash_new();
    scr_hash_setf(part, NULL, "RANK 0 FILE a SIZE 5");
    scr_hash_setf(part, NULL, "RANK 1");
    scr_pack_count(&s, 3);
    scr_pack_hash(&s, "part", part);
    scr_pack_hash(&s, "none", NULL);
    scr_pack_val(&s, "after", "it");
    scr_hash_set(h, "part", part);
    scr_hash_set(h, "none", NULL);
    scr_hash_set_val(h, "after", "it");
    assert_packs_as(&s, h);
}

/* --- reading --- */

/* {SIZE: {1024}, FILE: {a: {META: {}}, b: {}}, TWO: {x, y}, NESTED: {v: {w: {}}}, NONE:
 * {}} */
static struct scr_str example(void)
{
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 5);
    scr_pack_u64(&s, "SIZE", 1024);
    scr_pack_key(&s, "FILE");
    scr_pack_count(&s, 2);
    scr_pack_key(&s, "a");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "META");
    scr_pack_count(&s, 0);
    scr_pack_key(&s, "b");
    scr_pack_count(&s, 0);
    scr_pack_key(&s, "TWO");
    scr_pack_count(&s, 2);
    scr_pack_key(&s, "x");
    scr_pack_count(&s, 0);
    scr_pack_key(&s, "y");
    scr_pack_count(&s, 0);
    scr_pack_key(&s, "NESTED");
    scr_pack_count(&s, 1);
    scr_pack_val(&s, "v", "w");
    scr_pack_key(&s, "NONE");
    scr_pack_count(&s, 0);
    return s;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct scr_cursor c;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str s = example();
    scr_hash *files = scr_hash_new(), *whole = unpacked(&s);
    scr_cursor_init(&c, s.p, s.len);
    assert_int_equal(scr_cursor_enter(&c), 5);
    assert_string_equal(scr_cursor_key(&c), "SIZE");
    const char *val = scr_cursor_val(&c);
    assert_string_equal(val, "1024");
    assert_true(val > s.p && val < s.p + s.len); /* borrowed */
    assert_string_equal(scr_cursor_key(&c), "FILE");
    scr_cursor_hash(&c, files);
    assert_true(scr_hash_equal(files, scr_hash_get(whole, "FILE")));
    assert_string_equal(scr_cursor_key(&c), "TWO");
    scr_cursor_skip(&c);
    assert_string_equal(scr_cursor_key(&c), "NESTED");
    assert_int_equal(scr_cursor_enter(&c), 1);
    assert_string_equal(scr_cursor_key(&c), "v");
    assert_string_equal(scr_cursor_val(&c), "w");
    assert_string_equal(scr_cursor_key(&c), "NONE");
    assert_int_equal(scr_cursor_enter(&c), 0);
    assert_int_equal(scr_cursor_end(&c, 1, &err), SCR_OK);
    assert_int_equal(err.code, SCR_OK);
    scr_hash_delete(files);
    scr_hash_delete(whole);
    scr_str_free(&s);
}

/* It is not this value nor that, and what follows is found. */
static void a_value_is_one_or_none(void **state)
{
    (void)state;
    struct scr_cursor c;
    struct scr_str s = example();
    static const char *const want[][2] = { { "SIZE", "1024" },
                                           { "FILE", NULL },
                                           { "TWO", NULL },
                                           { "NESTED", "v" }, /* whole */
                                           { "NONE", NULL } };
    scr_cursor_init(&c, s.p, s.len);
    size_t n = scr_cursor_enter(&c);
    assert_int_equal(n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(scr_cursor_key(&c), want[i][0]);
        const char *val = scr_cursor_val(&c);
        if (want[i][1] == NULL)
            assert_null(val);
        else
            assert_string_equal(val, want[i][1]);
    }
    assert_int_equal(scr_cursor_end(&c, 1, NULL), SCR_OK);
    scr_str_free(&s);
}

/* --- bytes that come one after the other --- */

/* Gives few bytes at a time, up to where it fails. */
struct trickle {
    struct scr_feed feed;
    const char *p;
    uint64_t fails_at;
};

static int trickle(struct scr_feed *f, void *p, size_t *n)
{
    struct trickle *t = (struct trickle *)f;
    assert_true(*n >= 1);
    *n = *n < 3 ? *n : 3;
    if (f->rest <= t->fails_at)
        return SCR_E_IO;
    memcpy(p, t->p, *n);
    t->p += *n;
    return SCR_OK;
}

static void a_feed_is_read_as_bytes_in_memory(void **state)
{
    (void)state;
    struct scr_cursor c;
    struct scr_str s = example();
    struct trickle t = { { .more = trickle, .rest = s.len }, s.p, 0 };
    scr_hash *files = scr_hash_new(), *whole = unpacked(&s);
    scr_cursor_init_feed(&c, &t.feed);
    assert_int_equal(scr_cursor_enter(&c), 5);
    assert_string_equal(scr_cursor_key(&c), "SIZE");
    assert_string_equal(scr_cursor_val(&c), "1024");
    assert_string_equal(scr_cursor_key(&c), "FILE");
    scr_cursor_hash(&c, files);
    assert_true(scr_hash_equal(files, scr_hash_get(whole, "FILE")));
    for (int i = 0; i < 3; i++) {
        (void)scr_cursor_key(&c);
        scr_cursor_skip(&c);
    }
    assert_int_equal(scr_cursor_at(&c), s.len);
    assert_int_equal(scr_cursor_end(&c, 1, NULL), SCR_OK);
    scr_feed_fini(&t.feed);
    scr_hash_delete(files);
    scr_hash_delete(whole);
    scr_str_free(&s);
}

static void what_a_feed_fails_with_is_said(void **state)
{
    (void)state;
    struct scr_str s = example();
    for (uint64_t rest = 3; rest <= s.len; rest++) { /* pieces are of 3 bytes */
        struct scr_cursor c;
        struct trickle t = { { .more = trickle, .rest = s.len }, s.p, rest };
        scr_cursor_init_feed(&c, &t.feed);
        scr_cursor_skip(&c);
        assert_int_equal(scr_cursor_end(&c, 1, NULL), SCR_E_IO);
        scr_feed_fini(&t.feed);
    }
    scr_str_free(&s);
}

/* --- untrusted bytes --- */

typedef void taker(struct scr_cursor *c);

static void take_by_skip(struct scr_cursor *c)
{
    scr_cursor_skip(c);
}

static void take_as_hash(struct scr_cursor *c)
{
    scr_hash *h = scr_hash_new();
    scr_cursor_hash(c, h);
    if (c->wrong != NULL)
        assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
}

/* Level by level, as a reader does that knows the keys. */
static void take_by_steps(struct scr_cursor *c)
{
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        const char *key = scr_cursor_key(c);
        if (strcmp(key, "FILE") == 0)
            take_by_steps(c);
        else if (strcmp(key, "TWO") == 0)
            take_as_hash(c);
        else if (strcmp(key, "a") == 0 || strcmp(key, "b") == 0)
            scr_cursor_skip(c);
        else
            (void)scr_cursor_val(c);
    }
}

static taker *const takers[] = { take_by_skip, take_as_hash, take_by_steps };
enum { TAKERS = sizeof takers / sizeof takers[0] };

/* From a block of exactly n bytes, so that a read past its end is found. */
static int read_by(taker *take, const void *bytes, size_t n, int all,
                   struct scr_err *err)
{
    struct scr_cursor c;
    unsigned char *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    scr_cursor_init(&c, exact, n);
    take(&c);
    assert_true(c.p >= exact && (size_t)(c.p - exact) + c.left == n);
    int rc = scr_cursor_end(&c, all, err);
    if (rc != SCR_OK && c.left > 0 && c.wrong != NULL) { /* it is bad for good */
        assert_int_equal(scr_cursor_enter(&c), 0);
        assert_string_equal(scr_cursor_key(&c), "");
        assert_null(scr_cursor_val(&c));
        scr_cursor_skip(&c);
        assert_int_equal(scr_cursor_end(&c, 0, NULL), rc);
    }
    free(exact);
    return rc;
}

static void assert_refused(taker *take, const void *bytes, size_t n, const char *why)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(read_by(take, bytes, n, 1, &err), SCR_E_CORRUPT);
    assert_int_equal(err.code, SCR_E_CORRUPT);
    if (why != NULL && strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct scr_str s = example();
    for (int t = 0; t < TAKERS; t++) {
        assert_int_equal(read_by(takers[t], s.p, s.len, 1, NULL), SCR_OK);
        for (size_t n = 0; n < s.len; n++)
            assert_refused(takers[t], s.p, n, "packed hash: ");
    }
    assert_refused(take_by_skip, "\0\0\0\1long key", 12, "key without end");
    struct scr_cursor c;
    scr_cursor_init(&c, NULL, 0);
    assert_int_equal(scr_cursor_enter(&c), 0);
    assert_int_equal(scr_cursor_end(&c, 1, NULL), SCR_E_CORRUPT);
    scr_str_free(&s);
}

static void bytes_left_over_are_refused_if_all_must_be_read(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str s = example();
    scr_str_append_n(&s, "\0\0\0\0", 4); /* though it is a hash */
    for (int t = 0; t < TAKERS; t++) {
        assert_int_equal(read_by(takers[t], s.p, s.len, 0, &err), SCR_OK);
        for (size_t more = 1; more <= 4; more++)
            assert_refused(takers[t], s.p, s.len - 4 + more, "bytes left over");
    }
    scr_str_free(&s);
}

static void no_more_elements_are_believed_than_there_are_bytes(void **state)
{
    (void)state;
    static const size_t counts[] = { 2,          3,          0xff,
                                     0x10000,    0x01000000, 0x33333333,
                                     0x7fffffff, 0x80000000, 0xffffffff };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int t = 0; t < TAKERS; t++) {
            struct scr_str s = SCR_STR_INIT;
            struct scr_cursor c;
            scr_pack_count(&s, counts[i]);
            scr_pack_key(&s, "a");
            scr_pack_count(&s, 0);
            assert_refused(takers[t], s.p, s.len,
                           takers[t] == take_as_hash ? NULL : "more elements");
            scr_cursor_init(&c, s.p, s.len);
            assert_int_equal(scr_cursor_enter(&c), 0);
            scr_str_free(&s);
        }
    struct scr_str s = SCR_STR_INIT; /* just as many as fit are none too many */
    scr_pack_count(&s, 3);
    scr_str_append_n(&s, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    assert_int_equal(read_by(take_by_skip, s.p, s.len, 1, NULL), SCR_OK);
    assert_refused(take_by_skip, s.p, s.len - 1, "more elements");
    scr_str_free(&s);
}

static struct scr_str nested(int levels)
{
    struct scr_str s = SCR_STR_INIT;
    for (int i = 0; i < levels; i++) {
        scr_pack_count(&s, 1);
        scr_pack_key(&s, "k");
    }
    scr_pack_count(&s, 0);
    return s;
}

static void keys_lie_no_deeper_than_a_tree_takes(void **state)
{
    (void)state;
    struct scr_str s = nested(SCR_HASH_DEPTH);
    assert_int_equal(read_by(take_by_skip, s.p, s.len, 1, NULL), SCR_OK);
    assert_int_equal(read_by(take_as_hash, s.p, s.len, 1, NULL), SCR_OK);
    scr_str_free(&s);
    s = nested(SCR_HASH_DEPTH + 1);
    assert_refused(take_by_skip, s.p, s.len, "nested too deep");
    assert_refused(take_as_hash, s.p, s.len, NULL);
    scr_str_free(&s);
    s = nested(1000000); /* nor does the stack end */
    for (int t = 0; t < TAKERS; t++)
        assert_refused(takers[t], s.p, s.len, NULL);
    scr_str_free(&s);
}

static int is_twice(const struct scr_str *s)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)scr_hash_unpack(s->p, s->len, NULL, NULL, &err);
    return strstr(err.text, "given twice") != NULL;
}

/* Any byte may be any other: skipping takes what a tree takes, and in addition only
 * keys given twice. */
static void every_changed_byte_is_read_as_by_a_tree(void **state)
{
    (void)state;
    struct scr_str s = example();
    for (size_t at = 0; at < s.len; at++) {
        char was = s.p[at];
        for (int byte = 0; byte < 256; byte++) {
            s.p[at] = (char)byte;
            int tree = read_by(take_as_hash, s.p, s.len, 1, NULL);
            int skip = read_by(take_by_skip, s.p, s.len, 1, NULL);
            if (skip != tree && (skip != SCR_OK || !is_twice(&s)))
                fail_msg("byte %zu as %d: %s", at, byte, scr_err_meaning(skip));
            (void)read_by(take_by_steps, s.p, s.len, 1, NULL); /* ends, and leaks not */
        }
        s.p[at] = was;
    }
    scr_str_free(&s);
}

static void a_key_given_twice_is_no_hash(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 2);
    scr_pack_val(&s, "a", "1");
    scr_pack_val(&s, "a", "2");
    assert_refused(take_as_hash, s.p, s.len, NULL);
    assert_int_equal(read_by(take_by_skip, s.p, s.len, 1, NULL), SCR_OK);
    scr_str_free(&s);
}

static void the_first_reason_counts(void **state)
{
    (void)state;
    struct scr_cursor c;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str s = example();
    scr_cursor_init(&c, s.p, s.len);
    assert_int_equal(scr_cursor_enter(&c), 5);
    assert_string_equal(scr_cursor_key(&c), "SIZE");
    scr_cursor_refuse(&c, "size of nothing");
    scr_cursor_refuse(&c, "something else");
    assert_null(scr_cursor_val(&c));
    assert_string_equal(scr_cursor_key(&c), "");
    scr_cursor_skip(&c);
    assert_int_equal(scr_cursor_enter(&c), 0);
    assert_int_equal(scr_cursor_end(&c, 1, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "size of nothing at byte 9"));
    scr_str_free(&s);
}

/* --- want of memory --- */

static void a_hash_that_is_not_whole_is_not_written(void **state)
{
    (void)state;
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new(), *deep = h;
    scr_hash_set_val(h, "a", NULL); /* marks it: no such value could be made */
    assert_false(scr_hash_ok(h));
    scr_pack_count(&s, 1);
    scr_pack_hash(&s, "a", h);
    scr_pack_val(&s, "b", "c");
    assert_true(s.bad && s.len == 0);
    scr_str_free(&s);
    scr_hash_delete(h);
    h = deep = scr_hash_new();
    for (int i = 0; i <= SCR_HASH_DEPTH; i++)
        deep = scr_hash_set(deep, "k", NULL);
    s = (struct scr_str)SCR_STR_INIT;
    scr_pack_hash(&s, "a", h); /* no reader would take it */
    assert_true(s.bad);
    scr_str_free(&s);
    scr_hash_delete(h);
}

#ifdef TEST_ALLOC

static void every_allocation_fails_once(void **state)
{
    (void)state;
    struct scr_str given = example();
    int failed = 1;
    for (long n = 0; failed; n++) {
        struct scr_cursor c;
        struct scr_err err = SCR_ERR_INIT;
        long before = test_alloc_live();
        scr_hash *h = scr_hash_new();
        scr_cursor_init(&c, given.p, given.len);
        test_alloc_arm(n);
        scr_cursor_hash(&c, h);
        failed = test_alloc_off();
        assert_int_equal(scr_cursor_end(&c, 1, &err), failed ? SCR_E_NOMEM : SCR_OK);
        assert_int_equal(err.code, failed ? SCR_E_NOMEM : SCR_OK);
        assert_int_equal(scr_hash_size(h), failed ? 0 : 5);
        scr_hash_delete(h);

        test_alloc_arm(n);
        struct scr_str s = example();
        int lost = test_alloc_off();
        assert_int_equal(s.bad, lost);
        assert_true(lost || s.len == given.len);
        scr_str_free(&s);
        assert_int_equal(test_alloc_live(), before);
        assert_true(failed || n > 5);
    }
    scr_str_free(&given);
}

#else

static void every_allocation_fails_once(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_keys_are_those_of_a_tree),
        cmocka_unit_test(a_count_takes_four_bytes),
        cmocka_unit_test(values_are_written_as_a_tree_writes_them),
        cmocka_unit_test(whole_hashes_are_put_in),
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_value_is_one_or_none),
        cmocka_unit_test(a_feed_is_read_as_bytes_in_memory),
        cmocka_unit_test(what_a_feed_fails_with_is_said),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(bytes_left_over_are_refused_if_all_must_be_read),
        cmocka_unit_test(no_more_elements_are_believed_than_there_are_bytes),
        cmocka_unit_test(keys_lie_no_deeper_than_a_tree_takes),
        cmocka_unit_test(every_changed_byte_is_read_as_by_a_tree),
        cmocka_unit_test(a_key_given_twice_is_no_hash),
        cmocka_unit_test(the_first_reason_counts),
        cmocka_unit_test(a_hash_that_is_not_whole_is_not_written),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
