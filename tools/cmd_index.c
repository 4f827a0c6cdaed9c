/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_index: lists and edits the index of datasets in a prefix directory. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/io.h"
#include "base/str.h"
#include "base/units.h"
#include "events.h"
#include "ops/adopt.h"
#include "ops/build.h"
#include "ops/delete.h"
#include "ops/extract.h"
#include "ops/incache.h"
#include "reach.h"
#include "store/arrival.h"
#include "store/catalog.h"
#include "store/deletion.h"
#include "store/dset_names.h"
#include "tool.h"

enum {
    OPT_LIST,
    OPT_FORMAT,
    OPT_CURRENT,
    OPT_ADD,
    OPT_BUILD,
    OPT_REMOVE,
    OPT_DROP,
    OPT_DROP_AFTER,
    OPT_DELETE,
    OPT_FORCE,
    OPT_ADD_DIRECTORY,
    OPT_EXTRACT,
    OPT_TO,
    OPT_NAME,
    OPT_ID,
    OPT_RANKS,
    OPT_OUTPUT,
    OPT_ADOPT,
    OPT_PREFIX,
    OPT_JSON,
    OPT_LONG
};

static const struct scr_opt opts[] = {
    [OPT_LIST] = { "list", 'l', NULL, "list the datasets (the default)" },
    [OPT_FORMAT] = { "format", 0, "N",
                     "3: list checkpoints in the columns of SCR 3.x" },
    [OPT_CURRENT] = { "current", 'c', "NAME",
                      "restart from dataset NAME next time; also after --add, "
                      "--build" },
    [OPT_ADD] = { "add", 'a', "ID|NAME",
                  "check a dataset, repair it, add it to the index" },
    [OPT_BUILD] = { "build", 'b', "ID", "the same by id, after a scavenge" },
    [OPT_REMOVE] = { "remove", 'r', "NAME",
                     "remove dataset NAME from the index; its files stay" },
    [OPT_DROP] = { "drop", 'd', "NAME", "the same" },
    [OPT_DROP_AFTER] = { "drop-after", 0, "NAME",
                         "remove what is newer than NAME from the index" },
    [OPT_DELETE] = { "delete", 0, "NAME|ID",
                     "delete a dataset with its files from the prefix directory" },
    [OPT_FORCE] = { "force", 'f', NULL,
                    "with --delete: also the current one, or one on its way" },
    [OPT_ADD_DIRECTORY] = { "add-directory", 'A', "DIR",
                            "make a dataset of files written without SCR" },
    [OPT_EXTRACT] = { "extract", 'x', "NAME",
                      "write the plain files of dataset NAME, checked" },
    [OPT_TO] = { "to", 't', "DIR", "with --extract: below DIR, not in place" },
    [OPT_NAME] = { "name", 'n', "NAME",
                   "with --add-directory: name of the dataset (default: DIR's)" },
    [OPT_ID] = { "id", 'i', "ID", "with --add-directory: its id (default: the next)" },
    [OPT_RANKS] = { "ranks", 'R', "N",
                    "with --add-directory: there must be files of N ranks" },
    [OPT_OUTPUT] = { "output", 'o', NULL,
                     "with --add-directory: it is output, not a checkpoint" },
    [OPT_ADOPT] = { "adopt", 0, NULL,
                    "add what jobs have copied, rebuild a damaged index" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_JSON] = { "json", 0, NULL, "list as JSON" },
    [OPT_LONG] = { "long", 'L', NULL, "list size, ranks, kind, age and place, too" },
    { 0 },
};

static const int actions[] = {
    OPT_CURRENT, /* the first */
    OPT_LIST,    OPT_ADD,           OPT_BUILD, OPT_REMOVE,  OPT_DROP, OPT_DROP_AFTER,
    OPT_DELETE,  OPT_ADD_DIRECTORY, OPT_ADOPT, OPT_EXTRACT, -1
};

/* --- listing --- */

static int is_valid(const struct scr_index_entry *e)
{
    return e->complete && !e->failed;
}

