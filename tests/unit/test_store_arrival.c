/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets on their way: complete when the last rank has arrived and not before,
 * whichever system call fails (invariant P11). */
#include "helper_failure.h"
#include "helper_golden.h"
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/arrival.h"
#include "store/deletion.h"

enum { ID = 5, STAMP = 77 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };
static struct scr_prefix prefix;
static scr_hash *dset, *nodes;

static scr_hash *dataset(int id)
{
    char name[16];
    snprintf(name, sizeof name, "ckpt.%d", id);
    struct scr_dataset d = {
        .id = id, .name = name, .is_ckpt = 1, .size = 10, .files = 3
    };
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
    return h;
}

/* Nodes 0 (ranks 0 and 1) and 2 (rank 2); dataset ID listed, incomplete. */
static int setup(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    assert_int_equal(scr_prefix_open(&posix, test_path("%s", ""), 1, &prefix, &err),
                     SCR_OK);
    dset = dataset(ID);
    nodes = scr_hash_new();
    scr_hash_setf(nodes, NULL, "%d %d", 0, 2);
    scr_hash_setf(nodes, NULL, "%d %d", 2, 1);
    assert_int_equal(scr_prefix_index_enter(&posix, &prefix, dset, 0, 1000, &err),
                     SCR_OK);
    assert_int_equal(scr_prefix_summary_write(&posix, &prefix, ID, dset, 0, &err),
                     SCR_OK);
    assert_int_equal(scr_prefix_summary_remove(&posix, &prefix, ID, &err), SCR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scr_hash_delete(dset);
    scr_hash_delete(nodes);
    scr_prefix_fini(&prefix);
    test_tmp_remove();
    return 0;
}

static void plan(int id, uint64_t stamp)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *d = dataset(id);
    assert_int_equal(scr_prefix_summary_write(&posix, &prefix, id, d, 0, &err), SCR_OK);
    assert_int_equal(scr_arrival_plan(&posix, &prefix, id,
                                      &(struct scr_attempt){ stamp, d, nodes, NULL },
                                      &err),
                     SCR_OK);
    scr_hash_delete(d);
}

static void arrive(int id, uint64_t stamp, int node, int rank)
{
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_arrival a = { &posix, &prefix, id, node, rank };
    assert_int_equal(scr_arrival_arrived(&a, stamp, &err), SCR_OK);
}

static void arrive_all(int id, uint64_t stamp)
{
    arrive(id, stamp, 0, 0);
    arrive(id, stamp, 2, 2);
    arrive(id, stamp, 0, 1);
}

/* -1: not listed. */
static int listed_complete(int id)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&posix, &prefix, &index, &err), SCR_OK);
    int complete = scr_index_get(&index, id, &e, NULL) == SCR_OK ? e.complete : -1;
    scr_index_fini(&index);
    return complete;
}

static size_t pending(void)
{
    struct scr_err err = SCR_ERR_INIT;
    int *ids = NULL;
    size_t n = 0;
    assert_int_equal(scr_arrivals_pending(&posix, &prefix, NULL, &ids, &n, &err),
                     SCR_OK);
    free(ids);
    return n;
}

static int adopt(void)
{
    struct scr_err err = SCR_ERR_INIT;
    int n = 0;
    assert_int_equal(scr_arrivals_adopt(&posix, &prefix, &n, &err), SCR_OK);
    return n;
}

