/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_param: values of parameters, where they come from, and what they mean. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "cfg/cfg.h"
#include "cfg/grammar.h"
#include "cfg/spec.h"
#include "param_doc.h"
#include "tool.h"

enum {
    OPT_LIST,
    OPT_CHANGED,
    OPT_EXPLAIN,
    OPT_CHECK,
    OPT_EXAMPLE,
    OPT_MARKDOWN,
    OPT_PREFIX,
    OPT_JSON
};

static const struct scr_opt opts[] = {
    [OPT_LIST] = { "list", 'l', NULL,
                   "print every parameter, its value and its origin" },
    [OPT_CHANGED] = { "changed", 'd', NULL,
                      "the same of those that differ from the default" },
    [OPT_EXPLAIN] = { "explain", 'e', NULL,
                      "print every source of NAME and its documentation" },
    [OPT_CHECK] = { "check", 'c', "FILE", "check a configuration file" },
    [OPT_EXAMPLE] = { "example", 0, NULL,
                      "print a configuration file with every parameter as a comment" },
    [OPT_MARKDOWN] = { "markdown", 0, NULL, NULL /* the source of scr_params(5) */ },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "use the configuration of the prefix DIR" },
    [OPT_JSON] = { "json", 0, NULL, "print JSON" },
    { 0 },
};

static const int actions[] = { OPT_LIST,    OPT_EXPLAIN,  OPT_CHECK,
                               OPT_EXAMPLE, OPT_MARKDOWN, -1 };

enum { ORIGIN_COLUMN = 40 }; /* of lists: values that are longer push it to the right */

static const char *const source_names[SCR_CFG_NSOURCES] = {
    [SCR_CFG_ENV] = "environment", [SCR_CFG_USER] = "user file",
    [SCR_CFG_APP] = "SCR_Config",  [SCR_CFG_SYSTEM] = "system file",
    [SCR_CFG_DEFAULT] = "default",
};

/* --- one name --- */

static int is_known(const char *name)
{
    const char *real = scr_spec_unalias(name);
    return scr_spec_find(real) != NULL || scr_spec_line(real) != NULL;
}

/* The known name that is nearest to text, with or without "SCR_" before it; NULL: there
 * is none. */
static const char *nearest(const char *text)
{
    const char *near = scr_spec_nearest(text, NULL);
    char *longer = scr_asprintf("SCR_%s", text);
    const char *other = longer ? scr_spec_nearest(longer, NULL) : NULL;
    if (other != NULL && (near == NULL || scr_edit_distance(longer, other) <
                                              scr_edit_distance(text, near)))
        near = other;
    free(longer);
    return near;
}

/* name as the table spells it, malloc'd, also of a text without "SCR_"; an unknown one
 * is an error with the nearest. */
static int take_name(const char *text, char **name, struct scr_err *err)
{
    char *upper = scr_conf_upper(text, strlen(text));
    char *longer = upper ? scr_asprintf("SCR_%s", upper) : NULL;
    if (longer != NULL && !is_known(upper) && is_known(longer)) {
        free(upper);
        upper = scr_strdup(longer);
    }
    free(longer);
    TRY(upper ? SCR_OK : scr_no_memory(err));
    const char *real = scr_spec_unalias(upper);
    int known = is_known(upper);
    *name = scr_strdup(real);
    const char *near = nearest(upper);
    const char *why = scr_spec_without("", upper);
    free(upper);
    if (known)
        return *name ? SCR_OK : scr_no_memory(err);
    free(*name);
    *name = NULL;
    if (why != NULL)
        return scr_fail(err, SCR_E_ARG, 0, "%s has no effect: %s", text, why);
    if (near == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "unknown parameter %s", text);
    return scr_fail(err, SCR_E_ARG, 0, "unknown parameter %s; did you mean %s?", text,
                    near);
}

static int check_value(const struct scr_spec *spec, const char *value,
                       const char *origin, struct scr_err *err)
{
    struct scr_value v;
    char expected[160];
    if (spec == NULL || value == NULL || scr_spec_parse(spec, value, &v))
        return SCR_OK;
    return scr_fail(err, SCR_E_CONFIG, 0, "%s=%s (%s): expected %s", spec->name, value,
                    origin, scr_spec_expected(spec, expected, sizeof expected));
}

/* --- lines with children --- */

/* The text of a line with its origin as a comment, in its column; frees it. */
static int print_out(struct scr_tool *t, struct scr_str *out, const char *origin,
                     struct scr_err *err)
{
    int rc = out->bad ? scr_no_memory(err) : SCR_OK;
    if (rc == SCR_OK)
        scr_tool_print_line(t, "%-*s  # %s", ORIGIN_COLUMN, out->p,
                            origin ? origin : "?");
    scr_str_free(out);
    return rc;
}

