/* SPDX-License-Identifier: BSD-3-Clause */
/* Regroup, second part: what is lost is rebuilt under the prefix, where one process
 * reaches all that is left of a set. */
#include <stdlib.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/str.h"
#include "par/comm/turns.h"
#include "par/migrate/regrouping.h"
#include "par/redundancy/restoring.h"
#include "xfer/copy.h"

/* --- what is left, to one place --- */

static char *rank_dir(const struct scr_regrouping *g, int r)
{
    return scr_asprintf("%s/rank.%d", g->scratch, r);
}

static int copy_to(const struct scr_regrouping *g, const char *src, char *dst,
                   struct scr_err *err)
{
    struct scr_copied got;
    struct scr_copy job = { .src = src,
                            .dst = dst,
                            .tag = g->at.world->rank,
                            .buf = g->o->buf,
                            .mode_or = S_IRUSR | S_IWUSR };
    TRY(dst ? scr_dir_make_parent(g->at.env->sys, dst, 0700, err) : scr_no_memory(err));
    return scr_copy_file(g->at.env->sys, &job, &got, err);
}

/* A rebuild uses its name below the directory of its rank. */
static int ship_file(const struct scr_regrouping *g, int r, const char *path,
                     struct scr_err *err)
{
    const scr_meta *meta = scr_filemap_get_meta(g->map, g->at.id, r, path);
    const char *rel = scr_meta_text(meta, SCR_META_FILE);
    if (rel == NULL || !scr_path_is_safe(rel))
        return scr_fail(err, SCR_E_CORRUPT, 0, "%s: its name is not recorded", path);
    char *dir = rank_dir(g, r), *dst = dir ? scr_path_join(dir, rel) : NULL;
    int rc = copy_to(g, path, dst, err);
    free(dst);
    free(dir);
    return rc;
}

static int ship_redfile(const struct scr_regrouping *g, const char *path,
                        struct scr_err *err)
{
    char *dst = scr_asprintf("%s/.scr/%s", g->scratch, scr_path_base(path));
    int rc = copy_to(g, path, dst, err);
    free(dst);
    return rc;
}

/* Copies what the map names of old rank r: its files, or its redundancy file. */
static int ship_rank(const struct scr_regrouping *g, int r, int red,
                     struct scr_err *err)
{
    for (struct scr_file *f = scr_filemap_first_file(g->map, g->at.id, r); f;
         f = scr_file_next(f)) {
        const char *path = f->item.name;
        const scr_meta *meta = scr_file_meta(f);
        if (red && scr_regroup_is_redfile(g, r, path))
            TRY(ship_redfile(g, path, err));
        else if (!red && scr_meta_is_full(meta))
            TRY(ship_file(g, r, path, err));
    }
    return SCR_OK;
}

static int ship(void *arg, struct scr_err *err)
{
    const struct scr_regrouping *g = arg;
    for (size_t i = 0; i < g->to_ship.n; i++)
        TRY(ship_rank(g, g->to_ship.id[i], 0, err));
    for (size_t i = 0; i < g->to_ship_red.n; i++)
        TRY(ship_rank(g, g->to_ship_red.id[i], 1, err));
    return SCR_OK;
}

/* --- one set --- */

/* Paths of the members of a set, as the serial rebuild wants them. */
struct paths {
    int n;
    char *red[SCR_EC_MAX]; /* redundancy files that are left */
    char *dir[SCR_EC_MAX]; /* of the files of each */
    char *out[SCR_EC_MAX]; /* its redundancy file, left or to be made */
};

static void paths_fini(struct paths *p)
{
    for (int i = 0; i < p->n; i++) {
        free(p->red[i]);
        free(p->dir[i]);
        free(p->out[i]);
    }
}

static char *red_path(const struct scr_regrouping *g, const struct scr_judged *set,
                      int i)
{
    int id = set->member[0].rank;
    for (int j = 1; j < set->n; j++)
        id = set->member[j].rank < id ? set->member[j].rank : id;
    char *name = scr_redfile_name((enum scr_scheme)set->scheme, i, set->n, id);
    char *path = name ? scr_asprintf("%s/.scr/%s", g->scratch, name) : NULL;
    free(name);
    return path;
}

