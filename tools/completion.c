/* SPDX-License-Identifier: BSD-3-Clause */
/* Scripts by which a shell completes names of commands, options and parameters. */
#include "completion.h"

#include <string.h>

#include "args.h"
#include "cfg/spec.h"

/* The value of an option; OPTIONAL: offered in the same word only, as --watch=5. */
enum kind { FLAG, DIRECTORY, PATH, VALUE, OPTIONAL };

static enum kind kind_of(const struct scr_opt *o)
{
    if (o->metavar == NULL)
        return FLAG;
    if (o->metavar[0] == '[')
        return OPTIONAL;
    if (strncmp(o->metavar, "DIR", 3) == 0)
        return DIRECTORY;
    return strncmp(o->metavar, "FILE", 4) == 0 ? PATH : VALUE;
}

/* Calls for the listed options of a command, and for those that all have. */
static void each_option(FILE *out, const struct scr_cmd *cmd, const char *arg,
                        void (*f)(FILE *, const struct scr_opt *, const char *))
{
    for (const struct scr_opt *o = cmd->opts; o != NULL && o->name != NULL; o++)
        if (o->help != NULL)
            f(out, o, arg);
    for (const struct scr_opt *o = scr_builtin_opts; o->name != NULL; o++)
        if (o->help != NULL)
            f(out, o, arg);
}

static void put_parameters(FILE *out, const char *before)
{
    for (size_t i = 0; i < scr_nspecs; i++)
        if (scr_specs[i].type != SCR_TYPE_SECTION)
            fprintf(out, "%s%s", before, scr_specs[i].name);
}

/* Text inside single quotes; the shell's own marks get a backslash. */
static void put_quoted(FILE *out, const char *text, const char *marks)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(marks, *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* --- bash --- */

static void put_long(FILE *out, const struct scr_opt *o, const char *arg)
{
    (void)arg;
    fprintf(out, " --%s", o->name);
}

/* Options whose value is of the kind whose first letter arg is. */
static void put_of_kind(FILE *out, const struct scr_opt *o, const char *arg)
{
    if (kind_of(o) != (enum kind)(*arg - '0'))
        return;
    fprintf(out, " --%s", o->name);
    if (o->letter != 0)
        fprintf(out, " -%c", o->letter);
}

static void put_links(FILE *out, const char *links, const char *between)
{
    for (size_t n; *links != '\0'; links += n + strspn(links + n, " ")) {
        n = strcspn(links, " ");
        fprintf(out, "%s%.*s", between, (int)n, links);
    }
}

static void bash_case(FILE *out, const struct scr_command_row *r)
{
    static const struct {
        const char *name, *kind;
    } lists[] = { { "dirs", "1" }, { "files", "2" }, { "values", "3" } };
    fprintf(out, "    %s", r->name);
    put_links(out, r->links, "|");
    fputs(") opts='", out);
    each_option(out, r->cmd, NULL, put_long);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        fprintf(out, "' %s='", lists[i].name);
        each_option(out, r->cmd, lists[i].kind, put_of_kind);
    }
    fputs("'", out);
    if (strcmp(r->name, "param") == 0) {
        fputs(" words='", out);
        put_parameters(out, " ");
        fputs("'", out);
    }
    fputs(" ;;\n", out);
}

static void bash(FILE *out, const struct scr_command_row *rows, size_t n)
{
    fputs("# bash completion of SCR, made by: scr completion bash\n"
          "_scr() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local cmd=${COMP_WORDS[0]##*/} at=1 opts= dirs= files= values= words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$cmd\" = scr ]; then\n"
          "        [ \"${COMP_WORDS[1]}\" != help ] || at=2\n"
          "        if [ \"$COMP_CWORD\" -le \"$at\" ]; then\n"
          "            COMPREPLY=($(compgen -W 'help",
          out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s", rows[i].name);
    fputs(" --help --version' -- \"$cur\"))\n"
          "            return\n"
          "        fi\n"
          "        cmd=${COMP_WORDS[1]}\n"
          "    fi\n"
          "    case ${cmd//-/_} in\n",
          out);
    for (size_t i = 0; i < n; i++)
        bash_case(out, &rows[i]);
    fputs("    esac\n"
          "    # --name=value comes as three words\n"
          "    if [ \"$cur\" = = ]; then\n"
          "        cur=\n"
          "    elif [ \"$prev\" = = ]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    case \" $dirs \" in *\" $prev \"*)\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;\n"
          "    esac\n"
          "    case \" $values \" in *\" $prev \"*) return ;; esac\n"
          "    case \" $files \" in *\" $prev \"*) ;;\n"
          "    *) case $cur in\n"
          "        -*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\")); return ;;\n"
          "        esac\n"
          "        if [ -n \"$words\" ]; then\n"
          "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return\n"
          "        fi ;;\n"
          "    esac\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "}\n"
          "complete -F _scr scr",
          out);
    for (size_t i = 0; i < n; i++)
        put_links(out, rows[i].links, " ");
    fputs("\n", out);
}

