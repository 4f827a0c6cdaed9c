/* SPDX-License-Identifier: BSD-3-Clause */
/* From a command's option table: the parsed command line, and its help. For tool.c. */
#ifndef SCR_TOOL_ARGS_H
#define SCR_TOOL_ARGS_H

#include "tool.h"

enum scr_builtin { SCR_ARGS_RUN, SCR_ARGS_HELP, SCR_ARGS_VERSION };

/* The rows every command has in addition to its own, ended by a NULL name. */
extern const struct scr_opt scr_builtin_opts[];

/* Parses argv[1 … argc-1]. *builtin says whether help or the version was asked for; the
 * line is not checked further then. SCR_E_USAGE otherwise. Free with scr_args_fini in
 * any case. */
int scr_args_parse(const struct scr_cmd *cmd, int argc, char **argv, struct scr_args *a,
                   enum scr_builtin *builtin, struct scr_err *err);
void scr_args_fini(struct scr_args *a);

/* Name among names (NULL-terminated) that was probably meant by word; NULL if none is
 * near. */
const char *scr_args_nearest(const char *word, const char *const *names);

void scr_args_help(FILE *out, const char *who, const struct scr_cmd *cmd);

#endif
