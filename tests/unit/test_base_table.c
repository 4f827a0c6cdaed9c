/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas and tables: pieces, order, finding, removing, cost, and want of memory. */
#include "helper_alloc.h"
#include "helper_steps.h"
#include "helper_tmp.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"

struct place {
    struct scr_item item;
    uint64_t size;
    char tail; /* so that the struct's size is no multiple of much */
};

/* --- arenas --- */

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { N = 400 };
    struct scr_arena a = SCR_ARENA_INIT;
    unsigned char *piece[N];
    for (size_t i = 0; i < N; i++) {
        size_t n = i * 7 % 131;
        piece[i] = scr_arena_get(&a, n);
        assert_non_null(piece[i]);
        assert_true((uintptr_t)piece[i] % alignof(uint64_t) == 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(piece[i][k], 0);
        memset(piece[i], (int)(i & 0xff), n);
        char *text = scr_arena_text_n(&a, "abcdefgh", i % 9); /* odd bytes between */
        assert_int_equal(strlen(text), i % 9);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < i * 7 % 131; k++)
            assert_int_equal(piece[i][k], i & 0xff);
    assert_false(a.lost);
    scr_arena_free(&a);
    assert_true(a.block == NULL && a.left == 0 && !a.lost);
    scr_arena_free(&a); /* again */
}

static void shared_texts_are_copied_once(void **state)
{
    (void)state;
    struct scr_arena a = SCR_ARENA_INIT;
    const char *path = scr_arena_share(&a, "/dev/shm/rank.1/file");
    assert_string_equal(path, "/dev/shm/rank.1/file");
    assert_ptr_equal(scr_arena_share(&a, "/dev/shm/rank.1/file"), path);
    assert_ptr_equal(scr_arena_share(&a, "file"), path + 16);
    assert_string_equal(scr_arena_share(&a, "rank.1"), "rank.1"); /* in the middle */
    for (int i = 0; i < 100; i++) {
        char other[16];
        snprintf(other, sizeof other, "other.%d", i);
        assert_string_equal(scr_arena_share(&a, other), other);
        assert_ptr_equal(scr_arena_share(&a, "file"), path + 16); /* asked for often */
    }
    for (int i = 0; i < 100; i++) {
        char other[16];
        snprintf(other, sizeof other, "more.%d", i);
        assert_string_equal(scr_arena_share(&a, other), other);
    }
    const char *again = scr_arena_share(&a, "file");
    assert_string_equal(again, "file");
    assert_ptr_not_equal(again, path + 16); /* not remembered for ever */
    assert_string_equal(scr_arena_share(&a, ""), "");
    assert_null(scr_arena_share(&a, NULL));
    scr_arena_free(&a);
    assert_string_equal(scr_arena_share(&a, "file"), "file");
    scr_arena_free(&a);
}

static void pieces_may_be_larger_than_any_block(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 1025, 3000001, 5, 1000000, 262144, 262145, 16 };
    enum { N = sizeof sizes / sizeof sizes[0] };
    struct scr_arena a = SCR_ARENA_INIT;
    unsigned char *piece[N];
    for (size_t i = 0; i < N; i++) {
        piece[i] = scr_arena_get(&a, sizes[i]);
        assert_non_null(piece[i]);
        assert_true((uintptr_t)piece[i] % alignof(uint64_t) == 0);
        assert_int_equal(piece[i][0] | piece[i][sizes[i] - 1], 0);
        memset(piece[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < N; i++)
        assert_true(piece[i][0] == i + 1 && piece[i][sizes[i] - 1] == i + 1);
    scr_arena_free(&a);
}

static void texts_are_copies(void **state)
{
    (void)state;
    struct scr_arena a = SCR_ARENA_INIT;
    char given[] = "a/b";
    char *text = scr_arena_text(&a, given), *part = scr_arena_text_n(&a, given, 1);
    given[0] = 'x';
    assert_string_equal(text, "a/b");
    assert_string_equal(part, "a");
    assert_string_equal(scr_arena_text(&a, ""), "");
    assert_null(scr_arena_text(&a, NULL));
    assert_null(scr_arena_text_n(&a, NULL, 3));
    assert_false(a.lost); /* nothing was asked for */
    scr_arena_free(&a);
}

static size_t mapped_bytes(void)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_true(f != NULL && fscanf(f, "%zu", &pages) == 1 && fclose(f) == 0);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Of two that grow side by side the first is freed: the system has its memory again,
 * though the other one's lies between. malloc asks the system for each large block only
 * until the program has freed a larger one; the first call makes it such a program. */
static void what_is_freed_goes_back_to_the_system(void **state)
{
    (void)state;
    enum { PIECE = 1000, PIECES = 8000 };
#ifdef TEST_ALLOC
    assert_int_equal(mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024), 1);
#endif
    struct scr_arena a = SCR_ARENA_INIT, b = SCR_ARENA_INIT;
    static unsigned char *kept[PIECES];
    for (int i = 0; i < PIECES; i++) {
        unsigned char *gone = scr_arena_get(&a, PIECE);
        kept[i] = scr_arena_get(&b, PIECE);
        assert_true(gone != NULL && kept[i] != NULL);
        memset(gone, 0xff, PIECE);
        memset(kept[i], i, PIECE);
    }
    size_t before = mapped_bytes();
    scr_arena_free(&a);
    assert_true(mapped_bytes() + (size_t)PIECE * PIECES * 9 / 10 < before);
    for (int i = 0; i < PIECES; i++)
        assert_true(kept[i][0] == i % 256 && kept[i][PIECE - 1] == i % 256);
    scr_arena_free(&b);
}

