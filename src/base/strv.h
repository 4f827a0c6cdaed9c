/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing list of strings that is always NULL-terminated: the arguments or the
 * environment of a program to be started. */
#ifndef SCR_BASE_STRV_H
#define SCR_BASE_STRV_H

#include <stddef.h>

/* Starts as SCR_STRV_INIT. After a failed allocation bad stays 1, so a chain of calls
 * needs one check at the end. v is NULL while it is empty: use scr_strv_argv. */
struct scr_strv {
    char **v;
    size_t n;
    int bad;
};
#define SCR_STRV_INIT                                                                  \
    {                                                                                  \
        0, 0, 0                                                                        \
    }

void scr_strv_free(struct scr_strv *s);
void scr_strv_add(struct scr_strv *s, const char *text);
void scr_strv_printf(struct scr_strv *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* One text: head, then the words with commas between. */
void scr_strv_join(struct scr_strv *s, const char *head, char *const *words, size_t n);
/* Each of a NULL-terminated list. */
void scr_strv_add_all(struct scr_strv *s, const char *const *texts);
/* As struct scr_proc_spec takes it; borrowed until the next change. */
const char *const *scr_strv_argv(const struct scr_strv *s);
/* All of them with blanks between, malloc'd; for people to read. */
char *scr_strv_text(const struct scr_strv *s);

#endif
