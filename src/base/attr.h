/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of a file, without its bytes: kind, mode, owner and times of an open
 * one. */
#ifndef SCR_BASE_ATTR_H
#define SCR_BASE_ATTR_H

#include "base/err.h"
#include "base/sys.h"

int scr_fd_stat(const struct scr_sys *sys, int fd, struct stat *st, const char *path,
                struct scr_err *err);

/* Gives fd the permission bits, owner and access and modification times of st. The
 * owner is tried only where it differs, and may be refused (EPERM, EINVAL): only root
 * may give files away. */
int scr_fd_set_attr(const struct scr_sys *sys, int fd, const struct stat *st,
                    const char *path, struct scr_err *err);

#endif
