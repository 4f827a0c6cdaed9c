/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing, NULL-terminated list of strings. */
#include "base/strv.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"

void scr_strv_free(struct scr_strv *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct scr_strv)SCR_STRV_INIT;
}

/* Takes text over. */
static void take(struct scr_strv *s, char *text)
{
    char **v = text && !s->bad ? scr_reallocarray(s->v, s->n + 2, sizeof *v) : NULL;
    if (v == NULL) {
        free(text);
        s->bad = 1;
        return;
    }
    v[s->n++] = text;
    v[s->n] = NULL;
    s->v = v;
}

void scr_strv_add(struct scr_strv *s, const char *text)
{
    take(s, scr_strdup(text));
}

void scr_strv_printf(struct scr_strv *s, const char *fmt, ...)
{
    struct scr_str text = SCR_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    scr_str_vprintf(&text, fmt, ap);
    va_end(ap);
    take(s, scr_str_take(&text));
}

void scr_strv_join(struct scr_strv *s, const char *head, char *const *words, size_t n)
{
    struct scr_str text = SCR_STR_INIT;
    scr_str_append(&text, head);
    for (size_t i = 0; i < n; i++)
        scr_str_printf(&text, "%s%s", i ? "," : "", words[i]);
    take(s, scr_str_take(&text));
}

void scr_strv_add_all(struct scr_strv *s, const char *const *texts)
{
    for (; texts != NULL && *texts != NULL; texts++)
        scr_strv_add(s, *texts);
}

const char *const *scr_strv_argv(const struct scr_strv *s)
{
    static const char *const none[] = { NULL };
    return s->v ? (const char *const *)(uintptr_t)s->v : none;
}

char *scr_strv_text(const struct scr_strv *s)
{
    struct scr_str text = SCR_STR_INIT;
    for (size_t i = 0; i < s->n; i++)
        scr_str_printf(&text, "%s%s", i ? " " : "", s->v[i]);
    return scr_str_take(&text);
}
