/* SPDX-License-Identifier: BSD-3-Clause */
/* The job and the commands update the same state files: no update is lost, and a reader
 * never sees half of one. */
#include "helper_store.h"

#include <sys/wait.h>

enum { PROCESSES = 4, UPDATES = 40 };

/* Runs body(t, i) in PROCESSES processes at once; each must end with 0. */
static void run_all(struct test_store *t, int (*body)(struct test_store *, int))
{
    pid_t pid[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0)
            _exit(body(t, i));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
}

/* Ids of process i: i+1, i+1+PROCESSES, … */
static int add_many(struct test_store *t, int i)
{
    for (int n = 0; n < UPDATES; n++) {
        int id = i + 1 + n * PROCESSES;
        struct scr_err err = SCR_ERR_INIT;
        if (scr_prefix_index_update(&t->env, &t->p, test_add_id, &id, &err) != SCR_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    return 0;
}

static void no_index_entry_is_lost(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_err err = SCR_ERR_INIT;
    test_store_open(&t);
    run_all(&t, add_many);
    struct scr_index index = SCR_INDEX_INIT;
    assert_int_equal(scr_prefix_index_read(&t.env, &t.p, &index, &err), SCR_OK);
    for (int id = 1; id <= PROCESSES * UPDATES; id++)
        assert_int_equal(
            scr_index_get(&index, id, &(struct scr_index_entry){ 0 }, &err), SCR_OK);
    assert_int_equal(scr_index_max_id(&index), PROCESSES * UPDATES);
    scr_index_fini(&index);
    assert_string_equal(test_store_log(&t), "");
    test_store_close(&t);
}

static int count_down(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    struct scr_halt halt;
    (void)arg;
    int rc = scr_halt_get(h, &halt, err);
    if (rc != SCR_OK)
        return rc;
    halt.checkpoints_left--;
    *changed = 1;
    return scr_halt_set(h, &halt);
}

static int count_many(struct test_store *t, int i)
{
    (void)i;
    for (int n = 0; n < UPDATES; n++)
        if (scr_prefix_state_update(&t->env, &t->p, "halt.scr", count_down, NULL,
                                    NULL) != SCR_OK)
            return 1;
    return 0;
}

static int start_count(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    (void)arg, (void)err;
    *changed = 1;
    return scr_halt_set(h,
                        &(struct scr_halt){ PROCESSES * UPDATES, -1, -1, -1, NULL, 0 });
}

static void no_countdown_is_lost(void **state)
{
    (void)state;
    struct test_store t;
    struct scr_halt halt;
    test_store_open(&t);
    assert_int_equal(
        scr_prefix_state_update(&t.env, &t.p, "halt.scr", start_count, NULL, &t.err),
        SCR_OK);
    run_all(&t, count_many);
    scr_hash *h = scr_hash_new();
    assert_int_equal(scr_prefix_state_read(&t.env, &t.p, "halt.scr", h, &t.err),
                     SCR_OK);
    assert_int_equal(scr_halt_get(h, &halt, &t.err), SCR_OK);
    assert_int_equal(halt.checkpoints_left, 0);
    scr_hash_delete(h);
    test_store_close(&t);
}

/* Process 0 writes, the others read without a lock and must find a whole index each
 * time. */
static int read_or_write(struct test_store *t, int i)
{
    if (i == 0)
        return add_many(t, 0);
    for (int n = 0; n < UPDATES; n++) {
        struct scr_index index = SCR_INDEX_INIT;
        int rc = scr_prefix_index_read(&t->env, &t->p, &index, NULL);
        scr_index_fini(&index);
        if (rc != SCR_OK)
            return 1;
    }
    return 0;
}

static void readers_see_whole_files(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    run_all(&t, read_or_write);
    assert_false(test_exists(test_path("prefix/.scr/index.scr.damaged.1")));
    test_store_close(&t);
}

/* All find the same damaged index: one repairs it, the others find it repaired. */
static void one_repairs_for_all(void **state)
{
    (void)state;
    struct test_store t;
    test_store_open(&t);
    test_summary(&t, 1000, "ckpt.1000", 1);
    test_put(test_path("prefix/.scr/index.scr"), "", 0);
    run_all(&t, add_many);
    assert_int_equal(strncmp(test_index_ids(&t), "1000 160 ", 9), 0);
    assert_true(test_exists(test_path("prefix/.scr/index.scr.damaged.1")));
    assert_false(test_exists(test_path("prefix/.scr/index.scr.damaged.2")));
    test_store_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_index_entry_is_lost),
        cmocka_unit_test(no_countdown_is_lost),
        cmocka_unit_test(readers_see_whole_files),
        cmocka_unit_test(one_repairs_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, test_tmp_teardown);
}
