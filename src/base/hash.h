/* SPDX-License-Identifier: BSD-3-Clause */
/* The hash: an ordered tree of strings. A hash is a list of elements; an element is a
 * key and a hash. A value is a key whose hash is empty: {"SIZE": {"1024": {}}} means
 * SIZE=1024.
 *
 *     scr_hash *h = scr_hash_new();
 *     scr_hash *r = scr_hash_set_kv_int(h, "RANK", 3);
 *     scr_hash_set_val_u64(r, "SIZE", 1024);
 *     …
 *     scr_hash_delete(h);
 *
 * Keys are unique within a hash; elements keep the order they were inserted in. Look-up
 * is by index, so n insertions and look-ups under one parent cost O(n). Every call
 * takes NULL for the hash and treats it as empty (getters give NULL or 0, setters do
 * nothing and give NULL). Out of memory: setters return NULL and mark the hash they
 * could not extend; scr_hash_ok() finds the mark anywhere in a tree and packing refuses
 * such a tree, so a lost insertion is never written as if it were complete. Not
 * thread-safe: one owner at a time. */
#ifndef SCR_BASE_HASH_H
#define SCR_BASE_HASH_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct scr_hash scr_hash;
typedef struct scr_hash_elem scr_hash_elem;

/* --- life --- */
scr_hash *scr_hash_new(void);
void scr_hash_delete(scr_hash *h);
/* Deep copy; NULL when out of memory or h is NULL. */
scr_hash *scr_hash_dup(const scr_hash *h);
int scr_hash_ok(const scr_hash *h); /* 1 unless an insertion was lost in it or below */

/* --- elements --- */
/* Inserts key with value (a new empty hash if value is NULL) or replaces the value it
 * has, in its place in the order. Takes ownership of value, also on failure. Returns
 * the value stored, borrowed. */
scr_hash *scr_hash_set(scr_hash *h, const char *key, scr_hash *value);
scr_hash *scr_hash_get(const scr_hash *h, const char *key);
/* Removes key and its tree; 1 if it existed. */
int scr_hash_unset(scr_hash *h, const char *key);
void scr_hash_unset_all(scr_hash *h);
/* Takes the value of key out of h without freeing it (NULL if absent); the caller owns
 * it. */
scr_hash *scr_hash_extract(scr_hash *h, const char *key);
size_t scr_hash_size(const scr_hash *h); /* number of keys */

scr_hash_elem *scr_hash_elem_get(const scr_hash *h, const char *key);
scr_hash_elem *scr_hash_elem_first(const scr_hash *h);
scr_hash_elem *scr_hash_elem_next(const scr_hash_elem *e);
const char *scr_hash_elem_key(const scr_hash_elem *e);
/* -1 unless the key is an int exactly as set_kv_int writes it ("07" is none). */
int scr_hash_elem_key_int(const scr_hash_elem *e);
scr_hash *scr_hash_elem_hash(const scr_hash_elem *e);
/* 1 and *out if the key is such an int, 0 otherwise. */
int scr_hash_key_int(const char *key, int *out);

/* for (SCR_HASH_EACH(e, h)) — the current element must not be unset inside the loop. */
#define SCR_HASH_EACH(e, h)                                                            \
    scr_hash_elem *e = scr_hash_elem_first(h);                                         \
    (e) != NULL;                                                                       \
    (e) = scr_hash_elem_next(e)

/* --- key/value pairs: h[key][val] --- */
scr_hash *scr_hash_set_kv(scr_hash *h, const char *key, const char *val);
scr_hash *scr_hash_get_kv(const scr_hash *h, const char *key, const char *val);
/* Removes val under key, and key if nothing is left under it. */
int scr_hash_unset_kv(scr_hash *h, const char *key, const char *val);
scr_hash *scr_hash_set_kv_int(scr_hash *h, const char *key, int val);
scr_hash *scr_hash_get_kv_int(const scr_hash *h, const char *key, int val);
int scr_hash_unset_kv_int(scr_hash *h, const char *key, int val);

