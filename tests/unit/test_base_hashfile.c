/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash files: the format byte by byte, with its checksum (invariant D2), and files that
 * are replaced or updated under a lock. */
#include "helper_tmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/hashfile.h"
#include "base/lock.h"
#include "helper_fault.h"
#include "helper_golden.h"
#include "helper_pack.h"

/* {"NODES": 3}, the example of scr_hashfile(5). */
static const unsigned char nodes_bytes[44] =
    "\x95\x1f\xc3\xf5\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x2c\x00\x00\x00\x01"
    "\x00\x00\x00\x01NODES\0\x00\x00\x00\x01"
    "3\0\x00\x00\x00\x00\xd6\x4a\x1f\x79";

static scr_hash *nodes_hash(int n)
{
    scr_hash *h = scr_hash_new();
    assert_non_null(scr_hash_set_val_i64(h, "NODES", n));
    return h;
}

static void assert_encodes_to(const scr_hash *h, const void *bytes, size_t n)
{
    void *buf;
    size_t got;
    buf = test_hash_encoded(h, &got);
    assert_non_null(buf);
    assert_int_equal(got, n);
    assert_memory_equal(buf, bytes, n);
    free(buf);
}

/* --- the format --- */

static void example_of_the_manual(void **state)
{
    (void)state;
    scr_hash *h = nodes_hash(3), *back = scr_hash_new();
    assert_encodes_to(h, nodes_bytes, sizeof nodes_bytes);
    assert_int_equal(scr_hash_decode(nodes_bytes, sizeof nodes_bytes, back, NULL),
                     SCR_OK);
    assert_true(scr_hash_equal(h, back));
    scr_hash_delete(h);
    scr_hash_delete(back);
}

static void empty_hash_is_28_bytes(void **state)
{
    (void)state;
    void *buf;
    size_t n;
    buf = test_hash_encoded(NULL, &n);
    assert_non_null(buf);
    assert_int_equal(n, 28);
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_decode(buf, n, h, NULL), SCR_OK);
    assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
    free(buf);
}

static void check_good(const struct test_golden *g, void *arg)
{
    (void)arg;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    if (scr_hash_decode(g->bytes, g->n, h, &err) != SCR_OK)
        fail_msg("%s: %s", g->name, err.text);
    assert_encodes_to(h, g->bytes, g->n);
    scr_hash_delete(h);
}

/* A refused file leaves an empty hash empty and a full one unchanged. */
static void check_bad(const struct test_golden *g, void *arg)
{
    (void)arg;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new(), *full = nodes_hash(7), *same = nodes_hash(7);
    if (scr_hash_decode(g->bytes, g->n, h, &err) != g->code)
        fail_msg("%s: %s %s", g->name, scr_err_meaning(err.code), err.text);
    assert_int_equal(err.code, g->code);
    assert_int_equal(strncmp(err.text, "hash file: ", 11) != 0 &&
                         strncmp(err.text, "packed hash: ", 13) != 0,
                     0);
    assert_int_equal(scr_hash_size(h), 0);
    assert_int_equal(scr_hash_decode(g->bytes, g->n, full, NULL), g->code);
    assert_true(scr_hash_equal(full, same));
    scr_hash_delete(h);
    scr_hash_delete(full);
    scr_hash_delete(same);
}

static void golden_files(void **state)
{
    (void)state;
    (void)test_golden_each("hashfile", "good-", check_good, NULL);
    assert_true(test_golden_each("hashfile", "bad-", check_bad, NULL) >= 25);
}

static void files_others_write_are_read(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new(), *want = nodes_hash(3);
    const char *dir = SCR_GOLDEN_DIR "/hashfile";
    char path[512];
    (void)snprintf(path, sizeof path, "%s/plain-zero-length.scr", dir);
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, NULL), SCR_OK);
    assert_int_equal(scr_hash_size(h), 0);
    (void)snprintf(path, sizeof path, "%s/plain-no-crc.scr", dir);
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, NULL), SCR_OK);
    assert_true(scr_hash_equal(h, want));
    scr_hash_delete(h);
    scr_hash_delete(want);
}

/* The CRC covers everything before it and its flag cannot be cleared unseen. It is not
 * taken for another version either. */
static void no_changed_byte_goes_unseen(void **state)
{
    (void)state;
    unsigned char bytes[sizeof nodes_bytes];
    for (size_t i = 0; i < sizeof bytes; i++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            scr_hash *h = scr_hash_new();
            memcpy(bytes, nodes_bytes, sizeof bytes);
            bytes[i] ^= (unsigned char)flip;
            int rc = scr_hash_decode(bytes, sizeof bytes, h, NULL);
            if (rc != SCR_E_CORRUPT)
                fail_msg("byte %zu xor %u: %d", i, flip, rc);
            assert_int_equal(scr_hash_size(h), 0);
            scr_hash_delete(h);
        }
    }
}

