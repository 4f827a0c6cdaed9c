/* SPDX-License-Identifier: BSD-3-Clause */
/* Resource managers: the table, and what all of them share. */
#include "rm/rm.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cwd.h"
#include "base/io.h"
#include "base/units.h"
#include "rm/many.h"
#include "rm/names.h"
#include "rm/rm_impl.h"

/* In the order in which they are looked for. One job may start another kind inside of
 * it: Flux is often run under one of the others, and then is the one to ask. */
static const struct scr_rm_ops *const managers[] = { &scr_rm_flux, &scr_rm_slurm,
                                                     &scr_rm_lsf, &scr_rm_pbs,
                                                     &scr_rm_none };
enum { NMANAGERS = sizeof managers / sizeof managers[0] };
static const double ASK_TIMEOUT_S = 20; /* a controller under load needs seconds */

/* --- nodes that are down --- */

static char *reason_of(const char *fmt, va_list ap)
{
    struct scr_str text = SCR_STR_INIT;
    scr_str_vprintf(&text, fmt, ap);
    char *reason = scr_str_take(&text);
    for (char *p = reason; p != NULL && *p != '\0'; p++)
        *p = iscntrl((unsigned char)*p) ? ' ' : *p;
    return reason;
}

/* The node is not listed. */
static int add_down(struct scr_downs *d, const char *node, enum scr_down_kind kind,
                    const char *reason, struct scr_err *err)
{
    char *kept = scr_arena_text(&d->why.arena, reason);
    struct scr_down *down = kept ? scr_table_add(&d->why, node) : NULL;
    TRY(down ? SCR_OK : scr_no_memory(err));
    down->reason = kept;
    down->kind = kind;
    return scr_hostlist_add(&d->nodes, node, err);
}

int scr_downs_add(struct scr_downs *d, const char *node, enum scr_down_kind kind,
                  struct scr_err *err, const char *fmt, ...)
{
    struct scr_down *known = scr_table_find(&d->why, node);
    if (known != NULL) {
        known->kind = kind == SCR_NODE_DEAD ? kind : known->kind;
        return SCR_OK;
    }
    va_list ap;
    va_start(ap, fmt);
    char *reason = reason_of(fmt, ap);
    va_end(ap);
    int rc = add_down(d, node, kind, reason, err);
    free(reason);
    return rc;
}

int scr_downs_dead(const struct scr_downs *d, struct scr_hostlist *dead,
                   struct scr_err *err)
{
    struct scr_rm_names names;
    int rc;
    TRY_OUT(scr_rm_names_init(&names, dead, err));
    for (SCR_EACH(const struct scr_down, down, &d->why))
        if (down->kind == SCR_NODE_DEAD)
            TRY_OUT(scr_rm_names_add(&names, dead, down->item.name, err));
out:
    scr_rm_names_fini(&names);
    return rc;
}

void scr_downs_free(struct scr_downs *d)
{
    scr_hostlist_free(&d->nodes);
    scr_table_fini(&d->why);
}

/* --- asking a tool --- */

char *scr_rm_line(char **text)
{
    *text += strspn(*text, "\n");
    char *line = *text, *end = strchr(line, '\n');
    if (*line == '\0')
        return NULL;
    *text = end ? end + 1 : line + strlen(line);
    if (end != NULL)
        *end = '\0';
    return line;
}

char *scr_rm_word(char **line)
{
    *line += strspn(*line, " \t");
    char *word = *line, *end = word + strcspn(word, " \t");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void cut_newlines(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        text[--n] = '\0';
}

static double ask_timeout(const struct scr_rm *rm)
{
    double left = rm->ask_by - scr_now_mono();
    return rm->ask_by > 0 && left < ASK_TIMEOUT_S ? left : ASK_TIMEOUT_S;
}

/* The error of a tool, in its own words if it printed any. */
static int complain(const struct scr_many_task *t, const char *name, double limit,
                    struct scr_err *err)
{
    int n = (int)strcspn(t->errout, "\n");
    if (t->end == SCR_MANY_LATE)
        return scr_fail(err, SCR_E_LOCKED, 0, "%s: no answer within %.3g seconds", name,
                        limit > 0 ? limit : 0);
    if (t->end == SCR_MANY_FAILED)
        return scr_fail(err, SCR_E_NOENT, 0, "%.*s", n, t->errout);
    return scr_fail(err, SCR_E_FAILURE, 0, "%s: exit status %d%s%.*s", name, t->status,
                    n ? ": " : "", n, t->errout);
}

/* Adds the names in envp that start so. */
static void add_names(char *const *envp, const char *start, struct scr_strv *names)
{
    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, start, strlen(start)) == 0)
            scr_strv_printf(names, "%.*s", (int)strcspn(*envp, "="), *envp);
}

