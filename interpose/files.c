/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of files, and what the program does with them. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"

static const struct scr_sys *const sys = &scr_sys_posix;
enum { COPY_BYTES = 128 << 10 }; /* they stay in the second-level cache */

static void lock(void)
{
    scr_ip_inside++;
    pthread_mutex_lock(&scr_ip.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&scr_ip.lock);
    scr_ip_inside--;
}

static int is_there(const char *path)
{
    struct stat st;
    return sys->fstatat(AT_FDCWD, path, &st, 0) == 0;
}

/* --- names --- */

/* path as seen from the prefix, by its given or its resolved name; malloc'd, NULL: not
 * below it. */
static char *below_prefix(const char *path)
{
    char *cwd = NULL;
    int outside = 0;
    if (path[0] != '/' && scr_cwd(&cwd, NULL) != SCR_OK)
        return NULL;
    char *full = scr_path_join(cwd ? cwd : "/", path);
    char *rel = full ? scr_path_below(scr_ip.prefix, full, &outside) : NULL;
    if (rel == NULL && outside)
        rel = scr_path_below(scr_ip.prefix_real, full, &outside);
    free(full);
    free(cwd);
    return rel;
}

/* The lock is taken for candidates only. */
int scr_ip_is_candidate(const char *path)
{
    return path && path[0] != '\0' && scr_ip_patterns_may_match(&scr_ip.patterns, path);
}

/* The full path of a file that forms a checkpoint, malloc'd; NULL: it does not. */
static char *checkpoint_path(const char *path, int64_t *number)
{
    if (!scr_ip_is_candidate(path))
        return NULL;
    char *rel = below_prefix(path), *full = NULL;
    if (rel && strncmp(rel, ".scr/", 5) != 0 &&
        scr_ip_patterns_match(&scr_ip.patterns, rel, number))
        full = scr_path_join(scr_ip.prefix, rel);
    free(rel);
    return full;
}

/* --- the table --- */

static struct scr_ip_file *find(const char *path)
{
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        if (strcmp(scr_ip.file[i]->path, path) == 0)
            return scr_ip.file[i];
    return NULL;
}

/* Takes path, in any case; NULL: out of memory. */
static struct scr_ip_file *add(char *path, int64_t number)
{
    struct scr_ip_file *f = scr_calloc(1, sizeof *f);
    struct scr_ip_file **v =
        f && path ? scr_reallocarray(scr_ip.file, scr_ip.nfiles + 1, sizeof *v) : NULL;
    if (v == NULL) {
        free(path);
        free(f);
        return NULL;
    }
    *f = (struct scr_ip_file){ .path = path, .number = number };
    scr_ip.file = v;
    scr_ip.file[scr_ip.nfiles++] = f;
    return f;
}

static void file_free(struct scr_ip_file *f)
{
    free(f->path);
    free(f->place);
    free(f);
}

static void drop_stage(struct scr_ip_file *f)
{
    if (f->where == SCR_IP_STAGED && f->place)
        scr_file_remove(sys, f->place, NULL);
}

/* Descriptors that are still open on it are the program's own business from now on; one
 * that a thread is closing at this moment is the last to know of it. */
static void untrack(struct scr_ip_file *f)
{
    for (int fd = 0; f->nopen > 0 && fd < SCR_IP_MAX_FD; fd++) {
        struct scr_ip_file *mine = f;
        if (atomic_compare_exchange_strong(&scr_ip.fd[fd], &mine, NULL))
            f->nopen--;
    }
}

static void drop(struct scr_ip_file *f)
{
    untrack(f);
    for (size_t i = 0; i < scr_ip.nfiles; i++)
        if (scr_ip.file[i] == f)
            scr_ip.file[i] = scr_ip.file[--scr_ip.nfiles];
    drop_stage(f);
    f->dropped = 1;
    if (f->nopen == 0)
        file_free(f);
}

char *scr_ip_stage_name(void)
{
    return scr_asprintf("%s/%lu", scr_ip.stage, scr_ip.staged++);
}

