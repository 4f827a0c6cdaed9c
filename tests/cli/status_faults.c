/* SPDX-License-Identifier: BSD-3-Clause */
/* scr status with every system call and every allocation failing in turn: it reports
 * what is left to be seen with a note for the rest, and nothing on disk changes. */
#include "../unit/helper_alloc.h"
#include "../unit/helper_store.h"

#include "base/proc.h"
#include "base/str.h"
#include "ops/build.h"
#include "ops/status.h"

enum { SAVED = 7, CACHED = 8, NODES = 4 };

struct bed {
    struct test_store t;
    char *cntl[NODES];
};

static int teardown(void **state)
{
    (void)state;
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static void run(struct test_store *t, const char *const *argv)
{
    const struct scr_proc_spec spec = { .argv = argv };
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &t->err), SCR_OK);
    assert_int_equal(status, 0);
}

static void find_cntl(struct bed *b, int node)
{
    char **names = NULL;
    size_t n = 0;
    char *base = scr_asprintf("%s/vnode.n%d/u/scr.7", test_path("base"), node);
    assert_int_equal(scr_dir_list(&scr_sys_posix, base, &names, &n, NULL), SCR_OK);
    assert_int_equal(n, 1);
    b->cntl[node] = scr_asprintf("%s/%s", base, names[0]);
    scr_names_free(names, n);
    free(base);
}

/* A dataset in the prefix directory, a newer one in the caches of four nodes, a log and
 * a halt file; a flush was interrupted. */
static void fill(struct bed *b)
{
    struct test_store *t = &b->t;
    struct scr_build_report report;
    test_store_open(t);
    t->env.log = NULL;
    char *base = scr_strdup(test_path("base"));
    const char *const scavenge[] = {
        SCR_TEST_SCAVENGE, t->p.path, "7", "XOR", "3", "3", NULL
    };
    const char *const cache[] = { SCR_TEST_CACHE, base, "u", "7",       "8",
                                  "XOR",          "4",  "4", t->p.path, NULL };
    run(t, scavenge);
    assert_int_equal(scr_build_dataset(&t->env, &t->p, SAVED, &report, &t->err),
                     SCR_OK);
    run(t, cache);
    for (int i = 0; i < NODES; i++)
        find_cntl(b, i);
    const char *line = "{\"time\":\"2026-01-31T12:00:00+01:00\",\"host\":\"n1\","
                       "\"jobid\":\"7\",\"event\":\"RUN_START\",\"ranks\":4,"
                       "\"nodes\":4,\"nodelist\":\"n[0-3]\"}\n";
    test_put(test_path("prefix/.scr/log"), line, strlen(line));
    free(base);
}

static void empty(struct bed *b)
{
    for (int i = 0; i < NODES; i++)
        free(b->cntl[i]);
    test_store_close(&b->t);
}

static int gather(struct bed *b, struct scr_status *s)
{
    const struct scr_reach reach = { .cntl = b->cntl, .n = NODES };
    const struct scr_status_ask q = {
        .env = &b->t.env, .prefix = &b->t.p, .reach = &reach, .now = 1800000000
    };
    scr_err_clear(&b->t.err);
    return scr_status_gather(&q, s, &b->t.err);
}

static void check_all(const struct scr_status *s)
{
    assert_int_equal(s->state, SCR_STATUS_DIED);
    assert_int_equal(s->cache.d.id, CACHED);
    assert_true(s->cache.is_seen && s->cache.survives == 1);
    assert_int_equal(s->saved.id, SAVED);
    assert_ptr_equal(s->restart, &s->cache.d);
    assert_string_equal(s->cache.nodes, "n[0-3]");
    assert_int_equal(s->notes.n, 0);
}

static void survive(enum test_how how)
{
    struct bed b;
    fill(&b);
    for (long n = 0;; n++) {
        struct scr_status s;
        test_fault_arm(TEST_ANY, n, EIO, how);
        int rc = gather(&b, &s);
        int fired = test_fault_off();
        assert_int_equal(rc, SCR_OK);
        if (!fired)
            check_all(&s);
        scr_status_fini(&s);
        if (!fired)
            break;
    }
    empty(&b);
}

static void one_failing_call_leaves_the_rest(void **state)
{
    (void)state;
    survive(TEST_ONCE);
}

static void a_device_that_goes_leaves_what_was_read(void **state)
{
    (void)state;
    survive(TEST_FOREVER);
}

static void a_device_that_is_gone_is_noted(void **state)
{
    (void)state;
    struct scr_status s;
    struct bed b;
    fill(&b);
    test_fault_arm(TEST_ANY, 0, EIO, TEST_FOREVER);
    assert_int_equal(gather(&b, &s), SCR_OK);
    assert_true(test_fault_off());
    assert_true(s.notes.n >= 4);
    assert_null(s.restart);
    scr_status_fini(&s);
    empty(&b);
}

#ifdef TEST_ALLOC
/* The index that is kept may have gone with it. */
static void no_memory_is_an_error_and_leaks_none(void **state)
{
    (void)state;
    struct bed b;
    struct scr_status s;
    fill(&b);
    for (long n = 0;; n++) {
        assert_int_equal(gather(&b, &s), SCR_OK);
        scr_status_fini(&s);
        long before = test_alloc_live();
        test_alloc_arm(n);
        int rc = gather(&b, &s);
        int failed = test_alloc_off();
        assert_true(rc == SCR_OK || (failed && rc == SCR_E_NOMEM));
        scr_status_fini(&s);
        assert_true(test_alloc_live() <= before);
        if (!failed)
            break;
    }
    empty(&b);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_failing_call_leaves_the_rest, teardown),
        cmocka_unit_test_teardown(a_device_that_goes_leaves_what_was_read, teardown),
        cmocka_unit_test_teardown(a_device_that_is_gone_is_noted, teardown),
#ifdef TEST_ALLOC
        cmocka_unit_test_teardown(no_memory_is_an_error_and_leaks_none, teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
