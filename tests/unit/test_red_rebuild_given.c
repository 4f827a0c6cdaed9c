/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial rebuild: what a caller gives, hostile headers, and calls that fail. */
#include "base/path.h"
#include "helper_fault.h"
#include "helper_pack.h"
#include "helper_protect.h"
#include "helper_rebuild.h"
#include "helper_tmp.h"
#include "helper_tolerance.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void restore(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        restore_member(w, i);
}

/* --- what the caller gives --- */

static void the_message_names_the_ranks_at_fault(void **state)
{
    (void)state;
    struct world w;
    struct scr_err err = SCR_ERR_INIT;
    random_world(&w, SCR_SCHEME_XOR, 4, 1);
    unlink(w.file[1][0].path);
    unlink(w.file[2][0].path);
    unlink(w.reds[3]);
    assert_int_equal(rebuild(&quick_env, &w, NULL, &err), SCR_E_LOST);
    assert_non_null(strstr(err.text, "11, 12, 13"));
    world_fini(&w);
}

static void good_files_of_a_damaged_member_are_left_alone(void **state)
{
    (void)state;
    struct world w;
    struct stat before, after;
    size_t sizes[MAX_N][MAX_FILES] = { { 100, 50 }, { 80, 70 }, { 99, 1 } };
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 2, sizes);
    assert_int_equal(stat(w.file[1][0].path, &before), 0);
    flip(&w.file[1][1]);
    assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
    assert_whole(&w);
    assert_tidy(&w);
    assert_int_equal(stat(w.file[1][0].path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_mode, before.st_mode);
    world_fini(&w);
}

static void a_damaged_redundancy_file_is_replaced_in_its_place(void **state)
{
    (void)state;
    struct world w;
    const char *reds[MAX_N], *nowhere[MAX_N] = { NULL };
    random_world(&w, SCR_SCHEME_XOR, 3, 1);
    for (int i = 0; i < 3; i++)
        reds[i] = w.reds[i];
    flip(&w.red[1]);
    const struct scr_rebuild_set set = { 3, reds, (const char *const *)w.dirs, nowhere,
                                         NULL };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_OK);
    assert_whole(&w);
    unlink(w.reds[1]);
    reds[1] = NULL;
    uint32_t before = tree_of(&w);
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_ARG);
    assert_int_equal(tree_of(&w), before);
    world_fini(&w);
}

static void sets_of_impossible_size_are_refused(void **state)
{
    (void)state;
    const char *none[1] = { NULL }, *dir[1] = { "/nowhere" };
    struct scr_rebuild_set set = { 0, none, dir, none, NULL };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_RANGE);
    set.n = 256;
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_RANGE);
    set.n = 1;
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_LOST);
}

static void files_of_different_sets_are_not_mixed(void **state)
{
    (void)state;
    struct world a, b;
    size_t one[MAX_N][MAX_FILES] = { { 10 }, { 20 }, { 30 } };
    size_t two[MAX_N][MAX_FILES] = { { 10 }, { 20 }, { 300 } };
    world_init(&a, SCR_SCHEME_XOR, 3, 1, 1, one);
    world_init(&b, SCR_SCHEME_XOR, 3, 1, 1, two);
    struct scr_err err = SCR_ERR_INIT;
    test_put(a.reds[1], b.red[1].bytes, b.red[1].n);
    uint32_t before = tree_of(&a);
    assert_int_equal(rebuild(&quick_env, &a, NULL, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "another set"));
    assert_int_equal(tree_of(&a), before);
    /* Two members' files exchanged: neither is what its name says, and that is too
     * many. */
    test_put(a.reds[1], a.red[2].bytes, a.red[2].n);
    test_put(a.reds[2], a.red[1].bytes, a.red[1].n);
    assert_int_equal(rebuild(&quick_env, &a, NULL, NULL), SCR_E_LOST);
    /* One in the place of another is only lost. */
    test_put(a.reds[2], a.red[2].bytes, a.red[2].n);
    assert_int_equal(rebuild(&quick_env, &a, NULL, NULL), SCR_OK);
    assert_whole(&a);
    world_fini(&a);
    world_fini(&b);
}

