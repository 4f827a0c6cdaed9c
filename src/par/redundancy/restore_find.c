/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, first part: the members of the set, and the files that should exist. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "par/comm/stream.h"
#include "par/redundancy/restoring.h"

/* --- the set --- */

/* Of a header that was read with code rc. */
static int check_header(const char *path, int id, int rank, struct scr_redhead *head,
                        int rc, struct scr_err *err)
{
    const struct scr_redinfo *info = &head->info;
    if (rc == SCR_OK && info->dset_id != id)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of dataset %d", path, info->dset_id);
    else if (rc == SCR_OK && info->set.world[info->set.member] != rank)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of rank %d", path,
                      info->set.world[info->set.member]);
    if (rc != SCR_OK)
        scr_redhead_fini(head);
    return rc;
}

int scr_restore_read_header(const struct scr_env *env, const char *path, int id,
                            int rank, struct scr_redhead *head, struct scr_err *err)
{
    int rc = scr_redhead_read(env, path, head, err);
    return check_header(path, id, rank, head, rc, err);
}

/* Where the list of this rank's files is read to. */
static struct scr_shelf shelf_of(const struct scr_restoring *s)
{
    struct scr_file *first = scr_filemap_first_file(s->map, s->r.id, s->p->world->rank);
    return (struct scr_shelf){ s->r.rank_dir, scr_shelf_next(first) };
}

static int read_own(struct scr_restoring *s)
{
    struct scr_shelf shelf = shelf_of(s);
    int rc =
        scr_redhead_shelve(s->p->env, s->redfound, &shelf, &s->head, &s->header_why);
    return check_header(s->redfound, s->r.id, s->p->world->rank, &s->head, rc,
                        &s->header_why);
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
            s->has_head = read_own(s) == SCR_OK;
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
    return scr_fail(err, SCR_E_RANKS, 0, "it was written by %d rank%s, not by %d",
                    s->known.ranks, scr_plural(s->known.ranks), s->p->world->size);
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

/* Agreed. */
static int look_for_set_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    const struct scr_comm *world = s->p->world;
    rc = tell_members_all(s, rc, err);
    rc = scr_set_restore_all(world, &s->known, rc, &s->set, err);
    return scr_restore_doubt_all(world, rc, &s->header_why, err);
}

/* Local: the set that the ranks have now is the one they had. A header of another one
 * is of no file that belongs here: the entry goes before files are encoded anew. */
static int take_set(struct scr_restoring *s, int rc, struct scr_err *err)
{
    const struct scr_setdesc *is = &s->p->known;
    if (rc == SCR_OK && s->known.n > 0 &&
        memcmp(&s->known, is, scr_setdesc_size(is)) != 0)
        rc = scr_fail(err, SCR_E_CORRUPT, 0,
                      "the members of a redundancy set disagree about it");
    s->known = *is;
    s->set = *s->p->set;
    return rc;
}

int scr_restore_find_set_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    if (rc == SCR_OK) {
        scr_restore_find_header(s);
        rc = find_known(s, err);
    }
    rc = s->p->set != NULL ? take_set(s, rc, err) : look_for_set_all(s, rc, err);
    if (rc != SCR_OK && err != NULL && strncmp(err->text, "dataset ", 8) != 0)
        scr_err_prefix(err, "dataset %d", s->r.id);
    return rc;
}

/* --- the meta data --- */

static int add_known(const struct scr_restoring *s, struct scr_current *c)
{
    struct scr_shelf shelf = shelf_of(s);
    for (const struct scr_file *f = shelf.next; f != NULL;
         f = scr_shelf_next(scr_file_next(f)))
        TRY(scr_current_shelve(c, &f->meta, &shelf));
    return SCR_OK;
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
    int rc = c != NULL ? add_known(s, c) : SCR_E_NOMEM;
    if (rc == SCR_OK && e->expected >= 0 && c->n == (size_t)e->expected) {
        c->has_chunk_crc = scr_hash_get_val_crc(e->tags, "CHUNKCRC", &c->chunk_crc);
        *out = c;
        return SCR_OK;
    }
    scr_current_delete(c);
    return rc;
}

/* Where a member's CURRENT can be had. */
struct source {
    int why;    /* why it has none, SCR_OK if it has */
    int copies; /* of left neighbours, that it has */
    int failed; /* before */
};

/* The nearest right neighbour of member `of` that has its header: how far it is, or n.
 */
static int nearest(const struct scr_set *set, const struct source *from, int of)
{
    int j = 1;
    while (j < set->n && from[(of + j) % set->n].why != SCR_OK)
        j++;
    return j < set->n && j <= from[(of + j) % set->n].copies ? j : set->n;
}

