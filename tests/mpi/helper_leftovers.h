/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs whose flushes are killed or fail, and what they leave on the prefix. */
#ifndef SCR_TEST_HELPER_LEFTOVERS_H
#define SCR_TEST_HELPER_LEFTOVERS_H

#include "helper_fault.h"
#include "helper_prefix.h"
#include "helper_walk.h"
#include "xfer/copy.h"
#include <errno.h>
#include <sys/mount.h>

static const char *const nodes = "n[1-4]";
static const struct scr_env posix_env = { .sys = &scr_sys_posix };

int parts(struct job *job);

long same_size(int rank, int file, int seed);

/* 0: that takes another user. */
int make_small(struct job *job, const char *size);

void free_small(struct job *job);

#endif
