/* SPDX-License-Identifier: BSD-3-Clause */
/* The golden files of every format: good ones survive a round trip byte for byte, old
 * versions become what they should, bad ones give the error in their name and change
 * nothing. */
#include "helper_golden.h"
#include "helper_index.h"
#include "helper_maps.h"
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hashfile.h"
#include "base/str.h"
#include "fmt/autopilot.h"
#include "fmt/filemap.h"
#include "fmt/state.h"
#include "fmt/transfer.h"

/* --- a decoder a format; the typed ones check that failure leaves the target alone ---
 */

static int untouched(const void *p, size_t n)
{
    const unsigned char *bytes = p;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0xa5)
            return 0;
    return 1;
}

/* Data read are written as the same hash, in their own order. */
static int decode_filemap(scr_hash *h, struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc = test_take_tree(h, map, err);
    if (rc == SCR_OK) {
        scr_hash *written = test_map_tree(map);
        assert_true(scr_hash_equal(written, h));
        scr_hash_delete(written);
    } else {
        assert_true(test_map_is_empty(map));
    }
    scr_filemap_delete(map);
    return rc;
}

static int decode_index(scr_hash *h, struct scr_err *err)
{
    struct scr_index index;
    int rc = test_index_take(h, &index, err);
    if (rc == SCR_OK) {
        scr_hash *written = test_index_tree(&index);
        scr_hash_move(h, written);
        scr_hash_delete(written);
    }
    scr_index_fini(&index);
    return rc;
}

static int decode_summary(scr_hash *h, struct scr_err *err)
{
    int complete = -7;
    scr_hash *dset = NULL;
    struct scr_rank2file files = { 0 };
    int rc = scr_summary_get(h, &complete, &dset, &files, err);
    if (rc == SCR_OK) {
        assert_int_equal(complete, 1);
        assert_ptr_equal(dset, scr_hash_get(h, "DSET"));
        assert_int_equal(files.ranks > 0, scr_hash_get(h, "RANK2FILE") != NULL);
    } else {
        assert_true(complete == -7 && dset == NULL);
        assert_true(files.n == 0 && files.ranks == 0);
    }
    scr_rank2file_fini(&files);
    return rc;
}

/* As a part, too, if it is one; see test_fmt_rank2file.c. */
static int decode_rank2file(scr_hash *h, struct scr_err *err)
{
    struct scr_rank2file_root root;
    struct scr_rank2file files = { 0 };
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, h);
    int rc = scr_rank2file_root_unpack(s.p, s.len, &root, err);
    if (rc == SCR_OK && root.level == 0)
        rc = scr_rank2file_unpack(s.p, s.len, &files, err);
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&files);
    scr_str_free(&s);
    return rc;
}

static int decode_halt(scr_hash *h, struct scr_err *err)
{
    struct scr_halt halt;
    memset(&halt, 0xa5, sizeof halt);
    int rc = scr_halt_get(h, &halt, err);
    assert_true(rc == SCR_OK || untouched(&halt, sizeof halt));
    return rc;
}

static int decode_flush(scr_hash *h, struct scr_err *err)
{
    (void)err;
    assert_int_equal(scr_flush_latest(h), 18);
    return SCR_OK;
}

static int decode_nodes(scr_hash *h, struct scr_err *err)
{
    int nodes = -7, rc = scr_nodes_get(h, &nodes, err);
    assert_int_equal(nodes, rc == SCR_OK ? 4 : -7);
    return rc;
}

/* What is written of it again is what was read. */
static int decode_autopilot(scr_hash *h, struct scr_err *err)
{
    struct scr_autopilot a;
    memset(&a, 0xa5, sizeof a);
    int rc = scr_autopilot_get(h, &a, err);
    assert_true(rc == SCR_OK || untouched(&a, sizeof a));
    if (rc != SCR_OK)
        return rc;
    scr_hash *again = scr_hash_new();
    assert_int_equal(scr_autopilot_set(again, &a), SCR_OK);
    if (scr_hash_get(h, "RUN") != NULL) /* which is edited where it is */
        scr_hash_set(again, "RUN", scr_hash_dup(scr_hash_get(h, "RUN")));
    assert_true(scr_hash_equal(again, h));
    scr_hash_delete(again);
    return rc;
}

static int decode_transfer(scr_hash *h, struct scr_err *err)
{
    uint64_t left = 7;
    struct scr_transfer t;
    memset(&t, 0xa5, sizeof t);
    int rc = scr_transfer_get(h, &t, err);
    assert_true(rc == SCR_OK || untouched(&t, sizeof t));
    if (rc == SCR_OK)
        rc = scr_transfer_left(h, &left, err);
    assert_true(rc == SCR_OK ? left == 24 : left == 7);
    return rc;
}

static const struct format {
    const char *name;
    int (*decode)(scr_hash *h, struct scr_err *err);
    int own_order; /* the result of decode is as it is written, in its own order */
} formats[] = {
    { "filemap", decode_filemap, 0 },     { "index", decode_index, 1 },
    { "summary", decode_summary, 0 },     { "rank2file", decode_rank2file, 0 },
    { "halt", decode_halt, 0 },           { "flush", decode_flush, 0 },
    { "nodes", decode_nodes, 0 },         { "transfer", decode_transfer, 0 },
    { "autopilot", decode_autopilot, 0 },
};

/* --- the files --- */

static void assert_encodes_to(const scr_hash *h, const unsigned char *bytes, size_t n,
                              const char *name)
{
    void *buf;
    size_t got;
    buf = test_hash_encoded(h, &got);
    assert_non_null(buf);
    if (got != n || memcmp(buf, bytes, n) != 0)
        fail_msg("%s: encoded to other bytes", name);
    free(buf);
}

