/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive descent over one configuration line. */
#include "cfg/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum {
    MAX_ITEMS = 4096,    /* on one line: more is not a configuration */
    MAX_NAME = 255,      /* bytes of a key or of the name of a variable */
    MAX_VALUE = 1 << 20, /* bytes of a value after expansion */
};

struct cursor {
    const char *p, *end;
    scr_conf_lookup lookup;
    void *arg;
    struct scr_err *err;
};

static int at_end(const struct cursor *c)
{
    return c->p == c->end;
}

static int is_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\v' || ch == '\f';
}

/* Not <ctype.h>: the locale must not change what a configuration means. */
static int is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static int is_name_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || is_digit(ch) ||
           ch == '_';
}

static void skip_blanks(struct cursor *c)
{
    while (!at_end(c) && is_blank(*c->p))
        c->p++;
}

/* --- $NAME and ${NAME} --- */

static size_t name_length(const char *p, const char *end)
{
    size_t n = 0;
    if (p < end && is_digit(*p))
        return 0;
    while (p + n < end && is_name_char(p[n]))
        n++;
    return n;
}

static int append_variable(struct cursor *c, const char *name, size_t n,
                           struct scr_str *out)
{
    if (n > MAX_NAME)
        return scr_fail(c->err, SCR_E_CONFIG, 0, "name of a variable is too long");
    char *copy = scr_asprintf("%.*s", (int)n, name);
    TRY(copy ? SCR_OK : scr_no_memory(c->err));
    const char *value = c->lookup(copy, c->arg);
    int rc = SCR_OK;
    if (value == NULL)
        rc = scr_fail(c->err, SCR_E_CONFIG, 0,
                      "$%s is not defined in the environment (\\$ is a dollar sign)",
                      copy);
    else if (strchr(value, '\n') != NULL)
        rc = scr_fail(c->err, SCR_E_CONFIG, 0, "$%s contains a line break", copy);
    else
        scr_str_append(out, value);
    free(copy);
    return rc;
}

/* After the dollar sign. A dollar sign without a name stands for itself. */
static int expand(struct cursor *c, struct scr_str *out)
{
    int braced = !at_end(c) && *c->p == '{';
    const char *name = c->p + braced;
    size_t n = name_length(name, c->end);
    if (braced && (n == 0 || name + n == c->end || name[n] != '}'))
        return scr_fail(c->err, SCR_E_CONFIG, 0, "${ is not followed by a name and }");
    if (n == 0) {
        scr_str_append_n(out, "$", 1);
        return SCR_OK;
    }
    c->p = name + n + braced;
    return append_variable(c, name, n, out);
}

/* --- keys and values --- */

static int take_escaped(struct cursor *c, struct scr_str *out)
{
    if (at_end(c))
        return scr_fail(c->err, SCR_E_CONFIG, 0, "nothing follows the backslash");
    scr_str_append_n(out, c->p++, 1);
    return SCR_OK;
}

/* The next piece of a value: a plain character, an escaped one, or an expansion. */
static int take_piece(struct cursor *c, struct scr_str *out)
{
    char ch = *c->p++;
    if (ch == '\\')
        return take_escaped(c, out);
    if (ch == '$')
        return expand(c, out);
    scr_str_append_n(out, &ch, 1);
    return SCR_OK;
}

static int take_bounded_piece(struct cursor *c, struct scr_str *out)
{
    int rc = take_piece(c, out);
    if (rc == SCR_OK && out->len > MAX_VALUE)
        return scr_fail(c->err, SCR_E_CONFIG, 0, "value longer than %d bytes",
                        MAX_VALUE);
    return rc;
}

static int take_quoted(struct cursor *c, struct scr_str *out)
{
    int rc = SCR_OK;
    c->p++;
    while (rc == SCR_OK && !at_end(c) && *c->p != '"')
        rc = take_bounded_piece(c, out);
    if (rc != SCR_OK)
        return rc;
    if (at_end(c))
        return scr_fail(c->err, SCR_E_CONFIG, 0, "closing quote missing");
    c->p++;
    return SCR_OK;
}

