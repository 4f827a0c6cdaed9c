/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets that other prefix directories have in a store of this node, and how one
 * leaves (invariant C15). Nothing but scr.dataset.<id> directories is removed. Local
 * calls; those that fail give a code without a text, as what cannot leave stays.
 *
 *   hold      the locks of its runs and of processes that copy from there
 *   give up   its entries say that it was never completed: no start restores it
 *   remove    its files, then its entries
 *
 * A process that dies in between leaves the same state as a run that dies while it
 * writes. */
#ifndef SCR_STORE_NEIGHBOUR_H
#define SCR_STORE_NEIGHBOUR_H

#include "base/lock.h"
#include "store/cache.h"
#include "store/cntl.h"
#include "store/identity.h"

struct scr_neighbour {
    char name[SCR_IDENTITY_NAME]; /* of the directories of its prefix directory */
    int id;
    /* µs since the epoch; 0: no filemap describes it, it cannot be restored from here
     */
    int64_t created;
    uint64_t bytes;         /* as far as they are recorded */
    int is_output, is_done; /* is_done: completed and protected */
};

/* Orders datasets, oldest first; the same on all nodes. */
struct scr_neighbour_key {
    int64_t created, tie;
};
struct scr_neighbour_key scr_neighbour_key(const struct scr_neighbour *n);
/* < 0: a comes first. */
int scr_neighbour_compare(struct scr_neighbour_key a, struct scr_neighbour_key b);

/* Where: the store, and the job of pl, whose prefix directory is left out. */
struct scr_neighbour_at {
    const struct scr_env *env;
    const struct scr_place *place;
    const char *store;
};

/* 1 if another prefix directory has a directory there. */
int scr_neighbour_is_any(const struct scr_neighbour_at *at);
/* Those there are, malloc'd. Of a prefix directory whose control directory is not known
 * or cannot be read, none. */
int scr_neighbour_list(const struct scr_neighbour_at *at, struct scr_neighbour **list,
                       size_t *n);

struct scr_neighbour_hold {
    struct scr_neighbour what; /* id 0: this node has nothing of it */
    scr_hash *dset;            /* what it is; NULL: not known */
    char *dir, *cntl_dir;
    char *prefix; /* path of its prefix directory as its last run saw it; may be NULL */
    struct scr_cntl cntl; /* cntl.dir NULL: there is none */
    struct scr_lock locks[3];
    struct scr_cntl_maps maps; /* those that name it, as they were */
};
#define SCR_NEIGHBOUR_HOLD_INIT                                                        \
    {                                                                                  \
        .cntl = { .jnl_fd = -1 }, .locks = {                                           \
            SCR_LOCK_INIT,                                                             \
            SCR_LOCK_INIT,                                                             \
            SCR_LOCK_INIT                                                              \
        }                                                                              \
    }

/* SCR_OK with what.id 0: there is nothing to hold. SCR_E_LOCKED: a run uses it, or
 * a command copies it. A failure costs nothing. Release in any case. */
int scr_neighbour_hold(const struct scr_neighbour_at *at, const char *name, int id,
                       struct scr_neighbour_hold *h);
void scr_neighbour_release(const struct scr_env *env, struct scr_neighbour_hold *h);

int scr_neighbour_give_up(const struct scr_env *env, struct scr_neighbour_hold *h);
/* Undoes that. */
void scr_neighbour_restore(const struct scr_env *env, struct scr_neighbour_hold *h);
int scr_neighbour_remove(const struct scr_env *env, struct scr_neighbour_hold *h);

/* 1 if its prefix directory has it complete, or a user has deleted it there. In doubt
 * 0. */
int scr_neighbour_is_saved(const struct scr_env *env,
                           const struct scr_neighbour_hold *h);
/* 1 if a scavenge of its prefix directory is going on. */
int scr_neighbour_is_scavenged(const struct scr_env *env,
                               const struct scr_neighbour_hold *h);

#endif
