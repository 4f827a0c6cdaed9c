/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that an asynchronous flush had got into place before the nodes were lost:
 * scr_index --build takes them, whichever system call fails, and leaves alone what lies
 * behind a link that leads out of the prefix (invariant P20), or what is complete. */
#include "helper_copied.h"

#include "base/dir.h"
#include "ops/stage.h"
#include "store/arrival.h"
#include "xfer/zst.h"

static int write_to(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    (void)err;
    return fwrite(buf, 1, n, arg) == n ? SCR_OK : SCR_E_IO;
}

/* A frame of these bytes; without the library other bytes that cannot be unpacked
 * either. */
static void put_packed(const char *path, const void *bytes, size_t n,
                       struct scr_packed *is)
{
    struct scr_zst *z = scr_zst_packer(3, n, NULL);
    FILE *f = fopen(path, "wb");
    struct stat st;
    if (z == NULL)
        fputs("no frame", f);
    else {
        assert_int_equal(scr_zst_feed(z, bytes, n, write_to, f, NULL), SCR_OK);
        assert_int_equal(scr_zst_end(z, write_to, f, NULL), SCR_OK);
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(stat(path, &st), 0);
    *is = (struct scr_packed){ (uint64_t)st.st_size, sum(path) };
    scr_zst_free(z);
}

/* File of rank r, in place as the plan of this stamp has it; its record, malloc'd. */
static char *land(int r, const char *path, const void *bytes, size_t n, int packed)
{
    struct scr_packed is;
    if (!packed) {
        test_put(dest_of(r), bytes, n);
        return scr_strdup(path);
    }
    char *zst = scr_asprintf("%s.zst", dest_of(r));
    put_packed(zst, bytes, n, &is);
    free(zst);
    unlink(dest_of(r)); /* as a flush does with an older one */
    return scr_arrival_packed_name(1, &is, path);
}

/* As an asynchronous flush leaves it: the files of the two ranks from LOST on landed,
 * there are the list of files, the entry in the index and a plan. */
static void landed(struct test_store *t, int packed)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_rank2file list = { .ranks = RANKS };
    scr_hash *nodes = scr_hash_new(), *dset = scr_hash_new();
    const struct scr_dataset d = {
        .id = ID, .name = "ckpt.7", .files = RANKS, .ckpt = ID, .is_ckpt = 1
    };
    char *dir = scr_prefix_dset_dir(&t->p, ID),
         *map = scr_asprintf("%s/rank2file", dir);
    assert_int_equal(scr_dir_make(env.sys, dir, 0755, NULL), SCR_OK);
    assert_int_equal(scr_dataset_set(dset, &d), SCR_OK);
    assert_int_equal(scr_prefix_index_enter(&env, &t->p, dset, 0, 1, NULL), SCR_OK);
    scr_hash_set_val_i64(nodes, "1", 2);
    for (int r = 0; r < RANKS; r++) {
        size_t n = 0;
        char *from = cached(r);
        void *bytes = test_get(from, &n);
        char *path = scr_asprintf("ckpt.7/rank_%d.dat", r);
        uint32_t crc = sum(from);
        free(from);
        struct scr_listed *f = scr_rank2file_add_file(&list, r, path);
        scr_listed_set_size(f, n);
        scr_listed_set_crc(f, crc);
        if (r >= LOST) {
            char *record = land(r, path, bytes, n, packed);
            const char *name = record;
            const struct scr_arrival a = { &env, &t->p, ID, 1, r };
            assert_int_equal(scr_arrival_landed(&a, &name, 1, NULL), SCR_OK);
            free(record);
        }
        free(path);
        free(bytes);
    }
    assert_int_equal(scr_rank2file_write(env.sys, map, &list, NULL), SCR_OK);
    assert_int_equal(scr_arrival_plan(&env, &t->p, ID,
                                      &(struct scr_attempt){ 1, dset, nodes, NULL },
                                      NULL),
                     SCR_OK);
    free(map);
    free(dir);
    scr_rank2file_fini(&list);
    scr_hash_delete(nodes);
    scr_hash_delete(dset);
}

