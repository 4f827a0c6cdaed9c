/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression: streams, when it pays, and copies that are compressed or unpacked on
 * their way, whatever system call fails. */
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
#include "xfer/stored.h"
#include "xfer/xfer.h"
#include "xfer/zst.h"

enum { BYTES = 300000 };

static char src[512], zst[512], back[512];
static unsigned char bytes[BYTES], noise[BYTES];

static int setup(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    uint64_t x = 88172645463325252u;
    (void)state;
    /* The link is memory: a disk that hangs is a slow one, for which all is packed. */
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    for (size_t i = 0; i < BYTES; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        noise[i] = (unsigned char)x;
        bytes[i] = (unsigned char)(i / 100);
    }
    snprintf(src, sizeof src, "%s", test_path("src"));
    snprintf(zst, sizeof zst, "%s", test_path("out/f.zst"));
    snprintf(back, sizeof back, "%s", test_path("out/back"));
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("out"), 0700, &err),
                     SCR_OK);
    test_put(src, bytes, BYTES);
    return 0;
}

/* --- streams --- */

struct buffer {
    char *p;
    size_t n;
};

static int collect(void *arg, const void *buf, size_t n, struct scr_err *err)
{
    struct buffer *s = arg;
    (void)err;
    s->p = realloc(s->p, s->n + n);
    memcpy(s->p + s->n, buf, n);
    s->n += n;
    return SCR_OK;
}

/* In pieces of `step` bytes. */
static int run(struct scr_zst *z, const void *in, size_t n, size_t step,
               struct buffer *out, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t at = 0; at < n && rc == SCR_OK; at += step)
        rc = scr_zst_feed(z, (const char *)in + at, n - at < step ? n - at : step,
                          collect, out, err);
    if (rc == SCR_OK)
        rc = scr_zst_end(z, collect, out, err);
    scr_zst_free(z);
    return rc;
}

static void streams_come_back(void **state)
{
    static const size_t sizes[] = { 0, 1, 4096, BYTES };
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int level = 1; level <= 19; level += 6) {
            struct buffer packed = { 0 }, plain = { 0 };
            struct scr_err err = SCR_ERR_INIT;
            size_t n = sizes[i];
            assert_int_equal(
                run(scr_zst_packer(level, n, &err), bytes, n, 1000, &packed, &err),
                SCR_OK);
            assert_int_equal(
                run(scr_zst_unpacker(&err), packed.p, packed.n, 77, &plain, &err),
                SCR_OK);
            assert_int_equal(plain.n, n);
            if (n > 0)
                assert_memory_equal(plain.p, bytes, n);
            free(packed.p);
            free(plain.p);
        }
}

static void cut_short_or_damaged_streams_are_corrupt(void **state)
{
    struct buffer packed = { 0 };
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    assert_int_equal(
        run(scr_zst_packer(3, BYTES, &err), bytes, BYTES, 4096, &packed, &err), SCR_OK);
    for (size_t n = 0; n < packed.n; n++) {
        struct buffer plain = { 0 };
        struct scr_err why = SCR_ERR_INIT;
        assert_int_equal(run(scr_zst_unpacker(&why), packed.p, n, 64, &plain, &why),
                         SCR_E_CORRUPT);
        free(plain.p);
    }
    for (size_t at = 0; at < packed.n; at++) {
        struct buffer plain = { 0 };
        struct scr_err why = SCR_ERR_INIT;
        packed.p[at] ^= 0x10;
        int rc = run(scr_zst_unpacker(&why), packed.p, packed.n, 4096, &plain, &why);
        /* A bit that says nothing of the content may be another one. */
        assert_true(rc == SCR_E_CORRUPT ||
                    (plain.n == BYTES && memcmp(plain.p, bytes, BYTES) == 0));
        packed.p[at] ^= 0x10;
        free(plain.p);
    }
    free(packed.p);
}

/* --- when it pays --- */

