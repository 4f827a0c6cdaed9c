/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of SCR and makes random calls of the C library, each
 * rank on separate files. What they return and the bytes that are read go to
 * LOG.<rank>. It does nothing that libscr_interpose cannot do: doc/design/interpose.md.
 *
 *   random_calls SEED STEPS LOG [open]       under mpirun
 *   random_calls SEED STEPS LOG RANK [open]  without MPI, what this rank does
 *
 * `open` leaves files open in MPI_Finalize. random_calls.py compares. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 6, NAME = 300, SIZE = 20000 };

struct file {
    int fd; /* -1: none */
    FILE *f;
    char name[NAME]; /* its full path, "" if that was removed */
};

static struct {
    struct file file[FILES];
    FILE *log;
    uint64_t mine, common; /* random numbers of this rank, of all */
    int rank, step, lines, dir, below;
    char top[NAME], sub[NAME]; /* directories; `below`: sub is the working one */
    char buf[SIZE];
} g;

static unsigned draw(uint64_t *s, unsigned n)
{
    *s = *s * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*s >> 33) % n;
}

static unsigned any(unsigned n)
{
    return draw(&g.mine, n);
}

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(g.log, "%d step %d: ", g.lines++, g.step);
    vfprintf(g.log, fmt, ap);
    fputc('\n', g.log);
    va_end(ap);
}

/* A call and what came of it. */
static void result(const char *call, const char *name, int good)
{
    int cause = good ? 0 : errno;
    size_t n = strlen(g.top);
    name = strncmp(name, g.top, n) == 0 ? name + n : name;
    note("%s %s: %s", call, name, strerror(cause));
}

/* --- names --- */

static const char *last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void join(char *path, const char *dir, const char *name)
{
    snprintf(path, NAME, "%.180s/%.100s", dir, name);
}

/* Of this step or one before, of no step, or of no checkpoint. */
static void pick_last(char *n)
{
    int step = g.step - (any(4) == 0 ? (int)any(4) : 0);
    unsigned kind = any(8);
    step = step < 0 ? 0 : step;
    if (kind == 0)
        snprintf(n, NAME, "x.%d.%u", g.rank, any(3));
    else if (kind == 1)
        snprintf(n, NAME, "run.%d.%u", g.rank, any(2));
    else if (kind == 2)
        snprintf(n, NAME, "t.%d.%d", g.rank, step);
    else
        snprintf(n, NAME, "ck.%d.%d.%u", step, g.rank, any(3));
}

/* A relative or full path, and the full one. */
static void pick(char *n, char *full)
{
    char name[NAME];
    pick_last(name);
    join(full, g.below ? g.sub : g.top, name);
    switch (any(6)) {
    case 0:
        join(full, any(2) ? g.sub : g.top, name);
        memcpy(n, full, NAME);
        break;
    case 1:
        join(full, g.sub, name);
        snprintf(n, NAME, "%s%.20s/%.100s", g.below ? "../" : "", last(g.sub), name);
        break;
    case 2:
        join(n, any(6) ? "." : "missing", name);
        break;
    default:
        memcpy(n, name, NAME);
    }
}

/* The files open under a name get another one. */
static void renamed(const char *from, const char *to)
{
    for (int i = 0; i < FILES; i++)
        if (g.file[i].fd >= 0 && strcmp(g.file[i].name, from) == 0)
            snprintf(g.file[i].name, NAME, "%s", to);
}

/* One that is open, or is not; NULL: there is none. */
static struct file *pick_file(int open)
{
    unsigned from = any(FILES);
    for (unsigned i = 0; i < FILES; i++) {
        struct file *f = &g.file[(from + i) % FILES];
        if ((f->fd >= 0) == open)
            return f;
    }
    return NULL;
}

/* --- what is seen --- */

static size_t fill(void)
{
    size_t n = any(any(8) == 0 ? SIZE : 60);
    for (size_t i = 0; i < n; i++)
        g.buf[i] = (char)('a' + any(26));
    return n;
}

static void bytes(const char *how, ssize_t n)
{
    unsigned sum = 5381;
    for (ssize_t i = 0; i < n; i++)
        sum = sum * 33 + (unsigned char)g.buf[i];
    note("%s %zd bytes %u", how, n, sum);
}

static void see_open(const struct file *f)
{
    struct stat st;
    int good = fstat(f->fd, &st) == 0;
    result("fstat", f->name, good);
    if (good)
        note("%lld bytes %o at %lld", (long long)st.st_size, st.st_mode,
             (long long)lseek(f->fd, 0, SEEK_CUR));
}

static void see(const char *name)
{
    struct stat st;
    int good = stat(name, &st) == 0, fd = open(name, O_RDONLY);
    result("stat", name, good);
    if (good)
        note("%lld bytes %o", (long long)st.st_size, st.st_mode);
    result("open to read", name, fd >= 0);
    if (fd < 0)
        return;
    bytes("read", read(fd, g.buf, SIZE));
    close(fd);
}

