/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists: "atlas[3,5-7,9-11]" <-> atlas3 atlas5 … */
#include "base/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum {
    HOSTS_MAX = 1048576, /* more than any machine has nodes, and bounds hostile lists */
    NAME_BYTES = 255,    /* longest name of the domain name system is 253 */
    DIGITS_MAX = 18      /* of a number, so that it fits in 64 bits */
};

/* --- names --- */

/* Names go into argument arrays and directory names, hence no '/' and no leading '-'.
 */
static int is_host(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_BYTES || name[0] == '-')
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!isgraph((unsigned char)name[i]) || strchr("[],/", name[i]) != NULL)
            return 0;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static size_t digits_at(const char *s)
{
    return strspn(s, "0123456789");
}

static uint64_t number_at(const char *s, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = 10 * v + (uint64_t)(s[i] - '0');
    return v;
}

int scr_hostlist_add(struct scr_hostlist *list, const char *name, struct scr_err *err)
{
    if (list->n >= HOSTS_MAX)
        return scr_fail(err, SCR_E_ARG, 0, "host list: more than %d hosts", HOSTS_MAX);
    if ((list->n & (list->n - 1)) == 0) { /* full at 0, 1, 2, 4, 8, … */
        size_t cap = list->n ? 2 * list->n : 1;
        char **p = scr_reallocarray(list->name, cap, sizeof *p);
        TRY(p ? SCR_OK : scr_no_memory(err));
        list->name = p;
    }
    list->name[list->n] = scr_strdup(name);
    TRY(list->name[list->n] ? SCR_OK : scr_no_memory(err));
    list->n++;
    return SCR_OK;
}

int scr_hostlist_add_once(struct scr_hostlist *list, const char *name,
                          struct scr_err *err)
{
    return scr_hostlist_contains(list, name) ? SCR_OK
                                             : scr_hostlist_add(list, name, err);
}

void scr_hostlist_free(struct scr_hostlist *list)
{
    int saved = errno;
    for (size_t i = 0; i < list->n; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct scr_hostlist)SCR_HOSTLIST_INIT;
    errno = saved;
}

/* --- expansion --- */

/* One item of a list while it is expanded, one bracket group after the other. */
struct expansion {
    struct scr_hostlist *list;
    size_t most;      /* names; then it ends with SCR_E_FULL */
    const char *item; /* for messages: */
    int item_len;
    char name[NAME_BYTES + 1]; /* the name so far */
    struct scr_err *err;
};

struct range {
    uint64_t lo, hi;
    int width;
};

static int bad_item(struct expansion *x, const char *what)
{
    return scr_fail(x->err, SCR_E_ARG, 0, "host list: \"%.*s\": %s",
                    x->item_len < 100 ? x->item_len : 100, x->item, what);
}

/* Parses "7" or "007-012" at *p and steps over it and a comma after it. */
static int take_range(struct expansion *x, const char **p, struct range *r)
{
    size_t lo = digits_at(*p), hi = lo;
    const char *second = *p, *after = *p + lo;
    if (*after == '-') {
        second = after + 1;
        hi = digits_at(second);
        after = second + hi;
    }
    if (lo == 0 || hi == 0 || (*after != ',' && *after != ']'))
        return bad_item(x, "a range in brackets is a number or two with '-' between");
    if (lo > DIGITS_MAX || hi > DIGITS_MAX)
        return bad_item(x, "number too long");
    r->lo = number_at(*p, lo);
    r->hi = number_at(second, hi);
    r->width = (int)lo;
    if (r->lo > r->hi)
        return bad_item(x, "range runs backwards");
    if (lo > hi || (lo < hi && *second == '0'))
        return bad_item(x, "ends of a range are padded differently");
    *p = *after == ',' ? after + 1 : after;
    if (*after == ',' && **p == ']')
        return bad_item(x, "empty range");
    return SCR_OK;
}

static int expand_from(struct expansion *x, size_t len, const char *p);

/* The group that starts at p, after its '['. */
static int expand_group(struct expansion *x, size_t len, const char *p)
{
    const char *close = strchr(p, ']'); /* find_item saw it */
    struct range r = { 0, 0, 0 };
    do {
        int rc = take_range(x, &p, &r);
        for (uint64_t v = r.lo; rc == SCR_OK && v <= r.hi; v++) {
            int n = snprintf(x->name + len, sizeof x->name - len, "%0*llu", r.width,
                             (unsigned long long)v);
            if (n < 0 || (size_t)n >= sizeof x->name - len)
                return bad_item(x, "host name too long");
            rc = expand_from(x, len + (size_t)n, close + 1);
        }
        if (rc != SCR_OK)
            return rc;
    } while (p < close);
    return SCR_OK;
}

