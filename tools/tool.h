/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Shared parts of all commands of the program scr: options, context, output, exit
 * status.
 *
 * To add a command "frob": write tools/cmd_frob.c with one object of this shape, add a
 * row to src/defs/commands.def, a man page doc/man1/scr_frob.1.md and a script
 * tests/cli/frob.sh.
 *
 *     enum { OPT_PREFIX, OPT_JSON };
 *     static const struct scr_opt opts[] = {
 *         [OPT_PREFIX] = { "prefix", 'p', "DIR", "look in DIR" },
 *         [OPT_JSON] = { "json", 0, NULL, "print JSON" },
 *         { 0 },
 *     };
 *     static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
 *     {
 *         int rc = scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err);
 *         if (rc == SCR_OK)
 *             scr_tool_print(t, "%s\n", t->prefix.path);
 *         return rc;
 *     }
 *     const struct scr_cmd scr_cmd_frob = {
 *         .name = "frob", .usage = "[OPTION]... NAME...", .about = "Frobs each NAME.",
 *         .opts = opts, .min_operands = 1, .max_operands = -1, .run = run };
 *
 * It then runs as `scr frob`, `scr_frob` and `scr-frob`. The table gives parsing,
 * --help and the errors for unknown options (with the nearest name); --help (-h) and
 * --version (-V) are added to every command. Long options may be cut short while
 * unambiguous, and take "--name=VALUE" or "--name VALUE"; short ones "-pVALUE" or
 * "-p VALUE"; options and operands may be mixed; "--" ends the options. */
/* clang-format on */
#ifndef SCR_TOOL_H
#define SCR_TOOL_H

#include "base/env.h"
#include "cfg/cfg.h"
#include "store/prefix.h"
#include <stdio.h>

enum {
    SCR_TOOL_NO = -1,      /* run() says "no": exit status 1, nothing printed */
    SCR_TOOL_STATUS = -2,  /* exit status t->status, nothing printed */
    SCR_TOOL_MAX_OPTS = 40 /* rows of an option table */
};

struct scr_opt {
    const char *name;    /* long name, without "--"; NULL ends the table */
    char letter;         /* short option, or 0 */
    const char *metavar; /* name of its value in the help, or NULL: takes none;
                            "[NAME]": it may be left out, and stands in the same word,
                            or in the next one if the command takes no operands */
    const char *help;    /* one line, lower case, no full stop; NULL: not listed */
};

/* The parsed command line; everything is borrowed from argv. */
struct scr_args {
    const char *opt[SCR_TOOL_MAX_OPTS]; /* value of row i; "" for a row without metavar;
                                     NULL: not given. The last one given counts. */
    const char **operand;               /* NULL-terminated */
    int noperands;
    int verbose; /* 1: --verbose was given */
};

struct scr_tool;

struct scr_cmd {
    const char *usage; /* what follows the name in the synopsis */
    const char *about; /* paragraphs of the help, lines of at most 78 columns */
    const struct scr_opt *opts; /* may be NULL */
    const char *notes;          /* printed after the options; may be NULL */
    int min_operands;
    int max_operands;    /* -1: any number */
    int stop_at_operand; /* 1: the first operand ends the options (PROGRAM ARGS...) */
    int raw; /* 1: every argument is an operand, except for a first --help or --version
              */
    /* SCR_OK: exit status 0. SCR_TOOL_NO: 1. Any other code with err filled: the error
     * is printed once as "scr_frob: error: <text>" and the exit status is 2. */
    int (*run)(struct scr_tool *t, const struct scr_args *a, struct scr_err *err);
};

struct scr_tool {
    struct scr_env env; /* sys and log */
    struct scr_log log; /* warnings to stderr as "scr_frob: warning: …" */
    const struct scr_cmd *cmd;
    const char *who;  /* the command as the user called it: "scr_frob" or "scr frob" */
    const char *self; /* argv[0] of the program */
    char *const *environ;
    FILE *out;                /* stdout */
    int status;               /* for SCR_TOOL_STATUS */
    struct scr_cfg *cfg;      /* NULL until scr_tool_cfg */
    struct scr_prefix prefix; /* path NULL until scr_tool_prefix */
    int log_failed;           /* 1: an event could not be recorded, and that was said */
};

