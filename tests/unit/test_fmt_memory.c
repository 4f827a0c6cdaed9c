/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory: each allocation of an operation fails in turn. The operation then
 * reports it or leaves a hash that cannot be written, never one that looks whole and is
 * not; its input is intact where its header promises that, and nothing leaks. */
#include "helper_alloc.h"
#include "helper_index.h"
#include "helper_maps.h"
#include "helper_tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hashfile.h"
#include "fmt/dataset.h"
#include "fmt/filemap.h"
#include "fmt/state.h"

#ifdef TEST_ALLOC

/* --- operations: 1 if the result is whole, 0 if it is known not to be. They free all
 * they make; given is what they are given, a hash or a filemap, which for some may
 * change only on success. --- */

struct operation {
    const char *name;
    int keeps;                   /* given is as it was on failure */
    int (*run)(scr_hash *given); /* NULL: of a filemap */
    void (*prepare)(scr_hash *given);
    int (*run_map)(scr_filemap *given);
    void (*prepare_map)(scr_filemap *given);
};

/* 1 if the hash can be written, and then is the wanted one. */
static int whole(const scr_hash *h, const scr_hash *want)
{
    if (h == NULL || !scr_hash_ok(h))
        return 0;
    assert_true(scr_hash_equal(h, want));
    return 1;
}

static void twenty(scr_hash *h)
{
    for (int i = 0; i < 20; i++)
        (void)scr_hash_set_val_i64(scr_hash_set_kv_int(h, "RANK", i), "SIZE", i);
}

static int build(scr_hash *given)
{
    scr_hash *h = scr_hash_new();
    twenty(h);
    int ok = whole(h, given);
    scr_hash_delete(h);
    return ok;
}

static int duplicate(scr_hash *given)
{
    scr_hash *h = scr_hash_dup(given);
    int ok = whole(h, given);
    scr_hash_delete(h);
    return ok;
}

static int merge(scr_hash *given)
{
    scr_hash *h = scr_hash_new();
    int rc = scr_hash_merge(h, given);
    int ok = h != NULL && whole(h, given);
    assert_true(h == NULL || ok == (rc == SCR_OK));
    scr_hash_delete(h);
    return ok;
}

static int encode_decode(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    size_t n;
    scr_hash *h = NULL;
    void *buf = test_hash_encoded(given, &n);
    int rc = buf != NULL ? SCR_OK : SCR_E_NOMEM;
    if (rc == SCR_OK && (h = scr_hash_new()) == NULL)
        rc = SCR_E_NOMEM;
    if (rc == SCR_OK)
        rc = scr_hash_decode(buf, n, h, NULL, &err);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    int ok = rc == SCR_OK && whole(h, given);
    assert_true(ok || rc == SCR_E_NOMEM);
    free(buf);
    scr_hash_delete(h);
    return ok;
}

/* Data that decode merges into given are complete, or given cannot be written. */
static int decode_into(scr_hash *given)
{
    size_t n;
    scr_hash *more = scr_hash_new();
    twenty(more);
    void *buf = more != NULL ? test_hash_encoded(more, &n) : NULL;
    int rc = buf ? scr_hash_decode(buf, n, given, NULL, NULL) : SCR_E_NOMEM;
    int ok = rc == SCR_OK && scr_hash_ok(given);
    assert_true(!ok || scr_hash_size(scr_hash_get(given, "RANK")) == 20);
    free(buf);
    scr_hash_delete(more);
    return ok;
}

static int set_value(scr_hash *given)
{
    scr_hash_set_val(given, "RANK", "7");
    scr_hash_setf(given, NULL, "%s %d b", "a", 1);
    return scr_hash_ok(given);
}

static int list(scr_hash *given)
{
    int *ints;
    size_t n;
    int ok = scr_hash_list_int(scr_hash_get(given, "RANK"), &ints, &n);
    assert_int_equal(n, ok ? 20 : 0);
    free(ints);
    return ok;
}

/* --- filemaps --- */

