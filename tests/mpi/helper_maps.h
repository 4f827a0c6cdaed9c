/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps in tests. */
#ifndef TESTS_MPI_HELPER_MAPS_H
#define TESTS_MPI_HELPER_MAPS_H

#include "fmt/filemap.h"

/* What a filemap is on disk; NULL: out of memory. */
scr_hash *test_map_tree(const scr_filemap *map);
/* 1 if both say the same, in whatever order. */
int test_maps_equal(const scr_filemap *a, const scr_filemap *b);

#endif
