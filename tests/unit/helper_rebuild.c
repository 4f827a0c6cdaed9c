/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_rebuild.h"

static struct scr_sys quick_sys;
const struct scr_env quick_env = { .sys = &quick_sys };

/* These tests lose no power: do without the disk's flush, and without the disk where
 * there is room in memory. */
static int no_fsync(int fd)
{
    (void)fd;
    return 0;
}

static unsigned seed = 5;

unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

char *path_in(const struct world *w, const char *name)
{
    return scr_path_join(w->root, name);
}

static void load(struct blob *b, const char *path)
{
    b->path = strdup(path);
    b->bytes = test_get(path, &b->n);
}

scr_meta *meta_of(const char *file, uint64_t size, int rank)
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

void world_init(struct world *w, enum scr_scheme scheme, int n, int k, size_t nfiles,
                size_t sizes[MAX_N][MAX_FILES])
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

void random_world(struct world *w, enum scr_scheme scheme, int n, int k)
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

void world_fini(struct world *w)
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

void lose_data(const struct world *w, int i)
{
    nftw(w->dirs[i], remove_path, 16, FTW_DEPTH | FTW_PHYS);
}

void restore_member(const struct world *w, int i)
{
    char *sub = scr_path_join(w->dirs[i], "1");
    (void)mkdir(w->dirs[i], 0700);
    (void)mkdir(sub, 0700);
    free(sub);
    for (size_t f = 0; f < w->nfiles[i]; f++)
        test_put(w->file[i][f].path, w->file[i][f].bytes, w->file[i][f].n);
    test_put(w->reds[i], w->red[i].bytes, w->red[i].n);
}

int is_as_it_was(const struct blob *b)
{
    struct stat st;
    if (stat(b->path, &st) != 0 || (size_t)st.st_size != b->n)
        return 0;
    uint8_t *now = test_get(b->path, &(size_t){ 0 });
    int same = memcmp(now, b->bytes, b->n) == 0;
    free(now);
    return same;
}

void assert_whole(const struct world *w)
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

int tree_files;

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

uint32_t tree_of(const struct world *w)
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

void assert_tidy(const struct world *w)
{
    int files = w->n;
    for (int i = 0; i < w->n; i++)
        files += (int)w->nfiles[i];
    tree_files = 0;
    assert_int_equal(nftw(w->root, count_file, 16, FTW_PHYS), 0);
    assert_int_equal(tree_files, files);
}

int rebuild(const struct scr_env *env, const struct world *w, int *rebuilt,
            struct scr_err *err)
{
    const char *reds[MAX_N];
    for (int i = 0; i < w->n; i++)
        reds[i] = access(w->reds[i], F_OK) == 0 ? w->reds[i] : NULL;
    const struct scr_rebuild_set set = { w->n, reds, (const char *const *)w->dirs,
                                         (const char *const *)w->reds, NULL };
    return scr_rebuild_serial(env, &set, rebuilt, err);
}

void flip(const struct blob *b)
{
    size_t at = rnd((unsigned)b->n);
    uint8_t byte = b->bytes[at] ^ (uint8_t)(1U << rnd(8));
    int fd = open(b->path, O_WRONLY);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    assert_int_equal(close(fd), 0);
}

int rebuild_setup(void **state)
{
    (void)state;
    quick_sys = scr_sys_posix;
    quick_sys.fsync = no_fsync;
    return 0;
}
