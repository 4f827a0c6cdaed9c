/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, second part: what is left of the files, and whether it suffices. */
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "par/restoring.h"

static int check_file(const struct scr_restoring *s, const struct scr_member_file *f,
                      int deep, struct scr_err *err)
{
    uint64_t size = 0;
    uint32_t crc = f->crc;
    struct stat st;
    int rc = scr_file_stat(s->p->env->sys, f->path, &st, err);
    if (rc != SCR_OK)
        return rc;
    if (!S_ISREG(st.st_mode))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s: not a regular file", f->path);
    size = (uint64_t)st.st_size;
    if (size == f->size && deep)
        rc = scr_file_crc32(s->p->env, f->path, 0, &size, &crc, err);
    if (rc != SCR_OK)
        return rc;
    if (size != f->size)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: %llu bytes, recorded are %llu",
                        f->path, (unsigned long long)size, (unsigned long long)f->size);
    if (s->has_crc && crc != f->crc)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: crc32 0x%08x, recorded is 0x%08x",
                        f->path, crc, f->crc);
    return SCR_OK;
}

/* Size and, if deep, CRC of the bytes behind the header. */
static int check_parity_bytes(const struct scr_restoring *s, int deep,
                              struct scr_err *err)
{
    uint64_t size = 0, want = s->head.bytes + scr_geom_parity_bytes(&s->r.g, s->set.me);
    uint32_t crc = 0;
    const struct scr_current *c = s->r.current;
    struct stat st;
    int rc = scr_file_stat(s->p->env->sys, s->r.redpath, &st, err);
    if (rc != SCR_OK)
        return rc;
    if ((uint64_t)st.st_size != want)
        return scr_fail(err, SCR_E_MISSING, 0, "%s: %lld bytes, not %llu", s->r.redpath,
                        (long long)st.st_size, (unsigned long long)want);
    if (!deep)
        return SCR_OK;
    rc = scr_file_crc32(s->p->env, s->r.redpath, s->head.bytes, &size, &crc, err);
    if (rc == SCR_OK && c->has_chunk_crc && crc != c->chunk_crc)
        rc = scr_fail(err, SCR_E_CORRUPT, 0,
                      "%s: crc32 of parity 0x%08x, recorded is 0x%08x", s->r.redpath,
                      crc, c->chunk_crc);
    return rc;
}

static int check_parity(const struct scr_restoring *s, int deep, struct scr_err *err)
{
    if (!s->has_head)
        return scr_fail(
            err,
            scr_err_may_pass(s->header_why.code) ? s->header_why.code : SCR_E_MISSING,
            0, "%s: no good redundancy file: %s", s->r.redpath, s->header_why.text);
    if (strcmp(s->redfound, s->r.redpath) != 0)
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: should be %s", s->redfound,
                        s->r.redpath);
    return check_parity_bytes(s, deep, err);
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
    struct scr_sight seen = { 0, 0 };
    s->lost_files = 0;
    scr_err_clear(&s->why);
    for (size_t i = 0; i < s->r.nfiles; i++) {
        struct scr_err why = SCR_ERR_INIT;
        if (check_file(s, &s->r.files[i], deep, &why) != SCR_OK)
            note_miss(s, SCR_HAVE_DATA, &why, &seen);
    }
    struct scr_err why = SCR_ERR_INIT;
    if (check_parity(s, deep, &why) != SCR_OK)
        note_miss(s, SCR_HAVE_PARITY, &why, &seen);
    if (s->lost_files > 0)
        scr_log(s->p->env->log, SCR_LOG_INFO, "rank %d, dataset %d: %s",
                s->p->world->rank, s->r.id, s->why.text);
    seen.unread &= ~seen.lost; /* of several files of a part one that is gone decides */
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

/* Whether what is left suffices, or would with what could not be read. What could not
 * be read is computed from the rest, as what is lost is. */
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

int scr_restore_look_all(struct scr_restoring *s, int deep, struct scr_err *err)
{
    struct scr_sight mine = look(s, deep);
    int rc = scr_allgather_bytes_all(&s->set.comm, &mine, sizeof mine, s->seen, err);
    int would = rc == SCR_OK && suffices(s, 1);
    if (rc == SCR_OK && !suffices(s, 0))
        rc = refuse(s, would, err);
    return rc;
}

int scr_restore_is_whole(const struct scr_restoring *s)
{
    for (int i = 0; i < s->set.n; i++)
        if (s->have[i] != SCR_HAVE_ALL)
            return 0;
    return 1;
}

int scr_restore_assess_all(struct scr_restoring *s, struct scr_err *err)
{
    s->r.redpath = scr_redset_path(&s->r, s->dset_dir);
    s->have = scr_calloc((size_t)s->set.n, sizeof *s->have);
    s->seen = scr_calloc((size_t)s->set.n, sizeof *s->seen);
    int rc = SCR_OK;
    if (s->r.redpath == NULL || s->have == NULL || s->seen == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "redundancy set of %d members", s->set.n);
    rc = scr_set_agree_all(&s->set, rc, err);
    if (rc == SCR_OK)
        rc = scr_restore_look_all(s, 0, err);
    /* The rebuild reads every byte and checks it on the way; without one it is done
     * here. */
    rc = scr_set_agree_all(&s->set, rc, err);
    return rc == SCR_OK && scr_restore_is_whole(s) ? scr_restore_look_all(s, 1, err)
                                                   : rc;
}
