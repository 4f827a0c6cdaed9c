/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies one node's files of a dataset to the prefix directory. */
#include "ops/gather.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/dir.h"
#include "base/dirset.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "cfg/desc.h"
#include "ec/ec.h"
#include "ops/stage.h"
#include "store/dset_names.h"
#include "xfer/copy.h"

enum {
    BATCH_FILES = 16,       /* open, written and not yet synced at once */
    BATCH_BYTES = 64 << 20, /* after which a batch is closed */
    DIR_MODE = 0777         /* cut by the umask */
};

/* One file on its way. */
struct item {
    const char *src; /* borrowed from the map */
    char *dst, *key; /* key: what the rank's filemap calls it */
    scr_meta *meta;  /* as the rank's filemap gets it */
    struct stat attr;
    struct scr_copy_open open;
    struct scr_copied got;
    int is_red;
};

struct job {
    const struct scr_gather *g;
    const scr_filemap *map;
    struct scr_gathered *got;
    char *dset_dir, *stage;
    struct scr_table dirs; /* directories that got files, to be synced */
    scr_filemap *done;     /* what the ranks' filemaps get */
    struct item batch[BATCH_FILES];
    int nbatch;
    int unwanted; /* another scavenge may be at it by now */
    int rank;     /* being copied */
    uint32_t me;  /* another on every node and in every process */
    uint64_t batch_bytes;
};

/* --- what is not copied --- */

/* Codes that speak of a file in cache, or may: the others can be copied all the same.
 */
static int is_bad_source(int rc)
{
    return rc == SCR_E_NOENT || rc == SCR_E_MISSING || rc == SCR_E_CORRUPT ||
           rc == SCR_E_UNSAFE || rc == SCR_E_IO;
}

static void tell_bad(struct job *j, const struct scr_err *why)
{
    j->got->bad++;
    scr_log(j->g->env->log, SCR_LOG_WARN, "rank %d: %s", j->rank, why->text);
}

/* --- one file --- */

static void item_fini(const struct scr_sys *sys, struct item *it)
{
    scr_copy_abandon(sys, &it->open);
    scr_meta_delete(it->meta);
    free(it->dst);
    free(it->key);
}

static int check_named(const struct item *it, struct scr_err *err)
{
    return it->dst && it->meta && !it->meta->arena->lost ? SCR_OK : scr_no_memory(err);
}

/* A redundancy file is in the directory of the dataset, and describes itself. */
static int name_red(struct job *j, struct item *it, const char *type,
                    struct scr_err *err)
{
    int ranks = scr_redplace_get(scr_filemap_get_desc(j->map, j->g->id, j->rank)).ranks;
    it->is_red = 1;
    it->key = scr_strdup(scr_path_base(it->src));
    it->dst = it->key ? scr_path_join(j->dset_dir, it->key) : NULL;
    it->meta = scr_meta_new();
    scr_meta_set_text(it->meta, SCR_META_FILE, scr_path_base(it->src));
    scr_meta_set_text(it->meta, SCR_META_TYPE, type);
    scr_meta_set_number(it->meta, SCR_META_RANK, j->rank);
    scr_meta_set_number(it->meta, SCR_META_COMPLETE, 1);
    if (ranks != 0)
        scr_meta_set_number(it->meta, SCR_META_RANKS, ranks);
    return check_named(it, err);
}

static int name_file(struct job *j, struct item *it, const scr_meta *meta,
                     struct scr_err *err)
{
    it->key = scr_meta_dest(meta);
    if (it->key == NULL && scr_meta_has_dest(meta))
        return scr_no_memory(err);
    if (it->key == NULL || scr_prefix_is_own(it->key))
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "copy %s: no usable destination below the prefix is recorded",
                        it->src);
    it->dst = scr_path_join(j->stage, it->key);
    it->meta = scr_meta_new();
    if (it->meta != NULL)
        scr_meta_copy(it->meta, meta);
    return check_named(it, err);
}

/* Mode, owner and times as recorded when the dataset was completed: the cached file
 * may have been rebuilt since. */
static void describe(struct job *j, struct item *it)
{
    (void)scr_file_stat(j->g->env->sys, it->src, &it->attr, NULL);
    if (!it->is_red)
        (void)scr_meta_get_stat(it->meta, &it->attr);
}

