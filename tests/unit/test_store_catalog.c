/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking up files of a dataset part by part, and entering which are compressed. */
#include "helper_lists.h"
#include "helper_store.h"

#include "store/catalog.h"
#include "store/packed.h"
#include "store/paths.h"

enum { ID = 7, RANKS = 6 };

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static const char *part_path(int part)
{
    return test_path("prefix/.scr/scr.dataset.%d/rank2file.0.%d", ID, part);
}

/* Three parts with these first ranks; each rank has a file "r<rank>". */
static void put_parts_from(struct test_store *t, int parts[3])
{
    const struct scr_rank2file_root root = { 1, RANKS, parts, 3 };
    const char *dir = test_path("prefix/.scr/scr.dataset.%d", ID);
    assert_int_equal(scr_dir_make(&scr_sys_posix, dir, 0700, &t->err), SCR_OK);
    for (int i = 0; i < 3; i++) {
        struct scr_rank2file l;
        scr_rank2file_init(&l, RANKS);
        for (int rank = parts[i]; rank < (i < 2 ? parts[i + 1] : RANKS); rank++) {
            char path[32];
            snprintf(path, sizeof path, "d/r%d", rank);
            struct scr_listed *f = test_list_add(&l, rank, path, (uint64_t)rank);
            snprintf(path, sizeof path, "asked/r%d", rank);
            scr_listed_set_asked(f, &scr_rank2file_rank(&l, rank)->files, path);
        }
        assert_int_equal(
            scr_rank2file_write(&scr_sys_posix, part_path(parts[i]), &l, &t->err),
            SCR_OK);
        scr_rank2file_fini(&l);
    }
    const char *path = test_path("prefix/.scr/scr.dataset.%d/rank2file", ID);
    assert_int_equal(scr_rank2file_root_write(&scr_sys_posix, path, &root, &t->err),
                     SCR_OK);
}

/* Of two ranks each. */
static void put_parts(struct test_store *t)
{
    put_parts_from(t, (int[]){ 0, 2, 4 });
}

static struct scr_catalog catalog_of(struct test_store *t, int rank)
{
    return (struct scr_catalog){
        .env = &t->env, .prefix = &t->p, .id = ID, .rank = rank, .size = RANKS
    };
}

static void parts_are_read_from_the_askers_place_on(void **state)
{
    (void)state;
    struct test_store t;
    const struct scr_listed *f, *first;
    test_store_open(&t);
    put_parts(&t);
    struct scr_catalog c = catalog_of(&t, 3); /* in the second part */
    assert_int_equal(scr_catalog_find(&c, "d/r3", &first, &t.err), SCR_OK);
    assert_true(first->has_size && first->size == 3 && c.files.n == 2);
    assert_int_equal(scr_catalog_find(&c, "d/r4", &f, &t.err), SCR_OK);
    assert_true(f->size == 4 && c.files.n == 4);
    assert_null(scr_catalog_asked(&c, "asked/r0")); /* not read so far */
    assert_int_equal(scr_catalog_find(&c, "d/none", &f, &t.err), SCR_OK);
    assert_true(f == NULL && c.files.n == RANKS);
    assert_string_equal(scr_catalog_asked(&c, "asked/r0"), "d/r0");
    assert_int_equal(scr_catalog_find(&c, "d/r3", &f, &t.err), SCR_OK);
    assert_ptr_equal(f, first); /* where it was */
    scr_catalog_fini(&c);
    test_store_close(&t);
}

/* Parts have as many bytes, not as many ranks: numbers grow longer. */
static void a_rank_reads_its_own_part_alone(void **state)
{
    int uneven[][3] = { { 0, 1, 2 }, { 0, 4, 5 }, { 0, 1, 5 } };
    (void)state;
    struct test_store t;
    test_store_open(&t);
    for (int i = 0; i < 3; i++) {
        put_parts_from(&t, uneven[i]);
        for (int rank = 0; rank < 2 * RANKS; rank++) {
            const struct scr_listed *f;
            char path[32];
            int own = rank / 2, part = own >= uneven[i][2] ? 2 : own >= uneven[i][1];
            int ranks = (part < 2 ? uneven[i][part + 1] : RANKS) - uneven[i][part];
            struct scr_catalog c = catalog_of(&t, rank);
            c.size = 2 * RANKS; /* a larger run */
            snprintf(path, sizeof path, "d/r%d", own);
            assert_int_equal(scr_catalog_find(&c, path, &f, &t.err), SCR_OK);
            assert_non_null(f);
            assert_int_equal(c.files.n, ranks);
            scr_catalog_fini(&c);
        }
    }
    test_store_close(&t);
}

