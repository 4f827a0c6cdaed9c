/* SPDX-License-Identifier: BSD-3-Clause */
/* Halt, flush, nodes, summary and transfer files by example. */
#include "helper_tmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fmt/dataset.h"
#include "fmt/state.h"
#include "fmt/transfer.h"

static scr_hash *dataset(int id, int is_ckpt)
{
    struct scr_dataset d = { .id = id, .name = "name", .complete = -1 };
    scr_hash *h = scr_hash_new();
    d.is_ckpt = is_ckpt;
    d.is_output = !is_ckpt;
    assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
    return h;
}

/* --- halt --- */

static const struct scr_halt no_halt = { -1, -1, -1, -1, NULL, 0 };

static void halt_fields(void **state)
{
    (void)state;
    struct scr_halt halt = no_halt, got;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "FUTURE", "kept");
    assert_int_equal(scr_halt_get(NULL, &got, NULL), SCR_OK);
    assert_true(got.checkpoints_left == -1 && got.exit_after == -1 &&
                got.exit_before == -1 && got.halt_seconds == -1 && got.reason == NULL);
    halt.checkpoints_left = 7;
    halt.exit_before = 1298944800;
    halt.reason = "SCR_FINALIZE_CALLED";
    assert_int_equal(scr_halt_set(h, &halt), SCR_OK);
    assert_int_equal(scr_halt_get(h, &got, NULL), SCR_OK);
    assert_true(got.checkpoints_left == 7 && got.exit_after == -1 &&
                got.exit_before == 1298944800 && got.halt_seconds == -1);
    assert_string_equal(got.reason, "SCR_FINALIZE_CALLED");
    assert_int_equal(scr_halt_set(h, &no_halt), SCR_OK); /* unset is removed */
    assert_int_equal(scr_hash_size(h), 1);
    assert_int_equal(scr_halt_set(NULL, &halt), SCR_E_NOMEM);
    scr_hash_delete(h);
}

static void halt_conditions(void **state)
{
    (void)state;
    static const struct {
        struct scr_halt halt;
        int64_t now;
        const char *word;
    } cases[] = {
        { { -1, -1, -1, -1, NULL, 0 }, 1000, NULL },
        { { -1, -1, -1, -1, "NODE_FAIL", 0 }, 1000, "NODE_FAIL" },
        { { -1, -1, -1, -1, "", 0 }, 1000, NULL },
        { { 1, -1, -1, -1, NULL, 0 }, 1000, NULL },
        { { 0, -1, -1, -1, NULL, 0 }, 1000, "NO_CHECKPOINTS_LEFT" },
        { { -1, 1001, -1, -1, NULL, 0 }, 1000, NULL },
        { { -1, 1000, -1, -1, NULL, 0 }, 1000, "EXIT_AFTER_TIME" },
        { { -1, -1, 1001, -1, NULL, 0 }, 1000, NULL },
        { { -1, -1, 1000, -1, NULL, 0 }, 1000, "EXIT_BEFORE_TIME" },
        { { -1, -1, 1600, 600, NULL, 0 }, 999, NULL },
        { { -1, -1, 1600, 600, NULL, 0 }, 1000, "EXIT_BEFORE_TIME" },
        { { -1, -1, -1, 600, NULL, 0 }, 1000, NULL }, /* nothing to be before of */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *why = "";
        const char *word = scr_halt_due(&cases[i].halt, cases[i].now, &why);
        assert_true((word != NULL) == (cases[i].word != NULL));
        if (word != NULL)
            assert_string_equal(word, cases[i].word);
        assert_true((why != NULL) == (word != NULL));
        free(why);
    }
}

/* The end of the allocation is a separate reason, and only if it comes first. */
static void halt_at_the_end_of_the_job(void **state)
{
    (void)state;
    char *why;
    struct scr_halt halt = no_halt;
    scr_halt_add_job(&halt, 600, 1600);
    assert_string_equal(scr_halt_due(&halt, 1000, &why), "TIME_LIMIT");
    free(why);
    halt = no_halt;
    halt.exit_before = 1500;
    scr_halt_add_job(&halt, 600, 1600);
    assert_string_equal(scr_halt_due(&halt, 1000, &why), "EXIT_BEFORE_TIME");
    free(why);
}

