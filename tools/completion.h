/* SPDX-License-Identifier: BSD-3-Clause */
/* Scripts by which a shell completes names of commands, options and parameters, made
 * from the tables. `scr completion bash|zsh|fish` prints one; the build installs them.
 */
#ifndef SCR_TOOL_COMPLETION_H
#define SCR_TOOL_COMPLETION_H

#include "tool.h"

/* A row of commands.def. */
struct scr_command_row {
    const char *name, *links, *summary, *group;
    const struct scr_cmd *cmd;
};

/* SCR_E_USAGE: no such shell. */
int scr_completion_print(struct scr_tool *t, const char *shell,
                         const struct scr_command_row *rows, size_t n,
                         struct scr_err *err);

#endif