static int item_init(struct job *j, struct item *it, const char *path,
                     const scr_meta *meta, struct scr_err *err)
{
    const char *type = scr_meta_text(meta, SCR_META_TYPE);
    int complete = 1;
    *it = (struct item){ .src = path, .open = { .fd = -1 } };
    (void)scr_meta_get_int(meta, SCR_META_COMPLETE, &complete);
    if (type == NULL || !complete)
        return scr_fail(err, SCR_E_CORRUPT, 0, "copy %s: it was never completed", path);
    TRY(strcmp(type, "FULL") == 0 ? name_file(j, it, meta, err)
                                  : name_red(j, it, type, err));
    describe(j, it);
    return SCR_OK;
}

/* Under its last name there is only what was checked and synced before it got it. */
static int is_whole(const struct job *j, const struct item *it)
{
    struct stat st;
    uint64_t size = (uint64_t)it->attr.st_size;
    if (!it->is_red)
        (void)scr_meta_get_filesize(it->meta, &size);
    return scr_file_stat(j->g->env->sys, it->dst, &st, NULL) == SCR_OK &&
           S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
           st.st_mtim.tv_sec == it->attr.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == it->attr.st_mtim.tv_nsec;
}

/* --- the ranks' filemaps --- */

/* Results of the copy become meta data of the file. */
static int note(struct job *j, struct item *it, int copied, struct scr_err *err)
{
    uint64_t size;
    uint32_t crc;
    int has_size = scr_meta_get_filesize(it->meta, &size) == SCR_OK;
    int has_crc = scr_meta_get_crc32(it->meta, &crc) == SCR_OK;
    if (copied && (it->is_red || !has_size))
        scr_meta_set_filesize(it->meta, it->got.size);
    if (copied && (it->is_red || (j->g->want_crc && !has_crc)))
        scr_meta_set_crc32(it->meta, it->got.crc);
    scr_filemap_set_meta(j->done, j->g->id, j->rank, it->key, it->meta);
    const scr_meta *noted = scr_filemap_get_meta(j->done, j->g->id, j->rank, it->key);
    return noted && !noted->arena->lost ? SCR_OK : scr_no_memory(err);
}

/* 1 if both filemaps describe one dataset. */
static int is_same_dataset(const scr_filemap *a, const scr_filemap *b, int id, int rank)
{
    struct scr_dataset of_a, of_b;
    const scr_hash *dset_a = scr_filemap_get_dataset(a, id, rank);
    const scr_hash *dset_b = scr_filemap_get_dataset(b, id, rank);
    if (dset_a == NULL && dset_b == NULL) /* neither has it */
        return 1;
    return scr_dataset_get(dset_a, &of_a, NULL) == SCR_OK &&
           scr_dataset_get(dset_b, &of_b, NULL) == SCR_OK &&
           scr_dataset_is_alike(&of_a, &of_b);
}

/* Entries of an earlier copy stay, if they are of this dataset. */
static void add_earlier(const struct job *j, scr_filemap *map, int rank,
                        const char *path)
{
    int id = j->g->id;
    scr_filemap *old = scr_filemap_new();
    if (old != NULL && scr_filemap_read(j->g->env->sys, path, old, NULL) == SCR_OK &&
        is_same_dataset(old, j->map, id, rank))
        for (SCR_FILES(f, old, id, rank))
            scr_filemap_set_meta(map, id, rank, f->item.name, scr_file_meta(f));
    scr_filemap_delete(old);
}

/* FILES counts redundancy files as well, as they are listed. */
static int count_expected(const struct job *j, const scr_filemap *map, int rank)
{
    int id = j->g->id, n = scr_filemap_num_expected_files(j->map, id, rank);
    for (SCR_FILES(f, map, id, rank))
        n += scr_meta_text(scr_file_meta(f), SCR_META_TYPE) != NULL &&
             !scr_meta_is_full(scr_file_meta(f));
    return n;
}

static int write_map(const struct job *j, const struct scr_entry *done,
                     struct scr_err *err)
{
    int id = j->g->id, rank = done->rank;
    char *path = scr_asprintf("%s/%d" SCR_MAP_SUFFIX, j->dset_dir, rank);
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_rank(map, id, rank);
    if (path != NULL && map != NULL)
        add_earlier(j, map, rank, path);
    for (SCR_EACH(struct scr_file, f, &done->files))
        scr_filemap_set_meta(map, id, rank, f->item.name, &f->meta);
    scr_filemap_set_dataset(map, id, rank, scr_filemap_get_dataset(j->map, id, rank));
    scr_filemap_set_expected_files(map, id, rank, count_expected(j, map, rank));
    int rc = path && map && scr_filemap_ok(map)
                 ? scr_filemap_write(j->g->env->sys, path, map, SCR_DURABLE, err)
                 : scr_no_memory(err);
    free(path);
    scr_filemap_delete(map);
    return rc;
}