static void halt_reasons_of_other_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *job;
        int of_another;
    } cases[] = {
        { NULL, NULL, 0 },
        { "JOB_HALTED", NULL, 0 }, /* scr_halt stops every job */
        { "NODE_FAIL", NULL, 0 },
        { "SCR_FINALIZE_CALLED", NULL, 1 }, /* SCR 3.x records no job */
        { "TIME_LIMIT", NULL, 1 },
        { "SCR_FINALIZE_CALLED", "7", 0 },
        { "SCR_FINALIZE_CALLED", "8", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scr_hash *h = scr_hash_new();
        if (cases[i].reason != NULL)
            scr_hash_set_val(h, "ExitReason", cases[i].reason);
        if (cases[i].job != NULL)
            scr_hash_set_val(h, SCR_HALT_EXIT_JOB, cases[i].job);
        assert_int_equal(scr_halt_is_of_another(h, "7"), cases[i].of_another);
        scr_hash_delete(h);
    }
}

static void halt_that_waits_for_a_checkpoint(void **state)
{
    (void)state;
    struct scr_halt halt = no_halt;
    halt.checkpoints_left = 1;
    assert_int_equal(scr_halt_waits(&halt), 0);
    halt.reason = SCR_HALT_ASKED;
    assert_int_equal(scr_halt_waits(&halt), 1);
    halt.checkpoints_left = 0;
    assert_int_equal(scr_halt_waits(&halt), 0);
    halt.checkpoints_left = -1;
    assert_int_equal(scr_halt_waits(&halt), 0);
}

/* --- flush --- */

static void flush_locations(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new(), *dset = dataset(18, 1);
    assert_int_equal(scr_flush_set_dataset(h, dset), SCR_OK);
    assert_int_equal(scr_flush_get_location(h, 18), 0);
    assert_int_equal(scr_flush_need(h, 18), 0);
    assert_int_equal(scr_flush_set_location(h, 18, SCR_LOC_CACHE, 1), SCR_OK);
    assert_int_equal(scr_flush_need(h, 18), 1);
    assert_int_equal(scr_flush_set_location(h, 18, SCR_LOC_PFS | SCR_LOC_FLUSHING, 1),
                     SCR_OK);
    assert_int_equal(scr_flush_need(h, 18), 0);
    assert_int_equal(scr_flush_get_location(h, 18),
                     SCR_LOC_CACHE | SCR_LOC_PFS | SCR_LOC_FLUSHING);
    assert_int_equal(scr_flush_set_location(h, 18, SCR_LOC_FLUSHING, 0), SCR_OK);
    assert_non_null(scr_hash_getf(h, "DATASET 18 LOCATION PFS"));
    assert_null(scr_hash_getf(h, "DATASET 18 LOCATION FLUSHING"));
    assert_true(scr_hash_equal(scr_hash_getf(h, "DATASET 18 DSETDESC"), dset));
    assert_string_equal(scr_hash_get_val(scr_hash_getf(h, "DATASET 18"), "NAME"),
                        "name");
    assert_int_equal(scr_flush_set_location(h, 99, SCR_LOC_CACHE, 0), SCR_OK);
    assert_null(scr_hash_getf(h, "DATASET 99")); /* taking away makes no entry */
    assert_int_equal(scr_flush_remove(h, 18), 1);
    assert_int_equal(scr_flush_remove(h, 18), 0);
    assert_int_equal(scr_flush_set_dataset(h, h), SCR_E_ARG);
    scr_hash_delete(h);
    scr_hash_delete(dset);
}