static void assert_became(const struct format *f, const scr_hash *h,
                          const unsigned char *want, size_t n, const char *name)
{
    scr_hash *wanted = scr_hash_new();
    if (!f->own_order || strcmp(name, "good-manual.scr") == 0) /* in that order */
        assert_encodes_to(h, want, n, name);
    assert_int_equal(scr_hash_decode(want, n, wanted, NULL), SCR_OK);
    if (!scr_hash_equal(h, wanted))
        fail_msg("%s: became another hash", name);
    scr_hash_delete(wanted);
}

/* Bytes of becomes-X.scr for good-X.scr, or of the file itself if there is none. */
static unsigned char *expected_bytes(const struct format *f,
                                     const struct test_golden *g, size_t *n)
{
    struct stat st;
    char *path = scr_asprintf("%s/%s/becomes-%s", SCR_GOLDEN_DIR, f->name,
                              g->name + strlen("good-"));
    int there = stat(path, &st) == 0;
    unsigned char *bytes = test_get(there ? path : g->path, n);
    free(path);
    return bytes;
}

static void check_good(const struct test_golden *g, void *arg)
{
    const struct format *f = arg;
    struct scr_err err = SCR_ERR_INIT;
    size_t n;
    scr_hash *h = scr_hash_new();
    unsigned char *want = expected_bytes(f, g, &n);
    assert_int_equal(scr_hash_decode(g->bytes, g->n, h, NULL), SCR_OK);
    assert_encodes_to(h, g->bytes, g->n, g->name);
    if (f->decode(h, &err) != SCR_OK)
        fail_msg("%s/%s: %s", f->name, g->name, err.text);
    assert_became(f, h, want, n, g->name);
    if (f->decode(h, &err) != SCR_OK) /* what it became is good, too */
        fail_msg("%s/%s again: %s", f->name, g->name, err.text);
    assert_became(f, h, want, n, g->name);
    free(want);
    scr_hash_delete(h);
}

static void check_bad(const struct test_golden *g, void *arg)
{
    const struct format *f = arg;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash *h = scr_hash_new();
    int rc = scr_hash_decode(g->bytes, g->n, h, &err);
    scr_hash *before = scr_hash_dup(h);
    if (rc == SCR_OK)
        rc = f->decode(h, &err);
    if (rc != g->code || err.code != g->code || err.text[0] == '\0')
        fail_msg("%s/%s: %s %s", f->name, g->name, scr_err_meaning(rc), err.text);
    assert_true(scr_hash_equal(h, before));
    scr_hash_delete(h);
    scr_hash_delete(before);
}

static void good_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        (void)test_golden_each(formats[i].name, "good-", check_good,
                               (void *)&formats[i]);
}

static void bad_files(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        n += test_golden_each(formats[i].name, "bad-", check_bad, (void *)&formats[i]);
    assert_true(n >= 85);
}

/* --- the examples of the manual pages --- */

/* The bytes of one line "    <offset>  <hex bytes>  |…|" appended to bytes; 1 if line
 * is one. An offset of 0 starts again. */
static int take_dump_line(const char *line, unsigned char *bytes, size_t *n)
{
    unsigned offset, byte;
    int used;
    if (sscanf(line, "    %8x  %n", &offset, &used) != 1 || strchr(line, '|') == NULL)
        return 0;
    if (offset == 0)
        *n = 0;
    assert_int_equal(offset, *n);
    for (const char *p = line + used; *p != '|'; p += used) {
        assert_int_equal(sscanf(p, "%2x %n", &byte, &used), 1);
        bytes[(*n)++] = (unsigned char)byte;
    }
    return 1;
}

/* 1 if one of the dumps in the page is exactly the golden file. */
static int page_has(const char *page, const char *golden)
{
    unsigned char dump[1024];
    char line[512];
    size_t n = 0, want_n;
    int found = 0, in_dump = 0;
    char *golden_path = scr_asprintf("%s/%s", SCR_GOLDEN_DIR, golden);
    char *page_path = scr_asprintf("%s/doc/man5/%s", SCR_SOURCE_DIR, page);
    unsigned char *want = test_get(golden_path, &want_n);
    FILE *f = fopen(page_path, "r");
    assert_non_null(f);
    while (!found && fgets(line, sizeof line, f) != NULL) {
        int was_in_dump = in_dump;
        in_dump = take_dump_line(line, dump, &n);
        if (was_in_dump && !in_dump)
            found = n == want_n && memcmp(dump, want, n) == 0;
    }
    (void)fclose(f);
    free(want);
    free(golden_path);
    free(page_path);
    return found;
}

static void manual_pages_show_golden_files(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        { "scr_hashfile.5.md", "hashfile/good-nodes.scr" },
        { "scr_filemap.5.md", "filemap/good-manual.scr" },
        { "scr_index_file.5.md", "index/good-manual.scr" },
        { "scr_summary.5.md", "summary/good-manual.scr" },
        { "scr_summary.5.md", "rank2file/good-manual.scr" },
        { "scr_summary.5.md", "rank2file/good-manual-part.scr" },
        { "scr_halt_file.5.md", "halt/good-manual.scr" },
        { "scr_flush_file.5.md", "flush/good-manual.scr" },
        { "scr_nodes_file.5.md", "nodes/good-4.scr" },
        { "scr_autopilot_file.5.md", "autopilot/good-manual.scr" },
        { "scr_transfer_file.5.md", "transfer/good-manual.scr" },
        { "scr_outgoing_file.5.md", "outgoing/good-manual.scr" },
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        if (!page_has(examples[i][0], examples[i][1]))
            fail_msg("%s shows no dump of %s", examples[i][0], examples[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(manual_pages_show_golden_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
