/* SPDX-License-Identifier: BSD-3-Clause */
/* A member: its files as one logical file, by symbol, with CRCs; any number and size.
 */
#include "helper_fault.h"
#include "helper_tmp.h"

#include "red/member.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scr_env posix_env = { .sys = &scr_sys_posix };
static const struct scr_env fault_env = { .sys = &test_fault_sys };

static unsigned seed = 3;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

/* Member 1 of an XOR set of 4 whose files have these sizes; the others have none. */
struct fixture {
    struct scr_geom g;
    struct scr_member_file files[2000];
    size_t n;
    uint8_t *bytes; /* of the logical file, zero padded to 3 chunks */
    char dir[64], red[80];
};

static const uint64_t header_bytes = 100;
enum { ME = 1 };

static void describe(struct fixture *x, const uint64_t *sizes, size_t n)
{
    static int number;
    uint64_t len[4] = { 0 };
    memset(x, 0, sizeof *x);
    snprintf(x->dir, sizeof x->dir, "d%d", number++);
    assert_int_equal(mkdir(test_path("%s", x->dir), 0700), 0);
    x->n = n;
    for (size_t f = 0; f < n; f++) {
        x->files[f].path = strdup(test_path("%s/%zu", x->dir, f));
        x->files[f].size = sizes[f];
        len[ME] += sizes[f];
    }
    assert_int_equal(scr_geom_init(&x->g, SCR_SCHEME_XOR, 4, 1, len, NULL), SCR_OK);
    snprintf(x->red, sizeof x->red, "%s/red", x->dir);
}

static void arrange(struct fixture *x, const uint64_t *sizes, size_t n)
{
    describe(x, sizes, n);
    x->bytes = calloc(3, x->g.chunk);
    for (uint64_t b = 0; b < x->g.len[ME]; b++)
        x->bytes[b] = (uint8_t)rnd(256);
    uint64_t off = 0;
    for (size_t f = 0; f < n; off += sizes[f++])
        test_put(x->files[f].path, x->bytes + off, sizes[f]);
    char *red = calloc(1, header_bytes + x->g.chunk);
    memset(red + header_bytes, 0x5a, x->g.chunk);
    test_put(test_path("%s", x->red), red, header_bytes + x->g.chunk);
    free(red);
}

static void clear(struct fixture *x)
{
    for (size_t f = 0; f < x->n; f++)
        free(x->files[f].path);
    free(x->bytes);
}

static int open_it(const struct scr_env *env, struct fixture *x, int flags,
                   struct scr_member **m, struct scr_err *err)
{
    const struct scr_member_def def = { .g = &x->g,
                                        .me = ME,
                                        .flags = flags,
                                        .files = x->files,
                                        .nfiles = x->n,
                                        .redpath = test_path("%s", x->red),
                                        .header_bytes = header_bytes };
    return scr_member_open(env, &def, m, err);
}

/* The symbol of ME in row. */
static struct scr_sym mine(const struct fixture *x, int row)
{
    struct scr_sym sym = { .member = -1 };
    for (int s = 0; s < 4 && sym.member != ME; s++)
        scr_geom_symbol(&x->g, row, s, &sym);
    assert_int_equal(sym.member, ME);
    return sym;
}

static void check_crcs(const struct fixture *x, const struct scr_member_file *files)
{
    uint64_t off = 0;
    for (size_t f = 0; f < x->n; off += x->files[f++].size)
        assert_int_equal(files[f].crc, scr_crc32(0, x->bytes + off, x->files[f].size));
}

/* Reads or writes all of every symbol in steps of random size. */
static int pass_all(struct scr_member *m, const struct fixture *x, int write,
                    struct scr_err *err)
{
    uint8_t *buf = malloc(x->g.chunk);
    int rc = SCR_OK;
    for (int row = 0; rc == SCR_OK && row < 4; row++) {
        struct scr_sym sym = mine(x, row);
        uint64_t at = 0;
        while (rc == SCR_OK && at < x->g.chunk) {
            size_t n = 1 + rnd(70000);
            n = n < x->g.chunk - at ? n : x->g.chunk - at;
            const uint8_t *want = sym.is_parity ? NULL : x->bytes + sym.off + at;
            memset(buf, 0x5a, n);
            if (write && want != NULL)
                memcpy(buf, want, n);
            rc = write ? scr_member_write(m, &sym, at, buf, n, err)
                       : scr_member_read(m, &sym, at, buf, n, err);
            for (size_t b = 0; rc == SCR_OK && b < n; b++)
                assert_int_equal(buf[b], want != NULL ? want[b] : 0x5a);
            at += n;
        }
    }
    free(buf);
    return rc;
}

