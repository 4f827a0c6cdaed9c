/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one dataset in the prefix directory, looked up by path: rank2file, read
 * part by part as far as is needed. Local; nothing is written.
 *
 *     struct scr_catalog c = { .env = env, .prefix = p, .id = 7 };
 *     const struct scr_listed *f;
 *     if (scr_catalog_find(&c, "step.7/rank_3", &f, err) == SCR_OK)
 *         … size and CRC of f, where they are recorded …
 *     scr_catalog_fini(&c);
 *
 * The next call retries parts that could not be read. Once a file could not be
 * entered for lack of memory, what is not found is SCR_E_NOMEM until scr_catalog_fini;
 * pointers into it stay good. */
#ifndef SCR_STORE_CATALOG_H
#define SCR_STORE_CATALOG_H

#include "store/prefix.h"
#include "store/realdir.h"

/* --- rank2file, the root and one part --- */

/* The root of the map with its level, and if that is 1 with the parts to be read; if
 * not, with none, and all of it is in whole: 0, the root is a part itself; more, a
 * deeper tree; -1, there is no rank2file, and an older summary has it. Both are empty
 * before; root->ranks is how many wrote the dataset. SCR_E_MISSING, _CORRUPT, _IO:
 * unusable. */
int scr_rank2file_top(const struct scr_env *env, const struct scr_prefix *p, int id,
                      struct scr_rank2file_root *root, struct scr_rank2file *whole,
                      struct scr_err *err);
/* One part of a root of level 1, checked, into files, which is empty; files->ranks is
 * how many wrote the dataset. SCR_E_CORRUPT, too, if it has a rank that is none of
 * those. */
int scr_rank2file_part(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int part, struct scr_rank2file *files, struct scr_err *err);
/* <dataset directory>/rank2file<suffix>, malloc'd; NULL: out of memory. */
char *scr_rank2file_path(const struct scr_prefix *p, int id, const char *suffix);
/* The same of a part of a root of level 1, by its first rank. */
char *scr_rank2file_part_path(const struct scr_prefix *p, int id, int part);

/* --- look-up --- */

struct scr_catalog {
    const struct scr_env *env;
    const struct scr_prefix *prefix;
    int id;
    int rank, size; /* the asking rank (0 of 0: any): begins with the parts of that
                     * place, because a rank mostly wants files of ranks near it */
    int begun;      /* the root has been read */
    struct scr_realdir *real; /* not NULL: files are also found by their names without
                                 links */
    struct scr_rank2file_root root; /* with the parts not read so far */
    struct scr_table files;         /* of struct scr_listed: read so far */
    struct scr_table asked; /* of those that lie elsewhere, by the path asked for */
};

void scr_catalog_fini(struct scr_catalog *c);
/* Enters files known from elsewhere. */
int scr_catalog_add(struct scr_catalog *c, const struct scr_rank2file *files,
                    struct scr_err *err);
/* *f is borrowed, NULL if the dataset has no such file. It may change when a part that
 * is read later lists the same path. */
int scr_catalog_find(struct scr_catalog *c, const char *dest,
                     const struct scr_listed **f, struct scr_err *err);
/* Where the file lies that was asked for by that path (SCR_PRESERVE_DIRECTORIES=0),
 * after scr_catalog_find has not found it: borrowed, NULL if there is none. */
const char *scr_catalog_asked(const struct scr_catalog *c, const char *dest);
/* The same by where its bytes are below the prefix: a compressed file is at <path>.zst.
 */
int scr_catalog_find_stored(struct scr_catalog *c, const char *stored,
                            const struct scr_listed **f, struct scr_err *err);
/* Reads all that is left: files is complete then. */
int scr_catalog_read_all(struct scr_catalog *c, struct scr_err *err);

#endif