/* The entry of an incomplete dataset has the time of another event of its flush. */
static const char *flushed_text(const struct scr_index_entry *e)
{
    return e->complete && e->flushed != NULL ? e->flushed : "-";
}

static void print_entry(struct scr_tool *t, const struct scr_index_entry *e)
{
    scr_tool_print_line(t, "%c%6d %-5s %-19s %s", e->current ? '*' : ' ', e->id,
                        is_valid(e) ? "YES" : "NO", flushed_text(e), e->dset.name);
}

static json_t *entry_json(const struct scr_index_entry *e)
{
    return json_pack("{s:i, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:s?, s:I, s:I}", "id",
                     e->id, "name", scr_tool_json_text(e->dset.name), "valid",
                     is_valid(e), "complete", e->complete, "failed", e->failed != NULL,
                     "current", e->current, "checkpoint", e->dset.is_ckpt, "output",
                     e->dset.is_output, "flushed", e->flushed, "bytes",
                     (json_int_t)e->dset.size, "files", (json_int_t)e->dset.files);
}

/* Calls for every dataset, newest first; one that cannot be read is an error. */
static int each_entry(const struct scr_index *index,
                      void (*f)(struct scr_tool *, const struct scr_index_entry *),
                      struct scr_tool *t, struct scr_err *err)
{
    struct scr_index_entry e;
    int rc = SCR_OK;
    for (size_t i = index->n; i-- > 0 && rc == SCR_OK;)
        if ((rc = scr_index_get(index, index->of[i].id, &e, err)) == SCR_OK)
            f(t, &e);
    return rc;
}

static void print_entry_3(struct scr_tool *t, const struct scr_index_entry *e)
{
    if (e->dset.is_ckpt)
        scr_tool_print_line(t, "%4d %-5s %-19s  %c  %s", e->id,
                            is_valid(e) ? "YES" : "NO", e->flushed ? e->flushed : "",
                            e->current ? '*' : ' ', e->dset.name);
}

/* --- more of each --- */

/* The flush file, which knows the caches, and the time from which ages count. */
struct more {
    scr_hash *flush;
    int64_t now; /* seconds since the epoch */
};

static const char *kind_of(const struct scr_dataset *d)
{
    return !d->is_output ? "checkpoint" : d->is_ckpt ? "both" : "output";
}

static int is_cached(const struct more *m, int id)
{
    return (scr_flush_get_location(m->flush, id) & SCR_LOC_CACHE) != 0;
}

/* Seconds; -1: not known. */
static int64_t age_of(const struct more *m, const struct scr_dataset *d)
{
    int64_t age = m->now - d->created / 1000000;
    return d->created <= 0 ? -1 : age > 0 ? age : 0;
}

/* In the largest unit that the age has, into at least 8 bytes. */
static const char *age_text(int64_t age, char *buf, size_t n)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
    size_t i = 0;
    while (i < 3 && age < units[i].seconds)
        i++;
    if (age < 0)
        (void)snprintf(buf, n, "-");
    else
        (void)snprintf(buf, n, "%lld%s", (long long)(age / units[i].seconds),
                       units[i].name);
    return buf;
}

/* That wrote the dataset; 0: not known. */
static int ranks_of(const struct scr_tool *t, int id)
{
    struct scr_rank2file_root root = { 0 };
    struct scr_rank2file whole = { 0 };
    int rc = scr_rank2file_top(&t->env, &t->prefix, id, &root, &whole, NULL);
    int ranks = rc == SCR_OK ? root.ranks : 0;
    scr_rank2file_root_fini(&root);
    scr_rank2file_fini(&whole);
    return ranks;
}

static void print_long(struct scr_tool *t, const struct more *m,
                       const struct scr_index_entry *e)
{
    char size[32], age[32], ranks[16] = "-";
    int n = ranks_of(t, e->id), cached = is_cached(m, e->id);
    if (n > 0)
        (void)snprintf(ranks, sizeof ranks, "%d", n);
    scr_tool_print_line(
        t, "%c%6d %-5s %-19s %10s %7s %-10s %5s %-12s %s", e->current ? '*' : ' ',
        e->id, is_valid(e) ? "YES" : "NO", flushed_text(e),
        scr_format_size(e->dset.size, size, sizeof size), ranks, kind_of(&e->dset),
        age_text(age_of(m, &e->dset), age, sizeof age),
        cached        ? e->complete ? "cache,prefix" : "cache"
        : e->complete ? "prefix"
                      : "-",
        e->dset.name);
}

