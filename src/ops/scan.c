/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, repairs and lists the files that a scavenge left of a dataset. */
#include "ops/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/filemap.h"
#include "ops/stage.h"
#include "red/redfile.h"
#include "store/dset_names.h"
#include "store/paths.h"
#include "store/realdir.h"

enum { BATCH = 1024 }; /* ranks that are listed at once */

/* --- what is in the directory --- */

/* Fills a set whose properties are entered: memory may run out. */
static void set_init(struct scr_scan *s, struct scr_scan_set *set)
{
    struct scr_arena *a = &s->sets.arena;
    set->red = scr_arena_get(a, (size_t)set->n * sizeof *set->red);
    set->found = scr_arena_get(a, (size_t)set->n);
    for (int i = 0; scr_table_ok(&s->sets) && i < set->n; i++) {
        char *name = scr_redfile_name(set->scheme, i, set->n, set->set_id);
        char *path = name ? scr_path_join(s->dir, name) : NULL;
        if ((set->red[i] = scr_arena_text(a, path)) == NULL)
            a->lost = 1;
        free(name);
        free(path);
    }
}

/* The set of these properties, made if it is new. NULL: out of memory. */
static struct scr_scan_set *find_set(struct scr_scan *s, enum scr_scheme scheme, int n,
                                     int set_id)
{
    char name[64];
    snprintf(name, sizeof name, "%d %d %d", (int)scheme, n, set_id);
    struct scr_scan_set *set = scr_table_add(&s->sets, name);
    if (set != NULL && set->n == 0) {
        set->scheme = scheme;
        set->n = n;
        set->set_id = set_id;
        set_init(s, set);
    }
    return scr_table_ok(&s->sets) ? set : NULL;
}

static int take_name(struct scr_scan *s, const char *name, struct scr_err *err)
{
    enum scr_scheme scheme;
    int member, n, set_id;
    if (scr_map_rank(name) >= 0)
        s->map_rank[s->nmaps++] = scr_map_rank(name);
    if (!scr_redfile_parse(name, &scheme, &member, &n, &set_id))
        return SCR_OK;
    struct scr_scan_set *set = find_set(s, scheme, n, set_id);
    TRY(set ? SCR_OK : scr_no_memory(err));
    set->found[member] = 1;
    return SCR_OK;
}

static int list(struct scr_scan *s, struct scr_err *err)
{
    char **names;
    size_t n;
    TRY(scr_dir_list(s->env->sys, s->dir, &names, &n, err));
    s->map_rank = scr_calloc(n, sizeof *s->map_rank);
    int rc = s->map_rank ? SCR_OK : scr_no_memory(err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++)
        rc = take_name(s, names[i], err);
    scr_names_free(names, n);
    if (s->nmaps > 1)
        qsort(s->map_rank, s->nmaps, sizeof *s->map_rank, scr_by_int);
    if (rc == SCR_OK && s->sets.n == 0 && s->nmaps == 0)
        rc = scr_fail(err, SCR_E_NOENT, 0,
                      "%s: no usable summary, no redundancy files and no filemaps",
                      s->dir);
    return rc;
}

int scr_scan_open(struct scr_scan *s, const struct scr_env *env,
                  const struct scr_prefix *p, int id, struct scr_err *err)
{
    *s = (struct scr_scan){ .env = env, .p = p, .id = id };
    scr_table_init(&s->sets, sizeof(struct scr_scan_set));
    s->dir = scr_prefix_dset_dir(p, id);
    s->staged = scr_stage_is_there(env, p, id);
    s->root = s->staged ? scr_stage_dir(p, id) : scr_strdup(p->path);
    s->dset = scr_hash_new();
    TRY(s->dir && s->root && s->dset ? SCR_OK : scr_no_memory(err));
    return list(s, err);
}

