/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's environment: the one place that touches it. */
#include "cfg/cfg.h"

#include <stdlib.h>
#include <unistd.h>

char *const *scr_cfg_process_environ(void)
{
    return environ;
}

const char *scr_cfg_process_getenv(const char *name)
{
    return getenv(name);
}
