/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_index --delete with every system call failing in turn, once and for good: what
 * the index calls complete is whole (invariant P3) and is not marked as deleted, other
 * datasets keep their files, and a second try leaves nothing of the dataset but the
 * mark for the job that has it in cache (P7). And scr_index --drop: what the index does
 * not list any more is called copied, so that no run copies it from cache again. */
#include "helper_survive.h"

#include "ops/adopt.h"
#include "ops/delete.h"
#include "ops/faults.h"
#include "store/deletion.h"
#include "xfer/copy.h"

enum { RANKS = 3 };
static const struct scr_env posix_env = { .sys = &scr_sys_posix };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static void add(struct test_store *t, const char *dir, const char *const *pattern,
                int n)
{
    struct scr_adopted got;
    const struct scr_adopt what = {
        .dir = ".", .name = dir, .pattern = pattern, .npatterns = n
    };
    if (scr_adopt_directory(&t->env, &t->p, &what, &got, &t->err) != SCR_OK)
        fail_msg("%s", t->err.text);
    free(got.name);
}

static void put(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(path, f);
    assert_int_equal(fclose(f), 0);
}

static int edit_cached(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)err;
    *changed = 1;
    return scr_flush_set_dataset(h, arg) == SCR_OK
               ? scr_flush_set_location(h, 1, SCR_LOC_CACHE | SCR_LOC_PFS, 1)
               : SCR_E_NOMEM;
}

/* Dataset 1 is in the cache of a job. */
static void cache_first(struct test_store *t)
{
    struct scr_index index = SCR_INDEX_INIT;
    struct scr_index_entry e;
    scr_hash *dset = scr_hash_new();
    assert_int_equal(scr_prefix_index_read(&posix_env, &t->p, &index, NULL), SCR_OK);
    assert_int_equal(scr_index_get(&index, 1, &e, NULL), SCR_OK);
    assert_int_equal(scr_dataset_set(dset, &e.dset), SCR_OK);
    assert_int_equal(scr_prefix_state_update(&posix_env, &t->p, "flush.scr",
                                             edit_cached, dset, NULL),
                     SCR_OK);
    scr_index_fini(&index);
    scr_hash_delete(dset);
}

static int is_marked(struct test_store *t)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&posix_env, &t->p, "flush.scr", h, NULL),
                     SCR_OK);
    int is = scr_flush_has(h, 1, "DELETED");
    assert_int_equal(scr_flush_get_location(h, 1) & SCR_LOC_CACHE, SCR_LOC_CACHE);
    scr_hash_delete(h);
    return is;
}

/* Dataset 1 has one/f.*, dataset 2 one of them, too, and two/f.*. */
static void fill(struct test_store *t)
{
    static const char *const first[] = { "one/f.%r" };
    static const char *const second[] = { "two/f.%r", "one/f.0" };
    test_store_open(t);
    t->env.log = NULL;
    assert_int_equal(mkdir(test_path("prefix/one"), 0700), 0);
    assert_int_equal(mkdir(test_path("prefix/two"), 0700), 0);
    for (int r = 0; r < RANKS; r++) {
        put(test_path("prefix/one/f.%d", r));
        put(test_path("prefix/two/f.%d", r));
    }
    add(t, "first", first, 1);
    add(t, "second", second, 2);
    char *part = scr_copy_tmp(test_path("prefix/one/f.1"), 4);
    put(part);
    free(part);
    cache_first(t);
}

static int delete_first(struct test_store *t)
{
    const struct scr_delete first = { 1, 0 };
    struct scr_deleted got;
    return scr_delete_dataset(&t->env, &t->p, &first, &got, &t->err);
}

