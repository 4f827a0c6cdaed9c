/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers in large pages. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/str.h"

/* LARGE: of x86-64, and of arm64 with pages of 4 KiB; elsewhere only the alignment is
 * odd. */
enum { PAGE = 4096, LARGE = 2 * 1024 * 1024 };

/* In the page before the buffer. */
struct head {
    void *from;    /* where the memory begins */
    size_t mapped; /* bytes of it; 0: from malloc */
};

static struct head *head_of(void *at)
{
    return (struct head *)(void *)((char *)at - PAGE);
}

/* Sizes that use large pages in whole ones; else n. */
static size_t whole(size_t n)
{
    return n >= LARGE / 4 ? (n + LARGE - 1) / LARGE * LARGE : n;
}

/* A process may have no mapping more, and memory all the same. */
static struct head take(size_t n)
{
    void *at =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED ? (struct head){ at, n }
                            : (struct head){ scr_calloc(n, 1), 0 };
}

void *scr_pages_alloc(size_t size)
{
    if (size == 0 || size > SIZE_MAX - 3 * (size_t)LARGE)
        return NULL;
    size_t n = whole(size), align = n >= LARGE ? LARGE : PAGE;
    struct head h = take(PAGE + n + align);
    if (h.from == NULL)
        return NULL;
    char *at = (char *)h.from + PAGE;
    at += (align - (uintptr_t)at % align) % align;
    *head_of(at) = h;
    if (align == LARGE)
        (void)madvise(at, n, MADV_HUGEPAGE);
    return at;
}

void scr_pages_free(void *at)
{
    if (at == NULL)
        return;
    struct head h = *head_of(at);
    if (h.mapped > 0)
        (void)munmap(h.from, h.mapped);
    else
        free(h.from);
}