static void no_missing_byte_goes_unseen(void **state)
{
    (void)state;
    for (size_t n = 1; n < sizeof nodes_bytes; n++) {
        unsigned char *exact = malloc(n); /* so that a read past the end is found */
        memcpy(exact, nodes_bytes, n);
        scr_hash *h = scr_hash_new();
        assert_int_equal(scr_hash_decode(exact, n, h, NULL), SCR_E_CORRUPT);
        assert_int_equal(scr_hash_size(h), 0);
        scr_hash_delete(h);
        free(exact);
    }
}

static void bytes_after_the_hash_are_corrupt(void **state)
{
    (void)state;
    unsigned char bytes[sizeof nodes_bytes + 100];
    memset(bytes, 0xa5, sizeof bytes);
    memcpy(bytes, nodes_bytes, sizeof nodes_bytes);
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_decode(bytes, sizeof bytes, h, NULL), SCR_E_CORRUPT);
    assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
}

static void decode_merges(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    scr_hash_set_val(h, "OTHER", "x");
    scr_hash_set_kv(h, "NODES", "4");
    assert_int_equal(scr_hash_decode(nodes_bytes, sizeof nodes_bytes, h, NULL), SCR_OK);
    assert_non_null(scr_hash_get_kv(h, "NODES", "3"));
    assert_non_null(scr_hash_get_kv(h, "NODES", "4"));
    assert_string_equal(scr_hash_get_val(h, "OTHER"), "x");
    scr_hash_delete(h);
}

static void lost_or_too_deep_is_not_encoded(void **state)
{
    (void)state;
    size_t n;
    scr_hash *h = nodes_hash(3);
    assert_null(scr_hash_set_val(h, "PATH", NULL)); /* as after a failed allocation */
    assert_null(test_hash_encoded(h, &n));
    scr_hash_delete(h);

    h = scr_hash_new();
    scr_hash *at = h;
    for (int i = 0; i < SCR_HASH_DEPTH; i++)
        at = scr_hash_set(at, "k", NULL);
    void *buf = test_hash_encoded(h, &n);
    assert_non_null(buf);
    free(buf);
    scr_hash_set(at, "k", NULL);
    assert_null(test_hash_encoded(h, &n));
    scr_hash_delete(h);
}

/* --- files --- */

static void assert_nodes(const char *path, const char *want)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, NULL), SCR_OK);
    assert_string_equal(scr_hash_get_val(h, "NODES"), want);
    scr_hash_delete(h);
}

static void write_and_read(void **state)
{
    (void)state;
    const char *path = test_path("nodes.scr");
    scr_hash *h = nodes_hash(3);
    size_t n;
    assert_int_equal(scr_hash_file_write(&scr_sys_posix, path, h, SCR_DURABLE, NULL),
                     SCR_OK);
    unsigned char *bytes = test_get(path, &n);
    assert_int_equal(n, sizeof nodes_bytes);
    assert_memory_equal(bytes, nodes_bytes, n);
    assert_nodes(path, "3");
    free(bytes);
    scr_hash_delete(h);
}

static void absent_and_damaged_files_are_distinguished(void **state)
{
    (void)state;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    const char *path = test_path("absent.scr");
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, &err), SCR_E_NOENT);
    scr_err_clear(&err);
    test_put(path, nodes_bytes, 30);
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(scr_hash_file_read(&scr_sys_posix, test_tmp(), h, NULL),
                     SCR_E_UNSAFE);
    scr_hash_delete(h);
}

/* A write that fails at any of its system calls leaves the old file; one that reports
 * success leaves the new one. */
static void failing_write_keeps_the_old_file(void **state)
{
    (void)state;
    const char *path = test_path("old.scr");
    for (long n = 0;; n++) {
        scr_hash *old = nodes_hash(3), *fresh = nodes_hash(4), *got = scr_hash_new();
        assert_int_equal(
            scr_hash_file_write(&scr_sys_posix, path, old, SCR_DURABLE, NULL), SCR_OK);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_hash_file_write(&test_fault_sys, path, fresh, SCR_DURABLE, NULL);
        int fired = test_fault_off();
        assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, got, NULL), SCR_OK);
        assert_true(scr_hash_equal(got, fresh) ||
                    (rc != SCR_OK && scr_hash_equal(got, old)));
        scr_hash_delete(old);
        scr_hash_delete(fresh);
        scr_hash_delete(got);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

