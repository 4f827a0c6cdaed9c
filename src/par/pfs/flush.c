/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush while the application waits. The order of steps is the header's; each is
 * agreed.
 */
#include "par/pfs/flush.h"

#include "base/io.h"
#include "par/comm/turns.h"
#include "par/pfs/outgoing.h"
#include "store/replacing.h"
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
    struct scr_mover *m = scr_mover_new(f->o->type, f->at.env->sys, err);
    s->x = m != NULL ? scr_outgoing_xfer(f, &(struct scr_xfer_opts){ .hold = 1 }, err)
                     : NULL;
    int rc;
    TRY_OUT(s->x != NULL ? scr_mover_start(m, s->x, err) : SCR_E_NOMEM);
    TRY_OUT(scr_mover_wait(m, s->x, err));
    scr_outgoing_take(f, scr_xfer_files(s->x, &n));
out:
    scr_mover_free(m);
    return rc;
}

static int place_files(void *arg, struct scr_err *err)
{
    return scr_xfer_place(((struct sync *)arg)->x, err);
}

/* --- the record --- */

static int complete(const struct scr_outgoing *f, uint64_t bytes, uint64_t files,
                    struct scr_err *err)
{
    scr_hash *dset = scr_outgoing_dataset(f, bytes, files);
    int rc = dset ? scr_outgoing_complete(f, dset, err) : scr_no_memory(err);
    scr_hash_delete(dset);
    return rc;
}

/* From files in place to a dataset that is complete. waited: some files waited next to
 * their places. */
static int complete_all(struct scr_outgoing *f, int waited, int rc, uint64_t *bytes,
                        struct scr_err *err)
{
    uint64_t files = 0;
    int first = f->at.world->rank == 0;
    rc = scr_first(rc, scr_outgoing_sync_dirs_all(f, rc == SCR_OK ? err : NULL));
    rc = scr_outgoing_count_all(f, rc, bytes, &files, err);
    if (rc != SCR_OK)
        return rc;
    if (first)
        rc = complete(f, *bytes, files, err);
    if (rc == SCR_OK && first && waited)
        rc = scr_replacing_end(f->at.env, f->at.prefix, f->at.id, err);
    rc = scr_agree_all(f->at.world, rc, err);
    if (rc == SCR_OK)
        (void)scr_outgoing_forget(f, NULL); /* records that stay do no harm */
    return rc;
}

/* --- all of it --- */

/* The list says what there may be of the dataset, whenever the flush dies: before
 * anything is written, and once more if the copies were found to be something else. */
static int copy_all(struct sync *s, struct scr_err *err)
{
    struct scr_outgoing *f = &s->f;
    scr_outgoing_fix_sizes(f);
    TRY(scr_outgoing_record_all(f, SCR_OK, err));
    int rc = scr_take_turns_all(f->at.world, f->o->width, f->n > 0, copy_files, s, err);
    struct scr_vote v = { .sum = { (uint64_t)f->changed } };
    rc = scr_vote_all(f->at.world, rc, &v, err);
    return rc == SCR_OK && v.sum[0] > 0 ? scr_outgoing_record_all(f, rc, err) : rc;
}

static int run_all(struct sync *s, const scr_filemap *map, uint64_t *bytes,
                   struct scr_err *err)
{
    struct scr_outgoing *f = &s->f;
    TRY(scr_outgoing_collect_all(f, map, err));
    TRY(scr_outgoing_begin_all(f, scr_outgoing_resume_all(f, SCR_OK, err), err));
    TRY(copy_all(s, err));
    TRY(scr_outgoing_demote_all(f, SCR_OK, err));
    /* a directory is synced when all of them have their names */
    TRY(scr_in_turns_all(f->at.world, f->o->width, f->n > 0, place_files, s, err));
    return complete_all(f, 0, SCR_OK, bytes, err);
}

int scr_flush_all(const struct scr_prefix_dset *at, const struct scr_copy_opts *o,
                  const scr_hash *dset, const scr_filemap *map, uint64_t *bytes,
                  struct scr_err *err)
{
    struct sync s = { .f = { .at = *at, .o = o, .dset = dset } };
    *bytes = 0;
    int rc = run_all(&s, map, bytes, err);
    scr_xfer_free(s.x);
    if (rc != SCR_OK) /* the mark goes when no rank has temporaries any more */
        scr_barrier_all(at->world);
    scr_outgoing_fini(&s.f);
    return rc;
}

/* --- files that the application wrote --- */

static struct scr_outgoing outgoing_of(const struct scr_publish *p)
{
    return (struct scr_outgoing){ .at = p->at, .dset = p->dset };
}

int scr_publish_begin_all(struct scr_publish *p, int rc, struct scr_err *err)
{
    struct scr_outgoing f = outgoing_of(p);
    TRY_OUT(scr_outgoing_begin_all(&f, rc, err));
    p->mark = f.mark;
    f.mark = (struct scr_flushing){ 0 };
out:
    scr_outgoing_fini(&f);
    return rc;
}

static int place_waiting(void *arg, struct scr_err *err)
{
    const struct scr_outgoing *f = arg;
    for (size_t i = 0; i < f->n; i++)
        if (f->file[i].src != NULL)
            TRY(scr_file_rename(f->at.env->sys, f->file[i].src, f->file[i].full, err));
    return SCR_OK;
}

/* From here on the dataset is completed whatever happens (store/replacing.h), unless a
 * file has gone. */
static int replace_all(struct scr_outgoing *f, struct scr_err *err)
{
    uint64_t bytes = 0, files = 0;
    scr_hash *dset = NULL;
    int rc = scr_outgoing_count_all(f, SCR_OK, &bytes, &files, err);
    if (rc != SCR_OK)
        return rc;
    if (f->at.world->rank == 0 &&
        (dset = scr_outgoing_dataset(f, bytes, files)) == NULL)
        rc = scr_no_memory(err);
    f->replacing = dset;
    rc = scr_outgoing_demote_all(f, rc, err);
    if (rc == SCR_OK)
        rc = scr_in_turns_all(f->at.world, f->o->width, f->replaces, place_waiting, f,
                              err);
    f->replacing = NULL;
    scr_hash_delete(dset);
    return rc;
}

/* No file waits: of those that were complete before none lists a path. The code is each
 * rank's own. */
static int look_back_all(struct scr_outgoing *f, const struct scr_publish *p,
                         struct scr_err *err)
{
    int rc = scr_ids_merge(&f->judged, &p->known, err);
    return scr_outgoing_look_again_all(f, rc, err);
}

int scr_publish_all(const struct scr_publish *p, const struct scr_copy_opts *o,
                    const struct scr_published *file, size_t n, uint64_t *bytes,
                    struct scr_err *err)
{
    struct scr_outgoing f = outgoing_of(p);
    f.o = o;
    *bytes = 0;
    int rc;
    TRY_OUT(scr_outgoing_list_all(&f, file, n, err));
    TRY_OUT(scr_outgoing_record_all(&f, SCR_OK, err));
    f.known = f.in_place ? &p->known : NULL;
    if (f.any_replaces)
        TRY_OUT(replace_all(&f, err));
    else
        rc = look_back_all(&f, p, err);
    rc = complete_all(&f, f.any_replaces, rc, bytes, err);
out:
    scr_outgoing_fini(&f);
    return rc;
}
