/* SPDX-License-Identifier: BSD-3-Clause */
/* The control directory: whatever happens, every file that may exist is named by a
 * filemap or a journal (invariant C1). */

#include "base/str.h"
#include "helper_cntl.h"
#include "helper_failure.h"
#include "helper_maps.h"
#include "helper_store.h"
#include "helper_tmp.h"
#include "store/cntl.h"

static const char *logged(struct fixture *f)
{
    fflush(f->log.out);
    return f->text;
}

/* Writes the filemap of local rank 0 with one file. */
static int write_map(struct fixture *f, int dset, int rank, const char *path)
{
    scr_filemap *map = scr_filemap_new();
    scr_filemap_add_file(map, dset, rank, path);
    int rc = map != NULL ? scr_cntl_write(&f->env, &f->c, map, &f->err) : SCR_E_NOMEM;
    scr_filemap_delete(map);
    return rc;
}

/* --- the directory --- */

static void an_empty_directory_knows_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct scr_cntl c;
    begin(&f);
    scr_filemap *map = read_all(&f);
    assert_true(test_map_is_empty(map));
    assert_string_equal(logged(&f), "");
    scr_filemap_delete(map);
    assert_int_equal(scr_cntl_open(&f.env, test_path("none"), 0, &c, &f.err),
                     SCR_E_NOENT);
    end(&f);
}

static void journal_and_filemap_together_name_every_file(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(write_map(&f, 1, 0, "/c/old"), SCR_OK);
    assert_int_equal(journal(&f, 2, 0, "/c/new"), SCR_OK);
    assert_int_equal(journal(&f, 2, 0, "/c/newer"), SCR_OK);
    assert_true(knows(&f, 1, 0, "/c/old"));
    assert_true(knows(&f, 2, 0, "/c/new"));
    assert_true(knows(&f, 2, 0, "/c/newer"));
    assert_int_equal(write_map(&f, 2, 0, "/c/newer"), SCR_OK); /* empties the journal */
    assert_false(knows(&f, 2, 0, "/c/new"));
    assert_true(knows(&f, 2, 0, "/c/newer"));
    end(&f);
}

static void the_filemaps_of_all_local_ranks_are_read(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    for (int r = 0; r < 3; r++) {
        char file[32];
        snprintf(file, sizeof file, "/c/%d", r);
        scr_cntl_close(&f.env, &f.c);
        assert_int_equal(scr_cntl_open(&f.env, test_path("cntl"), r, &f.c, &f.err),
                         SCR_OK);
        assert_int_equal(write_map(&f, 1, 10 + r, file), SCR_OK);
        assert_int_equal(journal(&f, 2, 10 + r, file), SCR_OK);
    }
    assert_int_equal(scr_cntl_write_master(&f.env, &f.c, 3, &f.err), SCR_OK);
    for (int r = 0; r < 3; r++) {
        char file[32];
        snprintf(file, sizeof file, "/c/%d", r);
        assert_true(knows(&f, 1, 10 + r, file));
        assert_true(knows(&f, 2, 10 + r, file));
    }
    end(&f);
}

static void fewer_local_ranks_leave_no_old_filemaps(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(write_map(&f, 1, 0, "/c/0"), SCR_OK);
    test_put(test_path("cntl/filemap_1.scrinfo"), "", 0);
    test_put(test_path("cntl/filemap_1.scrinfo.jnl"), "", 0);
    test_put(test_path("cntl/filemap_11.scrinfo"), "", 0);
    test_put(test_path("cntl/other.scrinfo"), "", 0);
    assert_int_equal(scr_cntl_write_master(&f.env, &f.c, 1, &f.err), SCR_OK);
    assert_true(test_exists(test_path("cntl/filemap_0.scrinfo")));
    assert_false(test_exists(test_path("cntl/filemap_1.scrinfo")));
    assert_false(test_exists(test_path("cntl/filemap_1.scrinfo.jnl")));
    assert_false(test_exists(test_path("cntl/filemap_11.scrinfo")));
    assert_true(test_exists(test_path("cntl/other.scrinfo")));
    end(&f);
}

/* As local rank 0 of two, which is world rank 4, finds it. */
static int is_settled(struct fixture *f)
{
    const struct scr_env env = { .sys = &scr_sys_posix, .log = &f->log };
    scr_filemap *map = scr_filemap_new();
    int own = scr_cntl_read_own(&env, &f->c, 4, map);
    assert_true(!own || scr_filemap_entry(map, 1, 4) != NULL);
    scr_filemap_delete(map);
    return own && scr_cntl_is_settled(&env, &f->c, 2);
}

