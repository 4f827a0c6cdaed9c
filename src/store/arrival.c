/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets on their way to the prefix directory. */
#include "store/arrival.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/str.h"
#include "fmt/state.h"
#include "store/cntl.h"
#include "store/packed.h"
#include "store/replaced.h"
#include "store/saved.h"
#include "store/scavenged.h"

enum {
    VERSION = 1,
    LOCK_TIMEOUT_MS = 30000, /* datasets are completed in milliseconds */
    FILE_MODE = 0666,        /* cut by the umask */
    JOURNAL_MAX = 1 << 30
};

#define PLAN "outgoing.scr"
/* The record of a rank that is through: no path below the prefix is called so. */
#define ALL_FILES "/%llu"

char *scr_arrival_plan_path(const struct scr_prefix *p, int id)
{
    return scr_prefix_dset_file(p, id, PLAN);
}

static char *record_path(const struct scr_prefix *p, int id, const char *what, int node)
{
    char *dir = scr_prefix_dset_dir(p, id);
    char *path = dir ? scr_asprintf("%s/%s.%d.jnl", dir, what, node) : NULL;
    free(dir);
    return path;
}

static int lock_plans(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_lock *lock, struct scr_err *err)
{
    return scr_prefix_lock(env, p, "outgoing.lock", LOCK_TIMEOUT_MS, lock, err);
}

/* --- the plan --- */

int scr_arrival_plan(const struct scr_env *env, const struct scr_prefix *p, int id,
                     const struct scr_attempt *of, struct scr_err *err)
{
    scr_hash *plan = scr_hash_new();
    char *path = scr_arrival_plan_path(p, id);
    scr_hash_set_val_i64(plan, "VERSION", VERSION);
    scr_hash_set_val_u64(plan, "STAMP", of->stamp);
    int rc = scr_hash_merge(scr_hash_set(plan, "DSET", NULL), of->dset);
    if (rc == SCR_OK)
        rc = scr_hash_merge(scr_hash_set(plan, "NODE", NULL), of->nodes);
    for (size_t i = 0; of->replaces != NULL && i < of->replaces->n; i++)
        (void)scr_hash_set_kv_int(plan, "REPLACES", of->replaces->id[i]);
    if (rc != SCR_OK || path == NULL || !scr_hash_ok(plan))
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        rc = scr_hash_file_write(env->sys, path, plan, SCR_DURABLE, err);
    free(path);
    scr_hash_delete(plan);
    return rc;
}

static int check_plan(const scr_hash *plan, int id, struct scr_err *err)
{
    struct scr_dataset d;
    int version = 0;
    if (!scr_hash_get_val_int(plan, "VERSION", &version) || version < 1)
        return scr_fail(err, SCR_E_CORRUPT, 0, "bad or missing VERSION");
    if (version > VERSION)
        return scr_fail(err, SCR_E_VERSION, 0,
                        "version %d is newer than this reader's %d", version, VERSION);
    TRY(scr_dataset_get(scr_hash_get(plan, "DSET"), &d, err));
    if (d.id != id)
        return scr_fail(err, SCR_E_CORRUPT, 0, "it is the plan of dataset %d", d.id);
    return SCR_OK;
}

int scr_arrival_plan_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                          scr_hash *plan, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    char *path = scr_arrival_plan_path(p, id);
    int rc = path ? scr_hash_file_read(env->sys, path, plan, err) : scr_no_memory(err);
    if (rc == SCR_OK && (rc = check_plan(plan, id, &why)) != SCR_OK)
        scr_fail(err, rc, 0, "%s: %s", path, why.text);
    free(path);
    return rc;
}

/* Larger than any rank. */
int scr_arrival_tag(uint64_t stamp)
{
    return (int)(stamp & 0x3fffffff) | SCR_ARRIVAL_TAG;
}

/* With the lock held. */
static int remove_plan(const struct scr_env *env, const struct scr_prefix *p, int id,
                       struct scr_err *err)
{
    char *path = scr_arrival_plan_path(p, id);
    int rc;
    TRY_OUT(path ? SCR_OK : scr_no_memory(err));
    if (scr_file_is_there(env->sys, path))
        TRY_OUT(scr_file_remove_durably(env->sys, path, err));
out:
    free(path);
    return rc;
}

int scr_arrival_give_up(const struct scr_env *env, const struct scr_prefix *p, int id,
                        struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int rc;
    TRY_OUT(lock_plans(env, p, &lock, err));
    TRY_OUT(remove_plan(env, p, id, err));
out:
    scr_lock_release(env->sys, &lock);
    return rc;
}

