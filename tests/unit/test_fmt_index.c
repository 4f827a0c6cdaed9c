/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets: what is added, found, marked, forgotten. */
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fmt/index.h"

static scr_hash *dataset(int id, const char *name, int is_ckpt)
{
    struct scr_dataset d = {
        .id = id, .name = name, .ckpt = is_ckpt ? id : 0, .complete = 1
    };
    scr_hash *h = scr_hash_new();
    d.is_ckpt = is_ckpt;
    d.is_output = !is_ckpt;
    assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
    return h;
}

static void add(scr_hash *index, int id, const char *name, int is_ckpt, int complete)
{
    scr_hash *dset = dataset(id, name, is_ckpt);
    assert_int_equal(scr_index_add(index, dset, complete, 1298937600), SCR_OK);
    scr_hash_delete(dset);
}

/* 1 and 3: complete checkpoints; 2: output; 4: incomplete checkpoint. */
static scr_hash *example(void)
{
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    add(index, 1, "ckpt.1", 1, 1);
    add(index, 2, "plot.2", 0, 1);
    add(index, 3, "ckpt.3", 1, 1);
    add(index, 4, "ckpt.4", 1, 0);
    return index;
}

static void empty_becomes_version_2(void **state)
{
    (void)state;
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    assert_string_equal(scr_hash_get_val(index, "VERSION"), "2");
    assert_int_equal(scr_index_max_id(index), 0);
    assert_int_equal(scr_index_newest(index, 0), -1);
    assert_null(scr_index_get_current(index));
    scr_hash_delete(index);
}

static void added_datasets_are_found(void **state)
{
    (void)state;
    struct scr_index_entry e;
    char stamp[32];
    scr_hash *index = example();
    assert_int_equal(scr_index_find(index, "plot.2"), 2);
    assert_int_equal(scr_index_find(index, "plot.3"), -1);
    assert_int_equal(scr_index_max_id(index), 4);
    assert_int_equal(scr_index_get(index, 3, &e, NULL), SCR_OK);
    assert_true(e.id == 3 && e.complete && !e.failed && !e.current && e.dset.is_ckpt);
    assert_string_equal(e.dset.name, "ckpt.3");
    assert_string_equal(e.flushed, scr_format_stamp(1298937600, stamp, sizeof stamp));
    assert_null(e.dir);
    assert_int_equal(scr_index_get(index, 9, &e, NULL), SCR_E_NOENT);
    assert_int_equal(e.id, 3); /* untouched */
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    scr_hash_delete(index);
}

static void ids_descend(void **state)
{
    (void)state;
    int *ids;
    size_t n;
    scr_hash *index = example();
    assert_int_equal(scr_index_ids(index, &ids, &n), SCR_OK);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], 4 - (int)i);
    free(ids);
    scr_hash_delete(index);
}

/* The order of a restart: complete, a checkpoint, not failed, newest first. */
static void newest_falls_back(void **state)
{
    (void)state;
    scr_hash *index = example();
    assert_int_equal(scr_index_newest(index, 0), 3);
    assert_int_equal(scr_index_newest(index, 3), 1);
    assert_int_equal(scr_index_newest(index, 1), -1);
    scr_index_mark_failed(index, 3, 0);
    assert_int_equal(scr_index_newest(index, 0), 1);
    scr_index_clear_failed(index, 3);
    assert_int_equal(scr_index_newest(index, 0), 3);
    scr_index_mark_failed(index, 3, 0);
    add(index, 3, "ckpt.3", 1, 1); /* written anew, so good again */
    assert_int_equal(scr_index_newest(index, 0), 3);
    scr_hash_delete(index);
}

static void current(void **state)
{
    (void)state;
    struct scr_index_entry e;
    scr_hash *index = example();
    assert_int_equal(scr_index_set_current(index, "ckpt.9"), SCR_E_NOENT);
    assert_int_equal(scr_index_set_current(index, NULL), SCR_E_NOENT);
    assert_null(scr_index_get_current(index));
    assert_int_equal(scr_index_set_current(index, "ckpt.3"), SCR_OK);
    assert_int_equal(scr_index_get(index, 3, &e, NULL), SCR_OK);
    assert_true(e.current);
    scr_index_mark_failed(index, 1, 0); /* another one */
    assert_string_equal(scr_index_get_current(index), "ckpt.3");
    scr_index_mark_failed(index, 3, 0);
    assert_null(scr_index_get_current(index));
    assert_int_equal(scr_index_set_current(index, "ckpt.1"), SCR_OK);
    assert_int_equal(scr_index_remove(index, 1), 1);
    assert_null(scr_index_get_current(index));
    scr_hash_delete(index);
}

