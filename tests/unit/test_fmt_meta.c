/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file, and the dataset hash. */
#include "helper_tmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "fmt/dataset.h"
#include "fmt/meta.h"
#include "helper_fault.h"

/* The example of the developer's manual, section 5.2. */
static scr_meta *example(void)
{
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, "rank_0.ckpt", "FULL", 524294, 6, 0, 4, 1);
    scr_meta_set_crc32(m, 0x1b39e4e4);
    return m;
}

/* --- meta --- */

static void fields_are_set_and_read(void **state)
{
    (void)state;
    int i;
    uint64_t size;
    uint32_t crc;
    const char *text;
    scr_meta *m = example();
    assert_int_equal(scr_meta_get_complete(m, &i), SCR_OK);
    assert_int_equal(i, 1);
    assert_int_equal(scr_meta_get_ranks(m, &i), SCR_OK);
    assert_int_equal(i, 4);
    assert_int_equal(scr_meta_get_rank(m, &i), SCR_OK);
    assert_int_equal(i, 0);
    assert_int_equal(scr_meta_get_dataset(m, &i), SCR_OK);
    assert_int_equal(i, 6);
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_OK);
    assert_true(size == 524294);
    assert_int_equal(scr_meta_get_filetype(m, &text), SCR_OK);
    assert_string_equal(text, "FULL");
    assert_int_equal(scr_meta_get_filename(m, &text), SCR_OK);
    assert_string_equal(text, "rank_0.ckpt");
    assert_int_equal(scr_meta_get_crc32(m, &crc), SCR_OK);
    assert_int_equal(crc, 0x1b39e4e4);
    assert_string_equal(scr_hash_get_val(m, "CRC"), "0x1b39e4e4");
    scr_meta_set_rank(m, 3); /* replaces */
    assert_int_equal(scr_meta_get_rank(m, &i), SCR_OK);
    assert_int_equal(i, 3);
    scr_meta_delete(m);
}

static void absent_and_malformed_fields_leave_the_output(void **state)
{
    (void)state;
    int i = 77;
    uint64_t size = 77;
    uint32_t crc = 77;
    const char *text = "77";
    struct stat st = { .st_mode = 77 };
    scr_meta *m = scr_meta_new();
    scr_hash_set_val(m, "RANK", "first");
    scr_hash_set_val(m, "SIZE", "-1");
    scr_hash_set_val(m, "CRC", "0xfffffffff");
    scr_hash_set_kv(m, "TYPE", "FULL");
    scr_hash_set_kv(m, "TYPE", "XOR");
    scr_hash_set_val(m, "MODE", "99999999");
    scr_hash_set_val(m, "MTIME_SECS", "5"); /* without its nanoseconds */
    assert_int_equal(scr_meta_get_complete(m, &i), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_rank(m, &i), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_filesize(m, &size), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_crc32(m, &crc), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_filetype(m, &text), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_orig(m, &text), SCR_E_NOENT);
    assert_int_equal(scr_meta_get_stat(m, &st), SCR_E_NOENT);
    assert_true(i == 77 && size == 77 && crc == 77 && st.st_mode == 77);
    assert_string_equal(text, "77");
    assert_true(st.st_mtim.tv_sec == 0);
    scr_meta_delete(m);
}

static void checks(void **state)
{
    (void)state;
    scr_meta *m = example(), *none = scr_meta_new();
    assert_int_equal(scr_meta_check_ranks(m, 4), SCR_OK);
    assert_int_not_equal(scr_meta_check_ranks(m, 5), SCR_OK);
    assert_int_equal(scr_meta_check_rank(m, 0), SCR_OK);
    assert_int_not_equal(scr_meta_check_rank(none, 0), SCR_OK);
    assert_int_equal(scr_meta_check_dataset(m, 6), SCR_OK);
    assert_int_not_equal(scr_meta_check_dataset(m, 7), SCR_OK);
    assert_int_equal(scr_meta_check_filesize(m, 524294), SCR_OK);
    assert_int_not_equal(scr_meta_check_filesize(m, 524293), SCR_OK);
    assert_int_equal(scr_meta_check_filetype(m, "FULL"), SCR_OK);
    assert_int_not_equal(scr_meta_check_filetype(m, "XOR"), SCR_OK);
    assert_int_equal(scr_meta_check_filename(m, "rank_0.ckpt"), SCR_OK);
    assert_int_not_equal(scr_meta_check_filename(m, NULL), SCR_OK);
    assert_int_equal(scr_meta_check_complete(m), SCR_OK);
    scr_meta_set_complete(m, 0);
    assert_int_not_equal(scr_meta_check_complete(m), SCR_OK);
    assert_int_not_equal(scr_meta_check_complete(none), SCR_OK);
    scr_meta_delete(m);
    scr_meta_delete(none);
}

