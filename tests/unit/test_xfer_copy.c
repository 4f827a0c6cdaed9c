/* SPDX-License-Identifier: BSD-3-Clause */
/* One file is copied whole or not at all, whatever system call fails. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "ec/ec.h"
#include "xfer/copy.h"
#include "xfer/zst.h"

enum { BYTES = 10000 };

static char src[512], dst[512];
static unsigned char bytes[BYTES];

static int setup(void **state)
{
    (void)state;
    snprintf(src, sizeof src, "%s", test_path("src"));
    snprintf(dst, sizeof dst, "%s", test_path("out/dst"));
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("out"), 0700, &err),
                     SCR_OK);
    test_put(src, bytes, BYTES);
    assert_int_equal(chmod(src, 0640), 0);
    return 0;
}

static void assert_holds(const char *path, const void *want, size_t n)
{
    size_t got_n;
    void *got = test_get(path, &got_n);
    assert_int_equal(got_n, n);
    assert_memory_equal(got, want, n);
    free(got);
}

/* Names in the directory of dst: nothing but dst itself is ever left. */
static void assert_no_leftovers(void)
{
    char **names;
    size_t n;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_dir_list(&scr_sys_posix, test_path("out"), &names, &n, &err),
                     SCR_OK);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], "dst");
    scr_names_free(names, n);
}

static int copy(const struct scr_copy *job, struct scr_copied *got)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = scr_copy_file(&test_fault_sys, job, got, &err);
    assert_int_equal(err.code, rc);
    return rc;
}

static void copies_bytes_crc_mode_and_times(void **state)
{
    (void)state;
    const struct timespec times[2] = { { 1111111111, 111 }, { 1222222222, 222 } };
    assert_int_equal(utimensat(AT_FDCWD, src, times, 0), 0);
    struct scr_copy job = { .src = src, .dst = dst, .want_crc = 1 };
    struct scr_copied got;
    struct stat st;
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(stat(dst, &st), 0); /* before a reader moves the access time */
    assert_holds(dst, bytes, BYTES);
    assert_int_equal(got.size, BYTES);
    assert_int_equal(got.crc, scr_crc32(0, bytes, BYTES));
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_mtim.tv_sec, 1222222222);
    assert_int_equal(st.st_mtim.tv_nsec, 222);
    assert_int_equal(st.st_atim.tv_sec, 1111111111);
    assert_no_leftovers();
}

static void any_buffer_and_any_length_give_the_same_bytes(void **state)
{
    (void)state;
    static const size_t lens[] = { 0, 1, 63, 64, 65, 128, 4096, BYTES };
    static const size_t bufs[] = { 1, 64, 4096, 0, 1 << 30 };
    for (size_t l = 0; l < sizeof lens / sizeof *lens; l++)
        for (size_t b = 0; b < sizeof bufs / sizeof *bufs; b++) {
            struct scr_copied got;
            const uint64_t size = lens[l];
            const uint32_t crc = scr_crc32(0, bytes, lens[l]);
            struct scr_copy job = {
                .src = src, .dst = dst, .buf = bufs[b], .size = &size, .crc = &crc
            };
            test_put(src, bytes, lens[l]);
            assert_int_equal(copy(&job, &got), SCR_OK);
            assert_holds(dst, bytes, lens[l]);
            assert_int_equal(got.crc, crc);
        }
}

static void attributes_may_come_from_elsewhere(void **state)
{
    (void)state;
    struct stat st, attr = { .st_mode = 0444, .st_uid = (uid_t)-1 };
    attr.st_mtim.tv_sec = 1000000000;
    struct scr_copy job = { .src = src, .dst = dst, .attr = &attr, .mode_or = 0200 };
    struct scr_copied got;
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(stat(dst, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_mtim.tv_sec, 1000000000);
    assert_int_equal(got.st.st_mode & 07777, 0640);
    assert_int_equal(got.crc, 0); /* not requested */
}

static void sync_is_one_fsync_and_no_sync_none(void **state)
{
    (void)state;
    struct scr_copied got;
    struct scr_copy job = { .src = src, .dst = dst };
    test_fault_arm(TEST_FSYNC, -1, 0, TEST_ONCE);
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_count(TEST_FSYNC), 0);
    job.sync = 1;
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_count(TEST_FSYNC), 1);
}

