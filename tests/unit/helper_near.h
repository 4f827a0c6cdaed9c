/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are almost the same. */
#ifndef SCR_TEST_HELPER_NEAR_H
#define SCR_TEST_HELPER_NEAR_H

#include "helper_tmp.h"
#include <math.h>

#define IS_NEAR(value, expected, within)                                               \
    do {                                                                               \
        double is_ = (value), should_ = (expected);                                    \
        if (!(fabs(is_ - should_) <= (within)))                                        \
            fail_msg("%s is %.12g, not %.12g", #value, is_, should_);                  \
    } while (0)

#endif