void scr_scan_fini(struct scr_scan *s)
{
    scr_table_fini(&s->sets);
    free(s->map_rank);
    free(s->trusted);
    scr_faults_fini(&s->lost);
    free(s->dir);
    free(s->root);
    scr_rank2file_fini(&s->files);
    scr_rank2file_fini(&s->fresh);
    scr_hash_delete(s->dset);
    *s = (struct scr_scan){ 0 };
}

/* --- what is known of the ranks --- */

/* 1 unless d is known to be another dataset than what was learned. */
static int is_same(const struct scr_scan *s, const struct scr_dataset *d)
{
    struct scr_dataset known;
    return scr_dataset_get(s->dset, &known, NULL) != SCR_OK ||
           scr_dataset_is_same(&known, d);
}

/* World size and dataset hash, from the first source that has them. Sources that
 * disagree are leftovers of another dataset. */
static int learn(struct scr_scan *s, int ranks, const scr_hash *dset,
                 struct scr_err *err)
{
    struct scr_dataset d;
    if (ranks < 1 || (s->files.ranks != 0 && ranks != s->files.ranks))
        return scr_fail(err, SCR_E_CORRUPT, 0, "written by %d rank%s, others say %d",
                        ranks, scr_plural(ranks), s->files.ranks);
    if (scr_hash_size(dset) > 0) {
        int rc = scr_dataset_get(dset, &d, err);
        if (rc == SCR_OK && d.id != s->id)
            rc = scr_fail(err, SCR_E_CORRUPT, 0, "belongs to dataset %d", d.id);
        if (rc == SCR_OK && !is_same(s, &d))
            rc = scr_fail(err, SCR_E_CORRUPT, 0,
                          "of another dataset %d than the other files", d.id);
        if (rc == SCR_OK && scr_hash_size(s->dset) == 0)
            rc = scr_hash_merge(s->dset, dset);
        if (rc != SCR_OK)
            return rc;
    }
    if (s->files.ranks != 0)
        return SCR_OK;
    s->files.ranks = ranks;
    s->trusted = scr_calloc((size_t)ranks, 1);
    return s->trusted != NULL ? SCR_OK : SCR_E_NOMEM;
}

static int enter_file(struct scr_rank_files *r, const scr_meta *meta,
                      struct scr_err *err)
{
    uint64_t size;
    uint32_t crc;
    char *dest = scr_meta_dest(meta);
    if (dest == NULL && scr_meta_has_dest(meta))
        return SCR_E_NOMEM;
    if (dest == NULL || scr_meta_get_filesize(meta, &size) != SCR_OK) {
        free(dest);
        return scr_fail(err, SCR_E_CORRUPT, 0,
                        "no size or no usable destination for a file of rank %d",
                        r->rank);
    }
    struct scr_listed *f = scr_table_add(&r->files, dest);
    free(dest);
    if (f == NULL)
        return SCR_E_NOMEM;
    scr_listed_set_size(f, size);
    /* 0 stands for "not computed" unless the file is empty. */
    if (scr_meta_get_crc32(meta, &crc) == SCR_OK && (crc != 0 || size == 0))
        scr_listed_set_crc(f, crc);
    if (scr_meta_is_shared(meta))
        f->is_shared = 1;
    scr_listed_set_asked(f, &r->files, scr_meta_text(meta, SCR_META_ASKED));
    return SCR_OK;
}

/* --- redundancy sets --- */

/* Enters a member's rank from the header of its redundancy file. whole: after the
 * rebuild of its set its files are. */
static int enter_header(struct scr_scan *s, const struct scr_redhead *h, int whole,
                        struct scr_err *err)
{
    const struct scr_redinfo *info = &h->info;
    const struct scr_current *c = h->current;
    int rank = info->set.world[info->set.member];
    if (info->dset_id != s->id)
        return scr_fail(err, SCR_E_CORRUPT, 0, "belongs to dataset %d", info->dset_id);
    struct scr_rank_files *r = NULL;
    TRY(learn(s, info->set.ranks, c->dset, err));
    if ((r = scr_rank2file_add_rank(&s->fresh, rank)) == NULL)
        TRY(SCR_E_NOMEM);
    for (size_t i = 0; i < c->n; i++)
        TRY(enter_file(r, &c->file[i]->meta, err));
    s->trusted[rank] = whole != 0;
    return SCR_OK;
}

