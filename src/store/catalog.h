/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset in the prefix directory, looked up by path: rank2file, read
 * part by part as far as is needed. Local; nothing is written.
 *
 *     struct scr_catalog c = { .env = env, .prefix = p, .id = 7 };
 *     const scr_hash *info;
 *     if (scr_catalog_find(&c, "step.7/rank_3", &info, err) == SCR_OK)
 *         … SIZE and CRC of info, where they are recorded …
 *     scr_catalog_fini(&c); */
#ifndef SCR_STORE_CATALOG_H
#define SCR_STORE_CATALOG_H

#include "store/prefix.h"

/* --- rank2file, the root and one part --- */

/* The root of the map with parts to be read in root, or, when there are none (older
 * writers, deeper trees), all of it as a part in whole; the other one stays empty.
 * *ranks: how many wrote the dataset. SCR_E_MISSING, _CORRUPT, _IO: unusable. */
int scr_rank2file_top(const struct scr_env *env, const struct scr_prefix *p, int id,
                      scr_hash *root, scr_hash *whole, int *ranks, struct scr_err *err);
/* One part, by the name the root gives it, checked. */
int scr_rank2file_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                       const char *suffix, scr_hash *part, struct scr_err *err);

/* --- look-up --- */

struct scr_catalog {
    const struct scr_env *env;
    const struct scr_prefix *prefix;
    int id;
    int rank, size;  /* who asks (0 of 0: anybody): begins with the parts of that place,
                        as a rank most often wants the files of ranks near its own */
    scr_hash *parts; /* {<suffix>}: not read so far; NULL: neither is the root */
    scr_hash *files; /* {<path below the prefix>: {SIZE, CRC}}: read so far */
    scr_hash *asked; /* {<path asked for>: {<path below the prefix>}} of those that lie
                        elsewhere */
};

void scr_catalog_fini(struct scr_catalog *c);
/* Enters files known from elsewhere: part = {RANK/<r>/FILE/<path>/{SIZE, CRC}}. */
int scr_catalog_add(struct scr_catalog *c, const scr_hash *part, struct scr_err *err);
/* *info is borrowed, NULL if the dataset has no such file. */
int scr_catalog_find(struct scr_catalog *c, const char *dest, const scr_hash **info,
                     struct scr_err *err);
/* Where the file lies that was asked for by that path (SCR_PRESERVE_DIRECTORIES=0),
 * after scr_catalog_find has not found it: borrowed, NULL if there is none. */
const char *scr_catalog_asked(const struct scr_catalog *c, const char *dest);
/* The same by where its bytes are below the prefix: a compressed file is at <path>.zst.
 */
int scr_catalog_find_stored(struct scr_catalog *c, const char *stored,
                            const scr_hash **info, struct scr_err *err);
/* Reads all that is left: files is complete then. */
int scr_catalog_read_all(struct scr_catalog *c, struct scr_err *err);

#endif
