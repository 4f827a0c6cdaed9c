/* SPDX-License-Identifier: BSD-3-Clause */
/* What a deletion remembers of the lists of other datasets, and must not. */
/* ranks: 1 3 */
#include "helper_memory.h"
#include "helper_move.h"

#include <time.h>

#include "par/pfs/recall.h"
#include "store/catalog.h"

enum { GOES = 3, OTHERS = 6, LONG_AGO = 1000000000 };

/* Datasets 1…OTHERS, of which GOES is to be deleted by the ranks, and what another
 * process does to them, which has the prefix open, too. */
struct prefix {
    struct mpi_test *t;
    struct scr_sys sys;
    struct scr_env env;
    struct scr_prefix p, other;
    struct scr_recall recall;
};

static int lists_read;

static int count_lists(int dirfd, const char *path, int flags, mode_t mode)
{
    const char *name = strrchr(path, '/');
    lists_read += strcmp(name ? name + 1 : path, "rank2file") == 0;
    return scr_sys_posix.openat(dirfd, path, flags, mode);
}

static void enter(struct prefix *x, int id, time_t when)
{
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test *t = x->t;
    char name[16];
    snprintf(name, sizeof name, "d%d", id);
    scr_hash *dset = scr_hash_new();
    scr_hash_set_val_i64(dset, "ID", id);
    scr_hash_set_val(dset, "NAME", name);
    scr_hash_set_val_i64(dset, "CREATED", 1000 + id);
    scr_hash_set_val_i64(dset, "FLAG_CKPT", 1);
    const struct scr_entering e = { dset, 1, when, .goes_on = 0 };
    CHECK_RC(scr_prefix_index_put(&x->env, &x->other, &e, &err), SCR_OK, &err);
    scr_hash_delete(dset);
}

/* The list names own/<id> and path. */
static void write_list(struct prefix *x, int id, const char *path)
{
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test *t = x->t;
    struct scr_rank2file l = { 0 };
    char own[32], *at = scr_rank2file_path(&x->other, id, "");
    snprintf(own, sizeof own, "own/%d", id);
    scr_rank2file_init(&l, 1);
    scr_listed_set_size(scr_rank2file_add_file(&l, 0, own), 1);
    scr_listed_set_size(scr_rank2file_add_file(&l, 0, path), 1);
    move_mkdir("%s/scr.dataset.%d", x->other.scr, id);
    CHECK_RC(scr_rank2file_write(&scr_sys_posix, at, &l, &err), SCR_OK, &err);
    scr_rank2file_fini(&l);
    free(at);
}

static void remove_list(struct prefix *x, int id)
{
    char *at = scr_rank2file_path(&x->other, id, "");
    remove(at);
    free(at);
}

static void setup(struct mpi_test *t, struct prefix *x)
{
    const char *root = move_root(t);
    struct scr_err err = SCR_ERR_INIT;
    *x = (struct prefix){ .t = t, .sys = scr_sys_posix };
    x->sys.openat = count_lists;
    x->env.sys = &x->sys;
    CHECK_RC(scr_prefix_open(&x->env, root, 1, &x->p, &err), SCR_OK, &err);
    CHECK_RC(scr_prefix_open(&x->env, root, 1, &x->other, &err), SCR_OK, &err);
    for (int id = 1; id <= OTHERS && t->comm.rank == 0; id++) {
        enter(x, id, LONG_AGO);
        write_list(x, id, id == GOES ? "shared" : "elsewhere");
    }
    scr_barrier_all(&t->comm);
}

static void teardown(struct prefix *x)
{
    scr_recall_fini(&x->recall);
    scr_prefix_fini(&x->p);
    scr_prefix_fini(&x->other);
    move_root_remove(x->t);
}

/* As for a deletion of GOES; how many datasets list "shared", or the code, negated.
 * *lists (may be NULL): how many were read. */
static int claims(struct prefix *x, int *lists)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_claims c = { &x->env, &x->t->comm, &x->p, &x->recall, GOES, NULL, 0 };
    struct scr_table kept = SCR_TABLE_OF(struct scr_kept);
    int rc = SCR_OK, n = 0;
    lists_read = 0;
    scr_barrier_all(&x->t->comm);
    if (x->t->comm.rank == 0)
        rc = scr_deletion_owners(&x->env, &x->p, GOES, &c.owner, &c.n, &err);
    rc = scr_claims_read_all(&c, rc, &kept, &err);
    move_same_rc(x->t, rc);
    const struct scr_kept *k = scr_table_find(&kept, "shared");
    for (const struct scr_kept_id *of = k ? k->of : NULL; of != NULL; of = of->next)
        n++;
    scr_table_fini(&kept);
    if (lists != NULL)
        *lists = (int)scr_sum_all(&x->t->comm, (uint64_t)lists_read);
    n = (int)scr_sum_all(&x->t->comm, (uint64_t)n);
    return rc == SCR_OK ? n : -rc;
}

