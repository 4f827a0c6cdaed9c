/* SPDX-License-Identifier: BSD-3-Clause */
/* A prefix directory of the test, an environment whose system calls fail on demand and
 * whose warnings are kept as text, and datasets to put into it. */
#ifndef SCR_TEST_HELPER_STORE_H
#define SCR_TEST_HELPER_STORE_H

#include "helper_fault.h"
#include "helper_tmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/hashfile.h"
#include "store/prefix.h"

struct test_store {
    struct scr_env env;
    struct scr_log log;
    struct scr_prefix p;
    struct scr_err err;
    char *text; /* what was logged; see test_store_log */
    size_t n;
};

/* The directory "prefix" as it is. */
static inline void test_store_reopen(struct test_store *t)
{
    *t = (struct test_store){ .err = SCR_ERR_INIT };
    t->log = (struct scr_log){ .out = open_memstream(&t->text, &t->n),
                               .who = "test",
                               .level = SCR_LOG_NOTE };
    assert_non_null(t->log.out);
    t->env = (struct scr_env){ .sys = &test_fault_sys, .log = &t->log };
    assert_int_equal(scr_prefix_open(&t->env, test_path("prefix"), 1, &t->p, &t->err),
                     SCR_OK);
}

/* A fresh one with its .scr. */
static inline void test_store_open(struct test_store *t)
{
    const char *dir = test_path("prefix");
    assert_int_equal(scr_dir_remove(&scr_sys_posix, dir, NULL), SCR_OK);
    assert_int_equal(mkdir(dir, 0700), 0);
    test_store_reopen(t);
}

static inline void test_store_close(struct test_store *t)
{
    scr_prefix_fini(&t->p);
    fclose(t->log.out);
    free(t->text);
    test_fault_off();
}

static inline const char *test_store_log(struct test_store *t)
{
    fflush(t->log.out);
    return t->text;
}

/* A dataset hash; the caller deletes it. */
static inline scr_hash *test_dataset(int id, const char *name)
{
    scr_hash *h = scr_hash_new();
    struct scr_dataset d = { .id = id,
                             .name = name,
                             .size = 100,
                             .files = 1,
                             .created = 1,
                             .ckpt = id,
                             .complete = 1,
                             .is_ckpt = 1 };
    assert_int_equal(scr_dataset_set(h, &d), SCR_OK);
    return h;
}

/* A summary in the dataset's directory, so that the index can be rebuilt from it. */
static inline void test_summary(struct test_store *t, int id, const char *name,
                                int complete)
{
    scr_hash *dset = test_dataset(id, name);
    assert_int_equal(
        scr_prefix_summary_write(&t->env, &t->p, id, dset, complete, &t->err), SCR_OK);
    scr_hash_delete(dset);
}

/* An edit: adds the dataset "ckpt.<id>" of *(int *)arg to the index. */
static inline int test_add_id(struct scr_index *index, void *arg, int *changed,
                              struct scr_err *err)
{
    char name[32];
    int id = *(int *)arg;
    (void)err;
    snprintf(name, sizeof name, "ckpt.%d", id);
    scr_hash *dset = test_dataset(id, name);
    assert_int_equal(scr_index_add(index, dset, 1, 1000000000), SCR_OK);
    scr_hash_delete(dset);
    *changed = 1;
    return SCR_OK;
}

/* Ids in index.scr as text, newest first: "18 12 6", read with working system calls. */
static inline const char *test_index_ids(struct test_store *t)
{
    static char text[1024];
    const struct scr_env env = { .sys = &scr_sys_posix };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_index index = SCR_INDEX_INIT;
    int *ids, rc = scr_prefix_index_read(&env, &t->p, &index, &err);
    size_t n, at = 0;
    if (rc != SCR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(scr_index_ids(&index, &ids, &n), SCR_OK);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, i ? " %d" : "%d", ids[i]);
    free(ids);
    scr_index_fini(&index);
    return text;
}

static inline int test_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

#endif
