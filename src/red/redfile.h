/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a redundancy file: the members of the set, the meta data of this
 * member's files and of those of its left neighbours, and the CRCs (FORMATS,
 * developer's manual 7.3.2).
 *
 *   DSET=<id> RANKS=<world size> TYPE=XOR|PARTNER|RS FAILURES=<k>
 *   GROUP/{RANKS=<n>, RANK/<i>/<world rank>}, MEMBER=<i>  CHUNK=<bytes>
 *   CURRENT/{RANK=<world rank>, FILES=<m>, FILE/<i>/{meta}, CHUNKCRC=0x…,
 *            DESC/{reddesc}, DSETDESC/{dataset}}
 *   PARTNER/… the same for the left neighbour; with k > 1 losses PARTNER, PARTNER2 …
 *             PARTNER<k> for the k left neighbours.
 *
 * CRC fields have a fixed width, so the header is laid out before the encode and its
 * CRCs are filled in after it without moving the parity. SINGLE keeps such a file too,
 * without parity: it carries the meta data. */
#ifndef SCR_RED_REDFILE_H
#define SCR_RED_REDFILE_H

#include "base/env.h"
#include "base/hash.h"
#include "base/str.h"
#include "fmt/filemap.h"
#include "red/geom.h"
#include "red/member.h"
#include "red/setdesc.h"
#include "store/dset_names.h"

/* Key of the copy kept for the j-th left neighbour (j = 1 …): "PARTNER", "PARTNER2", …
 */
const char *scr_redfile_partner_key(int j, char *buf, size_t n);

/* Number of left neighbours whose meta data a member keeps: max(1, k), at most n - 1.
 */
int scr_redfile_copies(int n, int k);

/* --- CURRENT: a member's files as its set remembers them --- */
struct scr_current {
    int rank;               /* world rank, -1: not recorded */
    struct scr_table files; /* of struct scr_file, named by their number */
    struct scr_file **file; /* in logical order: these, or those that are lent */
    size_t n;
    uint32_t chunk_crc;
    int has_chunk_crc;
    scr_hash *desc, *dset; /* DESC and DSETDESC; NULL: not recorded */
};

/* Where a list is read to: its files get their paths below dir as names, or are those
 * of a filemap's list, lent, as long as these follow each other there and have the same
 * recorded. All of a list are lent, or none. A file whose FILE is missing, unsafe or
 * given before gets another name. */
struct scr_shelf {
    const char *dir;
    const struct scr_file *next; /* the next one that may be lent; NULL: none */
};
/* The first file of a list that has meta data and is no redundancy file, from f on. */
const struct scr_file *scr_shelf_next(const struct scr_file *f);

/* NULL: out of memory. desc and dset are copied, and may be NULL. */
struct scr_current *scr_current_new(int world_rank, const scr_hash *desc,
                                    const scr_hash *dset);
void scr_current_delete(struct scr_current *c);
/* Adds a file, which stays the caller's and gets the CRCs, behind those there are.
 * SCR_OK or SCR_E_NOMEM. */
int scr_current_lend(struct scr_current *c, struct scr_file *f);
/* Adds a file as one of those of a shelf, or as its copy; meta is copied. */
int scr_current_shelve(struct scr_current *c, const scr_meta *meta,
                       struct scr_shelf *shelf);
/* Keeps places for all CRCs, which are not known yet. */
void scr_current_reserve_crcs(struct scr_current *c);
/* Sets the CRC of every file, one for each, and CHUNKCRC. */
void scr_current_set_crcs(struct scr_current *c, const struct scr_member_file *files,
                          uint32_t chunk_crc);
/* Its packed hash (base/cursor.h); s becomes bad where memory ran out. */
void scr_current_pack(struct scr_str *s, const struct scr_current *c);
/* And back, from bytes that may be damaged: SCR_E_CORRUPT if the files are not
 * numbered from 0 on, or their number is not the one recorded. */
int scr_current_unpack(const void *buf, size_t n, struct scr_current **c,
                       struct scr_err *err);
/* The same of what a cursor gives, to its end. The files are in the order of their
 * numbers. */
int scr_current_take(struct scr_cursor *cur, struct scr_shelf *shelf,
                     struct scr_current **c, struct scr_err *err);

/* Size, CRC and path of the files, as many as c has: files malloc'd. path = dir/<FILE>,
 * or with SCR_LAYOUT_PREFIX, for files at their destinations, dir/PATH/NAME
 * (scr_meta_dest). crc as recorded; *has_crc 0 if any file has none. Unsafe paths are
 * SCR_E_CORRUPT. */
enum scr_layout { SCR_LAYOUT_CACHE, SCR_LAYOUT_PREFIX };
int scr_redfile_files(const struct scr_current *c, const char *dir,
                      enum scr_layout layout, struct scr_member_file **files,
                      int *has_crc, struct scr_err *err);
/* The same of a list that was read to a shelf: paths are the names of its files. Free
 * the array. */
