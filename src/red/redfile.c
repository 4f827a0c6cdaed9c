/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and headers of redundancy files: made, read back, and doubted. */
#include "red/redfile.h"

#include "base/attr.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/meta.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const enum scr_scheme schemes[] = { SCR_SCHEME_SINGLE, SCR_SCHEME_PARTNER,
                                           SCR_SCHEME_XOR, SCR_SCHEME_RS };
enum { NSCHEMES = sizeof schemes / sizeof schemes[0] };

static const char *suffix_of(enum scr_scheme s)
{
    return s == SCR_SCHEME_SINGLE ? "single" : scr_scheme_suffix(s);
}

char *scr_redfile_name(enum scr_scheme s, int member, int n, int set_id)
{
    return scr_asprintf("%d_of_%d_in_%d.%s", member + 1, n, set_id, suffix_of(s));
}

/* A number as it is printed: no sign, no leading zero, at most nine digits. */
static int take_number(const char **p, int *out)
{
    size_t digits = strspn(*p, "0123456789");
    if (digits < 1 || digits > 9 || (**p == '0' && digits > 1))
        return 0;
    *out = 0;
    for (; digits > 0; digits--, (*p)++)
        *out = *out * 10 + (**p - '0');
    return 1;
}

static int take_word(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return 0;
    *p += n;
    return 1;
}

int scr_redfile_parse(const char *name, enum scr_scheme *s, int *member, int *n,
                      int *set_id)
{
    int m;
    if (!take_number(&name, &m) || !take_word(&name, "_of_") ||
        !take_number(&name, n) || !take_word(&name, "_in_") ||
        !take_number(&name, set_id) || !take_word(&name, "."))
        return 0;
    if (m < 1 || m > *n || *n > SCR_EC_MAX)
        return 0;
    *member = m - 1;
    for (int i = 0; i < NSCHEMES; i++) {
        if (strcmp(name, suffix_of(schemes[i])) == 0) {
            *s = schemes[i];
            return 1;
        }
    }
    return 0;
}

const char *scr_redfile_partner_key(int j, char *buf, size_t n)
{
    if (j == 1)
        snprintf(buf, n, "PARTNER");
    else
        snprintf(buf, n, "PARTNER%d", j);
    return buf;
}

int scr_redfile_copies(int n, int k)
{
    int copies = k > 1 ? k : 1;
    return copies < n - 1 ? copies : n - 1;
}

/* --- making headers --- */

static scr_hash *finish(scr_hash *h, int ok)
{
    if (ok && scr_hash_ok(h))
        return h;
    scr_hash_delete(h);
    return NULL;
}

/* h[key] = a copy of src; 0 when out of memory. */
static int set_copy(scr_hash *h, const char *key, const scr_hash *src)
{
    scr_hash *copy = scr_hash_dup(src);
    return copy != NULL && scr_hash_set(h, key, copy) != NULL;
}

static int set_metas(scr_hash *h, size_t nfiles, scr_hash *const *metas)
{
    scr_hash *list = scr_hash_set(h, "FILE", NULL);
    for (size_t i = 0; i < nfiles; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        if (!set_copy(list, key, metas[i]) ||
            scr_hash_set_val_crc(scr_hash_get(list, key), "CRC", 0) == NULL)
            return 0;
    }
    return 1;
}

scr_hash *scr_redfile_current(int world_rank, size_t nfiles, scr_hash *const *metas,
                              const scr_hash *desc, const scr_hash *dset)
{
    scr_hash *h = scr_hash_new();
    if (h == NULL)
        return NULL;
    scr_hash_set_val_i64(h, "RANK", world_rank);
    scr_hash_set_val_u64(h, "FILES", nfiles);
    int ok = set_metas(h, nfiles, metas) && scr_hash_set_val_crc(h, "CHUNKCRC", 0) &&
             (desc == NULL || set_copy(h, "DESC", desc)) &&
             (dset == NULL || set_copy(h, "DSETDESC", dset));
    return finish(h, ok);
}

