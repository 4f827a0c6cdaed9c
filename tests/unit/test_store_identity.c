/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a prefix directory: made once, kept by a move, not by a copy. */
#include "helper_failure.h"
#include "helper_store.h"

#include <sys/wait.h>

#include "base/dir.h"
#include "store/identity.h"

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static struct scr_identity make(struct test_store *t)
{
    struct scr_identity id;
    assert_int_equal(scr_identity_make(&t->env, &t->p, &id, &t->err), SCR_OK);
    assert_true(scr_identity_is_name(id.name));
    return id;
}

static struct scr_identity look(struct test_store *t)
{
    struct scr_identity id;
    assert_int_equal(scr_identity_read(&t->env, &t->p, &id, &t->err), SCR_OK);
    return id;
}

/* t->p becomes another directory. */
static void go_to(struct test_store *t, const char *name)
{
    scr_prefix_fini(&t->p);
    assert_int_equal(scr_prefix_open(&t->env, test_path("%s", name), 1, &t->p, &t->err),
                     SCR_OK);
}

static void put(const char *dir, const void *bytes, size_t n)
{
    test_put(test_path("%s/.scr/identity.scr", dir), bytes, n);
}

static void put_copy(const char *dir, const void *bytes, size_t n)
{
    test_put(test_path("%s/.scr/identity.copy.scr", dir), bytes, n);
}

static void it_is_made_once_and_looking_makes_none(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    assert_string_equal(look(&t).name, "");
    assert_int_not_equal(access(test_path("prefix/.scr/identity.scr"), F_OK), 0);
    struct scr_identity id = make(&t);
    assert_string_equal(id.original, "");
    assert_string_equal(make(&t).name, id.name);
    assert_string_equal(look(&t).name, id.name);
    assert_string_equal(test_store_log(&t), "");
    test_store_close(&t);
}

static void a_moved_directory_keeps_it_and_a_copy_gets_its_own(void **state)
{
    (void)state;
    struct test_store t;
    size_t n = 0;
    test_store_open(&t);
    struct scr_identity id = make(&t);
    assert_int_equal(rename(test_path("prefix"), test_path("moved")), 0);
    go_to(&t, "moved");
    assert_string_equal(make(&t).name, id.name);
    assert_string_equal(look(&t).name, id.name);
    void *bytes = test_get(test_path("moved/.scr/identity.scr"), &n);
    assert_int_equal(mkdir(test_path("copy"), 0700), 0);
    go_to(&t, "copy");
    put("copy", bytes, n);
    struct scr_identity of_copy = look(&t);
    assert_string_equal(of_copy.name, "");
    assert_string_equal(of_copy.original, id.name);
    of_copy = make(&t);
    assert_string_not_equal(of_copy.name, id.name);
    assert_string_equal(of_copy.original, id.name);
    of_copy = make(&t); /* reported once */
    assert_string_equal(of_copy.original, "");
    go_to(&t, "moved");
    assert_string_equal(make(&t).name, id.name);
    free(bytes);
    test_store_close(&t);
}

/* Every .scr has the same inode number; that of the copy is in another file system. */
static int fstatat_snapshot(int dirfd, const char *path, struct stat *st, int flags)
{
    int rc = scr_sys_posix.fstatat(dirfd, path, st, flags);
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, "/.scr") == 0) {
        st->st_ino = 7;
        st->st_dev += strstr(path, "snapshot") != NULL;
    }
    return rc;
}

static void a_snapshot_with_the_same_inode_number_gets_its_own(void **state)
{
    (void)state;
    struct test_store t;
    size_t n = 0;
    struct scr_sys sys = scr_sys_posix;
    sys.fstatat = fstatat_snapshot;
    test_store_open(&t);
    t.env.sys = &sys;
    struct scr_identity id = make(&t);
    void *bytes = test_get(test_path("prefix/.scr/identity.scr"), &n);
    assert_int_equal(mkdir(test_path("snapshot"), 0700), 0);
    go_to(&t, "snapshot");
    put("snapshot", bytes, n);
    assert_string_equal(look(&t).name, id.name); /* it creates no file to find out */
    struct scr_identity other = make(&t);
    assert_string_equal(look(&t).name, other.name);
    assert_string_not_equal(other.name, id.name);
    assert_string_equal(other.original, id.name);
    assert_string_equal(make(&t).name, other.name);
    go_to(&t, "prefix");
    assert_string_equal(make(&t).name, id.name);
    /* Where it has been moved to, in another file system, no original is left. */
    assert_int_equal(rename(test_path("snapshot"), test_path("snapshot.2")), 0);
    go_to(&t, "snapshot.2");
    assert_string_equal(make(&t).name, other.name);
    free(bytes);
    test_store_close(&t);
}

/* Devices of the two mounts differ, and what is created in one is in the other. */
static void a_directory_that_is_mounted_twice_keeps_it(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_sys sys = scr_sys_posix;
    char **names;
    size_t n;
    sys.fstatat = fstatat_snapshot;
    test_store_open(&t);
    t.env.sys = &sys;
    struct scr_identity id = make(&t);
    assert_int_equal(symlink("prefix", test_path("snapshot")), 0);
    go_to(&t, "snapshot");
    assert_string_equal(make(&t).name, id.name);
    go_to(&t, "prefix");
    assert_string_equal(make(&t).name, id.name);
    assert_int_equal(
        scr_dir_list(&scr_sys_posix, test_path("prefix/.scr"), &names, &n, &t.err),
        SCR_OK);
    for (size_t i = 0; i < n; i++)
        assert_null(strstr(names[i], ".tmp"));
    scr_names_free(names, n);
    test_store_close(&t);
}

