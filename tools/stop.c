/* SPDX-License-Identifier: BSD-3-Clause */
/* A request to stop that holds for the runs of one scr_srun. */
#include "stop.h"

#include "fmt/state.h"

#define LEFT   "CheckpointsLeft"
#define BEFORE "CheckpointsLeftBefore"

/* The library looks at the conditions after its next checkpoint. */
static int ask(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_halt now;
    (void)arg;
    int rc = scr_halt_get(h, &now, err);
    if (rc != SCR_OK || (now.checkpoints_left >= 0 && now.checkpoints_left <= 1))
        return rc;
    scr_hash_set_val_i64(h, BEFORE,
                         now.checkpoints_left > 0 ? now.checkpoints_left : 0);
    scr_hash_set_val_i64(h, LEFT, 1);
    *changed = 1;
    return SCR_OK;
}

static int take_back(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_halt now;
    int64_t before = 0;
    (void)arg;
    int rc = scr_halt_get(h, &now, err);
    if (rc != SCR_OK || scr_hash_get(h, BEFORE) == NULL)
        return rc;
    (void)scr_hash_get_val_i64(h, BEFORE, &before);
    scr_hash_unset(h, BEFORE);
    *changed = 1;
    if (now.checkpoints_left < 0 || now.checkpoints_left > 1)
        return SCR_OK; /* a user has set another condition */
    scr_hash_unset(h, LEFT);
    if (before > 1)
        scr_hash_set_val_i64(h, LEFT, before - 1 + now.checkpoints_left);
    return SCR_OK;
}

int scr_stop_ask(const struct scr_tool *t, struct scr_err *err)
{
    return scr_prefix_state_update(&t->env, &t->prefix, "halt.scr", ask, NULL, err);
}

/* Mostly there is none, and then even a damaged file does not matter here. */
int scr_stop_take_back(const struct scr_tool *t, struct scr_err *err)
{
    scr_hash *h = scr_hash_new();
    int is_there =
        scr_prefix_state_read(&t->env, &t->prefix, "halt.scr", h, NULL) == SCR_OK &&
        scr_hash_get(h, BEFORE) != NULL;
    scr_hash_delete(h);
    return is_there ? scr_prefix_state_update(&t->env, &t->prefix, "halt.scr",
                                              take_back, NULL, err)
                    : SCR_OK;
}

void scr_stop_settle(scr_hash *h)
{
    scr_hash_unset(h, BEFORE);
}
