/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of redundancy files: made, read back, and doubted. */
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

/* --- keys --- */

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

static int bad(struct scr_err *err, const char *what)
{
    return scr_fail(err, SCR_E_CORRUPT, 0, "redundancy header: %s", what);
}

/* --- CURRENT --- */

struct scr_current *scr_current_new(int world_rank, const scr_hash *desc,
                                    const scr_hash *dset)
{
    struct scr_current *c = scr_calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->rank = world_rank;
    scr_table_init(&c->files, sizeof(struct scr_file));
    c->desc = scr_hash_dup(desc);
    c->dset = scr_hash_dup(dset);
    if ((desc == NULL || c->desc != NULL) && (dset == NULL || c->dset != NULL))
        return c;
    scr_current_delete(c);
    return NULL;
}

void scr_current_delete(struct scr_current *c)
{
    if (c == NULL)
        return;
    scr_table_fini(&c->files);
    free(c->file);
    scr_hash_delete(c->desc);
    scr_hash_delete(c->dset);
    free(c);
}

/* Room for n files and one more; when n is no power of two there is some already. */
static int make_room(struct scr_current *c, size_t n)
{
    if (c->file != NULL && (n & (n - 1)) != 0)
        return 1;
    size_t room = 1;
    while (room <= n)
        room *= 2;
    struct scr_file **more = scr_reallocarray(c->file, room, sizeof *c->file);
    c->file = more != NULL ? more : c->file;
    return more != NULL;
}

int scr_current_lend(struct scr_current *c, struct scr_file *f)
{
    if (!make_room(c, c->n))
        return SCR_E_NOMEM;
    c->file[c->n++] = f;
    return SCR_OK;
}

const struct scr_file *scr_shelf_next(const struct scr_file *f)
{
    enum scr_scheme s;
    while (f != NULL && (scr_file_meta(f) == NULL ||
                         scr_scheme_parse(f->meta.text[SCR_META_TYPE], &s)))
        f = scr_file_next(f);
    return f;
}

static char *file_path(const scr_meta *meta, const char *dir, enum scr_layout layout,
                       int *safe);

/* A file of c's own: named by its path, or by its number if another has that. */
static int keep(struct scr_current *c, size_t number, const scr_meta *meta,
                const char *path)
{
    char key[24];
    size_t before = c->files.n;
    struct scr_file *f = path != NULL ? scr_table_add(&c->files, path) : NULL;
    snprintf(key, sizeof key, "%zu", number);
    if (c->files.n == before)
        f = scr_table_add(&c->files, key);
    if (f == NULL)
        return SCR_E_NOMEM;
    c->file[number] = f;
    scr_meta_copy(scr_file_need_meta(f, &c->files), meta);
    return scr_table_ok(&c->files) ? SCR_OK : SCR_E_NOMEM;
}

/* The files that were lent become c's own. */
static int keep_lent(struct scr_current *c)
{
    for (size_t i = 0; i < c->n; i++)
        TRY(keep(c, i, &c->file[i]->meta, c->file[i]->item.name));
    return SCR_OK;
}

int scr_current_shelve(struct scr_current *c, const scr_meta *meta,
                       struct scr_shelf *shelf)
{
    int safe, rc = make_room(c, c->n) ? SCR_OK : SCR_E_NOMEM;
    char *path = file_path(meta, shelf->dir, SCR_LAYOUT_CACHE, &safe);
    const struct scr_file *f = shelf->next;
    if (rc == SCR_OK && safe && path == NULL)
        rc = SCR_E_NOMEM;
    if (rc == SCR_OK && f != NULL && path != NULL && strcmp(path, f->item.name) == 0 &&
        scr_meta_same(&f->meta, meta)) {
        c->file[c->n++] = (struct scr_file *)f;
        shelf->next = scr_shelf_next(scr_file_next(f));
    } else if (rc == SCR_OK) {
        rc = c->files.n == 0 ? keep_lent(c) : SCR_OK;
        shelf->next = NULL;
        rc = rc == SCR_OK ? keep(c, c->n, meta, path) : rc;
        c->n += rc == SCR_OK;
    }
    free(path);
    return rc;
}

void scr_current_reserve_crcs(struct scr_current *c)
{
    for (size_t i = 0; i < c->n; i++)
        scr_meta_set_crc32(&c->file[i]->meta, 0);
    c->chunk_crc = 0;
    c->has_chunk_crc = 1;
}

