/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy files: copies of CURRENT that are cut or flipped, unsafe files, poisoned
 * headers. */
#include "base/hashfile.h"
#include "helper_order.h"
#include "helper_pack.h"
#include "helper_redfile.h"
#include "helper_tmp.h"
#include "red/redfile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- CURRENT, and copies of it --- */

static void assert_same_bytes(const void *p, size_t n, const struct scr_str *s)
{
    assert_int_equal(n, s->len);
    assert_memory_equal(p, s->p, n);
}

static void assert_same_current(const struct scr_current *a,
                                const struct scr_current *b)
{
    struct scr_str s = redfile_packed(a), t = redfile_packed(b);
    assert_same_bytes(s.p, s.len, &t);
    scr_str_free(&s);
    scr_str_free(&t);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->files.n, b->files.n);
    assert_int_equal(a->has_chunk_crc, b->has_chunk_crc);
    assert_int_equal(a->chunk_crc, b->chunk_crc);
    assert_true((a->desc == NULL) == (b->desc == NULL));
    assert_true((a->dset == NULL) == (b->dset == NULL));
    assert_true(scr_hash_equal(a->desc, b->desc));
    assert_true(scr_hash_equal(a->dset, b->dset));
    for (size_t f = 0; f < a->files.n; f++) {
        const scr_meta *m = &a->file[f]->meta, *o = &b->file[f]->meta;
        assert_string_equal(a->file[f]->item.name, b->file[f]->item.name);
        assert_int_equal(m->has, o->has);
        assert_int_equal(m->size, o->size);
        assert_int_equal(m->crc, o->crc);
        assert_string_equal(m->text[SCR_META_FILE], o->text[SCR_META_FILE]);
    }
}

/* From the member whose files they are, by way of its right neighbour's header, to the
 * rank that rebuilds it, and into a header again. */
static void a_copy_travels_and_is_equal(void **state)
{
    (void)state;
    struct scr_redhead head, again;
    const char *path = test_path("travel.rs");
    const uint64_t len[] = { 100, 0, 7, 99 };
    struct scr_geom g;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 4, 3, len, NULL), SCR_OK);
    struct scr_redowner o = { &g, 0, 6, 4, world_ranks };
    struct scr_current *c[4], *got[4];
    struct scr_str s = SCR_STR_INIT, bytes[4], left[3];
    for (int i = 0; i < 4; i++) {
        c[i] = current_struct(i, files_of(i));
        bytes[i] = redfile_packed(c[i]);
    }
    for (int j = 1; j <= 3; j++)
        left[j - 1] = bytes[4 - j];
    scr_redfile_header(&s, &o, c[0], left, 3);
    assert_int_equal(scr_redfile_write(&posix_env, path, &s, NULL), SCR_OK);
    assert_int_equal(scr_redhead_read(&posix_env, path, &head, NULL), SCR_OK);
    assert_same_current(head.current, c[0]);
    for (int j = 1; j <= 3; j++) {
        const struct scr_redcopy *copy = &head.copy[j - 1];
        assert_same_bytes(copy->p, copy->n, &bytes[4 - j]);
        assert_int_equal(unpack_bytes(copy->p, copy->n, &got[4 - j], NULL), SCR_OK);
        assert_same_current(got[4 - j], c[4 - j]);
    }
    /* The header of member 1 is made of what came: its files, and its neighbours'. */
    scr_str_free(&s);
    o.member = 1;
    left[0] = redfile_packed(head.current);
    left[1] = redfile_packed(got[3]);
    left[2] = redfile_packed(got[2]);
    scr_redfile_header(&s, &o, got[1], left, 3);
    assert_int_equal(read_bytes(s.p, s.len, &again, NULL), SCR_OK);
    assert_same_current(again.current, c[1]);
    for (int j = 1; j <= 3; j++) {
        assert_same_bytes(again.copy[j - 1].p, again.copy[j - 1].n,
                          &bytes[(5 - j) % 4]);
        scr_str_free(&left[j - 1]);
        scr_current_delete(got[j]);
    }
    for (int i = 0; i < 4; i++) {
        scr_current_delete(c[i]);
        scr_str_free(&bytes[i]);
    }
    scr_redhead_fini(&head);
    scr_redhead_fini(&again);
    scr_str_free(&s);
}