/* Completes x->name, with len bytes so far, from the item from p on. */
static int expand_from(struct expansion *x, size_t len, const char *p)
{
    const char *end = x->item + x->item_len;
    const char *open = memchr(p, '[', (size_t)(end - p));
    size_t plain = (size_t)((open ? open : end) - p);
    if (plain > NAME_BYTES - len)
        return bad_item(x, "host name too long");
    memcpy(x->name + len, p, plain);
    len += plain;
    if (open != NULL)
        return expand_group(x, len, open + 1);
    x->name[len] = '\0';
    if (x->list->n == x->most)
        return SCR_E_FULL;
    return is_host(x->name) ? scr_hostlist_add(x->list, x->name, x->err)
                            : bad_item(x, "not a host name");
}

/* Length of the item at x->item up to a comma outside brackets, which must be balanced.
 */
static int find_item(struct expansion *x)
{
    int inside = 0;
    size_t n = 0;
    for (; x->item[n] != '\0' && (inside || x->item[n] != ','); n++) {
        int opens = x->item[n] == '[', closes = x->item[n] == ']';
        if ((opens && inside) || (closes && !inside) || n > INT32_MAX / 2) {
            x->item_len = (int)n + 1;
            return bad_item(x, "brackets do not match");
        }
        inside += opens - closes;
    }
    x->item_len = (int)n;
    return inside ? bad_item(x, "bracket is not closed") : SCR_OK;
}

/* One item, blanks around it left out. */
static int expand_item(struct expansion *x)
{
    while (x->item_len > 0 && isspace((unsigned char)*x->item)) {
        x->item++;
        x->item_len--;
    }
    while (x->item_len > 0 && isspace((unsigned char)x->item[x->item_len - 1]))
        x->item_len--;
    if (x->item_len == 0)
        return bad_item(x, "empty item between commas");
    return expand_from(x, 0, x->item);
}

int scr_hostlist_expand(const char *text, struct scr_hostlist *out, struct scr_err *err)
{
    return scr_hostlist_expand_front(text, SIZE_MAX, out, err);
}

int scr_hostlist_expand_front(const char *text, size_t most, struct scr_hostlist *out,
                              struct scr_err *err)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct expansion x = { .list = &list, .most = most, .err = err };
    int rc = SCR_OK;
    *out = list;
    if (text[0] == '\0')
        return SCR_OK;
    for (const char *p = text; p != NULL && rc == SCR_OK;) {
        x.item = p;
        if ((rc = find_item(&x)) != SCR_OK)
            break;
        p = p[x.item_len] == ',' ? p + x.item_len + 1 : NULL;
        rc = expand_item(&x);
    }
    if (rc != SCR_OK && rc != SCR_E_FULL) {
        scr_hostlist_free(&list);
        return rc;
    }
    *out = list;
    return SCR_OK;
}

/* --- compression --- */

/* Text with numbers in it: numbers by value, everything else by bytes; equal values by
 * width, so that only equal names are equal. */
static int natural(const char *a, const char *b)
{
    int width = 0;
    while (*a != '\0' && *b != '\0') {
        size_t na = digits_at(a), nb = digits_at(b);
        if (na == 0 || nb == 0) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        size_t za = strspn(a, "0"),
               zb = strspn(b, "0"); /* leading zeros do not count */
        za = za < na ? za : na;
        zb = zb < nb ? zb : nb;
        size_t da = na - za, db = nb - zb;
        int c = da != db ? (da < db ? -1 : 1) : strncmp(a + za, b + zb, da);
        if (c != 0)
            return c;
        if (width == 0 && na != nb)
            width = na < nb ? -1 : 1;
        a += na;
        b += nb;
    }
    if (*a != *b)
        return *a == '\0' ? -1 : 1;
    return width;
}

static int by_number(const void *a, const void *b)
{
    return natural(*(char *const *)a, *(char *const *)b);
}

/* Where the number in which adjacent names differ starts in a; -1 if they differ
 * otherwise. */
static long varying_field(const char *a, const char *b)
{
    size_t p = 0;
    while (a[p] != '\0' && a[p] == b[p])
        p++;
    if (a[p] == '\0' && b[p] == '\0') /* equal names: the last number will do */
        while (p > 0 && !isdigit((unsigned char)a[p - 1]))
            p--;
    while (p > 0 && isdigit((unsigned char)a[p - 1]))
        p--;
    return isdigit((unsigned char)a[p]) ? (long)p : -1;
}

