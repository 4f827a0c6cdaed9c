/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy headers: names, contents, the place of the CRCs, and what hostile bytes
 * do. */
#include "helper_fault.h"
#include "helper_tmp.h"

#include "base/hashfile.h"
#include "base/path.h"
#include "red/redfile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct scr_env posix_env = { .sys = &scr_sys_posix };
static const struct scr_env fault_env = { .sys = &test_fault_sys };

static unsigned seed = 11;
static unsigned rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

/* --- names --- */

static void names_and_back(void **state)
{
    (void)state;
    const struct {
        enum scr_scheme s;
        int member, n, id;
        const char *name;
    } rows[] = {
        { SCR_SCHEME_XOR, 0, 4, 0, "1_of_4_in_0.xor" },
        { SCR_SCHEME_RS, 7, 8, 1024, "8_of_8_in_1024.rs" },
        { SCR_SCHEME_PARTNER, 2, 255, 3, "3_of_255_in_3.partner" },
        { SCR_SCHEME_SINGLE, 0, 1, 7, "1_of_1_in_7.single" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum scr_scheme s;
        int member, n, id;
        char *name = scr_redfile_name(rows[i].s, rows[i].member, rows[i].n, rows[i].id);
        assert_string_equal(name, rows[i].name);
        assert_int_equal(scr_redfile_parse(name, &s, &member, &n, &id), 1);
        assert_int_equal(s, rows[i].s);
        assert_int_equal(member, rows[i].member);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(id, rows[i].id);
        free(name);
    }
}

static void other_names_are_not_parsed(void **state)
{
    (void)state;
    const char *const names[] = {
        "",
        "1_of_4_in_0.",
        "1_of_4_in_0",
        "1_of_4_in_0.xo",
        "1_of_4_in_0.xorr",
        "1_of_4_in_0.xor.tmp",
        "0_of_4_in_0.xor",
        "5_of_4_in_0.xor",
        "1_of_256_in_0.xor",
        "-1_of_4_in_0.xor",
        "+1_of_4_in_0.xor",
        "01_of_4_in_0.xor",
        " 1_of_4_in_0.xor",
        "1_of_4_in_-1.xor",
        "1_of_4_in_9999999999.xor",
        "99999999999999999999_of_4_in_0.xor",
        "1of_4_in_0.xor",
        "1_of_4_in.0.xor",
        "rank_0.ckpt",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum scr_scheme s;
        int member, n, id;
        assert_int_equal(scr_redfile_parse(names[i], &s, &member, &n, &id), 0);
    }
}

static void copies_of_the_meta_data(void **state)
{
    (void)state;
    char key[24];
    assert_string_equal(scr_redfile_partner_key(1, key, sizeof key), "PARTNER");
    assert_string_equal(scr_redfile_partner_key(2, key, sizeof key), "PARTNER2");
    assert_string_equal(scr_redfile_partner_key(254, key, sizeof key), "PARTNER254");
    assert_int_equal(scr_redfile_copies(1, 0), 0);
    assert_int_equal(scr_redfile_copies(4, 0), 1);
    assert_int_equal(scr_redfile_copies(4, 1), 1);
    assert_int_equal(scr_redfile_copies(4, 3), 3);
}

/* --- the example of the developer's manual, 7.3.2 --- */

static scr_hash *meta_of(const char *file, uint64_t size, int rank)
{
    scr_hash *m = scr_hash_new();
    scr_hash_set_val(m, "FILE", file);
    scr_hash_set_val(m, "TYPE", "FULL");
    scr_hash_set_val(m, "COMPLETE", "1");
    scr_hash_set_val_u64(m, "SIZE", size);
    scr_hash_set_val_i64(m, "DSET", 6);
    scr_hash_set_val_i64(m, "RANKS", 4);
    scr_hash_set_val_i64(m, "RANK", rank);
    return m;
}

static scr_hash *current_of(const char *file, uint64_t size, int rank)
{
    scr_hash *meta = meta_of(file, size, rank);
    scr_hash *h = scr_redfile_current(rank, 1, &meta, NULL, NULL);
    assert_non_null(h);
    scr_hash_delete(meta);
    return h;
}

static scr_hash *example(void)
{
    const uint64_t len[] = { 524294, 524295, 524296, 524297 };
    const int ranks[] = { 0, 1, 2, 3 };
    struct scr_geom g;
    scr_hash *current = current_of("rank_0.ckpt", 524294, 0);
    scr_hash *left = current_of("rank_3.ckpt", 524297, 3);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 1, len, NULL), SCR_OK);
    scr_hash *h = scr_redfile_header(&g, 0, 6, 4, ranks, current, &left, 1);
    assert_non_null(h);
    scr_hash_delete(current);
    scr_hash_delete(left);
    return h;
}

