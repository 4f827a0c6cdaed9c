/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper_stored.h"

#include <dirent.h>

#include "base/hashfile.h"
#include "base/str.h"
#include "ec/ec.h"
#include "red/member.h"

/* --- kept, and put back --- */

static const char *copy_from, *copy_to; /* nftw has no argument */
static int copy_failed;

static void copy_file(const char *from, const char *to)
{
    char buf[4096];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    int ok = in != NULL && out != NULL;
    while (ok && (n = fread(buf, 1, sizeof buf, in)) > 0)
        ok = fwrite(buf, 1, n, out) == n;
    if (in != NULL)
        fclose(in);
    if (out != NULL)
        ok = fclose(out) == 0 && ok;
    copy_failed += !ok;
}

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    char *to = scr_asprintf("%s%s", copy_to, path + strlen(copy_from));
    if (type == FTW_D)
        copy_failed += mkdir(to, 0700) != 0;
    else
        copy_file(path, to);
    copy_failed += chmod(to, st->st_mode & 0777) != 0;
    free(to);
    return 0;
}

static void copy_tree(struct job *job, const char *from, const char *to)
{
    struct mpi_test *t = job->t;
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        mpi_test_remove(to);
        copy_from = from;
        copy_to = to;
        copy_failed = 0;
        CHECK(nftw(from, copy_one, 16, FTW_PHYS) == 0 && copy_failed == 0);
    }
    mpi_test_barrier(job->comm);
}

/* The prefix directory is what it was, and no copy. */
static void keep_identity(struct job *job)
{
    struct mpi_test *t = job->t;
    struct stat st;
    if (job->rank == 0) {
        scr_hash *h = scr_hash_new();
        char *scr = scr_asprintf("%s/.scr", job->prefix);
        char *file = scr_asprintf("%s/identity.scr", scr);
        if (scr_hash_file_read(&scr_sys_posix, file, h, NULL) == SCR_OK) {
            CHECK_INT(stat(scr, &st), 0);
            scr_hash_set_val_u64(h, "INODE", st.st_ino);
            CHECK_INT(scr_hash_file_write(&scr_sys_posix, file, h, SCR_VOLATILE, NULL),
                      SCR_OK);
        }
        free(file);
        free(scr);
        scr_hash_delete(h);
    }
    mpi_test_barrier(job->comm);
}

/* Prefix and cache, there or back. */
static void copy_all(struct job *job, int back)
{
    const char *dirs[] = { job->prefix, job->cache };
    for (int i = 0; i < 2; i++) {
        char *saved = scr_asprintf("%s.saved", dirs[i]);
        copy_tree(job, back ? saved : dirs[i], back ? dirs[i] : saved);
        free(saved);
    }
}

void job_save(struct job *job)
{
    copy_all(job, 0);
}

void job_go_back(struct job *job)
{
    copy_all(job, 1);
    keep_identity(job);
}

void job_set_prefix(struct job *job, const char *from)
{
    copy_tree(job, from, job->prefix);
    keep_identity(job);
}

static void note_file(scr_hash *files, const char *path, const char *below)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    uint64_t size = 0;
    uint32_t crc = 0;
    char text[16];
    if (scr_file_crc32(&env, path, 0, &size, &crc, NULL) != SCR_OK)
        return;
    snprintf(text, sizeof text, "%08x", crc);
    scr_hash_set_kv(files, below, text);
}

scr_hash *job_cached(const struct job *job, int id)
{
    scr_hash *files = NULL;
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        int n = 0;
        char *dir = scr_asprintf("/scr.dataset.%d/", id);
        char **paths = job_find(job->cache, dir, &n);
        files = scr_hash_new();
        for (int i = 0; i < n; i++)
            note_file(files, paths[i], strstr(paths[i], dir) + strlen(dir));
        job_find_free(paths, n);
        free(dir);
    }
    mpi_test_barrier(job->comm);
    return files;
}

int job_has_kept(const struct job *job, const scr_hash *want, const scr_hash *before,
                 const scr_hash *now)
{
    int all = 1;
    for (SCR_HASH_EACH(e, want)) {
        const char *path = scr_hash_elem_key(e), *crc = scr_hash_get_val(want, path);
        if ((before != NULL && scr_hash_get_kv(before, path, crc) == NULL) ||
            scr_hash_get_kv(now, path, crc) != NULL)
            continue;
        fprintf(stderr, "%s with crc32 %s is not in cache, but with", path, crc);
        for (SCR_HASH_EACH(other, scr_hash_get(now, path)))
            fprintf(stderr, " %s", scr_hash_elem_key(other));
        fprintf(stderr, "\n");
        all = 0;
    }
    MPI_Bcast(&all, 1, MPI_INT, 0, job->comm);
    return all;
}

/* --- files on disk --- */

void job_flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    if (f == NULL)
        return;
    fseek(f, at, SEEK_SET);
    int c = getc(f);
    fseek(f, at, SEEK_SET);
    putc(c ^ 0x10, f);
    fclose(f);
}

void job_set_version(struct job *job, const char *path, int version)
{
    struct mpi_test *t = job->t;
    enum { VERSION_BYTE = 7, CRC_BYTES = 4, MOST = 1 << 16 };
    static unsigned char bytes[MOST];
    mpi_test_barrier(job->comm);
    if (job->rank == 0) {
        FILE *f = fopen(path, "r+b");
        size_t n = f != NULL ? fread(bytes, 1, MOST, f) : 0;
        int fits = n > VERSION_BYTE + CRC_BYTES && n < MOST;
        CHECK(fits);
        bytes[VERSION_BYTE] = (unsigned char)version;
        uint32_t crc = fits ? scr_crc32(0, bytes, n - CRC_BYTES) : 0;
        for (size_t i = fits ? n - CRC_BYTES : n; i < n; i++, crc <<= 8)
            bytes[i] = (unsigned char)(crc >> 24);
        CHECK(f != NULL && fseek(f, 0, SEEK_SET) == 0 && fwrite(bytes, 1, n, f) == n);
        CHECK(f != NULL && fclose(f) == 0);
    }
    mpi_test_barrier(job->comm);
}

struct found {
    char **paths;
    int n;
};

static void find_in(const char *dir, const char *part, struct found *found)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        char path[1200];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%.900s/%.255s", dir, e->d_name);
        if (lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            find_in(path, part, found);
        } else if (strstr(path, part)) {
            found->paths =
                realloc(found->paths, (size_t)(found->n + 1) * sizeof(char *));
            found->paths[found->n++] = strdup(path);
        }
    }
    if (d)
        closedir(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **job_find(const char *dir, const char *part, int *n)
{
    struct found found = { NULL, 0 };
    find_in(dir, part, &found);
    if (found.n > 0)
        qsort(found.paths, (size_t)found.n, sizeof *found.paths, by_name);
    *n = found.n;
    return found.paths;
}

void job_find_free(char **paths, int n)
{
    for (int i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
}

int job_count(struct job *job, const char *dir, const char *part)
{
    int n = 0;
    mpi_test_barrier(job->comm);
    char **paths = job_find(dir, part, &n);
    job_find_free(paths, n);
    mpi_test_barrier(job->comm);
    return n;
}
