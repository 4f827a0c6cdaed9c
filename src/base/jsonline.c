/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of JSON, taken apart in place. */
#include "base/jsonline.h"

#include <string.h>

static int bad(struct scr_jsonline *j)
{
    j->damaged = 1;
    return 0;
}

static void skip_blanks(struct scr_jsonline *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

/* 1, and past it, if the next byte that is no blank is c. */
static int take(struct scr_jsonline *j, char c)
{
    skip_blanks(j);
    if (j->at == j->end || *j->at != c)
        return 0;
    j->at++;
    return 1;
}

/* --- texts --- */

/* Four hexadecimal digits; -1: they are not. */
static long take_hex(struct scr_jsonline *j)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    long v = 0;
    if (j->end - j->at < 4)
        return -1;
    for (int i = 0; i < 4; i++, j->at++) {
        const char *d = *j->at != '\0' ? strchr(digits, *j->at) : NULL;
        if (d == NULL)
            return -1;
        v = v * 16 + (d - digits) % 16;
    }
    return v;
}

static char *put_utf8(char *to, long c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const int marks[] = { 0, 0xc0, 0xe0, 0xf0 };
    *to++ = (char)(marks[more] | (int)(c >> (6 * more)));
    while (more-- > 0)
        *to++ = (char)(0x80 | (int)(c >> (6 * more) & 0x3f));
    return to;
}

/* Behind "\u": what it stands for has at most half as many bytes. */
static int take_code(struct scr_jsonline *j, char **to)
{
    long c = take_hex(j);
    if (c >= 0xd800 && c < 0xdc00) { /* the first half of a pair */
        if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
            return bad(j);
        j->at += 2;
        long low = take_hex(j);
        c = low >= 0xdc00 && low < 0xe000
                ? 0x10000 + ((c - 0xd800) << 10) + low - 0xdc00
                : -1;
    } else if (c >= 0xdc00 && c < 0xe000) {
        c = -1;
    }
    if (c <= 0)
        return bad(j);
    *to = put_utf8(*to, c);
    return 1;
}

/* Behind a backslash. */
static int take_escape(struct scr_jsonline *j, char **to)
{
    static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end)
        return bad(j);
    char c = *j->at++;
    if (c == 'u')
        return take_code(j, to);
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    if (found == NULL)
        return bad(j);
    *(*to)++ = means[found - from];
    return 1;
}

/* Behind the quotation mark. Escapes are longer than what they mean, so the text grows
 * into bytes that were read already; its NUL is where the mark at its end was, or
 * before. */
static int take_text(struct scr_jsonline *j, const char **text)
{
    char *to = j->at;
    *text = to;
    while (j->at < j->end && (unsigned char)*j->at >= 0x20) {
        char c = *j->at++;
        if (c == '"') {
            *to = '\0';
            return 1;
        }
        if (c != '\\')
            *to++ = c;
        else if (!take_escape(j, &to))
            return 0;
    }
    return bad(j);
}

/* --- values --- */

/* A number has no byte behind it that could become the NUL, but a colon or a blank
 * before it: it moves there. */
static int take_number(struct scr_jsonline *j)
{
    char *from = j->at;
    while (j->at < j->end && *j->at != '\0' && strchr("0123456789+-.eE", *j->at))
        j->at++;
    size_t n = (size_t)(j->at - from);
    memmove(from - 1, from, n);
    from[n - 1] = '\0';
    j->value = from - 1;
    j->kind = SCR_JSON_NUMBER;
    return 1;
}

/* An object or array: to where its brackets are closed. */
static int skip_nested(struct scr_jsonline *j)
{
    size_t depth = 0;
    const char *text;
    while (j->at < j->end) {
        char c = *j->at++;
        if (c == '"' && !take_text(j, &text))
            return 0;
        if (c == '{' || c == '[')
            depth++;
        if ((c == '}' || c == ']') && --depth == 0)
            return 1;
    }
    return bad(j);
}

static int skip_word(struct scr_jsonline *j)
{
    static const char *const words[] = { "true", "false", "null" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) < n || memcmp(j->at, words[i], n) != 0)
            continue;
        j->at += n;
        return 1;
    }
    return bad(j);
}

static int take_value(struct scr_jsonline *j)
{
    j->kind = SCR_JSON_OTHER;
    j->value = NULL;
    skip_blanks(j);
    if (j->at == j->end)
        return bad(j);
    char c = *j->at;
    if (c == '-' || (c >= '0' && c <= '9'))
        return take_number(j);
    if (c == '{' || c == '[')
        return skip_nested(j);
    if (c != '"')
        return skip_word(j);
    j->at++;
    j->kind = SCR_JSON_TEXT;
    return take_text(j, &j->value);
}

/* --- the object --- */

static int end_object(struct scr_jsonline *j)
{
    skip_blanks(j);
    return j->at == j->end ? 0 : bad(j);
}

int scr_jsonline_next(struct scr_jsonline *j)
{
    if (j->damaged)
        return 0;
    if (!j->begun && !take(j, '{'))
        return bad(j);
    if (take(j, '}'))
        return end_object(j);
    if (j->begun && !take(j, ','))
        return bad(j);
    j->begun = 1;
    if (!take(j, '"') || !take_text(j, &j->key))
        return bad(j);
    return take(j, ':') && take_value(j) ? 1 : bad(j);
}