/* --- batches: written, then synced, then renamed --- */

static int ask_if_wanted(struct job *j, struct scr_err *err)
{
    int rc = j->g->wanted ? j->g->wanted(j->g->wanted_arg, err) : SCR_OK;
    j->unwanted |= rc != SCR_OK;
    return rc;
}

/* A sync takes long: nothing but the rename is left when it is asked. */
static int commit(struct job *j, struct item *it, struct scr_err *err)
{
    const struct scr_sys *sys = j->g->env->sys;
    const struct scr_copy copy = { .src = it->src, .dst = it->dst, .sync = 1 };
    TRY(scr_copy_sync(sys, &copy, &it->open, err));
    TRY(ask_if_wanted(j, err));
    TRY(scr_copy_commit(sys, &copy, &it->open, err));
    j->got->files++;
    j->got->bytes += it->got.size;
    return note(j, it, 1, err);
}

static int close_batch(struct job *j, int rc, struct scr_err *err)
{
    for (int i = 0; i < j->nbatch; i++) {
        if (rc == SCR_OK)
            rc = commit(j, &j->batch[i], err);
        item_fini(j->g->env->sys, &j->batch[i]);
    }
    j->nbatch = 0;
    j->batch_bytes = 0;
    return rc;
}

static int told(void *arg, size_t n, struct scr_err *err)
{
    struct job *j = arg;
    if (j->g->told != NULL)
        j->g->told(j->g->arg, n);
    return ask_if_wanted(j, err);
}

/* Host and process. Without a name the process has to do. */
static uint32_t who_am_i(void)
{
    char *host = NULL;
    long pid = (long)getpid();
    (void)scr_hostname(&host, NULL);
    uint32_t crc = scr_crc32(0, host ? host : "", host ? strlen(host) : 0);
    free(host);
    return scr_crc32(crc, &pid, sizeof pid);
}

/* A copy that an earlier scavenge left at work may still be about to rename what it has
 * under its temporary name: that must not be ours. */
static int tag_of(const struct job *j)
{
    return (int)(scr_crc32(j->me, &j->rank, sizeof j->rank) & INT_MAX);
}

static int begin(struct job *j, struct item *it, struct scr_err *err)
{
    const struct scr_gather *g = j->g;
    uint64_t size;
    uint32_t crc;
    const struct scr_copy_pace pace = { told, j };
    struct scr_copy copy = { .src = it->src,
                             .dst = it->dst,
                             .tag = tag_of(j),
                             .buf = g->buf,
                             .want_crc = g->want_crc || it->is_red,
                             .attr = it->is_red ? NULL : &it->attr,
                             .pace = &pace };
    if (!it->is_red && scr_meta_get_filesize(it->meta, &size) == SCR_OK)
        copy.size = &size;
    /* 0 stands for "not computed" unless the file is empty. */
    if (!it->is_red && scr_meta_get_crc32(it->meta, &crc) == SCR_OK &&
        (crc != 0 || (copy.size != NULL && size == 0)))
        copy.crc = &crc;
    return scr_copy_begin(g->env->sys, &copy, &it->open, &it->got, err);
}

/* Takes the item over. */
static int copy_item(struct job *j, struct item *it, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_dirset_make(j->g->env->sys, &j->dirs, j->g->prefix->path, it->dst,
                             DIR_MODE, err);
    if (rc == SCR_OK && (rc = begin(j, it, &why)) == SCR_OK) {
        j->batch[j->nbatch++] = *it;
        j->batch_bytes += it->got.size;
        return j->nbatch == BATCH_FILES || j->batch_bytes >= BATCH_BYTES
                   ? close_batch(j, SCR_OK, err)
                   : SCR_OK;
    }
    if (is_bad_source(why.code)) {
        tell_bad(j, &why);
        rc = SCR_OK;
    } else
        scr_err_take(err, rc, &why);
    item_fini(j->g->env->sys, it);
    return rc;
}

static int is_partner_copy(const scr_meta *meta)
{
    enum scr_scheme scheme;
    return scr_scheme_parse(scr_meta_text(meta, SCR_META_TYPE), &scheme) &&
           scheme == SCR_SCHEME_PARTNER;
}