static int print_line(struct scr_tool *t, const char *key, const scr_hash_elem *e,
                      struct scr_err *err)
{
    struct scr_str out = SCR_STR_INIT;
    const scr_hash *line = scr_hash_elem_hash(e);
    const char *origin;
    scr_str_printf(&out, "%s=", key);
    scr_conf_quote(&out, scr_hash_elem_key(e));
    for (SCR_HASH_EACH(c, scr_cfg_line_children(line))) {
        scr_str_printf(&out, " %s=", scr_hash_elem_key(c));
        scr_conf_quote(&out, scr_cfg_line_get(line, scr_hash_elem_key(c), NULL));
    }
    (void)scr_cfg_line_get(line, NULL, &origin);
    return print_out(t, &out, origin, err);
}

/* *n: how many lines there are. */
static int print_lines(struct scr_tool *t, const char *key, size_t *n,
                       struct scr_err *err)
{
    scr_hash *lines = scr_cfg_lines(t->cfg, key);
    int rc = lines != NULL ? SCR_OK : scr_no_memory(err);
    for (SCR_HASH_EACH(e, lines))
        rc = scr_first(rc, print_line(t, key, e, err));
    *n = scr_hash_size(lines);
    scr_hash_delete(lines);
    return rc;
}

static json_t *json_of_line(const scr_hash *line)
{
    json_t *o = json_object();
    for (SCR_HASH_EACH(c, scr_cfg_line_children(line))) {
        const char *child = scr_hash_elem_key(c);
        o = scr_tool_json_add(o, child,
                              scr_tool_json_text(scr_cfg_line_get(line, child, NULL)));
    }
    return o;
}

static json_t *json_of_lines(const struct scr_cfg *cfg, const char *key)
{
    json_t *o = json_object(), *values = json_object();
    scr_hash *lines = scr_cfg_lines(cfg, key);
    for (SCR_HASH_EACH(e, lines)) {
        char *value = scr_tool_utf8(scr_hash_elem_key(e));
        values = scr_tool_json_add(values, value, json_of_line(scr_hash_elem_hash(e)));
        free(value);
    }
    scr_hash_delete(lines);
    o = scr_tool_json_add(o, "name", json_string(key));
    o = scr_tool_json_add(o, "lines", values);
    return o;
}

/* --- JSON of parameters --- */

static json_t *json_of_sources(const struct scr_cfg *cfg, const char *name)
{
    json_t *all = json_array();
    for (int s = 0; s < SCR_CFG_NSOURCES; s++) {
        const char *origin;
        const char *value =
            scr_cfg_get_from(cfg, name, (enum scr_cfg_source)s, &origin);
        json_t *one = json_object();
        one = scr_tool_json_add(one, "source", json_string(source_names[s]));
        one = scr_tool_json_add(one, "value", scr_tool_json_text(value));
        one = scr_tool_json_add(one, "origin", scr_tool_json_text(origin));
        all = scr_tool_json_append(all, one);
    }
    return all;
}

static json_t *json_of_name(const struct scr_cfg *cfg, const char *name, int full)
{
    const struct scr_spec *spec = scr_spec_find(name);
    if (spec == NULL)
        return json_of_lines(cfg, name);
    json_t *o = json_object();
    o = scr_tool_json_add(o, "name", json_string(name));
    o = scr_tool_json_add(o, "value", scr_tool_json_text(scr_cfg_get(cfg, name)));
    o = scr_tool_json_add(o, "origin", scr_tool_json_text(scr_cfg_origin(cfg, name)));
    if (!full)
        return o;
    char expected[160];
    (void)scr_spec_expected(spec, expected, sizeof expected);
    o = scr_tool_json_add(o, "default", scr_tool_json_text(spec->def));
    o = scr_tool_json_add(o, "expected", json_string(expected));
    o = scr_tool_json_add(o, "unit", json_string(spec->unit));
    o = scr_tool_json_add(o, "since", json_string(spec->since));
    o = scr_tool_json_add(o, "doc", json_string(spec->doc));
    o = scr_tool_json_add(o, "sources", json_of_sources(cfg, name));
    return o;
}

/* changed: only what differs from the default. */
static int is_listed(const struct scr_cfg *cfg, const struct scr_spec *spec,
                     int changed)
{
    const char *value = scr_cfg_get(cfg, spec->name), *origin;
    const char *def = scr_cfg_get_from(cfg, spec->name, SCR_CFG_DEFAULT, &origin);
    return spec->type != SCR_TYPE_SECTION &&
           (!changed || (value != NULL && (def == NULL || strcmp(value, def) != 0)));
}

