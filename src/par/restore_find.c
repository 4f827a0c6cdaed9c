/* SPDX-License-Identifier: BSD-3-Clause */
/* Restore, first part: who is in the set, and which files should be there. */
#include <stdlib.h>

#include "base/path.h"
#include "base/str.h"
#include "par/restoring.h"

/* --- the set --- */

scr_hash *scr_restore_describe(const scr_hash *from)
{
    static const char *const keys[] = { "TYPE", "FAILURES", "RANKS", "GROUP" };
    scr_hash *h = scr_hash_new();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        scr_hash *value = scr_hash_dup(scr_hash_get(from, keys[i]));
        if (value == NULL || scr_hash_set(h, keys[i], value) == NULL) {
            scr_hash_delete(h);
            return NULL;
        }
    }
    return h;
}

scr_hash *scr_restore_read_header(const struct scr_env *env, const char *path, int id,
                                  int rank, uint64_t *header_bytes, struct scr_err *err)
{
    struct scr_redinfo info = { 0 };
    scr_hash *h = scr_hash_new();
    int rc = scr_redfile_read(env, path, h, header_bytes, err);
    if (rc == SCR_OK)
        rc = scr_redinfo_get(h, &info, err);
    if (rc == SCR_OK && info.dset_id != id)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of dataset %d", path, info.dset_id);
    else if (rc == SCR_OK && info.world_ranks[info.member] != rank)
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "%s: of rank %d", path,
                      info.world_ranks[info.member]);
    scr_redinfo_fini(&info);
    if (rc == SCR_OK)
        return h;
    scr_hash_delete(h);
    return NULL;
}

/* The redundancy file the filemap names, read where this dataset's directory is now. */
static void find_header(struct scr_restoring *s)
{
    int me = s->p->world->rank;
    struct scr_err err = SCR_ERR_INIT;
    scr_hash_elem *e = scr_filemap_first_file(s->map, s->r.id, me);
    for (; e != NULL && s->header == NULL; e = scr_hash_elem_next(e)) {
        enum scr_scheme scheme;
        int member, n, id;
        const char *base = scr_path_base(scr_hash_elem_key(e));
        if (!scr_redfile_parse(base, &scheme, &member, &n, &id))
            continue;
        free(s->redfound);
        s->redfound = scr_asprintf("%s/.scr/%s", s->dset_dir, base);
        if (s->redfound != NULL)
            s->header = scr_restore_read_header(s->p->env, s->redfound, s->r.id, me,
                                                &s->header_bytes, &err);
    }
    if (s->header == NULL)
        scr_log(s->p->env->log, SCR_LOG_DEBUG,
                "rank %d, dataset %d: no redundancy file: %s", me, s->r.id, err.text);
}

/* A rank that lost its redundancy file may still have its filemap. */
static void find_known(struct scr_restoring *s)
{
    if (s->header != NULL)
        s->known = scr_restore_describe(s->header);
    else
        s->known = scr_restore_describe(
            scr_filemap_get_desc(s->map, s->r.id, s->p->world->rank));
}

static int check_world(const struct scr_restoring *s, struct scr_err *err)
{
    int ranks = 0;
    if (!scr_hash_get_val_int(s->known, "RANKS", &ranks) || ranks == s->p->world->size)
        return SCR_OK;
    return scr_fail(err, SCR_E_RANKS, 0,
                    "dataset %d was written by %d ranks, not by %d", s->r.id, ranks,
                    s->p->world->size);
}

int *scr_restore_members(const scr_hash *known, int *n)
{
    int size = 0;
    *n = 0;
    const scr_hash *group = scr_hash_get(known, "GROUP");
    if (!scr_hash_get_val_int(group, "RANKS", &size) || size < 1 || size > SCR_EC_MAX)
        return NULL;
    int *members = scr_calloc((size_t)size, sizeof *members);
    for (int i = 0; members != NULL && i < size; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        if (!scr_hash_get_val_int(scr_hash_get(group, "RANK"), key, &members[i])) {
            free(members);
            return NULL;
        }
    }
    *n = members != NULL ? size : 0;
    return members;
}

