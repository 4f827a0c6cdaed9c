/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* Names the linker gives: __real_f is the C library's f, and callers of f get __wrap_f.
 */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
char *__wrap_strdup(const char *s);

static atomic_long fail_at = -1; /* -1: none fails */
static atomic_long count;
static atomic_int goes_on, failed;

void test_memory_arm(long n, int forever)
{
    atomic_store(&count, 0);
    atomic_store(&failed, 0);
    atomic_store(&goes_on, forever);
    atomic_store(&fail_at, n);
}

int test_memory_off(void)
{
    atomic_store(&fail_at, -1);
    return atomic_load(&failed);
}

static int fails_now(void)
{
    long at = atomic_load(&fail_at);
    if (at < 0)
        return 0;
    long n = atomic_fetch_add(&count, 1);
    if (n != at && !(n > at && atomic_load(&goes_on)))
        return 0;
    atomic_store(&failed, 1);
    errno = ENOMEM;
    return 1;
}

void *__wrap_malloc(size_t n)
{
    return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails_now() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    return fails_now() ? NULL : __real_aligned_alloc(alignment, n);
}

char *__wrap_strdup(const char *s)
{
    return fails_now() ? NULL : __real_strdup(s);
}