static void it_pays_when_packing_is_faster_than_writing_what_it_saves(void **state)
{
    struct scr_gauge g = { 0 };
    const uint64_t mib = 1 << 20;
    (void)state;
    assert_true(scr_gauge_pays(&g, 100 * mib, 50 * mib)); /* nothing is known */
    assert_false(scr_gauge_pays(&g, 100 * mib, 99 * mib));
    assert_false(scr_gauge_pays(&g, 100 * mib, 101 * mib));
    assert_false(scr_gauge_pays(&g, 5000, 1000)); /* less than a block */
    scr_gauge_pack(&g, 400 * mib, 1.0);
    assert_true(scr_gauge_pays(&g, 100 * mib, 50 * mib)); /* of the link is not */
    scr_gauge_link(&g, 100 * mib, 1.0);
    assert_true(scr_gauge_pays(&g, 100 * mib, 50 * mib));  /* 0.25 s for 0.5 s */
    assert_false(scr_gauge_pays(&g, 100 * mib, 80 * mib)); /* for 0.2 s */
    for (int i = 0; i < 20; i++) /* the link gets faster, and that counts */
        scr_gauge_link(&g, 1000 * mib, 1.0);
    assert_false(scr_gauge_pays(&g, 100 * mib, 50 * mib));
}

static int count_tries(struct scr_gauge *g, int files, int paid)
{
    int tries = 0;
    for (int i = 0; i < files; i++)
        if (scr_gauge_try(g)) {
            tries++;
            scr_gauge_tried(g, paid);
        }
    return tries;
}

static void files_like_those_that_did_not_pay_are_seldom_tried(void **state)
{
    struct scr_gauge g = { 0 };
    (void)state;
    assert_int_equal(count_tries(&g, 10, 1), 10);
    assert_in_range(count_tries(&g, 160, 0), 4, 16);
    while (!scr_gauge_try(&g))
        ;
    scr_gauge_tried(&g, 1);
    assert_int_equal(count_tries(&g, 10, 1), 10);
}

/* --- copies --- */

static void assert_holds(const char *path, const void *want, size_t n)
{
    size_t got_n;
    void *got = test_get(path, &got_n);
    assert_int_equal(got_n, n);
    assert_memory_equal(got, want, n);
    free(got);
}

static void assert_only(const char *name)
{
    char **names;
    size_t n;
    assert_int_equal(scr_dir_list(&scr_sys_posix, test_path("out"), &names, &n, NULL),
                     SCR_OK);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], name);
    scr_names_free(names, n);
}