static int enter_member(struct scr_scan *s, const char *path, int whole,
                        struct scr_faults *f, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_redhead h;
    int rc = scr_redhead_read(s->env, path, &h, &why);
    if (rc == SCR_OK && (rc = enter_header(s, &h, whole, &why)) != SCR_OK)
        scr_err_prefix(&why, "%s", path);
    scr_redhead_fini(&h);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK)
        scr_faults_add_err(f, &why);
    return SCR_OK;
}

/* Redundancy files of a set by member, NULL for those that are not there; malloc'd. */
static const char **found_files(const struct scr_scan_set *set)
{
    const char **red = scr_calloc((size_t)set->n, sizeof *red);
    for (int i = 0; red != NULL && i < set->n; i++)
        red[i] = set->found[i] ? set->red[i] : NULL;
    return red;
}

/* Rebuilds the set; rebuilt[i] gets the SCR_HAVE_* bits of what was. */
static int mend_set(const struct scr_scan *s, const struct scr_scan_set *set,
                    int *rebuilt, struct scr_err *err)
{
    const char **red = found_files(set);
    TRY(red ? SCR_OK : scr_no_memory(err));
    const struct scr_rebuild_set left = {
        .n = set->n, .red = red, .out = (const char *const *)set->red, .prefix = s->root
    };
    int rc = scr_rebuild_serial(s->env, &left, rebuilt, err);
    free(red);
    return rc;
}

static int take_set(struct scr_scan *s, const struct scr_scan_set *set,
                    struct scr_faults *f, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int *rebuilt = scr_calloc((size_t)set->n, sizeof *rebuilt);
    int mend = rebuilt ? mend_set(s, set, rebuilt, &why) : scr_no_memory(&why);
    int rc = mend == SCR_E_NOMEM ? scr_no_memory(err) : SCR_OK;
    if (rc == SCR_OK && mend != SCR_OK)
        scr_faults_add_err(mend == SCR_E_LOST ? &s->lost : f, &why);
    for (int i = 0; i < set->n && rc == SCR_OK; i++) {
        if (mend == SCR_OK || set->found[i])
            rc = enter_member(s, set->red[i], mend == SCR_OK, f, err);
        s->rebuilt_ranks += mend == SCR_OK && rebuilt[i] != 0;
    }
    free(rebuilt);
    return rc;
}

/* --- rank filemaps --- */

/* Enters the application files a filemap lists for the rank; redundancy files are
 * skipped. */
static int enter_map_files(struct scr_scan *s, scr_filemap *map,
                           struct scr_rank_files *r, struct scr_err *err)
{
    int rc = SCR_OK, total = 0;
    for (struct scr_file *f = scr_filemap_first_file(map, s->id, r->rank);
         f != NULL && rc == SCR_OK; f = scr_file_next(f)) {
        const scr_meta *meta = scr_file_meta(f);
        if (scr_meta_get_int(meta, SCR_META_RANKS, &total) == SCR_OK)
            rc = learn(s, total, scr_filemap_get_dataset(map, s->id, r->rank), err);
        if (scr_meta_text(meta, SCR_META_TYPE) != NULL && !scr_meta_is_full(meta))
            continue;
        if (rc == SCR_OK)
            rc = enter_file(r, meta, err);
    }
    return rc;
}

