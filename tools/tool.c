/* SPDX-License-Identifier: BSD-3-Clause */
/* The program scr: finds the command, runs it, reports its error, gives the exit
 * status. */
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <jansson.h>

#include "args.h"
#include "base/cwd.h"
#include "base/hostlist.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "completion.h"
#include "store/arrival.h"

enum { EXIT_YES = 0, EXIT_NO = 1, EXIT_ERROR = 2 };

/* --- the table of commands --- */

#define X(name, links, summary, group) extern const struct scr_cmd scr_cmd_##name;
#include "defs/commands.def"

static const struct scr_command_row commands[] = {
#define X(name, links, summary, group)                                                 \
    { #name, links, summary, #group, &scr_cmd_##name },
#include "defs/commands.def"
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static const struct {
    const char *name, *title;
} groups[] = {
#define G(group, title) { #group, title },
#include "defs/commands.def"
};

/* Equal except for '-' and '_', over the first n bytes of a, where b ends. */
static int same_name(const char *a, size_t n, const char *b)
{
    if (strlen(b) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i]))
            return 0;
    return 1;
}

/* Whether word is one of the links of a command; bare: without "scr_" where they have
 * it. */
static int is_link(const struct scr_command_row *c, const char *word, int bare)
{
    const char *link = c->links;
    while (*link != '\0') {
        size_t n = strcspn(link, " ");
        size_t skip = bare && strncmp(link, "scr_", 4) == 0 ? 4 : 0;
        if (same_name(link + skip, n - skip, word))
            return 1;
        link += n + strspn(link + n, " ");
    }
    return 0;
}

/* bare: word may be the command's own name, too. */
static const struct scr_cmd *find_command(const char *word, int bare)
{
    for (int i = 0; i < NCOMMANDS; i++)
        if ((bare && same_name(commands[i].name, strlen(commands[i].name), word)) ||
            is_link(&commands[i], word, bare))
            return commands[i].cmd;
    return NULL;
}

/* --- context --- */

/* The configuration without its files, which is enough to find the prefix. */
static struct scr_cfg *cfg_of_environ(const struct scr_tool *t, struct scr_err *err)
{
    struct scr_cfg *cfg = scr_cfg_new();
    if (cfg == NULL) {
        scr_no_memory(err);
        return NULL;
    }
    if (scr_cfg_set_environ(cfg, t->environ, err) == SCR_OK)
        return cfg;
    scr_cfg_free(cfg);
    return NULL;
}

int scr_tool_cfg(struct scr_tool *t, const char *prefix, struct scr_err *err)
{
    int rc = SCR_OK;
    if (t->cfg != NULL)
        return SCR_OK;
    if ((t->cfg = cfg_of_environ(t, err)) == NULL)
        return SCR_E_NOMEM;
    if (prefix != NULL)
        rc = scr_cfg_override(t->cfg, "SCR_PREFIX", prefix, "--prefix", err);
    if (rc == SCR_OK && (rc = scr_cfg_load(&t->env, t->cfg, err)) == SCR_OK)
        rc = scr_cfg_load_app_conf(&t->env, t->cfg, err);
    if (rc != SCR_OK) {
        scr_cfg_free(t->cfg);
        t->cfg = NULL;
    }
    return rc;
}

/* Only the option and the environment count: a mistake in a configuration file
 * must not keep anyone from halting a job. */
int scr_tool_prefix(struct scr_tool *t, const char *given, int create,
                    struct scr_err *err)
{
    struct scr_cfg *cfg = given ? NULL : cfg_of_environ(t, err);
    if (given == NULL && cfg == NULL)
        return SCR_E_NOMEM;
    if (given == NULL)
        given = scr_cfg_getenv(cfg, "SCR_PREFIX");
    int rc = scr_prefix_open(&t->env, given && *given ? given : ".", create, &t->prefix,
                             err);
    scr_cfg_free(cfg);
    return rc;
}

int scr_tool_check_data(struct scr_tool *t, struct scr_err *err)
{
    struct stat st;
    int rc = scr_file_stat(t->env.sys, t->prefix.scr, &st, NULL);
    return rc != SCR_E_NOENT
               ? SCR_OK
               : scr_fail(err, rc, 0,
                          "no SCR data in %s: give the prefix directory with "
                          "--prefix",
                          t->prefix.path);
}

