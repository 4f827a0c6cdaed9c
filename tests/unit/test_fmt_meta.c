/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file, and the dataset hash. */

#include "fmt/dataset.h"
#include "fmt/meta.h"
#include "helper_meta.h"
#include "helper_pack.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- meta --- */

static void fields_are_set_and_read(void **state)
{
    (void)state;
    int i;
    uint64_t size;
    uint32_t crc;
    scr_meta *m = whole_example();
    assert_int_equal(scr_meta_get_int(m, SCR_META_COMPLETE, &i), SCR_OK);
    assert_int_equal(i, 1);
    assert_int_equal(scr_meta_get_int(m, SCR_META_RANKS, &i), SCR_OK);
    assert_int_equal(i, 4);
    assert_int_equal(m->rank, 0);
    assert_int_equal(m->dset, 6);
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_OK);
    assert_true(size == 524294);
    assert_string_equal(scr_meta_text(m, SCR_META_TYPE), "FULL");
    assert_string_equal(scr_meta_text(m, SCR_META_FILE), "rank_0.ckpt");
    assert_string_equal(scr_meta_text(m, SCR_META_ORIG), "ckpt.6/rank_0.ckpt");
    assert_string_equal(scr_meta_text(m, SCR_META_ASKED), "elsewhere/rank_0.ckpt");
    assert_true(scr_meta_is_shared(m));
    assert_int_equal(scr_meta_get_crc32(m, &crc), SCR_OK);
    assert_int_equal(crc, 0x1b39e4e4);
    scr_meta_unset_crc32(m);
    assert_int_equal(scr_meta_get_crc32(m, &crc), SCR_E_NOENT);
    scr_meta_set_filesize(m, UINT64_MAX); /* replaces */
    scr_meta_set_number(m, SCR_META_RANKS, 8);
    scr_meta_set_number(m, SCR_META_RANK, 3);
    scr_meta_set_text(m, SCR_META_ORIG, "other");
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_OK);
    assert_true(size == UINT64_MAX);
    assert_int_equal(scr_meta_get_int(m, SCR_META_RANKS, &i), SCR_OK);
    assert_int_equal(i, 8);
    assert_int_equal(m->rank, 3);
    assert_string_equal(scr_meta_text(m, SCR_META_ORIG), "other");
    scr_meta_delete(m);
}

/* As scr_filemap(5) has them. */
static void fields_are_written_under_their_keys(void **state)
{
    (void)state;
    static const char *const fields[][2] = {
        { "FILE", "rank_0.ckpt" },
        { "ORIG", "ckpt.6/rank_0.ckpt" },
        { "PATH", "ckpt.6" },
        { "NAME", "rank_0.ckpt" },
        { "TYPE", "FULL" },
        { "ASKED", "elsewhere/rank_0.ckpt" },
        { "SHARED", "1" },
        { "COMPLETE", "1" },
        { "SIZE", "524294" },
        { "CRC", "0x1b39e4e4" },
        { "DSET", "6" },
        { "RANK", "0" },
        { "RANKS", "4" },
        { "MODE", "33184" }, /* decimal */
        { "UID", "4294967294" },
        { "GID", "100" },
        { "ATIME_SECS", "1312850690" },
        { "ATIME_NSECS", "668536000" },
        { "CTIME_SECS", "7" },
        { "CTIME_NSECS", "999999999" },
        { "MTIME_SECS", "-5" },
        { "MTIME_NSECS", "1" },
    };
    scr_hash *want = scr_hash_new();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        scr_hash_set_val(want, fields[i][0], fields[i][1]);
    scr_meta *m = whole_example(), *none = scr_meta_new();
    scr_hash *h = hash_of(m), *empty = hash_of(none);
    assert_true(scr_hash_equal(h, want));
    assert_int_equal(scr_hash_size(empty), 0);
    scr_meta *again = taken(want);
    assert_true(same(again, m));
    scr_meta_delete(again);
    scr_meta_delete(m);
    scr_meta_delete(none);
    scr_hash_delete(h);
    scr_hash_delete(want);
    scr_hash_delete(empty);
}

