/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers: the table, finding one, and reading the options of a command line. */
#include "rm/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "base/str.h"
#include "rm/launch_impl.h"
#include "rm/many.h"
#include "rm/rm_impl.h"

static const struct scr_launcher_ops *const launchers[] = {
    &scr_launch_srun, &scr_launch_openmpi, &scr_launch_hydra, &scr_launch_jsrun,
    &scr_launch_lrun, &scr_launch_flux,    &scr_launch_aprun
};
enum { NLAUNCHERS = sizeof launchers / sizeof launchers[0], MAX_HOSTFILE = 64 << 20 };
static const double VERSION_TIMEOUT_S = 20;

/* Whether word is one of the words of list; n: bytes of word that count. */
static int is_among(const char *list, const char *word, size_t n)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, " ");
        if (len == n && strncmp(list, word, n) == 0)
            return 1;
        list += len + strspn(list + len, " ");
    }
    return 0;
}

/* --- which launcher --- */

static int count_named(const char *base, const struct scr_launcher_ops **one)
{
    int n = 0;
    for (int i = 0; i < NLAUNCHERS; i++)
        if (is_among(launchers[i]->names, base, strlen(base))) {
            *one = n ? *one : launchers[i];
            n++;
        }
    return n;
}

static int ask_version(const char *path, char **text, struct scr_err *err)
{
    const char *argv[] = { path, "--version", NULL };
    struct scr_many_task t = { .argv = argv };
    int rc;
    TRY_OUT(scr_many_run(&t, 1, 1, VERSION_TIMEOUT_S, NULL, err));
    if ((*text = scr_asprintf("%s%s", t.out, t.errout)) == NULL)
        TRY_OUT(scr_no_memory(err));
out:
    scr_many_free(&t, 1);
    return rc;
}

static int is_marked(const struct scr_launcher_ops *ops, const char *text)
{
    for (const char *const *mark = ops->version_marks; *mark != NULL; mark++)
        if (strstr(text, *mark) != NULL)
            return 1;
    return 0;
}

/* mpirun and mpiexec are what several MPIs call their launchers. */
static int tell_apart(const char *base, struct scr_launcher *l, struct scr_err *err)
{
    char *text = NULL;
    int rc = ask_version(l->path, &text, err);
    l->ops = NULL;
    for (int i = 0; rc == SCR_OK && i < NLAUNCHERS && l->ops == NULL; i++)
        if (is_among(launchers[i]->names, base, strlen(base)) &&
            is_marked(launchers[i], text))
            l->ops = launchers[i];
    if (rc == SCR_OK && l->ops == NULL)
        rc = scr_fail(
            err, SCR_E_UNSUPPORTED, 0,
            "launcher %s: neither Open MPI nor MPICH, according to %s --version",
            l->name, l->path);
    free(text);
    return rc;
}

int scr_launcher_check(const char *name, struct scr_err *err)
{
    const struct scr_launcher_ops *one = NULL;
    if (count_named(scr_path_base(name), &one) > 0)
        return SCR_OK;
    struct scr_str known = SCR_STR_INIT;
    for (int i = 0; i < NLAUNCHERS; i++)
        if (i != 2) /* has the names of the one before it */
            scr_str_printf(&known, "%s%.*s", i ? ", " : "",
                           (int)strcspn(launchers[i]->names, " "), launchers[i]->names);
    int rc = scr_fail(err, SCR_E_ARG, 0, "launcher %s is not known, only %s", name,
                      known.bad ? "others" : known.p);
    scr_str_free(&known);
    return rc;
}

int scr_launcher_open(const struct scr_rm *rm, const char *name, struct scr_launcher *l,
                      struct scr_err *err)
{
    const char *base = scr_path_base(name);
    *l = (struct scr_launcher){ .name = name };
    int n = count_named(base, &l->ops);
    int rc;
    TRY(scr_launcher_check(name, err));
    TRY_OUT(scr_rm_program(rm, name, &l->path, err));
    if (n > 1)
        TRY_OUT(tell_apart(base, l, err));
out:
    if (rc != SCR_OK) {
        scr_launcher_close(l);
        scr_err_prefix(err, "launcher");
    }
    return rc;
}

void scr_launcher_close(struct scr_launcher *l)
{
    free(l->path);
    l->path = NULL;
}

