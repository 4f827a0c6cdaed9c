/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy sets: which ranks protect each other.
 *
 * Ranks are numbered group by group (groups in the order of their lowest world rank,
 * inside by world rank): position p. With s sets (scr_set_count), position p belongs to
 * set p mod s, at index p div s. As no group is larger than s and its positions are
 * consecutive, no set holds two ranks of a group, and set sizes differ by at most one
 * (9 -> 9, 16 -> 8+8, 17 -> 9+8 for SET_SIZE 8), also with uneven groups. O(log P)
 * steps, O(set size) memory. */
#ifndef SCR_PAR_SETS_H
#define SCR_PAR_SETS_H

#include "par/comm/comm.h"
#include "red/setdesc.h"

struct scr_set {
    struct scr_comm comm; /* the members, in set order */
    int n, me;            /* = comm.size, comm.rank */
    int id;               /* smallest world rank of the members */
    int *world;           /* world rank of each member, owned */
};

/* Number of sets: as many as SET_SIZE allows, at least as many as the largest group has
 * ranks, and so many that none has more than SCR_EC_MAX members. All at least 1. With
 * one rank a group, sets have SET_SIZE to 2 SET_SIZE - 1 members if there are ranks for
 * one; a set smaller than SET_SIZE comes from a group larger than ranks / SET_SIZE, or
 * from SCR_EC_MAX. */
int scr_set_count(int ranks, int largest_group, int set_size);

/* How to make sets. */
struct scr_cut {
    const struct scr_comm *group; /* this rank's failure group within world, in its
                                     order */
    int set_size;
    int largest, least; /* out, the same on all ranks: ranks of the largest group,
                           members of the smallest set that has more than one, or
                           INT_MAX - 1 */
    int has_alone;      /* on all ranks: some set has one member */
    int in_blocks; /* on all ranks: the ranks of each group follow each other, so that
                    * each rank knows its position, and the members of its set */
};
/* rc: what this rank found before; if any rank's is an error all leave with that.
 * Agreed. */
int scr_set_make_all(const struct scr_comm *world, struct scr_cut *cut, int rc,
                     struct scr_set *out, struct scr_err *err);
/* The same in steps, for a caller that agrees on several things at once: this rank's
 * numbers about the groups; their minima over all ranks (scr_cut_hear) describe the
 * groups; then the sets, where least and has_alone are of this rank's. Its code, too,
 * is each rank's own, to be agreed on before the set is used. */
enum { SCR_CUT_LEAST = 2 };
void scr_cut_say(const struct scr_comm *world, const struct scr_cut *cut,
                 int64_t *least);
void scr_cut_hear(struct scr_cut *cut, const int64_t *least);
int scr_set_cut_all(const struct scr_comm *world, struct scr_cut *cut, int rc,
                    struct scr_set *out, struct scr_err *err);
/* The set as it was, as stored with a dataset; known->n == 0: this rank does not know
 * its set (then SCR_E_LOST on all ranks). Checks that all members agree about it. rc:
 * what this rank found before; if any rank's is an error all leave with that. Agreed.
 */
int scr_set_restore_all(const struct scr_comm *world, const struct scr_setdesc *known,
                        int rc, struct scr_set *out, struct scr_err *err);
/* How s would be stored with a dataset of the scheme, as reduced for its members, that
 * so many ranks write. Local. */
void scr_set_describe(const struct scr_set *s, int ranks, enum scr_scheme scheme, int k,
                      struct scr_setdesc *d);
/* scr_agree_all over the set; err->rank becomes the world rank of the member at fault.
 */
int scr_set_agree_all(const struct scr_set *s, int rc, struct scr_err *err);
void scr_set_free(struct scr_set *s); /* collective over the set */

#endif
