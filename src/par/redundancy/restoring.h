/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a restore, and its three parts: find (the members of the set, and the
 * files that should exist), assess (the remaining files), restore_mend.c (the
 * rebuild). */
#ifndef SCR_PAR_RESTORING_H
#define SCR_PAR_RESTORING_H

#include "par/redundancy/redset.h"

/* --- what headers say --- */

/* The header of the redundancy file at path, if it is a good one, of this dataset and
 * of the world rank that wrote it. Fini in any case. */
int scr_restore_read_header(const struct scr_env *env, const char *path, int id,
                            int rank, struct scr_redhead *head, struct scr_err *err);

/* If rc, agreed, is SCR_E_LOST: a rank that could not read files that might have
 * sufficed reports its transient error instead; unread is this rank's. Collective;
 * agreed. */
int scr_restore_doubt_all(const struct scr_comm *world, int rc,
                          const struct scr_err *unread, struct scr_err *err);

/* What a look found of a member, SCR_HAVE_*: all else is there and good. */
struct scr_sight {
    int lost;        /* gone, or not as recorded */
    int unread;      /* could not be checked, because of a transient error */
    int failed;      /* it did not look: it has failed before */
    uint64_t parity; /* bytes behind its header; of the first look */
};

struct scr_restoring {
    const struct scr_protect *p;
    const char *dset_dir;
    scr_filemap *map;
    struct scr_set set;
    struct scr_redset r;
    /* what this rank finds */
    struct scr_redhead head;   /* of its redundancy file */
    int has_head;              /* 0: there is none that is good, */
    struct scr_err header_why; /* and why */
    char *redfound;            /* where that is */
    struct scr_setdesc known;  /* from a rank that knew it, whose number member is */
    int has_crc;
    int lost_files;     /* of this rank */
    struct scr_err why; /* the first of them; the first unread one, if any is */
    struct scr_sight seen[SCR_EC_MAX]; /* of each member */
    int have[SCR_EC_MAX]; /* of each member, what can be used: SCR_HAVE_* */
    int suffices;         /* every member has looked, and that is enough */
    /* what is rebuilt */
    char *stem; /* of the temporary names of r.files */
    char *tmpred;
};

/* The redundancy file that the filemap names: s->head, if it is good. */
void scr_restore_find_header(struct scr_restoring *s);
/* Local: 1 if this rank, and the filemap, have the files and the redundancy file that
 * its header describes, to the last byte; the header is s->head then. */
int scr_restore_has_all(struct scr_restoring *s);

/* Finds s->set and what this rank has to say about it. rc: of this rank until now; the
 * code is its own. Collective over world, and agreed, unless the set is known: where
 * there is an error, and none after it. */
int scr_restore_find_set_all(struct scr_restoring *s, int rc, struct scr_err *err);
/* Collective over the set: CURRENT of every member, and the list of its files, of s->r.
 * rc: of this rank until now; if any member's is an error all leave with that. Else the
 * code is each rank's own, to be agreed on. */
int scr_restore_find_files_all(struct scr_restoring *s, int rc, struct scr_err *err);

/* Collective over the set: the geometry of s->r, and s->have. SCR_E_LOST, on the
 * members at fault, when what is left does not suffice: the caller agrees. If it would
 * together with the files that could not be read, the code is that transient error
 * instead. Sizes and headers decide; if all seem to be there, their contents are
 * verified too. rc: of this rank until now; if any member's is an error none looks.
 */
int scr_restore_assess_all(struct scr_restoring *s, int rc, struct scr_err *err);
/* A look at what is left that reads everything. As above. */
int scr_restore_read_all(struct scr_restoring *s, int rc, struct scr_err *err);
/* 1 if by the last look no member of the set lacks anything. */
int scr_restore_is_whole(const struct scr_restoring *s);

/* Collective over world; agreed: rebuilds what is lost in this rank's set, under
 * temporary names, where what is left suffices. rc: of this rank until now, as it was
 * assessed; if any rank's is an error all leave with that. */
int scr_restore_mend_all(struct scr_restoring *s, int rc, struct scr_err *err);
/* Local: the rebuilt files of this rank get their names. */
int scr_restore_put_in_place(const struct scr_restoring *s, struct scr_err *err);
/* Local: after a failure, of any rank. */
void scr_restore_remove_temporaries(const struct scr_restoring *s);

#endif