static const uint64_t odd_sizes[] = { 5, 0, 300001, 1, 0, 262144, 17, 0 };
enum { NODD = sizeof odd_sizes / sizeof odd_sizes[0] };
enum {
    READ_ALL = SCR_MEMBER_READ_DATA | SCR_MEMBER_READ_PARITY,
    WRITE_ALL = SCR_MEMBER_WRITE_DATA | SCR_MEMBER_WRITE_PARITY
};

static void reads_files_as_one_padded_with_zeros(void **state)
{
    (void)state;
    struct fixture x;
    struct scr_member *m;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_member_file out[NODD];
    uint32_t parity;
    arrange(&x, odd_sizes, NODD);
    assert_int_equal(open_it(&posix_env, &x, READ_ALL, &m, &err), SCR_OK);
    assert_int_equal(pass_all(m, &x, 0, &err), SCR_OK);
    assert_int_equal(scr_member_finish(m, out, &parity, &err), SCR_OK);
    check_crcs(&x, out);
    uint8_t *red = test_get(test_path("%s", x.red), &(size_t){ 0 });
    assert_int_equal(parity, scr_crc32(0, red + header_bytes, x.g.chunk));
    free(red);
    assert_int_equal(scr_member_close(m, &err), SCR_OK);
    clear(&x);
}

static void writes_files_cut_to_their_size(void **state)
{
    (void)state;
    struct fixture x;
    struct scr_member *m;
    struct scr_err err = SCR_ERR_INIT;
    struct scr_member_file out[NODD];
    uint32_t parity;
    size_t n;
    arrange(&x, odd_sizes, NODD);
    for (size_t f = 0; f < NODD; f += 2)
        unlink(x.files[f].path);
    test_put(x.files[3].path, "much too long", 13);
    test_put(test_path("%s", x.red), "short", 5);
    assert_int_equal(open_it(&posix_env, &x, WRITE_ALL, &m, &err), SCR_OK);
    assert_int_equal(pass_all(m, &x, 1, &err), SCR_OK);
    assert_int_equal(scr_member_finish(m, out, &parity, &err), SCR_OK);
    check_crcs(&x, out);
    assert_int_equal(scr_member_close(m, &err), SCR_OK);
    uint64_t off = 0;
    for (size_t f = 0; f < NODD; off += odd_sizes[f++]) {
        uint8_t *got = test_get(x.files[f].path, &n);
        assert_int_equal(n, odd_sizes[f]);
        assert_memory_equal(got, x.bytes + off, n);
        free(got);
    }
    uint8_t *red = test_get(test_path("%s", x.red), &n);
    assert_int_equal(n, header_bytes + x.g.chunk);
    assert_memory_equal(red, "short", 5); /* the header's place is left alone */
    assert_int_equal(parity, scr_crc32(0, red + header_bytes, x.g.chunk));
    free(red);
    struct stat st;
    assert_int_equal(stat(x.files[0].path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    clear(&x);
}

static void crcs_are_completed_from_the_files(void **state)
{
    (void)state;
    struct fixture x;
    struct scr_member *m;
    struct scr_member_file out[NODD];
    uint32_t parity;
    uint8_t buf[64];
    arrange(&x, odd_sizes, NODD);
    assert_int_equal(open_it(&posix_env, &x, READ_ALL, &m, NULL), SCR_OK);
    struct scr_sym first = mine(&x, 0), second = mine(&x, 2);
    assert_int_equal(scr_member_read(m, &second, 1, buf, 64, NULL), SCR_OK); /* a gap */
    assert_int_equal(scr_member_read(m, &first, 0, buf, 64, NULL), SCR_OK);
    assert_int_equal(scr_member_read(m, &second, 65, buf, 64, NULL), SCR_OK);
    assert_int_equal(scr_member_read(m, &first, 0, buf, 64, NULL), SCR_OK); /* again */
    assert_int_equal(scr_member_finish(m, out, &parity, NULL), SCR_OK);
    check_crcs(&x, out);
    assert_int_equal(scr_member_finish(m, out, NULL, NULL), SCR_OK);
    check_crcs(&x, out);
    assert_int_equal(scr_member_finish(m, NULL, NULL, NULL), SCR_OK);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);
    clear(&x);
}

static void padding_may_only_be_zero(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 4 }; /* 3 chunks of 2: the last is padding */
    const uint8_t zeros[2] = { 0, 0 }, not_zero[2] = { 0, 1 };
    struct fixture x;
    struct scr_member *m;
    struct scr_err err = SCR_ERR_INIT;
    arrange(&x, sizes, 1);
    struct scr_sym last = mine(&x, 3);
    assert_int_equal(last.off, 4);
    assert_int_equal(open_it(&posix_env, &x, SCR_MEMBER_WRITE_DATA, &m, NULL), SCR_OK);
    assert_int_equal(scr_member_write(m, &last, 0, zeros, 2, &err), SCR_OK);
    assert_int_equal(scr_member_write(m, &last, 0, not_zero, 2, &err), SCR_E_CORRUPT);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);
    clear(&x);
}

