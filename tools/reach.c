/* SPDX-License-Identifier: BSD-3-Clause */
/* Control directories and shared caches of the job that this process can reach. */
#include "reach.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io.h"
#include "base/str.h"
#include "cfg/desc.h"
#include "rm/rm.h"
#include "store/cache.h"

#define VNODE "vnode."

void scr_reach_fini(struct scr_reach *r)
{
    scr_names_free(r->cntl, r->n);
    scr_names_free(r->shared, r->nshared);
    *r = (struct scr_reach){ 0 };
}

/* Takes the path over. */
static int add(char ***list, size_t *n, char *path, struct scr_err *err)
{
    char **grown = path ? scr_reallocarray(*list, *n + 1, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return scr_no_memory(err);
    }
    *list = grown;
    grown[(*n)++] = path;
    return SCR_OK;
}

/* Names in a directory that others can write to may lead anywhere on the disk: they
 * must not be trusted, and the files must not be repaired (invariant D4). */
static int check_ours(const char *what, const char *dir, const struct stat *st,
                      struct scr_err *err)
{
    if (!S_ISDIR(st->st_mode))
        return scr_fail(err, SCR_E_ARG, 0, "%s %s: not a directory", what, dir);
    if (st->st_uid != geteuid())
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s %s: owned by user %ld, not by us",
                        what, dir, (long)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return scr_fail(err, SCR_E_UNSAFE, 0, "%s %s: others can write to it", what,
                        dir);
    return SCR_OK;
}

/* Appends the directory of the prefix below a store to its list, if it exists. */
static int add_place(const struct scr_tool *t, const struct scr_place *place,
                     const struct scr_store *store, int is_shared, struct scr_reach *r,
                     struct scr_err *err)
{
    const char *what = is_shared ? "shared cache" : "control directory";
    struct stat st;
    char *dir = scr_place_dir(place, store->path, strcmp(store->group, "NODE") == 0);
    TRY(dir ? SCR_OK : scr_no_memory(err));
    int rc = SCR_OK;
    int there = scr_file_stat(t->env.sys, dir, &st, NULL) == SCR_OK;
    if (there && (rc = check_ours(what, dir, &st, err)) == SCR_OK)
        return is_shared ? add(&r->shared, &r->nshared, dir, err)
                         : add(&r->cntl, &r->n, dir, err);
    free(dir);
    return rc;
}

static int add_virtual(const struct scr_tool *t, struct scr_place *place,
                       const struct scr_store *store, const struct scr_hostlist *nodes,
                       struct scr_reach *r, struct scr_err *err)
{
    for (size_t i = 0; i < nodes->n; i++) {
        place->vnode = nodes->name[i];
        TRY(add_place(t, place, store, 0, r, err));
    }
    return SCR_OK;
}

/* This node, and every virtual one on it. */
static int add_nodes(const struct scr_tool *t, struct scr_place *place,
                     const struct scr_store *store, struct scr_reach *r,
                     struct scr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = add_place(t, place, store, 0, r, err);
    if (rc == SCR_OK &&
        scr_dir_list(t->env.sys, store->path, &names, &n, NULL) != SCR_OK)
        return SCR_OK; /* no such base: nothing is in reach */
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        if (strncmp(names[i], VNODE, sizeof VNODE - 1) != 0)
            continue;
        place->vnode = names[i] + sizeof VNODE - 1;
        rc = add_place(t, place, store, 0, r, err);
    }
    scr_names_free(names, n);
    return rc;
}

int scr_tool_cfg_quiet(struct scr_tool *t, const char *prefix, struct scr_err *err)
{
    t->log.quiet = 1;
    int rc = scr_tool_cfg(t, prefix, err);
    t->log.quiet = 0;
    return rc;
}

int scr_tool_params(struct scr_tool *t, const char *prefix, struct scr_params *prm,
                    struct scr_err *err)
{
    TRY(scr_tool_cfg_quiet(t, prefix, err));
    return scr_cfg_params(t->cfg, prm, err);
}

int scr_tool_descs(struct scr_tool *t, const char *prefix, struct scr_params *prm,
                   struct scr_descs *d, struct scr_err *err)
{
    TRY(scr_tool_params(t, prefix, prm, err));
    return scr_descs_build(t->cfg, prm, d, err);
}

int scr_tool_identity(const struct scr_tool *t, const struct scr_params *prm,
                      struct scr_identity *id, struct scr_err *err)
{
    struct scr_prefix p;
    struct stat st;
    const char *path = prm->prefix ? prm->prefix : ".";
    *id = (struct scr_identity){ 0 };
    if (scr_file_stat(t->env.sys, path, &st, NULL) == SCR_E_NOENT)
        return SCR_OK;
    int rc;
    TRY_OUT(scr_prefix_open(&t->env, path, 0, &p, err));
    TRY_OUT(scr_identity_read(&t->env, &p, id, err));
out:
    scr_prefix_fini(&p);
    return rc;
}

