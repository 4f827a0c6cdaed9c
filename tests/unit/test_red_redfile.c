/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy headers: names, contents, the place of the CRCs, and what hostile bytes
 * do. */
#include "helper_fault.h"
#include "helper_order.h"
#include "helper_pack.h"
#include "helper_tmp.h"

#include "base/hashfile.h"
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

static const int world_ranks[] = { 0, 1, 2, 3 };

static scr_meta *meta_of(const char *file, uint64_t size, int rank)
{
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, file, "FULL", size, (struct scr_meta_of){ 6, rank, 4 }, 1);
    return m;
}

static void add_file(struct scr_current *c, scr_meta *meta)
{
    assert_int_equal(scr_current_add(c, meta), SCR_OK);
    scr_meta_delete(meta);
}

static struct scr_current *current_of(const char *file, uint64_t size, int rank)
{
    struct scr_current *c = scr_current_new(rank, NULL, NULL);
    assert_non_null(c);
    add_file(c, meta_of(file, size, rank));
    scr_current_reserve_crcs(c);
    return c;
}

static struct scr_str packed(const struct scr_current *c)
{
    struct scr_str s = SCR_STR_INIT;
    scr_current_pack(&s, c);
    assert_false(s.bad);
    return s;
}

/* Header of member 0, whose files c are, with member 3's as the example has it. */
static struct scr_str header_of(const struct scr_current *c)
{
    const uint64_t len[] = { 524294, 524295, 524296, 524297 };
    struct scr_geom g;
    struct scr_str s = SCR_STR_INIT;
    struct scr_current *left = current_of("rank_3.ckpt", 524297, 3);
    struct scr_str copy = packed(left);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 1, len, NULL), SCR_OK);
    const struct scr_redowner o = { &g, 0, 6, 4, world_ranks };
    scr_redfile_header(&s, &o, c, &copy, 1);
    assert_false(s.bad);
    scr_str_free(&copy);
    scr_current_delete(left);
    return s;
}

static struct scr_str example(void)
{
    struct scr_current *c = current_of("rank_0.ckpt", 524294, 0);
    struct scr_str s = header_of(c);
    scr_current_delete(c);
    return s;
}

static scr_hash *example_tree(void)
{
    struct scr_str s = example();
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_decode(s.p, s.len, h, NULL, NULL), SCR_OK);
    scr_str_free(&s);
    return h;
}

static int read_bytes(const void *bytes, size_t n, struct scr_redhead *head,
                      struct scr_err *err)
{
    const char *path = test_path("bytes.xor");
    test_put(path, bytes, n);
    return scr_redhead_read(&posix_env, path, head, err);
}

static int read_tree(const scr_hash *h, struct scr_redhead *head, struct scr_err *err)
{
    void *bytes;
    size_t n;
    bytes = test_hash_encoded(h, &n);
    assert_non_null(bytes);
    int rc = read_bytes(bytes, n, head, err);
    free(bytes);
    return rc;
}

/* From a block of exactly n bytes, so that a read past its end is found. */
static int unpack_bytes(const void *bytes, size_t n, struct scr_current **c,
                        struct scr_err *err)
{
    void *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    int rc = scr_current_unpack(exact, n, c, err);
    free(exact);
    return rc;
}

static int unpack_tree(const scr_hash *h, struct scr_current **c, struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, h);
    assert_false(s.bad);
    int rc = unpack_bytes(s.p, s.len, c, err);
    scr_str_free(&s);
    return rc;
}