static void some_files(scr_filemap *map)
{
    scr_hash *made = scr_hash_new();
    scr_meta *meta = scr_meta_new();
    scr_meta_set(meta, "a", "FULL", 5, (struct scr_meta_of){ 6, 0, 3 }, 1);
    scr_meta_set_text(meta, SCR_META_ORIG, "dir/a");
    scr_hash_set_val_i64(made, "CREATED", 9);
    for (int rank = 0; rank < 3; rank++) {
        scr_filemap_add_file(map, 6, rank, "/c/a");
        scr_filemap_set_meta(map, 6, rank, "/c/a", meta);
        scr_filemap_set_expected_files(map, 6, rank, 1);
        scr_filemap_set_dataset(map, 6, rank, made);
        scr_filemap_add_file(map, 7, rank, "/c/b");
        scr_filemap_set_desc(map, 7, rank, made);
        scr_filemap_set_tag(map, 7, rank, "PARTNER", "node1");
        scr_filemap_set_tag(map, 7, rank, "OTHER", "node2");
    }
    if (meta == NULL || made == NULL || meta->arena->lost || !scr_hash_ok(made))
        map->lost = 1; /* what was entered is less than was meant */
    scr_meta_delete(meta);
    scr_hash_delete(made);
}

static void many_names(scr_filemap *map)
{
    char name[32];
    some_files(map);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "/c/%d", i);
        scr_filemap_add_file(map, 6, 1, name);
    }
    for (int i = 0; i < 4; i++) { /* texts that need separate blocks */
        struct scr_str s = SCR_STR_INIT;
        for (int k = 0; k < 3000; k++)
            scr_str_append(&s, "x");
        scr_meta_set_text(scr_filemap_get_meta(map, 6, i % 3, "/c/a"), SCR_META_ORIG,
                          s.p);
        map->lost |= s.bad;
        scr_str_free(&s);
    }
}

static void with_aside(scr_filemap *map)
{
    some_files(map);
    if (scr_filemap_set_aside(map, 3, map, 6, 1) != SCR_OK ||
        scr_filemap_set_aside(map, 4, map, 7, 1) != SCR_OK ||
        scr_filemap_set_aside(map, 4, map, 7, 2) != SCR_OK)
        map->lost = 1;
}

/* 1 if the map can be written, and then is the wanted one. */
static int whole_map(const scr_filemap *map, const scr_filemap *want)
{
    if (map == NULL || !scr_filemap_ok(map))
        return 0;
    long armed = test_alloc_pause(); /* comparing takes memory, too */
    assert_true(test_maps_same(map, want));
    test_alloc_resume(armed);
    return 1;
}

static int build_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    if (map != NULL)
        with_aside(map);
    int ok = whole_map(map, given);
    scr_filemap_delete(map);
    return ok;
}

static int build_large_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    if (map != NULL)
        many_names(map);
    int ok = whole_map(map, given);
    scr_filemap_delete(map);
    return ok;
}

