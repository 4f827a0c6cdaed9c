/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing strings, and strict conversions. */
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- growing strings --- */

void scr_str_spoil(struct scr_str *s)
{
    free(s->p);
    *s = (struct scr_str){ .bad = 1 };
}

void scr_str_drain(struct scr_str *s)
{
    struct scr_drain *d = s->drain;
    if (s->len > 0 && d->take != NULL && d->take(d, s->p, s->len) != 0) {
        scr_str_spoil(s);
        return;
    }
    d->taken += s->len;
    s->len = 0;
}

/* Room for n more bytes and a NUL; 1, or 0 with s bad. */
static int reserve(struct scr_str *s, size_t n)
{
    if (!s->bad && s->drain != NULL && s->cap > 0 && n >= s->cap - s->len)
        scr_str_drain(s);
    if (s->bad)
        return 0;
    if (n < s->cap - s->len)
        return 1;
    size_t least = s->drain != NULL ? SCR_PIECE : 64;
    size_t want = s->len + n + 1;
    size_t cap = s->cap < least ? least : s->cap;
    while (cap < want && cap <= SIZE_MAX / 2)
        cap *= 2;
    char *p = n < SIZE_MAX / 2 && cap >= want ? realloc(s->p, cap) : NULL;
    if (p == NULL) {
        scr_str_spoil(s);
        return 0;
    }
    s->p = p;
    s->cap = cap;
    return 1;
}

void scr_str_free(struct scr_str *s)
{
    int saved = errno;
    free(s->p);
    *s = (struct scr_str)SCR_STR_INIT;
    errno = saved;
}

char *scr_str_extend(struct scr_str *s, size_t n)
{
    if (!reserve(s, n))
        return NULL;
    s->len += n;
    s->p[s->len] = '\0';
    return s->p + s->len - n;
}

void scr_str_append_n(struct scr_str *s, const void *bytes, size_t n)
{
    char *at = scr_str_extend(s, n);
    if (at != NULL && n > 0)
        memcpy(at, bytes, n);
}

void scr_str_append(struct scr_str *s, const char *text)
{
    scr_str_append_n(s, text, strlen(text));
}

void scr_str_vprintf(struct scr_str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        scr_str_spoil(s);
    else if (reserve(s, (size_t)n)) {
        vsnprintf(s->p + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void scr_str_printf(struct scr_str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(s, fmt, ap);
    va_end(ap);
}

char *scr_str_take(struct scr_str *s)
{
    scr_str_append_n(s, "", 0);
    char *p = s->p;
    *s = (struct scr_str)SCR_STR_INIT;
    return p;
}

/* U+0080 to U+009F in UTF-8: terminals take U+009B for the start of a sequence. */
static int is_second_set(const char *text)
{
    return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80 &&
           (unsigned char)text[1] <= 0x9f;
}

void scr_mask(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
        else if (i + 1 < len && is_second_set(text + i))
            text[i] = text[i + 1] = '?';
}

void scr_str_mask(struct scr_str *s)
{
    scr_mask(s->p, s->len);
}

size_t scr_fit(const char *text, size_t most)
{
    size_t n = strlen(text), at = most;
    if (n <= most)
        return n;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > 0 ? at : most + strcspn(text + most, " ");
}

char *scr_asprintf(const char *fmt, ...)
{
    struct scr_str s = SCR_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&s, fmt, ap);
    va_end(ap);
    return scr_str_take(&s);
}

/* --- memory --- */

char *scr_strdup(const char *s)
{
    return s ? strdup(s) : NULL;
}

void *scr_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

void *scr_reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return realloc(p, bytes ? bytes : 1);
}

void *scr_insert(void *array, size_t at, size_t *n, size_t *room, size_t size)
{
    if (*n == *room) {
        size_t more = *room > 0 ? 2 * *room : 8;
        void *grown = scr_reallocarray(array, more, size);
        if (grown == NULL)
            return NULL;
        array = grown;
        *room = more;
    }
    char *gap = (char *)array + at * size;
    memmove(gap + size, gap, (*n - at) * size);
    (*n)++;
    return array;
}

int scr_by_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int scr_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* --- conversions --- */

/* Digits only, at least one, to the end of the string. */
static int parse_digits(const char *s, uint64_t *out)
{
    uint64_t v = 0;
    if (*s == '\0')
        return 0;
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9')
            return 0;
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
            return 0;
    }
    *out = v;
    return 1;
}

