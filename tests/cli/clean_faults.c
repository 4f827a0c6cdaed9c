/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_clean with every system call failing in turn, once and for good: a dataset that
 * is nowhere else keeps every file and every record, no file stays without a filemap
 * that names it (invariant C1), and a second try removes what the first left. */
#include "helper_survive.h"

#include "base/proc.h"
#include "base/str.h"
#include "ops/clean.h"
#include "store/identity.h"

enum { SAVED = 7, UNSAVED = 9, RANKS = 2 };
static struct scr_identity identity; /* of the prefix directory */

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static void start(const char *const *argv)
{
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_OK);
    assert_int_equal(status, 0);
}

/* Dataset id of a job in the caches of the nodes, as the runs of that job left it. */
static void make_job(const char *stock, const char *job, const char *id)
{
    char *prefix = scr_strdup(test_path("prefix"));
    const char *argv[] = { SCR_TEST_CACHE, stock, "u", job,    id,
                           "XOR",          "2",   "2", prefix, NULL };
    start(argv);
    for (int r = 0; r < RANKS; r++) {
        char *dir = test_find("stock/vnode.n%d/u/scr.%s/prefix.*", r, job);
        char *of = scr_asprintf("%s/job.prefix", dir),
             *lock = scr_asprintf("%s/job.lock", dir);
        test_put(of, prefix, strlen(prefix));
        test_put(lock, "", 0);
        free(of), free(lock), free(dir);
    }
    free(prefix);
}

static void save(struct test_store *t)
{
    scr_hash *flush = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&t->env, &t->p, "flush.scr", flush, NULL),
                     SCR_OK);
    const scr_hash *dset = scr_hash_getf(flush, "DATASET %d DSETDESC", SAVED);
    assert_int_equal(scr_prefix_index_enter(&t->env, &t->p, dset, 1, 1, NULL), SCR_OK);
    scr_hash_delete(flush);
}

/* The prefix directory stays: looking changes nothing in it. */
static void arrange(struct test_store *t)
{
    char *stock = scr_strdup(test_path("stock")), *base = scr_strdup(test_path("base"));
    if (access(stock, F_OK) != 0) {
        test_store_open(t);
        assert_int_equal(mkdir(stock, 0755), 0);
        make_job(stock, "saved", "7");
        make_job(stock, "unsaved", "9");
        save(t);
        assert_int_equal(scr_identity_read(&t->env, &t->p, &identity, NULL), SCR_OK);
    } else
        test_store_reopen(t);
    t->env.log = NULL;
    assert_int_equal(scr_dir_remove(&scr_sys_posix, base, NULL), SCR_OK);
    const char *argv[] = { "cp", "-a", stock, base, NULL };
    start(argv);
    free(stock), free(base);
}

static int clean_one(struct test_store *t, struct scr_leftover *o)
{
    if (o->rc != SCR_OK)
        return scr_fail(&t->err, o->rc, 0, "%s", o->why);
    TRY(scr_leftover_look(&t->env, o, &t->err));
    TRY(scr_leftover_judge(&t->env, o, &t->err));
    if (o->unsaved != NULL)
        return SCR_OK;
    TRY(scr_leftover_hold(&t->env, o, &t->err));
    TRY(scr_leftover_judge(&t->env, o, &t->err));
    return o->unsaved ? SCR_OK : scr_leftover_remove(&t->env, o, &t->err);
}

/* The first error, after all were tried. */
static int clean(struct test_store *t)
{
    struct scr_strv bases = SCR_STRV_INIT;
    const struct scr_clean_at at = { &t->env, "u", &bases };
    struct scr_leftover *list = NULL;
    size_t n = 0;
    scr_strv_add(&bases, test_path("base"));
    int rc = scr_leftovers_list(&at, &list, &n, &t->err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        rc = clean_one(t, &list[i]);
        if (rc != SCR_OK && scr_leftover_is_gone(&t->env, &list[i])) {
            scr_err_clear(&t->err);
            rc = SCR_OK;
        }
    }
    scr_leftovers_free(&t->env, list, n);
    scr_strv_free(&bases);
    return rc;
}

static int exists(const char *job, int r, const char *file)
{
    return access(
               test_path("base/vnode.n%d/u/scr.%s/%s/%s", r, job, identity.name, file),
               F_OK) == 0;
}

static void check_after(struct test_store *t, int rc)
{
    (void)rc;
    for (int try = 0; try < 2; try++) {
        for (int r = 0; r < RANKS; r++) {
            char *file =
                scr_asprintf("scr.dataset.%d/rank.%d/rank_%d.dat", UNSAVED, r, r);
            char *saved =
                scr_asprintf("scr.dataset.%d/rank.%d/rank_%d.dat", SAVED, r, r);
            assert_true(exists("unsaved", r, file));
            assert_true(exists("unsaved", r, "filemap_0.scrinfo"));
            assert_true(exists("unsaved", r, "job.prefix"));
            assert_true(!exists("saved", r, saved) ||
                        exists("saved", r, "filemap_0.scrinfo"));
            free(file), free(saved);
        }
        if (try == 0) {
            scr_err_clear(&t->err);
            if (clean(t) != SCR_OK)
                fail_msg("second try: %s", t->err.text);
        }
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(access(test_path("base/vnode.n%d/u/scr.saved", r), F_OK), -1);
}

/* --- beside another scr_clean --- */

static long opens_left;

/* Before this open the other one removes what it can. */
static int open_after_other(int dirfd, const char *path, int flags, mode_t mode)
{
    if (opens_left-- == 0)
        for (int r = 0; r < RANKS; r++)
            (void)scr_dir_remove(&scr_sys_posix,
                                 test_path("base/vnode.n%d/u/scr.saved", r), NULL);
    return scr_sys_posix.openat(dirfd, path, flags, mode);
}

static void what_another_removes_meanwhile_is_no_error(void **state)
{
    (void)state;
    struct scr_sys beside = scr_sys_posix;
    beside.openat = open_after_other;
    for (long opens = 0, met = 1; met; opens++) {
        struct test_store t;
        arrange(&t);
        t.env.sys = &beside;
        opens_left = opens;
        if (clean(&t) != SCR_OK)
            fail_msg("open %ld: %s", opens, t.err.text);
        met = opens_left < 0;
        t.env.sys = &scr_sys_posix;
        check_after(&t, SCR_OK);
        test_store_close(&t);
    }
}

static struct survival cleaning = { arrange, clean, check_after };

int main(void)
{
    const struct CMUnitTest tests[] = {
        SURVIVAL_TESTS(cleaning),
        cmocka_unit_test(what_another_removes_meanwhile_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