static void assert_no_head(const struct scr_redhead *head)
{
    assert_int_equal(head->info.set.n, 0);
    assert_null(head->current);
    assert_null(head->buf);
    assert_int_equal(head->bytes, 0);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_null(head->copy[j].p);
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
    struct scr_str s = example();
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
    struct scr_str s = packed(c);
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
    size_t n;
    int has_crc;
    assert_int_equal(scr_redfile_files(back, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(has_crc, 1);
    scr_member_files_free(files, n);
    scr_hash_delete(h);
    scr_str_free(&s);
    scr_current_delete(c);
    scr_current_delete(back);
    scr_hash_delete(desc);
    scr_hash_delete(dset);
}

/* --- the same as a tree --- */

/* All that meta data can say, in the order it is written. */
static scr_hash *whole_meta(int rank, int file)
{
    static const char *const rest[][2] = { { "ORIG", "out/a" },
                                           { "PATH", "out" },
                                           { "NAME", "a" },
                                           { "TYPE", "FULL" },
                                           { "ASKED", "elsewhere/a" },
                                           { "SHARED", "1" },
                                           { "COMPLETE", "1" },
                                           { "SIZE", "524294" },
                                           { "CRC", "0xdeadbeef" },
                                           { "DSET", "6" },
                                           { "RANK", "0" },
                                           { "RANKS", "4" },
                                           { "MODE", "33184" },
                                           { "UID", "4294967294" },
                                           { "GID", "100" },
                                           { "ATIME_SECS", "1312850690" },
                                           { "ATIME_NSECS", "668536000" },
                                           { "CTIME_SECS", "7" },
                                           { "CTIME_NSECS", "999999999" },
                                           { "MTIME_SECS", "-5" },
                                           { "MTIME_NSECS", "1" } };
    char name[32];
    scr_hash *h = scr_hash_new();
    snprintf(name, sizeof name, "%d.%d", rank, file);
    scr_hash_set_val(h, "FILE", name);
    if (file == 1) { /* only what it must have */
        scr_hash_set_val(h, "SIZE", "0");
        scr_hash_set_val(h, "CRC", "0x00000000");
        return h;
    }
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        scr_hash_set_val(h, rest[i][0], rest[i][1]);
    return h;
}

/* CURRENT of a rank with as many files, as a tree and as a struct; of an odd rank it
 * has both descriptors, of an even one none. */
static scr_hash *current_tree(int rank, int nfiles)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val_i64(h, "RANK", rank);
    scr_hash_set_val_i64(h, "FILES", nfiles);
    scr_hash *list = scr_hash_set(h, "FILE", NULL);
    for (int f = 0; f < nfiles; f++) {
        char key[12];
        snprintf(key, sizeof key, "%d", f);
        scr_hash_set(list, key, whole_meta(rank, f));
    }
    scr_hash_set_val_crc(h, "CHUNKCRC", 0x17U + (uint32_t)rank);
    if (rank % 2 == 1) {
        scr_hash_setf(h, NULL, "DESC STORE /ssd");
        scr_hash_setf(h, NULL, "DESC TYPE RS");
        scr_hash_setf(h, NULL, "DSETDESC ID 6");
        scr_hash_setf(h, NULL, "DSETDESC NAME ckpt.6");
    }
    return h;
}

static struct scr_current *current_struct(int rank, int nfiles)
{
    scr_hash *h = current_tree(rank, nfiles);
    struct scr_current *c =
        scr_current_new(rank, scr_hash_get(h, "DESC"), scr_hash_get(h, "DSETDESC"));
    for (int f = 0; f < nfiles; f++) {
        scr_meta *m = scr_meta_new();
        assert_int_equal(scr_meta_from_hash(m, scr_hash_getf(h, "FILE %d", f)), SCR_OK);
        add_file(c, m);
    }
    c->chunk_crc = 0x17U + (uint32_t)rank;
    c->has_chunk_crc = 1;
    scr_hash_delete(h);
    return c;
}

static int files_of(int rank)
{
    return (rank + 2) % 4; /* 2, 3, 0, 1 */
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
    struct scr_str s = SCR_STR_INIT, current = packed(c);
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

/* --- CURRENT, and copies of it --- */

static void assert_same_bytes(const void *p, size_t n, const struct scr_str *s)
{
    assert_int_equal(n, s->len);
    assert_memory_equal(p, s->p, n);
}

static void assert_same_current(const struct scr_current *a,
                                const struct scr_current *b)
{
    struct scr_str s = packed(a), t = packed(b);
    assert_same_bytes(s.p, s.len, &t);
    scr_str_free(&s);
    scr_str_free(&t);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->files.n, b->files.n);
    assert_int_equal(a->has_chunk_crc, b->has_chunk_crc);
    assert_int_equal(a->chunk_crc, b->chunk_crc);
    assert_true((a->desc == NULL) == (b->desc == NULL));
    assert_true((a->dset == NULL) == (b->dset == NULL));
    assert_true(scr_hash_equal(a->desc, b->desc));
    assert_true(scr_hash_equal(a->dset, b->dset));
    for (size_t f = 0; f < a->files.n; f++) {
        const scr_meta *m = &a->file[f]->meta, *o = &b->file[f]->meta;
        assert_string_equal(a->file[f]->item.name, b->file[f]->item.name);
        assert_int_equal(m->has, o->has);
        assert_int_equal(m->size, o->size);
        assert_int_equal(m->crc, o->crc);
        assert_string_equal(m->text[SCR_META_FILE], o->text[SCR_META_FILE]);
    }
}

/* From the member whose files they are, by way of its right neighbour's header, to the
 * rank that rebuilds it, and into a header again. */
static void a_copy_travels_and_is_equal(void **state)
{
    (void)state;
    struct scr_redhead head, again;
    const char *path = test_path("travel.rs");
    const uint64_t len[] = { 100, 0, 7, 99 };
    struct scr_geom g;
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_RS, 4, 3, len, NULL), SCR_OK);
    struct scr_redowner o = { &g, 0, 6, 4, world_ranks };
    struct scr_current *c[4], *got[4];
    struct scr_str s = SCR_STR_INIT, bytes[4], left[3];
    for (int i = 0; i < 4; i++) {
        c[i] = current_struct(i, files_of(i));
        bytes[i] = packed(c[i]);
    }
    for (int j = 1; j <= 3; j++)
        left[j - 1] = bytes[4 - j];
    scr_redfile_header(&s, &o, c[0], left, 3);
    assert_int_equal(scr_redfile_write(&posix_env, path, &s, NULL), SCR_OK);
    assert_int_equal(scr_redhead_read(&posix_env, path, &head, NULL), SCR_OK);
    assert_same_current(head.current, c[0]);
    for (int j = 1; j <= 3; j++) {
        const struct scr_redcopy *copy = &head.copy[j - 1];
        assert_same_bytes(copy->p, copy->n, &bytes[4 - j]);
        assert_int_equal(unpack_bytes(copy->p, copy->n, &got[4 - j], NULL), SCR_OK);
        assert_same_current(got[4 - j], c[4 - j]);
    }
    /* The header of member 1 is made of what came: its files, and its neighbours'. */
    scr_str_free(&s);
    o.member = 1;
    left[0] = packed(head.current);
    left[1] = packed(got[3]);
    left[2] = packed(got[2]);
    scr_redfile_header(&s, &o, got[1], left, 3);
    assert_int_equal(read_bytes(s.p, s.len, &again, NULL), SCR_OK);
    assert_same_current(again.current, c[1]);
    for (int j = 1; j <= 3; j++) {
        assert_same_bytes(again.copy[j - 1].p, again.copy[j - 1].n,
                          &bytes[(5 - j) % 4]);
        scr_str_free(&left[j - 1]);
        scr_current_delete(got[j]);
    }
    for (int i = 0; i < 4; i++) {
        scr_current_delete(c[i]);
        scr_str_free(&bytes[i]);
    }
    scr_redhead_fini(&head);
    scr_redhead_fini(&again);
    scr_str_free(&s);
}

