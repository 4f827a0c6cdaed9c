/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial rebuild on real files: what may be lost comes back bit for bit, what may
 * not is refused with nothing written, and no damaged byte is ever taken for a good
 * one. */

#include "helper_pack.h"
#include "helper_protect.h"
#include "helper_rebuild.h"
#include "helper_tmp.h"
#include "helper_tolerance.h"
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    enum scr_scheme s;
    int k;
} schemes[] = { { SCR_SCHEME_SINGLE, 0 },  { SCR_SCHEME_PARTNER, 1 },
                { SCR_SCHEME_PARTNER, 2 }, { SCR_SCHEME_XOR, 1 },
                { SCR_SCHEME_RS, 1 },      { SCR_SCHEME_RS, 2 },
                { SCR_SCHEME_RS, 3 },      { SCR_SCHEME_RS, 4 },
                { SCR_SCHEME_PARTNER, 3 }, { SCR_SCHEME_PARTNER, 4 } };
enum { NSCHEMES = sizeof schemes / sizeof schemes[0] };

/* Whether whole members (bits of lost) may be lost. */
static int tolerable(const struct world *w, unsigned lost)
{
    int have[MAX_N];
    for (int i = 0; i < w->n; i++)
        have[i] = (lost >> i) & 1U ? 0 : SCR_HAVE_ALL;
    return test_tolerates(w->scheme, w->k, w->n, have);
}

/* --- losses --- */

static void lose_members(struct world *w, unsigned lost)
{
    int rebuilt[MAX_N];
    struct scr_err err = SCR_ERR_INIT;
    for (int i = 0; i < w->n; i++) {
        if (!(lost & (1U << i)))
            continue;
        lose_data(w, i);
        unlink(w->reds[i]);
    }
    if (!tolerable(w, lost)) {
        uint32_t before = tree_of(w);
        assert_int_equal(rebuild(&quick_env, w, rebuilt, &err), SCR_E_LOST);
        assert_int_equal(tree_of(w), before);
        for (int i = 0; i < w->n; i++)
            if (lost & (1U << i))
                restore_member(w, i);
        return;
    }
    assert_int_equal(rebuild(&quick_env, w, rebuilt, &err), SCR_OK);
    assert_whole(w);
    assert_tidy(w);
    for (int i = 0; i < w->n; i++)
        assert_int_equal(rebuilt[i], lost & (1U << i) ? SCR_HAVE_ALL : 0);
}

/* Schemes that a set of n reduces are the same as another scheme. */
static int fits(int s, int n)
{
    enum scr_scheme scheme = schemes[s].s;
    int k = schemes[s].k;
    scr_geom_weaken(&scheme, &k, n);
    return scheme == schemes[s].s && k == schemes[s].k;
}

static void every_loss_of_members(void **state)
{
    (void)state;
    for (int s = 0; s < NSCHEMES; s++)
        for (int n = 1; n <= MAX_N; n++) {
            struct world w;
            if (!fits(s, n))
                continue;
            random_world(&w, schemes[s].s, n, schemes[s].k);
            for (unsigned lost = 0; lost < 1U << n; lost++)
                lose_members(&w, lost);
            world_fini(&w);
        }
}

/* Sizes about the chunk of this scheme, which the longest file makes 100 bytes. */
static void size_members(size_t sizes[MAX_N][MAX_FILES], int n, size_t whole, int turn)
{
    const size_t about[] = { 0, 1, 99, 100, 101, whole - 1, whole };
    for (int i = 0; i < n; i++)
        sizes[i][0] = about[(i + turn) % 7];
    sizes[turn % n][0] = whole;
}

static void lose_each_of_these_sizes(int s, int n, int turn)
{
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 0 } };
    int nd = schemes[s].s == SCR_SCHEME_PARTNER ? 1 : n - schemes[s].k;
    size_members(sizes, n, 100 * (size_t)nd, turn);
    world_init(&w, schemes[s].s, n, schemes[s].k, 1, sizes);
    for (int i = 0; i < n; i++)
        lose_members(&w, 1U << i);
    world_fini(&w);
}

static void sizes_about_a_chunk(void **state)
{
    (void)state;
    for (int s = 1; s < NSCHEMES; s++)
        for (int n = 2; n <= MAX_N; n++)
            for (int turn = 0; fits(s, n) && turn < 7; turn++)
                lose_each_of_these_sizes(s, n, turn);
}

