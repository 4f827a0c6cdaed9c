/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart would do: every dataset that is in the caches in reach or in the
 * prefix directory, what state it is in, and which one SCR_Have_restart would offer, by
 * the order of fmt/restart_order.h. Nothing is changed here.
 */
#ifndef SCR_TOOL_JUDGE_H
#define SCR_TOOL_JUDGE_H

#include "fmt/lost_output.h"
#include "ops/progress.h"
#include "red/survey.h"
#include "store/prefix.h"

enum scr_candidate_state {
    SCR_CANDIDATE_COMPLETE,   /* could be taken */
    SCR_CANDIDATE_MENDABLE,   /* in cache: could be taken once rebuilt */
    SCR_CANDIDATE_PARTIAL,    /* in cache: nodes out of reach decide */
    SCR_CANDIDATE_KEPT,       /* in cache: stays for a later start */
    SCR_CANDIDATE_OUTPUT,     /* not a checkpoint */
    SCR_CANDIDATE_DROPPED,    /* not in the index */
    SCR_CANDIDATE_INCOMPLETE, /* by the index, or never completed in cache */
    SCR_CANDIDATE_FAILED,     /* marked failed */
    SCR_CANDIDATE_CORRUPT,    /* summary, rank2file or a file is missing or damaged */
    SCR_CANDIDATE_VERSION,    /* written by a newer version */
    SCR_CANDIDATE_UNREADABLE, /* cannot be looked at now */
    SCR_CANDIDATE_UNSEEN      /* in caches out of reach, as flush.scr lists it */
};
/* "complete", "mendable", … */
const char *scr_candidate_state_name(enum scr_candidate_state s);

struct scr_candidate {
    int id;
    int in_cache; /* 0: in the prefix directory */
    int current;  /* by the index */
    int ranks;    /* that wrote it; 0: not known */
    char *name;   /* NULL: not known */
    enum scr_candidate_state state;
    int arrived;  /* its files exist, and it is not entered yet */
    int unplaced; /* the same, some not yet by their names (store/replacing.h) */
    char *why;    /* one line */
    char *copies; /* in cache: what is said of other copies of it; NULL: there is one */
    int taken;
    /* for the order of a restart */
    int is_ckpt, clash;
    int is_partial; /* in cache: nodes out of reach decide, copy is as if they had it */
    enum scr_copy_state copy;
    enum scr_copy_look look;
    const char *reason; /* a word: scr_passed_word */
};

struct scr_judgement {
    struct scr_candidate *c; /* those in cache first; each newest first */
    size_t n;
    size_t
        unseen; /* so many of the first are in caches out of reach, and do not count */
    const struct scr_candidate *taken; /* NULL: a restart finds nothing */
    /* The same if nodes out of reach have nothing of what is partial. Where both are
     * the same it is known. */
    const struct scr_candidate *else_taken;
    struct scr_lost_output lost;
    char *lost_text; /* which it is, and what a restart does; NULL: none is lost */
};

struct scr_judge {
    const struct scr_env *env;
    const struct scr_prefix *prefix;
    const struct scr_reach *reach;
    int unseen;     /* 1: those that flush.scr lists and no cache in reach has are added
                     */
    int ranks;      /* of the run to come; 0: as many as wrote the dataset */
    int any_ranks;  /* SCR_RESTART_ANY_RANKS: it takes what other numbers wrote */
    int with_crc;   /* read every byte; else sizes only */
    int distribute; /* SCR_DISTRIBUTE: what is in cache is looked at */
    int purge;      /* SCR_CACHE_PURGE: it is deleted */
    int fetch;      /* SCR_FETCH: the prefix is looked at */
    int global;     /* SCR_GLOBAL_RESTART: what is in cache is flushed and fetched */
    const char *current;  /* SCR_CURRENT; NULL: not set, or the job has gone to it */
    const char *job_id;   /* whose output may be lost; NULL: none is looked for */
    int past_lost_output; /* SCR_RESTART_PAST_LOST_OUTPUT */
    struct scr_progress *progress; /* with_crc: of the prefix; NULL: none */
    FILE *progress_out;
};

/* An index that cannot be read is an error. Free with scr_judgement_fini in any case.
 */
int scr_judge(const struct scr_judge *q, struct scr_judgement *out,
              struct scr_err *err);
void scr_judgement_fini(struct scr_judgement *j);

#endif