/* Whether b may stand in one bracket with a, the numbers being those at field. */
static int shares_bracket(const char *a, const char *b, size_t field)
{
    if (strncmp(a, b, field) != 0)
        return 0;
    a += field;
    b += field;
    size_t na = digits_at(a), nb = digits_at(b);
    if (na == 0 || nb == 0 || na > DIGITS_MAX || nb > DIGITS_MAX)
        return 0;
    if (na != nb && (*a == '0' || *b == '0'))
        return 0; /* padded to different widths */
    return strcmp(a + na, b + nb) == 0;
}

/* Number of names from name[0] on that share a bracket; 1 if none does. */
static size_t bracket_run(char *const *name, size_t n, size_t *field)
{
    size_t run = 1;
    long at = n > 1 ? varying_field(name[0], name[1]) : -1;
    if (at < 0)
        return 1;
    *field = (size_t)at;
    while (run < n && shares_bracket(name[0], name[run], *field))
        run++;
    return run;
}

/* Whether number b is what an expansion counts to after a: 9 -> 10, 08 -> 09, not 8 ->
 * 09. */
static int follows(const char *a, const char *b)
{
    size_t na = digits_at(a), nb = digits_at(b);
    if (number_at(b, nb) != number_at(a, na) + 1)
        return 0;
    return nb == na || (nb == na + 1 && *b != '0');
}

static void write_bracket(struct scr_str *s, char *const *name, size_t n, size_t field)
{
    const char *first = name[0] + field;
    scr_str_append_n(s, name[0], field);
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n && follows(name[last] + field, name[last + 1] + field))
            last++;
        const char *lo = name[i] + field, *hi = name[last] + field;
        scr_str_append(s, i == 0 ? "[" : ",");
        scr_str_append_n(s, lo, digits_at(lo));
        if (last > i) {
            scr_str_append(s, "-");
            scr_str_append_n(s, hi, digits_at(hi));
        }
        i = last + 1;
    }
    scr_str_append(s, "]");
    scr_str_append(s, first + digits_at(first));
}

static char *compress(char *const *name, size_t n)
{
    struct scr_str s = SCR_STR_INIT;
    for (size_t i = 0, run, field = 0; i < n; i += run) {
        run = bracket_run(name + i, n - i, &field);
        if (i > 0)
            scr_str_append(&s, ",");
        if (run > 1)
            write_bracket(&s, name + i, run, field);
        else
            scr_str_append(&s, name[i]);
    }
    return scr_str_take(&s);
}

/* The names, borrowed, in a separate array that may be sorted. */
static char **borrow(const struct scr_hostlist *list,
                     int (*order)(const void *, const void *))
{
    char **name = scr_calloc(list->n, sizeof *name);
    if (name == NULL || list->n == 0)
        return name;
    memcpy(name, list->name, list->n * sizeof *name);
    if (order != NULL)
        qsort(name, list->n, sizeof *name, order);
    return name;
}

int scr_hostlist_compress(const struct scr_hostlist *list, int sort, char **text,
                          struct scr_err *err)
{
    *text = NULL;
    for (size_t i = 0; i < list->n; i++)
        if (!is_host(list->name[i]))
            return scr_fail(err, SCR_E_ARG, 0, "host list: \"%.100s\": not a host name",
                            list->name[i]);
    char **name = borrow(list, sort ? by_number : NULL);
    if (name != NULL)
        *text = compress(name, list->n);
    free(name);
    return *text ? SCR_OK : scr_no_memory(err);
}

/* --- sets --- */

/* The names of a that are in b (keep = 1) or are not (keep = 0). */
static int filter(const struct scr_hostlist *a, const struct scr_hostlist *b, int keep,
                  struct scr_hostlist *out, struct scr_err *err)
{
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    int rc = SCR_OK;
    *out = list;
    char **sorted = borrow(b, scr_by_text);
    TRY(sorted ? SCR_OK : scr_no_memory(err));
    for (size_t i = 0; i < a->n && rc == SCR_OK; i++) {
        int found =
            bsearch(&a->name[i], sorted, b->n, sizeof *sorted, scr_by_text) != NULL;
        if (found == keep)
            rc = scr_hostlist_add(&list, a->name[i], err);
    }
    free(sorted);
    if (rc == SCR_OK)
        *out = list;
    else
        scr_hostlist_free(&list);
    return rc;
}

int scr_hostlist_minus(const struct scr_hostlist *a, const struct scr_hostlist *b,
                       struct scr_hostlist *out, struct scr_err *err)
{
    return filter(a, b, 0, out, err);
}

int scr_hostlist_intersect(const struct scr_hostlist *a, const struct scr_hostlist *b,
                           struct scr_hostlist *out, struct scr_err *err)
{
    return filter(a, b, 1, out, err);
}

int scr_hostlist_contains(const struct scr_hostlist *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->name[i], name) == 0)
            return 1;
    return 0;
}
