/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory: each allocation of an operation fails in turn. The operation then
 * reports it or leaves a hash that cannot be written, never one that looks whole and is
 * not; what it was given is intact where its header says so, and nothing leaks. */
#include "helper_tmp.h"

#include <errno.h>
#include <features.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"
#include "fmt/index.h"
#include "fmt/state.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||             \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

/* --- an allocator that fails on demand, in front of that of libc --- */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static long fail_at = -1; /* allocations until one fails, -1: none does */
static int failed;
static long live; /* blocks */

static int fails_now(void)
{
    if (fail_at < 0 || fail_at-- > 0)
        return 0;
    failed = 1;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

void *malloc(size_t n)
{
    return fails_now() ? NULL : counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    if (p == NULL)
        return malloc(n);
    return fails_now() ? NULL : __libc_realloc(p, n);
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}

/* --- operations: 1 if the result is whole, 0 if it is known not to be. They free all
 * they make; given is what they are given, which for some may change only on success.
 * --- */

struct operation {
    const char *name;
    int (*run)(scr_hash *given);
    void (*prepare)(scr_hash *given);
    int keeps; /* given is as it was on failure */
};

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
    void *buf = NULL;
    size_t n;
    scr_hash *h = NULL;
    int rc = scr_hash_encode(given, &buf, &n, &err);
    if (rc == SCR_OK && (h = scr_hash_new()) == NULL)
        rc = SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_hash_decode(buf, n, h, NULL, &err);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    int ok = rc == SCR_OK && whole(h, given);
    assert_true(ok || rc == SCR_E_NOMEM);
    free(buf);
    scr_hash_delete(h);
    return ok;
}

/* What decode merges into given is there completely, or given cannot be written. */
static int decode_into(scr_hash *given)
{
    void *buf = NULL;
    size_t n;
    scr_hash *more = scr_hash_new();
    twenty(more);
    int rc = more != NULL ? scr_hash_encode(more, &buf, &n, NULL) : SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_hash_decode(buf, n, given, NULL, NULL);
    int ok = rc == SCR_OK && scr_hash_ok(given);
    assert_true(!ok || scr_hash_size(scr_hash_get(given, "RANK")) == 20);
    free(buf);
    scr_hash_delete(more);
    return ok;
}

static int set_value(scr_hash *given)
{
    scr_hash_set_val(given, "RANK", "7");
    scr_hash_setf(given, NULL, "%s %d %f", "a", 1, 0.5);
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

static void some_files(scr_filemap *map)
{
    for (int rank = 0; rank < 3; rank++) {
        scr_filemap_add_file(map, 6, rank, "/c/a");
        scr_filemap_set_expected_files(map, 6, rank, 1);
        scr_filemap_add_file(map, 7, rank, "/c/b");
    }
}

/* A rank is either in the map it was taken from or in the one it was taken into. */
static int extract(scr_hash *given)
{
    scr_filemap *one = scr_filemap_extract_rank(given, 1);
    assert_int_equal(scr_filemap_have_rank(given, 1), one == NULL);
    assert_true(one == NULL || scr_filemap_num_files(one, 7, 1) == 1);
    assert_true(scr_hash_ok(given));
    int ok = one != NULL;
    scr_filemap_delete(one);
    return ok;
}

static void old_index(scr_hash *h)
{
    scr_hash_setf(h, NULL, "VERSION 1");
    scr_hash_setf(h, NULL, "CKPT 18 DIR old.18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 17 DIR old.17 COMPLETE 1");
}

static int convert_index(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    int rc = scr_index_normal(given, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc != SCR_OK || scr_index_find(given, "old.17") == 17);
    return rc == SCR_OK;
}

static int add_to_index(scr_hash *given)
{
    struct scr_dataset d = { .id = 19, .name = "new", .complete = -1, .is_ckpt = 1 };
    scr_hash *dset = scr_hash_new();
    int ok = dset != NULL && scr_dataset_set(dset, &d) == SCR_OK;
    int rc = ok ? scr_index_add(given, dset, 1, 0) : SCR_E_NOMEM;
    assert_true(rc == SCR_E_NOMEM || (rc == SCR_OK && scr_hash_ok(given)));
    scr_hash_delete(dset);
    return rc == SCR_OK;
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
    scr_hash *dset, *part = NULL;
    int rc = scr_summary_get(given, &complete, &dset, &part, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc != SCR_OK || scr_hash_getf(part, "RANK 0 FILE a SIZE 5") != NULL);
    scr_hash_delete(part);
    return rc == SCR_OK;
}

static const struct operation operations[] = {
    { "build", build, twenty, 1 },
    { "dup", duplicate, twenty, 1 },
    { "merge", merge, twenty, 1 },
    { "encode and decode", encode_decode, twenty, 1 },
    { "decode into a full hash", decode_into, old_index, 0 },
    { "set a value", set_value, twenty, 0 },
    { "list", list, twenty, 1 },
    { "extract", extract, some_files, 1 },
    { "convert an index", convert_index, old_index, 1 },
    { "add to an index", add_to_index, old_index, 0 },
    { "convert a summary", convert_summary, old_summary, 0 },
};

/* Runs with the n-th allocation failing; 0 once there are fewer. */
static int run_once(const struct operation *op, long n)
{
    long before = live;
    scr_hash *given = scr_hash_new(), *same = scr_hash_new();
    op->prepare(given);
    op->prepare(same);
    failed = 0;
    fail_at = n;
    int ok = op->run(given);
    fail_at = -1;
    if (ok == failed) /* a whole result for want of memory, or none without */
        fail_msg("%s, allocation %ld: %s", op->name, n, ok ? "not noticed" : "failed");
    if (failed && op->keeps && !scr_hash_equal(given, same))
        fail_msg("%s, allocation %ld: changed what it was given", op->name, n);
    scr_hash_delete(given);
    scr_hash_delete(same);
    if (live != before)
        fail_msg("%s, allocation %ld: %ld blocks leaked", op->name, n, live - before);
    return failed;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        long n = 0;
        while (run_once(&operations[i], n))
            n++;
        assert_true(n > 0);
        print_message("%s: %ld allocations\n", operations[i].name, n);
    }
}

#else

static void every_allocation_fails_once(void **state)
{
    (void)state;
    skip(); /* the allocator belongs to the sanitizer or is not that of glibc */
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
