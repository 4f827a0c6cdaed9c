/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to begin a run with, and to continue with. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "rm/remote.h"

static const char blanks[] = " \t\n";

/* The text after the '=' of one of ours, "" if there is none; NULL: it is none. */
static const char *value_of(const char *word, int *again)
{
    static const char *const names[] = { "-rc", "--run-cmd", "-rs", "--restart-cmd" };
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == n && strncmp(names[i], word, n) == 0) {
            *again = i > 1;
            return word + n + (word[n] == '=');
        }
    return NULL;
}

/* Number of the first of ours among n words; n: there is none. */
static size_t find_one(const char *const *args, size_t n)
{
    int again;
    for (size_t i = 0; i < n; i++)
        if (value_of(args[i], &again) != NULL)
            return i;
    return n;
}

static size_t count(const char *const *args)
{
    size_t n = 0;
    while (args[n] != NULL)
        n++;
    return n;
}

int scr_commands_are(const char *const *args)
{
    size_t n = count(args);
    return find_one(args, n) < n;
}

/* Without a shell: words are what stands between blanks. */
static void add_words(struct scr_strv *words, const char *text)
{
    scr_strv_free(words);
    for (text += strspn(text, blanks); *text != '\0'; text += strspn(text, blanks)) {
        size_t n = strcspn(text, blanks);
        scr_strv_printf(words, "%.*s", (int)n, text);
        text += n;
    }
}

/* args[at] is one of ours: it goes, and what it says. */
static int take_one(const char **args, size_t at, struct scr_commands *c,
                    struct scr_err *err)
{
    int again = 0;
    const char *name = args[at], *value = value_of(name, &again);
    size_t n = *value == '\0' ? 2 : 1;
    struct scr_strv *words = again ? &c->again : &c->anew;
    if (n == 2)
        value = args[at + 1];
    if (value != NULL)
        add_words(words, value);
    if (value == NULL || (words->n == 0 && !words->bad))
        return scr_fail(err, SCR_E_ARG, 0, "option %.*s needs a command",
                        (int)strcspn(name, "="), name);
    do
        args[at] = args[at + n];
    while (args[at++] != NULL);
    return SCR_OK;
}

/* A launcher may take the value of one of ours for the program, so each is removed
 * before the search for the next. */
static int take_all(const struct scr_launcher *l, const char **args,
                    struct scr_commands *c, struct scr_err *err)
{
    size_t n, at;
    int rc = SCR_OK;
    while (n = scr_launch_options(l, args),
           rc == SCR_OK && (at = find_one(args, n)) < n)
        rc = take_one(args, at, c, err);
    if (rc == SCR_OK && args[n] != NULL && c->anew.n > 0)
        rc = scr_fail(err, SCR_E_ARG, 0,
                      "both a run command and the program %s are given", args[n]);
    if (rc != SCR_OK)
        return rc;
    scr_strv_add_all(&c->anew, args + n);
    args[n] = NULL;
    scr_strv_add_all(&c->options, args);
    return c->options.bad || c->anew.bad || c->again.bad ? scr_no_memory(err) : SCR_OK;
}

int scr_commands_take(const struct scr_launcher *l, const char *const *args,
                      struct scr_commands *c, struct scr_err *err)
{
    size_t n = count(args);
    const char **copy = scr_calloc(n + 1, sizeof *copy);
    TRY(copy ? SCR_OK : scr_no_memory(err));
    memcpy(copy, args, n * sizeof *copy);
    int rc = take_all(l, copy, c, err);
    free(copy);
    return rc;
}

/* The word with the name in all places where it belongs. */
static void add_named(struct scr_strv *line, const char *word, const char *name)
{
    struct scr_str s = SCR_STR_INIT;
    for (const char *mark; (mark = strstr(word, SCR_COMMANDS_CKPT)) != NULL;
         word = mark + strlen(SCR_COMMANDS_CKPT))
        scr_str_printf(&s, "%.*s%s", (int)(mark - word), word, name);
    scr_str_printf(&s, "%s", word);
    scr_strv_printf(line, "%s", s.bad ? "" : s.p);
    line->bad |= s.bad;
    scr_str_free(&s);
}

void scr_commands_line(const struct scr_commands *c, const char *ckpt,
                       struct scr_strv *line)
{
    scr_strv_add_all(line, scr_strv_argv(&c->options));
    if (ckpt == NULL || c->again.n == 0)
        scr_strv_add_all(line, scr_strv_argv(&c->anew));
    else
        for (size_t i = 0; i < c->again.n; i++)
            add_named(line, c->again.v[i], ckpt);
}

void scr_commands_free(struct scr_commands *c)
{
    scr_strv_free(&c->options);
    scr_strv_free(&c->anew);
    scr_strv_free(&c->again);
}

/* --- is there a checkpoint? --- */

/* What a node has in its cache goes before what it sees in the prefix, as it does
 * there. */
static int merit_of(const json_t *found)
{
    const char *where = json_string_value(json_object_get(found, "where"));
    int id = (int)json_integer_value(json_object_get(found, "id"));
    if (where == NULL)
        return 0;
    return strcmp(where, "cache") == 0 ? id + 1 : 1;
}

static char *newest(const struct scr_remote_result *res, size_t n, int *bad)
{
    char *name = NULL;
    int best = 0;
    for (size_t i = 0; i < n; i++) {
        json_t *found = json_loads(res[i].out, 0, NULL);
        const char *its = json_string_value(json_object_get(found, "name"));
        if (its != NULL && merit_of(found) > best) {
            best = merit_of(found);
            free(name);
            name = scr_strdup(its);
            *bad |= name == NULL;
        }
        json_decref(found);
    }
    return name;
}

/* A checkpoint that only these know of is passed over. */
static void warn_of_failed(const struct job *job, const struct scr_hostlist *nodes,
                           const struct scr_remote_result *res)
{
    size_t failed = 0, first = 0;
    for (size_t i = nodes->n; i-- > 0;)
        if (!res[i].answered || res[i].status > 1) {
            failed++;
            first = i;
        }
    if (failed > 0)
        scr_log(job->t->env.log, SCR_LOG_WARN,
                "checkpoints of %zu of %zu nodes are not known; %s: %.*s", failed,
                nodes->n, nodes->name[first], (int)strcspn(res[first].why, "\n"),
                res[first].why);
}

int scr_commands_ckpt(const struct job *job, const struct scr_hostlist *nodes,
                      char **name, struct scr_err *err)
{
    const char *const argv[] = { job->self,  "have_restart",      "--json",
                                 "--prefix", job->t->prefix.path, NULL };
    struct scr_remote_result *res;
    int bad = 0;
    TRY(scr_remote_run(&job->rm, nodes, argv, job->prm.node_timeout, &res, err));
    warn_of_failed(job, nodes, res);
    *name = newest(res, nodes->n, &bad);
    scr_remote_free(res, nodes->n);
    return bad ? scr_no_memory(err) : SCR_OK;
}