/* No machine has so much. */
static void what_cannot_be_had_is_lost_for_ever(void **state)
{
    (void)state;
    struct scr_arena a = SCR_ARENA_INIT;
    assert_non_null(scr_arena_get(&a, 8));
    assert_null(scr_arena_get(&a, SIZE_MAX / 4)); /* the system refuses */
    assert_true(a.lost);
    scr_arena_free(&a);
    assert_non_null(scr_arena_get(&a, 8));
    assert_null(scr_arena_get(&a, SIZE_MAX));
    assert_true(a.lost);
    assert_null(scr_arena_get(&a, 8)); /* though there is room */
    assert_null(scr_arena_text(&a, "a"));
    scr_arena_free(&a);
    assert_non_null(scr_arena_text(&a, "a")); /* as new */
    scr_arena_free(&a);
}

/* --- tables --- */

static const char *name_of(size_t i)
{
    static char name[32];
    snprintf(name, sizeof name, "file.%zu", i);
    return name;
}

static struct scr_table with_many(size_t n)
{
    struct scr_table t;
    scr_table_init(&t, sizeof(struct place));
    for (size_t i = 0; i < n; i++) {
        struct place *p = scr_table_add(&t, name_of(i));
        assert_non_null(p);
        p->size = i;
    }
    assert_true(scr_table_ok(&t));
    return t;
}

/* List, chains and number agree. */
static void assert_sound(const struct scr_table *t)
{
    size_t n = 0;
    const struct scr_item *before = NULL;
    for (SCR_EACH(struct scr_item, e, t)) {
        if (before != NULL)
            assert_ptr_equal(e->prev, before);
        assert_ptr_equal(scr_table_find(t, e->name), e);
        before = e;
        n++;
    }
    assert_int_equal(n, t->n);
    assert_ptr_equal(t->first != NULL ? t->first->prev : NULL, before);
    assert_true(test_steps(&t->items, NULL) < SIZE_MAX);
}

/* Names joined by spaces; valid until the next call. */
static const char *names_of(const struct scr_table *t)
{
    static char text[1024];
    size_t at = 0;
    text[0] = '\0';
    for (SCR_EACH(struct place, p, t))
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? " " : "",
                               p->item.name);
    assert_sound(t);
    return text;
}

static struct scr_table with_names(const char *first, ...)
{
    struct scr_table t;
    va_list ap;
    scr_table_init(&t, sizeof(struct place));
    va_start(ap, first);
    for (const char *name = first; name != NULL; name = va_arg(ap, const char *))
        assert_non_null(scr_table_add(&t, name));
    va_end(ap);
    return t;
}

static void an_item_is_added_once_and_found(void **state)
{
    (void)state;
    struct scr_table t;
    char name[] = "a/b";
    scr_table_init(&t, sizeof(struct place));
    assert_null(scr_table_find(&t, "a/b"));
    struct place *p = scr_table_add(&t, name);
    assert_true(p->size == 0 && p->tail == 0);
    p->size = 5;
    name[0] = 'x'; /* the table has its own */
    assert_string_equal(p->item.name, "a/b");
    assert_ptr_equal(scr_table_find(&t, "a/b"), p);
    assert_ptr_equal(scr_table_add(&t, "a/b"), p);
    assert_true(p->size == 5 && t.n == 1);
    assert_null(scr_table_find(&t, "a"));
    assert_null(scr_table_find(&t, "a/bc"));
    assert_non_null(scr_table_add(&t, "")); /* a name like any */
    assert_ptr_not_equal(scr_table_find(&t, ""), p);
    assert_true(scr_table_ok(&t));
    scr_table_fini(&t);
}

static void no_name_and_no_table_have_no_item(void **state)
{
    (void)state;
    struct scr_table t = with_many(20);
    assert_null(scr_table_find(NULL, "a"));
    assert_null(scr_table_find(&t, NULL));
    assert_null(scr_table_add(&t, NULL));
    assert_true(t.n == 20 && scr_table_ok(&t));
    scr_table_fini(&t);
}

