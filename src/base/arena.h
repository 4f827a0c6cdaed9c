/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is freed at once: many small pieces from a few blocks.
 *
 * After a failed allocation an arena gives NULL for ever, so that a chain of pieces
 * needs one check at its end (lost). */
#ifndef SCR_BASE_ARENA_H
#define SCR_BASE_ARENA_H

#include <stddef.h>

struct scr_arena {
    struct scr_arena_block *block; /* the last, with the others behind it */
    size_t left;                   /* bytes free in it */
    int lost;                      /* a piece could not be had */
    struct scr_arena_recent {
        const char *text;
        size_t len;
    } recent[4]; /* texts that were shared last, the last one first */
};
#define SCR_ARENA_INIT                                                                 \
    {                                                                                  \
        0                                                                              \
    }

/* Zeroed, aligned for pointers and 64-bit numbers; NULL: out of memory. */
void *scr_arena_get(struct scr_arena *a, size_t n);
/* A copy of the text, of len bytes of it; NULL for NULL. */
char *scr_arena_text(struct scr_arena *a, const char *text);
char *scr_arena_text_n(struct scr_arena *a, const char *text, size_t len);
/* The same text, to be read only: one that was shared shortly before, or the end of
 * one, is not copied. Of a file's path, name and directory few are then new. */
const char *scr_arena_share(struct scr_arena *a, const char *text);
/* Frees every piece; the arena is as new. */
void scr_arena_free(struct scr_arena *a);

#endif
