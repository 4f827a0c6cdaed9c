/* SPDX-License-Identifier: BSD-3-Clause */
/* To the prefix directory and back: bit for bit, or not at all. */
/* ranks: 1 2 3 4 5 8 */
#include <errno.h>

#include "base/hashfile.h"
#include "base/str.h"
#include "helper_fault.h"
#include "helper_move.h"
#include "par/pfs/flush.h"
#include "par/pfs/rank2file_all.h"
#include "store/cache.h"

enum { ID = 7, BUF = 1000 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };

/* A job with dataset ID in cache, one rank a node, and a prefix directory. */
struct scene {
    const char *root;
    struct move_job job;
    char prefix_path[700];
    struct scr_prefix prefix;
    struct scr_copy_opts opts;
    scr_hash *dset;
    uint64_t bytes;
};

static void scene_prefix(struct mpi_test *t, struct scene *s)
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

static void scene_open(struct mpi_test *t, struct scene *s, enum move_kind kind)
{
    *s = (struct scene){ .root = move_root(t) };
    scene_prefix(t, s);
    move_start(t, &s->job, s->root, &posix, t->comm.rank);
    move_write(t, &s->job, ID, kind);
}

static void scene_close(struct mpi_test *t, struct scene *s)
{
    scr_hash_delete(s->dset);
    scr_prefix_fini(&s->prefix);
    move_stop(&s->job);
    move_root_remove(t);
}

static int flush(struct mpi_test *t, struct scene *s, const struct scr_env *env,
                 struct scr_err *err)
{
    const scr_hash *dset = scr_filemap_get_dataset(s->job.map, ID, t->comm.rank);
    scr_err_clear(err);
    const struct scr_prefix_dset at = { env, &t->comm, &s->prefix, ID };
    int rc = scr_flush_all(&at, &s->opts, dset, s->job.map, &s->bytes, err);
    move_same_rc(t, rc);
    return rc;
}

/* Into an empty cache. */
static int fetch(struct mpi_test *t, struct scene *s, const struct scr_env *env,
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
    int rc = scr_fetch_all(&at, &s->opts, &to, s->dset, &s->bytes, err);
    move_same_rc(t, rc);
    return rc;
}

/* Path of our file i below the prefix. */
static const char *at_prefix(const struct mpi_test *t, const struct scene *s, int i)
{
    static char path[1024];
    char dest[128];
    move_dest(dest, sizeof dest, t->comm.rank, i);
    snprintf(path, sizeof path, "%s/%s", s->prefix_path, dest);
    return path;
}

static const char *at_record(const struct scene *s, const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/scr.dataset.%d/%s", s->prefix.scr, ID, name);
    return path;
}

static long total_files(int nranks, enum move_kind kind)
{
    return move_expected(nranks, kind) - nranks;
}

static uint64_t total_bytes(int nranks, enum move_kind kind)
{
    uint64_t sum = 0;
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < move_nfiles(r, kind); i++)
            sum += move_size(r, i, kind);
    return sum;
}

/* --- what a flush leaves --- */

static void check_files(struct mpi_test *t, struct scene *s, enum move_kind kind)
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

/* COMPLETE of the index entry, -1: there is none. */
static int index_complete(struct mpi_test *t, struct scene *s, int id, int *current)
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

static void check_record(struct mpi_test *t, struct scene *s, enum move_kind kind)
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

static struct {
    struct mpi_test *t;
    long files;
} walk;

static int see(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    const char *base = path + ftw->base;
    if (type == FTW_F && strstr(path, "/.scr/") == NULL)
        walk.files++;
    if (strncmp(base, ".scr-part", 9) == 0 || strstr(base, ".tmp") != NULL)
        mpi_test_fail(walk.t, __FILE__, __LINE__, "left behind: %s", path);
    return 0;
}

/* Number of application files below the prefix; no temporaries anywhere. */
static long count_prefix(struct mpi_test *t, struct scene *s)
{
    walk.t = t;
    walk.files = 0;
    scr_barrier_all(&t->comm);
    if (t->comm.rank == 0)
        nftw(s->prefix_path, see, 16, FTW_PHYS);
    MPI_Bcast(&walk.files, 1, MPI_LONG, 0, t->comm.comm);
    return walk.files;
}

/* --- what a fetch leaves --- */

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

static void check_fetched(struct mpi_test *t, struct scene *s, enum move_kind kind)
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
    CHECK_INT(s->bytes, total_bytes(t->comm.size, kind));
    CHECK_INT(move_count_files(t, s->root, t->comm.size),
              total_files(t->comm.size, kind));
}

