/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial rebuild on real files: what may be lost comes back bit for bit, what may
 * not is refused with nothing written, and no damaged byte is ever taken for a good
 * one. */
#include "helper_fault.h"
#include "helper_pack.h"
#include "helper_protect.h"
#include "helper_tmp.h"
#include "helper_tolerance.h"

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* These tests lose no power: do without the disk's flush, and without the disk where
 * there is room in memory. */
static int no_fsync(int fd)
{
    (void)fd;
    return 0;
}

static struct scr_sys quick_sys;
static const struct scr_env quick_env = { .sys = &quick_sys };
static const struct scr_env fault_env = { .sys = &test_fault_sys };

static unsigned seed = 5;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

/* --- a set on disk, and all its bytes in memory --- */

enum { MAX_N = 8, MAX_FILES = 4 };

struct blob {
    char *path;
    uint8_t *bytes;
    size_t n;
};

struct world {
    enum scr_scheme scheme; /* as reduced */
    int n, k;
    char *root;
    char *dirs[MAX_N], *reds[MAX_N];
    size_t nfiles[MAX_N];
    struct blob file[MAX_N][MAX_FILES];
    struct blob red[MAX_N];
};

static char *path_in(const struct world *w, const char *name)
{
    return scr_path_join(w->root, name);
}

static void load(struct blob *b, const char *path)
{
    b->path = strdup(path);
    b->bytes = test_get(path, &b->n);
}

/* Of all files, as the meta data record it. */
enum { MODE = 0100640, MTIME = 1000000007 };

static scr_meta *meta_of(const char *file, uint64_t size, int rank)
{
    scr_hash *h = scr_hash_new();
    scr_meta *m = scr_meta_new();
    scr_hash_set_val(h, "FILE", file);
    scr_hash_set_val_u64(h, "SIZE", size);
    scr_hash_set_val(h, "PATH", "out");
    char name[32];
    snprintf(name, sizeof name, "%d.%zu", rank, strlen(file));
    scr_hash_set_val(h, "NAME", name);
    scr_hash_set_val_u64(h, "MODE", MODE);
    scr_hash_set_val_u64(h, "MTIME_SECS", MTIME);
    scr_hash_set_val_u64(h, "MTIME_NSECS", 0);
    assert_int_equal(scr_meta_from_hash(m, h), SCR_OK);
    scr_hash_delete(h);
    return m;
}

/* Names of one member's files: of several lengths, one in a sub-directory. */
static const char *const file_names[MAX_FILES] = { "ckpt", "1/ckpt", "data.00", "x" };

static void make_files(struct world *w, int i, const size_t *sizes, scr_meta **metas)
{
    char *sub = scr_path_join(w->dirs[i], "1");
    assert_int_equal(mkdir(w->dirs[i], 0700), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    free(sub);
    for (size_t f = 0; f < w->nfiles[i]; f++) {
        char *path = scr_path_join(w->dirs[i], file_names[f]);
        uint8_t *bytes = malloc(sizes[f] + 1);
        for (size_t b = 0; b < sizes[f]; b++)
            bytes[b] = (uint8_t)rnd(256);
        test_put(path, bytes, sizes[f]);
        free(bytes);
        metas[f] = meta_of(file_names[f], sizes[f], 10 + i);
        load(&w->file[i][f], path);
        free(path);
    }
}

/* sizes[i]: of member i's files. World ranks are 10, 11 … */
static void world_init(struct world *w, enum scr_scheme scheme, int n, int k,
                       size_t nfiles, size_t sizes[MAX_N][MAX_FILES])
{
    static int number;
    scr_meta *metas[MAX_N][MAX_FILES];
    struct test_protect_part parts[MAX_N];
    int ranks[MAX_N];
    struct scr_err err = SCR_ERR_INIT;
    memset(w, 0, sizeof *w);
    w->scheme = scheme;
    w->n = n;
    w->k = k;
    scr_geom_weaken(&w->scheme, &w->k, n);
    w->root = strdup(test_path("set%d", number++));
    assert_int_equal(mkdir(w->root, 0700), 0);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "rank.%d", 10 + i);
        w->dirs[i] = path_in(w, name);
        char *red = scr_redfile_name(w->scheme, i, n, 10);
        w->reds[i] = path_in(w, red);
        free(red);
        w->nfiles[i] = nfiles;
        make_files(w, i, sizes[i], metas[i]);
        ranks[i] = 10 + i;
        parts[i] =
            (struct test_protect_part){ nfiles, (const scr_meta *const *)metas[i],
                                        w->dirs[i], w->reds[i] };
    }
    const struct test_protect_set set = { scheme, k, 6, 100, n, ranks, NULL, NULL };
    assert_int_equal(test_protect(&quick_env, &set, parts, &err), SCR_OK);
    for (int i = 0; i < n; i++) {
        load(&w->red[i], w->reds[i]);
        for (size_t f = 0; f < nfiles; f++)
            scr_meta_delete(metas[i][f]);
    }
}