/* The two filemaps and their master. */
static void settle(struct fixture *f)
{
    assert_int_equal(write_map(f, 1, 4, "/c/4"), SCR_OK);
    test_put(test_path("cntl/filemap_1.scrinfo"), "", 0);
    assert_int_equal(scr_cntl_write_master(&f->env, &f->c, 2, &f->err), SCR_OK);
    assert_true(is_settled(f));
}

static void a_directory_is_settled_when_each_rank_has_its_own(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_false(is_settled(&f)); /* there is nothing */
    assert_true(scr_cntl_is_empty(&f.env, &f.c));
    test_put(test_path("cntl/job.lock"), "x", 1);
    assert_true(scr_cntl_is_empty(&f.env, &f.c));
    settle(&f);
    test_put(test_path("cntl/filemap_0.scrinfo.newer.1"), "x", 1);
    test_put(test_path("cntl/other.scrinfo"), "x", 1);
    assert_true(is_settled(&f));
    assert_string_equal(logged(&f), "");
    end(&f);
}

static void anything_else_there_is_looked_at(void **state)
{
    static const char *const others[] = { "cntl/filemap_2.scrinfo",
                                          "cntl/filemap_2.scrinfo.jnl",
                                          "cntl/filemap_0.scrinfo.jnl",
                                          "cntl/filemap_1.scrinfo.jnl" };
    (void)state;
    struct fixture f;
    begin(&f);
    settle(&f);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        test_put(test_path("%s", others[i]), "", 0);
        assert_false(is_settled(&f));
        assert_false(scr_cntl_is_empty(&f.env, &f.c));
        assert_int_equal(unlink(test_path("%s", others[i])), 0);
        assert_true(is_settled(&f));
    }
    assert_int_equal(write_map(&f, 1, 5, "/c/5"), SCR_OK); /* of another rank */
    assert_false(is_settled(&f));
    settle(&f);
    test_put(test_path("cntl/filemap_0.scrinfo"), "bad", 3);
    assert_false(is_settled(&f));
    settle(&f);
    assert_int_equal(scr_cntl_write_master(&f.env, &f.c, 3, &f.err), SCR_OK);
    assert_false(is_settled(&f)); /* there were more of them */
    settle(&f);
    test_put(test_path("cntl/filemap.scrinfo"), "bad", 3);
    assert_false(is_settled(&f));
    settle(&f);
    scr_hash *master = scr_hash_new(); /* as an older SCR may have called one */
    assert_non_null(scr_hash_setf(master, NULL, "Filemap %s", "/x/old.scrinfo"));
    assert_int_equal(scr_hash_file_write(&scr_sys_posix,
                                         test_path("cntl/filemap.scrinfo"), master,
                                         SCR_VOLATILE, &f.err),
                     SCR_OK);
    scr_hash_delete(master);
    assert_false(is_settled(&f));
    assert_string_equal(logged(&f), "");
    end(&f);
}

static void a_corrupt_filemap_costs_only_its_own_files(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(write_map(&f, 1, 0, "/c/0"), SCR_OK);
    assert_int_equal(scr_cntl_write_master(&f.env, &f.c, 3, &f.err), SCR_OK);
    test_put(test_path("cntl/filemap_1.scrinfo"), "bad", 3);
    test_put(test_path("cntl/filemap.scrinfo"), "bad too", 7);
    assert_true(knows(&f, 1, 0, "/c/0"));
    assert_non_null(strstr(logged(&f), "filemap_1.scrinfo"));
    assert_non_null(strstr(logged(&f), "taken as lost"));
    assert_non_null(strstr(logged(&f), "cntl/filemap.scrinfo"));
    end(&f);
}

/* Puts a file of a future version in its place. */
static void age(const char *path)
{
    size_t n;
    char *newer = test_get(SCR_GOLDEN_DIR "/hashfile/bad-version-2.scr", &n);
    test_put(path, newer, n);
    free(newer);
}

static int there(const char *name)
{
    char *path = scr_asprintf("%s/%s", test_path("cntl"), name);
    int is = access(path, F_OK) == 0;
    free(path);
    return is;
}

