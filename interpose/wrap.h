/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the wrappers of calls on files. Each leaves errno as the real call
 * would. */
#ifndef SCR_INTERPOSE_WRAP_H
#define SCR_INTERPOSE_WRAP_H

#include <stdlib.h>

#include "files.h"

#define FROM_PROGRAM scr_ip_is_program(__builtin_return_address(0))

/* A file may be moved by another thread after it was asked where it is; as often it is
 * asked again. */
enum { SCR_IP_TRIES = 4 };

/* One of the real calls with two or three arguments. */
typedef int scr_ip_open_fn(const char *, int, ...);

/* open(2) as the program sees it. */
int scr_ip_open_any(scr_ip_open_fn *real, const char *path, int flags, mode_t mode);

/* The meaning of path below an open directory, or path itself; NULL: it is not known.
 * The caller frees *made. */
const char *scr_ip_path_at(int dir, const char *path, char **made);
/* The same, but NULL also for what can be of no checkpoint. */
const char *scr_ip_candidate_at(int dir, const char *path, char **made);

#endif