static void random_world(struct world *w, enum scr_scheme scheme, int n, int k)
{
    size_t sizes[MAX_N][MAX_FILES], nfiles = 1 + rnd(MAX_FILES);
    for (int i = 0; i < n; i++)
        for (size_t f = 0; f < nfiles; f++)
            sizes[i][f] = rnd(5) == 0 ? 0 : rnd(rnd(4) == 0 ? 3000 : 60);
    sizes[0][0] = 7; /* there is something to flip */
    world_init(w, scheme, n, k, nfiles, sizes);
}

static int remove_path(const char *path, const struct stat *st, int type,
                       struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void world_fini(struct world *w)
{
    nftw(w->root, remove_path, 16, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < w->n; i++) {
        for (size_t f = 0; f < w->nfiles[i]; f++) {
            free(w->file[i][f].path);
            free(w->file[i][f].bytes);
        }
        free(w->red[i].path);
        free(w->red[i].bytes);
        free(w->dirs[i]);
        free(w->reds[i]);
    }
    free(w->root);
}

static void lose_data(const struct world *w, int i)
{
    nftw(w->dirs[i], remove_path, 16, FTW_DEPTH | FTW_PHYS);
}

/* Puts the files of a member, or of all, back as they were. */
static void restore_member(const struct world *w, int i)
{
    char *sub = scr_path_join(w->dirs[i], "1");
    (void)mkdir(w->dirs[i], 0700);
    (void)mkdir(sub, 0700);
    free(sub);
    for (size_t f = 0; f < w->nfiles[i]; f++)
        test_put(w->file[i][f].path, w->file[i][f].bytes, w->file[i][f].n);
    test_put(w->reds[i], w->red[i].bytes, w->red[i].n);
}

static void restore(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        restore_member(w, i);
}

static int is_as_it_was(const struct blob *b)
{
    struct stat st;
    if (stat(b->path, &st) != 0 || (size_t)st.st_size != b->n)
        return 0;
    uint8_t *now = test_get(b->path, &(size_t){ 0 });
    int same = memcmp(now, b->bytes, b->n) == 0;
    free(now);
    return same;
}

static void assert_whole(const struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        for (size_t f = 0; f < w->nfiles[i]; f++)
            assert_true(is_as_it_was(&w->file[i][f]));
        assert_true(is_as_it_was(&w->red[i]));
    }
}

/* CRC over the names and bytes of all there is below root: two equal ones, nothing
 * changed. */
static uint32_t tree_crc;
static int tree_files;
static int add_to_crc(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)ftw;
    uint32_t crc = scr_crc32(0, path, strlen(path));
    if (type == FTW_F) {
        size_t n;
        void *bytes = test_get(path, &n);
        crc = scr_crc32(crc, bytes, n);
        free(bytes);
        tree_files++;
    }
    tree_crc += crc; /* in no order */
    return 0;
}

static uint32_t tree_of(const struct world *w)
{
    tree_crc = 0;
    tree_files = 0;
    assert_int_equal(nftw(w->root, add_to_crc, 16, FTW_PHYS), 0);
    return tree_crc;
}

static int count_file(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)path, (void)st, (void)ftw;
    tree_files += type != FTW_D;
    return 0;
}

/* No temporary file is left in the directory of the set. */
static void assert_tidy(const struct world *w)
{
    int files = w->n;
    for (int i = 0; i < w->n; i++)
        files += (int)w->nfiles[i];
    tree_files = 0;
    assert_int_equal(nftw(w->root, count_file, 16, FTW_PHYS), 0);
    assert_int_equal(tree_files, files);
}