static void a_deleted_dataset_is_settled_while_the_index_lacks_it(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new(), *dset = dataset(18, 1), *other = dataset(18, 1);
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash_set_val_i64(dset, "CREATED", 5);
    scr_hash_set_val_i64(other, "CREATED", 7);
    assert_int_equal(scr_flush_set_deleted(h, 18, 1), SCR_OK);
    assert_null(scr_hash_getf(h, "DATASET 18")); /* it is not in the flush file */
    assert_int_equal(scr_flush_set_dataset(h, dset), SCR_OK);
    assert_int_equal(scr_flush_set_location(h, 18, SCR_LOC_CACHE | SCR_LOC_PFS, 1),
                     SCR_OK);
    assert_int_equal(scr_flush_set_deleted(h, 18, 1), SCR_OK);
    assert_int_equal(scr_flush_get_location(h, 18), SCR_LOC_CACHE);
    assert_int_equal(scr_flush_need(h, 18), 0);
    assert_int_equal(scr_flush_is_unsaved(h, &index, 18), 0);
    assert_int_equal(scr_flush_is_saved(h, &index, 18, dset), 0);
    assert_int_equal(scr_flush_is_settled(h, &index, 18, dset), 1);
    assert_int_equal(scr_flush_is_settled(h, &index, 18, other), 0);

    assert_int_equal(scr_index_add(&index, dset, 0, 0), SCR_OK);
    assert_int_equal(scr_flush_is_settled(h, &index, 18, dset), 0);
    scr_index_mark_doomed(&index, 18);
    assert_int_equal(scr_flush_is_settled(h, &index, 18, dset), 1);

    assert_int_equal(scr_flush_set_location(h, 18, SCR_LOC_FLUSHING, 1), SCR_OK);
    assert_false(scr_flush_has(h, 18, "DELETED")); /* it comes back */
    assert_int_equal(scr_flush_set_deleted(h, 18, 1), SCR_OK);
    assert_int_equal(scr_flush_set_dataset(h, other), SCR_OK);
    assert_false(scr_flush_has(h, 18, "DELETED"));
    scr_index_fini(&index);
    scr_hash_delete(h);
    scr_hash_delete(dset);
    scr_hash_delete(other);
}

static void what_is_saved_is_marked_but_no_other_of_its_number(void **state)
{
    (void)state;
    int changed = 7;
    scr_hash *h = scr_hash_new(), *dset = dataset(18, 1), *other = dataset(18, 1);
    scr_hash_set_val_i64(dset, "CREATED", 5);
    scr_hash_set_val_i64(other, "CREATED", 7);
    assert_int_equal(scr_flush_set_saved(h, dset, 0, &changed), SCR_OK);
    assert_int_equal(changed, 0); /* in no cache: nothing will copy it */
    assert_null(scr_hash_getf(h, "DATASET 18"));
    assert_int_equal(scr_flush_set_saved(h, dset, 1, &changed), SCR_OK);
    assert_int_equal(changed, 1);
    assert_int_equal(scr_flush_get_location(h, 18), SCR_LOC_CACHE | SCR_LOC_PFS);
    assert_true(scr_hash_equal(scr_hash_getf(h, "DATASET 18 DSETDESC"), dset));

    assert_int_equal(scr_flush_set_dataset(h, other), SCR_OK);
    assert_int_equal(
        scr_flush_set_location(h, 18, SCR_LOC_CACHE | SCR_LOC_SYNC_FLUSHING, 1),
        SCR_OK);
    assert_int_equal(scr_flush_set_saved(h, dset, 1, &changed), SCR_OK);
    assert_int_equal(changed, 0);
    assert_int_equal(scr_flush_need(h, 18), 1);
    assert_int_equal(scr_flush_set_saved(h, other, 0, &changed), SCR_OK);
    assert_int_equal(changed, 1);
    assert_int_equal(scr_flush_get_location(h, 18), SCR_LOC_CACHE | SCR_LOC_PFS);
    assert_int_equal(scr_flush_set_saved(h, other, 0, &changed), SCR_OK);
    assert_int_equal(changed, 0); /* it is marked */
    scr_flush_set_replaced(h, 18, 19);
    assert_int_equal(scr_flush_set_saved(h, other, 0, &changed), SCR_OK);
    assert_int_equal(changed, 1); /* it came back */
    assert_null(scr_hash_getf(h, "DATASET 18 REPLACED"));
    assert_int_equal(scr_flush_set_saved(h, h, 1, &changed), SCR_E_CORRUPT);
    assert_int_equal(changed, 0);
    scr_hash_delete(h);
    scr_hash_delete(dset);
    scr_hash_delete(other);
}

/* A newer dataset at the same paths is deleted: what it replaced does not take its
 * place. */
