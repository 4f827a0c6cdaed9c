/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of ranks to files of a dataset: in memory, and as a tree of part files under
 * one root. */
#include "fmt/rank2file.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"

/* --- life --- */

void scr_rank2file_init(struct scr_rank2file *l, int ranks)
{
    *l = (struct scr_rank2file){ .ranks = ranks };
}

static void rank_free(struct scr_rank_files *r)
{
    if (r != NULL)
        scr_table_fini(&r->files);
    free(r);
}

void scr_rank2file_fini(struct scr_rank2file *l)
{
    for (size_t i = 0; i < l->n; i++)
        rank_free(l->of[i]);
    free(l->of);
    *l = (struct scr_rank2file){ 0 };
}

int scr_rank2file_ok(const struct scr_rank2file *l)
{
    int ok = !l->lost;
    for (size_t i = 0; i < l->n && ok; i++)
        ok = scr_table_ok(&l->of[i]->files);
    return ok;
}

size_t scr_rank2file_num_files(const struct scr_rank2file *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += l->of[i]->files.n;
    return n;
}

uint64_t scr_rank2file_bytes(const struct scr_rank2file *l)
{
    uint64_t bytes = 0;
    for (SCR_LISTED(f, l))
        bytes += f->size;
    return bytes;
}

/* --- ranks --- */

/* Where the entry is, or would be. */
static size_t place_of(struct scr_rank_files *const *of, size_t n, int rank)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (of[mid]->rank < rank)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

struct scr_rank_files *scr_rank2file_rank(const struct scr_rank2file *l, int rank)
{
    size_t at = place_of(l->of, l->n, rank);
    return at < l->n && l->of[at]->rank == rank ? l->of[at] : NULL;
}

/* Room for so many more. */
static int has_room(struct scr_rank2file *l, size_t more)
{
    size_t room = l->room == 0 ? 4 : l->room;
    while (room < l->n + more)
        room *= 2;
    if (room == l->room)
        return 1;
    struct scr_rank_files **of = scr_reallocarray(l->of, room, sizeof(void *));
    if (of == NULL)
        return 0;
    l->of = of;
    l->room = room;
    return 1;
}

static int insert(struct scr_rank2file *l, struct scr_rank_files *r)
{
    size_t at = place_of(l->of, l->n, r->rank);
    struct scr_rank_files **of = scr_insert(l->of, at, &l->n, &l->room, sizeof *of);
    if (of == NULL)
        return 0;
    l->of = of;
    of[at] = r;
    return 1;
}

struct scr_rank_files *scr_rank2file_add_rank(struct scr_rank2file *l, int rank)
{
    struct scr_rank_files *r = scr_rank2file_rank(l, rank);
    if (r != NULL)
        return r;
    if ((r = scr_calloc(1, sizeof *r)) != NULL) {
        r->rank = rank;
        scr_table_init(&r->files, sizeof(struct scr_listed));
        if (insert(l, r))
            return r;
    }
    rank_free(r);
    l->lost = 1;
    return NULL;
}

struct scr_listed *scr_rank2file_add_file(struct scr_rank2file *l, int rank,
                                          const char *path)
{
    struct scr_rank_files *r = scr_rank2file_add_rank(l, rank);
    return r != NULL ? scr_table_add(&r->files, path) : NULL;
}

/* Merges n entries of other ranks; there is room. Items between two of their places are
 * moved together, without a check. */
static void merge(struct scr_rank2file *to, struct scr_rank_files **of, size_t n)
{
    size_t last = to->n, end = to->n + n;
    to->n = end;
    while (n > 0) {
        struct scr_rank_files *r = of[--n];
        size_t at = place_of(to->of, last, r->rank);
        end -= last - at;
        memmove(&to->of[end], &to->of[at], (last - at) * sizeof *of);
        last = at;
        to->of[--end] = r;
    }
}

void scr_rank2file_take(struct scr_rank2file *to, struct scr_rank2file *from)
{
    size_t others = 0; /* entries of ranks that to has not: from begins with them */
    to->lost = to->lost || !scr_rank2file_ok(from);
    for (size_t i = 0; i < from->n; i++) {
        struct scr_rank_files *r = from->of[i];
        struct scr_rank_files *mine = scr_rank2file_rank(to, r->rank);
        from->of[i] = NULL;
        if (mine == NULL) {
            from->of[others++] = r;
            continue;
        }
        for (SCR_EACH(const struct scr_listed, f, &r->files))
            if (scr_listed_copy(&mine->files, f) == NULL)
                to->lost = 1;
        rank_free(r);
    }
    if (others > 0 && has_room(to, others)) {
        merge(to, from->of, others);
        from->n = 0;
    } else if (others > 0)
        to->lost = 1;
    scr_rank2file_fini(from);
}