/* Ranks only if they are asked for: they are in a file of each dataset. */
static json_t *long_json(struct scr_tool *t, const struct more *m,
                         const struct scr_index_entry *e, int with_ranks)
{
    json_t *o = entry_json(e);
    int64_t age = age_of(m, &e->dset);
    o = scr_tool_json_add(o, "kind", json_string(kind_of(&e->dset)));
    o = scr_tool_json_add(o, "age", age < 0 ? json_null() : json_integer(age));
    o = scr_tool_json_add(o, "in_cache", json_boolean(is_cached(m, e->id)));
    o = scr_tool_json_add(o, "in_prefix", json_boolean(e->complete));
    int ranks = with_ranks ? ranks_of(t, e->id) : 0;
    if (with_ranks)
        o = scr_tool_json_add(o, "ranks",
                              ranks > 0 ? json_integer(ranks) : json_null());
    return o;
}

static int each_long(struct scr_tool *t, const struct scr_args *a, const struct more *m,
                     const struct scr_index *index, struct scr_err *err)
{
    const int is_long = a->opt[OPT_LONG] != NULL;
    json_t *array = a->opt[OPT_JSON] ? json_array() : NULL;
    struct scr_index_entry e;
    int rc = SCR_OK;
    if (a->opt[OPT_JSON] == NULL)
        scr_tool_print(t,
                       "   DSET VALID FLUSHED                   SIZE   RANKS KIND    "
                       "     AGE PLACE        NAME\n");
    for (size_t i = index->n; i-- > 0;) {
        TRY_OUT(scr_index_get(index, index->of[i].id, &e, err));
        if (a->opt[OPT_JSON] == NULL)
            print_long(t, m, &e);
        else if (json_array_append_new(array, long_json(t, m, &e, is_long)) != 0)
            TRY_OUT(scr_no_memory(err));
    }
out:
    if (rc == SCR_OK && a->opt[OPT_JSON] != NULL)
        return scr_tool_json(t, array, err);
    json_decref(array);
    return rc;
}

/* A flush file that cannot be read says nothing of caches. */
static int list_long(struct scr_tool *t, const struct scr_args *a,
                     const struct scr_index *index, struct scr_err *err)
{
    struct more m = { scr_hash_new(), (int64_t)time(NULL) };
    int rc = m.flush ? SCR_OK : scr_no_memory(err);
    if (rc == SCR_OK) {
        (void)scr_prefix_state_read(&t->env, &t->prefix, "flush.scr", m.flush, NULL);
        rc = each_long(t, a, &m, index, err);
    }
    scr_hash_delete(m.flush);
    return rc;
}

/* As the next job will find it; nothing is written. */
static int look(struct scr_tool *t, struct scr_index *index, struct scr_err *err)
{
    int n = 0;
    TRY(scr_prefix_index_look(&t->env, &t->prefix, index, err));
    scr_deletions_look(&t->env, &t->prefix, index);
    TRY(scr_arrivals_look(&t->env, &t->prefix, index, NULL, &n, err));
    if (n > 0)
        scr_log(t->env.log, SCR_LOG_WARN,
                "%d dataset%s been copied and will be entered by the next job, or by "
                "scr_index --prefix %s --adopt",
                n, n == 1 ? " has" : "s have", t->prefix.path);
    return SCR_OK;
}

