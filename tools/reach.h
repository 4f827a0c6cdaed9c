/* SPDX-License-Identifier: BSD-3-Clause */
/* Control directories and shared caches of the job that this process can reach. */
#ifndef SCR_TOOL_REACH_H
#define SCR_TOOL_REACH_H

#include "red/survey.h"
#include "store/identity.h"
#include "tool.h"

/* Warns where SCR 3.x has datasets in cache on this node. */
void scr_tool_tell_scr3(struct scr_tool *t);

/* scr_tool_cfg without its warnings, which scr param, scr status and scr why print:
 * other commands run many times in scripts. */
int scr_tool_cfg_quiet(struct scr_tool *t, const char *prefix, struct scr_err *err);
/* The same, and what it says. */
int scr_tool_params(struct scr_tool *t, const char *prefix, struct scr_params *prm,
                    struct scr_err *err);
/* The same, with the descriptors: free with scr_descs_fini. */
int scr_tool_descs(struct scr_tool *t, const char *prefix, struct scr_params *prm,
                   struct scr_descs *d, struct scr_err *err);

/* Identity of the prefix directory that the configuration names; none if there is no
 * such directory. */
int scr_tool_identity(const struct scr_tool *t, const struct scr_params *prm,
                      struct scr_identity *id, struct scr_err *err);

/* given (may be NULL): the one control directory, as the user named it; it must be
 * there. Else those of the prefix directory that the configuration gives and that
 * exist: of this node, and of every virtual node on it. None is success with n = 0. The
 * shared caches are the existing ones of the configuration. A cache that is not ours,
 * or that others can write to, is SCR_E_UNSAFE. prefix as in scr_tool_cfg. Free with
 * scr_reach_fini in any case.
 */
int scr_tool_reach(struct scr_tool *t, const char *prefix, const char *given,
                   struct scr_reach *out, struct scr_err *err);
/* The same of those that a run of so many ranks (0: not known) can use: with SCR_VNODES
 * of the virtual nodes that have a rank. Only then out->is_all may be set. */
int scr_tool_reach_of_run(struct scr_tool *t, const char *prefix, int ranks,
                          struct scr_reach *out, struct scr_err *err);
void scr_reach_fini(struct scr_reach *r);

#endif
