/* SPDX-License-Identifier: BSD-3-Clause */
/* ssh, one a node. */
#include <stdlib.h>

#include "rm/remote_impl.h"

enum { UNREACHED = 255 }; /* ssh's own failures; no command of ours ends so */

static void line(const struct scr_remote_job *job, const char *node,
                 struct scr_strv *argv, struct scr_strv *env)
{
    (void)env;
    char *command = scr_remote_shell_line(job);
    scr_strv_add(argv, job->path);
    scr_strv_add(argv, "-oBatchMode=yes"); /* a password cannot be typed */
    scr_strv_printf(argv, "-oConnectTimeout=%d", (int)job->timeout_s + 1);
    scr_strv_add(argv, "-x");
    scr_strv_add(argv, node);
    scr_strv_add(argv, command);
    free(command);
}

static int run(const struct scr_remote_job *job, struct scr_err *err)
{
    return scr_remote_each(job, line, UNREACHED, err);
}

const struct scr_remote_ops scr_remote_ssh = { .name = "SSH",
                                               .program = "ssh",
                                               .run = run };
