/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's environment: the one place that touches it. */
#include "cfg/cfg.h"

#include <unistd.h>

char *const *scr_cfg_process_environ(void)
{
    return environ;
}
