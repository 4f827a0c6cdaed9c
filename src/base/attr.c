/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of a file, without its bytes. */
#include "base/attr.h"

#include <errno.h>

int scr_fd_stat(const struct scr_sys *sys, int fd, struct stat *st, const char *path,
                struct scr_err *err)
{
    if (sys->fstat(fd, st) != 0)
        return scr_fail(err, SCR_E_IO, errno, "stat %s", path);
    return SCR_OK;
}

static int set_owner(const struct scr_sys *sys, int fd, const struct stat *st,
                     const char *path, struct scr_err *err)
{
    struct stat now;
    if (st->st_uid == (uid_t)-1)
        return SCR_OK;
    int rc = scr_fd_stat(sys, fd, &now, path, err);
    if (rc != SCR_OK || (now.st_uid == st->st_uid && now.st_gid == st->st_gid))
        return rc;
    if (sys->fchown(fd, st->st_uid, st->st_gid) != 0 && errno != EPERM &&
        errno != EINVAL)
        return scr_fail(err, SCR_E_IO, errno, "change owner of %s", path);
    return SCR_OK;
}

int scr_fd_set_attr(const struct scr_sys *sys, int fd, const struct stat *st,
                    const char *path, struct scr_err *err)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    TRY(set_owner(sys, fd, st, path, err));
    if (sys->fchmod(fd, st->st_mode & 0777) != 0)
        return scr_fail(err, SCR_E_IO, errno, "change mode of %s", path);
    if (sys->futimens(fd, times) != 0)
        return scr_fail(err, SCR_E_IO, errno, "set times of %s", path);
    return SCR_OK;
}
