/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_index --build with every system call failing in turn, once and for good: complete
 * is written last (invariant P1), nothing good is destroyed (C2), and a second try
 * succeeds. */
#include "helper_survive.h"

#include "base/proc.h"
#include "base/str.h"
#include "fmt/filemap.h"
#include "ops/build.h"
#include "ops/delete.h"
#include "ops/extract.h"
#include "ops/faults.h"
#include "red/member.h"
#include "store/flushing.h"
#include "store/replacing.h"

enum { ID = 7, RANKS = 3, LOST = 1 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

/* What a scavenge leaves of a dataset of 3 ranks in a set of 3. */
static void copy_dataset(struct test_store *t)
{
    const char *argv[] = { SCR_TEST_SCAVENGE, t->p.path, "7", "XOR", "3", "3", NULL };
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &t->err), SCR_OK);
    assert_int_equal(status, 0);
}

/* A scavenged dataset that lost all of one rank. */
static void scavenge(struct test_store *t)
{
    test_store_open(t);
    t->env.log = NULL;
    copy_dataset(t);
    unlink(test_path("prefix/ckpt.7/rank_%d.dat", LOST));
    unlink(test_path("prefix/ckpt.7/empty_%d", LOST));
    unlink(test_path("prefix/.scr/scr.dataset.7/%d_of_3_in_0.xor", LOST + 1));
}

static uint32_t whole[RANKS]; /* CRCs of all files, once they are there */

static void sums(uint32_t crc[RANKS])
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    uint64_t size;
    for (int r = 0; r < RANKS; r++) {
        crc[r] = 0;
        scr_file_crc32(&env, test_path("prefix/ckpt.7/rank_%d.dat", r), 0, &size,
                       &crc[r], NULL);
    }
}

/* COMPLETE of the dataset in the index, read with working calls; -1: not there. */
static int in_index(struct test_store *t)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&env, &t->p, &index, NULL), SCR_OK);
    int complete = scr_index_get(&index, ID, &e, NULL) == SCR_OK ? e.complete : -1;
    scr_index_fini(&index);
    return complete;
}

/* The conditions after any failure. */
static void check_after(struct test_store *t, int rc)
{
    uint32_t now[RANKS];
    struct scr_build_report report;
    sums(now);
    for (int r = 0; r < RANKS; r++)
        assert_true(now[r] == whole[r] || (r == LOST && now[r] == 0));
    if (rc == SCR_OK)
        assert_int_equal(in_index(t), 1);
    if (in_index(t) == 1)
        assert_int_equal(now[LOST], whole[LOST]);

    scr_err_clear(&t->err);
    rc = scr_build_dataset(&t->env, &t->p, ID, &report, &t->err);
    if (rc != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    sums(now);
    assert_memory_equal(now, whole, sizeof now);
    assert_int_equal(in_index(t), 1);
    assert_int_equal(report.files, 2 * RANKS);
}

static int build(struct test_store *t)
{
    struct scr_build_report report;
    return scr_build_dataset(&t->env, &t->p, ID, &report, &t->err);
}

static struct survival building = { scavenge, build, check_after };

static int learn(void **state)
{
    struct test_store t;
    (void)state;
    scavenge(&t);
    int rc = build(&t);
    sums(whole);
    test_store_close(&t);
    return rc;
}

/* Dataset built; then what is there to rebuild from is removed. */
static void flushed(struct test_store *t)
{
    struct scr_build_report report;
    scavenge(t);
    assert_int_equal(scr_build_dataset(&t->env, &t->p, ID, &report, &t->err), SCR_OK);
    for (int r = 0; r < RANKS; r++) {
        unlink(test_path("prefix/.scr/scr.dataset.7/%d_of_3_in_0.xor", r + 1));
        unlink(test_path("prefix/.scr/scr.dataset.7/%d.scrfilemap", r));
    }
}

static int is_there(const char *name)
{
    return access(test_path("prefix/.scr/scr.dataset.7/%s", name), F_OK) == 0;
}

static void files_not_looked_at_are_not_condemned(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_build_report report;
    flushed(&t);
    for (long n = 0;; n++) {
        scr_err_clear(&t.err);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_build_dataset(&t.env, &t.p, ID, &report, &t.err);
        int fired = test_fault_off();
        assert_true(rc == SCR_OK || rc == SCR_E_IO);
        assert_true(is_there("summary.scr"));
        assert_int_equal(in_index(&t), 1);
        if (!fired)
            break;
    }
    test_store_close(&t);
}

static void no_summary_vouches_for_half_a_list(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct test_store t;
        struct scr_build_report report;
        scavenge(&t);
        assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_OK);
        unlink(test_path("prefix/.scr/scr.dataset.7/rank2file"));
        unlink(test_path("prefix/.scr/scr.dataset.7/rank2file.0.0"));
        test_fault_arm(TEST_ANY, n, EIO, TEST_FOREVER);
        int rc = scr_build_dataset(&t.env, &t.p, ID, &report, &t.err);
        int fired = test_fault_off();
        assert_int_equal(t.err.code, rc);
        if (is_there("rank2file.0.0") && !is_there("rank2file"))
            assert_false(is_there("summary.scr"));
        if (!is_there("summary.scr"))
            assert_true(!fired || in_index(&t) == 0);
        test_store_close(&t);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
}