/* --- files --- */

void scr_listed_set_size(struct scr_listed *f, uint64_t size)
{
    f->size = size;
    f->has_size = 1;
}

void scr_listed_set_crc(struct scr_listed *f, uint32_t crc)
{
    f->crc = crc;
    f->has_crc = 1;
}

void scr_listed_set_packed(struct scr_listed *f, const struct scr_packed *is)
{
    f->packed = *is;
    f->is_packed = 1;
}

void scr_listed_set_asked(struct scr_listed *f, struct scr_table *files,
                          const char *asked)
{
    f->asked =
        asked != NULL && *asked != '\0' ? scr_arena_text(&files->arena, asked) : NULL;
}

struct scr_listed *scr_listed_copy(struct scr_table *files,
                                   const struct scr_listed *from)
{
    struct scr_listed *f = scr_table_add(files, from->item.name);
    if (f == NULL)
        return NULL;
    struct scr_item item = f->item;
    *f = *from;
    f->item = item;
    scr_listed_set_asked(f, files, from->asked);
    return scr_table_ok(files) ? f : NULL;
}

char *scr_listed_stored(const struct scr_listed *f)
{
    return f->is_packed ? scr_asprintf("%s.zst", f->item.name)
                        : scr_strdup(f->item.name);
}

/* --- keys --- */

/* In this order they are looked for; WORDS: none of them. */
enum word {
    SIZE,
    CRC,
    ASKED,
    SHARED,
    ZSTD,
    COMPLETE,
    FILES,
    RANK,
    LEVEL,
    RANKS,
    OFFSET,
    WORDS
};
static const char *const words[WORDS] = { "SIZE",  "CRC",      "ASKED", "SHARED",
                                          "ZSTD",  "COMPLETE", "FILE",  "RANK",
                                          "LEVEL", "RANKS",    "OFFSET" };

/* --- writing --- */

static void pack_size_and_crc(struct scr_str *s, const uint64_t *size,
                              const uint32_t *crc)
{
    if (size != NULL)
        scr_pack_u64(s, words[SIZE], *size);
    if (crc != NULL)
        scr_pack_crc(s, words[CRC], *crc);
}

static void pack_file(struct scr_str *s, const struct scr_listed *f)
{
    scr_pack_key(s, f->item.name);
    scr_pack_count(s, (size_t)((f->asked != NULL) + (f->is_shared != 0) +
                               (f->is_incomplete != 0) + (f->is_packed != 0) +
                               (f->has_size != 0) + (f->has_crc != 0)));
    if (f->asked != NULL)
        scr_pack_val(s, words[ASKED], f->asked);
    if (f->is_shared)
        scr_pack_val(s, words[SHARED], "1");
    if (f->is_incomplete)
        scr_pack_val(s, words[COMPLETE], "0");
    if (f->is_packed) {
        scr_pack_key(s, words[ZSTD]);
        scr_pack_count(s, 2);
        pack_size_and_crc(s, &f->packed.size, &f->packed.crc);
    }
    pack_size_and_crc(s, f->has_size ? &f->size : NULL, f->has_crc ? &f->crc : NULL);
}

static void pack_rank(struct scr_str *s, const struct scr_rank_files *r)
{
    scr_pack_key_int(s, r->rank);
    scr_pack_count(s, r->files.n > 0);
    if (r->files.n > 0) {
        scr_pack_key(s, words[FILES]);
        scr_pack_count(s, r->files.n);
    }
    for (SCR_EACH(const struct scr_listed, f, &r->files))
        pack_file(s, f);
    if (!scr_table_ok(&r->files))
        scr_str_spoil(s);
}

void scr_rank_files_pack(struct scr_str *s, const struct scr_rank_files *r)
{
    scr_pack_count(s, 1);
    scr_pack_key(s, words[RANK]);
    scr_pack_count(s, 1);
    pack_rank(s, r);
}

