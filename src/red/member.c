/* SPDX-License-Identifier: BSD-3-Clause */
/* A member's files and redundancy file, by symbol, with CRCs computed on the way. */
#include "red/member.h"

#include "base/io.h"
#include "base/str.h"
#include "red/fdcache.h"
#include <stdlib.h>
#include <string.h>

enum {
    SLICE = 256 * 1024, /* bytes read at a time where nothing else says */
    DATA_FLAGS = SCR_MEMBER_READ_DATA | SCR_MEMBER_WRITE_DATA,
    PARITY_FLAGS = SCR_MEMBER_READ_PARITY | SCR_MEMBER_WRITE_PARITY,
    /* The serial rebuild opens every member of a set in one process: share what
     * RLIMIT_NOFILE usually gives. */
    FDS_PER_SET = 512
};

/* Bytes within one file and one symbol, up to the next piece. They pass in order, so
 * that a CRC can be kept; done is not their length: they did not all pass, or not in
 * order. */
struct piece {
    uint64_t off; /* in the logical file, or in the parity bytes */
    uint64_t done;
    uint32_t crc;  /* of the first done bytes */
    uint32_t file; /* data only */
};

struct pieces {
    struct piece *at; /* ascending, none empty; at[n].off is their end */
    size_t n, cap;
};

struct scr_member {
    const struct scr_env *env;
    const struct scr_geom *g;
    int me, flags;
    const struct scr_member_file *files;
    const char *stem;
    struct scr_str name; /* of the file that was named last */
    size_t nfiles;
    char *redpath;
    uint64_t header_bytes;
    int redfd;
    struct pieces data, parity;
    struct scr_fdcache fds;
    void *slice; /* SLICE bytes, when first needed */
};

/* --- pieces --- */

static uint64_t len_of(const struct piece *p)
{
    return p[1].off - p->off;
}

/* Of the file that p is a piece of, in the logical file. */
static uint64_t start_of(const struct pieces *all, const struct piece *p)
{
    while (p > all->at && p[-1].file == p->file)
        p--;
    return p->off;
}

/* Room for n pieces; there is none yet. */
static int begin_pieces(struct pieces *p, size_t n)
{
    p->cap = n + 1;
    p->at = scr_calloc(p->cap, sizeof *p->at);
    return p->at != NULL;
}

/* The piece from the end of the others to `end`. */
static int add_piece(struct pieces *p, uint64_t end, uint32_t file)
{
    size_t ends = p->n + 1;
    struct piece *at = scr_insert(p->at, ends, &ends, &p->cap, sizeof *at);
    if (at == NULL)
        return 0;
    p->at = at;
    at[p->n++].file = file;
    at[p->n] = (struct piece){ .off = end };
    return 1;
}

/* File f, which begins where the pieces end, cut where chunks begin. */
static int cut_file(struct scr_member *m, size_t f)
{
    uint64_t chunk = m->g->chunk > 0 ? m->g->chunk : m->g->len[m->me];
    uint64_t off = m->data.at[m->data.n].off, end = off + m->files[f].size;
    while (off < end) {
        uint64_t next = (off / chunk + 1) * chunk;
        off = next < end ? next : end;
        if (!add_piece(&m->data, off, (uint32_t)f))
            return 0;
    }
    return 1;
}

/* A file has one piece, and one more for each chunk that begins inside it. */
static int cut_all(struct scr_member *m)
{
    if (!begin_pieces(&m->data, m->nfiles + (size_t)m->g->n) ||
        !begin_pieces(&m->parity, (size_t)m->g->k))
        return 0;
    for (size_t f = 0; f < m->nfiles; f++)
        if (!cut_file(m, f))
            return 0;
    for (int slot = 0; slot < m->g->k; slot++) {
        uint64_t off = scr_geom_slot_off(m->g, m->me, slot);
        uint64_t end = scr_geom_slot_off(m->g, m->me, slot + 1);
        if (end > off && !add_piece(&m->parity, end, 0))
            return 0;
    }
    return 1;
}

