/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_cell.h"

#include "helper_maps.h"
#include "par/migrate/holdings.h"

#include <fcntl.h>
#include <time.h>

#include "base/str.h"
#include "ec/ec.h"
#include "red/redfile.h"
#include "store/cache.h"

struct cell_file {
    char *path;
    void *bytes;
    size_t n;
    struct stat st;
};

/* --- files --- */

static unsigned char byte_at(int rank, int file, size_t i)
{
    uint32_t x =
        (uint32_t)rank * 2654435761u + (uint32_t)file * 40503u + (uint32_t)i * 97u;
    return (unsigned char)(x >> 7 ^ x);
}

static void put_file(struct mpi_test *t, const char *path, int rank, int file, size_t n)
{
    unsigned char *bytes = scr_calloc(n, 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(rank, file, i);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(bytes, 1, n, f) == n);
    CHECK(f == NULL || fclose(f) == 0);
    free(bytes);
    struct timespec times[2] = { { 1000000000 + rank, 5000 },
                                 { 1100000000 + file, 7000 } };
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    CHECK(chmod(path, file % 2 ? 0640 : 0600) == 0);
}

/* One rank has all bytes in every turn, so that a chunk has CELL_CHUNK of them. */
static long chunks_of(int rank, int turn, int nd)
{
    const long all = (long)nd * CELL_CHUNK;
    const long sizes[CELL_TURNS] = {
        0, 1, CELL_CHUNK - 1, CELL_CHUNK, CELL_CHUNK + 1, all - 1, all
    };
    long size = sizes[(rank + turn) % CELL_TURNS];
    return rank == turn % 2 || size > all ? all : size;
}

/* Size of file i of a rank; -1: it has no such file. */
static long size_of(enum cell_files profile, int rank, int i, int nd)
{
    static const long odd[] = { 0, 1, 731, 4097 };
    if (profile >= CELL_CHUNKS) {
        long all = chunks_of(rank, (int)profile - CELL_CHUNKS, nd);
        return i == 0 ? all / 3 : i == 1 ? all - all / 3 : -1;
    }
    switch (profile) {
    case CELL_ODD:
        return i < 4 ? odd[i] + (i > 1 ? 13 * rank : 0) : -1;
    case CELL_UNEVEN:
        return i > 0 ? -1 : rank == 0 ? 300000 : 3 * rank;
    case CELL_EDGE:
        return i > 0 ? -1 : 640L * nd + rank % 3 - 1;
    case CELL_SOME:
        return i == 0 && rank % 2 == 1 ? 777 : -1;
    case CELL_EQUAL:
        return i == 0 ? CELL_BYTES / 3 : i == 1 ? CELL_BYTES - CELL_BYTES / 3 : -1;
    case CELL_TINY:
        return i < 2 ? 3 * i + rank : -1;
    case CELL_LONG:
        return i == 0 ? 256 * 1024 + 13 * rank : -1;
    default:
        return -1;
    }
}

static void make_file(struct cell *c, int i, long size)
{
    struct mpi_test *t = c->t;
    char name[64], path[1000];
    struct stat st;
    int me = c->world.rank;
    snprintf(name, sizeof name, i == 2 ? "1/file%d" : "file%d.ckpt", i);
    snprintf(path, sizeof path, "%s/%s", c->rank_dir, name);
    if (i == 2) {
        char dir[1000];
        snprintf(dir, sizeof dir, "%s/1", c->rank_dir);
        CHECK(mkdir(dir, 0700) == 0);
    }
    put_file(t, path, me, i, (size_t)size);
    CHECK(stat(path, &st) == 0);
    scr_meta *meta = scr_meta_new();
    scr_meta_set(meta, name, "FULL", (uint64_t)size,
                 (struct scr_meta_of){ c->id, me, c->world.size }, 1);
    scr_meta_set_text(meta, SCR_META_PATH, "ckpt");
    scr_meta_set_text(meta, SCR_META_NAME, name);
    scr_meta_set_stat(meta, &st);
    scr_filemap_add_file(c->map, c->id, me, path);
    scr_filemap_set_meta(c->map, c->id, me, path, meta);
    scr_meta_delete(meta);
}

static void make_node(struct cell *c)
{
    struct mpi_test *t = c->t;
    mkdir(c->node, 0700);
    CHECK_RC(scr_cache_make(&c->env, c->node, c->id, c->world.rank, &c->err), SCR_OK,
             &c->err);
}

