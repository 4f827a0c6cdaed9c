/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors: filled once, where the cause is known. */
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const struct {
    int code;
    const char *meaning;
} known[] = {
    { SCR_OK, "success" },
#define X(name, value, text) { value, text },
#include "defs/errors.def"
#undef X
};

/* Codes for errno values more precise than "input/output error". */
static const struct {
    int sys, code;
} refined[] = {
    { ENOSPC, SCR_E_FULL },
    { EDQUOT, SCR_E_FULL },
    { ENOMEM, SCR_E_NOMEM },
    { ENOENT, SCR_E_NOENT },
};

static int refine(int code, int sys)
{
    if (code != SCR_E_IO)
        return code;
    for (size_t i = 0; i < sizeof refined / sizeof refined[0]; i++)
        if (refined[i].sys == sys)
            return refined[i].code;
    return code;
}

/* "No such file" -> "no such file", but "RPC failed" stays. */
static void add_cause(char *text, size_t size, int sys)
{
    size_t len = strlen(text);
    const char *cause = strerror(sys);
    snprintf(text + len, size - len, ": %s", cause);
    unsigned char *first = (unsigned char *)text + len + 2;
    if (isupper(first[0]) && islower(first[1]))
        *first = (unsigned char)tolower(*first);
}

/* vsnprintf that shows where it had to cut. */
static void format_cut(char *buf, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void format_cut(char *buf, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(buf, size, fmt, ap);
    if (n < 0)
        buf[0] = '\0';
    else if ((size_t)n >= size)
        memcpy(buf + size - 4, "...", 4);
}

int scr_fail(struct scr_err *err, int code, int sys, const char *fmt, ...)
{
    code = refine(code, sys);
    if (err == NULL || err->code != SCR_OK)
        return code;

    int saved = errno;
    /* A long path must not push the cause out of the text. */
    size_t room = sizeof err->text;
    if (sys != 0)
        room -= strlen(strerror(sys)) + 2;
    va_list ap;
    va_start(ap, fmt);
    format_cut(err->text, room, fmt, ap);
    va_end(ap);
    if (sys != 0)
        add_cause(err->text, sizeof err->text, sys);
    /* An error is one line, whatever a path in it contains. */
    scr_mask(err->text, strlen(err->text));
    err->code = code;
    err->sys = sys;
    errno = saved;
    return code;
}

int scr_no_memory(struct scr_err *err)
{
    return scr_fail(err, SCR_E_NOMEM, 0, "out of memory");
}

int scr_err_take(struct scr_err *err, int rc, const struct scr_err *why)
{
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "%s", why->text);
}

void scr_err_prefix(struct scr_err *err, const char *fmt, ...)
{
    if (err == NULL || err->code == SCR_OK)
        return;
    int saved = errno;
    char head[SCR_ERR_TEXT / 2];
    va_list ap;
    va_start(ap, fmt);
    format_cut(head, sizeof head - 2, fmt, ap);
    va_end(ap);
    size_t len = strlen(head);
    memcpy(head + len, ": ", 3); /* format_cut left room for it */
    len += 2;
    scr_mask(head, strlen(head));

    memmove(err->text + len, err->text, sizeof err->text - len);
    memcpy(err->text, head, len);
    err->text[sizeof err->text - 1] = '\0';
    errno = saved;
}

void scr_err_clear(struct scr_err *err)
{
    if (err != NULL)
        *err = (struct scr_err)SCR_ERR_INIT;
}

const char *scr_err_meaning(int code)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].code == code)
            return known[i].meaning;
    return "unknown error";
}

int scr_err_may_pass(int code)
{
    static const int codes[] = { SCR_E_NOMEM,  SCR_E_IO,  SCR_E_FULL,   SCR_E_UNSAFE,
                                 SCR_E_LOCKED, SCR_E_MPI, SCR_E_VERSION };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i] == code)
            return 1;
    return 0;
}
