/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of files of a test. */
#ifndef SCR_TEST_HELPER_RANK2FILE_H
#define SCR_TEST_HELPER_RANK2FILE_H

#include "fmt/rank2file.h"
#include "helper_golden.h"
#include "helper_lists.h"
#include "helper_tmp.h"

static const struct scr_packed frame = { 61372, 0x1c291ca3 };

/* The files of rank2file/good-part-all-keys.scr. */
void make_list(struct scr_rank2file *l);

#endif
