/* SPDX-License-Identifier: BSD-3-Clause */
/* Current directory, real paths and the host's name. */
#include "base/cwd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"

int scr_cwd(char **path, struct scr_err *err)
{
    *path = getcwd(NULL, 0);
    if (*path == NULL)
        return scr_fail(err, SCR_E_IO, errno, "current directory");
    return SCR_OK;
}

int scr_realpath(const char *path, char **real, struct scr_err *err)
{
    *real = realpath(path, NULL);
    if (*real == NULL)
        return scr_fail(err, SCR_E_IO, errno, "resolve %s", path);
    return SCR_OK;
}

int scr_hostname(char **name, struct scr_err *err)
{
    struct utsname u;
    if (uname(&u) != 0)
        return scr_fail(err, SCR_E_IO, errno, "host name");
    u.nodename[strcspn(u.nodename, ".")] = '\0';
    *name = scr_strdup(u.nodename);
    return *name ? SCR_OK : scr_no_memory(err);
}
