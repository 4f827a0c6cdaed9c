/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs on simulated nodes, one after the other inside one mpirun. */
#include "helper_move.h"
#include "helper_maps.h"

#include "base/str.h"
#include "ec/ec.h"
#include "store/cache.h"

static char root_dir[600];
static int serial;

void move_mkdir(const char *fmt, ...)
{
    char path[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    mkdir(path, 0700);
}

const char *move_root(struct mpi_test *t)
{
    snprintf(root_dir, sizeof root_dir, "%s/%s.%d", t->dir, t->name, serial++);
    move_mkdir("%s", root_dir);
    scr_barrier_all(&t->comm);
    return root_dir;
}

void move_root_remove(struct mpi_test *t)
{
    scr_barrier_all(&t->comm);
    if (t->comm.rank == 0)
        mpi_test_remove(root_dir);
    scr_barrier_all(&t->comm);
}

void move_start(struct mpi_test *t, struct move_job *job, const char *root,
                const struct scr_env *env, int node)
{
    struct scr_err err = SCR_ERR_INIT;
    char cntl[700];
    *job = (struct move_job){ .env = *env };
    CHECK_RC(scr_comm_split_all(&t->comm, node, t->comm.rank, &job->node, &err), SCR_OK,
             &err);
    move_mkdir("%s/node.%d", root, node);
    snprintf(cntl, sizeof cntl, "%s/node.%d/cntl", root, node);
    snprintf(job->cache, sizeof job->cache, "%s/node.%d/cache", root, node);
    move_mkdir("%s", cntl);
    move_mkdir("%s", job->cache);
    scr_barrier_all(&t->comm);
    const struct scr_env plain = { .sys = &scr_sys_posix };
    CHECK_RC(scr_cntl_open(&plain, cntl, job->node.rank, &job->cntl, &err), SCR_OK,
             &err);
    job->map = scr_filemap_new();
}

void move_stop(struct move_job *job)
{
    const struct scr_env plain = { .sys = &scr_sys_posix };
    scr_cntl_close(&plain, &job->cntl);
    scr_comm_free(&job->node);
    scr_filemap_delete(job->map);
}

/* --- contents --- */

int move_nfiles(int rank, enum move_kind kind)
{
    switch (kind) {
    case MOVE_HOLES:
        return rank % 3 == 1 ? 0 : 2;
    case MOVE_NONE:
        return 0;
    case MOVE_EMPTY:
    case MOVE_LARGE:
        return 2;
    case MOVE_MANY:
        return 300;
    default:
        return 3 + rank % 2;
    }
}

uint64_t move_size(int rank, int i, enum move_kind kind)
{
    if (i < 0)
        return 500 + (uint64_t)rank;
    if (kind == MOVE_EMPTY)
        return 0;
    if (kind == MOVE_MANY)
        return (uint64_t)(i % 7) * 10;
    if (kind == MOVE_LARGE)
        return 100000 + (uint64_t)rank;
    return i == 1 ? 0 : (uint64_t)i * 1000 + (uint64_t)rank * 137 + 1;
}

void *move_bytes(int id, int rank, int i, enum move_kind kind, size_t *n)
{
    *n = (size_t)move_size(rank, i, kind);
    unsigned char *p = malloc(*n + 1);
    uint32_t x = (uint32_t)(id * 1000003 + rank * 10007 + i * 101 + 12345);
    for (size_t j = 0; j < *n; j++) {
        x = x * 1664525u + 1013904223u;
        p[j] = (unsigned char)(x >> 24);
    }
    return p;
}

/* Files 0 and 2 have the same base name. */
void move_rel(char *rel, size_t n, int i)
{
    if (i == 2)
        snprintf(rel, n, "1/file.0");
    else
        snprintf(rel, n, "file.%d", i);
}

void move_dest(char *dest, size_t n, int rank, int i)
{
    if (i == 2)
        snprintf(dest, n, "ckpt/other.%d/file.0", rank);
    else
        snprintf(dest, n, "ckpt/rank.%d/file.%d", rank, i);
}

static void path_of(char *path, size_t n, const char *dset_dir, int rank, int size,
                    int i)
{
    char rel[64];
    move_rel(rel, sizeof rel, i);
    if (i < 0)
        snprintf(path, n, "%s/.scr/%d_of_%d_in_0.xor", dset_dir, rank + 1, size);
    else
        snprintf(path, n, "%s/rank.%d/%s", dset_dir, rank, rel);
}

int move_same(const char *path, int id, int rank, int i, enum move_kind kind)
{
    size_t n;
    unsigned char *want = move_bytes(id, rank, i, kind, &n), *got = malloc(n + 1);
    FILE *f = fopen(path, "rb");
    int same = f != NULL && fread(got, 1, n + 1, f) == n && memcmp(got, want, n) == 0;
    if (f != NULL)
        fclose(f);
    free(got);
    free(want);
    return same;
}

/* --- datasets --- */

const char *move_dset_dir(const struct move_job *job, int id)
{
    static char dir[800];
    snprintf(dir, sizeof dir, "%s/scr.dataset.%d", job->cache, id);
    return dir;
}

/* Its destination and attributes in a flush. */
static void set_origin(scr_meta *meta, int rank, int i)
{
    char dest[128];
    struct stat st = { .st_mode = S_IFREG | 0640,
                       .st_uid = getuid(),
                       .st_gid = getgid() };
    st.st_mtim.tv_sec = st.st_atim.tv_sec = 1000000000 + i;
    move_dest(dest, sizeof dest, rank, i);
    char *slash = strrchr(dest, '/');
    *slash = '\0';
    scr_meta_set_text(meta, SCR_META_PATH, dest);
    scr_meta_set_text(meta, SCR_META_NAME, slash + 1);
    scr_meta_set_stat(meta, &st);
}

static void write_one(struct mpi_test *t, struct move_job *job, int id,
                      enum move_kind kind, int i)
{
    int rank = t->comm.rank, size = t->comm.size;
    char path[1024], rel[64];
    size_t n;
    void *bytes = move_bytes(id, rank, i, kind, &n);
    move_rel(rel, sizeof rel, i);
    path_of(path, sizeof path, move_dset_dir(job, id), rank, size, i);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    scr_meta *meta = scr_meta_new();
    scr_meta_set(meta, i < 0 ? strrchr(path, '/') + 1 : rel, i < 0 ? "XOR" : "FULL", n,
                 (struct scr_meta_of){ id, rank, size }, 1);
    scr_meta_set_crc32(meta, scr_crc32(0, bytes, n));
    if (i >= 0)
        set_origin(meta, rank, i);
    scr_filemap_set_meta(job->map, id, rank, path, meta);
    scr_meta_delete(meta);
    free(bytes);
}

void move_write(struct mpi_test *t, struct move_job *job, int id, enum move_kind kind)
{
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_env plain = { .sys = &scr_sys_posix };
    int rank = t->comm.rank, n = move_nfiles(rank, kind);
    scr_hash *desc = scr_hash_new(), *dset = scr_hash_new();
    CHECK_RC(scr_cache_make(&plain, job->cache, id, rank, &err), SCR_OK, &err);
    move_mkdir("%s/rank.%d/1", move_dset_dir(job, id), rank);
    for (int i = -1; i < n; i++)
        write_one(t, job, id, kind, i);
    scr_hash_set_val_i64(desc, "RANKS", t->comm.size);
    scr_hash_set_val_i64(dset, "ID", id);
    scr_hash_set_val(dset, "NAME", "moved");
    scr_hash_set_val_i64(dset, "FLAG_CKPT", 1);
    scr_hash_set_val_i64(dset, "FLAG_OUTPUT", 0);
    scr_filemap_set_desc(job->map, id, rank, desc);
    scr_filemap_set_dataset(job->map, id, rank, dset);
    scr_filemap_set_expected_files(job->map, id, rank, n);
    CHECK_RC(scr_cntl_write(&plain, &job->cntl, job->map, &err), SCR_OK, &err);
    if (job->node.rank == 0)
        CHECK_RC(scr_cntl_write_master(&plain, &job->cntl, job->node.size, &err),
                 SCR_OK, &err);
    scr_hash_delete(desc);
    scr_hash_delete(dset);
    scr_barrier_all(&t->comm);
}

static void check_one(struct mpi_test *t, struct move_job *job, int id,
                      enum move_kind kind, int i)
{
    int rank = t->comm.rank;
    char path[1024];
    uint64_t size;
    path_of(path, sizeof path, move_dset_dir(job, id), rank, t->comm.size, i);
    if (!move_same(path, id, rank, i, kind))
        mpi_test_fail(t, __FILE__, __LINE__, "other bytes in %s", path);
    const scr_meta *meta = scr_filemap_get_meta(job->map, id, rank, path);
    if (scr_meta_get_filesize(meta, &size) != SCR_OK ||
        size != move_size(rank, i, kind))
        mpi_test_fail(t, __FILE__, __LINE__, "no meta data of %s", path);
}

/* The filemap on disk says about (id, rank) what the one in memory says. */
static void check_stored(struct mpi_test *t, struct move_job *job, int id)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_filemap *disk = scr_filemap_new();
    CHECK_RC(scr_filemap_read(&scr_sys_posix, job->cntl.map_path, disk, &err), SCR_OK,
             &err);
    scr_hash *a = test_map_tree(disk), *b = test_map_tree(job->map);
    CHECK(scr_hash_equal(scr_hash_getf(a, "RANK %d DSET %d", t->comm.rank, id),
                         scr_hash_getf(b, "RANK %d DSET %d", t->comm.rank, id)));
    scr_hash_delete(a);
    scr_hash_delete(b);
    scr_filemap_delete(disk);
}

