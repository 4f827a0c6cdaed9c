/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking over settings as a whole: unknown names, values without effect. */
#ifndef SCR_CFG_CHECK_H
#define SCR_CFG_CHECK_H

#include "base/env.h"
#include "cfg/cfg.h"

/* 1 the first time it is asked for this name, with this key (may be NULL): a
 * configuration may be loaded more than once. */
int scr_cfg_first_time(struct scr_cfg *cfg, const char *key, const char *name);

/* Logs one warning for each name in the files, in SCR_Config and among the SCR_*
 * variables that is not known, with the nearest one, unless it was warned about before.
 * user_file_only: of the user's file alone. Returns how many. */
int scr_cfg_warn(const struct scr_env *env, struct scr_cfg *cfg, int user_file_only);

/* Logs an error for each value of a source that its parameter does not take, also those
 * that another source would hide. Returns how many. */
int scr_cfg_check_values(const struct scr_env *env, const scr_hash *source);

/* Logs an error if the descriptors cannot be built, which looks at the system file too.
 * 1 or 0. */
int scr_cfg_check_descs(const struct scr_env *env, struct scr_cfg *cfg);

#endif
