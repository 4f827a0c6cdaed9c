/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy headers: names, contents, the place of the CRCs, and what hostile bytes
 * do. */

#include "base/hashfile.h"
#include "helper_fault.h"
#include "helper_order.h"
#include "helper_pack.h"
#include "helper_redfile.h"
#include "helper_tmp.h"
#include "red/redfile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void assert_info(const struct scr_redinfo *info)
{
    assert_int_equal(info->dset_id, 6);
    assert_int_equal(info->set.ranks, 4);
    assert_int_equal(info->set.n, 4);
    assert_int_equal(info->set.failures, 1);
    assert_int_equal(info->set.member, 0);
    assert_int_equal(info->set.id, 0);
    assert_int_equal(info->set.scheme, SCR_SCHEME_XOR);
    assert_int_equal(info->chunk, 174766);
    assert_memory_equal(info->set.world, world_ranks, sizeof world_ranks);
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
    scr_hash *h = example_tree();
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const char *got = value(h, want[i][0]);
        assert_non_null(got);
        assert_string_equal(got, want[i][1]);
    }
    struct scr_redinfo info;
    assert_int_equal(scr_redinfo_get(h, &info, NULL), SCR_OK);
    assert_info(&info);
    scr_hash_delete(h);
}

static void a_header_is_read_into_structs(void **state)
{
    (void)state;
    struct scr_redhead head;
    struct scr_str s = redfile_example();
    assert_int_equal(read_bytes(s.p, s.len, &head, NULL), SCR_OK);
    assert_info(&head.info);
    assert_int_equal(head.bytes, s.len);
    assert_int_equal(head.current->rank, 0);
    assert_int_equal(head.current->files.n, 1);
    assert_string_equal(head.current->file[0]->item.name, "0");
    assert_string_equal(head.current->file[0]->meta.text[SCR_META_FILE], "rank_0.ckpt");
    assert_int_equal(head.current->file[0]->meta.size, 524294);
    assert_true(head.current->has_chunk_crc);
    assert_null(head.current->desc);
    assert_null(head.current->dset);
    assert_non_null(head.copy[0].p);
    for (int j = 1; j < SCR_EC_MAX; j++)
        assert_null(head.copy[j].p);
    scr_redhead_fini(&head);
    assert_no_head(&head);
    scr_redhead_fini(&head); /* again */
    scr_str_free(&s);
}

static void descriptors_travel_along(void **state)
{
    (void)state;
    scr_hash *desc = scr_hash_new(), *dset = scr_hash_new();
    scr_hash_set_val(desc, "TYPE", "XOR");
    scr_hash_set_val(dset, "NAME", "ckpt.6");
    struct scr_current *c = scr_current_new(5, desc, dset), *back;
    struct scr_str s = redfile_packed(c);
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_unpack(s.p, s.len, h, NULL, NULL), SCR_OK);
    assert_string_equal(value(h, "DESC/TYPE"), "XOR");
    assert_string_equal(value(h, "DSETDESC/NAME"), "ckpt.6");
    assert_string_equal(value(h, "FILES"), "0");
    assert_int_equal(unpack_bytes(s.p, s.len, &back, NULL), SCR_OK);
    assert_true(scr_hash_equal(back->desc, desc));
    assert_true(scr_hash_equal(back->dset, dset));
    assert_int_equal(back->rank, 5);
    struct scr_member_file *files;
    int has_crc;
    assert_int_equal(
        scr_redfile_files(back, "/d", SCR_LAYOUT_CACHE, &files, &has_crc, NULL),
        SCR_OK);
    assert_int_equal(back->n, 0);
    assert_int_equal(has_crc, 1);
    scr_member_files_free(files, back->n);
    scr_hash_delete(h);
    scr_str_free(&s);
    scr_current_delete(c);
    scr_current_delete(back);
    scr_hash_delete(desc);
    scr_hash_delete(dset);
}