static void files_are_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    enum { N = 12 };
    struct scr_current *c, *want = current_struct(0, N);
    scr_hash *h = current_tree(0, N), *list = scr_hash_get(h, "FILE");
    test_hash_sort(list, test_numbers_down);
    assert_string_equal(scr_hash_elem_key(scr_hash_elem_first(list)), "11");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_same_current(c, want);
    test_hash_sort(list, test_bytewise);
    assert_string_equal(scr_hash_elem_key(scr_hash_elem_next(
                            scr_hash_elem_next(scr_hash_elem_first(list)))),
                        "10");
    scr_current_delete(c);
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_same_current(c, want);
    scr_current_delete(c);
    scr_current_delete(want);
    scr_hash_delete(h);
}

static void files_are_added_to_those_that_were_read(void **state)
{
    (void)state;
    for (int before = 0; before < 10; before++) {
        struct scr_current *c, *want = current_struct(0, before + 9);
        scr_hash *h = current_tree(0, before), *all = current_tree(0, before + 9);
        assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
        for (int f = before; f < before + 9; f++) {
            scr_meta *m = scr_meta_new();
            (void)scr_meta_from_hash(m, scr_hash_getf(all, "FILE %d", f));
            add_file(c, m);
        }
        assert_same_current(c, want);
        scr_current_delete(c);
        scr_current_delete(want);
        scr_hash_delete(h);
        scr_hash_delete(all);
    }
}

static void what_a_copy_does_not_record(void **state)
{
    (void)state;
    struct scr_current *c;
    scr_hash *h = current_tree(1, 1);
    scr_hash_unset(h, "RANK");
    scr_hash_unset(h, "CHUNKCRC");
    scr_hash_unset(h, "DESC");
    scr_hash_set_val(h, "FUTURE", "unknown");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_int_equal(c->rank, -1);
    assert_int_equal(c->has_chunk_crc, 0);
    assert_null(c->desc);
    assert_non_null(c->dset);
    scr_current_delete(c);
    scr_hash_set_val(h, "RANK", "first");
    scr_hash_set_val(h, "CHUNKCRC", "0xfffffffff");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_int_equal(c->rank, -1);
    assert_int_equal(c->has_chunk_crc, 0);
    scr_current_delete(c);
    scr_hash_delete(h);
}

static void a_copy_cut_or_lengthened_is_refused(void **state)
{
    (void)state;
    struct scr_current *of = current_struct(1, 3), *c;
    struct scr_str s = redfile_packed(of);
    for (size_t cut = 0; cut < s.len; cut++) {
        assert_int_equal(unpack_bytes(s.p, cut, &c, NULL), SCR_E_CORRUPT);
        assert_null(c);
    }
    scr_str_append_n(&s, "", 1);
    assert_int_equal(unpack_bytes(s.p, s.len, &c, NULL), SCR_E_CORRUPT);
    assert_null(c);
    scr_current_delete(of);
    scr_str_free(&s);
}

/* A copy alone has no checksum: what is flipped is found or changes only what it says.
 */
static void a_flipped_copy_does_no_harm(void **state)
{
    (void)state;
    struct scr_current *of = current_struct(1, 3), *c;
    struct scr_str s = redfile_packed(of);
    int refused = 0;
    for (size_t at = 0; at < s.len * 8; at++) {
        s.p[at / 8] = (char)(s.p[at / 8] ^ (1 << at % 8));
        int rc = unpack_bytes(s.p, s.len, &c, NULL);
        s.p[at / 8] = (char)(s.p[at / 8] ^ (1 << at % 8));
        assert_true(rc == SCR_OK || rc == SCR_E_CORRUPT);
        assert_true((rc == SCR_OK) == (c != NULL));
        assert_true(rc != SCR_OK || c->files.n == 3);
        refused += rc != SCR_OK;
        scr_current_delete(c);
    }
    assert_true(refused > 1000);
    scr_current_delete(of);
    scr_str_free(&s);
}