/* They are not in the index. */
static int note_cached(struct scr_tool *t, const struct scr_index *index,
                       struct scr_err *err)
{
    struct scr_incaches caches = { 0 };
    int rc = scr_incaches_look(&t->env, &t->prefix, index, &caches, err);
    for (size_t i = 0; i < caches.n && rc == SCR_OK; i++) {
        const struct scr_incache *c = &caches.of[i];
        char *where = c->is_unsaved ? scr_incache_text(c) : NULL;
        if (where != NULL)
            scr_log(t->env.log, SCR_LOG_NOTE,
                    "dataset %d (%s) is only %s, by flush.scr", c->id, c->name, where);
        free(where);
    }
    scr_incaches_fini(&caches);
    return rc;
}

static int list(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    int64_t format = 0;
    struct scr_index index = SCR_INDEX_INIT;
    int rc;
    TRY(scr_tool_int(t, a, OPT_FORMAT, SCR_BETWEEN(3, 3), &format, err));
    if (a->opt[OPT_JSON] == NULL)
        scr_tool_note_no_data(t);
    TRY_OUT(look(t, &index, err));
    if (a->opt[OPT_JSON] != NULL || a->opt[OPT_LONG] != NULL) {
        TRY_OUT(list_long(t, a, &index, err));
    } else {
        scr_tool_print(t, format == 3 ? "DSET VALID FLUSHED             CUR NAME\n"
                                      : "   DSET VALID FLUSHED             NAME\n");
        TRY_OUT(each_entry(&index, format == 3 ? print_entry_3 : print_entry, t, err));
    }
    TRY_OUT(note_cached(t, &index, err));
out:
    scr_index_fini(&index);
    return rc;
}

/* --- edits --- */

struct edit {
    struct scr_tool *t;
    const char *name;
    int id; /* result of edit_current: of that name */
};

static int no_such_name(const struct edit *e, struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOENT, 0, "no dataset \"%s\" in the index of %s",
                    e->name, e->t->prefix.path);
}

/* A mark may be the fault of the program that could not read the files. */
static void warn_skipped(const struct edit *e, const struct scr_index_entry *entry)
{
    if (entry->failed == NULL)
        scr_log(e->t->env.log, SCR_LOG_WARN,
                "dataset \"%s\" is incomplete: restarts skip it", e->name);
    else
        scr_log(e->t->env.log, SCR_LOG_WARN,
                "dataset \"%s\" is marked failed, as a restart could not read it: "
                "restarts skip it; scr_index --prefix %s --add %d checks its files and "
                "removes the mark",
                e->name, e->t->prefix.path, entry->id);
}

static int edit_current(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    struct edit *e = arg;
    struct scr_index_entry entry;
    int id = e->id = scr_index_find(index, e->name);
    if (id < 0)
        return no_such_name(e, err);
    TRY(scr_index_get(index, id, &entry, err));
    if (!is_valid(&entry))
        warn_skipped(e, &entry);
    *changed = 1;
    int rc = scr_index_set_current(index, e->name);
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "index: set current");
}

/* The current dataset is the first of the prefix directory only: what is newer in cache
 * goes before it (fmt/restart_order.h). */
static int note_newer(struct scr_tool *t, const struct edit *e, struct scr_err *err)
{
    struct scr_incaches caches = { 0 };
    int rc = scr_incaches_look(&t->env, &t->prefix, NULL, &caches, err);
    const struct scr_incache *c = rc == SCR_OK ? scr_incaches_newest(&caches) : NULL;
    char *where = c != NULL && c->is_ckpt && c->id > e->id ? scr_incache_text(c) : NULL;
    if (where != NULL)
        scr_log(t->env.log, SCR_LOG_NOTE,
                "dataset %d (%s) is newer and %s, by flush.scr: a restart of that job "
                "takes it; set SCR_CURRENT=%s to restart from %s",
                c->id, c->name, where, e->name, e->name);
    free(where);
    scr_incaches_fini(&caches);
    return rc;
}

static int set_current(struct scr_tool *t, const char *name, struct scr_err *err)
{
    struct edit e = { .t = t, .name = name };
    TRY(scr_prefix_index_update(&t->env, &t->prefix, edit_current, &e, err));
    return note_newer(t, &e, err);
}

