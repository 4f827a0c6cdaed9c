/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_flushed.h"

void scene_prefix(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    snprintf(s->prefix_path, sizeof s->prefix_path, "%s/prefix", s->root);
    move_mkdir("%s", s->prefix_path);
    scr_barrier_all(&t->comm);
    CHECK_RC(scr_prefix_open(&posix, s->prefix_path, 1, &s->prefix, &err), SCR_OK,
             &err);
    s->opts = (struct scr_copy_opts){ .width = t->comm.size, .buf = BUF, .crc = 1 };
    s->dset = scr_hash_new();
    scr_barrier_all(&t->comm);
}

void scene_open(struct mpi_test *t, struct scene *s, enum move_kind kind)
{
    *s = (struct scene){ .root = move_root(t) };
    scene_prefix(t, s);
    move_start(t, &s->job, s->root, &posix, t->comm.rank);
    move_write(t, &s->job, ID, kind);
}

void scene_close(struct mpi_test *t, struct scene *s)
{
    scr_hash_delete(s->dset);
    scr_prefix_fini(&s->prefix);
    move_stop(&s->job);
    move_root_remove(t);
}

int flush(struct mpi_test *t, struct scene *s, const struct scr_env *env,
          struct scr_err *err)
{
    const scr_hash *dset = scr_filemap_get_dataset(s->job.map, ID, t->comm.rank);
    scr_err_clear(err);
    const struct scr_prefix_dset at = { env, &t->comm, &s->prefix, ID };
    int rc = scr_flush_all(&at, &s->opts, dset, s->job.map, &s->bytes, err);
    move_same_rc(t, rc);
    return rc;
}

int fetch(struct mpi_test *t, struct scene *s, const struct scr_env *env,
          struct scr_err *err)
{
    scr_err_clear(err);
    CHECK_RC(scr_cache_remove(&posix, s->job.cache, ID, err), SCR_OK, err);
    scr_filemap_remove_dataset(s->job.map, ID);
    CHECK_RC(scr_cache_make(&posix, s->job.cache, ID, t->comm.rank, err), SCR_OK, err);
    scr_hash_unset_all(s->dset);
    scr_barrier_all(&t->comm);
    const struct scr_prefix_dset at = { env, &t->comm, &s->prefix, ID };
    const struct scr_fetch_to to = { move_dset_dir(&s->job, ID), s->job.map,
                                     &s->job.cntl };
    int rc = scr_fetch_all(&at, &s->opts, &to, SCR_OK, s->dset, err);
    move_same_rc(t, rc);
    return rc;
}

const char *at_prefix(const struct mpi_test *t, const struct scene *s, int i)
{
    static char path[1024];
    char dest[128];
    move_dest(dest, sizeof dest, t->comm.rank, i);
    snprintf(path, sizeof path, "%s/%s", s->prefix_path, dest);
    return path;
}

const char *at_record(const struct scene *s, const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/scr.dataset.%d/%s", s->prefix.scr, ID, name);
    return path;
}

long total_files(int nranks, enum move_kind kind)
{
    return move_expected(nranks, kind) - nranks;
}

uint64_t total_bytes(int nranks, enum move_kind kind)
{
    uint64_t sum = 0;
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < move_nfiles(r, kind); i++)
            sum += move_size(r, i, kind);
    return sum;
}

void check_files(struct mpi_test *t, struct scene *s, enum move_kind kind)
{
    struct stat st;
    for (int i = 0; i < move_nfiles(t->comm.rank, kind); i++) {
        const char *path = at_prefix(t, s, i);
        CHECK_INT(stat(path, &st), 0);
        CHECK_INT(st.st_mode & 07777, 0640);
        CHECK_INT(st.st_mtim.tv_sec, 1000000000 + i);
        if (!move_same(path, ID, t->comm.rank, i, kind))
            mpi_test_fail(t, __FILE__, __LINE__, "other bytes in %s", path);
    }
}

int index_complete(struct mpi_test *t, struct scene *s, int id, int *current)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_index_entry e = { .complete = -1 };
    struct scr_index index = SCR_INDEX_INIT;
    CHECK_RC(scr_prefix_index_read(&posix, &s->prefix, &index, &err), SCR_OK, &err);
    if (scr_index_get(&index, id, &e, NULL) != SCR_OK)
        e.complete = -1;
    *current = e.current;
    scr_index_fini(&index);
    return e.complete;
}

