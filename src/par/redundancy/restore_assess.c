/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, second part: what is left of the files, and whether it suffices. */
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "par/redundancy/restoring.h"

static int size_of(const struct scr_restoring *s, const char *path, uint64_t *size,
                   struct scr_err *err)
{
    struct stat st;
    int rc;
    TRY_OUT(scr_file_stat(s->p->env->sys, path, &st, err));
    if (!S_ISREG(st.st_mode))
        TRY_OUT(scr_fail(err, SCR_E_UNSAFE, 0, "%s: not a regular file", path));
out:
    *size = rc == SCR_OK ? (uint64_t)st.st_size : 0;
    return rc;
}

static int check_file(const struct scr_restoring *s, const struct scr_member_file *f,
                      int deep, struct scr_err *err)
{
    uint64_t size = 0;
    uint32_t crc = f->crc;
    TRY(deep ? scr_file_crc32(s->p->env, f->path, 0, &size, &crc, err)
             : size_of(s, f->path, &size, err));
    if (size != f->size)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: %llu bytes, recorded are %llu",
                        f->path, (unsigned long long)size, (unsigned long long)f->size);
    if (s->has_crc && crc != f->crc)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: crc32 0x%08x, recorded is 0x%08x",
                        f->path, crc, f->crc);
    return SCR_OK;
}

static int check_parity_size(const char *path, uint64_t size, uint64_t want,
                             struct scr_err *err)
{
    return size == want
               ? SCR_OK
               : scr_fail(err, SCR_E_MISSING, 0, "%s: %llu bytes of parity, not %llu",
                          path, (unsigned long long)size, (unsigned long long)want);
}

/* Size, which shall be want, and CRC of the bytes behind the header of the redundancy
 * file at path. */
static int check_parity_bytes(const struct scr_restoring *s, const char *path,
                              uint64_t want, const struct scr_current *c,
                              struct scr_err *err)
{
    uint64_t size = 0;
    uint32_t crc = 0;
    TRY(scr_file_crc32(s->p->env, path, s->head.bytes, &size, &crc, err));
    TRY(check_parity_size(path, size, want, err));
    if (c->has_chunk_crc && crc != c->chunk_crc)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "%s: crc32 of parity 0x%08x, recorded is 0x%08x", path, crc,
                        c->chunk_crc);
    return SCR_OK;
}

/* *size: bytes behind the header. How many they should be is known when the lengths of
 * all members are: the first look, not deep, returns them. */
static int check_parity(const struct scr_restoring *s, int deep, uint64_t *size,
                        struct scr_err *err)
{
    if (!s->has_head)
        return scr_fail(
            err,
            scr_err_may_pass(s->header_why.code) ? s->header_why.code : SCR_E_MISSING,
            0, "%s: no good redundancy file: %s", s->r.redpath, s->header_why.text);
    if (strcmp(s->redfound, s->r.redpath) != 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: should be %s", s->redfound,
                        s->r.redpath);
    if (deep)
        return check_parity_bytes(s, s->r.redpath,
                                  scr_geom_parity_bytes(&s->r.g, s->set.me),
                                  s->r.current, err);
    TRY(size_of(s, s->r.redpath, size, err));
    *size -= s->head.bytes;
    return SCR_OK;
}

static void note_miss(struct scr_restoring *s, int part, const struct scr_err *why,
                      struct scr_sight *seen)
{
    int passes = scr_err_may_pass(why->code);
    if (passes)
        seen->unread |= part;
    else
        seen->lost |= part;
    if (s->why.code == SCR_OK || (passes && !scr_err_may_pass(s->why.code)))
        s->why = *why;
    s->lost_files++;
}

static struct scr_sight look(struct scr_restoring *s, int deep)
{
    struct scr_sight seen = { 0 };
    s->lost_files = 0;
    scr_err_clear(&s->why);
    for (size_t i = 0; i < s->r.nfiles; i++) {
        struct scr_err why = SCR_ERR_INIT;
        if (check_file(s, &s->r.files[i], deep, &why) != SCR_OK)
            note_miss(s, SCR_HAVE_DATA, &why, &seen);
    }
    struct scr_err why = SCR_ERR_INIT;
    if (check_parity(s, deep, &seen.parity, &why) != SCR_OK)
        note_miss(s, SCR_HAVE_PARITY, &why, &seen);
    return seen;
}

