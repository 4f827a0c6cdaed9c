/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps as bytes: the hash of the manual, unknown keys, damage. */
#include "base/hashfile.h"
#include "fmt/filemap.h"
#include "helper_filemap.h"
#include "helper_golden.h"
#include "helper_maps.h"
#include "helper_order.h"
#include "helper_steps.h"
#include "helper_tmp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The layout on disk of scr_filemap(5). */
static void packed_it_is_the_hash_of_the_manual(void **state)
{
    (void)state;
    scr_hash *want = scr_hash_new(), *e;
    scr_hash_setf(want, NULL, "DSET 10 RANK 20");
    scr_hash_setf(want, NULL, "DSET 11 RANK 20");
    scr_hash_setf(want, NULL, "DSET 11 RANK 28");
    e = scr_hash_setf(want, NULL, "RANK 20 DSET 10");
    scr_hash_setf(e, NULL, "FILES 2");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.10");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.10.xor");
    e = scr_hash_setf(want, NULL, "RANK 20 DSET 11");
    scr_hash_setf(e, NULL, "FILES 1");
    scr_hash_setf(e, NULL, "FILE /c/foo_20.ckpt.11");
    e = scr_hash_setf(want, NULL, "RANK 28 DSET 11");
    scr_hash_setf(e, NULL, "FILE /c/foo_28.ckpt.11");
    scr_hash_setf(e, NULL, "PARTNER atlas56");
    scr_filemap *map = filemap_example();
    scr_hash *tree = test_map_tree(map);
    assert_true(scr_hash_equal(tree, want));
    scr_hash_delete(tree);

    scr_hash_set_val_i64(scr_hash_setf(e, NULL, "FILE /c/foo_28.ckpt.11 META"), "SIZE",
                         5);
    scr_hash_setf(e, NULL, "DSETDESC CREATED 3");
    scr_hash_setf(e, NULL, "REDDESC TYPE XOR");
    scr_hash_setf(want, NULL, "ASIDE 3 DSET 11 RANK 28");
    scr_hash_set(scr_hash_setf(want, NULL, "ASIDE 3 RANK 28 DSET"), "11",
                 scr_hash_dup(e));
    scr_meta *m = scr_meta_new();
    scr_meta_set_filesize(m, 5);
    scr_filemap_set_meta(map, 11, 28, "/c/foo_28.ckpt.11", m);
    scr_filemap_set_dataset(map, 11, 28, scr_hash_get(e, "DSETDESC"));
    scr_filemap_set_desc(map, 11, 28, scr_hash_get(e, "REDDESC"));
    assert_int_equal(scr_filemap_set_aside(map, 3, map, 11, 28), SCR_OK);
    tree = test_map_tree(map);
    assert_true(scr_hash_equal(tree, want));
    assert_sound(map);
    scr_meta_delete(m);
    scr_hash_delete(tree);
    scr_hash_delete(want);
    scr_filemap_delete(map);
}

/* Bytes found are taken where nothing is recorded: they do not change a record. */
static void bytes_found_do_not_change_what_is_recorded(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    const char *found = "RANK 28 DSET 11 FILE relative/file FOUND 9";
    assert_non_null(scr_hash_setf(h, NULL, found));
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map));
    const struct scr_entry *e = scr_filemap_entry(got, 11, 28);
    const struct scr_file *f = scr_table_find(&e->files, "relative/file");
    assert_true(f->meta.size == 5 && scr_file_meta(f) != NULL);
    f = scr_table_find(&e->files, "relative/found");
    assert_true(f->meta.size == 7 && scr_file_meta(f) == NULL);
    scr_hash_delete(h);
    scr_filemap_delete(got);
    scr_filemap_delete(map);
}

