/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory: each allocation of an operation fails in turn. The operation then
 * reports it or leaves a hash or filemap that cannot be written, never one that looks
 * whole and is not; its input is intact where its header promises that, and nothing
 * leaks.
 *
 *     static const struct operation operations[] = { HASH("dup", dup, twenty, 1), … };
 *     … FAIL_EVERY_ALLOCATION(operations);
 */
#ifndef SCR_TEST_HELPER_OPERATIONS_H
#define SCR_TEST_HELPER_OPERATIONS_H

#include "helper_alloc.h"
#include "helper_maps.h"
#include "helper_tmp.h"

#include <stdlib.h>
#include <time.h>

#include "fmt/filemap.h"

#ifdef TEST_ALLOC

/* run: 1 if the result is whole, 0 if it is known not to be. It frees all it makes;
 * given is what it is given, a hash or a filemap, which for some may change only on
 * success. */
struct operation {
    const char *name;
    int keeps;                   /* given is as it was on failure */
    int (*run)(scr_hash *given); /* NULL: of a filemap */
    void (*prepare)(scr_hash *given);
    int (*run_map)(scr_filemap *given);
    void (*prepare_map)(scr_filemap *given);
};

#define HASH(name, run, prepare, keeps)                                                \
    {                                                                                  \
        name, keeps, run, prepare, NULL, NULL                                          \
    }
#define MAP(name, run, prepare, keeps)                                                 \
    {                                                                                  \
        name, keeps, NULL, NULL, run, prepare                                          \
    }

struct given {
    scr_hash *hash;
    scr_filemap *map;
};

static struct given give(const struct operation *op)
{
    struct given g = { scr_hash_new(), scr_filemap_new() };
    if (op->prepare != NULL)
        op->prepare(g.hash);
    else
        op->prepare_map(g.map);
    assert_true(scr_hash_ok(g.hash) && scr_filemap_ok(g.map));
    return g;
}

static int is_same(const struct given *a, const struct given *b)
{
    return scr_hash_equal(a->hash, b->hash) && test_maps_same(a->map, b->map);
}

static void take_back(struct given *g)
{
    scr_hash_delete(g->hash);
    scr_filemap_delete(g->map);
}

/* Runs with the n-th allocation failing; 0 once there are fewer. */
static int run_once(const struct operation *op, long n)
{
    long before = test_alloc_live();
    struct given given = give(op), same = give(op);
    test_alloc_arm(n);
    int ok = op->run != NULL ? op->run(given.hash) : op->run_map(given.map);
    int failed = test_alloc_off();
    if (ok == failed) /* a whole result without memory, or none with it */
        fail_msg("%s, allocation %ld: %s", op->name, n, ok ? "not noticed" : "failed");
    if (failed && op->keeps && !is_same(&given, &same))
        fail_msg("%s, allocation %ld: changed what it was given", op->name, n);
    take_back(&given);
    take_back(&same);
    if (test_alloc_live() != before)
        fail_msg("%s, allocation %ld: %ld blocks leaked", op->name, n,
                 test_alloc_live() - before);
    return failed;
}

static void fail_every_allocation(const struct operation *operations, size_t count)
{
    tzset(); /* libc keeps the time zone for good once an index has asked for it */
    for (size_t i = 0; i < count; i++) {
        long n = 0;
        while (run_once(&operations[i], n))
            n++;
        assert_true(n > 0);
        print_message("%s: %ld allocations\n", operations[i].name, n);
    }
}

#define FAIL_EVERY_ALLOCATION(operations)                                              \
    fail_every_allocation(operations, sizeof operations / sizeof operations[0])

#else
/* The allocator belongs to the sanitizer or is not that of glibc. */
#define FAIL_EVERY_ALLOCATION(operations) skip()
#endif
#endif
