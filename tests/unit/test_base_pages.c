/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers are zeros, aligned, and may be of any size. */
#include "helper_tmp.h"

#include "base/pages.h"
#include <string.h>

static void pages_are_zeros(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 4096, 600 * 1024, 5 * 1024 * 1024 + 1 };
    for (size_t i = 0; i < 4; i++) {
        uint8_t *at = scr_pages_alloc(sizes[i]);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % 4096, 0);
        assert_int_equal(at[0] | at[sizes[i] / 2] | at[sizes[i] - 1], 0);
        memset(at, 1, sizes[i]);
        scr_pages_free(at, sizes[i]);
    }
    assert_null(scr_pages_alloc(0));
    assert_null(scr_pages_alloc(SIZE_MAX - 5));
    scr_pages_free(NULL, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
