/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory in operations on hashes, indexes, summaries and lists of files. */
#include "helper_index.h"
#include "helper_operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "fmt/dataset.h"
#include "fmt/state.h"

#ifdef TEST_ALLOC

/* 1 if the hash can be written, and then is the wanted one. */
static int whole(const scr_hash *h, const scr_hash *want)
{
    if (h == NULL || !scr_hash_ok(h))
        return 0;
    assert_true(scr_hash_equal(h, want));
    return 1;
}

static void twenty(scr_hash *h)
{
    for (int i = 0; i < 20; i++)
        (void)scr_hash_set_val_i64(scr_hash_set_kv_int(h, "RANK", i), "SIZE", i);
}

static int build(scr_hash *given)
{
    scr_hash *h = scr_hash_new();
    twenty(h);
    int ok = whole(h, given);
    scr_hash_delete(h);
    return ok;
}

static int duplicate(scr_hash *given)
{
    scr_hash *h = scr_hash_dup(given);
    int ok = whole(h, given);
    scr_hash_delete(h);
    return ok;
}

static int merge(scr_hash *given)
{
    scr_hash *h = scr_hash_new();
    int rc = scr_hash_merge(h, given);
    int ok = h != NULL && whole(h, given);
    assert_true(h == NULL || ok == (rc == SCR_OK));
    scr_hash_delete(h);
    return ok;
}

static int encode_decode(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    size_t n;
    scr_hash *h = NULL;
    void *buf = test_hash_encoded(given, &n);
    int rc = buf != NULL ? SCR_OK : SCR_E_NOMEM;
    if (rc == SCR_OK && (h = scr_hash_new()) == NULL)
        rc = SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_hash_decode(buf, n, h, &err);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    int ok = rc == SCR_OK && whole(h, given);
    assert_true(ok || rc == SCR_E_NOMEM);
    free(buf);
    scr_hash_delete(h);
    return ok;
}

/* Data that decode merges into given are complete, or given cannot be written. */
static int decode_into(scr_hash *given)
{
    size_t n;
    scr_hash *more = scr_hash_new();
    twenty(more);
    void *buf = more != NULL ? test_hash_encoded(more, &n) : NULL;
    int rc = buf ? scr_hash_decode(buf, n, given, NULL) : SCR_E_NOMEM;
    int ok = rc == SCR_OK && scr_hash_ok(given);
    assert_true(!ok || scr_hash_size(scr_hash_get(given, "RANK")) == 20);
    free(buf);
    scr_hash_delete(more);
    return ok;
}

static int set_value(scr_hash *given)
{
    scr_hash_set_val(given, "RANK", "7");
    scr_hash_setf(given, NULL, "%s %d b", "a", 1);
    return scr_hash_ok(given);
}

static int list(scr_hash *given)
{
    int *ints;
    size_t n;
    int ok = scr_hash_list_int(scr_hash_get(given, "RANK"), &ints, &n);
    assert_int_equal(n, ok ? 20 : 0);
    free(ints);
    return ok;
}

/* --- indexes and summaries --- */

static void old_index(scr_hash *h)
{
    scr_hash_setf(h, NULL, "VERSION 1");
    scr_hash_setf(h, NULL, "CKPT 18 DIR old.18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 17 DIR old.17 COMPLETE 1");
}

static int convert_index(scr_hash *given)
{
    struct scr_index index;
    struct scr_err err = SCR_ERR_INIT;
    int rc = test_index_take(given, &index, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc != SCR_OK || scr_index_find(&index, "old.17") == 17);
    scr_index_fini(&index);
    return rc == SCR_OK;
}

static int add_to_index(scr_hash *given)
{
    struct scr_dataset d = { .id = 19, .name = "new", .complete = -1, .is_ckpt = 1 };
    struct scr_index index;
    scr_hash *dset = scr_hash_new(), *written = NULL;
    int ok = dset != NULL && scr_dataset_set(dset, &d) == SCR_OK;
    int rc = ok ? test_index_take(given, &index, NULL) : SCR_E_NOMEM;
    if (ok && rc == SCR_OK)
        rc = scr_index_add(&index, dset, 1, 0);
    assert_true(rc == SCR_E_NOMEM || rc == SCR_OK);
    if (ok) {
        written = test_index_tree(&index); /* an edit that failed is not written */
        assert_true(rc == SCR_OK || written == NULL || index.n == 0);
        scr_index_fini(&index);
    }
    ok = written != NULL && rc == SCR_OK;
    scr_hash_delete(written);
    scr_hash_delete(dset);
    return ok;
}

static void old_summary(scr_hash *h)
{
    scr_hash_setf(h, NULL, "VERSION 5");
    scr_hash_setf(h, NULL, "CKPT 18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 18 RANKS 1");
    scr_hash_setf(h, NULL, "CKPT 18 RANK 0 FILE a SIZE 5");
}

static int convert_summary(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    int complete;
    scr_hash *dset;
    struct scr_rank2file files = { 0 };
    int rc = scr_summary_get(given, &complete, &dset, &files, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc == SCR_OK ? scr_rank2file_num_files(&files) == 1 : files.n == 0);
    scr_rank2file_fini(&files);
    return rc == SCR_OK;
}

