/* SPDX-License-Identifier: BSD-3-Clause */
/* Current directory, real paths and the host's name. */
#include "base/cwd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/path.h"
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

/* The target of the link at path; NULL: it is no link. */
static int read_link(const char *path, char **says, struct scr_err *err)
{
    for (size_t room = 128;; room *= 2) {
        char *text = scr_calloc(room, 1);
        TRY(text != NULL ? SCR_OK : scr_no_memory(err));
        ssize_t n = readlink(path, text, room - 1);
        *says = text;
        if (n >= 0 && (size_t)n < room - 1)
            return SCR_OK;
        int cause = errno;
        free(text);
        *says = NULL;
        if (n < 0)
            return cause == EINVAL || cause == ENOENT
                       ? SCR_OK
                       : scr_fail(err, SCR_E_IO, cause, "read link %s", path);
    }
}

/* It ends: each step is a link less, or a directory up, and links that lead to each
 * other are another error than ENOENT. */
int scr_realpath_to_be(const char *path, char **real, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *says = NULL, *next = NULL, *above = NULL, *dir = scr_path_dir(path);
    const char *base = scr_path_base(path);
    int rc = scr_realpath(path, real, &why);
    if (rc != SCR_E_NOENT || dir == NULL || base == path || *base == '\0' ||
        strcmp(base, "..") == 0) {
        free(dir);
        return scr_err_take(err, rc, &why);
    }
    TRY_OUT(read_link(path, &says, err));
    if (says != NULL) {
        next = *says == '/' ? scr_strdup(says) : scr_path_join(dir, says);
        TRY_OUT(next ? scr_realpath_to_be(next, real, err) : scr_no_memory(err));
    } else {
        TRY_OUT(scr_realpath_to_be(dir, &above, err));
        *real = scr_path_join(above, base);
        TRY_OUT(*real ? SCR_OK : scr_no_memory(err));
    }
out:
    free(says);
    free(next);
    free(above);
    free(dir);
    return rc;
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