static const char *value(const scr_hash *h, const char *path)
{
    char buf[200], *save = NULL;
    snprintf(buf, sizeof buf, "%s", path);
    const char *last = NULL;
    for (char *w = strtok_r(buf, "/", &save); w != NULL;) {
        last = w;
        w = strtok_r(NULL, "/", &save);
        if (w != NULL)
            h = scr_hash_get(h, last);
    }
    return scr_hash_get_val(h, last);
}

static void a_header_reads_as_in_the_manual(void **state)
{
    (void)state;
    const char *const want[][2] = {
        { "DSET", "6" },
        { "RANKS", "4" },
        { "TYPE", "XOR" },
        { "FAILURES", "1" },
        { "GROUP/RANKS", "4" },
        { "GROUP/RANK/3", "3" },
        { "MEMBER", "0" },
        { "CHUNK", "174766" },
        { "CURRENT/RANK", "0" },
        { "CURRENT/FILES", "1" },
        { "CURRENT/FILE/0/FILE", "rank_0.ckpt" },
        { "CURRENT/FILE/0/SIZE", "524294" },
        { "CURRENT/FILE/0/CRC", "0x00000000" },
        { "CURRENT/CHUNKCRC", "0x00000000" },
        { "PARTNER/RANK", "3" },
        { "PARTNER/FILE/0/FILE", "rank_3.ckpt" },
        { "PARTNER/FILE/0/SIZE", "524297" },
    };
    scr_hash *h = example();
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const char *got = value(h, want[i][0]);
        assert_non_null(got);
        assert_string_equal(got, want[i][1]);
    }
    struct scr_redinfo info;
    assert_int_equal(scr_redinfo_get(h, &info, NULL), SCR_OK);
    assert_int_equal(info.dset_id, 6);
    assert_int_equal(info.world_size, 4);
    assert_int_equal(info.n, 4);
    assert_int_equal(info.k, 1);
    assert_int_equal(info.member, 0);
    assert_int_equal(info.set_id, 0);
    assert_int_equal(info.scheme, SCR_SCHEME_XOR);
    assert_int_equal(info.chunk, 174766);
    scr_redinfo_fini(&info);
    scr_hash_delete(h);
}

