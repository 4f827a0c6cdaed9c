/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfer process of a node. One loop reads the file, gives the next dataset to
 * the threads that copy, and writes down what they report. It shows that the process
 * lives, so it never touches the prefix directory, which may hang: the threads do. */
#include "ops/transferd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "base/table.h"
#include "base/units.h"
#include "fmt/meta.h"
#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include "store/arrival.h"
#include "store/wanted.h"
#include "xfer/daemon.h"
#include "xfer/xfer.h"

enum {
    TICK_MS = 50,
    LIFE_MS = 3000, /* a process that checks whether we live holds the lock for a
                     * moment */
    REPORT_S = 30,  /* until one whose report cannot be written ends all the same */
    NOBODY = 0      /* files that belong to no dataset */
};

/* Files that are copied together: those of the node's ranks of one dataset. */
struct run {
    const struct scr_env *env;
    int id;
    char *root; /* dset.prefix, normalised */
    struct scr_transfer_dset dset;
    struct scr_prefix prefix; /* the threads' */
    scr_hash *files;          /* as listed */
    struct scr_ids ranks;
    struct scr_wanted wanted; /* while the plan is there */
    struct scr_xfer *xfer;    /* NULL: could not be started, err says why */
    struct scr_err err;
    pthread_mutex_t lock;         /* for written */
    struct scr_table written;     /* sources of files that are in place, in the order in
                                     which they came there */
    const struct scr_item *told;  /* the last that was put into the report */
    const struct scr_item *noted; /* the last that is in the file; NULL: none */
};

struct daemon {
    const struct scr_env *env;
    const struct scr_transferd_opts *o;
    char *file, *life_path;
    struct scr_lock life;
    struct scr_mover *mover;
    struct run *run, *next; /* under way; to be started */
    struct run *ended;      /* its end is being reported */
    struct stat seen;       /* of the file before it was read last */
    double busy;            /* when there was work last */
    int interrupt;          /* what is under way is to end */
    int warned;             /* that the file cannot be read or written */
    double since;           /* that is so */
    int over;
    struct scr_err failed; /* first transfer that did */
};

/* --- in the threads that copy --- */

/* A plan of another attempt, or none: these files are not wanted from us any more. */
static int allowed(void *arg, struct scr_err *err)
{
    struct run *r = arg;
    return r->id == NOBODY ? SCR_OK
                           : scr_wanted_check(&r->wanted, r->env, &r->prefix, r->id,
                                              r->dset.stamp, err);
}

static int rank_of(const struct run *r, const struct scr_xfer_file *f)
{
    int id = 0, rank = -1;
    (void)scr_transfer_owner(scr_hash_elem_get(r->files, f->src), &id, &rank);
    return rank;
}

static struct scr_arrival arrival_of(const struct run *r, int rank)
{
    return (struct scr_arrival){ r->env, &r->prefix, r->id, r->dset.node, rank };
}

/* Those of one rank at a time, as they come. */
static int record_landed(const struct run *r, const struct scr_xfer_file *const *file,
                         size_t n, const char **name, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0, j; i < n && rc == SCR_OK; i = j) {
        int rank = rank_of(r, file[i]);
        for (j = i; j < n && rank_of(r, file[j]) == rank; j++)
            name[j - i] = file[j]->name;
        const struct scr_arrival a = arrival_of(r, rank);
        rc = scr_arrival_landed(&a, name, j - i, err);
    }
    return rc;
}

static int landed(void *arg, const struct scr_xfer_file *const *file, size_t n,
                  struct scr_err *err)
{
    struct run *r = arg;
    const char **name = scr_calloc(n, sizeof *name);
    int rc = name ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && r->id != NOBODY)
        rc = record_landed(r, file, n, name, err);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        scr_table_add(&r->written, file[i]->src);
    if (rc == SCR_OK && !scr_table_ok(&r->written))
        rc = scr_no_memory(err);
    pthread_mutex_unlock(&r->lock);
    free(name);
    return rc;
}

/* That the dataset could not be completed is no failure of ours: the next one to look
 * does it. */
static int finished(void *arg, struct scr_err *err)
{
    const struct run *r = arg;
    for (size_t i = 0; i < r->ranks.n; i++) {
        const struct scr_arrival a = arrival_of(r, r->ranks.id[i]);
        TRY(scr_arrival_arrived(&a, r->dset.stamp, err));
    }
    if (r->id != NOBODY)
        (void)scr_arrival_finish(r->env, &r->prefix, r->id, r->dset.node);
    return SCR_OK;
}

/* --- a run --- */

