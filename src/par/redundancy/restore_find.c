/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, first part: the members of the set, and the files that should exist. */
#include <stdlib.h>

#include "base/path.h"
#include "base/str.h"
#include "par/redundancy/restoring.h"

/* --- the set --- */

int scr_restore_read_header(const struct scr_env *env, const char *path, int id,
                            int rank, struct scr_redhead *head, struct scr_err *err)
{
    const struct scr_redinfo *info = &head->info;
    int rc = scr_redhead_read(env, path, head, err);
    if (rc == SCR_OK && info->dset_id != id)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of dataset %d", path, info->dset_id);
    else if (rc == SCR_OK && info->set.world[info->set.member] != rank)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of rank %d", path,
                      info->set.world[info->set.member]);
    if (rc != SCR_OK)
        scr_redhead_fini(head);
    return rc;
}

/* The redundancy file the filemap names, read where this dataset's directory is now. */
void scr_restore_find_header(struct scr_restoring *s)
{
    int me = s->p->world->rank;
    struct scr_err *why = &s->header_why;
    for (struct scr_file *f = scr_filemap_first_file(s->map, s->r.id, me);
         f != NULL && !s->has_head; f = scr_file_next(f)) {
        enum scr_scheme scheme;
        int member, n, id;
        const char *base = scr_path_base(f->item.name);
        if (!scr_redfile_parse(base, &scheme, &member, &n, &id))
            continue;
        free(s->redfound);
        s->redfound = scr_asprintf("%s/.scr/%s", s->dset_dir, base);
        if (s->redfound == NULL)
            scr_no_memory(why);
        else
            s->has_head = scr_restore_read_header(s->p->env, s->redfound, s->r.id, me,
                                                  &s->head, why) == SCR_OK;
    }
    if (s->has_head)
        return;
    scr_fail(why, SCR_E_MISSING, 0, "none is recorded");
    scr_log(s->p->env->log, SCR_LOG_DEBUG,
            "rank %d, dataset %d: no redundancy file: %s", me, s->r.id, why->text);
}

/* A rank that lost its redundancy file may still have its filemap. */
static int find_known(struct scr_restoring *s, struct scr_err *err)
{
    if (s->has_head)
        s->known = s->head.info.set;
    else
        scr_setdesc_get(scr_filemap_get_desc(s->map, s->r.id, s->p->world->rank),
                        &s->known);
    if (s->known.ranks < 0 || s->known.ranks == s->p->world->size)
        return SCR_OK;
    return scr_fail(err, SCR_E_RANKS, 0, "it was written by %d ranks, not by %d",
                    s->known.ranks, s->p->world->size);
}

/* Ranks that know their set send it to the other members. The code is each rank's own.
 */
static int tell_members_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    struct scr_parcels out = { 0 }, in = { 0 };
    const struct scr_setdesc *known = &s->known;
    for (int i = 0; i < known->n && rc == SCR_OK; i++)
        if (known->world[i] != s->p->world->rank)
            rc = scr_parcel_bytes(&out, known->world[i], known, scr_setdesc_size(known),
                                  err);
    rc = scr_parcels_trade_all(s->p->world, rc, &out, &in, err);
    scr_parcels_free(&out);
    if (rc == SCR_OK && known->n == 0 && in.n > 0)
        (void)scr_setdesc_take(&s->known, in.of[0].bytes.p);
    scr_parcels_free(&in);
    return rc;
}

int scr_restore_doubt_all(const struct scr_comm *world, int rc,
                          const struct scr_err *unread, struct scr_err *err)
{
    int passes = scr_err_may_pass(unread->code), code = SCR_OK;
    if (rc != SCR_E_LOST || !scr_or_all(world, passes))
        return rc;
    scr_err_clear(err);
    if (passes)
        code = scr_fail(err, unread->code, 0,
                        "files that may suffice cannot be read: %s", unread->text);
    return scr_agree_all(world, code, err);
}

int scr_restore_find_set_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    const struct scr_comm *world = s->p->world;
    scr_restore_find_header(s);
    if (rc == SCR_OK)
        rc = find_known(s, err);
    rc = tell_members_all(s, rc, err);
    rc = scr_set_restore_all(world, &s->known, rc, &s->set, err);
    rc = scr_restore_doubt_all(world, rc, &s->header_why, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "dataset %d", s->r.id);
    return rc;
}

/* --- the meta data --- */

static int add_known(struct scr_current *c, const struct scr_entry *e)
{
    int rc = SCR_OK;
    for (SCR_EACH(struct scr_file, f, &e->files)) {
        enum scr_scheme s;
        const scr_meta *meta = scr_file_meta(f);
        if (rc == SCR_OK && !scr_scheme_parse(scr_meta_text(meta, SCR_META_TYPE), &s))
            rc = scr_current_add(c, meta);
    }
    return rc;
}

/* Own CURRENT from the filemap: when header and all copies of it are gone. NULL if that
 * does not have it; SCR_OK or SCR_E_NOMEM. */
