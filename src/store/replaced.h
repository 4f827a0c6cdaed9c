/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets all of whose files newer ones have written over (invariant P27). Programs
 * that give every checkpoint the same file names leave nothing of the older ones but
 * their records: those go when a newer dataset is complete. Local, from any thread or
 * process; takes the locks of the plans and of the index, so none of them is held. */
#ifndef SCR_STORE_REPLACED_H
#define SCR_STORE_REPLACED_H

#include "store/prefix.h"

/* Dataset id has become complete: older datasets that are not complete, and each of
 * whose paths a newer complete one lists, lose their records and then their entries.
 * Datasets with a remaining path get it recorded in their entries, and are checked
 * again when a dataset that lists it is complete; so the lists of few are read. Errors
 * are logged, and the next dataset that becomes complete tries again. */
void scr_replaced_remove(const struct scr_env *env, const struct scr_prefix *p, int id);

#endif