static json_t *json_of_all(const struct scr_cfg *cfg, int changed)
{
    json_t *all = json_array();
    for (size_t i = 0; i < scr_nspecs; i++)
        if (is_listed(cfg, &scr_specs[i], changed))
            all = scr_tool_json_append(all, json_of_name(cfg, scr_specs[i].name, 0));
    for (size_t i = 0; i < scr_nline_specs; i++) {
        json_t *lines = json_of_lines(cfg, scr_line_specs[i].key);
        if (!changed || json_object_size(json_object_get(lines, "lines")) > 0 ||
            lines == NULL)
            all = scr_tool_json_append(all, lines);
        else
            json_decref(lines);
    }
    return all;
}

/* --- NAME --- */

static int print_value(struct scr_tool *t, const char *name, struct scr_err *err)
{
    size_t n = 0;
    if (scr_spec_find(name) == NULL) {
        int rc = print_lines(t, name, &n, err);
        return rc == SCR_OK && n == 0 ? SCR_TOOL_NO : rc;
    }
    const char *value = scr_cfg_get(t->cfg, name);
    if (value == NULL)
        return SCR_TOOL_NO;
    TRY(check_value(scr_spec_find(name), value, scr_cfg_origin(t->cfg, name), err));
    scr_tool_print(t, "%s\n", value);
    return SCR_OK;
}

/* --- --list --- */

static int print_setting(struct scr_tool *t, const struct scr_spec *spec,
                         struct scr_err *err)
{
    struct scr_str out = SCR_STR_INIT;
    struct scr_err bad = SCR_ERR_INIT;
    const char *value = scr_cfg_get(t->cfg, spec->name);
    const char *origin = scr_cfg_origin(t->cfg, spec->name);
    if (value == NULL)
        scr_tool_print(t, "# %s is not set\n", spec->name);
    else if (check_value(spec, value, origin, &bad) != SCR_OK)
        scr_tool_print(t, "# error: %s\n", bad.text);
    else {
        scr_str_printf(&out, "%s=", spec->name);
        if (value[strcspn(value, " \t#\"\\$")] != '\0')
            scr_conf_quote(&out, value);
        else
            scr_str_append(&out, value);
        return print_out(t, &out, origin, err);
    }
    return SCR_OK;
}

static int list(struct scr_tool *t, int changed, struct scr_err *err)
{
    size_t n;
    for (size_t i = 0; i < scr_nspecs; i++)
        if (is_listed(t->cfg, &scr_specs[i], changed))
            TRY(print_setting(t, &scr_specs[i], err));
    for (size_t i = 0; i < scr_nline_specs; i++)
        TRY(print_lines(t, scr_line_specs[i].key, &n, err));
    return SCR_OK;
}

/* --- --explain --- */

static void explain_source(struct scr_tool *t, const char *name, int source, int *found)
{
    const char *origin;
    const char *value =
        scr_cfg_get_from(t->cfg, name, (enum scr_cfg_source)source, &origin);
    if (value == NULL) {
        scr_tool_print(t, "    %-12s -\n", source_names[source]);
        return;
    }
    int plain = strcmp(origin, source_names[source]) == 0;
    scr_tool_print_line(t, "  %s %-12s %s%s%s%s", *found ? " " : "*",
                        source_names[source], value, plain ? "" : "  (",
                        plain ? "" : origin, plain ? "" : ")");
    *found = 1;
}

static int explain_parameter(struct scr_tool *t, const struct scr_spec *spec,
                             struct scr_err *err)
{
    struct scr_str text = SCR_STR_INIT;
    int found = 0;
    const char *value = scr_cfg_get(t->cfg, spec->name);
    if (value == NULL)
        scr_tool_print(t, "%s is not set\n", spec->name);
    else
        scr_tool_print_line(t, "%s=%s", spec->name, value);
    for (int s = 0; s < SCR_CFG_NSOURCES; s++)
        explain_source(t, spec->name, s, &found);
    scr_str_append(&text, "\n");
    scr_doc_wrap(&text, "  ", spec->doc, 78);
    scr_str_append(&text, " ");
    scr_doc_type(&text, spec);
    scr_str_printf(&text, " Since SCR %s.\n", spec->since);
    int rc;
    TRY_OUT(text.bad ? scr_no_memory(err) : SCR_OK);
    scr_tool_print(t, "%s", text.p);
    rc = check_value(spec, value, scr_cfg_origin(t->cfg, spec->name), err);
out:
    scr_str_free(&text);
    return rc;
}

