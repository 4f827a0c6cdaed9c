/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of the caches in reach (red/survey.h): datasets that are whole, damaged,
 * on other nodes, half written, contradictory, or in a cache that all nodes share. */
#include "../unit/helper_fault.h"
#include "../unit/helper_tmp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/proc.h"
#include "base/str.h"
#include "red/member.h"
#include "red/survey.h"
#include "store/cntl.h"

enum { ID = 7, RANKS = 3 };

/* Each goes over all that a map has of a dataset. Linked with --wrap. */
static int walks;
void __real_scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                             int64_t *newest);
void __wrap_scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                             int64_t *newest);
void __wrap_scr_filemap_made(const scr_filemap *map, int dset, int64_t *oldest,
                             int64_t *newest)
{
    walks++;
    __real_scr_filemap_made(map, dset, oldest, newest);
}

static const struct scr_env posix = { .sys = &scr_sys_posix };
static const struct scr_env faulty = { .sys = &test_fault_sys };
static char *cntl[RANKS];

/* A dataset of three ranks, one a node, protected by XOR. */
static int setup(void **state)
{
    const char *base = test_path("node");
    const char *argv[] = { SCR_TEST_CACHE, base, "tester", "9",  "7",
                           "XOR",          "3",  "3",      base, NULL };
    const struct scr_proc_spec spec = { .argv = argv };
    struct scr_err err = SCR_ERR_INIT;
    int status = -1;
    (void)state;
    assert_int_equal(mkdir(base, 0700), 0);
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &err), SCR_OK);
    assert_int_equal(status, 0);
    for (int r = 0; r < RANKS; r++)
        cntl[r] = test_find("node/vnode.n%d/tester/scr.9/prefix.*", r);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++)
        free(cntl[r]);
    test_tmp_remove();
    return test_fault_open_fds() == 0 ? 0 : -1;
}

static char *file_of(int rank)
{
    return scr_asprintf("%s/scr.dataset.7/rank.%d/rank_%d.dat", cntl[rank], rank, rank);
}

static void flip(int rank)
{
    char *path = file_of(rank);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    putc(getc(f) ^ 1, f);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void lose(int rank)
{
    char *path = file_of(rank);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void open_nodes(struct scr_survey *s, int first, int n)
{
    struct scr_err err = SCR_ERR_INIT;
    assert_int_equal(
        scr_survey_open(s, &posix, (const char *const *)cntl + first, (size_t)n, &err),
        SCR_OK);
}

/* The state as the nodes first … first + n - 1 see it; its reason is to contain text.
 */
static enum scr_survey_state seen_by(int first, int n, int with_crc, const char *text)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT, reason = SCR_ERR_INIT;
    enum scr_survey_state state = SCR_SURVEY_LOST;
    open_nodes(&s, first, n);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    assert_int_equal(d.here, n);
    assert_int_equal(scr_survey_judge(&s, &d, with_crc, &state, &reason), SCR_OK);
    if (strstr(reason.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, reason.text);
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
    return state;
}

static const struct scr_survey_set *first_of(const struct scr_survey_dataset *d)
{
    return (const struct scr_survey_set *)d->sets.first;
}

/* The code of a rebuild of the one set from all nodes; *ranks are rebuilt. */
static int mend(int nodes, int *ranks)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT;
    open_nodes(&s, 0, nodes);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    int rc = scr_survey_mend(&s, first_of(&d), ranks, &err);
    assert_int_equal(err.code, rc);
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
    return rc;
}

/* --- what is named --- */

static void a_dataset_is_described_by_its_ranks(void **state)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT;
    int *ids = NULL, n = 0;
    (void)state;
    open_nodes(&s, 0, RANKS);
    assert_int_equal(scr_filemap_list_datasets(s.map, &n, &ids), SCR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], ID);
    free(ids);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    assert_string_equal(d.d.name, "ckpt.7");
    assert_int_equal(d.ranks, RANKS);
    assert_int_equal(d.sets.n, 1);
    const struct scr_survey_set *set = first_of(&d);
    assert_int_equal(set->n, RANKS);
    assert_int_equal(set->scheme, SCR_SCHEME_XOR);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(set->rank[i], i);
        assert_non_null(strstr(set->red[i], "_of_3_in_0.xor"));
        assert_non_null(strstr(set->dir[i], "/rank."));
    }
    scr_survey_dataset_fini(&d);
    assert_int_equal(scr_survey_dataset(&s, ID + 1, &d, &err), SCR_E_NOENT);
    scr_survey_fini(&s);
}

