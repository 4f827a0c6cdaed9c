/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a command line by the command's option table. */
#include "args.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

const struct scr_opt scr_builtin_opts[] = {
    { "help", 'h', NULL, "print this help and exit" },
    { "version", 'V', NULL, "print the version and exit" },
    { "verbose", 'v', NULL, "say more, as with SCR_DEBUG=1" },
    { 0 },
};

static const enum scr_builtin builtin_meaning[] = { SCR_ARGS_HELP, SCR_ARGS_VERSION,
                                                    SCR_ARGS_RUN };
static const struct scr_opt no_opts[] = { { 0 } };

struct parse {
    const struct scr_opt
        *tables[2]; /* the command's own rows, then the built-in ones */
    char **argv;
    int argc, at;       /* argv[at] is being looked at */
    int takes_operands; /* a word that is no option may be one */
    struct scr_args *a;
    enum scr_builtin *builtin;
    struct scr_err *err;
};

/* --- what was meant --- */

const char *scr_args_nearest(const char *word, const char *const *names)
{
    /* this many edits are another word */
    struct scr_nearest near = { word, NULL, (int)strlen(word) / 3 + 1 };
    for (; *names != NULL; names++)
        scr_nearest_try(&near, *names);
    return near.best;
}

static int unknown_option(const struct parse *p, const char *name)
{
    const char *names[SCR_TOOL_MAX_OPTS + 8];
    size_t n = 0;
    for (int t = 0; t < 2; t++)
        for (const struct scr_opt *o = p->tables[t]; o->name != NULL; o++)
            names[n++] = o->name;
    names[n] = NULL;
    const char *near = scr_args_nearest(name, names);
    return near != NULL
               ? scr_fail(p->err, SCR_E_USAGE, 0,
                          "unknown option --%s (did you mean --%s?)", name, near)
               : scr_fail(p->err, SCR_E_USAGE, 0, "unknown option --%s", name);
}

/* --- finding the row --- */

/* A row and the table it is in; row -1: none. */
struct found {
    int table, row;
};

static const struct scr_opt *found_opt(const struct parse *p, struct found f)
{
    return &p->tables[f.table][f.row];
}

/* By the first len bytes of name: the whole name, or the only one that starts with
 * them. */
static int find_long(const struct parse *p, const char *name, size_t len,
                     struct found *f)
{
    int starts = 0;
    f->row = -1;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; p->tables[t][i].name != NULL; i++) {
            const char *known = p->tables[t][i].name;
            if (strncmp(known, name, len) != 0)
                continue;
            *f = (struct found){ t, i };
            if (known[len] == '\0')
                return 1;
            starts++;
        }
    }
    return starts;
}

static struct found find_letter(const struct parse *p, char letter)
{
    for (int t = 0; t < 2; t++)
        for (int i = 0; p->tables[t][i].name != NULL; i++)
            if (p->tables[t][i].letter == letter)
                return (struct found){ t, i };
    return (struct found){ 0, -1 };
}

/* --- taking it --- */

static void record(const struct parse *p, struct found f, const char *value)
{
    if (f.table == 1) {
        if (*p->builtin == SCR_ARGS_RUN)
            *p->builtin = builtin_meaning[f.row];
        p->a->verbose |= builtin_meaning[f.row] == SCR_ARGS_RUN;
        return;
    }
    p->a->opt[f.row] = value;
}

/* "[SECONDS]": the value may be left out. */
static int is_optional(const struct scr_opt *o)
{
    return o->metavar[0] == '[';
}

/* The next word can only be the value of this option: it is no option, and the command
 * takes no operands. */
static int is_value_next(const struct parse *p)
{
    return p->at + 1 < p->argc && !p->takes_operands && p->argv[p->at + 1][0] != '-';
}

/* Value of an option: what stands in the same word, else the next word. */
static int take_value(struct parse *p, struct found f, const char *shown,
                      const char *attached)
{
    if (attached == NULL && is_optional(found_opt(p, f)) && !is_value_next(p))
        attached = "";
    if (attached == NULL && p->at + 1 < p->argc)
        attached = p->argv[++p->at];
    if (attached == NULL)
        return scr_fail(p->err, SCR_E_USAGE, 0, "option %s needs a value: %s", shown,
                        found_opt(p, f)->metavar);
    record(p, f, attached);
    return SCR_OK;
}

static int parse_long(struct parse *p)
{
    const char *word = p->argv[p->at], *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *attached = name[len] == '=' ? name + len + 1 : NULL;
    struct found f;
    char *shown = scr_asprintf("%.*s", (int)len + 2, word);
    int n = shown && len > 0 ? find_long(p, name, len, &f) : 0;
    int rc = SCR_OK;
    if (shown == NULL)
        rc = scr_no_memory(p->err);
    else if (n == 0)
        rc = unknown_option(p, shown + 2);
    else if (n > 1 && found_opt(p, f)->name[len] != '\0')
        rc =
            scr_fail(p->err, SCR_E_USAGE, 0, "option %s could be more than one", shown);
    else if (found_opt(p, f)->metavar != NULL)
        rc = take_value(p, f, shown, attached);
    else if (attached != NULL)
        rc = scr_fail(p->err, SCR_E_USAGE, 0, "option %s takes no value", shown);
    else
        record(p, f, "");
    free(shown);
    return rc;
}

