/* SPDX-License-Identifier: BSD-3-Clause */
/* The control directory: filemaps and the journal of routed files. */
#include "store/cntl.h"

#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/hashfile.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"

#define MASTER  "filemap.scrinfo"
#define MAP     "filemap_"
#define SUFFIX  ".scrinfo"
#define JOURNAL ".jnl"
#define NEWER   ".newer."

enum {
    FILE_MODE = 0600,
    ASIDE_MAX = 10000,     /* filemaps of newer versions kept of one name */
    JOURNAL_MAX = 1 << 30, /* bytes read of a journal: some ten million files */
    RECORD_MAX = 1 << 16   /* bytes of a path */
};

int scr_cntl_open(const struct scr_env *env, const char *dir, int local_rank,
                  struct scr_cntl *c, struct scr_err *err)
{
    *c = (struct scr_cntl){ .jnl_fd = -1 };
    TRY(scr_dir_make_private(env->sys, dir, "", 0700, err));
    c->dir = scr_strdup(dir);
    c->map_path = scr_asprintf("%s/" MAP "%d" SUFFIX, dir, local_rank);
    c->jnl_path = scr_asprintf("%s/" MAP "%d" SUFFIX JOURNAL, dir, local_rank);
    if (c->dir != NULL && c->map_path != NULL && c->jnl_path != NULL)
        return SCR_OK;
    scr_cntl_close(env, c);
    return scr_no_memory(err);
}

void scr_cntl_close(const struct scr_env *env, struct scr_cntl *c)
{
    scr_close(env->sys, &c->jnl_fd, c->jnl_path, NULL);
    free(c->dir);
    free(c->map_path);
    free(c->jnl_path);
    *c = (struct scr_cntl){ .jnl_fd = -1 };
}

/* --- reading all of a node --- */

/* Local rank of "filemap_<i>.scrinfo" or of its journal, else -1. */
static int map_index(const char *name)
{
    const char *end;
    if (strncmp(name, MAP, sizeof MAP - 1) != 0)
        return -1;
    int i = scr_parse_front(name + sizeof MAP - 1, &end);
    return strcmp(end, SUFFIX) == 0 || strcmp(end, SUFFIX JOURNAL) == 0 ? i : -1;
}

static int is_journal(const char *name)
{
    size_t len = strlen(name), skip = sizeof JOURNAL - 1;
    return len > skip && strcmp(name + len - skip, JOURNAL) == 0;
}

static int journal_load(const struct scr_env *env, const char *path, scr_filemap *map,
                        struct scr_err *err)
{
    void *buf = NULL;
    size_t n, good;
    TRY(scr_file_load(env->sys, path, JOURNAL_MAX, &buf, &n, err));
    int rc = scr_journal_decode(buf, n, map, &good);
    free(buf);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "read %s: out of memory", path);
}

static int remove_in(const struct scr_env *env, const struct scr_cntl *c,
                     const char *name, struct scr_err *err)
{
    char *path = scr_path_join(c->dir, name);
    int rc = path ? scr_file_remove(env->sys, path, err) : scr_no_memory(err);
    free(path);
    return rc;
}

/* Calls for each file of a kind, which nlocal may decide; without step, SCR_E_EXIST if
 * there is one. */
static int each_name(const struct scr_env *env, const struct scr_cntl *c,
                     int (*is)(const char *name, int nlocal), int nlocal,
                     int (*step)(const struct scr_env *env, const struct scr_cntl *c,
                                 const char *name, struct scr_err *err),
                     struct scr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_dir_list(env->sys, c->dir, &names, &n, err));
    for (size_t i = 0; i < n; i++)
        if (is(names[i], nlocal))
            TRY_OUT(step ? step(env, c, names[i], err) : SCR_E_EXIST);
out:
    scr_names_free(names, n);
    return rc;
}

/* The first of <path>.newer.<n> that is free, malloc'd; NULL, with err: none. */
static char *free_name(const struct scr_env *env, const char *path, struct scr_err *err)
{
    for (int n = 1; n <= ASIDE_MAX; n++) {
        char *name = scr_asprintf("%s" NEWER "%d", path, n);
        if (name == NULL)
            break;
        if (!scr_file_is_there(env->sys, name))
            return name;
        free(name);
    }
    scr_fail(err, SCR_E_EXIST, 0, "%s cannot be kept under another name", path);
    return NULL;
}

/* Renames <dir>/<name><suffix> so that the new name, *aside, says what it is. An absent
 * one is success, with *aside NULL. */