void scr_current_set_crcs(struct scr_current *c, const struct scr_member_file *files,
                          uint32_t chunk_crc)
{
    for (size_t i = 0; i < c->n; i++)
        scr_meta_set_crc32(&c->file[i]->meta, files[i].crc);
    c->chunk_crc = chunk_crc;
    c->has_chunk_crc = 1;
}

void scr_current_pack(struct scr_str *s, const struct scr_current *c)
{
    scr_pack_count(
        s, (size_t)(3 + c->has_chunk_crc + (c->desc != NULL) + (c->dset != NULL)));
    scr_pack_i64(s, "RANK", c->rank);
    scr_pack_u64(s, "FILES", c->n);
    scr_pack_key(s, "FILE");
    scr_pack_count(s, c->n);
    for (size_t i = 0; i < c->n; i++) {
        scr_pack_key_int(s, (int)i);
        scr_meta_pack(s, &c->file[i]->meta);
    }
    if (c->has_chunk_crc)
        scr_pack_crc(s, "CHUNKCRC", c->chunk_crc);
    if (c->desc != NULL)
        scr_pack_hash(s, "DESC", c->desc);
    if (c->dset != NULL)
        scr_pack_hash(s, "DSETDESC", c->dset);
    if (!scr_table_ok(&c->files))
        scr_str_spoil(s);
}

static void shelve_files(struct scr_cursor *cur, struct scr_current *c,
                         struct scr_shelf *shelf)
{
    for (size_t left = scr_cursor_enter(cur); left > 0; left--) {
        struct scr_arena texts = SCR_ARENA_INIT;
        scr_meta meta = { .arena = &texts };
        int number = -1;
        if (!scr_hash_key_int(scr_cursor_key(cur), &number) || number < 0 ||
            (size_t)number != c->n)
            scr_cursor_refuse(cur, "a file is missing from the list");
        scr_meta_unpack(cur, &meta);
        if (cur->wrong == NULL && scr_current_shelve(c, &meta, shelf) != SCR_OK)
            scr_cursor_no_memory(cur);
        scr_arena_free(&texts);
    }
}

static void unpack_files(struct scr_cursor *cur, struct scr_current *c)
{
    for (size_t left = scr_cursor_enter(cur); left > 0; left--) {
        const char *key = scr_cursor_key(cur);
        size_t before = c->files.n;
        struct scr_file *f = scr_table_add(&c->files, key);
        if (f == NULL || c->files.n == before) {
            cur->no_memory = cur->no_memory || f == NULL;
            scr_cursor_refuse(cur, "a file is listed twice");
            return;
        }
        scr_meta_unpack(cur, scr_file_need_meta(f, &c->files));
    }
}

static void unpack_hash(struct scr_cursor *cur, scr_hash **h)
{
    *h = scr_hash_new();
    cur->no_memory = cur->no_memory || *h == NULL;
    scr_cursor_hash(cur, *h);
}

enum { RANK, FILES, LIST, CHUNKCRC, DESC, DSETDESC, KEYS };
static int key_of(const char *key)
{
    static const char *const keys[KEYS] = { "RANK",     "FILES", "FILE",
                                            "CHUNKCRC", "DESC",  "DSETDESC" };
    int k = 0;
    while (k < KEYS && strcmp(keys[k], key) != 0)
        k++;
    return k;
}

/* While a current is unpacked: where its file names go, and the recorded number. */
struct unpacking {
    struct scr_shelf *shelf; /* NULL: files are named by their numbers */
    int all;                 /* no byte follows */
    uint64_t count; /* of files, as recorded; a number that is none leaves it */
};

static void unpack_key(struct scr_cursor *cur, int key, struct scr_current *c,
                       struct unpacking *u)
{
    const char *val = NULL;
    if (key == LIST && u->shelf != NULL)
        shelve_files(cur, c, u->shelf);
    else if (key == LIST)
        unpack_files(cur, c);
    else if (key == DESC)
        unpack_hash(cur, &c->desc);
    else if (key == DSETDESC)
        unpack_hash(cur, &c->dset);
    else if ((val = scr_cursor_val(cur)) == NULL)
        return;
    else if (key == RANK)
        (void)scr_parse_int(val, &c->rank);
    else if (key == FILES)
        (void)scr_parse_u64(val, &u->count);
    else if (key == CHUNKCRC)
        c->has_chunk_crc = scr_parse_hex32(val, &c->chunk_crc);
}

