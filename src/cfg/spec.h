/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of defs/params.def as data: looking one up, checking and converting a text
 * by it, and saying in words what it accepts. Everything here is constant. */
#ifndef SCR_CFG_SPEC_H
#define SCR_CFG_SPEC_H

#include <stddef.h>
#include <stdint.h>

enum scr_type {
    SCR_TYPE_SECTION, /* no parameter: name is the title of the rows that follow */
    SCR_TYPE_BOOL,
    SCR_TYPE_INT,
    SCR_TYPE_SIZE,
    SCR_TYPE_SECONDS,
    SCR_TYPE_DOUBLE,
    SCR_TYPE_STR,
    SCR_TYPE_ENUM
};

enum scr_who { SCR_WHO_ANYONE, SCR_WHO_EARLY };

struct scr_spec {
    enum scr_type type;
    const char *name;    /* "SCR_FLUSH", or of a child "INTERVAL" */
    const char *parent;  /* key of the line a child belongs to; NULL for parameters */
    const char *def;     /* default as text, NULL: unset; of a child also "$SCR_NAME" */
    double min, max;     /* of numbers, inclusive */
    const char *word;    /* of INT: a word it may be, SCR_AUTO; else NULL */
    const char *choices; /* of ENUM: "A|B|C[:level]" */
    int moment;          /* of SECONDS: a point in time, or 0; no duration */
    int component;       /* of STR: has to be usable as one component of a path */
    const char *unit;    /* "" if none */
    const char *since;
    enum scr_who who;
    const char *doc;
    size_t offset, id_offset; /* members of struct scr_params; unused for children */
};

/* A key whose lines have children. */
struct scr_line_spec {
    const char *key, *since, *doc;
};

struct scr_alias {
    const char *alias, *name;
};

/* A name of SCR 3.x that has no effect here: a parameter, or of a line with that key a
 * child (key "": a parameter). */
struct scr_without {
    const char *key, *name, *why;
};

extern const struct scr_spec scr_specs[]; /* in the order of the manual page */
extern const size_t scr_nspecs;
extern const struct scr_spec scr_child_specs[];
extern const size_t scr_nchild_specs;
extern const struct scr_line_spec scr_line_specs[];
extern const size_t scr_nline_specs;
extern const struct scr_alias scr_aliases[];
extern const size_t scr_naliases;
extern const struct scr_without scr_withouts[];
extern const size_t scr_nwithouts;

/* Exact, upper case; NULL if there is none. Aliases are not looked up here. */
const struct scr_spec *scr_spec_find(const char *name);
const struct scr_spec *scr_spec_child(const char *key, const char *child);
const struct scr_line_spec *scr_spec_line(const char *key);
/* The name an alias stands for, else name itself. */
const char *scr_spec_unalias(const char *name);

/* Why the name has no effect, NULL: it is none of those. */
const char *scr_spec_without(const char *key, const char *name);
/* The value that counts instead of text, which is one of SCR 3.x; NULL: it is not. */
const char *scr_spec_instead(const struct scr_spec *spec, const char *text);

/* The known name nearest to one that is unknown, NULL if none is near: among
 * parameters, aliases and keys of lines, or with key among the children of that key. */
const char *scr_spec_nearest(const char *name, const char *key);

/* A converted value: the member of the row's type is set (id for ENUM). */
struct scr_value {
    int i, id;
    uint64_t u;
    double d;
};

/* 1 if text is a value of the row, out set; else 0. */
int scr_spec_parse(const struct scr_spec *spec, const char *text,
                   struct scr_value *out);

/* "an integer from 1 to 254", "0 or 1", "one of SYNC, PTHREAD, DAEMON": what
 * scr_spec_parse takes, into buf (cut to n bytes; 128 are enough). Returns buf. */
const char *scr_spec_expected(const struct scr_spec *spec, char *buf, size_t n);

#endif