/* LEVEL and RANKS, and RANK with n elements to follow. */
static void pack_top(struct scr_str *s, int level, int ranks, size_t n)
{
    scr_pack_count(s, n > 0 ? 3 : 2);
    scr_pack_i64(s, words[LEVEL], level);
    scr_pack_i64(s, words[RANKS], ranks);
    if (n == 0)
        return;
    scr_pack_key(s, words[RANK]);
    scr_pack_count(s, n);
}

void scr_rank2file_pack(struct scr_str *s, const struct scr_rank2file *l)
{
    pack_top(s, 0, l->ranks, l->n);
    for (size_t i = 0; i < l->n; i++)
        pack_rank(s, l->of[i]);
    if (!scr_rank2file_ok(l))
        scr_str_spoil(s);
}

char *scr_rank2file_part_name(int level, int part)
{
    return scr_asprintf(".%d.%d", level - 1, part);
}

void scr_rank2file_root_pack(struct scr_str *s, const struct scr_rank2file_root *root)
{
    pack_top(s, root->level, root->ranks, root->n);
    for (size_t i = 0; i < root->n; i++) {
        char *name = scr_rank2file_part_name(root->level, root->part[i]);
        scr_pack_key_int(s, root->part[i]);
        scr_pack_count(s, 2);
        if (name != NULL)
            scr_pack_val(s, words[FILES], name);
        else
            scr_str_spoil(s);
        scr_pack_i64(s, words[OFFSET], 0);
        free(name);
    }
}

/* --- reading --- */

struct reader {
    struct scr_cursor c;
    const char *what, *where; /* is wrong, where the cursor alone could not say it */
    int level, ranks;
    int has_list;
    struct scr_cursor list; /* what is below RANK */
};

static void refuse(struct reader *u, const char *what, const char *where)
{
    if (u->c.wrong != NULL)
        return;
    u->what = what;
    u->where = where;
    scr_cursor_refuse(&u->c, what);
}

static int reader_end(struct reader *u, struct scr_err *err)
{
    return u->what != NULL
               ? scr_fail(err, SCR_E_CORRUPT, 0, "rank2file: %s %s", u->what, u->where)
               : scr_cursor_end(&u->c, 0, err);
}

/* The next key; *seen are those of this hash before. */
static enum word next_word(struct reader *u, unsigned *seen)
{
    const char *key = scr_cursor_key(&u->c);
    enum word w = 0;
    while (w < WORDS && strcmp(key, words[w]) != 0)
        w++;
    if (w < WORDS && (*seen & 1u << w) != 0)
        refuse(u, "key given twice:", key);
    *seen |= 1u << w;
    return w;
}

static int take_u64(struct reader *u, uint64_t *out)
{
    const char *val = scr_cursor_val(&u->c);
    return val != NULL && scr_parse_u64(val, out);
}

static int take_crc(struct reader *u, uint32_t *out)
{
    const char *val = scr_cursor_val(&u->c);
    return val != NULL && scr_parse_hex32(val, out);
}

static int take_int(struct reader *u, int *out)
{
    const char *val = scr_cursor_val(&u->c);
    return val != NULL && scr_parse_int(val, out);
}

/* 1 if SIZE and CRC exist. */
static int take_packed(struct reader *u, struct scr_packed *is)
{
    unsigned seen = 0;
    int sizes = 0, crcs = 0;
    for (size_t left = scr_cursor_enter(&u->c); left > 0; left--) {
        enum word w = next_word(u, &seen);
        if (w == SIZE)
            sizes = take_u64(u, &is->size);
        else if (w == CRC)
            crcs = take_crc(u, &is->crc);
        else
            scr_cursor_skip(&u->c);
    }
    return sizes && crcs;
}

/* Older writers leave SIZE and CRC out; what is there must be right. */
static void take_file(struct reader *u, struct scr_table *files, struct scr_listed *f)
{
    unsigned seen = 0;
    int complete = 1, frame_ok = 1;
    for (size_t left = scr_cursor_enter(&u->c); left > 0; left--)
        switch (next_word(u, &seen)) {
        case SIZE:
            f->has_size = 1;
            if (!take_u64(u, &f->size))
                refuse(u, "bad SIZE of", f->item.name);
            break;
        case CRC:
            f->has_crc = 1;
            if (!take_crc(u, &f->crc))
                refuse(u, "bad CRC of", f->item.name);
            break;
        case ASKED:
            scr_listed_set_asked(f, files, scr_cursor_val(&u->c));
            break;
        case COMPLETE:
            f->is_incomplete = take_int(u, &complete) && !complete;
            break;
        case ZSTD:
            f->is_packed = 1;
            frame_ok = take_packed(u, &f->packed);
            break;
        case SHARED:
            f->is_shared = 1;
            scr_cursor_skip(&u->c);
            break;
        default:
            scr_cursor_skip(&u->c);
        }
    if (!frame_ok || (f->is_packed && !f->has_size))
        refuse(u, "bad or missing SIZE or CRC of compressed", f->item.name);
}

