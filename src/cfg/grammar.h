/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of a configuration line, the same in files and in SCR_Config:
 *
 *     KEY=VALUE                     # comment
 *     CKPT=0 TYPE=XOR SET_SIZE=16   a key and its children
 *     SCR_PREFIX="/p/my dir/$RUN"   quotes keep blanks; $NAME and ${NAME} expand
 *
 * Keys are letters, digits, '_', '.', '-' and turned into upper case. Blanks may stand
 * around the '='. A backslash takes the meaning from the character after it. A value
 * may contain '='. */
#ifndef SCR_CFG_GRAMMAR_H
#define SCR_CFG_GRAMMAR_H

#include <stddef.h>

#include "base/err.h"

/* Value of an environment variable for $NAME, NULL if undefined. */
typedef const char *(*scr_conf_lookup)(const char *name, void *arg);

struct scr_conf_item {
    char *key;
    char *value; /* NULL: no '=' after the key (queries have none) */
};

struct scr_conf_line {
    struct scr_conf_item *item;
    size_t n; /* 0: nothing but blanks and comment */
};

/* Parses one line of n bytes, without its newline. On error (SCR_E_CONFIG, SCR_E_NOMEM)
 * out is empty and err says what is wrong without saying where; prefix it with file and
 * line. */
int scr_conf_parse(const char *text, size_t n, scr_conf_lookup lookup, void *arg,
                   struct scr_conf_line *out, struct scr_err *err);
void scr_conf_line_free(struct scr_conf_line *line);

/* n bytes as a string in upper case (ASCII letters only), malloc'd. */
char *scr_conf_upper(const char *text, size_t n);

/* value as a quoted VALUE that parses back to itself, appended to out. */
struct scr_str;
void scr_conf_quote(struct scr_str *out, const char *value);
/* The same without quotes where they are not needed. */
void scr_conf_value(struct scr_str *out, const char *value);

#endif
