/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers by the transfer process of a node. Whatever it does not do in time counts
 * as its death, and is made so: no other process may write the files while it might. */
#include "xfer/daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/transfer.h"
#include "fmt/transfer_job.h"
#include "xfer/mover.h"

#ifndef SCR_BINDIR
#define SCR_BINDIR "/usr/local/bin"
#endif
#define PROGRAM    "scr_transfer"
#define START_LOCK "transfer.start.lock"
/* The output of the program, if it did not start. */
#define START_LOG "transfer.start.log"

/* Seconds between looks at the file, and at the process. */
static const double LOOK = 0.02, LIFE = 0.3;
static const double DEATH = 5; /* until a killed process has released its lock */
enum { NAP_MS = 20, LOG_MAX = 1 << 20 };

/* How far the process has come, as far as this one can see. */
struct watch {
    double patience, next;
    struct timespec beat;
    double since; /* when that was seen first */
};

struct scr_daemon {
    char *dir, *file, *program;
    int is_default; /* no setting names the program */
    struct watch watch;
    scr_hash *seen; /* the file as read last */
    struct stat st; /* of that */
    double next;    /* time of the next look at it */
    double unseen;  /* since when it cannot be read, 0: it can */
    int missed;     /* transfers in a row that could not be listed */
    int started, lost;
};

/* --- the process --- */