int scr_redfile_set_crcs(scr_hash *current, size_t nfiles,
                         const struct scr_member_file *files, uint32_t chunk_crc)
{
    for (size_t i = 0; i < nfiles; i++) {
        scr_hash *meta = scr_hash_getf(current, "FILE %zu", i);
        if (meta == NULL)
            return SCR_E_ARG;
        if (scr_hash_set_val_crc(meta, "CRC", files[i].crc) == NULL)
            return SCR_E_NOMEM;
    }
    return scr_hash_set_val_crc(current, "CHUNKCRC", chunk_crc) ? SCR_OK : SCR_E_NOMEM;
}

scr_hash *scr_redfile_header(const struct scr_geom *g, int member, int dset_id,
                             int world_size, const int *world_ranks,
                             const scr_hash *current, scr_hash *const *partners,
                             int npartners)
{
    scr_hash *h = scr_hash_new();
    if (h == NULL)
        return NULL;
    scr_hash_set_val_i64(h, "DSET", dset_id);
    scr_hash_set_val_i64(h, "RANKS", world_size);
    scr_hash_set_val(h, "TYPE", scr_scheme_name(g->scheme));
    scr_hash_set_val_i64(h, "FAILURES", g->k);
    scr_hash *group = scr_hash_set(h, "GROUP", NULL);
    scr_hash_set_val_i64(group, "RANKS", g->n);
    for (int i = 0; i < g->n; i++)
        scr_hash_setf(group, NULL, "RANK %d %d", i, world_ranks[i]);
    scr_hash_set_val_i64(h, "MEMBER", member);
    scr_hash_set_val_u64(h, "CHUNK", g->chunk);
    int ok = set_copy(h, "CURRENT", current);
    for (int j = 1; ok && j <= npartners; j++) {
        char key[24];
        ok = set_copy(h, scr_redfile_partner_key(j, key, sizeof key), partners[j - 1]);
    }
    return finish(h, ok);
}

/* --- doubting headers --- */

static int bad(struct scr_err *err, const char *what)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "redundancy header: %s", what);
}

static int get_numbers(const scr_hash *h, struct scr_redinfo *o, struct scr_err *err)
{
    const char *type = scr_hash_get_val(h, "TYPE");
    if (!scr_hash_get_val_int(h, "DSET", &o->dset_id) || o->dset_id < 0)
        return bad(err, "no dataset id");
    if (!scr_hash_get_val_int(h, "RANKS", &o->world_size) || o->world_size < 1)
        return bad(err, "no number of ranks");
    if (type == NULL || !scr_scheme_parse(type, &o->scheme))
        return bad(err, "no known scheme");
    if (!scr_hash_get_val_int(scr_hash_get(h, "GROUP"), "RANKS", &o->n) || o->n < 1 ||
        o->n > SCR_EC_MAX)
        return bad(err, "no size of the set, or not 1 to 255");
    if (!scr_hash_get_val_int(h, "FAILURES", &o->k))
        return bad(err, "no number of failures");
    if (!scr_hash_get_val_int(h, "MEMBER", &o->member) || o->member < 0 ||
        o->member >= o->n)
        return bad(err, "no member number, or outside the set");
    if (!scr_hash_get_val_u64(h, "CHUNK", &o->chunk) || o->chunk > INT64_MAX)
        return bad(err, "no chunk size");
    enum scr_scheme scheme = o->scheme;
    int k = o->k;
    scr_geom_weaken(&scheme, &k, o->n);
    if (scheme != o->scheme || k != o->k)
        return bad(err, "the set is too small for its scheme and failures");
    return SCR_OK;
}

