/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of numbers: each once, ascending, and whole where memory runs out. */
#include "helper_alloc.h"
#include "helper_tmp.h"

#include <limits.h>

#include "base/err.h"
#include "base/ids.h"

static void each_is_there_once_and_in_order(void **state)
{
    (void)state;
    static const int given[] = { 7, 0, 7, INT_MAX, 3, -1, 0, INT_MIN, 3 };
    static const int want[] = { INT_MIN, -1, 0, 3, 7, INT_MAX };
    struct scr_ids s = { 0 };
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        assert_int_equal(scr_ids_add(&s, given[i], NULL), SCR_OK);
    assert_int_equal(s.n, sizeof want / sizeof want[0]);
    assert_memory_equal(s.id, want, sizeof want);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(scr_ids_has(&s, want[i]), 1);
    assert_int_equal(scr_ids_has(&s, 1), 0);
    scr_ids_fini(&s);
    assert_true(s.id == NULL && s.n == 0);
    assert_int_equal(scr_ids_has(&s, 0), 0);
    scr_ids_fini(&s); /* again */
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
#ifdef TEST_ALLOC
    struct scr_ids s = { 0 };
    int failed = 0;
    for (int i = 0; i < 100; i++) {
        test_alloc_arm(0);
        int rc = scr_ids_add(&s, i, NULL);
        assert_int_equal(rc, test_alloc_off() ? SCR_E_NOMEM : SCR_OK);
        assert_int_equal(scr_ids_has(&s, i), rc == SCR_OK);
        failed += rc != SCR_OK;
        assert_int_equal(scr_ids_add(&s, i, NULL), SCR_OK);
        assert_int_equal(s.n, i + 1);
    }
    assert_true(failed > 1);
    scr_ids_fini(&s);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_there_once_and_in_order),
        cmocka_unit_test(without_memory_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