static void make_set_all(struct cell *c)
{
    struct mpi_test *t = c->t;
    struct scr_comm alone;
    CHECK_RC(scr_comm_split_all(&c->world, c->world.rank, 0, &alone, &c->err), SCR_OK,
             &c->err);
    struct scr_cut cut = { .group = &alone, .set_size = c->world.size };
    CHECK_RC(scr_set_make_all(&c->world, &cut, SCR_OK, &c->set, &c->err), SCR_OK,
             &c->err);
    scr_comm_free(&alone);
}

void cell_make_all(struct mpi_test *t, struct cell *c, const struct scr_comm *world,
                   enum cell_files profile, int nd)
{
    static int serial;
    memset(c, 0, sizeof *c);
    c->t = t;
    c->world = *world;
    c->env = (struct scr_env){ .sys = &scr_sys_posix };
    c->p = (struct scr_protect){
        .env = &c->env, .world = &c->world, .mpi_buf = 100000, .crc = 1
    };
    c->id = 7;
    c->err = (struct scr_err)SCR_ERR_INIT;
    snprintf(c->node, sizeof c->node, "%s/%d.node%d", t->dir, ++serial, world->rank);
    snprintf(c->dset_dir, sizeof c->dset_dir, "%s/scr.dataset.%d", c->node, c->id);
    snprintf(c->rank_dir, sizeof c->rank_dir, "%s/rank.%d", c->dset_dir, world->rank);
    c->map = scr_filemap_new();
    c->dset = scr_hash_new();
    scr_hash_set_val_i64(c->dset, "ID", c->id);
    scr_hash_set_val(c->dset, "NAME", "ckpt.7");
    make_node(c);
    scr_filemap_add_rank(c->map, c->id, world->rank);
    scr_filemap_set_dataset(c->map, c->id, world->rank, c->dset);
    for (int i = 0; size_of(profile, world->rank, i, nd) >= 0; i++)
        make_file(c, i, size_of(profile, world->rank, i, nd));
    make_set_all(c);
}

static void forget(struct cell *c)
{
    for (size_t i = 0; i < c->nkept; i++) {
        free(c->kept[i].path);
        free(c->kept[i].bytes);
    }
    free(c->kept);
    c->kept = NULL;
    c->nkept = 0;
    scr_filemap_delete(c->kept_map);
    c->kept_map = NULL;
}

void cell_free_all(struct cell *c)
{
    forget(c);
    scr_set_free(&c->set);
    scr_filemap_delete(c->map);
    scr_hash_delete(c->dset);
    mpi_test_remove(c->node);
}

static int is_red(const char *path)
{
    return strstr(path, "/.scr/") != NULL;
}

/* The redundancy file there was, wherever it is now; NULL: none. */
static const struct cell_file *kept_red(const struct cell *c)
{
    for (size_t i = 0; i < c->nkept; i++)
        if (is_red(c->kept[i].path))
            return &c->kept[i];
    return NULL;
}

/* --- calls --- */

static int check_same_code(struct cell *c, int rc)
{
    struct mpi_test *t = c->t;
    CHECK_INT(scr_same_all(&c->world, &rc, sizeof rc), 1);
    if (rc != SCR_OK)
        CHECK(scr_same_all(&c->world, c->err.text, strlen(c->err.text)) &&
              c->err.text[0] != '\0');
    return rc;
}

int cell_try_protect_all(struct cell *c, enum scr_scheme scheme, int k)
{
    scr_hash *extra = scr_hash_new();
    scr_hash_set_val(extra, "STORE", "/dev/shm");
    scr_err_clear(&c->err);
    struct scr_protection d = { .set = &c->set,
                                .scheme = scheme,
                                .k = k,
                                .id = c->id,
                                .dset_dir = c->dset_dir,
                                .dset = c->dset,
                                .desc = extra,
                                .map = c->map };
    int rc = scr_protect_all(&c->p, &d, SCR_OK, &c->err);
    rc = scr_agree_all(&c->world, rc, &c->err);
    c->stats = d.stats;
    scr_set_describe(&c->set, c->world.size, scheme, k, &c->p.known);
    scr_hash_delete(extra);
    return check_same_code(c, rc);
}

