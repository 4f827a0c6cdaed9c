/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what the parameter table says for people. */
#include "param_doc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 78 };

/* --- pieces --- */

void scr_doc_wrap(struct scr_str *out, const char *indent, const char *text,
                  size_t width)
{
    size_t room = width > strlen(indent) + 20 ? width - strlen(indent) : 20;
    while (*text != '\0') {
        size_t n = scr_fit(text, room);
        scr_str_append(out, indent);
        scr_str_append_n(out, text, n);
        scr_str_append(out, "\n");
        text += n;
        text += strspn(text, " ");
    }
}

void scr_doc_type(struct scr_str *out, const struct scr_spec *spec)
{
    char words[160];
    if (spec->type == SCR_TYPE_STR && !spec->component)
        return;
    if (spec->type == SCR_TYPE_INT && spec->max > INT_MAX && spec->word == NULL)
        (void)snprintf(words, sizeof words, "an integer, at least %.0f", spec->min);
    else
        (void)scr_spec_expected(spec, words, sizeof words);
    if (words[0] >= 'a' && words[0] <= 'z')
        words[0] = (char)(words[0] - 'a' + 'A');
    scr_str_printf(out, " %s", words);
    if (spec->type != SCR_TYPE_SIZE && spec->type != SCR_TYPE_SECONDS &&
        spec->unit[0] != '\0')
        scr_str_printf(out, " (%s)", spec->unit);
    scr_str_append(out, ".");
}

const char *scr_doc_derived_default(const struct scr_spec *spec)
{
    static const char *const derived[][2] = {
        { "SCR_PREFIX", "the current directory" },
        { "SCR_JOB_ID", "from the resource manager" },
        { "SCR_USER_NAME", "$USER" },
        { "SCR_CLUSTER_NAME", "from the resource manager" },
    };
    for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++)
        if (strcmp(spec->name, derived[i][0]) == 0)
            return derived[i][1];
    return spec->def ? spec->def : "not set";
}

/* --- the manual page --- */

static const char page_head[] =
    "% SCR_PARAMS(5) | SCR configuration\n"
    "\n"
    "<!-- Made by \"scr param --markdown\" from src/defs/params.def; edit that. -->\n"
    "\n"
    "# NAME\n"
    "\n"
    "scr_params - configuration files and parameters of SCR\n"
    "\n"
    "# SOURCES\n"
    "\n"
    "The value of a parameter is the first one found in\n"
    "\n"
    "1. the environment,\n"
    "2. the user file: the one named by **SCR_CONF_FILE**, which must exist, or\n"
    "   *.scrconf* in the prefix directory,\n"
    "3. the calls of **SCR_Config**(3) in the program,\n"
    "4. the system file, */etc/scr/scr.conf* unless SCR was built with another path,\n"
    "5. the default.\n"
    "\n"
    "An empty value counts as not set. Settings of the program are kept\n"
    "in *.scr/app.conf* below the prefix directory, for the commands. A value that a\n"
    "parameter does not take is an error; an unknown name is a warning.\n"
    "**scr param \\--explain** *NAME* prints where a value comes from, and\n"
    "**scr param \\--check** *FILE* checks a file before it is used.\n"
    "\n"
    "# SYNTAX\n"
    "\n"
    "A file has one setting a line, *KEY*=*VALUE*. Empty lines and everything after\n"
    "**#** are ignored. Keys may be in lower case. A value with blanks is put into\n"
    "double quotes. A backslash takes the meaning from the character after it.\n"
    "*\\$NAME* and *\\${NAME}* stand for a variable of the environment, which must be\n"
    "defined. Some keys have children on the same line:\n"
    "\n"
    "    SCR_COPY_TYPE=FILE\n"
    "    STORE=/ssd GROUP=NODE COUNT=3\n"
    "    CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=16\n"
    "    CKPT=1 INTERVAL=8 TYPE=PARTNER STORE=/ssd\n"
    "\n"
    "Sizes take the units k, m, g, t, p and e, with an optional b or ib, always\n"
    "powers of 1024; times take s, m, h, d and y. Fractions are allowed in both.\n"
    "\n"
    "Below, the default of each parameter is in parentheses.\n";

static const char page_tail[] = "# SEE ALSO\n"
                                "\n"
                                "**scr_param**(1), **scr**(7)\n";

static void heading(struct scr_str *out, const char *title)
{
    scr_str_append(out, "\n# ");
    for (const char *p = title; *p != '\0'; p++) {
        char c = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        scr_str_append_n(out, &c, 1);
    }
    scr_str_append(out, "\n");
}

/* Markdown gives a meaning to these; names and paths of the texts have them too. */
static void escape(struct scr_str *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (strchr("\\`*_{}[]<>$#|", *p) != NULL)
            scr_str_append(out, "\\");
        scr_str_append_n(out, p, 1);
    }
}

/* A definition: the term is given, text follows wrapped under it. */
static void definition(struct scr_str *out, const struct scr_str *text)
{
    struct scr_str body = SCR_STR_INIT;
    scr_doc_wrap(&body, "    ", text->p ? text->p : "", WIDTH);
    if (body.len > 4)
        scr_str_printf(out, ":   %s", body.p + 4);
    out->bad |= body.bad || text->bad;
    scr_str_free(&body);
}

