/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of one file: a struct, and its packed hash. */
#include "fmt/meta.h"

#include "base/path.h"
#include "base/str.h"
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const text_keys[SCR_META_TEXTS] = { "FILE", "ORIG", "PATH",
                                                       "NAME", "TYPE", "ASKED" };

/* Where a number is in the struct, as what, and what it may be. FLAG: nowhere, it is 1
 * if it is recorded. */
enum kind { FLAG, INT, U32, I64, U64 };
static const struct number {
    const char *key;
    size_t at;
    enum kind kind;
    int64_t least, most; /* ids have no sign, which keeps them inside their type */
} numbers[SCR_META_NUMBERS] = {
    { "SHARED", 0, FLAG, 0, 0 },
    { "COMPLETE", offsetof(scr_meta, complete), INT, INT_MIN, INT_MAX },
    { "SIZE", offsetof(scr_meta, size), U64, 0, 0 },
    { "CRC", offsetof(scr_meta, crc), U32, 0, 0 },
    { "DSET", offsetof(scr_meta, dset), INT, INT_MIN, INT_MAX },
    { "RANK", offsetof(scr_meta, rank), INT, INT_MIN, INT_MAX },
    { "RANKS", offsetof(scr_meta, ranks), INT, INT_MIN, INT_MAX },
    { "MODE", offsetof(scr_meta, mode), U32, 0, 0177777 },
    { "UID", offsetof(scr_meta, uid), U32, 0, UINT32_MAX },
    { "GID", offsetof(scr_meta, gid), U32, 0, UINT32_MAX },
    { "ATIME_SECS", offsetof(scr_meta, secs[0]), I64, INT64_MIN, INT64_MAX },
    { "CTIME_SECS", offsetof(scr_meta, secs[1]), I64, INT64_MIN, INT64_MAX },
    { "MTIME_SECS", offsetof(scr_meta, secs[2]), I64, INT64_MIN, INT64_MAX },
};
static const char *const nsec_keys[] = { "ATIME_NSECS", "CTIME_NSECS", "MTIME_NSECS" };

/* --- life --- */

struct owner {
    scr_meta meta;
    struct scr_arena arena;
};

scr_meta *scr_meta_new(void)
{
    struct owner *o = scr_calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    o->meta.arena = &o->arena;
    return &o->meta;
}

void scr_meta_delete(scr_meta *m)
{
    if (m == NULL)
        return;
    scr_arena_free(m->arena);
    free(m);
}

/* A text that src could not have is missing in dst, too. */
static void share_loss(scr_meta *dst, const scr_meta *src)
{
    dst->arena->lost |= src != NULL && src->arena != NULL && src->arena->lost;
}

void scr_meta_copy(scr_meta *dst, const scr_meta *src)
{
    struct scr_arena *arena = dst->arena;
    if (dst == src)
        return;
    *dst = src != NULL ? *src : (scr_meta){ 0 };
    dst->arena = arena;
    for (int i = 0; i < SCR_META_TEXTS; i++)
        dst->text[i] = scr_arena_share(arena, dst->text[i]);
    share_loss(dst, src);
}

/* --- set --- */

void scr_meta_set_text(scr_meta *m, enum scr_meta_text t, const char *text)
{
    if (m == NULL ||
        (text != NULL && m->text[t] != NULL && strcmp(m->text[t], text) == 0))
        return;
    m->text[t] = scr_arena_share(m->arena, text);
}

static int has(const scr_meta *m, enum scr_meta_number n)
{
    return m != NULL && (m->has >> n & 1);
}