static void without_nodes_nothing_is_named(void **state)
{
    struct scr_survey s;
    int *ids = NULL, n = -1;
    (void)state;
    open_nodes(&s, 0, 0);
    assert_int_equal(scr_filemap_list_datasets(s.map, &n, &ids), SCR_OK);
    assert_int_equal(n, 0);
    free(ids);
    scr_survey_fini(&s);
}

static void a_control_directory_that_is_not_there_is_an_error(void **state)
{
    const char *const none[] = { test_path("nothing") };
    struct scr_survey s;
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    assert_int_not_equal(scr_survey_open(&s, &posix, none, 1, &err), SCR_OK);
    assert_non_null(strstr(err.text, "nothing"));
    scr_survey_fini(&s);
}

static void a_filemap_that_cannot_be_read_is_counted(void **state)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT;
    char *path = scr_asprintf("%s/filemap_0.scrinfo", cntl[1]);
    (void)state;
    test_put(path, "no hash file", 12);
    open_nodes(&s, 0, RANKS);
    assert_int_equal(s.unread.n, 1);
    assert_non_null(strstr(s.unread.first->name, path));
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    assert_int_equal(d.here, RANKS - 1);
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
    free(path);
}

/* The files of rank r are of another dataset of this number, by seconds younger. */
static void make_other(int r, int64_t by)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cntl c;
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_cntl_open(&posix, cntl[r], 0, &c, &err), SCR_OK);
    assert_int_equal(scr_cntl_read_node(&posix, &c, map, &err), SCR_OK);
    int64_t created = scr_filemap_created(map, ID, r);
    assert_true(created > 0);
    scr_hash_set_val_i64(scr_filemap_get_dataset(map, ID, r), "CREATED",
                         created + by * 1000000);
    assert_int_equal(scr_cntl_write(&posix, &c, map, &err), SCR_OK);
    scr_cntl_close(&posix, &c);
    scr_filemap_delete(map);
}

/* The ranks of the dataset that the survey is of. */
static int surveyed(enum scr_survey_state *state, int64_t *created)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT, reason = SCR_ERR_INIT;
    open_nodes(&s, 0, RANKS);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    assert_int_equal(scr_survey_judge(&s, &d, 1, state, &reason), SCR_OK);
    int here = d.here;
    *created = d.d.created;
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
    return here;
}

static void of_several_datasets_the_one_that_can_be_restored_is_surveyed(void **state)
{
    enum scr_survey_state how;
    int64_t whole, first, second;
    (void)state;
    assert_int_equal(surveyed(&how, &whole), RANKS);
    for (int by = -1; by <= 1; by += 2) { /* it is older, then newer */
        make_other(2, 2 * by);
        assert_int_equal(surveyed(&how, &first), RANKS - 1);
        assert_int_equal(how, SCR_SURVEY_MENDABLE);
        assert_true(first == whole);
        make_other(2, -2 * by);
    }
    make_other(1, -5);
    make_other(2, -5); /* of these two the third can be rebuilt */
    assert_int_equal(surveyed(&how, &second), RANKS - 1);
    assert_int_equal(how, SCR_SURVEY_MENDABLE);
    assert_true(second < whole);
    make_other(1, -1); /* three datasets, none can be: the newest is reported */
    assert_int_equal(surveyed(&how, &first), 1);
    assert_int_equal(how, SCR_SURVEY_PARTIAL);
    assert_true(first == whole);
}

/* In the control directory of n0, of ranks from 100 on: every second one of them is of
 * another dataset of the number if there are two. */
static void name_many(int ranks, int two)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cntl c;
    scr_filemap *map = scr_filemap_new();
    scr_hash *dset = scr_hash_new();
    assert_int_equal(scr_cntl_open(&posix, cntl[0], 0, &c, &err), SCR_OK);
    assert_int_equal(scr_cntl_read_node(&posix, &c, map, &err), SCR_OK);
    for (int i = 0; i < ranks; i++) {
        scr_hash_set_val_i64(dset, "CREATED", 1000 + (two ? i % 2 : 0));
        scr_filemap_set_dataset(map, ID + 1, 100 + i, dset);
        scr_filemap_set_desc(map, ID + 1, 100 + i, NULL);
    }
    assert_int_equal(scr_cntl_write(&posix, &c, map, &err), SCR_OK);
    scr_cntl_close(&posix, &c);
    scr_hash_delete(dset);
    scr_filemap_delete(map);
}

