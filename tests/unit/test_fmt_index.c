/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of datasets: entries added, found, marked, removed. */
#include "helper_index.h"
#include "helper_tmp.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

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

static void add(struct scr_index *index, int id, const char *name, int is_ckpt,
                int complete)
{
    scr_hash *dset = dataset(id, name, is_ckpt);
    assert_int_equal(scr_index_add(index, dset, complete, 1298937600), SCR_OK);
    scr_hash_delete(dset);
}

/* 1 and 3: complete checkpoints; 2: output; 4: incomplete checkpoint. */
static struct scr_index example(void)
{
    struct scr_index index = SCR_INDEX_INIT;
    add(&index, 1, "ckpt.1", 1, 1);
    add(&index, 2, "plot.2", 0, 1);
    add(&index, 3, "ckpt.3", 1, 1);
    add(&index, 4, "ckpt.4", 1, 0);
    return index;
}

/* Written and read again. */
static void renew(struct scr_index *index)
{
    struct scr_index again;
    scr_hash *h = test_index_tree(index);
    assert_int_equal(test_index_take(h, &again, NULL), SCR_OK);
    scr_hash_delete(h);
    scr_index_fini(index);
    *index = again;
}

static void empty_becomes_version_2(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *h = test_index_tree(&index);
    assert_string_equal(scr_hash_get_val(h, "VERSION"), "2");
    assert_int_equal(scr_hash_size(h), 1);
    scr_hash_delete(h);
    assert_int_equal(scr_index_max_id(&index), 0);
    assert_int_equal(scr_index_newest(&index), -1);
    assert_null(index.current);
    scr_index_fini(&index);
}

static void added_datasets_are_found(void **state)
{
    (void)state;
    struct scr_index_entry e;
    char stamp[32];
    struct scr_index index = example();
    assert_int_equal(scr_index_find(&index, "plot.2"), 2);
    assert_int_equal(scr_index_find(&index, "plot.3"), -1);
    assert_int_equal(scr_index_max_id(&index), 4);
    assert_int_equal(scr_index_get(&index, 3, &e, NULL), SCR_OK);
    assert_true(e.id == 3 && e.complete && !e.failed && !e.current && e.dset.is_ckpt);
    assert_string_equal(e.dset.name, "ckpt.3");
    assert_string_equal(e.flushed, scr_format_stamp(1298937600, stamp, sizeof stamp));
    assert_null(e.dir);
    assert_int_equal(scr_index_get(&index, 9, &e, NULL), SCR_E_NOENT);
    assert_int_equal(e.id, 3); /* untouched */
    renew(&index);
    scr_index_fini(&index);
}

static void ids_descend(void **state)
{
    (void)state;
    int *ids;
    size_t n;
    struct scr_index index = example();
    assert_int_equal(scr_index_ids(&index, &ids, &n), SCR_OK);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], 4 - (int)i);
    free(ids);
    scr_index_fini(&index);
}

/* The order of a restart: complete, a checkpoint, not failed, newest first. */
static void newest_falls_back(void **state)
{
    (void)state;
    struct scr_index index = example();
    assert_int_equal(scr_index_newest(&index), 3);
    scr_index_mark_failed(&index, 3, 0);
    assert_int_equal(scr_index_newest(&index), 1);
    scr_index_clear_failed(&index, 3);
    assert_int_equal(scr_index_newest(&index), 3);
    scr_index_mark_failed(&index, 3, 0);
    add(&index, 3, "ckpt.3", 1, 1); /* written again, so good again */
    assert_int_equal(scr_index_newest(&index), 3);
    scr_index_fini(&index);
}

static void current(void **state)
{
    (void)state;
    struct scr_index_entry e;
    struct scr_index index = example();
    assert_int_equal(scr_index_set_current(&index, "ckpt.9"), SCR_E_NOENT);
    assert_int_equal(scr_index_set_current(&index, NULL), SCR_E_NOENT);
    assert_null(index.current);
    assert_int_equal(scr_index_set_current(&index, "ckpt.3"), SCR_OK);
    assert_int_equal(scr_index_get(&index, 3, &e, NULL), SCR_OK);
    assert_true(e.current);
    scr_index_mark_failed(&index, 1, 0); /* another one */
    assert_string_equal(index.current, "ckpt.3");
    scr_index_mark_failed(&index, 3, 0);
    assert_null(index.current);
    assert_int_equal(scr_index_set_current(&index, "ckpt.1"), SCR_OK);
    assert_int_equal(scr_index_remove(&index, 1), 1);
    assert_null(index.current);
    scr_index_fini(&index);
}

