/* SPDX-License-Identifier: BSD-3-Clause */
/* Defaults that depend on where and by whom the program is run. */
#ifndef SCR_CFG_DERIVE_H
#define SCR_CFG_DERIVE_H

#include "cfg/cfg.h"

/* Fills the DEFAULT source: SCR_JOB_ID, SCR_USER_NAME, SCR_CLUSTER_NAME, and SCR_PREFIX
 * unless the current directory cannot be found out. Replaces all there is. */
int scr_cfg_derive(struct scr_cfg *cfg, struct scr_err *err);

/* Puts the absolute form of SCR_PREFIX into cfg->prefix. Without a prefix:
 * SCR_E_CONFIG. */
int scr_cfg_derive_prefix(struct scr_cfg *cfg, struct scr_err *err);

#endif
