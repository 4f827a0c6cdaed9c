/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers by scr_transfer with every system call failing in turn, on the side that
 * asks for them and on the side that does them: datasets that the index calls complete
 * exist, no process writes any more after a cancellation, and the next attempt
 * succeeds. And a prefix directory that hangs, which does not make the process look
 * dead. */
#include "../unit/helper_fault.h"
#include "../unit/helper_tmp.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashfile.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include "ops/transferd.h"
#include "store/arrival.h"
#include "xfer/daemon.h"

enum { ID = 5, STAMP = 77, SIZE = 5000, WAIT_MS = 120000 };

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };
static char bytes[SIZE];

/* A dataset of one rank with one file, on its way. */
static struct scene {
    char *dir, *prefix, *src, *dst, *file;
    struct scr_prefix p;
} s;

static void write_plan(void)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_dataset d = {
        .id = ID, .name = "ckpt.5", .is_ckpt = 1, .size = SIZE, .files = 1
    };
    scr_hash *dset = scr_hash_new(), *nodes = scr_hash_new();
    assert_int_equal(scr_dataset_set(dset, &d), SCR_OK);
    scr_hash_setf(nodes, NULL, "%d %d", 0, 1);
    assert_int_equal(scr_prefix_index_enter(&posix, &s.p, dset, 0, 1000, &err), SCR_OK);
    assert_int_equal(scr_prefix_summary_write(&posix, &s.p, ID, dset, 0, &err), SCR_OK);
    assert_int_equal(scr_prefix_summary_remove(&posix, &s.p, ID, &err), SCR_OK);
    assert_int_equal(scr_arrival_plan(&posix, &s.p, ID,
                                      &(struct scr_attempt){ STAMP, dset, nodes, NULL },
                                      &err),
                     SCR_OK);
    scr_hash_delete(nodes);
    scr_hash_delete(dset);
}

static void arrange(long n)
{
    struct scr_err err = SCR_ERR_INIT;
    s.dir = scr_strdup(test_path("ctl.%ld", n));
    s.prefix = scr_strdup(test_path("prefix.%ld", n));
    s.src = scr_strdup(test_path("source"));
    s.dst = scr_asprintf("%s/file", s.prefix);
    s.file = scr_path_join(s.dir, SCR_TRANSFER_FILE);
    assert_int_equal(mkdir(s.dir, 0700), 0);
    assert_int_equal(mkdir(s.prefix, 0700), 0);
    memset(bytes, 'x', SIZE);
    assert_int_equal(scr_file_replace(&scr_sys_posix, s.src, bytes, SIZE,
                                      (struct scr_replace){ 0600, SCR_VOLATILE }, NULL),
                     SCR_OK);
    assert_int_equal(scr_prefix_open(&posix, s.prefix, 1, &s.p, &err), SCR_OK);
    write_plan();
}

static void clear(void)
{
    scr_prefix_fini(&s.p);
    free(s.file);
    free(s.dst);
    free(s.src);
    free(s.prefix);
    free(s.dir);
}

static int is_whole(void)
{
    void *buf = NULL;
    size_t n = 0;
    int same =
        scr_file_load(&scr_sys_posix, s.dst, 2 * SIZE, &buf, &n, NULL) == SCR_OK &&
        n == SIZE && memcmp(buf, bytes, SIZE) == 0;
    free(buf);
    return same;
}

static int is_complete(void)
{
    struct scr_index_entry e = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&posix, &s.p, &index, NULL), SCR_OK);
    assert_int_equal(scr_index_get(&index, ID, &e, NULL), SCR_OK);
    scr_index_fini(&index);
    return e.complete;
}

/* The conditions after any failure. */
static void check_truth(void)
{
    assert_true(access(s.dst, F_OK) != 0 || is_whole());
    assert_true(!is_complete() || is_whole());
}

/* --- the side that does them --- */

static int edit_list(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_transfer_dset d = { .prefix = s.prefix, .stamp = STAMP };
    struct scr_transfer t = { .command = SCR_TRANSFER_RUN };
    struct stat st;
    (void)arg, (void)err;
    assert_int_equal(stat(s.src, &st), 0);
    assert_int_equal(scr_transfer_add_rank(h, ID, &d, 0), SCR_OK);
    assert_int_equal(scr_transfer_add_file(h, s.src, s.dst, SIZE), SCR_OK);
    assert_int_equal(scr_transfer_own_file(h, s.src, ID, 0, NULL, &st), SCR_OK);
    *changed = 1;
    return scr_transfer_set(h, &t);
}

static void list(void)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_file_remove(&scr_sys_posix, s.file, NULL), SCR_OK);
    assert_int_equal(
        scr_hash_file_update(&scr_sys_posix, s.file, 1000, edit_list, NULL, &err),
        SCR_OK);
}

static int copy_with_fault(long n)
{
    struct scr_err err = SCR_ERR_INIT;
    arrange(n);
    const struct scr_transferd_opts o = { .dir = s.dir, .once = 1 };
    list();
    test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
    int rc = scr_transferd_run(&faulty, &o, &err);
    int fired = test_fault_off();
    assert_int_equal(err.code, rc);
    assert_true(fired || rc == SCR_OK);
    check_truth();
    if (!is_complete()) {
        list();
        scr_err_clear(&err);
        if (scr_transferd_run(&posix, &o, &err) != SCR_OK)
            fail_msg("call %ld: %s", n, err.text);
    }
    assert_true(is_complete() && is_whole());
    clear();
    return fired;
}