/* As a command would: a redundancy file that is not there is lost. */
static int rebuild(const struct scr_env *env, const struct world *w, int *rebuilt,
                   struct scr_err *err)
{
    const char *reds[MAX_N];
    for (int i = 0; i < w->n; i++)
        reds[i] = access(w->reds[i], F_OK) == 0 ? w->reds[i] : NULL;
    const struct scr_rebuild_set set = { w->n, reds, (const char *const *)w->dirs,
                                         (const char *const *)w->reds, NULL };
    return scr_rebuild_serial(env, &set, rebuilt, err);
}

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

/* --- flipped bits --- */

static void flip(const struct blob *b)
{
    size_t at = rnd((unsigned)b->n);
    uint8_t byte = b->bytes[at] ^ (uint8_t)(1U << rnd(8));
    int fd = open(b->path, O_WRONLY);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    assert_int_equal(close(fd), 0);
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

/* --- what the caller gives --- */

static void the_message_names_the_ranks_at_fault(void **state)
{
    (void)state;
    struct world w;
    struct scr_err err = SCR_ERR_INIT;
    random_world(&w, SCR_SCHEME_XOR, 4, 1);
    unlink(w.file[1][0].path);
    unlink(w.file[2][0].path);
    unlink(w.reds[3]);
    assert_int_equal(rebuild(&quick_env, &w, NULL, &err), SCR_E_LOST);
    assert_non_null(strstr(err.text, "11, 12, 13"));
    world_fini(&w);
}

static void good_files_of_a_damaged_member_are_left_alone(void **state)
{
    (void)state;
    struct world w;
    struct stat before, after;
    size_t sizes[MAX_N][MAX_FILES] = { { 100, 50 }, { 80, 70 }, { 99, 1 } };
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 2, sizes);
    assert_int_equal(stat(w.file[1][0].path, &before), 0);
    flip(&w.file[1][1]);
    assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
    assert_whole(&w);
    assert_tidy(&w);
    assert_int_equal(stat(w.file[1][0].path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_mode, before.st_mode);
    world_fini(&w);
}

static void a_damaged_redundancy_file_is_replaced_in_its_place(void **state)
{
    (void)state;
    struct world w;
    const char *reds[MAX_N], *nowhere[MAX_N] = { NULL };
    random_world(&w, SCR_SCHEME_XOR, 3, 1);
    for (int i = 0; i < 3; i++)
        reds[i] = w.reds[i];
    flip(&w.red[1]);
    const struct scr_rebuild_set set = { 3, reds, (const char *const *)w.dirs, nowhere,
                                         NULL };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_OK);
    assert_whole(&w);
    unlink(w.reds[1]);
    reds[1] = NULL;
    uint32_t before = tree_of(&w);
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_ARG);
    assert_int_equal(tree_of(&w), before);
    world_fini(&w);
}

static void sets_of_impossible_size_are_refused(void **state)
{
    (void)state;
    const char *none[1] = { NULL }, *dir[1] = { "/nowhere" };
    struct scr_rebuild_set set = { 0, none, dir, none, NULL };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_RANGE);
    set.n = 256;
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_RANGE);
    set.n = 1;
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, NULL, NULL), SCR_E_LOST);
}

static void files_of_different_sets_are_not_mixed(void **state)
{
    (void)state;
    struct world a, b;
    size_t one[MAX_N][MAX_FILES] = { { 10 }, { 20 }, { 30 } };
    size_t two[MAX_N][MAX_FILES] = { { 10 }, { 20 }, { 300 } };
    world_init(&a, SCR_SCHEME_XOR, 3, 1, 1, one);
    world_init(&b, SCR_SCHEME_XOR, 3, 1, 1, two);
    struct scr_err err = SCR_ERR_INIT;
    test_put(a.reds[1], b.red[1].bytes, b.red[1].n);
    uint32_t before = tree_of(&a);
    assert_int_equal(rebuild(&quick_env, &a, NULL, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "another set"));
    assert_int_equal(tree_of(&a), before);
    /* Two members' files exchanged: neither is what its name says, and that is too
     * many. */
    test_put(a.reds[1], a.red[2].bytes, a.red[2].n);
    test_put(a.reds[2], a.red[1].bytes, a.red[1].n);
    assert_int_equal(rebuild(&quick_env, &a, NULL, NULL), SCR_E_LOST);
    /* One in the place of another is only lost. */
    test_put(a.reds[2], a.red[2].bytes, a.red[2].n);
    assert_int_equal(rebuild(&quick_env, &a, NULL, NULL), SCR_OK);
    assert_whole(&a);
    world_fini(&a);
    world_fini(&b);
}

