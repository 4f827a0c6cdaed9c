/* SPDX-License-Identifier: BSD-3-Clause */
/* One transfer, from its first file to its last. */
#include "xfer/run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "xfer/copy.h"
#include "xfer/recode.h"
#include "xfer/slot.h"
#include "xfer/zst.h"

enum {
    BATCH_FILES = 16,       /* open, written and not yet synced at once */
    BATCH_BYTES = 64 << 20, /* after which a batch is closed */
    THREADS_MAX = 16,       /* of one transfer */
    DIR_MODE = 0777         /* cut by the umask */
};

/* --- life --- */

struct scr_xfer *scr_xfer_new(const struct scr_xfer_opts *o, struct scr_err *err)
{
    struct scr_xfer *x = scr_calloc(1, sizeof *x);
    if (x == NULL) {
        scr_no_memory(err);
        return NULL;
    }
    x->o = *o;
    x->err = (struct scr_err)SCR_ERR_INIT;
    scr_pace_init(&x->pace, o->bw, o->percent, NULL);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->hook, NULL);
    x->slot_dir = scr_strdup(o->slot_dir);
    if (o->slot_dir != NULL && x->slot_dir == NULL) {
        scr_no_memory(err);
        scr_xfer_free(x);
        return NULL;
    }
    return x;
}

static void free_file(const struct scr_sys *sys, struct scr_xfer_file *f)
{
    if (f->tmp != NULL)
        scr_file_remove(sys, f->tmp, NULL);
    free(f->tmp);
    free((char *)f->src);
    free((char *)f->dst);
    free((char *)f->name);
}

void scr_xfer_free(struct scr_xfer *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->n; i++)
        free_file(x->sys, &x->file[i]);
    free(x->file);
    free(x->slot_dir);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->hook);
    scr_pace_fini(&x->pace);
    free(x);
}

int scr_xfer_add(struct scr_xfer *x, const struct scr_xfer_file *file,
                 struct scr_err *err)
{
    struct scr_xfer_file f = *file, *all = NULL;
    f.src = scr_strdup(file->src);
    f.dst = scr_strdup(file->dst);
    f.name = scr_strdup(file->name);
    f.tmp = NULL;
    if (f.src != NULL && f.dst != NULL && (file->name == NULL || f.name != NULL))
        all = scr_insert(x->file, x->n, &x->n, &x->cap, sizeof *all);
    if (all == NULL) {
        free_file(x->sys, &f);
        return scr_no_memory(err);
    }
    x->file = all;
    all[x->n - 1] = f;
    return SCR_OK;
}

const struct scr_xfer_file *scr_xfer_files(const struct scr_xfer *x, size_t *n)
{
    *n = x->n;
    return x->file;
}

/* --- a batch: some files, written one after another, then synced together --- */

struct batch {
    size_t n;
    struct scr_xfer_file *file[BATCH_FILES];
    struct scr_copy job[BATCH_FILES];
    struct scr_copy_open open[BATCH_FILES];
    char *zst[BATCH_FILES]; /* where the file goes if it gets compressed */
};

static void fail(struct scr_xfer *x, int rc, const struct scr_err *why)
{
    pthread_mutex_lock(&x->lock);
    if (x->rc == SCR_OK) {
        x->rc = rc;
        x->err = *why;
    }
    pthread_mutex_unlock(&x->lock);
}

/* The next files for one thread; 0: there are none, or it is over. */
static size_t take(struct scr_xfer *x, struct batch *b)
{
    uint64_t bytes = 0;
    memset(b, 0, sizeof *b);
    pthread_mutex_lock(&x->lock);
    while (x->rc == SCR_OK && x->next < x->n && b->n < x->share &&
           bytes < BATCH_BYTES) {
        struct scr_xfer_file *f = &x->file[x->next++];
        if (f->whole)
            continue;
        bytes += f->has_size ? f->size : BATCH_BYTES;
        b->file[b->n++] = f;
    }
    pthread_mutex_unlock(&x->lock);
    return b->n;
}

static int step(void *arg, size_t n, struct scr_err *err)
{
    return scr_pace_step(arg, n, err);
}

/* The directory of file i; of one next to the file, before that was used. */
static int make_dir(const struct scr_sys *sys, const struct batch *b, size_t i,
                    struct scr_err *err)
{
    const char *path = b->file[i]->dst;
    if (i > 0 && scr_path_same_dir(path, b->file[i - 1]->dst))
        return SCR_OK;
    return scr_dir_make_parent(sys, path, DIR_MODE, err);
}

/* --- compression --- */

/* Nothing but a file that an earlier flush compressed may be in the way of the
 * compressed one, and its name must not get too long. */
static int can_pack(const struct scr_sys *sys, const char *zst)
{
    struct stat st;
    if (zst == NULL || strlen(scr_path_base(zst)) > NAME_MAX)
        return 0;
    int rc = scr_file_stat(sys, zst, &st, NULL);
    return rc == SCR_E_NOENT ||
           (rc == SCR_OK && S_ISREG(st.st_mode) && scr_recode_is_ours(sys, zst));
}