static void the_last_to_arrive_completes(void **state)
{
    (void)state;
    plan(ID, STAMP);
    assert_int_equal(pending(), 1);
    const struct {
        int node, rank, done;
    } steps[] = { { 2, 2, 0 }, { 0, 1, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        arrive(ID, STAMP, steps[i].node, steps[i].rank);
        assert_int_equal(scr_arrival_finish(&posix, &prefix, ID, steps[i].node),
                         SCR_OK);
        assert_int_equal(listed_complete(ID), steps[i].done);
    }
    assert_int_equal(pending(), 0);
    assert_int_equal(adopt(), 0); /* once is enough */
}

/* The index in memory after a check. */
static int shown_complete(int id, int *n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new();
    assert_int_equal(scr_flush_set_location(flush, id, SCR_LOC_FLUSHING, 1), SCR_OK);
    assert_int_equal(scr_prefix_index_look(&posix, &prefix, &index, &err), SCR_OK);
    assert_int_equal(scr_arrivals_look(&posix, &prefix, &index, flush, n, &err),
                     SCR_OK);
    int complete = scr_index_get(&index, id, &e, NULL) == SCR_OK ? e.complete : -1;
    assert_int_equal(scr_flush_get_location(flush, id),
                     complete == 1 ? SCR_LOC_PFS : SCR_LOC_FLUSHING);
    scr_hash_delete(flush);
    scr_index_fini(&index);
    return complete;
}

static void
a_command_that_reads_sees_what_will_be_written_and_writes_nothing(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *said = scr_hash_new(), *summary = scr_hash_new();
    int n = 0, arrived = 0, complete = 0;
    (void)state;
    plan(ID, STAMP);
    arrive(ID, STAMP, 0, 0);
    assert_int_equal(shown_complete(ID, &n), 0);
    assert_int_equal(n, 0);
    arrive_all(ID, STAMP);
    assert_int_equal(shown_complete(ID, &n), 1);
    assert_int_equal(n, 1);
    assert_int_equal(scr_arrival_look(&posix, &prefix, ID, &arrived, said, &err),
                     SCR_OK);
    assert_true(arrived);
    assert_int_equal(listed_complete(ID), 0);
    assert_int_equal(pending(), 1);
    assert_int_equal(adopt(), 1);
    assert_int_equal(
        scr_prefix_summary_read(&posix, &prefix, ID, &complete, summary, &err), SCR_OK);
    assert_true(complete);
    assert_true(scr_hash_equal(said, summary));
    scr_hash_delete(summary);
    scr_hash_delete(said);
}

static void records_of_another_attempt_prove_nothing(void **state)
{
    (void)state;
    plan(ID, STAMP);
    arrive_all(ID, STAMP - 1);
    arrive(ID, STAMP, 0, 0);
    assert_int_equal(adopt(), 0);
    assert_int_equal(listed_complete(ID), 0);
}

static void without_a_plan_no_process_completes(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    plan(ID, STAMP);
    arrive_all(ID, STAMP);
    assert_int_equal(scr_arrival_give_up(&posix, &prefix, ID, &err), SCR_OK);
    assert_int_equal(scr_arrival_give_up(&posix, &prefix, ID, &err), SCR_OK);
    assert_int_equal(scr_arrival_finish(&posix, &prefix, ID, 0), SCR_OK);
    assert_int_equal(adopt(), 0);
    assert_int_equal(listed_complete(ID), 0);
}

static int edit_doom(struct scr_index *index, void *arg, int *changed,
                     struct scr_err *err)
{
    (void)arg, (void)err;
    scr_index_mark_doomed(index, ID);
    *changed = 1;
    return SCR_OK;
}

/* A deletion that began after the plan was written (invariant P3). */
static void what_is_being_deleted_does_not_become_complete(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int n = 0;
    (void)state;
    plan(ID, STAMP);
    arrive_all(ID, STAMP);
    assert_int_equal(scr_prefix_index_update(&posix, &prefix, edit_doom, NULL, &err),
                     SCR_OK);
    assert_int_equal(shown_complete(ID, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(adopt(), 0);
    assert_int_equal(listed_complete(ID), 0);
    assert_false(scr_prefix_has_summary(&posix, &prefix, ID));
    assert_int_equal(pending(), 0);
}

static void a_bad_plan_does_not_keep_others(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int n = 0;
    (void)state;
    plan(ID, STAMP);
    plan(ID + 1, STAMP);
    plan(ID + 2, STAMP);
    arrive_all(ID + 1, STAMP);
    arrive_all(ID + 2, STAMP);
    test_put(test_path(".scr/scr.dataset.5/outgoing.scr"), "no hash file", 12);
    assert_int_equal(scr_arrivals_adopt(&posix, &prefix, &n, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "scr.dataset.5/outgoing.scr"));
    assert_int_equal(n, 2);
    assert_int_equal(listed_complete(ID + 1), 1);
    assert_int_equal(listed_complete(ID + 2), 1);
}

enum { GOLDEN_ID = 18 };

/* The plan is in the directory of dataset 18. */
static int read_golden(const struct test_golden *g, scr_hash *h)
{
    struct scr_err err = SCR_ERR_INIT;
    test_put(test_path(".scr/scr.dataset.%d/outgoing.scr", GOLDEN_ID), g->bytes, g->n);
    int rc = scr_arrival_plan_read(&posix, &prefix, GOLDEN_ID, h, &err);
    assert_int_equal(err.code, rc);
    if (rc != SCR_OK)
        assert_non_null(strstr(err.text, "scr.dataset.18/outgoing.scr"));
    return rc;
}

static void golden_is_written_again(const struct test_golden *g, void *arg)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    uint64_t stamp = 0;
    size_t n;
    (void)arg;
    assert_int_equal(read_golden(g, h), SCR_OK);
    assert_true(scr_hash_get_val_u64(h, "STAMP", &stamp));
    assert_int_equal(
        scr_arrival_plan(&posix, &prefix, GOLDEN_ID,
                         &(struct scr_attempt){ stamp, scr_hash_get(h, "DSET"),
                                                scr_hash_get(h, "NODE"), NULL },
                         &err),
        SCR_OK);
    void *bytes = test_get(test_path(".scr/scr.dataset.18/outgoing.scr"), &n);
    assert_int_equal(n, g->n);
    assert_memory_equal(bytes, g->bytes, n);
    free(bytes);
    scr_hash_delete(h);
}

static void golden_is_refused(const struct test_golden *g, void *arg)
{
    scr_hash *h = scr_hash_new();
    (void)arg;
    if (read_golden(g, h) != g->code)
        fail_msg("%s", g->name);
    scr_hash_delete(h);
}

static void golden_plans(void **state)
{
    (void)state;
    plan(GOLDEN_ID, STAMP);
    test_golden_each("outgoing", "good-", golden_is_written_again, NULL);
    test_golden_each("outgoing", "bad-", golden_is_refused, NULL);
}

static void what_has_landed_is_read_back(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *const files[] = { "a/b", "c d" };
    (void)state;
    plan(ID, STAMP);
    const struct scr_arrival one = { &posix, &prefix, ID, 0, 1 };
    const struct scr_arrival zero = { &posix, &prefix, ID, 0, 0 };
    assert_int_equal(scr_arrival_landed(&one, files, 2, &err), SCR_OK);
    assert_int_equal(scr_arrival_landed(&zero, files, 1, &err), SCR_OK);
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_arrival_read(&posix, &prefix, ID, 0, map, &err), SCR_OK);
    assert_int_equal(scr_arrival_read(&posix, &prefix, ID, 2, map, &err), SCR_OK);
    assert_int_equal(scr_filemap_num_files(map, ID, 1), 2);
    assert_int_equal(scr_filemap_num_files(map, ID, 0), 1);
    scr_filemap_remove_dataset(map, ID);
    assert_int_equal(scr_arrival_forget(&posix, &prefix, ID, 0, &err), SCR_OK);
    assert_int_equal(scr_arrival_read(&posix, &prefix, ID, 0, map, &err), SCR_OK);
    assert_int_equal(map->n, 0);
    scr_filemap_delete(map);
}

/* The process that completed it died before it removed the plan. The next check does,
 * if that is before many others were completed; and if there are many datasets, only
 * those that may have one are checked. */
static void a_plan_that_outlived_its_dataset_goes(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int *ids = NULL;
    size_t n = 0;
    (void)state;
    plan(ID, STAMP);
    arrive_all(ID, STAMP);
    assert_int_equal(scr_prefix_index_enter(&posix, &prefix, dset, 1, 1000, &err),
                     SCR_OK);
    assert_int_equal(pending(), 1);
    assert_int_equal(adopt(), 1);
    assert_int_equal(pending(), 0);
    for (int id = ID + 1; id <= ID + 40; id++) {
        scr_hash *d = dataset(id);
        assert_int_equal(scr_prefix_summary_write(&posix, &prefix, id, d, 1, &err),
                         SCR_OK);
        assert_int_equal(
            scr_prefix_index_enter(&posix, &prefix, d, id != ID + 2, 1000, &err),
            SCR_OK);
        scr_hash_delete(d);
    }
    assert_int_equal(scr_prefix_unfinished_ids(&posix, &prefix, NULL, &ids, &n, &err),
                     SCR_OK);
    assert_int_equal(n, 17);
    assert_true(ids[0] == ID + 2 && ids[1] == ID + 25 && ids[16] == ID + 40);
    free(ids);
}

/* Directories are listed once, until another process changes the index. */
static void a_plan_without_an_entry_is_found_after_any_change_of_the_index(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix other;
    int id = ID;
    (void)state;
    assert_int_equal(scr_prefix_open(&posix, test_path("%s", ""), 1, &other, &err),
                     SCR_OK);
    plan(ID, STAMP);
    assert_int_equal(listed_complete(ID), 0);
    assert_int_equal(pending(), 1);
    assert_int_equal(
        scr_prefix_index_update(&posix, &other, scr_edit_forget, &id, &err), SCR_OK);
    for (int i = 1; i < 4; i++) { /* other process, then this one */
        assert_int_equal(listed_complete(ID), -1);
        assert_int_equal(pending(), 1);
        scr_hash *d = dataset(ID + i);
        assert_int_equal(scr_prefix_index_enter(&posix, &prefix, d, 0, 1000, &err),
                         SCR_OK);
        scr_hash_delete(d);
        plan(ID + 1, STAMP);
        assert_int_equal(pending(), 2);
        assert_int_equal(scr_arrival_give_up(&posix, &prefix, ID + 1, &err), SCR_OK);
    }
    assert_int_equal(scr_arrival_give_up(&posix, &other, ID, &err), SCR_OK);
    assert_int_equal(pending(), 0);
    scr_prefix_fini(&other);
}

/* A process that asks before it replaces its files would go wrong otherwise. */
static void one_whose_plan_cannot_be_looked_at_counts_as_pending(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int *ids = NULL;
    size_t n = 0;
    (void)state;
    plan(ID, STAMP);
    test_fault_arm(TEST_FSTATAT, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_arrivals_pending(&faulty, &prefix, NULL, &ids, &n, &err),
                     SCR_OK);
    assert_true(test_fault_off());
    assert_int_equal(n, 1);
    free(ids);
}

/* Complete or pending, never neither, and a second attempt succeeds. */
static void every_failure_can_be_made_up_for(void **state)
{
    for (int f = 0; f < TEST_FAILURES; f++)
        for (long n = 0;; n++) {
            struct scr_err err = SCR_ERR_INIT;
            teardown(state); /* what a crash leaves makes more calls */
            setup(state);
            plan(ID, STAMP);
            arrive_all(ID, STAMP);
            test_failure_arm(f, n);
            int rc = scr_arrivals_adopt(&faulty, &prefix, NULL, &err);
            int fired = test_failure_off(f);
            assert_true(fired || rc == SCR_OK);
            assert_true(listed_complete(ID) == 1 || pending() == 1);
            adopt();
            assert_int_equal(listed_complete(ID), 1);
            assert_int_equal(pending(), 0);
            if (!fired)
                break;
        }
    assert_int_equal(test_fault_open_fds(), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_last_to_arrive_completes),
        T(records_of_another_attempt_prove_nothing),
        T(without_a_plan_no_process_completes),
        T(what_is_being_deleted_does_not_become_complete),
        T(a_bad_plan_does_not_keep_others),
        T(a_command_that_reads_sees_what_will_be_written_and_writes_nothing),
        T(golden_plans),
        T(what_has_landed_is_read_back),
        T(a_plan_that_outlived_its_dataset_goes),
        T(a_plan_without_an_entry_is_found_after_any_change_of_the_index),
        T(one_whose_plan_cannot_be_looked_at_counts_as_pending),
        T(every_failure_can_be_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
