/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors: a code and one line of text, filled once by the function that first knows the
 * cause, passed up unchanged and printed once, by the façade or the command.
 *
 *     if (sys->fsync(fd) != 0)
 *         return scr_fail(err, SCR_E_IO, errno, "fsync %s", path);
 */
#ifndef SCR_BASE_ERR_H
#define SCR_BASE_ERR_H

enum scr_code {
    SCR_OK = 0,
#define X(name, value, text) SCR_E_##name = value,
#include "defs/errors.def"
#undef X
    SCR_E_COUNT_
};

enum { SCR_ERR_TEXT = 1024 }; /* bytes of text kept, NUL included; longer text is cut */

struct scr_err {
    int code;   /* SCR_OK while nothing is wrong */
    int sys;    /* errno of the cause, 0 if none */
    int rank;   /* world rank that filled it, -1 if not known (serial tools) */
    int others; /* ranks that failed in the same step; 0 too if all of them did: then
                   each may only have learned of an earlier one */
    char text[SCR_ERR_TEXT]; /* "object verb: cause", lower case, no newline */
};

#define SCR_ERR_INIT                                                                   \
    {                                                                                  \
        0, 0, -1, 0, ""                                                                \
    }

/* Fills err unless it already holds an error (the first cause wins), appends ":
 * <strerror>" when sys is not 0, and returns code, so that callers write return
 * scr_fail(...). err may be NULL. ENOSPC and EDQUOT turn SCR_E_IO into SCR_E_FULL,
 * ENOMEM into SCR_E_NOMEM, ENOENT turns SCR_E_IO into SCR_E_NOENT. Keeps errno. */
int scr_fail(struct scr_err *err, int code, int sys, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with SCR_E_NOMEM; callers say of what it is, if they know more. */
int scr_no_memory(struct scr_err *err);

/* Of an error that another call put into why: unless rc is SCR_OK, fills err with that
 * text, as scr_fail does. Returns rc. */
int scr_err_take(struct scr_err *err, int rc, const struct scr_err *why);

/* Puts "<text>: " before the text of an error already filled; no-op on an empty err or
 * NULL. */
void scr_err_prefix(struct scr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Of two steps that are both taken: the first code that is an error. */
static inline int scr_first(int rc, int next)
{
    return rc != SCR_OK ? rc : next;
}

/* A step of a function that returns codes: when the call fails, the function ends with
 * its code. TRY where nothing has to be undone; TRY_OUT goes to the label out, with the
 * code in rc. */
#define TRY(call)                                                                      \
    do {                                                                               \
        int try_rc_ = (call);                                                          \
        if (try_rc_ != SCR_OK)                                                         \
            return try_rc_;                                                            \
    } while (0)
#define TRY_OUT(call)                                                                  \
    do {                                                                               \
        rc = (call);                                                                   \
        if (rc != SCR_OK)                                                              \
            goto out;                                                                  \
    } while (0)

void scr_err_clear(struct scr_err *err);

/* 1 for transient errors (no memory, no room, a call that failed), 0 for errors of the
 * data themselves: only these may cost data. */
int scr_err_may_pass(int code);

/* "input/output error"; for unknown codes "unknown error". */
const char *scr_err_meaning(int code);

#endif
