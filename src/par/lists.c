/* SPDX-License-Identifier: BSD-3-Clause */
/* What the datasets in the prefix directory list. */
#include "par/lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ec/ec.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "xfer/zst.h"

struct lists {
    const struct scr_env *env;
    const struct scr_comm *world;
    const struct scr_prefix *prefix;
    const int *ids;
    size_t n;
    scr_hash *unread; /* {<id>: {NEWER}}, NULL: those are errors */
};

static int no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "lists of files: out of memory");
}

int scr_path_keeper(const struct scr_comm *world, const char *path)
{
    return (int)(scr_crc32(0, path, strlen(path)) % (uint32_t)world->size);
}

int scr_share_ids_all(const struct scr_comm *world, int **ids, size_t *n,
                      struct scr_err *err)
{
    uint64_t count = scr_sum_all(world, world->rank == 0 ? *n : 0);
    int rc = SCR_OK;
    if (world->rank != 0) {
        *n = (size_t)count;
        *ids = scr_calloc(*n, sizeof **ids);
        if (*ids == NULL)
            rc = scr_fail(err, SCR_E_NOMEM, 0, "list of datasets");
    }
    rc = scr_agree_all(world, rc, err);
    return rc == SCR_OK
               ? scr_agree_all(
                     world, scr_bcast_bytes_all(world, 0, *ids, *n * sizeof **ids, err),
                     err)
               : rc;
}

/* --- roots: each read by one rank, which tells others what parts to read --- */

/* What to do about a list that could not be read. That a read failed says nothing about
 * the list: the next one may not. */
static int judge(const struct lists *l, int id, int rc, const struct scr_err *why,
                 struct scr_err *err)
{
    int damaged = rc == SCR_E_CORRUPT || rc == SCR_E_MISSING;
    int newer = rc == SCR_E_VERSION;
    if (rc == SCR_OK)
        return SCR_OK;
    if (l->unread == NULL || !(damaged || newer))
        return scr_fail(err, rc, 0, "%s", why->text);
    scr_hash *noted = scr_hash_setf(l->unread, NULL, newer ? "%d NEWER" : "%d", id);
    return noted != NULL ? SCR_OK : no_memory(err);
}

static int has_no_list(const struct lists *l, int id)
{
    scr_hash *part = scr_hash_new();
    int rc = scr_prefix_rank2file_read(l->env, l->prefix, id, part, NULL);
    int none = rc == SCR_E_NOENT && scr_hash_size(part) == 0;
    scr_hash_delete(part);
    return none;
}

/* deal = {<keeper>: {<path>: {<id>}}}. */
static int deal_part(const struct lists *l, int id, const scr_hash *part,
                     scr_hash *deal, struct scr_err *err)
{
    for (SCR_HASH_EACH(r, scr_hash_get(part, "RANK")))
        for (SCR_HASH_EACH(f, scr_hash_get(scr_hash_elem_hash(r), "FILE"))) {
            char *path =
                scr_rank2file_stored(scr_hash_elem_key(f), scr_hash_elem_hash(f));
            int ok = path != NULL &&
                     scr_hash_setf(deal, NULL, "%d %s %d",
                                   scr_path_keeper(l->world, path), path, id) != NULL;
            free(path);
            if (!ok)
                return no_memory(err);
        }
    return SCR_OK;
}

/* The i-th list: its parts are spread over the ranks from this one on. */
static int read_root(const struct lists *l, size_t i, scr_hash *send, scr_hash *deal,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int id = l->ids[i], ranks = 0;
    size_t reader = i;
    scr_hash *root = scr_hash_new(), *whole = scr_hash_new();
    int rc = root && whole ? SCR_OK : no_memory(&why);
    if (rc == SCR_OK)
        rc = scr_rank2file_top(l->env, l->prefix, id, root, whole, &ranks, &why);
    if (rc == SCR_E_MISSING && l->unread == NULL && has_no_list(l, id))
        rc = SCR_OK;
    rc = judge(l, id, rc, &why, err);
    if (rc == SCR_OK)
        rc = deal_part(l, id, whole, deal, err);
    for (SCR_HASH_EACH(e, scr_hash_get(root, "RANK"))) {
        const char *suffix = scr_hash_get_val(scr_hash_elem_hash(e), "FILE");
        int to = (int)(reader++ % (size_t)l->world->size);
        if (rc == SCR_OK &&
            scr_hash_setf(send, NULL, "%d %d %s", to, id, suffix) == NULL)
            rc = no_memory(err);
    }
    scr_hash_delete(root);
    scr_hash_delete(whole);
    return rc;
}

static int read_roots(const struct lists *l, scr_hash *send, scr_hash *deal,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    size_t step = (size_t)l->world->size;
    for (size_t i = (size_t)l->world->rank; i < l->n && rc == SCR_OK; i += step)
        rc = read_root(l, i, send, deal, err);
    return rc;
}

/* --- parts --- */

static int read_part(const struct lists *l, int id, const char *suffix, scr_hash *deal,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *part = scr_hash_new();
    int rc = part ? scr_rank2file_part(l->env, l->prefix, id, suffix, part, &why)
                  : no_memory(&why);
    rc = judge(l, id, rc, &why, err);
    if (rc == SCR_OK)
        rc = deal_part(l, id, part, deal, err);
    scr_hash_delete(part);
    return rc;
}