static int edit_drop_older(struct scr_index *index, void *arg, int *changed,
                           struct scr_err *err)
{
    (void)arg;
    (void)err;
    *changed = scr_index_remove(index, OLDER);
    return SCR_OK;
}

/* A job with only its newest dataset in the index, whose files have landed. */
static void job_that_landed(struct test_store *t, uint32_t *whole, int packed)
{
    job(t, whole);
    scr_prefix_index_update(&t->env, &t->p, edit_drop_older, NULL, NULL);
    landed(t, packed);
}

static int take_and_build(struct test_store *t, uint64_t *n)
{
    struct scr_build_report report;
    int rc = scr_stage_take_landed(&t->env, &t->p, ID, n, &t->err);
    if (rc == SCR_OK)
        rc = copy_node(t, 0);
    return rc == SCR_OK ? scr_build_dataset(&t->env, &t->p, ID, &report, &t->err) : rc;
}

/* Two of three nodes are lost, more than XOR can rebuild, after their files had landed:
 * these make the dataset whole, whichever call fails. */
static void fail_taking(int packed, enum test_how how)
{
    for (long at = 0;; at++) {
        struct test_store t;
        uint32_t whole[RANKS];
        uint64_t n = 0;
        job_that_landed(&t, whole, packed);
        test_fault_arm(TEST_ANY, at, EIO, how);
        int rc = take_and_build(&t, &n);
        int fired = test_fault_off();
        scr_err_clear(&t.err);
        if (rc != SCR_OK)
            rc = take_and_build(&t, &n);
        if (rc != SCR_OK)
            fail_msg("after call %ld failed: %s", at, t.err.text);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(sum(dest_of(r)), whole[r]);
        assert_int_equal(in_index(&t, ID), 1);
        test_store_close(&t);
        if (!fired) {
            assert_int_equal(n, 2);
            break;
        }
    }
}

static void what_landed_is_not_lost(void **state)
{
    (void)state;
    fail_taking(0, TEST_ONCE);
    fail_taking(0, TEST_FOREVER);
}

static void what_landed_compressed_is_not_lost(void **state)
{
    (void)state;
    if (!scr_zst_have())
        return;
    fail_taking(1, TEST_ONCE);
    fail_taking(1, TEST_FOREVER);
}

static int unsynced; /* a file got its name, and no directory was synced since */

static int rename_noted(int olddir, const char *from, int newdir, const char *to)
{
    unsynced = 1;
    return scr_sys_posix.renameat(olddir, from, newdir, to);
}

static int fsync_noted(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        unsynced = 0;
    return scr_sys_posix.fsync(fd);
}

static int unlink_checked(int dir, const char *path, int flags)
{
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".zst") == 0)
        assert_false(unsynced);
    return scr_sys_posix.unlinkat(dir, path, flags);
}

static int has_zst(int r)
{
    char *zst = scr_asprintf("%s.zst", dest_of(r));
    int has = access(zst, F_OK) == 0;
    free(zst);
    return has;
}

/* A crash of the machine in between would leave neither. */
static void a_compressed_one_goes_when_the_plain_one_is_durable(void **state)
{
    (void)state;
    struct test_store t;
    uint32_t whole[RANKS];
    uint64_t n = 0;
    struct scr_sys noting = scr_sys_posix;
    if (!scr_zst_have())
        return;
    job_that_landed(&t, whole, 1);
    noting.renameat = rename_noted;
    noting.fsync = fsync_noted;
    noting.unlinkat = unlink_checked;
    const struct scr_env env = { .sys = &noting };
    assert_int_equal(scr_stage_take_landed(&env, &t.p, ID, &n, &t.err), SCR_OK);
    assert_int_equal(n, 2);
    for (int r = LOST; r < RANKS; r++)
        assert_false(has_zst(r));
    test_store_close(&t);
}

/* They may be all that is left: another build can take them. */
static void what_cannot_be_unpacked_is_kept(void **state)
{
    (void)state;
    struct test_store t;
    uint32_t whole[RANKS];
    uint64_t n = 0;
    int *node = NULL;
    size_t records = 0;
    if (scr_zst_have())
        return;
    job_that_landed(&t, whole, 1);
    assert_int_equal(scr_stage_take_landed(&t.env, &t.p, ID, &n, &t.err), SCR_OK);
    assert_int_equal(n, 0);
    for (int r = LOST; r < RANKS; r++)
        assert_true(has_zst(r));
    assert_int_equal(scr_arrival_nodes(&t.env, &t.p, ID, &node, &records, NULL),
                     SCR_OK);
    assert_int_equal(records, 1);
    free(node);
    test_store_close(&t);
}