static int enter_map(struct scr_scan *s, scr_filemap *map, int rank,
                     struct scr_faults *f, struct scr_err *err)
{
    if (scr_filemap_entry(map, s->id, rank) == NULL)
        return scr_fail(err, SCR_E_CORRUPT, 0, "does not list rank %d of dataset %d",
                        rank, s->id);
    int expected = scr_filemap_num_expected_files(map, s->id, rank);
    int listed = scr_filemap_num_files(map, s->id, rank);
    if (expected < 0)
        scr_faults_add(f, "rank %d: the number of its files is not recorded", rank);
    else if (listed < expected)
        scr_faults_add(f, "rank %d: recovered %d of its %d file%s", rank, listed,
                       expected, scr_plural(expected));
    /* Also one without files: that wrote nothing, but is not missing. */
    struct scr_rank_files *r = scr_rank2file_add_rank(&s->fresh, rank);
    return r != NULL ? enter_map_files(s, map, r, err) : SCR_E_NOMEM;
}

/* For ranks without a usable redundancy file. */
static int take_map(struct scr_scan *s, int rank, struct scr_faults *f,
                    struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_rank2file_rank(&s->files, rank) != NULL)
        return SCR_OK;
    char *path = scr_asprintf("%s/%d" SCR_MAP_SUFFIX, s->dir, rank);
    scr_filemap *map = scr_filemap_new();
    int rc = SCR_E_NOMEM;
    if (path != NULL && map != NULL &&
        (rc = scr_filemap_read(s->env->sys, path, map, &why)) == SCR_OK &&
        (rc = enter_map(s, map, rank, f, &why)) != SCR_OK)
        scr_err_prefix(&why, "%s", path);
    scr_filemap_delete(map);
    free(path);
    if (rc == SCR_E_NOMEM)
        return scr_no_memory(err);
    if (rc != SCR_OK)
        scr_faults_add_err(f, &why);
    return SCR_OK;
}

/* --- files that are another dataset's by now --- */

struct written {
    struct scr_realdir real;
    struct scr_table paths;
    scr_hash *dset; /* of a header that has it; NULL: none has */
};

static int add_paths(const struct scr_current *c, struct written *w)
{
    int ok = 1;
    for (size_t i = 0; i < c->n; i++) {
        const scr_meta *meta = &c->file[i]->meta;
        char *dest = scr_meta_dest(meta);
        ok = ok && (dest != NULL || !scr_meta_has_dest(meta)) &&
             (dest == NULL || scr_realdir_add(&w->real, dest, &w->paths));
        free(dest);
    }
    return ok ? SCR_OK : SCR_E_NOMEM;
}

/* Adds the destinations that a header lists: of its member and of left neighbours. A
 * copy that cannot be read is none to rebuild from. */
static int add_header_paths(const struct scr_redhead *h, struct written *w)
{
    const scr_hash *dset = h->current->dset;
    int rc = add_paths(h->current, w);
    if (rc == SCR_OK && w->dset == NULL && dset != NULL)
        rc = (w->dset = scr_hash_dup(dset)) != NULL ? SCR_OK : SCR_E_NOMEM;
    for (int j = 0; j < SCR_EC_MAX && rc == SCR_OK; j++) {
        struct scr_current *c = NULL;
        if (h->copy[j].p == NULL)
            continue;
        rc = scr_current_unpack(h->copy[j].p, h->copy[j].n, &c, NULL);
        if (c != NULL)
            rc = add_paths(c, w);
        rc = rc == SCR_E_NOMEM ? rc : SCR_OK;
        scr_current_delete(c);
    }
    return rc;
}

/* Adds all that a rebuild of the set could write. It does not use a header that cannot
 * be read, or that is another dataset's. */
static int add_set_paths(const struct scr_scan *s, const struct scr_scan_set *set,
                         struct written *w)
{
    int rc = SCR_OK;
    for (int i = 0; i < set->n && rc == SCR_OK; i++) {
        struct scr_redhead h = { 0 };
        if (set->found[i] &&
            scr_redhead_read(s->env, set->red[i], &h, NULL) == SCR_OK &&
            h.info.dset_id == s->id)
            rc = add_header_paths(&h, w);
        scr_redhead_fini(&h);
    }
    return rc;
}

