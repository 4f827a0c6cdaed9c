/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of another dataset of the same number: whatever fails while they are put aside
 * or back, every file is named (invariant C1) and none is lost. */
#include "helper_failure.h"
#include "helper_store.h"

#include <errno.h>

#include "base/str.h"
#include "store/aside.h"
#include "store/cache.h"
#include "store/dset_names.h"

enum { ID = 2, RANK = 3, OLD = 100, NEW = 200 };

struct fixture {
    struct scr_env env;
    struct scr_cntl c;
    scr_filemap *map;
    struct scr_aside a;
    char *dset;
    struct scr_err err;
};

static const char *const rels[] = { "rank.3/a", "rank.3/sub/b",
                                    ".scr/1_of_2_in_0.xor" };
enum { NRELS = sizeof rels / sizeof rels[0] };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static char *path_of(const struct fixture *f, int64_t aside, const char *rel)
{
    return aside ? scr_asprintf("%s/.scr/aside.%lld/%s", f->dset, (long long)aside, rel)
                 : scr_asprintf("%s/%s", f->dset, rel);
}

/* The byte in the file; -1: it is not there. */
static int content(const struct fixture *f, int64_t aside, const char *rel)
{
    char *path = path_of(f, aside, rel);
    FILE *in = fopen(path, "r");
    int c = in ? getc(in) : -1;
    if (in != NULL)
        fclose(in);
    free(path);
    return c;
}

static void write_file(const struct fixture *f, const char *rel, int c)
{
    char *path = path_of(f, 0, rel);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    putc(c, out);
    assert_int_equal(fclose(out), 0);
    free(path);
}

static void describe(scr_filemap *map, int64_t created, int ranks)
{
    scr_hash *h = scr_hash_new();
    scr_hash_set_val_i64(h, "CREATED", created);
    scr_filemap_set_dataset(map, ID, RANK, h);
    scr_hash_unset_all(h);
    scr_hash_set_val_i64(h, "RANKS", ranks);
    scr_filemap_set_desc(map, ID, RANK, h);
    scr_hash_delete(h);
}

/* A rank with files of the dataset made at OLD, one of them on the prefix. */
static void begin(struct fixture *f)
{
    *f = (struct fixture){ .env = { .sys = &test_fault_sys },
                           .map = scr_filemap_new(),
                           .err = SCR_ERR_INIT };
    test_fault_off();
    scr_dir_remove(&scr_sys_posix, test_path("node"), NULL);
    char *cntl = scr_asprintf("%s/cntl", test_path("node"));
    char *cache = scr_asprintf("%s/cache", test_path("node"));
    assert_int_equal(mkdir(test_path("node"), 0700), 0);
    assert_int_equal(mkdir(cntl, 0700), 0);
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(scr_cntl_open(&f->env, cntl, 0, &f->c, &f->err), SCR_OK);
    assert_int_equal(scr_cache_make(&f->env, cache, ID, RANK, &f->err), SCR_OK);
    f->dset = scr_dset_path(cache, ID);
    char *sub = path_of(f, 0, "rank.3/sub");
    assert_int_equal(mkdir(sub, 0700), 0);
    describe(f->map, OLD, 4);
    for (int i = 0; i < NRELS; i++) {
        char *path = path_of(f, 0, rels[i]);
        write_file(f, rels[i], 'o');
        scr_filemap_add_file(f->map, ID, RANK, path);
        free(path);
    }
    scr_filemap_add_file(f->map, ID, RANK, "/prefix/c");
    assert_int_equal(scr_cntl_write(&f->env, &f->c, f->map, &f->err), SCR_OK);
    f->a = (struct scr_aside){ &f->env, &f->c, f->map, ID };
    free(sub);
    free(cache);
    free(cntl);
}

static void end(struct fixture *f)
{
    test_fault_off();
    scr_cntl_close(&f->env, &f->c);
    scr_filemap_delete(f->map);
    free(f->dset);
}

static void assert_at(const struct fixture *f, int64_t aside, int c)
{
    for (int i = 0; i < NRELS; i++)
        assert_int_equal(content(f, aside, rels[i]), c);
}

/* As a process that starts finds it. */
static void read_again(struct fixture *f)
{
    struct scr_err err = SCR_ERR_INIT;
    const struct scr_env env = { .sys = &scr_sys_posix };
    scr_filemap_delete(f->map);
    f->map = f->a.map = scr_filemap_new();
    assert_int_equal(scr_cntl_read_node(&env, &f->c, f->map, &err), SCR_OK);
}

static int is_named(const scr_filemap *map, const char *path)
{
    const struct scr_entry *e = scr_filemap_entry(map, ID, RANK);
    return e != NULL && scr_table_find(&e->files, path) != NULL;
}