static int duplicate_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_dup(given);
    int ok = map != NULL;
    assert_true(map == NULL || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

static int merge_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new();
    int ok = map != NULL && scr_filemap_add_file(map, 6, 1, "/c/a") != NULL &&
             scr_filemap_merge(map, given) == SCR_OK;
    assert_true(!ok || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

/* Of a map that is used up by it. */
static int take_map(scr_filemap *given)
{
    scr_filemap *map = scr_filemap_new(), *spent = scr_filemap_dup(given);
    int ok = map != NULL && scr_filemap_add_file(map, 6, 1, "/c/a") != NULL &&
             spent != NULL && scr_filemap_take(map, spent) == SCR_OK;
    scr_filemap_delete(spent);
    assert_true(!ok || whole_map(map, given));
    scr_filemap_delete(map);
    return ok;
}

/* Into an empty map, or one with an entry more; it is there completely, or not at all,
 * or known not to be. */
static int unpack_map(scr_filemap *given, int full)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_str s = SCR_STR_INIT;
    scr_filemap *map = scr_filemap_new();
    scr_filemap_pack(&s, given);
    int ok = map != NULL && !s.bad &&
             (!full || scr_filemap_add_file(map, 6, 1, "/c/a") != NULL);
    if (ok) {
        int rc = scr_filemap_unpack(s.p, s.len, map, &err);
        assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
        assert_true(rc != SCR_OK || whole_map(map, given));
        assert_true(rc == SCR_OK || full || (map->n == 0 && map->aside == NULL));
        ok = rc == SCR_OK;
    }
    scr_str_free(&s);
    scr_filemap_delete(map);
    return ok;
}

static int pack_and_unpack_map(scr_filemap *given)
{
    return unpack_map(given, 0);
}

static int unpack_into_map(scr_filemap *given)
{
    return unpack_map(given, 1);
}

/* A rank is either in the map it was taken from or in the one it was taken into. */
static int extract(scr_filemap *given)
{
    scr_filemap *one = scr_filemap_extract_rank(given, 1);
    assert_int_equal(scr_filemap_entry(given, 7, 1) != NULL, one == NULL);
    assert_int_equal(scr_filemap_entry(given, 6, 1) != NULL, one == NULL);
    assert_int_equal(scr_filemap_aside(given, 3) != NULL, one == NULL);
    assert_true(one == NULL || scr_filemap_num_files(one, 7, 1) == 1);
    assert_true(scr_filemap_ok(given) && (one == NULL || scr_filemap_ok(one)));
    int ok = one != NULL;
    scr_filemap_delete(one);
    return ok;
}

static int only_one(scr_filemap *given)
{
    scr_filemap *one = scr_filemap_only(given, 6, 3);
    int ok = one != NULL;
    assert_true(!ok || (scr_filemap_ok(one) && one->n == 3));
    scr_filemap_delete(one);
    return ok;
}

static int set_in_map(scr_filemap *given)
{
    struct scr_entry *e = scr_filemap_entry(given, 6, 0);
    scr_meta *m = scr_filemap_get_meta(given, 6, 0, "/c/a");
    scr_meta_set_text(m, SCR_META_ORIG,
                      "another name, which needs some room in the arena");
    scr_filemap_set_tag(given, 6, 0, "T", "v");
    scr_filemap_set_desc(given, 6, 0, e->dataset);
    scr_filemap_add_rank(given, 8, 0);
    scr_filemap_set_expected_files(given, 8, 1, 1);
    return scr_filemap_ok(given);
}

static int adopt(scr_filemap *given)
{
    int changed = 0;
    scr_filemap *map = scr_filemap_new();
    struct scr_entry *e = map ? scr_filemap_add_rank(map, 7, 1) : NULL;
    int ok = e != NULL &&
             scr_entry_adopt(e, scr_filemap_entry(given, 7, 1), &changed) == SCR_OK;
    assert_true(!ok || (changed && scr_filemap_ok(map) && scr_hash_size(e->tags) == 2));
    scr_filemap_delete(map);
    return ok;
}

static char *below_d(const void *arg, const char *name)
{
    (void)arg;
    return scr_asprintf("/d%s", name);
}

static int rename_files(scr_filemap *given)
{
    int rc = scr_filemap_rename_files(given, 6, 1, below_d, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    assert_true(rc != SCR_OK || scr_filemap_get_meta(given, 6, 1, "/d/c/a") != NULL);
    assert_true(scr_filemap_ok(given));
    return rc == SCR_OK;
}

static int list_map(scr_filemap *given)
{
    int n, *list = NULL, ok = 0;
    int64_t *made = NULL;
    if (scr_filemap_list_datasets(given, &n, &list) != SCR_OK)
        goto out;
    assert_int_equal(n, 2);
    free(list);
    if (scr_filemap_list_ranks(given, &n, &list) != SCR_OK)
        goto out;
    assert_int_equal(n, 3);
    ok = scr_filemap_list_aside(given, &n, &made) == SCR_OK;
    assert_int_equal(n, ok ? 2 : 0);
out:
    free(list); /* NULL, and n 0, of a list that could not be had */
    free(made);
    return ok;
}

/* Texts that could not be had are missing, and that is known. */
static int meta_and_hash(scr_filemap *given)
{
    const scr_meta *m = scr_filemap_get_meta(given, 6, 1, "/c/a");
    scr_meta *copy = scr_meta_new(), *merged = scr_meta_new(), *back = scr_meta_new();
    scr_hash *h = scr_hash_new();
    int ok = copy && merged && back && h;
    if (ok) {
        scr_meta_copy(copy, m);
        scr_meta_merge(merged, copy);
        ok = scr_meta_to_hash(merged, h) == SCR_OK && scr_hash_ok(h) &&
             scr_meta_from_hash(back, h) == SCR_OK;
    }
    assert_true(!ok || (back->size == 5 && scr_hash_size(h) == 8));
    scr_hash_delete(h);
    scr_meta_delete(back);
    scr_meta_delete(merged);
    scr_meta_delete(copy);
    return ok;
}

/* --- indexes and summaries --- */

static void old_index(scr_hash *h)
{
    scr_hash_setf(h, NULL, "VERSION 1");
    scr_hash_setf(h, NULL, "CKPT 18 DIR old.18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 17 DIR old.17 COMPLETE 1");
}

static int convert_index(scr_hash *given)
{
    struct scr_index index;
    struct scr_err err = SCR_ERR_INIT;
    int rc = test_index_take(given, &index, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc != SCR_OK || scr_index_find(&index, "old.17") == 17);
    scr_index_fini(&index);
    return rc == SCR_OK;
}

static int add_to_index(scr_hash *given)
{
    struct scr_dataset d = { .id = 19, .name = "new", .complete = -1, .is_ckpt = 1 };
    struct scr_index index;
    scr_hash *dset = scr_hash_new(), *written = NULL;
    int ok = dset != NULL && scr_dataset_set(dset, &d) == SCR_OK;
    int rc = ok ? test_index_take(given, &index, NULL) : SCR_E_NOMEM;
    if (ok && rc == SCR_OK)
        rc = scr_index_add(&index, dset, 1, 0);
    assert_true(rc == SCR_E_NOMEM || rc == SCR_OK);
    if (ok) {
        written = test_index_tree(&index); /* an edit that failed is not written */
        assert_true(rc == SCR_OK || written == NULL || index.n == 0);
        scr_index_fini(&index);
    }
    ok = written != NULL && rc == SCR_OK;
    scr_hash_delete(written);
    scr_hash_delete(dset);
    return ok;
}

static void old_summary(scr_hash *h)
{
    scr_hash_setf(h, NULL, "VERSION 5");
    scr_hash_setf(h, NULL, "CKPT 18 COMPLETE 1");
    scr_hash_setf(h, NULL, "CKPT 18 RANKS 1");
    scr_hash_setf(h, NULL, "CKPT 18 RANK 0 FILE a SIZE 5");
}

static int convert_summary(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    int complete;
    scr_hash *dset;
    struct scr_rank2file files = { 0 };
    int rc = scr_summary_get(given, &complete, &dset, &files, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc));
    assert_true(rc == SCR_OK ? scr_rank2file_num_files(&files) == 1 : files.n == 0);
    scr_rank2file_fini(&files);
    return rc == SCR_OK;
}

/* --- lists of files --- */

static void some_list(scr_hash *h)
{
    scr_hash_setf(h, NULL, "LEVEL 0");
    scr_hash_setf(h, NULL, "RANKS 20");
    for (int rank = 0; rank < 6; rank++)
        for (int i = 0; i < (rank == 1 ? 30 : 1); i++)
            scr_hash_setf(h, NULL, "RANK %d FILE file.%d SIZE 5", rank, i);
    scr_hash_setf(h, NULL, "RANK 3 FILE file.0 ASKED a/long/name/of/it");
}

/* As a hash; NULL: out of memory. */
static scr_hash *tree_of(const struct scr_rank2file *l)
{
    struct scr_str s = SCR_STR_INIT;
    scr_hash *h = scr_hash_new();
    scr_rank2file_pack(&s, l);
    if (s.bad || scr_hash_unpack(s.p, s.len, h, NULL, NULL) != SCR_OK) {
        scr_hash_delete(h);
        h = NULL;
    }
    scr_str_free(&s);
    return h;
}

static int list_is(const struct scr_rank2file *l, const scr_hash *want)
{
    scr_hash *h = scr_rank2file_ok(l) ? tree_of(l) : NULL;
    int ok = whole(h, want);
    scr_hash_delete(h);
    return ok;
}

static int take_list(scr_hash *given)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_rank2file l = { 0 };
    int rc = scr_rank2file_from_hash(&l, given, &err);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && err.code == rc && l.n == 0));
    int ok = rc == SCR_OK && list_is(&l, given);
    scr_rank2file_fini(&l);
    return ok;
}