static void take_files(struct reader *u, struct scr_table *files)
{
    for (size_t left = scr_cursor_enter(&u->c); left > 0; left--) {
        const char *path = scr_cursor_key(&u->c);
        size_t before = files->n;
        if (!scr_path_is_safe(path)) {
            refuse(u, "path outside the prefix directory:", path);
            return;
        }
        struct scr_listed *f = scr_table_add(files, path);
        if (f == NULL) {
            scr_cursor_no_memory(&u->c);
            return;
        }
        if (files->n == before)
            refuse(u, "key given twice:", path);
        take_file(u, files, f);
    }
}

/* A key of RANK. u->ranks: how many there are, 0: not known. */
static int take_rank_key(struct reader *u, const char **key)
{
    int rank = -1;
    *key = scr_cursor_key(&u->c);
    if (!scr_hash_key_int(*key, &rank) || rank < 0 ||
        (u->ranks > 0 && rank >= u->ranks))
        refuse(u, "no such rank:", *key);
    return rank;
}

static void take_ranks(struct reader *u, struct scr_rank2file *l)
{
    for (size_t ranks = scr_cursor_enter(&u->c); ranks > 0; ranks--) {
        unsigned seen = 0;
        size_t before = l->n;
        const char *key;
        int rank = take_rank_key(u, &key);
        struct scr_rank_files *r = NULL;
        if (u->c.wrong == NULL && (r = scr_rank2file_add_rank(l, rank)) == NULL)
            scr_cursor_no_memory(&u->c);
        if (r == NULL)
            return;
        if (l->n == before)
            refuse(u, "key given twice:", key);
        for (size_t left = scr_cursor_enter(&u->c); left > 0; left--)
            if (next_word(u, &seen) == FILES)
                take_files(u, &r->files);
            else
                scr_cursor_skip(&u->c);
    }
}

/* LEVEL and RANKS, which may come behind what is read by them. no_level: as its
 * writers knew none, it may be missing. */
static void take_top(struct reader *u, const void *buf, size_t n, int no_level)
{
    unsigned seen = 0;
    *u = (struct reader){ .level = no_level ? 0 : -1 };
    scr_cursor_init(&u->c, buf, n);
    for (size_t left = scr_cursor_enter(&u->c); left > 0; left--) {
        enum word w = next_word(u, &seen);
        if (w == LEVEL && !take_int(u, &u->level))
            u->level = -1;
        else if (w == RANKS && !take_int(u, &u->ranks))
            u->ranks = 0;
        else if (w == RANK)
            u->list = u->c;
        if (w != LEVEL && w != RANKS)
            scr_cursor_skip(&u->c);
    }
    if (u->c.left > 0)
        scr_cursor_refuse(&u->c, "bytes left over");
    if (u->level < 0 || u->level > SCR_RANK2FILE_LEVELS)
        refuse(u, "bad or missing", words[LEVEL]);
    if (u->ranks < 1)
        refuse(u, "bad or missing", words[RANKS]);
    u->has_list = (seen & 1u << RANK) != 0 && u->c.wrong == NULL;
}

static int take_part(struct reader *u, struct scr_rank2file *l, struct scr_err *err)
{
    if (u->level != 0)
        refuse(u, "LEVEL of a part is not", "0");
    int most = l->ranks;
    l->ranks = u->ranks;
    if (most > 0 && most < u->ranks)
        u->ranks = most;
    if (u->has_list && u->c.wrong == NULL) {
        u->c = u->list;
        take_ranks(u, l);
    }
    if (!scr_rank2file_ok(l))
        scr_cursor_no_memory(&u->c);
    int rc = reader_end(u, err);
    if (rc != SCR_OK)
        scr_rank2file_fini(l);
    return rc;
}