/* Users set defaults of squeue and sinfo, which hide jobs and nodes from us. */
static void without_filters(struct scr_strv *env)
{
    add_names(scr_cfg_process_environ(), "SQUEUE_", env);
    add_names(scr_cfg_process_environ(), "SINFO_", env);
}

static int run_tool(const struct scr_rm *rm, struct scr_many_task *t, const char *name,
                    char **out, struct scr_err *err)
{
    double limit = ask_timeout(rm);
    int rc;
    TRY_OUT(scr_many_run(t, 1, 1, limit, NULL, err));
    if (t->end != SCR_MANY_ENDED || t->status != 0)
        TRY_OUT(complain(t, name, limit, err));
    *out = t->out;
    t->out = NULL;
    cut_newlines(*out);
out:
    scr_many_free(t, 1);
    return rc;
}

int scr_rm_ask(const struct scr_rm *rm, const char *const *argv, const char *const *env,
               char **out, struct scr_err *err)
{
    struct scr_strv words = SCR_STRV_INIT, settings = SCR_STRV_INIT;
    char *path = NULL;
    int rc;
    *out = NULL;
    TRY_OUT(scr_rm_program(rm, argv[0], &path, err));
    scr_strv_add(&words, path);
    scr_strv_add_all(&words, argv + 1);
    without_filters(&settings);
    scr_strv_add_all(&settings, env);
    TRY_OUT(words.bad || settings.bad ? scr_no_memory(err) : SCR_OK);
    struct scr_many_task t = { .argv = scr_strv_argv(&words),
                               .env = scr_strv_argv(&settings) };
    TRY_OUT(run_tool(rm, &t, argv[0], out, err));
out:
    scr_strv_free(&words);
    scr_strv_free(&settings);
    free(path);
    return rc;
}

int scr_rm_ask_states(const struct scr_rm *rm, const char *const *argv,
                      const struct scr_hostlist *nodes, scr_rm_take_state *take,
                      struct scr_downs *down, struct scr_err *err)
{
    char *out;
    struct scr_rm_names names = { 0 };
    int rc;
    TRY_OUT(scr_rm_ask(rm, argv, NULL, &out, err));
    TRY_OUT(scr_rm_names_init(&names, nodes, err));
    char *rest = out;
    for (char *line; (line = scr_rm_line(&rest)) != NULL;) {
        const char *node = scr_rm_match(&names, scr_rm_word(&line));
        const char *state = scr_rm_word(&line);
        if (node != NULL)
            TRY_OUT(take(down, node, state, line, err));
    }
out:
    scr_rm_names_fini(&names);
    free(out);
    return rc;
}

int scr_rm_tell_to_kill(const struct scr_rm *rm, const char *const *argv,
                        const char *step, char **killed, struct scr_err *err)
{
    char *out;
    int rc = scr_rm_ask(rm, argv, NULL, &out, err);
    free(out);
    return rc == SCR_OK && (*killed = scr_strdup(step)) == NULL ? scr_no_memory(err)
                                                                : rc;
}

/* --- programs --- */

int scr_rm_is_program(const struct scr_sys *sys, const char *path)
{
    struct stat st;
    char *real = NULL;
    int is = scr_realpath(path, &real, NULL) == SCR_OK &&
             scr_file_stat(sys, real, &st, NULL) == SCR_OK && S_ISREG(st.st_mode) &&
             (st.st_mode & 0111) != 0;
    free(real);
    return is;
}

int scr_rm_program(const struct scr_rm *rm, const char *name, char **path,
                   struct scr_err *err)
{
    const char *dirs = strchr(name, '/') ? "" : scr_cfg_getenv(rm->cfg, "PATH");
    *path = NULL;
    if (dirs == NULL)
        dirs = "/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(dirs, ":");
        char *try = n ? scr_asprintf("%.*s/%s", (int)n, dirs, name) : scr_strdup(name);
        TRY(try ? SCR_OK : scr_no_memory(err));
        if (scr_rm_is_program(rm->env->sys, try)) {
            *path = try;
            return SCR_OK;
        }
        free(try);
        if (dirs[n] == '\0')
            break;
        dirs += n + 1;
    }
    return strchr(name, '/')
               ? scr_fail(err, SCR_E_NOENT, 0, "%s: no such program", name)
               : scr_fail(err, SCR_E_NOENT, 0, "%s: no such program in PATH", name);
}

