/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that was in cache only and is gone with it. A program that continues from a
 * newer checkpoint does not write it again, so a restart goes back to the newest
 * checkpoint before it. The rule is here for all who apply it: SCR_Init, scr_postrun
 * and the commands that say what a restart takes. Pure. */
#ifndef SCR_FMT_LOST_OUTPUT_H
#define SCR_FMT_LOST_OUTPUT_H

#include "base/hash.h"
#include "base/str.h"
#include "fmt/index.h"
#include "fmt/restart_order.h"

struct scr_lost_output {
    int oldest;           /* id, 0: none is lost */
    struct scr_str names; /* with the ids, as they are reported */
};
#define SCR_LOST_OUTPUT_INIT                                                           \
    {                                                                                  \
        0, SCR_STR_INIT                                                                \
    }

/* 1 if no restore brings dataset id back from the caches. */
typedef int scr_lost_output_gone(const void *arg, int id);
/* Adds every output of the job that the flush file has in cache only, the index does
 * not have, and that is gone. Output of another job may be saved by that job; one that
 * was on the prefix was written over or deleted since; LOST in the flush file says that
 * a restart was chosen in spite of it. SCR_OK or SCR_E_NOMEM. */
int scr_lost_output_find(struct scr_lost_output *l, const scr_hash *flush,
                         const struct scr_index *index, const char *job_id,
                         scr_lost_output_gone *gone, const void *arg);
/* Adds one, in any order. */
void scr_lost_output_add(struct scr_lost_output *l, int id, const char *name);

/* What a restart that goes back takes. It goes back by name, and of two checkpoints of
 * one name that leads to the newer: the older one counts as none. */
struct scr_lost_output_choice {
    int newest;       /* id of the newest of all, 0: there is none */
    int before;       /* id of the newest with a smaller id than below, 0: none */
    const char *name; /* of that; NULL: none, or out of memory */
    int goes_back;    /* 1: there is one, and a newer checkpoint than the lost output */
};
/* Of those a search would try (scr_copy_is_offered), which have names. below: id of the
 * oldest lost output, or of the one that was tried last. */
struct scr_lost_output_choice
scr_lost_output_choose(const struct scr_restart_list *list, int below);

/* What a start does about it where a newer and an older checkpoint exist. */
enum scr_lost_output_way {
    SCR_LOST_OUTPUT_STAY,    /* nothing: the user continues from the newer one */
    SCR_LOST_OUTPUT_BACK,    /* this run goes back */
    SCR_LOST_OUTPUT_RESTART, /* a restart would go back */
    SCR_LOST_OUTPUT_NEXT     /* CURRENT has moved back */
};
/* Which output is lost, and what is done; NULL: none is, or out of memory. Malloc'd. */
char *scr_lost_output_text(const struct scr_lost_output *l,
                           const struct scr_lost_output_choice *c,
                           enum scr_lost_output_way way);
void scr_lost_output_fini(struct scr_lost_output *l);

#endif