/* --- round trips --- */

MPI_CASE(there_and_back_bit_for_bit)
{
    static const enum move_kind kinds[] = { MOVE_MIXED, MOVE_HOLES, MOVE_NONE,
                                            MOVE_EMPTY, MOVE_LARGE, MOVE_MANY };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int width = 1; width <= 3; width += 2) {
            struct scr_err err = SCR_ERR_INIT;
            struct scene s;
            scene_open(t, &s, kinds[k]);
            s.opts.width = width;
            s.opts.buf = k % 2 ? 0 : BUF;
            CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
            CHECK_INT(s.bytes, total_bytes(t->comm.size, kinds[k]));
            check_files(t, &s, kinds[k]);
            check_record(t, &s, kinds[k]);
            CHECK_INT(count_prefix(t, &s), total_files(t->comm.size, kinds[k]));
            CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
            check_fetched(t, &s, kinds[k]);
            scene_close(t, &s);
        }
}

MPI_CASE(an_output_does_not_become_current)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    int current = 1;
    scene_open(t, &s, MOVE_MIXED);
    scr_hash *dset = scr_filemap_get_dataset(s.job.map, ID, t->comm.rank);
    scr_hash_set_val_i64(dset, "FLAG_CKPT", 0);
    scr_hash_set_val_i64(dset, "FLAG_OUTPUT", 1);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    CHECK_INT(index_complete(t, &s, ID, &current), 1);
    CHECK_INT(current, 0);
    scene_close(t, &s);
}

/* A prefix directory may be moved as a whole. */
MPI_CASE(a_moved_prefix_is_as_good)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    char moved[720];
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    snprintf(moved, sizeof moved, "%s.moved", s.prefix_path);
    if (t->comm.rank == 0)
        CHECK_INT(rename(s.prefix_path, moved), 0);
    scr_barrier_all(&t->comm);
    scr_prefix_fini(&s.prefix);
    CHECK_RC(scr_prefix_open(&posix, moved, 0, &s.prefix, &err), SCR_OK, &err);
    CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
    check_fetched(t, &s, MOVE_MIXED);
    scene_close(t, &s);
}

/* --- damage on the prefix --- */

static void flip(struct mpi_test *t, const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0);
    int c = f != NULL ? fgetc(f) : 0;
    CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0 && fputc(c ^ 4, f) != EOF);
    CHECK(f != NULL && fclose(f) == 0);
}

enum harm { FLIP, SHORT, LONGER, GONE, FIFO };

static void do_harm(struct mpi_test *t, const char *path, enum harm harm, long size)
{
    switch (harm) {
    case FLIP:
        flip(t, path, size / 2);
        break;
    case SHORT:
        CHECK_INT(truncate(path, size - 1), 0);
        break;
    case LONGER:
        CHECK_INT(truncate(path, size + 1), 0);
        break;
    case GONE:
        CHECK_INT(unlink(path), 0);
        break;
    case FIFO:
        CHECK_INT(unlink(path) + mkfifo(path, 0600), 0);
        break;
    }
}

/* One file of one rank is enough, and all ranks hear of it. */
MPI_CASE(damaged_files_are_found_on_all_ranks)
{
    static const struct {
        enum harm harm;
        int code;
    } cases[] = { { FLIP, SCR_E_CORRUPT },
                  { SHORT, SCR_E_MISSING },
                  { LONGER, SCR_E_CORRUPT },
                  { GONE, SCR_E_MISSING },
                  { FIFO, SCR_E_CORRUPT } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int victim = 0; victim < t->comm.size; victim += 3) {
            struct scr_err err = SCR_ERR_INIT;
            struct scene s;
            scene_open(t, &s, MOVE_MIXED);
            CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
            if (t->comm.rank == victim)
                do_harm(t, at_prefix(t, &s, 2), cases[k].harm,
                        (long)move_size(victim, 2, MOVE_MIXED));
            scr_barrier_all(&t->comm);
            CHECK_RC(fetch(t, &s, &posix, &err), cases[k].code, &err);
            CHECK(strstr(err.text, "/file.0") != NULL);
            move_count_files(t, s.root, t->comm.size); /* C1 */
            scene_close(t, &s);
        }
}