static void aliases_of(struct scr_str *out, const char *name)
{
    for (size_t i = 0; i < scr_naliases; i++) {
        if (strcmp(scr_aliases[i].name, name) != 0)
            continue;
        scr_str_append(out, " Also known as ");
        escape(out, scr_aliases[i].alias);
        scr_str_append(out, ".");
    }
}

static void parameter(struct scr_str *out, const struct scr_spec *spec)
{
    struct scr_str text = SCR_STR_INIT, type = SCR_STR_INIT;
    scr_str_printf(out, "\n**%s** (", spec->name);
    escape(out, scr_doc_derived_default(spec));
    scr_str_append(out, ")\n");
    escape(&text, spec->doc);
    scr_doc_type(&type, spec);
    escape(&text, type.p ? type.p : "");
    if (spec->who == SCR_WHO_EARLY)
        scr_str_append(&text, " Cannot be set in a file.");
    aliases_of(&text, spec->name);
    scr_str_printf(&text, " Since SCR %s.", spec->since);
    definition(out, &text);
    scr_str_free(&text);
    scr_str_free(&type);
}

static void children(struct scr_str *out, const char *key)
{
    for (size_t i = 0; i < scr_nchild_specs; i++) {
        const struct scr_spec *spec = &scr_child_specs[i];
        if (strcmp(spec->parent, key) != 0)
            continue;
        struct scr_str text = SCR_STR_INIT;
        scr_str_printf(out, "\n**%s** *%s* (", key, spec->name);
        escape(out, spec->def);
        scr_str_append(out, ")\n");
        escape(&text, spec->doc);
        definition(out, &text);
        scr_str_free(&text);
    }
}

static void line(struct scr_str *out, const struct scr_line_spec *spec)
{
    struct scr_str text = SCR_STR_INIT;
    scr_str_printf(out, "\n**%s**\n", spec->key);
    escape(&text, spec->doc);
    scr_str_printf(&text, " Since SCR %s.", spec->since);
    definition(out, &text);
    scr_str_free(&text);
    children(out, spec->key);
}

static void without_effect(struct scr_str *out)
{
    heading(out, "Names of SCR 3.x without effect");
    scr_str_append(out, "\nSCR warns of each of them once.\n");
    for (size_t i = 0; i < scr_nwithouts; i++) {
        const struct scr_without *w = &scr_withouts[i];
        struct scr_str text = SCR_STR_INIT;
        scr_str_printf(out, "\n**%s**%s%s\n", w->name, w->key[0] ? " of " : "", w->key);
        scr_str_printf(&text, "%c%s.", w->why[0] & ~0x20, w->why + 1);
        definition(out, &text);
        scr_str_free(&text);
    }
}

void scr_doc_markdown(struct scr_str *out)
{
    scr_str_append(out, page_head);
    for (size_t i = 0; i < scr_nspecs; i++) {
        if (scr_specs[i].type == SCR_TYPE_SECTION)
            heading(out, scr_specs[i].name);
        else
            parameter(out, &scr_specs[i]);
    }
    heading(out, "Lines with children");
    for (size_t i = 0; i < scr_nline_specs; i++)
        line(out, &scr_line_specs[i]);
    without_effect(out);
    scr_str_append(out, "\n");
    scr_str_append(out, page_tail);
}

/* --- the example --- */

static const char example_head[] = "# Configuration of SCR, with every parameter as a "
                                   "comment; scr_params(5) explains\n"
                                   "# the syntax. Put it into .scrconf in the prefix "
                                   "directory or into the system file,\n"
                                   "# and check it with: scr param --check FILE\n";

static const char example_lines[] = "#GROUPS=node1 POWER=psu1\n"
                                    "#STORE=/ssd GROUP=NODE COUNT=3\n"
                                    "#CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=8\n"
                                    "#CKPT=1 INTERVAL=8 TYPE=PARTNER STORE=/ssd\n"
                                    "#CNTLDIR=/tmp BYTES=10m\n"
                                    "#CACHEDIR=/ssd BYTES=100g\n";

static void example_parameter(struct scr_str *out, const struct scr_spec *spec)
{
    if (spec->who == SCR_WHO_EARLY)
        return;
    scr_str_append(out, "\n");
    scr_doc_wrap(out, "# ", spec->doc, WIDTH);
    if (spec->def == NULL)
        scr_str_printf(out, "# Default: %s.\n", scr_doc_derived_default(spec));
    scr_str_printf(out, "#%s=%s\n", spec->name, spec->def ? spec->def : "");
}

void scr_doc_example(struct scr_str *out)
{
    scr_str_append(out, example_head);
    for (size_t i = 0; i < scr_nspecs; i++) {
        if (scr_specs[i].type == SCR_TYPE_SECTION)
            scr_str_printf(out, "\n# ---- %s ----\n", scr_specs[i].name);
        else
            example_parameter(out, &scr_specs[i]);
    }
    scr_str_append(out, "\n# ---- Lines with children ----\n");
    for (size_t i = 0; i < scr_nline_specs; i++) {
        scr_str_append(out, "\n");
        scr_str_printf(out, "# %s\n", scr_line_specs[i].key);
        scr_doc_wrap(out, "# ", scr_line_specs[i].doc, WIDTH);
    }
    scr_str_append(out, "\n");
    scr_str_append(out, example_lines);
}