static void refuse_files(const struct scr_current *c, enum scr_layout layout)
{
    struct scr_member_file *files;
    int has_crc;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_redfile_files(c, "/cache", layout, &files, &has_crc, &err),
                     SCR_E_CORRUPT);
    assert_true(err.text[0] != '\0');
    assert_null(files);
}

static void unsafe_or_impossible_files_are_refused(void **state)
{
    (void)state;
    const struct {
        struct change c;
        enum scr_layout layout;
    } rows[] = {
        { { "0", "FILE", NULL }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "." }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", ".." }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "../rank_1.ckpt" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "a/../../b" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "/etc/passwd" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", NULL }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "-1" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "9223372036854775808" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "18446744073709551616" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "1k" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "" }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", ".." }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "../out" }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "out/../.." }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "/etc" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "." }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", ".." }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "a/b" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "/etc/passwd" }, SCR_LAYOUT_PREFIX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scr_current *c;
        scr_hash *h = current_tree(0, 1);
        scr_hash *meta = scr_hash_getf(h, "FILE %s", rows[i].c.where);
        if (rows[i].c.val == NULL)
            assert_int_equal(scr_hash_unset(meta, rows[i].c.key), 1);
        else
            scr_hash_set_val(meta, rows[i].c.key, rows[i].c.val);
        assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
        refuse_files(c, rows[i].layout);
        scr_current_delete(c);
        scr_hash_delete(h);
    }
}

static struct scr_current *two_files(const char *a, uint64_t a_size, const char *b,
                                     uint64_t b_size)
{
    struct scr_current *c = scr_current_new(0, NULL, NULL);
    add_file(c, redfile_meta_of(a, a_size, 0));
    add_file(c, redfile_meta_of(b, b_size, 0));
    return c;
}

static void sizes_whose_sum_overflows_are_refused(void **state)
{
    (void)state;
    const uint64_t half = (uint64_t)1 << 62;
    const uint64_t sizes[][2] = { { half, half },
                                  { INT64_MAX, 1 },
                                  { 1, INT64_MAX },
                                  { INT64_MAX, INT64_MAX },
                                  { 0, (uint64_t)INT64_MAX + 1 },
                                  { 5, UINT64_MAX - 1 },
                                  { UINT64_MAX, UINT64_MAX } };
    struct scr_member_file *files;
    int has_crc;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct scr_current *c = two_files("a", sizes[i][0], "b", sizes[i][1]);
        refuse_files(c, SCR_LAYOUT_CACHE);
        scr_current_delete(c);
    }
    struct scr_current *c = two_files("a", half, "b", half - 1); /* the most */
    assert_int_equal(
        scr_redfile_files(c, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, NULL), SCR_OK);
    assert_int_equal(files[1].size, half - 1);
    scr_member_files_free(files, c->n);
    scr_current_delete(c);
}

static void two_files_of_one_name_are_refused(void **state)
{
    (void)state;
    const char *const names[][2] = {
        { "a", "a" }, { "a", "./a" }, { "1/a", "1//a" }, { "1/./a", "1/a" }
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct scr_current *c = two_files(names[i][0], 1, names[i][1], 2);
        refuse_files(c, SCR_LAYOUT_CACHE);
        scr_current_delete(c);
    }
    struct scr_current *c = two_files("a", 1, "b", 2); /* but one destination */
    for (int f = 0; f < 2; f++) {
        scr_meta_set_text(&c->file[f]->meta, SCR_META_PATH, f == 0 ? "out" : "./out");
        scr_meta_set_text(&c->file[f]->meta, SCR_META_NAME, "x");
    }
    refuse_files(c, SCR_LAYOUT_PREFIX);
    scr_current_delete(c);
}

