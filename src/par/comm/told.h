/* SPDX-License-Identifier: BSD-3-Clause */
/* File lists that ranks exchange: a filemap of one entry, in which files have
 * their place below the dataset directory as name (par/migrate/holdings.h). Local,
 * except for the exchange of the parcels (par/comm/comm.h). */
#ifndef SCR_PAR_TOLD_H
#define SCR_PAR_TOLD_H

#include "fmt/filemap.h"
#include "par/comm/comm.h"

struct scr_told {
    scr_filemap *map;
    struct scr_entry *entry; /* in it; NULL: out of memory, or nothing was sent */
};

/* One to be filled: of rank's part of the dataset. Fini in any case. */
int scr_told_new(struct scr_told *t, int id, int rank, struct scr_err *err);
void scr_told_fini(struct scr_told *t);
/* Packs it for that rank. */
int scr_told_post(const struct scr_told *t, int to, struct scr_parcels *send,
                  struct scr_err *err);
/* The result of rank's part. Fini in any case. */
int scr_told_take(struct scr_told *t, const struct scr_str *bytes, int id, int rank,
                  struct scr_err *err);

#endif