/* World ranks, for messages: "0,2,4"; with have, of those members that lack something.
 */
static char *name_members(const struct scr_set *set, const int *have)
{
    struct scr_str text = SCR_STR_INIT;
    for (int i = 0; i < set->n; i++)
        if (have == NULL || have[i] != SCR_HAVE_ALL)
            scr_str_printf(&text, "%s%d", text.len > 0 ? "," : "", set->world[i]);
    return scr_str_take(&text);
}

/* Whether the remaining files suffice, or would with those that could not be read.
 * Unreadable files are computed from the rest, like lost ones. */
static int suffices(struct scr_restoring *s, int with_unread)
{
    for (int i = 0; i < s->set.n; i++)
        s->have[i] =
            SCR_HAVE_ALL & ~s->seen[i].lost & ~(with_unread ? 0 : s->seen[i].unread);
    return scr_geom_recoverable(&s->r.g, s->have);
}

/* The member at fault says which ranks and what it found first; the others stay silent,
 * so that its text is the one all ranks get. At fault is who could not read what would
 * suffice. */
static int refuse(const struct scr_restoring *s, int would_suffice, struct scr_err *err)
{
    const struct scr_geom *g = &s->r.g;
    const struct scr_sight *mine = &s->seen[s->set.me];
    if (would_suffice ? mine->unread == 0 : s->have[s->set.me] == SCR_HAVE_ALL)
        return SCR_OK;
    char *lost = name_members(&s->set, s->have);
    char *all = name_members(&s->set, NULL);
    int rc = scr_fail(err, would_suffice ? s->why.code : SCR_E_LOST, 0,
                      "dataset %d: ranks %s of the set %s have lost files%s, %s "
                      "rebuilds %d: %s",
                      s->r.id, lost != NULL ? lost : "?", all != NULL ? all : "?",
                      would_suffice ? " or cannot read them" : "",
                      scr_scheme_name(g->scheme), g->k, s->why.text);
    free(lost);
    free(all);
    return rc;
}

/* When s->seen has what all members saw. */
static int judge(struct scr_restoring *s, struct scr_err *err)
{
    if (s->lost_files > 0)
        scr_log(s->p->env->log, SCR_LOG_INFO, "rank %d, dataset %d: %s",
                s->p->world->rank, s->r.id, s->why.text);
    for (int i = 0; i < s->set.n; i++)
        s->seen[i].unread &= ~s->seen[i].lost; /* of several files of a part one that
                                                  is gone decides */
    int would = suffices(s, 1);
    s->suffices = suffices(s, 0);
    return s->suffices ? SCR_OK : refuse(s, would, err);
}

int scr_restore_read_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    struct scr_sight mine =
        rc == SCR_OK ? look(s, 1) : (struct scr_sight){ .failed = 1 };
    rc = scr_first(
        rc, scr_allgather_bytes_all(&s->set.comm, &mine, sizeof mine, s->seen, err));
    s->suffices = 0;
    for (int i = 0; i < s->set.n; i++)
        if (rc != SCR_OK || s->seen[i].failed)
            return rc;
    return judge(s, err);
}

int scr_restore_is_whole(const struct scr_restoring *s)
{
    for (int i = 0; i < s->set.n; i++)
        if (s->have[i] != SCR_HAVE_ALL)
            return 0;
    return 1;
}

/* What a member has left, for the first look at its set. */
struct remains {
    struct scr_lengths lengths;
    struct scr_sight seen;
    int has_head;
    uint64_t chunk; /* by its header */
};

/* Scheme and failures are the same on all members: one that does not remember them
 * cannot be computed with. */
static int list_remains(struct scr_restoring *s, struct remains *mine, int rc,
                        struct scr_err *err)
{
    s->r.g.scheme = s->known.scheme; /* for the name of the redundancy file */
    s->r.g.k = s->known.failures;
    scr_geom_weaken(&s->r.g.scheme, &s->r.g.k, s->set.n);
    if (rc == SCR_OK && s->known.failures < 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "dataset %d: no scheme of its redundancy",
                      s->r.id);
    if (rc == SCR_OK && (s->r.redpath = scr_redset_path(&s->r, s->dset_dir)) == NULL)
        rc = scr_no_memory(err);
    rc = scr_redset_measure(&s->r, rc, &mine->lengths, err);
    if (rc == SCR_OK)
        mine->seen = look(s, 0);
    mine->has_head = s->has_head;
    mine->chunk = s->head.info.chunk;
    return rc;
}