/* The header of member i becomes the bytes of this tree, with the parity behind it. */
static void put_header(const struct world *w, int i, const scr_hash *h, uint64_t old)
{
    void *bytes;
    size_t n, parity = w->red[i].n > old ? w->red[i].n - (size_t)old : 0;
    bytes = test_hash_encoded(h, &n);
    assert_non_null(bytes);
    int fd = open(w->reds[i], O_WRONLY | O_TRUNC);
    assert_int_equal(pwrite(fd, bytes, n, 0), (ssize_t)n);
    assert_int_equal(
        pwrite(fd, w->red[i].bytes + w->red[i].n - parity, parity, (off_t)n),
        (ssize_t)parity);
    assert_int_equal(close(fd), 0);
    free(bytes);
}

/* Rewrites member i's header with one value changed; where: "CURRENT/FILE/0". */
static void forge(const struct world *w, int i, const char *where, const char *key,
                  const char *val)
{
    char words[64], *save = NULL;
    scr_hash *h = scr_hash_new(), *at = h;
    uint64_t bytes;
    assert_int_equal(scr_redfile_read(&quick_env, w->reds[i], h, &bytes, NULL), SCR_OK);
    snprintf(words, sizeof words, "%s", where);
    for (char *k = strtok_r(words, "/", &save); k; k = strtok_r(NULL, "/", &save))
        at = scr_hash_get(at, k);
    assert_non_null(scr_hash_set_val(at, key, val));
    put_header(w, i, h, bytes);
    scr_hash_delete(h);
}

static void a_header_that_contradicts_itself_counts_as_lost(void **state)
{
    (void)state;
    const char *const forged[][3] = {
        { "", "MEMBER", "2" },       { "", "FAILURES", "2" },
        { "", "TYPE", "SINGLE" },    { "", "CHUNK", "-1" },
        { "GROUP/RANK", "1", "10" }, { "GROUP/RANK", "1", "100" },
        { "CURRENT", "RANK", "10" }, { "CURRENT", "FILES", "1" },
        { "CURRENT", "FILES", "3" }, { "CURRENT/FILE", "2", "FILE" },
    };
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100, 1 }, { 80, 2 }, { 99, 3 } };
    int rebuilt[MAX_N];
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 2, sizes);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        forge(&w, 1, forged[i][0], forged[i][1], forged[i][2]);
        assert_int_equal(rebuild(&quick_env, &w, rebuilt, NULL), SCR_OK);
        assert_int_equal(rebuilt[0], 0);
        assert_int_equal(rebuilt[1], SCR_HAVE_PARITY);
        assert_int_equal(rebuilt[2], 0);
        assert_whole(&w);
    }
    assert_tidy(&w);
    world_fini(&w);
}

/* Of member 0's two neighbours the next one is asked. */
static void a_copy_that_contradicts_itself_is_none(void **state)
{
    (void)state;
    const char *const forged[][3] = { { "PARTNER", "FILES", "2" },
                                      { "PARTNER", "RANK", "12" },
                                      { "PARTNER/FILE", "1", "FILE" },
                                      { "", "PARTNER", "x" } };
    struct scr_err err = SCR_ERR_INIT;
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 80 }, { 99 }, { 7 } };
    world_init(&w, SCR_SCHEME_RS, 4, 2, 1, sizes);
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        forge(&w, 1, forged[i][0], forged[i][1], forged[i][2]);
        lose_data(&w, 0);
        unlink(w.reds[0]);
        assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
        restore_member(&w, 1); /* which is right, except for that copy */
        assert_whole(&w);
    }
    forge(&w, 1, "PARTNER", "FILES", "2");
    forge(&w, 2, "PARTNER2", "FILES", "0");
    lose_data(&w, 0);
    unlink(w.reds[0]);
    uint32_t before = tree_of(&w);
    assert_int_equal(rebuild(&quick_env, &w, NULL, &err), SCR_E_LOST);
    assert_non_null(strstr(err.text, "meta data"));
    assert_int_equal(tree_of(&w), before);
    world_fini(&w);
}