/* How rank 0 spoils the record of a dataset. */
static void lose_a_file(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *part = scr_hash_new();
    const char *path = at_record(s, "rank2file.0.0");
    CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, part, &err), SCR_OK, &err);
    scr_hash_unset(scr_hash_getf(part, "RANK %d FILE", 0), "ckpt/rank.0/file.1");
    CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, part, SCR_VOLATILE, &err),
             SCR_OK, &err);
    scr_hash_delete(part);
}

static void lead_out(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *part = scr_hash_new();
    const char *path = at_record(s, "rank2file.0.0");
    CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, part, &err), SCR_OK, &err);
    scr_hash_setf(part, NULL, "RANK %d FILE %s", 0, "../../etc/passwd");
    CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, part, SCR_VOLATILE, &err),
             SCR_OK, &err);
    scr_hash_delete(part);
}

static void call_incomplete(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *dset = scr_hash_new();
    int complete;
    CHECK_RC(scr_prefix_summary_read(&posix, &s->prefix, ID, &complete, dset, &err),
             SCR_OK, &err);
    CHECK_RC(scr_prefix_summary_write(&posix, &s->prefix, ID, dset, 0, &err), SCR_OK,
             &err);
    scr_hash_delete(dset);
}

static void no_summary(struct mpi_test *t, struct scene *s)
{
    CHECK_INT(unlink(at_record(s, "summary.scr")), 0);
}

static void no_root(struct mpi_test *t, struct scene *s)
{
    CHECK_INT(unlink(at_record(s, "rank2file")), 0);
}

static void no_part(struct mpi_test *t, struct scene *s)
{
    CHECK_INT(unlink(at_record(s, "rank2file.0.0")), 0);
}

static void flipped_part(struct mpi_test *t, struct scene *s)
{
    flip(t, at_record(s, "rank2file.0.0"), 60);
}

static void flipped_root(struct mpi_test *t, struct scene *s)
{
    flip(t, at_record(s, "rank2file"), 40);
}

MPI_CASE(damaged_records_are_found_on_all_ranks)
{
    static const struct {
        void (*spoil)(struct mpi_test *t, struct scene *s);
        int code;
    } cases[] = {
        { lose_a_file, SCR_E_CORRUPT },     { lead_out, SCR_E_CORRUPT },
        { call_incomplete, SCR_E_CORRUPT }, { no_summary, SCR_E_MISSING },
        { no_root, SCR_E_MISSING },         { no_part, SCR_E_MISSING },
        { flipped_part, SCR_E_CORRUPT },    { flipped_root, SCR_E_CORRUPT },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        scene_open(t, &s, MOVE_MIXED);
        CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
        if (t->comm.rank == 0)
            cases[k].spoil(t, &s);
        scr_barrier_all(&t->comm);
        CHECK_RC(fetch(t, &s, &posix, &err), cases[k].code, &err);
        if (cases[k].spoil != lead_out) /* files of good ranks may be there */
            CHECK_INT(move_count_files(t, s.root, t->comm.size), 0);
        scene_close(t, &s);
    }
}

/* --- other writers --- */

/* No SIZE and CRC: what is there is taken. */
MPI_CASE(files_without_size_and_crc_are_taken)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    if (t->comm.rank == 0) {
        scr_hash *part = scr_hash_new();
        const char *path = at_record(&s, "rank2file.0.0");
        CHECK_RC(scr_hash_file_read(&scr_sys_posix, path, part, &err), SCR_OK, &err);
        for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
            for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE")))
                scr_hash_unset_all(scr_hash_elem_hash(f));
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, path, part, SCR_VOLATILE, &err),
                 SCR_OK, &err);
        scr_hash_delete(part);
    }
    scr_barrier_all(&t->comm);
    CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
    check_fetched(t, &s, MOVE_MIXED);
    scene_close(t, &s);
}

/* Version 5: everything in the summary, no rank2file. */
MPI_CASE(a_version_5_summary_is_read)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    if (t->comm.rank == 0) {
        scr_hash *part = scr_hash_new(), *summary = scr_hash_new();
        CHECK_RC(scr_hash_file_read(&scr_sys_posix, at_record(&s, "rank2file.0.0"),
                                    part, &err),
                 SCR_OK, &err);
        scr_hash_unset(part, "LEVEL");
        scr_hash_set_val_i64(part, "COMPLETE", 1);
        scr_hash_set_val_i64(summary, "VERSION", 5);
        scr_hash_setf(summary, part, "CKPT %d", ID);
        CHECK_RC(scr_hash_file_write(&scr_sys_posix, at_record(&s, "summary.scr"),
                                     summary, SCR_VOLATILE, &err),
                 SCR_OK, &err);
        no_root(t, &s);
        no_part(t, &s);
        scr_hash_delete(summary);
    }
    scr_barrier_all(&t->comm);
    CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
    check_fetched(t, &s, MOVE_MIXED);
    scene_close(t, &s);
}

