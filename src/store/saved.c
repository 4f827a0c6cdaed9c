/* SPDX-License-Identifier: BSD-3-Clause */
/* The mark of what was complete in the prefix directory. */
#include "store/saved.h"

#include "fmt/state.h"

struct note {
    struct scr_index index;
    const int *ids;
    size_t n;
    int in_cache;
};

static int note_one(scr_hash *h, const struct note *note, int id, int *changed)
{
    scr_hash *dset = scr_hash_new();
    int any = 0;
    int rc = dset != NULL ? scr_index_dataset(&note->index, id, dset) : SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_flush_set_saved(h, dset, note->in_cache, &any);
    *changed |= any;
    scr_hash_delete(dset);
    return rc;
}

static int edit_saved(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct note *note = arg;
    int rc = SCR_OK;
    *changed = 0;
    for (size_t i = 0; i < note->n && rc == SCR_OK; i++)
        if (scr_index_is_good(&note->index, note->ids[i]))
            rc = note_one(h, note, note->ids[i], changed);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "flush file");
}

/* Most prefix directories that are tidied by hand have no flush file, and need none. Of
 * a damaged one, which an update keeps aside, nothing is known. */
static int is_due(const struct scr_env *env, const struct scr_prefix *p,
                  struct note *note)
{
    int due = 1;
    scr_hash *h = scr_hash_new();
    if (h != NULL && scr_prefix_state_read(env, p, "flush.scr", h, NULL) == SCR_OK)
        (void)edit_saved(h, note, &due, NULL);
    scr_hash_delete(h);
    return due;
}

int scr_saved_note(const struct scr_env *env, const struct scr_prefix *p,
                   const int *ids, size_t n, int in_cache, struct scr_err *err)
{
    struct note note = { SCR_INDEX_INIT, ids, n, in_cache };
    int rc;
    TRY_OUT(scr_prefix_index_read(env, p, &note.index, err));
    if (is_due(env, p, &note))
        rc = scr_prefix_state_update(env, p, "flush.scr", edit_saved, &note, err);
out:
    scr_index_fini(&note.index);
    return rc;
}
