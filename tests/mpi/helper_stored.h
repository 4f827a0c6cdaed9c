/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job of helper_job.h has on disk: kept and put back, found, compared and
 * damaged. */
#ifndef SCR_TEST_HELPER_STORED_H
#define SCR_TEST_HELPER_STORED_H

#include "helper_job.h"

/* Remembers what the prefix and all nodes store now; makes it what they store. */
void job_save(struct job *job);
void job_go_back(struct job *job);

/* Makes the prefix directory a copy of `from`. */
void job_set_prefix(struct job *job, const char *from);

/* The files of dataset id in cache, on whatever node: {<path below the dataset's
 * directory>: {<crc32>}} on rank 0, NULL elsewhere. */
scr_hash *job_cached(const struct job *job, int id);
/* 1 on all ranks if all files of want, or those of them that `before` has (not NULL),
 * are in now with the same bytes. */
int job_has_kept(const struct job *job, const scr_hash *want, const scr_hash *before,
                 const scr_hash *now);

/* Flips one byte of a file (rank 0 of the job does it for all if collective use is
 * wanted). */
void job_flip(const char *path, long at);
enum { JOB_NEWER_VERSION = 9 };
/* Makes a hash file one of this version of the format, its checksum right (rank 0 of
 * the job does it, the others wait). */
void job_set_version(struct job *job, const char *path, int version);
/* Paths of regular files below dir whose path contains part, malloc'd array; count in
 * *n. */
char **job_find(const char *dir, const char *part, int *n);
void job_find_free(char **paths, int n);
/* How many there are; no rank continues before all have looked. Collective. */
int job_count(struct job *job, const char *dir, const char *part);

#endif
