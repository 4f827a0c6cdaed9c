/* SPDX-License-Identifier: BSD-3-Clause */
/* Summary and rank2file of a dataset in the prefix directory. */
#include "helper_failure.h"
#include "helper_lists.h"
#include "helper_store.h"

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static int read_summary(struct test_store *t, int id, int *complete, scr_hash *dset)
{
    scr_err_clear(&t->err);
    return scr_prefix_summary_read(&t->env, &t->p, id, complete, dset, &t->err);
}

/* --- summary --- */

static void a_summary_comes_back(void **state)
{
    (void)state;
    struct test_store t;
    int complete = 0;
    scr_hash *dset = scr_hash_new(), *want = test_dataset(18, "ckpt.18");
    test_store_open(&t);
    test_summary(&t, 18, "ckpt.18", 1);
    assert_int_equal(read_summary(&t, 18, &complete, dset), SCR_OK);
    assert_int_equal(complete, 1);
    assert_true(scr_hash_equal(dset, want));
    scr_hash_delete(dset);
    scr_hash_delete(want);
    test_store_close(&t);
}

static void absent_damaged_and_foreign_ones_are_distinguished(void **state)
{
    (void)state;
    struct test_store t;
    int complete;
    scr_hash *dset = scr_hash_new();
    test_store_open(&t);
    assert_int_equal(read_summary(&t, 1, &complete, dset), SCR_E_NOENT);
    test_summary(&t, 2, "ckpt.2", 1);
    test_put(test_path("prefix/.scr/scr.dataset.2/summary.scr"), "bad", 3);
    assert_int_equal(read_summary(&t, 2, &complete, dset), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "scr.dataset.2/summary.scr"));
    test_summary(&t, 3, "ckpt.3", 1);
    rename(test_path("prefix/.scr/scr.dataset.3"),
           test_path("prefix/.scr/scr.dataset.4"));
    assert_int_equal(read_summary(&t, 4, &complete, dset), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "describes dataset 3"));
    assert_int_equal(scr_hash_size(dset), 0);
    scr_hash_delete(dset);
    test_store_close(&t);
}

static void writing_keeps_what_it_does_not_know_and_refuses_newer_ones(void **state)
{
    (void)state;
    struct test_store t;
    scr_hash *h = scr_hash_new(), *dset = test_dataset(5, "five");
    const char *path = test_path("prefix/.scr/scr.dataset.5/summary.scr");
    test_store_open(&t);
    test_summary(&t, 5, "five", 0);
    scr_hash_file_read(&scr_sys_posix, path, h, NULL);
    scr_hash_set_kv(h, "FUTURE", "thing");
    scr_hash_file_write(&scr_sys_posix, path, h, SCR_DURABLE, NULL);
    test_summary(&t, 5, "five", 1);
    scr_hash_unset_all(h);
    scr_hash_file_read(&scr_sys_posix, path, h, NULL);
    assert_non_null(scr_hash_get_kv(h, "FUTURE", "thing"));
    assert_string_equal(scr_hash_get_val(h, "COMPLETE"), "1");

    scr_hash_set_val_i64(h, "VERSION", 7);
    scr_hash_file_write(&scr_sys_posix, path, h, SCR_DURABLE, NULL);
    assert_int_equal(scr_prefix_summary_write(&t.env, &t.p, 5, dset, 1, &t.err),
                     SCR_E_VERSION);
    scr_hash_delete(h);
    scr_hash_delete(dset);
    test_store_close(&t);
}

static void writing_under_another_id_is_refused(void **state)
{
    (void)state;
    struct test_store t;
    scr_hash *dset = test_dataset(5, "five");
    test_store_open(&t);
    assert_int_equal(scr_prefix_summary_write(&t.env, &t.p, 6, dset, 1, &t.err),
                     SCR_E_CORRUPT);
    assert_false(test_exists(test_path("prefix/.scr/scr.dataset.6")));
    scr_hash_delete(dset);
    test_store_close(&t);
}

static void write_with(int failure)
{
    scr_hash *dset = test_dataset(5, "five");
    for (long n = 0;; n++) {
        struct test_store t;
        scr_hash *found = scr_hash_new();
        int complete = -1;
        test_store_open(&t);
        test_summary(&t, 5, "five", 0);
        test_failure_arm(failure, n);
        int rc = scr_prefix_summary_write(&t.env, &t.p, 5, dset, 1, &t.err);
        int fired = test_failure_off(failure);
        assert_int_equal(read_summary(&t, 5, &complete, found), SCR_OK);
        assert_true(complete == 1 || (rc != SCR_OK && complete == 0));
        scr_hash_delete(found);
        test_store_close(&t);
        if (!fired)
            break;
    }
    scr_hash_delete(dset);
}