/* 1 if file i of the batch must be compressed. */
static int wants_pack(const struct scr_xfer *x, const struct scr_sys *sys,
                      struct batch *b, size_t i)
{
    const struct scr_xfer_file *f = b->file[i];
    if (x->o.pack == 0 || (f->has_size && scr_recode_is_too_small(f->size)))
        return 0;
    b->zst[i] = scr_asprintf("%s" SCR_ZST_SUFFIX, b->file[i]->dst);
    return can_pack(sys, b->zst[i]);
}

/* The result. */
static void note_packed(struct batch *b, size_t i, const struct scr_copied *got)
{
    struct scr_xfer_file *f = b->file[i];
    f->packed = got->packed;
    f->stored_size = got->stored_size;
    f->stored_crc = got->stored_crc;
    if (got->packed)
        b->job[i].dst = b->zst[i];
}

/* --- a batch --- */

/* File i of the batch into its temporary. */
static int write_one(struct scr_xfer *x, const struct scr_sys *sys, struct batch *b,
                     size_t i, struct scr_err *err)
{
    struct scr_xfer_file *f = b->file[i];
    const struct scr_copy_pace pace = { step, &x->pace };
    struct scr_copied got;
    size_t buf = x->o.buf > 0 ? x->o.buf : SCR_COPY_SLICE;
    b->job[i] = (struct scr_copy){ .src = f->src,
                                   .dst = f->dst,
                                   .tag = x->o.tag,
                                   .buf = scr_pace_burst(&x->pace, buf),
                                   .size = f->has_size ? &f->size : NULL,
                                   .crc = f->has_crc ? &f->crc : NULL,
                                   .want_crc = x->o.want_crc,
                                   .attr = &f->attr,
                                   .level = x->o.pack,
                                   .sync = 1,
                                   .pace = &pace };
    int rc = make_dir(sys, b, i, err);
    if (rc == SCR_OK && wants_pack(x, sys, b, i))
        b->job[i].code = SCR_COPY_PACK;
    if (rc == SCR_OK)
        rc = scr_copy_begin(sys, &b->job[i], &b->open[i], &got, err);
    b->job[i].pace = NULL; /* it ends here */
    if (rc != SCR_OK)
        return rc;
    if (b->job[i].code == SCR_COPY_PACK)
        note_packed(b, i, &got);
    f->size = got.size;
    f->crc = f->has_crc || x->o.want_crc ? got.crc : 0;
    f->has_crc = f->has_crc || x->o.want_crc;
    return SCR_OK;
}

static int tell_landed(struct scr_xfer *x, const struct batch *b, struct scr_err *err)
{
    if (x->o.landed == NULL)
        return SCR_OK;
    pthread_mutex_lock(&x->hook);
    int rc =
        x->o.landed(x->o.arg, (const struct scr_xfer_file *const *)b->file, b->n, err);
    pthread_mutex_unlock(&x->hook);
    return rc;
}

/* Files of a batch whose directory was synced already need not wait for it again. */
static int sync_dirs(const struct scr_sys *sys, const struct batch *b,
                     struct scr_err *err)
{
    for (size_t i = 0; i < b->n; i++)
        if (i == 0 || !scr_path_same_dir(b->file[i]->dst, b->file[i - 1]->dst))
            TRY(scr_dir_sync_parent(sys, b->file[i]->dst, err));
    return SCR_OK;
}

/* The plain file that a compressed one takes the place of is an older one, as it would
 * be if the new one had got its name: it must not be read as if it were
 * new. */
static int commit_one(const struct scr_sys *sys, struct batch *b, size_t i,
                      struct scr_err *err)
{
    int rc = scr_copy_commit(sys, &b->job[i], &b->open[i], err);
    return rc == SCR_OK && b->file[i]->packed
               ? scr_file_remove(sys, b->file[i]->dst, err)
               : rc;
}

/* The first `written` files of the batch into place; *landed of them are. Syncs take
 * long: while they last the files may become unwanted, and newer ones get the names. So
 * each is asked for when nothing but its rename is left. */
static int commit(struct scr_xfer *x, const struct scr_sys *sys, struct batch *b,
                  size_t written, size_t *landed, struct scr_err *err)
{
    size_t synced = 0;
    int rc = SCR_OK, rc2 = SCR_OK;
    while (synced < written && rc == SCR_OK)
        if ((rc = scr_copy_sync(sys, &b->job[synced], &b->open[synced], err)) == SCR_OK)
            synced++;
    for (; x->o.hold && *landed < synced; ++*landed) {
        b->file[*landed]->tmp = b->open[*landed].tmp;
        b->open[*landed].tmp = NULL;
    }
    while (*landed < synced && rc2 == SCR_OK) {
        if (x->o.allowed != NULL)
            rc2 = x->o.allowed(x->o.arg, err);
        if (rc2 == SCR_OK)
            rc2 = commit_one(sys, b, *landed, err);
        if (rc2 == SCR_OK)
            b->file[(*landed)++]->whole = 1;
    }
    for (size_t i = *landed; i < written; i++)
        scr_copy_abandon(sys, &b->open[i]);
    return scr_first(rc, rc2);
}