static void files_are_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    enum { N = 12 };
    struct scr_current *c, *want = current_struct(0, N);
    scr_hash *h = current_tree(0, N), *list = scr_hash_get(h, "FILE");
    test_hash_sort(list, test_numbers_down);
    assert_string_equal(scr_hash_elem_key(scr_hash_elem_first(list)), "11");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_same_current(c, want);
    test_hash_sort(list, test_bytewise);
    assert_string_equal(scr_hash_elem_key(scr_hash_elem_next(
                            scr_hash_elem_next(scr_hash_elem_first(list)))),
                        "10");
    scr_current_delete(c);
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_same_current(c, want);
    scr_current_delete(c);
    scr_current_delete(want);
    scr_hash_delete(h);
}

static void files_are_added_to_those_that_were_read(void **state)
{
    (void)state;
    for (int before = 0; before < 10; before++) {
        struct scr_current *c, *want = current_struct(0, before + 9);
        scr_hash *h = current_tree(0, before), *all = current_tree(0, before + 9);
        assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
        for (int f = before; f < before + 9; f++) {
            scr_meta *m = scr_meta_new();
            (void)scr_meta_from_hash(m, scr_hash_getf(all, "FILE %d", f));
            add_file(c, m);
        }
        assert_same_current(c, want);
        scr_current_delete(c);
        scr_current_delete(want);
        scr_hash_delete(h);
        scr_hash_delete(all);
    }
}