MPI_CASE(a_different_number_of_ranks_is_refused_untouched)
{
    int n = t->comm.size;
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test part = *t;
    struct scene s;
    char text[64];
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    scr_comm_split_all(&t->comm, t->comm.rank < n - 1 ? 0 : 1, t->comm.rank, &part.comm,
                       &err);
    if (n > 1) {
        CHECK_RC(fetch(&part, &s, &posix, &err), SCR_E_RANKS, &err);
        snprintf(text, sizeof text, "written by %d ranks, this run has %d", n,
                 part.comm.size);
        CHECK(strstr(err.text, text) != NULL);
    }
    CHECK_INT(part.failed, 0);
    scr_comm_free(&part.comm);
    scr_barrier_all(&t->comm);
    check_record(t, &s, MOVE_MIXED);
    CHECK_INT(n > 1 ? s.job.map->n : 0, 0);
    scene_close(t, &s);
}

/* --- destinations --- */

/* Sends file i of rank to dest. */
static void send_to(struct mpi_test *t, struct scene *s, int rank, int i,
                    const char *dir, const char *name)
{
    char rel[64], path[1024];
    if (t->comm.rank != rank)
        return;
    move_rel(rel, sizeof rel, i);
    snprintf(path, sizeof path, "%s/rank.%d/%s", move_dset_dir(&s->job, ID), rank, rel);
    scr_meta *meta = scr_filemap_get_meta(s->job.map, ID, rank, path);
    CHECK(meta != NULL);
    scr_meta_set_text(meta, SCR_META_PATH, dir);
    scr_meta_set_text(meta, SCR_META_NAME, name);
}

MPI_CASE(destinations_that_collide_are_refused_before_anything_is_written)
{
    int last = t->comm.size - 1, current;
    static const struct {
        const char *dir0, *name0, *dir1, *name1, *text;
        int code;
    } cases[] = {
        { "out", "same", "out", "same", "out/same", SCR_E_EXIST },
        { "out", "d", "out/d", "below", "out/d", SCR_E_EXIST },
        { "out/./x", "f", "out/x", "f", "out/x/f", SCR_E_EXIST },
        { ".scr", "index.scr", "out", "f", ".scr", SCR_E_OUTSIDE },
        { "out", "f", ".", ".scr", ".scr", SCR_E_OUTSIDE },
        { "../out", "f", "out", "f", "destination", SCR_E_OUTSIDE },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        scene_open(t, &s, MOVE_MIXED);
        send_to(t, &s, 0, 0, cases[k].dir0, cases[k].name0);
        send_to(t, &s, last, 2, cases[k].dir1, cases[k].name1);
        CHECK_RC(flush(t, &s, &posix, &err), cases[k].code, &err);
        if (strstr(err.text, cases[k].text) == NULL)
            mpi_test_fail(t, __FILE__, __LINE__, "no %s in: %s", cases[k].text,
                          err.text);
        CHECK_INT(count_prefix(t, &s), 0);
        CHECK_INT(index_complete(t, &s, ID, &current), -1);
        scene_close(t, &s);
    }
}

/* Files whose record is not that of a whole file do not leave the cache. */
MPI_CASE(bad_sources_are_refused)
{
    for (int k = 0; k < 4; k++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        int current, victim = t->comm.size - 1;
        char path[1024];
        scene_open(t, &s, MOVE_MIXED);
        snprintf(path, sizeof path, "%s/rank.%d/file.0", move_dset_dir(&s.job, ID),
                 victim);
        scr_meta *meta = scr_filemap_get_meta(s.job.map, ID, victim, path);
        if (t->comm.rank == victim && k == 0)
            scr_meta_set_number(meta, SCR_META_COMPLETE, 0);
        if (t->comm.rank == victim && k == 1)
            scr_filemap_add_file(s.job.map, ID, victim, "/nowhere/unknown");
        if (t->comm.rank == victim && k == 2)
            flip(t, path, 0);
        if (t->comm.rank == victim && k == 3)
            CHECK_INT(unlink(path), 0);
        CHECK_RC(flush(t, &s, &posix, &err), k == 3 ? SCR_E_NOENT : SCR_E_CORRUPT,
                 &err);
        CHECK_INT(index_complete(t, &s, ID, &current), k < 2 ? -1 : 0);
        CHECK_INT(current, 0);
        scene_close(t, &s);
    }
}