static void what_is_not_recorded_leaves_the_output(void **state)
{
    (void)state;
    int i = 77;
    uint64_t size = 77;
    uint32_t crc = 77;
    struct stat st = { .st_mode = 77 };
    scr_meta *empty = scr_meta_new();
    for (int k = 0; k < 2; k++) {
        const scr_meta *m = k == 0 ? empty : NULL;
        assert_int_equal(scr_meta_get_int(m, SCR_META_COMPLETE, &i), SCR_E_NOENT);
        assert_int_equal(scr_meta_get_int(m, SCR_META_RANKS, &i), SCR_E_NOENT);
        assert_int_equal(scr_meta_get_filesize(m, &size), SCR_E_NOENT);
        assert_int_equal(scr_meta_get_crc32(m, &crc), SCR_E_NOENT);
        assert_null(scr_meta_text(m, SCR_META_TYPE));
        assert_null(scr_meta_text(m, SCR_META_FILE));
        assert_null(scr_meta_text(m, SCR_META_ORIG));
        assert_null(scr_meta_text(m, SCR_META_ASKED));
        assert_int_equal(scr_meta_get_stat(m, &st), SCR_E_NOENT);
        assert_false(scr_meta_is_shared(m));
        assert_false(scr_meta_has_dest(m));
        assert_null(scr_meta_dest(m));
        assert_false(scr_meta_is_full(m));
        assert_true(i == 77 && size == 77 && crc == 77 && st.st_mode == 77);
    }
    scr_meta_delete(empty);
}

static void setters_do_nothing_for_nothing(void **state)
{
    (void)state;
    struct stat st = { .st_mode = 77 };
    scr_meta_set(NULL, "a", "FULL", 1, (struct scr_meta_of){ 2, 3, 4 }, 1);
    scr_meta_set_text(NULL, SCR_META_ORIG, "a");
    scr_meta_set_text(NULL, SCR_META_PATH, "a");
    scr_meta_set_text(NULL, SCR_META_NAME, "a");
    scr_meta_set_text(NULL, SCR_META_ASKED, "a");
    scr_meta_set_shared(NULL);
    scr_meta_set_crc32(NULL, 1);
    scr_meta_unset_crc32(NULL);
    scr_meta_set_stat(NULL, &st);
    scr_meta_delete(NULL);
}

static void malformed_fields_are_not_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *key, *val;
    } bad[] = {
        { "RANK", "first" },
        { "RANK", "2147483648" },
        { "RANKS", "" },
        { "COMPLETE", "1 " },
        { "DSET", "0x6" },
        { "SIZE", "-1" },
        { "SIZE", "18446744073709551616" },
        { "SIZE", "5 bytes" },
        { "CRC", "0xfffffffff" },
        { "CRC", "1b39e4e4" },
        { "CRC", "0x" },
        { "MODE", "99999999" },
        { "MODE", "-1" },
        { "UID", "4294967296" },
        { "UID", "-1" },
        { "GID", "-1" },
        { "MTIME_SECS", "5" }, /* without its nanoseconds */
        { "MTIME_NSECS", "5" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scr_hash *h = scr_hash_new();
        scr_hash_set_val(h, bad[i].key, bad[i].val);
        scr_hash_set_val(h, "FILE", "a");
        scr_meta *m = taken(h);
        if (m->has != 0)
            fail_msg("%s = \"%s\" is recorded", bad[i].key, bad[i].val);
        assert_string_equal(scr_meta_text(m, SCR_META_FILE), "a");
        scr_meta_delete(m);
        scr_hash_delete(h);
    }
}