static int set_aside(const struct scr_env *env, const struct scr_cntl *c,
                     const char *name, const char *suffix, char **aside,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    char *path = scr_asprintf("%s/%s%s", c->dir, name, suffix);
    int rc = path ? scr_file_stat(env->sys, path, &st, &why) : scr_no_memory(&why);
    *aside = NULL;
    if (rc == SCR_OK) {
        *aside = free_name(env, path, err);
        rc = *aside ? scr_file_rename(env->sys, path, *aside, err) : SCR_E_EXIST;
    } else if (rc != SCR_E_NOENT) {
        scr_err_take(err, rc, &why);
    }
    free(path);
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}

/* What a newer version wrote is not ours to replace, and what was routed since then
 * goes with it. */
static int keep_newer(const struct scr_env *env, const struct scr_cntl *c,
                      const char *name, const char *cause, struct scr_err *err)
{
    char *aside, *journal = NULL;
    int rc;
    TRY_OUT(set_aside(env, c, name, "", &aside, err));
    TRY_OUT(set_aside(env, c, name, JOURNAL, &journal, err));
    if (aside != NULL)
        scr_log(env->log, SCR_LOG_WARN,
                "%s; kept as %s, and what it names stays in cache for the SCR that "
                "wrote it (SCR_CACHE_PURGE=1 deletes both)",
                cause, aside);
out:
    free(journal);
    free(aside);
    return rc;
}

/* How a node is read. */
struct how {
    int take;                 /* what newer versions wrote is kept under another name */
    struct scr_table *unread; /* gets the lines about what was skipped; may be NULL */
};

static int skip(const struct scr_env *env, const struct how *how, const char *why,
                const char *so, struct scr_err *err)
{
    int ok = 1;
    scr_log(env->log, SCR_LOG_WARN, "%s; %s", why, so);
    if (how->unread != NULL) {
        char *line = scr_asprintf("%s; %s", why, so);
        ok = line != NULL && scr_table_add(how->unread, line) != NULL;
        free(line);
    }
    return ok ? SCR_OK : scr_no_memory(err);
}

/* One filemap or journal. Only the unreadable part is lost: a warning. */
static int merge_one(const struct scr_env *env, const struct scr_cntl *c,
                     const char *name, const struct how *how, scr_filemap *map,
                     struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_path_join(c->dir, name);
    scr_filemap *one = scr_filemap_new();
    int rc = SCR_E_NOMEM;
    if (path != NULL && one != NULL)
        rc = is_journal(name) ? journal_load(env, path, one, &why)
                              : scr_filemap_read(env->sys, path, one, &why);
    if (rc == SCR_OK)
        rc = scr_filemap_take(map, one);
    scr_filemap_delete(one);
    free(path);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc == SCR_E_VERSION && how->take)
        return keep_newer(env, c, name, why.text, err);
    /* Not read is not damaged: it must not be replaced as if it named nothing. */
    if (rc != SCR_OK && rc != SCR_E_NOENT && rc != SCR_E_CORRUPT && rc != SCR_E_VERSION)
        return scr_err_take(err, rc, &why);
    if (rc != SCR_OK && rc != SCR_E_NOENT)
        return skip(env, how, why.text, "the files it names are taken as lost", err);
    return SCR_OK;
}

/* The master's list is merged by base name, so that a moved control directory still
 * works. */
static int merge_master(const struct scr_env *env, const struct scr_cntl *c,
                        const struct how *how, scr_filemap *map, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_path_join(c->dir, MASTER);
    scr_hash *master = scr_hash_new();
    int rc = SCR_E_NOMEM;
    if (path != NULL && master != NULL)
        rc = scr_hash_file_read(env->sys, path, master, &why);
    free(path);
    if (rc == SCR_E_NOMEM) {
        scr_no_memory(err);
    } else if (rc == SCR_E_VERSION && how->take) {
        rc = keep_newer(env, c, MASTER, why.text, err);
    } else if (rc != SCR_OK) {
        rc = rc == SCR_E_NOENT ? SCR_OK
                               : skip(env, how, why.text,
                                      "using the other files in its directory", err);
    }
    for (SCR_HASH_EACH(e, scr_hash_get(master, "Filemap"))) {
        const char *name = scr_path_base(scr_hash_elem_key(e));
        if (rc == SCR_OK && map_index(name) < 0 && scr_path_is_safe(name))
            rc = merge_one(env, c, name, how, map, err);
    }
    scr_hash_delete(master);
    return rc;
}

