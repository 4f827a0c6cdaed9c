/* SPDX-License-Identifier: BSD-3-Clause */
/* Want of memory in redundancy files: each allocation of an operation fails in turn.
 * The operation then fails, leaves nothing behind in memory and, on disk, nothing
 * that looks whole and is not. */
#include "helper_alloc.h"
#include "helper_protect.h"
#include "helper_tmp.h"

#include "base/path.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef TEST_ALLOC

/* --- a set of three, on disk --- */

enum { N = 3, FILES = 2 };

static int no_fsync(int fd)
{
    (void)fd;
    return 0;
}

static struct scr_sys sys;
static const struct scr_env env = { .sys = &sys };
static const int ranks[N] = { 10, 11, 12 };
static char *dirs[N], *reds[N], *files[N][FILES];
static scr_meta *metas[N][FILES];
static struct test_protect_part parts[N];
static scr_hash *desc, *dset;
static struct test_protect_set set = {
    SCR_SCHEME_XOR, 1, 6, 100, N, ranks, NULL, NULL
};
static void *red_bytes[N]; /* as they are when all went well */
static size_t red_size[N];

/* Bytes of a file; returns how many. */
static size_t bytes_of(int i, int f, char bytes[64])
{
    memset(bytes, 'a' + i * FILES + f, 64);
    return (size_t)(20 + i + f);
}

static void put_files(int i)
{
    char bytes[64];
    for (int f = 0; f < FILES; f++) {
        size_t n = bytes_of(i, f, bytes);
        test_put(files[i][f], bytes, n);
    }
}

static void make_member(int i)
{
    char name[16];
    dirs[i] = strdup(test_path("rank.%d", i));
    char *red = scr_redfile_name(SCR_SCHEME_XOR, i, N, 10);
    reds[i] = strdup(test_path("%s", red));
    free(red);
    assert_int_equal(mkdir(dirs[i], 0700), 0);
    for (int f = 0; f < FILES; f++) {
        snprintf(name, sizeof name, "file.%d", f);
        files[i][f] = scr_path_join(dirs[i], name);
        metas[i][f] = scr_meta_new();
        scr_meta_set(metas[i][f], name, "FULL", (uint64_t)(20 + i + f),
                     (struct scr_meta_of){ 6, 10 + i, 100 }, 1);
        scr_meta_set_text(metas[i][f], SCR_META_PATH, "out");
        scr_meta_set_text(metas[i][f], SCR_META_NAME, name);
    }
    parts[i] = (struct test_protect_part){ FILES, (const scr_meta *const *)metas[i],
                                           dirs[i], reds[i] };
    put_files(i);
}

static int make_set(void **state)
{
    (void)state;
    sys = scr_sys_posix;
    sys.fsync = no_fsync;
    desc = scr_hash_new();
    dset = scr_hash_new();
    scr_hash_set_val(desc, "TYPE", "XOR");
    scr_hash_set_val(dset, "NAME", "ckpt.6");
    set.desc = desc;
    set.dset = dset;
    for (int i = 0; i < N; i++)
        make_member(i);
    assert_int_equal(test_protect(&env, &set, parts, NULL), SCR_OK);
    for (int i = 0; i < N; i++)
        red_bytes[i] = test_get(reds[i], &red_size[i]);
    return 0;
}

static int free_set(void **state)
{
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < FILES; f++) {
            free(files[i][f]);
            scr_meta_delete(metas[i][f]);
        }
        free(dirs[i]);
        free(reds[i]);
        free(red_bytes[i]);
    }
    scr_hash_delete(desc);
    scr_hash_delete(dset);
    return test_tmp_teardown(state);
}

/* --- operations: SCR_OK, and then the result is whole, or what they failed with. They
 * free all they make; what a test itself needs never fails. --- */

static int make_current(int i, struct scr_current **out)
{
    struct scr_current *c = scr_current_new(ranks[i], desc, dset);
    int rc = c != NULL ? SCR_OK : SCR_E_NOMEM;
    struct scr_shelf own = { .dir = "/c" };
    for (int f = 0; f < FILES && rc == SCR_OK; f++)
        rc = scr_current_shelve(c, metas[i][f], &own);
    if (rc == SCR_OK)
        scr_current_reserve_crcs(c);
    *out = c;
    return rc;
}