static void unpack_keys(struct scr_cursor *cur, struct scr_current *c,
                        struct unpacking *u)
{
    unsigned seen = 0;
    for (size_t left = scr_cursor_enter(cur); left > 0; left--) {
        int key = key_of(scr_cursor_key(cur));
        if (key < KEYS && (seen >> key & 1)) {
            scr_cursor_refuse(cur, "key given twice");
            return;
        }
        seen |= 1U << key;
        unpack_key(cur, key, c, u);
    }
}

/* The files by their numbers, whatever their order in the bytes. */
static int order_files(struct scr_current *c, struct scr_err *err)
{
    for (size_t i = 0; i < c->files.n; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        struct scr_file *f = scr_table_find(&c->files, key);
        if (f == NULL)
            return bad(err, "a file is missing from the list");
        TRY(scr_current_lend(c, f) == SCR_OK ? SCR_OK : scr_no_memory(err));
    }
    return SCR_OK;
}

static int unpack_current(struct scr_cursor *cur, struct unpacking *u,
                          struct scr_current **out, struct scr_err *err)
{
    struct scr_current *c = scr_current_new(-1, NULL, NULL);
    *out = NULL;
    TRY(c ? SCR_OK : scr_no_memory(err));
    u->count = UINT64_MAX;
    unpack_keys(cur, c, u);
    int rc;
    TRY_OUT(scr_cursor_end(cur, u->all, err));
    if (u->count != (u->shelf != NULL ? c->n : c->files.n))
        TRY_OUT(bad(err, "number of files is missing or not that of the list"));
    if (u->shelf == NULL)
        TRY_OUT(order_files(c, err));
out:
    if (rc == SCR_OK)
        *out = c;
    else
        scr_current_delete(c);
    return rc;
}

int scr_current_unpack(const void *buf, size_t n, struct scr_current **c,
                       struct scr_err *err)
{
    struct scr_cursor cur;
    struct unpacking u = { .all = 1 };
    scr_cursor_init(&cur, buf, n);
    return unpack_current(&cur, &u, c, err);
}

int scr_current_take(struct scr_cursor *cur, struct scr_shelf *shelf,
                     struct scr_current **c, struct scr_err *err)
{
    struct unpacking u = { .all = 1, .shelf = shelf };
    return unpack_current(cur, &u, c, err);
}

/* --- making headers --- */

void scr_redfile_pack_group(struct scr_str *s, const int *world_ranks, int n)
{
    scr_pack_key(s, "GROUP");
    scr_pack_count(s, 2);
    scr_pack_i64(s, "RANKS", n);
    scr_pack_key(s, "RANK");
    scr_pack_count(s, (size_t)n);
    for (int i = 0; i < n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        scr_pack_i64(s, key, world_ranks[i]);
    }
}

void scr_redfile_front(struct scr_str *s, const struct scr_redowner *o, int ncopies)
{
    enum { NUMBERS = 7, CURRENT = 1 };
    scr_pack_count(s, (size_t)(NUMBERS + CURRENT + ncopies));
    scr_pack_i64(s, "DSET", o->dset_id);
    scr_pack_i64(s, "RANKS", o->world_size);
    scr_pack_val(s, "TYPE", scr_scheme_name(o->g->scheme));
    scr_pack_i64(s, "FAILURES", o->g->k);
    scr_redfile_pack_group(s, o->world_ranks, o->g->n);
    scr_pack_i64(s, "MEMBER", o->member);
    scr_pack_u64(s, "CHUNK", o->g->chunk);
    scr_pack_key(s, "CURRENT");
}

void scr_redfile_header(struct scr_str *s, const struct scr_redowner *o,
                        const struct scr_current *c, const struct scr_str *copies,
                        int ncopies)
{
    scr_frame_begin(s);
    scr_redfile_front(s, o, ncopies);
    if (c != NULL)
        scr_current_pack(s, c);
    for (int j = 1; j <= ncopies; j++) {
        char key[24];
        scr_pack_key(s, scr_redfile_partner_key(j, key, sizeof key));
        if (copies != NULL)
            scr_str_append_n(s, copies[j - 1].p, copies[j - 1].len);
        if (copies != NULL && copies[j - 1].bad)
            scr_str_spoil(s);
    }
    scr_frame_end(s);
}

/* --- doubting headers --- */

