/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets in cache: those that flush.scr lists, as this process cannot look at all
 * caches, for example on a login node, and those that the caches in reach have. */
#ifndef SCR_OPS_INCACHE_H
#define SCR_OPS_INCACHE_H

#include "fmt/index.h"
#include "red/survey.h"
#include "store/prefix.h"

struct scr_incache {
    int id;
    char *name, *job; /* job: NULL: not known */
    char *nodes;      /* "n[1-4]" by the event log; NULL: not known */
    int is_ckpt, is_output;
    int is_unsaved; /* it is still to be copied to the prefix directory */
    uint64_t size, files;
    int64_t created; /* seconds since 1970; 0: not known */
};

struct scr_incaches {
    struct scr_incache *of; /* newest first */
    size_t n;
};

/* index: as it was read just before; NULL: none. SCR_E_CORRUPT: flush.scr is damaged.
 * Without a list of nodes: see scr_incaches_set_nodes. */
int scr_incaches_read(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_incaches *out,
                      struct scr_err *err);
/* Datasets of this job were written on these nodes; NULL: not known. SCR_OK or
 * SCR_E_NOMEM. */
int scr_incaches_set_nodes(struct scr_incaches *c, const char *job, const char *nodes);
/* Adds the datasets of the caches in reach that a restart can use and that are not
 * listed: a run removes from flush.scr the datasets that it does not find with its
 * settings. */
int scr_incaches_add_found(struct scr_incaches *c, const struct scr_survey *s,
                           const struct scr_index *index, struct scr_err *err);
void scr_incaches_fini(struct scr_incaches *c);
/* The newest checkpoint, else the newest dataset; NULL: there is none. */
const struct scr_incache *scr_incaches_newest(const struct scr_incaches *c);
/* 1 if only this host had it, by the event log: where no cache is in reach it is gone,
 * or below other directories than the settings say. */
int scr_incache_is_here(const struct scr_incache *c);
/* "in cache on nodes n[1-4] of job 1234", malloc'd; NULL: out of memory. */
char *scr_incache_text(const struct scr_incache *c);

/* For commands that only warn: both of the above, with the nodes by the event log. What
 * cannot be read counts as empty. SCR_OK or SCR_E_NOMEM. */
int scr_incaches_look(const struct scr_env *env, const struct scr_prefix *p,
                      const struct scr_index *index, struct scr_incaches *out,
                      struct scr_err *err);

#endif