static int check_not_written_over(struct scr_scan *s, struct scr_err *err)
{
    struct written w = { SCR_REALDIR_OF(s->env, s->p), SCR_TABLE_OF(struct scr_item),
                         NULL };
    struct scr_dataset d;
    int rc;
    for (SCR_EACH(const struct scr_scan_set, set, &s->sets))
        TRY_OUT(add_set_paths(s, set, &w) == SCR_OK ? SCR_OK : scr_no_memory(err));
    if (w.dset == NULL || scr_dataset_get(w.dset, &d, NULL) != SCR_OK || d.id != s->id)
        d = (struct scr_dataset){ .id = s->id };
    TRY_OUT(scr_paths_written_over(s->env, s->p, &d, &w.paths, &s->newer, err));
out:
    scr_hash_delete(w.dset);
    scr_realdir_fini(&w.real);
    scr_table_fini(&w.paths);
    return rc;
}

/* A filemap may have been read before it was known how many ranks there are. */
static void check_ranks(const struct scr_scan *s, struct scr_faults *f)
{
    const struct scr_rank2file *l = &s->files;
    for (size_t i = l->n; i > 0 && l->ranks > 0 && l->of[i - 1]->rank >= l->ranks; i--)
        scr_faults_add(f, "%s/%d" SCR_MAP_SUFFIX ": rank %d of a run of %d", s->dir,
                       l->of[i - 1]->rank, l->of[i - 1]->rank, l->ranks);
}

/* Lists what is on its way once there is so much of it: sets come with ranks from all
 * over the run. */
static void settle(struct scr_scan *s, size_t least)
{
    if (s->fresh.n >= least)
        scr_rank2file_take(&s->files, &s->fresh);
}

int scr_scan_rebuild(struct scr_scan *s, struct scr_faults *f, struct scr_err *err)
{
    int rc = check_not_written_over(s, err);
    for (SCR_EACH(const struct scr_scan_set, set, &s->sets)) {
        if (rc == SCR_OK)
            rc = take_set(s, set, f, err);
        settle(s, BATCH);
    }
    settle(s, 1);
    for (size_t i = 0; i < s->nmaps && rc == SCR_OK; i++)
        rc = take_map(s, s->map_rank[i], f, err);
    settle(s, 1);
    if (rc == SCR_OK)
        check_ranks(s, f);
    return rc == SCR_OK && !scr_rank2file_ok(&s->files) ? scr_no_memory(err) : rc;
}

/* --- looking only --- */

/* World size by the first header that can be read; 0: none can. */
static int world_size(const struct scr_scan *s, const struct scr_scan_set *set)
{
    int ranks = 0;
    for (int i = 0; i < set->n && ranks == 0; i++) {
        struct scr_redhead h = { 0 };
        if (set->found[i] &&
            scr_redhead_read(s->env, set->red[i], &h, NULL) == SCR_OK &&
            h.info.dset_id == s->id)
            ranks = h.info.set.ranks;
        scr_redhead_fini(&h);
    }
    return ranks;
}

static int can_rebuild_set(const struct scr_scan *s, const struct scr_scan_set *set,
                           int with_crc)
{
    const struct scr_env quiet = { .sys = s->env->sys };
    const char **red = found_files(set);
    const struct scr_rebuild_set left = { .n = set->n, .red = red, .prefix = s->root };
    int can =
        red != NULL && scr_rebuild_check(&quiet, &left, with_crc, NULL, NULL) == SCR_OK;
    free(red);
    return can;
}

int scr_scan_can_rebuild(struct scr_scan *s, int with_crc)
{
    int ranks = 0, covered = 0;
    if (check_not_written_over(s, NULL) != SCR_OK)
        return 0;
    for (SCR_EACH(const struct scr_scan_set, set, &s->sets)) {
        if (!can_rebuild_set(s, set, with_crc))
            return 0;
        ranks = ranks == 0 ? world_size(s, set) : ranks;
        covered += set->n;
    }
    return ranks > 0 && covered == ranks;
}
