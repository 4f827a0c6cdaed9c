/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of three ranks on as many nodes, of which one is lost: caches with a dataset, a
 * prefix directory with an older one at the same paths, and the copy of a node that is
 * left. */
#ifndef SCR_TEST_HELPER_COPIED_H
#define SCR_TEST_HELPER_COPIED_H

#include "../unit/helper_store.h"

#include "base/proc.h"
#include "base/str.h"
#include "ops/build.h"
#include "ops/gather.h"
#include "red/member.h"
#include "store/cntl.h"

enum { ID = 7, OLDER = 5, RANKS = 3, LOST = 1 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static const char *dest_of(int rank)
{
    return test_path("prefix/ckpt.7/rank_%d.dat", rank);
}

static char *cntl_of(int node)
{
    return test_find("base/vnode.n%d/u/scr.j/prefix.*", node);
}

static uint32_t sum(const char *path)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    uint64_t size;
    uint32_t crc = 0;
    scr_file_crc32(&env, path, 0, &size, &crc, NULL);
    return crc;
}

static char *cached(int rank)
{
    return test_find(
        "base/vnode.n%d/u/scr.j/prefix.*/scr.dataset.7/rank.%d/rank_%d.dat", rank, rank,
        rank);
}

static uint32_t sum_cached(int rank)
{
    char *path = cached(rank);
    uint32_t crc = sum(path);
    free(path);
    return crc;
}

static void make_older(struct test_store *t)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    scr_hash *dset = scr_hash_new();
    struct scr_rank2file list = { .ranks = RANKS };
    const struct scr_dataset d = {
        .id = OLDER, .name = "older", .files = RANKS, .complete = 1, .is_ckpt = 1
    };
    assert_int_equal(scr_dataset_set(dset, &d), SCR_OK);
    mkdir(test_path("prefix/ckpt.7"), 0755);
    for (int r = 0; r < RANKS; r++) {
        char *name = scr_asprintf("ckpt.7/rank_%d.dat", r);
        assert_int_equal(scr_file_replace(env.sys, dest_of(r), "old", 3,
                                          (struct scr_replace){ 0644, SCR_VOLATILE },
                                          NULL),
                         SCR_OK);
        scr_listed_set_size(scr_rank2file_add_file(&list, r, name), 3);
        free(name);
    }
    assert_int_equal(scr_build_record(&env, &t->p, OLDER, dset, &list, &t->err),
                     SCR_OK);
    scr_rank2file_fini(&list);
    scr_hash_delete(dset);
}

/* The caches of three nodes, which nothing here changes. */
static void make_caches(void)
{
    if (access(test_path("base"), F_OK) == 0)
        return;
    const char *base = scr_strdup(test_path("base"));
    const char *argv[] = { SCR_TEST_CACHE, base, "u", "j",  "7",
                           "XOR",          "3",  "3", base, NULL };
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    mkdir(base, 0755);
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, NULL), SCR_OK);
    assert_int_equal(status, 0);
    free((char *)base);
}

/* Such caches, and a prefix with an older dataset at the same paths. */
static void job(struct test_store *t, uint32_t *whole)
{
    make_caches();
    test_store_open(t);
    t->env.log = NULL;
    for (int r = 0; r < RANKS; r++)
        whole[r] = sum_cached(r);
    make_older(t);
}

static int (*wanted)(void *, struct scr_err *); /* by a test; NULL: copies are */
static void *wanted_arg;

static int copy_node(struct test_store *t, int node)
{
    struct scr_gathered got;
    struct scr_cntl c;
    const struct scr_gather g = { .env = &t->env,
                                  .prefix = &t->p,
                                  .id = ID,
                                  .wanted = wanted,
                                  .wanted_arg = wanted_arg };
    scr_filemap *map = scr_filemap_new();
    char *dir = cntl_of(node);
    int rc = scr_cntl_open(&t->env, dir, 0, &c, &t->err);
    free(dir);
    if (rc == SCR_OK) {
        rc = scr_cntl_read_node(&t->env, &c, map, &t->err);
        scr_cntl_close(&t->env, &c);
    }
    if (rc == SCR_OK)
        rc = scr_gather_node(&g, map, &got, &t->err);
    if (rc == SCR_OK && got.bad > 0)
        rc = scr_fail(&t->err, SCR_E_MISSING, 0, "%d files", (int)got.bad);
    scr_filemap_delete(map);
    return rc;
}

/* COMPLETE of a dataset in the index; -1: not there. */
static int in_index(struct test_store *t, int id)
{
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_index_entry e;
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&env, &t->p, &index, NULL), SCR_OK);
    int complete = scr_index_get(&index, id, &e, NULL) == SCR_OK ? e.complete : -1;
    scr_index_fini(&index);
    return complete;
}

#endif