/* --- records --- */

static int append(const struct scr_env *env, const char *path, const struct scr_str *s,
                  struct scr_err *err)
{
    return scr_file_append(env->sys, path, s->p, s->len, FILE_MODE, err);
}

static int add_record(struct scr_str *s, int id, int rank, const char *path)
{
    void *buf = NULL;
    size_t n = 0;
    int rc;
    TRY_OUT(scr_journal_encode(id, rank, path, &buf, &n));
    scr_str_append_n(s, buf, n);
out:
    free(buf);
    return rc == SCR_OK && s->bad ? SCR_E_NOMEM : rc;
}

static int add_records(const struct scr_arrival *a, const char *what,
                       const char *const *path, size_t n, struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    char *file = record_path(a->p, a->id, what, a->node);
    int rc = file ? SCR_OK : SCR_E_NOMEM;
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = add_record(&s, a->id, a->rank, path[i]);
    if (rc != SCR_OK)
        scr_no_memory(err);
    else if (n > 0)
        rc = append(a->env, file, &s, err);
    scr_str_free(&s);
    free(file);
    return rc;
}

int scr_arrival_landed(const struct scr_arrival *a, const char *const *path, size_t n,
                       struct scr_err *err)
{
    return add_records(a, "landed", path, n, err);
}

int scr_arrival_packed(const struct scr_arrival *a, const char *const *name, size_t n,
                       struct scr_err *err)
{
    return add_records(a, "arrived", name, n, err);
}

char *scr_arrival_packed_name(uint64_t stamp, const struct scr_packed *is,
                              const char *path)
{
    return scr_asprintf("/%llu/%llu/0x%08x/%s", (unsigned long long)stamp,
                        (unsigned long long)is->size, (unsigned)is->crc, path);
}

/* The word up to the next slash, which *text moves past; 0: there is none. */
static int take_word(const char **text, char *word, size_t cap)
{
    size_t len = strcspn(*text, "/");
    if ((*text)[len] != '/' || len >= cap)
        return 0;
    memcpy(word, *text, len);
    word[len] = '\0';
    *text += len + 1;
    return 1;
}

int scr_arrival_packed_parse(const char *name, uint64_t *stamp, struct scr_packed *is,
                             const char **path)
{
    char a[24], b[24], c[24];
    if (*name++ != '/' || !take_word(&name, a, sizeof a) ||
        !take_word(&name, b, sizeof b) || !take_word(&name, c, sizeof c) ||
        !scr_parse_u64(a, stamp) || !scr_parse_u64(b, &is->size) ||
        !scr_parse_hex32(c, &is->crc) || !scr_path_is_safe(name))
        return 0;
    *path = name;
    return 1;
}

int scr_arrival_arrived(const struct scr_arrival *a, uint64_t stamp,
                        struct scr_err *err)
{
    struct scr_str s = SCR_STR_INIT;
    char *all = scr_asprintf(ALL_FILES, (unsigned long long)stamp);
    char *file = record_path(a->p, a->id, "arrived", a->node);
    int rc;
    if (file == NULL || all == NULL || add_record(&s, a->id, a->rank, all) != SCR_OK)
        TRY_OUT(scr_no_memory(err));
    TRY_OUT(append(a->env, file, &s, err));
    TRY_OUT(scr_file_sync(a->env->sys, file, err));
    TRY_OUT(scr_dir_sync_parent(a->env->sys, file, err));
out:
    scr_str_free(&s);
    free(file);
    free(all);
    return rc;
}

/* Frees path. A torn tail is where a process died: what it says nothing of is copied
 * again. */
