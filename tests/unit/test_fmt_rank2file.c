/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of the files of a dataset: their entries, their bytes on disk and between
 * ranks, and untrusted bytes. */

#include "base/hashfile.h"
#include "fmt/rank2file.h"
#include "helper_golden.h"
#include "helper_lists.h"
#include "helper_rank2file.h"
#include "helper_tmp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- what a list holds --- */

static void files_by_rank_and_path(void **state)
{
    (void)state;
    struct scr_rank2file l;
    make_list(&l);
    assert_int_equal(scr_rank2file_num_files(&l), 4);
    assert_int_equal(l.n, 4);
    for (size_t i = 0; i < l.n; i++)
        assert_int_equal(l.of[i]->rank, i);
    assert_null(scr_rank2file_rank(&l, 4));
    assert_ptr_equal(scr_rank2file_rank(&l, 3), l.of[3]);
    assert_ptr_equal(scr_rank2file_add_rank(&l, 3), l.of[3]); /* the one there is */
    assert_int_equal(l.of[3]->files.n, 0);

    const struct scr_listed *f = scr_table_find(&l.of[0]->files, "ckpt.18/rank_0.ckpt");
    assert_true(f->has_size && f->size == 524294 && f->has_crc && f->crc == 0x6697d4ef);
    assert_true(f->is_shared && f->is_packed && f->packed.size == frame.size);
    assert_string_equal(f->asked, "ckpt.18/asked/state");
    assert_ptr_equal(scr_rank2file_add_file(&l, 0, f->item.name), f);
    char *stored = scr_listed_stored(f);
    assert_string_equal(stored, "ckpt.18/rank_0.ckpt.zst");
    free(stored);
    stored = scr_listed_stored(scr_table_find(&l.of[0]->files, "ckpt.18/shared"));
    assert_string_equal(stored, "ckpt.18/shared");
    free(stored);

    scr_listed_set_asked((struct scr_listed *)f, &l.of[0]->files, "");
    assert_null(f->asked);
    scr_rank2file_fini(&l);
    assert_true(test_list_is_empty(&l));
    scr_rank2file_fini(&l); /* again */
}

static void a_copy_has_all_that_is_recorded(void **state)
{
    (void)state;
    struct scr_rank2file l;
    make_list(&l);
    struct scr_rank_files *to = scr_rank2file_add_rank(&l, 4);
    for (SCR_EACH(const struct scr_listed, f, &l.of[0]->files))
        assert_non_null(scr_listed_copy(&to->files, f));
    struct scr_listed *f = scr_table_find(&to->files, "ckpt.18/rank_0.ckpt");
    scr_table_fini(&l.of[0]->files); /* the copy borrows nothing of it */
    assert_true(f->size == 524294 && f->crc == 0x6697d4ef && f->is_shared);
    assert_true(f->is_packed && f->packed.crc == frame.crc);
    assert_string_equal(f->asked, "ckpt.18/asked/state");
    assert_int_equal(to->files.n, 2);
    scr_rank2file_fini(&l);
}

static void what_is_taken_counts(void **state)
{
    (void)state;
    struct scr_rank2file to, from = { .ranks = 7 };
    make_list(&to);
    test_list_add(&from, 6, "b", 6);
    test_list_add(&from, 2, "ckpt.18/z", 5); /* in both */
    test_list_add(&from, 2, "c", 2);
    const struct scr_rank_files *moved = scr_rank2file_rank(&from, 6);
    scr_rank2file_take(&to, &from);
    assert_true(test_list_is_empty(&from));
    assert_true(scr_rank2file_ok(&to) && to.ranks == 5 && to.n == 5);
    assert_ptr_equal(scr_rank2file_rank(&to, 6), moved);
    const struct scr_rank_files *two = scr_rank2file_rank(&to, 2);
    assert_int_equal(two->files.n, 3);
    const struct scr_listed *z = scr_table_find(&two->files, "ckpt.18/z");
    assert_true(z->size == 5 && !z->has_crc);
    scr_rank2file_take(&to, &from); /* nothing */
    assert_int_equal(scr_rank2file_num_files(&to), 6);
    scr_rank2file_fini(&to);
}

/* Adding a file costs the same for any number of files: were it the number of those
 * before, this would take minutes. */
/* Bytes that are moved to make a place in an array. Linked with --wrap=memmove. */
static size_t moved;
void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    moved += n;
    return __real_memmove(to, from, n);
}