/* --- lists of files --- */

static void some_list(scr_hash *h)
{
    scr_hash_setf(h, NULL, "LEVEL 0");
    scr_hash_setf(h, NULL, "RANKS 20");
    for (int rank = 0; rank < 6; rank++)
        for (int i = 0; i < (rank == 1 ? 30 : 1); i++)
            scr_hash_setf(h, NULL, "RANK %d FILE file.%d SIZE 5", rank, i);
    scr_hash_setf(h, NULL, "RANK 3 FILE file.0 ASKED a/long/name/of/it");
}

/* As a hash; NULL: out of memory. */
static scr_hash *tree_of(const struct scr_rank2file *l)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_rank2file_pack(&s, l);
    if (s.bad || scr_hash_unpack(s.p, s.len, h, NULL, NULL) != SCR_OK) {
        scr_hash_delete(h);
        h = NULL;
    }
    scr_str_free(&s);
    return h;
}

static int list_is(const struct scr_rank2file *l, const scr_hash *want)
{
    scr_hash *h = scr_rank2file_ok(l) ? tree_of(l) : NULL;
    int ok = whole(h, want);
    scr_hash_delete(h);
    return ok;
}

static int take_list(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_rank2file l = { 0 };
    int rc = scr_rank2file_from_hash(&l, given, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc && l.n == 0));
    int ok = rc == SCR_OK && list_is(&l, given);
    scr_rank2file_fini(&l);
    return ok;
}

/* Some of it in one list, all of it in another, which is taken into the first. */
static int join_lists(scr_hash *given)
{
    struct scr_rank2file all = { 0 }, to = { .ranks = 20 };
    int rc = scr_rank2file_from_hash(&all, given, NULL);
    for (size_t i = 1; i < all.n; i += 2) {
        struct scr_rank_files *r = scr_rank2file_add_rank(&to, all.of[i]->rank);
        for (SCR_EACH(const struct scr_listed, f, &all.of[i]->files))
            if (r != NULL)
                (void)scr_listed_copy(&r->files, f);
    }
    scr_rank2file_take(&to, &all);
    assert_true(all.n == 0 && all.of == NULL);
    int ok = rc == SCR_OK && list_is(&to, given);
    scr_rank2file_fini(&to);
    return ok;
}

/* Rank by rank, as between ranks. */
static int send_list(scr_hash *given)
{
    struct scr_rank2file all = { 0 }, to = { .ranks = 20 };
    struct scr_str s = SCR_STR_INIT;
    int rc = scr_rank2file_from_hash(&all, given, NULL);
    for (size_t i = 0; i < all.n; i++)
        scr_rank_files_pack(&s, all.of[i]);
    if (rc == SCR_OK)
        rc = s.bad ? SCR_E_NOMEM : scr_rank_files_unpack(s.p, s.len, &to, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    int ok = rc == SCR_OK && list_is(&to, given);
    scr_str_free(&s);
    scr_rank2file_fini(&all);
    scr_rank2file_fini(&to);
    return ok;
}

static void some_root(scr_hash *h)
{
    scr_hash_setf(h, NULL, "LEVEL 1");
    scr_hash_setf(h, NULL, "RANKS 20");
    for (int i = 0; i < 20; i++) {
        char *name = scr_rank2file_part_name(1, i);
        scr_hash_setf(h, NULL, "RANK %d FILE %s", i, name);
        free(name);
        scr_hash_setf(h, NULL, "RANK %d OFFSET 0", i);
    }
}

static int take_root(scr_hash *given)
{
    struct scr_rank2file_root root = { 0 };
    struct scr_str s = SCR_STR_INIT, t = SCR_STR_INIT;
    scr_hash_append(&s, given);
    int rc = s.bad ? SCR_E_NOMEM : scr_rank2file_root_unpack(s.p, s.len, &root, NULL);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && root.part == NULL));
    if (rc == SCR_OK)
        scr_rank2file_root_pack(&t, &root);
    int ok = rc == SCR_OK && !t.bad;
    assert_true(!ok || (s.len == t.len && memcmp(s.p, t.p, t.len) == 0));
    scr_rank2file_root_fini(&root);
    scr_str_free(&s);
    scr_str_free(&t);
    return ok;
}

static const struct operation operations[] = {
    HASH("build", build, twenty, 1),
    HASH("dup", duplicate, twenty, 1),
    HASH("merge", merge, twenty, 1),
    HASH("encode and decode", encode_decode, twenty, 1),
    HASH("decode into a full hash", decode_into, old_index, 0),
    HASH("set a value", set_value, twenty, 0),
    HASH("list", list, twenty, 1),
    HASH("convert an index", convert_index, old_index, 1),
    HASH("add to an index", add_to_index, old_index, 1),
    HASH("convert a summary", convert_summary, old_summary, 0),
    HASH("take a list", take_list, some_list, 1),
    HASH("join lists", join_lists, some_list, 1),
    HASH("send a list", send_list, some_list, 1),
    HASH("take a root", take_root, some_root, 1),
};

#endif

static void every_allocation_fails_once(void **state)
{
    (void)state;
    FAIL_EVERY_ALLOCATION(operations);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