int scr_rank2file_unpack(const void *buf, size_t n, struct scr_rank2file *l,
                         struct scr_err *err)
{
    struct reader u;
    take_top(&u, buf, n, 0);
    return take_part(&u, l, err);
}

int scr_rank2file_from_hash(struct scr_rank2file *l, const scr_hash *part,
                            struct scr_err *err)
{
    struct reader u;
    struct scr_str s = SCR_STR_INIT;
    scr_hash_append(&s, part);
    TRY(!s.bad ? SCR_OK : scr_no_memory(err));
    take_top(&u, s.p, s.len, 1);
    int rc = take_part(&u, l, err);
    scr_str_free(&s);
    return rc;
}

int scr_rank_files_unpack(const void *buf, size_t n, struct scr_rank2file *l,
                          struct scr_err *err)
{
    struct scr_rank2file fresh = { 0 }, one = { 0 };
    struct reader u = { .ranks = l->ranks };
    scr_cursor_init(&u.c, buf, n);
    while (u.c.left > 0 && u.c.wrong == NULL) {
        unsigned seen = 0;
        for (size_t left = scr_cursor_enter(&u.c); left > 0; left--)
            if (next_word(&u, &seen) == RANK)
                take_ranks(&u, &one);
            else
                scr_cursor_skip(&u.c);
        scr_rank2file_take(&fresh, &one);
    }
    if (!scr_rank2file_ok(&fresh))
        scr_cursor_no_memory(&u.c);
    int rc;
    TRY_OUT(reader_end(&u, err));
    scr_rank2file_take(l, &fresh);
    /* Not all of l, which takes the parcels of many ranks one by one. */
    TRY_OUT(!l->lost ? SCR_OK : scr_no_memory(err));
out:
    scr_rank2file_fini(&fresh);
    return rc;
}

/* --- the root --- */

void scr_rank2file_root_fini(struct scr_rank2file_root *root)
{
    free(root->part);
    *root = (struct scr_rank2file_root){ 0 };
}

/* The name of a part is put after the name of the root, so only names of the form that
 * writers give are accepted. */
static void check_part_name(struct reader *u, const char *name, int part,
                            const char *key)
{
    char *want = scr_rank2file_part_name(u->level, part);
    if (want == NULL)
        scr_cursor_no_memory(&u->c);
    else if (name == NULL || strcmp(name, want) != 0)
        refuse(u, "bad name of part", key);
    free(want);
}

static int take_part_of(struct reader *u)
{
    unsigned seen = 0;
    uint64_t offset = 0;
    const char *key, *name = NULL;
    int part = take_rank_key(u, &key);
    for (size_t left = scr_cursor_enter(&u->c); left > 0; left--) {
        enum word w = next_word(u, &seen);
        if (w == FILES)
            name = scr_cursor_val(&u->c);
        else if (w == OFFSET && (!take_u64(u, &offset) || offset != 0))
            refuse(u, "bad OFFSET of part", key);
        else if (w != OFFSET)
            scr_cursor_skip(&u->c);
    }
    check_part_name(u, name, part, key);
    return part;
}

/* SCR_OK if no part is there twice, and all are of these ranks; SCR_E_ARG,
 * SCR_E_NOMEM. */
static int check_parts(const struct scr_rank2file_root *root)
{
    int *part = scr_calloc(root->n, sizeof *part);
    if (part == NULL)
        return SCR_E_NOMEM;
    int ok = 1;
    for (size_t i = 0; i < root->n; i++)
        part[i] = root->part[i];
    qsort(part, root->n, sizeof *part, scr_by_int);
    for (size_t i = 0; i < root->n && ok; i++)
        ok =
            part[i] >= 0 && part[i] < root->ranks && (i == 0 || part[i] != part[i - 1]);
    free(part);
    return ok ? SCR_OK : SCR_E_ARG;
}

static void take_parts(struct reader *u, struct scr_rank2file_root *root)
{
    size_t n = scr_cursor_enter(&u->c);
    root->part = scr_calloc(n, sizeof *root->part);
    if (root->part == NULL)
        scr_cursor_no_memory(&u->c);
    while (root->n < n && u->c.wrong == NULL)
        root->part[root->n++] = take_part_of(u);
    int rc = u->c.wrong == NULL ? check_parts(root) : SCR_OK;
    if (rc == SCR_E_NOMEM)
        scr_cursor_no_memory(&u->c);
    else if (rc != SCR_OK)
        refuse(u, "key given twice in", words[RANK]);
}

