/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations that fail on demand: an allocator in front of that of libc, for the one
 * file that includes this (a program of several would have two).
 *
 *     for (long n = 0;; n++) {
 *         long before = test_alloc_live();
 *         test_alloc_arm(n);
 *         … the operation …
 *         int failed = test_alloc_off();
 *         … it returned an error if failed, nothing leaked if test_alloc_live() ==
 *         before … if (!failed) break;                     // it makes only n
 *         allocations }
 *
 * Without TEST_ALLOC the allocator belongs to a sanitizer or is not that of glibc, and
 * there is nothing of this. */
#ifndef SCR_TEST_HELPER_ALLOC_H
#define SCR_TEST_HELPER_ALLOC_H

#include <errno.h>
#include <features.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||             \
    __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(TEST_SANITIZED)
#define TEST_ALLOC 1

/* Seen by libc, too, whose strdup allocates. */
#pragma GCC visibility push(default)

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern void __libc_free(void *p);

static struct {
    long at; /* allocations until one fails, -1: none does */
    int failed;
    long live; /* blocks */
} test_alloc = { .at = -1 };

static int test_alloc_fails_now(void)
{
    if (test_alloc.at < 0 || test_alloc.at-- > 0)
        return 0;
    test_alloc.failed = 1;
    errno = ENOMEM;
    return 1;
}

static void *test_alloc_count(void *p)
{
    test_alloc.live += p != NULL;
    return p;
}

void *malloc(size_t n)
{
    return test_alloc_fails_now() ? NULL : test_alloc_count(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return test_alloc_fails_now() ? NULL : test_alloc_count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    if (p == NULL)
        return malloc(n);
    return test_alloc_fails_now() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return test_alloc_fails_now() ? NULL
                                  : test_alloc_count(__libc_memalign(alignment, n));
}

void free(void *p)
{
    test_alloc.live -= p != NULL;
    __libc_free(p);
}

#pragma GCC visibility pop

/* Allocation number n (from 0) from now on fails, none for -1. */
static inline void test_alloc_arm(long n)
{
    test_alloc.at = n;
    test_alloc.failed = 0;
}

/* All succeed again; 1 if one has failed. */
static inline int test_alloc_off(void)
{
    test_alloc.at = -1;
    return test_alloc.failed;
}

/* None fails, nor counts, until test_alloc_resume(the result): for what a test
 * allocates inside an operation. */
static inline long test_alloc_pause(void)
{
    long at = test_alloc.at;
    test_alloc.at = -1;
    return at;
}

static inline void test_alloc_resume(long at)
{
    test_alloc.at = at;
}

/* Blocks not freed. */
static inline long test_alloc_live(void)
{
    return test_alloc.live;
}

#endif
#endif