static void current_only_moves_forward_to_good_checkpoints(void **state)
{
    (void)state;
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    for (int id = 1; id <= 4; id++) {
        char name[16];
        snprintf(name, sizeof name, "ckpt.%d", id);
        add(index, id, name, id != 4, 1);
    }
    assert_int_equal(scr_index_advance_current(index, 2), SCR_OK);
    assert_string_equal(scr_index_get_current(index), "ckpt.2");
    assert_int_equal(scr_index_advance_current(index, 1), SCR_OK); /* older */
    assert_int_equal(scr_index_advance_current(index, 4), SCR_OK); /* incomplete */
    assert_int_equal(scr_index_advance_current(index, 9), SCR_OK); /* not there */
    assert_string_equal(scr_index_get_current(index), "ckpt.2");
    scr_index_mark_failed(index, 3, 0);
    assert_int_equal(scr_index_advance_current(index, 3), SCR_OK);
    assert_string_equal(scr_index_get_current(index), "ckpt.2");
    scr_index_clear_failed(index, 3);
    scr_hash_set_val_i64(scr_hash_getf(index, "DSET 3 DSET"), "FLAG_CKPT", 0);
    assert_int_equal(scr_index_advance_current(index, 3), SCR_OK); /* output only */
    assert_string_equal(scr_index_get_current(index), "ckpt.2");
    scr_hash_set_val_i64(scr_hash_getf(index, "DSET 3 DSET"), "FLAG_CKPT", 1);
    assert_int_equal(scr_index_advance_current(index, 3), SCR_OK);
    assert_string_equal(scr_index_get_current(index), "ckpt.3");
    scr_hash_delete(index);
}

static void removed_datasets_are_gone(void **state)
{
    (void)state;
    scr_hash *index = example();
    assert_int_equal(scr_index_remove(index, 3), 1);
    assert_int_equal(scr_index_remove(index, 3), 0);
    assert_int_equal(scr_index_find(index, "ckpt.3"), -1);
    assert_int_equal(scr_index_newest(index, 0), 1);
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    assert_int_equal(scr_index_find(index, "ckpt.3"), -1);
    scr_hash_delete(index);
}

static void a_name_moves_to_the_dataset_added_last(void **state)
{
    (void)state;
    scr_hash *index = example();
    add(index, 5, "ckpt.1", 1, 1);
    assert_int_equal(scr_index_find(index, "ckpt.1"), 5);
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    assert_int_equal(scr_index_find(index, "ckpt.1"), 5);
    assert_int_equal(scr_index_remove(index, 1), 1); /* not the way in to 5 */
    assert_int_equal(scr_index_find(index, "ckpt.1"), 5);
    add(index, 5, "renamed", 1, 1);
    assert_int_equal(scr_index_find(index, "ckpt.1"), -1);
    assert_int_equal(scr_index_find(index, "renamed"), 5);
    scr_hash_delete(index);
}

static void every_fetch_is_recorded(void **state)
{
    (void)state;
    scr_hash *index = example();
    scr_index_mark_fetched(index, 3, 1298937600);
    scr_index_mark_fetched(index, 3, 1298937700);
    assert_int_equal(scr_hash_size(scr_hash_getf(index, "DSET 3 FETCHED")), 2);
    scr_index_mark_fetched(index, 99, 0); /* makes no entry */
    scr_index_mark_failed(index, 99, 0);
    assert_null(scr_hash_getf(index, "DSET 99"));
    scr_hash_delete(index);
}

