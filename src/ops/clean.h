/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that jobs left in the node-local caches of this node, and how they leave.
 * A leftover is all that the runs of a job in one prefix directory left on a node: its
 * control directory and its cache directories, below whatever bases. Local calls.
 *
 *     rc = scr_leftovers_list(&at, &list, &n, err);
 *     for (size_t i = 0; i < n; i++)
 *         if ((rc = scr_leftover_hold(env, &list[i], err)) == SCR_OK &&
 *             (rc = scr_leftover_judge(env, &list[i], err)) == SCR_OK &&
 *             list[i].unsaved == NULL)
 *             rc = scr_leftover_remove(env, &list[i], err);
 *     scr_leftovers_free(env, list, n);
 *
 * A removal that is interrupted is finished by the next one: files leave before the
 * filemaps that name them (invariant C1), and the lock leaves last. */
#ifndef SCR_OPS_CLEAN_H
#define SCR_OPS_CLEAN_H

#include "base/lock.h"
#include "base/strv.h"
#include "store/cache.h"
#include "store/prefix.h"

struct scr_clean_at {
    const struct scr_env *env;
    const char *user;
    const struct scr_strv *bases; /* of the stores that are the node's alone */
};

struct scr_leftover {
    char *vnode;      /* NULL: none */
    char *job, *name; /* name: of the prefix directory; "": an empty directory */
    char *user;
    struct scr_strv dirs, bases; /* the directories, and the base of each */
    char *prefix; /* path of the prefix directory, as its runs saw it; may be NULL */
    uint64_t bytes;
    time_t newest; /* change */
    int rc;        /* not SCR_OK: they may not be touched, because of why */
    char *why;
    int ndatasets;
    char *unsaved; /* by scr_leftover_judge: what is nowhere else; NULL: nothing */
    struct scr_lock *locks; /* of scr_leftover_hold; NULL: not held */
    size_t nlocks;
};

/* Sorted by virtual node, job and prefix directory. Directories that are symbolic
 * links, or that others own or can write to, are leftovers with rc SCR_E_UNSAFE. */
int scr_leftovers_list(const struct scr_clean_at *at, struct scr_leftover **list,
                       size_t *n, struct scr_err *err);
void scr_leftovers_free(const struct scr_env *env, struct scr_leftover *list, size_t n);

/* The base of its control directory, borrowed, or NULL if that is not known: what
 * SCR_CNTL_BASE was for its runs. */
const char *scr_leftover_cntl_base(const struct scr_env *env,
                                   const struct scr_leftover *l);

/* Another process, an scr_clean or a run that ends, may have removed all of it since it
 * was listed; what then fails is no error. */
int scr_leftover_is_gone(const struct scr_env *env, const struct scr_leftover *l);

/* SCR_E_LOCKED: a run, a copy or a scavenge uses it, or scr_srun or the like is at work
 * in its prefix directory, or a lock cannot be read. look only asks, else the locks are
 * taken, which keeps runs out. */
int scr_leftover_look(const struct scr_env *env, const struct scr_leftover *l,
                      struct scr_err *err);
int scr_leftover_hold(const struct scr_env *env, struct scr_leftover *l,
                      struct scr_err *err);
/* Sets ndatasets and unsaved: the datasets that are neither complete in the prefix
 * directory, nor checkpoints older than one that is. In doubt they are not. */
int scr_leftover_judge(const struct scr_env *env, struct scr_leftover *l,
                       struct scr_err *err);
/* Of a held one. SCR_E_LOCKED: a run has begun there. */
int scr_leftover_remove(const struct scr_env *env, struct scr_leftover *l,
                        struct scr_err *err);

#endif