static int take_file(struct job *j, const char *path, const scr_meta *meta,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct item it;
    if (is_partner_copy(meta) && !j->g->partner) {
        j->got->partners++;
        return SCR_OK;
    }
    int rc = item_init(j, &it, path, meta, &why);
    if (rc == SCR_OK && !is_whole(j, &it))
        return copy_item(j, &it, err);
    if (rc == SCR_OK) {
        j->got->whole++;
        if (j->g->told != NULL)
            j->g->told(j->g->arg, (size_t)it.attr.st_size);
        rc = it.is_red ? SCR_OK : note(j, &it, 0, &why);
    } else if (is_bad_source(rc)) {
        tell_bad(j, &why);
        rc = SCR_OK;
    }
    item_fini(j->g->env->sys, &it);
    return scr_err_take(err, rc, &why);
}

/* --- ranks --- */

static int take_rank(struct job *j, const struct scr_entry *e, struct scr_err *err)
{
    int rc = SCR_OK;
    j->rank = e->rank;
    j->got->ranks++;
    if (e->expected < 0) {
        struct scr_err why = SCR_ERR_INIT;
        scr_fail(&why, SCR_E_MISSING, 0, "it never completed dataset %d", e->dset);
        tell_bad(j, &why);
        return SCR_OK;
    }
    if (scr_filemap_add_rank(j->done, e->dset, e->rank) == NULL)
        rc = scr_no_memory(err);
    for (SCR_EACH(struct scr_file, f, &e->files))
        if (rc == SCR_OK)
            rc = take_file(j, f->item.name, scr_file_meta(f), err);
    return close_batch(j, rc, err); /* a batch is of one rank */
}

/* Names are on disk before they are listed. */
static int list_taken(const struct job *j, struct scr_err *err)
{
    TRY(scr_dirset_sync(j->g->env->sys, &j->dirs, err));
    for (SCR_ENTRIES(e, j->done, j->g->id))
        TRY(write_map(j, e, err));
    return SCR_OK;
}

static int take_ranks(struct job *j, struct scr_err *err)
{
    int rc = SCR_OK;
    if (scr_filemap_first(j->map, j->g->id) == NULL)
        rc = scr_fail(err, SCR_E_NOENT, 0, "no dataset %d in cache", j->g->id);
    for (SCR_ENTRIES(e, j->map, j->g->id))
        if (rc == SCR_OK)
            rc = take_rank(j, e, err);
    /* What was copied before an error is listed too: it need not be copied again. */
    return scr_first(rc, j->done->n > 0 && !j->unwanted
                             ? list_taken(j, rc == SCR_OK ? err : NULL)
                             : SCR_OK);
}

/* --- the node --- */

/* The number may be that of another job's dataset by now (invariant P14). */
static int check_owner(const struct scr_gather *g, const scr_filemap *map,
                       struct scr_err *err)
{
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_look(g->env, g->prefix, &index, err);
    for (SCR_ENTRIES(e, map, g->id)) {
        struct scr_dataset d;
        if (rc == SCR_OK && scr_dataset_get(e->dataset, &d, NULL) == SCR_OK)
            rc = scr_prefix_check_owner(g->prefix, &index, &d, err);
    }
    scr_index_fini(&index);
    return rc;
}

uint64_t scr_gather_size(const struct scr_gather *g, const scr_filemap *map)
{
    uint64_t total = 0, size;
    for (SCR_ENTRIES(e, map, g->id))
        for (SCR_EACH(struct scr_file, f, &e->files)) {
            const scr_meta *m = scr_file_meta(f);
            struct stat st;
            if (scr_meta_get_filesize(m, &size) == SCR_OK)
                total += size;
            else if ((g->partner || !is_partner_copy(m)) &&
                     scr_file_stat(g->env->sys, f->item.name, &st, NULL) == SCR_OK)
                total += (uint64_t)st.st_size;
        }
    return total;
}

int scr_gather_node(const struct scr_gather *g, const scr_filemap *map,
                    struct scr_gathered *got, struct scr_err *err)
{
    struct job j = { .g = g,
                     .map = map,
                     .got = got,
                     .me = who_am_i(),
                     .dirs = SCR_TABLE_OF(struct scr_item) };
    *got = (struct scr_gathered){ 0 };
    j.dset_dir = scr_prefix_dset_dir(g->prefix, g->id);
    j.stage = scr_stage_dir(g->prefix, g->id);
    j.done = scr_filemap_new();
    int rc;
    TRY_OUT(j.dset_dir && j.stage && j.done ? check_owner(g, map, err)
                                            : scr_no_memory(err));
    TRY_OUT(scr_stage_make(g->env, g->prefix, g->id, err));
    TRY_OUT(scr_dir_sync(g->env->sys, g->prefix->scr, err));
    TRY_OUT(take_ranks(&j, err));
out:
    scr_filemap_delete(j.done);
    scr_table_fini(&j.dirs);
    free(j.stage);
    free(j.dset_dir);
    return rc;
}