static void a_newer_filemap_is_kept_aside_before_it_is_replaced(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(write_map(&f, 1, 0, "/c/0"), SCR_OK);
    assert_int_equal(journal(&f, 2, 0, "/c/1"), SCR_OK);
    age(f.c.map_path);
    assert_false(knows(&f, 1, 0, "/c/0")); /* who only reads leaves it alone */
    assert_true(there("filemap_0.scrinfo"));
    assert_false(scr_cntl_has_newer(&f.env, &f.c));
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_cntl_take_node(&f.env, &f.c, map, &f.err), SCR_OK);
    assert_true(test_map_is_empty(map)); /* the journal goes with it */
    scr_filemap_delete(map);
    assert_non_null(strstr(logged(&f), "filemap_0.scrinfo.newer.1"));
    assert_false(there("filemap_0.scrinfo"));
    assert_true(there("filemap_0.scrinfo.newer.1"));
    assert_true(there("filemap_0.scrinfo.jnl.newer.1"));
    assert_int_equal(write_map(&f, 3, 0, "/c/3"), SCR_OK);
    assert_int_equal(scr_cntl_write_master(&f.env, &f.c, 1, &f.err), SCR_OK);
    assert_true(knows(&f, 3, 0, "/c/3"));
    assert_true(scr_cntl_has_newer(&f.env, &f.c));
    age(f.c.map_path); /* a second one does not replace the first */
    age(test_path("cntl/filemap.scrinfo"));
    map = scr_filemap_new();
    assert_int_equal(scr_cntl_take_node(&f.env, &f.c, map, &f.err), SCR_OK);
    scr_filemap_delete(map);
    assert_true(there("filemap_0.scrinfo.newer.1"));
    assert_true(there("filemap_0.scrinfo.newer.2"));
    assert_true(there("filemap.scrinfo.newer.1"));
    assert_int_equal(scr_cntl_drop_newer(&f.env, &f.c, &f.err), SCR_OK);
    assert_false(scr_cntl_has_newer(&f.env, &f.c));
    end(&f);
}

static void a_newer_filemap_that_cannot_be_kept_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(write_map(&f, 1, 0, "/c/0"), SCR_OK);
    age(f.c.map_path);
    test_fault_arm(TEST_RENAMEAT, 0, EIO, TEST_ONCE);
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_cntl_take_node(&f.env, &f.c, map, &f.err), SCR_E_IO);
    assert_true(test_fault_off());
    assert_true(there("filemap_0.scrinfo"));
    scr_filemap_delete(map);
    end(&f);
}

/* Local rank r has dataset 1 in its filemap and 2 in its journal, rank 2 only this. */
static void write_three(struct fixture *f)
{
    for (int r = 0; r < 3; r++) {
        scr_cntl_close(&f->env, &f->c);
        assert_int_equal(scr_cntl_open(&f->env, test_path("cntl"), r, &f->c, &f->err),
                         SCR_OK);
        if (r < 2)
            assert_int_equal(write_map(f, 1, 10 + r, "/c/1"), SCR_OK);
        assert_int_equal(journal(f, 2, 10 + r, "/c/2"), SCR_OK);
    }
}

static void the_filemaps_of_a_dataset_are_replaced(void **state)
{
    (void)state;
    struct fixture f;
    struct scr_cntl_maps maps = { 0 };
    begin(&f);
    write_three(&f);
    assert_int_equal(scr_cntl_maps_of(&f.env, &f.c, 1, &maps, &f.err), SCR_OK);
    assert_int_equal(maps.n, 2); /* not that of local rank 2 */
    for (size_t i = 0; i < maps.n; i++) {
        const struct scr_cntl_map *m = &maps.of[i];
        assert_int_equal(m->local, i);
        assert_int_equal(scr_filemap_num_files(m->map, 1, 10 + m->local), 1);
        assert_int_equal(scr_filemap_num_files(m->map, 2, 10 + m->local), 1);
        assert_int_equal(m->map->n, 2); /* of one rank */
        scr_filemap_remove_dataset(m->map, 1);
        scr_filemap_add_file(m->map, 3, 10 + m->local, "/c/3");
    }
    assert_int_equal(scr_cntl_write_maps(&f.env, &f.c, &maps, &f.err), SCR_OK);
    scr_cntl_maps_fini(&maps);
    assert_true(maps.n == 0 && maps.of == NULL);
    for (int r = 0; r < 3; r++) {
        assert_false(knows(&f, 1, 10 + r, "/c/1"));
        assert_true(knows(&f, 2, 10 + r, "/c/2"));
        assert_int_equal(knows(&f, 3, 10 + r, "/c/3"), r < 2);
    }
    assert_int_equal(scr_cntl_maps_of(&f.env, &f.c, 1, &maps, &f.err), SCR_OK);
    assert_int_equal(maps.n, 0); /* no filemap names it any more */
    scr_cntl_maps_fini(&maps);
    assert_int_equal(scr_cntl_maps_of(&f.env, &f.c, 2, &maps, &f.err), SCR_OK);
    assert_int_equal(maps.n, 3); /* by a journal only */
    scr_cntl_maps_fini(&maps);
    end(&f);
}

