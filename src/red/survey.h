/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of the caches that this process can reach: for the commands. A node's
 * control directory names its files; of virtual nodes there are several on one host, of
 * real ones usually one. Nothing is changed but by scr_survey_mend.
 *
 *     struct scr_survey s;
 *     if (scr_survey_open(&s, env, cntl_dirs, n, err) == SCR_OK)
 *         for each id of scr_filemap_list_datasets(s.map, …)
 *             if (scr_survey_dataset(&s, id, &d, err) == SCR_OK) …
 *                 scr_survey_dataset_fini(&d);
 *     scr_survey_fini(&s);                                       // in any case */
#ifndef SCR_RED_SURVEY_H
#define SCR_RED_SURVEY_H

#include "cfg/desc.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"

struct scr_survey {
    const struct scr_env *env;
    scr_filemap *map;        /* of all control directories, merged */
    int is_all;              /* as of struct scr_reach; scr_survey_reach sets it */
    struct scr_table unread; /* lines (of struct scr_item): what is wrong with filemaps
                                that were skipped */
    struct scr_survey *next; /* second copies of datasets in map, with redundancy sets
                                that exclude the first, for example of a run with
                                virtual nodes and one without; NULL: none. It has only
                                env, map, is_all and next */
};

/* Caches that this process can reach. */
struct scr_reach {
    char **cntl; /* control directories, n of them */
    size_t n;
    char **shared; /* caches that all nodes share, nshared of them */
    size_t nshared;
    int is_all; /* 1: of all nodes of a run: what is not in them is lost to it */
};

/* Where nodes have parts of several datasets of one number, the survey is of the one
 * that a start would restore (scr_rival_choose), chosen by sizes. A control directory
 * that is not there, or not ours, is an error; what cannot be read in one is skipped
 * with a warning, and counts as unread. */
int scr_survey_open(struct scr_survey *s, const struct scr_env *env,
                    const char *const *cntl, size_t n, struct scr_err *err);
/* Adds the filemaps stored with the files of a cache that all nodes share, for ranks
 * that no control directory names (invariant C6). An absent cache holds nothing. */
int scr_survey_add_shared(struct scr_survey *s, const char *cache, struct scr_err *err);
/* Both, for all of them. */
int scr_survey_reach(struct scr_survey *s, const struct scr_env *env,
                     const struct scr_reach *r, struct scr_err *err);
void scr_survey_fini(struct scr_survey *s);
/* The survey from s on that has a copy of the dataset; NULL: none. */
const struct scr_survey *scr_survey_copy(const struct scr_survey *s, int id);
/* The directory of the dataset in the first cache that has it, malloc'd; NULL: not
 * known, or out of memory. */
char *scr_survey_where(const struct scr_survey *s, int id);

/* A redundancy set, as its members that are here remember it; what is in it is in the
 * arena of its table. */
struct scr_survey_set {
    struct scr_item item; /* "<id> <n>" */
    int n, id;            /* members; smallest world rank */
    enum scr_scheme scheme;
    int *rank;  /* world ranks */
    char **red; /* redundancy file of a member; NULL: its rank is not named here */
    char **dir; /* directory of its files; NULL: its rank is not named here */
};

struct scr_survey_dataset {
    int id;
    struct scr_dataset d;  /* d.id 0: nothing describes it; borrowed from the map */
    int ranks;             /* world size, 0: the dataset was not completed */
    int here;              /* ranks that are named here */
    struct scr_table sets; /* of struct scr_survey_set */
};

/* SCR_E_NOENT: nothing is named of it. SCR_E_CORRUPT: what is named contradicts
 * itself. */
int scr_survey_dataset(const struct scr_survey *s, int id, struct scr_survey_dataset *d,
                       struct scr_err *err);
void scr_survey_dataset_fini(struct scr_survey_dataset *d);

/* How a dataset is, as far as can be seen from here. */
enum scr_survey_state {
    SCR_SURVEY_WHOLE,    /* every file of every rank is here and right */
    SCR_SURVEY_MENDABLE, /* what is lost or elsewhere can be rebuilt from what is here
                          */
    SCR_SURVEY_PARTIAL,  /* ranks on other nodes decide; not with is_all */
    SCR_SURVEY_OPEN,     /* it was not completed: still being written, or died in it */
    SCR_SURVEY_LOST,     /* more is lost than its redundancy can rebuild */
    SCR_SURVEY_KEPT      /* so it seems, but some of it could not be read now */
};
/* with_crc 0: sizes only. reason (an empty SCR_ERR_INIT): a line about the first set
 * that is not whole. SCR_OK, or SCR_E_NOMEM. */
int scr_survey_judge(const struct scr_survey *s, const struct scr_survey_dataset *d,
                     int with_crc, enum scr_survey_state *state,
                     struct scr_err *reason);

/* Rebuilds what is lost or damaged of a set, in place, if all members are named here
 * (else SCR_E_UNSUPPORTED). *ranks: members with rebuilt files. SCR_E_LOST:
 * beyond its redundancy, nothing was changed. */
int scr_survey_mend(const struct scr_survey *s, const struct scr_survey_set *set,
                    int *ranks, struct scr_err *err);

#endif
