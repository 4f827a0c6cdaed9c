/* SPDX-License-Identifier: BSD-3-Clause */
/* To the prefix directory and back: bit for bit, or not at all. */
/* ranks: 1 2 3 4 5 8 */

#include "helper_flushed.h"
#include "helper_move.h"
#include "par/pfs/flush.h"
#include "par/pfs/rank2file_all.h"
#include "store/cache.h"

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

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(there_and_back_bit_for_bit),
                  RUN(an_output_does_not_become_current),
                  RUN(a_moved_prefix_is_as_good),
                  RUN(destinations_that_collide_are_refused_before_anything_is_written),
                  RUN(bad_sources_are_refused),
                  RUN(files_and_links_in_the_way_are_replaced_directories_refused),
                  RUN(a_dataset_whose_files_are_replaced_is_complete_no_more)));
}
