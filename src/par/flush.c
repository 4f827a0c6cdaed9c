/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush while the application waits. The order of steps is the header's; each is
 * agreed.
 */
#include "par/flush.h"

#include <stdlib.h>

#include "par/outgoing.h"
#include "par/turns.h"
#include "xfer/xfer.h"

/* --- files --- */

struct sync {
    struct scr_outgoing f;
    struct scr_xfer *x; /* NULL: this rank copies nothing */
};

/* All files under temporary names: what they are to replace is whole until every rank
 * has copied its own. */
static int copy_files(void *arg, struct scr_err *err)
{
    struct sync *s = arg;
    struct scr_outgoing *f = &s->f;
    size_t n = 0;
    struct scr_mover *m = scr_mover_new(f->o->type, f->env->sys, err);
    s->x = m != NULL ? scr_outgoing_xfer(f, &(struct scr_xfer_opts){ .hold = 1 }, err)
                     : NULL;
    int rc = s->x != NULL ? scr_mover_start(m, s->x, err) : SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_mover_wait(m, s->x, err);
    if (rc == SCR_OK)
        scr_outgoing_take(f, scr_xfer_files(s->x, &n));
    scr_mover_free(m);
    return rc;
}

static int place_files(void *arg, struct scr_err *err)
{
    return scr_xfer_place(((struct sync *)arg)->x, err);
}

static int in_turns_all(struct sync *s, scr_turn_work work, struct scr_err *err)
{
    return scr_in_turns_all(s->f.world, s->f.o->width, s->f.n > 0, work, s, err);
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
            rc = scr_outgoing_complete(f, dset, err);
        scr_hash_delete(dset);
    }
    return scr_agree_all(f->world, rc, err);
}

/* --- all of it --- */

/* From files in place to a dataset that is complete. */
static int complete_all(struct scr_outgoing *f, uint64_t *bytes, struct scr_err *err)
{
    int rc = scr_outgoing_sync_dirs_all(f, err);
    return rc == SCR_OK ? finish_all(f, bytes, err) : rc;
}

/* The list says what there may be of the dataset, whenever the flush dies: before
 * anything is written, and once more with what the copies were found to be. */
static int copy_all(struct sync *s, struct scr_err *err)
{
    struct scr_outgoing *f = &s->f;
    scr_outgoing_fix_sizes(f);
    int rc = scr_outgoing_record_all(f, err);
    if (rc == SCR_OK)
        rc = in_turns_all(s, copy_files, err);
    return rc == SCR_OK ? scr_outgoing_record_all(f, err) : rc;
}

static int run_all(struct sync *s, const scr_filemap *map, uint64_t *bytes,
                   struct scr_err *err)
{
    struct scr_outgoing *f = &s->f;
    int rc = scr_outgoing_collect_all(f, map, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_resume_all(f, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_begin_all(f, err);
    if (rc == SCR_OK)
        rc = copy_all(s, err);
    if (rc == SCR_OK)
        rc = scr_outgoing_demote_all(f, err);
    if (rc == SCR_OK)
        rc = in_turns_all(s, place_files, err);
    return rc == SCR_OK ? complete_all(f, bytes, err) : rc;
}

int scr_flush_all(const struct scr_env *env, const struct scr_comm *world,
                  const struct scr_prefix *prefix, const struct scr_copy_opts *o,
                  int id, const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err)
{
    struct sync s = { .f = { .env = env,
                             .world = world,
                             .prefix = prefix,
                             .o = o,
                             .id = id,
                             .dset = dset } };
    *bytes = 0;
    int rc = run_all(&s, map, bytes, err);
    scr_xfer_free(s.x);
    if (rc != SCR_OK) /* the mark goes when no rank has temporaries any more */
        scr_barrier_all(world);
    scr_outgoing_fini(&s.f);
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
    int rc = scr_outgoing_begin_all(&f, err);
    scr_outgoing_fini(&f);
    return rc;
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
        rc = scr_outgoing_record_all(&f, err);
    if (rc == SCR_OK)
        rc = complete_all(&f, bytes, err);
    scr_outgoing_fini(&f);
    return rc;
}