/* Each file is there once, and the filemap on disk names it there. */
static void assert_named(struct fixture *f)
{
    read_again(f);
    for (int i = 0; i < NRELS; i++) {
        int here = content(f, 0, rels[i]) == 'o',
            away = content(f, OLD, rels[i]) == 'o';
        char *path = path_of(f, here ? 0 : OLD, rels[i]);
        assert_int_equal(here + away, 1);
        assert_true(is_named(here ? f->map : scr_filemap_aside(f->map, OLD), path));
        free(path);
    }
}

static void there_and_back(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_int_equal(scr_aside_put(&f.a, OLD, &f.err), SCR_OK); /* it is the one */
    assert_at(&f, 0, 'o');
    assert_false(scr_filemap_has_aside(f.map, ID));
    assert_int_equal(scr_aside_put(&f.a, NEW, &f.err), SCR_OK);
    assert_at(&f, OLD, 'o');
    assert_at(&f, 0, -1);
    assert_null(scr_filemap_entry(f.map, ID, RANK));
    assert_named(&f);
    assert_int_equal(scr_aside_return(&f.a, &f.err), SCR_OK);
    assert_at(&f, 0, 'o');
    assert_false(scr_filemap_has_aside(f.map, ID));
    assert_int_equal(scr_filemap_created(f.map, ID, RANK), OLD);
    assert_true(is_named(f.map, "/prefix/c"));
    char *dir = path_of(&f, OLD, "");
    assert_int_equal(access(dir, F_OK), -1);
    free(dir);
    end(&f);
}

/* Another dataset's entry, or only its file, in the place. */
static void what_has_no_place_stays_aside(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_int_equal(scr_aside_put(&f.a, NEW, &f.err), SCR_OK);
    assert_int_equal(scr_cache_make(&f.env, test_path("node/cache"), ID, RANK, &f.err),
                     SCR_OK);
    write_file(&f, rels[0], 'n');
    assert_int_equal(scr_aside_return(&f.a, &f.err), SCR_OK);
    assert_at(&f, OLD, 'o');
    describe(f.map, NEW, 4);
    assert_int_equal(scr_aside_take(&f.a, OLD, &f.err), SCR_OK);
    assert_at(&f, OLD, 'o');
    assert_int_equal(content(&f, 0, rels[0]), 'n');
    scr_filemap_remove_rank_by_dataset(f.map, ID, RANK);
    assert_int_equal(scr_aside_take(&f.a, OLD, &f.err), SCR_OK); /* no filemap names
                                                                  * it */
    assert_at(&f, 0, 'o');
    end(&f);
}

static void dropped_by_number_of_ranks(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f);
    assert_int_equal(scr_aside_put(&f.a, NEW, &f.err), SCR_OK);
    assert_int_equal(scr_aside_drop(&f.a, 5, &f.err), SCR_OK);
    assert_at(&f, OLD, 'o');
    assert_int_equal(scr_aside_drop(&f.a, 4, &f.err), SCR_OK);
    assert_at(&f, OLD, -1);
    assert_false(scr_filemap_has_aside(f.map, ID));
    read_again(&f);
    assert_int_equal(f.map->n, 0);
    end(&f);
}

typedef int step(const struct scr_aside *a, struct scr_err *err);

static int put(const struct scr_aside *a, struct scr_err *err)
{
    return scr_aside_put(a, NEW, err);
}

/* Every call of `what` fails in turn, once or as if the process had died there, or
 * every allocation. The records on disk then name every file, and a start gets it back.
 */
static void fail_each(step *before, step *what, int failure)
{
    struct fixture f;
    for (long n = 0;; n++) {
        long blocks = test_failure_blocks();
        begin(&f);
        if (before != NULL)
            assert_int_equal(before(&f.a, &f.err), SCR_OK);
        test_failure_arm(failure, n);
        int rc = what(&f.a, &f.err);
        int fired = test_failure_off(failure);
        assert_named(&f);
        scr_err_clear(&f.err);
        assert_int_equal(scr_aside_return(&f.a, &f.err), SCR_OK);
        assert_at(&f, 0, 'o');
        end(&f);
        assert_int_equal(test_failure_blocks(), blocks);
        if (!fired) {
            assert_int_equal(rc, SCR_OK);
            assert_true(n > 10);
            return;
        }
    }
}

static void each_call_and_allocation_fails(void **state)
{
    (void)state;
    for (int f = 0; f < TEST_FAILURES; f++) {
        fail_each(NULL, put, f);
        fail_each(put, scr_aside_return, f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_has_no_place_stays_aside),
        cmocka_unit_test(dropped_by_number_of_ranks),
        cmocka_unit_test(each_call_and_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