static void no_files_and_empty_files(void **state)
{
    (void)state;
    const uint64_t zero[] = { 0, 0 };
    for (size_t n = 0; n <= 2; n++) {
        struct fixture x;
        struct scr_member *m;
        struct scr_member_file out[2] = { { .crc = 1 }, { .crc = 1 } };
        arrange(&x, zero, n);
        assert_int_equal(open_it(&posix_env, &x, READ_ALL, &m, NULL), SCR_OK);
        assert_int_equal(pass_all(m, &x, 0, NULL), SCR_OK);
        assert_int_equal(scr_member_finish(m, out, NULL, NULL), SCR_OK);
        check_crcs(&x, out);
        assert_int_equal(scr_member_close(m, NULL), SCR_OK);
        for (size_t f = 0; f < n; f++)
            unlink(x.files[f].path);
        assert_int_equal(open_it(&posix_env, &x, WRITE_ALL, &m, NULL), SCR_OK);
        assert_int_equal(scr_member_close(m, NULL), SCR_OK);
        for (size_t f = 0; f < n; f++)
            assert_int_equal(access(x.files[f].path, F_OK), 0);
        clear(&x);
    }
}

static void thousands_of_files_need_few_descriptors(void **state)
{
    (void)state;
    static uint64_t sizes[2000];
    static struct scr_member_file out[2000];
    static struct fixture x;
    struct scr_member *m;
    struct rlimit old, tight;
    for (size_t f = 0; f < 2000; f++)
        sizes[f] = rnd(100);
    arrange(&x, sizes, 2000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = old;
    tight.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    for (int write = 1; write >= 0; write--) {
        struct scr_err err = SCR_ERR_INIT;
        assert_int_equal(
            open_it(&posix_env, &x, write ? WRITE_ALL : READ_ALL, &m, &err), SCR_OK);
        assert_int_equal(pass_all(m, &x, write, &err), SCR_OK);
        assert_int_equal(scr_member_finish(m, out, NULL, &err), SCR_OK);
        check_crcs(&x, out);
        assert_int_equal(scr_member_close(m, &err), SCR_OK);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    clear(&x);
}

static void what_is_not_as_recorded_is_refused(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 10 };
    struct fixture x;
    struct scr_member *m;
    struct scr_err err = SCR_ERR_INIT;
    arrange(&x, sizes, 1);
    const char *path = x.files[0].path;
    const int data = SCR_MEMBER_READ_DATA, parity = SCR_MEMBER_READ_PARITY;
    test_put(path, "too short", 9);
    assert_int_equal(open_it(&posix_env, &x, data, &m, &err), SCR_E_MISSING);
    assert_non_null(strstr(err.text, path));
    assert_null(m);
    test_put(path, "one too long", 12);
    assert_int_equal(open_it(&posix_env, &x, data, &m, NULL), SCR_E_CORRUPT);
    unlink(path);
    assert_int_equal(open_it(&posix_env, &x, data, &m, NULL), SCR_E_NOENT);
    test_put(test_path("elsewhere"), "0123456789", 10);
    assert_int_equal(symlink(test_path("elsewhere"), path), 0);
    assert_int_equal(open_it(&posix_env, &x, data, &m, NULL), SCR_E_UNSAFE);
    assert_int_equal(open_it(&posix_env, &x, SCR_MEMBER_WRITE_DATA, &m, NULL),
                     SCR_E_IO);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(open_it(&posix_env, &x, data, &m, NULL), SCR_E_UNSAFE);
    test_put(test_path("%s", x.red), "short", 5);
    assert_int_equal(open_it(&posix_env, &x, parity, &m, NULL), SCR_E_MISSING);
    unlink(test_path("%s", x.red));
    assert_int_equal(open_it(&posix_env, &x, parity, &m, NULL), SCR_E_NOENT);
    clear(&x);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 10 };
    struct fixture x;
    struct scr_member *m;
    uint8_t buf[16] = { 0 };
    arrange(&x, sizes, 1);
    const int flags = SCR_MEMBER_READ_DATA;
    struct scr_member_def def = { &x.g, 4, flags, x.files, 1, NULL, 0, NULL };
    assert_int_equal(scr_member_open(&posix_env, &def, &m, NULL), SCR_E_ARG);
    def.me = 0; /* which has no files */
    assert_int_equal(scr_member_open(&posix_env, &def, &m, NULL), SCR_E_ARG);
    def.me = ME;
    def.flags = READ_ALL;
    assert_int_equal(scr_member_open(&posix_env, &def, &m, NULL), SCR_E_ARG);
    assert_int_equal(open_it(&posix_env, &x, flags, &m, NULL), SCR_OK);
    struct scr_sym data = mine(&x, 0), parity = mine(&x, 1), foreign = data;
    foreign.member = 2;
    assert_int_equal(scr_member_read(m, &foreign, 0, buf, 1, NULL), SCR_E_ARG);
    assert_int_equal(scr_member_read(m, &parity, 0, buf, 1, NULL), SCR_E_ARG);
    assert_int_equal(scr_member_write(m, &data, 0, buf, 1, NULL), SCR_E_ARG);
    assert_int_equal(scr_member_read(m, &data, 3, buf, 2, NULL), SCR_E_RANGE);
    assert_int_equal(scr_member_read(m, &data, UINT64_MAX, buf, 2, NULL), SCR_E_RANGE);
    assert_int_equal(scr_member_read(m, &data, 3, buf, 1, NULL), SCR_OK);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);
    assert_int_equal(scr_member_close(NULL, NULL), SCR_OK);
    clear(&x);
}

