/* SPDX-License-Identifier: BSD-3-Clause */
/* One dataset in cache on ranks with one node each, to protect, damage, restored, and
 * compared with what it was.
 *
 *     struct cell c;
 *     cell_make_all(t, &c, &t->comm, CELL_ODD, n - k);
 *     cell_protect_all(&c, SCR_SCHEME_XOR, 1);
 *     cell_damage(&c, CELL_NODE);        // on the ranks that lose something
 *     cell_restore_all(&c);
 *     cell_check_whole(&c);
 *     cell_free_all(&c); */
#ifndef SCR_TEST_HELPER_CELL_H
#define SCR_TEST_HELPER_CELL_H

#include "mpi_test.h"
#include "par/redundancy/protect.h"

/* How many files a rank has, and how long they are. */
enum cell_files {
    CELL_NONE,   /* no files at all */
    CELL_ODD,    /* several, of 0, 1, some hundred and some thousand bytes; one in a
                    directory */
    CELL_UNEVEN, /* 300,000 bytes on rank 0, almost nothing on the others */
    CELL_EDGE,   /* one byte less than, exactly, and one byte more than a multiple of nd
                  */
    CELL_SOME,   /* files on odd ranks only */
    CELL_EQUAL,  /* CELL_BYTES on every rank in two files */
    CELL_TINY,   /* a few bytes */
    CELL_LONG,   /* one file, of several slices */
    CELL_PROFILES_,
    /* CELL_CHUNKS + turn: two files of together 0, 1, chunk - 1, chunk, chunk + 1, all
       chunks less one, or all bytes, assigned to the ranks from turn on */
    CELL_CHUNKS = CELL_PROFILES_
};
enum { CELL_BYTES = 27720 };               /* divisible by 1 … 12 */
enum { CELL_CHUNK = 101, CELL_TURNS = 7 }; /* of CELL_CHUNKS */

enum cell_loss {
    CELL_NODE,        /* everything: files, redundancy file, filemap */
    CELL_DATA,        /* the application files */
    CELL_RED,         /* the redundancy file */
    CELL_FLIP_DATA,   /* one bit of a file (of the redundancy file where no file has a
                         byte) */
    CELL_FLIP_PARITY, /* the last byte of the redundancy file (its header if it has no
                         parity) */
    CELL_FLIP_HEADER,
    CELL_SHORT_DATA, /* a file one byte short */
    CELL_SHORT_RED,
    CELL_MAP, /* the filemap entry */
    CELL_LOSSES_
};

struct cell_file;

struct cell {
    struct mpi_test *t;
    struct scr_comm world; /* borrowed */
    struct scr_env env;
    struct scr_set set;
    struct scr_protect p;
    int id;
    char node[700];     /* of this rank: the cache directory */
    char dset_dir[800]; /* below it */
    char rank_dir[900];
    scr_filemap *map;
    scr_hash *dset;
    struct scr_stripe_stats stats; /* of the last protect */
    struct scr_restore_report rep; /* of the last restore */
    int tries;                     /* restores: every other one looks for the set */
    struct scr_err err;
    /* as it was after cell_keep */
    struct cell_file *kept;
    size_t nkept;
    size_t header_bytes; /* of the redundancy file; 0: none */
    scr_filemap *kept_map;
};

/* Makes the files, the filemap entry and one set of all ranks in world order. nd: data
 * chunks a row (CELL_EDGE, CELL_CHUNKS). */
void cell_make_all(struct mpi_test *t, struct cell *c, const struct scr_comm *world,
                   enum cell_files profile, int nd);
void cell_free_all(struct cell *c); /* removes the nodes */

/* rc of the call, checked to be the same on all ranks; cell_protect_all expects success
 * and keeps. */
int cell_try_protect_all(struct cell *c, enum scr_scheme scheme, int k);
void cell_protect_all(struct cell *c, enum scr_scheme scheme, int k);
int cell_try_restore_all(struct cell *c);
/* Member `by` rebuilds the set as the commands do, from the directories of all. */
int cell_try_serial_all(struct cell *c, int by);

/* Remembers all files of this rank and its filemap; puts them back; removes what is
 * remembered. */
void cell_keep(struct cell *c);
void cell_put_back(struct cell *c);

void cell_damage(struct cell *c, enum cell_loss loss);
/* 1 if that would harm an application file of this rank. */
int cell_hits_data(const struct cell *c, enum cell_loss loss);
/* Flips one bit, chosen by pick, of the application files (CELL_FLIP_DATA), the parity
 * or the header; of the header where there is no such byte. Twice is as if never. */
void cell_flip(struct cell *c, enum cell_loss what, uint64_t pick);

/* Everything of this rank is as kept: bytes of all files, modes and times of
 * application files, filemap, dataset. */
void cell_check_whole(struct cell *c);
/* The existing files of this rank are byte for byte as kept, except temporary files,
 * and there are at least `least` files. */
void cell_check_intact(struct cell *c, size_t least);
/* All files are there with their bytes; modes and times may differ. */
void cell_check_bytes(struct cell *c);
/* Only the application files. */
void cell_check_data(struct cell *c);
size_t cell_count(const struct cell *c); /* files of this rank now */
/* SCR_HAVE_* of this rank: which of its files have the bytes they had. */
int cell_have(const struct cell *c);
/* A number for all files of this rank's node, their bytes, modes, times and inodes: as
 * long as it stays the same, the files do. */
uint64_t cell_print(const struct cell *c);

/* Full path of this rank's redundancy file, borrowed from the filemap; NULL: none. */
const char *cell_red(const struct cell *c);

#endif
