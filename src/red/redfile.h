/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a redundancy file: who is in the set, the meta data of this member's
 * files and of those of its left neighbours, and the CRCs (FORMATS, developer's
 * manual 7.3.2).
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
#include "red/geom.h"
#include "red/member.h"

/* "<m>_of_<n>_in_<g>.<suffix>", m = member + 1, g = smallest world rank of the set;
 * SINGLE's suffix is "single". malloc'd. Parse: 1 or 0 when name is not of that form.
 */
char *scr_redfile_name(enum scr_scheme s, int member, int n, int set_id);
int scr_redfile_parse(const char *name, enum scr_scheme *s, int *member, int *n,
                      int *set_id);

/* Key of the copy kept for the j-th left neighbour (j = 1 …): "PARTNER", "PARTNER2", …
 */
const char *scr_redfile_partner_key(int j, char *buf, size_t n);

/* Number of left neighbours whose meta data a member keeps: max(1, k), at most n - 1.
 */
int scr_redfile_copies(int n, int k);

/* CURRENT of a member from its files' meta hashes, in logical order. All are copied;
 * desc and dset may be NULL. Every CRC is set to the placeholder "0x00000000". NULL:
 * out of memory. */
scr_hash *scr_redfile_current(int world_rank, size_t nfiles, scr_hash *const *metas,
                              const scr_hash *desc, const scr_hash *dset);
/* Sets the CRC of every file, and CHUNKCRC. SCR_E_ARG if current has not nfiles files,
 * SCR_E_NOMEM. */
int scr_redfile_set_crcs(scr_hash *current, size_t nfiles,
                         const struct scr_member_file *files, uint32_t chunk_crc);
/* Header from its parts; partners[j-1] = CURRENT of the j-th left neighbour, copied.
 * NULL: out of memory. */
scr_hash *scr_redfile_header(const struct scr_geom *g, int member, int dset_id,
                             int world_size, const int *world_ranks,
                             const scr_hash *current, scr_hash *const *partners,
                             int npartners);

/* What a reader needs, from a header. Hostile bytes give SCR_E_CORRUPT: numbers outside
 * their range, a set too small for its scheme, ranks missing, repeated or outside the
 * run, a CURRENT that is not the member's. */
struct scr_redinfo {
    int dset_id, world_size, n, k, member, set_id;
    enum scr_scheme scheme;
    uint64_t chunk;
    int *world_ranks; /* n of them, owned */
    uint64_t
        header_bytes; /* where parity starts; 0; for the caller of scr_redfile_read */
};
int scr_redinfo_get(const scr_hash *header, struct scr_redinfo *out,
                    struct scr_err *err);
void scr_redinfo_fini(struct scr_redinfo *info);
/* Size, CRC and base name lists from a CURRENT/PARTNER* hash: files malloc'd (path =
 * dir/<FILE>). crc as recorded; *has_crc 0 if any file has none. Unsafe FILE paths are
 * SCR_E_CORRUPT. */
int scr_redfile_files(const scr_hash *current, const char *dir,
                      struct scr_member_file **files, size_t *n, int *has_crc,
                      struct scr_err *err);
/* The same, or with SCR_LAYOUT_PREFIX for files at their destinations: path =
 * dir/PATH/NAME (scr_meta_dest). */
enum scr_layout { SCR_LAYOUT_CACHE, SCR_LAYOUT_PREFIX };
int scr_redfile_files_at(const scr_hash *current, const char *dir,
                         enum scr_layout layout, struct scr_member_file **files,
                         size_t *n, int *has_crc, struct scr_err *err);
void scr_member_files_free(struct scr_member_file *files, size_t n);
/* Gives the file at path the mode, owner and times that a CURRENT/PARTNER* hash records
 * of its file number f; what it does not record stays as it is. */
int scr_redfile_dress(const struct scr_env *env, const scr_hash *current, size_t f,
                      const char *path, struct scr_err *err);

/* Writes the header at the start of path without touching what follows (pwrite),
 * creating the file 0600; reads it back (at most 1 GiB of header). */
int scr_redfile_write(const struct scr_env *env, const char *path,
                      const scr_hash *header, uint64_t *header_bytes,
                      struct scr_err *err);
int scr_redfile_read(const struct scr_env *env, const char *path, scr_hash *header,
                     uint64_t *header_bytes, struct scr_err *err);

/* Serial rebuild of one set whose surviving files lie in directories this process can
 * reach (the commands; scavenged datasets). redfiles[i]: path of member i's redundancy
 * file or NULL if lost; dirs[i]: directory its application files are in (FILE is joined
 * to it), also for lost members, where they are rebuilt to; redout[i]: where a lost
 * member's redundancy file is written. All CRCs are verified first: what fails counts
 * as lost. Files and redundancy files rebuilt are bit-identical to the encode's; files
 * have the mode and times that were recorded.
 * rebuilt[i] (may be NULL) gets the SCR_HAVE_* bits that were rebuilt for member i.
 * SCR_E_LOST beyond tolerance, nothing written then. */
int scr_rebuild_serial(const struct scr_env *env, int n, const char *const *redfiles,
                       const char *const *dirs, const char *const *redout, int *rebuilt,
                       struct scr_err *err);

/* What a rebuild would do, without doing it: lost[i] (may be NULL) gets the SCR_HAVE_*
 * bits that would be rebuilt for member i. dirs[i]: as below for the layout; a member
 * with NULL is one whose files are out of reach: lost. with_crc 0: files are only
 * looked at for their sizes. SCR_E_LOST as above. Files that count as lost are named in
 * the log. */
int scr_rebuild_check(const struct scr_env *env, enum scr_layout layout, int n,
                      const char *const *redfiles, const char *const *dirs,
                      int with_crc, int *lost, struct scr_err *err);

/* The same as scr_rebuild_serial for a scavenged dataset: every application file, of
 * surviving and of lost members, lies at its destination PATH/NAME below prefix
 * (scr_meta_dest; directories are made with scr_dir_make) instead of at dirs[i]/FILE.
 * SCR_E_OUTSIDE, and nothing is written: where one would be rebuilt a link leads out of
 * prefix. */
int scr_rebuild_scavenged(const struct scr_env *env, int n, const char *const *redfiles,
                          const char *prefix, const char *const *redout, int *rebuilt,
                          struct scr_err *err);

#endif
