/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed hashes without a tree: written from structs, and read into them.
 *
 * A packed hash is a count and as many elements, each a key and a packed hash
 * (scr_hashfile(5)). Writing says the count before the elements:
 *
 *     scr_pack_count(&s, 2);
 *     scr_pack_u64(&s, "SIZE", 1024);
 *     scr_pack_key(&s, "META"); scr_pack_count(&s, 0);
 *
 * Reading checks bytes that may be damaged or hostile:
 *
 *     struct scr_cursor c;
 *     scr_cursor_init(&c, buf, n);
 *     for (size_t left = scr_cursor_enter(&c); left > 0; left--) {
 *         const char *key = scr_cursor_key(&c);
 *         if (strcmp(key, "SIZE") == 0) … scr_cursor_val(&c) …
 *         else scr_cursor_skip(&c);
 *     }
 *     rc = scr_cursor_end(&c, err);
 *
 * Each call after enter takes what follows the key. After the first wrong byte the
 * cursor is bad: counts are 0, keys "", values NULL, and scr_cursor_end says where.
 *
 * A cursor on a feed has a window of the bytes in memory, which moves on as they are
 * taken: a list of files is read from its file, or from another rank, and never in
 * memory as a whole. Keys and values are valid until the next call. */
#ifndef SCR_BASE_CURSOR_H
#define SCR_BASE_CURSOR_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

void scr_pack_count(struct scr_str *s, size_t n);
void scr_pack_key(struct scr_str *s, const char *key);
void scr_pack_key_int(struct scr_str *s, int key);
/* key with one value: its text, or a number as scr_hash_set_val_* write it. */
void scr_pack_val(struct scr_str *s, const char *key, const char *val);
void scr_pack_i64(struct scr_str *s, const char *key, int64_t val);
void scr_pack_u64(struct scr_str *s, const char *key, uint64_t val);
void scr_pack_crc(struct scr_str *s, const char *key, uint32_t crc);
/* key with a whole hash; NULL is an empty one. */
void scr_pack_hash(struct scr_str *s, const char *key, const scr_hash *h);

struct scr_feed {
    /* Puts bytes that follow at p, 1 to *n of them, and says in *n how many. The room
     * is SCR_PIECE bytes at least. What fails is kept in rc, and said by the feed. */
    int (*more)(struct scr_feed *f, void *p, size_t *n);
    uint64_t rest;      /* bytes that have not come yet */
    unsigned char *buf; /* the window */
    size_t room;
    uint64_t passed; /* bytes before it */
    int rc;
};

struct scr_cursor {
    const unsigned char *p, *start;
    size_t left;       /* in memory */
    const char *wrong; /* what; NULL: nothing so far */
    int no_memory;
    struct scr_feed *feed;     /* NULL: all bytes are in memory */
    const unsigned char *keep; /* where the window has to begin; NULL: at p */
};

void scr_cursor_init(struct scr_cursor *c, const void *buf, size_t n);
/* On a feed, whose more and rest are set. Fini frees the window. */
void scr_cursor_init_feed(struct scr_cursor *c, struct scr_feed *f);
void scr_feed_fini(struct scr_feed *f);
/* The number of bytes before the next one. */
uint64_t scr_cursor_at(const struct scr_cursor *c);
/* The number of elements of the hash that begins here. */
size_t scr_cursor_enter(struct scr_cursor *c);
const char *scr_cursor_key(struct scr_cursor *c);
/* The key of a hash of one element, and takes the hash whole; NULL if it has another
 * number of elements. It is borrowed from the bytes: until the next call. */
const char *scr_cursor_val(struct scr_cursor *c);
/* Takes the hash that begins here, and skips it. */
void scr_cursor_skip(struct scr_cursor *c);
/* Takes it into h, which is empty. */
void scr_cursor_hash(struct scr_cursor *c, scr_hash *h);
/* Makes the cursor bad. */
void scr_cursor_refuse(struct scr_cursor *c, const char *why);
/* The same: there is no memory for what is read. */
void scr_cursor_no_memory(struct scr_cursor *c);
/* SCR_OK if all went well; all: and no byte is left. */
int scr_cursor_end(struct scr_cursor *c, int all, struct scr_err *err);

#endif
