/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of meta data, and merging. */
#include "fmt/dataset.h"
#include "fmt/meta.h"
#include "helper_meta.h"
#include "helper_pack.h"
#include <string.h>

static void copy_is_exact(void **state)
{
    (void)state;
    scr_meta *m = whole_example(), *want = whole_example(), *copy = scr_meta_new();
    scr_meta_set_text(copy, SCR_META_ORIG, "gone after the copy");
    scr_meta_copy(copy, m);
    assert_true(same(copy, want));
    scr_meta_copy(copy, copy);
    assert_true(same(copy, want));
    scr_meta_delete(m); /* the copy has its own texts */
    assert_true(same(copy, want));
    scr_meta_copy(copy, NULL);
    scr_meta *none = scr_meta_new();
    assert_true(same(copy, none));
    scr_meta_set_text(copy, SCR_META_ORIG, "still owned");
    scr_meta_delete(copy);
    scr_meta_delete(want);
    scr_meta_delete(none);
}

/* One field of a hash that otherwise is the example's. */
static scr_meta *example_with(const char *key, const char *val)
{
    scr_meta *m = whole_example();
    scr_hash *h = hash_of(m);
    if (val != NULL)
        scr_hash_set_val(h, key, val);
    else
        (void)scr_hash_unset(h, key);
    scr_meta_delete(m);
    m = taken(h);
    scr_hash_delete(h);
    return m;
}

static void merging_adds_what_is_missing(void **state)
{
    (void)state;
    scr_meta *whole = whole_example(), *m = scr_meta_new();
    scr_meta_merge(m, NULL);
    scr_meta_merge(m, whole);
    assert_true(same(m, whole));
    scr_meta_merge(m, whole); /* nothing new */
    assert_true(same(m, whole));
    scr_meta_merge(m, m);
    assert_true(same(m, whole));
    scr_meta *none = scr_meta_new();
    scr_meta_merge(m, none);
    assert_true(same(m, whole));
    scr_meta_delete(m);
    scr_hash *h = hash_of(whole);
    for (SCR_HASH_EACH(e, h)) {
        m = example_with(scr_hash_elem_key(e), NULL);
        assert_false(same(m, whole));
        scr_meta_merge(m, whole);
        assert_true(same(m, whole));
        scr_meta *less = example_with(scr_hash_elem_key(e), NULL);
        scr_meta_merge(m, less);
        assert_true(same(m, whole));
        scr_meta_delete(less);
        scr_meta_delete(m);
    }
    scr_hash_delete(h);
    scr_meta_delete(whole);
    scr_meta_delete(none);
}

/* SHARED says it by being there. */
static void a_shared_file_is_one_by_any_value(void **state)
{
    (void)state;
    scr_meta *whole = whole_example(), *other = example_with("SHARED", "yes");
    scr_meta *none = example_with("SHARED", NULL);
    assert_true(scr_meta_is_shared(other) && !scr_meta_is_shared(none));
    assert_true(same(other, whole) && !same(none, whole));
    scr_meta_merge(none, other);
    assert_true(same(none, whole));
    scr_meta_delete(none);
    scr_meta_delete(other);
    scr_meta_delete(whole);
}

/* Whatever the field, and whichever of both is merged into the other. */
static void what_differs_is_not_recorded_after_merging(void **state)
{
    (void)state;
    scr_meta *whole = whole_example();
    scr_hash *h = hash_of(whole);
    for (SCR_HASH_EACH(e, h)) {
        const char *key = scr_hash_elem_key(e);
        const char *val = strcmp(key, "CRC") == 0 ? "0x00000003" : "3";
        if (strcmp(key, "SHARED") == 0) /* see a_shared_file_is_one_by_any_value */
            continue;
        scr_meta *a = example_with(key, val), *b = whole_example();
        scr_meta *want = example_with(key, NULL); /* of a time both halves */
        assert_false(same(a, b));
        scr_meta_merge(a, whole);
        if (!same(a, want))
            fail_msg("%s: one of two is recorded", key);
        scr_meta *other = example_with(key, val);
        scr_meta_merge(b, other);
        assert_true(same(b, want));
        scr_meta_delete(other);
        scr_meta_delete(a);
        scr_meta_delete(b);
        scr_meta_delete(want);
    }
    scr_hash_delete(h);
    scr_meta_delete(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_is_exact),
        cmocka_unit_test(merging_adds_what_is_missing),
        cmocka_unit_test(a_shared_file_is_one_by_any_value),
        cmocka_unit_test(what_differs_is_not_recorded_after_merging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