/* The piece off is in; NULL past the last. */
static struct piece *find_piece(const struct pieces *p, uint64_t off)
{
    size_t lo = 0, hi = p->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->at[mid + 1].off <= off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->n ? &p->at[lo] : NULL;
}

/* n bytes at off of piece p pass. Its start restarts it; a gap spoils it. */
static void note(struct piece *p, uint64_t off, const void *buf, size_t n)
{
    uint64_t at = off - p->off;
    if (at == 0 || at != p->done) {
        p->crc = 0;
        p->done = 0;
    }
    if (at != p->done)
        return;
    p->crc = scr_crc32(p->crc, buf, n);
    p->done += n;
}

/* --- opening --- */

static int place_files(struct scr_member *m, const struct scr_member_def *def,
                       struct scr_err *err)
{
    uint64_t bytes = 0, len = m->g->len[m->me];
    m->files = def->files;
    m->nfiles = def->nfiles;
    m->stem = def->stem;
    if (m->nfiles > UINT32_MAX)
        return scr_fail(err, SCR_E_RANGE, 0, "%zu files", m->nfiles);
    for (size_t f = 0; f < m->nfiles; f++) {
        if (m->files[f].size > UINT64_MAX - bytes)
            return scr_fail(err, SCR_E_RANGE, 0, "sizes of %zu files", m->nfiles);
        bytes += m->files[f].size;
    }
    if (bytes != len)
        return scr_fail(err, SCR_E_ARG, 0,
                        "files of member %d: %llu bytes, the set has %llu", m->me,
                        (unsigned long long)bytes, (unsigned long long)len);
    return SCR_OK;
}

/* Borrowed until the next call. */
static int path_of(struct scr_member *m, size_t f, const char **path,
                   struct scr_err *err)
{
    *path = m->files[f].path;
    if (m->stem == NULL)
        return SCR_OK;
    m->name.len = 0;
    scr_str_printf(&m->name, "%s%zu.tmp", m->stem, f);
    *path = m->name.p;
    return m->name.bad ? scr_no_memory(err) : SCR_OK;
}

/* A file to be read must be a regular file of the recorded size. */
static int check_size(const struct scr_member *m, const char *path, uint64_t size,
                      struct scr_err *err)
{
    struct stat st;
    TRY(scr_file_stat(m->env->sys, path, &st, err));
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "read %s: not a regular file", path);
    if ((uint64_t)st.st_size == size)
        return SCR_OK;
    return scr_fail(err, (uint64_t)st.st_size < size ? SCR_E_MISSING : SCR_E_CORRUPT, 0,
                    "read %s: %lld bytes, recorded are %llu%s", path,
                    (long long)st.st_size, (unsigned long long)size,
                    scr_size_hint((uint64_t)st.st_size, size));
}

static int open_data(struct scr_member *m, struct scr_err *err)
{
    int write = m->flags & SCR_MEMBER_WRITE_DATA;
    size_t n = (m->flags & SCR_MEMBER_SIZES_SEEN) != 0 && !write ? 0 : m->nfiles;
    int rc = SCR_OK;
    scr_fdcache_init(&m->fds, m->env->sys, write ? O_RDWR | O_CREAT : O_RDONLY,
                     FDS_PER_SET / m->g->n);
    for (size_t f = 0; rc == SCR_OK && f < n; f++) {
        uint64_t size = m->files[f].size;
        const char *path;
        int fd;
        rc = path_of(m, f, &path, err);
        if (rc == SCR_OK && !write)
            rc = check_size(m, path, size, err);
        else if (rc == SCR_OK &&
                 (rc = scr_fdcache_get(&m->fds, f, path, &fd, err)) == SCR_OK)
            rc = scr_resize(m->env->sys, fd, size, path, err);
    }
    return rc;
}