/* Some of it in one list, all of it in another, which is taken into the first. */
static int join_lists(scr_hash *given)
{
    struct scr_rank2file all = { 0 }, to = { .ranks = 20 };
    int rc = scr_rank2file_from_hash(&all, given, NULL);
    for (size_t i = 1; i < all.n; i += 2) {
        struct scr_rank_files *r = scr_rank2file_add_rank(&to, all.of[i]->rank);
        for (SCR_EACH(const struct scr_listed, f, &all.of[i]->files))
            if (r != NULL)
                (void)scr_listed_copy(&r->files, f);
    }
    scr_rank2file_take(&to, &all);
    assert_true(all.n == 0 && all.of == NULL);
    int ok = rc == SCR_OK && list_is(&to, given);
    scr_rank2file_fini(&to);
    return ok;
}

/* Rank by rank, as between ranks. */
static int send_list(scr_hash *given)
{
    struct scr_rank2file all = { 0 }, to = { .ranks = 20 };
    struct scr_str s = SCR_STR_INIT;
    int rc = scr_rank2file_from_hash(&all, given, NULL);
    for (size_t i = 0; i < all.n; i++)
        scr_rank_files_pack(&s, all.of[i]);
    if (rc == SCR_OK)
        rc = s.bad ? SCR_E_NOMEM : scr_rank_files_unpack(s.p, s.len, &to, NULL);
    assert_true(rc == SCR_OK || rc == SCR_E_NOMEM);
    int ok = rc == SCR_OK && list_is(&to, given);
    scr_str_free(&s);
    scr_rank2file_fini(&all);
    scr_rank2file_fini(&to);
    return ok;
}