static void set_recorded_files(struct test_store *t, uint64_t n)
{
    int complete;
    scr_hash *dset = scr_hash_new();
    assert_int_equal(scr_prefix_summary_read(&t->env, &t->p, ID, &complete, dset, NULL),
                     SCR_OK);
    scr_hash_set_val_u64(dset, "FILES", n);
    assert_int_equal(scr_prefix_summary_write(&t->env, &t->p, ID, dset, 1, NULL),
                     SCR_OK);
    scr_hash_delete(dset);
}

static void as_many_files_must_be_listed_as_recorded(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_build_report report;
    flushed(&t);
    set_recorded_files(&t, 2 * RANKS + 1);
    assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_E_LOST);
    assert_non_null(strstr(t.err.text, "6 files are listed, 7 are recorded"));
    assert_int_equal(in_index(&t), 0);
    test_store_close(&t);
}

static void a_filemap_must_say_how_many_files_there_were(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_build_report report;
    scavenge(&t);
    assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_OK);
    unlink(test_path("prefix/.scr/scr.dataset.7/summary.scr"));
    unlink(test_path("prefix/.scr/scr.dataset.7/rank2file")); /* else that is enough */
    for (int r = 0; r < RANKS; r++)
        unlink(test_path("prefix/.scr/scr.dataset.7/%d_of_3_in_0.xor", r + 1));
    const char *path = test_path("prefix/.scr/scr.dataset.7/1.scrfilemap");
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_filemap_read(&scr_sys_posix, path, map, NULL), SCR_OK);
    scr_filemap_entry(map, ID, 1)->expected = -1;
    assert_int_equal(scr_filemap_write(&scr_sys_posix, path, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    scr_filemap_delete(map);
    assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_E_LOST);
    assert_non_null(strstr(t.err.text, "rank 1: the number of its files"));
    assert_int_equal(in_index(&t), 0);
    test_store_close(&t);
}

/* One look-up for every rank would take minutes. */
static void ranks_that_are_not_listed_cost_nothing(void **state)
{
    (void)state;
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_faults f = SCR_FAULTS_INIT;
    uint64_t files = 0;
    struct scr_rank2file list = { .ranks = INT32_MAX };
    scr_rank2file_add_rank(&list, 0);
    scr_rank2file_add_rank(&list, INT32_MAX - 2);
    scr_faults_check(&env, "/", NULL, &list, &f, &files);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.first, "rank 1: nothing is known of its files");
    assert_int_equal(files, 0);
    scr_faults_fini(&f);
    scr_rank2file_fini(&list);
}

/* The CRC of a compressed file is recorded, also where that of the plain one is not. */
static void compressed_files_are_checked_without_a_plain_crc(void **state)
{
    (void)state;
    const struct scr_env env = { .sys = &scr_sys_posix };
    const struct scr_packed is = { 5, 0x12345678 };
    struct scr_faults f = SCR_FAULTS_INIT;
    uint64_t files = 0;
    struct scr_rank2file list = { .ranks = 1 };
    struct test_store t;
    test_store_open(&t);
    test_put(test_path("prefix/a.zst"), "other", 5);
    struct scr_listed *a = scr_rank2file_add_file(&list, 0, "a");
    scr_listed_set_size(a, 100);
    scr_listed_set_packed(a, &is);
    scr_faults_check(&env, t.p.path, NULL, &list, &f, &files);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.unsummed, 0);
    assert_int_equal(files, 1);
    scr_faults_fini(&f);
    scr_rank2file_fini(&list);
    test_store_close(&t);
}