static void bounds_are_recorded(void **state)
{
    (void)state;
    struct stat st = { 0 };
    uint64_t size;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "SIZE", "18446744073709551615");
    scr_hash_set_val(h, "CRC", "0xFFFFFFFF");
    scr_hash_set_val(h, "RANK", "2147483647");
    scr_hash_set_val(h, "DSET", "-2147483648");
    scr_hash_set_val(h, "MODE", "65535");
    scr_hash_set_val(h, "UID", "4294967295");
    scr_hash_set_val(h, "GID", "0");
    scr_hash_set_val(h, "MTIME_NSECS", "999999999"); /* before its seconds */
    scr_hash_set_val(h, "MTIME_SECS", "-9223372036854775808");
    scr_meta *m = taken(h);
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_OK);
    assert_true(size == UINT64_MAX && m->crc == UINT32_MAX);
    assert_true(m->rank == INT_MAX && m->dset == INT_MIN);
    assert_int_equal(scr_meta_get_stat(m, &st), SCR_OK);
    assert_true(st.st_mode == 0177777 && st.st_uid == UINT32_MAX && st.st_gid == 0);
    assert_true(st.st_mtim.tv_sec == INT64_MIN && st.st_mtim.tv_nsec == 999999999);
    assert_true(st.st_atim.tv_sec == 0);
    scr_meta_delete(m);
    scr_hash_delete(h);
}

/* A time is both halves, and both are such numbers. */
static void half_a_time_is_none(void **state)
{
    (void)state;
    static const char *const nsecs[] = { "1000000000", "-1", "", "x" };
    for (size_t i = 0; i < sizeof nsecs / sizeof nsecs[0]; i++) {
        struct stat st = { .st_mode = 7 };
        scr_hash *h = scr_hash_new();
        scr_hash_set_val(h, "MODE", "33152");
        scr_hash_set_val(h, "ATIME_SECS", "5");
        scr_hash_set_val(h, "ATIME_NSECS", nsecs[i]);
        scr_hash_set_val(h, "CTIME_SECS", "now");
        scr_hash_set_val(h, "CTIME_NSECS", "5");
        scr_meta *m = taken(h);
        assert_int_equal(scr_meta_get_stat(m, &st), SCR_OK);
        assert_true(st.st_mode == 33152 && st.st_atim.tv_sec == 0 &&
                    st.st_ctim.tv_sec == 0 && st.st_ctim.tv_nsec == 0);
        scr_hash *back = hash_of(m); /* nor is half of it written */
        assert_int_equal(scr_hash_size(back), 1);
        scr_hash_delete(back);
        scr_meta_delete(m);
        scr_hash_delete(h);
    }
}

/* It may have any value, or none: no code uses it. */
static void ambiguous_fields_are_not_recorded(void **state)
{
    (void)state;
    static const char *const keys[] = { "FILE", "TYPE", "SIZE",      "CRC",
                                        "RANK", "MODE", "MTIME_SECS" };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    for (size_t i = 0; i < KEYS; i++) {
        scr_meta *m = whole_example();
        scr_hash *h = hash_of(m);
        scr_hash_set_kv(h, keys[i], "7");
        scr_meta *got = taken(h);
        scr_hash_set(h, keys[i], NULL); /* no value */
        scr_meta *none = taken(h);
        assert_true(same(got, none));
        assert_false(same(got, m));
        scr_hash *left = hash_of(got);
        assert_null(scr_hash_get(left, keys[i]));
        (void)scr_hash_unset(h, keys[i]);
        if (strcmp(keys[i], "MTIME_SECS") == 0)
            (void)scr_hash_unset(h, "MTIME_NSECS");
        assert_true(scr_hash_equal(left, h)); /* the rest is as it was */
        scr_hash_delete(left);
        scr_hash_delete(h);
        scr_meta_delete(m);
        scr_meta_delete(got);
        scr_meta_delete(none);
    }
}