static struct scr_copied pack(const struct scr_sys *sys, int *rc)
{
    struct scr_copy job = { .src = src,
                            .dst = zst,
                            .tag = 1,
                            .code = SCR_COPY_PACK,
                            .level = 3,
                            .sync = 1,
                            .want_crc = 1 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copied got;
    *rc = scr_copy_file(sys, &job, &got, &err);
    assert_int_equal(err.code, *rc);
    return got;
}

static void a_copy_is_compressed_and_unpacked(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc;
    (void)state;
    test_put(src, bytes, BYTES);
    struct scr_copied got = pack(&scr_sys_posix, &rc);
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(got.packed, 1);
    assert_int_equal(got.size, BYTES);
    assert_int_equal(got.crc, scr_crc32(0, bytes, BYTES));
    size_t n;
    void *stored = test_get(zst, &n);
    assert_int_equal(got.stored_size, n);
    assert_int_equal(got.stored_crc, scr_crc32(0, stored, n));
    free(stored);

    struct scr_copied again;
    struct scr_copy job = { .src = zst,
                            .dst = back,
                            .tag = 1,
                            .code = SCR_COPY_UNPACK,
                            .size = &got.size,
                            .crc = &got.crc,
                            .stored_size = &got.stored_size,
                            .stored_crc = &got.stored_crc };
    assert_int_equal(scr_copy_file(&scr_sys_posix, &job, &again, &err), SCR_OK);
    assert_holds(back, bytes, BYTES);
    unlink(back);
    assert_int_equal(scr_copy_check(&scr_sys_posix, &job, &again, &err), SCR_OK);
    assert_int_equal(again.size, BYTES);
    assert_only("f.zst");

    uint64_t other = BYTES - 1; /* a frame with more in it than was recorded */
    job.size = &other;
    assert_int_equal(scr_copy_check(&scr_sys_posix, &job, &again, &err), SCR_E_CORRUPT);
    job.size = &got.size;
    uint32_t crc = got.crc ^ 1;
    job.crc = &crc;
    scr_err_clear(&err);
    assert_int_equal(scr_copy_file(&scr_sys_posix, &job, &again, &err), SCR_E_CORRUPT);
    assert_only("f.zst");
    unlink(zst);
}

static void what_does_not_get_smaller_is_copied_as_it_is(void **state)
{
    int rc;
    (void)state;
    test_put(src, noise, BYTES);
    struct scr_copied got = pack(&scr_sys_posix, &rc);
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(got.packed, 0);
    assert_int_equal(got.size, BYTES);
    assert_int_equal(got.crc, scr_crc32(0, noise, BYTES));
    assert_holds(zst, noise, BYTES);
    test_put(src, bytes, 4000); /* nor what takes a block all the same */
    got = pack(&scr_sys_posix, &rc);
    assert_int_equal(got.packed, 0);
    assert_holds(zst, bytes, 4000);
    unlink(zst);
}

static void a_fast_link_ends_the_compression_of_a_large_file(void **state)
{
    enum { SIZE = 20 << 20 };
    struct scr_gauge g = { 0 };
    struct scr_copy job = {
        .src = src, .dst = zst, .code = SCR_COPY_PACK, .level = 3, .gauge = &g
    };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copied got;
    char *large = malloc(SIZE);
    (void)state;
    for (int i = 0; i < SIZE; i++)
        large[i] = (char)(noise[i % 1000] & (i / 1000));
    test_put(src, large, SIZE);
    scr_gauge_link(&g, 1u << 30, 1e-6);
    assert_int_equal(scr_copy_file(&scr_sys_posix, &job, &got, &err), SCR_OK);
    assert_int_equal(got.packed, 0);
    assert_holds(zst, large, SIZE);
    g = (struct scr_gauge){ 0 };
    scr_gauge_link(&g, 1000, 100.0); /* and a slow one does not */
    assert_int_equal(scr_copy_file(&scr_sys_posix, &job, &got, &err), SCR_OK);
    assert_int_equal(got.packed, 1);
    free(large);
    unlink(zst);
}

/* --- large files are looked at before --- */

enum { LARGE = (8 << 20) + 5000 };

enum content { TEXT, NOISE, NEARLY_NOISE };

/* NEARLY_NOISE: a fifteenth of it can be saved. malloc'd, and in src. */
static unsigned char *put_large(enum content what)
{
    unsigned char *large = malloc(LARGE);
    uint64_t x = 88172645463325252u;
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int plain = what == TEXT || (what == NEARLY_NOISE && i % 4096 >= 3800);
        large[i] = plain ? (unsigned char)(i / 4096) : (unsigned char)(x >> 32);
    }
    test_put(src, large, LARGE);
    return large;
}

/* A link that takes this long for a KiB. */
static int linger(void *us_per_kib, size_t n, struct scr_err *err)
{
    (void)err;
    usleep((useconds_t)(*(int *)us_per_kib * (long)n / 1024));
    return SCR_OK;
}

static struct scr_copied pack_large(const struct scr_sys *sys, int level,
                                    int us_per_kib, const struct scr_gauge *g, int *rc)
{
    const struct scr_copy_pace pace = { linger, &us_per_kib };
    const struct scr_copy job = { .src = src,
                                  .dst = zst,
                                  .tag = 1,
                                  .code = SCR_COPY_PACK,
                                  .level = level,
                                  .gauge = g,
                                  .want_crc = 1,
                                  .pace = us_per_kib > 0 ? &pace : NULL };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_copied got;
    *rc = scr_copy_file(sys, &job, &got, &err);
    assert_int_equal(err.code, *rc);
    return got;
}