static int walks_over(int ranks, int two)
{
    struct scr_survey s;
    name_many(ranks, two);
    walks = 0;
    open_nodes(&s, 0, RANKS);
    int made = walks, here = scr_filemap_num_ranks_by_dataset(s.map, ID + 1);
    assert_int_equal(here, two ? ranks / 2 : ranks);
    scr_survey_fini(&s);
    return made;
}

/* Else a cache of all nodes takes as long as the square of its ranks. */
static void walks_do_not_grow_with_the_ranks(void **state)
{
    (void)state;
    for (int two = 0; two <= 1; two++) {
        int few = walks_over(10, two);
        assert_true(few > 0);
        assert_int_equal(walks_over(1000, two), few);
    }
}

/* Edits what rank r remembers of its redundancy set. */
static void edit_desc(int r, void (*edit)(scr_hash *desc))
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_cntl c;
    scr_filemap *map = scr_filemap_new();
    assert_int_equal(scr_cntl_open(&posix, cntl[r], 0, &c, &err), SCR_OK);
    assert_int_equal(scr_cntl_read_node(&posix, &c, map, &err), SCR_OK);
    edit(scr_filemap_get_desc(map, ID, r));
    assert_int_equal(scr_cntl_write(&posix, &c, map, &err), SCR_OK);
    scr_cntl_close(&posix, &c);
    scr_filemap_delete(map);
}

static void forget_group(scr_hash *desc)
{
    scr_hash_unset(desc, "GROUP");
}

static void name_other_world(scr_hash *desc)
{
    scr_hash_set_val_i64(desc, "RANKS", RANKS + 1);
}

static void be_another_member(scr_hash *desc)
{
    scr_hash_set_val_i64(desc, "MEMBER", 2);
}

static void what_contradicts_itself_is_corrupt(void **state)
{
    void (*const edits[])(scr_hash *) = { be_another_member, name_other_world };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct scr_survey s;
        struct scr_survey_dataset d;
        struct scr_err err = SCR_ERR_INIT;
        edit_desc(1, edits[i]);
        open_nodes(&s, 0, RANKS);
        assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_E_CORRUPT);
        assert_non_null(strstr(err.text, "contradicts"));
        scr_survey_fini(&s);
    }
}

/* Writes the same dataset once more, without virtual nodes and redundancy. */
static char *add_host_copy(void)
{
    const char *base = test_path("node");
    const char *argv[] = {
        SCR_TEST_CACHE, base, "tester", "9", "7", "SINGLE", "3", "1", base, "host", NULL
    };
    const struct scr_proc_spec spec = { .argv = argv };
    struct scr_err err = SCR_ERR_INIT;
    int status = -1;
    assert_int_equal(scr_proc_run(&spec, 60, NULL, &status, &err), SCR_OK);
    assert_int_equal(status, 0);
    return test_find("node/tester/scr.9/prefix.*");
}

/* The state of a copy; its redundancy sets. */
static enum scr_survey_state copy_is(const struct scr_survey *s, size_t *sets)
{
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT, reason = SCR_ERR_INIT;
    enum scr_survey_state state = SCR_SURVEY_LOST;
    assert_int_equal(scr_survey_dataset(s, ID, &d, &err), SCR_OK);
    assert_int_equal(scr_survey_judge(s, &d, 1, &state, &reason), SCR_OK);
    *sets = d.sets.n;
    scr_survey_dataset_fini(&d);
    return state;
}