/* Loads the configuration from all sources into t->cfg, once. prefix (may be NULL)
 * overrides SCR_PREFIX; the default is the current directory. The app.conf of that
 * prefix is read too. */
int scr_tool_cfg(struct scr_tool *t, const char *prefix, struct scr_err *err);

/* Opens the prefix directory into t->prefix: given, else SCR_PREFIX, else the current
 * directory. create: make its .scr directory. Reads no configuration file when given.
 */
int scr_tool_prefix(struct scr_tool *t, const char *given, int create,
                    struct scr_err *err);

/* SCR_E_NOENT where no job has ever written: t->prefix is probably a mistake. */
int scr_tool_check_data(struct scr_tool *t, struct scr_err *err);
/* The same as a note, for commands that have an answer all the same. */
void scr_tool_note_no_data(struct scr_tool *t);

/* Completes what a flush has copied and did not live to complete, in t->prefix. Returns
 * how many datasets; an error is a warning. */
int scr_tool_adopt(struct scr_tool *t);

/* Absolute path of the program scr itself, to be started again; malloc'd. */
int scr_tool_program(const struct scr_tool *t, char **path, struct scr_err *err);

/* --- output: everything a command prints goes through these --- */
/* Text to stdout. Write errors are found at the end: exit status 2, "write stdout: …".
 */
void scr_tool_print(struct scr_tool *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* One line of text with names of datasets or files in it, which may have any bytes but
 * NUL: control characters are masked as in messages. The newline is added. */
void scr_tool_print_line(struct scr_tool *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON value to stdout, indented, followed by a newline. Takes the reference; NULL
 * (jansson out of memory) is SCR_E_NOMEM. */
struct json_t;
int scr_tool_json(struct scr_tool *t, struct json_t *value, struct scr_err *err);
/* Add a member to an object, an item to an array, and return it. They take both
 * references. NULL: jansson is out of memory, or an argument is NULL, and the other one
 * is freed; so only the end of a chain of them is checked, by scr_tool_json. */
struct json_t *scr_tool_json_add(struct json_t *object, const char *key,
                                 struct json_t *value);
struct json_t *scr_tool_json_append(struct json_t *array, struct json_t *value);
/* JSON is UTF-8, names of files and datasets are bytes: text in which those that are no
 * UTF-8 stand as \xHH. malloc'd; NULL: out of memory. */
char *scr_tool_utf8(const char *bytes);
/* A JSON string of such text; JSON's null for NULL. NULL: out of memory. */
struct json_t *scr_tool_json_text(const char *bytes);

/* --- errors in the use of a command: SCR_E_USAGE; the "Try … --help" line is added ---
 */
int scr_tool_usage(struct scr_tool *t, struct scr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* At most one of the listed rows (ended by -1) may be given. */
int scr_tool_exclusive(struct scr_tool *t, const struct scr_args *a,
                       struct scr_err *err, const int *rows);
/* Value of row as a whole number in a range; out keeps its value when the row was not
 * given. */
struct scr_range {
    int64_t lo, hi;
};
#define SCR_BETWEEN(lo, hi) ((struct scr_range){ lo, hi })
#define SCR_AT_LEAST(lo)    SCR_BETWEEN(lo, INT32_MAX)
int scr_tool_int(struct scr_tool *t, const struct scr_args *a, int row,
                 struct scr_range range, int64_t *out, struct scr_err *err);

/* Value of row as a list of hosts, into an empty `list` (NULL: it is only checked);
 * none if the row was not given. */
struct scr_hostlist;
int scr_tool_hosts(struct scr_tool *t, const struct scr_args *a, int row,
                   struct scr_hostlist *list, struct scr_err *err);
/* All operands as one list of hosts, after those in first (NULL: none). */
int scr_tool_host_operands(const struct scr_args *a, const char *first,
                           struct scr_hostlist *list, struct scr_err *err);
/* The list in its short form (scr_hostlist_compress), as a line. */
int scr_tool_print_hosts(struct scr_tool *t, const struct scr_hostlist *list, int sort,
                         struct scr_err *err);

/* --- for main.c and the tests --- */
/* Runs the program with these arguments and returns its exit status. */
int scr_tool_main(int argc, char **argv, char *const *envp, FILE *out, FILE *errout);

#endif
