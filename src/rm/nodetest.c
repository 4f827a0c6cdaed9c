/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that find the nodes that cannot be used. */
#include "rm/nodetest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "base/units.h"
#include "rm/many.h"
#include "rm/names.h"
#include "rm/remote.h"
#include "rm/rm_impl.h"

enum { PING_S = 2, PING_WIDTH = 128, NO_REPLY = 1 };
static const double LEAST_S = 0.1; /* in which a test can give a result */

/* One round of tests: nodes are those left. */
struct round {
    const struct scr_node_tests *t;
    const struct scr_rm *rm;
    struct scr_hostlist nodes;
    struct scr_downs *down;
    double end; /* scr_now_mono() */
};

static double seconds_left(const struct round *r)
{
    return r->end - scr_now_mono();
}

/* --- RM, EXCLUDE --- */

/* A controller that is too busy to answer says nothing about the nodes, and is not to
 * take the time of the other tests. */
static int ask_manager(struct round *r, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    struct scr_rm hurried = *r->rm; /* borrows all it has */
    hurried.ask_by = scr_now_mono() + seconds_left(r) / 3;
    (void)err;
    if (scr_rm_down(&hurried, &r->nodes, r->down, &why) != SCR_OK)
        scr_log(r->rm->env->log, SCR_LOG_WARN,
                "%s does not report which nodes are down: %s", r->rm->ops->name,
                why.text);
    return SCR_OK;
}

static int exclude(struct round *r, struct scr_err *err)
{
    const char *text = r->rm->prm->exclude_nodes;
    struct scr_hostlist list = SCR_HOSTLIST_INIT;
    struct scr_rm_names names = { 0 };
    int rc = text != NULL
                 ? scr_rm_expand(r->rm->cfg, "SCR_EXCLUDE_NODES", text, &list, err)
                 : SCR_OK;
    if (rc == SCR_OK)
        rc = scr_rm_names_init(&names, &r->nodes, err);
    for (size_t i = 0; i < list.n && rc == SCR_OK; i++) {
        const char *node = scr_rm_match(&names, list.name[i]);
        if (node != NULL)
            rc = scr_downs_add(r->down, node, SCR_NODE_UNFIT, err,
                               "listed in SCR_EXCLUDE_NODES");
    }
    scr_rm_names_fini(&names);
    scr_hostlist_free(&list);
    return rc;
}

/* --- PING --- */

static int is_remote(const struct round *r)
{
    const char *means;
    return scr_remote_means(r->rm, &r->nodes, &means, NULL) == SCR_OK &&
           strcmp(means, "LOCAL") != 0;
}

static int can_ping(const struct round *r)
{
    return is_remote(r) && scr_rm_has_program(r->rm, "ping");
}

/* Only silence counts: other failures are of ping itself, or of the name service. */
static int ping(struct round *r, struct scr_err *err)
{
    size_t n = r->nodes.n;
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%d", PING_S);
    struct scr_many_task *task = scr_calloc(n, sizeof *task);
    const char *(*argv)[7] = scr_calloc(n, sizeof *argv);
    char *path = NULL;
    int rc =
        task && argv ? scr_rm_program(r->rm, "ping", &path, err) : scr_no_memory(err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        const char *line[7] = { path, "-c", "1", "-w", limit, r->nodes.name[i], NULL };
        memcpy(argv[i], line, sizeof line);
        task[i].argv = argv[i];
    }
    if (rc == SCR_OK) {
        rc = scr_many_run(task, n, PING_WIDTH, seconds_left(r), NULL, err);
        for (size_t i = 0; i < n && rc == SCR_OK; i++)
            if (task[i].end == SCR_MANY_ENDED && task[i].status == NO_REPLY)
                rc = scr_downs_add(r->down, r->nodes.name[i], SCR_NODE_DEAD, err,
                                   "no reply to ping");
        scr_many_free(task, n);
    }
    free(path);
    free(argv);
    free(task);
    return rc;
}

/* --- ECHO, CHECK --- */

/* The last line of a text, for a reason: what comes before is often a banner. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static int add_silent(struct round *r, const char *node, struct scr_remote_result *res,
                      struct scr_err *err)
{
    return scr_downs_add(r->down, node, SCR_NODE_DEAD, err,
                         "no command can be run on it: %s", last_line(res->why));
}

/* A command on all nodes; `judge` looks at the results of those that answered. */
static int run_on_all(struct round *r, const char *const *argv,
                      int (*judge)(struct round *, const char *,
                                   struct scr_remote_result *, struct scr_err *),
                      struct scr_err *err)
{
    struct scr_remote_result *res;
    double limit = seconds_left(r);
    int rc;
    TRY_OUT(scr_remote_run(r->rm, &r->nodes, argv, limit, &res, err));
    for (size_t i = 0; i < r->nodes.n; i++)
        TRY_OUT(res[i].answered ? judge(r, r->nodes.name[i], &res[i], err)
                                : add_silent(r, r->nodes.name[i], &res[i], err));
out:
    scr_remote_free(res, r->nodes.n);
    return rc;
}

static int judge_echo(struct round *r, const char *node, struct scr_remote_result *res,
                      struct scr_err *err)
{
    if (res->status == 0)
        return SCR_OK;
    return add_silent(r, node, res, err);
}

static int echo(struct round *r, struct scr_err *err)
{
    static const char *const argv[] = { "echo", "up", NULL };
    return run_on_all(r, argv, judge_echo, err);
}