static int get_ranks(const scr_hash *h, struct scr_redinfo *o, struct scr_err *err)
{
    const scr_hash *ranks = scr_hash_getf(h, "GROUP RANK");
    o->world_ranks = scr_calloc((size_t)o->n, sizeof *o->world_ranks);
    if (o->world_ranks == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header of %d ranks", o->n);
    for (int i = 0; i < o->n; i++) {
        char key[12];
        int *rank = &o->world_ranks[i];
        snprintf(key, sizeof key, "%d", i);
        if (!scr_hash_get_val_int(ranks, key, rank) || *rank < 0 ||
            *rank >= o->world_size)
            return bad(err, "a member's rank is missing or outside the run");
        for (int j = 0; j < i; j++)
            if (o->world_ranks[j] == *rank)
                return bad(err, "a rank is in the set twice");
        if (i == 0 || *rank < o->set_id)
            o->set_id = *rank;
    }
    return SCR_OK;
}

int scr_redinfo_get(const scr_hash *header, struct scr_redinfo *out,
                    struct scr_err *err)
{
    int rank, rc;
    memset(out, 0, sizeof *out);
    if ((rc = get_numbers(header, out, err)) != SCR_OK ||
        (rc = get_ranks(header, out, err)) != SCR_OK)
        goto out;
    if (!scr_hash_get_val_int(scr_hash_get(header, "CURRENT"), "RANK", &rank) ||
        rank != out->world_ranks[out->member])
        rc = bad(err, "its files are not those of the member it names");
out:
    if (rc != SCR_OK)
        scr_redinfo_fini(out);
    return rc;
}

void scr_redinfo_fini(struct scr_redinfo *info)
{
    free(info->world_ranks);
    memset(info, 0, sizeof *info);
}

/* Path of a file below dir, malloc'd; NULL with *safe = 0 if it would leave dir, or is
 * not recorded. */
static char *file_path(const scr_hash *meta, const char *dir, enum scr_layout layout,
                       int *safe)
{
    const char *name = NULL;
    char *dest = NULL;
    if (layout == SCR_LAYOUT_PREFIX)
        name = dest = scr_meta_dest(meta);
    else
        name = scr_hash_get_val(meta, "FILE");
    int short_of_memory =
        layout == SCR_LAYOUT_PREFIX && dest == NULL && scr_meta_has_dest(meta);
    *safe = short_of_memory || (name != NULL && scr_path_is_safe(name));
    char *path = *safe && name != NULL ? scr_path_join(dir, name) : NULL;
    free(dest);
    return path;
}

/* One file of the list; seen holds the paths before it, total their size. */
static int get_file(const scr_hash *meta, const char *dir, enum scr_layout layout,
                    scr_hash *seen, uint64_t *total, struct scr_member_file *out,
                    struct scr_err *err)
{
    int safe;
    if (meta == NULL || !scr_hash_get_val_u64(meta, "SIZE", &out->size) ||
        out->size > INT64_MAX - *total)
        return bad(err, "a file's size is missing or impossible");
    *total += out->size;
    out->path = file_path(meta, dir, layout, &safe);
    if (!safe)
        return bad(err, "a file's name is missing or would leave its directory");
    if (out->path == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header: list of files");
    if (scr_hash_get(seen, out->path) != NULL)
        return bad(err, "two files have the same name");
    if (scr_hash_set(seen, out->path, NULL) == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header: list of files");
    return SCR_OK;
}

int scr_redfile_files_at(const scr_hash *current, const char *dir,
                         enum scr_layout layout, struct scr_member_file **files,
                         size_t *n, int *has_crc, struct scr_err *err)
{
    uint64_t count, total = 0;
    int rc = SCR_OK;
    const scr_hash *list = scr_hash_get(current, "FILE");
    *files = NULL;
    *n = 0;
    *has_crc = 1;
    if (!scr_hash_get_val_u64(current, "FILES", &count) || count != scr_hash_size(list))
        return bad(err, "number of files is missing or not that of the list");
    scr_hash *seen = scr_hash_new();
    struct scr_member_file *out = scr_calloc((size_t)count, sizeof *out);
    if (seen == NULL || out == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "redundancy header: list of files");
    for (size_t i = 0; rc == SCR_OK && i < count; i++) {
        const scr_hash *meta = scr_hash_getf(list, "%zu", i);
        rc = get_file(meta, dir, layout, seen, &total, &out[i], err);
        if (!scr_hash_get_val_crc(meta, "CRC", &out[i].crc))
            *has_crc = 0;
    }
    scr_hash_delete(seen);
    if (rc != SCR_OK) {
        scr_member_files_free(out, (size_t)count);
        return rc;
    }
    *files = out;
    *n = (size_t)count;
    return SCR_OK;
}

int scr_redfile_files(const scr_hash *current, const char *dir,
                      struct scr_member_file **files, size_t *n, int *has_crc,
                      struct scr_err *err)
{
    return scr_redfile_files_at(current, dir, SCR_LAYOUT_CACHE, files, n, has_crc, err);
}

void scr_member_files_free(struct scr_member_file *files, size_t n)
{
    for (size_t i = 0; files != NULL && i < n; i++)
        free(files[i].path);
    free(files);
}

int scr_redfile_dress(const struct scr_env *env, const scr_hash *current, size_t f,
                      const char *path, struct scr_err *err)
{
    struct stat st;
    int fd = -1;
    int rc = scr_open(env->sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc == SCR_OK)
        rc = scr_fd_stat(env->sys, fd, &st, path, err);
    if (rc == SCR_OK &&
        scr_meta_get_stat(scr_hash_getf(current, "FILE %zu", f), &st) == SCR_OK)
        rc = scr_fd_set_attr(env->sys, fd, &st, path, err);
    int closed = scr_close(env->sys, &fd, path, rc == SCR_OK ? err : NULL);
    return rc == SCR_OK ? closed : rc;
}

/* --- disk --- */

int scr_redfile_write(const struct scr_env *env, const char *path,
                      const scr_hash *header, uint64_t *header_bytes,
                      struct scr_err *err)
{
    void *buf = NULL;
    size_t n = 0;
    int fd = -1;
    int rc = scr_hash_encode(header, &buf, &n, err);
    if (rc != SCR_OK)
        return rc;
    rc = scr_open(env->sys, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err);
    if (rc == SCR_OK)
        rc = scr_pwrite_all(env->sys, fd, buf, n, 0, path, err);
    int closed = scr_close(env->sys, &fd, path, err);
    free(buf);
    rc = rc != SCR_OK ? rc : closed;
    if (rc == SCR_OK && header_bytes != NULL)
        *header_bytes = n;
    return rc;
}

/* The size a hash file claims, from its first bytes (scr_hashfile(5)): all a reader
 * needs to know how much of a file with other bytes after it to decode. */
enum { SIZE_AT = 8, SIZE_END = 16 };
static const uint64_t max_header = (uint64_t)1 << 30;

static int claimed_size(const struct scr_env *env, int fd, const char *path,
                        uint64_t file_size, uint64_t *size, struct scr_err *err)
{
    unsigned char head[SIZE_END];
    if (file_size < sizeof head)
        return bad(err, "shorter than a header");
    int rc = scr_pread_all(env->sys, fd, head, sizeof head, 0, path, err);
    if (rc != SCR_OK)
        return rc;
    for (int i = SIZE_AT; i < SIZE_END; i++)
        *size = *size << 8 | head[i];
    if (*size < sizeof head || *size > file_size || *size > max_header)
        return bad(err, "its size is impossible");
    return SCR_OK;
}

static int decode_header(const struct scr_env *env, int fd, const char *path,
                         uint64_t size, scr_hash *header, struct scr_err *err)
{
    void *buf = malloc((size_t)size);
    if (buf == NULL)
        return scr_fail(err, SCR_E_NOMEM, 0, "redundancy header");
    int rc = scr_pread_all(env->sys, fd, buf, (size_t)size, 0, path, err);
    if (rc == SCR_OK)
        rc = scr_hash_decode(buf, (size_t)size, header, NULL, err);
    free(buf);
    return rc;
}

int scr_redfile_read(const struct scr_env *env, const char *path, scr_hash *header,
                     uint64_t *header_bytes, struct scr_err *err)
{
    struct stat st;
    uint64_t size = 0;
    int fd = -1;
    int rc = scr_file_stat(env->sys, path, &st, err);
    if (rc != SCR_OK)
        return rc;
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "read %s: not a regular file", path);
    rc = scr_open(env->sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc != SCR_OK)
        return rc;
    rc = claimed_size(env, fd, path, (uint64_t)st.st_size, &size, err);
    if (rc == SCR_OK)
        rc = decode_header(env, fd, path, size, header, err);
    int closed = scr_close(env->sys, &fd, path, err);
    rc = rc != SCR_OK ? rc : closed;
    if (rc == SCR_OK)
        *header_bytes = size;
    else
        scr_err_prefix(err, "%s", path);
    return rc;
}