static int current_from_map(const struct scr_restoring *s, struct scr_current **out)
{
    int me = s->p->world->rank;
    const struct scr_entry *e = scr_filemap_entry(s->map, s->r.id, me);
    *out = NULL;
    if (e == NULL || e->desc == NULL)
        return SCR_OK;
    struct scr_current *c = scr_current_new(me, e->desc, e->dataset);
    int rc = c != NULL ? add_known(c, e) : SCR_E_NOMEM;
    if (rc == SCR_OK && e->expected >= 0 && c->n == (size_t)e->expected) {
        c->has_chunk_crc = scr_hash_get_val_crc(e->tags, "CHUNKCRC", &c->chunk_crc);
        *out = c;
        return SCR_OK;
    }
    scr_current_delete(c);
    return rc;
}

/* The copies of a member's CURRENT lie with its right neighbours; the nearest that has
 * its header sends it. why: of each member, why it has none, SCR_OK if it has. */
static int send_copies(const struct scr_restoring *s, const int *why,
                       struct scr_parcels *out, struct scr_err *err)
{
    int n = s->set.n, me = s->set.me;
    int copies = scr_redfile_copies(n, s->known.failures);
    for (int j = 1; j <= copies && s->has_head; j++) {
        const struct scr_redcopy *copy = &s->head.copy[j - 1];
        int to = (me - j + n) % n, nearest = 1;
        for (int i = 1; i < j; i++)
            nearest = nearest && why[(to + i) % n] != SCR_OK;
        if (why[to] == SCR_OK || !nearest || copy->p == NULL)
            continue;
        struct scr_str *bytes = scr_parcel_to(out, to);
        if (bytes != NULL)
            scr_str_append_n(bytes, copy->p, copy->n);
        if (bytes == NULL || bytes->bad)
            return scr_no_memory(err);
    }
    return SCR_OK;
}

/* SCR_OK with NULL: it is nowhere. */
static int find_current(struct scr_restoring *s, const struct scr_parcels *copies,
                        struct scr_err *err)
{
    if (s->has_head) {
        s->r.current = s->head.current;
        s->head.current = NULL;
        return SCR_OK;
    }
    if (copies->n > 0)
        return scr_current_unpack(copies->of[0].bytes.p, copies->of[0].bytes.len,
                                  &s->r.current, err);
    return current_from_map(s, &s->r.current) == SCR_OK ? SCR_OK : scr_no_memory(err);
}

/* A rank that could not read its header might have known. */
static int refuse_unknown(const struct scr_restoring *s, const int *why,
                          struct scr_err *err)
{
    int me = s->p->world->rank;
    for (int i = 0; i < s->set.n; i++)
        if (scr_err_may_pass(why[i]))
            return scr_fail(err, why[i], 0,
                            "dataset %d: the list of files of rank %d may be in the "
                            "redundancy file of rank %d, which cannot be read",
                            s->r.id, me, s->set.world[i]);
    return scr_fail(
        err, SCR_E_LOST, 0,
        "dataset %d: rank %d and the neighbours that knew its files are lost", s->r.id,
        me);
}

static int take_current(struct scr_restoring *s, const struct scr_parcels *copies,
                        const int *why, struct scr_err *err)
{
    TRY(find_current(s, copies, err));
    if (s->r.current == NULL)
        return refuse_unknown(s, why, err);
    if (s->r.current->rank != s->p->world->rank)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: meta data of rank %d named as %d's", s->r.id,
                        s->r.current->rank, s->p->world->rank);
    return scr_redfile_files(s->r.current, s->r.rank_dir, &s->r.files, &s->r.nfiles,
                             &s->has_crc, err);
}

/* Every member gets its CURRENT and the list of its files. The code is each rank's own.
 */
static int find_current_all(struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_comm *c = &s->set.comm;
    int mine = s->has_head ? SCR_OK : s->header_why.code, lacks = 0;
    int why[SCR_EC_MAX];
    struct scr_parcels out = { 0 }, in = { 0 };
    int rc = scr_allgather_bytes_all(c, &mine, sizeof mine, why, err);
    for (int i = 0; rc == SCR_OK && i < s->set.n; i++)
        lacks = lacks || why[i] != SCR_OK;
    if (rc == SCR_OK)
        rc = send_copies(s, why, &out, err);
    if (lacks)
        rc = scr_parcels_trade_all(c, rc, &out, &in, err);
    if (rc == SCR_OK)
        rc = take_current(s, &in, why, err);
    scr_parcels_free(&out);
    scr_parcels_free(&in);
    return rc;
}

/* Scheme and failures are the same on all members: one that does not remember them
 * cannot be computed with. The code is each rank's own. */
static int find_geom_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    if (rc == SCR_OK && s->known.failures < 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "dataset %d: no scheme of its redundancy",
                      s->r.id);
    rc = scr_redset_geom_all(&s->r, s->known.scheme, s->known.failures, rc, err);
    if (rc == SCR_OK && s->has_head && s->head.info.chunk != s->r.g.chunk)
        rc = scr_fail(
            err, SCR_E_CORRUPT, 0, "dataset %d: chunk of %llu bytes, not %llu", s->r.id,
            (unsigned long long)s->head.info.chunk, (unsigned long long)s->r.g.chunk);
    return rc;
}

int scr_restore_find_files_all(struct scr_restoring *s, struct scr_err *err)
{
    int rc = find_current_all(s, err);
    return find_geom_all(s, rc, err);
}