/* --- something lies where a file goes --- */

enum taken { TAKEN_BY_FILE, TAKEN_BY_LINK, TAKEN_BY_DIRECTORY };

static void make_dir_of(const char *path)
{
    char dir[1024];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *slash = strchr(dir + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(dir, 0700);
        *slash = '/';
    }
}

static void put_in_the_way(struct mpi_test *t, enum taken by, const char *path,
                           const char *outside)
{
    make_dir_of(path);
    if (by == TAKEN_BY_DIRECTORY) {
        CHECK_INT(mkdir(path, 0700), 0);
        return;
    }
    FILE *f = fopen(by == TAKEN_BY_FILE ? path : outside, "w");
    CHECK(f != NULL && fputs("mine", f) >= 0);
    CHECK(f != NULL && fclose(f) == 0);
    if (by == TAKEN_BY_LINK)
        CHECK_INT(symlink(outside, path), 0);
}

MPI_CASE(files_and_links_in_the_way_are_replaced_directories_refused)
{
    for (int by = TAKEN_BY_FILE; by <= TAKEN_BY_DIRECTORY; by++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        struct stat st;
        int current, victim = t->comm.size - 1;
        char path[1024], outside[900];
        scene_open(t, &s, MOVE_MIXED);
        snprintf(path, sizeof path, "%s", at_prefix(t, &s, 0));
        snprintf(outside, sizeof outside, "%s/outside", s.root);
        if (t->comm.rank == victim)
            put_in_the_way(t, (enum taken)by, path, outside);
        scr_barrier_all(&t->comm);
        int rc = flush(t, &s, &posix, &err);
        if (by == TAKEN_BY_DIRECTORY) {
            CHECK(rc != SCR_OK && strstr(err.text, "file.0") != NULL);
            CHECK_INT(index_complete(t, &s, ID, &current), 0);
            if (t->comm.rank == victim)
                CHECK_INT(rmdir(path), 0);
            scr_barrier_all(&t->comm);
            rc = flush(t, &s, &posix, &err);
        }
        CHECK_RC(rc, SCR_OK, &err);
        check_files(t, &s, MOVE_MIXED);
        check_record(t, &s, MOVE_MIXED);
        if (by == TAKEN_BY_LINK) /* what it pointed to is as it was */
            CHECK(stat(outside, &st) == 0 && st.st_size == 4);
        scene_close(t, &s);
    }
}

/* --- older datasets of the same name --- */

static void flush_as(struct mpi_test *t, struct scene *s, int id)
{
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *dset =
        scr_hash_dup(scr_filemap_get_dataset(s->job.map, ID, t->comm.rank));
    scr_hash_set_val_i64(dset, "ID", id);
    scr_filemap *map = scr_filemap_new();
    for (SCR_FILES(f, s->job.map, ID, t->comm.rank))
        scr_filemap_set_meta(map, id, t->comm.rank, f->item.name, scr_file_meta(f));
    const struct scr_prefix_dset at = { &posix, &t->comm, &s->prefix, id };
    CHECK_RC(scr_flush_all(&at, &s->opts, dset, map, &s->bytes, &err), SCR_OK, &err);
    scr_filemap_delete(map);
    scr_hash_delete(dset);
}

MPI_CASE(a_dataset_whose_files_are_replaced_is_complete_no_more)
{
    struct scene s;
    int current;
    scene_open(t, &s, MOVE_MIXED);
    flush_as(t, &s, ID);
    flush_as(t, &s, ID + 1); /* same name, same files */
    CHECK_INT(index_complete(t, &s, ID, &current), -1);
    CHECK_INT(index_complete(t, &s, ID + 1, &current), 1);
    CHECK_INT(current, 1);
    for (int i = 0; i < move_nfiles(t->comm.rank, MOVE_MIXED); i++) {
        char name[32];
        snprintf(name, sizeof name, "r%d.f%d", t->comm.rank, i);
        send_to(t, &s, t->comm.rank, i, "elsewhere", name);
    }
    flush_as(t, &s, ID + 2); /* same name, other files */
    CHECK_INT(index_complete(t, &s, ID + 1, &current), 1);
    CHECK_INT(index_complete(t, &s, ID + 2, &current), 1);
    scene_close(t, &s);
}