/* --- single values: h[key] = {val}, replacing whatever was under key --- */
scr_hash *scr_hash_set_val(scr_hash *h, const char *key, const char *val);
scr_hash *scr_hash_set_val_i64(scr_hash *h, const char *key, int64_t val);
scr_hash *scr_hash_set_val_u64(scr_hash *h, const char *key, uint64_t val);
/* First key under key, borrowed; NULL if there is none. */
const char *scr_hash_get_val(const scr_hash *h, const char *key);
/* 1 and *out set, or 0 (out untouched) when absent, not a number of that range, or
 * ambiguous. */
int scr_hash_get_val_i64(const scr_hash *h, const char *key, int64_t *out);
int scr_hash_get_val_u64(const scr_hash *h, const char *key, uint64_t *out);
int scr_hash_get_val_int(const scr_hash *h, const char *key, int *out);
int scr_hash_get_val_crc(const scr_hash *h, const char *key,
                         uint32_t *out); /* "0x%08x" */

/* --- several levels at once; fmt is %s, %d and plain words, which are keys as they
 * stand, separated by single spaces. scr_hash_getf(h, "%s %d CKPT %d", "RANK", 0, 10)
 * setf takes ownership of value (NULL: a new empty hash if the last key is new, else
 * its present value is kept). A bad format gives NULL. --- */
scr_hash *scr_hash_setf(scr_hash *h, scr_hash *value, const char *fmt, ...);
scr_hash *scr_hash_getf(const scr_hash *h, const char *fmt, ...);

/* --- whole hashes --- */
/* Adds every element of src to dst, recursively; existing keys are kept and merged
 * below. SCR_OK or SCR_E_NOMEM, which it also is if dst is NULL and src is not empty:
 * a caller that could not make a hash must not lose the elements without an error. */
int scr_hash_merge(scr_hash *dst, const scr_hash *src);
/* Puts everything of src in the place of everything of dst; src is left empty. Cannot
 * fail, so an edit made on a copy can be taken over whole. */
void scr_hash_move(scr_hash *dst, scr_hash *src);
/* Keys that are ints as set_kv_int writes them, ascending, malloc'd (NULL with *n = 0
 * if none). 1 or 0 (memory). */
int scr_hash_list_int(const scr_hash *h, int **vals, size_t *n);
int scr_hash_equal(const scr_hash *a,
                   const scr_hash *b); /* order of keys does not matter */

/* --- bytes (seeds: packed hash; big-endian u32 count, then key NUL, packed hash …) ---
 */
enum { SCR_HASH_DEPTH = 64 }; /* most keys below each other in packed bytes */
/* Appends it, packed, to s; s becomes bad if !scr_hash_ok or deeper than a reader
 * accepts. */
struct scr_str;
void scr_hash_append(struct scr_str *s, const scr_hash *h);
/* Merges the packed hash at buf into h, as scr_hash_merge does; *used (may be NULL) =
 * bytes read. Every count and string is bounded by n, depth by SCR_HASH_DEPTH, and a
 * key given twice is refused; hostile bytes give SCR_E_CORRUPT and leave h as it was.
 * SCR_E_NOMEM, as when h is NULL and the bytes are not an empty hash, may leave some
 * keys in an h that was not empty. */
int scr_hash_unpack(const void *buf, size_t n, scr_hash *h, size_t *used,
                    struct scr_err *err);

/* --- people --- */
/* As a tree, two spaces a level after indent; an element whose hash is one empty key
 * prints as "key = value". Control characters are escaped as \xHH. */
void scr_hash_fprint(FILE *out, const scr_hash *h, int indent);
/* The same, but each key and value on its own line. */
void scr_hash_fprint_tree(FILE *out, const scr_hash *h, int indent);

#endif