/* A prefix directory that no run has used has nothing in any cache. nodes: virtual
 * ones; if it is empty, this node and every virtual one on it; NULL: no control
 * directory is added. */
static int add_stores(const struct scr_tool *t, const struct scr_params *prm,
                      const struct scr_descs *d, const struct scr_hostlist *nodes,
                      struct scr_reach *r, struct scr_err *err)
{
    struct scr_identity id;
    int rc = scr_tool_identity(t, prm, &id, err);
    if (rc != SCR_OK || id.name[0] == '\0')
        return rc;
    struct scr_place place = { prm->user_name, prm->job_id, NULL, id.name };
    for (int i = 0; i < d->nstores && rc == SCR_OK; i++)
        if (scr_store_is_shared(&d->store[i]))
            rc = add_place(t, &place, &d->store[i], 1, r, err);
    if (rc != SCR_OK || nodes == NULL)
        return rc;
    const struct scr_store *cntl = &d->store[d->cntl_store];
    return nodes->n > 0 ? add_virtual(t, &place, cntl, nodes, r, err)
                        : add_nodes(t, &place, cntl, r, err);
}

void scr_tool_tell_scr3(struct scr_tool *t)
{
    struct scr_params prm;
    struct scr_descs d = { 0 };
    if (scr_cfg_params(t->cfg, &prm, NULL) != SCR_OK ||
        scr_descs_build(t->cfg, &prm, &d, NULL) != SCR_OK)
        return;
    const struct scr_place place = { .user = prm.user_name, .jobid = prm.job_id };
    scr_place_tell_scr3(&t->env, &place, d.store[d.cntl_store].path);
    scr_descs_fini(&d);
}

/* nodes: as of add_stores. */
static int by_configuration(struct scr_tool *t, const char *prefix,
                            const struct scr_hostlist *nodes, struct scr_reach *r,
                            struct scr_err *err)
{
    struct scr_params prm;
    struct scr_descs d = { 0 };
    TRY(scr_tool_descs(t, prefix, &prm, &d, err));
    int rc = add_stores(t, &prm, &d, nodes, r, err);
    scr_descs_fini(&d);
    return rc;
}

int scr_tool_reach(struct scr_tool *t, const char *prefix, const char *given,
                   struct scr_reach *out, struct scr_err *err)
{
    const struct scr_hostlist any = SCR_HOSTLIST_INIT;
    struct stat st;
    *out = (struct scr_reach){ 0 };
    TRY(by_configuration(t, prefix, given != NULL ? NULL : &any, out, err));
    if (given == NULL)
        return SCR_OK;
    TRY(scr_file_stat(t->env.sys, given, &st, err));
    TRY(check_ours("control directory", given, &st, err));
    return add(&out->cntl, &out->n, scr_strdup(given), err);
}

/* The virtual nodes that have a rank, and whether the run has no others. */
static int pick_virtual(const struct scr_hostlist *names, int ranks,
                        const struct scr_rm *rm, struct scr_hostlist *nodes,
                        int *is_all, struct scr_err *err)
{
    size_t n = ranks > 0 && (size_t)ranks < names->n ? (size_t)ranks : names->n;
    for (size_t i = 0; i < n; i++)
        TRY(scr_hostlist_add_once(nodes, scr_rm_vnode(names, i, n), err));
    *is_all = rm->is_virtual;
    return SCR_OK;
}

/* None: the run has real ones, or virtual ones on several hosts, of which each has as
 * many ranks as the launcher gives it. */
static int nodes_of_run(struct scr_tool *t, const char *prefix, int ranks,
                        struct scr_hostlist *nodes, int *is_all, struct scr_err *err)
{
    struct scr_params prm;
    struct scr_rm rm;
    struct scr_hostlist names = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_tool_params(t, prefix, &prm, err));
    if (prm.vnodes != NULL)
        TRY_OUT(scr_rm_expand(t->cfg, "SCR_VNODES", prm.vnodes, &names, err));
    if (names.n > 0 && scr_rm_open(&t->env, t->cfg, &prm, &rm, NULL) == SCR_OK) {
        if (scr_rm_is_on_one_host(&rm))
            rc = pick_virtual(&names, ranks, &rm, nodes, is_all, err);
        scr_rm_close(&rm);
    }
out:
    scr_hostlist_free(&names);
    return rc;
}

int scr_tool_reach_of_run(struct scr_tool *t, const char *prefix, int ranks,
                          struct scr_reach *out, struct scr_err *err)
{
    struct scr_hostlist nodes = SCR_HOSTLIST_INIT;
    int rc;
    *out = (struct scr_reach){ 0 };
    TRY_OUT(nodes_of_run(t, prefix, ranks, &nodes, &out->is_all, err));
    TRY_OUT(by_configuration(t, prefix, &nodes, out, err));
out:
    scr_hostlist_free(&nodes);
    return rc;
}