int scr_rm_has_program(const struct scr_rm *rm, const char *name)
{
    char *path;
    int has = scr_rm_program(rm, name, &path, NULL) == SCR_OK;
    free(path);
    return has;
}

/* --- opening --- */

static const char *first_set(const struct scr_cfg *cfg, const char *const *vars)
{
    for (; *vars != NULL; vars++) {
        const char *value = scr_cfg_getenv(cfg, *vars);
        if (value != NULL && *value != '\0')
            return value;
    }
    return NULL;
}

static int is_inside(const struct scr_cfg *cfg, const struct scr_rm_ops *ops)
{
    return ops == &scr_rm_none || first_set(cfg, ops->job_vars) != NULL ||
           first_set(cfg, ops->marks) != NULL;
}

static const struct scr_rm_ops *find_named(const char *name)
{
    for (int i = 0; i < NMANAGERS; i++)
        if (strcasecmp(managers[i]->name, name) == 0)
            return managers[i];
    return NULL;
}

static void pick(struct scr_rm *rm)
{
    rm->ops = find_named(rm->prm->resource_manager);
    for (int i = 0; rm->ops == NULL; i++)
        if (is_inside(rm->cfg, managers[i]))
            rm->ops = managers[i];
}

static int check_inside(const struct scr_rm *rm, struct scr_err *err)
{
    if (is_inside(rm->cfg, rm->ops))
        return SCR_OK;
    return scr_fail(
        err, SCR_E_CONFIG, 0,
        "SCR_RESOURCE_MANAGER=%s (%s): %s is not set, so this is outside of "
        "its allocations",
        rm->prm->resource_manager, scr_cfg_origin(rm->cfg, "SCR_RESOURCE_MANAGER"),
        rm->ops->job_vars[0]);
}

static int expand_count(int count, struct scr_hostlist *names, struct scr_err *err)
{
    if (count < 1)
        return scr_fail(err, SCR_E_CONFIG, 0,
                        "expected node names or a count of at least 1");
    char *list = scr_asprintf("n[1-%d]", count);
    int rc = list ? scr_hostlist_expand(list, names, err) : scr_no_memory(err);
    free(list);
    return rc;
}

int scr_rm_expand(const struct scr_cfg *cfg, const char *name, const char *text,
                  struct scr_hostlist *nodes, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    int count, may_count = strcmp(name, "SCR_VNODES") == 0;
    int rc = may_count && scr_parse_int(text, &count)
                 ? expand_count(count, nodes, &why)
                 : scr_hostlist_expand(text, nodes, &why);
    if (rc == SCR_OK || rc == SCR_E_NOMEM)
        return rc == SCR_OK ? rc : scr_no_memory(err);
    return scr_fail(err, SCR_E_CONFIG, 0, "%s=%s (%s): %s", name, text,
                    scr_cfg_origin(cfg, name), why.text);
}

const char *scr_rm_vnode(const struct scr_hostlist *names, size_t rank, size_t ranks)
{
    return names->name[rank * names->n / ranks];
}

/* The nodes of a setting, each once. */
static int nodes_of_setting(struct scr_rm *rm, const char *name, const char *text,
                            struct scr_err *err)
{
    struct scr_hostlist all = SCR_HOSTLIST_INIT;
    int rc;
    TRY_OUT(scr_rm_expand(rm->cfg, name, text, &all, err));
    TRY_OUT(scr_rm_add_nodes(&rm->nodes, &all, err));
out:
    scr_hostlist_free(&all);
    return rc;
}

static int find_nodes(struct scr_rm *rm, struct scr_err *err)
{
    if (rm->prm->nodelist != NULL)
        return nodes_of_setting(rm, "SCR_NODELIST", rm->prm->nodelist, err);
    if (rm->prm->vnodes != NULL)
        return nodes_of_setting(rm, "SCR_VNODES", rm->prm->vnodes, err);
    TRY(rm->ops->nodes ? rm->ops->nodes(rm, &rm->nodes, err) : SCR_OK);
    return scr_rm_check_names(&rm->nodes, err);
}

