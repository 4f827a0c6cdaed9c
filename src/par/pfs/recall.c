/* SPDX-License-Identifier: BSD-3-Clause */
/* What lists were found to name, remembered from one deletion to the next. */
#include "par/pfs/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "ec/ec.h"

enum { PATHS_MAX = 1 << 20 }; /* 8 MiB of a rank */

void scr_recall_fini(struct scr_recall *r)
{
    free(r->owner);
    free(r->path);
    *r = (struct scr_recall){ 0 };
}

static uint32_t code_of(const struct scr_kept *k)
{
    return scr_crc32(0, k->item.name, strlen(k->item.name));
}

/* --- which lists to read --- */

/* Owners are by descending id. */
static struct scr_owner *find(struct scr_owner *of, size_t n, int id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (of[mid].id > id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && of[low].id == id ? &of[low] : NULL;
}

/* The dataset to be deleted, then the owners that are not remembered; malloc'd. */
static int list_unknown(const struct scr_claims *c, int **ids, size_t *n,
                        struct scr_err *err)
{
    const struct scr_recall *r = c->recall;
    if ((*ids = scr_calloc(c->n + 1, sizeof **ids)) == NULL)
        return scr_no_memory(err);
    (*ids)[(*n)++] = c->id;
    for (size_t i = 0; i < c->n; i++) {
        const struct scr_owner *o = &c->owner[i],
                               *known = find(r->owner, r->nowner, o->id);
        if (known == NULL || known->mark == 0 || known->mark != o->mark)
            (*ids)[(*n)++] = o->id;
    }
    return SCR_OK;
}

/* --- what is remembered --- */

/* Drops what is remembered of these datasets. */
static int drop(struct scr_recall *r, const int *ids, size_t n, struct scr_err *err)
{
    struct scr_ids gone = { 0 };
    size_t left = 0;
    int rc;
    for (size_t i = n; i-- > 0 && r->npath > 0;)
        TRY_OUT(scr_ids_add(&gone, ids[i], err));
    for (size_t i = 0; i < r->npath; i++)
        if (!scr_ids_has(&gone, r->path[i].id))
            r->path[left++] = r->path[i];
    r->npath = left;
    rc = SCR_OK;
out:
    scr_ids_fini(&gone);
    return rc;
}

static int by_code(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Codes of the paths of dataset id, ascending, malloc'd. */
static int list_codes(const struct scr_table *kept, int id, uint32_t **codes, size_t *n,
                      struct scr_err *err)
{
    if ((*codes = scr_calloc(kept->n, sizeof **codes)) == NULL)
        return scr_no_memory(err);
    for (SCR_EACH(const struct scr_kept, k, kept))
        if (scr_kept_lists(k, id))
            (*codes)[(*n)++] = code_of(k);
    qsort(*codes, *n, sizeof **codes, by_code);
    return SCR_OK;
}

/* Datasets that are remembered to have a path in common with dataset id, or one with
 * the same code. */
static int find_common(const struct scr_recall *r, const struct scr_table *kept, int id,
                       struct scr_ids *common, struct scr_err *err)
{
    uint32_t *codes = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(list_codes(kept, id, &codes, &n, err));
    for (size_t i = 0; i < r->npath && n > 0; i++)
        if (bsearch(&r->path[i].code, codes, n, sizeof *codes, by_code) != NULL)
            TRY_OUT(scr_ids_add(common, r->path[i].id, err));
out:
    free(codes);
    return rc;
}

static int add_path(struct scr_recall *r, uint32_t code, int id)
{
    struct scr_recalled *path = NULL;
    if (r->npath < PATHS_MAX)
        path = scr_insert(r->path, r->npath, &r->npath, &r->room, sizeof *path);
    if (path == NULL)
        return 0;
    r->path = path;
    path[r->npath - 1] = (struct scr_recalled){ code, id };
    return 1;
}

/* Adds what was read of datasets other than id; 0: there is no room. */
static int remember(struct scr_recall *r, const struct scr_table *kept, int id)
{
    for (SCR_EACH(const struct scr_kept, k, kept))
        for (const struct scr_kept_id *of = k->of; of != NULL; of = of->next)
            if (of->id != id && !add_path(r, code_of(k), of->id))
                return 0;
    return 1;
}

/* --- one deletion --- */

struct reading {
    const struct scr_claims *c;
    int *ids; /* the lists to be read */
    size_t n;
    enum scr_list_state *state; /* of each, as this rank found it */
    int *again;                 /* remembered lists that are read, too */
    size_t nagain;
};

/* For rank 0: ids of datasets that may have a path in common, and -id of those that had
 * no list: one that appears later changes no mark. */
static int report(const struct reading *d, const struct scr_table *kept,
                  struct scr_ids *ids, struct scr_err *err)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->state[i] != SCR_LIST_READ)
            TRY(scr_ids_add(ids, -d->ids[i], err));
    return find_common(d->c->recall, kept, d->c->id, ids, err);
}