static void
what_will_be_synced_goes_ahead_and_whether_it_can_does_not_matter(void **state)
{
    (void)state;
    struct scr_copied got;
    struct scr_copy job = { .src = src, .dst = dst, .buf = 1000000 };
    assert_int_equal(truncate(src, (20 << 20) + 1), 0);
    test_fault_arm(TEST_SYNC_FILE_RANGE, -1, 0, TEST_ONCE);
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_count(TEST_SYNC_FILE_RANGE), 0);
    job.sync = 1;
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_count(TEST_SYNC_FILE_RANGE), 2); /* 8 MiB each */
    test_fault_arm(TEST_SYNC_FILE_RANGE, 0, ENOSYS, TEST_FOREVER);
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_off(), 1);
    assert_int_equal(got.size, (20 << 20) + 1);
}

/* Each refusal keeps the old dst and leaves no temporary. */
static void what_is_not_as_recorded_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t size;
        uint32_t flip;
        int code;
    } cases[] = { { BYTES + 1, 0, SCR_E_MISSING },
                  { BYTES - 1, 0, SCR_E_CORRUPT },
                  { BYTES, 1, SCR_E_CORRUPT } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t crc = scr_crc32(0, bytes, BYTES) ^ cases[i].flip;
        struct scr_copy job = {
            .src = src, .dst = dst, .size = &cases[i].size, .crc = &crc
        };
        struct scr_copied got;
        test_put(dst, "old", 3);
        assert_int_equal(copy(&job, &got), cases[i].code);
        assert_holds(dst, "old", 3);
        assert_no_leftovers();
    }
}

/* No rename: the file has its name from its first byte on. A link in its place goes. */
static void under_its_own_name_a_file_is_whole_or_gone(void **state)
{
    (void)state;
    const uint64_t size = BYTES;
    const uint32_t crc = scr_crc32(0, bytes, BYTES), other = crc ^ 1;
    const char *victim = test_path("victim");
    struct scr_copy job = { .src = src, .dst = dst, .tmp = dst, .size = &size };
    struct scr_copied got;
    test_put(victim, "mine", 4);
    (void)unlink(dst);
    assert_int_equal(symlink(victim, dst), 0);
    test_fault_arm(TEST_RENAMEAT, 0, EIO, TEST_FOREVER);
    job.crc = &crc;
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_int_equal(test_fault_off(), 0);
    assert_holds(dst, bytes, BYTES);
    assert_holds(victim, "mine", 4);
    job.crc = &other;
    assert_int_equal(copy(&job, &got), SCR_E_CORRUPT);
    assert_int_equal(access(dst, F_OK), -1);
    assert_no_leftovers();
}

static void sources_that_are_no_files_are_refused(void **state)
{
    (void)state;
    struct scr_copied got;
    struct scr_copy job = { .src = src, .dst = dst };
    assert_int_equal(unlink(src), 0);
    assert_int_equal(copy(&job, &got), SCR_E_NOENT);
    assert_int_equal(mkfifo(src, 0600), 0); /* must not wait for a writer */
    assert_int_equal(copy(&job, &got), SCR_E_UNSAFE);
    job.src = test_tmp();
    assert_int_equal(copy(&job, &got), SCR_E_UNSAFE);
    assert_int_equal(unlink(src), 0);
    assert_no_leftovers();
}

static void links_in_the_way_are_replaced_not_followed(void **state)
{
    (void)state;
    const char *victim = test_path("victim");
    char *tmp = scr_copy_tmp(dst, 7);
    struct scr_copied got;
    struct scr_copy job = { .src = src, .dst = dst, .tag = 7 };
    test_put(victim, "mine", 4);
    assert_int_equal(symlink(victim, dst), 0);
    assert_int_equal(symlink(victim, tmp), 0);
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_holds(victim, "mine", 4);
    assert_holds(dst, bytes, BYTES);
    assert_no_leftovers();
    free(tmp);
}

static void the_longest_name_can_be_copied(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'x', 255);
    name[255] = '\0';
    char *tmp = scr_copy_tmp(test_path("out/%s", name), 3);
    char *other = scr_copy_tmp(test_path("out/%s", name), 4);
    struct scr_copied got;
    struct scr_copy job = { .src = src, .dst = test_path("out/%s", name) };
    assert_int_equal(copy(&job, &got), SCR_OK);
    assert_holds(test_path("out/%s", name), bytes, BYTES);
    assert_string_not_equal(tmp, other); /* two writers into a directory never meet */
    free(tmp);
    free(other);
}

