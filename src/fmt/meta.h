/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file: a hash with well-known keys (developer's manual section 5).
 * FILE ORIG PATH NAME TYPE COMPLETE SIZE CRC RANK RANKS MODE UID GID
 * {A,C,M}TIME_{SECS,NSECS}. Setters replace; get_* return SCR_OK and set *out only if
 * the field is there and well-formed, else SCR_E_NOENT; check_* return SCR_OK only if
 * it is there and equal. */
#ifndef SCR_FMT_META_H
#define SCR_FMT_META_H

#include "base/env.h"
#include "base/hash.h"
#include <stdint.h>
#include <sys/stat.h>

typedef struct scr_hash scr_meta;

scr_meta *scr_meta_new(void);
void scr_meta_delete(scr_meta *m);
int scr_meta_copy(scr_meta *dst,
                  const scr_meta *src); /* exact copy; SCR_OK or SCR_E_NOMEM */

void scr_meta_set_complete(scr_meta *m, int complete);
void scr_meta_set_ranks(scr_meta *m, int ranks);
void scr_meta_set_rank(scr_meta *m, int rank);
void scr_meta_set_dataset(scr_meta *m, int dset); /* key DSET */
void scr_meta_set_filesize(scr_meta *m, uint64_t size);
void scr_meta_set_filetype(scr_meta *m, const char *type); /* FULL, PARTNER, XOR, RS */
void scr_meta_set_filename(
    scr_meta *m, const char *file); /* FILE: name below the rank's cache directory */
void scr_meta_set_orig(scr_meta *m,
                       const char *orig); /* ORIG: as the application gave it */
void scr_meta_set_origpath(
    scr_meta *m,
    const char *dir); /* PATH: directory below the prefix ("." for the prefix) */
void scr_meta_set_origname(scr_meta *m,
                           const char *name); /* NAME: base name at its destination */
void scr_meta_set_crc32(scr_meta *m, uint32_t crc);
void scr_meta_set_stat(scr_meta *m, const struct stat *st); /* MODE UID GID and times */
void scr_meta_set(scr_meta *m, const char *file, const char *type, uint64_t size,
                  int dset, int rank, int ranks, int complete);

int scr_meta_get_complete(const scr_meta *m, int *out);
int scr_meta_get_ranks(const scr_meta *m, int *out);
int scr_meta_get_rank(const scr_meta *m, int *out);
int scr_meta_get_dataset(const scr_meta *m, int *out);
int scr_meta_get_filesize(const scr_meta *m, uint64_t *out);
int scr_meta_get_filetype(const scr_meta *m, const char **out);
int scr_meta_get_filename(const scr_meta *m, const char **out);
int scr_meta_get_orig(const scr_meta *m, const char **out);
int scr_meta_get_origpath(const scr_meta *m, const char **out);
int scr_meta_get_origname(const scr_meta *m, const char **out);
int scr_meta_get_crc32(const scr_meta *m, uint32_t *out);
int scr_meta_get_stat(const scr_meta *m, struct stat *out); /* fields present are set */
/* Destination relative to the prefix, PATH/NAME, malloc'd; NULL if absent, unsafe or no
 * memory: it is that if scr_meta_has_dest says 1. */
char *scr_meta_dest(const scr_meta *m);
int scr_meta_has_dest(const scr_meta *m);

int scr_meta_check_ranks(const scr_meta *m, int ranks);
int scr_meta_check_rank(const scr_meta *m, int rank);
int scr_meta_check_dataset(const scr_meta *m, int dset);
int scr_meta_check_filesize(const scr_meta *m, uint64_t size);
int scr_meta_check_filetype(const scr_meta *m, const char *type);
int scr_meta_check_filename(const scr_meta *m, const char *file);
int scr_meta_check_complete(const scr_meta *m);

/* Meta data files "<file>.scr" beside a file; the caller names the file itself. */
char *scr_meta_name(const char *file);
int scr_meta_read(const struct scr_sys *sys, const char *file, scr_meta *m,
                  struct scr_err *err);
int scr_meta_write(const struct scr_sys *sys, const char *file, const scr_meta *m,
                   struct scr_err *err);
int scr_meta_unlink(const struct scr_sys *sys, const char *file, struct scr_err *err);

#endif
