/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of which a file is about to be replaced. */
#include "store/demote.h"

static int is_complete(const scr_hash *index, int id, int *current)
{
    struct scr_index_entry e;
    int is = scr_index_get(index, id, &e, NULL) == SCR_OK && e.complete;
    *current = is && e.current;
    return is;
}

static int edit_demote(scr_hash *index, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_ids *ids = arg;
    for (size_t i = 0; i < ids->n; i++) {
        int current, id = ids->id[i];
        if (!is_complete(index, id, &current))
            continue;
        if (current)
            scr_index_unset_current(index);
        scr_hash *entry = scr_hash_get_kv_int(index, "DSET", id);
        if (scr_hash_set_val_i64(entry, "COMPLETE", 0) == NULL)
            return scr_fail(err, SCR_E_NOMEM, 0, "index: out of memory");
        *changed = 1;
    }
    return SCR_OK;
}

/* 1 if nothing calls one of them complete. In doubt something does. */
static int is_done(const struct scr_env *env, const struct scr_prefix *p,
                   const struct scr_ids *ids)
{
    int current;
    scr_hash *index = scr_hash_new();
    int done = index != NULL && scr_prefix_index_read(env, p, index, NULL) == SCR_OK;
    for (size_t i = 0; i < ids->n && done; i++)
        done = !is_complete(index, ids->id[i], &current) &&
               !scr_prefix_has_summary(env, p, ids->id[i]);
    scr_hash_delete(index);
    return done;
}

int scr_demote(const struct scr_env *env, const struct scr_prefix *p,
               const struct scr_ids *ids, struct scr_err *err)
{
    if (ids->n == 0 || is_done(env, p, ids))
        return SCR_OK;
    int rc = scr_prefix_index_update(env, p, edit_demote, (void *)ids, err);
    for (size_t i = 0; i < ids->n && rc == SCR_OK; i++)
        rc = scr_prefix_summary_remove(env, p, ids->id[i], err);
    return rc;
}