/* Both are open at once where names wait for all files: a transfer that holds them. */
static void names_of_one_crc32_have_different_temporaries(void **state)
{
    static const char *const names[] = { "vmiqwhbqz", "jsqzuhrhp" };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copy_open open[2];
    struct scr_copied got;
    struct scr_copy job[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        job[i] = (struct scr_copy){ .src = src, .dst = test_path("out/%s", names[i]) };
        assert_int_equal(scr_crc32(0, names[i], 9), scr_crc32(0, names[0], 9));
        assert_int_equal(scr_copy_begin(&test_fault_sys, &job[i], &open[i], &got, &err),
                         SCR_OK);
        test_put(src, "second", 6);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(scr_copy_commit(&test_fault_sys, &job[i], &open[i], &err),
                         SCR_OK);
    assert_holds(job[0].dst, bytes, BYTES);
    assert_holds(job[1].dst, "second", 6);
}

static void interruptions_and_short_transfers_go_unnoticed(void **state)
{
    (void)state;
    static const enum test_kind kinds[] = { TEST_PREAD, TEST_WRITE };
    const uint32_t crc = scr_crc32(0, bytes, BYTES);
    struct scr_copy job = { .src = src, .dst = dst, .crc = &crc, .buf = 1000 };
    struct scr_copied got;
    for (int i = 0; i < 2; i++) {
        test_fault_arm(kinds[i], 3, EINTR, TEST_ONCE);
        assert_int_equal(copy(&job, &got), SCR_OK);
        assert_true(test_fault_off());
        test_fault_short(kinds[i], 2, 13, TEST_FOREVER);
        assert_int_equal(copy(&job, &got), SCR_OK);
        assert_true(test_fault_off());
        assert_holds(dst, bytes, BYTES);
    }
}

/* --- files of several slices --- */

enum { LARGE = 700001 };

/* src gets LARGE bytes, which are returned. */
static unsigned char *make_large(void)
{
    unsigned char *large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (unsigned char)(i * 11 + i / 253);
    test_put(src, large, LARGE);
    return large;
}

static void large_files_are_copied_whatever_fails(void **state)
{
    (void)state;
    unsigned char *large = make_large();
    const uint32_t crc = scr_crc32(0, large, LARGE);
    for (long n = 0;; n++) {
        struct scr_copied got;
        struct scr_copy job = { .src = src, .dst = dst, .crc = &crc, .buf = 100000 };
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = copy(&job, &got);
        int fired = test_fault_off();
        if (rc == SCR_OK) {
            assert_holds(dst, large, LARGE);
            assert_int_equal(got.size, LARGE);
            assert_int_equal(unlink(dst), 0);
        }
        assert_no_leftovers();
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            break;
        }
    }
    free(large);
}

static int change_source(void *arg, size_t n, struct scr_err *err)
{
    (void)n, (void)err;
    return truncate(src, *(const off_t *)arg) == 0 ? SCR_OK : SCR_E_IO;
}

static void one_that_changes_while_it_is_read_is_refused(void **state)
{
    static off_t sizes[] = { 1000, LARGE - 1, LARGE + 1 };
    (void)state;
    unsigned char *large = make_large();
    for (int i = 0; i < 3; i++) {
        struct scr_copied got;
        const struct scr_copy_pace pace = { change_source, &sizes[i] };
        struct scr_copy job = {
            .src = src, .dst = dst, .want_crc = 1, .buf = 100000, .pace = &pace
        };
        test_put(src, large, LARGE);
        test_put(dst, "old", 3);
        assert_int_equal(copy(&job, &got), SCR_E_CORRUPT);
        assert_holds(dst, "old", 3);
        assert_no_leftovers();
    }
    free(large);
}

/* --- what a file system cannot do --- */

/* A file whose owner has to be set, to a place that must be free; from call n on the
 * machine lacks that. 0: it makes no such call any more. */
static int copy_without(const struct test_lack *lack, long n, const void *want,
                        size_t size, enum scr_copy_code code)
{
    const uint32_t crc = scr_crc32(0, want, size);
    struct stat attr = { .st_mode = 0600, .st_uid = getuid() + 1, .st_gid = getgid() };
    struct scr_copied got;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copy job = { .src = src,
                            .dst = dst,
                            .crc = &crc,
                            .attr = &attr,
                            .buf = 100000,
                            .fresh = 1,
                            .sync = 1,
                            .code = code,
                            .level = 1 };
    test_fault_arm(lack->kind, n, lack->error, TEST_FOREVER);
    if (scr_copy_file(&test_fault_sys, &job, &got, &err) != SCR_OK)
        fail_msg("kind %d, errno %d: %s", lack->kind, lack->error, err.text);
    int fired = test_fault_off();
    assert_false(got.packed); /* noise: what is found not to pay is copied */
    assert_holds(dst, want, size);
    assert_int_equal(got.size, size);
    assert_int_equal(unlink(dst), 0);
    assert_no_leftovers();
    assert_int_equal(test_fault_open_fds(), 0);
    return fired;
}

