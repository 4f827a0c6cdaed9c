/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps in files, their cost, and entries that are set aside. */
#include "base/hashfile.h"
#include "fmt/filemap.h"
#include "helper_fault.h"
#include "helper_filemap.h"
#include "helper_golden.h"
#include "helper_maps.h"
#include "helper_order.h"
#include "helper_steps.h"
#include "helper_tmp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- files --- */

static void written_read_and_merged(void **state)
{
    (void)state;
    const char *path = test_path("filemap_0.scrinfo");
    scr_filemap *map = rich(), *got = scr_filemap_new(), *want = rich();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_E_NOENT);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map));
    scr_filemap_delete(got);
    got = scr_filemap_new();
    scr_filemap_add_file(got, 12, 5, "/c/x");
    scr_filemap_add_file(want, 12, 5, "/c/x");
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, want));
    assert_sound(got);
    test_fault_arm(TEST_ANY, 0, EIO, TEST_ONCE);
    assert_int_equal(scr_filemap_read(&test_fault_sys, path, got, NULL), SCR_E_IO);
    (void)test_fault_off();
    assert_true(test_maps_same(got, want));
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_FOREVER);
    assert_int_equal(scr_filemap_write(&test_fault_sys, path, got, SCR_VOLATILE, NULL),
                     SCR_E_FULL);
    (void)test_fault_off();
    scr_filemap_delete(got);
    got = scr_filemap_new();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_maps_same(got, map)); /* what was there is still */
    scr_filemap_delete(map);
    scr_filemap_delete(got);
    scr_filemap_delete(want);
}

/* Of several pieces: each is read twice, for the checksum and for what is in it. */
static void a_large_one_is_read_piece_by_piece(void **state)
{
    (void)state;
    enum { FILES = 8000, STEP = 9973 };
    const char *path = test_path("large.scrinfo");
    scr_filemap *map = scr_filemap_new(), *got = scr_filemap_new();
    for (int i = 0; i < FILES; i++) {
        char file[64];
        snprintf(file, sizeof file, "/c/scr.dataset.1/rank.0/file_%d", i);
        scr_filemap_add_file(map, 1, 0, file);
    }
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    size_t n = 0;
    char *bytes = test_get(path, &n);
    assert_true(n > 3 * SCR_PIECE);
    int fired = 1;
    for (int call = 0; fired; call++) {
        test_fault_arm(TEST_PREAD, call, EIO, TEST_ONCE);
        int rc = scr_filemap_read(&test_fault_sys, path, got, NULL);
        fired = test_fault_off();
        assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
        assert_true(fired ? test_map_is_empty(got) : test_maps_same(got, map));
        assert_true(fired || call > 7);
    }
    scr_filemap_clear(got);
    for (size_t at = 0; at < n; at += STEP) {
        bytes[at] ^= 1;
        test_put(path, bytes, n);
        assert_true(scr_filemap_read(&scr_sys_posix, path, got, NULL) != SCR_OK);
        assert_true(test_map_is_empty(got));
        bytes[at] ^= 1;
    }
    free(bytes);
    scr_filemap_delete(map);
    scr_filemap_delete(got);
}

/* As any hash file of no bytes (scr_hashfile(5)). */
static void an_empty_file_is_an_empty_map(void **state)
{
    (void)state;
    const char *path = test_path("empty.scrinfo");
    scr_filemap *got = scr_filemap_new();
    test_put(path, "", 0);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_map_is_empty(got));
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, NULL, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(test_map_is_empty(got));
    scr_filemap_delete(got);
}

/* A map that lost an entry because of missing memory must not be taken for complete. */
static void a_map_that_is_not_whole_is_not_written(void **state)
{
    (void)state;
    const char *path = test_path("lost.scrinfo");
    enum { N = 5 };
    scr_filemap *lost[N], *to = scr_filemap_new();
    for (int i = 0; i < N; i++)
        lost[i] = i == 0 ? scr_filemap_new() : i < 4 ? filemap_example() : rich();
    lost[0]->lost = lost[1]->lost = 1;
    scr_filemap_entry(lost[2], 11, 28)->files.arena.lost = 1;
    scr_hash_set_val(scr_filemap_entry(lost[3], 11, 28)->tags, "T",
                     NULL); /* marks it */
    scr_filemap_aside(lost[4], -4)->lost = 1;
    for (int i = 0; i < N; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_str s = SCR_STR_INIT;
        assert_false(scr_filemap_ok(lost[i]));
        scr_filemap_pack(&s, lost[i]);
        assert_true(s.bad);
        scr_str_free(&s);
        assert_int_equal(
            scr_filemap_write(&scr_sys_posix, path, lost[i], SCR_VOLATILE, &err),
            SCR_E_NOMEM);
        assert_non_null(strstr(err.text, path));
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(scr_filemap_merge(to, lost[i]), SCR_E_NOMEM);
        assert_null(scr_filemap_dup(lost[i]));
        assert_null(scr_filemap_extract_rank(lost[i], 28));
        scr_filemap *map = filemap_example();
        struct scr_str more = test_packed(map); /* reading does not repair it */
        (void)scr_filemap_unpack(more.p, more.len, lost[i], NULL);
        assert_false(scr_filemap_ok(lost[i]));
        scr_str_free(&more);
        scr_filemap_delete(map);
        scr_filemap_delete(lost[i]);
    }
    assert_true(test_map_is_empty(to));
    scr_filemap_delete(to);
}

