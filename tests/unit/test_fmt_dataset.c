/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataset hash. */
#include "fmt/dataset.h"
#include "helper_tmp.h"
#include <limits.h>
#include <string.h>

/* --- dataset --- */

static const struct scr_dataset full = {
    .id = 6,
    .name = "ckpt.6",
    .user = "user1",
    .jobname = "simulation123",
    .jobid = "112573",
    .cluster = "atlas",
    .size = UINT64_MAX,
    .files = 4,
    .created = 1312850690668536,
    .ckpt = 6,
    .complete = 1,
    .is_ckpt = 1,
    .is_output = 1,
};

static void dataset_round_trip(void **state)
{
    (void)state;
    struct scr_dataset d;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "FUTURE", "kept");
    assert_int_equal(scr_dataset_set(h, &full), SCR_OK);
    assert_int_equal(scr_dataset_get(h, &d, NULL), SCR_OK);
    assert_int_equal(d.id, 6);
    assert_string_equal(d.name, "ckpt.6");
    assert_string_equal(d.cluster, "atlas");
    assert_true(d.size == UINT64_MAX && d.files == 4 && d.created == full.created);
    assert_true(d.ckpt == 6 && d.complete == 1 && d.is_ckpt && d.is_output);
    assert_string_equal(scr_hash_get_val(h, "FUTURE"), "kept");

    struct scr_dataset bare = {
        .id = 7, .name = "plot", .complete = -1, .is_output = 1
    };
    assert_int_equal(scr_dataset_set(h, &bare), SCR_OK); /* what is not set goes */
    assert_int_equal(scr_dataset_get(h, &d, NULL), SCR_OK);
    assert_null(d.user);
    assert_null(scr_hash_get(h, "CKPT"));
    assert_true(d.ckpt == 0 && d.complete == -1 && !d.is_ckpt && d.is_output);
    scr_hash_delete(h);
}

static void dataset_of_an_older_writer_is_a_checkpoint(void **state)
{
    (void)state;
    struct scr_dataset d;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "ID", "6");
    scr_hash_set_val(h, "NAME", "scr.dataset.6");
    assert_int_equal(scr_dataset_get(h, &d, NULL), SCR_OK);
    assert_true(d.is_ckpt && !d.is_output && d.complete == -1);
    scr_hash_set_val(h, "FLAG_OUTPUT", "1"); /* a writer that knows flags */
    assert_int_equal(scr_dataset_get(h, &d, NULL), SCR_OK);
    assert_true(!d.is_ckpt && d.is_output);
    scr_hash_delete(h);
}

static void one_number_of_two_jobs_is_two_datasets(void **state)
{
    (void)state;
    struct scr_dataset mine = full, other = full;
    assert_true(scr_dataset_is_same(&mine, &other));
    assert_true(scr_dataset_is_alike(&mine, &other));
    other.created++;
    assert_false(scr_dataset_is_same(&mine, &other));
    assert_false(scr_dataset_is_alike(&mine, &other));
    other.created = 0; /* not recorded */
    assert_true(scr_dataset_is_same(&mine, &other));
    assert_false(scr_dataset_is_alike(&mine, &other));
    assert_true(scr_dataset_is_alike(&other, &other));
    other = full;
    other.jobid = "another"; /* begun in the same microsecond */
    assert_false(scr_dataset_is_same(&mine, &other));
    assert_false(scr_dataset_is_same(&other, &mine));
    assert_false(scr_dataset_is_alike(&mine, &other));
    other.jobid = NULL;
    assert_true(scr_dataset_is_same(&mine, &other));
    assert_true(scr_dataset_is_same(&other, &mine));
}

static void bad_datasets_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "ID", "0" },        { "ID", "six" },        { "ID", "-1" },
        { "NAME", "" },       { "SIZE", "-1" },       { "FILES", "x" },
        { "CREATED", "now" }, { "CKPT", "-2" },       { "COMPLETE", "2" },
        { "COMPLETE", "" },   { "FLAG_CKPT", "yes" }, { "FLAG_OUTPUT", "" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_dataset d = { .id = 77 };
        scr_hash *h = scr_hash_new();
        assert_int_equal(scr_dataset_set(h, &full), SCR_OK);
        scr_hash_set_val(h, bad[i][0], bad[i][1]);
        assert_int_equal(scr_dataset_get(h, &d, &err), SCR_E_CORRUPT);
        assert_non_null(strstr(err.text, bad[i][0]));
        assert_int_equal(d.id, 77);
        scr_hash_delete(h);
    }
    struct scr_dataset nameless = { .id = 1 }, numberless = { .name = "x" };
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_dataset_set(h, &nameless), SCR_E_ARG);
    assert_int_equal(scr_dataset_set(h, &numberless), SCR_E_ARG);
    assert_int_equal(scr_dataset_set(NULL, &full), SCR_E_ARG);
    assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
}

static void the_newest_rival_that_can_be_restored_is_chosen(void **state)
{
    (void)state;
    enum { N = 4 };
    const struct scr_rival r[N] = { { 30, 4, SCR_RIVAL_NOT },
                                    { 20, 4, SCR_RIVAL_MAYBE },
                                    { 10, 4, SCR_RIVAL_WHOLE },
                                    { 5, 4, SCR_RIVAL_WHOLE } };
    const struct scr_rival other[2] = { { 10, 4, SCR_RIVAL_WHOLE },
                                        { 5, 2, SCR_RIVAL_WHOLE } };
    assert_null(scr_rival_choose(r, 0, 4));
    assert_null(scr_rival_choose(r, 1, 4));
    assert_ptr_equal(scr_rival_choose(r, 2, 4), &r[1]);
    assert_ptr_equal(scr_rival_choose(r, N, 4), &r[2]);
    assert_ptr_equal(scr_rival_choose(other, 2, 4), &other[0]);
    assert_null(scr_rival_choose(other, 2, 2)); /* the newest is not for two */
    assert_ptr_equal(scr_rival_choose(other, 2, 0), &other[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_rival_that_can_be_restored_is_chosen),
        cmocka_unit_test(dataset_round_trip),
        cmocka_unit_test(dataset_of_an_older_writer_is_a_checkpoint),
        cmocka_unit_test(one_number_of_two_jobs_is_two_datasets),
        cmocka_unit_test(bad_datasets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