static int read_node(const struct scr_env *env, const struct scr_cntl *c,
                     const struct how *how, scr_filemap *map, struct scr_err *err)
{
    char **names;
    size_t n;
    int rc = scr_dir_list(env->sys, c->dir, &names, &n, err);
    if (rc != SCR_OK)
        return rc;
    /* Filemaps before journals: a journal only adds what its filemap does not name yet.
     */
    for (int journals = 0; journals <= 1; journals++)
        for (size_t i = 0; i < n && rc == SCR_OK; i++)
            if (map_index(names[i]) >= 0 && is_journal(names[i]) == journals)
                rc = merge_one(env, c, names[i], how, map, err);
    scr_names_free(names, n);
    return rc == SCR_OK ? merge_master(env, c, how, map, err) : rc;
}

int scr_cntl_read_node(const struct scr_env *env, const struct scr_cntl *c,
                       scr_filemap *map, struct scr_err *err)
{
    return read_node(env, c, &(struct how){ 0 }, map, err);
}

int scr_cntl_survey_node(const struct scr_env *env, const struct scr_cntl *c,
                         scr_filemap *map, struct scr_table *unread,
                         struct scr_err *err)
{
    return read_node(env, c, &(struct how){ .unread = unread }, map, err);
}

int scr_cntl_take_node(const struct scr_env *env, const struct scr_cntl *c,
                       scr_filemap *map, struct scr_err *err)
{
    return read_node(env, c, &(struct how){ .take = 1 }, map, err);
}

/* --- a node whose ranks run where they ran --- */

static int lists_only(const scr_hash *master, int nlocal)
{
    for (SCR_HASH_EACH(e, scr_hash_get(master, "Filemap"))) {
        int i = map_index(scr_path_base(scr_hash_elem_key(e)));
        if (i < 0 || i >= nlocal)
            return 0;
    }
    return 1;
}

static int is_unsettled(const char *name, int nlocal)
{
    int i = map_index(name);
    return i >= nlocal || (i >= 0 && is_journal(name));
}

int scr_cntl_is_settled(const struct scr_env *env, const struct scr_cntl *c, int nlocal)
{
    char *path = scr_path_join(c->dir, MASTER);
    scr_hash *master = scr_hash_new();
    int settled = path != NULL && master != NULL &&
                  scr_hash_file_read(env->sys, path, master, NULL) == SCR_OK &&
                  lists_only(master, nlocal) &&
                  each_name(env, c, is_unsettled, nlocal, NULL, NULL) == SCR_OK;
    scr_hash_delete(master);
    free(path);
    return settled;
}

static int is_ours(const char *name, int nlocal)
{
    (void)nlocal;
    return map_index(name) >= 0 || strcmp(name, MASTER) == 0;
}

int scr_cntl_is_empty(const struct scr_env *env, const struct scr_cntl *c)
{
    return each_name(env, c, is_ours, 0, NULL, NULL) == SCR_OK;
}

static int is_of_rank_only(const scr_filemap *map, int rank)
{
    int ok = 1;
    for (size_t i = 0; i < map->n; i++)
        ok = ok && map->entry[i]->rank == rank;
    for (struct scr_filemap_aside *a = map->aside; a != NULL; a = a->next)
        ok = ok && is_of_rank_only(&a->map, rank);
    return ok;
}

int scr_cntl_read_own(const struct scr_env *env, const struct scr_cntl *c, int rank,
                      scr_filemap *map)
{
    return scr_filemap_read(env->sys, c->map_path, map, NULL) == SCR_OK &&
           is_of_rank_only(map, rank);
}

/* --- what newer versions wrote --- */

static int is_newer(const char *name, int nlocal)
{
    (void)nlocal;
    return strncmp(name, "filemap", 7) == 0 && strstr(name, SUFFIX) != NULL &&
           strstr(name, NEWER) != NULL;
}

int scr_cntl_has_newer(const struct scr_env *env, const struct scr_cntl *c)
{
    return each_name(env, c, is_newer, 0, NULL, NULL) != SCR_OK;
}

int scr_cntl_drop_newer(const struct scr_env *env, const struct scr_cntl *c,
                        struct scr_err *err)
{
    return each_name(env, c, is_newer, 0, remove_in, err);
}

/* --- writing --- */

static int is_above(const char *name, int nlocal)
{
    return map_index(name) >= nlocal;
}

