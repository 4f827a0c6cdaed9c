/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_copy of the nodes that are left and scr_index --build after it, with every system
 * call failing in turn, once and for good: nothing under the prefix is replaced for a
 * dataset that cannot be completed (invariant P13), complete is written last (P1), no
 * older dataset stays complete whose files went, and a second try succeeds. */
#include "helper_copied.h"
#include "helper_survive.h"

#include <sys/wait.h>

#include "base/dir.h"
#include "ec/ec.h"
#include "ops/stage.h"
#include "xfer/copy.h"

static int scavenge(struct test_store *t)
{
    struct scr_build_report report;
    int rc = SCR_OK;
    for (int n = 0; n < RANKS && rc == SCR_OK; n++)
        if (n != LOST)
            rc = copy_node(t, n);
    return rc == SCR_OK ? scr_build_dataset(&t->env, &t->p, ID, &report, &t->err) : rc;
}

static uint32_t cached_sums[RANKS];

static void arrange(struct test_store *t)
{
    job(t, cached_sums);
}

static void check_after(struct test_store *t, int rc)
{
    int replaced = 0;
    for (int r = 0; r < RANKS; r++) {
        int is_old = sum(dest_of(r)) == scr_crc32(0, "old", 3);
        /* during a placing a file is the old one or the new one */
        assert_true(is_old || sum(dest_of(r)) == cached_sums[r]);
        replaced += !is_old;
    }
    if (replaced > 0)
        assert_int_not_equal(in_index(t, OLDER), 1);
    if (rc == SCR_OK)
        assert_int_equal(in_index(t, ID), 1);
    if (in_index(t, ID) == 1)
        assert_int_equal(replaced, RANKS);

    scr_err_clear(&t->err);
    if (scavenge(t) != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(sum(dest_of(r)), cached_sums[r]);
    assert_int_equal(in_index(t, ID), 1);
    assert_int_equal(in_index(t, OLDER), -1);
    assert_false(scr_stage_is_there(&t->env, &t->p, ID));
    assert_false(scr_stage_is_placing(&t->env, &t->p, ID));
}

static struct survival copying = { arrange, scavenge, check_after };

static void an_interrupted_call_is_not_noticed(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct test_store t;
        uint32_t whole[RANKS];
        job(&t, whole);
        test_fault_arm(TEST_WRITE, n, EINTR, TEST_ONCE);
        int rc = scavenge(&t);
        int fired = test_fault_off();
        if (rc != SCR_OK)
            fail_msg("%s", t.err.text);
        test_store_close(&t);
        if (!fired)
            break;
    }
}

static int files_synced;

static int fsync_counted(int fd)
{
    struct stat st;
    files_synced += fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return scr_sys_posix.fsync(fd);
}

/* A copy of node 0 that asks `ask` whether it is wanted, with files_synced counted. */
static int copy_asking(struct test_store *t, int (*ask)(void *, struct scr_err *),
                       void *arg)
{
    struct scr_sys counting = scr_sys_posix;
    counting.fsync = fsync_counted;
    t->env.sys = &counting;
    wanted = ask;
    wanted_arg = arg;
    files_synced = 0;
    int rc = copy_node(t, 0);
    wanted = NULL;
    t->env.sys = &test_fault_sys;
    return rc;
}

static int wanted_before_sync(void *arg, struct scr_err *err)
{
    (void)arg;
    return files_synced == 0 ? SCR_OK : scr_fail(err, SCR_E_CANCELLED, 0, "too late");
}

/* A sync takes long, and a newer copy may have begun meanwhile. */
static void what_becomes_unwanted_in_a_sync_gets_no_name(void **state)
{
    struct test_store t;
    uint32_t whole[RANKS];
    (void)state;
    job(&t, whole);
    assert_int_equal(copy_asking(&t, wanted_before_sync, NULL), SCR_E_CANCELLED);
    assert_int_equal(files_synced, 1);
    assert_int_not_equal(
        access(test_path("prefix/.scr/scr.dataset.7/files/ckpt.7/rank_0.dat"), F_OK),
        0);
    scr_err_clear(&t.err);
    assert_int_equal(scavenge(&t), SCR_OK);
    test_store_close(&t);
}

/* --- two at a time --- */

static ssize_t write_half_and_die(int fd, const void *buf, size_t n)
{
    (void)scr_sys_posix.write(fd, buf, n / 2);
    _exit(0);
}

/* The copy of a newer scavenge is at work on the same files. */
static int let_a_newer_begin(void *arg, struct scr_err *err)
{
    struct test_store *t = arg;
    (void)err;
    if (files_synced != 1)
        return SCR_OK;
    files_synced++;
    pid_t newer = fork();
    if (newer == 0) {
        struct scr_sys dying = scr_sys_posix;
        dying.write = write_half_and_die;
        t->env.sys = &dying;
        wanted = NULL;
        _exit(copy_node(t, 0) + 1);
    }
    int status = -1;
    assert_int_equal(waitpid(newer, &status, 0), newer);
    assert_int_equal(status, 0);
    return SCR_OK;
}

static int count_parts(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    int parts = 0;
    (void)scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL);
    for (size_t i = 0; i < n; i++)
        parts += scr_copy_is_tmp(names[i]);
    scr_names_free(names, n);
    return parts;
}

/* It does not know yet that it must end. */
static void an_older_copy_names_no_file_of_a_newer_one(void **state)
{
    struct test_store t;
    uint32_t whole[RANKS];
    (void)state;
    job(&t, whole);
    if (copy_asking(&t, let_a_newer_begin, &t) != SCR_OK)
        fail_msg("%s", t.err.text);
    assert_int_equal(
        sum(test_path("prefix/.scr/scr.dataset.7/files/ckpt.7/rank_0.dat")), whole[0]);
    assert_int_equal(count_parts(test_path("prefix/.scr/scr.dataset.7/files/ckpt.7")),
                     1);
    scr_stage_sweep(&t.env, &t.p, ID);
    assert_int_equal(count_parts(test_path("prefix/.scr/scr.dataset.7/files/ckpt.7")),
                     0);
    assert_int_equal(scavenge(&t), SCR_OK);
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SURVIVAL_TESTS(copying),
        cmocka_unit_test(an_interrupted_call_is_not_noticed),
        cmocka_unit_test(what_becomes_unwanted_in_a_sync_gets_no_name),
        cmocka_unit_test(an_older_copy_names_no_file_of_a_newer_one),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