static void copies_with_other_sets_are_apart(void **state)
{
    char *host = add_host_copy();
    const char *const dirs[] = { host, cntl[0], cntl[1], cntl[2] };
    const char *const order[] = { cntl[2], host, cntl[0], cntl[1] };
    struct scr_err err = SCR_ERR_INIT;
    struct scr_survey s;
    struct scr_survey_dataset d;
    size_t sets;
    (void)state;
    assert_int_equal(scr_survey_open(&s, &posix, dirs, 4, &err), SCR_OK);
    assert_int_equal(copy_is(&s, &sets), SCR_SURVEY_WHOLE);
    assert_int_equal(sets, RANKS);
    assert_ptr_equal(scr_survey_copy(s.next, ID), s.next);
    assert_int_equal(copy_is(s.next, &sets), SCR_SURVEY_WHOLE);
    assert_int_equal(sets, 1);
    assert_null(s.next->next);
    assert_null(scr_survey_copy(s.next, ID + 1));
    scr_survey_fini(&s);

    assert_int_equal(scr_survey_open(&s, &posix, order, 4, &err), SCR_OK);
    assert_int_equal(copy_is(&s, &sets), SCR_SURVEY_WHOLE);
    assert_int_equal(sets, 1);
    assert_int_equal(copy_is(s.next, &sets), SCR_SURVEY_WHOLE);
    scr_survey_fini(&s);

    edit_desc(1, be_another_member); /* what contradicts itself stays with its copy */
    assert_int_equal(scr_survey_open(&s, &posix, dirs, 4, &err), SCR_OK);
    assert_int_equal(copy_is(&s, &sets), SCR_SURVEY_WHOLE);
    assert_int_equal(scr_survey_dataset(s.next, ID, &d, &err), SCR_E_CORRUPT);
    scr_survey_fini(&s);
    free(host);
}

/* --- how it is --- */

static void what_is_there_and_right_is_whole(void **state)
{
    (void)state;
    assert_int_equal(seen_by(0, RANKS, 1, ""), SCR_SURVEY_WHOLE);
}

static void what_is_lost_is_rebuilt_once_all_members_are_here(void **state)
{
    int ranks = -1;
    (void)state;
    lose(1);
    assert_int_equal(seen_by(0, RANKS, 0, "1 of the 3 members of set 0"),
                     SCR_SURVEY_MENDABLE);
    assert_int_equal(mend(2, &ranks), SCR_E_UNSUPPORTED);
    assert_int_equal(mend(RANKS, &ranks), SCR_OK);
    assert_int_equal(ranks, 1);
    assert_int_equal(seen_by(0, RANKS, 1, ""), SCR_SURVEY_WHOLE);
    assert_int_equal(mend(RANKS, &ranks), SCR_OK);
    assert_int_equal(ranks, 0);
}

static void a_flipped_byte_is_seen_by_who_reads(void **state)
{
    (void)state;
    flip(2);
    assert_int_equal(seen_by(0, RANKS, 0, ""), SCR_SURVEY_WHOLE);
    assert_int_equal(seen_by(0, RANKS, 1, "can be rebuilt by XOR"),
                     SCR_SURVEY_MENDABLE);
}

static void files_on_other_nodes_decide(void **state)
{
    (void)state;
    assert_int_equal(seen_by(0, 2, 1, "1 of the 3 members"), SCR_SURVEY_MENDABLE);
    assert_int_equal(seen_by(1, 1, 1, "1 of the 3 members of set 0 are here"),
                     SCR_SURVEY_PARTIAL);
}

static void beyond_the_redundancy_it_is_lost_and_left_alone(void **state)
{
    int ranks = -1;
    size_t n, again;
    (void)state;
    flip(0);
    flip(1);
    char *path = file_of(0);
    void *before = test_get(path, &n);
    assert_int_equal(seen_by(0, RANKS, 1, ""), SCR_SURVEY_LOST);
    assert_int_equal(mend(RANKS, &ranks), SCR_E_LOST);
    void *after = test_get(path, &again);
    assert_int_equal(again, n);
    assert_memory_equal(after, before, n);
    free(after);
    free(before);
    free(path);
}

static void without_a_set_it_was_not_completed(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++)
        edit_desc(r, forget_group);
    assert_int_equal(seen_by(0, RANKS, 1, "it was not completed"), SCR_SURVEY_OPEN);
}

/* --- caches that all nodes share --- */

/* Stores the filemap of node n with its files. */
static void lay_beside(int n)
{
    size_t bytes;
    char *from = scr_asprintf("%s/filemap_0.scrinfo", cntl[n]);
    char *to = scr_asprintf("%s/scr.dataset.7/.scr/filemap_%d.scrinfo", cntl[n], n);
    void *text = test_get(from, &bytes);
    test_put(to, text, bytes);
    free(text);
    free(to);
    free(from);
}