static void descriptors_travel_along(void **state)
{
    (void)state;
    scr_hash *desc = scr_hash_new(), *dset = scr_hash_new();
    scr_hash_set_val(desc, "TYPE", "XOR");
    scr_hash_set_val(dset, "NAME", "ckpt.6");
    scr_hash *h = scr_redfile_current(5, 0, NULL, desc, dset);
    assert_string_equal(value(h, "DESC/TYPE"), "XOR");
    assert_string_equal(value(h, "DSETDESC/NAME"), "ckpt.6");
    assert_string_equal(value(h, "FILES"), "0");
    struct scr_member_file *files;
    size_t n;
    int has_crc;
    assert_int_equal(scr_redfile_files(h, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(has_crc, 1);
    scr_member_files_free(files, n);
    scr_hash_delete(h);
    scr_hash_delete(desc);
    scr_hash_delete(dset);
}

/* --- on disk --- */

static void crcs_fill_in_without_moving_the_parity(void **state)
{
    (void)state;
    const char *path = test_path("crcs.xor");
    const struct scr_member_file files[] = { { .crc = 0xdeadbeef } };
    uint64_t before = 0, after = 0, read = 0;
    scr_hash *h = example(), *back = scr_hash_new();
    assert_int_equal(scr_redfile_write(&posix_env, path, h, &before, NULL), SCR_OK);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "parity", 6, (off_t)before), 6);
    assert_int_equal(close(fd), 0);
    assert_int_equal(scr_redfile_set_crcs(scr_hash_get(h, "CURRENT"), 1, files, 0x17),
                     SCR_OK);
    assert_int_equal(scr_redfile_set_crcs(scr_hash_get(h, "CURRENT"), 2, files, 0x17),
                     SCR_E_ARG);
    assert_int_equal(scr_redfile_write(&posix_env, path, h, &after, NULL), SCR_OK);
    assert_int_equal(after, before);
    assert_int_equal(scr_redfile_read(&posix_env, path, back, &read, NULL), SCR_OK);
    assert_int_equal(read, before);
    assert_true(scr_hash_equal(h, back));
    assert_string_equal(value(back, "CURRENT/FILE/0/CRC"), "0xdeadbeef");
    assert_string_equal(value(back, "CURRENT/CHUNKCRC"), "0x00000017");
    size_t n;
    char *bytes = test_get(path, &n);
    assert_int_equal(n, before + 6);
    assert_memory_equal(bytes + before, "parity", 6);
    free(bytes);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    scr_hash_delete(h);
    scr_hash_delete(back);
}

static int read_bytes(const void *bytes, size_t n, scr_hash *h, struct scr_err *err)
{
    uint64_t header_bytes = 0;
    const char *path = test_path("bytes.xor");
    test_put(path, bytes, n);
    return scr_redfile_read(&posix_env, path, h, &header_bytes, err);
}

static void files_that_hold_no_header_are_refused(void **state)
{
    (void)state;
    scr_hash *h = scr_hash_new();
    struct scr_err err = SCR_ERR_INIT;
    uint64_t n;
    char garbage[4096];
    memset(garbage, 'x', sizeof garbage);
    assert_int_equal(read_bytes("", 0, h, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "bytes.xor"));
    assert_int_equal(read_bytes(garbage, 15, h, NULL), SCR_E_CORRUPT);
    assert_int_equal(read_bytes(garbage, sizeof garbage, h, NULL), SCR_E_CORRUPT);
    memset(garbage, 0, 100);
    assert_int_equal(read_bytes(garbage, 100, h, NULL), SCR_E_CORRUPT);
    assert_int_equal(scr_redfile_read(&posix_env, test_path("absent"), h, &n, NULL),
                     SCR_E_NOENT);
    assert_int_equal(scr_redfile_read(&posix_env, test_tmp(), h, &n, NULL),
                     SCR_E_UNSAFE);
    assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
}

static void every_cut_and_every_flip_is_found(void **state)
{
    (void)state;
    void *bytes;
    size_t n;
    scr_hash *h = example(), *back = scr_hash_new();
    assert_int_equal(scr_hash_encode(h, &bytes, &n, NULL), SCR_OK);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_not_equal(read_bytes(bytes, cut, back, NULL), SCR_OK);
    for (size_t at = 0; at < n; at++) {
        ((uint8_t *)bytes)[at] ^= (uint8_t)(1U << rnd(8));
        assert_int_equal(read_bytes(bytes, n, back, NULL), SCR_E_CORRUPT);
        free(bytes);
        assert_int_equal(scr_hash_encode(h, &bytes, &n, NULL), SCR_OK);
    }
    assert_int_equal(scr_hash_size(back), 0);
    free(bytes);
    scr_hash_delete(h);
    scr_hash_delete(back);
}