static scr_hash *header_tree(const struct scr_redowner *o, int copies)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val_i64(h, "DSET", o->dset_id);
    scr_hash_set_val_i64(h, "RANKS", o->world_size);
    scr_hash_set_val(h, "TYPE", scr_scheme_name(o->g->scheme));
    scr_hash_set_val_i64(h, "FAILURES", o->g->k);
    scr_hash *group = scr_hash_set(h, "GROUP", NULL);
    scr_hash_set_val_i64(group, "RANKS", o->g->n);
    for (int i = 0; i < o->g->n; i++)
        scr_hash_setf(group, NULL, "RANK %d %d", i, o->world_ranks[i]);
    scr_hash_set_val_i64(h, "MEMBER", o->member);
    scr_hash_set_val_u64(h, "CHUNK", o->g->chunk);
    scr_hash_set(h, "CURRENT", current_tree(o->member, files_of(o->member)));
    for (int j = 1; j <= copies; j++) {
        char key[24];
        int left = (o->member + o->g->n - j) % o->g->n;
        scr_hash_set(h, scr_redfile_partner_key(j, key, sizeof key),
                     current_tree(left, files_of(left)));
    }
    return h;
}

/* Packed parts need not be packed again to know the length of the header. */
static void expect_length_without(const struct scr_redowner *o,
                                  const struct scr_current *c,
                                  const struct scr_str *copy, int copies, size_t whole)
{
    struct scr_str s = SCR_STR_INIT, current = redfile_packed(c);
    scr_redfile_header(&s, o, NULL, NULL, copies);
    assert_false(s.bad);
    size_t n = s.len + current.len;
    for (int j = 0; j < copies; j++)
        n += copy[j].len;
    assert_int_equal(n, whole);
    scr_str_free(&s);
    scr_str_free(&current);
}

static void expect_bytes_of_tree(enum scr_scheme scheme, int n, int k, int member)
{
    const uint64_t len[] = { 100, 0, 7, 99 };
    struct scr_geom g;
    void *want;
    size_t want_n;
    assert_int_equal(scr_geom_init(&g, scheme, n, k, len, NULL), SCR_OK);
    const struct scr_redowner o = { &g, member, 6, 4, world_ranks };
    int copies = scr_redfile_copies(n, g.k);
    struct scr_str s = SCR_STR_INIT, copy[4] = { SCR_STR_INIT };
    struct scr_current *c = current_struct(member, files_of(member));
    for (int j = 1; j <= copies; j++) {
        int left = (member + n - j) % n;
        struct scr_current *of = current_struct(left, files_of(left));
        scr_current_pack(&copy[j - 1], of);
        scr_current_delete(of);
    }
    scr_redfile_header(&s, &o, c, copy, copies);
    scr_hash *h = header_tree(&o, copies);
    want = test_hash_encoded(h, &want_n);
    assert_non_null(want);
    assert_int_equal(s.len, want_n);
    assert_memory_equal(s.p, want, want_n);
    expect_length_without(&o, c, copy, copies, s.len);
    free(want);
    scr_hash_delete(h);
    scr_current_delete(c);
    for (int j = 0; j < 4; j++)
        scr_str_free(&copy[j]);
    scr_str_free(&s);
}

static void a_header_is_the_bytes_of_its_tree(void **state)
{
    (void)state;
    expect_bytes_of_tree(SCR_SCHEME_SINGLE, 1, 0, 0);
    for (int member = 0; member < 4; member++) {
        expect_bytes_of_tree(SCR_SCHEME_XOR, 4, 1, member);
        expect_bytes_of_tree(SCR_SCHEME_PARTNER, 4, 2, member);
        expect_bytes_of_tree(SCR_SCHEME_RS, 4, 3, member);
    }
}

/* --- on disk --- */

