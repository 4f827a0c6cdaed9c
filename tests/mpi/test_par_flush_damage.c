/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and fetch: damage on the prefix, and other writers. */
/* ranks: 1 2 3 4 5 8 */
#include "base/hashfile.h"
#include "helper_flushed.h"
#include "helper_move.h"
#include "par/pfs/flush.h"
#include "par/pfs/rank2file_all.h"
#include "store/cache.h"

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

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(damaged_files_are_found_on_all_ranks),
                  RUN(damaged_records_are_found_on_all_ranks),
                  RUN(files_without_size_and_crc_are_taken),
                  RUN(a_version_5_summary_is_read),
                  RUN(a_different_number_of_ranks_is_refused_untouched)));
}
