/* SPDX-License-Identifier: BSD-3-Clause */
/* A scavenged dataset that is not whole (ops/stage.h), and its remains when a job has
 * flushed the dataset itself. Local. */
#ifndef SCR_STORE_SCAVENGED_H
#define SCR_STORE_SCAVENGED_H

#include "store/prefix.h"

/* Names in its directory. */
#define SCR_STAGE   "files"
#define SCR_PLACING "placing.scr"

/* Path of the stage, malloc'd. */
char *scr_stage_dir(const struct scr_prefix *p, int id);
/* 1 if there is one, or if that is not known. */
int scr_stage_is_there(const struct scr_env *env, const struct scr_prefix *p, int id);
/* 1 if its files are on their way to their destinations, or if that is not known. */
int scr_stage_is_placing(const struct scr_env *env, const struct scr_prefix *p, int id);

/* Dataset id has become complete by a flush: copies of its files that wait to be put in
 * place (ops/stage.h) would stay for good, and its redundancy files would count as
 * damaged, as those of the lost node are missing. Nothing is done where no such copies
 * are, or where a scavenge is at work. Errors are logged: remains do no harm. */
void scr_scavenged_remove(const struct scr_env *env, const struct scr_prefix *p,
                          int id);

#endif