static void run_free(struct run *r)
{
    if (r == NULL)
        return;
    scr_xfer_free(r->xfer);
    scr_prefix_fini(&r->prefix);
    free(r->root);
    scr_hash_delete(r->files);
    scr_ids_fini(&r->ranks);
    scr_table_fini(&r->written);
    scr_wanted_fini(&r->wanted);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct run *run_new(const struct scr_env *env, int id)
{
    struct run *r = scr_calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->env = env;
    r->id = id;
    r->err = (struct scr_err)SCR_ERR_INIT;
    pthread_mutex_init(&r->lock, NULL);
    scr_wanted_init(&r->wanted);
    scr_table_init(&r->written, sizeof(struct scr_item));
    r->files = scr_hash_new();
    if (r->files != NULL)
        return r;
    run_free(r);
    return NULL;
}

/* Where it was copied once it may not be copied again. */
static int is_there(const struct scr_env *env, const struct scr_transfer_file *f)
{
    struct stat st;
    return f->written == f->size &&
           scr_file_stat(env->sys, f->destination, &st, NULL) == SCR_OK &&
           (uint64_t)st.st_size == f->size;
}

/* The first step in the threads: checks of cache and prefix directory. */
static int prepare(void *arg, struct scr_xfer_file *file, size_t n, struct scr_err *err)
{
    struct run *r = arg;
    int rc = SCR_OK;
    if (r->id != NOBODY)
        rc = scr_prefix_open(r->env, r->dset.prefix, 0, &r->prefix, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        struct scr_transfer_file f;
        const scr_hash_elem *e = scr_hash_elem_get(r->files, file[i].src);
        rc = scr_transfer_get_file(e, &f, err);
        if (rc != SCR_OK)
            break;
        file[i].whole = is_there(r->env, &f);
        (void)scr_file_stat(r->env->sys, f.source, &file[i].attr, NULL);
        scr_meta *meta = scr_meta_new();
        if (meta == NULL || scr_meta_from_hash(meta, scr_hash_elem_hash(e)) != SCR_OK)
            rc = scr_no_memory(err);
        (void)scr_meta_get_stat(meta, &file[i].attr);
        scr_meta_delete(meta);
    }
    return rc;
}

/* Below the prefix, as the records call it. */
static const char *name_of(const struct run *r, const char *destination)
{
    size_t n = r->root ? strlen(r->root) : 0;
    int below = n > 0 && strncmp(destination, r->root, n) == 0;
    return below ? destination + n + (destination[n] == '/') : destination;
}

static int add_file(struct run *r, const scr_hash_elem *e, struct scr_err *err)
{
    struct scr_transfer_file f;
    TRY(scr_transfer_get_file(e, &f, err));
    struct scr_xfer_file x = { .src = f.source,
                               .dst = f.destination,
                               .name = name_of(r, f.destination),
                               .size = f.size,
                               .has_size = 1 };
    x.has_crc = scr_hash_get_val_crc(scr_hash_elem_hash(e), "CRC", &x.crc);
    return scr_xfer_add(r->xfer, &x, err);
}

static int make_xfer(struct run *r, struct scr_err *err)
{
    char *slots = r->root ? scr_path_join(r->root, ".scr") : NULL;
    struct scr_xfer_opts o = { .sync_dirs = 1,
                               .tag = scr_arrival_tag(r->dset.stamp),
                               .first = r->dset.node,
                               .bw = r->dset.bw,
                               .percent = r->dset.percent,
                               .slot_dir = slots,
                               .width = r->dset.width,
                               .crowd = r->dset.crowd,
                               .prepare = prepare,
                               .allowed = allowed,
                               .landed = landed,
                               .finished = finished,
                               .arg = r };
    int rc = slots != NULL || r->root == NULL ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK && (r->xfer = scr_xfer_new(&o, err)) == NULL)
        rc = SCR_E_NOMEM;
    free(slots);
    for (SCR_HASH_EACH(e, r->files))
        if (rc == SCR_OK)
            rc = add_file(r, e, err);
    return rc;
}

/* Errors here are reported like later ones. */
static void run_start(struct daemon *d)
{
    struct run *r = d->run = d->next;
    d->next = NULL;
    int rc;
    TRY_OUT(make_xfer(r, &r->err));
    TRY_OUT(scr_mover_start(d->mover, r->xfer, &r->err));
out:
    if (rc != SCR_OK) {
        scr_xfer_free(r->xfer);
        r->xfer = NULL;
    }
}

static int has_ended(struct daemon *d)
{
    return d->run->xfer == NULL ||
           scr_mover_poll(d->mover, d->run->xfer) != SCR_XFER_RUNNING;
}

/* --- the file: what there is to do --- */