static void forged_paths_do_not_leave_the_directory(void **state)
{
    (void)state;
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 100 }, { 100 } };
    world_init(&w, SCR_SCHEME_XOR, 3, 1, 1, sizes);
    forge(&w, 1, "PARTNER/FILE/0", "FILE", "../../escaped");
    lose_data(&w, 0);
    unlink(w.reds[0]);
    uint32_t before = tree_of(&w);
    assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_E_CORRUPT);
    assert_int_equal(tree_of(&w), before);
    assert_int_equal(access(test_path("escaped"), F_OK), -1);
    world_fini(&w);
}

static void forged_sizes_and_checksums_are_refused(void **state)
{
    (void)state;
    const char *const forged[][2] = { { "SIZE", "99" },
                                      { "SIZE", "4611686018427387904" },
                                      { "SIZE", "101" },
                                      { "CRC", "0x12345678" } };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        struct world w;
        size_t sizes[MAX_N][MAX_FILES] = { { 100 }, { 80 }, { 99 } };
        world_init(&w, SCR_SCHEME_XOR, 3, 1, 1, sizes);
        forge(&w, 1, "PARTNER/FILE/0", forged[i][0], forged[i][1]);
        lose_data(&w, 0);
        unlink(w.reds[0]);
        (void)mkdir(w.dirs[0], 0700);
        int rc = rebuild(&quick_env, &w, NULL, NULL);
        assert_true(rc == SCR_E_CORRUPT || rc == SCR_E_RANGE || rc == SCR_E_LOST);
        assert_int_equal(access(w.file[0][0].path, F_OK), -1);
        (void)tree_of(&w);
        assert_int_equal(tree_files, 4); /* 2 of data, 2 of redundancy */
        world_fini(&w);
    }
}

static void scavenged_files_are_at_their_destinations(void **state)
{
    (void)state;
    struct world w;
    const char *reds[MAX_N];
    random_world(&w, SCR_SCHEME_RS, 5, 2);
    char *prefix = path_in(&w, "prefix"), *out = path_in(&w, "prefix/out");
    assert_int_equal(mkdir(prefix, 0700), 0);
    assert_int_equal(mkdir(out, 0700), 0);
    for (int i = 0; i < 5; i++) {
        for (size_t f = 0; f < w.nfiles[i]; f++) {
            char name[32];
            snprintf(name, sizeof name, "%d.%zu", 10 + i, strlen(file_names[f]));
            char *dest = scr_path_join(out, name);
            if (i != 1 && i != 2)
                test_put(dest, w.file[i][f].bytes, w.file[i][f].n);
            free(w.file[i][f].path);
            w.file[i][f].path = dest;
        }
        lose_data(&w, i);
        reds[i] = i == 2 ? NULL : w.reds[i];
    }
    unlink(w.reds[2]);
    int rebuilt[MAX_N];
    const struct scr_rebuild_set set = { 5, reds, NULL, (const char *const *)w.reds,
                                         prefix };
    assert_int_equal(scr_rebuild_serial(&quick_env, &set, rebuilt, NULL), SCR_OK);
    assert_int_equal(rebuilt[1], SCR_HAVE_DATA);
    assert_int_equal(rebuilt[2], SCR_HAVE_ALL);
    assert_whole(&w);
    free(prefix);
    free(out);
    world_fini(&w);
}

static void rebuilt_files_have_their_modes_and_times(void **state)
{
    (void)state;
    struct world w;
    struct stat st;
    int rebuilt[MAX_N];
    random_world(&w, SCR_SCHEME_XOR, 4, 1);
    lose_data(&w, 2);
    assert_int_equal(rebuild(&quick_env, &w, rebuilt, NULL), SCR_OK);
    assert_int_equal(rebuilt[2], SCR_HAVE_DATA);
    for (size_t f = 0; f < w.nfiles[2]; f++) {
        assert_int_equal(stat(w.file[2][f].path, &st), 0);
        assert_int_equal(st.st_mode, MODE);
        assert_int_equal(st.st_mtim.tv_sec, MTIME);
    }
    world_fini(&w);
}