static int read_record(const struct scr_env *env, char *path, scr_filemap *map,
                       struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    void *buf = NULL;
    size_t n = 0, good = 0;
    int rc = path ? scr_file_load(env->sys, path, JOURNAL_MAX, &buf, &n, &why)
                  : scr_no_memory(&why);
    if (rc == SCR_OK && (rc = scr_journal_decode(buf, n, map, &good)) != SCR_OK)
        scr_no_memory(&why);
    free(buf);
    free(path);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

int scr_arrival_read(const struct scr_env *env, const struct scr_prefix *p, int id,
                     int node, scr_filemap *map, struct scr_err *err)
{
    return read_record(env, record_path(p, id, "landed", node), map, err);
}

/* <n> of landed.<n>.jnl, else -1. */
static int record_node(const char *name)
{
    int node = -1;
    size_t digits =
        strncmp(name, "landed.", 7) == 0 ? strspn(name + 7, "0123456789") : 0;
    if (digits == 0 || strcmp(name + 7 + digits, ".jnl") != 0)
        return -1;
    char *number = scr_asprintf("%.*s", (int)digits, name + 7);
    if (number != NULL && !scr_parse_int(number, &node))
        node = -1;
    free(number);
    return node;
}

int scr_arrival_nodes(const struct scr_env *env, const struct scr_prefix *p, int id,
                      int **node, size_t *n, struct scr_err *err)
{
    char **names = NULL, *dir = scr_prefix_dset_dir(p, id);
    size_t all = 0;
    struct scr_err why = SCR_ERR_INIT;
    *n = 0;
    int rc =
        dir ? scr_dir_list(env->sys, dir, &names, &all, &why) : scr_no_memory(&why);
    *node = scr_calloc(all, sizeof **node);
    if (*node == NULL)
        rc = scr_no_memory(&why);
    for (size_t i = 0; i < all && rc == SCR_OK; i++)
        if (record_node(names[i]) >= 0)
            (*node)[(*n)++] = record_node(names[i]);
    scr_names_free(names, all);
    free(dir);
    return scr_err_take(err, rc == SCR_E_NOENT ? SCR_OK : rc, &why);
}

int scr_arrival_forget(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int node, struct scr_err *err)
{
    char *arrived = record_path(p, id, "arrived", node);
    char *landed = record_path(p, id, "landed", node);
    int rc;
    TRY_OUT(arrived && landed ? scr_file_remove(env->sys, arrived, err)
                              : scr_no_memory(err));
    TRY_OUT(scr_file_remove(env->sys, landed, err));
out:
    free(landed);
    free(arrived);
    return rc;
}

/* --- completion --- */

/* Ranks that arrived in the attempt of this stamp. */
static int count_arrived(const scr_filemap *map, int id, const char *stamp)
{
    int n = 0;
    char *all = scr_asprintf("/%s", stamp);
    for (SCR_ENTRIES(e, map, id))
        n += scr_table_find(&e->files, all) != NULL;
    free(all);
    return n;
}

/* 1 if all ranks of a node of the plan have arrived. */
static int node_arrived(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const scr_hash *plan, const scr_hash_elem *node)
{
    scr_filemap *map = scr_filemap_new();
    const char *text = scr_hash_elem_key(scr_hash_elem_first(scr_hash_elem_hash(node)));
    const char *stamp = scr_hash_get_val(plan, "STAMP");
    int want = 0, n = scr_hash_elem_key_int(node);
    int whole =
        map != NULL && text != NULL && stamp != NULL && scr_parse_int(text, &want) &&
        want > 0 && n >= 0 &&
        read_record(env, record_path(p, id, "arrived", n), map, NULL) == SCR_OK &&
        count_arrived(map, id, stamp) >= want;
    scr_filemap_delete(map);
    return whole;
}

/* 1 if all nodes of the plan have. Begins behind node `from` (-1: with the first): of
 * many that look while some are missing, few look at more than a few. */
static int all_arrived(const struct scr_env *env, const struct scr_prefix *p, int id,
                       const scr_hash *plan, int from)
{
    const scr_hash *nodes = scr_hash_get(plan, "NODE");
    scr_hash_elem *start = from < 0 ? scr_hash_elem_first(nodes) : NULL;
    for (SCR_HASH_EACH(e, nodes))
        if (start == NULL && scr_hash_elem_key_int(e) == from)
            start = e;
    scr_hash_elem *e = start;
    for (size_t left = scr_hash_size(nodes); left > 0; left--) {
        if (e == NULL)
            e = scr_hash_elem_first(nodes);
        if (!node_arrived(env, p, id, plan, e))
            return 0;
        e = scr_hash_elem_next(e);
    }
    return scr_hash_size(nodes) > 0;
}

/* The entry of a complete dataset in summary and index; NULL: out of memory. */
static scr_hash *completed(const scr_hash *plan)
{
    scr_hash *dset = scr_hash_dup(scr_hash_get(plan, "DSET"));
    scr_hash_set_val_i64(dset, "COMPLETE", 1);
    if (dset != NULL && scr_hash_ok(dset))
        return dset;
    scr_hash_delete(dset);
    return NULL;
}

/* Of the files of the whole plan those that were compressed in its attempt. */
static int find_packed(const struct scr_env *env, const struct scr_prefix *p, int id,
                       const scr_hash *plan, struct scr_rank2file *packed,
                       struct scr_err *err)
{
    uint64_t stamp = 0, of;
    scr_filemap *map = scr_filemap_new();
    int rc = map ? SCR_OK : scr_no_memory(err);
    (void)scr_hash_get_val_u64(plan, "STAMP", &stamp);
    for (SCR_HASH_EACH(e, scr_hash_get(plan, "NODE"))) {
        int node = scr_hash_elem_key_int(e);
        if (rc == SCR_OK)
            rc = read_record(env, record_path(p, id, "arrived", node), map, err);
    }
    for (SCR_ENTRIES(e, map, id))
        for (SCR_EACH(struct scr_file, f, &e->files)) {
            struct scr_packed is;
            struct scr_listed *listed = NULL;
            const char *path;
            if (scr_arrival_packed_parse(f->item.name, &of, &is, &path) && of == stamp)
                listed = scr_rank2file_add_file(packed, e->rank, path);
            if (listed != NULL)
                scr_listed_set_packed(listed, &is);
        }
    scr_filemap_delete(map);
    return rc == SCR_OK && !scr_rank2file_ok(packed) ? scr_no_memory(err) : rc;
}

/* The list of files was written before any was compressed. */
static int enter_packed(const struct scr_env *env, const struct scr_prefix *p, int id,
                        const scr_hash *plan, struct scr_err *err)
{
    struct scr_rank2file packed = { 0 };
    int rc;
    TRY_OUT(find_packed(env, p, id, plan, &packed, err));
    TRY_OUT(scr_packed_enter(env, p, id, &packed, err));
out:
    scr_rank2file_fini(&packed);
    return rc;
}

/* The plan goes last: until then the next look does it all once more. A dataset
 * that is being deleted is complete no more, and loses its plan. */
static int complete(const struct scr_env *env, const struct scr_prefix *p, int id,
                    const scr_hash *plan, struct scr_err *err)
{
    scr_hash *dset = completed(plan);
    int rc = dset ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK)
        rc = enter_packed(env, p, id, plan, err);
    if (rc == SCR_OK)
        rc = scr_prefix_summary_write(env, p, id, dset, 1, err);
    if (rc == SCR_OK)
        rc = scr_prefix_index_enter(env, p, dset, 1, time(NULL), err);
    if (rc == SCR_OK)
        (void)scr_saved_note(env, p, &id, 1, 0, NULL); /* the index is what counts */
    if (rc == SCR_E_CANCELLED)
        (void)scr_prefix_summary_remove(env, p, id, NULL);
    if (rc == SCR_OK || rc == SCR_E_CANCELLED) {
        int gone = remove_plan(env, p, id, err);
        rc = scr_first(gone, rc);
    }
    for (SCR_HASH_EACH(e, scr_hash_get(plan, "NODE")))
        if (rc == SCR_OK) /* records that stay do no harm */
            (void)scr_arrival_forget(env, p, id, scr_hash_elem_key_int(e), NULL);
    scr_hash_delete(dset);
    return rc;
}