/* Rank 0: datasets that are no owners any more do not count. */
static int take_reports(struct reading *d, const struct scr_parcels *recv,
                        struct scr_err *err)
{
    const struct scr_claims *c = d->c;
    struct scr_ids again = { 0 };
    int rc = SCR_OK, id;
    for (size_t i = 0; i < recv->n; i++)
        for (size_t at = 0; at < recv->of[i].bytes.len; at += sizeof id) {
            memcpy(&id, recv->of[i].bytes.p + at, sizeof id);
            struct scr_owner *o = find(c->owner, c->n, abs(id));
            if (o != NULL && id < 0)
                o->mark = 0;
            else if (o != NULL)
                TRY_OUT(scr_ids_add(&again, id, err));
        }
out:
    d->again = again.id;
    d->nagain = again.n;
    return rc;
}

static int read_again_all(struct reading *d, const struct scr_ids *ids,
                          struct scr_table *kept, struct scr_err *err)
{
    const struct scr_claims *c = d->c;
    struct scr_parcels send = { 0 }, recv = { 0 };
    int rc = SCR_OK;
    if (ids->n > 0)
        rc = scr_parcel_bytes(&send, 0, ids->id, ids->n * sizeof *ids->id, err);
    TRY_OUT(scr_parcels_exchange_all(c->world, rc, &send, &recv, err));
    rc = take_reports(d, &recv, err);
    TRY_OUT(scr_share_ids_all(c->world, rc, &d->again, &d->nagain, err));
    const struct scr_lists again = { .env = c->env,
                                     .world = c->world,
                                     .prefix = c->prefix,
                                     .ids = d->again,
                                     .n = d->nagain };
    if (again.n > 0)
        TRY_OUT(scr_lists_read_all(&again, SCR_OK, kept, err));
out:
    scr_parcels_free(&send);
    scr_parcels_free(&recv);
    return rc;
}

/* *full: some rank cannot remember what was read. */
static int look_back_all(struct reading *d, struct scr_table *kept, uint64_t *full,
                         struct scr_err *err)
{
    const struct scr_claims *c = d->c;
    struct scr_ids ids = { 0 };
    int rc = drop(c->recall, d->ids, d->n, err);
    if (rc == SCR_OK)
        rc = report(d, kept, &ids, err);
    struct scr_vote v = { .sum = { ids.n } };
    v.sum[1] = rc == SCR_OK && !remember(c->recall, kept, c->id);
    TRY_OUT(scr_vote_all(c->world, rc, &v, err));
    *full = v.sum[1];
    if (v.sum[0] > 0)
        TRY_OUT(read_again_all(d, &ids, kept, err));
out:
    scr_ids_fini(&ids);
    return rc;
}

int scr_claims_read_all(const struct scr_claims *c, int rc, struct scr_table *kept,
                        struct scr_err *err)
{
    struct reading d = { .c = c };
    uint64_t full = 0;
    if (rc == SCR_OK && c->world->rank == 0)
        rc = list_unknown(c, &d.ids, &d.n, err);
    TRY_OUT(scr_share_ids_all(c->world, rc, &d.ids, &d.n, err));
    d.state = scr_calloc(d.n, sizeof *d.state);
    rc = d.state != NULL ? SCR_OK : scr_no_memory(err);
    const struct scr_lists lists = { .env = c->env,
                                     .world = c->world,
                                     .prefix = c->prefix,
                                     .ids = d.ids,
                                     .n = d.n,
                                     .state = d.state };
    TRY_OUT(scr_lists_read_all(&lists, rc, kept, err));
    TRY_OUT(scr_lists_landed_all(c->env, c->world, c->prefix, c->id, kept, err));
    TRY_OUT(look_back_all(&d, kept, &full, err));
out:
    if (rc != SCR_OK || full > 0)
        scr_recall_fini(c->recall);
    free(c->recall->owner);
    c->recall->owner = c->owner;
    c->recall->nowner = rc != SCR_OK || full > 0 ? 0 : c->n;
    free(d.ids);
    free(d.state);
    free(d.again);
    return rc;
}
