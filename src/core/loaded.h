/* SPDX-License-Identifier: BSD-3-Clause */
/* The checkpoint a restart would read: which files it has, and where. */
#ifndef SCR_CORE_LOADED_H
#define SCR_CORE_LOADED_H

#include "base/table.h"
#include "fmt/filemap.h"
#include "fmt/rank2file.h"
#include "par/pfs/plain.h"
#include "store/catalog.h"

struct scr_ctx;

/* A file that can be read, by its destination below the prefix or by its base name. */
struct scr_readable {
    struct scr_item item;
    const char *path; /* to read it from; "": several files have that base name; NULL:
                       * <dir of the restart>/<base name> */
    int is_others;    /* another rank wrote it */
    int is_named;     /* it may be asked for by its base name */
};

/* A base name in the prefix directory. */
struct scr_base {
    struct scr_item item;
    const struct scr_listed *of; /* in scr_restart.catalog; NULL: of several files */
};

/* A file of a checkpoint, as SCR_Restart_file gives it. */
struct scr_restart_file {
    const char *dest; /* below the prefix, borrowed from scr_restart.told */
    int rank;         /* that wrote it */
};

/* The checkpoint a restart would read. */
struct scr_restart {
    int id;       /* 0: none */
    double start; /* of SCR_Start_restart, scr_now_mono() */
    int refused;  /* first error of SCR_Route_file that is of what was asked for, not of
                     the checkpoint; SCR_OK: none */
    int damaged;  /* it had one of the checkpoint */
    char *name;
    char *dir; /* has most of this rank's files in cache; NULL: has none */
    /* of struct scr_readable: this rank's files, and others it has asked for; by name
     * since a base name was first asked for */
    struct scr_table by_dest, by_name;
    int has_names;
    scr_filemap *near;       /* what this node has in cache; NULL: not needed so far */
    int in_place;            /* those paths are on the prefix */
    struct scr_plains plain; /* compressed ones this rank unpacked there */
    /* of a different number of ranks (foreign.c): it is read in place in the prefix
     * directory, by_dest and by_name get the files asked for */
    int is_foreign;
    struct scr_rank2file share; /* part of its list, which this rank reports */
    struct scr_catalog catalog; /* all its files on the prefix */
    struct scr_table bases;     /* of struct scr_base */
    int has_bases;
    /* every rank's files, when the program asked for a list */
    struct scr_str told;           /* "<rank>/<destination>" of each */
    struct scr_restart_file *list; /* NULL: not asked for so far */
    int nlist;
};

/* 1 if its files are read in the prefix directory, where they lie. */
static inline int scr_restart_is_on_prefix(const struct scr_restart *r)
{
    return r->is_foreign || r->in_place;
}
/* There is none; r is as new, and empty. */
void scr_restart_fini(struct scr_restart *r);
/* Enters a file of this rank. SCR_OK or SCR_E_NOMEM. */
int scr_restart_add(struct scr_restart *r, const char *dest, const char *path);
/* The path of one by destination, borrowed; NULL: it has left the cache, or f is NULL.
 */
int scr_readable_path(const struct scr_ctx *ctx, const struct scr_readable *f,
                      const char **path, struct scr_err *err);
/* Enters those by destination by their base names, once. */
int scr_restart_enter_names(struct scr_ctx *ctx, struct scr_err *err);
/* Adds one to files, of struct scr_readable; NULL: out of memory. */
struct scr_readable *scr_readable_add(struct scr_table *files, const char *name,
                                      const char *path);
/* Enters a file of another rank. SCR_OK or SCR_E_NOMEM. */
int scr_restart_add_other(struct scr_restart *r, const char *dest, const char *path);
/* Files of dataset id, which is the checkpoint to restart from, can be looked for in
 * the list it has in the prefix directory. Local. */
void scr_restart_read_there(struct scr_ctx *ctx, int id);

#endif