/* *done: 1 if there was a plan and all of it has arrived. */
static int adopt_one(const struct scr_env *env, const struct scr_prefix *p, int id,
                     int *done, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *plan = scr_hash_new();
    int rc = scr_arrival_plan_read(env, p, id, plan, &why);
    *done = rc == SCR_OK && all_arrived(env, p, id, plan, -1);
    if (*done)
        rc = complete(env, p, id, plan, &why);
    scr_hash_delete(plan);
    *done = *done && rc != SCR_E_CANCELLED;
    if (rc == SCR_OK || rc == SCR_E_NOENT || rc == SCR_E_CANCELLED)
        return SCR_OK;
    return scr_err_take(err, rc, &why);
}

int scr_arrivals_adopt(const struct scr_env *env, const struct scr_prefix *p, int *n,
                       struct scr_err *err)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int *ids = NULL;
    size_t nids = 0, adopted = 0;
    int rc = lock_plans(env, p, &lock, err);
    if (rc == SCR_OK)
        rc = scr_prefix_unfinished_ids(env, p, NULL, &ids, &nids, err);
    for (size_t i = 0; i < nids; i++) {
        int done = 0;
        int one = adopt_one(env, p, ids[i], &done, rc == SCR_OK ? err : NULL);
        if (done && one == SCR_OK)
            ids[adopted++] = ids[i];
        rc = scr_first(rc, one);
    }
    scr_lock_release(env->sys, &lock);
    for (size_t i = 0; i < adopted; i++) {
        scr_replaced_remove(env, p, ids[i]);
        scr_scavenged_remove(env, p, ids[i]);
    }
    free(ids);
    if (n != NULL)
        *n = (int)adopted;
    return rc;
}

