/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists: what is expanded and compressed gives the same names again. Long ones are
 * left at their front, as each name costs. */
#include "fuzz.h"

#include "base/hostlist.h"
#include <string.h>

enum { MOST = 300 };

static void check_same(const struct scr_hostlist *a, const struct scr_hostlist *b)
{
    FUZZ_CHECK(a->n == b->n);
    for (size_t i = 0; i < a->n; i++)
        FUZZ_CHECK(strcmp(a->name[i], b->name[i]) == 0);
}

/* Sorted, the text of the result is the same text. */
static void check_compress(const struct scr_hostlist *l, int sort)
{
    struct scr_hostlist again = SCR_HOSTLIST_INIT;
    char *text, *twice;
    FUZZ_CHECK(scr_hostlist_compress(l, sort, &text, NULL) == SCR_OK);
    FUZZ_CHECK(scr_hostlist_expand(text, &again, NULL) == SCR_OK);
    if (!sort)
        check_same(l, &again);
    FUZZ_CHECK(again.n == l->n);
    for (size_t i = 0; i < l->n; i++)
        FUZZ_CHECK(scr_hostlist_contains(&again, l->name[i]));
    FUZZ_CHECK(scr_hostlist_compress(&again, sort, &twice, NULL) == SCR_OK);
    FUZZ_CHECK(strcmp(text, twice) == 0);
    scr_hostlist_free(&again);
    free(twice);
    free(text);
}

/* A list is what it shares with another one, and what it does not. */
static void check_sets(const struct scr_hostlist *a)
{
    struct scr_hostlist b = SCR_HOSTLIST_INIT, less = b, both = b;
    for (size_t i = 0; i < a->n; i += 2)
        FUZZ_CHECK(scr_hostlist_add_once(&b, a->name[i], NULL) == SCR_OK);
    FUZZ_CHECK(scr_hostlist_minus(a, &b, &less, NULL) == SCR_OK);
    FUZZ_CHECK(scr_hostlist_intersect(a, &b, &both, NULL) == SCR_OK);
    FUZZ_CHECK(less.n + both.n == a->n);
    scr_hostlist_free(&less);
    scr_hostlist_free(&both);
    scr_hostlist_free(&b);
}

static void check_whole(const char *text, const struct scr_hostlist *front)
{
    struct scr_hostlist l = SCR_HOSTLIST_INIT;
    FUZZ_CHECK(scr_hostlist_expand(text, &l, NULL) == SCR_OK);
    check_same(&l, front);
    check_compress(&l, 0);
    check_compress(&l, 1);
    check_sets(&l);
    scr_hostlist_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_hostlist front = SCR_HOSTLIST_INIT, none = SCR_HOSTLIST_INIT;
    char *text = fuzz_text(data, n);
    int rc = scr_hostlist_expand_front(text, MOST, &front, &err);
    if (rc != SCR_OK) {
        FUZZ_CHECK(rc == SCR_E_ARG && err.code == rc && front.n == 0);
        FUZZ_CHECK(scr_hostlist_expand(text, &none, NULL) == rc && none.n == 0);
    } else {
        FUZZ_CHECK(err.code == SCR_OK && front.n <= MOST);
        if (front.n < MOST)
            check_whole(text, &front);
        else
            check_compress(&front, 0);
    }
    scr_hostlist_free(&front);
    scr_hostlist_free(&none);
    free(text);
    return 0;
}