static void a_part_that_is_gone_is_asked_for_again(void **state)
{
    (void)state;
    struct test_store t;
    const struct scr_listed *f;
    test_store_open(&t);
    put_parts(&t);
    struct scr_catalog c = catalog_of(&t, 0);
    const char *path = test_path("part"), *place = part_path(2);
    assert_int_equal(rename(place, path), 0);
    assert_int_equal(scr_catalog_find(&c, "d/r2", &f, &t.err), SCR_E_MISSING);
    assert_non_null(strstr(t.err.text, "rank2file.0.2 of dataset 7"));
    assert_int_equal(scr_catalog_find(&c, "d/r1", &f, NULL), SCR_OK); /* is read */
    assert_non_null(f);
    assert_int_equal(rename(path, place), 0);
    assert_int_equal(scr_catalog_read_all(&c, NULL), SCR_OK);
    assert_int_equal(c.files.n, RANKS);
    scr_catalog_fini(&c);
    test_store_close(&t);
}

static void compressed_files_are_entered_and_found(void **state)
{
    (void)state;
    struct test_store t;
    const struct scr_listed *f;
    const struct scr_packed is = { 50, 0xabcd };
    struct scr_rank2file packed = { 0 };
    struct scr_table paths;
    scr_table_init(&paths, sizeof(struct scr_item));
    test_store_open(&t);
    put_parts(&t);
    scr_listed_set_packed(scr_rank2file_add_file(&packed, 5, "d/r5"), &is);
    scr_listed_set_packed(scr_rank2file_add_file(&packed, 0, "d/r0"), &is);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(scr_packed_enter(&t.env, &t.p, ID, &packed, &t.err), SCR_OK);

    struct scr_catalog c = catalog_of(&t, 0);
    assert_int_equal(scr_catalog_find_stored(&c, "d/r5.zst", &f, &t.err), SCR_OK);
    assert_true(f->is_packed && f->packed.size == 50 && f->packed.crc == 0xabcd);
    assert_true(f->size == 5 && f->asked != NULL); /* what was there stays */
    assert_int_equal(scr_catalog_find_stored(&c, "d/r5", &f, &t.err), SCR_OK);
    assert_null(f); /* there is no such file */
    assert_int_equal(scr_catalog_find_stored(&c, "d/r1", &f, &t.err), SCR_OK);
    assert_false(f->is_packed);
    assert_int_equal(scr_paths_add(&t.env, &t.p, ID, &paths, &t.err), SCR_OK);
    assert_true(paths.n == RANKS && scr_table_find(&paths, "d/r0.zst") &&
                !scr_table_find(&paths, "d/r0") && scr_table_find(&paths, "d/r1"));

    scr_listed_set_packed(scr_rank2file_add_file(&packed, 5, "d/r4"), &is);
    assert_int_equal(scr_packed_enter(&t.env, &t.p, ID, &packed, &t.err),
                     SCR_E_CORRUPT); /* rank 5 has none of that name */
    scr_rank2file_fini(&packed);
    scr_table_fini(&paths);
    scr_catalog_fini(&c);
    test_store_close(&t);
}

/* An older summary lists the file; a rank2file in its place would be the first of two
 * lists. */
static void nothing_is_entered_into_a_summary(void **state)
{
    (void)state;
    struct test_store t;
    const struct scr_packed is = { 50, 0xabcd };
    struct scr_rank2file packed = { 0 };
    scr_hash *h = scr_hash_new(), *ckpt = scr_hash_set_kv_int(h, "CKPT", ID);
    test_store_open(&t);
    const char *at = "prefix/.scr/scr.dataset.7";
    scr_hash_set_val_i64(h, "VERSION", 5);
    scr_hash_set_val_i64(ckpt, "COMPLETE", 1);
    scr_hash_set_val_i64(ckpt, "RANKS", 1);
    scr_hash_set_val_i64(scr_hash_setf(ckpt, NULL, "RANK 0 FILE r0"), "SIZE", 5);
    assert_int_equal(scr_dir_make(&scr_sys_posix, test_path("%s", at), 0700, &t.err),
                     SCR_OK);
    assert_int_equal(scr_hash_file_write(&scr_sys_posix,
                                         test_path("%s/summary.scr", at), h,
                                         SCR_DURABLE, &t.err),
                     SCR_OK);
    scr_listed_set_packed(scr_rank2file_add_file(&packed, 0, "r0"), &is);
    assert_int_equal(scr_packed_enter(&t.env, &t.p, ID, &packed, &t.err),
                     SCR_E_MISSING);
    assert_false(test_exists(test_path("%s/rank2file", at)));
    scr_rank2file_fini(&packed);
    scr_hash_delete(h);
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_from_the_askers_place_on),
        cmocka_unit_test(a_rank_reads_its_own_part_alone),
        cmocka_unit_test(a_part_that_is_gone_is_asked_for_again),
        cmocka_unit_test(compressed_files_are_entered_and_found),
        cmocka_unit_test(nothing_is_entered_into_a_summary),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
