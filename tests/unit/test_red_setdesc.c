/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a redundancy set, from hashes that may say anything. */
#include "helper_tmp.h"

#include "red/setdesc.h"
#include <string.h>

static scr_hash *describe(int n, const int *world)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "TYPE", "RS");
    scr_hash_set_val_i64(h, "FAILURES", 2);
    scr_hash_set_val_i64(h, "RANKS", 12);
    scr_hash_set_val_i64(h, "MEMBER", 1);
    scr_hash_set_val_i64(scr_hash_set(h, "GROUP", NULL), "RANKS", n);
    for (int i = 0; i < n; i++)
        scr_hash_setf(h, NULL, "GROUP RANK %d %d", i, world[i]);
    return h;
}

static struct scr_setdesc get(scr_hash *h)
{
    struct scr_setdesc d;
    scr_setdesc_get(h, &d);
    scr_hash_delete(h);
    return d;
}

static const int world[] = { 9, 4, 11, 7 };

static void assert_known(const struct scr_setdesc *d)
{
    assert_true(d->scheme == SCR_SCHEME_RS && d->failures == 2);
    assert_true(d->ranks == 12 && d->member == 1 && d->id == 4 && d->n == 4);
    assert_memory_equal(d->world, world, sizeof world);
}

static void all_of_it_comes_back(void **state)
{
    (void)state;
    struct scr_setdesc d = get(describe(4, world));
    assert_known(&d);
}

/* At any place, with something behind it. */
static void it_travels_without_what_is_not_in_use(void **state)
{
    (void)state;
    char bytes[1 + sizeof(struct scr_setdesc)];
    struct scr_setdesc d = get(describe(4, world)), came;
    size_t n = scr_setdesc_size(&d);
    assert_true(n < sizeof d / 8);
    memset(bytes, 0x55, sizeof bytes);
    memcpy(bytes + 1, &d, n);
    assert_int_equal(scr_setdesc_take(&came, bytes + 1), n);
    assert_known(&came);
}

static void nothing_is_known_of_nothing(void **state)
{
    (void)state;
    struct scr_setdesc d = get(NULL);
    assert_true(d.failures == -1 && d.ranks == -1 && d.member == -1 && d.n == 0);
}

/* A member without a rank, with one of no such run, or with another's. */
static void a_set_that_cannot_be_is_not_known(void **state)
{
    (void)state;
    const int below[] = { 9, -4, 11 }, above[] = { 9, 12, 11 }, twice[] = { 9, 4, 9 };
    assert_int_equal(get(describe(3, below)).n, 0);
    assert_int_equal(get(describe(3, above)).n, 0);
    assert_int_equal(get(describe(3, twice)).n, 0);
    scr_hash *h = describe(3, world);
    scr_hash_set_val_i64(scr_hash_get(h, "GROUP"), "RANKS", 4);
    struct scr_setdesc d = get(h);
    assert_true(d.n == 0 && d.member == -1 && d.ranks == 12 && d.failures == 2);
}

static void what_cannot_be_counts_as_not_said(void **state)
{
    (void)state;
    static const char *const bad[][2] = { { "TYPE", "7" },       { "TYPE", NULL },
                                          { "FAILURES", "-1" },  { "FAILURES", "two" },
                                          { "FAILURES", "256" }, { "RANKS", "0" },
                                          { "RANKS", NULL },     { "MEMBER", "4" },
                                          { "MEMBER", "-1" } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scr_hash *h = describe(4, world);
        scr_hash_unset(h, bad[i][0]);
        if (bad[i][1] != NULL)
            scr_hash_set_val(h, bad[i][0], bad[i][1]);
        struct scr_setdesc d = get(h);
        int protection = i < 5, run = i == 5 || i == 6;
        assert_int_equal(d.failures, protection ? -1 : 2);
        assert_int_equal(d.ranks, run ? -1 : 12);
        assert_int_equal(d.n, run ? 0 : 4); /* the ranks of the run are not known */
        assert_int_equal(d.member, protection ? 1 : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_comes_back),
        cmocka_unit_test(it_travels_without_what_is_not_in_use),
        cmocka_unit_test(nothing_is_known_of_nothing),
        cmocka_unit_test(a_set_that_cannot_be_is_not_known),
        cmocka_unit_test(what_cannot_be_counts_as_not_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
