/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the files of an attempt to flush a dataset are still wanted: as long as there
 * is its plan (store/arrival.h). Asked before each file gets its name, so a plan is
 * read again only when it is another file than the one that was read last, or was so
 * young then that another one could look the same.
 *
 *     struct scr_wanted w;
 *     scr_wanted_init(&w);
 *     … rc = scr_wanted_check(&w, env, p, id, stamp, err) …
 *     scr_wanted_fini(&w);
 *
 * Local; of one attempt any number of threads may ask at once. */
#ifndef SCR_STORE_WANTED_H
#define SCR_STORE_WANTED_H

#include <pthread.h>

#include "store/prefix.h"

struct scr_wanted {
    pthread_mutex_t lock; /* for the rest */
    struct stat plan;     /* of the attempt, when it was read; no links: it was not */
    int demoted; /* the datasets it replaces are complete no more (store/demote.h) */
};

void scr_wanted_init(struct scr_wanted *w);
void scr_wanted_fini(struct scr_wanted *w);

/* Asked when nothing is left of a file but its rename. SCR_E_MISSING: the files are
 * not wanted any more, there is no plan or one of another attempt. SCR_OK: and the
 * datasets whose files the attempt replaces have lost their mark of completeness
 * (invariant P16). */
int scr_wanted_check(struct scr_wanted *w, const struct scr_env *env,
                     const struct scr_prefix *p, int id, uint64_t stamp,
                     struct scr_err *err);

#endif
