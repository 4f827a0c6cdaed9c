/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a dataset in the prefix directory as the application wrote them, for
 * readers without SCR: compressed ones unpacked, all checked. */
#ifndef SCR_TOOL_EXTRACT_H
#define SCR_TOOL_EXTRACT_H

#include "ops/progress.h"
#include "store/prefix.h"

struct scr_extract {
    const char *to; /* directory, made if need be; NULL: each next to its stored file */
    struct scr_progress *progress; /* total is set here; may be NULL */
    FILE *progress_out;
};

struct scr_extracted {
    uint64_t files, bytes; /* written */
    uint64_t there;        /* files that were there already, as recorded */
};

/* Writes every file of the complete dataset id below what->to by its path, or in place,
 * where only those that are compressed are missing; mode and times are kept. A file
 * that is there already and is not the one recorded stays as it is and counts as a
 * fault, and so does one that is damaged, and one in place where a link leads out of
 * the prefix; the others are extracted all the same. The error then names the first.
 * SCR_E_MISSING: the dataset is not complete. */
int scr_extract_dataset(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const struct scr_extract *what, struct scr_extracted *out,
                        struct scr_err *err);

#endif