static void every_failing_call_is_reported(void **state)
{
    (void)state;
    scr_hash *h = example();
    uint64_t n;
    const char *path = test_path("fault.xor");
    for (int reading = 0; reading < 2; reading++) {
        for (long i = 0;; i++) {
            struct scr_err err = SCR_ERR_INIT;
            scr_hash *back = scr_hash_new();
            test_fault_arm(TEST_ANY, i, EIO, TEST_ONCE);
            int rc = reading ? scr_redfile_read(&fault_env, path, back, &n, &err)
                             : scr_redfile_write(&fault_env, path, h, &n, &err);
            int fired = test_fault_off();
            assert_int_equal(rc, fired ? SCR_E_IO : SCR_OK);
            assert_int_equal(test_fault_open_fds(), 0);
            scr_hash_delete(back);
            if (!fired)
                break;
        }
    }
    scr_hash_delete(h);
}

/* --- hostile headers --- */

struct change {
    const char *where;     /* hash, as for value() */
    const char *key, *val; /* val NULL: the key is removed */
};

static scr_hash *descend(scr_hash *h, const char *where)
{
    char buf[200], *save = NULL;
    snprintf(buf, sizeof buf, "%s", where);
    for (char *w = strtok_r(buf, "/", &save); w; w = strtok_r(NULL, "/", &save))
        h = scr_hash_get(h, w);
    return h;
}

static scr_hash *changed(const struct change *c)
{
    scr_hash *h = example();
    scr_hash *at = descend(h, c->where);
    if (c->val == NULL)
        assert_int_equal(scr_hash_unset(at, c->key), 1);
    else
        scr_hash_set_val(at, c->key, c->val);
    return h;
}