static void current_only_moves_forward_to_good_checkpoints(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    for (int id = 1; id <= 4; id++) {
        char name[16];
        snprintf(name, sizeof name, "ckpt.%d", id);
        add(&index, id, name, id != 4, 1);
    }
    assert_int_equal(scr_index_advance_current(&index, 2), SCR_OK);
    assert_null(index.current); /* a restart begins with 3, the newest */
    assert_int_equal(scr_index_set_current(&index, "ckpt.1"), SCR_OK);
    assert_int_equal(scr_index_advance_current(&index, 2), SCR_OK);
    assert_string_equal(index.current, "ckpt.2");
    assert_int_equal(scr_index_advance_current(&index, 1), SCR_OK); /* older */
    assert_int_equal(scr_index_advance_current(&index, 4), SCR_OK); /* incomplete */
    assert_int_equal(scr_index_advance_current(&index, 9), SCR_OK); /* not there */
    assert_string_equal(index.current, "ckpt.2");
    scr_index_mark_failed(&index, 3, 0);
    assert_int_equal(scr_index_advance_current(&index, 3), SCR_OK);
    assert_string_equal(index.current, "ckpt.2");
    scr_index_clear_failed(&index, 3);
    add(&index, 3, "ckpt.3", 0, 1);
    assert_int_equal(scr_index_advance_current(&index, 3), SCR_OK); /* output only */
    assert_string_equal(index.current, "ckpt.2");
    add(&index, 3, "ckpt.3", 1, 1);
    assert_int_equal(scr_index_advance_current(&index, 3), SCR_OK);
    assert_string_equal(index.current, "ckpt.3");
    scr_index_fini(&index);
}

static void removed_datasets_are_gone(void **state)
{
    (void)state;
    struct scr_index index = example();
    assert_int_equal(scr_index_remove(&index, 3), 1);
    assert_int_equal(scr_index_remove(&index, 3), 0);
    assert_int_equal(scr_index_find(&index, "ckpt.3"), -1);
    assert_int_equal(scr_index_newest(&index), 1);
    renew(&index);
    assert_int_equal(scr_index_find(&index, "ckpt.3"), -1);
    scr_index_fini(&index);
}

static void a_name_moves_to_the_dataset_added_last(void **state)
{
    (void)state;
    struct scr_index index = example();
    add(&index, 5, "ckpt.1", 1, 1);
    assert_int_equal(scr_index_find(&index, "ckpt.1"), 5);
    renew(&index);
    assert_int_equal(scr_index_find(&index, "ckpt.1"), 5);
    assert_int_equal(scr_index_remove(&index, 1), 1); /* not the way in to 5 */
    assert_int_equal(scr_index_find(&index, "ckpt.1"), 5);
    add(&index, 5, "renamed", 1, 1);
    assert_int_equal(scr_index_find(&index, "ckpt.1"), -1);
    assert_int_equal(scr_index_find(&index, "renamed"), 5);
    scr_index_fini(&index);
}

static void every_fetch_is_recorded(void **state)
{
    (void)state;
    struct scr_index index = example();
    scr_index_mark_fetched(&index, 3, 1298937600);
    scr_index_mark_fetched(&index, 3, 1298937700);
    scr_index_mark_fetched(&index, 99, 0); /* makes no entry */
    scr_index_mark_failed(&index, 99, 0);
    assert_false(scr_index_has(&index, 99));
    scr_hash *h = test_index_tree(&index);
    assert_int_equal(scr_hash_size(scr_hash_getf(h, "DSET 3 FETCHED")), 2);
    scr_hash_delete(h);
    scr_index_fini(&index);
}

static void unknown_keys_are_kept(void **state)
{
    (void)state;
    struct scr_index index = example();
    scr_hash *h = test_index_tree(&index);
    scr_index_fini(&index);
    scr_hash_set_val(h, "FUTURE", "a");
    scr_hash_setf(h, NULL, "DSET 3 FUTURE b");
    scr_hash_setf(h, NULL, "DSET 2 DSET FUTURE c");
    assert_int_equal(test_index_take(h, &index, NULL), SCR_OK);
    scr_hash_delete(h);
    add(&index, 3, "ckpt.3", 1, 1);
    scr_index_mark_failed(&index, 2, 1000);
    renew(&index);
    h = test_index_tree(&index);
    assert_string_equal(scr_hash_get_val(h, "FUTURE"), "a");
    assert_non_null(scr_hash_getf(h, "DSET 3 FUTURE b"));
    assert_non_null(scr_hash_getf(h, "DSET 2 DSET FUTURE c"));
    scr_hash_delete(h);
    h = scr_hash_new();
    assert_int_equal(scr_index_dataset(&index, 2, h), SCR_OK);
    assert_string_equal(scr_hash_get_val(h, "FUTURE"), "c");
    assert_int_equal(scr_index_dataset(&index, 7, h), SCR_E_NOENT);
    scr_hash_delete(h);
    scr_index_fini(&index);
}

/* No writer gives a key twice; the entry must not be one that no edit can change. */
static void an_edit_of_an_entry_with_a_key_given_twice_keeps_what_is_known(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_index_entry e;
    struct scr_str s = SCR_STR_INIT;
    scr_frame_begin(&s);
    scr_pack_count(&s, 2);
    scr_pack_val(&s, "VERSION", "2");
    scr_pack_key(&s, "DSET");
    scr_pack_count(&s, 1);
    scr_pack_key(&s, "7");
    scr_pack_count(&s, 4);
    scr_pack_key(&s, "DSET");
    scr_pack_count(&s, 2);
    scr_pack_val(&s, "ID", "7");
    scr_pack_val(&s, "NAME", "ckpt");
    scr_pack_val(&s, "COMPLETE", "1");
    scr_pack_val(&s, "FUTURE", "a");
    scr_pack_val(&s, "FUTURE", "b");
    scr_frame_end(&s);
    assert_int_equal(scr_index_unpack(&index, s.p, s.len, NULL), SCR_OK);
    scr_index_mark_failed(&index, 7, 1000);
    assert_false(index.lost);
    renew(&index);
    assert_int_equal(scr_index_get(&index, 7, &e, NULL), SCR_OK);
    assert_true(e.complete && e.failed);
    assert_string_equal(e.dset.name, "ckpt");
    scr_index_fini(&index);
    scr_str_free(&s);
}

