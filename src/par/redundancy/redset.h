/* SPDX-License-Identifier: BSD-3-Clause */
/* One member's view of its redundancy set while it is encoded or rebuilt: what
 * protect.c and restore.c share.
 *
 *     struct scr_redset r = SCR_REDSET_INIT;
 *     … current, files …
 *     rc = scr_redset_geom_all(&r, scheme, k, rc, err);
 *     rc = scr_redset_run_all(&r, &run, rc, err);
 *     rc = scr_redset_write_header_all(&r, run.have, path, rc, err);
 *     scr_redset_fini(&r);
 *
 * The _all calls are collective over the set and take the code of the local work so
 * far; whatever it is, the rank takes part. Their results are agreed, unless their
 * comments say otherwise. */
#ifndef SCR_PAR_REDSET_H
#define SCR_PAR_REDSET_H

#include "par/redundancy/protect.h"
#include "red/redfile.h"

struct scr_redset {
    const struct scr_protect *p;
    const struct scr_set *set;
    int id;         /* dataset */
    int encoding;   /* its parity is new, and its CRC may come from the data's */
    char *rank_dir; /* application files of this rank */
    char *redpath;  /* its redundancy file */
    struct scr_current *current;   /* CURRENT of this rank, owned; its files may be the
                                      filemap's */
    struct scr_member_file *files; /* of it, below rank_dir; paths are their names */
    size_t nfiles;
    struct scr_geom g;
    uint64_t packed[SCR_EC_MAX]; /* [j]: bytes of CURRENT, packed, of the j-th left
                                    neighbour; [0]: of current */
    uint64_t header_bytes;
};
#define SCR_REDSET_INIT                                                                \
    {                                                                                  \
        0                                                                              \
    }

/* rank_dir and redpath's directory come from dset_dir. */
int scr_redset_init(struct scr_redset *r, const struct scr_protect *p,
                    const struct scr_set *set, int id, const char *dset_dir,
                    struct scr_err *err);
void scr_redset_fini(struct scr_redset *r);

/* "<dset_dir>/.scr/<name>" of this rank's redundancy file, malloc'd; NULL: out of
 * memory. */
char *scr_redset_path(const struct scr_redset *r, const char *dset_dir);

/* Lengths of a member, from which the geometry is laid out. */
struct scr_lengths {
    uint64_t bytes;  /* of its files */
    uint64_t packed; /* of current */
    uint64_t failed;
};
/* Local: this member's; the code is rc, or of what failed here. */
int scr_redset_measure(struct scr_redset *r, int rc, struct scr_lengths *mine,
                       struct scr_err *err);
/* Local: the geometry, of the lengths of all members, where none has failed. The
 * same code on all. */
int scr_redset_lay_out(struct scr_redset *r, enum scr_scheme scheme, int k,
                       const struct scr_lengths *all, struct scr_err *err);
/* Both, with an exchange in between. */
int scr_redset_geom_all(struct scr_redset *r, enum scr_scheme scheme, int k, int rc,
                        struct scr_err *err);
/* Bytes of the header. SCR_OK or SCR_E_NOMEM. */
int scr_redset_header_size(const struct scr_redset *r, uint64_t *n,
                           struct scr_err *err);
/* Members without parity in have[] get their headers, header_bytes of them, at the
 * start of path: current, as it is now, and what the left neighbours send of theirs
 * while it is written. The code is each member's own: it goes into the next agreement.
 */
int scr_redset_write_header_all(const struct scr_redset *r, const int *have,
                                const char *path, int rc, struct scr_err *err);

/* What this member runs the plans for, and with what. */
struct scr_redset_run {
    const int *have;
    int flags; /* of red/member.h */
    struct scr_member_file *files;
    const char *stem;    /* of temporary names (red/member.h), NULL: they have theirs */
    const char *redpath; /* may be temporary */
    int want_crc;        /* the CRCs of the files, and the parity's, on the way */
    /* out: */
    int started; /* the plans were run, the same on all members */
    uint32_t parity_crc;
    struct scr_stripe_stats stats;
};

/* Opens this member, runs the plans for have[], and closes. The result of an encode is
 * agreed, as no member records what another could not read or write; of a rebuild it is
 * each member's own. */
int scr_redset_run_all(const struct scr_redset *r, struct scr_redset_run *run, int rc,
                       struct scr_err *err);

/* Names of the keys of REDDESC: {TYPE, FAILURES, SET_ID, RANKS, GROUP/{RANKS,
 * RANK/<i>/<world>}, MEMBER}. */
scr_hash *scr_redset_desc(const struct scr_redset *r, const scr_hash *extra);

/* Enters into map, under (id, own rank), this member's files with the METAs of current,
 * the redundancy file, the number of files, and the descriptors of current (its
 * CHUNKCRC as a tag, so that the filemap alone can make CURRENT again). An earlier
 * entry is replaced. */
int scr_redset_enter(const struct scr_redset *r, scr_filemap *map, struct scr_err *err);

#endif
