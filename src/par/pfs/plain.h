/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a dataset in the prefix directory, possibly compressed, for programs that
 * read them there. A compressed file that a program reads is unpacked into the
 * dataset's own directory, <prefix>/.scr/scr.dataset.<id>/plain/<path>, where it goes
 * with the dataset if it is not removed before. All local. */
#ifndef SCR_PAR_PLAIN_H
#define SCR_PAR_PLAIN_H

#include "store/prefix.h"

/* Where the plain bytes of the file are, or will be; malloc'd, NULL: out of memory. */
char *scr_plain_path(const struct scr_prefix *p, int id, const struct scr_listed *f);

/* That the file is there and as recorded; deep: to the last byte. SCR_E_MISSING,
 * SCR_E_CORRUPT: it is not. */
int scr_plain_check(const struct scr_env *env, const struct scr_prefix *p,
                    const struct scr_listed *f, int deep, struct scr_err *err);
/* The same, deep, of a compressed one, which is there to be read then, at
 * scr_plain_path. Any number of ranks may do so at once. */
int scr_plain_make(const struct scr_env *env, const struct scr_prefix *p, int id,
                   int rank, const struct scr_listed *f, struct scr_err *err);
/* Removes what was unpacked of it; that there is nothing, or that it cannot be, is no
 * error. */
void scr_plain_remove(const struct scr_env *env, const struct scr_prefix *p, int id,
                      const char *dest);

/* What a rank has unpacked of one dataset, to be removed when it has been read; made
 * zero except for the first three. */
struct scr_plains {
    const struct scr_env *env;
    const struct scr_prefix *prefix;
    int id;
    struct scr_table made; /* the paths below the prefix */
};
/* Notes the file if it is a compressed one. */
int scr_plains_note(struct scr_plains *s, const struct scr_listed *f,
                    struct scr_err *err);
void scr_plains_fini(struct scr_plains *s);

#endif