static int check_set(const struct scr_setdesc *d, struct scr_err *err)
{
    if (d->ranks < 0)
        return bad(err, "no number of ranks");
    if (d->n == 0)
        return bad(err, "not 1 to 255 members, each a rank of the run, and once");
    if (d->failures < 0)
        return bad(err, "no known scheme, or no number of failures");
    if (d->member < 0)
        return bad(err, "no member number, or outside the set");
    enum scr_scheme scheme = d->scheme;
    int k = d->failures;
    scr_geom_weaken(&scheme, &k, d->n);
    if (scheme != d->scheme || k != d->failures)
        return bad(err, "the set is too small for its scheme and failures");
    return SCR_OK;
}

int scr_redinfo_get(const scr_hash *header, struct scr_redinfo *out,
                    struct scr_err *err)
{
    *out = (struct scr_redinfo){ 0 };
    if (!scr_hash_get_val_int(header, "DSET", &out->dset_id) || out->dset_id < 0)
        return bad(err, "no dataset id");
    if (!scr_hash_get_val_u64(header, "CHUNK", &out->chunk) || out->chunk > INT64_MAX)
        return bad(err, "no chunk size");
    scr_setdesc_get(header, &out->set);
    return check_set(&out->set, err);
}

/* Path of a file below dir, malloc'd; NULL with *safe = 0 if it would leave dir, or is
 * not recorded. */
static char *file_path(const scr_meta *meta, const char *dir, enum scr_layout layout,
                       int *safe)
{
    const char *name = NULL;
    char *dest = NULL;
    if (layout == SCR_LAYOUT_PREFIX)
        name = dest = scr_meta_dest(meta);
    else
        name = scr_meta_text(meta, SCR_META_FILE);
    int short_of_memory =
        layout == SCR_LAYOUT_PREFIX && dest == NULL && scr_meta_has_dest(meta);
    *safe = short_of_memory || (name != NULL && scr_path_is_safe(name));
    char *path = *safe && name != NULL ? scr_path_join(dir, name) : NULL;
    free(dest);
    return path;
}

/* The files of a list so far. */
struct listing {
    const char *dir;
    enum scr_layout layout;
    struct scr_table seen; /* their paths */
    uint64_t total;        /* their size */
};

static int get_file(const scr_meta *meta, struct listing *l,
                    struct scr_member_file *out, struct scr_err *err)
{
    int safe;
    size_t before = l->seen.n;
    if (scr_meta_get_filesize(meta, &out->size) != SCR_OK ||
        out->size > INT64_MAX - l->total)
        return bad(err, "a file's size is missing or impossible");
    l->total += out->size;
    out->path = file_path(meta, l->dir, l->layout, &safe);
    if (!safe)
        return bad(err, "a file's name is missing or would leave its directory");
    if (out->path == NULL || scr_table_add(&l->seen, out->path) == NULL)
        return scr_no_memory(err);
    return l->seen.n > before ? SCR_OK : bad(err, "two files have the same name");
}

int scr_redfile_files(const struct scr_current *c, const char *dir,
                      enum scr_layout layout, struct scr_member_file **files,
                      int *has_crc, struct scr_err *err)
{
    int rc = SCR_OK;
    struct listing l = { dir, layout, SCR_TABLE_OF(struct scr_item), 0 };
    struct scr_member_file *out = scr_calloc(c->n, sizeof *out);
    *files = NULL;
    *has_crc = 1;
    if (out == NULL)
        rc = scr_no_memory(err);
    for (size_t i = 0; rc == SCR_OK && i < c->n; i++) {
        const scr_meta *meta = &c->file[i]->meta;
        rc = get_file(meta, &l, &out[i], err);
        if (scr_meta_get_crc32(meta, &out[i].crc) != SCR_OK)
            *has_crc = 0;
    }
    scr_table_fini(&l.seen);
    if (rc != SCR_OK) {
        scr_member_files_free(out, c->n);
        return rc;
    }
    *files = out;
    return SCR_OK;
}

