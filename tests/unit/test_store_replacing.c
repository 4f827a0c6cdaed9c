/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that wait next to those they replace (invariant P8): how a dataset that only
 * lacks the renames is completed. */
#include "helper_failure.h"
#include "helper_lists.h"
#include "helper_store.h"

#include "store/deletion.h"
#include "store/flushing.h"
#include "store/paths.h"
#include "store/replacing.h"

enum { OLD = 1, NEW = 2, SIZE = 100 }; /* ids; bytes of each file */

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* A file of SIZE bytes c at a path below the prefix. */
static void put(const char *path, char c)
{
    char bytes[SIZE];
    memset(bytes, c, sizeof bytes);
    test_put(test_path("prefix/%s", path), bytes, sizeof bytes);
}

static char first_of(const char *path)
{
    size_t n = 0;
    char *bytes = test_get(test_path("prefix/%s", path), &n), c = bytes[0];
    assert_int_equal(n, SIZE);
    free(bytes);
    return c;
}

/* Dataset id lists A/x and A/y, and is complete in the index. */
static void list_both(struct test_store *t, int id)
{
    int only = 0;
    struct scr_rank2file part = { .ranks = 1 };
    const struct scr_rank2file_root root = { 1, 1, &only, 1 };
    const char *dir = test_path("prefix/.scr/scr.dataset.%d", id);
    assert_int_equal(scr_dir_make(&scr_sys_posix, dir, 0700, &t->err), SCR_OK);
    test_list_add(&part, 0, "A/x", SIZE);
    test_list_add(&part, 0, "A/y", SIZE);
    const char *path = test_path("prefix/.scr/scr.dataset.%d/rank2file.0.0", id);
    assert_int_equal(scr_rank2file_write(&scr_sys_posix, path, &part, NULL), SCR_OK);
    path = test_path("prefix/.scr/scr.dataset.%d/rank2file", id);
    assert_int_equal(scr_rank2file_root_write(&scr_sys_posix, path, &root, NULL),
                     SCR_OK);
    scr_rank2file_fini(&part);
    assert_int_equal(scr_prefix_index_update(&t->env, &t->p, test_add_id, &id, &t->err),
                     SCR_OK);
}

static int edit_incomplete(struct scr_index *index, void *arg, int *changed,
                           struct scr_err *err)
{
    (void)err;
    scr_index_mark_incomplete(index, *(const int *)arg);
    *changed = 1;
    return SCR_OK;
}

/* OLD is complete; of NEW, all written, A/x has its name. */
static void arrange(struct test_store *t)
{
    int id = NEW;
    test_store_open(t);
    list_both(t, OLD);
    test_summary(t, OLD, "ckpt.1", 1);
    list_both(t, NEW);
    assert_int_equal(
        scr_prefix_index_update(&t->env, &t->p, edit_incomplete, &id, &t->err), SCR_OK);
    assert_int_equal(mkdir(test_path("prefix/A"), 0700), 0);
    assert_int_equal(mkdir(test_path("prefix/A/" SCR_PART_DIR "2"), 0700), 0);
    put("A/x", 'n');
    put("A/y", 'o');
    put("A/" SCR_PART_DIR "2/y", 'n');
    scr_hash *dset = test_dataset(NEW, "ckpt.2");
    assert_int_equal(scr_replacing_begin(&t->env, &t->p, NEW, dset, &t->err), SCR_OK);
    scr_hash_delete(dset);
}

static int finish(struct test_store *t, uint64_t *files)
{
    scr_err_clear(&t->err);
    return scr_replacing_finish(&t->env, &t->p, NEW, files, &t->err);
}

static void assert_finished(struct test_store *t)
{
    assert_true(scr_paths_is_complete(&t->env, &t->p, NEW));
    assert_false(scr_paths_is_complete(&t->env, &t->p, OLD));
    assert_false(scr_prefix_has_summary(&t->env, &t->p, OLD));
    assert_int_equal(first_of("A/x"), 'n');
    assert_int_equal(first_of("A/y"), 'n');
    assert_false(scr_replacing_is_begun(&t->env, &t->p, NEW));
}

static void the_rest_gets_its_names(void **state)
{
    (void)state;
    struct test_store t;
    uint64_t files = 0;
    arrange(&t);
    assert_true(scr_replacing_is_begun(&t.env, &t.p, NEW));
    assert_int_equal(finish(&t, &files), SCR_OK);
    assert_int_equal(files, 2);
    assert_finished(&t);
    assert_false(test_exists(test_path("prefix/A/" SCR_PART_DIR "2")));
    assert_false(test_exists(test_path("prefix/.scr/scr.dataset.1"))); /* P27 */
    test_store_close(&t);
}