/* --- a file that comes to lie where one is extracted to, in the last moment --- */

static void appear(const char *path)
{
    if (strstr(path, "/copy/ckpt.7/") != NULL && access(path, F_OK) != 0)
        test_put(path, "newer", 5);
}

static int rename_late(int olddir, const char *from, int newdir, const char *to)
{
    appear(to);
    return scr_sys_posix.renameat(olddir, from, newdir, to);
}

static int link_late(int olddir, const char *from, int newdir, const char *to,
                     int flags)
{
    appear(to);
    return scr_sys_posix.linkat(olddir, from, newdir, to, flags);
}

static void extracting_replaces_nothing(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_build_report report;
    struct scr_extracted out;
    struct scr_sys late = scr_sys_posix;
    char *to = scr_strdup(test_path("copy"));
    const struct scr_extract what = { .to = to };
    scavenge(&t);
    assert_int_equal(scr_build_dataset(&t.env, &t.p, ID, &report, &t.err), SCR_OK);
    late.renameat = rename_late;
    late.linkat = link_late;
    const struct scr_env env = { .sys = &late };
    assert_int_equal(scr_extract_dataset(&env, &t.p, ID, &what, &out, &t.err),
                     SCR_E_EXIST);
    assert_non_null(strstr(t.err.text, "is another file"));
    assert_int_equal(out.files, 0);
    for (int r = 0; r < RANKS; r++) {
        size_t n = 0;
        void *bytes = test_get(test_path("copy/ckpt.7/rank_%d.dat", r), &n);
        assert_int_equal(n, 5);
        assert_memory_equal(bytes, "newer", 5);
        free(bytes);
    }
    free(to);
    test_store_close(&t);
}

/* As a program that bypasses the cache leaves it that dies at the renames (invariant
 * P8). While it lives no other process does them. */
static void one_that_lacks_names_gets_them(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_flushing mark = { 0 };
    uint32_t now[RANKS];
    scr_hash *dset = scr_hash_new();
    flushed(&t);
    const char *part = test_path("prefix/ckpt.7/" SCR_PART_DIR "7");
    assert_int_equal(scr_prefix_summary_read(&t.env, &t.p, ID, NULL, dset, &t.err),
                     SCR_OK);
    assert_int_equal(scr_prefix_index_enter(&t.env, &t.p, dset, 0, 1, &t.err), SCR_OK);
    assert_int_equal(scr_prefix_summary_remove(&t.env, &t.p, ID, &t.err), SCR_OK);
    assert_int_equal(mkdir(part, 0700), 0);
    assert_int_equal(rename(test_path("prefix/ckpt.7/rank_1.dat"),
                            test_path("prefix/ckpt.7/" SCR_PART_DIR "7/rank_1.dat")),
                     0);
    assert_int_equal(scr_replacing_begin(&t.env, &t.p, ID, dset, &t.err), SCR_OK);
    assert_int_equal(scr_flushing_begin(&t.env, &t.p, ID, &mark, &t.err), SCR_OK);
    assert_int_equal(build(&t), SCR_E_LOCKED);
    scr_flushing_leave(&t.env, &mark);
    scr_err_clear(&t.err);
    assert_int_equal(scr_delete_check(&t.env, &t.p, ID, NULL), SCR_E_LOCKED);
    assert_int_equal(build(&t), SCR_OK);
    sums(now);
    assert_memory_equal(now, whole, sizeof now);
    assert_int_equal(in_index(&t), 1);
    assert_false(test_exists(part));
    scr_hash_delete(dset);
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SURVIVAL_TESTS(building),
        cmocka_unit_test(files_not_looked_at_are_not_condemned),
        cmocka_unit_test(no_summary_vouches_for_half_a_list),
        cmocka_unit_test(as_many_files_must_be_listed_as_recorded),
        cmocka_unit_test(a_filemap_must_say_how_many_files_there_were),
        cmocka_unit_test(ranks_that_are_not_listed_cost_nothing),
        cmocka_unit_test(compressed_files_are_checked_without_a_plain_crc),
        cmocka_unit_test(extracting_replaces_nothing),
        cmocka_unit_test(one_that_lacks_names_gets_them),
    };
    return cmocka_run_group_tests(tests, learn, teardown);
}