/* Ranks that know their set tell the other members. */
static int tell_members_all(struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_comm *world = s->p->world;
    scr_hash *out = scr_hash_new(), *in = scr_hash_new();
    int n = 0, rc = SCR_OK;
    int *members = scr_restore_members(s->known, &n);
    for (int i = 0; i < n && rc == SCR_OK; i++) {
        if (members[i] == world->rank || members[i] < 0 || members[i] >= world->size)
            continue;
        scr_hash *to = scr_hash_setf(out, NULL, "%d", members[i]);
        rc = to != NULL ? scr_hash_merge(to, s->known) : SCR_E_NOMEM;
    }
    int rc1 = scr_hash_exchange_all(world, out, in, err);
    if (s->known == NULL && scr_hash_size(in) > 0)
        s->known = scr_hash_dup(scr_hash_elem_hash(scr_hash_elem_first(in)));
    free(members);
    scr_hash_delete(out);
    scr_hash_delete(in);
    return rc1 == SCR_OK ? rc : rc1;
}

int scr_restore_find_set_all(struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_comm *world = s->p->world;
    find_header(s);
    find_known(s);
    int rc = scr_agree_all(world, check_world(s, err), err);
    if (rc != SCR_OK)
        return rc;
    if (!scr_and_all(world, s->known != NULL))
        rc = scr_agree_all(world, tell_members_all(s, err), err);
    if (rc != SCR_OK)
        return rc;
    int n = 0;
    int *members = scr_restore_members(s->known, &n);
    rc = scr_set_restore_all(world, members, n, &s->set, err);
    free(members);
    if (rc != SCR_OK)
        scr_err_prefix(err, "dataset %d", s->r.id);
    return rc;
}

/* --- the meta data --- */

/* Own CURRENT from the filemap: when header and all copies of it are gone. */
static scr_hash *current_from_map(const struct scr_restoring *s)
{
    int n = 0, used = 0, me = s->p->world->rank, id = s->r.id;
    const char **files = NULL;
    scr_hash *current = NULL;
    if (scr_filemap_get_desc(s->map, id, me) == NULL ||
        scr_filemap_list_files(s->map, id, me, &n, &files) != SCR_OK)
        return NULL;
    scr_hash **metas = scr_calloc((size_t)n, sizeof *metas);
    for (int i = 0; metas != NULL && i < n; i++) {
        enum scr_scheme scheme;
        const char *type = "";
        scr_meta *meta = scr_filemap_get_meta(s->map, id, me, files[i]);
        if (scr_meta_get_filetype(meta, &type) != SCR_OK ||
            !scr_scheme_parse(type, &scheme))
            metas[used++] = meta;
    }
    int expected = scr_filemap_num_expected_files(s->map, id, me);
    if (metas != NULL && used == expected)
        current = scr_redfile_current(me, (size_t)used, metas,
                                      scr_filemap_get_desc(s->map, id, me),
                                      scr_filemap_get_dataset(s->map, id, me));
    for (int i = 0; current != NULL && i < used; i++) {
        uint32_t crc;
        scr_hash *meta = scr_hash_getf(current, "FILE %d", i);
        if (scr_meta_get_crc32(metas[i], &crc) == SCR_OK)
            scr_meta_set_crc32(meta, crc);
        else
            scr_hash_unset(meta, "CRC");
    }
    const char *chunk_crc = scr_filemap_get_tag(s->map, id, me, "CHUNKCRC");
    if (chunk_crc != NULL)
        scr_hash_set_val(current, "CHUNKCRC", chunk_crc);
    else
        scr_hash_unset(current, "CHUNKCRC");
    free(metas);
    free(files);
    return current;
}

/* The copies of a member's CURRENT lie with its right neighbours; the nearest that has
 * its header sends it. */
static int send_copies(const struct scr_restoring *s, const int *has_header,
                       scr_hash *out)
{
    int n = s->set.n, me = s->set.me;
    int k = 0;
    scr_hash_get_val_int(s->known, "FAILURES", &k);
    int copies = scr_redfile_copies(n, k);
    for (int j = 1; j <= copies && s->header != NULL; j++) {
        int to = (me - j + n) % n, nearest = 1;
        for (int i = 1; i < j; i++)
            nearest = nearest && !has_header[(to + i) % n];
        if (has_header[to] || !nearest)
            continue;
        char key[24];
        scr_redfile_partner_key(j, key, sizeof key);
        scr_hash *slot = scr_hash_setf(out, NULL, "%d", to);
        if (slot == NULL ||
            scr_hash_merge(slot, scr_hash_get(s->header, key)) != SCR_OK)
            return SCR_E_NOMEM;
    }
    return SCR_OK;
}