/* --- width --- */

/* Counts how many ranks are between reading a file and setting its times at once. */
static struct {
    int *shared; /* now, most */
    int meet;    /* each waits until so many were there at once */
} gauge;

static int most_at_once(void)
{
    return __atomic_load_n(&gauge.shared[1], __ATOMIC_SEQ_CST);
}

static int counted_futimens(int fd, const struct timespec times[2])
{
    int now = __atomic_add_fetch(&gauge.shared[0], 1, __ATOMIC_SEQ_CST);
    int most = most_at_once();
    while (now > most &&
           !__atomic_compare_exchange_n(&gauge.shared[1], &most, now, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    for (int i = 0; i < MPI_TEST_PATIENCE_MS && most_at_once() < gauge.meet; i++)
        usleep(1000);
    __atomic_sub_fetch(&gauge.shared[0], 1, __ATOMIC_SEQ_CST);
    return scr_sys_posix.futimens(fd, times);
}

MPI_CASE(no_more_ranks_copy_at_once_than_allowed)
{
    struct scr_sys sys = scr_sys_posix;
    const struct scr_env counted = { .sys = &sys };
    MPI_Win win;
    int unit;
    MPI_Aint bytes = t->comm.rank == 0 ? 2 * (MPI_Aint)sizeof(int) : 0;
    void *mine;
    sys.futimens = counted_futimens;
    MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, t->comm.comm, &mine,
                            &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &gauge.shared);
    for (int width = 1; width <= t->comm.size; width++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scene s;
        scene_open(t, &s, MOVE_MIXED);
        s.opts.width = width;
        gauge.meet = width > 1 ? 2 : 1;
        for (int k = 0; k < 2; k++) {
            if (t->comm.rank == 0)
                gauge.shared[0] = gauge.shared[1] = 0;
            scr_barrier_all(&t->comm);
            int rc =
                k == 0 ? flush(t, &s, &counted, &err) : fetch(t, &s, &counted, &err);
            CHECK_RC(rc, SCR_OK, &err);
            CHECK(most_at_once() <= width);
            CHECK(most_at_once() >= gauge.meet); /* nor one after the other */
            scr_barrier_all(&t->comm);
        }
        scene_close(t, &s);
    }
    MPI_Win_free(&win);
}

/* --- the rank-to-file map in parts --- */

enum { PART_FILES = 12000 }; /* of one rank: more than 1 MiB of names */

static void long_list(struct mpi_test *t, struct scr_rank2file *mine)
{
    int rank = t->comm.rank;
    scr_rank2file_init(mine, t->comm.size);
    for (int i = 0; i < PART_FILES; i++) {
        char path[128];
        snprintf(path, sizeof path, "a/somewhat/longer/directory/name/rank.%d/file.%d",
                 rank, i);
        struct scr_listed *f = scr_rank2file_add_file(mine, rank, path);
        scr_listed_set_size(f, (uint64_t)i);
        scr_listed_set_crc(f, (uint32_t)(rank * PART_FILES + i));
    }
    CHECK(scr_rank2file_ok(mine));
}

static void pack_list(const struct scr_rank2file *l, int rank, struct scr_str *s)
{
    scr_rank_files_pack(s, scr_rank2file_rank(l, rank));
}

MPI_CASE(long_lists_are_written_in_parts_and_come_back)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine, got = { 0 };
    struct scr_rank2file_root root = { 0 };
    struct scr_str wrote = SCR_STR_INIT, came = SCR_STR_INIT;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    long_list(t, &mine);
    scr_barrier_all(&t->comm);
    CHECK_RC(scr_rank2file_write_all(&at, &mine, SCR_OK, &err), SCR_OK, &err);
    CHECK_RC(scr_rank2file_root_read(&scr_sys_posix, at_record(&s, "rank2file"), &root,
                                     NULL, &err),
             SCR_OK, &err);
    CHECK_INT(root.n, t->comm.size);
    CHECK_RC(scr_rank2file_read_all(&at, &got, &err), SCR_OK, &err);
    CHECK_INT(got.ranks, t->comm.size);
    CHECK_INT(got.n, 1);
    pack_list(&mine, t->comm.rank, &wrote);
    pack_list(&got, t->comm.rank, &came);
    CHECK(wrote.len == came.len && memcmp(wrote.p, came.p, came.len) == 0);
    scr_str_free(&wrote);
    scr_str_free(&came);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&got);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* The same by ranks that have less than a part each: the first of each part gets what
 * begins in its stretch. */