enum { NOISE = 9 << 20 }; /* enough to be sampled, timed and synced ahead */

static unsigned char *make_noise(void)
{
    unsigned char *noise = malloc(NOISE);
    uint64_t x = 1;
    for (size_t i = 0; i < NOISE; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (unsigned char)(x >> 56);
    }
    return noise;
}

/* The calls that a file system may lack and that such a copy makes. */
static int is_made(enum test_kind kind)
{
    return kind == TEST_SYNC_FILE_RANGE || kind == TEST_LINKAT || kind == TEST_FCHOWN;
}

static void whatever_a_file_system_lacks_the_copy_is_the_same(void **state)
{
    (void)state;
    unsigned char *noise = make_noise();
    test_put(src, noise, NOISE);
    for (int i = 0; i < TEST_LACKS; i++) {
        long failed = 0;
        for (long n = 0; n < 3; n++)
            failed += copy_without(&test_lacks[i], n, noise, NOISE, SCR_COPY_PLAIN);
        if (scr_zst_have())
            failed += copy_without(&test_lacks[i], 0, noise, NOISE, SCR_COPY_PACK);
        if (failed == 0 && is_made(test_lacks[i].kind))
            fail_msg("calls of kind %d are not made", test_lacks[i].kind);
    }
    free(noise);
}

/* Every call fails once, or the machine stops there: dst is the old or the whole new
 * file. */
static void each_failing_call_leaves_old_or_new(void **state)
{
    enum test_how how = *(const enum test_how *)*state;
    const uint32_t crc = scr_crc32(0, bytes, BYTES);
    const uint64_t size = BYTES;
    for (long n = 0;; n++) {
        struct scr_copied got;
        struct scr_copy job = {
            .src = src, .dst = dst, .crc = &crc, .size = &size, .buf = 4096, .sync = 1
        };
        test_put(dst, "old", 3);
        test_fault_arm(TEST_ANY, n, EIO, how);
        int rc = copy(&job, &got);
        int fired = test_fault_off();
        struct stat st;
        assert_int_equal(stat(dst, &st), 0);
        if (st.st_size == 3)
            assert_holds(dst, "old", 3);
        else
            assert_holds(dst, bytes, BYTES);
        if (how == TEST_ONCE && rc == SCR_OK)
            assert_int_equal(st.st_size, BYTES);
        if (how == TEST_ONCE)
            assert_no_leftovers();
        assert_int_equal(test_fault_open_fds(), 0);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            assert_true(n > 10);
            break;
        }
    }
}

static void a_full_disk_is_named_as_such(void **state)
{
    (void)state;
    struct scr_copied got;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copy job = { .src = src, .dst = dst };
    test_fault_arm(TEST_WRITE, 0, ENOSPC, TEST_ONCE);
    assert_int_equal(scr_copy_file(&test_fault_sys, &job, &got, &err), SCR_E_FULL);
    assert_true(test_fault_off());
    assert_non_null(strstr(err.text, "out/"));
    assert_no_leftovers();
}

int main(void)
{
    static enum test_how once = TEST_ONCE, forever = TEST_FOREVER;
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, test_tmp_teardown)
    const struct CMUnitTest tests[] = {
        CASE(copies_bytes_crc_mode_and_times),
        CASE(any_buffer_and_any_length_give_the_same_bytes),
        CASE(attributes_may_come_from_elsewhere),
        CASE(sync_is_one_fsync_and_no_sync_none),
        CASE(what_will_be_synced_goes_ahead_and_whether_it_can_does_not_matter),
        CASE(what_is_not_as_recorded_is_refused),
        CASE(under_its_own_name_a_file_is_whole_or_gone),
        CASE(sources_that_are_no_files_are_refused),
        CASE(links_in_the_way_are_replaced_not_followed),
        CASE(the_longest_name_can_be_copied),
        CASE(names_of_one_crc32_have_different_temporaries),
        CASE(interruptions_and_short_transfers_go_unnoticed),
        CASE(a_full_disk_is_named_as_such),
        CASE(large_files_are_copied_whatever_fails),
        CASE(one_that_changes_while_it_is_read_is_refused),
        CASE(whatever_a_file_system_lacks_the_copy_is_the_same),
        { "each_failing_call_once", each_failing_call_leaves_old_or_new, setup,
          test_tmp_teardown, &once },
        { "each_failing_call_forever", each_failing_call_leaves_old_or_new, setup,
          test_tmp_teardown, &forever },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
