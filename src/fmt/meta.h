/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file (developer's manual section 5). On disk a hash with the keys
 * FILE ORIG PATH NAME TYPE ASKED SHARED COMPLETE SIZE CRC DSET RANK RANKS MODE UID GID
 * {A,C,M}TIME_{SECS,NSECS}; in memory a struct. Its texts are in the arena of its
 * owner: where memory ran out the arena records that, and the text is not recorded.
 *
 * Setters replace and do nothing for NULL; get_* return SCR_OK and set *out if the
 * field is recorded, else SCR_E_NOENT, also for NULL. */
#ifndef SCR_FMT_META_H
#define SCR_FMT_META_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/hash.h"
#include <stdint.h>
#include <sys/stat.h>

enum scr_meta_text {
    SCR_META_FILE,  /* name below the rank's cache directory */
    SCR_META_ORIG,  /* as the application gave it */
    SCR_META_PATH,  /* directory below the prefix ("." for the prefix) */
    SCR_META_NAME,  /* base name at its destination */
    SCR_META_TYPE,  /* FULL, PARTNER, XOR, RS … */
    SCR_META_ASKED, /* destination the application asked for, if it is another */
    SCR_META_TEXTS
};
enum scr_meta_number {
    SCR_META_SHARED, /* there at all, as 1: several ranks routed it */
    SCR_META_COMPLETE,
    SCR_META_SIZE,
    SCR_META_CRC,
    SCR_META_DSET,
    SCR_META_RANK,
    SCR_META_RANKS,
    SCR_META_MODE,
    SCR_META_UID,
    SCR_META_GID,
    SCR_META_ATIME, /* seconds; the nanoseconds are separate */
    SCR_META_CTIME,
    SCR_META_MTIME,
    SCR_META_NUMBERS
};

typedef struct scr_meta {
    struct scr_arena *arena; /* of the texts */
    uint32_t has;            /* bit of each number that is recorded */
    uint32_t crc;
    uint64_t size;
    int complete, dset, rank, ranks;
    uint32_t mode, uid, gid;
    uint32_t nsecs[3]; /* of the times */
    int64_t secs[3];
    const char *text[SCR_META_TEXTS]; /* NULL: not recorded */
} scr_meta;

/* One with its own arena; NULL: out of memory. */
scr_meta *scr_meta_new(void);
void scr_meta_delete(scr_meta *m);
/* dst becomes equal to src, with its own texts; src NULL: nothing is recorded. */
void scr_meta_copy(scr_meta *dst, const scr_meta *src);
/* Values that dst lacks are taken from src; what both have, but differently, is not
 * recorded any more. */
void scr_meta_merge(scr_meta *dst, const scr_meta *src);

/* 1: both have the same recorded. */
int scr_meta_same(const scr_meta *a, const scr_meta *b);

/* Texts and numbers; NULL: not recorded any more. */
void scr_meta_set_text(scr_meta *m, enum scr_meta_text t, const char *text);
void scr_meta_set_number(scr_meta *m, enum scr_meta_number n, int64_t v);
void scr_meta_set_filesize(scr_meta *m, uint64_t size);
/* PATH and NAME, of a destination relative to the prefix. */
void scr_meta_set_dest(scr_meta *m, const char *dest);
void scr_meta_set_shared(scr_meta *m);
void scr_meta_set_crc32(scr_meta *m, uint32_t crc);
void scr_meta_unset_crc32(scr_meta *m);
void scr_meta_set_stat(scr_meta *m, const struct stat *st); /* MODE UID GID and times */
/* Whose file it is. */
struct scr_meta_of {
    int dset, rank, ranks;
};
void scr_meta_set(scr_meta *m, const char *file, const char *type, uint64_t size,
                  struct scr_meta_of of, int complete);

/* NULL: not recorded. */
const char *scr_meta_text(const scr_meta *m, enum scr_meta_text t);
/* COMPLETE, DSET, RANK or RANKS. */
int scr_meta_get_int(const scr_meta *m, enum scr_meta_number n, int *out);
int scr_meta_get_filesize(const scr_meta *m, uint64_t *out);
/* 1: a file of the application, by its TYPE; 0: of redundancy, or it is not recorded.
 */
int scr_meta_is_full(const scr_meta *m);
int scr_meta_is_shared(const scr_meta *m); /* 1 or 0 */
int scr_meta_get_crc32(const scr_meta *m, uint32_t *out);
int scr_meta_get_stat(const scr_meta *m, struct stat *out); /* fields present are set */
/* Destination relative to the prefix, PATH/NAME, malloc'd; NULL if absent, unsafe or no
 * memory: it is that if scr_meta_has_dest says 1. */
char *scr_meta_dest(const scr_meta *m);
int scr_meta_has_dest(const scr_meta *m);

/* --- bytes --- */
/* Appends the hash of m, packed (base/cursor.h). */
void scr_meta_pack(struct scr_str *s, const scr_meta *m);
/* Takes a packed hash into m, which has nothing recorded. Fields that are no such
 * number, or have several values, count as not recorded, other keys are left out; a
 * field given twice makes c bad. */
void scr_meta_unpack(struct scr_cursor *c, scr_meta *m);
/* The same of a hash in memory. SCR_OK or SCR_E_NOMEM. */
int scr_meta_to_hash(const scr_meta *m, scr_hash *h);
int scr_meta_from_hash(scr_meta *m, const scr_hash *h);

#endif