static void mode_owner_and_times(void **state)
{
    (void)state;
    struct stat st = { .st_mode = 0100640, .st_uid = 4294967294U, .st_gid = 100 },
                got = { 0 };
    st.st_atim = (struct timespec){ 1312850690, 668536000 };
    st.st_mtim = (struct timespec){ -5, 1 };
    st.st_ctim = (struct timespec){ 7, 999999999 };
    scr_meta *m = scr_meta_new();
    scr_meta_set_stat(m, &st);
    assert_string_equal(scr_hash_get_val(m, "MODE"), "33184"); /* decimal */
    assert_string_equal(scr_hash_get_val(m, "ATIME_NSECS"), "668536000");
    assert_int_equal(scr_meta_get_stat(m, &got), SCR_OK);
    assert_int_equal(got.st_mode, st.st_mode);
    assert_true(got.st_uid == st.st_uid && got.st_gid == st.st_gid);
    assert_memory_equal(&got.st_atim, &st.st_atim, sizeof st.st_atim);
    assert_memory_equal(&got.st_mtim, &st.st_mtim, sizeof st.st_mtim);
    assert_memory_equal(&got.st_ctim, &st.st_ctim, sizeof st.st_ctim);
    scr_meta_delete(m);
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
        scr_meta_set_origpath(m, cases[i].dir);
        assert_null(scr_meta_dest(m));
        scr_meta_set_origname(m, cases[i].name);
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

static void copy_is_exact(void **state)
{
    (void)state;
    scr_meta *m = example(), *copy = scr_meta_new();
    scr_meta_set_orig(copy, "gone after the copy");
    assert_int_equal(scr_meta_copy(copy, m), SCR_OK);
    assert_true(scr_hash_equal(copy, m));
    assert_int_equal(scr_meta_copy(copy, copy), SCR_OK);
    assert_true(scr_hash_equal(copy, m));
    scr_meta_delete(m);
    scr_meta_delete(copy);
}

static void files_beside_files(void **state)
{
    (void)state;
    const char *file = test_path("rank_0.ckpt");
    scr_meta *m = example(), *got = scr_meta_new();
    char *name = scr_meta_name(file);
    assert_string_equal(name + strlen(file), ".scr");
    assert_int_equal(scr_meta_read(&scr_sys_posix, file, got, NULL), SCR_E_NOENT);
    assert_int_equal(scr_meta_write(&scr_sys_posix, file, m, NULL), SCR_OK);
    assert_int_equal(scr_meta_read(&scr_sys_posix, file, got, NULL), SCR_OK);
    assert_true(scr_hash_equal(got, m));
    assert_int_equal(scr_meta_unlink(&scr_sys_posix, file, NULL), SCR_OK);
    assert_int_equal(scr_meta_unlink(&scr_sys_posix, file, NULL),
                     SCR_OK); /* absent is fine */
    assert_int_equal(scr_meta_read(&scr_sys_posix, file, got, NULL), SCR_E_NOENT);
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_FOREVER);
    assert_int_equal(scr_meta_write(&test_fault_sys, file, m, NULL), SCR_E_FULL);
    (void)test_fault_off();
    assert_int_equal(scr_meta_read(&scr_sys_posix, file, got, NULL), SCR_E_NOENT);
    free(name);
    scr_meta_delete(m);
    scr_meta_delete(got);
}

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
        cmocka_unit_test(fields_are_set_and_read),
        cmocka_unit_test(absent_and_malformed_fields_leave_the_output),
        cmocka_unit_test(checks),
        cmocka_unit_test(mode_owner_and_times),
        cmocka_unit_test(destination_never_leaves_the_prefix),
        cmocka_unit_test(copy_is_exact),
        cmocka_unit_test(files_beside_files),
        cmocka_unit_test(dataset_round_trip),
        cmocka_unit_test(dataset_of_an_older_writer_is_a_checkpoint),
        cmocka_unit_test(one_number_of_two_jobs_is_two_datasets),
        cmocka_unit_test(bad_datasets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