static void files_of_a_header(void **state)
{
    (void)state;
    struct scr_member_file *files;
    int has_crc;
    struct scr_current *c = two_files("a", 5, "1/a", 6);
    scr_meta_set_text(&c->file[0]->meta, SCR_META_PATH, "out/dir");
    scr_meta_set_text(&c->file[0]->meta, SCR_META_NAME, "A");
    scr_meta_set_text(&c->file[1]->meta, SCR_META_PATH, ".");
    scr_meta_set_text(&c->file[1]->meta, SCR_META_NAME, "B");
    const struct scr_member_file crcs[] = { { .crc = 7 }, { .crc = 8 } };
    scr_current_reserve_crcs(c);
    scr_current_set_crcs(c, crcs, 9);
    assert_int_equal(c->chunk_crc, 9);
    assert_int_equal(
        scr_redfile_files(c, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, NULL), SCR_OK);
    assert_int_equal(c->n, 2);
    assert_int_equal(has_crc, 1);
    assert_string_equal(files[0].path, "/d/a");
    assert_string_equal(files[1].path, "/d/1/a");
    assert_int_equal(files[0].size, 5);
    assert_int_equal(files[1].size, 6);
    assert_int_equal(files[0].crc, 7);
    assert_int_equal(files[1].crc, 8);
    scr_member_files_free(files, c->n);

    assert_int_equal(
        scr_redfile_files(c, "/p", SCR_LAYOUT_PREFIX, &files, &has_crc, NULL), SCR_OK);
    assert_string_equal(files[0].path, "/p/out/dir/A");
    assert_string_equal(files[1].path, "/p/B");
    scr_member_files_free(files, c->n);

    scr_meta_unset_crc32(&c->file[1]->meta);
    assert_int_equal(
        scr_redfile_files(c, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, NULL), SCR_OK);
    assert_int_equal(has_crc, 0);
    scr_member_files_free(files, c->n);

    scr_meta_set_text(&c->file[1]->meta, SCR_META_FILE, "./a");
    refuse_files(c, SCR_LAYOUT_CACHE); /* the same file twice */
    scr_current_delete(c);
}

/* Replaces a random value, or key, anywhere below h. */
static void poison(scr_hash *h)
{
    static const char *const values[] = { "",
                                          "0",
                                          "-1",
                                          "1",
                                          "255",
                                          "256",
                                          "2147483647",
                                          "4294967296",
                                          "9223372036854775807",
                                          "18446744073709551616",
                                          "..",
                                          "../../x",
                                          "/",
                                          "0xffffffff",
                                          "0x",
                                          "RS",
                                          "PARTNER" };
    for (int steps = (int)redfile_rnd(6); steps > 0 && scr_hash_size(h) > 0; steps--) {
        unsigned skip = redfile_rnd((unsigned)scr_hash_size(h));
        scr_hash_elem *e = scr_hash_elem_first(h);
        while (skip-- > 0)
            e = scr_hash_elem_next(e);
        if (steps == 1 && redfile_rnd(3) == 0) {
            scr_hash_unset(h, scr_hash_elem_key(e));
            return;
        }
        h = scr_hash_elem_hash(e);
    }
    if (redfile_rnd(2))
        scr_hash_unset_all(h);
    scr_hash_set(h, values[redfile_rnd(sizeof values / sizeof values[0])], NULL);
}

/* A header that was believed is possible, and its files lie where they may. */
static void assert_possible(const struct scr_redhead *head)
{
    const struct scr_redinfo *info = &head->info;
    assert_in_range(info->set.n, 1, SCR_EC_MAX);
    assert_in_range(info->set.member, 0, info->set.n - 1);
    assert_true(info->set.failures >= 0 && info->set.failures < info->set.n);
    for (int i = 0; i < info->set.n; i++)
        assert_in_range(info->set.world[i], info->set.id, info->set.ranks - 1);
    assert_int_equal(head->current->rank, info->set.world[info->set.member]);
}

