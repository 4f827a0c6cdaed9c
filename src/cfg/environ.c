/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's environment: the one place that touches it. */
#include "cfg/cfg.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

char *const *scr_cfg_process_environ(void)
{
    return environ;
}

const char *scr_cfg_process_getenv(const char *name)
{
    return getenv(name);
}

int scr_cfg_log_time(void)
{
    const char *text = getenv("SCR_LOG_TIME");
    int set = SCR_AUTO;
    if (text == NULL || !scr_parse_int(text, &set))
        set = SCR_AUTO;
    return scr_log_time(set);
}
