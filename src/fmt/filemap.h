/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemap: which rank wrote which files in which dataset (developer's manual section 4,
 * with datasets for checkpoints). On disk
 *
 *   DSET/<id>/RANK/<r>                                   index
 *   RANK/<r>/DSET/<id>/{DSETDESC/{…}, REDDESC/{…}, FILES=<expected>,
 *                       FILE/<path>/META/{…}, <TAG>=<value>}
 *   ASIDE/<CREATED>/{DSET, RANK}         the same of parts of datasets that were made
 *                                        then, while another dataset has their number
 *
 * and in memory an entry for each (dataset, rank), in ascending order, with a table of
 * its files. An entry stays when its last file is removed. Calls see parts aside only
 * if their comment says so. Setters make the entry they need; where memory runs out
 * what they were to enter is missing and scr_filemap_ok says 0: such a map is never
 * written. Lists are malloc'd and ascending; list calls return SCR_OK or SCR_E_NOMEM.
 * Every call takes NULL for an empty map. */
#ifndef SCR_FMT_FILEMAP_H
#define SCR_FMT_FILEMAP_H

#include "base/io.h"
#include "base/table.h"
#include "fmt/meta.h"

struct scr_file {
    struct scr_item item; /* name: the path */
    scr_meta meta;        /* without an arena: nothing is recorded. Then size may be the
                           * bytes found, in lists that ranks exchange
                           * (par/migrate/holdings.h); in a map on disk it is 0 */
};

struct scr_entry {
    int dset, rank;
    int expected;           /* number of files, -1: not set */
    scr_hash *dataset;      /* its description, NULL: none */
    scr_hash *desc;         /* of its redundancy, NULL: none */
    scr_hash *tags;         /* all other recorded keys, NULL: none */
    struct scr_table files; /* of struct scr_file, as they were added */
};

struct scr_filemap_aside;
typedef struct scr_filemap {
    struct scr_entry **entry; /* by dataset, then rank */
    size_t n, room;
    struct scr_filemap_aside *aside;
    int lost; /* something could not be entered */
} scr_filemap;

struct scr_filemap_aside {
    struct scr_filemap_aside *next;
    int64_t created;
    scr_filemap map;
};

scr_filemap *scr_filemap_new(void);
void scr_filemap_delete(scr_filemap *map);
void scr_filemap_clear(scr_filemap *map);             /* as new */
scr_filemap *scr_filemap_dup(const scr_filemap *map); /* NULL: out of memory */
int scr_filemap_ok(const scr_filemap *map);
/* Adds what src has; what both have, but differently, is not recorded any more. SCR_OK
 * or SCR_E_NOMEM. */
int scr_filemap_merge(scr_filemap *dst, const scr_filemap *src);
/* The same of a map that is not needed any more: entries that dst has not are moved,
 * not copied. After that src can only be deleted. */
int scr_filemap_take(scr_filemap *dst, scr_filemap *src);

/* --- entries --- */
struct scr_entry *scr_filemap_entry(const scr_filemap *map, int dset, int rank);
/* The first of a dataset, and the one after e: of ascending ranks; NULL: none. */
struct scr_entry *scr_filemap_first(const scr_filemap *map, int dset);
struct scr_entry *scr_filemap_next(const scr_filemap *map, const struct scr_entry *e);
/* for (SCR_ENTRIES(e, map, dset)) — no entry must be added or removed inside. */
#define SCR_ENTRIES(e, map, dset)                                                      \
    struct scr_entry *e = scr_filemap_first(map, dset);                                \
    (e) != NULL;                                                                       \
    (e) = scr_filemap_next(map, e)
/* Made if it is not there; NULL: out of memory. */
struct scr_entry *scr_filemap_add_rank(scr_filemap *map, int dset, int rank);
void scr_filemap_remove_dataset(scr_filemap *map, int dset); /* aside, too */
void scr_filemap_remove_rank_by_dataset(scr_filemap *map, int dset, int rank);
/* All of a rank, aside too, as a separate map, removed from this one; empty if the
 * rank is not there. NULL: out of memory, and nothing was removed. */
scr_filemap *scr_filemap_extract_rank(scr_filemap *map, int rank);
/* Adds an entry to to, or what from has more of it. SCR_OK or SCR_E_NOMEM. */
int scr_filemap_copy_entry(scr_filemap *to, const scr_filemap *from, int dset,
                           int rank);
/* Adds what from has more than to, which is an entry of the same rank and dataset. */
int scr_entry_merge(struct scr_entry *to, const struct scr_entry *from);
/* Takes from `from`, whole, the records other than files that `to` lacks; *changed
 * becomes 1 if that was something. SCR_OK or SCR_E_NOMEM. */
int scr_entry_adopt(struct scr_entry *to, const struct scr_entry *from, int *changed);
/* Forgets all that is recorded of an entry but its files. */
void scr_filemap_forget(scr_filemap *map, int dset, int rank);
/* Gives each file of an entry the name that the rule derives from its name, malloc'd;
 * files of one name become one. SCR_OK or SCR_E_NOMEM; then nothing has changed. */
typedef char *(*scr_name_rule)(const void *arg, const char *name);
int scr_filemap_rename_files(scr_filemap *map, int dset, int rank, scr_name_rule rule,
                             const void *arg);
/* The hash at h, made empty if there is none; NULL: out of memory. */
scr_hash *scr_entry_hash(scr_filemap *map, scr_hash **h);

/* --- files --- */
/* The file of that path, made if it is not there. */
struct scr_file *scr_filemap_add_file(scr_filemap *map, int dset, int rank,
                                      const char *file);
