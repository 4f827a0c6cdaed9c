/* SPDX-License-Identifier: BSD-3-Clause */
/* Remains of a scavenge of a dataset that a job then flushed itself. Local. */
#ifndef SCR_STORE_SCAVENGED_H
#define SCR_STORE_SCAVENGED_H

#include "store/prefix.h"

/* Dataset id has become complete by a flush: copies of its files that wait to be put in
 * place (ops/stage.h) would stay for good, and its redundancy files would count as
 * damaged, as those of the lost node are missing. Nothing is done where no such copies
 * are, or where a scavenge is at work. Errors are logged: remains do no harm. */
void scr_scavenged_remove(const struct scr_env *env, const struct scr_prefix *p,
                          int id);

#endif
