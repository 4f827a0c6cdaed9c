/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories: creation that trusts no other user in a shared /tmp, listing, removal.
 */
#ifndef SCR_BASE_DIR_H
#define SCR_BASE_DIR_H

#include "base/err.h"
#include "base/sys.h"
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Creates base/rel, component by component of rel, with mkdirat/openat + O_NOFOLLOW.
 * base must exist (it is the administrator's, symbolic links in it are followed). Every
 * component of rel, made or found, must be a directory owned by the effective user and
 * not writable by group or others, else SCR_E_UNSAFE naming the component and its
 * owner. mode 0700 for control and cache. rel "" or "." only checks that base is a
 * directory. */
int scr_dir_make_private(const struct scr_sys *sys, const char *base, const char *rel,
                         mode_t mode, struct scr_err *err);
/* The same, mode 0700, of the directory that base/rel is in; none if that is base. */
int scr_dir_make_private_parent(const struct scr_sys *sys, const char *base,
                                const char *rel, struct scr_err *err);

/* mkdir -p for directories under the user's prefix: existing directories of any owner
 * and symbolic links to directories are accepted; a component that is no directory is
 * SCR_E_IO/ENOTDIR. */
int scr_dir_make(const struct scr_sys *sys, const char *path, mode_t mode,
                 struct scr_err *err);
/* The same for the directory that path is in. */
int scr_dir_make_parent(const struct scr_sys *sys, const char *path, mode_t mode,
                        struct scr_err *err);

/* fsync of the directory itself; a file system that cannot (EINVAL) needs none. */
int scr_dir_sync(const struct scr_sys *sys, const char *path, struct scr_err *err);
/* The same for the directory that path is in. */
int scr_dir_sync_parent(const struct scr_sys *sys, const char *path,
                        struct scr_err *err);

/* Names in a directory without "." and "..", sorted by byte value, as a malloc'd array
 * of malloc'd strings; free with scr_names_free. Absent: SCR_E_NOENT. */
int scr_dir_list(const struct scr_sys *sys, const char *path, char ***names, size_t *n,
                 struct scr_err *err);
void scr_names_free(char **names, size_t n);

/* The sum of all below a directory: bytes of files, and the latest time of modification
 * of the directory and all in it but files "*.lock", which those who only look change.
 */
struct scr_dir_sum {
    uint64_t bytes;
    time_t newest;
};
/* Adds to sum. Entries that cannot be looked at, or go meanwhile, are left out. */
void scr_dir_measure(const struct scr_sys *sys, const char *path,
                     struct scr_dir_sum *sum);
/* 1 if both are the same directory, by whatever links they lead there. */
int scr_dir_is_same(const struct scr_sys *sys, const char *a, const char *b);

/* rm -r without following symbolic links, staying on what openat reaches; absent is
 * success. Continues after an error and returns the first. "/", "." and ".." are
 * refused (SCR_E_ARG). */
int scr_dir_remove(const struct scr_sys *sys, const char *path, struct scr_err *err);

/* Whether entries of the directory path can be removed: one called name is made and
 * removed to see. A full file system is no hindrance to that. */
int scr_dir_may_remove(const struct scr_sys *sys, const char *path, const char *name,
                       struct scr_err *err);

/* rmdir of path and then of its parents while they are empty and may be removed, never
 * of stop itself or above. Both absolute. A path not below stop is SCR_E_OUTSIDE; path
 * equal to stop does nothing. */
int scr_dir_prune(const struct scr_sys *sys, const char *path, const char *stop,
                  struct scr_err *err);

#endif
