/* SPDX-License-Identifier: BSD-3-Clause */
/* The owners of the files of a transfer file, and their results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fmt/transfer.h"
#include "fmt/transfer_job.h"

static const struct scr_transfer_dset dset = { "/p", 77, 2, 3, 4, 5.5, 6 };

/* Rank 5 with a file, rank 6 with none. */
static scr_hash *two_ranks(void)
{
    scr_hash *h = scr_hash_new();
    struct stat st = { .st_mode = 0640 };
    uint32_t crc = 0xabcdef01;
    assert_int_equal(scr_transfer_add_rank(h, 9, &dset, 5), SCR_OK);
    assert_int_equal(scr_transfer_add_rank(h, 9, &dset, 6), SCR_OK);
    assert_int_equal(scr_transfer_add_file(h, "/c/a", "/p/a", 10), SCR_OK);
    assert_int_equal(scr_transfer_own_file(h, "/c/a", 9, 5, &crc, &st), SCR_OK);
    assert_int_equal(scr_transfer_own_file(h, "/c/none", 9, 5, &crc, &st), SCR_E_NOMEM);
    return h;
}

static int ended(const scr_hash *h, int rank, uint64_t stamp)
{
    const char *text;
    int code;
    return scr_transfer_has_ended(h, 9, stamp, rank, &code, &text) ? code : -1;
}

static void a_dataset_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct scr_transfer_dset d;
    scr_hash *h = two_ranks();
    int id = 0, rank = 0;
    assert_int_equal(scr_transfer_get_dset(h, 9, &d), SCR_OK);
    assert_string_equal(d.prefix, "/p");
    assert_true(d.stamp == 77 && d.node == 2 && d.width == 3 && d.crowd == 4);
    assert_true(d.bw == 5.5 && d.percent == 6);
    scr_hash_unset(scr_hash_getf(h, "DSET 9"), "BW"); /* an older library */
    assert_int_equal(scr_transfer_get_dset(h, 9, &d), SCR_OK);
    assert_true(d.bw == -1 && d.percent == 6);
    assert_int_equal(scr_transfer_get_dset(h, 8, &d), SCR_E_NOENT);
    const scr_hash_elem *e = scr_hash_elem_first(scr_hash_get(h, "FILES"));
    assert_true(scr_transfer_owner(e, &id, &rank) && id == 9 && rank == 5);
    assert_true(scr_transfer_is_pending(h, 9, 6));
    assert_false(scr_transfer_is_pending(h, 9, 7));
    scr_hash_delete(h);
}

static void entries_that_make_no_sense_are_corrupt(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "PREFIX", "relative" }, { "STAMP", "-1" },    { "NODE", "-2" },
        { "NODE", "x" },          { "WIDTH", "-1" },    { "CROWD", "many" },
        { "BW", "-1" },           { "PERCENT", "much" }
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct scr_transfer_dset d;
        scr_hash *h = two_ranks();
        scr_hash_set_val(scr_hash_getf(h, "DSET 9"), bad[i][0], bad[i][1]);
        assert_int_equal(scr_transfer_get_dset(h, 9, &d), SCR_E_CORRUPT);
        scr_hash_delete(h);
    }
}

static void ranks_end_one_by_one(void **state)
{
    (void)state;
    const char *text = NULL;
    int code = 0;
    scr_hash *h = two_ranks();
    assert_int_equal(ended(h, 5, 77), -1);
    scr_transfer_end_rank(h, 9, 76, 5, SCR_OK, NULL); /* of another attempt */
    assert_int_equal(ended(h, 5, 77), -1);
    scr_transfer_end_rank(h, 9, 77, 5, SCR_OK, NULL);
    assert_int_equal(ended(h, 5, 77), SCR_OK);
    assert_false(scr_transfer_is_pending(h, 9, 5));
    scr_transfer_end_rank(h, 9, 77, 6, SCR_E_FULL, "no space");
    assert_true(scr_transfer_has_ended(h, 9, 77, 6, &code, &text));
    assert_int_equal(code, SCR_E_FULL);
    assert_string_equal(text, "no space");
    assert_int_equal(ended(h, 5, 78), SCR_E_MISSING);
    assert_int_equal(ended(h, 7, 77), SCR_E_MISSING);
    scr_hash_delete(h);
}

static void the_dataset_goes_with_its_last_rank(void **state)
{
    (void)state;
    scr_hash *h = two_ranks();
    scr_transfer_remove_rank(h, 9, 5);
    assert_int_equal(scr_hash_size(scr_hash_get(h, "FILES")), 0);
    assert_non_null(scr_hash_getf(h, "DSET 9 RANK 6"));
    scr_transfer_remove_rank(h, 9, 6);
    assert_null(scr_hash_get(h, "DSET"));
    scr_hash_delete(h);
}

static void another_attempt_replaces_what_is_listed(void **state)
{
    (void)state;
    struct scr_transfer_dset again = dset;
    scr_hash *h = two_ranks();
    scr_transfer_add_file(h, "/nobodys", "/p/n", 1);
    again.stamp = 78;
    assert_int_equal(scr_transfer_add_rank(h, 9, &again, 6), SCR_OK);
    assert_int_equal(ended(h, 5, 77), SCR_E_MISSING);
    assert_int_equal(ended(h, 6, 78), -1);
    assert_int_equal(scr_hash_size(scr_hash_get(h, "FILES")), 1); /* a file without
                                                                   * owner stays */
    scr_hash_delete(h);
}

static void what_has_ended_is_not_cancelled(void **state)
{
    (void)state;
    scr_hash *h = two_ranks();
    scr_transfer_end_rank(h, 9, 77, 5, SCR_OK, NULL);
    assert_false(scr_transfer_cancel(h, 9, 5));
    assert_false(scr_transfer_cancel(h, 8, -1));
    assert_true(scr_transfer_cancel(h, -1, -1));
    assert_true(scr_transfer_is_cancelled(h, 9, 6));
    assert_false(scr_transfer_is_cancelled(h, 9, 5));
    assert_false(scr_transfer_is_pending(h, 9, 6));
    scr_hash_delete(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_is_read_as_it_was_written),
        cmocka_unit_test(entries_that_make_no_sense_are_corrupt),
        cmocka_unit_test(ranks_end_one_by_one),
        cmocka_unit_test(the_dataset_goes_with_its_last_rank),
        cmocka_unit_test(another_attempt_replaces_what_is_listed),
        cmocka_unit_test(what_has_ended_is_not_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
