/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of dataset directories, "scr.dataset.<id>", and of redundancy files in them:
 * the same in the prefix and in caches. */
#ifndef SCR_STORE_DSET_NAMES_H
#define SCR_STORE_DSET_NAMES_H

#include "base/env.h"
#include "cfg/desc.h"
#include <stddef.h>

/* <dir>/scr.dataset.<id>, malloc'd. */
char *scr_dset_path(const char *dir, int id);
/* Id of a name of that form (decimal without leading zeros, >= 1), else -1. */
int scr_dset_id(const char *name);
/* Ids of the entries of dir with such names, ascending, malloc'd. An absent dir has
 * none. */
int scr_dset_ids(const struct scr_env *env, const char *dir, int **ids, size_t *n,
                 struct scr_err *err);

/* The filemap of a rank that a scavenge writes is "<rank>.scrfilemap". */
#define SCR_MAP_SUFFIX ".scrfilemap"
/* The rank of a name of that form, else -1. */
int scr_map_rank(const char *name);

/* "<m>_of_<n>_in_<g>.<suffix>", m = member + 1, g = smallest world rank of the set;
 * SINGLE's suffix is "single". malloc'd. Parse: 1 or 0 when name is not of that form.
 */
char *scr_redfile_name(enum scr_scheme s, int member, int n, int set_id);
int scr_redfile_parse(const char *name, enum scr_scheme *s, int *member, int *n,
                      int *set_id);

#endif