int scr_current_list(const struct scr_current *c, struct scr_member_file **files,
                     size_t *n, int *has_crc, struct scr_err *err)
{
    int rc = SCR_OK;
    uint64_t total = 0;
    struct scr_member_file *out = scr_calloc(c->n, sizeof *out);
    *files = NULL;
    *n = 0;
    *has_crc = 1;
    TRY(out ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; rc == SCR_OK && i < c->n; i++) {
        const scr_meta *meta = &c->file[i]->meta;
        out[i].path = (char *)c->file[i]->item.name;
        if (scr_meta_get_filesize(meta, &out[i].size) != SCR_OK ||
            out[i].size > INT64_MAX - total)
            rc = bad(err, "a file's size is missing or impossible");
        else if (out[i].path[0] != '/')
            rc = bad(err, "a file's name is missing, would leave its directory, or is "
                          "given twice");
        total += out[i].size;
        if (scr_meta_get_crc32(meta, &out[i].crc) != SCR_OK)
            *has_crc = 0;
    }
    if (rc != SCR_OK) {
        free(out);
        return rc;
    }
    *files = out;
    *n = c->n;
    return SCR_OK;
}

void scr_member_files_free(struct scr_member_file *files, size_t n)
{
    for (size_t i = 0; files != NULL && i < n; i++)
        free(files[i].path);
    free(files);
}

int scr_redfile_dress(const struct scr_env *env, const struct scr_current *c, size_t f,
                      const char *path, struct scr_err *err)
{
    struct stat st;
    int fd = -1;
    int rc;
    TRY_OUT(scr_open(env->sys, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err));
    TRY_OUT(scr_fd_stat(env->sys, fd, &st, path, err));
    if (scr_meta_get_stat(&c->file[f]->meta, &st) == SCR_OK)
        TRY_OUT(scr_fd_set_attr(env->sys, fd, &st, path, err));
out:
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
}

/* --- disk --- */

int scr_redfile_write(const struct scr_env *env, const char *path,
                      const struct scr_str *header, struct scr_err *err)
{
    int fd = -1;
    if (header->bad)
        return scr_fail(err, SCR_E_NOMEM, 0, "write %s: out of memory", path);
    int rc;
    TRY_OUT(scr_open(env->sys, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err));
    TRY_OUT(scr_pwrite_all(SCR_FD(env->sys, fd, path), header->p, header->len, 0, err));
out:
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
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
    TRY(scr_pread_all(SCR_FD(env->sys, fd, path), head, sizeof head, 0, err));
    for (int i = SIZE_AT; i < SIZE_END; i++)
        *size = *size << 8 | head[i];
    if (*size < sizeof head || *size > file_size || *size > max_header)
        return bad(err, "its size is impossible");
    return SCR_OK;
}

/* Opens a redundancy file; *size: of its header. */
static int open_header(const struct scr_env *env, const char *path, int *fd,
                       uint64_t *size, struct scr_err *err)
{
    struct stat st;
    *size = 0;
    TRY(scr_open_regular(env->sys, path, O_NOFOLLOW, fd, &st, err));
    return claimed_size(env, *fd, path, (uint64_t)st.st_size, size, err);
}

/* The bytes of the header, malloc'd. */
static int load_header(const struct scr_env *env, const char *path, void **buf,
                       uint64_t *size, struct scr_err *err)
{
    int fd = -1, rc;
    *buf = NULL;
    TRY_OUT(open_header(env, path, &fd, size, err));
    TRY_OUT((*buf = malloc((size_t)*size)) != NULL ? SCR_OK : scr_no_memory(err));
    TRY_OUT(scr_pread_all(SCR_FD(env->sys, fd, path), *buf, (size_t)*size, 0, err));
out:
    return scr_first(rc, scr_close(env->sys, &fd, path, err));
}

/* j of PARTNER (1), PARTNER2 …; 0: another key. */
static int partner_of(const char *key)
{
    int j = 1;
    char same[24];
    if (strncmp(key, "PARTNER", 7) != 0 ||
        (key[7] != '\0' && !scr_parse_int(key + 7, &j)) || j < 1 || j > SCR_EC_MAX)
        return 0;
    return strcmp(key, scr_redfile_partner_key(j, same, sizeof same)) == 0 ? j : 0;
}

/* The bytes of a hash, left where they are. */
static void take_region(struct scr_cursor *c, struct scr_redcopy *region)
{
    if (region->n > 0)
        scr_cursor_refuse(c, "key given twice");
    region->at = scr_cursor_at(c);
    region->p = c->feed == NULL ? c->p : NULL;
    scr_cursor_skip(c);
    region->n = (size_t)(scr_cursor_at(c) - region->at);
    region->at += SCR_FRAME_HEADER;
}