/* Those written before one that failed are committed all the same: what has landed is
 * not copied again. */
static int run_batch(struct scr_xfer *x, const struct scr_sys *sys, struct batch *b,
                     struct scr_err *err)
{
    size_t written = 0, landed = 0;
    int rc = SCR_OK;
    while (written < b->n && rc == SCR_OK)
        if ((rc = write_one(x, sys, b, written, err)) == SCR_OK)
            written++;
    rc = scr_first(rc, commit(x, sys, b, written, &landed, err));
    for (size_t i = 0; i < BATCH_FILES; i++)
        free(b->zst[i]);
    b->n = x->o.hold ? 0 : landed;
    landed = b->n;
    struct scr_err why = SCR_ERR_INIT;
    int rc2 = landed > 0 && x->o.sync_dirs ? sync_dirs(sys, b, &why) : SCR_OK;
    if (landed > 0 && rc2 == SCR_OK)
        rc2 = tell_landed(x, b, &why);
    if (rc == SCR_OK && rc2 != SCR_OK)
        rc = scr_err_take(err, rc2, &why);
    return rc;
}

/* --- threads --- */

struct lane {
    struct scr_xfer *x;
    const struct scr_sys *sys;
};

static void *run_lane(void *arg)
{
    const struct lane *l = arg;
    struct batch b;
    while (take(l->x, &b) > 0) {
        struct scr_err why = SCR_ERR_INIT;
        int rc = run_batch(l->x, l->sys, &b, &why);
        if (rc != SCR_OK)
            fail(l->x, rc, &why);
    }
    return NULL;
}

static size_t files_left(const struct scr_xfer *x)
{
    size_t left = 0;
    for (size_t i = 0; i < x->n; i++)
        left += !x->file[i].whole;
    return left;
}

/* Few files are shared out evenly. A thread that cannot be started is not missed: the
 * caller does what is left. */
static void run_lanes(struct lane *l, int threads)
{
    pthread_t helper[THREADS_MAX];
    size_t left = files_left(l->x);
    int n = 0;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    l->x->share = (left + (size_t)threads - 1) / (size_t)threads;
    if (l->x->share > BATCH_FILES)
        l->x->share = BATCH_FILES;
    while (n + 1 < threads && (size_t)n + 1 < left &&
           pthread_create(&helper[n], NULL, run_lane, l) == 0)
        n++;
    run_lane(l);
    while (n > 0)
        pthread_join(helper[--n], NULL);
}

/* As commit_one. */
static int place_one(struct scr_xfer *x, struct scr_xfer_file *f, struct scr_err *err)
{
    char *zst = f->packed ? scr_asprintf("%s" SCR_ZST_SUFFIX, f->dst) : NULL;
    int rc = f->packed && zst == NULL
                 ? scr_no_memory(err)
                 : scr_file_rename(x->sys, f->tmp, zst ? zst : f->dst, err);
    free(zst);
    if (rc != SCR_OK)
        return rc;
    free(f->tmp);
    f->tmp = NULL;
    f->whole = 1;
    return f->packed ? scr_file_remove(x->sys, f->dst, err) : SCR_OK;
}

int scr_xfer_place(struct scr_xfer *x, struct scr_err *err)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->file[i].tmp != NULL)
            TRY(place_one(x, &x->file[i], err));
    return SCR_OK;
}

void scr_xfer_run(struct scr_xfer *x, const struct scr_sys *sys, int threads)
{
    x->sys = sys;
    struct scr_lock slot = SCR_LOCK_INIT;
    struct lane l = { x, sys };
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_pace_sleep(&x->pace, 0, &why); /* cancelled while it waited? */
    if (rc == SCR_OK && x->o.prepare != NULL)
        rc = x->o.prepare(x->o.arg, x->file, x->n, &why);
    const struct scr_slots slots = { x->slot_dir, x->o.width, x->o.first, x->o.crowd };
    if (rc == SCR_OK && slots.width > 0)
        rc = scr_slot_take(sys, &slots, &x->pace, &slot, &why);
    if (rc != SCR_OK)
        fail(x, rc, &why);
    scr_pace_start(&x->pace);
    run_lanes(&l, x->o.percent > 0 ? 1 : threads);
    scr_lock_release(sys, &slot);
    if (x->rc == SCR_OK && x->o.finished != NULL &&
        (rc = x->o.finished(x->o.arg, &why)) != SCR_OK)
        fail(x, rc, &why);
}
