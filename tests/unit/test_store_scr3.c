/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_halt and jobs of SCR 3.x lock halt.scr itself with flock and rewrite it where it
 * lies: ours wait for that, but not for ever. Its list of datasets in cache. */
#include "helper_pack.h"
#include "helper_store.h"

#include <sys/file.h>
#include <sys/wait.h>

#include "base/hashfile.h"
#include "fmt/state.h"
#include "store/cache.h"

enum { UPDATES = 40 };

static const char *halt_path(void)
{
    return test_path("prefix/.scr/halt.scr");
}

/* --- theirs --- */

static int their_open(void)
{
    return open(halt_path(), O_RDWR | O_CREAT, 0600);
}

/* Under their lock: sets a key, in addition to the existing ones. 0: it failed. */
static int their_set(int fd, const char *key)
{
    char buf[4096];
    size_t n = 0;
    scr_hash *h = scr_hash_new();
    ssize_t got = pread(fd, buf, sizeof buf, 0);
    int ok = got >= 0 && scr_hash_decode(buf, (size_t)got, h, NULL) == SCR_OK;
    scr_hash_set_kv_int(h, key, 1);
    void *bytes = test_hash_encoded(h, &n);
    ok = ok && bytes != NULL && pwrite(fd, bytes, n, 0) == (ssize_t)n &&
         ftruncate(fd, (off_t)n) == 0;
    scr_hash_delete(h);
    free(bytes);
    return ok;
}

/* One update as scr_halt makes it. */
static int their_update(const char *key)
{
    int fd = their_open();
    int ok = fd >= 0 && flock(fd, LOCK_EX) == 0 && their_set(fd, key);
    return fd >= 0 && close(fd) == 0 && ok;
}

/* --- ours --- */

static int set_left(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_halt halt;
    int rc = scr_halt_get(h, &halt, err);
    if (rc != SCR_OK)
        return rc;
    halt.checkpoints_left = *(int *)arg;
    *changed = 1;
    return scr_halt_set(h, &halt);
}

static void check_has(struct test_store *t, int left, const char *key)
{
    struct scr_halt halt;
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&t->env, &t->p, "halt.scr", h, &t->err),
                     SCR_OK);
    assert_int_equal(scr_halt_get(h, &halt, &t->err), SCR_OK);
    assert_int_equal(halt.checkpoints_left, left);
    assert_non_null(scr_hash_get(h, key));
    scr_hash_delete(h);
}

static void end_well(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- cases --- */

static void ours_waits_for_theirs(void **state)
{
    (void)state;
    struct test_store t;
    int left = 7, status = 0;
    test_store_open(&t);
    int fd = their_open();
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(close(fd) != 0 || scr_prefix_state_update(&t.env, &t.p, "halt.scr",
                                                        set_left, &left, NULL) != 0);
    /* Time enough for one that does not wait. */
    for (int i = 0; i < 50 && waitpid(pid, &status, WNOHANG) == 0; i++)
        usleep(10000);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    assert_true(their_set(fd, "Theirs"));
    assert_int_equal(close(fd), 0);
    end_well(pid);
    check_has(&t, 7, "Theirs");
    test_store_close(&t);
}

static int read_many(struct test_store *t)
{
    for (int i = 0; i < 10 * UPDATES; i++) {
        scr_hash *h = scr_hash_new();
        int rc = scr_prefix_state_read(&t->env, &t->p, "halt.scr", h, &t->err);
        scr_hash_delete(h);
        if (rc != SCR_OK)
            return 1;
    }
    return 0;
}

/* Their long and short texts, and ours. */
static void a_reader_sees_no_half_of_one(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_true(their_update("Theirs"));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(read_many(&t));
    for (int i = 1; i <= UPDATES; i++) {
        int left = i % 2 ? 1 : 1000000000;
        assert_int_equal(
            scr_prefix_state_update(&t.env, &t.p, "halt.scr", set_left, &left, &t.err),
            SCR_OK);
        assert_true(their_update(i % 2 ? "Theirs" : "TheirsWithALongerName"));
    }
    end_well(pid);
    test_store_close(&t);
}

static void a_lock_held_for_ever_is_not_waited_for(void **state)
{
    (void)state;
    struct test_store t;
    int left = 7;
    test_store_open(&t);
    assert_true(their_update("Before"));
    int fd = their_open();
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    assert_int_equal(
        scr_prefix_state_update(&t.env, &t.p, "halt.scr", set_left, &left, &t.err),
        SCR_OK);
    check_has(&t, 7, "Before");
    assert_int_equal(close(fd), 0);
    test_store_close(&t);
}

/* A number that is none is damage, too: the next change begins a new file. */
static void a_bad_number_is_kept_aside(void **state)
{
    (void)state;
    struct test_store t;
    int left = 7;
    test_store_open(&t);
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "CheckpointsLeft", "x");
    assert_int_equal(
        scr_hash_file_write(t.env.sys, halt_path(), h, SCR_VOLATILE, &t.err), SCR_OK);
    scr_hash_delete(h);
    assert_int_equal(
        scr_prefix_state_update(&t.env, &t.p, "halt.scr", set_left, &left, &t.err),
        SCR_OK);
    assert_int_equal(access(test_path("prefix/.scr/halt.scr.damaged.1"), F_OK), 0);
    assert_true(their_update("Theirs"));
    check_has(&t, 7, "Theirs");
    test_store_close(&t);
}

/* Whether the user is told of datasets in cache, by a list of dataset 3 with this value
 * of BYPASS; NULL: it has none, "": the list is empty. */
static int is_told(struct test_store *t, const char *bypass)
{
    const struct scr_place place = { "u", "7", NULL, NULL };
    size_t before = strlen(test_store_log(t));
    scr_hash *h = scr_hash_new();
    scr_hash *dset = !bypass || *bypass ? scr_hash_set_kv_int(h, "DSET", 3) : NULL;
    if (dset != NULL)
        scr_hash_set_val(dset, "PATH", "/cache");
    if (dset != NULL && bypass != NULL)
        scr_hash_set_val(dset, "BYPASS", bypass);
    assert_int_equal(scr_hash_file_write(t->env.sys,
                                         test_path("u/scr.7/cindex.scrinfo"), h,
                                         SCR_VOLATILE, &t->err),
                     SCR_OK);
    scr_hash_delete(h);
    scr_place_tell_scr3(&t->env, &place, test_path("."));
    return strstr(test_store_log(t) + before, "datasets in cache") != NULL;
}

/* What bypassed it lies in the prefix directory. */
static void only_files_in_cache_are_named(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_int_equal(mkdir(test_path("u"), 0700), 0);
    assert_int_equal(mkdir(test_path("u/scr.7"), 0700), 0);
    assert_true(is_told(&t, "0"));
    assert_true(is_told(&t, NULL));
    assert_false(is_told(&t, "1"));
    assert_false(is_told(&t, ""));
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_waits_for_theirs),
        cmocka_unit_test(a_reader_sees_no_half_of_one),
        cmocka_unit_test(a_lock_held_for_ever_is_not_waited_for),
        cmocka_unit_test(a_bad_number_is_kept_aside),
        cmocka_unit_test(only_files_in_cache_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