static void what_a_copy_does_not_record(void **state)
{
    (void)state;
    struct scr_current *c;
    scr_hash *h = current_tree(1, 1);
    scr_hash_unset(h, "RANK");
    scr_hash_unset(h, "CHUNKCRC");
    scr_hash_unset(h, "DESC");
    scr_hash_set_val(h, "FUTURE", "unknown");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_int_equal(c->rank, -1);
    assert_int_equal(c->has_chunk_crc, 0);
    assert_null(c->desc);
    assert_non_null(c->dset);
    scr_current_delete(c);
    scr_hash_set_val(h, "RANK", "first");
    scr_hash_set_val(h, "CHUNKCRC", "0xfffffffff");
    assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
    assert_int_equal(c->rank, -1);
    assert_int_equal(c->has_chunk_crc, 0);
    scr_current_delete(c);
    scr_hash_delete(h);
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
    assert_int_equal(scr_hash_decode(after.p, after.len, h, NULL, NULL), SCR_OK);
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

/* Neither of the two readers takes them, nor leaves anything behind. */
static void refuse_file(const char *path, int want)
{
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT, of_tree = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    uint64_t n;
    assert_int_equal(scr_redhead_read(&posix_env, path, &head, &err), want);
    assert_int_equal(err.code, want);
    assert_non_null(strstr(err.text, path));
    assert_no_head(&head);
    assert_int_equal(scr_redfile_read(&posix_env, path, h, &n, &of_tree), want);
    assert_non_null(strstr(of_tree.text, path));
    assert_int_equal(scr_hash_size(h), 0);
    scr_hash_delete(h);
}

static void refuse_bytes(const void *bytes, size_t n, int want)
{
    const char *path = test_path("refuse.xor");
    test_put(path, bytes, n);
    refuse_file(path, want);
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
    struct scr_str s = example();
    test_put(test_path("good.xor"), s.p, s.len);
    assert_int_equal(symlink(test_path("good.xor"), test_path("link.xor")), 0);
    refuse_file(test_path("link.xor"), SCR_E_UNSAFE);
    scr_str_free(&s);
}

/* Makes the checksum at the end right again. */
static void seal(uint8_t *bytes, size_t n)
{
    uint32_t crc = scr_crc32(0, bytes, n - 4);
    for (size_t b = 0; b < 4; b++)
        bytes[n - 4 + b] = (uint8_t)(crc >> (24 - 8 * b));
}

/* Bytes of the header of a hash file (scr_hashfile(5)). */
enum { AT_VERSION = 6, AT_SIZE = 8 };

static void a_newer_version_is_distinguished_from_damage(void **state)
{
    (void)state;
    struct scr_str s = example();
    s.p[AT_VERSION + 1]++;
    seal((uint8_t *)s.p, s.len);
    refuse_bytes(s.p, s.len, SCR_E_VERSION);
    scr_str_free(&s);
}

static void claimed_sizes_are_bounded(void **state)
{
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    struct scr_str s = example();
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
    struct scr_str s = example();
    uint8_t *bytes = malloc(s.len);
    for (size_t cut = 0; cut < s.len; cut++)
        refuse_bytes(s.p, cut, SCR_E_CORRUPT);
    for (size_t at = 0; at < s.len; at++) {
        memcpy(bytes, s.p, s.len);
        bytes[at] ^= (uint8_t)(1U << rnd(8));
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
    struct scr_str s = example();
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
    scr_hash *h = example_tree();
    scr_hash *at = descend(h, c->where);
    if (c->val == NULL)
        assert_int_equal(scr_hash_unset(at, c->key), 1);
    else
        scr_hash_set_val(at, c->key, c->val);
    return h;
}

static void refuse_tree(const scr_hash *h)
{
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(read_tree(h, &head, &err), SCR_E_CORRUPT);
    assert_non_null(strstr(err.text, "bytes.xor"));
    assert_no_head(&head);
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
        { "", "CURRENT", "0" },
        { "CURRENT", "RANK", NULL },
        { "CURRENT", "RANK", "1" },
        { "CURRENT", "RANK", "-1" },
        { "CURRENT", "RANK", "4294967296" },
        { "CURRENT", "RANK", "zero" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct scr_redinfo info;
        struct scr_err err = SCR_ERR_INIT;
        scr_hash *h = changed(&changes[i]);
        refuse_tree(h);
        int of_set = strcmp(changes[i].where, "CURRENT") != 0 &&
                     strcmp(changes[i].key, "CURRENT") != 0 &&
                     /* MEMBER 1 is one, but CURRENT is not his */
                     (strcmp(changes[i].key, "MEMBER") != 0 || changes[i].val == NULL ||
                      strcmp(changes[i].val, "1") != 0);
        int rc = scr_redinfo_get(h, &info, &err);
        assert_int_equal(rc, of_set ? SCR_E_CORRUPT : SCR_OK);
        assert_int_equal(err.text[0] != '\0', of_set);
        scr_hash_delete(h);
    }
    struct scr_redinfo info;
    assert_int_equal(scr_redinfo_get(NULL, &info, NULL), SCR_E_CORRUPT);
}

/* A number that is two is none. */
static void ambiguous_numbers_are_refused(void **state)
{
    (void)state;
    const char *const where[][2] = { { "", "DSET" },        { "", "RANKS" },
                                     { "", "FAILURES" },    { "", "MEMBER" },
                                     { "", "CHUNK" },       { "GROUP", "RANKS" },
                                     { "GROUP/RANK", "1" }, { "CURRENT", "RANK" },
                                     { "CURRENT", "FILES" } };
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        scr_hash *h = example_tree();
        scr_hash_set_kv(descend(h, where[i][0]), where[i][1], "7");
        refuse_tree(h);
        scr_hash_delete(h);
    }
}

/* CURRENT is refused by itself, in the header of its member and, in the place of a
 * neighbour's, when that is wanted. */
static void refuse_current(const scr_hash *current)
{
    struct scr_current *c;
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = example_tree();
    assert_int_equal(unpack_tree(current, &c, &err), SCR_E_CORRUPT);
    assert_true(err.text[0] != '\0');
    assert_null(c);
    scr_hash_set(h, "CURRENT", scr_hash_dup(current));
    refuse_tree(h);
    scr_hash_delete(h);

    h = example_tree();
    scr_hash_set(h, "PARTNER", scr_hash_dup(current));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    assert_int_equal(scr_current_unpack(head.copy[0].p, head.copy[0].n, &c, NULL),
                     SCR_E_CORRUPT);
    assert_null(c);
    scr_redhead_fini(&head);
    scr_hash_delete(h);
}

static void file_lists_of_another_length_are_refused(void **state)
{
    (void)state;
    const struct change changes[] = {
        { "CURRENT", "FILES", NULL },
        { "CURRENT", "FILES", "2" },
        { "CURRENT", "FILES", "0" },
        { "CURRENT", "FILES", "-1" },
        { "CURRENT", "FILES", "4000000000" },
        { "CURRENT", "FILES", "18446744073709551615" },
        { "CURRENT", "FILES", "one" },
        { "CURRENT", "FILES", "" },
        { "CURRENT", "FILE", NULL },
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        scr_hash *h = changed(&changes[i]);
        refuse_current(scr_hash_get(h, "CURRENT"));
        scr_hash_delete(h);
    }
    refuse_current(NULL);
}

static void files_must_be_numbered_without_a_gap(void **state)
{
    (void)state;
    const char *const lists[][3] = {
        { "1" },
        { "00" },
        { "+0" },
        { "-0" },
        { " 0" },
        { "" },
        { "zero" },
        { "-1" },
        { "0", "2" },
        { "1", "2" },
        { "0", "00" },
        { "0", "01" },
        { "0", "" },
        { "0", "1", "3" },
        { "0", "1", "01" },
        { "2", "1", "3" },
        { "0", "4294967296" },
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        int n = 0;
        scr_hash *h = example_tree();
        scr_hash *current = scr_hash_get(h, "CURRENT");
        scr_hash *meta = scr_hash_dup(scr_hash_getf(current, "FILE 0"));
        scr_hash *list = scr_hash_set(current, "FILE", NULL);
        for (; n < 3 && lists[i][n] != NULL; n++)
            scr_hash_set(list, lists[i][n], scr_hash_dup(meta));
        scr_hash_set_val_i64(current, "FILES", n);
        refuse_current(current);
        scr_hash_delete(meta);
        scr_hash_delete(h);
    }
}

/* A hash packed with a change that no tree can have: at key in `in` the hash becomes
 * raw, or the key is there twice. */
struct graft {
    const scr_hash *in;
    const char *key;
    const struct scr_str *raw; /* NULL: twice */
};

static void pack_grafted(struct scr_str *s, const scr_hash *h, const struct graft *g)
{
    scr_pack_count(s, scr_hash_size(h) + (h == g->in && g->raw == NULL));
    for (SCR_HASH_EACH(e, h)) {
        int here = h == g->in && strcmp(scr_hash_elem_key(e), g->key) == 0;
        scr_pack_key(s, scr_hash_elem_key(e));
        if (here && g->raw != NULL)
            scr_str_append_n(s, g->raw->p, g->raw->len);
        else
            pack_grafted(s, scr_hash_elem_hash(e), g);
        if (here && g->raw == NULL)
            scr_pack_hash(s, scr_hash_elem_key(e), scr_hash_elem_hash(e));
    }
}

static void refuse_graft(scr_hash *h, const struct graft *g)
{
    struct scr_str s = SCR_STR_INIT;
    scr_frame_begin(&s);
    pack_grafted(&s, h, g);
    scr_frame_end(&s);
    assert_false(s.bad);
    refuse_bytes(s.p, s.len, SCR_E_CORRUPT);
    scr_str_free(&s);
}

/* The same of a copy: the header is a good one, which the copy is found not to be. */
static void refuse_graft_of_copy(scr_hash *h, const struct graft *g)
{
    struct scr_str s = SCR_STR_INIT;
    struct scr_redhead head;
    struct scr_current *c;
    scr_frame_begin(&s);
    pack_grafted(&s, h, g);
    scr_frame_end(&s);
    assert_int_equal(read_bytes(s.p, s.len, &head, NULL), SCR_OK);
    assert_int_equal(unpack_bytes(head.copy[0].p, head.copy[0].n, &c, NULL),
                     SCR_E_CORRUPT);
    assert_null(c);
    scr_redhead_fini(&head);
    scr_str_free(&s);
}

/* With all keys that there may be. */
static scr_hash *full_tree(void)
{
    scr_hash *h = example_tree();
    scr_hash_set(h, "CURRENT", current_tree(3, 3));
    scr_hash_set_val(scr_hash_get(h, "CURRENT"), "RANK", "0");
    scr_hash_set(h, "PARTNER", current_tree(3, 3));
    scr_hash_set(h, "PARTNER2", current_tree(2, 3));
    return h;
}

static void keys_given_twice_are_refused(void **state)
{
    (void)state;
    const char *const where[] = { "",
                                  "GROUP",
                                  "GROUP/RANK",
                                  "CURRENT",
                                  "CURRENT/FILE",
                                  "CURRENT/FILE/0",
                                  "CURRENT/FILE/2",
                                  "CURRENT/DESC",
                                  "CURRENT/DSETDESC",
                                  "PARTNER",
                                  "PARTNER/FILE",
                                  "PARTNER/FILE/1",
                                  "PARTNER/DESC" };
    int tried = 0;
    scr_hash *h = full_tree();
    struct scr_redhead head;
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK); /* except for that */
    scr_redhead_fini(&head);
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        struct graft g = { descend(h, where[i]), NULL, NULL };
        for (SCR_HASH_EACH(e, g.in)) {
            g.key = scr_hash_elem_key(e);
            if (where[i][0] == 'P')
                refuse_graft_of_copy(h, &g);
            else
                refuse_graft(h, &g);
            tried++;
        }
    }
    assert_true(tried > 70);
    scr_hash_delete(h);
}

