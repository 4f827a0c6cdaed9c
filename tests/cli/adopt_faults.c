/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_index --add-directory with every system call failing in turn, once and for good:
 * the files stay as they are, what the index calls complete is whole (invariant P1),
 * and a second try succeeds. */
#include "helper_survive.h"

#include "base/lock.h"
#include "base/str.h"
#include "ops/adopt.h"
#include "ops/faults.h"

enum { RANKS = 3 };
static const char *const pattern[] = { "f.%r" };
static const struct scr_adopt what = { .dir = "old",
                                       .pattern = pattern,
                                       .npatterns = 1 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static void fill(struct test_store *t)
{
    test_store_open(t);
    t->env.log = NULL;
    assert_int_equal(mkdir(test_path("prefix/old"), 0700), 0);
    for (int r = 0; r < RANKS; r++) {
        FILE *f = fopen(test_path("prefix/old/f.%d", r), "w");
        assert_non_null(f);
        fprintf(f, "of rank %d\n", r);
        assert_int_equal(fclose(f), 0);
    }
}

static int adopt(struct test_store *t, int *id)
{
    struct scr_adopted got;
    int rc = scr_adopt_directory(&t->env, &t->p, &what, &got, &t->err);
    free(got.name);
    *id = got.id;
    return rc;
}

/* Number of datasets the index calls complete, each checked to its last byte. */
static int count_whole(struct test_store *t)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    int *ids, whole = 0;
    size_t n;
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&env, &t->p, &index, NULL), SCR_OK);
    assert_int_equal(scr_index_ids(&index, &ids, &n), SCR_OK);
    for (size_t i = 0; i < n; i++) {
        struct scr_index_entry e;
        struct scr_faults f = SCR_FAULTS_INIT;
        uint64_t files = 0;
        int complete = 0;
        assert_int_equal(scr_index_get(&index, ids[i], &e, NULL), SCR_OK);
        if (!e.complete)
            continue;
        struct scr_rank2file list = { 0 };
        scr_hash *dset = scr_hash_new();
        assert_int_equal(
            scr_prefix_summary_read(&env, &t->p, ids[i], &complete, dset, NULL),
            SCR_OK);
        assert_int_equal(scr_prefix_rank2file_read(&env, &t->p, ids[i], &list, NULL),
                         SCR_OK);
        scr_faults_check(&env, t->p.path, dset, &list, &f, &files);
        assert_int_equal(f.n, 0);
        assert_int_equal(f.unsummed, 0);
        assert_int_equal(files, RANKS);
        assert_int_equal(complete, 1);
        scr_faults_fini(&f);
        scr_hash_delete(dset);
        scr_rank2file_fini(&list);
        whole++;
    }
    free(ids);
    scr_index_fini(&index);
    return whole;
}

static int adopt_once(struct test_store *t)
{
    int id;
    return adopt(t, &id);
}

static void check_after(struct test_store *t, int rc)
{
    int whole = count_whole(t);
    assert_true(whole == 1 || (whole == 0 && rc != SCR_OK));
    scr_err_clear(&t->err);
    if (whole == 0 && adopt_once(t) != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    assert_int_equal(count_whole(t), 1);
}

static struct survival adopting = { fill, adopt_once, check_after };

/* --- a run that begins --- */

static struct scr_lock run;

/* The run takes its lock, reads the index, and only then does the entry appear. */
static int begin_before_rename(int olddir, const char *oldpath, int newdir,
                               const char *newpath)
{
    if (run.fd < 0 && strcmp(newpath, test_path("prefix/.scr/index.scr")) == 0)
        assert_int_equal(scr_lock_acquire(&scr_sys_posix,
                                          test_path("prefix/.scr/" SCR_RUNS_LOCK), 0,
                                          &run, NULL),
                         SCR_OK);
    return scr_sys_posix.renameat(olddir, oldpath, newdir, newpath);
}

/* It calls its first dataset 1. */
static void leave_ids_to_a_run_that_begins(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_sys sys = scr_sys_posix;
    int id;
    fill(&t);
    run = (struct scr_lock)SCR_LOCK_INIT;
    sys.renameat = begin_before_rename;
    t.env.sys = &sys;
    assert_int_equal(adopt(&t, &id), SCR_OK);
    assert_true(run.fd >= 0);
    assert_int_equal(id, 1001);
    assert_int_equal(count_whole(&t), 1);
    scr_lock_release(&scr_sys_posix, &run);
    test_store_close(&t);
}

/* --- patterns --- */

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        int rank; /* -1: no match */
    } cases[] = {
        { "ckpt.%r.dat", "ckpt.12.dat", 12 },
        { "ckpt.%r.dat", "ckpt.0012.dat", 12 },
        { "ckpt.%r.dat", "ckpt..dat", -1 },
        { "ckpt.%r.dat", "ckpt.1x.dat", -1 },
        { "ckpt.%r.dat", "ckpt.12.data", -1 },
        { "%r", "0", 0 },
        { "%r2", "12", -1 }, /* the number takes all digits */
        { "%r/%r", "3/3", 3 },
        { "%r/%r", "3/4", -1 },
        { "%r", "2147483647", 2147483647 },
        { "%r", "2147483648", -1 },
        { "%r", "99999999999999999999", -1 },
        { "rank_%r/*", "rank_1/a", 1 },
        { "rank_%r/*", "rank_1/a/b", -1 },
        { "rank_%r/**", "rank_1/a/b", 1 },
        { "**/f.%r", "a/b/f.2", 2 },
        { "*.%r", "a.b.7", 7 },
        { "100%%.%r", "100%.1", 1 },
        { "common", "common", 0 },
        { "common", "other", -1 },
    };
    int rank;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rank = -1;
        int yes = scr_adopt_match(cases[i].pattern, cases[i].path, &rank);
        if (yes != (cases[i].rank >= 0) || rank != cases[i].rank)
            fail_msg("%s of %s: %d %d", cases[i].path, cases[i].pattern, yes, rank);
    }
    static const char *const bad[] = { "", "/a.%r", "../a.%r", "a/../%r", "%d", "%" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(scr_adopt_match(bad[i], NULL, &rank), SCR_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test_teardown(leave_ids_to_a_run_that_begins, teardown),
        SURVIVAL_TESTS(adopting),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