static int is_left(const scr_hash_elem *e)
{
    const scr_hash *f = scr_hash_elem_hash(e);
    uint64_t size = 0, written = 0;
    (void)scr_hash_get_val_u64(f, "SIZE", &size);
    int begun = scr_hash_get_val_u64(f, "WRITTEN", &written);
    return scr_hash_get(f, "ERROR") == NULL && (!begun || written < size);
}

static int has_nobodys(const scr_hash *h)
{
    int id, rank;
    for (SCR_HASH_EACH(e, scr_hash_get(h, "FILES")))
        if (!scr_transfer_owner(e, &id, &rank) && is_left(e))
            return 1;
    return 0;
}

/* The pending ranks of a dataset; 0: out of memory. */
static int add_pending(const scr_hash *h, int id, struct scr_ids *ranks)
{
    int ok = 1;
    for (SCR_HASH_EACH(e, scr_hash_getf(h, "DSET %d RANK", id))) {
        int rank = scr_hash_elem_key_int(e);
        if (scr_transfer_is_pending(h, id, rank))
            ok = scr_ids_add(ranks, rank, NULL) == SCR_OK && ok;
    }
    return ok;
}

static int has_pending(const scr_hash *h, int id)
{
    struct scr_ids ranks = { 0 };
    int has = !add_pending(h, id, &ranks) || ranks.n > 0;
    scr_ids_fini(&ranks);
    return has;
}

/* The one that was begun first, -1: none. Entries that make no sense are dropped, which
 * their owners see. */
static int oldest_dset(scr_hash *h)
{
    struct scr_transfer_dset d;
    uint64_t first = 0;
    int *ids = NULL, id = -1;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(h, "DSET"), &ids, &n))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (scr_transfer_get_dset(h, ids[i], &d) != SCR_OK) {
            scr_transfer_remove_dset(h, ids[i]);
        } else if (has_pending(h, ids[i]) && (id < 0 || d.stamp < first)) {
            id = ids[i];
            first = d.stamp;
        }
    }
    free(ids);
    return id;
}

/* Its pending ranks and their files. */
static int fill_run(struct run *r, const scr_hash *h)
{
    int ok = add_pending(h, r->id, &r->ranks);
    for (SCR_HASH_EACH(e, scr_hash_get(h, "FILES"))) {
        int id = NOBODY, rank = -1;
        int owned = scr_transfer_owner(e, &id, &rank);
        if (owned ? id == r->id && scr_transfer_is_pending(h, id, rank)
                  : r->id == NOBODY && is_left(e))
            scr_hash_set(r->files, scr_hash_elem_key(e),
                         scr_hash_dup(scr_hash_elem_hash(e)));
    }
    return ok && scr_hash_ok(r->files);
}

static struct run *choose(const struct daemon *d, scr_hash *h,
                          const struct scr_transfer *t)
{
    int id = has_nobodys(h) ? NOBODY : oldest_dset(h);
    struct run *r = id >= 0 ? run_new(d->env, id) : NULL;
    if (r == NULL)
        return NULL;
    r->dset.bw = r->dset.percent = -1;
    if (id != NOBODY)
        (void)scr_transfer_get_dset(h, id, &r->dset);
    r->dset.bw = r->dset.bw < 0 ? t->bw : r->dset.bw;
    r->dset.percent = r->dset.percent < 0 ? t->percent : r->dset.percent;
    if (r->dset.prefix != NULL) /* h goes */
        r->dset.prefix = r->root = scr_path_normal(r->dset.prefix);
    if (fill_run(r, h) && (id == NOBODY || r->root != NULL))
        return r;
    run_free(r);
    return NULL;
}

/* --- the file: what was done --- */

/* The first that the file does not have; with the lock. */
static const struct scr_item *first_news(const struct run *r)
{
    return r->noted != NULL ? r->noted->next : r->written.first;
}

static void report_written(struct run *r, scr_hash *h)
{
    pthread_mutex_lock(&r->lock);
    for (const struct scr_item *e = first_news(r); e != NULL; e = e->next) {
        uint64_t size = 0;
        if (scr_hash_get_val_u64(scr_hash_get(r->files, e->name), "SIZE", &size))
            (void)scr_transfer_set_written(h, e->name, size);
        r->told = e;
    }
    pthread_mutex_unlock(&r->lock);
}

/* A file without a dataset that failed is not tried again until it is listed again. */
static void report_nobodys(const struct run *r, scr_hash *h)
{
    for (SCR_HASH_EACH(e, r->files)) {
        scr_hash_elem *at =
            scr_hash_elem_get(scr_hash_get(h, "FILES"), scr_hash_elem_key(e));
        if (at != NULL && is_left(at))
            scr_hash_set_val(scr_hash_elem_hash(at), "ERROR", r->err.text);
    }
}