void scr_filemap_remove_file(scr_filemap *map, int dset, int rank, const char *file);
int scr_filemap_num_files(const scr_filemap *map, int dset, int rank);
struct scr_file *scr_filemap_first_file(const scr_filemap *map, int dset, int rank);
struct scr_file *scr_file_next(const struct scr_file *f);
/* for (SCR_FILES(f, map, dset, rank)): each, in the order they were added; none must be
 * removed inside. */
#define SCR_FILES(f, map, dset, rank)                                                  \
    struct scr_file *f = scr_filemap_first_file(map, dset, rank);                      \
    (f) != NULL;                                                                       \
    (f) = scr_file_next(f)
/* NULL: nothing is recorded of it. f may be NULL. */
scr_meta *scr_file_meta(const struct scr_file *f);
/* The recorded meta data, for setters: made if it does not exist. */
scr_meta *scr_file_need_meta(struct scr_file *f, struct scr_table *files);
void scr_filemap_set_meta(scr_filemap *map, int dset, int rank, const char *file,
                          const scr_meta *meta);
scr_meta *scr_filemap_get_meta(const scr_filemap *map, int dset, int rank,
                               const char *file);

/* --- what is aside --- */
/* When the dataset of an entry was made; 0: it does not say, or the dataset was only
 * begun there and no rank needs what there is. */
int64_t scr_filemap_created(const scr_filemap *map, int dset, int rank);
/* The oldest and the newest of these of all entries of a dataset; INT64_MAX and 0: none
 * says. */
void scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                      int64_t *newest);
/* The map of what is aside and was made then; NULL: nothing is. */
scr_filemap *scr_filemap_aside(const scr_filemap *map, int64_t created);
/* The same, made empty if nothing is aside; NULL: out of memory, map->lost is set. */
scr_filemap *scr_filemap_need_aside(scr_filemap *map, int64_t created);
/* 1 if something of the dataset is aside. */
int scr_filemap_has_aside(const scr_filemap *map, int dset);
/* As scr_filemap_copy_entry, to those of created. */
int scr_filemap_set_aside(scr_filemap *to, int64_t created, const scr_filemap *from,
                          int dset, int rank);
/* Drops an entry that is aside. */
void scr_filemap_drop_aside(scr_filemap *map, int64_t created, int dset, int rank);
/* The entries of one dataset that was made then, aside or not, with those without a
 * time: a separate map; NULL: out of memory. */
scr_filemap *scr_filemap_only(const scr_filemap *map, int dset, int64_t created);
/* The times of creation of what is aside, malloc'd. */
int scr_filemap_list_aside(const scr_filemap *map, int *n, int64_t **created);

/* --- questions --- */
int scr_filemap_num_ranks_by_dataset(const scr_filemap *map, int dset);
/* 1, and the next rank of the dataset above *rank, which begins as -1; 0: there is
 * none. Entries may be removed between two calls. */
int scr_filemap_next_rank(const scr_filemap *map, int dset, int *rank);
/* Datasets and ranks with something aside are among these. */
int scr_filemap_list_datasets(const scr_filemap *map, int *n, int **dsets);
int scr_filemap_list_ranks(const scr_filemap *map, int *n, int **ranks);

/* --- descriptors and tags --- */
void scr_filemap_set_expected_files(scr_filemap *map, int dset, int rank, int n);
int scr_filemap_num_expected_files(const scr_filemap *map, int dset,
                                   int rank); /* -1: not set */
/* Dataset and redundancy descriptors, copied in (NULL: an empty one); get borrows
 * (NULL: none). */
void scr_filemap_set_dataset(scr_filemap *map, int dset, int rank,
                             const scr_hash *desc);
scr_hash *scr_filemap_get_dataset(const scr_filemap *map, int dset, int rank);
void scr_filemap_set_desc(scr_filemap *map, int dset, int rank, const scr_hash *desc);
scr_hash *scr_filemap_get_desc(const scr_filemap *map, int dset, int rank);
void scr_filemap_set_tag(scr_filemap *map, int dset, int rank, const char *tag,
                         const char *value);

/* What a redundancy descriptor says besides of its set (red/setdesc.h): where the
 * dataset is kept, and who wrote it. */
struct scr_redplace {
    const char *store, *group; /* borrowed; NULL: not recorded */
    int ranks;                 /* 0: not recorded */
    int failures, index;       /* survived, and line; INT_MAX: not recorded */
};
/* Of NULL nothing is recorded. */
struct scr_redplace scr_redplace_get(const scr_hash *desc);
/* Store, group and index. SCR_OK or SCR_E_NOMEM. */
int scr_redplace_set(scr_hash *desc, const struct scr_redplace *k);

/* --- bytes: filemap_pack.c --- */
/* Appends the hash of map, packed; s becomes bad if !scr_filemap_ok. */
void scr_filemap_pack(struct scr_str *s, const scr_filemap *map);
/* Merges the packed hash at buf, or nothing. SCR_E_CORRUPT unless index and entries
 * agree, all numbers are numbers, no key of these is given twice, and no file name is
 * empty or has a ".." component (relative names are allowed). */
int scr_filemap_unpack(const void *buf, size_t n, scr_filemap *map,
                       struct scr_err *err);
/* Their own files; node-local ones need no sync. */
int scr_filemap_write(const struct scr_sys *sys, const char *path,
                      const scr_filemap *map, enum scr_durability how,
                      struct scr_err *err);
int scr_filemap_read(const struct scr_sys *sys, const char *path, scr_filemap *map,
                     struct scr_err *err);

#endif