/* Whether every node of the job is one of SCR_VNODES. */
static int nodes_are_virtual(const struct scr_rm *rm)
{
    struct scr_hostlist names = SCR_HOSTLIST_INIT, others = SCR_HOSTLIST_INIT;
    int all =
        rm->prm->vnodes != NULL && rm->nodes.n > 0 &&
        scr_rm_expand(rm->cfg, "SCR_VNODES", rm->prm->vnodes, &names, NULL) == SCR_OK &&
        scr_hostlist_minus(&rm->nodes, &names, &others, NULL) == SCR_OK &&
        others.n == 0;
    scr_hostlist_free(&names);
    scr_hostlist_free(&others);
    return all;
}

int scr_rm_is_on_one_host(const struct scr_rm *rm)
{
    struct scr_hostlist hosts = SCR_HOSTLIST_INIT;
    int rc = rm->ops->nodes ? rm->ops->nodes(rm, &hosts, NULL) : SCR_OK;
    int one = rc == SCR_OK && hosts.n <= 1;
    scr_hostlist_free(&hosts);
    return one;
}

static int find_job(struct scr_rm *rm, struct scr_err *err)
{
    const char *id = first_set(rm->cfg, rm->ops->job_vars);
    if (id == NULL)
        return rm->ops->job ? rm->ops->job(rm, &rm->job, err) : SCR_OK;
    rm->job = scr_strdup(id);
    return rm->job ? SCR_OK : scr_no_memory(err);
}

int scr_rm_open(const struct scr_env *env, const struct scr_cfg *cfg,
                const struct scr_params *prm, struct scr_rm *rm, struct scr_err *err)
{
    *rm = (struct scr_rm){ .env = env, .cfg = cfg, .prm = prm };
    int rc;
    pick(rm);
    if ((rc = check_inside(rm, err)) == SCR_OK &&
        (rc = scr_hostname(&rm->host, err)) == SCR_OK &&
        (rc = find_job(rm, err)) == SCR_OK && (rc = find_nodes(rm, err)) == SCR_OK)
        rm->is_virtual = nodes_are_virtual(rm);
    else
        scr_rm_close(rm);
    return rc;
}

int scr_rm_open_anywhere(const struct scr_env *env, const struct scr_cfg *cfg,
                         const struct scr_params *prm, struct scr_rm *rm,
                         struct scr_err *err)
{
    *rm = (struct scr_rm){ .env = env, .cfg = cfg, .prm = prm };
    int rc;
    pick(rm);
    if ((rc = scr_hostname(&rm->host, err)) == SCR_OK && is_inside(cfg, rm->ops))
        rc = find_job(rm, err);
    if (rc != SCR_OK)
        scr_rm_close(rm);
    return rc;
}

void scr_rm_hide_job(char *const *envp, struct scr_strv *env)
{
    for (int i = 0; i < NMANAGERS; i++)
        if (managers[i]->family != NULL)
            add_names(envp, managers[i]->family, env);
}

/* The id comes from a file, and becomes an argument. Those of Flux are no ASCII. */
static int may_be_job(const char *id)
{
    return *id != '\0' && *id != '-' && strpbrk(id, " \t\n\r") == NULL;
}

int scr_rm_open_job(const struct scr_env *env, const struct scr_cfg *cfg,
                    const struct scr_params *prm, const struct scr_rm_job *job,
                    struct scr_rm *rm, struct scr_err *err)
{
    *rm = (struct scr_rm){ .env = env, .cfg = cfg, .prm = prm };
    rm->ops = find_named(job->manager);
    if (rm->ops == NULL)
        return scr_fail(err, SCR_E_ARG, 0, "resource manager %s is not known",
                        job->manager);
    if (job->id != NULL && !may_be_job(job->id))
        return scr_fail(err, SCR_E_UNSAFE, 0, "\"%s\" is no id of a job", job->id);
    rm->job = scr_strdup(job->id);
    if (job->id != NULL && rm->job == NULL)
        return scr_no_memory(err);
    int rc = scr_hostname(&rm->host, err);
    if (rc != SCR_OK)
        scr_rm_close(rm);
    return rc;
}

void scr_rm_close(struct scr_rm *rm)
{
    scr_hostlist_free(&rm->nodes);
    free(rm->host);
    free(rm->job);
    *rm = (struct scr_rm){ 0 };
}

/* --- questions --- */

int scr_rm_down(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                struct scr_downs *down, struct scr_err *err)
{
    if (rm->ops->down == NULL || rm->is_virtual)
        return SCR_OK;
    return rm->ops->down(rm, nodes, down, err);
}

