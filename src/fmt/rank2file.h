/* SPDX-License-Identifier: BSD-3-Clause */
/* rank2file: which rank wrote which files of a dataset in the prefix directory. On disk
 * a root {LEVEL=1, RANKS, RANK/<w>/{FILE=".0.<w>", OFFSET}} and its parts {LEVEL=0,
 * RANKS, RANK/<r>/{FILE/<path>/{ASKED, SHARED, ZSTD/{SIZE, CRC}, SIZE, CRC}}}. The name
 * of a part is the root's name + FILE; w is the first world rank in it. A root with
 * LEVEL=0 is itself a part. OFFSET: byte of the part file its hash starts at, always 0.
 * Without ASKED, SHARED and ZSTD this is byte for byte what the existing SCR 3.x
 * writes. with COMPLETE=0 the file is not whole.
 *
 * In memory an entry for each rank, ascending, with a table of its files:
 *
 *     struct scr_rank2file l;
 *     scr_rank2file_init(&l, 4);
 *     struct scr_listed *f = scr_rank2file_add_file(&l, 3, "step.7/rank_3");
 *     if (f != NULL) scr_listed_set_size(f, 1024);
 *     rc = scr_rank2file_ok(&l) ? SCR_OK : SCR_E_NOMEM; // once, when all is added
 *     scr_rank2file_fini(&l);
 *
 * A struct that is all zero is an empty one of no ranks. Local. */
#ifndef SCR_FMT_RANK2FILE_H
#define SCR_FMT_RANK2FILE_H

#include "base/hash.h"
#include "base/io.h"
#include "base/table.h"

/* The record of a file that is stored compressed as <path>.zst, a zstd frame: there is
 * no file <path> then, and the size and CRC of the file itself are those of
 * the bytes that come out. */
struct scr_packed {
    uint64_t size;
    uint32_t crc;
};

/* A file of a dataset in the prefix directory. Other writers leave size and CRC out: a
 * reader must not count on them. */
struct scr_listed {
    struct scr_item item; /* name: the path below the prefix */
    unsigned char has_size, has_crc, is_packed;
    unsigned char is_shared;     /* other ranks wrote it too */
    unsigned char is_incomplete; /* so its writer says */
    uint32_t crc;
    uint64_t size;
    struct scr_packed packed;
    const char *asked; /* path below the prefix the application asks for, NULL: no other
                          one; in the arena of its table */
};

/* Those of one rank. */
struct scr_rank_files {
    int rank;
    struct scr_table files; /* of struct scr_listed, as they were added */
};

struct scr_rank2file {
    int ranks;                  /* that wrote the dataset; 0: not known */
    struct scr_rank_files **of; /* by rank; also ranks without files */
    size_t n, room;
    int lost; /* something could not be entered */
};

