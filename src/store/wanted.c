/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the files of an attempt to flush a dataset are still wanted. */
#include "store/wanted.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/io.h"
#include "base/units.h"
#include "store/arrival.h"
#include "store/demote.h"

/* Clocks of file systems stand still for a tick; those without parts of seconds, and
 * the file servers behind them, for longer. */
static const double TICK_S = 0.1, COARSE_TICK_S = 2.5;

void scr_wanted_init(struct scr_wanted *w)
{
    *w = (struct scr_wanted){ 0 };
    pthread_mutex_init(&w->lock, NULL);
}

void scr_wanted_fini(struct scr_wanted *w)
{
    pthread_mutex_destroy(&w->lock);
}

/* The plan as it is now; no links: it is not known. It is opened, not only looked at: a
 * client of NFS asks the server then whether what it remembers is still true. */
static struct stat look(const struct scr_env *env, const char *path)
{
    struct stat st;
    int fd = -1;
    int rc;
    TRY_OUT(scr_open(env->sys, path, O_RDONLY | O_NONBLOCK, 0, &fd, NULL));
    TRY_OUT(scr_fd_stat(env->sys, fd, &st, path, NULL));
out:
    scr_close(env->sys, &fd, path, NULL); /* only read from */
    return rc == SCR_OK ? st : (struct stat){ 0 };
}

static int same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* 1 if another plan, even one that gets the inode of this one, would have other times:
 * it comes after now, in seconds, and this one is older than that by more than a tick.
 */
static int is_settled(const struct stat *plan, double now)
{
    const struct timespec *at = &plan->st_ctim;
    double age = now - ((double)at->tv_sec + (double)at->tv_nsec * 1e-9);
    return age > (at->tv_nsec != 0 ? TICK_S : COARSE_TICK_S);
}

/* Plans are replaced, never written in place (invariant D1). */
static int is_same(const struct stat *a, const struct stat *b)
{
    return a->st_nlink > 0 && b->st_nlink > 0 && a->st_dev == b->st_dev &&
           a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

static int is_known(struct scr_wanted *w, const struct stat *now)
{
    pthread_mutex_lock(&w->lock);
    int known = is_same(&w->plan, now);
    pthread_mutex_unlock(&w->lock);
    return known;
}

static void remember(struct scr_wanted *w, const struct stat *now)
{
    pthread_mutex_lock(&w->lock);
    w->plan = *now;
    pthread_mutex_unlock(&w->lock);
}

/* The first file is about to get its name. */
static int demote_once(struct scr_wanted *w, const struct scr_env *env,
                       const struct scr_prefix *p, const scr_hash *plan,
                       struct scr_err *err)
{
    struct scr_ids ids = { 0 };
    int rc = SCR_OK;
    pthread_mutex_lock(&w->lock);
    if (!w->demoted &&
        !scr_hash_list_int(scr_hash_get(plan, "REPLACES"), &ids.id, &ids.n))
        rc = scr_no_memory(err);
    ids.room = ids.n;
    if (rc == SCR_OK && !w->demoted)
        rc = scr_demote(env, p, &ids, err);
    w->demoted = rc == SCR_OK;
    pthread_mutex_unlock(&w->lock);
    scr_ids_fini(&ids);
    return rc;
}

static int read_plan(struct scr_wanted *w, const struct scr_env *env,
                     const struct scr_prefix *p, int id, uint64_t stamp,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    uint64_t is = 0;
    scr_hash *plan = scr_hash_new();
    int rc = plan ? scr_arrival_plan_read(env, p, id, plan, &why) : scr_no_memory(&why);
    (void)scr_hash_get_val_u64(plan, "STAMP", &is);
    if (rc == SCR_E_NOENT || (rc == SCR_OK && is != stamp))
        rc = scr_fail(&why, SCR_E_MISSING, 0,
                      "the transfer of dataset %d was cancelled", id);
    if (rc == SCR_OK)
        rc = demote_once(w, env, p, plan, &why);
    scr_hash_delete(plan);
    return scr_err_take(err, rc, &why);
}

/* The remembered state is from before the reading: if another plan came in between, the
 * next check reads that. A plan too young to be distinguished from the next is read
 * again. */
int scr_wanted_check(struct scr_wanted *w, const struct scr_env *env,
                     const struct scr_prefix *p, int id, uint64_t stamp,
                     struct scr_err *err)
{
    double asked = (double)scr_now_usec() * 1e-6;
    char *path = scr_arrival_plan_path(p, id);
    struct stat now = path ? look(env, path) : (struct stat){ 0 };
    free(path);
    if (is_known(w, &now))
        return SCR_OK;
    TRY(read_plan(w, env, p, id, stamp, err));
    if (is_settled(&now, asked))
        remember(w, &now);
    return SCR_OK;
}
