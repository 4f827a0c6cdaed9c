/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes a dataset for the ranks of another run. */
#include "par/migrate/regroup.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/str.h"
#include "par/migrate/distribute.h"
#include "par/migrate/regrouping.h"

/* The record of the dataset in any entry this rank holds; NULL: none. */
static const scr_hash *any_dataset(const struct scr_regrouping *g)
{
    for (SCR_ENTRIES(e, g->map, g->at.id))
        if (e->dataset != NULL && e->desc != NULL)
            return e->dataset;
    return NULL;
}

/* From the lowest rank that has it. */
static int share_dataset_all(const struct scr_regrouping *g, scr_hash *dset,
                             struct scr_err *err)
{
    const struct scr_comm *world = g->at.world;
    const scr_hash *mine = any_dataset(g);
    int root = (int)scr_min_all(world, mine ? world->rank : world->size), rc = SCR_OK;
    if (root == world->size)
        return scr_fail(err, SCR_E_LOST, 0, "dataset %d was not complete", g->at.id);
    if (root == world->rank && scr_hash_merge(dset, mine) != SCR_OK)
        rc = scr_no_memory(err);
    rc = scr_hash_bcast_all(world, root, rc, dset, err);
    return scr_agree_all(world, rc, err);
}

/* Enters the files of old rank r as this rank's to flush. */
static int play_rank(struct scr_regrouping *g, int r, struct scr_err *err)
{
    scr_filemap_add_rank(g->play, g->at.id, r);
    for (SCR_FILES(f, g->map, g->at.id, r)) {
        const scr_meta *meta = scr_file_meta(f);
        if (scr_meta_is_full(meta))
            scr_filemap_set_meta(g->play, g->at.id, r, f->item.name, meta);
    }
    return scr_filemap_ok(g->play) ? SCR_OK : scr_no_memory(err);
}

static int flush_all(struct scr_regrouping *g, uint64_t *bytes, struct scr_err *err)
{
    struct scr_copy_opts o = *g->o;
    scr_hash *dset = scr_hash_new();
    int rc = share_dataset_all(g, dset, err);
    o.ranks = g->ranks;
    if (rc == SCR_OK)
        rc = scr_flush_all(&g->at, &o, dset, g->play, bytes, err);
    scr_hash_delete(dset);
    return rc;
}

/* Leftovers do no harm; the next rebuild begins by removing it. */
static void remove_scratch_all(const struct scr_regrouping *g)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_barrier_all(g->at.world);
    if (g->at.world->rank == 0 &&
        scr_dir_remove(g->at.env->sys, g->scratch, &why) != SCR_OK)
        scr_log(g->at.env->log, SCR_LOG_WARN, "%s", why.text);
}

static int regroup_init(struct scr_regrouping *g, struct scr_err *err)
{
    char *dir = scr_prefix_dset_dir(g->at.prefix, g->at.id);
    g->play = scr_filemap_new();
    g->scratch = dir ? scr_asprintf("%s/rebuild", dir) : NULL;
    free(dir);
    return g->play && g->scratch ? SCR_OK : scr_no_memory(err);
}

static void regroup_fini(struct scr_regrouping *g)
{
    scr_table_fini(&g->sets);
    scr_ids_fini(&g->to_play);
    scr_ids_fini(&g->to_ship);
    scr_ids_fini(&g->to_ship_red);
    scr_filemap_delete(g->play);
    free(g->scratch);
}

static int run_all(struct scr_regrouping *g, struct scr_regroup_report *rep,
                   struct scr_err *err)
{
    int lost = 0;
    int rc = scr_check_one_dataset_all(g->at.world, g->map, g->at.id, err);
    if (rc == SCR_OK)
        rc = scr_regroup_find_all(g, &lost, err);
    if (rc == SCR_OK) {
        for (size_t i = 0; i < g->to_play.n && rc == SCR_OK; i++)
            rc = play_rank(g, g->to_play.id[i], err);
        rc = scr_agree_all(g->at.world, rc, err);
    }
    if (rc == SCR_OK && lost)
        rc = scr_regroup_mend_all(g, err);
    if (rc == SCR_OK)
        rc = flush_all(g, &rep->bytes, err);
    if (lost)
        remove_scratch_all(g);
    rep->ranks = g->ranks;
    rep->rebuilt_ranks = (int)scr_sum_all(g->at.world, (uint64_t)g->rebuilt);
    return rc;
}

int scr_regroup_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                    const scr_filemap *map, struct scr_regroup_report *rep,
                    struct scr_err *err)
{
    struct scr_regrouping g = { .at = *at, .o = o, .map = map };
    g.unread = (struct scr_err)SCR_ERR_INIT;
    memset(rep, 0, sizeof *rep);
    int rc;
    TRY_OUT(scr_agree_all(at->world, regroup_init(&g, err), err));
    TRY_OUT(run_all(&g, rep, err));
out:
    regroup_fini(&g);
    return rc;
}