/* Steps over one sign; 1 if it was a minus. */
static int take_sign(const char **s)
{
    int minus = **s == '-';
    if (minus || **s == '+')
        (*s)++;
    return minus;
}

int scr_parse_u64(const char *s, uint64_t *out)
{
    uint64_t v;
    if (s == NULL)
        return 0;
    int minus = take_sign(&s);
    if (!parse_digits(s, &v) || (minus && v != 0))
        return 0;
    *out = v;
    return 1;
}

int scr_parse_i64(const char *s, int64_t *out)
{
    uint64_t v;
    if (s == NULL)
        return 0;
    int minus = take_sign(&s);
    if (!parse_digits(s, &v) || v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return 0;
    if (!minus)
        *out = (int64_t)v;
    else
        *out = v == 0 ? 0 : -(int64_t)(v - 1) - 1; /* INT64_MIN without overflow */
    return 1;
}

int scr_parse_int(const char *s, int *out)
{
    int64_t v;
    if (!scr_parse_i64(s, &v) || v < INT_MIN || v > INT_MAX)
        return 0;
    *out = (int)v;
    return 1;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before the exponent. */
static int is_decimal(const char *s)
{
    size_t digits = 0;
    (void)take_sign(&s);
    for (; isdigit((unsigned char)*s); s++)
        digits++;
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++)
            digits++;
    if (digits == 0)
        return 0;
    if (*s != 'e' && *s != 'E')
        return *s == '\0';
    s++;
    (void)take_sign(&s);
    return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

int scr_parse_f64(const char *s, double *out)
{
    if (s == NULL || !is_decimal(s))
        return 0;
    /* The application may have set a locale with a decimal comma. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return 0;
    double v = strtod_l(s, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(v))
        return 0;
    *out = v;
    return 1;
}

int scr_parse_front(const char *text, const char **end)
{
    size_t digits = strspn(text, "0123456789");
    long n = strtol(text, NULL, 10);
    *end = text + digits;
    return digits > 0 && n <= INT_MAX ? (int)n : -1;
}

int scr_parse_hex32(const char *s, uint32_t *out)
{
    if (s == NULL || s[0] != '0' || (s[1] != 'x' && s[1] != 'X'))
        return 0;
    s += 2;
    size_t n = strspn(s, "0123456789abcdefABCDEF");
    if (n == 0 || n > 8 || s[n] != '\0')
        return 0;
    *out = (uint32_t)strtoul(s, NULL, 16);
    return 1;
}

uint64_t scr_bytes_key(uint64_t from, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        from = (from ^ p[i]) * 0x100000001b3;
    return from;
}

uint64_t scr_str_key(const char *s)
{
    return scr_bytes_key(SCR_KEY_OF_NOTHING, s, strlen(s));
}

/* --- "did you mean" --- */

enum { EDIT_MAX = 128 }; /* names are short; longer ones are never near misses */

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int scr_edit_distance(const char *a, const char *b)
{
    size_t na = a ? strlen(a) : 0, nb = b ? strlen(b) : 0;
    if (na >= EDIT_MAX || nb >= EDIT_MAX)
        return EDIT_MAX;

    /* Row i holds the distances from a[0..i) to every prefix of b; three rows are
     * alive. */
    int rows[3][EDIT_MAX];
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        int x = tolower((unsigned char)a[i - 1]), x1 = 0;
        if (i > 1)
            x1 = tolower((unsigned char)a[i - 2]);
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int y = tolower((unsigned char)b[j - 1]);
            row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x1 == y && x == tolower((unsigned char)b[j - 2]) &&
                up2[j - 2] + 1 < row[j])
                row[j] = up2[j - 2] + 1;
        }
    }
    return rows[na % 3][nb];
}

void scr_nearest_try(struct scr_nearest *near, const char *candidate)
{
    int d = scr_edit_distance(near->name, candidate);
    if (d < near->distance) {
        near->distance = d;
        near->best = candidate;
    }
}
