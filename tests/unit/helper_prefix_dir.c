/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_prefix_dir.h"

int prefix_dir_teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

int add(struct test_store *t, int id)
{
    return scr_prefix_index_update(&t->env, &t->p, test_add_id, &id, &t->err);
}
