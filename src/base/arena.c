/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is freed at once. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks grow with what is asked for, so that a short list costs one small block and a
 * long one few. From LARGE on a block is a mapping, which goes back to the system when
 * it is freed: in the heap, where lists that grow side by side lie between each other,
 * it leaves a hole that the next list does not fit into. */
enum { FIRST = 256, LARGE = 64 * 1024, MOST = 4096 * 1024, ALIGN = alignof(uint64_t) };

struct scr_arena_block {
    struct scr_arena_block *before;
    size_t size; /* of all of it */
};

static struct scr_arena_block *new_block(size_t size)
{
    if (size < LARGE)
        return malloc(size);
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

static void free_block(struct scr_arena_block *b)
{
    if (b->size < LARGE)
        free(b);
    else
        (void)munmap(b, b->size);
}

static int grow(struct scr_arena *a, size_t n)
{
    size_t size = a->block == NULL ? FIRST : a->block->size * 2;
    size = size > MOST ? MOST : size;
    if (size < sizeof *a->block + n) /* a multiple of ALIGN, so what is left is one */
        size = (sizeof *a->block + n + ALIGN - 1) / ALIGN * ALIGN;
    struct scr_arena_block *b = n < SIZE_MAX / 2 ? new_block(size) : NULL;
    if (b == NULL) {
        a->lost = 1;
        return 0;
    }
    b->before = a->block;
    b->size = size;
    a->block = b;
    a->left = size - sizeof *b;
    return 1;
}

static void *take(struct scr_arena *a, size_t n, size_t align)
{
    size_t skip = a->left % align;
    if (a->lost || ((a->block == NULL || n > a->left - skip) && !grow(a, n)))
        return NULL;
    a->left -= a->left % align;
    void *p = (unsigned char *)a->block + a->block->size - a->left;
    a->left -= n;
    return p;
}

void *scr_arena_get(struct scr_arena *a, size_t n)
{
    void *p = take(a, n, ALIGN);
    return p != NULL ? memset(p, 0, n) : NULL;
}

char *scr_arena_text_n(struct scr_arena *a, const char *text, size_t len)
{
    char *p = text != NULL ? take(a, len + 1, 1) : NULL;
    if (p != NULL) {
        memcpy(p, text, len);
        p[len] = '\0';
    }
    return p;
}

char *scr_arena_text(struct scr_arena *a, const char *text)
{
    return text != NULL ? scr_arena_text_n(a, text, strlen(text)) : NULL;
}

const char *scr_arena_share(struct scr_arena *a, const char *text)
{
    enum { RECENT = sizeof a->recent / sizeof a->recent[0] };
    struct scr_arena_recent *r = a->recent;
    size_t len = text != NULL ? strlen(text) : 0;
    for (int i = 0; i < RECENT && text != NULL && r[i].text != NULL; i++) {
        if (r[i].len < len || memcmp(r[i].text + r[i].len - len, text, len) != 0)
            continue;
        const struct scr_arena_recent found = r[i];
        memmove(&r[1], &r[0], (size_t)i * sizeof r[0]);
        r[0] = found;
        return found.text + found.len - len;
    }
    const char *copy = scr_arena_text_n(a, text, len);
    if (copy != NULL) {
        memmove(&r[1], &r[0], (RECENT - 1) * sizeof r[0]);
        r[0] = (struct scr_arena_recent){ copy, len };
    }
    return copy;
}

void scr_arena_free(struct scr_arena *a)
{
    while (a->block != NULL) {
        struct scr_arena_block *before = a->block->before;
        free_block(a->block);
        a->block = before;
    }
    *a = (struct scr_arena)SCR_ARENA_INIT;
}
