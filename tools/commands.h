/* SPDX-License-Identifier: BSD-3-Clause */
/* What scr_srun and its relatives are to start: a program; or, as with SCR 3.1, one
 * command for a run from the beginning and one for a run that continues from a
 * checkpoint:
 *
 *     scr_srun -N4 -rc "./solver input" -rs "./solver --restart SCR_CKPT_NAME"
 *
 * Starts zeroed. Options of the launcher stand before and after these, arguments of the
 * program are its own. */
#ifndef SCR_TOOL_COMMANDS_H
#define SCR_TOOL_COMMANDS_H

#include "base/strv.h"
#include "job.h"
#include "rm/launch.h"

#define SCR_COMMANDS_CKPT "SCR_CKPT_NAME" /* stands for the name of the checkpoint */

struct scr_commands {
    struct scr_strv options, anew, again;
};

/* Whether one of args may be such an option. */
int scr_commands_are(const char *const *args);
/* SCR_E_ARG: a command is missing, or there is one too many. */
int scr_commands_take(const struct scr_launcher *l, const char *const *args,
                      struct scr_commands *c, struct scr_err *err);
/* Appends the arguments of the launcher; ckpt NULL: there is none to continue from. */
void scr_commands_line(const struct scr_commands *c, const char *ckpt,
                       struct scr_strv *line);
void scr_commands_free(struct scr_commands *c);

/* Name of the checkpoint that a run on these nodes would continue from, as far as each
 * of them knows, malloc'd; NULL: there is none. */
int scr_commands_ckpt(const struct job *job, const struct scr_hostlist *nodes,
                      char **name, struct scr_err *err);

#endif