/* --- zsh --- */

static void zsh_option(FILE *out, const struct scr_opt *o, const char *arg)
{
    /* Texts behind the long name, the letter, and the name of the value. */
    static const struct {
        const char *name, *letter, *value;
    } forms[] = { { "", "", "" },
                  { "=", "+", ":_files -/" },
                  { "=", "+", ":_files" },
                  { "=", "+", ": " },
                  { "=-", "-", ": " } };
    const enum kind kind = kind_of(o);
    (void)arg;
    for (int is_long = o->letter == 0; is_long < 2; is_long++) {
        if (is_long)
            fprintf(out, "      '--%s%s[", o->name, forms[kind].name);
        else
            fprintf(out, "      '-%c%s[", o->letter, forms[kind].letter);
        put_quoted(out, o->help, "[]");
        fputs("]", out);
        if (o->metavar != NULL) {
            fputs(kind == OPTIONAL ? "::" : ":", out);
            put_quoted(out, o->metavar, ":");
            fputs(forms[kind].value, out);
        }
        fputs("' \\\n", out);
    }
}

static void zsh_case(FILE *out, const struct scr_command_row *r)
{
    fprintf(out, "    (%s", r->name);
    put_links(out, r->links, "|");
    fputs(") _arguments -s \\\n", out);
    each_option(out, r->cmd, NULL, zsh_option);
    if (strcmp(r->name, "param") == 0) {
        fputs("      '*:parameter:(", out);
        put_parameters(out, " ");
        fputs(")' ;;\n", out);
    } else
        fputs("      '*:file:_files' ;;\n", out);
}

static void zsh(FILE *out, const struct scr_command_row *rows, size_t n)
{
    fputs("#compdef scr", out);
    for (size_t i = 0; i < n; i++)
        put_links(out, rows[i].links, " ");
    fputs("\n# zsh completion of SCR, made by: scr completion zsh\n"
          "_scr_of() {\n"
          "  case ${1//-/_} in\n",
          out);
    for (size_t i = 0; i < n; i++)
        zsh_case(out, &rows[i]);
    fputs("  esac\n"
          "}\n"
          "_scr() {\n"
          "  local -a commands\n"
          "  if [[ $service != scr ]]; then\n"
          "    _scr_of $service\n"
          "    return\n"
          "  fi\n"
          "  if (( CURRENT > 2 )) && [[ $words[2] != help ]]; then\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    _scr_of $words[1]\n"
          "    return\n"
          "  fi\n"
          "  commands=(\n",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "    '%s:", rows[i].name);
        put_quoted(out, rows[i].summary, ":");
        fputs("'\n", out);
    }
    fputs("  )\n"
          "  _describe command commands\n"
          "}\n"
          "_scr \"$@\"\n",
          out);
}

/* --- fish --- */

/* arg: "-c <command>", with a condition where the command is scr. */
static void fish_option(FILE *out, const struct scr_opt *o, const char *arg)
{
    static const char *const of[] = { "", " -xa '(__fish_complete_directories)'",
                                      " -rF", " -x", "" };
    fprintf(out, "complete %s -l %s", arg, o->name);
    if (o->letter != 0)
        fprintf(out, " -s %c", o->letter);
    fprintf(out, "%s -d '", of[kind_of(o)]);
    for (const char *c = o->help; *c != '\0'; c++)
        fprintf(out, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    fputs("'\n", out);
}

static void fish_command(FILE *out, const struct scr_command_row *r, const char *arg)
{
    each_option(out, r->cmd, arg, fish_option);
    if (strcmp(r->name, "param") != 0)
        return;
    fprintf(out, "complete %s -xa '", arg);
    put_parameters(out, " ");
    fputs("'\n", out);
}

static void fish(FILE *out, const struct scr_command_row *rows, size_t n)
{
    char arg[128];
    fputs("# fish completion of SCR, made by: scr completion fish\n", out);
    for (size_t i = 0; i < n; i++) {
        const struct scr_command_row *r = &rows[i];
        fprintf(out, "complete -c scr -n __fish_use_subcommand -xa %s -d '%s'\n",
                r->name, r->summary);
        (void)snprintf(arg, sizeof arg, "-c scr -n '__fish_seen_subcommand_from %s'",
                       r->name);
        fish_command(out, r, arg);
        const char *link = r->links;
        for (size_t len; *link != '\0'; link += len + strspn(link + len, " ")) {
            len = strcspn(link, " ");
            (void)snprintf(arg, sizeof arg, "-c %.*s", (int)len, link);
            fish_command(out, r, arg);
        }
    }
}

int scr_completion_print(struct scr_tool *t, const char *shell,
                         const struct scr_command_row *rows, size_t n,
                         struct scr_err *err)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const struct scr_command_row *rows, size_t n);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(t->out, rows, n);
            return SCR_OK;
        }
    return scr_tool_usage(t, err, "completion for a shell: give bash, zsh or fish");
}