/* Read from the file, and written again: no byte of what is known is lost. */
static void read_golden(const struct test_golden *g, void *arg)
{
    const char *path = test_path("golden.scrinfo");
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *map = scr_filemap_new(), *again = scr_filemap_new();
    scr_hash *want = scr_hash_new(), *got = scr_hash_new();
    (void)arg;
    if (scr_filemap_read(&scr_sys_posix, g->path, map, &err) != SCR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_hash_decode(g->bytes, g->n, want, NULL), SCR_OK);
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, got, NULL), SCR_OK);
    assert_true(scr_hash_equal(got, want));
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, again, NULL), SCR_OK);
    assert_true(test_maps_same(map, again));
    scr_hash_delete(want);
    scr_hash_delete(got);
    scr_filemap_delete(map);
    scr_filemap_delete(again);
}

static void refuse_golden(const struct test_golden *g, void *arg)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *map = filemap_example(), *before = filemap_example();
    (void)arg;
    int rc = scr_filemap_read(&scr_sys_posix, g->path, map, &err);
    if (rc != g->code || err.code != rc)
        fail_msg("%s: %s", g->name, scr_err_meaning(rc));
    assert_non_null(strstr(err.text, g->path));
    assert_true(test_maps_same(map, before));
    scr_filemap_delete(map);
    scr_filemap_delete(before);
}

static void golden_files(void **state)
{
    (void)state;
    (void)test_golden_each("filemap", "good-", read_golden, NULL);
    assert_true(test_golden_each("filemap", "bad-", refuse_golden, NULL) >= 18);
}

/* --- cost --- */

/* Every file routed is entered: the last must cost what the first did. */
static void many_files(void **state)
{
    (void)state;
    enum { N = 50000 };
    char path[64];
    scr_filemap *map = scr_filemap_new();
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "/c/file.%d", i);
        assert_non_null(scr_filemap_add_file(map, 1, 0, path));
    }
    assert_int_equal(scr_filemap_num_files(map, 1, 0), N);
    const struct scr_table *files = &scr_filemap_entry(map, 1, 0)->files;
    size_t steps = test_steps(&files->items, NULL);
    assert_true(steps >= N && steps < 4 * N);
    assert_sound(map);
    scr_filemap_delete(map);
}

static void many_ranks_and_datasets(void **state)
{
    (void)state;
    enum { RANKS = 300, DSETS = 7 };
    scr_filemap *map = scr_filemap_new();
    for (int i = 0; i < RANKS * DSETS; i++) { /* in no order: 1009 is prime */
        int k = i * 1009 % (RANKS * DSETS);
        assert_non_null(scr_filemap_add_rank(map, 1 + k % DSETS, k / DSETS));
    }
    assert_int_equal(map->n, RANKS * DSETS);
    assert_int_equal(num_ranks(map), RANKS);
    for (int d = 1; d <= DSETS; d++) {
        int rank = 0;
        assert_int_equal(scr_filemap_num_ranks_by_dataset(map, d), RANKS);
        for (SCR_ENTRIES(e, map, d))
            assert_true(e->dset == d && e->rank == rank++);
        assert_int_equal(rank, RANKS);
    }
    assert_sound(map);
    for (int rank = 0; rank < RANKS; rank += 2)
        scr_filemap_delete(scr_filemap_extract_rank(map, rank));
    assert_int_equal(num_ranks(map), RANKS / 2);
    scr_filemap_remove_dataset(map, 3);
    assert_int_equal(map->n, RANKS / 2 * (DSETS - 1));
    assert_sound(map);
    scr_filemap_delete(map);
}

/* --- what is aside --- */

/* Rank 20 with datasets made at 5 and, aside, at 3; rank 28 with the older only. */
static scr_filemap *with_aside(void)
{
    scr_filemap *map = scr_filemap_new(), *old = scr_filemap_new();
    scr_hash *made = scr_hash_new();
    scr_filemap_add_file(map, 10, 20, "/c/new");
    scr_hash_set_val_i64(made, "CREATED", 5);
    scr_filemap_set_dataset(map, 10, 20, made);
    scr_hash_set_val_i64(made, "CREATED", 3);
    for (int rank = 20; rank <= 28; rank += 8) {
        scr_filemap_add_file(old, 10, rank, "/c/old");
        scr_filemap_set_dataset(old, 10, rank, made);
        scr_filemap_set_desc(old, 10, rank, NULL);
        assert_int_equal(scr_filemap_set_aside(map, 3, old, 10, rank), SCR_OK);
    }
    assert_sound(map);
    scr_filemap_delete(old);
    scr_hash_delete(made);
    return map;
}

