/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of struct scr_cfg, for the files of src/cfg only: one hash a source.
 *
 *     SCR_FLUSH → { VALUE → 10, ORIGIN → /p/.scrconf:3 }
 *     CKPT      → { LINE → { 0 → line } }
 *     line      = { ORIGIN, CHILD → { TYPE → { VALUE, ORIGIN } } }
 *
 * Names are upper case and aliases are resolved before anything is stored. An empty
 * value counts as not set, whatever the source. */
#ifndef SCR_CFG_SOURCE_H
#define SCR_CFG_SOURCE_H

#include "base/hash.h"
#include "cfg/cfg.h"
#include "cfg/grammar.h"

struct scr_cfg {
    scr_hash *environ; /* NAME → value, all of it, to expand values with */
    scr_hash *source[SCR_CFG_NSOURCES];
    char *system_file; /* NULL: none */
    char *prefix;      /* SCR_PREFIX made absolute by load, NULL before */
    scr_hash *warned;  /* names a warning was given for */
};

/* Name as it is stored: upper case, alias resolved; malloc'd. */
char *scr_source_name(const char *name);

/* Sets (or with "" removes) one value. given: the name as the user wrote it, kept in
 * the origin if it is an alias. */
int scr_source_set(scr_hash *source, const char *given, const char *value,
                   const char *origin, struct scr_err *err);
/* VALUE of a simple name, NULL if not set; *origin (may be NULL) is its origin. */
const char *scr_source_get(const scr_hash *source, const char *name,
                           const char **origin);

/* Stores a parsed line whose first item has a value. A parameter with children, or a
 * child without a value, is SCR_E_CONFIG. */
int scr_source_add(scr_hash *source, const struct scr_conf_line *line,
                   const char *origin, struct scr_err *err);
/* key → LINE, or NULL. */
const scr_hash *scr_source_lines(const scr_hash *source, const char *key);

/* Lookup of the grammar: arg is a struct scr_cfg. */
const char *scr_source_lookup(const char *name, void *arg);

/* Every source as the lines that would set it, one a line. */
struct scr_str;
void scr_source_print(struct scr_str *out, const scr_hash *source);

#endif
