/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one command on many nodes at once: the table, and what its rows share. */
#include "rm/remote.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "rm/names.h"
#include "rm/remote_impl.h"

/* In the order in which AUTO tries them. */
static const struct scr_remote_ops *const means[] = {
    &scr_remote_local, &scr_remote_srun, &scr_remote_pdsh, &scr_remote_ssh
};
enum { NMEANS = sizeof means / sizeof means[0] };

/* --- which --- */

static const struct scr_remote_ops *find_named(const char *name)
{
    for (int i = 0; i < NMEANS; i++)
        if (strcasecmp(means[i]->name, name) == 0)
            return means[i];
    return NULL;
}

static int applies(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                   const struct scr_remote_ops *ops)
{
    return (ops->applies == NULL || ops->applies(rm, nodes)) &&
           (ops->program == NULL || scr_rm_has_program(rm, ops->program));
}

static int pick(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                const struct scr_remote_ops **ops, struct scr_err *err)
{
    *ops = find_named(rm->prm->remote);
    for (int i = 0; *ops == NULL && i < NMEANS; i++)
        if (applies(rm, nodes, means[i]))
            *ops = means[i];
    if (*ops != NULL)
        return SCR_OK;
    return scr_fail(err, SCR_E_NOENT, 0,
                    "no way to run commands on %s: neither pdsh nor ssh is in PATH%s",
                    nodes->name[0],
                    strcmp(rm->ops->name, "SLURM") == 0 ? ", nor srun" : "");
}

int scr_remote_means(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                     const char **name, struct scr_err *err)
{
    const struct scr_remote_ops *ops;
    int rc = pick(rm, nodes, &ops, err);
    *name = rc == SCR_OK ? ops->name : NULL;
    return rc;
}

/* --- results --- */

/* Both are taken over; 0 when one of them is NULL. */
static int result_set(struct scr_remote_result *r, char *out, char *why)
{
    if (out == NULL || why == NULL) {
        free(out);
        free(why);
        return 0;
    }
    free(r->out);
    free(r->why);
    r->out = out;
    r->why = why;
    return 1;
}

void scr_remote_free(struct scr_remote_result *res, size_t n)
{
    for (size_t i = 0; res != NULL && i < n; i++) {
        free(res[i].out);
        free(res[i].why);
    }
    free(res);
}

static struct scr_remote_result *new_results(size_t n)
{
    struct scr_remote_result *res = scr_calloc(n, sizeof *res);
    int ok = res != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        res[i].status = -1;
        ok = result_set(&res[i], scr_strdup(""), scr_strdup(""));
    }
    if (ok)
        return res;
    scr_remote_free(res, n);
    return NULL;
}

int scr_remote_run(const struct scr_rm *rm, const struct scr_hostlist *nodes,
                   const char *const *argv, double timeout_s,
                   struct scr_remote_result **res, struct scr_err *err)
{
    const struct scr_remote_ops *ops;
    char *path = NULL;
    *res = NULL;
    TRY(scr_rm_check_names(nodes, err));
    int rc = nodes->n > 0 ? pick(rm, nodes, &ops, err) : SCR_OK;
    if (rc == SCR_OK && nodes->n > 0 && ops->program != NULL &&
        (rc = scr_rm_program(rm, ops->program, &path, err)) != SCR_OK)
        scr_err_prefix(err, "run commands on %s", nodes->name[0]);
    if (rc == SCR_OK && (*res = new_results(nodes->n)) == NULL)
        rc = scr_no_memory(err);
    if (rc == SCR_OK && nodes->n > 0) {
        const struct scr_remote_job job = { rm, nodes, argv, path, timeout_s, *res };
        rc = ops->run(&job, err);
    }
    if (rc != SCR_OK) {
        scr_remote_free(*res, nodes->n);
        *res = NULL;
    }
    free(path);
    return rc;
}

/* --- one process a node --- */

static int take_result(const struct scr_remote_job *job, struct scr_many_task *t,
                       struct scr_remote_result *r, int unreached)
{
    r->answered = t->end == SCR_MANY_ENDED && t->status != unreached;
    r->status = r->answered ? t->status : -1;
    char *why = t->end == SCR_MANY_LATE
                    ? scr_asprintf("no answer within %.0f seconds", job->timeout_s)
                    : scr_strdup(t->errout);
    if (!r->answered && why != NULL && *why == '\0') {
        free(why);
        why = scr_asprintf("%s: exit status %d", t->argv[0], t->status);
    }
    return result_set(r, scr_strdup(t->out), why);
}

int scr_remote_each(const struct scr_remote_job *job, scr_remote_line line,
                    int unreached, struct scr_err *err)
{
    size_t n = job->nodes->n;
    struct scr_many_task *task = scr_calloc(n, sizeof *task);
    struct scr_strv *argv = scr_calloc(n, sizeof *argv);
    struct scr_strv *env = scr_calloc(n, sizeof *env);
    int rc = task && argv && env ? SCR_OK : scr_no_memory(err);
    for (size_t i = 0; i < n && rc == SCR_OK; i++) {
        line(job, job->nodes->name[i], &argv[i], &env[i]);
        task[i].argv = scr_strv_argv(&argv[i]);
        task[i].env = scr_strv_argv(&env[i]);
        rc = argv[i].bad || env[i].bad ? scr_no_memory(err) : SCR_OK;
    }
    if (rc == SCR_OK) {
        rc = scr_many_run(task, n, 0, job->timeout_s, job->rm->stop, err);
        for (size_t i = 0; i < n && rc == SCR_OK; i++)
            if (!take_result(job, &task[i], &job->res[i], unreached))
                rc = scr_no_memory(err);
        scr_many_free(task, n);
    }
    for (size_t i = 0; i < n && argv && env; i++) {
        scr_strv_free(&argv[i]);
        scr_strv_free(&env[i]);
    }
    free(env);
    free(argv);
    free(task);
    return rc;
}

/* --- a command for a shell at the other end --- */

static void quote(struct scr_str *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./,:=+@%";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        scr_str_append(s, word);
        return;
    }
    scr_str_append(s, "'");
    for (; *word != '\0'; word++)
        if (*word == '\'')
            scr_str_append(s, "'\\''");
        else
            scr_str_append_n(s, word, 1);
    scr_str_append(s, "'");
}

char *scr_remote_shell_line(const struct scr_remote_job *job)
{
    struct scr_str s = SCR_STR_INIT;
    scr_str_append(&s, "env");
    for (char *const *e = scr_cfg_process_environ(); e != NULL && *e != NULL; e++)
        if (strncmp(*e, "SCR_", 4) == 0) {
            scr_str_append(&s, " ");
            quote(&s, *e);
        }
    /* Which cache it is depends on the id, and the manager's variables stay here. */
    scr_str_append(&s, " ");
    char *job_id = scr_asprintf("SCR_JOB_ID=%s", job->rm->prm->job_id);
    if (job_id == NULL)
        s.bad = 1;
    else
        quote(&s, job_id);
    free(job_id);
    for (const char *const *a = job->argv; *a != NULL; a++) {
        scr_str_append(&s, " ");
        quote(&s, *a);
    }
    return scr_str_take(&s);
}