MPI_CASE(lists_that_stay_are_read_once)
{
    struct prefix x;
    int lists = 0;
    setup(t, &x);
    CHECK_INT(claims(&x, &lists), 1);
    CHECK_INT(lists, OTHERS);
    CHECK_INT(claims(&x, &lists), 1);
    CHECK_INT(lists, 1);
    teardown(&x);
}

/* What the other process does; each is followed by a deletion that has to find who
 * lists "shared" besides the dataset itself. */
static void write_anew(struct prefix *x)
{
    enter(x, 5, LONG_AGO + 1);
    write_list(x, 5, "shared");
}

static void take_out(struct prefix *x)
{
    struct scr_err err = SCR_ERR_INIT;
    struct mpi_test *t = x->t;
    int id = 5;
    CHECK_RC(scr_deletion_records(&x->env, &x->other, id, &err), SCR_OK, &err);
    CHECK_RC(scr_deletion_forget(&x->env, &x->other, id, &err), SCR_OK, &err);
}

static void nothing(struct prefix *x)
{
    (void)x;
}

static void add_one(struct prefix *x)
{
    enter(x, OTHERS + 1, LONG_AGO);
    write_list(x, OTHERS + 1, "shared");
}

static void write_shared(struct prefix *x)
{
    write_list(x, 5, "shared");
}

static void write_shared_again(struct prefix *x)
{
    enter(x, 5, LONG_AGO);
    write_list(x, 5, "shared");
}

static void flush_now(struct prefix *x)
{
    enter(x, 5, time(NULL));
}

static void lose_list(struct prefix *x)
{
    remove_list(x, 5);
}

static void damage_list(struct prefix *x)
{
    char *at = scr_rank2file_path(&x->other, 6, "");
    FILE *f = fopen(at, "w");
    fputs("damaged", f);
    fclose(f);
    free(at);
    enter(x, 6, LONG_AGO + 1); /* it is read again */
}

static void repair_and_write(struct prefix *x)
{
    write_list(x, 6, "elsewhere");
    write_list(x, 5, "shared");
}

MPI_CASE(what_others_change_is_read_again)
{
    static const struct {
        int known; /* all lists are remembered by then */
        void (*first)(struct prefix *);
        int then; /* what the deletion after it finds */
        void (*second)(struct prefix *);
        int last;
    } rows[] = {
        { 1, nothing, 1, write_anew, 2 },
        { 1, write_anew, 2, take_out, 1 },
        { 0, write_anew, 2, nothing, 2 },
        { 1, take_out, 1, write_shared_again, 2 }, /* the entry is as it was at first */
        { 0, nothing, 1, add_one, 2 },
        { 0, flush_now, 1, write_shared, 2 }, /* within the second of the entry */
        { 0, lose_list, 1, write_shared, 2 }, /* a list that was gone comes back */
        { 1, damage_list, -SCR_E_CORRUPT, repair_and_write, 2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct prefix x;
        setup(t, &x);
        if (rows[i].known)
            CHECK_INT(claims(&x, NULL), 1);
        if (t->comm.rank == 0)
            rows[i].first(&x);
        CHECK_INT(claims(&x, NULL), rows[i].then);
        if (t->comm.rank == 0)
            rows[i].second(&x);
        CHECK_INT(claims(&x, NULL), rows[i].last);
        CHECK_INT(claims(&x, NULL), rows[i].last);
        teardown(&x);
    }
}

MPI_CASE(without_memory_all_is_read_again)
{
    for (int victim = 0; victim < t->comm.size; victim++)
        for (long n = 0, fired = 1; fired; n++) {
            struct prefix x;
            setup(t, &x);
            if (n % 2 == 0)
                CHECK_INT(claims(&x, NULL), 1);
            if (t->comm.rank == victim)
                test_memory_arm(n, 0);
            int found = claims(&x, NULL);
            fired = scr_or_all(&t->comm, t->comm.rank == victim && test_memory_off());
            CHECK(found == 1 || (fired && found == -SCR_E_NOMEM));
            if (t->comm.rank == 0)
                write_anew(&x);
            CHECK_INT(claims(&x, NULL), 2);
            teardown(&x);
        }
}

int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv,
                         MPI_CASES(RUN(lists_that_stay_are_read_once),
                                   RUN(what_others_change_is_read_again),
                                   RUN(without_memory_all_is_read_again)));
}