/* The line of the command that begins with PASS or FAIL; programs that a login starts
 * may print others. NULL: there is none. */
static const char *verdict(char *text)
{
    const char *found = NULL;
    for (char *line; (line = scr_rm_line(&text)) != NULL;)
        if (strncmp(line, "PASS", 4) == 0 || strncmp(line, "FAIL", 4) == 0)
            found = line;
    return found;
}

static int judge_check(struct round *r, const char *node, struct scr_remote_result *res,
                       struct scr_err *err)
{
    const char *line = verdict(res->out);
    if (line != NULL && strncmp(line, "PASS", 4) == 0)
        return SCR_OK;
    const char *cause = line ? line + 4 : last_line(res->why);
    cause += strspn(cause, ": ");
    if (*cause == '\0')
        cause = "scr_check_node failed without a message";
    return scr_downs_add(r->down, node, SCR_NODE_UNFIT, err, "%s", cause);
}

static int check(struct round *r, struct scr_err *err)
{
    return run_on_all(r, r->t->check, judge_check, err);
}

static int can_check(const struct round *r)
{
    return r->t->check != NULL;
}

/* A node that cannot be reached does not pass the check: one command is enough. */
static int needs_echo(const struct round *r)
{
    return r->t->check == NULL && is_remote(r);
}

/* --- the table --- */

static const struct node_test {
    const char *name, *old_name;          /* in other versions */
    int (*applies)(const struct round *); /* by default; NULL: it does */
    int (*run)(struct round *, struct scr_err *);
} tests[] = {
    { "RM", "sinfo", NULL, ask_manager },
    { "EXCLUDE", "", NULL, exclude },
    { "PING", "ping", can_ping, ping },
    { "ECHO", "pdsh_echo", needs_echo, echo },
    { "CHECK", "dir_capacity", can_check, check },
};
enum { NTESTS = sizeof tests / sizeof tests[0] };

static int is_word(const char *known, const char *word, size_t n)
{
    return strlen(known) == n && strncasecmp(known, word, n) == 0;
}

static const struct node_test *find_test(const char *name, size_t n)
{
    for (int i = 0; i < NTESTS; i++)
        if (is_word(tests[i].name, name, n) || is_word(tests[i].old_name, name, n))
            return &tests[i];
    return NULL;
}

/* The nodes no test has found anything against. */
static int narrow(struct round *r, struct scr_err *err)
{
    struct scr_hostlist left = SCR_HOSTLIST_INIT;
    TRY(scr_hostlist_minus(&r->nodes, &r->down->nodes, &left, err));
    scr_hostlist_free(&r->nodes);
    r->nodes = left;
    return SCR_OK;
}

/* Without time no node would answer, and all be taken for dead. */
static int is_too_late(const struct round *r, const struct node_test *t)
{
    if (t->run == exclude || seconds_left(r) > LEAST_S)
        return 0;
    scr_log(r->rm->env->log, SCR_LOG_WARN,
            "no time is left for the test %s of %zu node%s: a longer SCR_NODE_TIMEOUT "
            "may help",
            t->name, r->nodes.n, scr_plural((int64_t)r->nodes.n));
    return 1;
}

static int run_test(struct round *r, const struct node_test *t, struct scr_err *err)
{
    int rc = narrow(r, err);
    if (rc != SCR_OK || r->nodes.n == 0 || is_too_late(r, t))
        return rc;
    return t->run(r, err);
}

static int run_named(struct round *r, const char *list, struct scr_err *err)
{
    int rc = SCR_OK;
    while (*list != '\0' && rc == SCR_OK) {
        size_t n = strcspn(list, ", ");
        const struct node_test *t = n ? find_test(list, n) : NULL;
        if (n > 0 && t == NULL)
            rc =
                scr_fail(err, SCR_E_CONFIG, 0,
                         "SCR_NODE_TESTS=%s (%s): no test is called \"%.*s\", only RM, "
                         "EXCLUDE, PING, ECHO and CHECK",
                         r->rm->prm->node_tests,
                         scr_cfg_origin(r->rm->cfg, "SCR_NODE_TESTS"), (int)n, list);
        else if (t != NULL && (t->run != check || can_check(r)))
            rc = run_test(r, t, err);
        list += n + (list[n] != '\0');
    }
    return rc;
}

int scr_nodes_test(const struct scr_node_tests *t, const struct scr_hostlist *nodes,
                   struct scr_downs *down, struct scr_err *err)
{
    double limit = t->timeout_s > 0 ? t->timeout_s : t->rm->prm->node_timeout;
    const struct scr_hostlist none = SCR_HOSTLIST_INIT;
    struct round r = {
        .t = t, .rm = t->rm, .down = down, .end = scr_now_mono() + limit
    };
    TRY(scr_rm_check_names(nodes, err));
    int rc = scr_hostlist_minus(nodes, &none, &r.nodes, err); /* a copy */
    if (rc == SCR_OK && t->rm->prm->node_tests)
        rc = run_named(&r, t->rm->prm->node_tests, err);
    else
        for (int i = 0; i < NTESTS && rc == SCR_OK; i++)
            if (r.nodes.n > 0 && (tests[i].applies == NULL || tests[i].applies(&r)))
                rc = run_test(&r, &tests[i], err);
    scr_hostlist_free(&r.nodes);
    return rc;
}