static void writing_survives_any_failure(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++)
        write_with(failure);
}

/* --- rank2file --- */

static void put_hash(int id, const char *name, const scr_hash *h)
{
    assert_int_equal(scr_dir_make(&scr_sys_posix,
                                  test_path("prefix/.scr/scr.dataset.%d", id), 0700,
                                  NULL),
                     SCR_OK);
    assert_int_equal(
        scr_hash_file_write(&scr_sys_posix,
                            test_path("prefix/.scr/scr.dataset.%d/%s", id, name), h,
                            SCR_DURABLE, NULL),
        SCR_OK);
}

static const char *list_path(int id, const char *suffix)
{
    const char *dir = test_path("prefix/.scr/scr.dataset.%d", id);
    assert_int_equal(scr_dir_make(&scr_sys_posix, dir, 0700, NULL), SCR_OK);
    return test_path("prefix/.scr/scr.dataset.%d/rank2file%s", id, suffix);
}

static void put_list(int id, const char *suffix, const struct scr_rank2file *l)
{
    assert_int_equal(
        scr_rank2file_write(&scr_sys_posix, list_path(id, suffix), l, NULL), SCR_OK);
}

static void put_root(int id, const char *suffix, int ranks, int *parts, size_t n)
{
    const struct scr_rank2file_root root = { 1, ranks, parts, n };
    assert_int_equal(
        scr_rank2file_root_write(&scr_sys_posix, list_path(id, suffix), &root, NULL),
        SCR_OK);
}

/* A part of a run of `ranks` with one file for each of the ranks from … to-1. */
static struct scr_rank2file new_part(int ranks, int from, int to)
{
    struct scr_rank2file l;
    scr_rank2file_init(&l, ranks);
    for (int r = from; r < to; r++) {
        char path[32];
        snprintf(path, sizeof path, "ckpt/rank_%d", r);
        scr_listed_set_crc(test_list_add(&l, r, path, 100), 0x1234);
    }
    return l;
}

static int read_map(struct test_store *t, int id, struct scr_rank2file *l)
{
    scr_err_clear(&t->err);
    scr_rank2file_fini(l);
    return scr_prefix_rank2file_read(&t->env, &t->p, id, l, &t->err);
}

/* Writes a root with two parts, ranks 0-1 and 2-3, as dataset 9. */
static void put_two_parts(void)
{
    int parts[] = { 0, 2 };
    struct scr_rank2file a = new_part(4, 0, 2), b = new_part(4, 2, 4);
    put_root(9, "", 4, parts, 2);
    put_list(9, ".0.0", &a);
    put_list(9, ".0.2", &b);
    scr_rank2file_fini(&a);
    scr_rank2file_fini(&b);
}

static void parts_are_merged(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_rank2file l = { 0 }, want = new_part(4, 0, 4);
    test_store_open(&t);
    put_two_parts();
    assert_int_equal(read_map(&t, 9, &l), SCR_OK);
    assert_true(test_lists_same(&l, &want));
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&want);
    test_store_close(&t);
}

static void a_root_may_be_a_part_itself(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_rank2file l = { 0 }, only = new_part(2, 0, 2);
    test_store_open(&t);
    put_list(3, "", &only);
    assert_int_equal(read_map(&t, 3, &l), SCR_OK);
    assert_true(test_lists_same(&l, &only));
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&only);
    test_store_close(&t);
}

static void missing_and_damaged_parts_are_errors(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_rank2file l = { 0 }, beyond = new_part(6, 2, 5);
    test_store_open(&t);
    assert_int_equal(read_map(&t, 1, &l), SCR_E_NOENT);
    assert_int_equal(l.ranks, 0); /* there is no list */
    put_two_parts();
    put_list(9, ".0.2", &beyond); /* of a rank that the root knows nothing of */
    assert_int_equal(read_map(&t, 9, &l), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "no such rank: 4"));
    test_put(test_path("prefix/.scr/scr.dataset.9/rank2file.0.2"), "bad", 3);
    assert_int_equal(read_map(&t, 9, &l), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "rank2file.0.2"));
    unlink(test_path("prefix/.scr/scr.dataset.9/rank2file.0.2"));
    assert_int_equal(read_map(&t, 9, &l), SCR_E_NOENT);
    assert_int_equal(l.ranks, 4); /* there is one that lacks a part */
    scr_rank2file_fini(&l);
    scr_rank2file_fini(&beyond);
    test_store_close(&t);
}

