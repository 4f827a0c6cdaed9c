/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression: streams, what is kept of it, and copies that are compressed or unpacked
 * on their way, whatever system call fails. */
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

/* --- large files: their beginning decides --- */

enum { LARGE = (8 << 20) + 5000 };

/* Of each page so many bytes can be saved. malloc'd, and in src. */
static unsigned char *put_large(size_t saved)
{
    unsigned char *large = malloc(LARGE);
    uint64_t x = 88172645463325252u;
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int plain = i % 4096 < saved;
        large[i] = plain ? (unsigned char)(i / 4096) : (unsigned char)(x >> 32);
    }
    test_put(src, large, LARGE);
    return large;
}

static const struct {
    size_t saved; /* of a page */
    int packed;
} parts[] = { { 0, 0 }, { 150, 0 }, { 280, 1 }, { 4096, 1 } };

static void a_twentieth_saved_is_kept_and_less_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int rc;
        unsigned char *large = put_large(parts[i].saved);
        struct scr_copied got = pack(&scr_sys_posix, &rc);
        assert_int_equal(rc, SCR_OK);
        assert_int_equal(got.packed, parts[i].packed);
        assert_int_equal(got.size, LARGE);
        assert_int_equal(got.crc, scr_crc32(0, large, LARGE));
        if (!got.packed)
            assert_holds(zst, large, LARGE);
        else
            assert_in_range(got.stored_size, 1, LARGE - LARGE / 20);
        free(large);
        unlink(zst);
    }
}

static void what_comes_behind_the_first_8_mib_is_not_asked(void **state)
{
    enum { NOISE = 8 << 20, TEXT = 8 << 20 };
    unsigned char *large = put_large(0), *all = calloc(1, NOISE + TEXT);
    int rc;
    (void)state;
    assert_non_null(all);
    memcpy(all, large, NOISE);
    test_put(src, all, NOISE + TEXT);
    struct scr_copied got = pack(&scr_sys_posix, &rc);
    assert_int_equal(rc, SCR_OK);
    assert_int_equal(got.packed, 0);
    assert_holds(zst, all, NOISE + TEXT);
    free(all);
    free(large);
    unlink(zst);
}

/* Some calls of a large file that is packed, or begun twice. */
static void whatever_call_fails_a_large_one_is_whole_or_not_there(void **state)
{
    enum { STRIDE = 7 };
    (void)state;
    for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i += 2) {
        unsigned char *large = put_large(parts[i].saved);
        int fired = 1;
        for (long n = 0; fired; n += STRIDE) {
            int rc;
            test_fault_arm(TEST_ANY, n, ENOSPC, TEST_ONCE);
            struct scr_copied got = pack(&test_fault_sys, &rc);
            fired = test_fault_off();
            assert_true(fired || rc == SCR_OK);
            assert_true(rc == SCR_OK || access(zst, F_OK) != 0);
            assert_true(rc != SCR_OK || got.packed == parts[i].packed);
            assert_true(rc != SCR_OK || got.crc == scr_crc32(0, large, LARGE));
            assert_only("f.zst");
            unlink(zst);
        }
        free(large);
    }
    assert_int_equal(test_fault_open_fds(), 0);
}

/* Of a file that is packed, and of one that is begun twice. */
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

static void without_the_library_it_is_an_error(void **state)
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
        cmocka_unit_test(a_copy_is_compressed_and_unpacked),
        cmocka_unit_test(what_does_not_get_smaller_is_copied_as_it_is),
        cmocka_unit_test(a_twentieth_saved_is_kept_and_less_is_not),
        cmocka_unit_test(what_comes_behind_the_first_8_mib_is_not_asked),
        cmocka_unit_test(whatever_call_fails_a_large_one_is_whole_or_not_there),
        cmocka_unit_test(whatever_call_fails_it_is_whole_or_not_there),
        cmocka_unit_test(interruptions_are_not_noticed),
        cmocka_unit_test(a_transfer_puts_the_frame_in_the_place_of_the_older_file),
    };
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(without_the_library_it_is_an_error),
    };
    return scr_zst_have() ? cmocka_run_group_tests(tests, setup, test_tmp_teardown)
                          : cmocka_run_group_tests(plain, setup, test_tmp_teardown);
}