void move_check(struct mpi_test *t, struct move_job *job, int id, enum move_kind kind)
{
    int rank = t->comm.rank, n = move_nfiles(rank, kind), ranks = 0;
    CHECK_INT(scr_filemap_num_files(job->map, id, rank), n + 1);
    CHECK_INT(scr_filemap_num_expected_files(job->map, id, rank), n);
    CHECK(scr_hash_get_val_int(scr_filemap_get_desc(job->map, id, rank), "RANKS",
                               &ranks));
    CHECK_INT(ranks, t->comm.size);
    CHECK(scr_filemap_get_dataset(job->map, id, rank) != NULL);
    for (int i = -1; i < n; i++)
        check_one(t, job, id, kind, i);
    CHECK_INT(scr_filemap_num_ranks_by_dataset(job->map, id), 1);
    check_stored(t, job, id);
}

/* --- what lies around --- */

static struct {
    struct mpi_test *t;
    const scr_hash *named;
    long files;
} walk;

static int see(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (type != FTW_F)
        return 0;
    walk.files++;
    if (scr_hash_get(walk.named, path) == NULL)
        mpi_test_fail(walk.t, __FILE__, __LINE__, "%s is in no filemap", path);
    return 0;
}

/* Every path any entry of map names. */
static scr_hash *names_in(const scr_filemap *map)
{
    scr_hash *named = scr_hash_new();
    for (size_t i = 0; i < map->n; i++)
        for (SCR_EACH(struct scr_file, f, &map->entry[i]->files))
            scr_hash_set(named, f->item.name, NULL);
    return named;
}