int scr_daemon_look(const struct scr_sys *sys, const char *dir,
                    struct scr_lock_holder *who, struct scr_err *err)
{
    char *path = scr_path_join(dir, SCR_TRANSFER_LIFE);
    *who = (struct scr_lock_holder){ 0 };
    int rc = path ? scr_lock_look(sys, path, who, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* A process in a call to a file system that does not answer dies when that returns, and
 * one that did not sign cannot be killed. */
int scr_daemon_kill(const struct scr_sys *sys, const char *dir, double secs,
                    struct scr_err *err)
{
    struct scr_lock_holder who;
    double end = scr_now_mono() + secs;
    TRY(scr_daemon_look(sys, dir, &who, err));
    if (who.held && who.pid > 0)
        scr_proc_kill((pid_t)who.pid);
    while (who.held && scr_now_mono() < end) {
        scr_nap_ms(NAP_MS);
        TRY(scr_daemon_look(sys, dir, &who, err));
    }
    if (!who.held)
        return SCR_OK;
    return scr_fail(err, SCR_E_LOCKED, 0,
                    "the transfer process in %s was killed and has not ended (process "
                    "%ld, 0: not known): it may still write, and nothing is written to "
                    "the prefix until it has",
                    dir, who.pid);
}

static void start_watch(struct watch *w)
{
    w->next = 0;
    w->since = scr_now_mono();
    w->beat = (struct timespec){ 0 };
}

/* SCR_OK while it lives; from time to time that is really looked at. A look that fails
 * is one that sees nothing. */
static int watch(const struct scr_sys *sys, const char *dir, struct watch *w,
                 struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_lock_holder who;
    double now = scr_now_mono();
    if (now < w->next)
        return SCR_OK;
    w->next = now + LIFE;
    int rc = scr_daemon_look(sys, dir, &who, &why);
    if (rc != SCR_OK && now - w->since < w->patience)
        return SCR_OK;
    TRY(scr_err_take(err, rc, &why));
    if (!who.held)
        return scr_fail(err, SCR_E_MISSING, 0, "the transfer process in %s has died",
                        dir);
    if (memcmp(&who.beat, &w->beat, sizeof who.beat) != 0) {
        w->beat = who.beat;
        w->since = now;
    }
    if (now - w->since < w->patience)
        return SCR_OK;
    return scr_fail(err, SCR_E_LOCKED, 0,
                    "the transfer process %ld in %s has shown no sign of life for %.0f "
                    "seconds (SCR_TRANSFER_TIMEOUT) and is killed",
                    who.pid, dir, now - w->since);
}

/* The first line of what it said. */
static char *read_log(const struct scr_sys *sys, const char *path)
{
    void *buf = NULL;
    size_t n = 0;
    if (scr_file_load(sys, path, LOG_MAX, &buf, &n, NULL) != SCR_OK)
        return NULL;
    char *text = buf;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static int launch_program(const struct scr_sys *sys, const struct scr_daemon *d,
                          const char *program, struct scr_err *err)
{
    const char *const argv[] = { program, "--background", d->dir, NULL };
    char *log = scr_path_join(d->dir, START_LOG);
    const struct scr_proc_spec spec = { .argv = argv,
                                        .out_path = log,
                                        .err_path = log };
    int status = 0;
    int rc = log ? scr_proc_run(&spec, SCR_TRANSFER_START_S, NULL, &status, err)
                 : scr_no_memory(err);
    if (rc == SCR_OK && status != 0) {
        char *said = read_log(sys, log);
        rc = scr_fail(err, SCR_E_FAILURE, 0, "%s ended with status %d%s%s", program,
                      status, said && *said ? ": " : "", said ? said : "");
        free(said);
    }
    free(log);
    return rc;
}

/* As installed, else what PATH has. */
static int launch(const struct scr_sys *sys, const struct scr_daemon *d,
                  struct scr_err *err)
{
    const char *program = d->program;
    if (d->is_default && !scr_file_is_there(sys, program))
        program = PROGRAM;
    int rc = launch_program(sys, d, program, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "transfer process (SCR_TRANSFER_PROGRAM)");
    return rc;
}

/* One process of a node starts it, the others find it. */
static int ensure_running(const struct scr_sys *sys, struct scr_daemon *d,
                          struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    struct scr_lock_holder who;
    char *path = scr_path_join(d->dir, START_LOCK);
    int rc = path ? scr_lock_acquire(sys, path, 2000 * SCR_TRANSFER_START_S, &lock, err)
                  : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = scr_daemon_look(sys, d->dir, &who, err);
    if (rc == SCR_OK && !who.held) {
        rc = launch(sys, d, err);
        d->started = rc == SCR_OK;
    }
    scr_lock_release(sys, &lock);
    free(path);
    return rc;
}

/* --- the file --- */

static int update(const struct scr_sys *sys, const char *file, scr_hash_edit edit,
                  void *arg, struct scr_err *err)
{
    return scr_hash_file_update(sys, file, SCR_TRANSFER_LOCK_MS, edit, arg, err);
}

static int list_file(scr_hash *h, const struct scr_xfer_where *w,
                     const struct scr_xfer_file *f, struct scr_err *err)
{
    int rc = scr_transfer_add_file(h, f->src, f->dst, f->size);
    if (rc == SCR_OK)
        rc = scr_transfer_own_file(h, f->src, w->id, w->rank,
                                   f->has_crc ? &f->crc : NULL, &f->attr);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "transfer file, %s", f->src);
}

/* Lists the files that are not in place, to be copied. */
static int edit_list(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_xfer *x = arg;
    const struct scr_xfer_where *w = x->o.where;
    const struct scr_transfer_dset d = { .prefix = w->prefix,
                                         .stamp = w->stamp,
                                         .node = w->node,
                                         .width = x->o.width,
                                         .crowd = x->o.crowd,
                                         .bw = x->o.bw,
                                         .percent = x->o.percent };
    struct scr_transfer t;
    TRY(scr_transfer_get(h, &t, err));
    if (scr_transfer_add_rank(h, w->id, &d, w->rank) != SCR_OK)
        return scr_no_memory(err);
    for (size_t i = 0; i < x->n; i++)
        if (!x->file[i].whole)
            TRY(list_file(h, w, &x->file[i], err));
    t.command = SCR_TRANSFER_RUN;
    t.done = 0;
    *changed = 1;
    return scr_transfer_set(h, &t) == SCR_OK ? SCR_OK : scr_no_memory(err);
}

static int edit_remove(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_xfer *x = arg;
    (void)err;
    scr_transfer_remove_rank(h, x->where.id, x->where.rank);
    *changed = 1;
    return SCR_OK;
}

static int edit_cancel(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct scr_xfer_where *w = arg;
    (void)err;
    *changed = scr_transfer_cancel(h, w->id, w->rank);
    return SCR_OK;
}

static int edit_take(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    scr_hash_move(arg, h);
    *changed = 0;
    return SCR_OK;
}

/* Reads the file if it is another one than last time: it is replaced, not rewritten. */
static int read_file(const struct scr_sys *sys, struct scr_daemon *d,
                     struct scr_err *err)
{
    struct stat st;
    int rc = scr_file_stat(sys, d->file, &st, err);
    if (rc != SCR_OK ||
        (d->seen != NULL && st.st_ino == d->st.st_ino && st.st_size == d->st.st_size &&
         memcmp(&st.st_mtim, &d->st.st_mtim, sizeof st.st_mtim) == 0))
        return rc;
    scr_hash *h = scr_hash_new();
    rc = h ? update(sys, d->file, edit_take, h, err) : scr_no_memory(err);
    if (rc != SCR_OK) {
        scr_hash_delete(h);
        return rc;
    }
    scr_hash_delete(d->seen);
    d->seen = h;
    d->st = st;
    return SCR_OK;
}

/* --- transfers --- */

static void end(struct scr_mover *m, struct scr_xfer *x, int code, const char *text)
{
    x->rc = code;
    if (code != SCR_OK)
        scr_fail(&x->err, code, 0, "%s", text);
    x->state = code == SCR_OK ? SCR_XFER_DONE : SCR_XFER_FAILED;
    scr_mover_remove(m, x);
}

/* The process is of no use any more: it is dead from here on. */
static void lose(struct scr_mover *m)
{
    struct scr_daemon *d = m->daemon;
    if (d->lost)
        return;
    d->lost = 1;
    (void)scr_daemon_kill(m->sys, d->dir, DEATH,
                          NULL); /* asked again before others write */
}

/* A state that may have ended the next time. */
static int is_passing(int code)
{
    return code == SCR_E_NOMEM || code == SCR_E_LOCKED;
}

static int start_daemon(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    struct scr_daemon *d = m->daemon;
    if (d->lost)
        return scr_fail(err, SCR_E_STATE, 0, "the transfer process in %s was lost",
                        d->dir);
    x->where = *x->o.where;
    int rc = update(m->sys, d->file, edit_list, x, err);
    if (rc == SCR_OK) /* after that: it may be about to end because it had no work */
        rc = ensure_running(m->sys, d, err);
    d->missed = rc == SCR_OK ? 0 : d->missed + 1;
    if (rc != SCR_OK) {
        if (!is_passing(rc) || d->missed > 1)
            lose(m);
        (void)update(m->sys, d->file, edit_remove, x, NULL);
        return rc;
    }
    start_watch(&d->watch);
    scr_mover_append(m, x);
    return SCR_OK;
}

/* 1 if the file says that x has ended. */
static int find_end(struct scr_mover *m, struct scr_xfer *x, struct scr_err *err)
{
    const char *text = NULL;
    int code = SCR_OK, rc = read_file(m->sys, m->daemon, err);
    if (rc != SCR_OK ||
        !scr_transfer_has_ended(m->daemon->seen, x->where.id, x->where.stamp,
                                x->where.rank, &code, &text))
        return 0;
    end(m, x, code, text);
    (void)update(m->sys, m->daemon->file, edit_remove, x, NULL);
    return 1;
}

/* 1 if the file can be read, or may be when it is looked at again. */
static int bears(struct scr_daemon *d, double now, int code)
{
    if (code == SCR_OK)
        d->unseen = 0;
    else if (d->unseen <= 0)
        d->unseen = now;
    return code == SCR_OK || (is_passing(code) && now - d->unseen < d->watch.patience);
}

/* A rank that cannot be read, or has not ended although the process has, is lost. */
static void look_daemon(struct scr_mover *m, struct scr_xfer *x)
{
    struct scr_daemon *d = m->daemon;
    struct scr_err why = SCR_ERR_INIT, file = SCR_ERR_INIT;
    double now = scr_now_mono();
    if (now < d->next && !d->lost)
        return;
    d->next = now + LOOK;
    if (find_end(m, x, &file))
        return;
    if (!d->lost)
        (void)watch(m->sys, d->dir, &d->watch, &why);
    if (why.code == SCR_OK && !d->lost && bears(d, now, file.code))
        return;
    if (why.code == SCR_OK)
        why = file;
    lose(m);
    if (find_end(m, x, &why)) /* the last thing it did */
        return;
    end(m, x, why.code != SCR_OK ? why.code : SCR_E_MISSING,
        why.code != SCR_OK ? why.text : "the transfer process was lost");
    (void)update(m->sys, d->file, edit_remove, x, NULL);
}

static void cancel_daemon(struct scr_mover *m, struct scr_xfer *x)
{
    struct scr_xfer_where w = x->where;
    if (x->state != SCR_XFER_RUNNING)
        return;
    if (update(m->sys, m->daemon->file, edit_cancel, &w, NULL) != SCR_OK)
        lose(m);
}

/* They continue without us. */
static void stop_daemon(struct scr_mover *m)
{
    while (m->first != NULL)
        end(m, m->first, SCR_E_CANCELLED, "left to the transfer process");
}

static void fini_daemon(struct scr_mover *m)
{
    struct scr_daemon *d = m->daemon;
    scr_hash_delete(d->seen);
    free(d->program);
    free(d->file);
    free(d->dir);
    free(d);
}

static const struct scr_back_end back_end = { .start = start_daemon,
                                              .cancel = cancel_daemon,
                                              .stop = stop_daemon,
                                              .fini = fini_daemon,
                                              .look = look_daemon };

struct scr_mover *scr_mover_daemon(const struct scr_daemon_opts *o,
                                   const struct scr_sys *sys, struct scr_err *err)
{
    struct scr_mover *m = scr_mover_make(&back_end, sys, err);
    struct scr_daemon *d = m ? scr_calloc(1, sizeof *d) : NULL;
    if (d == NULL) {
        scr_no_memory(err);
        free(m);
        return NULL;
    }
    m->daemon = d;
    d->is_default = o->program == NULL;
    d->watch.patience = o->patience;
    d->dir = scr_strdup(o->dir);
    d->file = scr_path_join(o->dir, SCR_TRANSFER_FILE);
    d->program = scr_strdup(o->program ? o->program : SCR_BINDIR "/" PROGRAM);
    if (d->dir != NULL && d->file != NULL && d->program != NULL)
        return m;
    scr_no_memory(err);
    scr_mover_free(m);
    return NULL;
}

int scr_mover_is_lost(const struct scr_mover *m)
{
    return scr_mover_is_daemon(m) && m->daemon->lost;
}

/* --- its end --- */

static int edit_exit(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_transfer t;
    (void)arg;
    int rc = scr_transfer_get(h, &t, err);
    if (rc != SCR_OK || scr_hash_size(scr_hash_get(h, "DSET")) > 0)
        return rc;
    t.command = SCR_TRANSFER_EXIT;
    *changed = 1;
    return scr_transfer_set(h, &t);
}

void scr_mover_dismiss(struct scr_mover *m)
{
    if (scr_mover_is_daemon(m) && m->daemon->started && !m->daemon->lost)
        (void)update(m->sys, m->daemon->file, edit_exit, NULL, NULL);
}

/* --- what an earlier run left --- */

/* Ranks that have not ended; everything that has is removed. */
static int edit_tidy(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    int *left = arg;
    int *ids = NULL;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(h, "DSET"), &ids, &n))
        return scr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        int *ranks = NULL;
        size_t nranks = 0;
        const scr_hash *of = scr_hash_getf(h, "DSET %d RANK", ids[i]);
        if (!scr_hash_list_int(of, &ranks, &nranks))
            *left = 1;
        for (size_t r = 0; r < nranks; r++) {
            if (scr_hash_getf(h, "DSET %d RANK %d CODE", ids[i], ranks[r]) == NULL)
                *left = 1;
            else
                scr_transfer_remove_rank(h, ids[i], ranks[r]);
        }
        free(ranks);
    }
    free(ids);
    *changed = 1;
    return SCR_OK;
}