int scr_cntl_write_master(const struct scr_env *env, const struct scr_cntl *c,
                          int nlocal, struct scr_err *err)
{
    scr_hash *master = scr_hash_new();
    char *path = scr_path_join(c->dir, MASTER);
    int rc = path != NULL && master != NULL ? SCR_OK : scr_no_memory(err);
    for (int i = 0; i < nlocal && rc == SCR_OK; i++) {
        char *map = scr_asprintf("%s/" MAP "%d" SUFFIX, c->dir, i);
        if (map == NULL || scr_hash_set_kv(master, "Filemap", map) == NULL)
            rc = scr_no_memory(err);
        free(map);
    }
    if (rc == SCR_OK)
        rc = scr_hash_file_write(env->sys, path, master, SCR_VOLATILE, err);
    scr_hash_delete(master);
    free(path);
    return rc == SCR_OK ? each_name(env, c, is_above, nlocal, remove_in, err) : rc;
}

int scr_cntl_write(const struct scr_env *env, struct scr_cntl *c,
                   const scr_filemap *map, struct scr_err *err)
{
    TRY(scr_filemap_write(env->sys, c->map_path, map, SCR_VOLATILE, err));
    /* Only now: until the new filemap is in place the journal's files have no other
     * name. */
    TRY(scr_close(env->sys, &c->jnl_fd, c->jnl_path, err));
    return scr_file_remove(env->sys, c->jnl_path, err);
}

/* --- journal --- */

/* A torn record (the writer died, or the device was full) would hide all that follow:
 * cut. */
static int journal_mend(const struct scr_env *env, const struct scr_cntl *c,
                        struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    void *buf = NULL;
    size_t n, good;
    int rc = scr_file_load(env->sys, c->jnl_path, JOURNAL_MAX, &buf, &n, &why);
    if (rc == SCR_E_NOENT)
        return SCR_OK;
    TRY(scr_err_take(err, rc, &why));
    scr_journal_decode(buf, n, NULL, &good);
    if (good != n)
        rc = scr_file_replace(env->sys, c->jnl_path, buf, good,
                              (struct scr_replace){ FILE_MODE, SCR_VOLATILE }, err);
    free(buf);
    return rc;
}

static int journal_open(const struct scr_env *env, struct scr_cntl *c,
                        struct scr_err *err)
{
    int rc = journal_mend(env, c, err);
    return rc != SCR_OK ? rc
                        : scr_open(env->sys, c->jnl_path,
                                   O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW,
                                   FILE_MODE, &c->jnl_fd, err);
}

int scr_cntl_journal(const struct scr_env *env, struct scr_cntl *c, int dset, int rank,
                     const char *path, struct scr_err *err)
{
    void *buf = NULL;
    size_t n;
    TRY(c->jnl_fd >= 0 ? SCR_OK : journal_open(env, c, err));
    if (scr_journal_encode(dset, rank, path, &buf, &n) != SCR_OK)
        return scr_no_memory(err);
    int rc = scr_write_all(SCR_FD(env->sys, c->jnl_fd, c->jnl_path), buf, n, err);
    free(buf);
    if (rc != SCR_OK)
        scr_close(env->sys, &c->jnl_fd, c->jnl_path, NULL); /* the next call repairs
                                                             * it */
    return rc;
}

/* --- the filemaps of others --- */

void scr_cntl_maps_fini(struct scr_cntl_maps *maps)
{
    for (size_t i = 0; i < maps->n; i++)
        scr_filemap_delete(maps->of[i].map);
    free(maps->of);
    *maps = (struct scr_cntl_maps){ 0 };
}

/* maps->of has room for it. */
static int add_map_of(const struct scr_env *env, const struct scr_cntl *c, int local,
                      const struct how *how, struct scr_cntl_maps *maps,
                      struct scr_err *err)
{
    char name[64];
    scr_filemap *map = scr_filemap_new();
    snprintf(name, sizeof name, MAP "%d" SUFFIX, local);
    int rc = map ? merge_one(env, c, name, how, map, err) : scr_no_memory(err);
    snprintf(name, sizeof name, MAP "%d" SUFFIX JOURNAL, local);
    if (rc == SCR_OK)
        rc = merge_one(env, c, name, how, map, err);
    if (rc != SCR_OK || scr_filemap_num_ranks_by_dataset(map, maps->id) == 0)
        scr_filemap_delete(map);
    else
        maps->of[maps->n++] = (struct scr_cntl_map){ local, map };
    return rc;
}

