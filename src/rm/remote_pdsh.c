/* SPDX-License-Identifier: BSD-3-Clause */
/* pdsh: one process for all nodes, whose lines begin with the node's name. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rm/remote_impl.h"
#include "rm/rm_impl.h"

enum { FANOUT = 256 };               /* hanging nodes are to keep none from its turn */
static const double CLEANUP_S = 1.5; /* for pdsh to end what is late */

/* The first name with a colon, or NULL. For pdsh the word before it is its way to the
 * node, and "exec:n1" runs the command here. */
static const char *find_colon(const struct scr_hostlist *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (strchr(nodes->name[i], ':') != NULL)
            return nodes->name[i];
    return NULL;
}

static int has_no_colon(const struct scr_rm *rm, const struct scr_hostlist *nodes)
{
    (void)rm;
    return find_colon(nodes) == NULL;
}

/* Whole seconds after which pdsh gives a node up; it looks at its clock every other
 * second only. */
static int limit(const struct scr_remote_job *job)
{
    return job->timeout_s > 3 ? (int)job->timeout_s - 2 : 1;
}

static void make_line(const struct scr_remote_job *job, const char *list,
                      struct scr_strv *argv)
{
    char *command = scr_remote_shell_line(job);
    scr_strv_add(argv, job->path);
    if (scr_cfg_getenv(job->rm->cfg, "PDSH_RCMD_TYPE") == NULL)
        scr_strv_add(argv, "-Rssh"); /* some builds default to rsh */
    scr_strv_add(argv, "-S");
    scr_strv_printf(argv, "-f%d", FANOUT);
    scr_strv_printf(argv, "-t%d", limit(job));
    scr_strv_printf(argv, "-u%d", limit(job));
    scr_strv_printf(argv, "-w%s", list);
    scr_strv_add(argv, command);
    free(command);
}

/* Result of the node that a line "name: text" is about, text at *rest; NULL: none. */
static struct scr_remote_result *line_of(const struct scr_remote_job *job,
                                         const struct scr_rm_names *names, char *line,
                                         char **rest)
{
    char *colon = strstr(line, ":");
    if (colon == NULL)
        return NULL;
    *colon = '\0';
    *rest = colon + 1 + (colon[1] == ' ');
    size_t at = scr_rm_find(names, line);
    if (at < job->nodes->n)
        return &job->res[at];
    *colon = ':';
    return NULL;
}

static int append(char **text, const char *line)
{
    char *longer = scr_asprintf("%s%s\n", *text, line);
    if (longer == NULL)
        return 0;
    free(*text);
    *text = longer;
    return 1;
}

static int sort_out(const struct scr_remote_job *job, const struct scr_rm_names *names,
                    char *text)
{
    int ok = 1;
    char *rest;
    for (char *line; ok && (line = scr_rm_line(&text)) != NULL;) {
        struct scr_remote_result *r = line_of(job, names, line, &rest);
        ok = r == NULL || append(&r->out, rest);
    }
    return ok;
}

/* "ssh exited with exit code 3" and the like: the last word is the status, 255 that of
 * a connection that failed. */
static void take_status(struct scr_remote_result *r, const char *text)
{
    const char *code = strstr(text, "exited with exit code ");
    int status = 255; /* "command timeout", "connect: timed out", … */
    if (code != NULL)
        (void)scr_parse_int(strrchr(code, ' ') + 1, &status);
    r->answered = status != 255;
    r->status = r->answered ? status : -1;
}

/* Lines of the command, "node: text", and of pdsh, "pdsh@here: node: text". */
static int sort_errors(const struct scr_remote_job *job,
                       const struct scr_rm_names *names, char *text)
{
    int ok = 1;
    char *rest;
    for (char *line; ok && (line = scr_rm_line(&text)) != NULL;) {
        int own = strncmp(line, "pdsh@", 5) == 0;
        char *about = own ? strstr(line, ": ") : line;
        struct scr_remote_result *r =
            about ? line_of(job, names, about + (own ? 2 : 0), &rest) : NULL;
        if (r == NULL)
            continue;
        if (own)
            take_status(r, rest);
        if (!own || !r->answered)
            ok = append(&r->why, rest);
    }
    return ok;
}

/* Whether the status of pdsh belongs to one known node. */
static int is_explained(const struct scr_remote_job *job)
{
    for (size_t i = 0; i < job->nodes->n; i++)
        if (job->res[i].status != 0)
            return 1;
    return 0;
}

static int finish(const struct scr_remote_job *job, struct scr_many_task *t)
{
    int ended = t->end == SCR_MANY_ENDED, ok;
    for (size_t i = 0; i < job->nodes->n; i++) {
        job->res[i].answered = ended;
        job->res[i].status = ended ? 0 : -1; /* pdsh speaks only of other ones */
    }
    /* The lines of pdsh itself, before the texts are split. */
    const char *self = t->end == SCR_MANY_LATE ? "no answer in time" : t->errout;
    char *complaint = scr_asprintf("pdsh: %.*s", (int)strcspn(self, "\n"), self);
    struct scr_rm_names names;
    ok = scr_rm_names_init(&names, job->nodes, NULL) == SCR_OK && complaint != NULL &&
         sort_out(job, &names, t->out) && sort_errors(job, &names, t->errout);
    scr_rm_names_fini(&names);
    if (ended && t->status != 0 && !is_explained(job))
        for (size_t i = 0; i < job->nodes->n; i++) {
            job->res[i].answered = 0;
            job->res[i].status = -1;
        }
    for (size_t i = 0; i < job->nodes->n && ok; i++)
        if (!job->res[i].answered && job->res[i].why[0] == '\0')
            ok = append(&job->res[i].why, complaint);
    free(complaint);
    return ok;
}

static int run(const struct scr_remote_job *job, struct scr_err *err)
{
    struct scr_strv argv = SCR_STRV_INIT;
    char *list = NULL;
    const char *odd = find_colon(job->nodes);
    if (odd != NULL)
        return scr_fail(err, SCR_E_UNSAFE, 0,
                        "pdsh takes \"%s\" for a way to a node and its name; "
                        "SCR_REMOTE=SSH reaches a node of that name",
                        odd);
    int rc = scr_hostlist_compress(job->nodes, 0, &list, err);
    if (rc == SCR_OK) {
        make_line(job, list, &argv);
        struct scr_many_task t = { .argv = scr_strv_argv(&argv) };
        rc = argv.bad ? scr_no_memory(err)
                      : scr_many_run(&t, 1, 1, job->timeout_s + CLEANUP_S,
                                     job->rm->stop, err);
        if (rc == SCR_OK && !finish(job, &t))
            rc = scr_no_memory(err);
        scr_many_free(&t, 1);
    }
    scr_strv_free(&argv);
    free(list);
    return rc;
}

const struct scr_remote_ops scr_remote_pdsh = {
    .name = "PDSH", .program = "pdsh", .applies = has_no_colon, .run = run
};