MPI_CASE(short_lists_share_a_part)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine, got = { 0 };
    struct scr_rank2file_root root = { 0 };
    int rank = t->comm.rank, half = PART_FILES / 2;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    scr_rank2file_init(&mine, t->comm.size);
    scr_rank2file_add_rank(&mine, rank);
    for (int i = 0; rank % 2 == 0 && i < half; i++) {
        char path[200];
        snprintf(path, sizeof path, "a/directory/of/%0100d/rank.%d/file.%d", 7, rank,
                 i);
        scr_rank2file_add_file(&mine, rank, path);
    }
    CHECK(scr_rank2file_ok(&mine));
    scr_barrier_all(&t->comm);
    CHECK_RC(scr_rank2file_write_all(&at, &mine, SCR_OK, &err), SCR_OK, &err);
    CHECK_RC(scr_rank2file_root_read(&scr_sys_posix, at_record(&s, "rank2file"), &root,
                                     NULL, &err),
             SCR_OK, &err);
    for (size_t i = 0; i + 1 < root.n; i++)
        CHECK(root.part[i] < root.part[i + 1]);
    CHECK_INT(root.part[0], 0);
    CHECK_RC(scr_rank2file_share_all(&at, &got, &err), SCR_OK, &err);
    CHECK_INT(got.ranks, t->comm.size);
    CHECK_INT(scr_rank2file_num_files(&got), rank % 2 == 0 ? half : 0);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&got);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* What a rank found before keeps all from writing. */
MPI_CASE(a_list_is_not_written_if_a_rank_failed)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s = { .root = move_root(t) };
    struct scr_rank2file mine;
    int rc = SCR_OK, last = t->comm.size - 1;
    scene_prefix(t, &s);
    const struct scr_prefix_dset at = { &posix, &t->comm, &s.prefix, ID };
    move_mkdir("%s/scr.dataset.%d", s.prefix.scr, ID);
    scr_rank2file_init(&mine, t->comm.size);
    scr_rank2file_add_file(&mine, t->comm.rank, "file");
    scr_barrier_all(&t->comm);
    if (t->comm.rank == last)
        rc = scr_fail(&err, SCR_E_MISSING, 0, "never written");
    rc = scr_rank2file_write_all(&at, &mine, rc, &err);
    CHECK_RC(rc, SCR_E_MISSING, &err);
    CHECK(strcmp(err.text, "never written") == 0 && err.rank == last);
    CHECK_INT(access(at_record(&s, "rank2file"), F_OK), -1);
    CHECK_INT(access(at_record(&s, "rank2file.0.0"), F_OK), -1);
    scr_rank2file_fini(&mine);
    scr_prefix_fini(&s.prefix);
    scr_hash_delete(s.dset);
    move_root_remove(t);
}

/* --- failures --- */

/* The index is right: COMPLETE=1 only for datasets that can be fetched whole. */
static void check_truth(struct mpi_test *t, struct scene *s)
{
    struct scr_err err = SCR_ERR_INIT;
    int current = 0;
    if (index_complete(t, s, ID, &current) == 1) {
        check_files(t, s, MOVE_MIXED);
        check_record(t, s, MOVE_MIXED);
    } else {
        CHECK_INT(current, 0);
    }
    CHECK_RC(flush(t, s, &posix, &err), SCR_OK, &err); /* it can be done again */
    check_files(t, s, MOVE_MIXED);
    check_record(t, s, MOVE_MIXED);
}

static int disturbed_flush(struct mpi_test *t, long n, int victim, int error,
                           enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    test_fault_arm(TEST_ANY, victim < 0 || victim == t->comm.rank ? n : -1, error, how);
    int rc = flush(t, &s, &faulty, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    if (!fired)
        CHECK_RC(rc, SCR_OK, &err);
    check_truth(t, &s);
    CHECK_INT(test_fault_open_fds(), 0);
    if (!mpi_test_good(t) && t->comm.rank == 0)
        fprintf(stderr, "call %ld of rank %d, error %d, how %d: %s\n", n, victim, error,
                (int)how, err.text);
    scene_close(t, &s);
    return fired;
}

static int disturbed_fetch(struct mpi_test *t, long n, int victim, int error,
                           enum test_how how)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scene s;
    scene_open(t, &s, MOVE_MIXED);
    CHECK_RC(flush(t, &s, &posix, &err), SCR_OK, &err);
    test_fault_arm(TEST_ANY, victim < 0 || victim == t->comm.rank ? n : -1, error, how);
    int rc = fetch(t, &s, &faulty, &err);
    int fired = scr_or_all(&t->comm, test_fault_off());
    if (rc == SCR_OK)
        check_fetched(t, &s, MOVE_MIXED);
    else
        CHECK(fired);
    move_count_files(t, s.root, t->comm.size); /* C1 */
    CHECK_RC(fetch(t, &s, &posix, &err), SCR_OK, &err);
    check_fetched(t, &s, MOVE_MIXED);
    CHECK_INT(test_fault_open_fds(), 0);
    if (!mpi_test_good(t) && t->comm.rank == 0)
        fprintf(stderr, "call %ld of rank %d, error %d, how %d: %s\n", n, victim, error,
                (int)how, err.text);
    scene_close(t, &s);
    return fired;
}