/* Over a link of any speed, with its calls counted: it is stored as it is. */
static struct scr_copied store_plain(const unsigned char *large, int level)
{
    int rc;
    test_fault_arm(TEST_ANY, 1 << 20, EIO, TEST_ONCE);
    struct scr_copied got = pack_large(&test_fault_sys, level, 0, NULL, &rc);
    test_fault_off();
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(got.packed, 0);
    assert_int_equal(got.crc, scr_crc32(0, large, LARGE));
    assert_holds(zst, large, LARGE);
    return got;
}

static void noise_costs_a_few_pieces(void **state)
{
    (void)state;
    unsigned char *large = put_large(NOISE);
    struct scr_copied got = store_plain(large, 3);
    assert_true(got.packing.bytes < LARGE / 16);
    assert_int_equal(test_fault_count(TEST_FTRUNCATE),
                     0);                               /* nothing was begun twice, */
    assert_int_equal(test_fault_count(TEST_FSYNC), 0); /* nor waited for */
    free(large);
    unlink(zst);
}

/* What was written to measure the link stays when that is too fast, or the packer too
 * slow. */
static void what_is_not_worth_the_time_is_written_once(void **state)
{
    int rc;
    (void)state;
    unsigned char *large = put_large(NEARLY_NOISE);
    struct scr_copied got = store_plain(large, 19);
    assert_int_equal((int)got.link.bytes, 1 << 20);
    assert_int_equal(test_fault_count(TEST_FSYNC), 1);
    assert_int_equal(test_fault_count(TEST_FTRUNCATE), 0);
    struct scr_gauge g = { 0 }; /* a link that is known is not measured */
    scr_gauge_link(&g, 1u << 30, 0.1);
    got = pack_large(&scr_sys_posix, 19, 0, &g, &rc);
    assert_int_equal(got.packed, 0);
    assert_true(got.link.bytes <= 0);
    free(large);
    unlink(zst);
}

static void a_slow_link_is_found_out(void **state)
{
    int rc;
    (void)state;
    unsigned char *large = put_large(TEXT);
    struct scr_copied got = pack_large(&scr_sys_posix, 3, 500, NULL, &rc); /* 2 MiB/s */
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(got.packed, 1);
    assert_int_equal(got.size, LARGE);
    assert_int_equal(got.crc, scr_crc32(0, large, LARGE));
    assert_int_equal((int)got.link.bytes, 1 << 20);
    free(large);
    unlink(zst);
}