static void assert_inside(const struct scr_current *c)
{
    struct scr_member_file *files;
    int has_crc;
    for (size_t f = 0; f < c->files.n; f++)
        assert_int_equal(strtoul(c->file[f]->item.name, NULL, 10), f);
    if (scr_redfile_files(c, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, NULL) != SCR_OK)
        return;
    for (size_t f = 0; f < c->n; f++)
        assert_memory_equal(files[f].path, "/d/", 3);
    scr_member_files_free(files, c->n);
}

/* Checks all entries; 1 if it is a header. */
static int look_at(const void *bytes, size_t len)
{
    struct scr_redhead head;
    struct scr_current *c;
    int rc = read_bytes(bytes, len, &head, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_CORRUPT);
    if (rc != SCR_OK) {
        assert_no_head(&head);
        return 0;
    }
    assert_possible(&head);
    assert_inside(head.current);
    for (int j = 0; j < SCR_EC_MAX; j++) {
        const struct scr_redcopy *copy = &head.copy[j];
        if (copy->p == NULL || unpack_bytes(copy->p, copy->n, &c, NULL) != SCR_OK)
            continue;
        assert_inside(c);
        scr_current_delete(c);
    }
    scr_redhead_fini(&head);
    return 1;
}

static void poisoned_headers_never_pass_for_more_than_they_are(void **state)
{
    (void)state;
    int accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        void *bytes;
        size_t n;
        struct scr_current *c;
        scr_hash *h = example_tree();
        for (unsigned i = redfile_rnd(4); i > 0; i--)
            poison(h);
        bytes = test_hash_encoded(h, &n);
        assert_non_null(bytes);
        int ok = look_at(bytes, n);
        if (unpack_tree(scr_hash_get(h, "PARTNER"), &c, NULL) == SCR_OK) {
            assert_inside(c);
            scr_current_delete(c);
        }
        accepted += ok;
        refused += !ok;
        free(bytes);
        scr_hash_delete(h);
    }
    assert_true(accepted > 1000 && refused > 1000);
}

/* Byte changes behind a checksum that is right again: only structure can refuse them.
 */
static void mutated_bytes_with_a_good_checksum_do_no_harm(void **state)
{
    (void)state;
    struct scr_str s = redfile_example();
    uint8_t *work = malloc(s.len);
    int accepted = 0, refused = 0;
    for (int round = 0; round < 5000; round++) {
        memcpy(work, s.p, s.len);
        for (unsigned i = 1 + redfile_rnd(4); i > 0; i--)
            work[20 + redfile_rnd((unsigned)s.len - 24)] = (uint8_t)redfile_rnd(256);
        seal(work, s.len);
        int ok = look_at(work, s.len);
        accepted += ok;
        refused += !ok;
    }
    assert_true(accepted > 250 && refused > 250);
    free(work);
    scr_str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_travels_and_is_equal),
        cmocka_unit_test(files_are_in_the_order_of_their_numbers),
        cmocka_unit_test(files_are_added_to_those_that_were_read),
        cmocka_unit_test(what_a_copy_does_not_record),
        cmocka_unit_test(a_copy_cut_or_lengthened_is_refused),
        cmocka_unit_test(a_flipped_copy_does_no_harm),
        cmocka_unit_test(unsafe_or_impossible_files_are_refused),
        cmocka_unit_test(sizes_whose_sum_overflows_are_refused),
        cmocka_unit_test(two_files_of_one_name_are_refused),
        cmocka_unit_test(files_of_a_header),
        cmocka_unit_test(poisoned_headers_never_pass_for_more_than_they_are),
        cmocka_unit_test(mutated_bytes_with_a_good_checksum_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