/* The number as 64 bits, SIZE without a sign. */
static int64_t number_of(const scr_meta *m, enum scr_meta_number n)
{
    const void *at = (const char *)m + numbers[n].at;
    switch (numbers[n].kind) {
    case FLAG:
        return 1;
    case INT:
        return *(const int *)at;
    case U32:
        return *(const uint32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

void scr_meta_set_number(scr_meta *m, enum scr_meta_number n, int64_t v)
{
    if (m == NULL)
        return;
    void *at = (char *)m + numbers[n].at;
    m->has |= 1u << n;
    switch (numbers[n].kind) {
    case FLAG:
        break;
    case INT:
        *(int *)at = (int)v;
        break;
    case U32:
        *(uint32_t *)at = (uint32_t)v;
        break;
    default:
        *(int64_t *)at = v;
    }
}

void scr_meta_set_filesize(scr_meta *m, uint64_t size)
{
    scr_meta_set_number(m, SCR_META_SIZE, (int64_t)size);
}

void scr_meta_set_dest(scr_meta *m, const char *dest)
{
    char *dir = scr_path_dir(dest);
    if (m != NULL && dir == NULL)
        m->arena->lost = 1;
    scr_meta_set_text(m, SCR_META_PATH, dir);
    scr_meta_set_text(m, SCR_META_NAME, scr_path_base(dest));
    free(dir);
}

void scr_meta_set_shared(scr_meta *m)
{
    scr_meta_set_number(m, SCR_META_SHARED, 1);
}

void scr_meta_set_crc32(scr_meta *m, uint32_t crc)
{
    scr_meta_set_number(m, SCR_META_CRC, crc);
}

void scr_meta_unset_crc32(scr_meta *m)
{
    if (m != NULL)
        m->has &= ~(1u << SCR_META_CRC);
}

static void set_time(scr_meta *m, enum scr_meta_number n, const struct timespec *t)
{
    scr_meta_set_number(m, n, t->tv_sec);
    m->nsecs[n - SCR_META_ATIME] = (uint32_t)t->tv_nsec;
}

void scr_meta_set_stat(scr_meta *m, const struct stat *st)
{
    if (m == NULL)
        return;
    scr_meta_set_number(m, SCR_META_MODE, st->st_mode);
    scr_meta_set_number(m, SCR_META_UID, st->st_uid);
    scr_meta_set_number(m, SCR_META_GID, st->st_gid);
    set_time(m, SCR_META_ATIME, &st->st_atim);
    set_time(m, SCR_META_CTIME, &st->st_ctim);
    set_time(m, SCR_META_MTIME, &st->st_mtim);
}

void scr_meta_set(scr_meta *m, const char *file, const char *type, uint64_t size,
                  struct scr_meta_of of, int complete)
{
    scr_meta_set_text(m, SCR_META_FILE, file);
    scr_meta_set_text(m, SCR_META_TYPE, type);
    scr_meta_set_filesize(m, size);
    scr_meta_set_number(m, SCR_META_DSET, of.dset);
    scr_meta_set_number(m, SCR_META_RANK, of.rank);
    scr_meta_set_number(m, SCR_META_RANKS, of.ranks);
    scr_meta_set_number(m, SCR_META_COMPLETE, complete);
}

/* --- get --- */

const char *scr_meta_text(const scr_meta *m, enum scr_meta_text t)
{
    return m != NULL ? m->text[t] : NULL;
}

int scr_meta_get_int(const scr_meta *m, enum scr_meta_number n, int *out)
{
    if (!has(m, n))
        return SCR_E_NOENT;
    *out = (int)number_of(m, n);
    return SCR_OK;
}

int scr_meta_is_full(const scr_meta *m)
{
    const char *type = scr_meta_text(m, SCR_META_TYPE);
    return type != NULL && strcmp(type, "FULL") == 0;
}

int scr_meta_get_filesize(const scr_meta *m, uint64_t *out)
{
    if (!has(m, SCR_META_SIZE))
        return SCR_E_NOENT;
    *out = m->size;
    return SCR_OK;
}

int scr_meta_is_shared(const scr_meta *m)
{
    return has(m, SCR_META_SHARED);
}

int scr_meta_get_crc32(const scr_meta *m, uint32_t *out)
{
    if (!has(m, SCR_META_CRC))
        return SCR_E_NOENT;
    *out = m->crc;
    return SCR_OK;
}

static void get_time(const scr_meta *m, enum scr_meta_number n, struct timespec *t)
{
    if (has(m, n)) {
        t->tv_sec = (time_t)m->secs[n - SCR_META_ATIME];
        t->tv_nsec = (long)m->nsecs[n - SCR_META_ATIME];
    }
}

int scr_meta_get_stat(const scr_meta *m, struct stat *out)
{
    if (m == NULL || m->has >> SCR_META_MODE == 0)
        return SCR_E_NOENT;
    if (has(m, SCR_META_MODE))
        out->st_mode = m->mode;
    if (has(m, SCR_META_UID))
        out->st_uid = m->uid;
    if (has(m, SCR_META_GID))
        out->st_gid = m->gid;
    get_time(m, SCR_META_ATIME, &out->st_atim);
    get_time(m, SCR_META_CTIME, &out->st_ctim);
    get_time(m, SCR_META_MTIME, &out->st_mtim);
    return SCR_OK;
}

int scr_meta_has_dest(const scr_meta *m)
{
    const char *dir = scr_meta_text(m, SCR_META_PATH);
    const char *name = scr_meta_text(m, SCR_META_NAME);
    return dir != NULL && name != NULL &&
           (strcmp(dir, ".") == 0 || scr_path_is_safe(dir)) &&
           strchr(name, '/') == NULL && scr_path_is_safe(name);
}

char *scr_meta_dest(const scr_meta *m)
{
    return scr_meta_has_dest(m)
               ? scr_path_join(m->text[SCR_META_PATH], m->text[SCR_META_NAME])
               : NULL;
}

/* --- both --- */

static uint32_t nsecs_of(const scr_meta *m, enum scr_meta_number n)
{
    return n >= SCR_META_ATIME ? m->nsecs[n - SCR_META_ATIME] : 0;
}

/* As an ambiguous value is read from a file: not at all. */
void scr_meta_merge(scr_meta *dst, const scr_meta *src)
{
    if (src == NULL || dst == src)
        return;
    share_loss(dst, src);
    for (int t = 0; t < SCR_META_TEXTS; t++)
        if (dst->text[t] == NULL)
            dst->text[t] = scr_arena_text(dst->arena, src->text[t]);
        else if (src->text[t] != NULL && strcmp(dst->text[t], src->text[t]) != 0)
            dst->text[t] = NULL;
    for (enum scr_meta_number n = 0; n < SCR_META_NUMBERS; n++) {
        int same = number_of(dst, n) == number_of(src, n) &&
                   nsecs_of(dst, n) == nsecs_of(src, n);
        if (!has(dst, n) && has(src, n)) {
            scr_meta_set_number(dst, n, number_of(src, n));
            if (n >= SCR_META_ATIME)
                dst->nsecs[n - SCR_META_ATIME] = nsecs_of(src, n);
        } else if (has(src, n) && !same) {
            dst->has &= ~(1u << n);
        }
    }
}

int scr_meta_same(const scr_meta *a, const scr_meta *b)
{
    int same = a->has == b->has;
    for (int t = 0; t < SCR_META_TEXTS && same; t++)
        same = a->text[t] == NULL || b->text[t] == NULL
                   ? a->text[t] == b->text[t]
                   : strcmp(a->text[t], b->text[t]) == 0;
    for (enum scr_meta_number n = 0; n < SCR_META_NUMBERS && same; n++)
        same = !has(a, n) ||
               (number_of(a, n) == number_of(b, n) && nsecs_of(a, n) == nsecs_of(b, n));
    return same;
}

/* --- bytes --- */

static size_t count_of(const scr_meta *m)
{
    size_t count = 0;
    for (int t = 0; t < SCR_META_TEXTS; t++)
        count += m->text[t] != NULL;
    for (enum scr_meta_number n = 0; n < SCR_META_NUMBERS; n++)
        count += (size_t)has(m, n) * (n >= SCR_META_ATIME ? 2 : 1);
    return count;
}

void scr_meta_pack(struct scr_str *s, const scr_meta *m)
{
    scr_pack_count(s, count_of(m));
    for (int t = 0; t < SCR_META_TEXTS; t++)
        if (m->text[t] != NULL)
            scr_pack_val(s, text_keys[t], m->text[t]);
    for (enum scr_meta_number n = 0; n < SCR_META_NUMBERS; n++) {
        if (!has(m, n))
            continue;
        if (n == SCR_META_CRC)
            scr_pack_crc(s, numbers[n].key, m->crc);
        else if (n == SCR_META_SIZE)
            scr_pack_u64(s, numbers[n].key, m->size);
        else
            scr_pack_i64(s, numbers[n].key, number_of(m, n));
        if (n >= SCR_META_ATIME)
            scr_pack_u64(s, nsec_keys[n - SCR_META_ATIME], nsecs_of(m, n));
    }
    if (m->arena->lost)
        scr_str_spoil(s);
}

static void take_number(scr_meta *m, enum scr_meta_number n, const char *val)
{
    int64_t v = 1;
    uint64_t size;
    uint32_t crc;
    if (n == SCR_META_CRC) {
        if (scr_parse_hex32(val, &crc))
            scr_meta_set_number(m, n, crc);
    } else if (n == SCR_META_SIZE) {
        if (scr_parse_u64(val, &size))
            scr_meta_set_number(m, n, (int64_t)size);
    } else if (numbers[n].kind == FLAG ||
               (scr_parse_i64(val, &v) && v >= numbers[n].least &&
                v <= numbers[n].most)) {
        scr_meta_set_number(m, n, v);
    }
}

static int index_of(const char *const *keys, int n, const char *key)
{
    int i = 0;
    while (i < n && strcmp(keys[i], key) != 0)
        i++;
    return i;
}

/* Of texts, then of numbers, then of nanoseconds; FIELDS: of none. */
enum { AT_NSECS = SCR_META_TEXTS + SCR_META_NUMBERS, FIELDS = AT_NSECS + 3 };
static int field_of(const char *key)
{
    int f = index_of(text_keys, SCR_META_TEXTS, key), n = 0;
    if (f < SCR_META_TEXTS)
        return f;
    while (n < SCR_META_NUMBERS && strcmp(numbers[n].key, key) != 0)
        n++;
    return n < SCR_META_NUMBERS ? f + n : AT_NSECS + index_of(nsec_keys, 3, key);
}

/* nsecs: bits of the times whose nanoseconds were found. */
static void take_field(scr_meta *m, int field, const char *val, uint32_t *nsecs)
{
    uint64_t v;
    if (val == NULL || field == FIELDS)
        return;
    if (field < SCR_META_TEXTS) {
        m->text[field] = scr_arena_share(m->arena, val);
    } else if (field < AT_NSECS) {
        take_number(m, (enum scr_meta_number)(field - SCR_META_TEXTS), val);
    } else if (scr_parse_u64(val, &v) && v <= 999999999) {
        m->nsecs[field - AT_NSECS] = (uint32_t)v;
        *nsecs |= 1u << (SCR_META_ATIME + field - AT_NSECS);
    }
}

/* Both halves of a time, or nothing. */
static void settle_times(scr_meta *m, uint32_t nsecs)
{
    const uint32_t times = 7u << SCR_META_ATIME;
    m->has &= ~times | nsecs;
}

void scr_meta_unpack(struct scr_cursor *c, scr_meta *m)
{
    uint32_t nsecs = 0, seen = 0;
    for (size_t left = scr_cursor_enter(c); left > 0; left--) {
        int field = field_of(scr_cursor_key(c));
        if (field < FIELDS && (seen >> field & 1))
            scr_cursor_refuse(c, "meta data: a field is given twice");
        seen |= 1u << field;
        take_field(m, field, scr_cursor_val(c), &nsecs);
    }
    settle_times(m, nsecs);
    if (m->arena->lost)
        scr_cursor_no_memory(c);
}

int scr_meta_to_hash(const scr_meta *m, scr_hash *h)
{
    struct scr_str s = SCR_STR_INIT;
    scr_meta_pack(&s, m);
    int rc = s.bad ? SCR_E_NOMEM : scr_hash_unpack(s.p, s.len, h, NULL, NULL);
    scr_str_free(&s);
    return rc;
}

int scr_meta_from_hash(scr_meta *m, const scr_hash *h)
{
    uint32_t nsecs = 0;
    for (SCR_HASH_EACH(e, h)) {
        const scr_hash *val = scr_hash_elem_hash(e);
        if (scr_hash_size(val) == 1)
            take_field(m, field_of(scr_hash_elem_key(e)),
                       scr_hash_elem_key(scr_hash_elem_first(val)), &nsecs);
    }
    settle_times(m, nsecs);
    return m->arena->lost ? SCR_E_NOMEM : SCR_OK;
}