static void what_a_deleted_dataset_replaced_is_settled(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *h = scr_hash_new();
    for (int id = 1; id <= 4; id++) {
        scr_hash *dset = dataset(id, 1);
        assert_int_equal(scr_flush_set_dataset(h, dset), SCR_OK);
        assert_int_equal(scr_flush_set_location(h, id, SCR_LOC_CACHE | SCR_LOC_PFS, 1),
                         SCR_OK);
        scr_hash_delete(dset);
    }
    scr_flush_set_replaced(h, 1, 2);
    scr_flush_set_replaced(h, 2, 4);
    assert_int_equal(scr_flush_is_settled(h, &index, 1, NULL), 0);
    assert_int_equal(scr_flush_set_deleted(h, 4, 1), SCR_OK);
    for (int id = 1; id <= 4; id++) {
        assert_int_equal(scr_flush_has(h, id, "DELETED"), id != 3);
        assert_int_equal(scr_flush_is_settled(h, &index, id, NULL), 1);
    }
    scr_flush_set_replaced(h, 2, 3); /* it was there again */
    assert_false(scr_flush_has(h, 2, "DELETED"));
    assert_int_equal(scr_flush_set_deleted(h, 4, 0), SCR_OK);
    assert_int_equal(scr_flush_need(h, 4), 1);
    assert_true(scr_flush_has(h, 1, "DELETED"));
    scr_hash_delete(h);
}

static void flush_latest_is_a_cached_checkpoint(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_flush_latest(h), -1);
    for (int id = 1; id <= 4; id++) {
        scr_hash *dset = dataset(id, id != 3); /* 3 is output */
        assert_int_equal(scr_flush_set_dataset(h, dset), SCR_OK);
        scr_hash_delete(dset);
    }
    scr_flush_set_location(h, 1, SCR_LOC_CACHE, 1);
    scr_flush_set_location(h, 2, SCR_LOC_CACHE, 1);
    scr_flush_set_location(h, 3, SCR_LOC_CACHE, 1);
    scr_flush_set_location(h, 4, SCR_LOC_PFS, 1);
    assert_int_equal(scr_flush_latest(h), 2);
    scr_hash_delete(h);
}

/* --- nodes --- */

static void nodes(void **state)
{
    (void)state;
    int n = 0;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_nodes_get(h, &n, NULL), SCR_E_NOENT);
    assert_int_equal(scr_nodes_set(h, 0), SCR_E_ARG);
    assert_int_equal(scr_nodes_set(h, 4), SCR_OK);
    assert_int_equal(scr_nodes_get(h, &n, NULL), SCR_OK);
    assert_int_equal(n, 4);
    scr_hash_delete(h);
}

/* --- summary --- */

static void summary(void **state)
{
    (void)state;
    int complete;
    struct scr_rank2file files = { 0 };
    scr_hash *h = scr_hash_new(), *dset = dataset(18, 1), *got;
    scr_hash_set_val(h, "FUTURE", "kept");
    assert_int_equal(scr_summary_set(h, h, 1), SCR_E_ARG);
    assert_int_equal(scr_summary_set(h, dset, 0), SCR_OK);
    assert_int_equal(scr_summary_get(h, &complete, &got, &files, NULL), SCR_OK);
    assert_int_equal(complete, 0);
    assert_true(scr_hash_equal(got, dset));
    assert_int_equal(files.ranks, 0);
    scr_hash_setf(h, NULL, "RANK2FILE RANKS 2");
    scr_hash_setf(h, NULL, "RANK2FILE RANK 1 FILE a SIZE 5");
    assert_int_equal(scr_summary_get(h, &complete, &got, &files, NULL), SCR_OK);
    assert_true(files.ranks == 2 && files.n == 1);
    scr_rank2file_fini(&files);
    scr_hash_setf(h, NULL, "RANK2FILE RANK 2 FILE a SIZE 5"); /* no such rank */
    assert_int_equal(scr_summary_get(h, &complete, &got, &files, NULL), SCR_E_CORRUPT);
    assert_string_equal(scr_hash_get_val(h, "FUTURE"), "kept");
    scr_hash_delete(h);
    scr_hash_delete(dset);
}

/* --- transfer --- */

