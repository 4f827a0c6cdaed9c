/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in the caches of the nodes that are left, copied to the prefix directory:
 * scr_copy on all of them at once; then, if some node lost files, once more on those
 * that keep copies for others (developer's manual 11.10.2). */
#ifndef SCR_TOOL_SCAVENGE_H
#define SCR_TOOL_SCAVENGE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "rm/remote.h"
#include "tool.h"

struct scr_scavenge_opts {
    const char *jobset;  /* nodes of the job; NULL: by the resource manager */
    const char *up;      /* only these of them; NULL: all that are not down */
    const char *down;    /* these are; NULL: none but what the manager says */
    const char *cntldir; /* on each node; NULL: by the configuration */
    int ended; /* 1: the caller knows that the run has, whatever is left of it */
    const char
        *timeout; /* seconds a dataset may take; NULL: as long as the job lasts */
};

struct scr_scavenge {
    struct scr_tool *t;
    struct scr_params prm;
    struct scr_rm rm;
    struct scr_hostlist up, down;
    const char *cntldir;
    char *program;        /* scr */
    int64_t number;       /* ours, for scr_copy --for */
    int64_t created;      /* when the dataset was made; 0: not known */
    int ended;            /* as in the options */
    atomic_int stop;      /* 1: processes on nodes must end */
    double timeout_s;     /* for a dataset */
    double end, deadline; /* scr_now_mono(): of all, of the dataset */
    int shared;           /* 1: there is a cache that all nodes share */
    size_t found;         /* nodes with files of the last dataset */
    size_t bare;          /* nodes with no cache of the job at all */
    char *
        trouble; /* of the last dataset: what kept a node from copying; NULL: nothing */
    struct scr_lock lock; /* one scavenge of a prefix at a time */
};

/* t->prefix is open. SCR_E_LOCKED: another one is at work, or a run uses a cache that
 * is in reach; SCR_E_NOENT: no node is left. Close in any case. */
int scr_scavenge_open(struct scr_tool *t, const struct scr_scavenge_opts *o,
                      struct scr_scavenge *s, struct scr_err *err);
void scr_scavenge_close(struct scr_scavenge *s);

/* Signals that ask for the end of the process are obeyed when what runs on the nodes
 * has been ended. Copies what is left of dataset id. dset describes it, for the index,
 * and says which is meant where nodes have files of several of this number; NULL: not
 * known. SCR_OK also if nodes or files are missing: whether the dataset is whole shows
 * when it is built. If it is not then, s->trouble has the reason why another try may
 * help. SCR_E_TAKEN: the index gives the id to another dataset. SCR_E_LOCKED: a run
 * uses the cache of a node. SCR_E_NOENT: no node has a cache of the job, and nothing
 * was copied before. */
int scr_scavenge_dataset(struct scr_scavenge *s, int id, const scr_hash *dset,
                         struct scr_err *err);

#endif