static void take_tree(struct scr_cursor *c, scr_hash *h, const char *key)
{
    if (scr_hash_get(h, key) != NULL) {
        scr_cursor_refuse(c, "key given twice");
        return;
    }
    scr_hash *of = scr_hash_set(h, key, NULL);
    c->no_memory = c->no_memory || of == NULL;
    scr_cursor_hash(c, of);
}

/* CURRENT is read, the copies stay bytes, what is between becomes a tree. */
static int outline(struct scr_redhead *h, struct scr_cursor *c, scr_hash *between,
                   struct scr_shelf *shelf, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t left = scr_cursor_enter(c); left > 0 && rc == SCR_OK; left--) {
        const char *key = scr_cursor_key(c);
        int j = partner_of(key);
        struct unpacking u = { .shelf = shelf };
        if (j > 0)
            take_region(c, &h->copy[j - 1]);
        else if (strcmp(key, "CURRENT") != 0)
            take_tree(c, between, key);
        else if (h->current != NULL)
            scr_cursor_refuse(c, "key given twice");
        else
            rc = unpack_current(c, &u, &h->current, err);
    }
    return rc == SCR_OK ? scr_cursor_end(c, 1, err) : rc;
}

static int decode_header(struct scr_redhead *h, struct scr_cursor *c,
                         struct scr_shelf *shelf, struct scr_err *err)
{
    int rc;
    scr_hash *between = scr_hash_new();
    TRY_OUT(between != NULL ? SCR_OK : scr_no_memory(err));
    TRY_OUT(outline(h, c, between, shelf, err));
    TRY_OUT(scr_redinfo_get(between, &h->info, err));
    if (h->current == NULL)
        TRY_OUT(bad(err, "the files of its member are missing"));
    if (h->current->rank != h->info.set.world[h->info.set.member])
        TRY_OUT(bad(err, "its files are not those of the member it names"));
out:
    scr_hash_delete(between);
    return rc;
}

static int end_read(struct scr_redhead *h, const char *path, int rc,
                    struct scr_err *err)
{
    if (rc == SCR_OK)
        return SCR_OK;
    scr_redhead_fini(h);
    scr_err_prefix(err, "%s", path);
    return rc;
}

int scr_redhead_read(const struct scr_env *env, const char *path, struct scr_redhead *h,
                     struct scr_err *err)
{
    struct scr_frame f;
    struct scr_cursor c;
    *h = (struct scr_redhead){ 0 };
    int rc;
    TRY_OUT(load_header(env, path, &h->buf, &h->bytes, err));
    TRY_OUT(scr_frame_open(h->buf, (size_t)h->bytes, &f, err));
    scr_cursor_init(&c, f.packed, f.n);
    TRY_OUT(decode_header(h, &c, NULL, err));
out:
    return end_read(h, path, rc, err);
}

int scr_redhead_shelve(const struct scr_env *env, const char *path,
                       struct scr_shelf *shelf, struct scr_redhead *h,
                       struct scr_err *err)
{
    struct scr_frame f;
    struct scr_cursor c;
    int fd = -1;
    *h = (struct scr_redhead){ 0 };
    int rc;
    TRY_OUT(open_header(env, path, &fd, &h->bytes, err));
    const struct scr_fd from = { env->sys, fd, path };
    TRY_OUT(scr_frame_check(&from, h->bytes, &f, err));
    struct scr_file_feed feed = scr_file_feed(&from, SCR_FRAME_HEADER, f.n, err);
    scr_cursor_init_feed(&c, &feed.feed);
    rc = decode_header(h, &c, shelf, err);
    scr_feed_fini(&feed.feed);
out:
    rc = scr_first(rc, scr_close(env->sys, &fd, path, err));
    return end_read(h, path, rc, err);
}

void scr_redhead_fini(struct scr_redhead *h)
{
    scr_current_delete(h->current);
    free(h->buf);
    *h = (struct scr_redhead){ 0 };
}

int scr_redfile_read(const struct scr_env *env, const char *path, scr_hash *header,
                     uint64_t *header_bytes, struct scr_err *err)
{
    void *buf = NULL;
    int rc;
    TRY_OUT(load_header(env, path, &buf, header_bytes, err));
    TRY_OUT(scr_hash_decode(buf, (size_t)*header_bytes, header, err));
out:
    free(buf);
    if (rc != SCR_OK)
        scr_err_prefix(err, "%s", path);
    return rc;
}
