/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps of a test. */
#ifndef SCR_TEST_HELPER_FILEMAP_H
#define SCR_TEST_HELPER_FILEMAP_H

#include "base/ids.h"
#include "fmt/filemap.h"
#include "helper_fault.h"
#include "helper_golden.h"
#include "helper_maps.h"
#include "helper_order.h"
#include "helper_steps.h"
#include "helper_tmp.h"
#include <stdlib.h>

const char *tag_of(const scr_filemap *map, int dset, int rank, const char *tag);

/* What was packed can be unpacked, and is the same; entries ascend. */
void assert_sound(const scr_filemap *map);

/* Ranks 20 and 28, datasets 10 and 11 (developer's manual, section 4.2). */
scr_filemap *filemap_example(void);

void assert_list(int rc, int n, int *list, int first, int second);

/* Datasets, or ranks; -1: none. */
void assert_datasets(const scr_filemap *map, int first, int second);

/* Ranks of all datasets, without what is aside. */
int num_ranks(const scr_filemap *map);

/* All that there can be: descriptors, tags, meta data, parts aside. */
scr_filemap *rich(void);

#endif
