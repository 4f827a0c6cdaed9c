/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and environments that configurations are loaded from. */
#ifndef SCR_TEST_HELPER_SOURCES_H
#define SCR_TEST_HELPER_SOURCES_H

#include "base/str.h"
#include "cfg/source.h"
#include "helper_cfg.h"
#include "helper_fault.h"
#include "helper_pack.h"
#include <errno.h>
#include <pwd.h>
#include <unistd.h>

void app(struct test_cfg *t, const char *text);

#endif
