/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories: creation that trusts no other user in a shared /tmp, listing, removal.
 */
#include "base/dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"

/* --- creation in places shared with others --- */

static const char *kind(mode_t mode)
{
    if (S_ISLNK(mode))
        return "a symbolic link";
    if (S_ISREG(mode))
        return "a file";
    return "no directory";
}

/* The component could not be opened as a directory: says what stands in its place. */
static int refuse_kind(const struct scr_sys *sys, int parent, const char *name,
                       const char *shown, int cause, struct scr_err *err)
{
    struct stat st;
    if (cause != ENOTDIR && cause != ELOOP)
        return scr_fail(err, SCR_E_IO, cause, "open %s", shown);
    if (sys->fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return scr_fail(err, SCR_E_UNSAFE, cause, "directory %s refused", shown);
    return scr_fail(
        err, SCR_E_UNSAFE, 0,
        "directory %s refused: it is %s of user %u; remove it or use another "
        "base directory",
        shown, kind(st.st_mode), (unsigned)st.st_uid);
}

static int check_private(const struct scr_sys *sys, int fd, const char *shown,
                         struct scr_err *err)
{
    struct stat st;
    TRY(scr_fd_stat(sys, fd, &st, shown, err));
    if (st.st_uid != geteuid())
        return scr_fail(
            err, SCR_E_UNSAFE, 0,
            "directory %s refused: it belongs to user %u, not to user %u; use "
            "another base directory",
            shown, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return scr_fail(err, SCR_E_UNSAFE, 0,
                        "directory %s of user %u refused: others may write to it (mode "
                        "%03o); run chmod go-w on it",
                        shown, (unsigned)st.st_uid, (unsigned)(st.st_mode & 0777));
    return SCR_OK;
}

/* Opened for its name only: a directory that may be searched but not listed is enough.
 */
static int open_dir_at(const struct scr_sys *sys, int parent, const char *name,
                       int flags)
{
    int fd;
    do
        fd = sys->openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags, 0);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Makes or finds one component below *fd, checks it and steps into it. */
static int step_into(const struct scr_sys *sys, int *fd, const char *name,
                     const char *shown, mode_t mode, struct scr_err *err)
{
    if (sys->mkdirat(*fd, name, mode) != 0 && errno != EEXIST)
        return scr_fail(err, SCR_E_IO, errno, "create directory %s", shown);
    int next = open_dir_at(sys, *fd, name, O_NOFOLLOW);
    if (next < 0)
        return refuse_kind(sys, *fd, name, shown, errno, err);
    (void)scr_close(sys, fd, shown, NULL); /* nothing was written through it */
    *fd = next;
    return check_private(sys, next, shown, err);
}

/* Walks the components of rel, cutting it up in place. */
static int step_along(const struct scr_sys *sys, int *fd, struct scr_str *shown,
                      char *rel, mode_t mode, struct scr_err *err)
{
    char *rest = rel;
    for (char *name; (name = strsep(&rest, "/")) != NULL;) {
        if (name[0] == '\0' || strcmp(name, ".") == 0)
            continue;
        scr_str_append(shown, "/");
        scr_str_append(shown, name);
        TRY(!shown->bad ? SCR_OK : scr_no_memory(err));
        TRY(step_into(sys, fd, name, shown->p, mode, err));
    }
    return SCR_OK;
}

int scr_dir_make_private(const struct scr_sys *sys, const char *base, const char *rel,
                         mode_t mode, struct scr_err *err)
{
    if (!scr_path_is_safe(rel) && rel[0] != '\0' && strcmp(rel, ".") != 0)
        return scr_fail(err, SCR_E_UNSAFE, 0,
                        "directory %s refused: it may lead out of %s", rel, base);

    struct scr_str shown = SCR_STR_INIT;
    char *copy = NULL;
    int rc = SCR_OK;
    int fd = open_dir_at(sys, AT_FDCWD, base, 0);
    if (fd < 0)
        return scr_fail(err, SCR_E_IO, errno, "open directory %s", base);
    copy = scr_strdup(rel);
    scr_str_append(&shown, strcmp(base, "/") == 0 ? "" : base);
    if (copy == NULL || shown.bad)
        rc = scr_no_memory(err);
    else
        rc = step_along(sys, &fd, &shown, copy, mode, err);
    (void)scr_close(sys, &fd, base, NULL); /* nothing was written through it */
    scr_str_free(&shown);
    free(copy);
    return rc;
}

int scr_dir_make_private_parent(const struct scr_sys *sys, const char *base,
                                const char *rel, struct scr_err *err)
{
    if (strchr(rel, '/') == NULL)
        return SCR_OK;
    char *dir = scr_path_dir(rel);
    int rc = dir ? scr_dir_make_private(sys, base, dir, 0700, err) : scr_no_memory(err);
    free(dir);
    return rc;
}

/* --- creation in the user's own places --- */

/* Whether path is a directory, symbolic links followed; errno says why not. */
static int is_dir(const struct scr_sys *sys, const char *path)
{
    struct stat st;
    if (sys->fstatat(AT_FDCWD, path, &st, 0) != 0)
        return 0;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

/* mkdir, where an existing directory is as good, whatever error mkdir gave for it (a
 * read-only or automounted parent answers with others than EEXIST). Keeps the errno of
 * a failure. */
static int make_one(const struct scr_sys *sys, const char *path, mode_t mode)
{
    if (sys->mkdirat(AT_FDCWD, path, mode) == 0)
        return 0;
    int cause = errno;
    if (cause == ENOENT)
        return -1;
    if (is_dir(sys, path))
        return 0;
    if (cause != EEXIST)
        errno = cause;
    return -1;
}

/* Tries the whole path first: mostly all but the last component exist. */
static int make_with_parents(const struct scr_sys *sys, char *path, mode_t mode,
                             struct scr_err *err)
{
    if (make_one(sys, path, mode) == 0)
        return SCR_OK;
    int cause = errno;
    char *slash = strrchr(path, '/');
    if (cause != ENOENT || slash == NULL || slash == path)
        return scr_fail(err, SCR_E_IO, cause, "create directory %s", path);

    *slash = '\0';
    int rc = make_with_parents(sys, path, mode, err);
    *slash = '/';
    if (rc != SCR_OK)
        return rc;
    if (make_one(sys, path, mode) == 0)
        return SCR_OK;
    return scr_fail(err, SCR_E_IO, errno, "create directory %s", path);
}

int scr_dir_make(const struct scr_sys *sys, const char *path, mode_t mode,
                 struct scr_err *err)
{
    if (is_dir(sys, path))
        return SCR_OK;
    char *copy = scr_path_normal(path);
    TRY(copy ? SCR_OK : scr_no_memory(err));
    int rc = make_with_parents(sys, copy, mode, err);
    free(copy);
    return rc;
}

int scr_dir_make_parent(const struct scr_sys *sys, const char *path, mode_t mode,
                        struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc = dir ? scr_dir_make(sys, dir, mode, err) : scr_no_memory(err);
    free(dir);
    return rc;
}

int scr_dir_sync(const struct scr_sys *sys, const char *path, struct scr_err *err)
{
    int fd = -1;
    TRY(scr_open(sys, path, O_RDONLY | O_DIRECTORY, 0, &fd, err));
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_fsync(sys, fd, path, &why);
    /* File systems that keep directories in order by themselves refuse to sync one. */
    if (why.sys == EINVAL || why.sys == ENOTSUP)
        rc = SCR_OK;
    else if (rc != SCR_OK)
        rc = scr_fail(err, rc, why.sys, "fsync directory %s", path);
    (void)scr_close(sys, &fd, path, NULL); /* nothing was written through it */
    return rc;
}

int scr_dir_sync_parent(const struct scr_sys *sys, const char *path,
                        struct scr_err *err)
{
    char *dir = scr_path_dir(path);
    int rc = dir ? scr_dir_sync(sys, dir, err) : scr_no_memory(err);
    free(dir);
    return rc;
}

/* --- listing --- */

void scr_names_free(char **names, size_t n)
{
    int saved = errno;
    for (size_t i = 0; names != NULL && i < n; i++)
        free(names[i]);
    free(names);
    errno = saved;
}

struct names {
    char **name;
    size_t n, cap;
};

static int names_add(struct names *all, const char *name)
{
    char **p = scr_insert(all->name, all->n, &all->n, &all->cap, sizeof *p);
    if (p == NULL)
        return 0;
    all->name = p;
    return (p[all->n - 1] = scr_strdup(name)) != NULL;
}

/* The next name but "." and ".."; NULL with *cause 0 at the end. */
static const char *next_name(const struct scr_sys *sys, DIR *d, int *cause)
{
    for (;;) {
        errno = 0;
        struct dirent *e = sys->readdir(d);
        if (e == NULL) {
            *cause = errno;
            return NULL;
        }
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return e->d_name;
    }
}

/* Reads all names of the directory open at fd, which is closed in any case. */
static int list_fd(const struct scr_sys *sys, int fd, const char *path,
                   struct names *all, struct scr_err *err)
{
    int cause = 0;
    const char *name;
    DIR *d = sys->fdopendir(fd);
    if (d == NULL) {
        cause = errno;
        (void)sys->close(fd);
        return scr_fail(err, SCR_E_IO, cause, "list directory %s", path);
    }
    while ((name = next_name(sys, d, &cause)) != NULL) {
        if (!names_add(all, name)) {
            cause = ENOMEM;
            break;
        }
    }
    (void)sys->closedir(d); /* nothing was written through it */
    if (cause != 0)
        return scr_fail(err, SCR_E_IO, cause, "list directory %s", path);
    if (all->n > 1)
        qsort(all->name, all->n, sizeof all->name[0], scr_by_text);
    return SCR_OK;
}

int scr_dir_list(const struct scr_sys *sys, const char *path, char ***names, size_t *n,
                 struct scr_err *err)
{
    int fd = -1;
    struct names all = { 0, 0, 0 };
    *names = NULL;
    *n = 0;
    int rc;
    TRY_OUT(scr_open(sys, path, O_RDONLY | O_DIRECTORY, 0, &fd, err));
    TRY_OUT(list_fd(sys, fd, path, &all, err));
out:
    if (rc != SCR_OK) {
        scr_names_free(all.name, all.n);
        return rc;
    }
    *names = all.name;
    *n = all.n;
    return SCR_OK;
}

/* --- measuring --- */

static int is_lock(const char *path)
{
    static const char suffix[] = ".lock";
    size_t n = strlen(path), skip = sizeof suffix - 1;
    return n > skip && strcmp(path + n - skip, suffix) == 0;
}

void scr_dir_measure(const struct scr_sys *sys, const char *path,
                     struct scr_dir_sum *sum)
{
    struct stat st;
    char **names = NULL;
    size_t n = 0;
    if (scr_file_stat(sys, path, &st, NULL) != SCR_OK)
        return;
    if (st.st_mtime > sum->newest && !is_lock(path))
        sum->newest = st.st_mtime;
    if (!S_ISDIR(st.st_mode))
        sum->bytes += (uint64_t)st.st_size;
    else if (scr_dir_list(sys, path, &names, &n, NULL) != SCR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        char *below = scr_path_join(path, names[i]);
        if (below != NULL)
            scr_dir_measure(sys, below, sum);
        free(below);
    }
    scr_names_free(names, n);
}

int scr_dir_is_same(const struct scr_sys *sys, const char *a, const char *b)
{
    struct stat of_a, of_b;
    char *in_a = scr_asprintf("%s/.", a), *in_b = scr_asprintf("%s/.", b);
    int same = in_a && in_b && scr_file_stat(sys, in_a, &of_a, NULL) == SCR_OK &&
               scr_file_stat(sys, in_b, &of_b, NULL) == SCR_OK &&
               of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    free(in_a);
    free(in_b);
    return same || strcmp(a, b) == 0;
}

/* --- removal --- */

static int remove_at(const struct scr_sys *sys, int parent, const char *name,
                     const char *shown, struct scr_err *err);

/* Removes what the directory open at fd holds; fd is closed in any case. */
static int remove_below(const struct scr_sys *sys, int fd, const char *shown,
                        struct scr_err *err)
{
    struct names all = { 0, 0, 0 };
    int again = -1, rc;
    do /* a separate descriptor for the list, which closes it */
        again = sys->openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    while (again < 0 && errno == EINTR);
    if (again < 0)
        rc = scr_fail(err, SCR_E_IO, errno, "open directory %s", shown);
    else
        rc = list_fd(sys, again, shown, &all, err);
    for (size_t i = 0; i < all.n; i++) {
        char *below = scr_asprintf("%s/%s", shown, all.name[i]);
        int one =
            below ? remove_at(sys, fd, all.name[i], below, err) : scr_no_memory(err);
        free(below);
        rc = scr_first(rc, one);
    }
    scr_names_free(all.name, all.n);
    (void)sys->close(fd); /* nothing was written through it */
    return rc;
}

static int remove_at(const struct scr_sys *sys, int parent, const char *name,
                     const char *shown, struct scr_err *err)
{
    if (sys->unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return SCR_OK;
    int cause = errno;
    if (cause != EISDIR && cause != EPERM)
        return scr_fail(err, SCR_E_IO, cause, "remove %s", shown);

    int fd = open_dir_at(sys, parent, name, O_NOFOLLOW);
    if (fd < 0) /* no directory after all: what unlink said holds */
        return scr_fail(err, SCR_E_IO, errno == ENOTDIR ? cause : errno, "remove %s",
                        shown);
    TRY(remove_below(sys, fd, shown, err));
    if (sys->unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return scr_fail(err, SCR_E_IO, errno, "remove directory %s", shown);
    return SCR_OK;
}

int scr_dir_remove(const struct scr_sys *sys, const char *path, struct scr_err *err)
{
    char *whole = scr_path_normal(path);
    TRY(whole ? SCR_OK : scr_no_memory(err));
    const char *last = scr_path_base(whole);
    int rc;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        rc = scr_fail(err, SCR_E_ARG, 0, "remove %s: refused", whole);
    else
        rc = remove_at(sys, AT_FDCWD, whole, whole, err);
    free(whole);
    return rc;
}

int scr_dir_may_remove(const struct scr_sys *sys, const char *path, const char *name,
                       struct scr_err *err)
{
    char *probe = scr_path_join(path, name);
    int rc = SCR_OK;
    TRY(probe ? SCR_OK : scr_no_memory(err));
    int made = sys->mkdirat(AT_FDCWD, probe, 0700) == 0 || errno == EEXIST;
    if (!made && errno != ENOSPC && errno != EDQUOT)
        rc = scr_fail(err, SCR_E_IO, errno, "write to %s", path);
    if (made && sys->unlinkat(AT_FDCWD, probe, AT_REMOVEDIR) != 0)
        rc = scr_fail(err, SCR_E_IO, errno, "remove %s", probe);
    free(probe);
    return rc;
}

/* A directory in use, or one above ours that only its owner may remove. */
static int may_stay(int error, int is_above)
{
    return error == ENOTEMPTY || error == EEXIST || error == EBUSY ||
           (is_above && (error == EACCES || error == EPERM));
}

int scr_dir_prune(const struct scr_sys *sys, const char *path, const char *stop,
                  struct scr_err *err)
{
    int outside = 0, rc = SCR_OK;
    char *top = scr_path_normal(stop), *at = scr_path_normal(path);
    char *below = top && at ? scr_path_below(top, at, &outside) : NULL;
    if (outside)
        rc = scr_fail(err, SCR_E_OUTSIDE, 0, "remove directory %s: not below %s", at,
                      top);
    else if (below == NULL)
        rc = scr_no_memory(err);

    for (int above = 0; rc == SCR_OK && strcmp(at, top) != 0; above = 1) {
        if (sys->unlinkat(AT_FDCWD, at, AT_REMOVEDIR) != 0 && errno != ENOENT) {
            if (!may_stay(errno, above))
                rc = scr_fail(err, SCR_E_IO, errno, "remove directory %s", at);
            break;
        }
        char *slash = strrchr(at, '/');
        slash[slash == at] = '\0'; /* "/x" becomes "/" */
    }
    free(below);
    free(at);
    free(top);
    return rc;
}