static int find_name(struct scr_tool *t, const char *name, int *id, struct scr_err *err)
{
    const struct edit e = { .t = t, .name = name };
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(&t->env, &t->prefix, &index, err);
    *id = scr_index_find(&index, name);
    scr_index_fini(&index);
    return rc == SCR_OK && *id < 0 ? no_such_name(&e, err) : rc;
}

/* All datasets of a name, newest first. */
static int list_named(struct scr_tool *t, const char *text, int **ids, size_t *n,
                      struct scr_err *err)
{
    size_t all = 0;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_ids(&t->env, &t->prefix, &index, ids, &all, err);
    for (size_t i = 0; i < all; i++) {
        struct scr_index_entry e;
        if (scr_index_get(&index, (*ids)[i], &e, NULL) == SCR_OK &&
            strcmp(e.dset.name, text) == 0)
            (*ids)[(*n)++] = e.id;
    }
    scr_index_fini(&index);
    return rc;
}

static int drop_one(struct scr_tool *t, int id, struct scr_err *err)
{
    TRY(scr_deletion_stop(&t->env, &t->prefix, id, err));
    return scr_deletion_forget(&t->env, &t->prefix, id, err);
}

static int drop(struct scr_tool *t, const char *name, struct scr_err *err)
{
    const struct edit what = { .t = t, .name = name };
    int *ids = NULL;
    size_t n = 0;
    int rc = list_named(t, name, &ids, &n, err);
    if (rc == SCR_OK && n == 0)
        rc = no_such_name(&what, err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = drop_one(t, ids[i], err);
    free(ids);
    return rc;
}

static int drop_after(struct scr_tool *t, const char *name, struct scr_err *err)
{
    int id = 0;
    TRY(find_name(t, name, &id, err));
    TRY(scr_deletion_stop_after(&t->env, &t->prefix, id, err));
    return scr_prefix_index_update(&t->env, &t->prefix, scr_edit_drop_after, &id, err);
}

/* --- add and build --- */

/* The dataset directory whose summary has that name; the newest of several. 0: none. */
static int find_by_summary(struct scr_tool *t, const char *name)
{
    int *ids, complete, found = 0;
    size_t n;
    if (scr_dset_ids(&t->env, t->prefix.scr, &ids, &n, NULL) != SCR_OK)
        return 0;
    for (size_t i = 0; i < n; i++) {
        scr_hash *dset = scr_hash_new();
        const char *is = NULL;
        if (scr_prefix_summary_read(&t->env, &t->prefix, ids[i], &complete, dset,
                                    NULL) == SCR_OK)
            is = scr_hash_get_val(dset, "NAME");
        if (is != NULL && strcmp(is, name) == 0)
            found = ids[i];
        scr_hash_delete(dset);
    }
    free(ids);
    return found;
}

/* "50", "scr.dataset.50", or a name known to the index or to a summary. */
static int find_dataset(struct scr_tool *t, const char *text, int *id,
                        struct scr_err *err)
{
    if ((scr_parse_int(text, id) && *id > 0) || (*id = scr_dset_id(text)) > 0)
        return SCR_OK;
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(&t->env, &t->prefix, &index, err);
    *id = rc == SCR_OK ? scr_index_find(&index, text) : -1;
    scr_index_fini(&index);
    if (rc == SCR_OK && *id < 1)
        *id = find_by_summary(t, text);
    if (rc == SCR_OK && *id < 1)
        rc = scr_fail(err, SCR_E_NOENT, 0, "no dataset \"%s\" in %s", text,
                      t->prefix.scr);
    return rc;
}

static int add(struct scr_tool *t, int id, struct scr_err *err)
{
    struct scr_progress progress = { 0 };
    struct scr_build_report r = { .progress = &progress, .progress_out = t->log.out };
    TRY(scr_build_add(&t->env, &t->prefix, id, &r, err));
    scr_tool_print(t, "dataset %d: %llu file%s checked", id,
                   (unsigned long long)r.files, scr_plural((int64_t)r.files));
    if (r.rebuilt_ranks > 0)
        scr_tool_print(t, ", %d rank%s rebuilt", r.rebuilt_ranks,
                       r.rebuilt_ranks > 1 ? "s" : "");
    scr_tool_print(t, "%s, added to the index\n", r.built ? ", summary written" : "");
    return SCR_OK;
}

static int add_named(struct scr_tool *t, const char *text, struct scr_err *err)
{
    int id;
    TRY(find_dataset(t, text, &id, err));
    return add(t, id, err);
}

static int build_id(struct scr_tool *t, const char *text, struct scr_err *err)
{
    int id;
    if (!scr_parse_int(text, &id) || id < 1)
        return scr_tool_usage(
            t, err, "option --build: \"%s\" is not the id of a dataset", text);
    return add(t, id, err);
}

/* --- adding files written without SCR --- */

static void tell_adopted(struct scr_tool *t, const struct scr_adopted *got)
{
    scr_tool_print_line(
        t,
        "dataset %d: \"%s\", %llu file%s of %d rank%s, %llu bytes, added to "
        "the index",
        got->id, got->name, (unsigned long long)got->files,
        scr_plural((int64_t)got->files), got->ranks, scr_plural(got->ranks),
        (unsigned long long)got->bytes);
    if (got->unmatched > 0)
        scr_log(t->env.log, SCR_LOG_WARN,
                "%llu other file%s there match%s no pattern and %s not part of it",
                (unsigned long long)got->unmatched, got->unmatched == 1 ? "" : "s",
                got->unmatched == 1 ? "es" : "", got->unmatched == 1 ? "is" : "are");
}

static int add_directory(struct scr_tool *t, const struct scr_args *a,
                         struct scr_err *err)
{
    int64_t id = 0, ranks = 0;
    struct scr_progress progress;
    struct scr_adopted got = { 0 };
    int rc;
    if (a->noperands == 0)
        return scr_tool_usage(t, err,
                              "which files? a pattern is missing, for example "
                              "'ckpt.%%r.dat' or 'rank_%%r/*'");
    TRY(scr_tool_int(t, a, OPT_ID, SCR_AT_LEAST(1), &id, err));
    TRY(scr_tool_int(t, a, OPT_RANKS, SCR_AT_LEAST(1), &ranks, err));
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 1, err));
    const struct scr_adopt what = { .dir = a->opt[OPT_ADD_DIRECTORY],
                                    .pattern = a->operand,
                                    .npatterns = a->noperands,
                                    .name = a->opt[OPT_NAME],
                                    .ranks = (int)ranks,
                                    .id = (int)id,
                                    .is_output = a->opt[OPT_OUTPUT] != NULL,
                                    .progress = &progress,
                                    .progress_out = t->log.out };
    TRY_OUT(scr_adopt_directory(&t->env, &t->prefix, &what, &got, err));
    tell_adopted(t, &got);
