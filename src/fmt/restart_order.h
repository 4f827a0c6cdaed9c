/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint a restart takes. The rule is stated here, once. SCR_Init and
 * SCR_Have_restart try checkpoints in this order until one can be read. scr why and its
 * relatives, which look at all of them first, say what the order leads to. Pure: no
 * MPI, no I/O; only the list takes memory.
 *
 * A dataset may have a copy in cache and one in the prefix directory. Each copy is a
 * row of a list. Datasets of other prefix directories in the same caches are not.
 *
 *     struct scr_restart_list list = { 0 };
 *     scr_restart_list_add(&list, copy);     // those in cache first, in any order
 *     scr_restart_list_index(&list, &index); // then the prefix directory, newest first
 *     scr_restart_order(&ask, &list);
 *     for (int turn = 1; (c = scr_restart_turn(&list, turn)) != NULL; turn++) …
 *     scr_restart_list_fini(&list);
 *
 * The order:
 * 1. The checkpoint that SCR_CURRENT names (scr_restart_named). If it is damaged or not
 *    offered, a search below it follows, then one without a limit. If it cannot be read
 *    for another reason the restart fails: nothing is taken in its place.
 * 2. Without SCR_CURRENT, where output is lost: the newest checkpoint before it, then
 *    older ones (scr_lost_output_choose).
 * 3. A search. The first of the prefix directory is the current checkpoint, or the
 *    newest if none is current; those older than it follow. The prefix directory is
 *    asked if SCR_FETCH is set and: no checkpoint of this number of ranks is whole in
 *    cache; or something newer than that is lost or KEPT there; or the first of the
 *    prefix directory is newer than all in cache; or the search has a limit. Its
 *    checkpoints that are newer than the newest in cache are tried; then those in
 *    cache, newest first. Where a different number of ranks wrote the newest in cache,
 *    and it is passed over, the same is repeated below it, with the dataset that the
 *    prefix directory has under its number.
 *    With SCR_GLOBAL_RESTART both places are asked in turn down to the oldest. What is
 *    in cache is flushed, to be read in the prefix directory. If another dataset has
 *    its number there, that one is tried.
 * 4. If nothing is found: checkpoints that the index calls incomplete, newest first, as
 *    all their files may be there. */
#ifndef SCR_FMT_RESTART_ORDER_H
#define SCR_FMT_RESTART_ORDER_H

#include "fmt/index.h"

enum scr_copy_state {
    SCR_COPY_WHOLE,  /* in cache: whole, or it can be rebuilt; written by a different
                        number of ranks; on the prefix: complete and not failed */
    SCR_COPY_LOST,   /* in cache: more is lost than its redundancy can rebuild */
    SCR_COPY_KEPT,   /* in cache: retained, as this run cannot restore it */
    SCR_COPY_PURGED, /* in cache: the start deletes it */
    SCR_COPY_INCOMPLETE, /* on the prefix, by the index, as the next three */
    SCR_COPY_FAILED,     /* a restart could not read it */
    SCR_COPY_DELETED,    /* its deletion is not finished */
    SCR_COPY_UNLISTED
};

/* What is known of its bytes before it is tried. */
enum scr_copy_look {
    SCR_LOOK_NONE, /* nothing: the order goes on behind it */
    SCR_LOOK_GOOD,
    SCR_LOOK_DAMAGED,
    SCR_LOOK_ERROR /* it cannot be read for another reason */
};

/* Why a copy is not what a restart takes. NOT: it is taken, or, where nothing was known
 * of it, tried. */
enum scr_passed {
#define X(name, word, sentence, is_of) SCR_PASSED_##name,
#include "defs/passed.def"
#undef X
};

struct scr_restart_copy {
    int id;
    const char *name; /* borrowed; NULL: not known */
    int cached;       /* 0: in the prefix directory */
    int is_ckpt;
    int current; /* CURRENT of the index leads to it */
    int foreign; /* as far as is known a different number of ranks wrote it */
    int clash;   /* it is known that its number is another dataset's: of a cached one in
                    the index, where it cannot be flushed; of another one in cache */
    enum scr_copy_state state;
    enum scr_copy_look look;
    /* scr_restart_order */
    int turn; /* in which it is tried, from 1 on; 0: it is not */
    enum scr_passed passed;
    int than; /* the dataset that the reason tells of */
};

struct scr_restart_list {
    struct scr_restart_copy *c;
    size_t n;
    int bad; /* out of memory */
};
void scr_restart_list_add(struct scr_restart_list *list, struct scr_restart_copy c);
void scr_restart_list_index(struct scr_restart_list *list,
                            const struct scr_index *index);
void scr_restart_list_fini(struct scr_restart_list *list);
enum scr_copy_state scr_copy_state_of(const struct scr_index_entry *e);
/* 1 if a search tries it: a whole checkpoint, in cache of this number of ranks. */
int scr_copy_is_offered(const struct scr_restart_copy *c);

struct scr_restart_ask {
    int fetch, global, any_ranks; /* SCR_FETCH, SCR_GLOBAL_RESTART and
                                     SCR_RESTART_ANY_RANKS */
    int below;                    /* the search is for smaller ids; 0: any */
    const char *wanted;           /* SCR_CURRENT where it applies, else NULL */
    int lost; /* oldest lost output that a restart goes back before, 0: none */
};
/* 1 if searches for that try it once those before it are passed over. */
int scr_copy_is_tried(const struct scr_restart_ask *q,
                      const struct scr_restart_copy *c);
/* Fills turn, passed and than of all. Returns what is taken; NULL: nothing, or, where
 * one that is tried has SCR_LOOK_NONE, that is not known. */
const struct scr_restart_copy *scr_restart_order(const struct scr_restart_ask *q,
                                                 struct scr_restart_list *list);
/* NULL: there are fewer turns. */
const struct scr_restart_copy *scr_restart_turn(const struct scr_restart_list *list,
                                                int turn);

/* The copy that is read if a user names a checkpoint: of that name the dataset with the
 * largest id, in cache if it can be read there; NULL: there is no complete checkpoint.
 * It cannot be read if it is KEPT, or on the prefix with clash set. */
struct scr_restart_copy *scr_restart_named(const struct scr_restart_list *list,
                                           const char *name);

/* "older" */
const char *scr_passed_word(enum scr_passed p);
/* "older than dataset 7"; malloc'd, NULL: out of memory. */
char *scr_passed_text(const struct scr_restart_copy *c);

#endif