/* The header of member i becomes the bytes of this tree, with the parity behind it. */
static void put_header(const struct world *w, int i, const scr_hash *h, uint64_t old)
{
    void *bytes;
    size_t n, parity = w->red[i].n > old ? w->red[i].n - (size_t)old : 0;
    bytes = test_hash_encoded(h, &n);
    assert_non_null(bytes);
    int fd = open(w->reds[i], O_WRONLY | O_TRUNC);
    assert_int_equal(pwrite(fd, bytes, n, 0), (ssize_t)n);
    assert_int_equal(
        pwrite(fd, w->red[i].bytes + w->red[i].n - parity, parity, (off_t)n),
        (ssize_t)parity);
    assert_int_equal(close(fd), 0);
    free(bytes);
}

/* Rewrites member i's header with one value changed; where: "CURRENT/FILE/0". */
static void forge(const struct world *w, int i, const char *where, const char *key,
                  const char *val)
{
    char words[64], *save = NULL;
    scr_hash *h = scr_hash_new(), *at = h;
    uint64_t bytes;
    assert_int_equal(scr_redfile_read(&quick_env, w->reds[i], h, &bytes, NULL), SCR_OK);
    snprintf(words, sizeof words, "%s", where);
    for (char *k = strtok_r(words, "/", &save); k; k = strtok_r(NULL, "/", &save))
        at = scr_hash_get(at, k);
    assert_non_null(scr_hash_set_val(at, key, val));
    put_header(w, i, h, bytes);
    scr_hash_delete(h);
}

static void a_header_that_contradicts_itself_counts_as_lost(void **state)
{
    (void)state;
    const char *const forged[][3] = {
        { "", "MEMBER", "2" },       { "", "FAILURES", "2" },
        { "", "TYPE", "SINGLE" },    { "", "CHUNK", "-1" },
        { "GROUP/RANK", "1", "10" }, { "GROUP/RANK", "1", "100" },
        { "CURRENT", "RANK", "10" }, { "CURRENT", "FILES", "1" },
        { "CURRENT", "FILES", "3" }, { "CURRENT/FILE", "2", "FILE" },
    };
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100, 1 }, { 80, 2 }, { 99, 3 } };
    int rebuilt[MAX_N];
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 2, sizes);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        forge(&w, 1, forged[i][0], forged[i][1], forged[i][2]);
        assert_int_equal(rebuild(&quick_env, &w, rebuilt, NULL), SCR_OK);
        assert_int_equal(rebuilt[0], 0);
        assert_int_equal(rebuilt[1], SCR_HAVE_PARITY);
        assert_int_equal(rebuilt[2], 0);
        assert_whole(&w);
    }
    assert_tidy(&w);
    world_fini(&w);
}

/* Of member 0's two neighbours the next one is asked. */
static void a_copy_that_contradicts_itself_is_none(void **state)
{
    (void)state;
    const char *const forged[][3] = { { "PARTNER", "FILES", "2" },
                                      { "PARTNER", "RANK", "12" },
                                      { "PARTNER/FILE", "1", "FILE" },
                                      { "", "PARTNER", "x" } };
    struct scr_err err = SCR_ERR_INIT;
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 80 }, { 99 }, { 7 } };
    world_init(&w, SCR_SCHEME_RS, 4, 2, 1, sizes);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        forge(&w, 1, forged[i][0], forged[i][1], forged[i][2]);
        lose_data(&w, 0);
        unlink(w.reds[0]);
        assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
        restore_member(&w, 1); /* which is right, except for that copy */
        assert_whole(&w);
    }
    forge(&w, 1, "PARTNER", "FILES", "2");
    forge(&w, 2, "PARTNER2", "FILES", "0");
    lose_data(&w, 0);
    unlink(w.reds[0]);
    uint32_t before = tree_of(&w);
    assert_int_equal(rebuild(&quick_env, &w, NULL, &err), SCR_E_LOST);
    assert_non_null(strstr(err.text, "meta data"));
    assert_int_equal(tree_of(&w), before);
    world_fini(&w);
}