/* Some calls of a large file that is begun plain and then packed, or stays plain. */
static void whatever_call_fails_a_large_one_is_whole_or_not_there(void **state)
{
    enum { STRIDE = 7 };
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        unsigned char *large = put_large(slow ? TEXT : NEARLY_NOISE);
        int fired = 1;
        for (long n = 0; fired; n += STRIDE) {
            int rc;
            test_fault_arm(TEST_ANY, n, ENOSPC, TEST_ONCE);
            struct scr_copied got =
                pack_large(&test_fault_sys, slow ? 3 : 19, slow ? 200 : 0, NULL, &rc);
            fired = test_fault_off();
            assert_true(fired || rc == SCR_OK);
            assert_true(rc == SCR_OK || access(zst, F_OK) != 0);
            assert_true(rc != SCR_OK || got.packed == slow);
            assert_true(rc != SCR_OK || got.crc == scr_crc32(0, large, LARGE));
            assert_only("f.zst");
            unlink(zst);
        }
        free(large);
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Of a file that pays, and of one that is begun twice. */
static void whatever_call_fails_it_is_whole_or_not_there(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const unsigned char *want = kind == 0 ? bytes : noise;
        long n = 0;
        int fired = 1;
        test_put(src, want, BYTES);
        for (; fired; n++) {
            int rc;
            test_fault_arm(TEST_ANY, n, ENOSPC, TEST_ONCE);
            struct scr_copied got = pack(&test_fault_sys, &rc);
            fired = test_fault_off();
            assert_true(fired || rc == SCR_OK);
            assert_true(rc == SCR_OK || access(zst, F_OK) != 0);
            assert_true(rc != SCR_OK || got.packed == (kind == 0));
            assert_only("f.zst");
            unlink(zst);
        }
        assert_true(n > 10);
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

static void interruptions_are_not_noticed(void **state)
{
    (void)state;
    test_put(src, bytes, BYTES);
    for (long n = 0; n < 20; n++)
        for (int kind = TEST_READ; kind <= TEST_WRITE; kind++) {
            int rc;
            test_fault_arm((enum test_kind)kind, n, EINTR, TEST_ONCE);
            struct scr_copied got = pack(&test_fault_sys, &rc);
            test_fault_off();
            assert_int_equal(rc, SCR_OK);
            assert_int_equal(got.packed, 1);
        }
    unlink(zst);
}

/* --- transfers --- */

static void a_transfer_puts_the_frame_in_the_place_of_the_older_file(void **state)
{
    struct scr_xfer_opts o = { .pack = 3, .want_crc = 1 };
    struct scr_err err = SCR_ERR_INIT;
    char plain[512];
    (void)state;
    snprintf(plain, sizeof plain, "%s", test_path("out/f"));
    test_put(plain, "old", 3);
    test_put(src, bytes, BYTES);
    struct scr_xfer *x = scr_xfer_new(&o, &err);
    struct scr_mover *m = scr_mover_new(SCR_XFER_SYNC, &scr_sys_posix, &err);
    struct scr_xfer_file f = {
        .src = src, .dst = plain, .name = "f", .attr.st_mode = 0640
    };
    assert_int_equal(scr_xfer_add(x, &f, &err), SCR_OK);
    assert_int_equal(scr_mover_start(m, x, &err), SCR_OK);
    assert_int_equal(scr_mover_wait(m, x, &err), SCR_OK);
    size_t n;
    const struct scr_xfer_file *got = scr_xfer_files(x, &n);
    assert_int_equal(got->whole && got->packed, 1);
    assert_int_equal(got->size, BYTES);
    assert_int_not_equal(access(plain, F_OK), 0);
    void *stored = test_get(zst, &n);
    assert_int_equal(n, got->stored_size);
    free(stored);
    scr_xfer_free(x);
    scr_mover_free(m);
    unlink(zst);
}

static void without_the_library_it_says_so(void **state)
{
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    assert_null(scr_zst_packer(3, 0, &err));
    assert_int_equal(err.code, SCR_E_UNSUPPORTED);
    scr_err_clear(&err);
    assert_null(scr_zst_unpacker(&err));
    assert_int_equal(err.code, SCR_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_come_back),
        cmocka_unit_test(cut_short_or_damaged_streams_are_corrupt),
        cmocka_unit_test(it_pays_when_packing_is_faster_than_writing_what_it_saves),
        cmocka_unit_test(files_like_those_that_did_not_pay_are_seldom_tried),
        cmocka_unit_test(a_copy_is_compressed_and_unpacked),
        cmocka_unit_test(what_does_not_get_smaller_is_copied_as_it_is),
        cmocka_unit_test(a_fast_link_ends_the_compression_of_a_large_file),
        cmocka_unit_test(noise_costs_a_few_pieces),
        cmocka_unit_test(what_is_not_worth_the_time_is_written_once),
        cmocka_unit_test(a_slow_link_is_found_out),
        cmocka_unit_test(whatever_call_fails_a_large_one_is_whole_or_not_there),
        cmocka_unit_test(whatever_call_fails_it_is_whole_or_not_there),
        cmocka_unit_test(interruptions_are_not_noticed),
        cmocka_unit_test(a_transfer_puts_the_frame_in_the_place_of_the_older_file),
    };
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(it_pays_when_packing_is_faster_than_writing_what_it_saves),
        cmocka_unit_test(files_like_those_that_did_not_pay_are_seldom_tried),
        cmocka_unit_test(without_the_library_it_says_so),
    };
    return scr_zst_have() ? cmocka_run_group_tests(tests, setup, test_tmp_teardown)
                          : cmocka_run_group_tests(plain, setup, test_tmp_teardown);
}
