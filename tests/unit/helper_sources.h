/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and environments that configurations are loaded from. */
#ifndef SCR_TEST_HELPER_SOURCES_H
#define SCR_TEST_HELPER_SOURCES_H

#include "helper_cfg.h"
#include "helper_fault.h"
#include "helper_pack.h"

void app(struct test_cfg *t, const char *text);

#endif
