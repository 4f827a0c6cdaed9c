/* SPDX-License-Identifier: BSD-3-Clause */
/* Lost output, and the checkpoint a restart goes back to. */
#include "helper_tmp.h"

#include <stdlib.h>

#include "fmt/dataset.h"
#include "fmt/index.h"
#include "fmt/lost_output.h"
#include "fmt/state.h"

static scr_hash *dataset(int id, int is_ckpt, const char *job_id)
{
    struct scr_dataset d = {
        .id = id, .name = "name", .jobid = job_id, .complete = -1
    };
    scr_hash *h = scr_hash_new();
    d.is_ckpt = is_ckpt;
    d.is_output = !is_ckpt;
    assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
    return h;
}

static void enter(scr_hash *flush, int id, int is_ckpt, const char *job_id)
{
    scr_hash *dset = dataset(id, is_ckpt, job_id);
    assert_int_equal(scr_flush_set_dataset(flush, dset), SCR_OK);
    assert_int_equal(scr_flush_set_location(flush, id, SCR_LOC_CACHE, 1), SCR_OK);
    scr_hash_delete(dset);
}

static int is_gone(const void *arg, int id)
{
    return id != *(const int *)arg;
}

/* 1 is a checkpoint, 2 in cache still, 3 was on the prefix, 4 is another job's, 5 in
 * the index, 6 was settled before, 7 came back after that: only 7 and 8 are lost. */
static void what_is_lost(void **state)
{
    (void)state;
    struct scr_lost_output l = SCR_LOST_OUTPUT_INIT;
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *flush = scr_hash_new(), *listed = dataset(5, 0, "job");
    int held = 2;
    for (int id = 8; id >= 1; id--)
        enter(flush, id, id == 1, id == 4 ? "another" : "job");
    scr_flush_set_location(flush, 3, SCR_LOC_PFS, 1);
    assert_int_equal(scr_index_add(&index, listed, 1, 0), SCR_OK);
    assert_int_equal(scr_flush_set_lost(flush, 6), SCR_OK);
    assert_int_equal(scr_flush_set_lost(flush, 7), SCR_OK);
    assert_int_equal(scr_flush_set_location(flush, 7, SCR_LOC_CACHE, 1), SCR_OK);
    assert_int_equal(scr_lost_output_find(&l, flush, &index, "job", is_gone, &held),
                     SCR_OK);
    assert_int_equal(l.oldest, 7);
    assert_string_equal(l.names.p, "name (dataset 7), name (dataset 8)");
    scr_lost_output_fini(&l);
    scr_hash_delete(flush);
    scr_index_fini(&index);
    scr_hash_delete(listed);
}

static void check_choice(struct scr_lost_output_choice c, int newest, int before,
                         int goes_back)
{
    assert_int_equal(c.newest, newest);
    assert_int_equal(c.before, before);
    assert_int_equal(c.goes_back, goes_back);
    assert_true((c.name != NULL) == (before > 0));
}

static void offer(struct scr_restart_list *all, int id, const char *name)
{
    scr_restart_list_add(
        all, (struct scr_restart_copy){ .id = id, .name = name, .is_ckpt = 1 });
}

static void which_checkpoint(void **state)
{
    (void)state;
    struct scr_restart_list all = { 0 };
    check_choice(scr_lost_output_choose(&all, 5), 0, 0, 0);
    offer(&all, 4, "same"); /* 6 has its name */
    offer(&all, 3, "three");
    check_choice(scr_lost_output_choose(&all, 5), 4, 4, 0);
    offer(&all, 6, "same");
    offer(&all, 3, "three"); /* in cache and on the prefix */
    offer(&all, 1, "one");
    scr_restart_list_add(&all, (struct scr_restart_copy){ .id = 2, .name = "output" });
    check_choice(scr_lost_output_choose(&all, 5), 6, 3, 1);
    check_choice(scr_lost_output_choose(&all, 3), 6, 1, 1);
    check_choice(scr_lost_output_choose(&all, 1), 6, 0, 0);
    check_choice(scr_lost_output_choose(&all, 7), 6, 6, 0);
    scr_restart_list_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost),
        cmocka_unit_test(which_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