/* Compares member i with the geometry, which is known now. 0 if its header is of
 * another one: the error is the member's. */
static int compare(struct scr_restoring *s, int i, const struct remains *of, int *rc,
                   struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const struct scr_geom *g = &s->r.g;
    struct scr_sight *seen = &s->seen[i];
    *seen = of->seen;
    if (of->has_head && of->chunk != g->chunk) {
        if (i == s->set.me)
            *rc = scr_fail(err, SCR_E_CORRUPT, 0,
                           "dataset %d: chunk of %llu bytes, not %llu", s->r.id,
                           (unsigned long long)of->chunk, (unsigned long long)g->chunk);
        return 0;
    }
    if (!((seen->lost | seen->unread) & SCR_HAVE_PARITY) &&
        check_parity_size(s->r.redpath, seen->parity, scr_geom_parity_bytes(g, i),
                          &why) != SCR_OK) {
        seen->lost |= SCR_HAVE_PARITY;
        if (i == s->set.me)
            note_miss(s, SCR_HAVE_PARITY, &why, seen);
    }
    return 1;
}

/* The rebuild reads every byte and checks it on the way; without one it is done here.
 */
int scr_restore_assess_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    int n = s->set.n, good = 1;
    struct remains mine = { .has_head = 0 }, all[SCR_EC_MAX];
    struct scr_lengths lengths[SCR_EC_MAX];
    rc = list_remains(s, &mine, rc, err);
    int rc1 = scr_allgather_bytes_all(&s->set.comm, &mine, sizeof mine, all, err);
    if ((rc = scr_first(rc, rc1)) != SCR_OK)
        return rc;
    for (int i = 0; i < n; i++) {
        lengths[i] = all[i].lengths;
        if (lengths[i].failed)
            return SCR_OK;
    }
    TRY(scr_redset_lay_out(&s->r, s->known.scheme, s->known.failures, lengths, err));
    for (int i = 0; i < n; i++)
        good &= compare(s, i, &all[i], &rc, err);
    if (good)
        rc = judge(s, err);
    return s->suffices && scr_restore_is_whole(s) ? scr_restore_read_all(s, rc, err)
                                                  : rc;
}

/* --- without a set --- */

/* The header is that of the file it is in. */
static int is_named_so(const struct scr_restoring *s)
{
    const struct scr_redinfo *info = &s->head.info;
    enum scr_scheme scheme;
    int member, n, id;
    return scr_redfile_parse(scr_path_base(s->redfound), &scheme, &member, &n, &id) &&
           scheme == info->set.scheme && member == info->set.member &&
           n == info->set.n && id == info->set.id &&
           info->set.ranks == s->p->world->size;
}

/* The redundancy file is as it was written, of the size that the filemap has: how long
 * parity is depends on the others, and there may be no checksum of it. */
static int has_good_parity(const struct scr_restoring *s)
{
    uint64_t want = 0;
    const scr_meta *meta =
        scr_filemap_get_meta(s->map, s->r.id, s->p->world->rank, s->redfound);
    return scr_meta_get_filesize(meta, &want) == SCR_OK &&
           check_parity_bytes(s, s->redfound, want - s->head.bytes, s->head.current,
                              NULL) == SCR_OK;
}

/* All that the header lists, and the filemap has just these. */
static int has_good_files(const struct scr_restoring *s)
{
    const struct scr_current *c = s->head.current;
    struct scr_restoring own = *s; /* whether there are CRCs */
    struct scr_member_file *files = NULL;
    size_t n = 0;
    int have = scr_filemap_num_files(s->map, s->r.id, s->p->world->rank);
    int good = c->files.n == 0 && (size_t)have == c->n + 1 &&
               scr_current_list(c, &files, &n, &own.has_crc, NULL) == SCR_OK;
    for (size_t i = 0; i < n && good; i++)
        good = check_file(&own, &files[i], 1, NULL) == SCR_OK;
    free(files);
    return good;
}

int scr_restore_has_all(struct scr_restoring *s)
{
    scr_restore_find_header(s);
    return s->has_head && is_named_so(s) &&
           s->head.current->rank == s->p->world->rank && has_good_files(s) &&
           has_good_parity(s);
}