void scr_tool_note_no_data(struct scr_tool *t)
{
    struct scr_err why = SCR_ERR_INIT;
    if (scr_tool_check_data(t, &why) != SCR_OK)
        scr_log(t->env.log, SCR_LOG_NOTE, "%s", why.text);
}

int scr_tool_adopt(struct scr_tool *t)
{
    struct scr_err why = SCR_ERR_INIT;
    int *ids = NULL, n = 0;
    size_t pending = 0;
    if (scr_arrivals_pending(&t->env, &t->prefix, NULL, &ids, &pending, NULL) ==
            SCR_OK &&
        pending > 0 && scr_arrivals_adopt(&t->env, &t->prefix, &n, &why) != SCR_OK)
        scr_log(t->env.log, SCR_LOG_WARN, "datasets that were copied: %s", why.text);
    free(ids);
    return n;
}

/* The kernel knows the path we were started with. */
int scr_tool_program(const struct scr_tool *t, char **path, struct scr_err *err)
{
    const char *self = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    return scr_realpath(self ? self : t->self, path, err);
}

/* --- output --- */

void scr_tool_print(struct scr_tool *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(t->out, fmt, ap);
    va_end(ap);
}

void scr_tool_print_line(struct scr_tool *t, const char *fmt, ...)
{
    va_list ap;
    struct scr_str line = SCR_STR_INIT;
    va_start(ap, fmt);
    scr_str_vprintf(&line, fmt, ap);
    va_end(ap);
    scr_str_mask(&line);
    fprintf(t->out, "%s\n", line.bad || !line.p ? "out of memory" : line.p);
    scr_str_free(&line);
}

int scr_tool_json(struct scr_tool *t, struct json_t *value, struct scr_err *err)
{
    TRY(value ? SCR_OK : scr_no_memory(err));
    int bad = json_dumpf(value, t->out, JSON_INDENT(2)) != 0;
    if (!bad)
        fputc('\n', t->out);
    json_decref(value);
    /* Write errors are found by finish_output. */
    return bad && !ferror(t->out) ? scr_no_memory(err) : SCR_OK;
}