static void unknown_fields_are_left_out(void **state)
{
    (void)state;
    scr_meta *m = meta_example();
    scr_hash *h = hash_of(m), *more = scr_hash_dup(h);
    scr_hash_setf(more, NULL, "FUTURE a b c");
    scr_hash_set_val(more, "size", "5");
    scr_hash_set_val(more, "BTIME_NSECS", "5");
    scr_hash_set(more, "", NULL);
    scr_meta *got = taken(more);
    assert_true(same(got, m));
    scr_meta_delete(got);
    scr_meta_delete(m);
    scr_hash_delete(h);
    scr_hash_delete(more);
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    scr_meta *m = whole_example();
    struct scr_str s = meta_packed(m);
    for (size_t n = 0; n < s.len; n++) {
        scr_meta *got = scr_meta_new();
        struct scr_err err = SCR_ERR_INIT;
        assert_int_equal(unpack(s.p, n, got, &err), SCR_E_CORRUPT);
        assert_int_equal(err.code, SCR_E_CORRUPT);
        scr_meta_delete(got);
    }
    scr_meta *got = scr_meta_new();
    assert_int_equal(unpack(s.p, s.len, got, NULL), SCR_OK);
    assert_true(same(got, m));
    scr_meta_delete(got);
    scr_meta_delete(m);
    scr_str_free(&s);
}

/* Whichever is meant: the last to come must not win. */
static void a_field_given_twice_is_refused(void **state)
{
    (void)state;
    static const char *const fields[][2] = {
        { "FILE", "a" },         { "SHARED", "1" },     { "SIZE", "5" },
        { "CRC", "0x00000005" }, { "RANK", "5" },       { "MODE", "5" },
        { "ATIME_SECS", "5" },   { "MTIME_NSECS", "5" }
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct scr_str s = SCR_STR_INIT;
        scr_meta *m = scr_meta_new();
        scr_pack_count(&s, 3);
        scr_pack_val(&s, fields[i][0], fields[i][1]);
        scr_pack_val(&s, "ORIG", "b");
        scr_pack_val(&s, fields[i][0], fields[i][1]);
        if (unpack(s.p, s.len, m, NULL) != SCR_E_CORRUPT)
            fail_msg("%s given twice is taken", fields[i][0]);
        scr_meta_delete(m);
        scr_str_free(&s);
    }
}

/* Missing memory is passed on to the copy of an incomplete one. */
static void what_lost_a_text_is_not_written(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    scr_meta *m = meta_example(), *copy = scr_meta_new(), *merged = scr_meta_new();
    struct scr_str s = meta_packed(m), bad = SCR_STR_INIT;
    m->arena->lost = 1;
    scr_meta_copy(copy, m);
    scr_meta_merge(merged, m);
    assert_true(copy->arena->lost && merged->arena->lost);
    scr_meta_pack(&bad, copy);
    assert_true(bad.bad);
    assert_int_equal(scr_meta_to_hash(merged, h), SCR_E_NOMEM);
    assert_int_equal(scr_meta_from_hash(merged, h), SCR_E_NOMEM);
    assert_int_equal(unpack(s.p, s.len, copy, NULL), SCR_E_NOMEM);
    scr_str_free(&bad);
    scr_str_free(&s);
    scr_hash_delete(h);
    scr_meta_delete(m);
    scr_meta_delete(copy);
    scr_meta_delete(merged);
}

static void files_of_the_application_are_known_by_their_type(void **state)
{
    (void)state;
    scr_meta *m = meta_example();
    assert_true(scr_meta_is_full(m));
    scr_meta_set_text(m, SCR_META_TYPE, "XOR");
    assert_false(scr_meta_is_full(m));
    scr_meta_set_text(m, SCR_META_TYPE, NULL);
    assert_false(scr_meta_is_full(m));
    scr_meta_delete(m);
}

static void destinations_are_set_in_two_parts(void **state)
{
    (void)state;
    static const char *const dests[][3] = { { "a/b/c", "a/b", "c" },
                                            { "c", ".", "c" } };
    scr_meta *m = scr_meta_new();
    for (size_t i = 0; i < sizeof dests / sizeof dests[0]; i++) {
        scr_meta_set_dest(m, dests[i][0]);
        assert_string_equal(scr_meta_text(m, SCR_META_PATH), dests[i][1]);
        assert_string_equal(scr_meta_text(m, SCR_META_NAME), dests[i][2]);
    }
    scr_meta_set_dest(NULL, "c");
    scr_meta_delete(m);
}