static void impossible_headers_are_refused(void **state)
{
    (void)state;
    const struct change changes[] = {
        { "", "DSET", NULL },
        { "", "DSET", "-1" },
        { "", "DSET", "99999999999" },
        { "", "RANKS", NULL },
        { "", "RANKS", "0" },
        { "", "RANKS", "3" },
        { "", "TYPE", NULL },
        { "", "TYPE", "RAID" },
        { "", "TYPE", "SINGLE" },
        { "", "FAILURES", NULL },
        { "", "FAILURES", "0" },
        { "", "FAILURES", "2" },
        { "", "FAILURES", "-1" },
        { "", "GROUP", NULL },
        { "GROUP", "RANKS", NULL },
        { "GROUP", "RANKS", "0" },
        { "GROUP", "RANKS", "-4" },
        { "GROUP", "RANKS", "5" },
        { "GROUP", "RANKS", "256" },
        { "GROUP", "RANKS", "2147483648" },
        { "GROUP", "RANK", NULL },
        { "GROUP/RANK", "2", NULL },
        { "GROUP/RANK", "2", "1" },
        { "GROUP/RANK", "2", "4" },
        { "GROUP/RANK", "2", "-1" },
        { "GROUP/RANK", "2", "two" },
        { "", "MEMBER", NULL },
        { "", "MEMBER", "4" },
        { "", "MEMBER", "-1" },
        { "", "MEMBER", "1" },
        { "", "CHUNK", NULL },
        { "", "CHUNK", "-1" },
        { "", "CHUNK", "18446744073709551615" },
        { "", "CURRENT", NULL },
        { "CURRENT", "RANK", "1" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scr_redinfo info;
        struct scr_err err = SCR_ERR_INIT;
        scr_hash *h = changed(&changes[i]);
        assert_int_equal(scr_redinfo_get(h, &info, &err), SCR_E_CORRUPT);
        assert_true(err.text[0] != '\0');
        assert_null(info.world_ranks);
        scr_hash_delete(h);
    }
    struct scr_redinfo info;
    assert_int_equal(scr_redinfo_get(NULL, &info, NULL), SCR_E_CORRUPT);
}

static void unsafe_or_impossible_file_lists_are_refused(void **state)
{
    (void)state;
    const struct change changes[] = {
        { "CURRENT", "FILES", NULL },
        { "CURRENT", "FILES", "2" },
        { "CURRENT", "FILES", "0" },
        { "CURRENT", "FILES", "-1" },
        { "CURRENT", "FILES", "4000000000" },
        { "CURRENT", "FILE", NULL },
        { "CURRENT/FILE/0", "FILE", NULL },
        { "CURRENT/FILE/0", "FILE", "" },
        { "CURRENT/FILE/0", "FILE", "." },
        { "CURRENT/FILE/0", "FILE", ".." },
        { "CURRENT/FILE/0", "FILE", "../rank_1.ckpt" },
        { "CURRENT/FILE/0", "FILE", "a/../../b" },
        { "CURRENT/FILE/0", "FILE", "/etc/passwd" },
        { "CURRENT/FILE/0", "SIZE", NULL },
        { "CURRENT/FILE/0", "SIZE", "-1" },
        { "CURRENT/FILE/0", "SIZE", "9223372036854775808" },
        { "CURRENT/FILE/0", "SIZE", "1k" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scr_member_file *files;
        size_t n;
        int has_crc;
        struct scr_err err = SCR_ERR_INIT;
        scr_hash *h = changed(&changes[i]);
        assert_int_equal(scr_redfile_files(scr_hash_get(h, "CURRENT"), "/cache", &files,
                                           &n, &has_crc, &err),
                         SCR_E_CORRUPT);
        assert_null(files);
        assert_int_equal(n, 0);
        scr_hash_delete(h);
    }
}

static void files_of_a_header(void **state)
{
    (void)state;
    struct scr_member_file *files;
    size_t n;
    int has_crc;
    scr_hash *metas[2] = { meta_of("a", 5, 0), meta_of("1/a", 6, 0) };
    scr_hash_set_val(metas[0], "PATH", "out/dir");
    scr_hash_set_val(metas[0], "NAME", "A");
    scr_hash_set_val(metas[1], "PATH", ".");
    scr_hash_set_val(metas[1], "NAME", "B");
    scr_hash *h = scr_redfile_current(0, 2, metas, NULL, NULL);
    const struct scr_member_file crcs[] = { { .crc = 7 }, { .crc = 8 } };
    assert_int_equal(scr_redfile_set_crcs(h, 2, crcs, 9), SCR_OK);
    assert_int_equal(scr_redfile_files(h, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(has_crc, 1);
    assert_string_equal(files[0].path, "/d/a");
    assert_string_equal(files[1].path, "/d/1/a");
    assert_int_equal(files[1].size, 6);
    assert_int_equal(files[1].crc, 8);
    scr_member_files_free(files, n);

    assert_int_equal(
        scr_redfile_files_at(h, "/p", SCR_LAYOUT_PREFIX, &files, &n, &has_crc, NULL),
        SCR_OK);
    assert_string_equal(files[0].path, "/p/out/dir/A");
    assert_string_equal(files[1].path, "/p/B");
    scr_member_files_free(files, n);

    scr_hash_unset(descend(h, "FILE/1"), "CRC");
    assert_int_equal(scr_redfile_files(h, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(has_crc, 0);
    scr_member_files_free(files, n);

    scr_hash_set_val(descend(h, "FILE/1"), "FILE", "./a");
    assert_int_equal(scr_redfile_files(h, "/d", &files, &n, &has_crc, NULL),
                     SCR_E_CORRUPT); /* the same file twice */
    scr_hash_delete(h);
    scr_hash_delete(metas[0]);
    scr_hash_delete(metas[1]);
}

/* Replaces a random value, or key, anywhere below h. */
static void poison(scr_hash *h)
{
    static const char *const values[] = { "",
                                          "0",
                                          "-1",
                                          "1",
                                          "255",
                                          "256",
                                          "2147483647",
                                          "4294967296",
                                          "9223372036854775807",
                                          "18446744073709551616",
                                          "..",
                                          "../../x",
                                          "/",
                                          "0xffffffff",
                                          "0x",
                                          "RS",
                                          "PARTNER" };
    for (int steps = (int)rnd(6); steps > 0 && scr_hash_size(h) > 0; steps--) {
        unsigned skip = rnd((unsigned)scr_hash_size(h));
        scr_hash_elem *e = scr_hash_elem_first(h);
        while (skip-- > 0)
            e = scr_hash_elem_next(e);
        if (steps == 1 && rnd(3) == 0) {
            scr_hash_unset(h, scr_hash_elem_key(e));
            return;
        }
        h = scr_hash_elem_hash(e);
    }
    if (rnd(2))
        scr_hash_unset_all(h);
    scr_hash_set(h, values[rnd(sizeof values / sizeof values[0])], NULL);
}

static void poisoned_headers_never_pass_for_more_than_they_are(void **state)
{
    (void)state;
    int accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        struct scr_redinfo info;
        struct scr_member_file *files;
        size_t n;
        int has_crc;
        scr_hash *h = example();
        for (unsigned i = rnd(4); i > 0; i--)
            poison(h);
        int rc = scr_redinfo_get(h, &info, NULL);
        assert_true(rc == SCR_OK || rc == SCR_E_CORRUPT);
        if (rc == SCR_OK) {
            assert_in_range(info.n, 1, SCR_EC_MAX);
            assert_in_range(info.member, 0, info.n - 1);
            assert_true(info.k >= 0 && info.k < info.n);
            for (int i = 0; i < info.n; i++)
                assert_in_range(info.world_ranks[i], info.set_id, info.world_size - 1);
            scr_redinfo_fini(&info);
        }
        if (scr_redfile_files(scr_hash_get(h, "PARTNER"), "/d", &files, &n, &has_crc,
                              NULL) == SCR_OK) {
            for (size_t f = 0; f < n; f++)
                assert_memory_equal(files[f].path, "/d/", 3);
            scr_member_files_free(files, n);
        }
        accepted += rc == SCR_OK;
        refused += rc != SCR_OK;
        scr_hash_delete(h);
    }
    assert_true(accepted > 1000 && refused > 1000);
}

/* Byte changes behind a checksum that is right again: only structure can refuse them.
 */
static void mutated_bytes_with_a_good_checksum_do_no_harm(void **state)
{
    (void)state;
    uint8_t *bytes, *work;
    size_t n;
    scr_hash *h = example();
    assert_int_equal(scr_hash_encode(h, (void **)&bytes, &n, NULL), SCR_OK);
    work = malloc(n);
    for (int round = 0; round < 5000; round++) {
        struct scr_redinfo info;
        scr_hash *back = scr_hash_new();
        memcpy(work, bytes, n);
        for (unsigned i = 1 + rnd(4); i > 0; i--)
            work[20 + rnd((unsigned)n - 24)] = (uint8_t)rnd(256);
        uint32_t crc = scr_crc32(0, work, n - 4);
        for (size_t b = 0; b < 4; b++)
            work[n - 4 + b] = (uint8_t)(crc >> (24 - 8 * b));
        if (scr_hash_decode(work, n, back, NULL, NULL) == SCR_OK &&
            scr_redinfo_get(back, &info, NULL) == SCR_OK)
            scr_redinfo_fini(&info);
        scr_hash_delete(back);
    }
    free(bytes);
    free(work);
    scr_hash_delete(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_back),
        cmocka_unit_test(other_names_are_not_parsed),
        cmocka_unit_test(copies_of_the_meta_data),
        cmocka_unit_test(a_header_reads_as_in_the_manual),
        cmocka_unit_test(descriptors_travel_along),
        cmocka_unit_test(crcs_fill_in_without_moving_the_parity),
        cmocka_unit_test(files_that_hold_no_header_are_refused),
        cmocka_unit_test(every_cut_and_every_flip_is_found),
        cmocka_unit_test(every_failing_call_is_reported),
        cmocka_unit_test(impossible_headers_are_refused),
        cmocka_unit_test(unsafe_or_impossible_file_lists_are_refused),
        cmocka_unit_test(files_of_a_header),
        cmocka_unit_test(poisoned_headers_never_pass_for_more_than_they_are),
        cmocka_unit_test(mutated_bytes_with_a_good_checksum_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