void cell_protect_all(struct cell *c, enum scr_scheme scheme, int k)
{
    struct mpi_test *t = c->t;
    CHECK_RC(cell_try_protect_all(c, scheme, k), SCR_OK, &c->err);
    cell_keep(c);
}

int cell_try_restore_all(struct cell *c)
{
    struct mpi_test *t = c->t;
    scr_err_clear(&c->err);
    /* as scr_distribute_all finds it */
    c->p.whole =
        scr_and_all(&c->world, scr_holdings_are_whole(&c->env, c->map, c->id,
                                                      c->world.rank, c->dset_dir));
    c->p.set = c->tries++ % 2 && c->p.known.ranks == c->world.size ? &c->set : NULL;
    int rc = scr_restore_all(&c->p, c->id, c->dset_dir, c->map, &c->rep, &c->err);
    if (rc == SCR_OK)
        CHECK(scr_hash_equal(scr_filemap_get_dataset(c->map, c->id, c->world.rank),
                             c->dset));
    return check_same_code(c, rc);
}

enum { PATH_BYTES = 1024 };

/* Where a member's redundancy file is, and its other files. */
struct place {
    char red[PATH_BYTES], dir[PATH_BYTES];
};

/* As a command would: a redundancy file that is not there is lost. */
static int rebuild_serially(struct cell *c, const struct place *all)
{
    const char *reds[SCR_EC_MAX], *dirs[SCR_EC_MAX], *outs[SCR_EC_MAX];
    for (int i = 0; i < c->set.n; i++) {
        outs[i] = all[i].red;
        dirs[i] = all[i].dir;
        reds[i] = access(outs[i], F_OK) == 0 ? outs[i] : NULL;
    }
    const struct scr_rebuild_set set = { c->set.n, reds, dirs, outs, NULL };
    return scr_rebuild_serial(&c->env, &set, NULL, &c->err);
}

int cell_try_serial_all(struct cell *c, int by)
{
    struct place mine, *all = scr_calloc((size_t)c->set.n, sizeof *all);
    int rc = SCR_OK;
    scr_err_clear(&c->err);
    snprintf(mine.red, sizeof mine.red, "%s", kept_red(c)->path);
    snprintf(mine.dir, sizeof mine.dir, "%s", c->rank_dir);
    scr_allgather_bytes_all(&c->set.comm, &mine, sizeof mine, all, &c->err);
    if (c->set.me == by)
        rc = rebuild_serially(c, all);
    free(all);
    return check_same_code(c, scr_agree_all(&c->set.comm, rc, &c->err));
}

/* --- keeping and comparing --- */

static struct cell *walking; /* nftw has no argument */

static int keep_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    struct cell *c = walking;
    if (type != FTW_F)
        return 0;
    c->kept = realloc(c->kept, (c->nkept + 1) * sizeof *c->kept);
    struct cell_file *f = &c->kept[c->nkept++];
    *f = (struct cell_file){ scr_strdup(path), scr_calloc((size_t)st->st_size, 1),
                             (size_t)st->st_size, *st };
    FILE *in = fopen(path, "rb");
    if (in == NULL || fread(f->bytes, 1, f->n, in) != f->n)
        f->n = 0;
    if (in != NULL)
        fclose(in);
    return 0;
}

static size_t header_bytes(const struct cell *c)
{
    const struct cell_file *red = kept_red(c);
    uint64_t n = 0;
    scr_hash *header = scr_hash_new();
    if (red != NULL && scr_redfile_read(&c->env, red->path, header, &n, NULL) != SCR_OK)
        n = 0;
    scr_hash_delete(header);
    return (size_t)n;
}

void cell_keep(struct cell *c)
{
    forget(c);
    walking = c;
    nftw(c->dset_dir, keep_one, 16, FTW_PHYS);
    c->kept_map = scr_filemap_dup(c->map);
    c->header_bytes = header_bytes(c);
}

void cell_put_back(struct cell *c)
{
    struct mpi_test *t = c->t;
    mpi_test_remove(c->dset_dir);
    make_node(c);
    for (size_t i = 0; i < c->nkept; i++) {
        const struct cell_file *f = &c->kept[i];
        char *dir = scr_asprintf("%s/1", c->rank_dir);
        mkdir(dir, 0700);
        free(dir);
        FILE *out = fopen(f->path, "wb");
        CHECK(out != NULL && fwrite(f->bytes, 1, f->n, out) == f->n &&
              fclose(out) == 0);
        struct timespec times[2] = { f->st.st_atim, f->st.st_mtim };
        CHECK(utimensat(AT_FDCWD, f->path, times, 0) == 0);
        CHECK(chmod(f->path, f->st.st_mode & 0777) == 0);
    }
    scr_filemap_delete(c->map);
    c->map = scr_filemap_dup(c->kept_map);
}

