/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush while the application waits. The order of steps is the header's; each is
 * agreed.
 */
#include "par/flush.h"

#include <stdlib.h>
#include <time.h>

#include "par/outgoing.h"
#include "par/turns.h"
#include "xfer/xfer.h"

/* --- files --- */

static int copy_files(void *arg, struct scr_err *err)
{
    struct scr_outgoing *f = arg;
    size_t n = 0;
    struct scr_mover *m = scr_mover_new(f->o->type, f->env->sys, err);
    struct scr_xfer *x =
        m != NULL ? scr_outgoing_xfer(f, &(struct scr_xfer_opts){ 0 }, err) : NULL;
    int rc = x != NULL ? scr_mover_start(m, x, err) : SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_mover_wait(m, x, err);
    if (rc == SCR_OK)
        scr_outgoing_take(f, scr_xfer_files(x, &n));
    scr_mover_free(m);
    scr_xfer_free(x);
    return rc;
}

/* --- the record --- */

static int finish_all(const struct scr_outgoing *f, uint64_t *bytes,
                      struct scr_err *err)
{
    uint64_t files = 0;
    int rc = SCR_OK;
    scr_outgoing_count_all(f, bytes, &files);
    if (f->world->rank == 0) {
        scr_hash *dset = scr_outgoing_dataset(f, *bytes, files);
        if (dset == NULL)
            rc = scr_fail(err, SCR_E_NOMEM, 0, "flush of dataset %d: out of memory",
                          f->id);
        if (rc == SCR_OK)
            rc = scr_prefix_summary_write(f->env, f->prefix, f->id, dset, 1, err);
        if (rc == SCR_OK)
            rc = scr_prefix_index_enter(f->env, f->prefix, dset, 1, time(NULL), err);
        scr_hash_delete(dset);
    }
    return scr_agree_all(f->world, rc, err);
}

/* --- all of it --- */

/* From files in place to a dataset that is complete. */
static int complete_all(struct scr_outgoing *f, uint64_t *bytes, struct scr_err *err)
{
    int rc = scr_outgoing_sync_dirs_all(f, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_record_all(f, err);
    return rc == SCR_OK ? finish_all(f, bytes, err) : rc;
}

static int run_all(struct scr_outgoing *f, const scr_filemap *map, uint64_t *bytes,
                   struct scr_err *err)
{
    int rc = scr_outgoing_collect_all(f, map, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_resume_all(f, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_begin_all(f, err);
    if (rc == SCR_OK)
        rc = scr_in_turns_all(f->world, f->o->width, f->n > 0, copy_files, f, err);
    return rc == SCR_OK ? complete_all(f, bytes, err) : rc;
}

int scr_flush_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o,
                  int id, const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err)
{
    struct scr_outgoing f = {
        .env = env, .world = world, .prefix = prefix, .o = o, .id = id, .dset = dset
    };
    *bytes = 0;
    int rc = run_all(&f, map, bytes, err);
    scr_outgoing_fini(&f);
    return rc;
}

/* --- files that are there already --- */

int scr_publish_begin_all(const struct scr_env *env, const struct scr_comm *world,
                          const struct scr_prefix *prefix, int id, const scr_hash *dset,
                          struct scr_err *err)
{
    struct scr_outgoing f = {
        .env = env, .world = world, .prefix = prefix, .id = id, .dset = dset
    };
    return scr_outgoing_begin_all(&f, err);
}

int scr_publish_all(const struct scr_env *env, const struct scr_comm *world,
                    const struct scr_prefix *prefix, const struct scr_copy_opts *o,
                    int id, const scr_hash *dset, const scr_hash *files,
                    uint64_t *bytes, struct scr_err *err)
{
    struct scr_outgoing f = {
        .env = env, .world = world, .prefix = prefix, .o = o, .id = id, .dset = dset
    };
    *bytes = 0;
    int rc = scr_outgoing_list_all(&f, files, err);
    if (rc == SCR_OK)
        rc = complete_all(&f, bytes, err);
    scr_outgoing_fini(&f);
    return rc;
}