int scr_ip_adopt(const char *path, const char *place, struct scr_err *err)
{
    int64_t number = SCR_IP_NO_NUMBER;
    char *full = checkpoint_path(path, &number);
    if (full == NULL)
        return SCR_OK; /* another pattern was set when it was written */
    struct scr_ip_file *f = find(full) ? NULL : add(full, number);
    if (f)
        f->place = scr_strdup(place);
    if (f == NULL || f->place == NULL)
        return scr_no_memory(err);
    f->where = SCR_IP_CACHED;
    return SCR_OK;
}

void scr_ip_prune(void)
{
    for (size_t i = scr_ip.nfiles; i-- > 0;) {
        struct scr_ip_file *f = scr_ip.file[i];
        if (f->where == SCR_IP_CACHED && !f->pending && !is_there(f->place))
            drop(f);
    }
}

/* --- moving bytes --- */

int scr_ip_copy_fd(int from, int to, const char *name, struct scr_err *err)
{
    char *buf = malloc(COPY_BYTES);
    size_t got = 1;
    int rc;
    TRY_OUT(buf ? SCR_OK : scr_no_memory(err));
    while (got > 0) {
        TRY_OUT(scr_read_upto(SCR_FD(sys, from, name), buf, COPY_BYTES, &got, err));
        if (got > 0)
            TRY_OUT(scr_write_all(SCR_FD(sys, to, name), buf, got, err));
    }
out:
    free(buf);
    return rc;
}

enum bytes { NO_BYTES, ALL_BYTES };

/* A new file with the bytes of another, whose permissions are in *st: who may not write
 * to that may still have it open. *fd stays open. */
static int copy_open(const char *from, const char *to, enum bytes bytes, int *fd,
                     struct stat *st, struct scr_err *err)
{
    int in = -1;
    *fd = -1;
    int rc;
    TRY_OUT(scr_open(sys, from, O_RDONLY, 0, &in, err));
    if (sys->fstat(in, st) != 0)
        TRY_OUT(scr_fail(err, SCR_E_IO, errno, "stat %s", from));
    TRY_OUT(scr_open(sys, to, O_RDWR | O_CREAT | O_TRUNC, 0600, fd, err));
    if (bytes == ALL_BYTES)
        TRY_OUT(scr_ip_copy_fd(in, *fd, to, err));
out:
    scr_close(sys, &in, from, NULL);
    return rc;
}

static int permit(int fd, const struct stat *st, const char *name, struct scr_err *err)
{
    if (sys->fchmod(fd, st->st_mode & 07777) != 0)
        return scr_fail(err, SCR_E_IO, errno, "chmod %s", name);
    return SCR_OK;
}

static int close_copy(int rc, int *fd, const char *to, struct scr_err *err)
{
    rc = scr_first(rc, scr_close(sys, fd, to, err));
    if (rc != SCR_OK)
        scr_file_remove(sys, to, NULL);
    return rc;
}

