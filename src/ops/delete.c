/* SPDX-License-Identifier: BSD-3-Clause */
/* Deletes a dataset with its files from the prefix directory. */
#include "ops/delete.h"

#include <stdlib.h>

#include "base/io.h"
#include "base/path.h"
#include "ops/sweep.h"
#include "store/deletion.h"
#include "store/flushing.h"
#include "store/paths.h"
#include "store/scavenged.h"

struct work {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    const struct scr_index *index;
    int is_forced;
    struct scr_table paths; /* its files, as they are stored (store/paths.h) */
};

/* --- what speaks against it --- */

static int has_file(const struct work *w, const char *name)
{
    struct stat st;
    char *dir = scr_prefix_dset_dir(w->p, w->id);
    char *path = dir ? scr_path_join(dir, name) : NULL;
    int has = path == NULL || scr_file_stat(w->env->sys, path, &st, NULL) == SCR_OK;
    free(path);
    free(dir);
    return has;
}

static int check(const struct work *w, struct scr_err *err)
{
    struct scr_index_entry e;
    int listed = scr_index_get(w->index, w->id, &e, NULL) == SCR_OK;
    if (scr_flushing_is_held(w->env, w->p, w->id))
        return scr_fail(err, SCR_E_LOCKED, 0, "dataset %d is being flushed", w->id);
    if (listed && e.doomed)
        return SCR_OK;
    if (has_file(w, "outgoing.scr"))
        return scr_fail(err, SCR_E_LOCKED, 0,
                        "the flush of dataset %d is not over: a job or transfer "
                        "process may complete it",
                        w->id);
    if (has_file(w, "replacing.scr"))
        return scr_fail(err, SCR_E_LOCKED, 0,
                        "dataset %d is written, only the files are not renamed yet: "
                        "the next start, or scr_index --add %d, does it",
                        w->id, w->id);
    if (listed && e.current)
        return scr_fail(err, SCR_E_STATE, 0,
                        "\"%s\" (dataset %d) is current: a restart begins with it",
                        e.dset.name, w->id);
    if (listed && !e.complete && !has_file(w, "rank2file") && !has_file(w, SCR_STAGE))
        return scr_fail(err, SCR_E_STATE, 0,
                        "dataset %d has no list of files: a job may be writing it",
                        w->id);
    return SCR_OK;
}

int scr_delete_check(const struct scr_env *env, const struct scr_prefix *p, int id,
                     struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    const struct work w = { .env = env, .p = p, .id = id, .index = &index };
    int rc;
    TRY_OUT(scr_prefix_index_read(env, p, &index, err));
    TRY_OUT(check(&w, err));
out:
    scr_index_fini(&index);
    return rc;
}

/* --- whose files they are --- */

/* Takes what another dataset lists out. */
static int spare(struct work *w, int id, uint64_t *spared, struct scr_err *err)
{
    struct scr_table theirs = SCR_TABLE_OF(struct scr_item);
    int rc = scr_paths_add(w->env, w->p, id, &theirs, err);
    for (SCR_EACH(const struct scr_item, e, &theirs))
        if (rc == SCR_OK)
            *spared += (uint64_t)scr_table_drop(&w->paths, e->name);
    scr_table_fini(&theirs);
    return rc;
}

static int spare_others(struct work *w, uint64_t *spared, struct scr_err *err)
{
    struct scr_owner *owner = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_deletion_owners(w->env, w->p, w->id, &owner, &n, err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(spare(w, owner[i].id, spared, err));
out:
    free(owner);
    return rc;
}

static int list_files(struct work *w, uint64_t *spared, struct scr_err *err)
{
    TRY(scr_paths_add(w->env, w->p, w->id, &w->paths, err));
    TRY(scr_paths_add_landed(w->env, w->p, w->id, &w->paths, err));
    return spare_others(w, spared, err);
}

/* --- all of it --- */

/* Whether no job copies it from its cache again. If it was not complete here, the only
 * whole copy may be the one in cache: that takes the user's word, and where the index
 * does not have it any more, the mark that it was here. */
static int is_for_good(const struct work *w, int was_copied)
{
    struct scr_index_entry e;
    if (scr_index_get(w->index, w->id, &e, NULL) != SCR_OK)
        return was_copied;
    return w->is_forced || (!e.failed && (e.complete || (e.doomed && was_copied)));
}

static int edit_flush_file(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct work *w = arg;
    struct scr_index_entry e;
    int at = scr_flush_get_location(h, w->id);
    if (at == 0 || (scr_index_get(w->index, w->id, &e, NULL) == SCR_OK &&
                    !scr_flush_is_of(h, w->id, &e.dset)))
        return SCR_OK;
    *changed = 1;
    int was_copied = (at & SCR_LOC_PFS) != 0 || scr_flush_has(h, w->id, "DELETED");
    int rc = scr_flush_set_deleted(h, w->id, is_for_good(w, was_copied));
    if ((at & SCR_LOC_CACHE) == 0)
        (void)scr_flush_remove(h, w->id);
    return rc == SCR_OK ? rc : scr_no_memory(err);
}

/* Once as soon as it is not complete any more, so that no job copies it again
 * meanwhile, and once more for what a job has noted since. */
static int tell_jobs(struct work *w, struct scr_err *err)
{
    return scr_prefix_state_update(w->env, w->p, "flush.scr", edit_flush_file, w, err);
}

static int delete_all(struct work *w, struct scr_deleted *out, struct scr_err *err)
{
    struct scr_sweep parts = { .env = w->env, .p = w->p };
    struct scr_lock lock = SCR_LOCK_INIT;
    int rc = scr_deletion_begin_full(w->env, w->p, w->id, err);
    if (rc == SCR_OK)
        (void)tell_jobs(w, NULL); /* where there is no room, at the end */
    if (rc == SCR_OK)
        rc = scr_deletion_hold(w->env, w->p, &lock, err);
    if (rc == SCR_OK)
        rc = list_files(w, &out->spared, err);
    if (rc == SCR_OK)
        rc = scr_prefix_summary_remove(w->env, w->p, w->id, err);
    if (rc == SCR_OK) /* temporary files of copies that were killed */
        rc = scr_sweep_paths(&parts, &w->paths, err);
    if (rc == SCR_OK)
        rc = scr_deletion_files(w->env, w->p, w->env->log, &w->paths, &out->files, err);
    scr_lock_release(w->env->sys, &lock);
    if (rc == SCR_OK)
        rc = scr_deletion_records(w->env, w->p, w->id, err);
    if (rc == SCR_OK)
        rc = tell_jobs(w, err);
    return rc == SCR_OK ? scr_deletion_forget(w->env, w->p, w->id, err) : rc;
}

int scr_delete_dataset(const struct scr_env *env, const struct scr_prefix *p,
                       const struct scr_delete *what, struct scr_deleted *out,
                       struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    struct work w = { .env = env,
                      .p = p,
                      .id = what->id,
                      .is_forced = what->is_forced,
                      .index = &index };
    int rc;
    *out = (struct scr_deleted){ 0 };
    scr_table_init(&w.paths, sizeof(struct scr_item));
    TRY_OUT(scr_prefix_index_read(env, p, &index, err));
    TRY_OUT(delete_all(&w, out, err));
out:
    scr_table_fini(&w.paths);
    scr_index_fini(&index);
    return rc;
}