/* A filemap of another name, which the master lists. */
static void list_another(int dset, int rank)
{
    const char *other = test_path("cntl/other.scrinfo");
    scr_filemap *map = scr_filemap_new();
    scr_hash *master = scr_hash_new();
    scr_filemap_add_file(map, dset, rank, "/c/other");
    scr_hash_set_kv(master, "Filemap", other);
    assert_int_equal(scr_filemap_write(&scr_sys_posix, other, map, SCR_VOLATILE, NULL),
                     SCR_OK);
    assert_int_equal(scr_hash_file_write(&scr_sys_posix,
                                         test_path("cntl/filemap.scrinfo"), master,
                                         SCR_VOLATILE, NULL),
                     SCR_OK);
    scr_hash_delete(master);
    scr_filemap_delete(map);
}

/* A process that replaced the others would lose that. */
static void a_dataset_named_elsewhere_is_left_alone(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct fixture f;
        struct scr_cntl_maps maps = { 0 };
        begin(&f);
        write_three(&f);
        if (how == 0)
            test_put(test_path("cntl/filemap_1.scrinfo"), "bad", 3);
        else if (how == 1)
            age(test_path("cntl/filemap_0.scrinfo.newer.1"));
        else
            list_another(how == 2 ? 1 : 5, 99);
        assert_int_equal(scr_cntl_maps_of(&f.env, &f.c, 1, &maps, &f.err),
                         how < 3 ? SCR_E_UNSUPPORTED : SCR_OK);
        scr_cntl_maps_fini(&maps);
        end(&f);
    }
}

/* With call or allocation n failing; 0 if there are fewer. What is named stays so. */
static int replace_with(int failure, long n)
{
    struct fixture f;
    struct scr_cntl_maps maps = { 0 };
    long blocks = test_failure_blocks();
    begin(&f);
    write_three(&f);
    test_failure_arm(failure, n);
    int rc = scr_cntl_maps_of(&f.env, &f.c, 2, &maps, &f.err);
    for (size_t i = 0; i < maps.n; i++)
        scr_filemap_remove_dataset(maps.of[i].map, 1);
    if (rc == SCR_OK)
        rc = scr_cntl_write_maps(&f.env, &f.c, &maps, &f.err);
    int fired = test_failure_off(failure);
    scr_cntl_maps_fini(&maps);
    for (int r = 0; r < 3; r++)
        assert_true(knows(&f, 2, 10 + r, "/c/2"));
    if (rc == SCR_OK)
        assert_false(knows(&f, 1, 10, "/c/1") || knows(&f, 1, 11, "/c/1"));
    assert_true(fired || rc == SCR_OK);
    if (failure != TEST_CALL_ONCE) /* some calls are made again */
        assert_int_equal(rc != SCR_OK, fired);
    end(&f);
    assert_int_equal(test_failure_blocks(), blocks);
    return fired;
}

static void replacing_filemaps_survives_any_failure(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++)
        for (long n = 0; replace_with(failure, n); n++)
            ;
}

static void writing_a_filemap_survives_any_failure(void **state)
{
    (void)state;
    for (int failure = 0; failure < TEST_FAILURES; failure++) {
        for (long n = 0;; n++) {
            struct fixture f;
            begin(&f);
            write_map(&f, 1, 0, "/c/old");
            journal(&f, 2, 0, "/c/new");
            test_failure_arm(failure, n);
            int rc = write_map(&f, 2, 0, "/c/new");
            int fired = test_failure_off(failure);
            assert_true(knows(&f, 2, 0, "/c/new")); /* before, after and in between */
            if (rc == SCR_OK)
                assert_false(knows(&f, 1, 0, "/c/old"));
            end(&f);
            if (!fired)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_directory_knows_nothing),
        cmocka_unit_test(journal_and_filemap_together_name_every_file),
        cmocka_unit_test(the_filemaps_of_all_local_ranks_are_read),
        cmocka_unit_test(fewer_local_ranks_leave_no_old_filemaps),
        cmocka_unit_test(a_directory_is_settled_when_each_rank_has_its_own),
        cmocka_unit_test(anything_else_there_is_looked_at),
        cmocka_unit_test(a_corrupt_filemap_costs_only_its_own_files),
        cmocka_unit_test(a_newer_filemap_is_kept_aside_before_it_is_replaced),
        cmocka_unit_test(a_newer_filemap_that_cannot_be_kept_is_an_error),
        cmocka_unit_test(the_filemaps_of_a_dataset_are_replaced),
        cmocka_unit_test(a_dataset_named_elsewhere_is_left_alone),
        cmocka_unit_test(replacing_filemaps_survives_any_failure),
        cmocka_unit_test(writing_a_filemap_survives_any_failure),
    };
    return cmocka_run_group_tests(tests, NULL, cntl_teardown);
}