static void some_root(scr_hash *h)
{
    scr_hash_setf(h, NULL, "LEVEL 1");
    scr_hash_setf(h, NULL, "RANKS 20");
    for (int i = 0; i < 20; i++) {
        char *name = scr_rank2file_part_name(1, i);
        scr_hash_setf(h, NULL, "RANK %d FILE %s", i, name);
        free(name);
        scr_hash_setf(h, NULL, "RANK %d OFFSET 0", i);
    }
}

static int take_root(scr_hash *given)
{
    struct scr_rank2file_root root = { 0 };
    struct scr_str s = SCR_STR_INIT, t = SCR_STR_INIT;
    scr_hash_append(&s, given);
    int rc = s.bad ? SCR_E_NOMEM : scr_rank2file_root_unpack(s.p, s.len, &root, NULL);
    assert_true(rc == SCR_OK || (rc == SCR_E_NOMEM && root.part == NULL));
    if (rc == SCR_OK)
        scr_rank2file_root_pack(&t, &root);
    int ok = rc == SCR_OK && !t.bad;
    assert_true(!ok || (s.len == t.len && memcmp(s.p, t.p, t.len) == 0));
    scr_rank2file_root_fini(&root);
    scr_str_free(&s);
    scr_str_free(&t);
    return ok;
}