/* for (SCR_LISTED(f, list)): each file of each rank. Two loops: break ends the rank. */
#define SCR_LISTED(f, list)                                                            \
    size_t f##_of = 0;                                                                 \
    f##_of < (list)->n;                                                                \
    f##_of++)                                                                          \
    for (SCR_EACH(struct scr_listed, f, &(list)->of[f##_of]->files)

void scr_rank2file_init(struct scr_rank2file *l, int ranks);
void scr_rank2file_fini(struct scr_rank2file *l);
int scr_rank2file_ok(const struct scr_rank2file *l);
size_t scr_rank2file_num_files(const struct scr_rank2file *l);
uint64_t scr_rank2file_bytes(const struct scr_rank2file *l); /* as far as recorded */
/* NULL: it has none. */
struct scr_rank_files *scr_rank2file_rank(const struct scr_rank2file *l, int rank);
/* Made if it is not there; NULL: out of memory. */
struct scr_rank_files *scr_rank2file_add_rank(struct scr_rank2file *l, int rank);
/* The file of that path, which is safe (scr_path_is_safe), made if it is not there;
 * NULL: out of memory. */
struct scr_listed *scr_rank2file_add_file(struct scr_rank2file *l, int rank,
                                          const char *path);
/* Moves what from has into to, and leaves from empty; of a file in both what from says
 * counts. RANKS is to's. Each entry is moved once at most: ranks that are not ascending
 * are best added to a short list, and this taken into the long one. */
void scr_rank2file_take(struct scr_rank2file *to, struct scr_rank2file *from);

/* --- files --- */
void scr_listed_set_size(struct scr_listed *f, uint64_t size);
void scr_listed_set_crc(struct scr_listed *f, uint32_t crc);
void scr_listed_set_packed(struct scr_listed *f, const struct scr_packed *is);
/* Copied into the arena of files, its table; NULL and "" are none. */
void scr_listed_set_asked(struct scr_listed *f, struct scr_table *files,
                          const char *asked);
/* A file of that name in files, with all that is recorded of from; NULL: out of memory.
 */
struct scr_listed *scr_listed_copy(struct scr_table *files,
                                   const struct scr_listed *from);
/* Where below the prefix its bytes are: its path, or <path>.zst; malloc'd, NULL: out of
 * memory. */
char *scr_listed_stored(const struct scr_listed *f);

/* --- bytes of a part --- */
/* Appends the packed hash of a part; s becomes bad if !scr_rank2file_ok. */
void scr_rank2file_pack(struct scr_str *s, const struct scr_rank2file *l);
/* Takes a packed part into l, which has no entries. SCR_E_CORRUPT unless LEVEL is 0,
 * RANKS a number, rank numbers below that (and below l->ranks, if that is not 0
 * before), paths safe and none twice, and what there is of SIZE and CRC well-formed;
 * keys that are not of these are left out. l is empty after an error. */
int scr_rank2file_unpack(const void *buf, size_t n, struct scr_rank2file *l,
                         struct scr_err *err);
/* The same of a hash in memory, as older summaries hold it; LEVEL may be missing. */
int scr_rank2file_from_hash(struct scr_rank2file *l, const scr_hash *part,
                            struct scr_err *err);
/* What a reader would refuse is not written, and the file stays as it was: SCR_E_ARG,
 * SCR_E_OUTSIDE for a path that is not safe. */
int scr_rank2file_write(const struct scr_sys *sys, const char *path,
                        const struct scr_rank2file *l, struct scr_err *err);
int scr_rank2file_read(const struct scr_sys *sys, const char *path,
                       struct scr_rank2file *l, struct scr_err *err);

/* --- the same for the ranks of a list, between ranks --- */
/* RANK/<r>/… alone, without LEVEL and RANKS. What was appended to one another is
 * unpacked at once, and each taken into l as by scr_rank2file_take, also of the same
 * rank; SCR_E_CORRUPT, too, for ranks beyond l->ranks, unless that is 0. l is as it was
 * then. */
void scr_rank_files_pack(struct scr_str *s, const struct scr_rank_files *r);
enum { SCR_RANK_FILES_AROUND = 13 }; /* bytes that it does not take in a longer list */
int scr_rank_files_unpack(const void *buf, size_t n, struct scr_rank2file *l,
                          struct scr_err *err);

/* --- the root --- */
enum { SCR_RANK2FILE_LEVELS = 8 }; /* a deeper tree has more parts than ranks */
struct scr_rank2file_root {
    int level; /* 0: it is a part itself */
    int ranks;
    int *part; /* first rank of each, in the order of the file; malloc'd */
    size_t n;
};
void scr_rank2file_root_fini(struct scr_rank2file_root *root);
/* ".<level - 1>.<part>", malloc'd. */
char *scr_rank2file_part_name(int level, int part);
void scr_rank2file_root_pack(struct scr_str *s, const struct scr_rank2file_root *root);
/* Into root, which is empty. Checks level, ranks and the names of the parts, which are
 * of the form given above. Of LEVEL=0 only these two numbers are taken. */
int scr_rank2file_root_unpack(const void *buf, size_t n,
                              struct scr_rank2file_root *root, struct scr_err *err);
/* As scr_rank2file_write; LEVEL is 1 at least. */
int scr_rank2file_root_write(const struct scr_sys *sys, const char *path,
                             const struct scr_rank2file_root *root,
                             struct scr_err *err);
/* Of LEVEL=0 list gets what it has as a part, as by scr_rank2file_unpack; NULL: that is
 * not wanted. */
int scr_rank2file_root_read(const struct scr_sys *sys, const char *path,
                            struct scr_rank2file_root *root, struct scr_rank2file *list,
                            struct scr_err *err);

#endif