/* Ranks from all over the run, a few at a time, as a scan comes upon them. */
static void a_short_list_moves_each_entry_of_the_long_one_once(void **state)
{
    enum { N = 4000, SETS = 500, BATCH = 100 };
    struct scr_rank2file all, some, one;
    char path[32];
    (void)state;
    scr_rank2file_init(&all, N);
    scr_rank2file_init(&some, N);
    scr_rank2file_init(&one, N);
    for (int i = 0; i < N; i++) {
        int rank = i % (N / SETS) * SETS + i / (N / SETS);
        snprintf(path, sizeof path, "rank_%d", rank);
        test_list_add(&one, rank, path, 1);
        test_list_add(&some, rank, path, 1);
        if ((i + 1) % BATCH != 0)
            continue;
        test_list_add(&some, rank - rank % SETS, "again", 2); /* it is known by now */
        test_list_add(&one, rank - rank % SETS, "again", 2);
        moved = 0;
        scr_rank2file_take(&all, &some);
        assert_true(moved <= all.n * sizeof *all.of);
        assert_int_equal(all.n, one.n);
        scr_rank2file_init(&some, N);
    }
    assert_true(test_lists_same(&all, &one));
    scr_rank2file_fini(&all);
    scr_rank2file_fini(&one);
}

static void many_files_and_ranks(void **state)
{
    (void)state;
    enum { N = 100000 };
    char path[64];
    struct scr_rank2file l, again = { 0 };
    scr_rank2file_init(&l, N);
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "c/file.%d", i);
        test_list_add(&l, 0, path, 1);
        test_list_add(&l, i, "a", 1);
    }
    struct scr_str s = test_list_packed(&l);
    assert_int_equal(scr_rank2file_unpack(s.p, s.len, &again, NULL), SCR_OK);
    assert_int_equal(scr_rank2file_num_files(&again), 2 * N);
    assert_true(test_lists_same(&l, &again));
    scr_str_free(&s);
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&again);
}

/* --- bytes on disk --- */

static void assert_same_file(const char *path, const char *golden)
{
    size_t n, want_n;
    unsigned char *got = test_get(path, &n), *want = test_get(golden, &want_n);
    if (n != want_n || memcmp(got, want, n) != 0)
        fail_msg("%s: written as other bytes", golden);
    free(want);
    free(got);
}

static void a_written_part_is_the_golden_one(void **state)
{
    (void)state;
    struct scr_rank2file l;
    const char *path = test_path("part");
    make_list(&l);
    assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, &l, NULL), SCR_OK);
    assert_same_file(path, SCR_GOLDEN_DIR "/rank2file/good-part-all-keys.scr");
    scr_rank2file_fini(&l);
}

static void a_written_root_is_the_golden_one(void **state)
{
    (void)state;
    int parts[] = { 0, 2 };
    struct scr_rank2file_root root = { 1, 4, parts, 2 };
    const char *path = test_path("root");
    assert_int_equal(scr_rank2file_root_write(&scr_sys_posix, path, &root, NULL),
                     SCR_OK);
    assert_same_file(path, SCR_GOLDEN_DIR "/rank2file/good-root.scr");
}

/* The file stays as it was. */
static void assert_refused(const char *path, const struct scr_rank2file *l, int code)
{
    struct scr_err err = SCR_ERR_INIT;
    size_t n = 0;
    assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, l, &err), code);
    assert_non_null(strstr(err.text, path));
    char *bytes = test_get(path, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "was", 3);
    free(bytes);
}

static void what_no_reader_takes_is_not_written(void **state)
{
    (void)state;
    static const char *const outside[] = { "/c", "../c", "a/../../c", "" };
    const char *path = test_path("refused");
    struct scr_rank2file l = { 0 };
    test_put(path, "was", 3);
    assert_refused(path, &l, SCR_E_ARG); /* of no ranks */
    l.ranks = 3;
    test_list_add(&l, 3, "a", 1);
    assert_refused(path, &l, SCR_E_ARG);
    scr_rank2file_fini(&l);
    l.ranks = 3;
    test_list_add(&l, -1, "a", 1);
    assert_refused(path, &l, SCR_E_ARG);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        scr_rank2file_fini(&l);
        l.ranks = 3;
        test_list_add(&l, 2, "a", 1);
        test_list_add(&l, 2, outside[i], 1);
        assert_refused(path, &l, SCR_E_OUTSIDE);
    }
    scr_rank2file_fini(&l);
    l.ranks = 3;
    scr_listed_set_packed(scr_rank2file_add_file(&l, 2, "a"), &frame); /* no SIZE */
    assert_refused(path, &l, SCR_E_ARG);
    scr_rank2file_fini(&l);
}

static void roots_that_no_reader_takes_are_not_written(void **state)
{
    (void)state;
    int good[] = { 0, 2 }, twice[] = { 2, 0, 2 }, below[] = { 0, -1 }, above[] = { 4 };
    const struct scr_rank2file_root bad[] = {
        { 0, 4, good, 2 },  { 9, 4, good, 2 },  { -1, 4, good, 2 }, { 1, 0, good, 0 },
        { 1, 4, twice, 3 }, { 1, 4, below, 2 }, { 1, 4, above, 1 },
    };
    const char *path = test_path("no.root");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_rank2file_root_write(&scr_sys_posix, path, &bad[i], NULL),
                         SCR_E_ARG);
    struct stat st;
    assert_int_equal(stat(path, &st), -1);
}