/* An older writer put what came first first. */
static void the_order_on_disk_does_not_matter(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    test_hash_sort(h, test_bytewise_down);
    for (int i = 0; i < 2; i++) {
        scr_hash *outer = scr_hash_get(h, i == 0 ? "DSET" : "RANK");
        test_hash_sort(outer, test_numbers_down);
        for (SCR_HASH_EACH(e, outer)) {
            scr_hash *inner =
                scr_hash_get(scr_hash_elem_hash(e), i == 0 ? "RANK" : "DSET");
            test_hash_sort(inner, test_numbers_down);
            for (SCR_HASH_EACH(f, inner))
                test_hash_sort(scr_hash_elem_hash(f), test_bytewise_down);
        }
    }
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    scr_hash *again = test_map_tree(got);
    assert_true(scr_hash_equal(again, h));
    assert_sound(got);
    scr_hash_delete(h);
    scr_hash_delete(again);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

static void what_is_not_known_is_skipped_or_a_tag(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    scr_hash_setf(h, NULL, "FUTURE a b c");
    scr_hash_setf(h, NULL, "RANK 20 FUTURE a b");
    scr_hash_setf(h, NULL, "DSET 11 NAME a b");
    scr_hash_setf(h, NULL, "DSET 11 RANK 28 FUTURE a");
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FILE /c/foo_20.ckpt.11 FUTURE a b");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map)); /* skipped */
    scr_filemap_delete(got);

    got = scr_filemap_new();
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FUTURE a b"); /* of an entry: a tag */
    scr_hash_setf(h, NULL, "RANK 20 DSET 11 FUTURE c");
    scr_hash_setf(h, NULL, "RANK 20 DSET 10 EMPTY");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    scr_hash *again = test_map_tree(got);
    assert_true(scr_hash_equal(scr_hash_getf(again, "RANK 20 DSET 11 FUTURE"),
                               scr_hash_getf(h, "RANK 20 DSET 11 FUTURE")));
    assert_non_null(scr_hash_getf(again, "RANK 20 DSET 10 EMPTY"));
    assert_string_equal(tag_of(got, 11, 20, "FUTURE"), "a");
    assert_sound(got);
    scr_hash_delete(again);
    scr_hash_delete(h);
    scr_filemap_delete(got);
    scr_filemap_delete(map);
}

static void ambiguous_meta_data_are_not_recorded(void **state)
{
    (void)state;
    uint64_t size;
    uint32_t crc;
    const char *path = "/c/foo_20.ckpt.11";
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    scr_hash *m = scr_hash_get(
        scr_hash_get(scr_hash_getf(h, "RANK 20 DSET 11 FILE"), path), "META");
    scr_hash_set_kv(m, "SIZE", "6");
    scr_hash_set_kv(m, "TYPE", "XOR");
    scr_hash_set_val(m, "CRC", "7");
    scr_hash_setf(m, NULL, "FUTURE a b");
    assert_int_equal(test_take_tree(h, got, NULL), SCR_OK);
    const scr_meta *meta = scr_filemap_get_meta(got, 11, 20, path);
    assert_int_equal(scr_meta_get_filesize(meta, &size), SCR_E_NOENT);
    assert_null(scr_meta_text(meta, SCR_META_TYPE));
    assert_int_equal(scr_meta_get_crc32(meta, &crc), SCR_E_NOENT);
    assert_string_equal(scr_meta_text(meta, SCR_META_FILE), "foo");
    scr_hash *again = test_map_tree(got);
    (void)scr_hash_unset(m, "SIZE");
    (void)scr_hash_unset(m, "TYPE");
    (void)scr_hash_unset(m, "CRC");
    (void)scr_hash_unset(m, "FUTURE");
    assert_true(scr_hash_equal(again, h)); /* all the rest is as it was */
    scr_hash_delete(again);
    scr_hash_delete(h);
    scr_filemap_delete(got);
    scr_filemap_delete(map);
}

/* --- damage --- */

/* The example with one thing added, or set to a value, or taken away. */
static const struct damage {
    const char *add, *drop, *from; /* drop: a key of the hash that from is */
    const char *value;             /* in place of what add has */
} damages[] = {
    /* index and entries */
    { .add = "RANK 30 DSET 11" },
    { .add = "RANK 20 DSET 12" },
    { .add = "DSET 11 RANK 30" },
    { .add = "DSET 12 RANK 20" },
    { .add = "DSET 12" },
    { .add = "RANK 30" },
    { .add = "DSET 12 RANK" },
    { .add = "RANK 30 DSET" },
    { .add = "DSET 12 NAME a" },
    { .drop = "DSET", .from = "" },
    { .drop = "RANK", .from = "" },
    { .drop = "10", .from = "DSET" },
    { .drop = "20", .from = "DSET 11 RANK" },
    { .drop = "28", .from = "DSET 11 RANK" },
    { .drop = "RANK", .from = "DSET 10" },
    { .drop = "28", .from = "RANK" },
    { .drop = "11", .from = "RANK 20 DSET" },
    { .drop = "DSET", .from = "RANK 28" },
    /* the same of what is aside */
    { .add = "ASIDE 3 RANK 30 DSET 11" },
    { .add = "ASIDE 3 DSET 12 RANK 20" },
    { .add = "ASIDE 9 DSET 12 RANK 20" },
    { .drop = "DSET", .from = "ASIDE 3" },
    { .drop = "RANK", .from = "ASIDE 3" },
    { .drop = "20", .from = "ASIDE 3 RANK" },
    /* numbers */
    { .add = "ASIDE never" },
    { .add = "ASIDE 99999999999999999999" },
    { .add = "RANK two DSET 11" },
    { .add = "RANK -2 DSET 11" },
    { .add = "RANK +20 DSET 11" },
    { .add = "RANK 020 DSET 11" },
    { .add = "RANK 20x DSET 11" },
    { .add = "RANK 99999999999 DSET 11" },
    { .add = "RANK 20 DSET x" },
    { .add = "DSET 011 RANK 20" },
    { .add = "DSET 11 RANK -1" },
    { .add = "DSET 11 RANK 00" },
    { .add = "RANK 20 DSET 10 FILES", .value = "-1" },
    { .add = "RANK 20 DSET 10 FILES", .value = "two" },
    { .add = "RANK 20 DSET 10 FILES", .value = "99999999999" },
    { .add = "RANK 20 DSET 10 FILES", .value = "" },
    { .add = "RANK 20 DSET 10 FILES 3" }, /* and 2 */
    { .drop = "2", .from = "RANK 20 DSET 10 FILES" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND", .value = "many" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND", .value = "-1" },
    { .add = "RANK 28 DSET 11 FILE /c/foo_28.ckpt.11 FOUND" },
    /* names of files (S3) */
    { .add = "RANK 20 DSET 11 FILE /" },
    { .add = "RANK 20 DSET 11 FILE /.." },
    { .add = "RANK 20 DSET 11 FILE .." },
    { .add = "RANK 20 DSET 11 FILE ../a" },
    { .add = "RANK 20 DSET 11 FILE /c/../a" },
    { .add = "RANK 20 DSET 11 FILE a/../../b" },
    { .add = "RANK 20 DSET 11 FILE /c/.." },
    { .add = "RANK 20 DSET 11 FILE", .value = "" },
    { .add = "ASIDE 3 RANK 20 DSET 11 FILE ../a" },
};

static void damage(scr_hash *h, const struct damage *d)
{
    if (d->drop != NULL)
        assert_int_equal(
            scr_hash_unset(*d->from ? scr_hash_getf(h, d->from) : h, d->drop), 1);
    scr_hash *at = d->add != NULL ? scr_hash_setf(h, NULL, d->add) : NULL;
    assert_true(d->add == NULL || at != NULL);
    if (d->value != NULL) {
        scr_hash_unset_all(at);
        scr_hash_set(at, d->value, NULL);
    }
}

/* Nothing of it is merged, and the message says what is wrong, and where. */
static void a_damaged_map_is_refused(void **state)
{
    (void)state;
    const char *path = test_path("bad.scrinfo");
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const struct damage *d = &damages[i];
        struct scr_err err = SCR_ERR_INIT;
        scr_filemap *map = filemap_example(), *got = scr_filemap_new(), *full = rich(),
                    *before = rich();
        assert_int_equal(scr_filemap_set_aside(map, 3, map, 11, 20), SCR_OK);
        scr_hash *h = test_map_tree(map);
        damage(h, d);
        if (test_take_tree(h, got, &err) != SCR_E_CORRUPT)
            fail_msg("%s%s: taken", d->add ? d->add : d->from, d->drop ? d->drop : "");
        assert_true(err.code == SCR_E_CORRUPT && strstr(err.text, "filemap") != NULL);
        if (d->add != NULL && strstr(d->add, "FILE ") != NULL && d->value == NULL &&
            strstr(d->add, "FOUND") == NULL)
            assert_non_null(strstr(err.text, "bad file name"));
        assert_true(test_map_is_empty(got) && scr_filemap_ok(got));
        assert_int_equal(test_take_tree(h, full, NULL), SCR_E_CORRUPT);
        assert_true(test_maps_same(full, before));
        scr_err_clear(&err);
        assert_int_equal(
            scr_hash_file_write(&scr_sys_posix, path, h, SCR_VOLATILE, NULL), SCR_OK);
        assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, &err),
                         SCR_E_CORRUPT);
        assert_non_null(strstr(err.text, path));
        assert_true(test_map_is_empty(got));
        scr_hash_delete(h);
        scr_filemap_delete(map);
        scr_filemap_delete(got);
        scr_filemap_delete(full);
        scr_filemap_delete(before);
    }
}