/* A root whose only part has that FILE. */
static int read_hostile(struct test_store *t, const char *file)
{
    struct scr_rank2file l = { 0 };
    scr_hash *root = scr_hash_new();
    scr_hash_set_val_i64(root, "LEVEL", 1);
    scr_hash_set_val_i64(root, "RANKS", 1);
    scr_hash_set_val(scr_hash_set_kv_int(root, "RANK", 0), "FILE", file);
    put_hash(4, "rank2file", root);
    int rc = read_map(t, 4, &l);
    scr_hash_delete(root);
    scr_rank2file_fini(&l);
    return rc;
}

static void hostile_part_names_are_refused(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(read_hostile(&t, "/../../../secret"), SCR_E_CORRUPT);
    assert_int_equal(read_hostile(&t, ""), SCR_E_CORRUPT);
    assert_int_equal(read_hostile(&t, ".0.0/../x"), SCR_E_CORRUPT);
    test_store_close(&t);
}

static void a_part_that_is_a_root_again_does_not_loop(void **state)
{
    (void)state;
    struct test_store t;
    int only = 0;
    struct scr_rank2file l = { 0 };
    test_store_open(&t);
    put_root(4, "", 1, &only, 1);
    put_root(4, ".0.0", 1, &only, 1);
    assert_int_equal(read_map(&t, 4, &l), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "LEVEL"));
    scr_rank2file_fini(&l);
    test_store_close(&t);
}

/* Of rank 0. */
static const struct scr_listed *file_of(const struct scr_rank2file *l, const char *path)
{
    assert_true(l->n > 0 && l->of[0]->rank == 0);
    const struct scr_listed *f = scr_table_find(&l->of[0]->files, path);
    assert_non_null(f);
    return f;
}

static void an_old_summary_gives_both(void **state)
{
    (void)state;
    struct test_store t;
    int complete;
    scr_hash *h = scr_hash_new(), *dset = scr_hash_new();
    struct scr_rank2file l = { 0 };
    test_store_open(&t);
    scr_hash_set_val_i64(h, "VERSION", 5);
    scr_hash *ckpt = scr_hash_set_kv_int(h, "CKPT", 6);
    scr_hash_set_val_i64(ckpt, "COMPLETE", 1);
    scr_hash_set_val_i64(ckpt, "RANKS", 1);
    scr_hash_set_val_i64(scr_hash_setf(ckpt, NULL, "RANK 0 FILE rank_0.ckpt"), "SIZE",
                         524294);
    put_hash(6, "summary.scr", h);
    assert_int_equal(read_summary(&t, 6, &complete, dset), SCR_OK);
    assert_int_equal(complete, 1);
    assert_int_equal(read_map(&t, 6, &l), SCR_OK);
    assert_int_equal(file_of(&l, "rank_0.ckpt")->size, 524294);
    scr_hash_delete(h);
    scr_hash_delete(dset);
    scr_rank2file_fini(&l);
    test_store_close(&t);
}

/* A prefix of version 1: index.scr in the prefix directory, a directory per checkpoint.
 */
static void put_version_1(int id, const char *dir, int has_list)
{
    scr_hash *index = scr_hash_new(), *summary = scr_hash_new();
    scr_hash_set_val_i64(index, "VERSION", 1);
    scr_hash_set_kv(scr_hash_set_kv(index, "DIR", dir), "CKPT", "18");
    scr_hash *copy = scr_hash_setf(index, NULL, "CKPT %d DIR %s", id, dir);
    scr_hash_set_val_i64(copy, "COMPLETE", 1);
    scr_hash_set_val(copy, "FLUSHED", "2011-02-28T12:37:36");
    scr_hash_set_val_i64(summary, "VERSION", 5);
    scr_hash *ckpt = scr_hash_set_kv_int(summary, "CKPT", id);
    scr_hash_set_val_i64(ckpt, "COMPLETE", 1);
    if (has_list) {
        scr_hash_set_val_i64(ckpt, "RANKS", 1);
        scr_hash_set_val_i64(scr_hash_setf(ckpt, NULL, "RANK 0 FILE rank_0.ckpt"),
                             "SIZE", 5);
    }
    assert_int_equal(scr_hash_file_write(&scr_sys_posix, test_path("prefix/index.scr"),
                                         index, SCR_DURABLE, NULL),
                     SCR_OK);
    mkdir(test_path("prefix/%s", dir), 0700);
    assert_int_equal(scr_hash_file_write(&scr_sys_posix,
                                         test_path("prefix/%s/summary.scr", dir),
                                         summary, SCR_DURABLE, NULL),
                     SCR_OK);
    scr_hash_delete(index);
    scr_hash_delete(summary);
}