int scr_daemon_tidy(const struct scr_sys *sys, const char *dir, int *busy,
                    struct scr_err *err)
{
    struct scr_lock_holder who;
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    *busy = 0;
    int rc;
    TRY_OUT(file ? scr_daemon_look(sys, dir, &who, err) : scr_no_memory(err));
    if (scr_file_is_there(sys, file))
        TRY_OUT(who.held ? update(sys, file, edit_tidy, busy, err)
                         : scr_file_remove(sys, file, err));
out:
    free(file);
    return rc;
}

int scr_daemon_release(const struct scr_sys *sys, const char *dir, double patience,
                       struct scr_err *err)
{
    struct scr_xfer_where all = { .id = -1, .rank = -1 };
    struct watch w = { .patience = patience };
    struct scr_err why = SCR_ERR_INIT;
    char *file = scr_path_join(dir, SCR_TRANSFER_FILE);
    int left = 1, rc = file ? SCR_OK : scr_no_memory(err);
    start_watch(&w);
    if (rc == SCR_OK)
        rc = update(sys, file, edit_cancel, &all, &why);
    while (rc == SCR_OK && left && (rc = watch(sys, dir, &w, &why)) == SCR_OK) {
        left = 0;
        rc = update(sys, file, edit_tidy, &left, &why);
        if (left)
            scr_nap_ms(NAP_MS);
    }
    if (file != NULL && rc != SCR_OK) { /* whatever was the matter: it is no more */
        rc = scr_daemon_kill(sys, dir, DEATH, err);
        if (rc == SCR_OK)
            rc = scr_file_remove(sys, file, err);
    }
    free(file);
    return rc;
}
