/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing strings, and strict conversions. Nothing here truncates or ignores trailing
 * text. */
#ifndef SCR_BASE_STR_H
#define SCR_BASE_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A growing byte buffer that is always NUL-terminated past len once anything was
 * appended. Starts as SCR_STR_INIT. After a failed allocation it is empty and bad stays
 * 1, so a chain of appends needs one check at the end. */
struct scr_str {
    char *p;
    size_t len, cap;
    int bad;
    struct scr_drain *drain; /* NULL: it keeps all bytes */
};
#define SCR_STR_INIT                                                                   \
    {                                                                                  \
        0, 0, 0, 0, 0                                                                  \
    }
/* Takes the bytes of a string when it is full, which then is empty: what is as long as
 * a list of files is written, sent or counted piece by piece. */
struct scr_drain {
    /* Anything but SCR_OK makes the string bad; NULL: the bytes are only counted. */
    int (*take)(struct scr_drain *d, char *p, size_t n);
    uint64_t taken; /* bytes, of all pieces before */
};
enum { SCR_PIECE = 64 * 1024 }; /* bytes of most pieces */

void scr_str_free(struct scr_str *s);
/* Gives the drain what it has not got yet. */
void scr_str_drain(struct scr_str *s);
void scr_str_append(struct scr_str *s, const char *text);
void scr_str_append_n(struct scr_str *s, const void *bytes, size_t n);
/* n bytes more, not set yet; borrowed, NULL: bad. */
char *scr_str_extend(struct scr_str *s, size_t n);
/* As if an allocation had failed. */
void scr_str_spoil(struct scr_str *s);
void scr_str_printf(struct scr_str *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void scr_str_vprintf(struct scr_str *s, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Hands the text over (caller frees; "" if nothing was appended); NULL if bad. Resets
 * s. */
char *scr_str_take(struct scr_str *s);

/* Puts '?' for every control character, newlines too: what is one line stays one, and
 * no terminal obeys it. */
void scr_mask(char *text, size_t len);
void scr_str_mask(struct scr_str *s);

/* Length of what fits into a line of `most` bytes: up to the last blank; a word that is
 * longer stays whole. */
size_t scr_fit(const char *text, size_t most);

/* malloc'd printf; NULL when out of memory. */
char *scr_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* strdup that takes NULL (returns NULL). */
char *scr_strdup(const char *s);
/* malloc(n*size) with overflow check, zeroed; n == 0 gives a valid 1-byte block. */
void *scr_calloc(size_t n, size_t size);
/* realloc to n*size with overflow check; NULL leaves p untouched. */
void *scr_reallocarray(void *p, size_t n, size_t size);
/* A gap, not set yet, before item number at of an array of *n items of size bytes, with
 * room for *room, which grows when it is needed. Returns the array; NULL: out of
 * memory, and nothing has changed. */
void *scr_insert(void *array, size_t at, size_t *n, size_t *room, size_t size);

/* Whole-string decimal conversions: optional sign, digits, nothing else; return 1 on
 * success and set *out, 0 (out untouched) on empty, trailing text or overflow. */
int scr_parse_i64(const char *s, int64_t *out);
int scr_parse_u64(const char *s, uint64_t *out);
int scr_parse_int(const char *s, int *out);
int scr_parse_f64(const char *s, double *out);
/* The number whose digits text begins with, -1 if there are none or it is no int; *end:
 * what follows them. */
int scr_parse_front(const char *text, const char **end);
/* "0x%08x", any case, up to 8 digits. */
int scr_parse_hex32(const char *s, uint32_t *out);

/* 64 bits of a hash of the text (FNV-1a), the same on every machine. */
uint64_t scr_str_key(const char *s);
/* The same of bytes, which follow those that gave `from`. */
#define SCR_KEY_OF_NOTHING UINT64_C(0xcbf29ce484222325)
uint64_t scr_bytes_key(uint64_t from, const void *bytes, size_t n);

/* For qsort and bsearch, of int and of char *. */
int scr_by_int(const void *a, const void *b);
int scr_by_text(const void *a, const void *b);

/* Edit distance with transpositions, for "did you mean"; case-insensitive. */
int scr_edit_distance(const char *a, const char *b);
/* The candidate nearest to name so far; distance: less than which is near. Borrowed. */
struct scr_nearest {
    const char *name, *best; /* best: NULL, none is near */
    int distance;
};
void scr_nearest_try(struct scr_nearest *near, const char *candidate);

#endif