static int add_files(void)
{
    struct scr_current *c;
    struct scr_shelf own = { .dir = "/c" };
    int rc = make_current(0, &c);
    for (int f = 0; f < 20 && rc == SCR_OK; f++)
        rc = scr_current_shelve(c, metas[1][f % FILES], &own);
    assert_true(rc != SCR_OK || c->files.n == FILES + 20);
    scr_current_delete(c);
    return rc;
}

static int pack(void)
{
    struct scr_current *c;
    struct scr_str s = SCR_STR_INIT, copy = SCR_STR_INIT;
    const uint64_t len[N] = { 41, 43, 45 };
    struct scr_geom g;
    (void)scr_geom_init(&g, SCR_SCHEME_XOR, N, 1, len, NULL);
    const struct scr_redowner o = { &g, 0, 6, 100, ranks };
    int rc = make_current(0, &c);
    if (rc == SCR_OK) {
        scr_current_pack(&copy, c);
        scr_redfile_header(&s, &o, c, &copy, 1);
        rc = s.bad ? SCR_E_NOMEM : SCR_OK;
    }
    assert_true(rc != SCR_OK || s.len > 500);
    scr_str_free(&s);
    scr_str_free(&copy);
    scr_current_delete(c);
    return rc;
}

static int read_head(void)
{
    struct scr_redhead head;
    struct scr_err err = SCR_ERR_INIT;
    int rc = scr_redhead_read(&env, reds[0], &head, &err);
    assert_int_equal(err.code, rc);
    if (rc != SCR_OK) {
        assert_int_equal(head.info.set.n, 0);
        assert_null(head.current);
        assert_null(head.buf);
    } else {
        assert_int_equal(head.info.set.n, N);
        assert_int_equal(head.current->files.n, FILES);
        assert_true(scr_hash_equal(head.current->desc, desc));
        assert_true(scr_hash_equal(head.current->dset, dset));
    }
    scr_redhead_fini(&head);
    return rc;
}

static int read_tree(void)
{
    struct scr_err err = SCR_ERR_INIT;
    uint64_t n;
    long at = test_alloc_pause();
    scr_hash *h = scr_hash_new();
    test_alloc_resume(at);
    int rc = scr_redfile_read(&env, reds[0], h, &n, &err);
    assert_int_equal(err.code, rc);
    assert_true(rc != SCR_OK || scr_hash_ok(h));
    assert_int_equal(scr_hash_size(h), rc == SCR_OK ? 9 : 0);
    scr_hash_delete(h);
    return rc;
}

/* Of member 0, as its right neighbour has it. */
static int unpack_copy(void)
{
    struct scr_redhead head;
    struct scr_current *c;
    struct scr_err err = SCR_ERR_INIT;
    long at = test_alloc_pause();
    assert_int_equal(scr_redhead_read(&env, reds[1], &head, NULL), SCR_OK);
    test_alloc_resume(at);
    int rc = scr_current_unpack(head.copy[0].p, head.copy[0].n, &c, &err);
    assert_int_equal(err.code, rc);
    assert_true((rc == SCR_OK) == (c != NULL));
    at = test_alloc_pause();
    if (rc == SCR_OK) {
        struct scr_str s = SCR_STR_INIT;
        scr_current_pack(&s, c);
        assert_int_equal(s.len, head.copy[0].n);
        assert_memory_equal(s.p, head.copy[0].p, s.len);
        scr_str_free(&s);
    }
    test_alloc_resume(at);
    scr_current_delete(c);
    scr_redhead_fini(&head);
    return rc;
}

static int list_files(enum scr_layout layout)
{
    struct scr_redhead head;
    struct scr_member_file *list;
    struct scr_err err = SCR_ERR_INIT;
    int has_crc;
    long at = test_alloc_pause();
    assert_int_equal(scr_redhead_read(&env, reds[0], &head, NULL), SCR_OK);
    test_alloc_resume(at);
    int rc = scr_redfile_files(head.current, "/d", layout, &list, &has_crc, &err);
    assert_int_equal(err.code, rc);
    assert_int_equal(head.current->files.n, FILES);
    assert_true((rc == SCR_OK) == (list != NULL));
    assert_true(rc != SCR_OK || has_crc);
    scr_member_files_free(list, FILES);
    scr_redhead_fini(&head);
    return rc;
}