/* Its two threads share the counter: call n is one at about that place. */
static void calls_of_the_process_fail(void **state)
{
    long n = 0;
    (void)state;
    while (copy_with_fault(n))
        n += 5;
    assert_true(n > 50);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- the side that asks for them --- */

static struct scr_xfer *make_xfer(const struct scr_xfer_where *where)
{
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_xfer_opts o = { .sync_dirs = 1, .where = where };
    struct scr_xfer_file f = {
        .src = s.src, .dst = s.dst, .name = "file", .size = SIZE, .has_size = 1
    };
    assert_int_equal(stat(s.src, &f.attr), 0);
    struct scr_xfer *x = scr_xfer_new(&o, &err);
    assert_non_null(x);
    assert_int_equal(scr_xfer_add(x, &f, &err), SCR_OK);
    return x;
}

/* The job that cancels it copies itself, when it is certain that the process does
 * not. */
static void copy_here(void)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_xfer *x = make_xfer(NULL);
    struct scr_mover *m = scr_mover_new(SCR_XFER_SYNC, &scr_sys_posix, &err);
    assert_int_equal(scr_daemon_kill(&scr_sys_posix, s.dir, 10, &err), SCR_OK);
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    scr_mover_free(m);
    scr_xfer_free(x);
}

static int ask_with_fault(long n)
{
    struct scr_err err = SCR_ERR_INIT;
    arrange(n);
    const struct scr_xfer_where where = { .prefix = s.prefix,
                                          .id = ID,
                                          .stamp = STAMP };
    const struct scr_daemon_opts o = { s.dir, SCR_TOOL "_transfer", 10 };
    struct scr_mover *m = scr_mover_daemon(&o, &test_fault_sys, &err);
    struct scr_xfer *x = make_xfer(&where);
    assert_non_null(m);
    test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
    int rc = scr_mover_start(m, x, &err);
    if (rc == SCR_OK)
        rc = scr_mover_wait(m, x, &err);
    int fired = test_fault_off();
    assert_int_equal(err.code, rc);
    assert_true(fired || rc == SCR_OK);
    check_truth();
    if (rc == SCR_OK)
        assert_true(is_complete());
    else
        copy_here();
    assert_true(is_whole());
    assert_int_equal(scr_daemon_kill(&scr_sys_posix, s.dir, 10, &err), SCR_OK);
    scr_mover_stop(m);
    scr_mover_free(m);
    scr_xfer_free(x);
    clear();
    return fired;
}

static void calls_of_who_asks_fail(void **state)
{
    long n = 0;
    (void)state;
    while (ask_with_fault(n))
        n++;
    assert_true(n > 30);
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- a prefix directory that hangs --- */

static atomic_int hung, let_go;

static int hang(const char *path)
{
    if (strncmp(path, s.prefix, strlen(s.prefix)) == 0 && !let_go) {
        hung = 1;
        while (!let_go)
            usleep(1000);
    }
    return 0;
}

static int hanging_openat(int at, const char *path, int flags, mode_t mode)
{
    hang(path);
    return scr_sys_posix.openat(at, path, flags, mode);
}

static int hanging_fstatat(int at, const char *path, struct stat *st, int flags)
{
    hang(path);
    return scr_sys_posix.fstatat(at, path, st, flags);
}

static void *run_process(void *arg)
{
    struct scr_sys sys = scr_sys_posix;
    const struct scr_env env = { .sys = &sys };
    const struct scr_transferd_opts o = { .dir = s.dir, .idle = 0.2 };
    int *rc = arg;
    sys.openat = hanging_openat;
    sys.fstatat = hanging_fstatat;
    *rc = scr_transferd_run(&env, &o, NULL);
    return NULL;
}

static struct timespec beat_of(void)
{
    struct scr_lock_holder who = { 0 };
    assert_int_equal(scr_daemon_look(&scr_sys_posix, s.dir, &who, NULL), SCR_OK);
    return who.beat;
}

static int beats_on(void)
{
    struct timespec first = beat_of(), now = first;
    for (int i = 0; i < WAIT_MS && memcmp(&first, &now, sizeof now) == 0; i++) {
        usleep(1000);
        now = beat_of();
    }
    return memcmp(&first, &now, sizeof now) != 0;
}

static void one_whose_prefix_hangs_shows_that_it_lives(void **state)
{
    pthread_t thread;
    int rc = -1;
    (void)state;
    arrange(0);
    list();
    assert_int_equal(pthread_create(&thread, NULL, run_process, &rc), 0);
    for (int i = 0; i < WAIT_MS && !hung; i++)
        usleep(1000);
    assert_true(hung);
    int beats = beats_on() && beats_on();
    let_go = 1;
    pthread_join(thread, NULL);
    assert_true(beats);
    assert_int_equal(rc, SCR_OK);
    assert_true(is_complete() && is_whole());
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_whose_prefix_hangs_shows_that_it_lives,
                                  test_tmp_teardown),
        cmocka_unit_test_teardown(calls_of_the_process_fail, test_tmp_teardown),
        cmocka_unit_test_teardown(calls_of_who_asks_fail, test_tmp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