static int take_current(struct scr_restoring *s, const scr_hash *copies,
                        struct scr_err *err)
{
    int rank = -1;
    if (s->header != NULL)
        s->r.current = scr_hash_extract(s->header, "CURRENT");
    else if (scr_hash_size(copies) > 0)
        s->r.current = scr_hash_dup(scr_hash_elem_hash(scr_hash_elem_first(copies)));
    else
        s->r.current = current_from_map(s);
    if (s->r.current == NULL)
        return scr_fail(
            err, SCR_E_LOST, 0,
            "dataset %d: rank %d and the neighbours that knew its files are lost",
            s->r.id, s->p->world->rank);
    if (!scr_hash_get_val_int(s->r.current, "RANK", &rank) || rank != s->p->world->rank)
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "dataset %d: meta data of rank %d named as %d's", s->r.id, rank,
                        s->p->world->rank);
    return scr_redfile_files(s->r.current, s->r.rank_dir, &s->r.files, &s->r.nfiles,
                             &s->has_crc, err);
}

/* Every member gets its CURRENT and the list of its files. */
static int find_current_all(struct scr_restoring *s, struct scr_err *err)
{
    const struct scr_comm *c = &s->set.comm;
    int mine = s->header != NULL;
    int *has_header = scr_calloc((size_t)s->set.n, sizeof *has_header);
    scr_hash *out = scr_hash_new(), *in = scr_hash_new();
    int rc = SCR_OK;
    if (has_header == NULL || out == NULL || in == NULL)
        rc = scr_fail(err, SCR_E_NOMEM, 0, "redundancy set of %d members", s->set.n);
    rc = scr_set_agree_all(&s->set, rc, err);
    if (rc != SCR_OK)
        goto out;
    rc = scr_allgather_bytes_all(c, &mine, sizeof mine, has_header, err);
    if (rc == SCR_OK)
        rc = send_copies(s, has_header, out);
    int rc1 = scr_hash_exchange_all(c, out, in, err);
    rc = rc == SCR_OK ? rc1 : rc;
    if (rc == SCR_OK)
        rc = take_current(s, in, err);
out:
    free(has_header);
    scr_hash_delete(out);
    scr_hash_delete(in);
    return rc;
}

/* Scheme and failures, as every member must remember them: one that does not cannot be
 * computed with. */
static int find_scheme_all(struct scr_restoring *s, enum scr_scheme *scheme, int *k,
                           int rc, struct scr_err *err)
{
    const char *type = scr_hash_get_val(s->known, "TYPE");
    if (rc == SCR_OK && (type == NULL || !scr_scheme_parse(type, scheme) ||
                         !scr_hash_get_val_int(s->known, "FAILURES", k)))
        rc = scr_fail(err, SCR_E_CORRUPT, 0, "dataset %d: no scheme of its redundancy",
                      s->r.id);
    rc = scr_set_agree_all(&s->set, rc, err);
    if (rc != SCR_OK)
        return rc;
    int mine[2] = { (int)*scheme, *k };
    if (scr_same_all(&s->set.comm, mine, sizeof mine))
        return SCR_OK;
    return scr_fail(err, SCR_E_CORRUPT, 0,
                    "dataset %d: the members of set %d disagree about its scheme",
                    s->r.id, s->set.id);
}

static int find_geom_all(struct scr_restoring *s, int rc, struct scr_err *err)
{
    enum scr_scheme scheme = SCR_SCHEME_SINGLE;
    int k = 0;
    uint64_t chunk = 0;
    rc = find_scheme_all(s, &scheme, &k, rc, err);
    rc = scr_redset_geom_all(&s->r, scheme, k, rc, err);
    if (rc == SCR_OK && s->header != NULL &&
        (!scr_hash_get_val_u64(s->header, "CHUNK", &chunk) || chunk != s->r.g.chunk))
        rc = scr_fail(err, SCR_E_CORRUPT, 0,
                      "dataset %d: chunk of %llu bytes, not %llu", s->r.id,
                      (unsigned long long)chunk, (unsigned long long)s->r.g.chunk);
    return scr_set_agree_all(&s->set, rc, err);
}

int scr_restore_find_files_all(struct scr_restoring *s, struct scr_err *err)
{
    int rc = find_current_all(s, err);
    return find_geom_all(s, rc, err);
}