static int list_cached(void)
{
    return list_files(SCR_LAYOUT_CACHE);
}

static int list_at_destinations(void)
{
    return list_files(SCR_LAYOUT_PREFIX);
}

static void assert_file(const char *path, const void *bytes, size_t size)
{
    size_t n;
    long at = test_alloc_pause();
    void *got = test_get(path, &n);
    assert_int_equal(n, size);
    assert_memory_equal(got, bytes, n);
    free(got);
    test_alloc_resume(at);
}

static void assert_red(int i)
{
    assert_file(reds[i], red_bytes[i], red_size[i]);
}

static void assert_data(int i, int f)
{
    char bytes[64];
    size_t n = bytes_of(i, f, bytes);
    assert_file(files[i][f], bytes, n);
}

static int protect(void)
{
    struct scr_err err = SCR_ERR_INIT;
    for (int i = 0; i < N; i++)
        unlink(reds[i]);
    int rc = test_protect(&env, &set, parts, &err);
    assert_int_equal(err.code, rc);
    for (int i = 0; i < N && rc == SCR_OK; i++)
        assert_red(i);
    return rc;
}

static void restore(void)
{
    for (int i = 0; i < N; i++) {
        put_files(i);
        test_put(reds[i], red_bytes[i], red_size[i]);
    }
}

/* Member 1 has lost a file and its redundancy file. */
static int rebuild(void)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *left[N];
    int rebuilt[N];
    unlink(reds[1]);
    unlink(files[1][0]);
    for (int i = 0; i < N; i++)
        left[i] = i == 1 ? NULL : reds[i];
    const struct scr_rebuild_set all = { N, left, (const char *const *)dirs,
                                         (const char *const *)reds, NULL };
    int rc = scr_rebuild_serial(&env, &all, rebuilt, &err);
    assert_int_equal(err.code, rc);
    assert_int_equal(rebuilt[1], rc == SCR_OK ? SCR_HAVE_ALL : 0);
    for (int i = 0; i < N; i++) {
        if (i != 1 || rc == SCR_OK || access(reds[1], F_OK) == 0)
            assert_red(i);
        for (int f = 0; f < FILES; f++)
            if (i != 1 || f != 0 || rc == SCR_OK || access(files[1][0], F_OK) == 0)
                assert_data(i, f);
    }
    assert_int_equal(access(test_path(".scr_rebuild_11_-1.tmp"), F_OK), -1);
    assert_int_equal(access(test_path("rank.1/.scr_rebuild_11_0.tmp"), F_OK), -1);
    return rc;
}

static int check(void)
{
    struct scr_err err = SCR_ERR_INIT;
    int lost[N];
    const struct scr_rebuild_set all = { N, (const char *const *)reds,
                                         (const char *const *)dirs, NULL, NULL };
    int rc = scr_rebuild_check(&env, &all, 1, lost, &err);
    assert_int_equal(err.code, rc);
    for (int i = 0; i < N; i++)
        assert_int_equal(lost[i], 0);
    return rc;
}

static const struct {
    const char *name;
    int (*run)(void);
} operations[] = { { "add files", add_files },
                   { "pack a header", pack },
                   { "read a header", read_head },
                   { "read a header as a tree", read_tree },
                   { "unpack a copy", unpack_copy },
                   { "list files in the cache", list_cached },
                   { "list files at their destinations", list_at_destinations },
                   { "protect", protect },
                   { "rebuild", rebuild },
                   { "check", check } };

/* Runs with the n-th allocation failing; 0 once there are fewer. */
static int run_once(size_t i, long n)
{
    restore();
    long before = test_alloc_live();
    test_alloc_arm(n);
    int rc = operations[i].run();
    int failed = test_alloc_off();
    if (rc != (failed ? SCR_E_NOMEM : SCR_OK))
        fail_msg("%s, allocation %ld: returned %d", operations[i].name, n, rc);
    if (test_alloc_live() != before)
        fail_msg("%s, allocation %ld: %ld blocks leaked", operations[i].name, n,
                 test_alloc_live() - before);
    return failed;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        long n = 0;
        while (run_once(i, n))
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

static int make_set(void **state)
{
    (void)state;
    return 0;
}

static int free_set(void **state)
{
    (void)state;
    return 0;
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails_once) };
    return cmocka_run_group_tests(tests, make_set, free_set);
}