/* From the redundancy file, without having it in memory. */
static int send_copy(const struct scr_restoring *s, const struct scr_redcopy *copy,
                     int to, struct scr_err *err)
{
    int fd = -1;
    const struct scr_sys *sys = s->p->env->sys;
    int rc = scr_open(sys, s->redfound, O_RDONLY | O_NOFOLLOW, 0, &fd, err);
    const struct scr_fd from = { sys, fd, s->redfound };
    struct scr_file_feed feed = scr_file_feed(&from, copy->at, copy->n, err);
    rc = scr_first(
        rc, scr_stream_send(&s->set.comm, to, rc == SCR_OK ? &feed.feed : NULL, err));
    return scr_first(rc, scr_close(sys, &fd, s->redfound, err));
}

/* The copies of a member's CURRENT lie with its right neighbours; the nearest that has
 * its header sends it. */
static int send_copies(const struct scr_restoring *s, const struct source *from,
                       struct scr_err *err)
{
    int n = s->set.n, me = s->set.me, rc = SCR_OK;
    for (int j = 1; j <= from[me].copies; j++) {
        int to = (me - j + n) % n;
        if (from[to].why != SCR_OK && nearest(&s->set, from, to) == j)
            rc = scr_first(rc, send_copy(s, &s->head.copy[j - 1], to, err));
    }
    return rc;
}

/* *c stays NULL if no member has it. */
static int receive_copy(const struct scr_restoring *s, const struct source *from,
                        struct scr_current **c, struct scr_err *err)
{
    struct scr_stream in;
    struct scr_cursor cur;
    struct scr_shelf shelf = shelf_of(s);
    int j = nearest(&s->set, from, s->set.me), n = s->set.n;
    *c = NULL;
    if (j == n)
        return SCR_OK;
    int rc = scr_stream_begin(&in, &s->set.comm, (s->set.me + j) % n, err);
    if (rc != SCR_OK || in.feed.rest == 0)
        return rc;
    scr_cursor_init_feed(&cur, &in.feed);
    rc = scr_current_take(&cur, &shelf, c, err);
    scr_stream_end(&in);
    return rc;
}

/* SCR_OK with NULL: it is nowhere. */
static int find_current(struct scr_restoring *s, const struct source *from,
                        struct scr_err *err)
{
    if (s->has_head) {
        s->r.current = s->head.current;
        s->head.current = NULL;
        return send_copies(s, from, err);
    }
    TRY(receive_copy(s, from, &s->r.current, err));
    if (s->r.current == NULL && current_from_map(s, &s->r.current) != SCR_OK)
        return scr_no_memory(err);
    return SCR_OK;
}

/* A rank that could not read its header might have known. */
static int refuse_unknown(const struct scr_restoring *s, const struct source *from,
                          struct scr_err *err)
{
    int me = s->p->world->rank;
    for (int i = 0; i < s->set.n; i++)
        if (scr_err_may_pass(from[i].why))
            return scr_fail(err, from[i].why, 0,
                            "dataset %d: the list of files of rank %d may be in the "
                            "redundancy file of rank %d, which cannot be read",
                            s->r.id, me, s->set.world[i]);
    return scr_fail(err, SCR_E_LOST, 0,
                    "dataset %d: rank %d has lost its files, and so have the ranks of "
                    "its set that had the list of them: too many are lost",
                    s->r.id, me);
}

static int take_current(struct scr_restoring *s, const struct source *from,
                        struct scr_err *err)
{
    TRY(find_current(s, from, err));
    if (s->r.current == NULL)
        return refuse_unknown(s, from, err);
    if (s->r.current->rank != s->p->world->rank)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: meta data of rank %d named as %d's", s->r.id,
                        s->r.current->rank, s->p->world->rank);
    return scr_current_list(s->r.current, &s->r.files, &s->r.nfiles, &s->has_crc, err);
}

int scr_restore_find_files_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    struct source mine = { s->has_head ? SCR_OK : s->header_why.code, 0, rc != SCR_OK };
    struct source from[SCR_EC_MAX];
    if (s->has_head)
        mine.copies = scr_redfile_copies(s->set.n, s->known.failures);
    int rc1 = scr_allgather_bytes_all(&s->set.comm, &mine, sizeof mine, from,
                                      rc == SCR_OK ? err : NULL);
    int failed = rc1 != SCR_OK;
    for (int i = 0; i < s->set.n && !failed; i++)
        failed = from[i].failed;
    return failed ? scr_set_agree_all(&s->set, scr_first(rc, rc1), err)
                  : take_current(s, from, err);
}
