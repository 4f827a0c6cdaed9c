/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_meta.h"

scr_meta *meta_example(void)
{
    scr_meta *m = scr_meta_new();
    scr_meta_set(m, "rank_0.ckpt", "FULL", 524294, (struct scr_meta_of){ 6, 0, 4 }, 1);
    scr_meta_set_crc32(m, 0x1b39e4e4);
    return m;
}

scr_meta *whole_example(void)
{
    struct stat st = { .st_mode = 0100640, .st_uid = 4294967294U, .st_gid = 100 };
    st.st_atim = (struct timespec){ 1312850690, 668536000 };
    st.st_mtim = (struct timespec){ -5, 1 };
    st.st_ctim = (struct timespec){ 7, 999999999 };
    scr_meta *m = meta_example();
    scr_meta_set_text(m, SCR_META_ORIG, "ckpt.6/rank_0.ckpt");
    scr_meta_set_text(m, SCR_META_PATH, "ckpt.6");
    scr_meta_set_text(m, SCR_META_NAME, "rank_0.ckpt");
    scr_meta_set_text(m, SCR_META_ASKED, "elsewhere/rank_0.ckpt");
    scr_meta_set_shared(m);
    scr_meta_set_stat(m, &st);
    return m;
}

scr_hash *hash_of(const scr_meta *m)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_meta_to_hash(m, h), SCR_OK);
    return h;
}

struct scr_str meta_packed(const scr_meta *m)
{
    struct scr_str s = SCR_STR_INIT;
    scr_meta_pack(&s, m);
    assert_false(s.bad);
    return s;
}

int same(const scr_meta *a, const scr_meta *b)
{
    struct scr_str x = meta_packed(a), y = meta_packed(b);
    int is = x.len == y.len && memcmp(x.p, y.p, x.len) == 0;
    scr_str_free(&x);
    scr_str_free(&y);
    return is;
}

int unpack(const void *bytes, size_t n, scr_meta *m, struct scr_err *err)
{
    struct scr_cursor c;
    unsigned char *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, bytes, n);
    scr_cursor_init(&c, exact, n);
    scr_meta_unpack(&c, m);
    int rc = scr_cursor_end(&c, 1, err);
    free(exact);
    return rc;
}

scr_meta *taken(const scr_hash *h)
{
    scr_meta *m = scr_meta_new(), *from_bytes = scr_meta_new();
    size_t n;
    void *bytes = test_hash_packed(h, &n);
    assert_int_equal(unpack(bytes, n, from_bytes, NULL), SCR_OK);
    assert_int_equal(scr_meta_from_hash(m, h), SCR_OK);
    assert_true(same(m, from_bytes));
    assert_int_equal(m->has, from_bytes->has);
    free(bytes);
    scr_meta_delete(from_bytes);
    return m;
}
