/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of small numbers, of datasets or of ranks, ascending. All zero is empty. Calls
 * that add return SCR_OK or SCR_E_NOMEM, and then nothing has changed. */
#ifndef SCR_BASE_IDS_H
#define SCR_BASE_IDS_H

#include "base/err.h"
#include <stddef.h>

struct scr_ids {
    int *id; /* malloc'd */
    size_t n, room;
};

void scr_ids_fini(struct scr_ids *s);
/* Once, however often it is added. */
int scr_ids_add(struct scr_ids *s, int id, struct scr_err *err);
/* All of the other set. */
int scr_ids_merge(struct scr_ids *s, const struct scr_ids *more, struct scr_err *err);
int scr_ids_has(const struct scr_ids *s, int id);

#endif
