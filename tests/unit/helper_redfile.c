/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_redfile.h"

static unsigned seed = 11;

unsigned redfile_rnd(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % below;
}

scr_meta *redfile_meta_of(const char *file, uint64_t size, int rank)
{
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, file, "FULL", size, (struct scr_meta_of){ 6, rank, 4 }, 1);
    return m;
}

void add_file(struct scr_current *c, scr_meta *meta)
{
    char key[24];
    snprintf(key, sizeof key, "%zu", c->n);
    struct scr_file *f = scr_table_add(&c->files, key);
    assert_int_equal(scr_current_lend(c, f), SCR_OK);
    scr_meta_copy(scr_file_need_meta(f, &c->files), meta);
    scr_meta_delete(meta);
}

struct scr_current *current_of(const char *file, uint64_t size, int rank)
{
    struct scr_current *c = scr_current_new(rank, NULL, NULL);
    assert_non_null(c);
    add_file(c, redfile_meta_of(file, size, rank));
    scr_current_reserve_crcs(c);
    return c;
}

struct scr_str redfile_packed(const struct scr_current *c)
{
    struct scr_str s = SCR_STR_INIT;
    scr_current_pack(&s, c);
    assert_false(s.bad);
    return s;
}

struct scr_str header_of(const struct scr_current *c)
{
    const uint64_t len[] = { 524294, 524295, 524296, 524297 };
    struct scr_geom g;
    struct scr_str s = SCR_STR_INIT;
    struct scr_current *left = current_of("rank_3.ckpt", 524297, 3);
    struct scr_str copy = redfile_packed(left);
    assert_int_equal(scr_geom_init(&g, SCR_SCHEME_XOR, 4, 1, len, NULL), SCR_OK);
    const struct scr_redowner o = { &g, 0, 6, 4, world_ranks };
    scr_redfile_header(&s, &o, c, &copy, 1);
    assert_false(s.bad);
    scr_str_free(&copy);
    scr_current_delete(left);
    return s;
}

struct scr_str redfile_example(void)
{
    struct scr_current *c = current_of("rank_0.ckpt", 524294, 0);
    struct scr_str s = header_of(c);
    scr_current_delete(c);
    return s;
}

scr_hash *example_tree(void)
{
    struct scr_str s = redfile_example();
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_hash_decode(s.p, s.len, h, NULL), SCR_OK);
    scr_str_free(&s);
    return h;
}

int read_bytes(const void *bytes, size_t n, struct scr_redhead *head,
               struct scr_err *err)
{
    const char *path = test_path("bytes.xor");
    test_put(path, bytes, n);
    return scr_redhead_read(&posix_env, path, head, err);
}

int unpack_bytes(const void *bytes, size_t n, struct scr_current **c,
                 struct scr_err *err)
{
    void *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    int rc = scr_current_unpack(exact, n, c, err);
    free(exact);
    return rc;
}

int unpack_tree(const scr_hash *h, struct scr_current **c, struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, h);
    assert_false(s.bad);
    int rc = unpack_bytes(s.p, s.len, c, err);
    scr_str_free(&s);
    return rc;
}

void assert_no_head(const struct scr_redhead *head)
{
    assert_int_equal(head->info.set.n, 0);
    assert_null(head->current);
    assert_null(head->buf);
    assert_int_equal(head->bytes, 0);
    for (int j = 0; j < SCR_EC_MAX; j++)
        assert_null(head->copy[j].p);
}

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

scr_hash *current_tree(int rank, int nfiles)
{
    char crc[16];
    scr_hash *h = scr_hash_new();
    scr_hash_set_val_i64(h, "RANK", rank);
    scr_hash_set_val_i64(h, "FILES", nfiles);
    scr_hash *list = scr_hash_set(h, "FILE", NULL);
    for (int f = 0; f < nfiles; f++) {
        char key[12];
        snprintf(key, sizeof key, "%d", f);
        scr_hash_set(list, key, whole_meta(rank, f));
    }
    snprintf(crc, sizeof crc, "0x%08x", 0x17U + (unsigned)rank);
    scr_hash_set_val(h, "CHUNKCRC", crc);
    if (rank % 2 == 1) {
        scr_hash_setf(h, NULL, "DESC STORE /ssd");
        scr_hash_setf(h, NULL, "DESC TYPE RS");
        scr_hash_setf(h, NULL, "DSETDESC ID 6");
        scr_hash_setf(h, NULL, "DSETDESC NAME ckpt.6");
    }
    return h;
}

struct scr_current *current_struct(int rank, int nfiles)
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

int files_of(int rank)
{
    return (rank + 2) % 4; /* 2, 3, 0, 1 */
}

void refuse_file(const char *path, int want)
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

void refuse_bytes(const void *bytes, size_t n, int want)
{
    const char *path = test_path("refuse.xor");
    test_put(path, bytes, n);
    refuse_file(path, want);
}

void seal(uint8_t *bytes, size_t n)
{
    uint32_t crc = scr_crc32(0, bytes, n - 4);
    for (size_t b = 0; b < 4; b++)
        bytes[n - 4 + b] = (uint8_t)(crc >> (24 - 8 * b));
}