enum compare { ALL_OF_IT, IF_THERE, BYTES };

/* Whether there is a file with the bytes there were. */
static int is_same(const struct cell_file *f)
{
    unsigned char buf[4096];
    const unsigned char *want = f->bytes;
    size_t at = 0, n = 0;
    FILE *in = fopen(f->path, "rb");
    if (in == NULL)
        return 0;
    while ((n = fread(buf, 1, sizeof buf, in)) > 0 && n <= f->n - at &&
           memcmp(buf, want + at, n) == 0)
        at += n;
    fclose(in);
    return n == 0 && at == f->n;
}

static void compare(struct cell *c, const struct cell_file *f, enum compare how)
{
    struct mpi_test *t = c->t;
    struct stat st;
    if (lstat(f->path, &st) != 0) {
        if (how != IF_THERE)
            mpi_test_fail(t, __FILE__, __LINE__, "%s: is missing", f->path);
        return;
    }
    if (!is_same(f))
        mpi_test_fail(t, __FILE__, __LINE__,
                      "%s: %lld bytes differ from the %zu before", f->path,
                      (long long)st.st_size, f->n);
    if (!is_red(f->path) && how != BYTES) {
        CHECK_INT(st.st_mode, f->st.st_mode);
        CHECK_INT(st.st_mtim.tv_sec, f->st.st_mtim.tv_sec);
        CHECK_INT(st.st_mtim.tv_nsec, f->st.st_mtim.tv_nsec);
    }
}

int cell_have(const struct cell *c)
{
    int have = SCR_HAVE_ALL;
    for (size_t i = 0; i < c->nkept; i++)
        if (!is_same(&c->kept[i]))
            have &= is_red(c->kept[i].path) ? ~SCR_HAVE_PARITY : ~SCR_HAVE_DATA;
    return have;
}

static uint64_t print; /* nftw has no argument */

/* Added up, as files come in no order. */
static int print_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    uint64_t size = 0, facts[] = { st->st_ino,
                                   st->st_mode,
                                   (uint64_t)st->st_size,
                                   (uint64_t)st->st_mtim.tv_sec,
                                   (uint64_t)st->st_mtim.tv_nsec,
                                   (uint64_t)st->st_ctim.tv_sec,
                                   (uint64_t)st->st_ctim.tv_nsec };
    const struct scr_env env = { .sys = &scr_sys_posix };
    uint32_t bytes = 0;
    if (type != FTW_F)
        return 0;
    scr_file_crc32(&env, path, 0, &size, &bytes, NULL);
    uint64_t name = scr_crc32(scr_crc32(0, path, strlen(path)), facts, sizeof facts);
    print += 1 + (name << 32 | bytes);
    return 0;
}

uint64_t cell_print(const struct cell *c)
{
    print = 0;
    nftw(c->node, print_one, 16, FTW_PHYS);
    return print;
}

static size_t counted;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path, (void)st, (void)ftw;
    counted += type == FTW_F;
    return 0;
}

size_t cell_count(const struct cell *c)
{
    counted = 0;
    nftw(c->dset_dir, count_one, 16, FTW_PHYS);
    return counted;
}

void cell_check_whole(struct cell *c)
{
    struct mpi_test *t = c->t;
    for (size_t i = 0; i < c->nkept; i++)
        compare(c, &c->kept[i], ALL_OF_IT);
    CHECK_INT(cell_count(c), c->nkept);
    CHECK(test_maps_equal(c->map, c->kept_map));
}

void cell_check_intact(struct cell *c, size_t least)
{
    struct mpi_test *t = c->t;
    for (size_t i = 0; i < c->nkept; i++)
        compare(c, &c->kept[i], IF_THERE);
    CHECK(cell_count(c) >= least);
}

void cell_check_bytes(struct cell *c)
{
    for (size_t i = 0; i < c->nkept; i++)
        compare(c, &c->kept[i], BYTES);
}