static void what_is_aside_is_kept_apart(void **state)
{
    (void)state;
    int n = 0;
    int64_t *made = NULL, oldest, newest;
    scr_filemap *map = with_aside();
    assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 10), 1);
    assert_int_equal(num_ranks(map), 1);
    int *list = NULL, rc = scr_filemap_list_ranks(map, &n, &list);
    assert_list(rc, n, list, 20, 28);
    assert_int_equal(scr_filemap_created(map, 10, 20), 0); /* only begun there */
    scr_filemap_set_desc(map, 10, 20, NULL);
    scr_filemap_made(map, 10, &oldest, &newest);
    assert_true(oldest == 5 && newest == 5);
    assert_int_equal(scr_filemap_list_aside(map, &n, &made), SCR_OK);
    assert_true(n == 1 && made[0] == 3);
    free(made);
    scr_filemap *only = scr_filemap_only(map, 10, 3);
    assert_int_equal(scr_filemap_num_ranks_by_dataset(only, 10), 2);
    assert_int_equal(scr_filemap_num_files(only, 10, 20), 1);
    assert_sound(only);
    scr_filemap_delete(only);
    scr_filemap_drop_aside(map, 3, 10, 20);
    assert_true(scr_filemap_has_aside(map, 10));
    scr_filemap_remove_dataset(map, 10);
    assert_null(map->aside);
    assert_true(test_map_is_empty(map));
    assert_false(scr_filemap_has_aside(map, 10));
    scr_filemap_delete(map);
}

static void times_of_what_is_aside_are_listed(void **state)
{
    (void)state;
    int n = 0;
    int64_t *made = NULL;
    scr_filemap *map = rich();
    assert_int_equal(scr_filemap_list_aside(map, &n, &made), SCR_OK);
    assert_true(n == 2 && made[0] == 3 && made[1] == -4); /* as they came */
    free(made);
    scr_filemap_delete(map);
}

static void datasets_that_are_only_aside_are_listed(void **state)
{
    (void)state;
    scr_filemap *map = with_aside();
    scr_filemap_remove_rank_by_dataset(map, 10, 20);
    assert_int_equal(map->n, 0);
    assert_datasets(map, 10, -1);
    assert_sound(map);
    scr_filemap_drop_aside(map, 3, 10, 20);
    scr_filemap_drop_aside(map, 4, 10, 28); /* nothing is */
    assert_datasets(map, 10, -1);
    scr_filemap_drop_aside(map, 3, 10, 28);
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(map);
}

static void what_is_aside_goes_with_its_rank(void **state)
{
    (void)state;
    scr_filemap *map = with_aside(), *whole = scr_filemap_dup(map);
    scr_filemap *one = scr_filemap_extract_rank(map, 20);
    assert_int_equal(num_ranks(one), 1);
    assert_int_equal(num_ranks(scr_filemap_aside(one, 3)), 1);
    assert_int_equal(num_ranks(scr_filemap_aside(map, 3)), 1);
    assert_sound(one);
    assert_sound(map);
    assert_int_equal(scr_filemap_merge(map, one), SCR_OK);
    assert_true(test_maps_same(map, whole));
    scr_filemap *other = scr_filemap_extract_rank(map, 28); /* aside only */
    assert_int_equal(other->n, 0);
    scr_filemap *third = scr_filemap_extract_rank(map, 4); /* nothing of it is */
    assert_true(test_map_is_empty(third));
    scr_filemap_delete(third);
    assert_int_equal(num_ranks(scr_filemap_aside(other, 3)), 1);
    assert_null(scr_filemap_entry(scr_filemap_aside(map, 3), 10, 28));
    scr_filemap_delete(scr_filemap_extract_rank(map, 20));
    assert_true(test_map_is_empty(map));
    scr_filemap_delete(other);
    scr_filemap_delete(whole);
    scr_filemap_delete(one);
    scr_filemap_delete(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_read_and_merged),
        cmocka_unit_test(a_large_one_is_read_piece_by_piece),
        cmocka_unit_test(an_empty_file_is_an_empty_map),
        cmocka_unit_test(a_map_that_is_not_whole_is_not_written),
        cmocka_unit_test(golden_files),
        cmocka_unit_test(many_files),
        cmocka_unit_test(many_ranks_and_datasets),
        cmocka_unit_test(what_is_aside_is_kept_apart),
        cmocka_unit_test(times_of_what_is_aside_are_listed),
        cmocka_unit_test(datasets_that_are_only_aside_are_listed),
        cmocka_unit_test(what_is_aside_goes_with_its_rank),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
