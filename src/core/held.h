/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets in cache: what the ranks have agreed on of each, and looking them up. */
#ifndef SCR_CORE_HELD_H
#define SCR_CORE_HELD_H

#include "base/hash.h"
#include "base/release.h"
#include "cfg/desc.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"
#include "par/redundancy/protect.h"

struct scr_ctx;

enum scr_cache_state {
    SCR_CACHE_READY,   /* whole */
    SCR_CACHE_LOST,    /* not restored or not deleted: goes when room is needed */
    SCR_CACHE_KEPT,    /* not restored because of a transient error: retained */
    SCR_CACHE_FOREIGN, /* of a different number of ranks: kept for those */
    SCR_CACHE_GONE
};

/* A dataset in cache: what the ranks have agreed on once. */
struct scr_held {
    int id;
    enum scr_cache_state state;
    int kind;      /* SCR_IS_CKPT | SCR_IS_OUTPUT */
    int store;     /* of descs.store, -1: of none that there is now */
    int line;      /* of descs.red, as it was when it was written */
    int losses;    /* that each of its sets survives; as in scr_cached */
    int turn;      /* in which it leaves when room is made (room.c) */
    int failed;    /* its asynchronous flush, which must be started again */
    int mend;      /* after its files in cache are rebuilt */
    int stays;     /* why it stayed when room was made last (room.c), 0: it did not */
    int told;      /* that was said before, in this run */
    int set_aside; /* whole, but this run could not ask for its files */
};

/* Redundancy files of datasets that left, kept for the one that is written next
 * (store/spare.h). */
struct scr_spare {
    int id;         /* of that one, 0: none are kept */
    int store;      /* where it will lie */
    int is_there;   /* this rank has one */
    uint64_t bytes; /* of that */
};

/* The caches of this rank's node, and what is in them. */
struct scr_cached {
    char **dirs;          /* one per store; NULL for unused stores */
    struct scr_set *sets; /* one per redundancy descriptor */
    int64_t *losses;  /* that each set survives, one per descriptor; the same on all. 0
                         in a store that all nodes share, where each scheme is as safe:
                         no lost node takes files along */
    scr_filemap *map; /* what this rank has in cache */
    struct scr_held *held; /* nheld datasets in cache, the same on all ranks */
    int *leaving;          /* ids, in their turn (room.c); room for all of held */
    size_t nheld, room;    /* room: of held and leaving */
    struct scr_restore_report restored; /* what was rebuilt of the last one restored */
    struct scr_spare spare;
    struct scr_release release; /* what SCR_Complete_output deleted */
};

/* Room for the states of `more` datasets that have none yet. Local; a step that
 * makes datasets calls it first, and agrees on the result. */
int scr_cache_reserve(struct scr_ctx *ctx, size_t more, struct scr_err *err);
/* Of a dataset in cache, until the next change of states; NULL: it is not there. */
struct scr_held *scr_cache_held(const struct scr_ctx *ctx, int id);
/* Cannot fail: a state that is new takes room from scr_cache_reserve. */
void scr_cache_set_state(struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* Enters a dataset that red protects now as READY. Cannot fail. Local; the same on all
 * ranks. */
void scr_cache_enter(struct scr_ctx *ctx, int id, int kind,
                     const struct scr_reddesc *red);
/* Enters a dataset that was found in cache, by the maps of all ranks: not every rank
 * knows of a dataset of a different number of ranks. Cannot fail. */
void scr_cache_enter_all(struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* Enters a dataset that was fetched as READY, if every rank has its view: from then on
 * each may act on its own. rc: of this rank until now; if any rank's is an error all
 * leave with that, and there is no new state. */
int scr_cache_enter_ready_all(struct scr_ctx *ctx, int id, int rc, struct scr_err *err);
/* The same of one that was restored, which agreed on it: on what say fills, of the
 * context. Local. */
int scr_cache_say(const void *ctx, int id, int64_t *least, struct scr_err *err);
void scr_cache_enter_restored(struct scr_ctx *ctx, int id);
/* The smallest id above `above` of a dataset in cache, in whatever state; 0: none. What
 * is walked through so may be deleted on the way. */
int scr_cache_next(const struct scr_ctx *ctx, int above);
/* Largest id below `below` (0: any) of a dataset in cache that is so; 0: none. */
typedef int scr_held_is(const struct scr_held *h);
int scr_cache_newest_if(const struct scr_ctx *ctx, scr_held_is *is, int below);
int scr_held_is_ready(const struct scr_held *h);
int scr_held_is_ckpt(const struct scr_held *h); /* a READY one */
int scr_cache_newest_ckpt(const struct scr_ctx *ctx);
int scr_cache_is_ready(const struct scr_ctx *ctx, int id);
int scr_cache_is(const struct scr_ctx *ctx, int id, enum scr_cache_state state);
/* 1 if this run cannot use what a later start may: FOREIGN, KEPT, or set aside. */
int scr_cache_is_waiting(const struct scr_ctx *ctx, int id);
/* Says why this run cannot use what is KEPT: SCR_E_STATE. */
int scr_cache_refuse_kept(int id, struct scr_err *err);
int scr_cache_has(const struct scr_ctx *ctx, int id); /* in whatever state */
/* The redundancy descriptor or the dataset from any rank's entry of id in this rank's
 * map; NULL: no entry has it. Borrowed from the map. */
const scr_hash *scr_cache_any_desc(const struct scr_ctx *ctx, int id);
const scr_hash *scr_cache_any_dataset(const struct scr_ctx *ctx, int id);
/* View of that dataset; 0: there is none, *d is unchanged. */
int scr_cache_view(const struct scr_ctx *ctx, int id, struct scr_dataset *d);
/* SCR_IS_CKPT | SCR_IS_OUTPUT of a dataset in cache, in whatever state; 0: none. */
int scr_cache_kind(const struct scr_ctx *ctx, int id);
/* Name of id, for messages; "?" if this rank's map has none. Borrowed from the map. */
const char *scr_cache_name_of(const struct scr_ctx *ctx, int id);
/* The name that any rank's map has; malloc'd, NULL: none has one, or no memory. */
char *scr_cache_name_all(const struct scr_ctx *ctx, int id);
/* READY, KEPT or FOREIGN dataset of that name with the largest id, 0: none. */
int scr_cache_find_all(const struct scr_ctx *ctx, const char *name);
/* Dataset view of id from this rank's map; SCR_E_NOENT if it has none. */
int scr_cache_dataset(const struct scr_ctx *ctx, int id, struct scr_dataset *d,
                      struct scr_err *err);
/* SCR_OK if every rank has that view: from then on each may act on its own. */
int scr_cache_check_all(struct scr_ctx *ctx, int id, struct scr_err *err);

#endif