json_t *scr_tool_json_add(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *scr_tool_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* Text that is UTF-8 stays as it is. */
char *scr_tool_utf8(const char *bytes)
{
    struct scr_str s = SCR_STR_INIT;
    json_t *probe = json_string(bytes);
    json_decref(probe);
    if (probe != NULL)
        return scr_strdup(bytes);
    for (const unsigned char *c = (const unsigned char *)bytes; *c != '\0'; c++)
        scr_str_printf(&s, *c < 0x80 ? "%c" : "\\x%02X", *c);
    return scr_str_take(&s);
}

json_t *scr_tool_json_text(const char *bytes)
{
    char *text = bytes ? scr_tool_utf8(bytes) : NULL;
    json_t *value = text ? json_string(text) : bytes ? NULL : json_null();
    free(text);
    return value;
}

static int finish_output(struct scr_tool *t, struct scr_err *err)
{
    errno = 0;
    if (fflush(t->out) == 0 && !ferror(t->out))
        return SCR_OK;
    return scr_fail(err, SCR_E_IO, errno, "write stdout");
}

/* --- errors in the use of a command --- */

int scr_tool_usage(struct scr_tool *t, struct scr_err *err, const char *fmt, ...)
{
    va_list ap;
    (void)t;
    struct scr_str text = SCR_STR_INIT;
    va_start(ap, fmt);
    scr_str_vprintf(&text, fmt, ap);
    va_end(ap);
    scr_fail(err, SCR_E_USAGE, 0, "%s", text.bad || !text.p ? "wrong use" : text.p);
    scr_str_free(&text);
    return SCR_E_USAGE;
}

int scr_tool_exclusive(struct scr_tool *t, const struct scr_args *a,
                       struct scr_err *err, const int *rows)
{
    int first = -1;
    for (; *rows >= 0; rows++) {
        if (a->opt[*rows] == NULL)
            continue;
        if (first >= 0)
            return scr_tool_usage(t, err, "options --%s and --%s exclude each other",
                                  t->cmd->opts[first].name, t->cmd->opts[*rows].name);
        first = *rows;
    }
    return SCR_OK;
}

int scr_tool_int(struct scr_tool *t, const struct scr_args *a, int row,
                 struct scr_range range, int64_t *out, struct scr_err *err)
{
    int64_t v;
    if (a->opt[row] == NULL)
        return SCR_OK;
    if (!scr_parse_i64(a->opt[row], &v) || v < range.lo || v > range.hi)
        return scr_tool_usage(
            t, err, "option --%s: \"%s\" is not a whole number from %lld to %lld",
            t->cmd->opts[row].name, a->opt[row], (long long)range.lo,
            (long long)range.hi);
    *out = v;
    return SCR_OK;
}

int scr_tool_hosts(struct scr_tool *t, const struct scr_args *a, int row,
                   struct scr_hostlist *list, struct scr_err *err)
{
    struct scr_hostlist unused = SCR_HOSTLIST_INIT;
    const char *text = a->opt[row] ? a->opt[row] : "";
    int rc = scr_hostlist_expand(text, list ? list : &unused, err);
    if (rc != SCR_OK)
        scr_err_prefix(err, "option --%s", t->cmd->opts[row].name);
    scr_hostlist_free(&unused);
    return rc;
}

int scr_tool_host_operands(const struct scr_args *a, const char *first,
                           struct scr_hostlist *list, struct scr_err *err)
{
    struct scr_str all = SCR_STR_INIT;
    scr_str_printf(&all, "%s", first ? first : "");
    for (int i = 0; i < a->noperands; i++)
        scr_str_printf(&all, "%s%s", first || i > 0 ? "," : "", a->operand[i]);
    int rc = all.bad ? scr_no_memory(err) : scr_hostlist_expand(all.p, list, err);
    scr_str_free(&all);
    return rc;
}

int scr_tool_print_hosts(struct scr_tool *t, const struct scr_hostlist *list, int sort,
                         struct scr_err *err)
{
    char *text;
    TRY(scr_hostlist_compress(list, sort, &text, err));
    scr_tool_print(t, "%s\n", text);
    free(text);
    return SCR_OK;
}

/* --- running --- */

/* A wrong use names the way to the right one, in the same line. */
static int report(struct scr_tool *t, struct scr_err *err)
{
    if (err->code == SCR_E_USAGE)
        scr_log(&t->log, SCR_LOG_ERROR, "%s; see %s --help", err->text, t->who);
    else
        scr_log(&t->log, SCR_LOG_ERROR, "%s",
                err->text[0] != '\0' ? err->text : scr_err_meaning(err->code));
    return EXIT_ERROR;
}

static int print_version(struct scr_tool *t)
{
    fprintf(t->out, "%s (SCR) " SCR_VERSION "\n", t->who);
    return SCR_OK;
}

static int is_answer(int rc)
{
    return rc == SCR_OK || rc == SCR_TOOL_NO || rc == SCR_TOOL_STATUS;
}

static int run_command(struct scr_tool *t, int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    struct scr_args a;
    enum scr_builtin builtin;
    int rc = scr_args_parse(t->cmd, argc, argv, &a, &builtin, &err);
    if (rc == SCR_OK && builtin == SCR_ARGS_HELP)
        scr_args_help(t->out, t->who, t->cmd);
    else if (rc == SCR_OK && builtin == SCR_ARGS_VERSION)
        print_version(t);
    else if (rc == SCR_OK) {
        if (a.verbose)
            t->log.level = SCR_LOG_INFO;
        rc = t->cmd->run(t, &a, &err);
    }
    if (is_answer(rc) && finish_output(t, &err) != SCR_OK)
        rc = err.code;
    scr_args_fini(&a);
    scr_prefix_fini(&t->prefix);
    scr_cfg_free(t->cfg);
    if (is_answer(rc))
        return rc == SCR_OK ? EXIT_YES : rc == SCR_TOOL_NO ? EXIT_NO : t->status;
    err.code = err.code == SCR_OK ? rc : err.code;
    return report(t, &err);
}

/* --- `scr` itself --- */

/* Only where a terminal shows it, and no one has asked for plain text (NO_COLOR). */
static int is_colourful(const struct scr_tool *t)
{
    struct scr_cfg *cfg = cfg_of_environ(t, NULL);
    const char *no = cfg ? scr_cfg_getenv(cfg, "NO_COLOR") : NULL;
    const char *term = cfg ? scr_cfg_getenv(cfg, "TERM") : NULL;
    int plain = cfg == NULL || (no != NULL && *no != '\0') || term == NULL ||
                strcmp(term, "dumb") == 0 || !isatty(fileno(t->out));
    scr_cfg_free(cfg);
    return !plain;
}

static int program_help(struct scr_tool *t)
{
    const int bold = is_colourful(t);
    fprintf(t->out,
            "Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n\n"
            "Commands of SCR, the scalable checkpoint/restart library.\n",
            t->who);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        fprintf(t->out, "\n%s%s%s\n", bold ? "\033[1m" : "", groups[g].title,
                bold ? "\033[0m" : "");
        for (int i = 0; i < NCOMMANDS; i++)
            if (strcmp(commands[i].group, groups[g].name) == 0)
                fprintf(t->out, "  %-18s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(t->out,
            "\nEach also runs under its own name, as in scr_%s. For its options: %s\n"
            "COMMAND --help. Manual pages: scr(1), scr_%s(1) and so on, scr(7).\n",
            commands[0].name, t->who, commands[0].name);
    return SCR_OK;
}

static int no_such_command(struct scr_tool *t, const char *word, struct scr_err *err)
{
    const char *names[NCOMMANDS + 1] = { 0 };
    for (int i = 0; i < NCOMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = scr_args_nearest(word, names);
    return near ? scr_tool_usage(t, err, "no command \"%s\" (did you mean %s?)", word,
                                 near)
                : scr_tool_usage(t, err, "no command \"%s\"", word);
}

/* `scr`, `scr --help`, `scr help`, `scr --version`, `scr completion SHELL` or a
 * mistake. */
static int run_program(struct scr_tool *t, int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    const char *word = argc > 1 ? argv[1] : "";
    int rc;
    int is_bare = *word == '\0' && strncmp(t->who, "scr_", 4) != 0; /* a lost link */
    if (is_bare || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0)
        rc = program_help(t);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        rc = print_version(t);
    else if (strcmp(word, "completion") == 0)
        rc =
            scr_completion_print(t, argc > 2 ? argv[2] : "", commands, NCOMMANDS, &err);
    else if (*word == '\0')
        rc = scr_tool_usage(t, &err, "COMMAND is missing");
    else
        rc = no_such_command(t, word, &err);
    if (rc == SCR_OK)
        rc = finish_output(t, &err);
    return rc == SCR_OK ? EXIT_YES : report(t, &err);
}

/* `scr help NAME` is `scr NAME --help`. */
static int run_help(struct scr_tool *t)
{
    char help[] = "--help";
    char *argv[] = { NULL, help, NULL };
    return run_command(t, 2, argv);
}

/* `scr NAME …`: the name becomes "scr NAME". */
static int run_named(struct scr_tool *t, int argc, char **argv)
{
    int is_help = argc > 2 && strcmp(argv[1], "help") == 0;
    const char *word = argc > 1 ? argv[1 + is_help] : "";
    t->cmd = find_command(word, 1);
    if (t->cmd == NULL)
        return run_program(t, is_help ? 2 : argc, is_help ? argv + 1 : argv);
    char *who = scr_asprintf("%s %s", t->who, word);
    t->who = t->log.who = who ? who : word;
    int status = is_help ? run_help(t) : run_command(t, argc - 1, argv + 1);
    free(who);
    return status;
}

/* A parent that ignores SIGCHLD hands that on, and no child could be waited for. */
static void heed_children(void)
{
    const struct sigaction dfl = { .sa_handler = SIG_DFL };
    (void)sigaction(SIGCHLD, &dfl, NULL);
}

int scr_tool_main(int argc, char **argv, char *const *envp, FILE *out, FILE *errout)
{
    const char *self = argc > 0 ? argv[0] : "scr";
    const char *base = scr_path_base(self);
    struct scr_tool t = { .env = { .sys = &scr_sys_posix },
                          .log = { .out = errout, .who = base, .level = SCR_LOG_NOTE },
                          .who = base,
                          .self = self,
                          .environ = envp,
                          .out = out };
    t.env.log = &t.log;
    t.cmd = find_command(base, 0);
    scr_proc_fill_streams();
    heed_children();
    return t.cmd != NULL ? run_command(&t, argc, argv) : run_named(&t, argc, argv);
}