out:
    free(got.name);
    return rc;
}

/* --- before anything is done --- */

static int edit_nothing(struct scr_index *index, void *arg, int *changed,
                        struct scr_err *err)
{
    (void)index, (void)arg, (void)err;
    *changed = 0;
    return SCR_OK;
}

static int adopt_now(struct scr_tool *t, const char *value, struct scr_err *err)
{
    int n = 0;
    (void)value;
    TRY(scr_prefix_index_update(&t->env, &t->prefix, edit_nothing, NULL, err));
    TRY(scr_arrivals_adopt(&t->env, &t->prefix, &n, err));
    scr_tool_print(t, "%d dataset%s entered\n", n, n == 1 ? "" : "s");
    return SCR_OK;
}

/* --- deletion --- */

static int has_dset_dir(struct scr_tool *t, int id)
{
    struct stat st;
    char *dir = scr_prefix_dset_dir(&t->prefix, id);
    int has = dir != NULL && scr_file_stat(t->env.sys, dir, &st, NULL) == SCR_OK;
    free(dir);
    return has;
}

/* By its number, or the name of its directory; also one that was dropped. */
static int find_numbered(struct scr_tool *t, const char *text, int **ids, size_t *n,
                         struct scr_err *err)
{
    struct scr_index_entry e;
    const struct edit what = { .t = t, .name = text };
    int id = 0;
    if (!scr_parse_int(text, &id))
        id = scr_dset_id(text);
    struct scr_index index = SCR_INDEX_INIT;
    int rc = scr_prefix_index_read(&t->env, &t->prefix, &index, err);
    if (rc == SCR_OK && (id < 1 || (scr_index_get(&index, id, &e, NULL) != SCR_OK &&
                                    !has_dset_dir(t, id))))
        rc = no_such_name(&what, err);
    int *one = rc == SCR_OK ? scr_reallocarray(*ids, 1, sizeof *one) : NULL;
    if (one != NULL) {
        *ids = one;
        one[(*n)++] = id;
    } else if (rc == SCR_OK)
        rc = scr_no_memory(err);
    scr_index_fini(&index);
    return rc;
}