/* --- beyond 4 GiB --- */

static void put_at(const char *path, off_t off, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), off), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

static void expect_at(const char *path, off_t off, const char *text)
{
    char buf[32];
    size_t n = strlen(text);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, buf, n, off), (ssize_t)n);
    assert_memory_equal(buf, text, n);
    assert_int_equal(close(fd), 0);
}

static const uint64_t gib = 1ULL << 30;

/* Two files of 13 and 7 GiB, chunks of 6 2/3 GiB: the second is in row 3, far out. */
static void offsets_past_4_gib(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 13 * gib, 7 * gib };
    struct fixture x;
    struct scr_member *m;
    char buf[8];
    describe(&x, sizes, 2);
    for (size_t f = 0; f < 2; f++) {
        test_put(x.files[f].path, "", 0);
        assert_int_equal(truncate(x.files[f].path, (off_t)sizes[f]), 0);
    }
    const uint64_t chunk = (20 * gib - 1) / 3 + 1;
    put_at(x.files[0].path, (off_t)(2 * gib + chunk), "in row 2");
    put_at(x.files[1].path, (off_t)(6 * gib), "far");
    assert_int_equal(x.g.chunk, chunk);
    assert_int_equal(open_it(&posix_env, &x, SCR_MEMBER_READ_DATA, &m, NULL), SCR_OK);
    struct scr_sym two = mine(&x, 2), three = mine(&x, 3);
    assert_int_equal(scr_member_read(m, &two, 2 * gib, buf, 8, NULL), SCR_OK);
    assert_memory_equal(buf, "in row 2", 8);
    uint64_t at = 19 * gib - 2 * chunk;
    assert_int_equal(scr_member_read(m, &three, at - 2, buf, 8, NULL), SCR_OK);
    assert_memory_equal(buf, "\0\0far\0\0\0", 8);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);

    assert_int_equal(open_it(&posix_env, &x, SCR_MEMBER_WRITE_DATA, &m, NULL), SCR_OK);
    assert_int_equal(scr_member_write(m, &three, at + 9, "written", 7, NULL), SCR_OK);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);
    expect_at(x.files[1].path, (off_t)(6 * gib + 9), "written");
    clear(&x);
}