static void forged_paths_do_not_leave_the_directory(void **state)
{
    (void)state;
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 100 }, { 100 } };
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 1, sizes);
    forge(&w, 1, "PARTNER/FILE/0", "FILE", "../../escaped");
    lose_data(&w, 0);
    unlink(w.reds[0]);
    uint32_t before = tree_of(&w);
    assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_E_CORRUPT);
    assert_int_equal(tree_of(&w), before);
    assert_int_equal(access(test_path("escaped"), F_OK), -1);
    world_fini(&w);
}

static void forged_sizes_and_checksums_are_refused(void **state)
{
    (void)state;
    const char *const forged[][2] = { { "SIZE", "99" },
                                      { "SIZE", "4611686018427387904" },
                                      { "SIZE", "101" },
                                      { "CRC", "0x12345678" } };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        struct world w;
        size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 80 }, { 99 } };
        world_init(&w, SCR_SCHEME_XOR, 3, 1, 1, sizes);
        forge(&w, 1, "PARTNER/FILE/0", forged[i][0], forged[i][1]);
        lose_data(&w, 0);
        unlink(w.reds[0]);
        (void)mkdir(w.dirs[0], 0700);
        int rc = rebuild(&quick_env, &w, NULL, NULL);
        assert_true(rc == SCR_E_CORRUPT || rc == SCR_E_RANGE || rc == SCR_E_LOST);
        assert_int_equal(access(w.file[0][0].path, F_OK), -1);
        (void)tree_of(&w);
        assert_int_equal(tree_files, 4); /* 2 of data, 2 of redundancy */
        world_fini(&w);
    }
}

static void scavenged_files_are_at_their_destinations(void **state)
{
    (void)state;
    struct world w;
    const char *reds[MAX_N];
    random_world(&w, SCR_SCHEME_RS, 5, 2);
    char *prefix = path_in(&w, "prefix"), *out = path_in(&w, "prefix/out");
    assert_int_equal(mkdir(prefix, 0700), 0);
    assert_int_equal(mkdir(out, 0700), 0);
    for (int i = 0; i < 5; i++) {
        for (size_t f = 0; f < w.nfiles[i]; f++) {
            char name[32];
            snprintf(name, sizeof name, "%d.%zu", 10 + i, strlen(file_names[f]));
            char *dest = scr_path_join(out, name);
            if (i != 1 && i != 2)
                test_put(dest, w.file[i][f].bytes, w.file[i][f].n);
            free(w.file[i][f].path);
            w.file[i][f].path = dest;
        }
        lose_data(&w, i);
        reds[i] = i == 2 ? NULL : w.reds[i];
    }
    unlink(w.reds[2]);
    int rebuilt[MAX_N];
    const struct scr_rebuild_set set = { 5, reds, NULL, (const char *const *)w.reds,
                                         prefix };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, rebuilt, NULL), SCR_OK);
    assert_int_equal(rebuilt[1], SCR_HAVE_DATA);
    assert_int_equal(rebuilt[2], SCR_HAVE_ALL);
    assert_whole(&w);
    free(prefix);
    free(out);
    world_fini(&w);
}

static void rebuilt_files_have_their_modes_and_times(void **state)
{
    (void)state;
    struct world w;
    struct stat st;
    int rebuilt[MAX_N];
    random_world(&w, SCR_SCHEME_XOR, 4, 1);
    lose_data(&w, 2);
    assert_int_equal(rebuild(&quick_env, &w, rebuilt, NULL), SCR_OK);
    assert_int_equal(rebuilt[2], SCR_HAVE_DATA);
    for (size_t f = 0; f < w.nfiles[2]; f++) {
        assert_int_equal(stat(w.file[2][f].path, &st), 0);
        assert_int_equal(st.st_mode, MODE);
        assert_int_equal(st.st_mtim.tv_sec, MTIME);
    }
    world_fini(&w);
}