void check_record(struct mpi_test *t, struct scene *s, enum move_kind kind)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dataset d;
    int complete = 0, current = 0, n = t->comm.size, rank = t->comm.rank;
    struct scr_rank2file list = { 0 };
    CHECK_INT(index_complete(t, s, ID, &current), 1);
    CHECK_INT(current, 1);
    scr_hash_unset_all(s->dset);
    CHECK_RC(scr_prefix_summary_read(&posix, &s->prefix, ID, &complete, s->dset, &err),
             SCR_OK, &err);
    CHECK_INT(complete, 1);
    CHECK_RC(scr_dataset_get(s->dset, &d, &err), SCR_OK, &err);
    CHECK_INT(d.id, ID);
    CHECK(strcmp(d.name, "moved") == 0);
    CHECK_INT(d.files, total_files(n, kind));
    CHECK_INT(d.size, total_bytes(n, kind));
    CHECK_INT(d.complete, 1);
    CHECK_RC(scr_prefix_rank2file_read(&posix, &s->prefix, ID, &list, &err), SCR_OK,
             &err);
    CHECK_INT(list.n, n);
    const struct scr_rank_files *mine = scr_rank2file_rank(&list, rank);
    CHECK_INT(mine != NULL ? (int)mine->files.n : -1, move_nfiles(rank, kind));
    for (int i = 0; mine != NULL && i < move_nfiles(rank, kind); i++) {
        char dest[128];
        move_dest(dest, sizeof dest, rank, i);
        const struct scr_listed *f = scr_table_find(&mine->files, dest);
        CHECK(f != NULL && f->has_size && f->has_crc);
        CHECK_INT(f != NULL ? f->size : 0, move_size(rank, i, kind));
    }
    scr_rank2file_fini(&list);
}

static void check_meta(struct mpi_test *t, const scr_meta *meta, const char *rel, int i,
                       enum move_kind kind)
{
    int rank = t->comm.rank;
    char dest[128];
    uint32_t crc;
    uint64_t size = 0;
    move_dest(dest, sizeof dest, rank, i);
    char *got = scr_meta_dest(meta);
    CHECK(got != NULL && strcmp(got, dest) == 0);
    free(got);
    CHECK(strcmp(scr_meta_text(meta, SCR_META_FILE), rel) == 0);
    CHECK_INT(scr_meta_get_filesize(meta, &size), SCR_OK);
    CHECK_INT(size, move_size(rank, i, kind));
    CHECK(scr_meta_is_full(meta));
    CHECK_INT(meta->rank, rank);
    CHECK_INT(meta->ranks, t->comm.size);
    CHECK_INT(meta->dset, ID);
    CHECK_INT(meta->complete, 1);
    CHECK_INT(scr_meta_get_crc32(meta, &crc), SCR_OK);
}

/* File i, wherever the map says it is: the name in cache is not fixed. */
static void check_fetched_file(struct mpi_test *t, struct scene *s, int i,
                               enum move_kind kind)
{
    char dest[128], dir[900];
    int rank = t->comm.rank, found = 0;
    move_dest(dest, sizeof dest, rank, i);
    size_t len = (size_t)snprintf(dir, sizeof dir, "%s/rank.%d/",
                                  move_dset_dir(&s->job, ID), rank);
    for (SCR_FILES(f, s->job.map, ID, rank)) {
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        char *got = scr_meta_dest(meta);
        if (got != NULL && strcmp(got, dest) == 0) {
            found++;
            CHECK(strncmp(path, dir, len) == 0);
            check_meta(t, meta, path + len, i, kind);
            if (!move_same(path, ID, rank, i, kind))
                mpi_test_fail(t, __FILE__, __LINE__, "other bytes in %s", path);
        }
        free(got);
    }
    CHECK_INT(found, 1);
}

void check_fetched(struct mpi_test *t, struct scene *s, enum move_kind kind)
{
    int rank = t->comm.rank, n = move_nfiles(rank, kind);
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dataset d;
    CHECK_INT(scr_filemap_num_files(s->job.map, ID, rank), n);
    CHECK_INT(scr_filemap_num_expected_files(s->job.map, ID, rank), n);
    CHECK_RC(scr_dataset_get(scr_filemap_get_dataset(s->job.map, ID, rank), &d, &err),
             SCR_OK, &err);
    CHECK_RC(scr_dataset_get(s->dset, &d, &err), SCR_OK, &err);
    CHECK_INT(d.files, total_files(t->comm.size, kind));
    for (int i = 0; i < n; i++)
        check_fetched_file(t, s, i, kind);
    CHECK_INT(move_count_files(t, s->root, t->comm.size),
              total_files(t->comm.size, kind));
}

void flip(struct mpi_test *t, const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0);
    int c = f != NULL ? fgetc(f) : 0;
    CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0 && fputc(c ^ 4, f) != EOF);
    CHECK(f != NULL && fclose(f) == 0);
}