/* --- options --- */

static const struct scr_launch_row *row_of(const struct scr_launcher_ops *ops,
                                           const char *name, size_t n)
{
    for (const struct scr_launch_row *r = ops->rows; r && r->names; r++)
        if (is_among(r->names, name, n))
            return r;
    return NULL;
}

static int takes_value(const struct scr_launcher_ops *ops, const char *name, size_t n)
{
    return row_of(ops, name, n) != NULL || is_among(ops->with_value, name, n) ||
           is_among(ops->with_two, name, n);
}

/* Bytes of word that are the option's name, and its value in the same word if any:
 * "--nodes=4", "-N4". */
static size_t split(const struct scr_launcher_ops *ops, const char *word,
                    const char **value)
{
    size_t n = strcspn(word, "=");
    if (ops->has_letters && word[1] != '-' && word[2] != '\0' &&
        takes_value(ops, word, 2)) {
        *value = word + 2;
        return 2;
    }
    *value = word[n] == '=' ? word + n + 1 : NULL;
    return n;
}

struct scr_launch_walk scr_launch_begin(const struct scr_launcher_ops *ops,
                                        const char *const *args)
{
    return (struct scr_launch_walk){ .ops = ops,
                                     .args = args,
                                     .next = ops->skip ? ops->skip(args) : 0 };
}

int scr_launch_next(struct scr_launch_walk *w)
{
    w->at = w->next;
    const char *word = w->args[w->at];
    if (word == NULL || word[0] != '-' || word[1] == '\0')
        return 0;
    if (strcmp(word, "--") == 0) {
        w->next++;
        return 0;
    }
    size_t n = split(w->ops, word, &w->value);
    const struct scr_launch_row *row = row_of(w->ops, word, n);
    w->opt = row ? row->opt : SCR_OPT_OTHER;
    w->next++;
    if (is_among(w->ops->with_two, word, n) && w->args[w->next] != NULL)
        w->next++;
    if (takes_value(w->ops, word, n) && w->value == NULL && w->args[w->next] != NULL)
        w->value = w->args[w->next++];
    return 1;
}

const char *scr_launch_find(const struct scr_launcher_ops *ops, const char *const *args,
                            enum scr_launch_opt opt)
{
    const char *value = NULL;
    struct scr_launch_walk w = scr_launch_begin(ops, args);
    while (scr_launch_next(&w))
        if (w.opt == opt)
            value = w.value;
    return value;
}

void scr_launch_copy(const struct scr_launcher_ops *ops, const char *const *args,
                     unsigned without, struct scr_strv *argv)
{
    struct scr_launch_walk w = scr_launch_begin(ops, args);
    for (size_t i = 0; i < w.next; i++)
        scr_strv_add(argv, args[i]);
    while (scr_launch_next(&w))
        for (size_t i = w.at; i < w.next && !(without & 1u << w.opt); i++)
            scr_strv_add(argv, args[i]);
    scr_strv_add_all(argv, args + w.at);
}

int scr_launch_refuse(const struct scr_launcher *l, const char *const *args,
                      enum scr_launch_opt opt, const char *instead, struct scr_err *err)
{
    struct scr_launch_walk w = scr_launch_begin(l->ops, args);
    while (scr_launch_next(&w))
        if (w.opt == opt)
            return scr_fail(err, SCR_E_ARG, 0,
                            "option %s of %s conflicts with the nodes that SCR leaves "
                            "out: %s",
                            args[w.at], l->name, instead);
    return SCR_OK;
}

/* A program that is not there costs all runs otherwise. Which one it is in another
 * directory only the launcher knows. */
static int check_is_there(const struct scr_rm *rm, const struct scr_launcher *l,
                          const char *const *args, const char *program,
                          struct scr_err *err)
{
    if (program[0] != '/' && scr_launch_find(l->ops, args, SCR_OPT_CHDIR) != NULL)
        return SCR_OK;
    char *here = scr_asprintf("./%s", program);
    int there =
        scr_rm_has_program(rm, program) || (here && scr_rm_has_program(rm, here));
    free(here);
    return there ? SCR_OK
                 : scr_fail(err, SCR_E_NOENT, 0, "program %s: no such executable file",
                            program);
}