static void crcs_fill_in_without_moving_the_parity(void **state)
{
    (void)state;
    const char *path = test_path("crcs.xor");
    const struct scr_member_file files[] = { { .crc = 0xdeadbeef } };
    uint64_t read = 0;
    struct scr_current *c = current_of("rank_0.ckpt", 524294, 0);
    struct scr_str before = header_of(c);
    assert_int_equal(scr_redfile_write(&posix_env, path, &before, NULL), SCR_OK);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "parity", 6, (off_t)before.len), 6);
    assert_int_equal(close(fd), 0);
    scr_current_set_crcs(c, files, 0x17);
    struct scr_str after = header_of(c);
    assert_int_equal(scr_redfile_write(&posix_env, path, &after, NULL), SCR_OK);
    assert_int_equal(after.len, before.len);
    scr_hash *h = scr_hash_new(), *back = scr_hash_new();
    assert_int_equal(scr_hash_decode(after.p, after.len, h, NULL), SCR_OK);
    assert_int_equal(scr_redfile_read(&posix_env, path, back, &read, NULL), SCR_OK);
    assert_int_equal(read, before.len);
    assert_true(scr_hash_equal(h, back));
    assert_string_equal(value(back, "CURRENT/FILE/0/CRC"), "0xdeadbeef");
    assert_string_equal(value(back, "CURRENT/CHUNKCRC"), "0x00000017");
    struct scr_redhead head;
    assert_int_equal(scr_redhead_read(&posix_env, path, &head, NULL), SCR_OK);
    assert_int_equal(head.bytes, before.len);
    assert_int_equal(head.current->file[0]->meta.crc, 0xdeadbeef);
    assert_int_equal(head.current->chunk_crc, 0x17);
    scr_redhead_fini(&head);
    size_t n;
    char *bytes = test_get(path, &n);
    assert_int_equal(n, before.len + 6);
    assert_memory_equal(bytes + before.len, "parity", 6);
    free(bytes);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    scr_hash_delete(h);
    scr_hash_delete(back);
    scr_str_free(&before);
    scr_str_free(&after);
    scr_current_delete(c);
}

static void a_spoilt_header_is_not_written(void **state)
{
    (void)state;
    const uint64_t len[] = { 100, 0, 7, 99 };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_geom g;
    struct scr_str s = SCR_STR_INIT, copy[2] = { SCR_STR_INIT };
    struct scr_current *c = current_struct(0, 1);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 4, 2, len, NULL), SCR_OK);
    const struct scr_redowner o = { &g, 0, 6, 4, world_ranks };
    scr_current_pack(&copy[1], c);
    scr_str_spoil(&copy[0]); /* a copy that memory was too short for */
    scr_redfile_header(&s, &o, c, copy, 2);
    assert_true(s.bad);
    assert_int_equal(scr_redfile_write(&posix_env, test_path("spoilt.xor"), &s, &err),
                     SCR_E_NOMEM);
    assert_non_null(strstr(err.text, "spoilt.xor"));
    assert_int_equal(access(test_path("spoilt.xor"), F_OK), -1);
    scr_str_free(&s);
    scr_str_free(&copy[0]);
    scr_str_free(&copy[1]);
    scr_current_delete(c);
}

static void files_that_hold_no_header_are_refused(void **state)
{
    (void)state;
    char garbage[4096];
    memset(garbage, 'x', sizeof garbage);
    refuse_bytes("", 0, SCR_E_CORRUPT);
    refuse_bytes(garbage, 15, SCR_E_CORRUPT);
    refuse_bytes(garbage, sizeof garbage, SCR_E_CORRUPT);
    memset(garbage, 0, 100);
    refuse_bytes(garbage, 100, SCR_E_CORRUPT);
    refuse_file(test_path("absent"), SCR_E_NOENT);
    refuse_file(test_tmp(), SCR_E_UNSAFE);
    struct scr_str s = redfile_example();
    test_put(test_path("good.xor"), s.p, s.len);
    assert_int_equal(symlink(test_path("good.xor"), test_path("link.xor")), 0);
    refuse_file(test_path("link.xor"), SCR_E_UNSAFE);
    scr_str_free(&s);
}

/* Bytes of the header of a hash file (scr_hashfile(5)). */
enum { AT_VERSION = 6, AT_SIZE = 8 };

static void a_newer_version_is_distinguished_from_damage(void **state)
{
    (void)state;
    struct scr_str s = redfile_example();
    s.p[AT_VERSION + 1]++;
    seal((uint8_t *)s.p, s.len);
    refuse_bytes(s.p, s.len, SCR_E_VERSION);
    scr_str_free(&s);
}