/* Those that were only interrupted continue later; cancelled ones get that code. */
static void report_end(struct daemon *d, scr_hash *h)
{
    struct run *r = d->run;
    int rc = r->xfer ? scr_mover_wait(d->mover, r->xfer, &r->err) : r->err.code;
    for (size_t i = 0; i < r->ranks.n && rc != SCR_E_CANCELLED; i++)
        scr_transfer_end_rank(h, r->id, r->dset.stamp, r->ranks.id[i], rc, r->err.text);
    if (r->id == NOBODY && rc != SCR_OK && rc != SCR_E_CANCELLED)
        report_nobodys(r, h);
}

static void report(struct daemon *d, scr_hash *h)
{
    int ended = has_ended(d); /* before: what it wrote last is reported too */
    report_written(d->run, h);
    if (!ended)
        return;
    report_end(d, h);
    d->ended = d->run;
    d->run = NULL;
}

/* What was reported is in the file, or (rc) is reported again. */
static void settle_report(struct daemon *d, int rc)
{
    struct run *r = d->ended ? d->ended : d->run;
    if (rc == SCR_OK && r != NULL)
        r->noted = r->told;
    if (d->ended == NULL)
        return;
    d->ended = NULL;
    if (rc != SCR_OK) {
        run_free(d->next); /* it has been chosen too early */
        d->next = NULL;
        d->run = r;
        return;
    }
    if (r->err.code != SCR_OK && r->err.code != SCR_E_CANCELLED) {
        scr_log(d->env->log, SCR_LOG_WARN, "%s", r->err.text);
        d->failed = d->failed.code == SCR_OK ? r->err : d->failed;
    }
    run_free(r);
    d->interrupt = 0;
    d->busy = scr_now_mono();
}

/* Cancelled ranks without a running copy have ended. */
static void settle_cancelled(const struct daemon *d, scr_hash *h)
{
    for (SCR_HASH_EACH(s, scr_hash_get(h, "DSET"))) {
        int id = scr_hash_elem_key_int(s);
        struct scr_transfer_dset dset = { 0 };
        if (d->run != NULL && d->run->id == id)
            continue;
        if (scr_transfer_get_dset(h, id, &dset) != SCR_OK)
            continue;
        for (SCR_HASH_EACH(e, scr_hash_get(scr_hash_elem_hash(s), "RANK"))) {
            int rank = scr_hash_elem_key_int(e);
            if (scr_transfer_is_cancelled(h, id, rank))
                scr_transfer_end_rank(h, id, dset.stamp, rank, SCR_E_CANCELLED,
                                      "the transfer was cancelled");
        }
    }
}

/* The running copy must end: one of its ranks is cancelled, or gone, or the dataset was
 * listed again. */
static int is_unwanted(const struct run *r, const scr_hash *h)
{
    struct scr_transfer_dset d = { 0 };
    if (r->id == NOBODY)
        return 0;
    int there =
        scr_transfer_get_dset(h, r->id, &d) == SCR_OK && d.stamp == r->dset.stamp;
    for (size_t i = 0; i < r->ranks.n && there; i++)
        there = scr_transfer_is_pending(h, r->id, r->ranks.id[i]);
    return !there;
}

/* --- the file: one transaction --- */

/* With the file's lock held, so that a process that lists files sees either that we
 * serve the file, or that we have ended. */
static void decide_end(struct daemon *d, struct scr_transfer *t)
{
    double now = scr_now_mono();
    int working = d->run != NULL || d->next != NULL || d->ended != NULL;
    if (working)
        d->busy = now;
    int told = t->command == SCR_TRANSFER_EXIT;
    int idle = d->o->idle > 0 && now - d->busy >= d->o->idle;
    if (working || !(told || idle || d->o->once))
        return;
    if (told)
        t->command = SCR_TRANSFER_NONE;
    d->over = 1;
    scr_lock_release(d->env->sys, &d->life);
}

static int is_done(const scr_hash *h)
{
    uint64_t left = 1;
    return scr_hash_size(scr_hash_get(h, "FILES")) > 0 &&
           scr_transfer_left(h, &left, NULL) == SCR_OK && left == 0;
}

