/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that are about to lose a file. */
#include "store/demote.h"

void scr_demote_in(struct scr_index *index, const struct scr_ids *ids, int *changed)
{
    for (size_t i = 0; i < ids->n; i++) {
        int id = ids->id[i];
        if (!scr_index_is_complete(index, id))
            continue;
        if (index->current_id == id)
            scr_index_unset_current(index);
        scr_index_mark_incomplete(index, id);
        *changed = 1;
    }
}

static int edit_demote(struct scr_index *index, void *arg, int *changed,
                       struct scr_err *err)
{
    (void)err;
    scr_demote_in(index, arg, changed);
    return SCR_OK;
}

/* 1 if nothing calls one of them complete. In doubt something does. */
static int is_done(const struct scr_env *env, const struct scr_prefix *p,
                   const struct scr_ids *ids)
{
    struct scr_index index = SCR_INDEX_INIT;
    int done = scr_prefix_index_look(env, p, &index, NULL) == SCR_OK;
    for (size_t i = 0; i < ids->n && done; i++)
        done = !scr_index_is_complete(&index, ids->id[i]) &&
               !scr_prefix_has_summary(env, p, ids->id[i]);
    scr_index_fini(&index);
    return done;
}

int scr_demote(const struct scr_env *env, const struct scr_prefix *p,
               const struct scr_ids *ids, struct scr_err *err)
{
    if (ids->n == 0 || is_done(env, p, ids))
        return SCR_OK;
    TRY(scr_prefix_index_update(env, p, edit_demote, (void *)ids, err));
    for (size_t i = 0; i < ids->n; i++)
        TRY(scr_prefix_summary_remove(env, p, ids->id[i], err));
    return SCR_OK;
}
