/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of a control directory: its bytes, torn records, calls that fail. */
#include "helper_cntl.h"
#include "helper_maps.h"
#include "helper_store.h"
#include "helper_tmp.h"
#include "store/cntl.h"

/* --- bytes of the journal --- */

static void a_record_has_these_bytes(void **state)
{
    (void)state;
    static const char text[] = "6 2 /tmp/rank.2/ckpt"; /* and its NUL */
    void *buf;
    size_t n;
    assert_int_equal(scr_journal_encode(6, 2, "/tmp/rank.2/ckpt", &buf, &n), SCR_OK);
    assert_int_equal(n, sizeof text + 4);
    assert_memory_equal(buf, text, sizeof text);
    const unsigned char *crc = (unsigned char *)buf + sizeof text;
    const unsigned char want[] = { 0x0e, 0x24, 0x17, 0x9e };
    assert_memory_equal(crc, want, 4);
    free(buf);
}

static void records_come_back_and_a_torn_tail_does_not(void **state)
{
    (void)state;
    char all[256];
    size_t at = 0, ends[3];
    for (int i = 0; i < 3; i++) {
        void *buf;
        size_t n;
        assert_int_equal(scr_journal_encode(1, i, "/c/file with blanks", &buf, &n),
                         SCR_OK);
        memcpy(all + at, buf, n);
        free(buf);
        ends[i] = at += n;
    }
    for (size_t n = 0; n <= at; n++) {
        scr_filemap *map = scr_filemap_new();
        size_t good = 99;
        int whole = (n >= ends[0]) + (n >= ends[1]) + (n >= ends[2]);
        assert_int_equal(scr_journal_decode(all, n, map, &good), SCR_OK);
        assert_int_equal(good, whole ? ends[whole - 1] : 0);
        assert_int_equal(scr_filemap_num_ranks_by_dataset(map, 1), whole);
        scr_filemap_delete(map);
    }
}

static void hostile_journals_give_nothing(void **state)
{
    (void)state;
    void *good;
    size_t n, used;
    assert_int_equal(scr_journal_encode(1, 0, "/c/f", &good, &n), SCR_OK);
    for (size_t bit = 0; bit < n * 8; bit++) {
        ((unsigned char *)good)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        scr_journal_decode(good, n, NULL, &used);
        assert_int_equal(used, 0);
        ((unsigned char *)good)[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(good);
    static const struct {
        int dset, rank;
        const char *path;
    } bad[] = { { 0, 0, "/f" }, { -1, 0, "/f" }, { 1, -1, "/f" }, { 1, 0, "" } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        void *buf;
        assert_int_equal(
            scr_journal_encode(bad[i].dset, bad[i].rank, bad[i].path, &buf, &n),
            SCR_OK);
        scr_journal_decode(buf, n, NULL, &used);
        assert_int_equal(used, 0);
        free(buf);
    }
}

static void appending_continues_after_a_torn_record(void **state)
{
    (void)state;
    struct fixture f;
    size_t n;
    begin(&f);
    assert_int_equal(journal(&f, 1, 0, "/c/a"), SCR_OK);
    scr_cntl_close(&f.env, &f.c);
    char *bytes = test_get(test_path("cntl/filemap_0.scrinfo.jnl"), &n);
    char *torn = malloc(2 * n);
    memcpy(torn, bytes, n);
    memcpy(torn + n, bytes, n / 2);
    test_put(test_path("cntl/filemap_0.scrinfo.jnl"), torn, n + n / 2);
    free(torn);
    free(bytes);
    assert_int_equal(scr_cntl_open(&f.env, test_path("cntl"), 0, &f.c, &f.err), SCR_OK);
    assert_int_equal(journal(&f, 1, 0, "/c/b"), SCR_OK);
    assert_true(knows(&f, 1, 0, "/c/a"));
    assert_true(knows(&f, 1, 0, "/c/b"));
    end(&f);
}

static void a_full_device_costs_one_record_only(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(journal(&f, 1, 0, "/c/a"), SCR_OK);
    test_fault_short(TEST_WRITE, 0, 5, TEST_ONCE); /* half a record, and then … */
    assert_int_equal(journal(&f, 1, 0, "/c/b"), SCR_OK); /* … the rest of it */
    test_fault_off();
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_ONCE);
    assert_int_equal(journal(&f, 1, 0, "/c/lost"), SCR_E_FULL);
    test_fault_off();
    scr_err_clear(&f.err);
    assert_int_equal(journal(&f, 1, 0, "/c/c"), SCR_OK);
    assert_true(knows(&f, 1, 0, "/c/a"));
    assert_true(knows(&f, 1, 0, "/c/b"));
    assert_true(knows(&f, 1, 0, "/c/c"));
    assert_false(knows(&f, 1, 0, "/c/lost"));
    end(&f);
}

static void the_journal_costs_one_write_a_file(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(journal(&f, 1, 0, "/c/first"), SCR_OK);
    test_fault_arm(TEST_ANY, -1, 0, TEST_ONCE); /* counts only */
    for (int i = 0; i < 100; i++)
        assert_int_equal(journal(&f, 1, 0, "/c/more"), SCR_OK);
    assert_int_equal(test_fault_count(TEST_ANY), 100);
    assert_int_equal(test_fault_count(TEST_WRITE), 100);
    test_fault_off();
    end(&f);
}

static void journaling_survives_any_failure(void **state)
{
    (void)state;
    for (int how = TEST_ONCE; how <= TEST_FOREVER; how++) {
        for (long n = 0;; n++) {
            struct fixture f;
            begin(&f);
            journal(&f, 1, 0, "/c/a");
            scr_cntl_close(&f.env, &f.c);
            assert_int_equal(scr_cntl_open(&f.env, test_path("cntl"), 0, &f.c, &f.err),
                             SCR_OK);
            test_fault_arm(TEST_ANY, n, EIO, (enum test_how)how);
            int rc = journal(&f, 1, 0, "/c/b");
            int fired = test_fault_off();
            assert_true(knows(&f, 1, 0, "/c/a"));
            assert_int_equal(knows(&f, 1, 0, "/c/b"), rc == SCR_OK);
            end(&f);
            if (!fired)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_has_these_bytes),
        cmocka_unit_test(records_come_back_and_a_torn_tail_does_not),
        cmocka_unit_test(hostile_journals_give_nothing),
        cmocka_unit_test(appending_continues_after_a_torn_record),
        cmocka_unit_test(a_full_device_costs_one_record_only),
        cmocka_unit_test(the_journal_costs_one_write_a_file),
        cmocka_unit_test(journaling_survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, cntl_teardown);
}