static void a_damaged_file_is_restored_from_the_other(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    struct scr_identity id = make(&t);
    put("prefix", "garbage", 7);
    assert_string_equal(look(&t).name, id.name);
    assert_string_equal(test_store_log(&t), "");
    assert_string_equal(make(&t).name, id.name);
    assert_non_null(strstr(test_store_log(&t), "identity.scr.damaged.1"));
    put_copy("prefix", "garbage", 7);
    assert_string_equal(make(&t).name, id.name);
    put("prefix", "garbage", 7);
    assert_string_equal(look(&t).name, id.name);
    assert_int_equal(unlink(test_path("prefix/.scr/identity.scr")), 0);
    assert_string_equal(make(&t).name, id.name);
    test_store_close(&t);
}

static void two_damaged_files_are_kept_aside(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    struct scr_identity id = make(&t);
    put("prefix", "garbage", 7);
    put_copy("prefix", "garbage", 7);
    assert_string_equal(look(&t).name, "");
    assert_non_null(strstr(test_store_log(&t), "makes another identity"));
    struct scr_identity fresh = make(&t);
    assert_string_not_equal(fresh.name, id.name);
    assert_int_equal(access(test_path("prefix/.scr/identity.scr.damaged.1"), F_OK), 0);
    assert_non_null(strstr(test_store_log(&t), "kept aside as"));
    assert_string_equal(look(&t).name, fresh.name);
    test_store_close(&t);
}

static void what_is_no_identity_is_replaced(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "../../../../etc/xxxxxxxxxxxxxxxx", "12ab",
                                       "0123456789ABCDEF0123456789ABCDEF" };
    struct test_store t;
    test_store_open(&t);
    uint64_t inode = 0;
    struct stat st;
    assert_int_equal(stat(t.p.scr, &st), 0);
    inode = st.st_ino;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scr_hash *h = scr_hash_new();
        scr_hash_set_val(h, "ID", bad[i]);
        scr_hash_set_val_u64(h, "INODE", inode);
        assert_int_equal(scr_hash_file_write(&scr_sys_posix,
                                             test_path("prefix/.scr/identity.scr"), h,
                                             SCR_VOLATILE, NULL),
                         SCR_OK);
        scr_hash_delete(h);
        assert_string_equal(look(&t).name, "");
        (void)make(&t);
        put_copy("prefix", "", 0);
    }
    test_store_close(&t);
}

/* There is one identity afterwards or none, and the next attempt gets it. */
static void any_call_may_fail(void **state)
{
    (void)state;
    for (int f = 0; f < TEST_FAILURES; f++) {
        for (long n = 0, fired = 1; fired; n++) {
            struct test_store t;
            struct scr_identity id, got;
            test_store_open(&t);
            test_failure_arm(f, n);
            int rc = scr_identity_make(&t.env, &t.p, &id, &t.err);
            fired = test_failure_off(f);
            assert_true(fired || rc == SCR_OK);
            assert_true(rc != SCR_OK || scr_identity_is_name(id.name));
            assert_int_equal(t.err.code, rc);
            got = make(&t);
            assert_true(rc != SCR_OK || strcmp(got.name, id.name) == 0);
            test_failure_arm(f, n);
            rc = scr_identity_read(&t.env, &t.p, &id, &t.err);
            fired |= test_failure_off(f);
            assert_true(rc != SCR_OK || strcmp(got.name, id.name) == 0);
            assert_string_equal(make(&t).name, got.name);
            test_store_close(&t);
        }
    }
}

static void of_two_that_begin_together_both_get_the_same(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    for (int i = 0; i < ROUNDS; i++) {
        struct test_store t;
        struct scr_identity mine, other = { 0 };
        int ends[2];
        test_store_open(&t);
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
            int rc = scr_identity_make(&t.env, &t.p, &other, NULL);
            _exit(rc != SCR_OK || write(ends[1], &other, sizeof other) < 0);
        }
        mine = make(&t);
        assert_int_equal(read(ends[0], &other, sizeof other), sizeof other);
        assert_string_equal(mine.name, other.name);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(ends[0]);
        close(ends[1]);
        test_store_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_made_once_and_looking_makes_none),
        cmocka_unit_test(a_moved_directory_keeps_it_and_a_copy_gets_its_own),
        cmocka_unit_test(a_snapshot_with_the_same_inode_number_gets_its_own),
        cmocka_unit_test(a_directory_that_is_mounted_twice_keeps_it),
        cmocka_unit_test(a_damaged_file_is_restored_from_the_other),
        cmocka_unit_test(two_damaged_files_are_kept_aside),
        cmocka_unit_test(what_is_no_identity_is_replaced),
        cmocka_unit_test(any_call_may_fail),
        cmocka_unit_test(of_two_that_begin_together_both_get_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