static void parity_past_4_gib(void **state)
{
    (void)state;
    uint64_t len[4] = { 5 * gib, 0, 0, 0 };
    struct scr_geom g;
    struct scr_member *m;
    struct scr_sym sym;
    char buf[4];
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 4, 3, len, NULL), SCR_OK);
    scr_geom_symbol(&g, 3, 3, &sym); /* third parity of row 3: on member 1 */
    assert_int_equal(sym.member, 1);
    assert_int_equal(sym.off, 10 * gib);
    const struct scr_member_def def = { .g = &g,
                                        .me = 1,
                                        .flags = SCR_MEMBER_WRITE_PARITY,
                                        .redpath = test_path("bigred"),
                                        .header_bytes = 77 };
    assert_int_equal(scr_member_open(&posix_env, &def, &m, NULL), SCR_OK);
    assert_int_equal(scr_member_write(m, &sym, 5 * gib - 4, "last", 4, NULL), SCR_OK);
    assert_int_equal(scr_member_read(m, &sym, 5 * gib - 4, buf, 4, NULL), SCR_OK);
    assert_memory_equal(buf, "last", 4);
    assert_int_equal(scr_member_write(m, &sym, 5 * gib - 3, "over", 4, NULL),
                     SCR_E_RANGE);
    assert_int_equal(scr_member_close(m, NULL), SCR_OK);
    expect_at(test_path("bigred"), (off_t)(77 + 15 * gib - 4), "last");
}

/* --- failing system calls --- */

static int whole_pass(const struct scr_env *env, struct fixture *x, int flags,
                      struct scr_member_file *out, struct scr_err *err)
{
    struct scr_member *m;
    uint32_t parity;
    int rc = open_it(env, x, flags, &m, err);
    if (rc != SCR_OK)
        return rc;
    rc = pass_all(m, x, flags == WRITE_ALL, err);
    if (rc == SCR_OK)
        rc = scr_member_finish(m, out, &parity, err);
    int closed = scr_member_close(m, err);
    return rc != SCR_OK ? rc : closed;
}

static void every_failing_call_is_reported(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 100, 0, 70000 };
    const int both[] = { READ_ALL, WRITE_ALL };
    struct fixture x;
    struct scr_member_file out[3];
    arrange(&x, sizes, 3);
    for (int i = 0; i < 2; i++) {
        for (long n = 0;; n++) {
            struct scr_err err = SCR_ERR_INIT;
            test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
            int rc = whole_pass(&fault_env, &x, both[i], out, &err);
            int fired = test_fault_off();
            assert_int_equal(test_fault_open_fds(), 0);
            /* A failed close of a file only read does no harm, but is reported. */
            assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
            assert_int_equal(err.code, rc);
            if (!fired)
                break;
        }
        check_crcs(&x, out);
    }
    clear(&x);
}

static void a_full_disk_is_distinguished(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 100 };
    struct fixture x;
    struct scr_member_file out[1];
    struct scr_err err = SCR_ERR_INIT;
    arrange(&x, sizes, 1);
    test_fault_arm(TEST_PWRITE, 0, ENOSPC, TEST_FOREVER);
    assert_int_equal(whole_pass(&fault_env, &x, WRITE_ALL, out, &err), SCR_E_FULL);
    test_fault_off();
    clear(&x);
}