static int edit(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct daemon *d = arg;
    struct scr_transfer t;
    scr_hash *before = scr_hash_dup(h);
    int rc;
    TRY_OUT(before ? scr_transfer_get(h, &t, err) : scr_no_memory(err));
    if (d->run != NULL)
        report(d, h);
    settle_cancelled(d, h);
    if (d->run != NULL)
        d->interrupt = t.command != SCR_TRANSFER_RUN || is_unwanted(d->run, h);
    else if (t.command == SCR_TRANSFER_RUN)
        d->next = choose(d, h, &t);
    decide_end(d, &t);
    t.running = d->run != NULL || d->next != NULL;
    t.done = is_done(h);
    if (scr_hash_size(before) > 0)
        TRY_OUT(scr_transfer_set(h, &t) == SCR_OK ? SCR_OK : scr_no_memory(err));
out:
    *changed = rc == SCR_OK && !scr_hash_equal(before, h);
    scr_hash_delete(before);
    return rc;
}

static int has_news(struct daemon *d)
{
    if (d->run == NULL)
        return 0;
    pthread_mutex_lock(&d->run->lock);
    int news = first_news(d->run) != NULL;
    pthread_mutex_unlock(&d->run->lock);
    return news || has_ended(d);
}

/* 1 if the file is not as it was, or was never looked at. */
static int has_changed(struct daemon *d)
{
    struct stat st = { 0 };
    (void)scr_file_stat(d->env->sys, d->file, &st, NULL);
    int same = st.st_ino == d->seen.st_ino && st.st_size == d->seen.st_size &&
               memcmp(&st.st_mtim, &d->seen.st_mtim, sizeof st.st_mtim) == 0;
    d->seen = st;
    return !same;
}

/* The time has come to ask whether to end. */
static int is_overdue(const struct daemon *d)
{
    return d->run == NULL &&
           (d->o->once || (d->o->idle > 0 && scr_now_mono() - d->busy >= d->o->idle));
}

/* Ended ranks cannot be reported: processes that wait for them notice our end
 * instead. */
static int is_hopeless(struct daemon *d)
{
    return d->run != NULL && has_ended(d) &&
           (d->o->once || scr_now_mono() - d->since >= REPORT_S);
}

static void transact(struct daemon *d)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc =
        scr_hash_file_update(d->env->sys, d->file, SCR_TRANSFER_LOCK_MS, edit, d, &why);
    settle_report(d, rc);
    if (rc != SCR_OK && !d->warned) {
        scr_log(d->env->log, SCR_LOG_WARN, "%s", why.text);
        d->since = scr_now_mono();
    }
    d->warned = rc != SCR_OK;
    if (rc != SCR_OK && (is_overdue(d) || is_hopeless(d))) {
        d->failed = why;
        d->over = 1;
    }
}

static void tick(struct daemon *d)
{
    if (scr_lock_beat(d->env->sys, &d->life, d->life_path, NULL) == SCR_E_NOENT) {
        d->over = 1; /* the control directory has gone, and with it who needs us */
        return;
    }
    int changed = has_changed(d);
    if (changed || has_news(d) || is_overdue(d) || d->warned)
        transact(d);
    if (d->next != NULL)
        run_start(d);
    if (d->run != NULL && d->run->xfer != NULL && d->interrupt)
        scr_mover_interrupt(d->mover, d->run->xfer);
}

/* --- life --- */

static int daemon_init(struct daemon *d, struct scr_err *err)
{
    d->file = scr_path_join(d->o->dir, SCR_TRANSFER_FILE);
    d->life_path = scr_path_join(d->o->dir, SCR_TRANSFER_LIFE);
    TRY(d->file && d->life_path ? SCR_OK : scr_no_memory(err));
    TRY(scr_lock_acquire(d->env->sys, d->life_path, LIFE_MS, &d->life, err));
    d->busy = scr_now_mono();
    d->mover = scr_mover_new(SCR_XFER_PTHREAD, d->env->sys, err);
    return d->mover ? SCR_OK : SCR_E_NOMEM;
}

static void daemon_fini(struct daemon *d)
{
    scr_mover_stop(d->mover);
    scr_mover_free(d->mover);
    run_free(d->run);
    run_free(d->next);
    scr_lock_release(d->env->sys, &d->life);
    free(d->file);
    free(d->life_path);
}

int scr_transferd_run(const struct scr_env *env, const struct scr_transferd_opts *o,
                      struct scr_err *err)
{
    struct daemon d = {
        .env = env, .o = o, .life = SCR_LOCK_INIT, .failed = SCR_ERR_INIT
    };
    int rc = daemon_init(&d, err);
    while (rc == SCR_OK && !d.over) {
        tick(&d);
        if (!d.over)
            scr_nap_ms(TICK_MS);
    }
    daemon_fini(&d);
    if (rc == SCR_OK && o->once && d.failed.code != SCR_OK)
        rc = scr_err_take(err, d.failed.code, &d.failed);
    return rc;
}