/* --- behind a link that leads out of the prefix (invariant P20) --- */

/* The directory of the files lies elsewhere from now on, or does no longer. */
static void lead_out(int out)
{
    char *dir = scr_strdup(test_path("prefix/ckpt.7")),
         *away = scr_strdup(test_path("away"));
    if (out) {
        (void)scr_dir_remove(&scr_sys_posix, away, NULL); /* of the test before */
        assert_int_equal(rename(dir, away) | symlink(away, dir), 0);
    } else {
        assert_int_equal(unlink(dir), 0);
    }
    free(dir);
    free(away);
}

static int is_away(int r, int packed)
{
    return access(test_path("away/rank_%d.dat%s", r, packed ? ".zst" : ""), F_OK) == 0;
}

static void assert_all_are(const uint32_t whole[RANKS], const char *dir)
{
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(sum(test_path("%s/rank_%d.dat", dir, r)), whole[r]);
}

static void take_from_away(int packed)
{
    struct test_store t;
    uint32_t whole[RANKS];
    uint64_t n = 0;
    job_that_landed(&t, whole, packed);
    lead_out(1);
    assert_int_equal(take_and_build(&t, &n), SCR_E_OUTSIDE);
    assert_int_equal(n, 2);
    assert_non_null(strstr(t.err.text, "which is outside the prefix directory"));
    for (int r = LOST; r < RANKS; r++)
        assert_true(is_away(r, packed));
    assert_all_are(whole, "prefix/.scr/scr.dataset.7/files/ckpt.7");
    lead_out(0);
    scr_err_clear(&t.err);
    assert_int_equal(take_and_build(&t, &n), SCR_OK);
    assert_all_are(whole, "prefix/ckpt.7");
    for (int r = LOST; r < RANKS; r++)
        assert_true(is_away(r, packed));
    test_store_close(&t);
}

static void what_landed_outside_is_read_and_stays_there(void **state)
{
    (void)state;
    take_from_away(0);
    if (scr_zst_have())
        take_from_away(1);
}

/* They were placed, and then moved to an archive. */
static void what_is_taken_back_from_outside_stays_there_too(void **state)
{
    struct test_store t;
    uint32_t whole[RANKS];
    uint64_t n = 0;
    struct scr_rank2file list = { 0 };
    (void)state;
    job_that_landed(&t, whole, 0);
    assert_int_equal(take_and_build(&t, &n), SCR_OK);
    assert_int_equal(scr_prefix_rank2file_read(&t.env, &t.p, ID, &list, &t.err),
                     SCR_OK);
    lead_out(1);
    assert_int_equal(scr_stage_take_back(&t.env, &t.p, ID, &list, &t.err), SCR_OK);
    assert_all_are(whole, "prefix/.scr/scr.dataset.7/files/ckpt.7");
    assert_all_are(whole, "away");
    scr_rank2file_fini(&list);
    test_store_close(&t);
}

/* A complete dataset's files of the same names are not taken away. */
static void what_is_complete_stays(void **state)
{
    (void)state;
    struct test_store t;
    uint32_t whole[RANKS];
    uint64_t n = 0;
    job(&t, whole);
    landed(&t, 0);
    assert_int_equal(scr_stage_take_landed(&t.env, &t.p, ID, &n, &t.err), SCR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(sum(dest_of(LOST)), whole[LOST]);
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_landed_is_not_lost),
        cmocka_unit_test(what_landed_compressed_is_not_lost),
        cmocka_unit_test(a_compressed_one_goes_when_the_plain_one_is_durable),
        cmocka_unit_test(what_cannot_be_unpacked_is_kept),
        cmocka_unit_test(what_landed_outside_is_read_and_stays_there),
        cmocka_unit_test(what_is_taken_back_from_outside_stays_there_too),
        cmocka_unit_test(what_is_complete_stays),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