/* 1 if it has keys that are left out when it is written again, or of a file SIZE and
 * CRC not behind the others. */
static int is_of_others(const char *name)
{
    return strcmp(name, "good-root-more-keys.scr") == 0 ||
           strcmp(name, "good-part-compressed.scr") == 0;
}

static void check_good(const struct test_golden *g, void *arg)
{
    struct scr_rank2file_root root;
    struct scr_rank2file l = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    const char *path = test_path("%s", g->name);
    (void)arg;
    if (scr_rank2file_root_read(&scr_sys_posix, g->path, &root, &l, &err) != SCR_OK)
        fail_msg("%s: %s", g->name, err.text);
    if (root.level > 0) {
        assert_true(test_list_is_empty(&l));
        assert_int_equal(scr_rank2file_read(&scr_sys_posix, g->path, &l, NULL),
                         SCR_E_CORRUPT);
        assert_int_equal(scr_rank2file_root_write(&scr_sys_posix, path, &root, NULL),
                         SCR_OK);
    } else {
        assert_true(root.n == 0);
        assert_int_equal(l.ranks, root.ranks);
        assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, &l, NULL), SCR_OK);
    }
    if (!is_of_others(g->name))
        assert_same_file(path, g->path);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&l);
}

static void good_files_are_read_and_written_again(void **state)
{
    (void)state;
    (void)test_golden_each("rank2file", "good-", check_good, NULL);
}

static void check_bad(const struct test_golden *g, void *arg)
{
    struct scr_rank2file_root root;
    struct scr_rank2file l = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    (void)arg;
    int rc = scr_rank2file_root_read(&scr_sys_posix, g->path, &root, &l, &err);
    if (rc != g->code || err.code != g->code || strstr(err.text, "rank2file: ") == NULL)
        fail_msg("%s: %s %s", g->name, scr_err_meaning(rc), err.text);
    assert_true(root.part == NULL || rc == SCR_OK || root.level == 0);
    assert_true(test_list_is_empty(&l));
    scr_rank2file_root_fini(&root);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    (void)test_golden_each("rank2file", "bad-", check_bad, NULL);
}