static int may_delete(struct scr_tool *t, int id, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int rc = scr_delete_check(&t->env, &t->prefix, id, &why);
    if (rc == SCR_OK)
        return rc;
    int asked = rc == SCR_E_LOCKED || rc == SCR_E_STATE;
    return scr_fail(err, rc, 0, "%s%s", why.text,
                    asked ? "; to delete it all the same, give --force" : "");
}

static void tell_deleted(struct scr_tool *t, int id, const struct scr_deleted *got)
{
    if (got->files == 0 && got->spared == 0)
        scr_tool_print(t, "dataset %d: no file of it existed, its records are deleted",
                       id);
    else
        scr_tool_print(t, "dataset %d: %llu file%s deleted", id,
                       (unsigned long long)got->files, got->files == 1 ? "" : "s");
    if (got->spared > 0)
        scr_tool_print(t, ", %llu left to other datasets",
                       (unsigned long long)got->spared);
    scr_tool_print(t, "\n");
}

/* A mistake in a configuration file keeps no dataset from being deleted. */
static void record_deleted(struct scr_tool *t, int id)
{
    struct scr_event e = SCR_EVENT_INIT;
    struct scr_err why = SCR_ERR_INIT;
    struct scr_params prm;
    if (scr_tool_params(t, t->prefix.path, &prm, &why) != SCR_OK)
        return;
    e.event = "DELETE";
    e.dset = id;
    e.from = "prefix";
    e.note = "scr_index --delete";
    scr_tool_event_try(t, &prm, &e);
}

static int delete_one(struct scr_tool *t, int id, int is_forced, struct scr_err *err)
{
    const struct scr_delete what = { id, is_forced };
    struct scr_deleted got;
    TRY(scr_delete_dataset(&t->env, &t->prefix, &what, &got, err));
    tell_deleted(t, id, &got);
    record_deleted(t, id);
    return SCR_OK;
}

/* Reasons against one of them are found before the first is touched. */
static int delete_named(struct scr_tool *t, const struct scr_args *a,
                        struct scr_err *err)
{
    const char *text = a->opt[OPT_DELETE];
    int *ids = NULL, rc;
    size_t n = 0;
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    TRY(scr_tool_check_data(t, err));
    (void)scr_tool_adopt(t);
    /* A name goes before a number: nothing else than what was named is deleted. */
    TRY_OUT(list_named(t, text, &ids, &n, err));
    if (n == 0)
        TRY_OUT(find_numbered(t, text, &ids, &n, err));
    for (size_t i = 0; i < n && a->opt[OPT_FORCE] == NULL; i++)
        TRY_OUT(may_delete(t, ids[i], err));
    for (size_t i = 0; i < n; i++)
        TRY_OUT(delete_one(t, ids[i], a->opt[OPT_FORCE] != NULL, err));
out:
    free(ids);
    return rc;
}

/* --- extraction --- */

static void tell_extracted(struct scr_tool *t, int id, const char *to,
                           const struct scr_extracted *got)
{
    char there[64] = "";
    if (got->there > 0)
        (void)snprintf(there, sizeof there, ", %llu %s there already",
                       (unsigned long long)got->there,
                       got->there == 1 ? "was" : "were");
    scr_tool_print_line(t, "dataset %d: %llu file%s, %llu bytes, extracted to %s%s", id,
                        (unsigned long long)got->files, got->files == 1 ? "" : "s",
                        (unsigned long long)got->bytes, to ? to : t->prefix.path,
                        there);
}

