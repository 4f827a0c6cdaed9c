/* SPDX-License-Identifier: BSD-3-Clause */
/* A redundancy set on disk, with all its bytes in memory to compare. */
#ifndef SCR_TEST_HELPER_REBUILD_H
#define SCR_TEST_HELPER_REBUILD_H

#include "base/path.h"
#include "helper_fault.h"
#include "helper_pack.h"
#include "helper_protect.h"
#include "helper_tmp.h"
#include "helper_tolerance.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct scr_env quick_env; /* posix, without syncs, from setup on */
static const struct scr_env fault_env = { .sys = &test_fault_sys };

unsigned rnd(unsigned below);

enum { MAX_N = 8, MAX_FILES = 4 };

struct blob {
    char *path;
    uint8_t *bytes;
    size_t n;
};

struct world {
    enum scr_scheme scheme; /* as reduced */
    int n, k;
    char *root;
    char *dirs[MAX_N], *reds[MAX_N];
    size_t nfiles[MAX_N];
    struct blob file[MAX_N][MAX_FILES];
    struct blob red[MAX_N];
};

char *path_in(const struct world *w, const char *name);

/* Of all files, as the meta data record it. */
enum { MODE = 0100640, MTIME = 1000000007 };

scr_meta *meta_of(const char *file, uint64_t size, int rank);

/* Names of one member's files: of several lengths, one in a sub-directory. */
static const char *const file_names[MAX_FILES] = { "ckpt", "1/ckpt", "data.00", "x" };

/* sizes[i]: of member i's files. World ranks are 10, 11 … */
void world_init(struct world *w, enum scr_scheme scheme, int n, int k, size_t nfiles,
                size_t sizes[MAX_N][MAX_FILES]);

void random_world(struct world *w, enum scr_scheme scheme, int n, int k);

void world_fini(struct world *w);

void lose_data(const struct world *w, int i);

/* Puts the files of a member, or of all, back as they were. */
void restore_member(const struct world *w, int i);

int is_as_it_was(const struct blob *b);

void assert_whole(const struct world *w);

extern int tree_files;

uint32_t tree_of(const struct world *w);

/* No temporary file is left in the directory of the set. */
void assert_tidy(const struct world *w);

/* As a command would: a redundancy file that is not there is lost. */
int rebuild(const struct scr_env *env, const struct world *w, int *rebuilt,
            struct scr_err *err);

void flip(const struct blob *b);

int rebuild_setup(void **state);

#endif
