/* SPDX-License-Identifier: BSD-3-Clause */
/* Results for lists that cannot be read, and for redundancy sets, where memory runs
 * out. */
/* ranks: 1 3 */
#include "helper_memory.h"
#include "helper_move.h"

#include "ec/ec.h"
#include "par/pfs/lists.h"
#include "par/redundancy/restoring.h"
#include "par/redundancy/setjudge.h"
#include "store/catalog.h"

static const struct scr_env posix = { .sys = &scr_sys_posix };

enum { ID = 5, MEMBERS = 16 };

/* --- lists --- */

static void put(struct mpi_test *t, const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

/* As a newer SCR would write it: the version is another, and the checksum right. */
static void put_newer(struct mpi_test *t, const char *path)
{
    enum { AT_VERSION = 6 };
    struct scr_str s = SCR_STR_INIT;
    scr_frame_begin(&s);
    scr_pack_count(&s, 0);
    scr_frame_end(&s);
    CHECK(!s.bad);
    s.p[AT_VERSION + 1]++;
    uint32_t crc = scr_crc32(0, s.p, s.len - 4);
    for (size_t i = 0; i < 4; i++)
        s.p[s.len - 4 + i] = (char)(crc >> (24 - 8 * i));
    put(t, path, s.p, s.len);
    scr_str_free(&s);
}

/* A list of n parts, at most two: one may be of a newer version and the other one
 * damaged. */
static void put_list(struct mpi_test *t, const struct scr_prefix *p, size_t n,
                     size_t newer)
{
    int parts[] = { 0, 1 };
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_rank2file_root root = {
        .level = 1, .ranks = 2, .part = parts, .n = n
    };
    char *path = scr_rank2file_path(p, ID, "");
    move_mkdir("%s/scr.dataset.%d", p->scr, ID);
    CHECK_RC(scr_rank2file_root_write(&scr_sys_posix, path, &root, &err), SCR_OK, &err);
    free(path);
    for (size_t i = 0; i < n; i++) {
        path = scr_rank2file_part_path(p, ID, parts[i]);
        if (i == newer)
            put_newer(t, path);
        else
            put(t, path, "damaged", 7);
        free(path);
    }
}

MPI_CASE(a_list_of_a_newer_version_is_not_called_damaged)
{
    for (size_t newer = 0; newer < 2; newer++) {
        const char *root = move_root(t);
        struct scr_err err = SCR_ERR_INIT;
        struct scr_prefix p;
        struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
        enum scr_list_state state = SCR_LIST_READ;
        int id = ID;
        CHECK_RC(scr_prefix_open(&posix, root, 1, &p, &err), SCR_OK, &err);
        scr_barrier_all(&t->comm);
        if (t->comm.rank == 0)
            put_list(t, &p, 2, newer);
        scr_barrier_all(&t->comm);
        const struct scr_lists lists = { &posix,     &t->comm,       &p, &id, 1,
                                         .spare = 1, .state = &state };
        CHECK_RC(scr_lists_read_all(&lists, SCR_OK, &kept, &err), SCR_OK, &err);
        CHECK(scr_or_all(&t->comm, state == SCR_LIST_NEWER));
        CHECK_INT(kept.n, 0);
        scr_table_fini(&kept);
        scr_prefix_fini(&p);
        move_root_remove(t);
    }
}

/* While it is set, opening the first part of a list finds that it has just been deleted
 * as scr_deletion_records does it: the root first. */
static const char *doomed_dir;
static int with_root;

static int open_too_late(int dirfd, const char *path, int flags, mode_t mode)
{
    const char *name = strrchr(path, '/');
    if (doomed_dir != NULL && strcmp(name ? name + 1 : path, "rank2file.0.0") == 0) {
        char gone[4096];
        snprintf(gone, sizeof gone, "%s/rank2file", doomed_dir);
        if (with_root)
            remove(gone);
        snprintf(gone, sizeof gone, "%s/rank2file.0.0", doomed_dir);
        remove(gone);
    }
    return scr_sys_posix.openat(dirfd, path, flags, mode);
}

/* Of a list that goes while it is read nothing is missed; a part that is gone by itself
 * is damage. */
MPI_CASE(a_list_that_another_process_deletes_lists_nothing)
{
    struct scr_sys sys = scr_sys_posix;
    sys.openat = open_too_late;
    const struct scr_env env = { .sys = &sys };
    for (with_root = 0; with_root < 2; with_root++) {
        const char *root = move_root(t);
        struct scr_err err = SCR_ERR_INIT;
        struct scr_prefix p;
        struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
        char dir[4096];
        int id = ID;
        CHECK_RC(scr_prefix_open(&env, root, 1, &p, &err), SCR_OK, &err);
        snprintf(dir, sizeof dir, "%s/scr.dataset.%d", p.scr, ID);
        scr_barrier_all(&t->comm);
        if (t->comm.rank == 0)
            put_list(t, &p, 1, 0);
        scr_barrier_all(&t->comm);
        doomed_dir = dir;
        const struct scr_lists lists = {
            .env = &env, .world = &t->comm, .prefix = &p, .ids = &id, .n = 1
        };
        int rc = scr_lists_read_all(&lists, SCR_OK, &kept, &err);
        doomed_dir = NULL;
        CHECK_INT(rc, with_root ? SCR_OK : SCR_E_MISSING);
        CHECK_INT(kept.n, 0);
        scr_table_fini(&kept);
        scr_prefix_fini(&p);
        move_root_remove(t);
    }
}

/* --- sets --- */

/* The description of a set whose members are ranks from first on. */
static struct scr_setdesc describe(int first)
{
    struct scr_setdesc known;
    scr_hash *h = scr_hash_new(), *group = scr_hash_set(h, "GROUP", NULL);
    scr_hash *members = scr_hash_set(group, "RANK", NULL);
    scr_hash_set_val(h, "TYPE", "XOR");
    scr_hash_set_val_i64(h, "FAILURES", 1);
    scr_hash_set_val_i64(h, "RANKS", MEMBERS);
    scr_hash_set_val_i64(group, "RANKS", MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        char member[16];
        snprintf(member, sizeof member, "%d", i);
        scr_hash_set_val_i64(members, member, first + i);
    }
    scr_setdesc_get(h, &known);
    scr_hash_delete(h);
    return known;
}

MPI_CASE(a_rank_that_runs_out_of_memory_reports_it)
{
    const struct scr_setjudge_told told = { .rank = 3, .have = SCR_HAVE_ALL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_parcels tales = { 0 };
    const struct scr_setdesc known = describe(0);
    CHECK_RC(scr_setjudge_tell(&t->comm, &known, &told, &tales, &err), SCR_OK, &err);
    CHECK_INT(tales.n, 1);
    for (long n = 0, failed = 1; failed; n++) {
        struct scr_table sets;
        struct scr_err why = SCR_ERR_INIT;
        test_memory_arm(n, 0);
        int rc = scr_setjudge_hear(&tales, &sets, &why);
        failed = test_memory_off();
        CHECK_RC(rc, failed ? SCR_E_NOMEM : SCR_OK, &why);
        for (SCR_EACH(struct scr_judged, set, &sets))
            CHECK_INT(scr_setjudge_lost(set), failed ? 0 : MEMBERS - 1);
        scr_table_fini(&sets);
    }
    scr_parcels_free(&tales);
}

MPI_CASE(nothing_is_sent_of_a_set_that_cannot_be)
{
    const struct scr_setjudge_told told = { .rank = 3, .have = SCR_HAVE_ALL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_parcels tales = { 0 };
    const struct scr_setdesc known = describe(-4);
    CHECK_RC(scr_setjudge_tell(&t->comm, &known, &told, &tales, &err), SCR_OK, &err);
    CHECK_INT(tales.n, 0);
}

int main(int argc, char **argv)
{
    return mpi_test_main(
        argc, argv,
        MPI_CASES(RUN(a_list_of_a_newer_version_is_not_called_damaged),
                  RUN(a_list_that_another_process_deletes_lists_nothing),
                  RUN(a_rank_that_runs_out_of_memory_reports_it),
                  RUN(nothing_is_sent_of_a_set_that_cannot_be)));
}
