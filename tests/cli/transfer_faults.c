/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfer process when its file cannot be written for once: copied files are
 * recorded later, and not copied again. And where it begins to look for a place among
 * the nodes that share the file system. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include "helper_tmp.h"
#include "ops/transferd.h"
#include "store/prefix.h"
#include "xfer/daemon.h"

enum { SIZE = 1000 };

/* --- renames are counted; one of the transfer file fails --- */

static int reports, fail_report, copies;

static int rename_one(int from_dir, const char *from, int to_dir, const char *to)
{
    if (strstr(to, "copied") != NULL)
        copies++;
    if (strstr(to, SCR_TRANSFER_FILE) != NULL && reports++ == fail_report) {
        errno = ENOSPC;
        return -1;
    }
    return scr_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int edit_list(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const char *const *path = arg;
    struct scr_transfer t = { .command = SCR_TRANSFER_RUN };
    (void)err;
    *changed = 1;
    int rc = scr_transfer_add_file(h, path[0], path[1], SIZE);
    return rc == SCR_OK ? scr_transfer_set(h, &t) : rc;
}

static void make_source(const char *path)
{
    static const char bytes[SIZE] = "source";
    assert_int_equal(scr_file_replace(&scr_sys_posix, path, bytes, SIZE,
                                      (struct scr_replace){ 0600, SCR_VOLATILE }, NULL),
                     SCR_OK);
}

static void read_transfers(const char *file, scr_hash *h)
{
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, file, h, NULL), SCR_OK);
}

static void run_with_fault(int n)
{
    struct scr_sys sys = scr_sys_posix;
    const struct scr_env env = { .sys = &sys };
    char *dir = strdup(test_path("ctl.%d", n)), *src = strdup(test_path("source"));
    char *dst = strdup(test_path("copied.%d", n));
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    const char *const paths[] = { src, dst };
    const struct scr_transferd_opts o = { .dir = dir, .idle = 0.3 };
    struct scr_err err = SCR_ERR_INIT;
    sys.renameat = rename_one;
    mkdir(dir, 0700);
    make_source(src);
    assert_int_equal(scr_hash_file_update(&scr_sys_posix, file, 1000, edit_list,
                                          (void *)paths, &err),
                     SCR_OK);
    reports = copies = 0;
    fail_report = n;
    assert_int_equal(scr_transferd_run(&env, &o, &err), SCR_OK);
    assert_true(reports > n);
    assert_int_equal(copies, 1);
    struct scr_transfer t;
    uint64_t left = 1;
    scr_hash *h = scr_hash_new();
    read_transfers(file, h);
    assert_int_equal(scr_transfer_get(h, &t, NULL), SCR_OK);
    assert_int_equal(scr_transfer_left(h, &left, NULL), SCR_OK);
    assert_true(t.done && !t.running && left == 0);
    scr_hash_delete(h);
    free(file);
    free(dst);
    free(src);
    free(dir);
}

static void files_that_could_not_be_reported_are_not_copied_again(void **state)
{
    (void)state;
    run_with_fault(0);
    run_with_fault(1);
}

/* --- one that belongs to a dataset --- */

static int edit_dataset(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_transfer_dset *d = arg;
    struct scr_transfer t = { .command = SCR_TRANSFER_RUN };
    (void)err;
    *changed = 1;
    int rc = scr_transfer_add_rank(h, 5, d, 0);
    return rc == SCR_OK ? scr_transfer_set(h, &t) : rc;
}

static int has_slot(const char *prefix, int n)
{
    struct stat st;
    char path[800];
    snprintf(path, sizeof path, "%s/.scr/slot.%d.lock", prefix, n);
    return stat(path, &st) == 0;
}

static void nodes_begin_at_different_places(void **state)
{
    (void)state;
    const struct scr_env env = { .sys = &scr_sys_posix };
    char *dir = strdup(test_path("ctl")), *prefix = strdup(test_path("prefix"));
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    const struct scr_transferd_opts o = { .dir = dir, .once = 1 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_prefix p = { 0 };
    mkdir(dir, 0700);
    mkdir(prefix, 0700);
    assert_int_equal(scr_prefix_open(&env, prefix, 1, &p, &err), SCR_OK);
    for (int node = 2; node < 4; node++) {
        struct scr_transfer_dset d = {
            .prefix = prefix, .stamp = 64, .node = node, .width = 8, .crowd = 9
        };
        scr_file_remove(env.sys, file, NULL);
        assert_int_equal(
            scr_hash_file_update(env.sys, file, 1000, edit_dataset, &d, &err), SCR_OK);
        (void)scr_transferd_run(&env, &o, &err); /* no such dataset is on the prefix */
        assert_true(has_slot(prefix, node));
    }
    assert_false(has_slot(prefix, 0));
    scr_prefix_fini(&p);
    free(file);
    free(prefix);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(files_that_could_not_be_reported_are_not_copied_again,
                                  test_tmp_teardown),
        cmocka_unit_test_teardown(nodes_begin_at_different_places, test_tmp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