static void items_keep_the_order_they_came_in(void **state)
{
    (void)state;
    struct scr_table t = with_names("c", "a", "b", "a", NULL);
    assert_string_equal(names_of(&t), "c a b");
    scr_table_fini(&t);
    t = with_many(1000);
    uint64_t next = 0;
    for (SCR_EACH(struct place, p, &t))
        assert_int_equal(p->size, next++);
    assert_int_equal(next, 1000);
    assert_sound(&t);
    scr_table_fini(&t);
}

/* Also across the size from which there are buckets. */
static void items_stay_where_they_are(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct scr_table t;
    static struct place *at[N];
    scr_table_init(&t, sizeof(struct place));
    for (size_t i = 0; i < N; i++) {
        at[i] = scr_table_add(&t, name_of(i));
        assert_true((uintptr_t)at[i] % alignof(struct place) == 0);
        assert_ptr_equal(scr_table_find(&t, name_of(i / 2)), at[i / 2]);
    }
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(scr_table_find(&t, name_of(i)), at[i]);
    scr_table_fini(&t);
}

static void drop(struct scr_table *t, const char *name)
{
    scr_table_remove(t, scr_table_find(t, name));
    assert_null(scr_table_find(t, name));
}

static void the_first_a_middle_and_the_last_are_removed(void **state)
{
    (void)state;
    struct scr_table t = with_names("a", "b", "c", "d", "e", NULL);
    drop(&t, "a");
    assert_string_equal(names_of(&t), "b c d e");
    drop(&t, "c");
    assert_string_equal(names_of(&t), "b d e");
    drop(&t, "e");
    assert_string_equal(names_of(&t), "b d");
    assert_non_null(scr_table_add(&t, "a")); /* behind the others */
    assert_string_equal(names_of(&t), "b d a");
    drop(&t, "b");
    drop(&t, "a");
    assert_string_equal(names_of(&t), "d");
    drop(&t, "d"); /* the only one */
    assert_string_equal(names_of(&t), "");
    assert_int_equal(t.n, 0);
    assert_non_null(scr_table_add(&t, "x"));
    assert_string_equal(names_of(&t), "x");
    scr_table_fini(&t);
}

/* The same with chains. */
static void any_of_many_is_removed(void **state)
{
    (void)state;
    enum { N = 200 };
    for (size_t step = 1; step < N; step += 3) {
        struct scr_table t = with_many(N);
        size_t left = N;
        for (size_t k = 0, i = step; k < N; k++, i = (i + step) % N) {
            struct place *p = scr_table_find(&t, name_of(i));
            if (p == NULL) /* step divides N: been here */
                continue;
            assert_int_equal(p->size, i);
            scr_table_remove(&t, p);
            assert_null(scr_table_find(&t, name_of(i)));
            assert_int_equal(t.n, --left);
            if (left % 29 == 0)
                assert_sound(&t);
        }
        assert_sound(&t);
        assert_non_null(scr_table_add(&t, name_of(step)));
        assert_sound(&t);
        scr_table_fini(&t);
    }
}

/* Adds, finds and removals in no order, compared with an array of the expected items.
 */
static void a_table_does_what_an_array_would(void **state)
{
    (void)state;
    enum { NAMES = 60, STEPS = 20000 };
    struct scr_table t;
    size_t there[NAMES], n = 0; /* numbers of the names, in order */
    uint32_t random = 1;
    scr_table_init(&t, sizeof(struct place));
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        size_t name = random >> 16 & 0x3f, at = 0;
        /* grows for some time, then shrinks */
        int add = (random >> 24 & 7) < (step / 500 % 2 == 0 ? 6 : 2);
        if (name >= NAMES)
            continue;
        while (at < n && there[at] != name)
            at++;
        struct place *p = scr_table_find(&t, name_of(name));
        assert_int_equal(p != NULL, at < n);
        if (p != NULL)
            assert_int_equal(p->size, name);
        if (add) {
            p = scr_table_add(&t, name_of(name));
            p->size = name;
            if (at == n)
                there[n++] = name;
        } else if (p != NULL) {
            scr_table_remove(&t, p);
            memmove(&there[at], &there[at + 1], (n - at - 1) * sizeof there[0]);
            n--;
        }
        at = 0;
        for (SCR_EACH(struct place, e, &t))
            assert_int_equal(e->size, there[at++]);
        assert_int_equal(at, n);
        assert_sound(&t);
    }
    scr_table_fini(&t);
}

