/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of patterns.c and strings.cpp. */
#ifndef SCR_TEST_PATTERNS_H
#define SCR_TEST_PATTERNS_H

#ifdef __cplusplus
extern "C" {
#endif

/* One checkpoint: ckpt.<step> with file strings/<rank>, whose text is "<rank>.<step>".
 * Returns what SCR_Complete_output does. */
int strings_write(int rank, int step);

#ifdef __cplusplus
}
#endif

#endif