static int name_paths(const struct scr_regrouping *g, const struct scr_judged *set,
                      struct paths *p, struct scr_err *err)
{
    p->n = set->n;
    for (int i = 0; i < p->n; i++) {
        int left = set->member[i].have & SCR_HAVE_PARITY;
        p->dir[i] = rank_dir(g, set->member[i].rank);
        p->out[i] = red_path(g, set, i);
        p->red[i] = left && p->out[i] ? scr_strdup(p->out[i]) : NULL;
        if (!p->dir[i] || !p->out[i] || (left && !p->red[i]))
            return scr_no_memory(err);
    }
    return SCR_OK;
}

/* Enters the rebuilt files of old rank r as this rank's to flush; its redundancy file
 * lists them. */
static int adopt(struct scr_regrouping *g, int r, const char *redfile, const char *dir,
                 struct scr_err *err)
{
    struct scr_redhead head;
    struct scr_member_file *files = NULL;
    int has_crc = 0;
    int rc = scr_restore_read_header(g->at.env, redfile, g->at.id, r, &head, err);
    if (rc != SCR_OK)
        return SCR_E_CORRUPT;
    rc = scr_redfile_files(head.current, dir, SCR_LAYOUT_CACHE, &files, &has_crc, err);
    scr_filemap_add_rank(g->play, g->at.id, r);
    for (size_t i = 0; i < head.current->n && rc == SCR_OK; i++)
        scr_filemap_set_meta(g->play, g->at.id, r, files[i].path,
                             &head.current->file[i]->meta);
    if (rc == SCR_OK && !scr_filemap_ok(g->play))
        rc = scr_no_memory(err);
    scr_member_files_free(files, head.current->n);
    scr_redhead_fini(&head);
    return rc;
}

/* Without a warning for every file that is known to be lost. */
static int mend_set(struct scr_regrouping *g, const struct scr_judged *set,
                    struct scr_err *err)
{
    struct paths p = { 0 };
    struct scr_env env = *g->at.env;
    struct scr_log log = { .quiet = 1 };
    env.log = &log;
    int rebuilt[SCR_EC_MAX] = { 0 };
    int rc = name_paths(g, set, &p, err);
    if (rc == SCR_OK)
        rc = scr_rebuild_serial(
            &env,
            &(struct scr_rebuild_set){ .n = p.n,
                                       .red = (const char *const *)p.red,
                                       .dir = (const char *const *)p.dir,
                                       .out = (const char *const *)p.out },
            rebuilt, err);
    for (int i = 0; i < p.n && rc == SCR_OK; i++) {
        if (set->member[i].data >= 0)
            continue;
        rc = adopt(g, set->member[i].rank, p.out[i], p.dir[i], err);
        g->rebuilt += (rebuilt[i] & SCR_HAVE_DATA) != 0; /* it may have no files */
    }
    paths_fini(&p);
    return rc;
}

static int mend(void *arg, struct scr_err *err)
{
    struct scr_regrouping *g = arg;
    for (SCR_EACH(struct scr_judged, set, &g->sets))
        if (scr_setjudge_lost(set) > 0)
            TRY(mend_set(g, set, err));
    return SCR_OK;
}

/* --- all of them --- */

/* Nothing of an earlier attempt may be taken for something of this one. */
static int open_scratch(const struct scr_regrouping *g, struct scr_err *err)
{
    TRY(scr_dir_remove(g->at.env->sys, g->scratch, err));
    return scr_dir_make(g->at.env->sys, g->scratch, 0700, err);
}

int scr_regroup_mend_all(struct scr_regrouping *g, struct scr_err *err)
{
    int has_lost = 0, rc = g->at.world->rank == 0 ? open_scratch(g, err) : SCR_OK;
    for (SCR_EACH(struct scr_judged, set, &g->sets))
        has_lost |= scr_setjudge_lost(set) > 0;
    rc = scr_agree_all(g->at.world, rc, err);
    if (rc == SCR_OK)
        rc = scr_in_turns_all(g->at.world, g->o->width,
                              g->to_ship.n + g->to_ship_red.n > 0, ship, g, err);
    if (rc == SCR_OK)
        rc = scr_in_turns_all(g->at.world, g->o->width, has_lost, mend, g, err);
    return rc;
}