int scr_ip_link(const char *from, const char *to, struct scr_err *err)
{
    int fd;
    struct stat st;
    scr_file_remove(sys, to, NULL);
    if (sys->linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
        return SCR_OK;
    int rc = copy_open(from, to, ALL_BYTES, &fd, &st, err);
    if (rc == SCR_OK)
        rc = permit(fd, &st, to, err);
    return close_copy(rc, &fd, to, err);
}

/* --- descriptors that follow their file --- */

/* A descriptor of the program, and the one that takes its place. */
struct move {
    int fd, own;
};

/* 1: fd writes to f. A descriptor that was closed unseen may be anything now. */
static int writes_to(int fd, const struct scr_ip_file *f)
{
    struct stat place, st;
    return atomic_load(&scr_ip.fd[fd]) == f &&
           sys->fstatat(AT_FDCWD, f->place, &place, 0) == 0 &&
           sys->fstat(fd, &st) == 0 && st.st_dev == place.st_dev &&
           st.st_ino == place.st_ino;
}

/* 1: they have one offset, as dup makes them: it moves for both. */
static int are_one(int a, int b)
{
    off_t at = sys->lseek(a, 0, SEEK_CUR);
    if (at < 0 || sys->lseek(b, 0, SEEK_CUR) != at)
        return 0;
    int one = sys->lseek(a, at + 1, SEEK_SET) == at + 1 &&
              sys->lseek(b, 0, SEEK_CUR) == at + 1;
    sys->lseek(a, at, SEEK_SET);
    return one;
}

/* m->own: where `to` is open, as and at the offset where m->fd writes; of those from
 * `first` on, one that has its offset with m->fd has it also then. */
static int prepare(const struct move *first, struct move *m, int to, const char *name,
                   struct scr_err *err)
{
    for (; first < m; first++) {
        if (!are_one(first->fd, m->fd))
            continue;
        m->own = fcntl(first->own, F_DUPFD_CLOEXEC, 0);
        return m->own >= 0 ? SCR_OK
                           : scr_fail(err, SCR_E_IO, errno, "hand over %s", name);
    }
    off_t at = sys->lseek(m->fd, 0, SEEK_CUR);
    char *link = scr_asprintf("/proc/self/fd/%d", to);
    int flags = fcntl(m->fd, F_GETFL);
    int rc;
    TRY_OUT(link ? scr_open(sys, link, flags & (O_ACCMODE | O_APPEND), 0, &m->own, err)
                 : scr_no_memory(err));
    if (sys->lseek(m->own, at, SEEK_SET) < 0)
        TRY_OUT(scr_fail(err, SCR_E_IO, errno, "hand over %s", name));
out:
    free(link);
    return rc;
}

static int exchange(const struct move *m, const char *name, struct scr_err *err)
{
    int cloexec = (fcntl(m->fd, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0;
    if (dup3(m->own, m->fd, cloexec) < 0)
        return scr_fail(err, SCR_E_IO, errno, "hand over %s", name);
    return SCR_OK;
}

/* Descriptors that write to f continue where `to` is open, at the same offset, and it
 * gets its permissions. All steps that can fail come before the first exchange. */
static int hand_over(struct scr_ip_file *f, int to, const struct stat *st,
                     struct scr_err *err)
{
    struct move *move = scr_calloc((size_t)f->nopen + 1, sizeof *move);
    int n = 0, rc = move ? SCR_OK : scr_no_memory(err);
    for (int fd = 0; rc == SCR_OK && n < f->nopen && fd < SCR_IP_MAX_FD; fd++) {
        if (!writes_to(fd, f))
            continue;
        move[n] = (struct move){ fd, -1 };
        rc = prepare(move, &move[n++], to, f->path, err);
    }
    if (rc == SCR_OK)
        rc = permit(to, st, f->path, err);
    for (int i = 0; i < n && rc == SCR_OK; i++)
        rc = exchange(&move[i], f->path, err);
    for (int i = 0; i < n; i++)
        scr_close(sys, &move[i].own, f->path, NULL);
    free(move);
    return rc;
}

/* A copy of from; descriptors that write to f write to it then. */
static int copy_over(struct scr_ip_file *f, const char *from, const char *to,
                     enum bytes bytes, struct scr_err *err)
{
    int fd;
    struct stat st;
    int rc = copy_open(from, to, bytes, &fd, &st, err);
    if (rc == SCR_OK)
        rc = hand_over(f, fd, &st, err);
    return close_copy(rc, &fd, to, err);
}

/* --- leaving the stage --- */

static int put(struct scr_ip_file *f, const char *dest, struct scr_err *err)
{
    char *tmp = scr_asprintf("%s.%ld.tmp", dest, (long)getpid());
    int rc = tmp ? scr_dir_make_parent(sys, dest, 0777, err) : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = copy_over(f, f->place, tmp, ALL_BYTES, err);
    if (rc == SCR_OK && (rc = scr_file_rename(sys, tmp, dest, err)) != SCR_OK)
        scr_file_remove(sys, tmp, NULL);
    free(tmp);
    return rc;
}

/* Gives f a place next to the stage, which is not removed: the stage ends with this
 * process. Names of an earlier process with the same id are passed over. */
static void keep(struct scr_ip_file *f)
{
    int rc = SCR_E_EXIST;
    while (rc == SCR_E_EXIST) {
        char *to = scr_asprintf("%s/../kept.%ld.%lu", scr_ip.stage, (long)getpid(),
                                scr_ip.staged++);
        char *kept = to ? scr_path_normal(to) : NULL;
        rc = kept ? scr_file_rename_new(sys, f->place, kept, NULL) : SCR_E_NOMEM;
        free(to);
        if (rc == SCR_OK) {
            free(f->place);
            f->place = kept;
        } else {
            free(kept);
        }
    }
}

void scr_ip_leave(struct scr_ip_file *f)
{
    struct scr_err err = SCR_ERR_INIT;
    if (f->where == SCR_IP_STAGED && !f->handed_in && put(f, f->path, &err) != SCR_OK) {
        keep(f);
        scr_ip_tell(0, "%s stays in %s, copy it from there: %s", f->path, f->place,
                    err.text);
        f->where = SCR_IP_PLACED; /* it is not removed then */
    }
    drop(f);
}

void scr_ip_files_fini(void)
{
    while (scr_ip.nfiles > 0)
        scr_ip_leave(scr_ip.file[scr_ip.nfiles - 1]);
    free(scr_ip.file);
    scr_ip.file = NULL;
}

/* --- opening --- */

/* This process has news for the next meeting. */
static void is_news(struct scr_ip_file *f)
{
    f->pending = 1;
    f->rounds = 0;
    f->epoch = scr_ip.epoch;
    scr_ip.news = 1;
}

/* The file is written where the program wanted it, so that its checkpoint will not be
 * whole in cache; the other processes learn that when they meet. */
static void place(struct scr_ip_file *f)
{
    untrack(f);
    drop_stage(f);
    free(f->place);
    f->place = NULL;
    f->where = SCR_IP_PLACED;
    is_news(f);
}

/* A staged file goes where the program wanted it, and descriptors with it; the others
 * learn of it when they meet. If that fails it stays staged. */
static int move_out(struct scr_ip_file *f)
{
    struct scr_err err = SCR_ERR_INIT;
    if (put(f, f->path, &err) != SCR_OK) {
        scr_ip_tell(0, "%s cannot be put into the prefix directory: %s", f->path,
                    err.text);
        return 0;
    }
    place(f);
    return 1;
}

/* Where the bytes are that an open without O_TRUNC finds; NULL: there are none. */
static const char *present(const struct scr_ip_file *f, const char *path)
{
    if (f && f->place && is_there(f->place))
        return f->place;
    return is_there(path) ? path : NULL;
}

/* f is at `at`, not in the stage: descriptors of this process that write to it there
 * are its own from now on. */
static void take_writers(struct scr_ip_file *f, const char *at)
{
    char **names = NULL;
    size_t n = 0;
    struct stat place, st;
    free(f->place);
    f->place = scr_strdup(at);
    f->where = SCR_IP_PLACED;
    f->active = scr_ip.epoch;
    if (f->place == NULL || sys->fstatat(AT_FDCWD, at, &place, 0) != 0)
        return;
    (void)scr_dir_list(sys, "/proc/self/fd", &names, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        int fd = (int)strtol(names[i], NULL, 10);
        struct scr_ip_file *none = NULL;
        if (fd < SCR_IP_MAX_FD && sys->fstat(fd, &st) == 0 &&
            st.st_dev == place.st_dev && st.st_ino == place.st_ino &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
            atomic_compare_exchange_strong(&scr_ip.fd[fd], &none, f))
            f->nopen++;
    }
    scr_names_free(names, n);
}

/* Gives f a new place in the stage: nothing is there if `from` is NULL, else a file
 * with its permissions and, if wanted, its bytes. */
static int stage(struct scr_ip_file *f, const char *from, enum bytes bytes,
                 struct scr_err *err)
{
    char *to = scr_ip.stage ? scr_ip_stage_name() : NULL;
    int rc = to ? SCR_OK : scr_no_memory(err);
    if (from && from != f->place)
        take_writers(f, from);
    if (rc == SCR_OK)
        rc = from ? copy_over(f, from, to, bytes, err) : scr_file_remove(sys, to, err);
    if (rc != SCR_OK) {
        free(to);
        return rc;
    }
    free(f->place);
    f->place = to;
    f->where = SCR_IP_STAGED;
    f->bad = 0;
    return SCR_OK;
}

/* Tells why a file is not staged. */
static void give_up_stage(struct scr_ip_file *f, const char *why)
{
    scr_ip_tell(SCR_IP_TOLD_STAGE,
                "%s is written where the program wants it, unprotected: %s", f->path,
                why);
    place(f);
}

/* Returns 1 if the program is to open f where it wanted to, after its bytes have been
 * brought there: in cache alone they would be missed. 0: *error says why not. */
static int go_without_stage(struct scr_ip_file *f, int is_old, const char *why,
                            int *error)
{
    struct scr_err err = SCR_ERR_INIT;
    if (is_old && put(f, f->path, &err) != SCR_OK) {
        *error = err.sys ? err.sys : EIO;
        return 0;
    }
    give_up_stage(f, why);
    return 1;
}

/* The error of opening path for writing, an errno, as the real call would find it in
 * the prefix directory; from: where its bytes are, NULL: a new file.
 */
static int refusal(const char *path, const char *from)
{
    char *above = from ? NULL : scr_path_dir(path);
    char *dir = above ? scr_asprintf("%s/.", above) : NULL; /* no other file */
    const char *asked = from ? from : dir;
    int mode = from ? W_OK : W_OK | X_OK, error = asked ? 0 : ENOMEM;
    if (asked && scr_ip_real()->faccessat(AT_FDCWD, asked, mode, AT_EACCESS) != 0)
        error = errno;
    free(dir);
    free(above);
    return error;
}

/* Directories, devices and pipes form no checkpoint; links lead elsewhere. */
static int is_special(const char *path, int *is_link)
{
    struct stat st;
    int there = sys->fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    *is_link = there && S_ISLNK(st.st_mode);
    return there && !S_ISREG(st.st_mode);
}

static int open_special(const char *path, int64_t number, struct scr_ip_file *f,
                        int is_link)
{
    if (is_link && f == NULL)
        f = add(scr_strdup(path), number);
    if (is_link && f)
        give_up_stage(f, "it is a symbolic link");
    return 0;
}

/* Checkpoints that were begun since the program's last collective call; too many:
 * they will not become complete. */
static int is_starved(const struct scr_ip_file *f, int64_t number, int flags)
{
    unsigned long calls = atomic_load(&scr_ip.collective);
    int again =
        f && number < 0 && f->pending && f->nopen == 0 && (flags & O_TRUNC) != 0;
    if (calls != scr_ip.begun_at)
        scr_ip.begun = 0;
    if (scr_ip.begun == 0 || number != scr_ip.begun_last || again)
        scr_ip.begun++;
    scr_ip.begun_at = calls;
    scr_ip.begun_last = number;
    return scr_ip.begun > SCR_IP_PATIENCE;
}

/* Files waiting in the stage would wait for ever, and be lost if this process is
 * killed.
 */
static int go_unprotected(struct scr_ip_file *f)
{
    scr_ip_tell(SCR_IP_TOLD_STARVED,
                "checkpoints are written without a collective call of all processes "
                "between them: until one comes they go to the prefix directory, "
                "unprotected");
    for (size_t i = 0; i < scr_ip.nfiles; i++) {
        struct scr_ip_file *old = scr_ip.file[i];
        if (old->where == SCR_IP_STAGED && old->nopen == 0 && old->place)
            move_out(old);
    }
    if (f->where == SCR_IP_STAGED && f->place)
        return 1;
    if (f->place && is_there(f->place))
        return !move_out(f);
    place(f);
    return 0;
}

/* Takes f, or a new one for path, to the stage. 1: done, or *error is set; 0: the
 * program is to open path. */
static int open_staged(const char *path, int64_t number, struct scr_ip_file *f,
                       const char *from, int flags, struct scr_ip_use *use)
{
    struct scr_err err = SCR_ERR_INIT;
    int starved = is_starved(f, number, flags), truncates = (flags & O_TRUNC) != 0;
    if (f == NULL && (f = add(scr_strdup(path), number)) == NULL)
        return 0;
    int is_new = f->where != SCR_IP_STAGED || f->place == NULL;
    int is_old = from && from == f->place && !truncates;
    if (starved && !is_old && !go_unprotected(f))
        return 0;
    if (is_new && stage(f, from, truncates ? NO_BYTES : ALL_BYTES, &err) != SCR_OK)
        return !go_without_stage(f, from && from == f->place, err.text, &use->error);
    use->file = f;
    use->is_new = is_new && !is_old;
    use->flags = flags & ~O_EXCL;
    if (!f->pending)
        is_news(f);
    if (f->nopen++ == 0)
        f->active = scr_ip.epoch;
    scr_ip.news = 1;
    use->place = scr_strdup(f->place);
    return 1;
}

static int open_for_writing(const char *path, int64_t number, int flags,
                            struct scr_ip_use *use)
{
    struct scr_ip_file *f = find(path);
    const char *from = present(f, path);
    int create = (flags & O_CREAT) != 0, is_link;
    if (scr_ip.stage == NULL || (from == NULL && !create))
        return 0;
    if ((from == NULL || from == path) && is_special(path, &is_link))
        return open_special(path, number, f, is_link);
    if (create && (flags & O_EXCL) && from)
        use->error = EEXIST;
    else
        use->error = refusal(path, from);
    return use->error != 0 || open_staged(path, number, f, from, flags, use);
}

/* A process that reads what another wrote in this run finds what has been flushed. */
static void tell_of_others(const char *path)
{
    if (scr_ip.datasets > 0)
        scr_ip_tell(SCR_IP_TOLD_OTHERS,
                    "%s is read from the prefix directory, as this process did not "
                    "write it: what has not been flushed is not there",
                    path);
}

static int open_for_reading(const char *path, int flags, struct scr_ip_use *use)
{
    struct scr_ip_file *f = find(path);
    if (f && f->place && is_there(f->place)) {
        use->place = scr_strdup(f->place);
        use->flags = flags;
    } else if (f == NULL) {
        tell_of_others(path);
    }
    return use->place != NULL;
}

int scr_ip_open(const char *path, int flags, struct scr_ip_use *use)
{
    int64_t number = SCR_IP_NO_NUMBER;
    int reads = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
    *use = (struct scr_ip_use){ 0 };
    if (!scr_ip_is_candidate(path))
        return 0;
    lock();
    char *full = checkpoint_path(path, &number);
    int ours = full == NULL ? 0
               : reads      ? open_for_reading(full, flags, use)
                            : open_for_writing(full, number, flags, use);
    free(full);
    unlock();
    return ours;
}

/* One descriptor less. */
static void close_one(struct scr_ip_file *f)
{
    f->nopen--;
    f->rounds += f->epoch != scr_ip.epoch;
    f->epoch = scr_ip.epoch;
    scr_ip.news = 1;
    if (f->dropped && f->nopen == 0)
        file_free(f);
}

int scr_ip_opened(struct scr_ip_use *use, int fd)
{
    struct scr_ip_file *f = use->file;
    int refused = f && (fd < 0 || fd >= SCR_IP_MAX_FD);
    int cause = fd < 0 ? errno : EMFILE;
    free(use->place);
    if (f == NULL)
        return 0;
    lock();
    struct scr_ip_file *gone = refused ? f : atomic_exchange(&scr_ip.fd[fd], f);
    if (refused && use->is_new && f->nopen == 1 && !f->dropped)
        give_up_stage(f, strerror(cause));
    else if (refused)
        use->error = cause;
    if (gone)
        close_one(gone); /* also if something closed fd that is not wrapped */
    unlock();
    return refused;
}

/* The file that fd writes to. Not asked in a child of vfork, which has our memory but
 * its own descriptors, and in a signal handler that has come in the middle of our
 * work. */
static struct scr_ip_file *tracked(int fd)
{
    if (atomic_load(&scr_ip.state) != SCR_IP_ON || fd < 0 || fd >= SCR_IP_MAX_FD)
        return NULL;
    struct scr_ip_file *f = atomic_load(&scr_ip.fd[fd]);
    return f && !scr_ip_inside && getpid() == scr_ip.pid ? f : NULL;
}

struct scr_ip_file *scr_ip_closing(int fd)
{
    return tracked(fd) ? atomic_exchange(&scr_ip.fd[fd], NULL) : NULL;
}

void scr_ip_closed(struct scr_ip_file *f, int failed)
{
    lock();
    f->bad |= failed;
    close_one(f);
    unlock();
}

void scr_ip_duplicated(int from, int to)
{
    if (from == to || to < 0 || to >= SCR_IP_MAX_FD || (!tracked(from) && !tracked(to)))
        return;
    lock();
    struct scr_ip_file *f = from >= 0 && from < SCR_IP_MAX_FD ? scr_ip.fd[from] : NULL;
    if (f)
        f->nopen++;
    struct scr_ip_file *gone = atomic_exchange(&scr_ip.fd[to], f);
    if (gone)
        close_one(gone);
    unlock();
}

/* --- the rest --- */

void scr_ip_expose(const char *path)
{
    int64_t number;
    struct scr_err err = SCR_ERR_INIT;
    if (!scr_ip_is_candidate(path))
        return;
    lock();
    char *full = checkpoint_path(path, &number);
    struct scr_ip_file *f = full ? find(full) : NULL;
    if (f && f->where == SCR_IP_STAGED && f->place)
        move_out(f);
    else if (f && f->place && is_there(f->place) && put(f, f->path, &err) == SCR_OK)
        drop(f); /* what MPI makes of it is not in cache */
    if (err.code != SCR_OK)
        scr_ip_tell(0, "%s", err.text);
    free(full);
    unlock();
}

int scr_ip_forms_checkpoint(const char *path)
{
    int64_t number;
    if (!scr_ip_is_candidate(path))
        return 0;
    scr_ip_inside++;
    char *full = checkpoint_path(path, &number);
    scr_ip_inside--;
    free(full);
    return full != NULL;
}

char *scr_ip_below(int dir, const char *path)
{
    char *link = scr_asprintf("/proc/self/fd/%d", dir), *at = NULL;
    scr_ip_inside++;
    char *full = link && scr_realpath(link, &at, NULL) == SCR_OK
                     ? scr_path_join(at, path)
                     : NULL;
    scr_ip_inside--;
    free(at);
    free(link);
    return full;
}

char *scr_ip_look(const char *path)
{
    int64_t number;
    char *place_of = NULL;
    if (!scr_ip_is_candidate(path))
        return NULL;
    lock();
    char *full = checkpoint_path(path, &number);
    struct scr_ip_file *f = full ? find(full) : NULL;
    if (f && f->place && is_there(f->place))
        place_of = scr_strdup(f->place);
    free(full);
    unlock();
    return place_of;
}

/* A file that was staged or is in cache gets a name that forms a checkpoint too. */
static int rename_to(struct scr_ip_file *f, char *to, int64_t number,
                     struct scr_err *err)
{
    struct scr_ip_file *other = find(to);
    int rc = f->where == SCR_IP_CACHED && other != f
                 ? stage(f, f->place, ALL_BYTES, err)
                 : SCR_OK;
    if (rc != SCR_OK || other == f) {
        free(to);
        return rc;
    }
    if (other)
        drop(other);
    scr_file_remove(sys, f->path, NULL); /* what was flushed under the old name */
    free(f->path);
    f->path = to;
    f->number = number;
    is_news(f);
    return SCR_OK;
}

/* … or one that does not. */
static int rename_away(struct scr_ip_file *f, const char *to, struct scr_err *err)
{
    TRY(put(f, to, err));
    scr_file_remove(sys, f->path, NULL);
    drop(f);
    return SCR_OK;
}

/* The old name is one in the prefix directory, and not staged. A file gets a copy in
 * the stage; anything else stays where it is; what had the new name goes. */
static int rename_placed(const char *from, char *to, int64_t number,
                         struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_file_rename(sys, from, to, err);
    if (rc != SCR_OK) {
        free(to);
        return rc;
    }
    struct scr_ip_file *f = find(to);
    if (f)
        drop(f);
    int is_link, is_odd = is_special(to, &is_link);
    f = is_odd ? NULL : add(to, number);
    if (is_odd)
        free(to);
    if (f == NULL)
        return SCR_OK;
    scr_ip_tell(
        SCR_IP_TOLD_RENAMED,
        "%s becomes %s and is copied to the cache: a pattern for its first name "
        "in SCR_INTERPOSE_PATTERN would have it written there",
        from, f->path);
    if (stage(f, f->path, ALL_BYTES, &why) == SCR_OK)
        is_news(f);
    else
        give_up_stage(f, why.text);
    return SCR_OK;
}

/* The error of giving a file that is staged or in cache this name, an errno, as the
 * real call would find it in the prefix directory. */
static int rename_refusal(const char *to)
{
    struct stat st;
    int error = refusal(to, NULL);
    int is_dir = error == 0 &&
                 sys->fstatat(AT_FDCWD, to, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(st.st_mode);
    return is_dir ? EISDIR : error;
}

static int rename_any(struct scr_ip_file *f, const char *from, const char *to,
                      char *full, int64_t number, struct scr_err *err)
{
    if (f && f->where == SCR_IP_PLACED) {
        drop(f);
        f = NULL;
    }
    if (f == NULL)
        return rename_placed(from, full, number, err);
    int error = full && strcmp(full, f->path) == 0 ? 0 : rename_refusal(to);
    if (error != 0) {
        free(full);
        return scr_fail(err, SCR_E_IO, error, "rename %s to %s", from, to);
    }
    return full ? rename_to(f, full, number, err) : rename_away(f, to, err);
}

int scr_ip_rename(const char *from, const char *to, int *rc)
{
    struct scr_err err = SCR_ERR_INIT;
    struct stat st;
    int64_t number = SCR_IP_NO_NUMBER;
    const int nofollow = AT_SYMLINK_NOFOLLOW;
    if (!scr_ip_is_candidate(from) && !scr_ip_is_candidate(to))
        return 0;
    lock();
    char *old = checkpoint_path(from, &number);
    char *full = checkpoint_path(to, &number);
    struct scr_ip_file *f = old ? find(old) : NULL;
    int have = f && f->place && is_there(f->place);
    int moves = full && (old == NULL || strcmp(old, full) != 0);
    int ours = have || (moves && sys->fstatat(AT_FDCWD, from, &st, nofollow) == 0 &&
                        !S_ISDIR(st.st_mode));
    if (ours)
        *rc = rename_any(f, from, to, full, number, &err);
    else
        free(full);
    free(old);
    unlock();
    if (ours && *rc != SCR_OK) {
        errno = err.sys ? err.sys : EIO;
        *rc = -1;
    }
    return ours;
}

int scr_ip_unlink(const char *path, int *rc)
{
    int64_t number;
    if (!scr_ip_is_candidate(path))
        return 0;
    lock();
    char *full = checkpoint_path(path, &number);
    struct scr_ip_file *f = full ? find(full) : NULL;
    int ours = f && f->place && is_there(f->place);
    if (ours)
        *rc = scr_file_remove(sys, full, NULL) == SCR_OK ? 0 : -1;
    if (f)
        drop(f);
    free(full);
    unlock();
    return ours;
}