/* --- calls on open files --- */

static void call_open(void)
{
    struct file *f = pick_file(0);
    char n[NAME], full[NAME];
    if (f == NULL)
        return;
    pick(n, full);
    unsigned how = any(6);
    int flags = any(2) ? O_WRONLY : O_RDWR;
    mode_t mode = any(3) ? 0644 : 0600;
    flags |= any(3) ? O_CREAT : 0;
    flags |= any(3) ? 0 : O_TRUNC;
    flags |= any(4) ? 0 : O_APPEND;
    flags |= any(6) || !(flags & O_CREAT) ? 0 : O_EXCL;
    if (how == 1)
        join(full, g.sub, last(n));
    f->fd = how == 0   ? creat(n, mode)
            : how == 1 ? openat(g.dir, last(n), flags, mode)
            : how == 2 ? openat(AT_FDCWD, n, flags, mode)
                       : open(n, flags, mode);
    result("open", n, f->fd >= 0);
    if (f->fd >= 0) {
        memcpy(f->name, full, NAME);
        see_open(f);
    }
}

static void call_fopen(void)
{
    static const char *const modes[] = { "w", "w+", "a", "a+", "r+", "wx", "we" };
    char n[NAME], full[NAME];
    pick(n, full);
    const char *mode = modes[any(7)];
    struct file *f = pick_file(any(6) == 0); /* reopened, if it is open */
    if (f == NULL || (f->fd >= 0 && f->f == NULL))
        return;
    f->f = f->fd >= 0 ? freopen(n, mode, f->f) : fopen(n, mode);
    f->fd = f->f ? fileno(f->f) : -1;
    result(mode, n, f->f != NULL);
    if (f->f) {
        memcpy(f->name, full, NAME);
        see_open(f);
    }
}

static void write_stream(struct file *f, size_t n)
{
    unsigned whence = any(3);
    fseek(f->f, whence == SEEK_CUR ? 0 : (long)any(200), (int)whence);
    size_t rc = any(2) ? fwrite(g.buf, 1, n, f->f)
                       : (size_t)fprintf(f->f, "%.*s", (int)n, g.buf);
    note("%zu of %zu bytes, at %ld", rc, n, ftell(f->f));
    if (any(3) == 0)
        result("fflush", f->name, fflush(f->f) == 0);
}

static void call_write(void)
{
    struct file *f = pick_file(1);
    size_t n = fill();
    if (f && f->f) {
        write_stream(f, n);
    } else if (f) {
        ssize_t rc = any(5) == 0 ? pwrite(f->fd, g.buf, n, (off_t)any(5000))
                                 : write(f->fd, g.buf, n);
        result("write", f->name, rc == (ssize_t)n);
        see_open(f);
    }
}

static void call_change(void)
{
    struct file *f = pick_file(1);
    off_t n = (off_t)any(4000);
    if (f == NULL)
        return;
    if (f->f)
        fflush(f->f);
    unsigned how = any(4);
    int rc = how == 0   ? ftruncate(f->fd, n)
             : how == 1 ? fallocate(f->fd, 0, (off_t)any(100), n + 1)
             : how == 2 ? -(lseek(f->fd, n, SEEK_SET) < 0)
                        : fchmod(f->fd, any(2) ? 0640 : 0644);
    result("change", f->name, rc == 0);
    see_open(f);
}

static void call_read(void)
{
    struct file *f = pick_file(1);
    char n[NAME], full[NAME];
    pick(n, full);
    if (f == NULL || any(2))
        see(n);
    else if (f->f == NULL)
        bytes("pread", pread(f->fd, g.buf, 3000, (off_t)any(50)));
    else if (fseek(f->f, (long)any(50), SEEK_SET) == 0)
        bytes("fread", (ssize_t)fread(g.buf, 1, 3000, f->f));
}

static void call_dup(void)
{
    struct file *f = pick_file(1), *second = pick_file(0), *over = pick_file(1);
    if (f == NULL || f->f)
        return;
    if (any(3) == 0 && over != f && over->f == NULL) {
        result("dup2", f->name, dup2(f->fd, over->fd) == over->fd);
        memcpy(over->name, f->name, NAME);
    } else if (second) {
        *second = *f;
        second->fd = any(2) ? dup(f->fd) : fcntl(f->fd, F_DUPFD_CLOEXEC, 50);
        result("dup", f->name, second->fd >= 0);
    }
}

static void shut(struct file *f)
{
    result("close", f->name, (f->f ? fclose(f->f) : close(f->fd)) == 0);
    f->fd = -1;
    f->f = NULL;
}

static void call_close(void)
{
    struct file *f = pick_file(1);
    if (f)
        shut(f);
}

/* --- calls on names --- */

