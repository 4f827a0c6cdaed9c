/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that got files. */
#include "helper_tmp.h"

#include <stdlib.h>

#include "base/dirset.h"
#include "base/str.h"
#include "helper_fault.h"

/* A directory that is new is in the one above it only when that one is synced. */
static void directories_are_synced_up_to_the_top(void **state)
{
    (void)state;
    struct scr_table set = SCR_TABLE_OF(struct scr_item);
    char *top = scr_strdup(test_path("top")), *one = scr_asprintf("%s/a/b/one", top),
         *two = scr_asprintf("%s/a/c/two", top);
    const struct scr_sys *sys = &test_fault_sys;
    assert_int_equal(mkdir(top, 0755), 0);
    assert_int_equal(scr_dirset_make(sys, &set, top, one, 0777, NULL), SCR_OK);
    assert_int_equal(scr_dirset_make(sys, &set, top, two, 0777, NULL), SCR_OK);
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE);
    assert_int_equal(scr_dirset_sync(sys, &set, NULL), SCR_OK);
    assert_int_equal(test_fault_count(TEST_FSYNC_DIR), 4); /* top, a, a/b, a/c */
    scr_table_fini(&set);
    free(top), free(one), free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directories_are_synced_up_to_the_top),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