static void failing_read_changes_nothing(void **state)
{
    (void)state;
    const char *path = test_path("r.scr");
    test_put(path, nodes_bytes, sizeof nodes_bytes);
    for (long n = 0;; n++) {
        scr_hash *h = scr_hash_new();
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_hash_file_read(&test_fault_sys, path, h, NULL);
        int fired = test_fault_off();
        assert_int_equal(scr_hash_size(h), rc == SCR_OK ? 1 : 0);
        scr_hash_delete(h);
        if (!fired)
            break;
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

/* --- transactions --- */

struct edit {
    int add;     /* to NODES */
    int rc;      /* what the edit returns */
    int changed; /* what it says */
};

static int add_nodes(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct edit *e = arg;
    int n = 0;
    (void)err;
    (void)scr_hash_get_val_int(h, "NODES", &n);
    scr_hash_set_val_i64(h, "NODES", n + e->add);
    *changed = e->changed;
    return e->rc;
}

static int update(const struct scr_sys *sys, const char *path, struct edit e)
{
    return scr_hash_file_update(sys, path, 1000, add_nodes, &e, NULL);
}

static void update_reads_edits_and_replaces(void **state)
{
    (void)state;
    const char *path = test_path("u.scr");
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 5, SCR_OK, 1 }),
                     SCR_OK);
    assert_nodes(path, "5"); /* absent counted as empty */
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 2, SCR_OK, 1 }),
                     SCR_OK);
    assert_nodes(path, "7");
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 2, SCR_OK, 0 }),
                     SCR_OK);
    assert_nodes(path, "7"); /* nothing changed, nothing written */
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 2, SCR_E_ARG, 1 }),
                     SCR_E_ARG);
    assert_nodes(path, "7"); /* an edit that fails is not written */
}

static void update_never_replaces_what_it_cannot_read(void **state)
{
    (void)state;
    const char *path = test_path("damaged.scr");
    size_t n;
    test_put(path, "garbage", 7);
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 1, SCR_OK, 1 }),
                     SCR_E_CORRUPT);
    char *bytes = test_get(path, &n);
    assert_int_equal(n, 7);
    assert_memory_equal(bytes, "garbage", 7);
    free(bytes);
}

static void update_waits_for_the_lock(void **state)
{
    (void)state;
    const char *path = test_path("locked.scr");
    struct scr_lock lock = SCR_LOCK_INIT;
    struct edit e = { 1, SCR_OK, 1 };
    assert_int_equal(update(&scr_sys_posix, path, e), SCR_OK);
    assert_int_equal(
        scr_lock_acquire(&scr_sys_posix, test_path("locked.scr.lock"), 0, &lock, NULL),
        SCR_OK);
    assert_int_equal(
        scr_hash_file_update(&scr_sys_posix, path, 20, add_nodes, &e, NULL),
        SCR_E_LOCKED);
    assert_nodes(path, "1");
    scr_lock_release(&scr_sys_posix, &lock);
    assert_int_equal(update(&scr_sys_posix, path, e), SCR_OK);
    assert_nodes(path, "2");
}

static void update_failing_anywhere_keeps_old_or_new(void **state)
{
    (void)state;
    const char *path = test_path("f.scr");
    for (long n = 0;; n++) {
        int value = 0;
        scr_hash *old = nodes_hash(3), *got = scr_hash_new();
        assert_int_equal(
            scr_hash_file_write(&scr_sys_posix, path, old, SCR_VOLATILE, NULL), SCR_OK);
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = update(&test_fault_sys, path, (struct edit){ 1, SCR_OK, 1 });
        int fired = test_fault_off();
        assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, got, NULL), SCR_OK);
        assert_true(scr_hash_get_val_int(got, "NODES", &value));
        assert_true(value == 4 || (rc != SCR_OK && value == 3));
        scr_hash_delete(old);
        scr_hash_delete(got);
        if (!fired)
            break;
        /* and the lock is free again */
        assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 0, SCR_OK, 0 }),
                         SCR_OK);
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

static int add_nodes_alone(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct edit inner = { 7, SCR_OK, 1 };
    assert_int_equal(scr_hash_file_update(&scr_sys_posix, test_path("held.scr"), 10,
                                          add_nodes, &inner, NULL),
                     SCR_E_LOCKED);
    return add_nodes(h, arg, changed, err);
}

static void update_holds_the_lock_during_the_edit(void **state)
{
    (void)state;
    const char *path = test_path("held.scr");
    struct edit e = { 9, SCR_OK, 1 };
    assert_int_equal(
        scr_hash_file_update(&scr_sys_posix, path, 1000, add_nodes_alone, &e, NULL),
        SCR_OK);
    assert_nodes(path, "9"); /* nothing came between */
    e = (struct edit){ 1, SCR_OK, 0 };
    assert_int_equal(
        scr_hash_file_update(&scr_sys_posix, path, 1000, add_nodes_alone, &e, NULL),
        SCR_OK);
    assert_nodes(path, "9"); /* left as it was */
    assert_int_equal(update(&scr_sys_posix, path, (struct edit){ 1, SCR_OK, 1 }),
                     SCR_OK);
    assert_nodes(path, "10"); /* and the lock is free again */
}