static void a_prefix_of_version_1_is_read(void **state)
{
    (void)state;
    struct test_store t;
    int complete = 0, id = 19;
    scr_hash *dset = scr_hash_new();
    struct scr_rank2file l = { 0 };
    test_store_open(&t);
    put_version_1(18, "scr.2011-02-28.18", 1);
    assert_string_equal(test_index_ids(&t), "18");
    assert_int_equal(read_summary(&t, 18, &complete, dset), SCR_OK);
    assert_int_equal(complete, 1);
    assert_string_equal(scr_hash_get_val(dset, "NAME"), "scr.2011-02-28.18");
    assert_int_equal(read_map(&t, 18, &l), SCR_OK);
    assert_int_equal(file_of(&l, "scr.2011-02-28.18/rank_0.ckpt")->size, 5);

    /* the first update writes the new index and leaves the old one as it was */
    assert_int_equal(scr_prefix_index_update(&t.env, &t.p, test_add_id, &id, &t.err),
                     SCR_OK);
    assert_string_equal(test_index_ids(&t), "19 18");
    assert_int_equal(read_map(&t, 18, &l), SCR_OK);
    assert_true(test_exists(test_path("prefix/index.scr")));
    scr_hash_delete(dset);
    scr_rank2file_fini(&l);
    test_store_close(&t);
}

/* Its files are somewhere, and nothing says where: not that there is no dataset. */
static void one_of_version_1_without_a_list_is_damaged(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_rank2file l = { 0 };
    test_store_open(&t);
    put_version_1(18, "scr.2011-02-28.18", 0);
    assert_int_equal(read_map(&t, 18, &l), SCR_E_CORRUPT);
    assert_non_null(strstr(t.err.text, "scr.2011-02-28.18/summary.scr"));
    scr_rank2file_fini(&l);
    test_store_close(&t);
}

static void a_foreign_index_scr_in_the_prefix_is_ignored(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    test_put(test_path("prefix/index.scr"), "an application's own file", 25);
    assert_string_equal(test_index_ids(&t), "");
    test_store_close(&t);
}

static void read_with(int failure)
{
    for (long n = 0;; n++) {
        struct test_store t;
        struct scr_rank2file l = { 0 };
        long blocks = test_failure_blocks();
        test_store_open(&t);
        put_two_parts();
        test_failure_arm(failure, n);
        int rc = read_map(&t, 9, &l);
        int fired = test_failure_off(failure);
        assert_true(rc == SCR_OK || rc == SCR_E_IO || rc == SCR_E_NOMEM);
        if (rc == SCR_OK)
            assert_int_equal(l.n, 4);
        scr_rank2file_fini(&l);
        test_store_close(&t);
        assert_int_equal(test_failure_blocks(), blocks);
        if (!fired)
            break;
    }
}

static void reading_survives_any_failure(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++)
        read_with(failure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_comes_back),
        cmocka_unit_test(absent_damaged_and_foreign_ones_are_distinguished),
        cmocka_unit_test(writing_keeps_what_it_does_not_know_and_refuses_newer_ones),
        cmocka_unit_test(writing_under_another_id_is_refused),
        cmocka_unit_test(writing_survives_any_failure),
        cmocka_unit_test(parts_are_merged),
        cmocka_unit_test(a_root_may_be_a_part_itself),
        cmocka_unit_test(missing_and_damaged_parts_are_errors),
        cmocka_unit_test(hostile_part_names_are_refused),
        cmocka_unit_test(a_part_that_is_a_root_again_does_not_loop),
        cmocka_unit_test(an_old_summary_gives_both),
        cmocka_unit_test(a_prefix_of_version_1_is_read),
        cmocka_unit_test(one_of_version_1_without_a_list_is_damaged),
        cmocka_unit_test(a_foreign_index_scr_in_the_prefix_is_ignored),
        cmocka_unit_test(reading_survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