/* --- failing system calls --- */

static void two_lost(struct world *w)
{
    lose_data(w, 1);
    unlink(w->reds[1]);
    unlink(w->file[3][0].path);
    flip(&w->red[3]);
}

/* Survivors and whatever else is in place are as they were; nothing half-made exists.
 */
static void assert_no_harm(const struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        for (size_t f = 0; f < w->nfiles[i]; f++)
            assert_true(access(w->file[i][f].path, F_OK) != 0 ||
                        is_as_it_was(&w->file[i][f]));
        if (i != 1 && i != 3)
            assert_true(is_as_it_was(&w->red[i]));
    }
}

static void fail_each_call(enum test_how how, int error)
{
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 10, 2 }, { 20, 3 }, { 30, 4 }, { 7, 7 } };
    world_init(&w, SCR_SCHEME_RS, 4, 2, 2, sizes);
    for (long n = 0;; n++) {
        struct scr_err err = SCR_ERR_INIT;
        restore(&w);
        two_lost(&w);
        test_fault_arm(TEST_ANY, n, error, how);
        int rc = rebuild(&fault_env, &w, NULL, &err);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_int_equal(err.code, rc);
        assert_no_harm(&w);
        if (rc == SCR_OK)
            assert_whole(&w);
        else
            assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
        assert_whole(&w);
        assert_tidy(&w);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
    world_fini(&w);
}

static void a_failed_rebuild_harms_nothing_and_can_be_repeated(void **state)
{
    (void)state;
    fail_each_call(TEST_ONCE, EIO);
    fail_each_call(TEST_FOREVER, ENOSPC);
}

static void a_failed_encode_is_reported(void **state)
{
    (void)state;
    const char *path = test_path("encode");
    scr_meta *meta = meta_of("encode", 4, 0);
    const int rank = 0;
    char *red = strdup(test_path("encode.single"));
    const struct test_protect_part part = { 1, (const scr_meta *const *)&meta,
                                            test_tmp(), red };
    const struct test_protect_set set = {
        SCR_SCHEME_XOR, 1, 1, 1, 1, &rank, NULL, NULL
    };
    test_put(path, "data", 4);
    for (long n = 0;; n++) {
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = test_protect(&fault_env, &set, &part, NULL);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
        if (!fired)
            break;
    }
    test_put(path, "dat", 3);
    assert_int_equal(test_protect(&quick_env, &set, &part, NULL), SCR_E_MISSING);
    scr_meta_delete(meta);
    free(red);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_names_the_ranks_at_fault),
        cmocka_unit_test(good_files_of_a_damaged_member_are_left_alone),
        cmocka_unit_test(a_damaged_redundancy_file_is_replaced_in_its_place),
        cmocka_unit_test(sets_of_impossible_size_are_refused),
        cmocka_unit_test(files_of_different_sets_are_not_mixed),
        cmocka_unit_test(a_header_that_contradicts_itself_counts_as_lost),
        cmocka_unit_test(a_copy_that_contradicts_itself_is_none),
        cmocka_unit_test(forged_paths_do_not_leave_the_directory),
        cmocka_unit_test(forged_sizes_and_checksums_are_refused),
        cmocka_unit_test(scavenged_files_are_at_their_destinations),
        cmocka_unit_test(rebuilt_files_have_their_modes_and_times),
        cmocka_unit_test(a_failed_rebuild_harms_nothing_and_can_be_repeated),
        cmocka_unit_test(a_failed_encode_is_reported),
    };
    return cmocka_run_group_tests(tests, rebuild_setup, test_tmp_teardown);
}