static void what_cannot_be_completed_changes_nothing(void **state)
{
    (void)state;
    struct test_store t;
    uint64_t files = 0;
    arrange(&t);
    assert_int_equal(unlink(test_path("prefix/A/" SCR_PART_DIR "2/y")), 0);
    assert_int_equal(unlink(test_path("prefix/A/y")), 0);
    assert_int_equal(finish(&t, &files), SCR_E_MISSING);
    assert_true(scr_paths_is_complete(&t.env, &t.p, OLD));
    put("A/" SCR_PART_DIR "2/y", 'n');
    list_both(&t, NEW + 1); /* its files may be there already */
    assert_int_equal(finish(&t, &files), SCR_E_LOST);
    assert_true(scr_paths_is_complete(&t.env, &t.p, OLD));
    assert_true(scr_replacing_is_begun(&t.env, &t.p, NEW));
    assert_int_equal(scr_replacing_end(&t.env, &t.p, NEW, &t.err), SCR_OK);
    assert_int_equal(scr_replacing_end(&t.env, &t.p, NEW, &t.err), SCR_OK);
    assert_int_equal(finish(&t, &files), SCR_E_NOENT);
    test_store_close(&t);
}

static void one_that_is_dropped_after_another_does_not_come_back(void **state)
{
    (void)state;
    struct test_store t;
    uint64_t files = 0;
    arrange(&t);
    assert_int_equal(scr_deletion_stop_after(&t.env, &t.p, NEW, &t.err), SCR_OK);
    assert_true(scr_replacing_is_begun(&t.env, &t.p, NEW));
    assert_int_equal(scr_deletion_stop_after(&t.env, &t.p, OLD, &t.err), SCR_OK);
    assert_false(scr_replacing_is_begun(&t.env, &t.p, NEW));
    assert_int_equal(finish(&t, &files), SCR_E_NOENT);
    assert_true(scr_paths_is_complete(&t.env, &t.p, OLD));
    test_store_close(&t);
}

/* Nothing is written. */
static void look(struct test_store *t, int want_new)
{
    struct scr_index index;
    assert_int_equal(scr_prefix_index_look(&t->env, &t->p, &index, &t->err), SCR_OK);
    assert_int_equal(scr_replacings_look(&t->env, &t->p, &index, &t->err), SCR_OK);
    assert_int_equal(scr_index_is_complete(&index, NEW), want_new);
    assert_int_equal(scr_index_is_complete(&index, OLD), !want_new);
    assert_int_equal(index.current_id == NEW, want_new);
    scr_index_fini(&index);
    assert_false(scr_paths_is_complete(&t->env, &t->p, NEW));
    assert_true(scr_paths_is_complete(&t->env, &t->p, OLD));
}

static void a_command_that_reads_reports_what_a_start_will_do(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_flushing mark;
    arrange(&t);
    look(&t, 1);
    assert_int_equal(scr_flushing_begin(&t.env, &t.p, NEW, &mark, &t.err), SCR_OK);
    look(&t, 0); /* its job lives */
    scr_flushing_end(&t.env, &t.p, &mark);
    assert_int_equal(truncate(test_path("prefix/A/y"), 1), 0);
    assert_int_equal(unlink(test_path("prefix/A/" SCR_PART_DIR "2/y")), 0);
    look(&t, 0);
    test_store_close(&t);
}

static void the_files_are_listed_where_they_are(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_rank2file list;
    scr_hash *dset = scr_hash_new();
    arrange(&t);
    assert_int_equal(scr_replacing_read(&t.env, &t.p, NEW, dset, &list, &t.err),
                     SCR_OK);
    assert_string_equal(scr_hash_get_val(dset, "NAME"), "ckpt.2");
    assert_int_equal(list.ranks, 1);
    assert_int_equal(scr_rank2file_num_files(&list), 2);
    assert_non_null(scr_table_find(&list.of[0]->files, "A/x"));
    assert_non_null(scr_table_find(&list.of[0]->files, "A/" SCR_PART_DIR "2/y"));
    assert_int_equal(scr_rank2file_bytes(&list), 2 * SIZE);
    scr_rank2file_fini(&list);
    scr_hash_delete(dset);
    test_store_close(&t);
}

static void it_is_repeated_after_any_call_that_fails(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++) {
        long n = 0;
        for (int fired = 1; fired; n++) {
            struct test_store t;
            uint64_t files = 0;
            long blocks = test_failure_blocks();
            arrange(&t);
            test_failure_arm(failure, n);
            int rc = finish(&t, &files);
            fired = test_failure_off(failure);
            assert_true(rc != SCR_OK || scr_paths_is_complete(&t.env, &t.p, NEW));
            if (scr_replacing_is_begun(&t.env, &t.p, NEW))
                assert_int_equal(finish(&t, &files), SCR_OK);
            assert_finished(&t);
            test_store_close(&t);
            assert_int_equal(test_failure_blocks(), blocks);
        }
        assert_true(n > 50);
    }
}

static void directories_next_to_files_belong_to_scr(void **state)
{
    (void)state;
    assert_true(scr_prefix_is_own(SCR_PART_DIR "7/x"));
    assert_true(scr_prefix_is_own("a/b/" SCR_PART_DIR "7"));
    assert_false(scr_prefix_is_own("a/b.scr-part.7/x"));
    assert_false(scr_prefix_is_own("a/.scr-parts/x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_gets_its_names),
        cmocka_unit_test(what_cannot_be_completed_changes_nothing),
        cmocka_unit_test(one_that_is_dropped_after_another_does_not_come_back),
        cmocka_unit_test(a_command_that_reads_reports_what_a_start_will_do),
        cmocka_unit_test(the_files_are_listed_where_they_are),
        cmocka_unit_test(it_is_repeated_after_any_call_that_fails),
        cmocka_unit_test(directories_next_to_files_belong_to_scr),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