static void clearing_frees_and_starts_again(void **state)
{
    (void)state;
    struct scr_table t = with_many(50);
    scr_table_fini(&t);
    assert_true(t.n == 0 && t.first == NULL && t.arena.block == NULL);
    assert_null(scr_table_find(&t, name_of(3)));
    struct place *p = scr_table_add(&t, name_of(3));
    assert_int_equal(p->size, 0);
    assert_string_equal(names_of(&t), "file.3");
    scr_table_fini(&t);
    scr_table_fini(&t); /* again */
}

/* The hundred thousandth item must cost what the first did. */
static void many_items_are_found_in_few_steps(void **state)
{
    (void)state;
    enum { N = 100000, FEW = 30 };
    struct scr_table t = with_many(N);
    assert_int_equal(t.n, N);
    size_t longest, buckets = t.items.index->mask + 1;
    assert_true(buckets >= N && buckets < 4 * N);
    /* prepared names cannot fall together */
    assert_true(t.items.index->seed != 0);
    /* 1.5 each where names fall at random */
    assert_true(test_steps(&t.items, &longest) < 3 * N);
    assert_true(longest < FEW);
    for (size_t i = 0; i < N; i += 2)
        scr_table_remove(&t, scr_table_find(&t, name_of(i)));
    assert_int_equal(t.n, N / 2);
    for (size_t i = 0; i < N; i++) {
        const struct place *p = scr_table_find(&t, name_of(i));
        assert_true(i % 2 == 0 ? p == NULL : p != NULL && p->size == i);
    }
    assert_sound(&t);
    scr_table_fini(&t);
}

/* --- want of memory --- */

#ifdef TEST_ALLOC

/* Added items exist; failed ones are missing, and the table reports it. */
static void every_allocation_fails_once(void **state)
{
    (void)state;
    enum { N = 700 };
    int failed = 1;
    for (long n = 0; failed; n++) {
        struct scr_table t;
        long before = test_alloc_live();
        size_t added = 0;
        scr_table_init(&t, sizeof(struct place));
        test_alloc_arm(n);
        for (size_t i = 0; i < N; i++) {
            struct place *p = scr_table_add(&t, name_of(i));
            if (p != NULL)
                p->size = i;
            added += p != NULL;
            assert_int_equal(p != NULL, scr_table_ok(&t)); /* from then on none */
        }
        failed = test_alloc_off();
        assert_int_equal(scr_table_ok(&t), !failed);
        assert_int_equal(t.n, added);
        assert_int_equal(added == N, !failed);
        assert_sound(&t);
        for (size_t i = 0; i < N; i++) {
            struct place *p = scr_table_find(&t, name_of(i));
            assert_int_equal(p != NULL, i < added);
            assert_ptr_equal(scr_table_add(&t, name_of(i)), p); /* also now */
        }
        assert_int_equal(scr_table_ok(&t), !failed);
        scr_table_fini(&t);
        assert_true(scr_table_ok(&t) && scr_table_add(&t, "a") != NULL);
        scr_table_fini(&t);
        assert_int_equal(test_alloc_live(), before);
        assert_true(failed || n > 5);
    }
}

static void an_arena_without_memory_reports_it(void **state)
{
    (void)state;
    int failed = 1;
    for (long n = 0; failed; n++) {
        struct scr_arena a = SCR_ARENA_INIT;
        long before = test_alloc_live();
        int missing = 0;
        test_alloc_arm(n);
        for (size_t i = 0; i < 300; i++) {
            missing += scr_arena_get(&a, 40) == NULL;
            missing += scr_arena_text(&a, "some text") == NULL;
        }
        failed = test_alloc_off();
        assert_int_equal(a.lost, failed);
        assert_int_equal(missing > 0, failed);
        scr_arena_free(&a);
        assert_false(a.lost);
        assert_int_equal(test_alloc_live(), before);
        assert_true(failed || n > 2);
    }
}

#else

static void every_allocation_fails_once(void **state)
{
    (void)state;
    skip();
}

static void an_arena_without_memory_reports_it(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_texts_are_copied_once),
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(pieces_may_be_larger_than_any_block),
        cmocka_unit_test(texts_are_copies),
        cmocka_unit_test(what_is_freed_goes_back_to_the_system),
        cmocka_unit_test(what_cannot_be_had_is_lost_for_ever),
        cmocka_unit_test(an_item_is_added_once_and_found),
        cmocka_unit_test(no_name_and_no_table_have_no_item),
        cmocka_unit_test(items_keep_the_order_they_came_in),
        cmocka_unit_test(items_stay_where_they_are),
        cmocka_unit_test(the_first_a_middle_and_the_last_are_removed),
        cmocka_unit_test(any_of_many_is_removed),
        cmocka_unit_test(a_table_does_what_an_array_would),
        cmocka_unit_test(clearing_frees_and_starts_again),
        cmocka_unit_test(many_items_are_found_in_few_steps),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(an_arena_without_memory_reports_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