typedef int (*disturbed)(struct mpi_test *t, long n, int victim, int error,
                         enum test_how how);

static void disturb(struct mpi_test *t, disturbed run, int victim, int error,
                    enum test_how how)
{
    long n = 0, step = t->comm.size > 2 ? 2 * t->comm.size - 3 : 1;
    while (mpi_test_good(t) && n < 10000 && run(t, n, victim, error, how))
        n += step;
    CHECK(n > 10 || !mpi_test_good(t));
}

MPI_CASE(each_failing_call_in_a_flush_leaves_a_true_index)
{
    disturb(t, disturbed_flush, 0, EIO, TEST_ONCE);
    disturb(t, disturbed_flush, t->comm.size - 1, ENOSPC, TEST_ONCE);
}

MPI_CASE(a_flush_that_dies_anywhere_leaves_a_true_index)
{
    disturb(t, disturbed_flush, -1, EIO, TEST_FOREVER);
}

MPI_CASE(each_failing_call_in_a_fetch_is_agreed)
{
    disturb(t, disturbed_fetch, 0, EIO, TEST_ONCE);
    disturb(t, disturbed_fetch, t->comm.size - 1, ENOSPC, TEST_ONCE);
    disturb(t, disturbed_fetch, -1, EIO, TEST_FOREVER);
}

/* --- names in cache --- */

static int is_taken(void *arg, const char *rel)
{
    return scr_table_find(arg, rel) != NULL;
}

MPI_CASE(names_in_cache_never_meet)
{
    static const char *const cases[][2] = {
        { "a/data", "data" },
        { "b/data", "1/data" },
        { "data", "2/data" },
        { "x/1", "1/1" },
        { "y/1", "2/1" },
        { "out/42", "1/42" },
        { "a/.scr-part", "1/.scr-part" },
        { "c/data.1", "data.1" },
        { "d/1x", "1x" },
    };
    struct scr_table taken;
    scr_table_init(&taken, sizeof(struct scr_item));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *rel = scr_cache_name(cases[i][0], is_taken, &taken);
        if (rel == NULL || strcmp(rel, cases[i][1]) != 0)
            mpi_test_fail(t, __FILE__, __LINE__, "%s -> %s", cases[i][0], rel);
        scr_table_add(&taken, rel);
        free(rel);
    }
    scr_table_fini(&taken);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(
            RUN(names_in_cache_never_meet), RUN(there_and_back_bit_for_bit),
            RUN(an_output_does_not_become_current), RUN(a_moved_prefix_is_as_good),
            RUN(damaged_files_are_found_on_all_ranks),
            RUN(damaged_records_are_found_on_all_ranks),
            RUN(files_without_size_and_crc_are_taken), RUN(a_version_5_summary_is_read),
            RUN(a_different_number_of_ranks_is_refused_untouched),
            RUN(destinations_that_collide_are_refused_before_anything_is_written),
            RUN(bad_sources_are_refused),
            RUN(files_and_links_in_the_way_are_replaced_directories_refused),
            RUN(a_dataset_whose_files_are_replaced_is_complete_no_more),
            RUN(no_more_ranks_copy_at_once_than_allowed),
            RUN(long_lists_are_written_in_parts_and_come_back),
            RUN(short_lists_share_a_part), RUN(a_list_is_not_written_if_a_rank_failed),
            RUN(each_failing_call_in_a_flush_leaves_a_true_index),
            RUN(a_flush_that_dies_anywhere_leaves_a_true_index),
            RUN(each_failing_call_in_a_fetch_is_agreed)));
}