static void claimed_sizes_are_bounded(void **state)
{
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    struct scr_str s = redfile_example();
    const uint64_t claims[] = { 0,         15,        16,      19,         20,
                                s.len - 1, s.len + 1, gib + 1, UINT64_MAX, 2 * gib };
    const char *path = test_path("large.xor");
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        uint8_t *bytes = malloc(s.len);
        memcpy(bytes, s.p, s.len);
        for (size_t b = 0; b < 8; b++)
            bytes[AT_SIZE + b] = (uint8_t)(claims[i] >> (56 - 8 * b));
        refuse_bytes(bytes, s.len, SCR_E_CORRUPT);
        test_put(path, bytes, s.len);
        assert_int_equal(truncate(path, (off_t)(2 * gib)), 0); /* of holes */
        refuse_file(path, SCR_E_CORRUPT);
        free(bytes);
    }
    unlink(path);
    scr_str_free(&s);
}

static void every_cut_and_every_flip_is_found(void **state)
{
    (void)state;
    struct scr_str s = redfile_example();
    uint8_t *bytes = malloc(s.len);
    for (size_t cut = 0; cut < s.len; cut++)
        refuse_bytes(s.p, cut, SCR_E_CORRUPT);
    for (size_t at = 0; at < s.len; at++) {
        memcpy(bytes, s.p, s.len);
        bytes[at] ^= (uint8_t)(1U << redfile_rnd(8));
        refuse_bytes(bytes, s.len, SCR_E_CORRUPT);
    }
    free(bytes);
    scr_str_free(&s);
}

/* What a command can make of path. */
enum { WRITE, READ_TREE, READ_HEAD, OPERATIONS };

static int operate(int what, const char *path, const struct scr_str *s,
                   struct scr_redhead *head, struct scr_err *err)
{
    uint64_t n;
    if (what == WRITE)
        return scr_redfile_write(&fault_env, path, s, err);
    if (what == READ_HEAD)
        return scr_redhead_read(&fault_env, path, head, err);
    scr_hash *h = scr_hash_new();
    int rc = scr_redfile_read(&fault_env, path, h, &n, err);
    scr_hash_delete(h);
    return rc;
}

static long fail_each_call(int what, int error, int want)
{
    struct scr_str s = redfile_example();
    const char *path = test_path("fault.xor");
    test_put(path, s.p, s.len);
    for (long i = 0;; i++) {
        struct scr_err err = SCR_ERR_INIT;
        struct scr_redhead head = { .bytes = 0 };
        test_fault_arm(TEST_ANY, i, error, TEST_ONCE);
        int rc = operate(what, path, &s, &head, &err);
        int fired = test_fault_off();
        assert_int_equal(rc, fired ? want : SCR_OK);
        assert_int_equal(err.code, rc);
        assert_int_equal(test_fault_open_fds(), 0);
        if (rc != SCR_OK)
            assert_no_head(&head);
        scr_redhead_fini(&head);
        if (!fired) {
            scr_str_free(&s);
            return i;
        }
    }
}

static void every_failing_call_is_reported(void **state)
{
    (void)state;
    for (int what = 0; what < OPERATIONS; what++)
        assert_true(fail_each_call(what, EIO, SCR_E_IO) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_back),
        cmocka_unit_test(other_names_are_not_parsed),
        cmocka_unit_test(copies_of_the_meta_data),
        cmocka_unit_test(a_header_reads_as_in_the_manual),
        cmocka_unit_test(a_header_is_read_into_structs),
        cmocka_unit_test(descriptors_travel_along),
        cmocka_unit_test(a_header_is_the_bytes_of_its_tree),
        cmocka_unit_test(crcs_fill_in_without_moving_the_parity),
        cmocka_unit_test(a_spoilt_header_is_not_written),
        cmocka_unit_test(files_that_hold_no_header_are_refused),
        cmocka_unit_test(a_newer_version_is_distinguished_from_damage),
        cmocka_unit_test(claimed_sizes_are_bounded),
        cmocka_unit_test(every_cut_and_every_flip_is_found),
        cmocka_unit_test(every_failing_call_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
