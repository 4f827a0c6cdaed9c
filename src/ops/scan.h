/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scavenge left of a dataset: the redundancy sets and the rank filemaps found in
 * its scr.dataset.<id> directory, rebuilt where files are missing, and the rank2file
 * part that follows from them. */
#ifndef SCR_TOOL_SCAN_H
#define SCR_TOOL_SCAN_H

#include "cfg/desc.h"
#include "ops/faults.h"
#include "store/prefix.h"

/* One redundancy set, by the names of its members' files; what is in it is in the
 * arena of its table. */
struct scr_scan_set {
    struct scr_item item; /* "<scheme> <n> <set_id>" */
    enum scr_scheme scheme;
    int n, set_id;
    char **red;  /* n paths in the dataset directory */
    char *found; /* of each, whether it was there */
};

struct scr_scan {
    const struct scr_env *env;
    const struct scr_prefix *p;
    int id;
    char *dir;
    char *root; /* where the application files are: in the stage, or the prefix */
    int staged; /* 1: in the stage (ops/stage.h) */
    struct scr_table sets; /* of struct scr_scan_set */
    int *map_rank;         /* ranks with a <rank>.scrfilemap, ascending */
    size_t nmaps;

    struct scr_rank2file files; /* what is known of them; ranks 0: not how many */
    struct scr_rank2file fresh; /* what is on its way into these */
    scr_hash *dset;             /* dataset hash; empty if it is not known */
    char *trusted;          /* ranks whose files' CRCs the rebuild has just checked */
    struct scr_faults lost; /* sets beyond repair: of no matter if no file is missing */
    int rebuilt_ranks;
    int newer; /* dataset that wrote over the files, 0: none */
};

/* Lists the directory. SCR_E_NOENT if it is not there or holds nothing to build from.
 */
int scr_scan_open(struct scr_scan *s, const struct scr_env *env,
                  const struct scr_prefix *p, int id, struct scr_err *err);
/* Rebuilds what is missing in every set, syncs what was rebuilt, then fills files and
 * dset. Sets beyond repair go to lost, ranks short of files to f. SCR_E_LOST: a
 * newer dataset wrote over the files, nothing was touched and nothing is filled. */
int scr_scan_rebuild(struct scr_scan *s, struct scr_faults *f, struct scr_err *err);
/* Whether scr_scan_rebuild could make every rank whole from the existing redundancy
 * files: 1 or 0. Changes nothing. with_crc 0: compares sizes. */
int scr_scan_can_rebuild(struct scr_scan *s, int with_crc);
void scr_scan_fini(struct scr_scan *s);

#endif