/* Keys below each other, more than a reader follows, and packed bytes cut short. */
static void hostile_hashes_within_are_refused(void **state)
{
    (void)state;
    const char *const where[][2] = { { "", "DSET" },
                                     { "", "TYPE" },
                                     { "", "GROUP" },
                                     { "", "CURRENT" },
                                     { "", "PARTNER" },
                                     { "", "PARTNER2" },
                                     { "CURRENT", "RANK" },
                                     { "CURRENT", "FILES" },
                                     { "CURRENT", "FILE" },
                                     { "CURRENT", "DESC" },
                                     { "CURRENT", "DSETDESC" },
                                     { "CURRENT", "CHUNKCRC" },
                                     { "CURRENT/FILE", "0" },
                                     { "CURRENT/FILE/0", "SIZE" } };
    struct scr_str deep = SCR_STR_INIT, huge = SCR_STR_INIT;
    for (int i = 0; i < 100000; i++) {
        scr_pack_count(&deep, 1);
        scr_pack_key(&deep, "k");
    }
    scr_pack_count(&deep, 0);
    scr_pack_count(&huge, 0xffffffff);
    scr_hash *h = full_tree();
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++) {
        refuse_graft(h, &(struct graft){ descend(h, where[i][0]), where[i][1], &deep });
        refuse_graft(h, &(struct graft){ descend(h, where[i][0]), where[i][1], &huge });
    }
    scr_hash_delete(h);
    scr_str_free(&deep);
    scr_str_free(&huge);
}