/* --- failing system calls --- */

static void two_lost(struct world *w)
{
    lose_data(w, 1);
    unlink(w->reds[1]);
    unlink(w->file[3][0].path);
    flip(&w->red[3]);
}

/* Survivors and whatever else is in place are as they were; nothing half-made exists.
 */
static void assert_no_harm(const struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        for (size_t f = 0; f < w->nfiles[i]; f++)
            assert_true(access(w->file[i][f].path, F_OK) != 0 ||
                        is_as_it_was(&w->file[i][f]));
        if (i != 1 && i != 3)
            assert_true(is_as_it_was(&w->red[i]));
    }
}

static void fail_each_call(enum test_how how, int error)
{
    struct world w;
    size_t sizes[MAX_N][MAX_FILES] = { { 10, 2 }, { 20, 3 }, { 30, 4 }, { 7, 7 } };
    world_init(&w, SCR_SCHEME_RS, 4, 2, 2, sizes);
    for (long n = 0;; n++) {
        struct scr_err err = SCR_ERR_INIT;
        restore(&w);
        two_lost(&w);
        test_fault_arm(TEST_ANY, n, error, how);
        int rc = rebuild(&fault_env, &w, NULL, &err);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_int_equal(err.code, rc);
        assert_no_harm(&w);
        if (rc == SCR_OK)
            assert_whole(&w);
        else
            assert_int_equal(rebuild(&quick_env, &w, NULL, NULL), SCR_OK);
        assert_whole(&w);
        assert_tidy(&w);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
    world_fini(&w);
}

static void a_failed_rebuild_harms_nothing_and_can_be_repeated(void **state)
{
    (void)state;
    fail_each_call(TEST_ONCE, EIO);
    fail_each_call(TEST_FOREVER, ENOSPC);
}

static void a_failed_encode_is_reported(void **state)
{
    (void)state;
    const char *path = test_path("encode");
    scr_meta *meta = meta_of("encode", 4, 0);
    const int rank = 0;
    char *red = strdup(test_path("encode.single"));
    const struct test_protect_part part = { 1, (const scr_meta *const *)&meta,
                                            test_tmp(), red };
    const struct test_protect_set set = {
        SCR_SCHEME_XOR, 1, 1, 1, 1, &rank, NULL, NULL
    };
    test_put(path, "data", 4);
    for (long n = 0;; n++) {
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = test_protect(&fault_env, &set, &part, NULL);
        int fired = test_fault_off();
        assert_int_equal(test_fault_open_fds(), 0);
        assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
        if (!fired)
            break;
    }
    test_put(path, "dat", 3);
    assert_int_equal(test_protect(&quick_env, &set, &part, NULL), SCR_E_MISSING);
    scr_meta_delete(meta);
    free(red);
}

static int setup(void **state)
{
    (void)state;
    quick_sys = scr_sys_posix;
    quick_sys.fsync = no_fsync;
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    return 0;
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
        cmocka_unit_test(the_message_names_the_ranks_at_fault),
        cmocka_unit_test(good_files_of_a_damaged_member_are_left_alone),
        cmocka_unit_test(a_damaged_redundancy_file_is_replaced_in_its_place),
        cmocka_unit_test(sets_of_impossible_size_are_refused),
        cmocka_unit_test(files_of_different_sets_are_not_mixed),
        cmocka_unit_test(a_header_that_contradicts_itself_counts_as_lost),
        cmocka_unit_test(a_copy_that_contradicts_itself_is_none),
        cmocka_unit_test(forged_paths_do_not_leave_the_directory),
        cmocka_unit_test(forged_sizes_and_checksums_are_refused),
        cmocka_unit_test(scavenged_files_are_at_their_destinations),
        cmocka_unit_test(rebuilt_files_have_their_modes_and_times),
        cmocka_unit_test(a_failed_rebuild_harms_nothing_and_can_be_repeated),
        cmocka_unit_test(a_failed_encode_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, test_tmp_teardown);
}
