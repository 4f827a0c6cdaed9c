/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset in cache is restored although some nodes have files of another dataset of
 * its number. */
#ifndef SCR_CORE_RIVALRY_H
#define SCR_CORE_RIVALRY_H

#include "core/ctx.h"
#include "par/migrate/holdings.h"

/* A dataset in cache as the ranks know it; the same on all of them. */
struct scr_known {
    int root;  /* the lowest that has one, the size of world if none */
    int alike; /* all have, of one store and number of ranks */
    int line;  /* of descs.red, by which all that have one wrote it, where it is now and
                  in the sets that all ranks have now; -1: of none */
    enum scr_placed placed; /* the least of all ranks; SCR_PLACED_ELSE, too, if some
                               cannot know its directory yet */
    int several;            /* parts of several datasets of the number are in cache */
};
struct scr_rivals {
    struct scr_known known;
    int64_t created; /* in: those made before that are chosen from; out: when the chosen
                        one was made, if one was */
    int are;         /* parts of several datasets of the number are in cache */
    int came;        /* all that this rank has of the chosen one came in the restore */
    int released;    /* what came is not where it came from any more */
    const char *dset_dir; /* of this rank; NULL: not known yet */
};

/* One reduction, for n datasets, at most so many. */
enum { SCR_RIVALS_LOOK = 64 };
void scr_rivals_look_all(const struct scr_ctx *ctx, const int *ids, size_t n,
                         struct scr_known *known);
/* The set of this rank by a line of descs.red, as stored with what that writes. */
void scr_rivals_describe(const struct scr_ctx *ctx, int line, struct scr_setdesc *d);
/* Chooses, and puts the others aside. Agreed. After an error nothing that was in its
 * place has been replaced. */
int scr_rivals_settle_all(struct scr_ctx *ctx, int id, struct scr_rivals *r,
                          struct scr_err *err);
/* Of a dataset that as many ranks wrote as there are now: what more ranks had begun
 * under its number goes. Local. */
int scr_rivals_drop_begun(struct scr_ctx *ctx, int id, struct scr_err *err);
/* After the restore, which ended with rc: removes the parts aside (those of a different
 * number of ranks stay), or puts them back. Parts that cannot be put back stay aside,
 * named, and the next start chooses among all again. */
void scr_rivals_end_all(struct scr_ctx *ctx, int id, int rc,
                        const struct scr_rivals *r);

#endif