/* 1 if the index calls it complete; then every byte exists. */
static int is_whole(struct test_store *t, int id)
{
    struct scr_index_entry e = { 0 };
    struct scr_faults f = SCR_FAULTS_INIT;
    uint64_t files = 0;
    int complete = 0;
    struct scr_rank2file list = { 0 };
    struct scr_index index = SCR_INDEX_INIT;
    scr_hash *dset = scr_hash_new();
    assert_int_equal(scr_prefix_index_read(&posix_env, &t->p, &index, NULL), SCR_OK);
    (void)scr_index_get(&index, id, &e, NULL);
    if (e.complete && scr_prefix_summary_read(&posix_env, &t->p, id, &complete, dset,
                                              NULL) == SCR_OK) {
        assert_int_equal(scr_prefix_rank2file_read(&posix_env, &t->p, id, &list, NULL),
                         SCR_OK);
        scr_faults_check(&posix_env, t->p.path, dset, &list, &f, &files);
        assert_int_equal(f.n, 0);
        assert_int_equal(files, id == 1 ? RANKS : RANKS + 1);
    }
    scr_faults_fini(&f);
    scr_index_fini(&index);
    scr_hash_delete(dset);
    scr_rank2file_fini(&list);
    return complete;
}

/* As scr_index lists it. */
static int is_listed_as_complete(struct test_store *t, int id)
{
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_look(&posix_env, &t->p, &index, NULL), SCR_OK);
    scr_deletions_look(&posix_env, &t->p, &index);
    int complete = scr_index_is_complete(&index, id);
    scr_index_fini(&index);
    return complete;
}

static int count_in(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    if (scr_dir_list(&scr_sys_posix, dir, &names, &n, NULL) != SCR_OK)
        return 0;
    scr_names_free(names, n);
    return (int)n;
}

static void check_after(struct test_store *t, int rc)
{
    assert_int_equal(is_whole(t, 2), 1);
    assert_true(!is_whole(t, 1) || rc != SCR_OK);
    assert_int_equal(is_listed_as_complete(t, 1), is_whole(t, 1));
    assert_int_equal(is_listed_as_complete(t, 2), 1);
    assert_false(is_whole(t, 1) && is_marked(t));
    scr_err_clear(&t->err);
    if (delete_first(t) != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    assert_int_equal(is_whole(t, 1), 0);
    assert_int_equal(is_marked(t), 1);
    assert_int_equal(is_whole(t, 2), 1);
    assert_int_equal(count_in(test_path("prefix/one")), 1);
    assert_int_equal(count_in(test_path("prefix/.scr/scr.dataset.1")), 0);
    assert_int_equal(access(test_path("prefix/.scr/scr.dataset.1"), F_OK), -1);
}

static struct survival deleting = { fill, delete_first, check_after };

/* --- a drop --- */

static int edit_unsaved(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg, (void)err;
    *changed = 1;
    return scr_flush_set_location(h, 1, SCR_LOC_PFS, 0);
}

/* The run died between its entry in the index and the mark in the flush file. */
static void fill_unmarked(struct test_store *t)
{
    fill(t);
    assert_int_equal(scr_prefix_state_update(&posix_env, &t->p, "flush.scr",
                                             edit_unsaved, NULL, NULL),
                     SCR_OK);
}

static int drop_first(struct test_store *t)
{
    TRY(scr_deletion_stop(&t->env, &t->p, 1, &t->err));
    return scr_deletion_forget(&t->env, &t->p, 1, &t->err);
}

static int is_called_copied(struct test_store *t)
{
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&posix_env, &t->p, "flush.scr", h, NULL),
                     SCR_OK);
    int location = scr_flush_get_location(h, 1);
    assert_int_equal(location & SCR_LOC_CACHE, SCR_LOC_CACHE);
    scr_hash_delete(h);
    return (location & SCR_LOC_PFS) != 0;
}

static void check_dropped(struct test_store *t, int rc)
{
    int is_listed = is_listed_as_complete(t, 1);
    assert_true(is_listed || is_called_copied(t));
    assert_true(!is_listed || rc != SCR_OK);
    scr_err_clear(&t->err);
    if (drop_first(t) != SCR_OK)
        fail_msg("second try: %s", t->err.text);
    assert_int_equal(is_listed_as_complete(t, 1), 0);
    assert_int_equal(is_called_copied(t), 1);
    assert_int_equal(is_whole(t, 2), 1);
    assert_int_equal(access(test_path("prefix/one/f.2"), F_OK), 0);
}

static struct survival dropping = { fill_unmarked, drop_first, check_dropped };

int main(void)
{
    const struct CMUnitTest tests[] = { SURVIVAL_TESTS(deleting),
                                        SURVIVAL_TESTS(dropping) };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