void cell_check_data(struct cell *c)
{
    for (size_t i = 0; i < c->nkept; i++)
        if (!is_red(c->kept[i].path))
            compare(c, &c->kept[i], ALL_OF_IT);
}

/* --- damage --- */

const char *cell_red(const struct cell *c)
{
    for (SCR_FILES(f, c->map, c->id, c->world.rank))
        if (is_red(f->item.name))
            return f->item.name;
    return NULL;
}

static void flip(struct cell *c, const char *path, long at, int whence, int bits)
{
    struct mpi_test *t = c->t;
    struct stat st;
    CHECK(stat(path, &st) == 0);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, at, whence) == 0);
    int byte = f != NULL ? fgetc(f) : 0;
    CHECK(f != NULL && fseek(f, at, whence) == 0 && fputc(byte ^ bits, f) != EOF);
    CHECK(f == NULL || fclose(f) == 0);
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

/* The largest application file; NULL if none has a byte. */
static const char *largest(const struct cell *c)
{
    const struct cell_file *best = NULL;
    for (size_t i = 0; i < c->nkept; i++)
        if (!is_red(c->kept[i].path) && c->kept[i].n > 0 &&
            (best == NULL || c->kept[i].n > best->n))
            best = &c->kept[i];
    return best != NULL ? best->path : NULL;
}

/* Byte number `at` of all application files together: the file that has it; at: in it.
 */
static const struct cell_file *file_with(const struct cell *c, size_t *at)
{
    size_t i = 0;
    while (is_red(c->kept[i].path) || *at >= c->kept[i].n) {
        *at -= is_red(c->kept[i].path) ? 0 : c->kept[i].n;
        i++;
    }
    return &c->kept[i];
}

void cell_flip(struct cell *c, enum cell_loss what, uint64_t pick)
{
    const struct cell_file *f = kept_red(c);
    size_t data = 0, parity = f->n - c->header_bytes, at = (size_t)(pick / 8);
    for (size_t i = 0; i < c->nkept; i++)
        data += is_red(c->kept[i].path) ? 0 : c->kept[i].n;
    if (what == CELL_FLIP_DATA && data > 0) {
        at %= data;
        f = file_with(c, &at);
    } else if (what == CELL_FLIP_PARITY && parity > 0) {
        at = c->header_bytes + at % parity;
    } else {
        at %= c->header_bytes;
    }
    flip(c, f->path, (long)at, SEEK_SET, 1 << pick % 8);
}

static void shorten(struct cell *c, const char *path)
{
    struct mpi_test *t = c->t;
    struct stat st;
    CHECK(stat(path, &st) == 0 && truncate(path, st.st_size - 1) == 0);
}

static void lose_files(struct cell *c, int red)
{
    for (size_t i = 0; i < c->nkept; i++)
        if (is_red(c->kept[i].path) == red)
            unlink(c->kept[i].path);
}

int cell_hits_data(const struct cell *c, enum cell_loss loss)
{
    size_t files = 0;
    for (size_t i = 0; i < c->nkept; i++)
        files += !is_red(c->kept[i].path);
    if (loss == CELL_FLIP_DATA || loss == CELL_SHORT_DATA)
        return largest(c) != NULL;
    return files > 0 && (loss == CELL_NODE || loss == CELL_DATA);
}

void cell_damage(struct cell *c, enum cell_loss loss)
{
    const char *red = cell_red(c), *data = largest(c);
    switch (loss) {
    case CELL_NODE:
        mpi_test_remove(c->node);
        make_node(c);
        scr_filemap_remove_dataset(c->map, c->id);
        break;
    case CELL_DATA:
        lose_files(c, 0);
        break;
    case CELL_RED:
        lose_files(c, 1);
        break;
    case CELL_FLIP_DATA:
        flip(c, data != NULL ? data : red, 0, SEEK_SET, 0x10);
        break;
    case CELL_FLIP_PARITY:
        flip(c, red, -1, SEEK_END, 0x10);
        break;
    case CELL_FLIP_HEADER:
        flip(c, red, 40, SEEK_SET, 0x10);
        break;
    case CELL_SHORT_DATA:
        shorten(c, data != NULL ? data : red);
        break;
    case CELL_SHORT_RED:
        shorten(c, red);
        break;
    default:
        scr_filemap_remove_dataset(c->map, c->id);
        break;
    }
}
