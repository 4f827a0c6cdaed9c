/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing paths with patterns. */
#include "pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"

enum { MAX_DIGITS = 18 };
static const char blanks[] = " \t\n";

/* All of s; the number is set when %d is passed. */
static int matches(const char *p, const char *s, int64_t *number)
{
    for (; *p != '\0'; p++, s++) {
        if (*p == '*') {
            for (;; s++) {
                if (matches(p + 1, s, number))
                    return 1;
                if (*s == '\0' || *s == '/')
                    return 0;
            }
        }
        if (p[0] == '%' && p[1] == 'd') {
            size_t n = strspn(s, "0123456789");
            if (n == 0 || n > MAX_DIGITS)
                return 0;
            *number = strtoll(s, NULL, 10);
            p++;
            s += n - 1;
        } else if (*s == '\0' || (*p == '?' ? *s == '/' : *p != *s)) {
            return 0;
        }
    }
    return *s == '\0';
}

/* A conversion of printf that is none here ("%05d"); NULL: there is none. A '%' before
 * anything but a letter or digit is one in the name ("100%"). */
static const char *unknown_conversion(const char *text)
{
    for (const char *p = strchr(text, '%'); p != NULL; p = strchr(p + 1, '%'))
        if (p[1] != 'd' && isalnum((unsigned char)p[1]))
            return p;
    return NULL;
}

static int check(const char *text, struct scr_err *err)
{
    const char *unknown = unknown_conversion(text);
    const char *first = strstr(text, "%d");
    if (first && strstr(first + 2, "%d"))
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_INTERPOSE_PATTERN: %s has %%d twice; a checkpoint has one "
                        "number",
                        text);
    if (unknown)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_INTERPOSE_PATTERN: %s has %.2s, which stands for nothing: "
                        "write %%d for a number of any width, * for any text",
                        text, unknown);
    if (strncmp(text, "../", 3) == 0 || strstr(text, "/../"))
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_INTERPOSE_PATTERN: %s: write it without \"..\"", text);
    return SCR_OK;
}

/* An absolute pattern as seen from the prefix. */
static int make_relative(const char **text, const char *prefix, struct scr_err *err)
{
    size_t n = strlen(prefix);
    if ((*text)[0] != '/')
        return SCR_OK;
    if (strncmp(*text, prefix, n) != 0 || (*text)[n] != '/' || (*text)[n + 1] == '\0')
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "SCR_INTERPOSE_PATTERN: %s is outside the prefix directory %s "
                        "(set SCR_PREFIX)",
                        *text, prefix);
    /* With a '/', so that it stays a pattern for the whole path. */
    *text += strchr(*text + n + 1, '/') ? n + 1 : n;
    return SCR_OK;
}

static int add(struct scr_ip_patterns *p, char *text, const char *prefix,
               struct scr_err *err)
{
    const char **v = scr_reallocarray(p->v, p->n + 1, sizeof *v);
    if (v == NULL)
        return scr_no_memory(err);
    p->v = v;
    p->v[p->n] = strncmp(text, "./", 2) == 0 ? text + 1 : text;
    int rc = check(text, err);
    /* "./x" is x in the prefix directory itself. */
    if (rc == SCR_OK && text == p->v[p->n])
        rc = make_relative(&p->v[p->n], prefix, err);
    p->n++;
    return rc;
}

int scr_ip_patterns_init(struct scr_ip_patterns *p, const char *text,
                         const char *prefix, struct scr_err *err)
{
    int rc = SCR_OK;
    *p = (struct scr_ip_patterns){ .text = scr_strdup(text) };
    if (p->text == NULL)
        return scr_no_memory(err);
    char *at = p->text + strspn(p->text, blanks);
    while (rc == SCR_OK && *at != '\0') {
        char *end = at + strcspn(at, blanks);
        char *next = end + strspn(end, blanks);
        *end = '\0';
        rc = add(p, at, prefix, err);
        at = next;
    }
    if (rc == SCR_OK && p->n == 0)
        rc = scr_fail(err, SCR_E_CONFIG, 0, "SCR_INTERPOSE_PATTERN is blank");
    if (rc != SCR_OK)
        scr_ip_patterns_fini(p);
    return rc;
}

void scr_ip_patterns_fini(struct scr_ip_patterns *p)
{
    free(p->text);
    free(p->v);
    *p = (struct scr_ip_patterns){ 0 };
}

/* "/x" is x at the top, "x" a last component, "a/x" a path. */
static int matches_path(const char *pattern, const char *rel, int64_t *number)
{
    *number = SCR_IP_NO_NUMBER;
    if (pattern[0] == '/')
        return matches(pattern + 1, rel, number);
    return matches(pattern, strchr(pattern, '/') ? rel : scr_path_base(rel), number);
}

int scr_ip_patterns_match(const struct scr_ip_patterns *p, const char *rel,
                          int64_t *number)
{
    for (size_t i = 0; i < p->n; i++)
        if (matches_path(p->v[i], rel, number))
            return 1;
    return 0;
}

int scr_ip_patterns_may_match(const struct scr_ip_patterns *p, const char *path)
{
    int64_t number;
    for (size_t i = 0; i < p->n; i++)
        if (matches(scr_path_base(p->v[i]), scr_path_base(path), &number))
            return 1;
    return 0;
}