static void mode_owner_and_times(void **state)
{
    (void)state;
    struct stat got = { .st_size = 77 };
    scr_meta *m = whole_example();
    assert_int_equal(scr_meta_get_stat(m, &got), SCR_OK);
    assert_int_equal(got.st_mode, 0100640);
    assert_true(got.st_uid == 4294967294U && got.st_gid == 100 && got.st_size == 77);
    assert_true(got.st_atim.tv_sec == 1312850690 && got.st_atim.tv_nsec == 668536000);
    assert_true(got.st_mtim.tv_sec == -5 && got.st_mtim.tv_nsec == 1);
    assert_true(got.st_ctim.tv_sec == 7 && got.st_ctim.tv_nsec == 999999999);
    scr_meta_delete(m);
}

/* Fields that are there are set, the others keep what they have. */
static void one_field_of_a_stat_is_enough(void **state)
{
    (void)state;
    static const char *const keys[] = { "MODE", "UID", "GID" };
    for (int i = 0; i < 3; i++) {
        struct stat st = { .st_mode = 1, .st_uid = 2, .st_gid = 3 };
        scr_hash *h = scr_hash_new();
        scr_hash_set_val(h, keys[i], "9");
        scr_meta *m = taken(h);
        assert_int_equal(scr_meta_get_stat(m, &st), SCR_OK);
        assert_int_equal(st.st_mode, i == 0 ? 9 : 1);
        assert_int_equal(st.st_uid, i == 1 ? 9 : 2);
        assert_int_equal(st.st_gid, i == 2 ? 9 : 3);
        scr_meta_delete(m);
        scr_hash_delete(h);
    }
}

static void destination_never_leaves_the_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *name, *want;
    } cases[] = {
        { "ckpt.6/sub", "rank_0.ckpt", "ckpt.6/sub/rank_0.ckpt" },
        { ".", "rank_0.ckpt", "rank_0.ckpt" },
        { "/p/user1", "rank_0.ckpt", NULL },
        { "..", "rank_0.ckpt", NULL },
        { "a/../../b", "rank_0.ckpt", NULL },
        { "a", "../x", NULL },
        { "a", "..", NULL },
        { "a", "b/c", NULL },
        { "a", "", NULL },
        { "", "b", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scr_meta *m = scr_meta_new();
        assert_null(scr_meta_dest(m));
        scr_meta_set_text(m, SCR_META_PATH, cases[i].dir);
        assert_null(scr_meta_dest(m));
        scr_meta_set_text(m, SCR_META_NAME, cases[i].name);
        char *dest = scr_meta_dest(m);
        assert_int_equal(scr_meta_has_dest(m), cases[i].want != NULL);
        if (cases[i].want == NULL)
            assert_null(dest);
        else
            assert_string_equal(dest, cases[i].want);
        free(dest);
        scr_meta_delete(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_set_and_read),
        cmocka_unit_test(fields_are_written_under_their_keys),
        cmocka_unit_test(what_is_not_recorded_leaves_the_output),
        cmocka_unit_test(setters_do_nothing_for_nothing),
        cmocka_unit_test(malformed_fields_are_not_recorded),
        cmocka_unit_test(bounds_are_recorded),
        cmocka_unit_test(half_a_time_is_none),
        cmocka_unit_test(ambiguous_fields_are_not_recorded),
        cmocka_unit_test(unknown_fields_are_left_out),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(a_field_given_twice_is_refused),
        cmocka_unit_test(what_lost_a_text_is_not_written),
        cmocka_unit_test(files_of_the_application_are_known_by_their_type),
        cmocka_unit_test(destinations_are_set_in_two_parts),
        cmocka_unit_test(mode_owner_and_times),
        cmocka_unit_test(one_field_of_a_stat_is_enough),
        cmocka_unit_test(destination_never_leaves_the_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