static void see_node(struct mpi_test *t, const char *root, int node)
{
    const struct scr_env plain = { .sys = &scr_sys_posix };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cntl cntl;
    char path[800];
    snprintf(path, sizeof path, "%s/node.%d/cntl", root, node);
    if (access(path, F_OK) != 0)
        return;
    scr_filemap *map = scr_filemap_new();
    CHECK_RC(scr_cntl_open(&plain, path, 0, &cntl, &err), SCR_OK, &err);
    CHECK_RC(scr_cntl_read_node(&plain, &cntl, map, &err), SCR_OK, &err);
    scr_cntl_close(&plain, &cntl);
    scr_hash *named = names_in(map);
    walk.named = named;
    snprintf(path, sizeof path, "%s/node.%d/cache", root, node);
    nftw(path, see, 16, FTW_PHYS);
    scr_hash_delete(named);
    scr_filemap_delete(map);
}

long move_count_files(struct mpi_test *t, const char *root, int nnodes)
{
    walk.t = t;
    walk.files = 0;
    scr_barrier_all(&t->comm);
    for (int k = 0; k < nnodes && t->comm.rank == 0; k++)
        see_node(t, root, k);
    MPI_Bcast(&walk.files, 1, MPI_LONG, 0, t->comm.comm);
    return walk.files;
}

long move_expected(int nranks, enum move_kind kind)
{
    long n = 0;
    for (int r = 0; r < nranks; r++)
        n += move_nfiles(r, kind) + 1;
    return n;
}

void move_same_rc(struct mpi_test *t, int rc)
{
    int64_t least = scr_min_all(&t->comm, rc), most = scr_max_all(&t->comm, rc);
    CHECK_INT(least, most);
}