static void names_that_are_none_of_these_are_taken(void **state)
{
    (void)state;
    static const char *const names[] = { "a",      "/a",    "a/b",   "...",    "/c/..a",
                                         "/c/a..", "//c/a", "/c/ a", "/c/a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        scr_filemap *map = scr_filemap_new(), *got = scr_filemap_new();
        scr_filemap_add_file(map, 1, 0, names[i]);
        struct scr_str s = test_packed(map);
        if (scr_filemap_unpack(s.p, s.len, got, NULL) != SCR_OK)
            fail_msg("\"%s\" is refused", names[i]);
        assert_true(test_maps_same(map, got));
        scr_str_free(&s);
        scr_filemap_delete(map);
        scr_filemap_delete(got);
    }
}

static int take(const void *bytes, size_t n, scr_filemap *map)
{
    unsigned char *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    int rc = scr_filemap_unpack(exact, n, map, NULL);
    free(exact);
    return rc;
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    struct scr_str s = test_packed(map);
    for (size_t n = 0; n < s.len; n++) {
        assert_int_equal(take(s.p, n, got), SCR_E_CORRUPT);
        assert_true(got->n == 0 && got->aside == NULL);
    }
    scr_str_append_n(&s, "", 1); /* and one byte more */
    assert_int_equal(take(s.p, s.len, got), SCR_E_CORRUPT);
    assert_int_equal(take(s.p, s.len - 1, got), SCR_OK);
    assert_true(test_maps_same(got, map));
    scr_str_free(&s);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* Whatever the bytes, what is taken is a sound map. */
static void every_changed_byte_is_survived(void **state)
{
    (void)state;
    static const unsigned char telling[] = { 0,   1,   2,   3,   0x7f, 0x80, 0xff,
                                             '0', '1', '2', '-', '.',  '/' };
    scr_filemap *map = rich();
    struct scr_str s = test_packed(map);
    for (size_t at = 0; at < s.len; at++) {
        char was = s.p[at];
        for (size_t i = 0; i < sizeof telling; i++) {
            scr_filemap *got = scr_filemap_new();
            s.p[at] = (char)telling[i];
            if (take(s.p, s.len, got) == SCR_OK)
                assert_sound(got);
            else
                assert_true(got->n == 0 && got->aside == NULL);
            scr_filemap_delete(got);
        }
        s.p[at] = was;
    }
    scr_str_free(&s);
    scr_filemap_delete(map);
}

/* Packs a tree in which one element is there twice: whole both times, or once with the
 * first of its elements and once with the others. */
struct twice {
    size_t which;    /* of all, a level before those below it */
    size_t counted;  /* so far */
    int split, done; /* done: which was one of them … */
    int is_value;    /* … and the value of a field of meta data */
};

/* Of two copies one keeps the first of the elements, the other what is behind it; where
 * there is one only, that is divided. */
static void divide(scr_hash *first, scr_hash *rest)
{
    scr_hash_elem *e = scr_hash_elem_first(first), *next;
    if (scr_hash_size(first) == 1) {
        const char *key = scr_hash_elem_key(e);
        divide(scr_hash_get(first, key), scr_hash_get(rest, key));
        return;
    }
    if (e != NULL)
        (void)scr_hash_unset(rest, scr_hash_elem_key(e));
    while (e != NULL && (next = scr_hash_elem_next(e)) != NULL)
        (void)scr_hash_unset(first, scr_hash_elem_key(next));
}

static void pack_both(struct scr_str *s, scr_hash_elem *e, int split)
{
    const char *key = scr_hash_elem_key(e);
    scr_hash *rest = scr_hash_dup(scr_hash_elem_hash(e)), *first = scr_hash_dup(rest);
    if (split)
        divide(first, rest);
    scr_pack_hash(s, key, first);
    scr_pack_hash(s, key, rest);
    scr_hash_delete(first);
    scr_hash_delete(rest);
}

/* meta: levels below META, -1: not below it. */
static void pack_twice(struct scr_str *s, const scr_hash *h, struct twice *t, int meta)
{
    size_t at = t->counted, n = scr_hash_size(h);
    int here = t->which >= at && t->which < at + n;
    t->counted += n;
    t->done |= here;
    t->is_value |= here && meta == 1;
    scr_pack_count(s, n + (here ? 1 : 0));
    for (SCR_HASH_EACH(e, h)) {
        const char *key = scr_hash_elem_key(e);
        int is_meta = meta < 0 && strcmp(key, "META") == 0;
        if (at++ == t->which) {
            pack_both(s, e, t->split);
            continue;
        }
        scr_pack_key(s, key);
        pack_twice(s, scr_hash_elem_hash(e), t, is_meta || meta >= 0 ? meta + 1 : -1);
    }
}

/* No key has two meanings: neither the first nor the last to come wins, nor do both. */
static void a_key_given_twice_is_refused(void **state)
{
    (void)state;
    scr_filemap *map = rich(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    int values = 0, done = 1;
    for (size_t which = 0; done; which++) {
        for (int split = 0; split < 2; split++) {
            struct twice t = { .which = which, .split = split };
            struct scr_str s = SCR_STR_INIT;
            pack_twice(&s, h, &t, -1);
            done = t.done;
            int rc = take(s.p, s.len, got);
            if (!done || t.is_value) /* whichever it is, it counts as not recorded */
                assert_int_equal(rc, SCR_OK);
            else if (rc != SCR_E_CORRUPT)
                fail_msg("element %zu twice%s: taken", which, split ? ", split" : "");
            values += t.is_value;
            scr_str_free(&s);
        }
        scr_filemap_delete(got);
        got = scr_filemap_new();
    }
    assert_true(values > 20);
    scr_hash_delete(h);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* The number of pairs is right, and each has its entry. */
static void a_pair_given_twice_is_not_two(void **state)
{
    (void)state;
    scr_filemap *map = filemap_example(), *got = scr_filemap_new();
    scr_hash *h = test_map_tree(map);
    struct scr_str s = SCR_STR_INIT;
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "RANK", scr_hash_get(h, "RANK"));
    scr_pack_key(&s, "DSET");
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "10", scr_hash_getf(h, "DSET 10"));
    scr_pack_key(&s, "11");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "RANK");
    scr_pack_count(&s, 2);
    scr_pack_hash(&s, "20", NULL);
    scr_pack_hash(&s, "20", NULL); /* and not 28 */
    assert_int_equal(take(s.p, s.len, got), SCR_E_CORRUPT);
    scr_str_free(&s);
    scr_hash_delete(h);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* Either part is a map that could be aside. */
static void a_time_given_twice_is_refused(void **state)
{
    (void)state;
    static const char *const keys[][2] = { { "3", "4" }, { "3", "3" }, { "3", "03" } };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        scr_filemap *got = scr_filemap_new();
        struct scr_str s = SCR_STR_INIT;
        scr_pack_count(&s, 1);
        scr_pack_key(&s, "ASIDE");
        scr_pack_count(&s, 2);
        for (int k = 0; k < 2; k++) {
            scr_filemap *part = scr_filemap_new();
            scr_filemap_add_rank(part, 1 + k, 7 + k);
            scr_pack_key(&s, keys[i][k]);
            scr_filemap_pack(&s, part);
            scr_filemap_delete(part);
        }
        assert_int_equal(take(s.p, s.len, got), i == 0 ? SCR_OK : SCR_E_CORRUPT);
        scr_str_free(&s);
        scr_filemap_delete(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_it_is_the_hash_of_the_manual),
        cmocka_unit_test(bytes_found_do_not_change_what_is_recorded),
        cmocka_unit_test(the_order_on_disk_does_not_matter),
        cmocka_unit_test(what_is_not_known_is_skipped_or_a_tag),
        cmocka_unit_test(ambiguous_meta_data_are_not_recorded),
        cmocka_unit_test(a_damaged_map_is_refused),
        cmocka_unit_test(names_that_are_none_of_these_are_taken),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(a_key_given_twice_is_refused),
        cmocka_unit_test(a_pair_given_twice_is_not_two),
        cmocka_unit_test(a_time_given_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