/* Entries of the dataset in all of them, each rank once; -1: out of memory. */
static int count_ranks(const struct scr_cntl_maps *maps)
{
    int id = maps->id;
    scr_filemap *all = scr_filemap_new();
    for (size_t i = 0; i < maps->n; i++)
        for (SCR_ENTRIES(e, maps->of[i].map, id))
            (void)scr_filemap_add_rank(all, id, e->rank);
    int n = all && scr_filemap_ok(all) ? scr_filemap_num_ranks_by_dataset(all, id) : -1;
    scr_filemap_delete(all);
    return n;
}

static int has_map(const struct scr_cntl_maps *maps, int local)
{
    for (size_t i = 0; i < maps->n; i++)
        if (maps->of[i].local == local)
            return 1;
    return 0;
}

static int maps_of(const struct scr_env *env, const struct scr_cntl *c,
                   const struct how *how, struct scr_cntl_maps *maps,
                   struct scr_err *err)
{
    int id = maps->id;
    char **names = NULL;
    size_t n = 0;
    scr_filemap *all = scr_filemap_new();
    int rc;
    TRY_OUT(all ? read_node(env, c, how, all, err) : scr_no_memory(err));
    TRY_OUT(scr_dir_list(env->sys, c->dir, &names, &n, err));
    if ((maps->of = scr_calloc(n, sizeof *maps->of)) == NULL)
        TRY_OUT(scr_no_memory(err));
    for (size_t i = 0; i < n; i++)
        if (map_index(names[i]) >= 0 && !has_map(maps, map_index(names[i])))
            TRY_OUT(add_map_of(env, c, map_index(names[i]), how, maps, err));
    if ((how->unread->n > 0 || scr_cntl_has_newer(env, c) ||
         count_ranks(maps) != scr_filemap_num_ranks_by_dataset(all, id)))
        TRY_OUT(scr_fail(err, SCR_E_UNSUPPORTED, 0,
                         "dataset %d in %s is named by a file that cannot be read", id,
                         c->dir));
out:
    scr_names_free(names, n);
    scr_filemap_delete(all);
    return rc;
}

int scr_cntl_maps_of(const struct scr_env *env, const struct scr_cntl *c, int id,
                     struct scr_cntl_maps *maps, struct scr_err *err)
{
    struct scr_table unread = SCR_TABLE_OF(struct scr_item);
    maps->id = id;
    int rc = maps_of(env, c, &(struct how){ .unread = &unread }, maps, err);
    scr_table_fini(&unread);
    return rc;
}

int scr_cntl_write_maps(const struct scr_env *env, const struct scr_cntl *c,
                        const struct scr_cntl_maps *maps, struct scr_err *err)
{
    int rc = SCR_OK;
    for (size_t i = 0; i < maps->n && rc == SCR_OK; i++) {
        struct scr_cntl of;
        rc = scr_cntl_open(env, c->dir, maps->of[i].local, &of, err);
        if (rc == SCR_OK)
            rc = scr_cntl_write(env, &of, maps->of[i].map, err);
        scr_cntl_close(env, &of);
    }
    return rc;
}

/* --- who uses it --- */

char *scr_cntl_job_path(const struct scr_env *env, const char *dir, const char *record)
{
    void *text = NULL;
    size_t n = 0;
    char *path = dir ? scr_path_join(dir, record) : NULL;
    if (path != NULL)
        (void)scr_file_load(env->sys, path, RECORD_MAX, &text, &n, NULL);
    free(path);
    char *found = text;
    if (found == NULL || found[0] == '/')
        return found;
    free(found);
    return NULL;
}

static int look(const struct scr_env *env, const char *dir, struct scr_lock_holder *who,
                struct scr_err *err)
{
    char *path = scr_path_join(dir, SCR_CNTL_JOB_LOCK);
    *who = (struct scr_lock_holder){ 0 };
    TRY(path ? SCR_OK : scr_no_memory(err));
    (void)scr_lock_look(env->sys, path, who, NULL);
    free(path);
    return SCR_OK;
}

int scr_cntl_wait_unused(const struct scr_env *env, const char *dir, double wait_s,
                         struct scr_err *err)
{
    enum { LOOK_MS = 100 };
    struct scr_lock_holder who;
    double end = scr_now_mono() + wait_s;
    TRY(look(env, dir, &who, err));
    while (who.held && scr_now_mono() < end) {
        scr_nap_ms(LOOK_MS);
        TRY(look(env, dir, &who, err));
    }
    if (!who.held)
        return SCR_OK;
    return scr_fail(err, SCR_E_LOCKED, 0,
                    "%s is in use by a run (process %ld, 0: not known): end that "
                    "first, or say with --ended that it has ended",
                    dir, who.pid);
}
