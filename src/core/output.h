/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataset between Start_output and Complete_output. */
#ifndef SCR_CORE_OUTPUT_H
#define SCR_CORE_OUTPUT_H

#include "base/table.h"
#include "cfg/desc.h"
#include "par/pfs/flush.h"
#include "store/catalog.h"

struct scr_ctx;

/* A complete dataset whose files may lie where new ones are about to be written, or a
 * pending one (store/arrival.h) whose files may yet get there. */
struct scr_older {
    int id;
    int pending;
    struct scr_catalog files;
};

/* A file of the open dataset, as SCR_Route_file gave it. */
struct scr_routed {
    struct scr_item item; /* name: where it goes, below the prefix; */
    const char *path;     /* to write to. In cache both are the filemap's */
    int waits;            /* next to a file that it replaces (store/replacing.h) */
};

/* The dataset between Start_output and Complete_output. */
struct scr_output {
    int id; /* 0: no output phase is open */
    int is_ckpt, is_output;
    const struct scr_reddesc *red;
    char *name;
    char *dset_dir, *rank_dir; /* in cache */
    struct scr_table routed;   /* of struct scr_routed */
    struct scr_table taken;    /* names in rank_dir of files that moved there */
    struct scr_table shared; /* of struct scr_shared (par/pfs/owners.h): those of routed
                                  that other ranks routed too */
    int has_shared;          /* some rank has some */
    struct scr_err refused;  /* first SCR_Route_file that failed in this phase */
    int more_refused;        /* others that failed after it */
    int bypass;              /* files are written to the prefix; the rest is for that */
    scr_hash *dset;          /* as the index has it */
    struct scr_table made;   /* directories of routed files; */
    struct scr_table parts;  /* those made next to files to replace */
    struct scr_publish publish;
    int unplaced; /* those files stay for the next start */
    struct scr_realdir real;
    struct scr_older *older; /* those it may replace files of */
    size_t nolder;
    double start;          /* scr_now_mono() */
    uint64_t bytes, files; /* of all ranks, once it is complete */
    /* Seconds of the program's writing, of redundancy, of a flush it waited for. */
    double write, encode, flush;
};

int scr_start_output_all(struct scr_ctx *ctx, const char *name, int flags,
                         struct scr_err *err);
int scr_complete_output_all(struct scr_ctx *ctx, int valid, struct scr_err *err);
void scr_output_fini(struct scr_output *out);

#endif