static int open_parity(struct scr_member *m, struct scr_err *err)
{
    const struct scr_sys *sys = m->env->sys;
    uint64_t size = m->header_bytes + scr_geom_parity_bytes(m->g, m->me);
    int write = m->flags & SCR_MEMBER_WRITE_PARITY;
    TRY(write ? SCR_OK : check_size(m, m->redpath, size, err));
    TRY(scr_open(sys, m->redpath, (write ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW,
                 0600, &m->redfd, err));
    if (write)
        TRY(scr_resize(sys, m->redfd, size, m->redpath, err));
    return SCR_OK;
}

static int open_all(struct scr_member *m, const struct scr_member_def *def,
                    struct scr_err *err)
{
    TRY(place_files(m, def, err));
    m->redpath = scr_strdup(def->redpath);
    if (!cut_all(m) || (def->redpath != NULL && m->redpath == NULL))
        return scr_no_memory(err);
    if ((m->flags & PARITY_FLAGS) != 0 && def->redpath == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "member %d: no redundancy file", m->me);
    if ((m->flags & DATA_FLAGS) != 0)
        TRY(open_data(m, err));
    return (m->flags & PARITY_FLAGS) != 0 ? open_parity(m, err) : SCR_OK;
}

int scr_member_open(const struct scr_env *env, const struct scr_member_def *def,
                    struct scr_member **out, struct scr_err *err)
{
    *out = NULL;
    if (def->me < 0 || def->me >= def->g->n)
        return scr_fail(err, SCR_E_ARG, 0, "member %d of a set of %d", def->me,
                        def->g->n);
    struct scr_member *m = scr_calloc(1, sizeof *m);
    TRY(m ? SCR_OK : scr_no_memory(err));
    m->env = env;
    m->g = def->g;
    m->me = def->me;
    m->flags = def->flags;
    m->header_bytes = def->header_bytes;
    m->redfd = -1;
    int rc = open_all(m, def, err);
    if (rc != SCR_OK)
        (void)scr_member_close(m, NULL); /* the first error counts */
    else
        *out = m;
    return rc;
}

/* --- bytes --- */

enum direction { READ, WRITE };

/* Bytes on their way. */
struct span {
    enum direction dir;
    int is_parity;
    uint64_t off; /* in the logical file, or in the parity bytes */
    char *buf;
    size_t n;
};

static int move_bytes(struct scr_member *m, const struct piece *p, const struct span *s,
                      struct scr_err *err)
{
    const struct scr_sys *sys = m->env->sys;
    const char *path = m->redpath;
    off_t off = (off_t)(m->header_bytes + s->off);
    int fd = m->redfd;
    if (!s->is_parity) {
        TRY(path_of(m, p->file, &path, err));
        off = (off_t)(s->off - start_of(&m->data, p));
        TRY(scr_fdcache_get(&m->fds, p->file, path, &fd, err));
    }
    return s->dir == READ
               ? scr_pread_all(SCR_FD(sys, fd, path), s->buf, s->n, off, err)
               : scr_pwrite_all(SCR_FD(sys, fd, path), s->buf, s->n, off, err);
}

static int keeps_crc(const struct scr_member *m, int is_parity)
{
    int skip = is_parity ? SCR_MEMBER_NO_PARITY_CRC : SCR_MEMBER_NO_DATA_CRC;
    return (m->flags & skip) == 0;
}

/* All of s is in piece p. */
static int move_piece(struct scr_member *m, struct piece *p, const struct span *s,
                      struct scr_err *err)
{
    TRY(move_bytes(m, p, s, err));
    if (keeps_crc(m, s->is_parity))
        note(p, s->off, s->buf, s->n);
    return SCR_OK;
}

static int is_zero(const char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Bytes past the end of the logical file read as zeros and may only be written as
 * zeros.
 */
static int move_padding(const struct scr_member *m, const struct span *s,
                        struct scr_err *err)
{
    if (s->dir == READ)
        memset(s->buf, 0, s->n);
    else if (!is_zero(s->buf, s->n))
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "files of member %d: rebuilt bytes past their end are not zero",
                        m->me);
    return SCR_OK;
}

static int check_symbol(const struct scr_member *m, const struct scr_sym *sym,
                        const struct span *s, struct scr_err *err)
{
    static const int needed[2][2] = {
        { DATA_FLAGS, PARITY_FLAGS },
        { SCR_MEMBER_WRITE_DATA, SCR_MEMBER_WRITE_PARITY },
    };
    uint64_t len = scr_geom_max_rowlen(m->g);
    uint64_t at = s->off - sym->off, end = s->off + s->n;
    if (sym->member != m->me ||
        (m->flags & needed[s->dir != READ][sym->is_parity != 0]) == 0)
        return scr_fail(err, SCR_E_ARG, 0,
                        "member %d: not opened for this symbol of member %d", m->me,
                        sym->member);
    if (at > len || s->n > len - at ||
        (sym->is_parity && end > scr_geom_parity_bytes(m->g, m->me)))
        return scr_fail(err, SCR_E_RANGE, 0, "member %d: bytes past the symbol's end",
                        m->me);
    return SCR_OK;
}

static int transfer(struct scr_member *m, const struct scr_sym *sym, struct span s,
                    struct scr_err *err)
{
    TRY(check_symbol(m, sym, &s, err));
    for (size_t left = s.n; left > 0; left -= s.n) {
        struct piece *p = find_piece(s.is_parity ? &m->parity : &m->data, s.off);
        s.n = left;
        if (p == NULL)
            return move_padding(m, &s, err);
        if (p[1].off - s.off < left)
            s.n = (size_t)(p[1].off - s.off);
        TRY(move_piece(m, p, &s, err));
        s.off += s.n;
        s.buf += s.n;
    }
    return SCR_OK;
}

int scr_member_read(struct scr_member *m, const struct scr_sym *sym, uint64_t at,
                    void *buf, size_t n, struct scr_err *err)
{
    const struct span s = { READ, sym->is_parity, sym->off + at, buf, n };
    return transfer(m, sym, s, err);
}

int scr_member_write(struct scr_member *m, const struct scr_sym *sym, uint64_t at,
                     const void *buf, size_t n, struct scr_err *err)
{
    const struct span s = { WRITE, sym->is_parity, sym->off + at,
                            (char *)buf /* only read from */, n };
    return transfer(m, sym, s, err);
}

/* --- CRCs --- */

int scr_member_keeps_crc(const struct scr_member *m, const struct scr_sym *sym)
{
    return keeps_crc(m, sym->is_parity);
}

static int read_slice(struct scr_member *m, struct piece *p, int is_parity,
                      uint64_t off, size_t n, struct scr_err *err)
{
    if (m->slice == NULL && (m->slice = malloc(SLICE)) == NULL)
        return scr_no_memory(err);
    const struct span s = { READ, is_parity, off, m->slice, n };
    return move_piece(m, p, &s, err);
}

/* Reads a piece whose bytes did not all pass in order. */
static int complete(struct scr_member *m, struct piece *p, int is_parity,
                    struct scr_err *err)
{
    uint64_t len = len_of(p);
    for (uint64_t at = 0; p->done < len && at < len; at += SLICE)
        TRY(read_slice(m, p, is_parity, p->off + at,
                       len - at < SLICE ? (size_t)(len - at) : SLICE, err));
    return SCR_OK;
}

int scr_member_finish(struct scr_member *m, struct scr_member_file *files,
                      uint32_t *parity_crc, struct scr_err *err)
{
    int rc = SCR_OK, data = files != NULL && (m->flags & DATA_FLAGS) != 0 &&
                            (m->flags & SCR_MEMBER_NO_DATA_CRC) == 0;
    int parity = parity_crc != NULL && (m->flags & PARITY_FLAGS) != 0 &&
                 (m->flags & SCR_MEMBER_NO_PARITY_CRC) == 0;
    for (size_t f = 0; data && f < m->nfiles; f++)
        files[f].crc = 0;
    for (size_t i = 0; rc == SCR_OK && data && i < m->data.n; i++) {
        struct piece *p = &m->data.at[i];
        rc = complete(m, p, 0, err);
        files[p->file].crc = scr_crc32_combine(files[p->file].crc, p->crc, len_of(p));
    }
    if (parity)
        *parity_crc = 0;
    for (size_t i = 0; rc == SCR_OK && parity && i < m->parity.n; i++) {
        struct piece *p = &m->parity.at[i];
        rc = complete(m, p, 1, err);
        *parity_crc = scr_crc32_combine(*parity_crc, p->crc, len_of(p));
    }
    return rc;
}

/* Of the symbol at off: what its pieces give, and zeros after their end. */
static uint32_t symbol_crc(const struct scr_member *m, uint64_t off, uint64_t len)
{
    uint32_t crc = 0;
    uint64_t done = 0;
    const struct piece *p = find_piece(&m->data, off);
    const struct piece *end = m->data.at + m->data.n;
    for (; p != NULL && p < end && p->off < off + len; p++) {
        crc = scr_crc32_combine(crc, p->crc, len_of(p));
        done += len_of(p);
    }
    return scr_crc32_combine(crc, scr_crc32_zeros(len - done), len - done);
}

void scr_member_row_crcs(const struct scr_member *m, uint32_t *crc)
{
    struct scr_sym sym;
    for (int row = 0; row < m->g->n; row++) {
        crc[row] = 0;
        if (scr_geom_data_of(m->g, row, m->me, &sym))
            crc[row] = symbol_crc(m, sym.off, scr_geom_rowlen(m->g, row));
    }
}

int scr_member_close(struct scr_member *m, struct scr_err *err)
{
    if (m == NULL)
        return SCR_OK;
    int rc = scr_fdcache_close(&m->fds, err);
    int closed = scr_close(m->env->sys, &m->redfd, m->redpath, err);
    scr_str_free(&m->name);
    free(m->redpath);
    free(m->data.at);
    free(m->parity.at);
    free(m->slice);
    free(m);
    return scr_first(rc, closed);
}

/* --- whole files --- */

static int crc_of(const struct scr_env *env, int fd, const char *path,
                  struct scr_file_sum *sum, struct scr_err *err)
{
    size_t cap = sum->size < SLICE ? (size_t)sum->size : SLICE;
    char *buf = malloc(cap > 0 ? cap : 1);
    TRY(buf ? SCR_OK : scr_no_memory(err));
    int rc = SCR_OK;
    sum->crc = 0;
    for (uint64_t at = 0; rc == SCR_OK && at < sum->size; at += cap) {
        size_t n = sum->size - at < cap ? (size_t)(sum->size - at) : cap;
        rc = scr_pread_all(SCR_FD(env->sys, fd, path), buf, n, (off_t)(sum->off + at),
                           err);
        if (rc == SCR_OK)
            sum->crc = scr_crc32(sum->crc, buf, n);
        if (rc == SCR_OK && sum->told != NULL)
            sum->told(sum->arg, n);
    }
    free(buf);
    return rc;
}

int scr_file_crc32(const struct scr_env *env, const char *path, uint64_t off,
                   uint64_t *size, uint32_t *crc, struct scr_err *err)
{
    struct scr_file_sum sum = { .off = off };
    int rc = scr_file_sum(env, path, &sum, err);
    *size = sum.size;
    *crc = sum.crc;
    return rc;
}

int scr_file_sum(const struct scr_env *env, const char *path, struct scr_file_sum *sum,
                 struct scr_err *err)
{
    struct stat st;
    int fd = -1, rc = scr_open_regular(env->sys, path, O_NOFOLLOW, &fd, &st, err);
    if (rc != SCR_OK)
        return rc;
    if (sum->off > (uint64_t)st.st_size)
        rc = scr_fail(err, SCR_E_MISSING, 0, "read %s: ends at byte %lld", path,
                      (long long)st.st_size);
    sum->size = rc == SCR_OK ? (uint64_t)st.st_size - sum->off : 0;
    if (rc == SCR_OK)
        rc = crc_of(env, fd, path, sum, err);
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
}
