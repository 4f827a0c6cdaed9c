/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of redundancy files: the example of the developer's manual and others, made
 * and packed. */
#ifndef SCR_TEST_HELPER_REDFILE_H
#define SCR_TEST_HELPER_REDFILE_H

#include "base/hashfile.h"
#include "helper_fault.h"
#include "helper_order.h"
#include "helper_pack.h"
#include "helper_tmp.h"
#include "red/redfile.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct scr_env posix_env = { .sys = &scr_sys_posix };
static const struct scr_env fault_env = { .sys = &test_fault_sys };

unsigned redfile_rnd(unsigned below);

static const int world_ranks[] = { 0, 1, 2, 3 };

scr_meta *redfile_meta_of(const char *file, uint64_t size, int rank);

void add_file(struct scr_current *c, scr_meta *meta);

struct scr_current *current_of(const char *file, uint64_t size, int rank);

struct scr_str redfile_packed(const struct scr_current *c);

/* Header of member 0, whose files c are, with member 3's as the example has it. */
struct scr_str header_of(const struct scr_current *c);

struct scr_str redfile_example(void);

scr_hash *example_tree(void);

int read_bytes(const void *bytes, size_t n, struct scr_redhead *head,
               struct scr_err *err);

/* From a block of exactly n bytes, so that a read past its end is found. */
int unpack_bytes(const void *bytes, size_t n, struct scr_current **c,
                 struct scr_err *err);

int unpack_tree(const scr_hash *h, struct scr_current **c, struct scr_err *err);

void assert_no_head(const struct scr_redhead *head);

/* CURRENT of a rank with as many files, as a tree and as a struct; of an odd rank it
 * has both descriptors, of an even one none. */
scr_hash *current_tree(int rank, int nfiles);

struct scr_current *current_struct(int rank, int nfiles);

int files_of(int rank);

/* Neither of the two readers takes them, nor leaves anything behind. */
void refuse_file(const char *path, int want);

void refuse_bytes(const void *bytes, size_t n, int want);

/* Makes the checksum at the end right again. */
void seal(uint8_t *bytes, size_t n);

struct change {
    const char *where;     /* hash, as for value() */
    const char *key, *val; /* val NULL: the key is removed */
};

/* Many small files: without the disk where there is room in memory. */
#endif