/* As many elements as n is, of 20 bytes each. */
static void pack_numbers(struct scr_str *s, const void *n)
{
    scr_pack_count(s, (size_t) * (const int *)n);
    for (int i = 0; i < *(const int *)n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%07d", i);
        scr_pack_val(s, key, "abc");
    }
}

static int write_large(const struct scr_sys *sys, const char *path, int n,
                       struct scr_err *err)
{
    return scr_frame_replace(sys, path, pack_numbers, &n, SCR_VOLATILE, err);
}

static void what_is_written_in_pieces_is_the_same_file(void **state)
{
    (void)state;
    static const int numbers[] = { 0, 1, 3275, 3276, 3277, 3278, 20000 };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *path = test_path("pieces.scr");
        struct scr_str want = SCR_STR_INIT;
        void *got = NULL;
        size_t n = 0;
        scr_frame_begin(&want);
        pack_numbers(&want, &numbers[i]);
        scr_frame_end(&want);
        assert_int_equal(write_large(&scr_sys_posix, path, numbers[i], NULL), SCR_OK);
        assert_int_equal(scr_file_load(&scr_sys_posix, path, 1 << 30, &got, &n, NULL),
                         SCR_OK);
        assert_int_equal(n, want.len);
        assert_memory_equal(got, want.p, n);
        free(got);
        scr_str_free(&want);
    }
}

static void a_piece_that_cannot_be_written_leaves_the_old_file(void **state)
{
    (void)state;
    const char *path = test_path("pieces.scr");
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(write_large(&scr_sys_posix, path, 1, NULL), SCR_OK);
    for (long nth = 0; nth < 3; nth++) {
        test_fault_arm(TEST_WRITE, nth, ENOSPC, TEST_ONCE);
        scr_err_clear(&err);
        assert_int_equal(write_large(&test_fault_sys, path, 20000, &err), SCR_E_FULL);
        assert_int_equal(test_fault_off(), 1);
        scr_hash *h = scr_hash_new();
        assert_int_equal(scr_hash_file_read(&scr_sys_posix, path, h, NULL), SCR_OK);
        assert_int_equal(scr_hash_size(h), 1);
        scr_hash_delete(h);
    }
}

static void a_frame_of_another_size_is_an_error(void **state)
{
    (void)state;
    const char *path = test_path("frame.scr");
    struct scr_err err = SCR_ERR_INIT;
    int fd = -1;
    assert_int_equal(
        scr_open(&scr_sys_posix, path, O_WRONLY | O_CREAT, 0600, &fd, NULL), SCR_OK);
    struct scr_frame_out o = { .to = SCR_FD(&scr_sys_posix, fd, path),
                               .size = 100,
                               .err = &err };
    struct scr_str s;
    scr_frame_out_begin(&o, &s);
    scr_pack_count(&s, 0);
    assert_int_equal(scr_frame_out_end(&o, &s), SCR_E_FAILURE);
    assert_non_null(strstr(err.text, "28 bytes, 100"));
    assert_int_equal(scr_close(&scr_sys_posix, &fd, path, NULL), SCR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_the_manual),
        cmocka_unit_test(empty_hash_is_28_bytes),
        cmocka_unit_test(golden_files),
        cmocka_unit_test(files_others_write_are_read),
        cmocka_unit_test(no_changed_byte_goes_unseen),
        cmocka_unit_test(no_missing_byte_goes_unseen),
        cmocka_unit_test(bytes_after_the_hash_are_corrupt),
        cmocka_unit_test(decode_merges),
        cmocka_unit_test(lost_or_too_deep_is_not_encoded),
        cmocka_unit_test(write_and_read),
        cmocka_unit_test(absent_and_damaged_files_are_distinguished),
        cmocka_unit_test(failing_write_keeps_the_old_file),
        cmocka_unit_test(failing_read_changes_nothing),
        cmocka_unit_test(update_reads_edits_and_replaces),
        cmocka_unit_test(update_never_replaces_what_it_cannot_read),
        cmocka_unit_test(update_waits_for_the_lock),
        cmocka_unit_test(update_failing_anywhere_keeps_old_or_new),
        cmocka_unit_test(what_is_written_in_pieces_is_the_same_file),
        cmocka_unit_test(a_piece_that_cannot_be_written_leaves_the_old_file),
        cmocka_unit_test(a_frame_of_another_size_is_an_error),
        cmocka_unit_test(update_holds_the_lock_during_the_edit),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