/* Only PARTNER, PARTNER2 … are copies. */
static void other_keys_are_no_copies(void **state)
{
    (void)state;
    const char *const names[] = { "PARTNER0",
                                  "PARTNER1",
                                  "PARTNER-1",
                                  "PARTNER02",
                                  "PARTNER+2",
                                  "PARTNER 2",
                                  "PARTNER2x",
                                  "PARTNER256",
                                  "PARTNER2 ",
                                  "partner2",
                                  "PARTNERS",
                                  "XPARTNER",
                                  "PARTNER99999999999999999" };
    struct scr_redhead head;
    scr_hash *h = example_tree();
    scr_hash_unset(h, "PARTNER");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        scr_hash_set(h, names[i], current_tree(3, 1));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_null(head.copy[j].p);
    scr_redhead_fini(&head);
    scr_hash_set(h, "PARTNER255", current_tree(3, 1));
    scr_hash_set(h, "PARTNER2", current_tree(2, 1));
    assert_int_equal(read_tree(h, &head, NULL), SCR_OK);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_int_equal(head.copy[j].p != NULL, j == 254 || j == 1);
    scr_redhead_fini(&head);
    scr_hash_delete(h);
}

static void a_copy_cut_or_lengthened_is_refused(void **state)
{
    (void)state;
    struct scr_current *of = current_struct(1, 3), *c;
    struct scr_str s = packed(of);
    for (size_t cut = 0; cut < s.len; cut++) {
        assert_int_equal(unpack_bytes(s.p, cut, &c, NULL), SCR_E_CORRUPT);
        assert_null(c);
    }
    scr_str_append_n(&s, "", 1);
    assert_int_equal(unpack_bytes(s.p, s.len, &c, NULL), SCR_E_CORRUPT);
    assert_null(c);
    scr_current_delete(of);
    scr_str_free(&s);
}

/* A copy alone has no checksum: what is flipped is found or changes only what it says.
 */
static void a_flipped_copy_does_no_harm(void **state)
{
    (void)state;
    struct scr_current *of = current_struct(1, 3), *c;
    struct scr_str s = packed(of);
    int refused = 0;
    for (size_t at = 0; at < s.len * 8; at++) {
        s.p[at / 8] = (char)(s.p[at / 8] ^ (1 << at % 8));
        int rc = unpack_bytes(s.p, s.len, &c, NULL);
        s.p[at / 8] = (char)(s.p[at / 8] ^ (1 << at % 8));
        assert_true(rc == SCR_OK || rc == SCR_E_CORRUPT);
        assert_true((rc == SCR_OK) == (c != NULL));
        assert_true(rc != SCR_OK || c->files.n == 3);
        refused += rc != SCR_OK;
        scr_current_delete(c);
    }
    assert_true(refused > 1000);
    scr_current_delete(of);
    scr_str_free(&s);
}

static void refuse_files(const struct scr_current *c, enum scr_layout layout)
{
    struct scr_member_file *files;
    int has_crc;
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(scr_redfile_files_at(c, "/cache", layout, &files, &has_crc, &err),
                     SCR_E_CORRUPT);
    assert_true(err.text[0] != '\0');
    assert_null(files);
}

