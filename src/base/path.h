/* SPDX-License-Identifier: BSD-3-Clause */
/* Path algebra on strings; nothing here touches the file system. Results are malloc'd
 * and owned by the caller, NULL means out of memory. */
#ifndef SCR_BASE_PATH_H
#define SCR_BASE_PATH_H

/* Absolute or relative path without ".", "//", trailing "/", and with ".." folded where
 * there is something to fold ("a/../b" -> "b", "/.." -> "/", "../a" stays, "" -> ".").
 */
char *scr_path_normal(const char *path);

/* a + "/" + b, normalised; an absolute b wins. */
char *scr_path_join(const char *a, const char *b);

/* path as seen from dir, both absolute and normalised: "x/y", "." if equal; NULL with
 * *outside = 1 when path is not below dir (out of memory: NULL with *outside = 0). */
char *scr_path_below(const char *dir, const char *path, int *outside);

/* The part of path behind "<dir>/", borrowed; NULL: path does not begin with that, or
 * dir is NULL or "". */
const char *scr_path_rest(const char *dir, const char *path);

/* Last component ("" for "/") borrowed from path; directory part, malloc'd ("." if
 * none). */
const char *scr_path_base(const char *path);
/* 1 if what is before the base name is the same in both. */
int scr_path_same_dir(const char *a, const char *b);
char *scr_path_dir(const char *path);

/* 1 if a relative path read from a file may be trusted to stay below the directory it
 * is joined to: not empty, not absolute, no ".." component, not "." itself. */
int scr_path_is_safe(const char *rel);

#endif