static void an_empty_file_is_no_list(void **state)
{
    (void)state;
    struct scr_rank2file l = { 0 };
    struct scr_rank2file_root root;
    struct scr_err err = SCR_ERR_INIT;
    const char *path = test_path("empty"), *none = test_path("none");
    test_put(path, "", 0);
    assert_int_equal(scr_rank2file_read(&scr_sys_posix, path, &l, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(scr_rank2file_root_read(&scr_sys_posix, path, &root, &l, NULL),
                     SCR_E_CORRUPT);
    assert_int_equal(scr_rank2file_read(&scr_sys_posix, none, &l, NULL), SCR_E_NOENT);
    assert_int_equal(scr_rank2file_root_read(&scr_sys_posix, none, &root, NULL, NULL),
                     SCR_E_NOENT);
    assert_true(test_list_is_empty(&l) && root.part == NULL);
}

/* --- what is in a tree --- */

static void older_summaries_know_no_level(void **state)
{
    (void)state;
    struct scr_rank2file l = { 0 };
    scr_hash *part = scr_hash_new();
    scr_hash_setf(part, NULL, "RANK 1 FILE a SIZE 5");
    scr_hash_setf(part, NULL, "RANK 1 FILE a COMPLETE 0");
    scr_hash_setf(part, NULL, "RANK 1 FILE b COMPLETE 1");
    assert_int_equal(scr_rank2file_from_hash(&l, part, NULL), SCR_E_CORRUPT);
    scr_hash_set_val_i64(part, "RANKS", 2); /* behind what is read by it */
    assert_int_equal(scr_rank2file_from_hash(&l, part, NULL), SCR_OK);
    const struct scr_listed *a = scr_table_find(&l.of[0]->files, "a"),
                            *b = scr_table_find(&l.of[0]->files, "b");
    assert_true(a->size == 5 && a->is_incomplete && !b->has_size && !b->is_incomplete);
    scr_rank2file_fini(&l);
    scr_hash_set_val_i64(part, "LEVEL", 1);
    assert_int_equal(scr_rank2file_from_hash(&l, part, NULL), SCR_E_CORRUPT);
    assert_true(test_list_is_empty(&l));
    scr_hash_delete(part);
}

static void ranks_may_be_bound(void **state)
{
    (void)state;
    struct scr_rank2file l, got;
    make_list(&l); /* ranks up to 3 */
    struct scr_str s = test_list_packed(&l);
    scr_rank2file_init(&got, 4);
    assert_int_equal(test_take_list(s.p, s.len, &got, NULL), SCR_OK);
    assert_int_equal(got.ranks, 5);
    scr_rank2file_fini(&got);
    scr_rank2file_init(&got, 3);
    assert_int_equal(test_take_list(s.p, s.len, &got, NULL), SCR_E_CORRUPT);
    assert_true(test_list_is_empty(&got));
    scr_str_free(&s);
    scr_rank2file_fini(&l);
}

/* --- between ranks --- */

static void ranks_travel_one_after_the_other(void **state)
{
    (void)state;
    struct scr_rank2file l, got = { .ranks = 5 };
    struct scr_str s = SCR_STR_INIT;
    make_list(&l);
    ((struct scr_listed *)l.of[2]->files.first)->is_incomplete = 1;
    assert_int_equal(scr_rank_files_unpack("", 0, &got, NULL), SCR_OK); /* none */
    for (size_t i = 0; i < l.n; i++)
        scr_rank_files_pack(&s, l.of[i]);
    assert_int_equal(scr_rank_files_unpack(s.p, s.len, &got, NULL), SCR_OK);
    assert_true(test_lists_same(&l, &got));
    assert_int_equal(scr_rank_files_unpack(s.p, s.len, &got, NULL), SCR_OK); /* again */
    assert_true(test_lists_same(&l, &got));

    got.ranks = 3;
    struct scr_str before = test_list_packed(&got);
    assert_int_equal(scr_rank_files_unpack(s.p, s.len, &got, NULL), SCR_E_CORRUPT);
    assert_int_equal(scr_rank_files_unpack(s.p, s.len - 1, &got, NULL), SCR_E_CORRUPT);
    struct scr_str after = test_list_packed(&got);
    assert_true(before.len == after.len &&
                memcmp(before.p, after.p, after.len) == 0); /* nothing was added */
    scr_str_free(&before);
    scr_str_free(&after);
    scr_str_free(&s);
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&got);
}

/* In one parcel as in two. */
static void what_is_sent_twice_of_a_rank_is_joined(void **state)
{
    (void)state;
    struct scr_rank2file l = { 0 }, got = { 0 };
    struct scr_str s = SCR_STR_INIT;
    test_list_add(&l, 1, "a", 1);
    test_list_add(&l, 1, "b", 2);
    scr_rank_files_pack(&s, l.of[0]);
    scr_rank2file_fini(&l);
    test_list_add(&l, 1, "b", 3);
    test_list_add(&l, 1, "c", 4);
    scr_rank_files_pack(&s, l.of[0]);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(scr_rank_files_unpack(s.p, s.len, &got, NULL), SCR_OK);
        assert_true(got.n == 1 && got.of[0]->rank == 1 && got.of[0]->files.n == 3);
        const struct scr_listed *b = scr_table_find(&got.of[0]->files, "b");
        assert_int_equal(b->size, 3); /* the later one */
    }
    scr_str_free(&s);
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&got);
}

/* The list from each rank is added separately: were all files checked each time, this
 * would take minutes. */
static void parcels_of_many_ranks(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct scr_rank2file got = { .ranks = N };
    for (int i = 0; i < N; i++) {
        struct scr_rank2file one = { 0 };
        struct scr_str s = SCR_STR_INIT;
        test_list_add(&one, i, "a", 1);
        scr_rank_files_pack(&s, one.of[0]);
        assert_int_equal(scr_rank_files_unpack(s.p, s.len, &got, NULL), SCR_OK);
        scr_str_free(&s);
        scr_rank2file_fini(&one);
    }
    assert_int_equal(scr_rank2file_bytes(&got), N);
    scr_rank2file_fini(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_by_rank_and_path),
        cmocka_unit_test(a_copy_has_all_that_is_recorded),
        cmocka_unit_test(what_is_taken_counts),
        cmocka_unit_test(a_short_list_moves_each_entry_of_the_long_one_once),
        cmocka_unit_test(many_files_and_ranks),
        cmocka_unit_test(a_written_part_is_the_golden_one),
        cmocka_unit_test(a_written_root_is_the_golden_one),
        cmocka_unit_test(what_no_reader_takes_is_not_written),
        cmocka_unit_test(roots_that_no_reader_takes_are_not_written),
        cmocka_unit_test(good_files_are_read_and_written_again),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(an_empty_file_is_no_list),
        cmocka_unit_test(older_summaries_know_no_level),
        cmocka_unit_test(ranks_may_be_bound),
        cmocka_unit_test(ranks_travel_one_after_the_other),
        cmocka_unit_test(what_is_sent_twice_of_a_rank_is_joined),
        cmocka_unit_test(parcels_of_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
