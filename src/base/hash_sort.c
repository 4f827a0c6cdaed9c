/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash: order of the elements, and lists of the keys that are numbers. */
#include "base/hash_impl.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

typedef int (*elem_cmp)(const scr_hash_elem *a, const scr_hash_elem *b, int order);

static int cmp_bytes(const scr_hash_elem *a, const scr_hash_elem *b, int order)
{
    return strcmp(a->key, b->key) * order;
}

static int cmp_numbers(const scr_hash_elem *a, const scr_hash_elem *b, int order)
{
    int64_t x = 0, y = 0;
    int x_ok = scr_parse_i64(a->key, &x), y_ok = scr_parse_i64(b->key, &y);
    if (x_ok != y_ok)
        return x_ok ? -1 : 1; /* what is no number comes last in both orders */
    if (x != y)
        return (x < y ? -1 : 1) * order;
    return cmp_bytes(a, b, order);
}

/* Takes the smaller head of the lists *a and *b off its list. */
static scr_hash_elem *take_smaller(scr_hash_elem **a, scr_hash_elem **b, elem_cmp cmp,
                                   int order)
{
    scr_hash_elem **from = *a == NULL || (*b != NULL && cmp(*b, *a, order) < 0) ? b : a;
    scr_hash_elem *e = *from;
    *from = e->next;
    return e;
}

/* Cuts list after n elements and returns what follows. */
static scr_hash_elem *cut_after(scr_hash_elem *list, size_t n)
{
    for (; list != NULL && n > 1; n--)
        list = list->next;
    if (list == NULL)
        return NULL;
    scr_hash_elem *rest = list->next;
    list->next = NULL;
    return rest;
}

/* One pass of a bottom-up merge sort: merges neighbouring runs of the given length. */
static scr_hash_elem *merge_runs(scr_hash_elem *list, size_t run, elem_cmp cmp,
                                 int order)
{
    scr_hash_elem *head = NULL, **tail = &head;
    while (list != NULL) {
        scr_hash_elem *a = list, *b = cut_after(a, run);
        list = cut_after(b, run);
        while (a != NULL || b != NULL) {
            *tail = take_smaller(&a, &b, cmp, order);
            tail = &(*tail)->next;
        }
    }
    return head;
}

/* Merge sort of the list itself: needs no memory, so it cannot fail. */
static void sort_by(scr_hash *h, elem_cmp cmp, int order)
{
    if (h == NULL || h->size < 2)
        return;
    for (size_t run = 1; run < h->size; run *= 2)
        h->first = merge_runs(h->first, run, cmp, order);
    scr_hash_elem *prev = h->first;
    for (scr_hash_elem *e = h->first; e != NULL; e = e->next) {
        e->prev = prev;
        prev = e;
    }
    h->first->prev = prev;
}

void scr_hash_sort(scr_hash *h, enum scr_hash_order order)
{
    sort_by(h, cmp_bytes, order);
}

void scr_hash_sort_int(scr_hash *h, enum scr_hash_order order)
{
    sort_by(h, cmp_numbers, order);
}

static int cmp_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int scr_hash_list_int(const scr_hash *h, int **vals, size_t *n)
{
    *vals = NULL;
    *n = 0;
    if (scr_hash_size(h) == 0)
        return 1;
    int *list = scr_calloc(h->size, sizeof *list);
    if (list == NULL)
        return 0;
    for (SCR_HASH_EACH(e, h))
        if (scr_hash_key_int(e->key, &list[*n]))
            ++*n;
    if (*n == 0) {
        free(list);
        return 1;
    }
    qsort(list, *n, sizeof *list, cmp_ints);
    *vals = list;
    return 1;
}
