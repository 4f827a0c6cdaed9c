/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameter table as data, and the types of its values. */
#include "cfg/spec.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "base/units.h"
#include "cfg/cfg.h"

#define ANYVALUE          .min = 0, .max = DBL_MAX
#define ATLEAST(lo)       .min = (lo), .max = DBL_MAX
#define ATLEAST_OR(lo, w) ATLEAST(lo), .word = (w)
#define MOMENT            ANYVALUE, .moment = 1
#define BETWEEN(lo, hi)   .min = (lo), .max = (hi)
#define ONEOF(list)       .choices = (list)
#define COMPONENT         .component = 1
#define ANYONE            SCR_WHO_ANYONE
#define EARLY             SCR_WHO_EARLY
#define FIELD(field)      .offset = offsetof(struct scr_params, field)
#define ID_BOOL(field)    FIELD(field)
#define ID_INT(field)     FIELD(field)
#define ID_SIZE(field)    FIELD(field)
#define ID_SECONDS(field) FIELD(field)
#define ID_DOUBLE(field)  FIELD(field)
#define ID_STR(field)     FIELD(field)
#define ID_ENUM(field)                                                                 \
    FIELD(field), .id_offset = offsetof(struct scr_params, field##_id)

const struct scr_spec scr_specs[] = {
#define S(title) { .type = SCR_TYPE_SECTION, .name = (title) },
#define X(NAME, field, TYPE, DEF, RANGE, UNIT, SINCE, WHO, DOC)                        \
    { .type = SCR_TYPE_##TYPE,                                                         \
      .name = #NAME,                                                                   \
      .def = (DEF),                                                                    \
      RANGE,                                                                           \
      .unit = (UNIT),                                                                  \
      .since = (SINCE),                                                                \
      .who = (WHO),                                                                    \
      .doc = (DOC),                                                                    \
      ID_##TYPE(field) },
#include "defs/params.def"
};
const size_t scr_nspecs = sizeof scr_specs / sizeof scr_specs[0];

const struct scr_spec scr_child_specs[] = {
#define C(KEY, CHILD, TYPE, DEF, RANGE, DOC)                                           \
    { .type = SCR_TYPE_##TYPE,                                                         \
      .name = #CHILD,                                                                  \
      .parent = #KEY,                                                                  \
      .def = (DEF),                                                                    \
      RANGE,                                                                           \
      .unit = "",                                                                      \
      .doc = (DOC) },
#include "defs/params.def"
};
const size_t scr_nchild_specs = sizeof scr_child_specs / sizeof scr_child_specs[0];

const struct scr_line_spec scr_line_specs[] = {
#define M(KEY, SINCE, DOC) { #KEY, (SINCE), (DOC) },
#include "defs/params.def"
};
const size_t scr_nline_specs = sizeof scr_line_specs / sizeof scr_line_specs[0];

const struct scr_alias scr_aliases[] = {
#define A(ALIAS, NAME) { #ALIAS, #NAME },
#include "defs/params.def"
};
const size_t scr_naliases = sizeof scr_aliases / sizeof scr_aliases[0];

const struct scr_without scr_withouts[] = {
#define O(KEY, NAME, WHY) { (KEY), #NAME, (WHY) },
#include "defs/params.def"
};
const size_t scr_nwithouts = sizeof scr_withouts / sizeof scr_withouts[0];

/* A value of SCR 3.x, of the parameter or of children that take the same values. */
static const struct instead {
    const char *name, *value, *instead;
} insteads[] = {
#define V(NAME, VALUE, INSTEAD) { #NAME, (VALUE), (INSTEAD) },
#include "defs/params.def"
};

const char *scr_spec_without(const char *key, const char *name)
{
    for (size_t i = 0; i < scr_nwithouts; i++)
        if (strcmp(scr_withouts[i].key, key) == 0 &&
            strcmp(scr_withouts[i].name, name) == 0)
            return scr_withouts[i].why;
    return NULL;
}

/* FLUSH of a store is a flush type, too. */
const char *scr_spec_instead(const struct scr_spec *spec, const char *text)
{
    const char *name = spec->parent == NULL               ? spec->name
                       : strcmp(spec->name, "FLUSH") == 0 ? "SCR_FLUSH_TYPE"
                                                          : "";
    for (size_t i = 0; i < sizeof insteads / sizeof insteads[0]; i++)
        if (strcmp(insteads[i].name, name) == 0 &&
            strcasecmp(insteads[i].value, text) == 0)
            return insteads[i].instead;
    return NULL;
}

const struct scr_spec *scr_spec_find(const char *name)
{
    for (size_t i = 0; i < scr_nspecs; i++)
        if (scr_specs[i].type != SCR_TYPE_SECTION &&
            strcmp(scr_specs[i].name, name) == 0)
            return &scr_specs[i];
    return NULL;
}

const struct scr_spec *scr_spec_child(const char *key, const char *child)
{
    for (size_t i = 0; i < scr_nchild_specs; i++)
        if (strcmp(scr_child_specs[i].parent, key) == 0 &&
            strcmp(scr_child_specs[i].name, child) == 0)
            return &scr_child_specs[i];
    return NULL;
}

const struct scr_line_spec *scr_spec_line(const char *key)
{
    for (size_t i = 0; i < scr_nline_specs; i++)
        if (strcmp(scr_line_specs[i].key, key) == 0)
            return &scr_line_specs[i];
    return NULL;
}

const char *scr_spec_unalias(const char *name)
{
    for (size_t i = 0; i < scr_naliases; i++)
        if (strcmp(scr_aliases[i].alias, name) == 0)
            return scr_aliases[i].name;
    return name;
}

static void nearest_among_all(struct scr_nearest *near)
{
    for (size_t i = 0; i < scr_nspecs; i++)
        if (scr_specs[i].type != SCR_TYPE_SECTION)
            scr_nearest_try(near, scr_specs[i].name);
    for (size_t i = 0; i < scr_naliases; i++)
        scr_nearest_try(near, scr_aliases[i].alias);
    for (size_t i = 0; i < scr_nline_specs; i++)
        scr_nearest_try(near, scr_line_specs[i].key);
}

static void nearest_among_children(struct scr_nearest *near, const char *key)
{
    for (size_t i = 0; i < scr_nchild_specs; i++)
        if (strcmp(scr_child_specs[i].parent, key) == 0)
            scr_nearest_try(near, scr_child_specs[i].name);
}

const char *scr_spec_nearest(const char *name, const char *key)
{
    size_t len = strlen(name);
    if (len > 64)
        return NULL;
    /* A name is near when a quarter of it or less has to change. */
    struct scr_nearest near = { name, NULL, 2 + (int)len / 4 };
    if (key != NULL)
        nearest_among_children(&near, key);
    else
        nearest_among_all(&near);
    return near.best;
}

/* --- types --- */

/* September 2001, in seconds since 1970: less is a duration ("2h") taken for a point in
 * time. No job ended before, and none lasts 31 years. */
static const double FIRST_MOMENT = 1e9;

static int in_range(const struct scr_spec *spec, double v)
{
    return v >= spec->min && v <= spec->max;
}

static int parse_bool(const struct scr_spec *spec, const char *text,
                      struct scr_value *out)
{
    (void)spec;
    return scr_parse_int(text, &out->i) && (out->i == 0 || out->i == 1);
}

static int parse_int(const struct scr_spec *spec, const char *text,
                     struct scr_value *out)
{
    if (spec->word != NULL && strcasecmp(text, spec->word) == 0) {
        out->i = SCR_AUTO;
        return 1;
    }
    return scr_parse_int(text, &out->i) && in_range(spec, out->i);
}

static int parse_size(const struct scr_spec *spec, const char *text,
                      struct scr_value *out)
{
    return scr_parse_size(text, &out->u) && in_range(spec, (double)out->u);
}

static int parse_seconds(const struct scr_spec *spec, const char *text,
                         struct scr_value *out)
{
    if (!scr_parse_seconds(text, &out->d) || !in_range(spec, out->d))
        return 0;
    return !spec->moment || out->d == 0 || out->d >= FIRST_MOMENT;
}

static int parse_double(const struct scr_spec *spec, const char *text,
                        struct scr_value *out)
{
    return scr_parse_f64(text, &out->d) && in_range(spec, out->d);
}

static int parse_str(const struct scr_spec *spec, const char *text,
                     struct scr_value *out)
{
    (void)out;
    return !spec->component || (text[0] != '\0' && strchr(text, '/') == NULL &&
                                strcmp(text, ".") != 0 && strcmp(text, "..") != 0);
}

static int level_ok(const char *text)
{
    int level;
    return scr_parse_int(text, &level) && level >= 1 && level <= 22;
}

/* choice is one item of n bytes of a list, perhaps with "[:level]" at its end. */
static int choice_matches(const char *choice, size_t n, const char *text)
{
    const char *bracket = memchr(choice, '[', n);
    size_t len = bracket ? (size_t)(bracket - choice) : n;
    if (strncasecmp(choice, text, len) != 0 || strlen(text) < len)
        return 0;
    if (text[len] == '\0')
        return 1;
    return bracket != NULL && text[len] == ':' && level_ok(text + len + 1);
}

static int parse_enum(const struct scr_spec *spec, const char *text,
                      struct scr_value *out)
{
    const char *choice = spec->choices, *instead = scr_spec_instead(spec, text);
    text = instead ? instead : text;
    for (int id = 0;; id++) {
        size_t n = strcspn(choice, "|");
        if (choice_matches(choice, n, text)) {
            out->id = id;
            return 1;
        }
        if (choice[n] == '\0')
            return 0;
        choice += n + 1;
    }
}

/* The expected value, in words; the range follows where the type has one. */
struct type {
    int (*parse)(const struct scr_spec *spec, const char *text, struct scr_value *out);
    const char *words;
    double most; /* largest value the C type holds; 0: no range */
};

static const struct type types[] = {
    [SCR_TYPE_BOOL] = { parse_bool, "0 or 1", 0 },
    [SCR_TYPE_INT] = { parse_int, "an integer", INT_MAX },
    [SCR_TYPE_SIZE] = { parse_size, "a size in bytes (or k, m, g)", DBL_MAX },
    [SCR_TYPE_SECONDS] = { parse_seconds, "a time in seconds (or m, h, d, y)",
                           DBL_MAX },
    [SCR_TYPE_DOUBLE] = { parse_double, "a number", DBL_MAX },
    [SCR_TYPE_STR] = { parse_str, "text", 0 },
    [SCR_TYPE_ENUM] = { parse_enum, "one of ", 0 },
};

int scr_spec_parse(const struct scr_spec *spec, const char *text, struct scr_value *out)
{
    struct scr_value v = { 0 };
    if (spec->type == SCR_TYPE_SECTION || !types[spec->type].parse(spec, text, &v))
        return 0;
    *out = v;
    return 1;
}

static void words_of_choices(const struct scr_spec *spec, char *buf, size_t n)
{
    struct scr_str s = SCR_STR_INIT;
    scr_str_append(&s, types[SCR_TYPE_ENUM].words);
    for (const char *c = spec->choices; *c != '\0'; c++)
        scr_str_append_n(&s, *c == '|' ? ", " : c, *c == '|' ? 2 : 1);
    snprintf(buf, n, "%s", s.p ? s.p : "");
    scr_str_free(&s);
}

static void words_of_range(const struct scr_spec *spec, char *buf, size_t n)
{
    const struct type *type = &types[spec->type];
    double max = spec->max < type->most ? spec->max : type->most;
    if (spec->word != NULL)
        snprintf(buf, n, "%s, at least %.0f, or %s", type->words, spec->min,
                 spec->word);
    else if (max < DBL_MAX)
        snprintf(buf, n, "%s from %.0f to %.0f", type->words, spec->min, max);
    else
        snprintf(buf, n, "%s, at least %.0f", type->words, spec->min);
}

const char *scr_spec_expected(const struct scr_spec *spec, char *buf, size_t n)
{
    if (spec->type == SCR_TYPE_ENUM)
        words_of_choices(spec, buf, n);
    else if (spec->component)
        snprintf(buf, n, "a name without '/'");
    else if (spec->moment)
        snprintf(buf, n,
                 "a point in time in seconds since 1970, as of date +%%s, or 0; "
                 "not a duration");
    else if (spec->type != SCR_TYPE_SECTION && types[spec->type].most > 0)
        words_of_range(spec, buf, n);
    else
        snprintf(buf, n, "%s", spec->type ? types[spec->type].words : "");
    return buf;
}