static void transfer_fields(void **state)
{
    (void)state;
    struct scr_transfer t = { 50, 52428800.5, SCR_TRANSFER_RUN, 1, 1 }, got;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_transfer_get(h, &got, NULL), SCR_OK);
    assert_true(got.bw == 0 && got.command == SCR_TRANSFER_NONE && !got.running &&
                !got.done);
    assert_int_equal(scr_transfer_set(h, &t), SCR_OK);
    assert_string_equal(scr_hash_get_val(h, "BW"), "52428800.500000");
    assert_string_equal(scr_hash_get_val(h, "PERCENT"), "50.000000");
    assert_int_equal(scr_transfer_get(h, &got, NULL), SCR_OK);
    assert_true(got.percent == 50 && got.bw == 52428800.5 && got.running && got.done);
    assert_int_equal(got.command, SCR_TRANSFER_RUN);
    t = (struct scr_transfer){ 0, 0, SCR_TRANSFER_NONE, 0, 0 };
    assert_int_equal(scr_transfer_set(h, &t), SCR_OK);
    assert_null(scr_hash_get(h, "COMMAND"));
    assert_null(scr_hash_get(h, "FLAG"));
    t.bw = -1;
    assert_int_equal(scr_transfer_set(h, &t), SCR_E_ARG);
    t.bw = NAN;
    assert_int_equal(scr_transfer_set(h, &t), SCR_E_ARG);
    scr_hash_delete(h);
}

static void transfer_files(void **state)
{
    (void)state;
    uint64_t left = 0;
    struct scr_transfer_file f;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_transfer_add_file(h, "a", "/p/a", 1), SCR_E_ARG);
    assert_int_equal(scr_transfer_add_file(h, "/c/a", "p/a", 1), SCR_E_ARG);
    assert_int_equal(scr_transfer_add_file(h, "/c/a", NULL, 1), SCR_E_ARG);
    assert_int_equal(scr_transfer_add_file(h, "/c/a", "/p/a", 100), SCR_OK);
    assert_int_equal(scr_transfer_add_file(h, "/c/b", "/p/b", 10), SCR_OK);
    assert_int_equal(scr_transfer_left(h, &left, NULL), SCR_OK);
    assert_true(left == 110);
    assert_int_equal(scr_transfer_set_written(h, "/c/a", 60), SCR_OK);
    assert_int_equal(scr_transfer_set_written(h, "/c/x", 60), SCR_E_NOENT);
    assert_int_equal(scr_transfer_left(h, &left, NULL), SCR_OK);
    assert_true(left == 50);
    scr_hash_elem *e = scr_hash_elem_first(scr_hash_get(h, "FILES"));
    assert_int_equal(scr_transfer_get_file(e, &f, NULL), SCR_OK);
    assert_string_equal(f.destination, "/p/a");
    assert_true(f.size == 100 && f.written == 60);
    scr_transfer_add_file(h, "/c/c", "/p/c", UINT64_MAX); /* a sum that does not fit */
    assert_int_equal(scr_transfer_left(h, &left, NULL), SCR_E_CORRUPT);
    assert_true(left == 50);
    scr_hash_delete(h);
}

/* Adding a file costs the same for any number of files: were it the number of those
 * before, this would take minutes. */
static void many_files(void **state)
{
    (void)state;
    char path[64];
    uint64_t left;
    scr_hash *h = scr_hash_new();
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(path, sizeof path, "/c/file.%d", i);
        assert_int_equal(scr_transfer_add_file(h, path, path, 1), SCR_OK);
    }
    assert_int_equal(scr_transfer_left(h, &left, NULL), SCR_OK);
    assert_true(left == 100000);
    scr_hash_delete(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halt_fields),
        cmocka_unit_test(halt_conditions),
        cmocka_unit_test(halt_at_the_end_of_the_job),
        cmocka_unit_test(halt_reasons_of_other_jobs),
        cmocka_unit_test(halt_that_waits_for_a_checkpoint),
        cmocka_unit_test(flush_locations),
        cmocka_unit_test(a_deleted_dataset_is_settled_while_the_index_lacks_it),
        cmocka_unit_test(what_is_saved_is_marked_but_no_other_of_its_number),
        cmocka_unit_test(what_a_deleted_dataset_replaced_is_settled),
        cmocka_unit_test(flush_latest_is_a_cached_checkpoint),
        cmocka_unit_test(nodes),
        cmocka_unit_test(summary),
        cmocka_unit_test(transfer_fields),
        cmocka_unit_test(transfer_files),
        cmocka_unit_test(many_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