static int extract(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct scr_progress progress;
    struct scr_extracted got;
    const struct scr_extract what = { .to = a->opt[OPT_TO],
                                      .progress = &progress,
                                      .progress_out = t->log.out };
    int id = 0;
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    TRY(scr_tool_check_data(t, err));
    (void)scr_tool_adopt(t);
    TRY(find_dataset(t, a->opt[OPT_EXTRACT], &id, err));
    TRY(scr_extract_dataset(&t->env, &t->prefix, id, &what, &got, err));
    tell_extracted(t, id, what.to, &got);
    return SCR_OK;
}

/* --- the command --- */

/* Options and operands that only say more about another one. */
static int check_use(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int more[] = { OPT_NAME, OPT_ID, OPT_RANKS, OPT_OUTPUT };
    if (a->opt[OPT_TO] != NULL && a->opt[OPT_EXTRACT] == NULL)
        return scr_tool_usage(t, err, "option --to goes with --extract");
    if (a->opt[OPT_FORCE] != NULL && a->opt[OPT_DELETE] == NULL)
        return scr_tool_usage(t, err, "option --force goes with --delete");
    if (a->opt[OPT_ADD_DIRECTORY] != NULL)
        return SCR_OK;
    if (a->noperands > 0)
        return scr_tool_usage(t, err, "unexpected argument \"%s\"", a->operand[0]);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (a->opt[more[i]] != NULL)
            return scr_tool_usage(t, err, "option --%s goes with --add-directory",
                                  opts[more[i]].name);
    return SCR_OK;
}

static const struct {
    int opt;
    int (*run)(struct scr_tool *t, const char *value, struct scr_err *err);
} handlers[] = {
    { OPT_REMOVE, drop },     { OPT_DROP, drop },      { OPT_DROP_AFTER, drop_after },
    { OPT_ADD, add_named },   { OPT_BUILD, build_id }, { OPT_CURRENT, set_current },
    { OPT_ADOPT, adopt_now },
};

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    int adds = a->opt[OPT_ADD] != NULL || a->opt[OPT_BUILD] != NULL, done = 0;
    TRY(scr_tool_exclusive(t, a, err, actions + adds));
    TRY(check_use(t, a, err));
    if (a->opt[OPT_ADD_DIRECTORY] != NULL)
        return add_directory(t, a, err);
    if (a->opt[OPT_EXTRACT] != NULL)
        return extract(t, a, err);
    if (a->opt[OPT_DELETE] != NULL)
        return delete_named(t, a, err);
    TRY(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
        const char *value = a->opt[handlers[i].opt];
        if (value == NULL)
            continue;
        TRY(scr_tool_check_data(t, err));
        if (!done++ && handlers[i].opt != OPT_ADOPT)
            (void)scr_tool_adopt(t);
        TRY(handlers[i].run(t, value, err));
    }
    return done ? SCR_OK : list(t, a, err);
}

const struct scr_cmd scr_cmd_index = {
    .usage = "[OPTION]... [PATTERN]...",
    .about =
        "Lists the datasets in a prefix directory, newest first: id, whether a "
        "restart\n"
        "may use it, when it was flushed, name; the current one, from which a restart\n"
        "starts to look, is marked with *. Or changes that list.",
    .opts = opts,
    .notes =
        "--add and --build check size and CRC32 of every file. After a scavenge they\n"
        "rebuild missing files from redundancy data and write the summary first. A\n"
        "dataset that cannot be made whole is listed as not valid.\n"
        "\n"
        "--extract writes a dataset's files as the application wrote them, those that "
        "a\n"
        "flush compressed unpacked. Nothing that is there is written over.\n"
        "\n"
        "--add-directory takes the files below DIR that match a PATTERN, a path below\n"
        "DIR: %r in it is the rank that wrote the file, * any characters but /, ** "
        "any\n"
        "characters. A pattern without %r gives files to rank 0.",
    .max_operands = -1,
    .run = run,
};
