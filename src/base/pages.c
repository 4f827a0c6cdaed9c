/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers in large pages. */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* Of x86-64, and of arm64 with pages of 4 KiB; elsewhere only the alignment is odd. */
enum { LARGE = 2 * 1024 * 1024 };

/* What is to be in large pages, in whole ones; else n. */
static size_t whole(size_t n)
{
    return n >= LARGE / 4 ? (n + LARGE - 1) / LARGE * LARGE : n;
}

void *scr_pages_alloc(size_t size)
{
    if (size == 0 || size > SIZE_MAX - 2 * (size_t)LARGE)
        return NULL;
    size_t n = whole(size);
    size_t slack = n >= LARGE ? LARGE : 0;
    char *at = mmap(NULL, n + slack, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t head = slack > 0 ? (LARGE - (uintptr_t)at % LARGE) % LARGE : 0;
    if (head > 0)
        (void)munmap(at, head);
    if (slack > head)
        (void)munmap(at + head + n, slack - head);
    if (slack > 0)
        (void)madvise(at + head, n, MADV_HUGEPAGE);
    return at + head;
}

void scr_pages_free(void *at, size_t n)
{
    if (at != NULL)
        (void)munmap(at, whole(n));
}
