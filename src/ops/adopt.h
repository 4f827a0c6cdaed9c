/* SPDX-License-Identifier: BSD-3-Clause */
/* Files written without SCR become a dataset: found by patterns, checked, summed up,
 * recorded in the prefix directory.
 *
 * A pattern is a path relative to a directory. In it %r stands for the rank that owns
 * the file (decimal, zeros in front are fine), * for any characters but /, ** for any
 * characters, %% for a percent sign; the rest stands for itself. %r may occur several
 * times and is the same rank each time. A pattern without it gives files to rank 0. */
#ifndef SCR_TOOL_ADOPT_H
#define SCR_TOOL_ADOPT_H

#include "ops/progress.h"
#include "store/prefix.h"

struct scr_adopt {
    const char
        *dir; /* absolute, or relative to the prefix; in it or the prefix itself */
    const char *const *pattern; /* npatterns of them */
    int npatterns;
    const char *name;              /* of the dataset; NULL: the last component of dir */
    int ranks;                     /* there must be so many; 0: as many as are found */
    int id;                        /* 0: the next free one */
    int is_output;                 /* 1: output, not a checkpoint */
    struct scr_progress *progress; /* total is set here; may be NULL */
    FILE *progress_out;
};

struct scr_adopted {
    int id, ranks;
    uint64_t files, bytes;
    uint64_t unmatched; /* files below dir that no pattern matched: not part of it */
    char *name;         /* malloc'd */
};

/* 1 if path matches pattern; *rank is then the owner. SCR_E_ARG if the pattern cannot
 * be understood; path NULL only asks that. */
int scr_adopt_match(const char *pattern, const char *path, int *rank);

/* Nothing is recorded unless ranks 0 … n-1 all have a file, every file is regular and
 * could be read, and name and id are free. Files stay where they are; their data are
 * synced before they are recorded. Clear errors: SCR_E_ARG (pattern, dir), SCR_E_EXIST
 * (name, id), SCR_E_MISSING (ranks), SCR_E_OUTSIDE, SCR_E_UNSAFE. out->name is the
 * caller's, also after an error. */
int scr_adopt_directory(const struct scr_env *env, const struct scr_prefix *p,
                        const struct scr_adopt *what, struct scr_adopted *out,
                        struct scr_err *err);

#endif