static void what_is_no_dataset_is_not_added(void **state)
{
    (void)state;
    struct scr_index index = example();
    scr_hash *before = test_index_tree(&index), *h = scr_hash_new();
    assert_int_equal(scr_index_add(&index, h, 1, 0), SCR_E_ARG);
    assert_int_equal(scr_index_add(&index, NULL, 1, 0), SCR_E_ARG);
    scr_hash *after = test_index_tree(&index);
    assert_true(scr_hash_equal(after, before));
    scr_index_fini(&index);
    scr_hash_delete(before);
    scr_hash_delete(after);
    scr_hash_delete(h);
}

static void a_doomed_dataset_is_saved_by_being_added_again(void **state)
{
    (void)state;
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    add(&index, 3, "ckpt.3", 1, 1);
    scr_index_mark_doomed(&index, 3);
    scr_index_mark_doomed(&index, 4); /* not there */
    assert_int_equal(scr_index_get(&index, 3, &e, NULL), SCR_OK);
    assert_true(e.doomed && !e.complete);
    assert_int_equal(scr_index_newest(&index), -1);
    add(&index, 3, "ckpt.3", 1, 1);
    assert_int_equal(scr_index_get(&index, 3, &e, NULL), SCR_OK);
    assert_true(!e.doomed && e.complete);
    scr_index_fini(&index);
}

static void what_is_newer_is_dropped(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    add(&index, 3, "ckpt.3", 1, 1);
    add(&index, 5, "ckpt.5", 1, 1);
    add(&index, 9, "ckpt.9", 0, 1);
    assert_int_equal(scr_index_drop_after(&index, 9), 0);
    assert_int_equal(scr_index_drop_after(&index, 3), 1);
    assert_int_equal(scr_index_max_id(&index), 3);
    scr_index_fini(&index);
}

/* Version 1 kept files and summary in a separate directory below the prefix. */
static void version_1_keeps_its_directory(void **state)
{
    (void)state;
    struct scr_index_entry e;
    struct scr_index index;
    scr_hash *h = scr_hash_new();
    scr_hash_setf(h, NULL, "VERSION 1");
    scr_hash_setf(h, NULL, "CKPT 18 DIR old.18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 18 DIR old.18 FLUSHED 2011-02-28T12:37:14");
    scr_hash_setf(h, NULL, "CKPT 18 DIR newer.18 COMPLETE 0");
    scr_hash_setf(h, NULL, "CKPT 18 DIR newer.18 FLUSHED 2011-02-28T12:37:36");
    assert_int_equal(test_index_take(h, &index, NULL), SCR_OK);
    scr_hash_delete(h);
    assert_int_equal(scr_index_get(&index, 18, &e, NULL), SCR_OK);
    assert_string_equal(e.dir, "old.18"); /* the complete one */
    assert_string_equal(e.dset.name, "old.18");
    assert_int_equal(scr_index_newest(&index), 18);
    scr_index_fini(&index);
}

/* Of several the newest counts, whichever of them was entered last: CURRENT does not go
 * back because an older one of that name is completed late. */
static void a_name_leads_to_the_newest(void **state)
{
    (void)state;
    struct scr_index index = SCR_INDEX_INIT;
    add(&index, 7, "ckpt", 1, 1);
    assert_int_equal(scr_index_set_current(&index, "ckpt"), SCR_OK);
    add(&index, 3, "ckpt", 1, 1);
    assert_int_equal(scr_index_advance_current(&index, 3), SCR_OK);
    assert_int_equal(scr_index_find(&index, "ckpt"), 7);
    assert_int_equal(index.current_id, 7);
    renew(&index);
    assert_int_equal(index.current_id, 7);
    assert_int_equal(scr_index_remove(&index, 7), 1);
    assert_null(index.current);
    assert_int_equal(scr_index_find(&index, "ckpt"), 3);
    scr_index_fini(&index);
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
        cmocka_unit_test(a_name_leads_to_the_newest),
        cmocka_unit_test(every_fetch_is_recorded),
        cmocka_unit_test(unknown_keys_are_kept),
        cmocka_unit_test(
            an_edit_of_an_entry_with_a_key_given_twice_keeps_what_is_known),
        cmocka_unit_test(what_is_no_dataset_is_not_added),
        cmocka_unit_test(a_doomed_dataset_is_saved_by_being_added_again),
        cmocka_unit_test(what_is_newer_is_dropped),
        cmocka_unit_test(version_1_keeps_its_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