int scr_current_list(const struct scr_current *c, struct scr_member_file **files,
                     size_t *n, int *has_crc, struct scr_err *err);
void scr_member_files_free(struct scr_member_file *files, size_t n);
/* Gives the file at path the mode, owner and times that are recorded of file number f;
 * what is not recorded stays as it is. */
int scr_redfile_dress(const struct scr_env *env, const struct scr_current *c, size_t f,
                      const char *path, struct scr_err *err);

/* --- the header --- */
/* The owner of the header. */
struct scr_redowner {
    const struct scr_geom *g;
    int member, dset_id, world_size;
    const int *world_ranks; /* of all members */
};
/* The bytes of the header, into s, which is empty. copies[j-1]: CURRENT of the j-th
 * left neighbour, packed. c and copies NULL: what else there is, for its length. s
 * becomes bad where memory ran out, and of a bad copy. */
void scr_redfile_header(struct scr_str *s, const struct scr_redowner *o,
                        const struct scr_current *c, const struct scr_str *copies,
                        int ncopies);
/* The key GROUP, of n members. */
void scr_redfile_pack_group(struct scr_str *s, const int *world_ranks, int n);
/* Its packed hash up to where that of CURRENT begins; after that ncopies keys and their
 * hashes follow. */
void scr_redfile_front(struct scr_str *s, const struct scr_redowner *o, int ncopies);
/* Writes it at the start of path without touching what follows (pwrite), creating the
 * file 0600. */
int scr_redfile_write(const struct scr_env *env, const char *path,
                      const struct scr_str *header, struct scr_err *err);

/* What a reader needs, from the set of a header. Hostile bytes give SCR_E_CORRUPT:
 * numbers outside their range, a set too small for its scheme, ranks missing, repeated
 * or outside the run. */
struct scr_redinfo {
    int dset_id;
    uint64_t chunk;
    struct scr_setdesc set; /* nothing in it is -1 */
};
int scr_redinfo_get(const scr_hash *header, struct scr_redinfo *out,
                    struct scr_err *err);

/* A header that was read, and found to be a good one. */
struct scr_redhead {
    struct scr_redinfo info;
    struct scr_current *current;
    struct scr_redcopy {
        const void *p;  /* packed, in buf; NULL: it is not there, or not in memory */
        size_t n;       /* 0: it is not there */
        uint64_t at;    /* where in the file */
    } copy[SCR_EC_MAX]; /* [j-1]: CURRENT of the j-th left neighbour */
    void *buf;
    uint64_t bytes; /* of the header: where parity starts */
};
/* At most 1 GiB of header. Of a copy only the outline is looked at. Fini in any case.
 */
int scr_redhead_read(const struct scr_env *env, const char *path, struct scr_redhead *h,
                     struct scr_err *err);
/* The same without buf: files are read to a shelf, and copies stay in the file. */
int scr_redhead_shelve(const struct scr_env *env, const char *path,
                       struct scr_shelf *shelf, struct scr_redhead *h,
                       struct scr_err *err);
void scr_redhead_fini(struct scr_redhead *h);
/* The whole of a header as a tree, for those who print it. */
int scr_redfile_read(const struct scr_env *env, const char *path, scr_hash *header,
                     uint64_t *header_bytes, struct scr_err *err);

/* A set whose surviving files are in directories this process can reach (the commands;
 * scavenged datasets). Arrays have an element a member. */
struct scr_rebuild_set {
    int n;
    const char *const *red; /* its redundancy file; NULL: lost */
    const char *const *dir; /* the directory its application files are in (FILE is
                               joined to it), or are rebuilt to; NULL: out of reach */
    const char *const *out; /* where its redundancy file is written if that is lost */
    const char *prefix; /* not NULL: all files, of surviving and of lost members, have
                           their destination PATH/NAME below that (scr_meta_dest), and
                           dir is not used */
};

/* Rebuilds what is lost. All CRCs are verified first: what fails counts as lost. Files
 * and redundancy files rebuilt are bit-identical to the encode's; files have the mode
 * and times that were recorded. Directories below a prefix are made (scr_dir_make).
 * rebuilt[i] (may be NULL) gets the SCR_HAVE_* bits that were rebuilt for member i.
 * SCR_E_LOST beyond tolerance, nothing written then. SCR_E_OUTSIDE, and nothing is
 * written: where one would be rebuilt a link leads out of the prefix. */
int scr_rebuild_serial(const struct scr_env *env, const struct scr_rebuild_set *set,
                       int *rebuilt, struct scr_err *err);

/* What a rebuild would do, without doing it: lost[i] (may be NULL) gets the SCR_HAVE_*
 * bits that would be rebuilt for member i. with_crc 0: files are only looked at for
 * their sizes. SCR_E_LOST as above; or, if something could not be read because of an
 * error that may pass (scr_err_may_pass), that. Files that count as lost are named in
 * the log. */
int scr_rebuild_check(const struct scr_env *env, const struct scr_rebuild_set *set,
                      int with_crc, int *lost, struct scr_err *err);

#endif