int scr_rank2file_root_unpack(const void *buf, size_t n,
                              struct scr_rank2file_root *root, struct scr_err *err)
{
    struct reader u;
    take_top(&u, buf, n, 0);
    *root = (struct scr_rank2file_root){ .level = u.level, .ranks = u.ranks };
    if (u.has_list && u.level > 0) {
        u.c = u.list;
        take_parts(&u, root);
    }
    int rc = reader_end(&u, err);
    if (rc != SCR_OK)
        scr_rank2file_root_fini(root);
    return rc;
}

/* --- separate files --- */

/* Entries ascend by rank. */
static int check_list(const char *path, const struct scr_rank2file *l,
                      struct scr_err *err)
{
    if (l->ranks < 1 ||
        (l->n > 0 && (l->of[0]->rank < 0 || l->of[l->n - 1]->rank >= l->ranks)))
        return scr_fail(err, SCR_E_ARG, 0, "write %s: not of the ranks of a run of %d",
                        path, l->ranks);
    for (SCR_LISTED(f, l)) {
        if (!scr_path_is_safe(f->item.name))
            return scr_fail(err, SCR_E_OUTSIDE, 0,
                            "write %s: path outside the prefix directory: %s", path,
                            f->item.name);
        if (f->is_packed && !f->has_size)
            return scr_fail(err, SCR_E_ARG, 0, "write %s: no SIZE of compressed %s",
                            path, f->item.name);
    }
    return SCR_OK;
}

static void pack_list(struct scr_str *s, const void *l)
{
    scr_rank2file_pack(s, l);
}

static void pack_root(struct scr_str *s, const void *root)
{
    scr_rank2file_root_pack(s, root);
}

int scr_rank2file_write(const struct scr_sys *sys, const char *path,
                        const struct scr_rank2file *l, struct scr_err *err)
{
    TRY(check_list(path, l, err));
    return scr_frame_replace(sys, path, pack_list, l, SCR_DURABLE, err);
}

int scr_rank2file_root_write(const struct scr_sys *sys, const char *path,
                             const struct scr_rank2file_root *root, struct scr_err *err)
{
    int ok = root->level >= 1 && root->level <= SCR_RANK2FILE_LEVELS && root->ranks > 0;
    int rc = ok ? check_parts(root) : SCR_E_ARG;
    if (rc != SCR_OK)
        return scr_fail(err, rc, 0, "write %s: parts of a run of %d", path,
                        root->ranks);
    return scr_frame_replace(sys, path, pack_root, root, SCR_DURABLE, err);
}

/* What a file is read into; each may be NULL, and of a root of parts there is no list.
 * A file without a byte is an empty hash, and not unpacked. */
struct target {
    struct scr_rank2file_root *root;
    struct scr_rank2file *list;
    int unpacked;
};

static int unpack_into(const void *packed, size_t n, void *into, struct scr_err *err)
{
    struct target *t = into;
    int rc = t->root ? scr_rank2file_root_unpack(packed, n, t->root, err) : SCR_OK;
    t->unpacked = 1;
    return rc != SCR_OK || t->list == NULL || (t->root != NULL && t->root->level > 0)
               ? rc
               : scr_rank2file_unpack(packed, n, t->list, err);
}

static int read_frame(const struct scr_sys *sys, const char *path, struct target t,
                      struct scr_err *err)
{
    int rc = scr_frame_read(sys, path, unpack_into, &t, err);
    return rc == SCR_OK && !t.unpacked
               ? scr_fail(err, SCR_E_CORRUPT, 0, "read %s: rank2file: it is empty",
                          path)
               : rc;
}

int scr_rank2file_read(const struct scr_sys *sys, const char *path,
                       struct scr_rank2file *l, struct scr_err *err)
{
    return read_frame(sys, path, (struct target){ .list = l }, err);
}

int scr_rank2file_root_read(const struct scr_sys *sys, const char *path,
                            struct scr_rank2file_root *root, struct scr_rank2file *list,
                            struct scr_err *err)
{
    *root = (struct scr_rank2file_root){ 0 };
    return read_frame(sys, path, (struct target){ .root = root, .list = list }, err);
}