static void filemaps_stored_with_the_files_are_read(void **state)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT;
    (void)state;
    lay_beside(0);
    lay_beside(1);
    open_nodes(&s, 1, 1); /* named both ways: counts once */
    assert_int_equal(scr_survey_add_shared(&s, test_path("nothing"), &err), SCR_OK);
    for (int n = 0; n < RANKS; n++) /* n2 has none with its files */
        assert_int_equal(scr_survey_add_shared(&s, cntl[n], &err), SCR_OK);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    assert_int_equal(d.here, 2);
    assert_non_null(first_of(&d)->red[0]);
    assert_non_null(first_of(&d)->red[1]);
    assert_null(first_of(&d)->red[2]);
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
}

/* --- failing calls --- */

static void a_failing_call_changes_nothing_and_is_reported_or_made_up_for(void **state)
{
    (void)state;
    lay_beside(0);
    for (long n = 0;; n++) {
        struct scr_survey s;
        struct scr_survey_dataset d;
        struct scr_err err = SCR_ERR_INIT, reason = SCR_ERR_INIT;
        enum scr_survey_state how;
        test_fault_arm(TEST_ANY, n, EIO, TEST_ONCE);
        int rc = scr_survey_open(&s, &faulty, (const char *const *)cntl, RANKS, &err);
        if (rc == SCR_OK)
            rc = scr_survey_add_shared(&s, cntl[0], &err);
        if (rc == SCR_OK)
            rc = scr_survey_dataset(&s, ID, &d, &err);
        assert_int_equal(err.code, rc);
        if (rc == SCR_OK) {
            assert_int_equal(scr_survey_judge(&s, &d, 1, &how, &reason), SCR_OK);
            scr_survey_dataset_fini(&d);
        }
        int fired = test_fault_off();
        scr_survey_fini(&s);
        assert_true(fired || (rc == SCR_OK && how == SCR_SURVEY_WHOLE));
        assert_int_equal(seen_by(0, RANKS, 1, ""), SCR_SURVEY_WHOLE);
        if (!fired)
            break;
    }
}

/* Too little is left without it, but it may be there: a start keeps it (C8). */
static void what_cannot_be_read_now_is_not_lost(void **state)
{
    struct scr_survey s;
    struct scr_survey_dataset d;
    struct scr_err err = SCR_ERR_INIT;
    int kept = 0;
    (void)state;
    lose(0);
    assert_int_equal(
        scr_survey_open(&s, &faulty, (const char *const *)cntl, RANKS, &err), SCR_OK);
    assert_int_equal(scr_survey_dataset(&s, ID, &d, &err), SCR_OK);
    for (long n = 0, fired = 1; fired; n++) {
        struct scr_err reason = SCR_ERR_INIT;
        enum scr_survey_state how = SCR_SURVEY_LOST;
        test_fault_arm(TEST_ANY, n, EIO, TEST_FOREVER);
        assert_int_equal(scr_survey_judge(&s, &d, 1, &how, &reason), SCR_OK);
        fired = test_fault_off();
        assert_int_equal(how, fired ? SCR_SURVEY_KEPT : SCR_SURVEY_MENDABLE);
        if (fired && strstr(reason.text, "input/output error") == NULL)
            fail_msg("call %ld: %s", n, reason.text);
        kept += fired != 0;
    }
    assert_true(kept > 1);
    scr_survey_dataset_fini(&d);
    scr_survey_fini(&s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_dataset_is_described_by_its_ranks),
        T(without_nodes_nothing_is_named),
        T(a_control_directory_that_is_not_there_is_an_error),
        T(a_filemap_that_cannot_be_read_is_counted),
        T(of_several_datasets_the_one_that_can_be_restored_is_surveyed),
        T(walks_do_not_grow_with_the_ranks),
        T(what_contradicts_itself_is_corrupt),
        T(copies_with_other_sets_are_apart),
        T(what_is_there_and_right_is_whole),
        T(what_is_lost_is_rebuilt_once_all_members_are_here),
        T(a_flipped_byte_is_seen_by_who_reads),
        T(files_on_other_nodes_decide),
        T(beyond_the_redundancy_it_is_lost_and_left_alone),
        T(without_a_set_it_was_not_completed),
        T(filemaps_stored_with_the_files_are_read),
        T(a_failing_call_changes_nothing_and_is_reported_or_made_up_for),
        T(what_cannot_be_read_now_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