static int parse_letters(struct parse *p)
{
    for (const char *c = p->argv[p->at] + 1; *c != '\0'; c++) {
        const char shown[] = { '-', *c, '\0' };
        struct found f = find_letter(p, *c);
        if (f.row < 0)
            return scr_fail(p->err, SCR_E_USAGE, 0, "unknown option %s", shown);
        if (found_opt(p, f)->metavar != NULL)
            return take_value(p, f, shown, c[1] != '\0' ? c + 1 : NULL);
        record(p, f, "");
    }
    return SCR_OK;
}

static void add_operand(struct scr_args *a, const char *word)
{
    a->operand[a->noperands++] = word;
}

static int check_operands(const struct scr_cmd *cmd, const struct scr_args *a,
                          struct scr_err *err)
{
    if (a->noperands < cmd->min_operands)
        return scr_fail(err, SCR_E_USAGE, 0, "too few arguments");
    if (cmd->max_operands >= 0 && a->noperands > cmd->max_operands)
        return scr_fail(err, SCR_E_USAGE, 0, "unexpected argument \"%s\"",
                        a->operand[cmd->max_operands]);
    return SCR_OK;
}

/* Options and operands up to "--", or up to the first operand where that ends them. */
static int parse_words(struct parse *p, int stop_at_operand)
{
    int rc = SCR_OK;
    for (; p->at < p->argc && rc == SCR_OK; p->at++) {
        const char *word = p->argv[p->at];
        if (strcmp(word, "--") == 0) {
            p->at++;
            return SCR_OK;
        }
        if (strncmp(word, "--", 2) == 0)
            rc = parse_long(p);
        else if (word[0] == '-' && word[1] != '\0')
            rc = parse_letters(p);
        else if (stop_at_operand)
            return SCR_OK;
        else
            add_operand(p->a, word);
    }
    return rc;
}

/* A command that hands its arguments on. */
static int parse_raw(struct parse *p)
{
    static const char *const own[] = { "--help", "-h", "--version", "-V" };
    for (size_t i = 0; i < sizeof own / sizeof own[0] && p->argc > 1; i++)
        if (strcmp(p->argv[1], own[i]) == 0) {
            *p->builtin = builtin_meaning[i / 2];
            p->at = p->argc;
        }
    return SCR_OK;
}

int scr_args_parse(const struct scr_cmd *cmd, int argc, char **argv, struct scr_args *a,
                   enum scr_builtin *builtin, struct scr_err *err)
{
    struct parse p = { .tables = { cmd->opts ? cmd->opts : no_opts, scr_builtin_opts },
                       .argv = argv,
                       .argc = argc,
                       .at = 1,
                       .takes_operands = cmd->max_operands != 0,
                       .a = a,
                       .builtin = builtin,
                       .err = err };
    *a = (struct scr_args){ 0 };
    *builtin = SCR_ARGS_RUN;
    a->operand = scr_calloc((size_t)argc + 1, sizeof *a->operand);
    TRY(a->operand ? SCR_OK : scr_no_memory(err));
    int rc = cmd->raw ? parse_raw(&p) : parse_words(&p, cmd->stop_at_operand);
    while (rc == SCR_OK && p.at < argc)
        add_operand(a, argv[p.at++]);
    if (rc == SCR_OK && *builtin == SCR_ARGS_RUN)
        rc = check_operands(cmd, a, err);
    return rc;
}

void scr_args_fini(struct scr_args *a)
{
    free(a->operand);
    a->operand = NULL;
}

/* --- help --- */

enum { HELP_COLUMN = 30 }; /* where the explanations start */

/* has_letter: 0 if the letter is another option's. */
static void help_row(FILE *out, const struct scr_opt *o, int has_letter)
{
    if (o->help == NULL)
        return;
    int n = o->letter != 0 && has_letter
                ? fprintf(out, "  -%c, --%s", o->letter, o->name)
                : fprintf(out, "      --%s", o->name);
    if (o->metavar != NULL)
        n += is_optional(o) ? fprintf(out, "[=%s", o->metavar + 1)
                            : fprintf(out, "=%s", o->metavar);
    if (n > HELP_COLUMN - 2)
        n = fprintf(out, "\n") - 1;
    fprintf(out, "%*s%s\n", HELP_COLUMN - n, "", o->help);
}

void scr_args_help(FILE *out, const char *who, const struct scr_cmd *cmd)
{
    fprintf(out, "Usage: %s %s\n\n%s\n\nOptions:\n", who, cmd->usage, cmd->about);
    const struct scr_opt *own = cmd->opts ? cmd->opts : no_opts;
    for (const struct scr_opt *o = own; o->name != NULL; o++)
        help_row(out, o, 1);
    for (const struct scr_opt *o = scr_builtin_opts; o->name != NULL; o++) {
        int taken = 0;
        for (const struct scr_opt *other = own; other->name != NULL; other++)
            taken |= other->letter == o->letter;
        help_row(out, o, !taken);
    }
    if (cmd->notes != NULL)
        fprintf(out, "\n%s\n", cmd->notes);
}