static int check_program(const struct scr_rm *rm, const struct scr_launcher *l,
                         const char *const *args, struct scr_err *err)
{
    struct scr_launch_walk w = scr_launch_begin(l->ops, args);
    while (scr_launch_next(&w))
        if (w.opt != SCR_OPT_OTHER && w.value == NULL)
            return scr_fail(err, SCR_E_ARG, 0, "option %s of %s needs a value",
                            args[w.at], l->name);
    if (args[w.next] == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "no program given to %s", l->name);
    return check_is_there(rm, l, args, args[w.next], err);
}

int scr_launch_line(const struct scr_rm *rm, const struct scr_launcher *l,
                    const struct scr_launch *what, struct scr_strv *argv,
                    struct scr_strv *env, struct scr_err *err)
{
    TRY(check_program(rm, l, what->args, err));
    scr_strv_add(argv, l->path);
    int rc = l->ops->line(rm, l, what, argv, env, err);
    return rc == SCR_OK && (argv->bad || env->bad) ? scr_no_memory(err) : rc;
}

size_t scr_launch_options(const struct scr_launcher *l, const char *const *args)
{
    struct scr_launch_walk w = scr_launch_begin(l->ops, args);
    while (scr_launch_next(&w))
        ;
    return w.next;
}

/* "4", or "2-6"; the smaller one counts. */
size_t scr_launch_asks_nodes(const struct scr_launcher *l, const char *const *args)
{
    const char *value = scr_launch_find(l->ops, args, SCR_OPT_NODES);
    const char *end = "";
    int n = value ? scr_parse_front(value, &end) : 0;
    return n > 0 && (*end == '\0' || *end == '-') ? (size_t)n : 0;
}

/* --- nodes that options name --- */

/* "n1:2,n2:2" → n1 n2. */
static int add_names(const char *list, struct scr_hostlist *nodes, struct scr_err *err)
{
    struct scr_hostlist all = SCR_HOSTLIST_INIT;
    struct scr_str names = SCR_STR_INIT;
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, ",");
        scr_str_printf(&names, "%s%.*s", p == list ? "" : ",",
                       (int)(strcspn(p, ":,") < n ? strcspn(p, ":,") : n), p);
        p += n + (p[n] == ',');
    }
    char *text = scr_str_take(&names);
    int rc;
    TRY_OUT(text ? scr_hostlist_expand(text, &all, err) : scr_no_memory(err));
    TRY_OUT(scr_rm_add_nodes(nodes, &all, err));
out:
    scr_hostlist_free(&all);
    free(text);
    return rc;
}

/* A node a line, what follows a blank or ':' is about its slots, '#' begins a comment.
 */
static int add_lines(char *text, struct scr_hostlist *nodes, struct scr_err *err)
{
    struct scr_rm_names names;
    int rc;
    TRY_OUT(scr_rm_names_init(&names, nodes, err));
    for (char *line; (line = scr_rm_line(&text)) != NULL;) {
        line[strcspn(line, "#")] = '\0';
        char *name = scr_rm_word(&line);
        name[strcspn(name, ":\r")] = '\0';
        if (*name != '\0')
            TRY_OUT(scr_rm_names_add(&names, nodes, name, err));
    }
out:
    scr_rm_names_fini(&names);
    return rc;
}

int scr_launch_names_nodes(const struct scr_rm *rm, const struct scr_launcher *l,
                           const char *const *args, struct scr_hostlist *nodes,
                           struct scr_err *err)
{
    const char *list = scr_launch_find(l->ops, args, SCR_OPT_HOSTS);
    const char *path = scr_launch_find(l->ops, args, SCR_OPT_HOSTFILE);
    void *text = NULL;
    size_t n;
    int rc;
    TRY_OUT(list ? add_names(list, nodes, err) : SCR_OK);
    if (path != NULL) {
        TRY_OUT(scr_file_load(rm->env->sys, path, MAX_HOSTFILE, &text, &n, err));
        TRY_OUT(add_lines(text, nodes, err));
    }
out:
    if (rc != SCR_OK)
        scr_err_prefix(err, "nodes of %s", l->name);
    free(text);
    return rc;
}

int scr_launch_runs_here(const struct scr_launcher *l)
{
    return l->ops == &scr_launch_openmpi || l->ops == &scr_launch_hydra;
}