static void call_ask(void)
{
    char n[NAME], full[NAME];
    struct stat st;
    pick(n, full);
    unsigned how = any(9);
    int rc = how == 0   ? access(n, R_OK | W_OK)
             : how == 1 ? lstat(n, &st)
             : how == 2 ? eaccess(n, R_OK)
             : how == 3 ? faccessat(AT_FDCWD, n, W_OK, 0)
             : how == 4 ? chmod(n, any(2) ? 0600 : 0640)
             : how == 5 ? fchmodat(AT_FDCWD, n, 0644, 0)
             : how == 6 ? utimensat(AT_FDCWD, n, NULL, 0)
             : how == 7 ? chown(n, getuid(), getgid())
                        : truncate(n, (off_t)any(3000));
    result("ask", n, rc == 0);
}

static void call_rename(void)
{
    char from[NAME], to[NAME], full_from[NAME], full_to[NAME];
    const struct file *f = pick_file(1);
    pick(from, full_from);
    pick(to, full_to);
    if (f && f->name[0] == '/' && any(4) == 0) {
        memcpy(from, f->name, NAME);
        memcpy(full_from, f->name, NAME);
    }
    unsigned how = any(4);
    int rc = how == 0   ? renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)
             : how == 1 ? renameat(AT_FDCWD, from, AT_FDCWD, to)
                        : rename(from, to);
    result("rename", from, rc == 0);
    see(to);
    if (rc == 0 && strcmp(full_from, full_to) != 0) {
        renamed(full_to, "");
        renamed(full_from, full_to);
    }
}

static void call_remove(void)
{
    char n[NAME], full[NAME];
    pick(n, full);
    unsigned how = any(3);
    int rc = how == 0 ? unlink(n) : how == 1 ? remove(n) : unlinkat(AT_FDCWD, n, 0);
    result("remove", n, rc == 0);
    if (rc == 0)
        renamed(full, "");
}

static void call_chdir(void)
{
    g.below = !g.below;
    result("chdir", "", chdir(g.below ? g.sub : g.top) == 0);
}

/* --- main --- */

static void (*const calls[])(void) = {
    call_open,   call_open,   call_open,   call_open,   call_fopen, call_fopen,
    call_fopen,  call_write,  call_write,  call_write,  call_write, call_write,
    call_change, call_read,   call_read,   call_dup,    call_close, call_close,
    call_close,  call_close,  call_ask,    call_ask,    call_ask,   call_ask,
    call_rename, call_rename, call_remove, call_remove, call_chdir,
};

static void collective(int has_mpi)
{
    int v = g.rank, sum;
    unsigned how = draw(&g.common, 2);
    if (has_mpi && how == 0)
        MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (has_mpi)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void one_step(int has_mpi)
{
    for (unsigned left = 1 + draw(&g.common, 4); left > 0; left--) {
        for (unsigned n = any(14); n > 0; n--)
            calls[any(sizeof calls / sizeof *calls)]();
        for (int i = 0; any(3) == 0 && i < FILES; i++)
            if (g.file[i].fd >= 0)
                shut(&g.file[i]);
        for (unsigned n = draw(&g.common, 4); n > 0; n--)
            collective(has_mpi);
    }
}

static void begin(uint64_t seed, const char *log)
{
    char name[NAME];
    if (getcwd(g.top, NAME) == NULL)
        exit(1);
    snprintf(name, NAME, "sub%d", g.rank);
    join(g.sub, g.top, name);
    mkdir(g.sub, 0755);
    g.dir = open(g.sub, O_RDONLY | O_DIRECTORY);
    snprintf(name, NAME, "%.250s.%d", log, g.rank);
    g.log = fopen(name, "we");
    if (g.dir < 0 || g.log == NULL)
        exit(1);
    g.common = seed * 7919 + 1;
    g.mine = seed * 104729 + (uint64_t)g.rank * 31 + 5;
    for (int i = 0; i < FILES; i++)
        g.file[i].fd = -1;
}

int main(int argc, char **argv)
{
    int leaves_open = argc > 4 && strcmp(argv[argc - 1], "open") == 0;
    int has_mpi = argc - leaves_open == 4;
    umask(022);
    if (argc < 4)
        return 2;
    if (has_mpi) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    } else {
        g.rank = (int)strtol(argv[4], NULL, 10);
    }
    begin(strtoull(argv[1], NULL, 10), argv[3]);
    for (g.step = 0; g.step < strtol(argv[2], NULL, 10); g.step++)
        one_step(has_mpi);
    for (int i = 0; i < FILES && !leaves_open; i++)
        if (g.file[i].fd >= 0)
            shut(&g.file[i]);
    if (has_mpi)
        MPI_Finalize();
    call_write();
    for (int i = 0; i < FILES; i++)
        if (g.file[i].fd >= 0)
            shut(&g.file[i]);
    return fclose(g.log) != 0;
}
