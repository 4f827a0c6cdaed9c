/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta data of a test. */
#ifndef SCR_TEST_HELPER_META_H
#define SCR_TEST_HELPER_META_H

#include "fmt/meta.h"
#include "helper_pack.h"
#include "helper_tmp.h"
#include <stdlib.h>
#include <string.h>

/* The example of the developer's manual, section 5.2. */
scr_meta *meta_example(void);

/* Every field that there is. */
scr_meta *whole_example(void);

/* The hash it is on disk; the caller deletes it. */
scr_hash *hash_of(const scr_meta *m);

struct scr_str meta_packed(const scr_meta *m);

int same(const scr_meta *a, const scr_meta *b);

/* From a block of exactly n bytes, so that a read past its end is found. */
int unpack(const void *bytes, size_t n, scr_meta *m, struct scr_err *err);

/* Both ways a hash becomes meta data. */
scr_meta *taken(const scr_hash *h);

#endif
