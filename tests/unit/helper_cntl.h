/* SPDX-License-Identifier: BSD-3-Clause */
/* A control directory of a test, and what its filemaps and journals name. */
#ifndef SCR_TEST_HELPER_CNTL_H
#define SCR_TEST_HELPER_CNTL_H

#include "helper_maps.h"
#include "helper_store.h"
#include "helper_tmp.h"
#include "store/cntl.h"

struct fixture {
    struct scr_env env;
    struct scr_log log;
    char *text;
    size_t n;
    struct scr_cntl c;
    struct scr_err err;
};

int cntl_teardown(void **state);

/* A fresh control directory, opened as local rank 0. */
void begin(struct fixture *f);

void end(struct fixture *f);

int journal(struct fixture *f, int dset, int rank, const char *path);

/* Everything the directory knows, read as a restarted process would. */
scr_filemap *read_all(struct fixture *f);

int knows(struct fixture *f, int dset, int rank, const char *path);

#endif
