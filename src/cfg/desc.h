/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: groups of hosts, stores and redundancy descriptors, made from the
 * parameters and from GROUPS=, STORE= and CKPT= lines. Pure data: no MPI, no
 * directories touched.
 *
 *     struct scr_descs d;
 *     if (scr_descs_build(cfg, &prm, &d, err) == SCR_OK) {
 *         const struct scr_reddesc *r = scr_descs_select(&d, ckpt_id, is_output);
 *         … d.store[r->store].path …
 *         scr_descs_fini(&d);
 *     } */
#ifndef SCR_CFG_DESC_H
#define SCR_CFG_DESC_H

#include "cfg/cfg.h"

enum scr_scheme {
    SCR_SCHEME_SINGLE,
    SCR_SCHEME_PARTNER,
    SCR_SCHEME_XOR,
    SCR_SCHEME_RS
};

struct scr_store {
    char *path;  /* the STORE key, normalised: also its name */
    char *group; /* "NODE" (default), "WORLD" or a user group, in upper case */
    int count;   /* most checkpoints kept in it (SCR_CACHE_SIZE unless COUNT given); -1:
                    as many as are needed */
    int enabled; /* 0: no descriptor uses it */
    int mkdir;   /* 0: the device cannot hold directories; then it is not in use */
    int flush;   /* FLUSH key, as a position in its list; 1 by default */
    char *origin; /* "file:line" or the parameter it comes from, for messages */
};

struct scr_reddesc {
    int index;    /* position; CKPT=<index> */
    int enabled;  /* 0: the rest is not meaningful */
    int interval; /* >= 1 */
    int output;   /* takes output datasets */
    int bypass;   /* files go straight to the prefix; so they do where COUNT is 0 */
    char *group;  /* failure group, in upper case */
    int store;    /* index into stores */
    enum scr_scheme scheme;
    int set_size;     /* >= 1 */
    int set_failures; /* RS: parities; PARTNER: replicas; >= 1 */
    int count;        /* most of its datasets in cache; -1: only the store's COUNT */
    char *origin;     /* "file:line" or the parameter it comes from, for messages */
};

struct scr_descs {
    struct scr_store *store;
    int nstores;
    struct scr_reddesc *red;
    int nreds;
    int cntl_store;   /* store of the control directory */
    scr_hash *groups; /* host list -> group name -> value, from GROUPS lines */
};

/* Builds and checks all; a group, store or type that does not exist, no INTERVAL=1,
 * numbering gaps: SCR_E_CONFIG naming the line at fault, and out is empty. */
int scr_descs_build(const struct scr_cfg *cfg, const struct scr_params *prm,
                    struct scr_descs *out, struct scr_err *err);
void scr_descs_fini(struct scr_descs *d);

/* *value of group for host: NODE -> host, WORLD -> "WORLD", else that of the last
 * GROUPS line with both; NULL if there is none. Borrowed. SCR_OK or SCR_E_NOMEM. */
int scr_descs_group_value(const struct scr_descs *d, const char *group,
                          const char *host, const char **value, struct scr_err *err);

/* The descriptor for a dataset: largest INTERVAL that divides ckpt_id among enabled
 * ones; is_output picks the OUTPUT=1 descriptor if there is one; a pure output (ckpt_id
 * 0) without one takes INTERVAL=1. */
const struct scr_reddesc *scr_descs_select(const struct scr_descs *d, int ckpt_id,
                                           int is_output);

/* 1 if the files of an enabled descriptor go to this store. */
int scr_descs_uses(const struct scr_descs *d, int store);

/* 1 if all processes share the device (GROUP=WORLD). */
int scr_store_is_shared(const struct scr_store *store);

const char *scr_scheme_name(enum scr_scheme s);   /* "XOR" */
const char *scr_scheme_suffix(enum scr_scheme s); /* "xor"; "" for SINGLE */
/* SINGLE LOCAL PARTNER XOR RS, any case; 1 and *out, or 0. */
int scr_scheme_parse(const char *text, enum scr_scheme *out);

#endif