#define HASH(name, run, prepare, keeps)                                                \
    {                                                                                  \
        name, keeps, run, prepare, NULL, NULL                                          \
    }
#define MAP(name, run, prepare, keeps)                                                 \
    {                                                                                  \
        name, keeps, NULL, NULL, run, prepare                                          \
    }

static const struct operation operations[] = {
    HASH("build", build, twenty, 1),
    HASH("dup", duplicate, twenty, 1),
    HASH("merge", merge, twenty, 1),
    HASH("encode and decode", encode_decode, twenty, 1),
    HASH("decode into a full hash", decode_into, old_index, 0),
    HASH("set a value", set_value, twenty, 0),
    HASH("list", list, twenty, 1),
    HASH("convert an index", convert_index, old_index, 1),
    HASH("add to an index", add_to_index, old_index, 1),
    HASH("convert a summary", convert_summary, old_summary, 0),
    HASH("take a list", take_list, some_list, 1),
    HASH("join lists", join_lists, some_list, 1),
    HASH("send a list", send_list, some_list, 1),
    HASH("take a root", take_root, some_root, 1),
    MAP("build a map", build_map, with_aside, 1),
    MAP("build a large map", build_large_map, many_names, 1),
    MAP("dup a map", duplicate_map, with_aside, 1),
    MAP("merge a map", merge_map, with_aside, 1),
    MAP("take a map", take_map, with_aside, 1),
    MAP("pack and unpack a map", pack_and_unpack_map, with_aside, 1),
    MAP("unpack a large map", pack_and_unpack_map, many_names, 1),
    MAP("unpack into a map", unpack_into_map, with_aside, 1),
    MAP("extract", extract, with_aside, 1),
    MAP("only one dataset", only_one, with_aside, 1),
    MAP("set in a map", set_in_map, some_files, 0),
    MAP("adopt", adopt, some_files, 1),
    MAP("rename files", rename_files, many_names, 1),
    MAP("list a map", list_map, with_aside, 1),
    MAP("meta data", meta_and_hash, some_files, 1),
};

struct given {
    scr_hash *hash;
    scr_filemap *map;
};

static struct given give(const struct operation *op)
{
    struct given g = { scr_hash_new(), scr_filemap_new() };
    if (op->prepare != NULL)
        op->prepare(g.hash);
    else
        op->prepare_map(g.map);
    assert_true(scr_hash_ok(g.hash) && scr_filemap_ok(g.map));
    return g;
}

static int is_same(const struct given *a, const struct given *b)
{
    return scr_hash_equal(a->hash, b->hash) && test_maps_same(a->map, b->map);
}

static void take_back(struct given *g)
{
    scr_hash_delete(g->hash);
    scr_filemap_delete(g->map);
}

/* Runs with the n-th allocation failing; 0 once there are fewer. */
static int run_once(const struct operation *op, long n)
{
    long before = test_alloc_live();
    struct given given = give(op), same = give(op);
    test_alloc_arm(n);
    int ok = op->run != NULL ? op->run(given.hash) : op->run_map(given.map);
    int failed = test_alloc_off();
    if (ok == failed) /* a whole result without memory, or none with it */
        fail_msg("%s, allocation %ld: %s", op->name, n, ok ? "not noticed" : "failed");
    if (failed && op->keeps && !is_same(&given, &same))
        fail_msg("%s, allocation %ld: changed what it was given", op->name, n);
    take_back(&given);
    take_back(&same);
    if (test_alloc_live() != before)
        fail_msg("%s, allocation %ld: %ld blocks leaked", op->name, n,
                 test_alloc_live() - before);
    return failed;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    tzset(); /* libc keeps the time zone for good once an index has asked for it */
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        long n = 0;
        while (run_once(&operations[i], n))
            n++;
        assert_true(n > 0);
        print_message("%s: %ld allocations\n", operations[i].name, n);
    }
}

#else

static void every_allocation_fails_once(void **state)
{
    (void)state;
    skip(); /* the allocator belongs to the sanitizer or is not that of glibc */
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