static int explain_lines(struct scr_tool *t, const struct scr_line_spec *spec,
                         struct scr_err *err)
{
    struct scr_str text = SCR_STR_INIT;
    size_t n;
    int rc = print_lines(t, spec->key, &n, err);
    if (rc == SCR_OK && n == 0)
        scr_tool_print(t, "no %s lines\n", spec->key);
    scr_str_append(&text, "\n");
    scr_doc_wrap(&text, "  ", spec->doc, 78);
    for (size_t i = 0; i < scr_nchild_specs; i++) {
        const struct scr_spec *c = &scr_child_specs[i];
        if (strcmp(c->parent, spec->key) != 0)
            continue;
        scr_str_printf(&text, "\n  %s (default %s)\n", c->name, c->def);
        scr_doc_wrap(&text, "      ", c->doc, 78);
    }
    if (rc == SCR_OK && text.bad)
        rc = scr_no_memory(err);
    if (rc == SCR_OK)
        scr_tool_print(t, "%s", text.p);
    scr_str_free(&text);
    return rc;
}

static int explain(struct scr_tool *t, const char *name, struct scr_err *err)
{
    const struct scr_spec *spec = scr_spec_find(name);
    return spec ? explain_parameter(t, spec, err)
                : explain_lines(t, scr_spec_line(name), err);
}

/* --- --check --- */

static int check(struct scr_tool *t, const char *path, struct scr_err *err)
{
    int errors = 0, warnings = 0;
    struct scr_cfg *cfg = scr_cfg_new();
    TRY(cfg ? SCR_OK : scr_no_memory(err));
    int rc;
    TRY_OUT(scr_cfg_set_environ(cfg, t->environ, err));
    TRY_OUT(scr_cfg_check_file(&t->env, cfg, path, &errors, &warnings, err));
    scr_tool_print_line(t, "%s: %d error%s, %d warning%s", path, errors,
                        errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
    rc = errors > 0 ? SCR_TOOL_NO : SCR_OK;
out:
    scr_cfg_free(cfg);
    return rc;
}

/* --- the command --- */

static int print_doc(struct scr_tool *t, void (*doc)(struct scr_str *),
                     struct scr_err *err)
{
    struct scr_str out = SCR_STR_INIT;
    doc(&out);
    if (out.bad)
        return scr_no_memory(err);
    scr_tool_print(t, "%s", out.p);
    scr_str_free(&out);
    return SCR_OK;
}

static int answer_name(struct scr_tool *t, const struct scr_args *a, const char *name,
                       struct scr_err *err)
{
    int full = a->opt[OPT_EXPLAIN] != NULL;
    if (a->opt[OPT_JSON] != NULL)
        return scr_tool_json(t, json_of_name(t->cfg, name, full), err);
    return full ? explain(t, name, err) : print_value(t, name, err);
}

static int run_with_cfg(struct scr_tool *t, const struct scr_args *a,
                        struct scr_err *err)
{
    char *name = NULL;
    int changed = a->opt[OPT_CHANGED] != NULL;
    int wants_name = a->opt[OPT_LIST] == NULL && !changed;
    if (wants_name != a->noperands)
        return scr_tool_usage(
            t, err,
            wants_name ? "NAME is missing, for example SCR_FLUSH; --list prints all"
                       : "--%s takes no NAME",
            changed ? "changed" : "list");
    int rc = wants_name ? take_name(a->operand[0], &name, err) : SCR_OK;
    if (rc == SCR_OK)
        rc = scr_tool_cfg(t, a->opt[OPT_PREFIX], err);
    if (rc == SCR_OK && wants_name)
        rc = answer_name(t, a, name, err);
    else if (rc == SCR_OK)
        rc = a->opt[OPT_JSON] ? scr_tool_json(t, json_of_all(t->cfg, changed), err)
                              : list(t, changed, err);
    free(name);
    return rc;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    TRY(scr_tool_exclusive(t, a, err, actions));
    if (a->opt[OPT_CHECK] != NULL)
        return check(t, a->opt[OPT_CHECK], err);
    if (a->opt[OPT_EXAMPLE] != NULL)
        return print_doc(t, scr_doc_example, err);
    if (a->opt[OPT_MARKDOWN] != NULL)
        return print_doc(t, scr_doc_markdown, err);
    return run_with_cfg(t, a, err);
}

const struct scr_cmd scr_cmd_param = {
    .usage = "[OPTION]... [NAME]",
    .about = "Prints the value of the parameter NAME, or does what the option says. "
             "Reads the\n"
             "same sources as the library: environment, user file, what the program "
             "set with\n"
             "SCR_Config, system file, defaults.",
    .opts = opts,
    .notes =
        "Exit status: 0 success; 1 the parameter is not set, or the file has errors;\n"
        "2 wrong use or a failure. scr_params(5) describes every parameter.",
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