static void unknown_keys_are_kept(void **state)
{
    (void)state;
    scr_hash *index = example();
    scr_hash_set_val(index, "FUTURE", "a");
    scr_hash_setf(index, NULL, "DSET 3 FUTURE b");
    add(index, 3, "ckpt.3", 1, 1);
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    assert_string_equal(scr_hash_get_val(index, "FUTURE"), "a");
    assert_non_null(scr_hash_getf(index, "DSET 3 FUTURE b"));
    scr_hash_delete(index);
}

static void what_is_no_dataset_is_not_added(void **state)
{
    (void)state;
    scr_hash *index = example(), *before = scr_hash_dup(index), *h = scr_hash_new();
    assert_int_equal(scr_index_add(index, h, 1, 0), SCR_E_ARG);
    assert_int_equal(scr_index_add(index, NULL, 1, 0), SCR_E_ARG);
    assert_true(scr_hash_equal(index, before));
    scr_hash_delete(index);
    scr_hash_delete(before);
    scr_hash_delete(h);
}

static void a_doomed_dataset_is_saved_by_being_added_again(void **state)
{
    (void)state;
    struct scr_index_entry e;
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    add(index, 3, "ckpt.3", 1, 1);
    scr_index_mark_doomed(index, 3);
    scr_index_mark_doomed(index, 4); /* not there */
    assert_int_equal(scr_index_get(index, 3, &e, NULL), SCR_OK);
    assert_true(e.doomed && !e.complete);
    assert_int_equal(scr_index_newest(index, 0), -1);
    add(index, 3, "ckpt.3", 1, 1);
    assert_int_equal(scr_index_get(index, 3, &e, NULL), SCR_OK);
    assert_true(!e.doomed && e.complete);
    scr_hash_delete(index);
}

static void what_is_newer_is_dropped(void **state)
{
    (void)state;
    int changed = 0;
    scr_hash *index = scr_hash_new();
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    add(index, 3, "ckpt.3", 1, 1);
    add(index, 5, "ckpt.5", 1, 1);
    add(index, 9, "ckpt.9", 0, 1);
    assert_int_equal(scr_index_drop_after(index, 9, &changed), SCR_OK);
    assert_int_equal(changed, 0);
    assert_int_equal(scr_index_drop_after(index, 3, &changed), SCR_OK);
    assert_int_equal(changed, 1);
    assert_int_equal(scr_index_max_id(index), 3);
    scr_hash_delete(index);
}

/* Version 1 kept files and summary in a directory of their own below the prefix. */
static void version_1_keeps_its_directory(void **state)
{
    (void)state;
    struct scr_index_entry e;
    scr_hash *index = scr_hash_new();
    scr_hash_setf(index, NULL, "VERSION 1");
    scr_hash_setf(index, NULL, "CKPT 18 DIR old.18 COMPLETE 1");
    scr_hash_setf(index, NULL, "CKPT 18 DIR old.18 FLUSHED 2011-02-28T12:37:14");
    scr_hash_setf(index, NULL, "CKPT 18 DIR newer.18 COMPLETE 0");
    scr_hash_setf(index, NULL, "CKPT 18 DIR newer.18 FLUSHED 2011-02-28T12:37:36");
    assert_int_equal(scr_index_normal(index, NULL), SCR_OK);
    assert_int_equal(scr_index_get(index, 18, &e, NULL), SCR_OK);
    assert_string_equal(e.dir, "old.18"); /* the complete one */
    assert_string_equal(e.dset.name, "old.18");
    assert_int_equal(scr_index_newest(index, 0), 18);
    scr_hash_delete(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_becomes_version_2),
        cmocka_unit_test(added_datasets_are_found),
        cmocka_unit_test(ids_descend),
        cmocka_unit_test(newest_falls_back),
        cmocka_unit_test(current),
        cmocka_unit_test(current_only_moves_forward_to_good_checkpoints),
        cmocka_unit_test(removed_datasets_are_gone),
        cmocka_unit_test(a_name_moves_to_the_dataset_added_last),
        cmocka_unit_test(every_fetch_is_recorded),
        cmocka_unit_test(unknown_keys_are_kept),
        cmocka_unit_test(what_is_no_dataset_is_not_added),
        cmocka_unit_test(a_doomed_dataset_is_saved_by_being_added_again),
        cmocka_unit_test(what_is_newer_is_dropped),
        cmocka_unit_test(version_1_keeps_its_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