static void sizes_at_the_edges(void **state)
{
    (void)state;
    size_t sizes[][MAX_N][MAX_FILES] = {
        { { 401 }, { 0 }, { 0 }, { 0 }, { 0 } },
        { { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
        { { 1 }, { 1 }, { 1 }, { 1 }, { 1 } },
        { { 600000 }, { 262144 }, { 262143 }, { 262145 }, { 524288 } },
        { { 0, 0, 0 }, { 50, 50, 0 }, { 0, 0, 100 }, { 0, 300, 100 }, { 99, 2, 299 } },
    };
    for (int s = 1; s < NSCHEMES; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct world w;
            world_init(&w, schemes[s].s, 5, schemes[s].k, i == 4 ? 3 : 1, sizes[i]);
            for (int lost = 0; lost < 5; lost++)
                lose_members(&w, 1U << lost);
            world_fini(&w);
        }
}

static void members_without_files(void **state)
{
    (void)state;
    size_t sizes[MAX_N][MAX_FILES] = { { 0 } };
    for (int s = 1; s < NSCHEMES; s++) {
        struct world w;
        world_init(&w, schemes[s].s, 4, schemes[s].k, 0, sizes);
        for (int i = 0; i < 4; i++) {
            unlink(w.reds[i]);
            assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
            assert_whole(&w);
        }
        world_fini(&w);
    }
}

/* One file of a member, cut, removed, replaced by a directory or lengthened. */
static void damage_file(const struct blob *b)
{
    struct stat st;
    if (lstat(b->path, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != b->n)
        return; /* it is already */
    switch (rnd(4)) {
    case 0:
        unlink(b->path);
        break;
    case 1:
        assert_int_equal(truncate(b->path, (off_t)(b->n > 0 ? b->n - 1 : 3)), 0);
        break;
    case 2:
        unlink(b->path);
        assert_int_equal(symlink("/dev/null", b->path), 0);
        break;
    default:
        assert_int_equal(truncate(b->path, (off_t)b->n + 1), 0);
    }
}

static void partial_losses_of_one_member(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct world w;
        int s = 1 + (int)rnd(NSCHEMES - 1), n = 2 + (int)rnd(4), rebuilt[MAX_N];
        random_world(&w, schemes[s].s, n, schemes[s].k);
        for (int again = 0; again < 5; again++) {
            int i = (int)rnd((unsigned)n), what = 1 + (int)rnd(3);
            if (what & SCR_HAVE_DATA)
                damage_file(&w.file[i][rnd((unsigned)w.nfiles[i])]);
            if (what & SCR_HAVE_PARITY)
                damage_file(&w.red[i]);
            assert_int_equal(rebuild(&quick_env, &w, rebuilt, NULL), SCR_OK);
            assert_int_equal(rebuilt[i], what);
            assert_whole(&w);
            assert_tidy(&w);
        }
        world_fini(&w);
    }
}

static void partial_losses_of_many_are_rebuilt_or_refused(void **state)
{
    (void)state;
    int ok = 0, refused = 0;
    for (int round = 0; round < 150; round++) {
        struct world w;
        int s = (int)rnd(NSCHEMES), n = 1 + (int)rnd(MAX_N);
        random_world(&w, schemes[s].s, n, schemes[s].k);
        for (int losses = 1 + (int)rnd(5); losses > 0; losses--) {
            int i = (int)rnd((unsigned)n);
            damage_file(rnd(2) ? &w.red[i] : &w.file[i][0]);
        }
        uint32_t before = tree_of(&w);
        int rc = rebuild(&quick_env, &w, NULL, NULL);
        if (rc == SCR_OK) {
            assert_whole(&w);
            ok++;
        } else {
            assert_int_equal(rc, SCR_E_LOST);
            assert_int_equal(tree_of(&w), before);
            refused++;
        }
        world_fini(&w);
    }
    assert_true(ok > 25 && refused > 25);
}

/* A file of the set that is not empty; member 0's first never is. */
static const struct blob *any_blob(const struct world *w)
{
    int i = (int)rnd((unsigned)w->n);
    const struct blob *b =
        rnd(2) ? &w->red[i] : &w->file[i][rnd((unsigned)w->nfiles[i])];
    return b->n > 0 ? b : &w->file[0][0];
}

static void one_flip_is_repaired(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct world w;
        int s = 1 + round % (NSCHEMES - 1), n = 2 + (int)rnd(4);
        random_world(&w, schemes[s].s, n, schemes[s].k);
        for (int again = 0; again < 40; again++) {
            flip(any_blob(&w));
            assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
            assert_whole(&w);
        }
        assert_tidy(&w);
        world_fini(&w);
    }
}

static void many_flips_are_repaired_or_refused(void **state)
{
    (void)state;
    int ok = 0, refused = 0;
    for (int round = 0; round < 150; round++) {
        struct world w;
        int s = (int)rnd(NSCHEMES), n = 1 + (int)rnd(5);
        random_world(&w, schemes[s].s, n, schemes[s].k);
        for (int flips = 1 + (int)rnd(4); flips > 0; flips--)
            flip(any_blob(&w));
        uint32_t before = tree_of(&w);
        int rc = rebuild(&quick_env, &w, NULL, NULL);
        if (rc == SCR_OK)
            assert_whole(&w);
        else
            assert_int_equal(tree_of(&w), before);
        ok += rc == SCR_OK;
        refused += rc != SCR_OK;
        world_fini(&w);
    }
    assert_true(ok > 25 && refused > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_of_members),
        cmocka_unit_test(sizes_about_a_chunk),
        cmocka_unit_test(sizes_at_the_edges),
        cmocka_unit_test(members_without_files),
        cmocka_unit_test(partial_losses_of_one_member),
        cmocka_unit_test(partial_losses_of_many_are_rebuilt_or_refused),
        cmocka_unit_test(one_flip_is_repaired),
        cmocka_unit_test(many_flips_are_repaired_or_refused),
    };
    return cmocka_run_group_tests(tests, rebuild_setup, test_tmp_teardown);
}
