/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the operating system about where we are. Results are malloc'd. */
#ifndef SCR_BASE_CWD_H
#define SCR_BASE_CWD_H

#include "base/err.h"

/* Absolute path of the current directory. */
int scr_cwd(char **path, struct scr_err *err);
/* path without symbolic links; it must exist. */
int scr_realpath(const char *path, char **real, struct scr_err *err);
/* The same of a path that need not exist: where mkdir would have to make it. A link
 * that leads to nothing is followed, too. */
int scr_realpath_to_be(const char *path, char **real, struct scr_err *err);
/* Name of this host, up to the first dot. */
int scr_hostname(char **name, struct scr_err *err);

#endif