int scr_rm_end_time(const struct scr_rm *rm, int64_t *end, struct scr_err *err)
{
    *end = (int64_t)rm->prm->end_time;
    if (*end > 0 || rm->ops->end_time == NULL || rm->job == NULL)
        return SCR_OK;
    return rm->ops->end_time(rm, end, err);
}

void scr_rm_warn_no_end(const struct scr_log *log, const struct scr_err *why)
{
    scr_log(log, SCR_LOG_WARN,
            "SCR_HALT_SECONDS has no effect: the end of the allocation is not known "
            "(set SCR_END_TIME)%s%s",
            why->code != SCR_OK ? ": " : "", why->text);
}

int scr_rm_steps(const struct scr_rm *rm, struct scr_hostlist *steps,
                 struct scr_err *err)
{
    if (rm->ops->steps == NULL || rm->job == NULL)
        return SCR_OK;
    return rm->ops->steps(rm, steps, err);
}

static int kill_newest(const struct scr_rm *rm, const struct scr_hostlist *others,
                       char **killed, struct scr_err *err)
{
    struct scr_hostlist steps = SCR_HOSTLIST_INIT;
    int rc = rm->ops->steps(rm, &steps, err);
    size_t n = steps.n;
    while (n > 0 && others != NULL && scr_hostlist_contains(others, steps.name[n - 1]))
        n--;
    if (rc == SCR_OK && n > 0)
        rc = rm->ops->kill_step(rm, steps.name[n - 1], killed, err);
    scr_hostlist_free(&steps);
    return rc;
}

int scr_rm_kill_step(const struct scr_rm *rm, const char *step,
                     const struct scr_hostlist *others, char **killed,
                     struct scr_err *err)
{
    *killed = NULL;
    if (rm->ops->kill_step == NULL || rm->job == NULL)
        return scr_fail(err, SCR_E_UNSUPPORTED, 0,
                        "no job steps can be killed without a resource manager that "
                        "knows them");
    if (step == NULL && rm->ops->steps != NULL)
        return kill_newest(rm, others, killed, err);
    return rm->ops->kill_step(rm, step, killed, err);
}

static int ask_jobs(const struct scr_rm *rm, const struct scr_rm_ops *ops,
                    const char *user, struct scr_hostlist *jobs, struct scr_err *err)
{
    struct scr_err why = SCR_ERR_INIT;
    const char *argv[sizeof ops->jobs / sizeof ops->jobs[0] + 1] = { NULL };
    char *out, uid[24];
    (void)snprintf(uid, sizeof uid, "%lu", (unsigned long)geteuid());
    for (size_t i = 0; ops->jobs[i] != NULL; i++)
        if (strcmp(ops->jobs[i], SCR_RM_UID) == 0)
            argv[i] = geteuid() != 0 ? uid : user;
        else
            argv[i] = strcmp(ops->jobs[i], SCR_RM_USER) == 0 ? user : ops->jobs[i];
    int rc = scr_rm_ask(rm, argv, NULL, &out, &why);
    char *rest = out;
    for (char *line; rc == SCR_OK && (line = scr_rm_line(&rest)) != NULL;)
        rc = scr_hostlist_add_once(jobs, scr_rm_word(&line), &why);
    free(out);
    if (rc == SCR_OK || (ops->no_jobs && strstr(why.text, ops->no_jobs) != NULL))
        return SCR_OK;
    return scr_fail(err, rc, 0, "%s does not report which jobs run: %s", ops->name,
                    why.text);
}

int scr_rm_jobs(const struct scr_rm *rm, const char *user, struct scr_hostlist *jobs,
                struct scr_err *err)
{
    const int is_named = find_named(rm->prm->resource_manager) != NULL;
    for (int i = 0; i < NMANAGERS; i++)
        if (managers[i]->jobs[0] != NULL &&
            (managers[i] == rm->ops ||
             (!is_named && scr_rm_has_program(rm, managers[i]->jobs[0]))))
            TRY(ask_jobs(rm, managers[i], user, jobs, err));
    return SCR_OK;
}

static int is_element(const char *job, const char *array)
{
    const char *end = strstr(array, "[]");
    size_t n = end ? (size_t)(++end - array) : 0;
    if (n == 0 || strncmp(job, array, n) != 0)
        return 0;
    size_t digits = strspn(job + n, "0123456789");
    return digits > 0 && strcmp(job + n + digits, end) == 0;
}

int scr_rm_is_listed(const struct scr_hostlist *jobs, const char *job)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (strcmp(jobs->name[i], job) == 0 || is_element(job, jobs->name[i]))
            return 1;
    return 0;
}