static void unsafe_or_impossible_files_are_refused(void **state)
{
    (void)state;
    const struct {
        struct change c;
        enum scr_layout layout;
    } rows[] = {
        { { "0", "FILE", NULL }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "." }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", ".." }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "../rank_1.ckpt" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "a/../../b" }, SCR_LAYOUT_CACHE },
        { { "0", "FILE", "/etc/passwd" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", NULL }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "-1" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "9223372036854775808" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "18446744073709551616" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", "1k" }, SCR_LAYOUT_CACHE },
        { { "0", "SIZE", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "" }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", ".." }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "../out" }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "out/../.." }, SCR_LAYOUT_PREFIX },
        { { "0", "PATH", "/etc" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", NULL }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "." }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", ".." }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "a/b" }, SCR_LAYOUT_PREFIX },
        { { "0", "NAME", "/etc/passwd" }, SCR_LAYOUT_PREFIX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scr_current *c;
        scr_hash *h = current_tree(0, 1);
        scr_hash *meta = scr_hash_getf(h, "FILE %s", rows[i].c.where);
        if (rows[i].c.val == NULL)
            assert_int_equal(scr_hash_unset(meta, rows[i].c.key), 1);
        else
            scr_hash_set_val(meta, rows[i].c.key, rows[i].c.val);
        assert_int_equal(unpack_tree(h, &c, NULL), SCR_OK);
        refuse_files(c, rows[i].layout);
        scr_current_delete(c);
        scr_hash_delete(h);
    }
}

static struct scr_current *two_files(const char *a, uint64_t a_size, const char *b,
                                     uint64_t b_size)
{
    struct scr_current *c = scr_current_new(0, NULL, NULL);
    add_file(c, meta_of(a, a_size, 0));
    add_file(c, meta_of(b, b_size, 0));
    return c;
}

static void sizes_whose_sum_overflows_are_refused(void **state)
{
    (void)state;
    const uint64_t half = (uint64_t)1 << 62;
    const uint64_t sizes[][2] = { { half, half },
                                  { INT64_MAX, 1 },
                                  { 1, INT64_MAX },
                                  { INT64_MAX, INT64_MAX },
                                  { 0, (uint64_t)INT64_MAX + 1 },
                                  { 5, UINT64_MAX - 1 },
                                  { UINT64_MAX, UINT64_MAX } };
    struct scr_member_file *files;
    size_t n;
    int has_crc;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct scr_current *c = two_files("a", sizes[i][0], "b", sizes[i][1]);
        refuse_files(c, SCR_LAYOUT_CACHE);
        scr_current_delete(c);
    }
    struct scr_current *c = two_files("a", half, "b", half - 1); /* the most */
    assert_int_equal(scr_redfile_files(c, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(files[1].size, half - 1);
    scr_member_files_free(files, n);
    scr_current_delete(c);
}

static void two_files_of_one_name_are_refused(void **state)
{
    (void)state;
    const char *const names[][2] = {
        { "a", "a" }, { "a", "./a" }, { "1/a", "1//a" }, { "1/./a", "1/a" }
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct scr_current *c = two_files(names[i][0], 1, names[i][1], 2);
        refuse_files(c, SCR_LAYOUT_CACHE);
        scr_current_delete(c);
    }
    struct scr_current *c = two_files("a", 1, "b", 2); /* but one destination */
    for (int f = 0; f < 2; f++) {
        scr_meta_set_text(&c->file[f]->meta, SCR_META_PATH, f == 0 ? "out" : "./out");
        scr_meta_set_text(&c->file[f]->meta, SCR_META_NAME, "x");
    }
    refuse_files(c, SCR_LAYOUT_PREFIX);
    scr_current_delete(c);
}

static void files_of_a_header(void **state)
{
    (void)state;
    struct scr_member_file *files;
    size_t n;
    int has_crc;
    struct scr_current *c = two_files("a", 5, "1/a", 6);
    scr_meta_set_text(&c->file[0]->meta, SCR_META_PATH, "out/dir");
    scr_meta_set_text(&c->file[0]->meta, SCR_META_NAME, "A");
    scr_meta_set_text(&c->file[1]->meta, SCR_META_PATH, ".");
    scr_meta_set_text(&c->file[1]->meta, SCR_META_NAME, "B");
    const struct scr_member_file crcs[] = { { .crc = 7 }, { .crc = 8 } };
    scr_current_reserve_crcs(c);
    scr_current_set_crcs(c, crcs, 9);
    assert_int_equal(c->chunk_crc, 9);
    assert_int_equal(scr_redfile_files(c, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(has_crc, 1);
    assert_string_equal(files[0].path, "/d/a");
    assert_string_equal(files[1].path, "/d/1/a");
    assert_int_equal(files[0].size, 5);
    assert_int_equal(files[1].size, 6);
    assert_int_equal(files[0].crc, 7);
    assert_int_equal(files[1].crc, 8);
    scr_member_files_free(files, n);

    assert_int_equal(
        scr_redfile_files_at(c, "/p", SCR_LAYOUT_PREFIX, &files, &has_crc, NULL),
        SCR_OK);
    assert_string_equal(files[0].path, "/p/out/dir/A");
    assert_string_equal(files[1].path, "/p/B");
    scr_member_files_free(files, n);

    scr_meta_unset_crc32(&c->file[1]->meta);
    assert_int_equal(scr_redfile_files(c, "/d", &files, &n, &has_crc, NULL), SCR_OK);
    assert_int_equal(has_crc, 0);
    scr_member_files_free(files, n);

    scr_meta_set_text(&c->file[1]->meta, SCR_META_FILE, "./a");
    refuse_files(c, SCR_LAYOUT_CACHE); /* the same file twice */
    scr_current_delete(c);
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

/* A header that was believed is possible, and its files lie where they may. */
static void assert_possible(const struct scr_redhead *head)
{
    const struct scr_redinfo *info = &head->info;
    assert_in_range(info->set.n, 1, SCR_EC_MAX);
    assert_in_range(info->set.member, 0, info->set.n - 1);
    assert_true(info->set.failures >= 0 && info->set.failures < info->set.n);
    for (int i = 0; i < info->set.n; i++)
        assert_in_range(info->set.world[i], info->set.id, info->set.ranks - 1);
    assert_int_equal(head->current->rank, info->set.world[info->set.member]);
}

static void assert_inside(const struct scr_current *c)
{
    struct scr_member_file *files;
    size_t n;
    int has_crc;
    for (size_t f = 0; f < c->files.n; f++)
        assert_int_equal(strtoul(c->file[f]->item.name, NULL, 10), f);
    if (scr_redfile_files(c, "/d", &files, &n, &has_crc, NULL) != SCR_OK)
        return;
    for (size_t f = 0; f < n; f++)
        assert_memory_equal(files[f].path, "/d/", 3);
    scr_member_files_free(files, n);
}

/* Checks all entries; 1 if it is a header. */
static int look_at(const void *bytes, size_t len)
{
    struct scr_redhead head;
    struct scr_current *c;
    int rc = read_bytes(bytes, len, &head, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_CORRUPT);
    if (rc != SCR_OK) {
        assert_no_head(&head);
        return 0;
    }
    assert_possible(&head);
    assert_inside(head.current);
    for (int j = 0; j < SCR_EC_MAX; j++) {
        const struct scr_redcopy *copy = &head.copy[j];
        if (copy->p == NULL || unpack_bytes(copy->p, copy->n, &c, NULL) != SCR_OK)
            continue;
        assert_inside(c);
        scr_current_delete(c);
    }
    scr_redhead_fini(&head);
    return 1;
}

static void poisoned_headers_never_pass_for_more_than_they_are(void **state)
{
    (void)state;
    int accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        void *bytes;
        size_t n;
        struct scr_current *c;
        scr_hash *h = example_tree();
        for (unsigned i = rnd(4); i > 0; i--)
            poison(h);
        bytes = test_hash_encoded(h, &n);
        assert_non_null(bytes);
        int ok = look_at(bytes, n);
        if (unpack_tree(scr_hash_get(h, "PARTNER"), &c, NULL) == SCR_OK) {
            assert_inside(c);
            scr_current_delete(c);
        }
        accepted += ok;
        refused += !ok;
        free(bytes);
        scr_hash_delete(h);
    }
    assert_true(accepted > 1000 && refused > 1000);
}

/* Byte changes behind a checksum that is right again: only structure can refuse them.
 */
static void mutated_bytes_with_a_good_checksum_do_no_harm(void **state)
{
    (void)state;
    struct scr_str s = example();
    uint8_t *work = malloc(s.len);
    int accepted = 0, refused = 0;
    for (int round = 0; round < 5000; round++) {
        memcpy(work, s.p, s.len);
        for (unsigned i = 1 + rnd(4); i > 0; i--)
            work[20 + rnd((unsigned)s.len - 24)] = (uint8_t)rnd(256);
        seal(work, s.len);
        int ok = look_at(work, s.len);
        accepted += ok;
        refused += !ok;
    }
    assert_true(accepted > 250 && refused > 250);
    free(work);
    scr_str_free(&s);
}

/* Many small files: without the disk where there is room in memory. */
static int setup(void **state)
{
    (void)state;
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    return 0;
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
        cmocka_unit_test(a_copy_travels_and_is_equal),
        cmocka_unit_test(files_are_in_the_order_of_their_numbers),
        cmocka_unit_test(files_are_added_to_those_that_were_read),
        cmocka_unit_test(what_a_copy_does_not_record),
        cmocka_unit_test(crcs_fill_in_without_moving_the_parity),
        cmocka_unit_test(a_spoilt_header_is_not_written),
        cmocka_unit_test(files_that_hold_no_header_are_refused),
        cmocka_unit_test(a_newer_version_is_distinguished_from_damage),
        cmocka_unit_test(claimed_sizes_are_bounded),
        cmocka_unit_test(every_cut_and_every_flip_is_found),
        cmocka_unit_test(every_failing_call_is_reported),
        cmocka_unit_test(impossible_headers_are_refused),
        cmocka_unit_test(ambiguous_numbers_are_refused),
        cmocka_unit_test(file_lists_of_another_length_are_refused),
        cmocka_unit_test(files_must_be_numbered_without_a_gap),
        cmocka_unit_test(keys_given_twice_are_refused),
        cmocka_unit_test(hostile_hashes_within_are_refused),
        cmocka_unit_test(other_keys_are_no_copies),
        cmocka_unit_test(a_copy_cut_or_lengthened_is_refused),
        cmocka_unit_test(a_flipped_copy_does_no_harm),
        cmocka_unit_test(unsafe_or_impossible_files_are_refused),
        cmocka_unit_test(sizes_whose_sum_overflows_are_refused),
        cmocka_unit_test(two_files_of_one_name_are_refused),
        cmocka_unit_test(files_of_a_header),
        cmocka_unit_test(poisoned_headers_never_pass_for_more_than_they_are),
        cmocka_unit_test(mutated_bytes_with_a_good_checksum_do_no_harm),
    };
    return cmocka_run_group_tests(tests, setup, test_tmp_teardown);
}