/* orders = {<from>: {<id>: {<suffix>}}}. */
static int read_parts(const struct lists *l, const scr_hash *orders, scr_hash *deal,
                      struct scr_err *err)
{
    int rc = SCR_OK;
    for (SCR_HASH_EACH(from, orders))
        for (SCR_HASH_EACH(d, scr_hash_elem_hash(from)))
            for (SCR_HASH_EACH(s, scr_hash_elem_hash(d)))
                if (rc == SCR_OK)
                    rc = read_part(l, scr_hash_elem_key_int(d), scr_hash_elem_key(s),
                                   deal, err);
    return rc;
}

/* --- all of it --- */

/* recv = {<from>: {<path>: {<id>}}}. */
static int keep(const scr_hash *recv, scr_hash *kept, struct scr_err *err)
{
    for (SCR_HASH_EACH(from, recv))
        if (scr_hash_merge(kept, scr_hash_elem_hash(from)) != SCR_OK)
            return no_memory(err);
    return SCR_OK;
}

static int spread_all(const struct lists *l, scr_hash *send, scr_hash *recv,
                      scr_hash *deal, scr_hash *kept, struct scr_err *err)
{
    int rc = send && recv && deal ? read_roots(l, send, deal, err) : no_memory(err);
    rc = scr_agree_all(l->world, rc, err);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(l->world, send, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(l->world, read_parts(l, recv, deal, err), err);
    scr_hash_unset_all(recv);
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(l->world, deal, recv, err);
    return rc == SCR_OK ? scr_agree_all(l->world, keep(recv, kept, err), err) : rc;
}

int scr_lists_read_all(const struct scr_env *env, const struct scr_comm *world,
                       const struct scr_prefix *p, const int *ids, size_t n,
                       scr_hash *unread, scr_hash *kept, struct scr_err *err)
{
    struct lists l = { env, world, p, ids, n, unread };
    if (n == 0)
        return SCR_OK;
    scr_hash *send = scr_hash_new(), *recv = scr_hash_new(), *deal = scr_hash_new();
    int rc = spread_all(&l, send, recv, deal, kept, err);
    scr_hash_delete(send);
    scr_hash_delete(recv);
    scr_hash_delete(deal);
    return rc;
}

/* --- what landed and is in no list yet --- */

static int deal_packed(const struct lists *l, const char *record, int id,
                       scr_hash *deal, struct scr_err *err)
{
    struct scr_packed is;
    uint64_t stamp;
    const char *dest;
    if (!scr_arrival_packed_parse(record, &stamp, &is, &dest))
        return SCR_OK;
    char *path = scr_asprintf("%s" SCR_ZST_SUFFIX, dest);
    int ok = path != NULL &&
             scr_hash_setf(deal, NULL, "%d %s %d", scr_path_keeper(l->world, path),
                           path, id) != NULL;
    free(path);
    return ok ? SCR_OK : no_memory(err);
}

static int read_landed(const struct lists *l, int id, int node, scr_hash *deal,
                       struct scr_err *err)
{
    scr_filemap *map = scr_filemap_new();
    int rc =
        map ? scr_arrival_read(l->env, l->prefix, id, node, map, err) : no_memory(err);
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files))
            if (rc == SCR_OK)
                rc = deal_packed(l, f->item.name, id, deal, err);
    scr_filemap_delete(map);
    return rc;
}

/* The records are spread over the ranks. */
static int read_share(const struct lists *l, int id, const int *node, size_t n,
                      scr_hash *deal, struct scr_err *err)
{
    int rc = deal ? SCR_OK : no_memory(err);
    size_t step = (size_t)l->world->size;
    for (size_t i = (size_t)l->world->rank; i < n && rc == SCR_OK; i += step)
        rc = read_landed(l, id, node[i], deal, err);
    return rc;
}

int scr_lists_landed_all(const struct scr_env *env, const struct scr_comm *world,
                         const struct scr_prefix *p, int id, scr_hash *kept,
                         struct scr_err *err)
{
    const struct lists l = { .env = env, .world = world, .prefix = p };
    scr_hash *deal = scr_hash_new(), *recv = scr_hash_new();
    int *node = NULL, rc = SCR_OK;
    size_t n = 0;
    if (world->rank == 0)
        rc = scr_arrival_nodes(env, p, id, &node, &n, err);
    rc = scr_agree_all(world, rc, err);
    if (rc == SCR_OK)
        rc = scr_share_ids_all(world, &node, &n, err);
    if (rc == SCR_OK) {
        rc = recv ? read_share(&l, id, node, n, deal, err) : no_memory(err);
        rc = scr_agree_all(world, rc, err);
    }
    if (rc == SCR_OK)
        rc = scr_hash_exchange_all(world, deal, recv, err);
    if (rc == SCR_OK)
        rc = scr_agree_all(world, keep(recv, kept, err), err);
    free(node);
    scr_hash_delete(deal);
    scr_hash_delete(recv);
    return rc;
}