static int take_value(struct cursor *c, char **value)
{
    struct scr_str out = SCR_STR_INIT;
    int rc = SCR_OK;
    while (!at_end(c) && !is_blank(*c->p) && *c->p != '#')
        TRY_OUT(*c->p == '"' ? take_quoted(c, &out) : take_bounded_piece(c, &out));
out:
    if (rc != SCR_OK) {
        scr_str_free(&out);
        return rc;
    }
    *value = scr_str_take(&out);
    return *value ? SCR_OK : scr_no_memory(c->err);
}

char *scr_conf_upper(const char *text, size_t n)
{
    char *s = scr_asprintf("%.*s", (int)n, text);
    for (char *p = s; p != NULL && *p != '\0'; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    return s;
}

static int take_key(struct cursor *c, char **key)
{
    const char *start = c->p;
    while (!at_end(c) && (is_name_char(*c->p) || *c->p == '.' || *c->p == '-'))
        c->p++;
    size_t n = (size_t)(c->p - start);
    if (n == 0 || n > MAX_NAME ||
        (!at_end(c) && !is_blank(*c->p) && !strchr("=#", *c->p)))
        return scr_fail(c->err, SCR_E_CONFIG, 0, "expected NAME=VALUE");
    *key = scr_conf_upper(start, n);
    return *key ? SCR_OK : scr_no_memory(c->err);
}

static int take_item(struct cursor *c, struct scr_conf_item *item)
{
    TRY(take_key(c, &item->key));
    skip_blanks(c);
    if (at_end(c) || *c->p != '=')
        return SCR_OK;
    c->p++;
    skip_blanks(c);
    return take_value(c, &item->value);
}

/* --- the line --- */

static int take_items(struct cursor *c, struct scr_conf_line *out)
{
    for (skip_blanks(c); !at_end(c) && *c->p != '#'; skip_blanks(c)) {
        if (out->n == MAX_ITEMS)
            return scr_fail(c->err, SCR_E_CONFIG, 0, "more than %d items", MAX_ITEMS);
        void *grown = scr_reallocarray(out->item, out->n + 1, sizeof *out->item);
        TRY(grown ? SCR_OK : scr_no_memory(c->err));
        out->item = grown;
        out->item[out->n] = (struct scr_conf_item){ 0 };
        TRY(take_item(c, &out->item[out->n++]));
    }
    return SCR_OK;
}

int scr_conf_parse(const char *text, size_t n, scr_conf_lookup lookup, void *arg,
                   struct scr_conf_line *out, struct scr_err *err)
{
    struct cursor c = { text, text + n, lookup, arg, err };
    *out = (struct scr_conf_line){ 0 };
    if (memchr(text, '\0', n) != NULL || memchr(text, '\n', n) != NULL)
        return scr_fail(err, SCR_E_CONFIG, 0, "line break or zero byte in a line");
    int rc = take_items(&c, out);
    if (rc != SCR_OK)
        scr_conf_line_free(out);
    return rc;
}

void scr_conf_line_free(struct scr_conf_line *line)
{
    for (size_t i = 0; i < line->n; i++) {
        free(line->item[i].key);
        free(line->item[i].value);
    }
    free(line->item);
    *line = (struct scr_conf_line){ 0 };
}

void scr_conf_quote(struct scr_str *out, const char *value)
{
    scr_str_append_n(out, "\"", 1);
    for (const char *p = value; *p != '\0'; p++) {
        if (strchr("\"\\$", *p) != NULL)
            scr_str_append_n(out, "\\", 1);
        scr_str_append_n(out, p, 1);
    }
    scr_str_append_n(out, "\"", 1);
}

void scr_conf_value(struct scr_str *out, const char *value)
{
    if (value[0] != '\0' && value[strcspn(value, " \t\"\\#;=$")] == '\0')
        scr_str_append(out, value);
    else
        scr_conf_quote(out, value);
}