/* --- looking --- */

int scr_arrival_look(const struct scr_env *env, const struct scr_prefix *p, int id,
                     int *arrived, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    scr_hash *plan = scr_hash_new(), *whole = NULL;
    int rc = scr_arrival_plan_read(env, p, id, plan, &why);
    *arrived = rc == SCR_OK && all_arrived(env, p, id, plan, -1);
    if (*arrived &&
        ((whole = completed(plan)) == NULL || scr_hash_merge(dset, whole) != SCR_OK))
        rc = scr_no_memory(&why);
    scr_hash_delete(whole);
    scr_hash_delete(plan);
    if (rc == SCR_OK || rc == SCR_E_NOENT)
        return SCR_OK;
    *arrived = 0;
    return scr_err_take(err, rc, &why);
}

/* As complete() does it on disk. */
static int enter(struct scr_index *index, scr_hash *flush, int id, const scr_hash *dset,
                 struct scr_err *err)
{
    int changed, rc = SCR_OK;
    if (index != NULL)
        rc = scr_index_arrive(index, dset, time(NULL));
    if (rc == SCR_OK && flush != NULL)
        rc = scr_flush_set_saved(flush, dset, 0, &changed);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "index: dataset %d", id);
}

static int is_doomed(const struct scr_index *index, int id)
{
    struct scr_index_entry e;
    return scr_index_get(index, id, &e, NULL) == SCR_OK && e.doomed;
}

/* As scr_arrival_look, but for a plan that cannot be read. */
static int look_at(const struct scr_env *env, const struct scr_prefix *p, int id,
                   int *arrived, scr_hash *dset, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_arrival_look(env, p, id, arrived, dset, &why);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK)
        scr_log(env->log, SCR_LOG_WARN, "%s", why.text);
    return SCR_OK;
}

int scr_arrivals_look(const struct scr_env *env, const struct scr_prefix *p,
                      struct scr_index *index, scr_hash *flush, int *n,
                      struct scr_err *err)
{
    int *ids = NULL;
    size_t nids = 0;
    int rc = scr_arrivals_pending(env, p, index, &ids, &nids, err);
    *n = 0;
    for (size_t i = 0; i < nids && rc == SCR_OK; i++) {
        scr_hash *dset = scr_hash_new();
        int arrived = 0;
        rc = look_at(env, p, ids[i], &arrived, dset, err);
        if (arrived && !is_doomed(index, ids[i])) {
            rc = enter(index, flush, ids[i], dset, err);
            ++*n;
        }
        scr_hash_delete(dset);
    }
    free(ids);
    return rc;
}

/* SCR_OK: there is one, or may be; SCR_E_NOENT: there is none. */
static int look_for_plan(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    struct scr_err why = SCR_ERR_INIT;
    struct stat st;
    char *path = scr_arrival_plan_path(p, id);
    if (path == NULL)
        return SCR_E_NOMEM;
    int rc = scr_file_stat(env->sys, path, &st, &why);
    free(path);
    return rc == SCR_E_NOENT || why.sys == ENOTDIR ? SCR_E_NOENT : SCR_OK;
}

int scr_arrival_has_plan(const struct scr_env *env, const struct scr_prefix *p, int id)
{
    return look_for_plan(env, p, id) != SCR_E_NOENT;
}

int scr_arrivals_pending(const struct scr_env *env, const struct scr_prefix *p,
                         const struct scr_index *index, int **ids, size_t *n,
                         struct scr_err *err)
{
    size_t all = 0, kept = 0;
    int rc;
    TRY_OUT(scr_prefix_unfinished_ids(env, p, index, ids, &all, err));
    for (size_t i = 0; i < all; i++) {
        int found = look_for_plan(env, p, (*ids)[i]);
        if (found == SCR_E_NOMEM)
            TRY_OUT(scr_no_memory(err));
        else if (found == SCR_OK)
            (*ids)[kept++] = (*ids)[i];
    }
out:
    *n = kept;
    return rc;
}

int scr_arrival_finish(const struct scr_env *env, const struct scr_prefix *p, int id,
                       int node)
{
    scr_hash *plan = scr_hash_new();
    int rc = scr_arrival_plan_read(env, p, id, plan, NULL);
    int whole = rc == SCR_OK && all_arrived(env, p, id, plan, node);
    scr_hash_delete(plan);
    if (whole)
        return scr_arrivals_adopt(env, p, NULL, NULL);
    /* Without a plan another process has completed it. */
    return rc == SCR_E_NOENT ? SCR_OK : rc;
}