static void interrupted_and_short_calls_go_unnoticed(void **state)
{
    (void)state;
    const uint64_t sizes[] = { 1000, 3 };
    const enum test_kind kinds[] = { TEST_OPENAT, TEST_PREAD, TEST_PWRITE,
                                     TEST_FTRUNCATE };
    struct fixture x;
    struct scr_member_file out[2];
    arrange(&x, sizes, 2);
    for (size_t k = 0; k < 4; k++) {
        for (int write = 0; write < 2; write++) {
            test_fault_arm(kinds[k], 0, EINTR, TEST_ONCE);
            assert_int_equal(
                whole_pass(&fault_env, &x, write ? WRITE_ALL : READ_ALL, out, NULL),
                SCR_OK);
            test_fault_short(kinds[k] == TEST_PWRITE ? TEST_PWRITE : TEST_PREAD, 0, 7,
                             TEST_FOREVER);
            assert_int_equal(
                whole_pass(&fault_env, &x, write ? WRITE_ALL : READ_ALL, out, NULL),
                SCR_OK);
            check_crcs(&x, out);
        }
    }
    test_fault_off();
    clear(&x);
}

/* --- whole files --- */

static void crc_of_a_file(void **state)
{
    (void)state;
    static uint8_t bytes[600000];
    uint64_t size = 0;
    uint32_t crc = 1;
    const char *path = test_path("whole");
    for (size_t b = 0; b < sizeof bytes; b++)
        bytes[b] = (uint8_t)rnd(256);
    test_put(path, bytes, sizeof bytes);
    assert_int_equal(scr_file_crc32(&posix_env, path, 0, &size, &crc, NULL), SCR_OK);
    assert_int_equal(size, sizeof bytes);
    assert_int_equal(crc, scr_crc32(0, bytes, sizeof bytes));
    assert_int_equal(scr_file_crc32(&posix_env, path, 599990, &size, &crc, NULL),
                     SCR_OK);
    assert_int_equal(size, 10);
    assert_int_equal(crc, scr_crc32(0, bytes + 599990, 10));
    assert_int_equal(scr_file_crc32(&posix_env, path, 600000, &size, &crc, NULL),
                     SCR_OK);
    assert_int_equal(size, 0);
    assert_int_equal(crc, 0);
    assert_int_equal(scr_file_crc32(&posix_env, path, 600001, &size, &crc, NULL),
                     SCR_E_MISSING);
    assert_int_equal(
        scr_file_crc32(&posix_env, test_path("absent"), 0, &size, &crc, NULL),
        SCR_E_NOENT);
    /* nothing that is not a file is read, or waited for */
    assert_int_equal(symlink(path, test_path("link")), 0);
    assert_int_equal(
        scr_file_crc32(&posix_env, test_path("link"), 0, &size, &crc, NULL),
        SCR_E_UNSAFE);
    assert_int_equal(mkfifo(test_path("pipe"), 0600), 0);
    assert_int_equal(
        scr_file_crc32(&posix_env, test_path("pipe"), 0, &size, &crc, NULL),
        SCR_E_UNSAFE);
    assert_int_equal(scr_file_crc32(&posix_env, test_tmp(), 0, &size, &crc, NULL),
                     SCR_E_UNSAFE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_files_as_one_padded_with_zeros),
        cmocka_unit_test(writes_files_cut_to_their_size),
        cmocka_unit_test(crcs_are_completed_from_the_files),
        cmocka_unit_test(padding_may_only_be_zero),
        cmocka_unit_test(no_files_and_empty_files),
        cmocka_unit_test(thousands_of_files_need_few_descriptors),
        cmocka_unit_test(what_is_not_as_recorded_is_refused),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(offsets_past_4_gib),
        cmocka_unit_test(parity_past_4_gib),
        cmocka_unit_test(every_failing_call_is_reported),
        cmocka_unit_test(a_full_disk_is_distinguished),
        cmocka_unit_test(interrupted_and_short_calls_go_unnoticed),
        cmocka_unit_test(crc_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
