/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_memory.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

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
static atomic_int goes_on, failed, wants_place;

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
    atomic_store(&wants_place, 0);
    return atomic_load(&failed);
}

/* --- places --- */

/* The functions of this file come first in a list of callers; four more distinguish,
 * say, the joins of two strings that one helper makes for each of its callers. */
enum { OURS = 3, CALLERS = OURS + 4, PLACES = 1 << 16 };

static struct {
    pthread_mutex_t lock;
    uint64_t key[PLACES]; /* of those that have failed; 0: free */
} places = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t key_of(void *const *caller, int n)
{
    uint64_t key = 14695981039346656037u; /* FNV-1a, by addresses */
    for (int i = 0; i < n; i++)
        key = (key ^ (uintptr_t)caller[i]) * 1099511628211u;
    key ^= key >> 32;
    return key != 0 ? key : 1;
}

/* 1 if this place has not failed before; then no other is wanted. */
__attribute__((noinline)) static int is_new_place(void)
{
    void *caller[CALLERS];
    int n = backtrace(caller, CALLERS);
    uint64_t key = key_of(caller, n);
    size_t at = key % PLACES;
    pthread_mutex_lock(&places.lock);
    while (places.key[at] != 0 && places.key[at] != key)
        at = (at + 1) % PLACES;
    int is_new = places.key[at] == 0 && atomic_exchange(&wants_place, 0);
    if (is_new)
        places.key[at] = key;
    pthread_mutex_unlock(&places.lock);
    return is_new;
}

void test_memory_arm_place(int forever)
{
    test_memory_arm(-1, forever);
    atomic_store(&wants_place, 1);
}

/* --- failures --- */

__attribute__((noinline)) static int fails_now(void)
{
    if (atomic_load(&wants_place) && is_new_place())
        atomic_store(&fail_at, 0); /* this one, as none is counted so far */
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
