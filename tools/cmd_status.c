/* SPDX-License-Identifier: BSD-3-Clause */
/* scr status: how the job of a prefix directory is, from any host that sees the
 * directory. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"
#include "reach.h"
#include "rm/rm.h"
#include "status_print.h"

enum { OPT_PREFIX, OPT_JSON, OPT_PROMETHEUS, OPT_LINE, OPT_WATCH };

static const struct scr_opt opts[] = {
    [OPT_PREFIX] = { "prefix", 'p', "DIR",
                     "prefix directory (default: the current one)" },
    [OPT_JSON] = { "json", 0, NULL, "print JSON" },
    [OPT_PROMETHEUS] = { "prometheus", 0, NULL,
                         "print metrics in the text format of Prometheus" },
    [OPT_LINE] = { "line", 'l', NULL, "print one short line" },
    [OPT_WATCH] = { "watch", 'w', "[SECONDS]",
                    "print again every SECONDS (2), until Control-C" },
    { 0 },
};

/* The state between two prints. */
struct view {
    struct scr_tool *t;
    struct scr_params prm;
    int has_prm;
    struct scr_reach reach;
    int64_t end, spares; /* as the resource manager says */
    double asked;        /* when; 0: it was not */
};

/* --- the allocation --- */

/* Outside of it, by the record of the run loop. */
static int ask_for_job(struct view *v, int64_t *end, struct scr_err *why)
{
    struct scr_tool *t = v->t;
    struct scr_rm rm;
    scr_hash *h = scr_hash_new();
    int rc = scr_prefix_state_read(&t->env, &t->prefix, "run.scr", h, why);
    const struct scr_rm_job job = { scr_hash_get_val(h, "MANAGER"),
                                    scr_hash_get_val(h, "JOB") };
    if (rc == SCR_OK && job.manager != NULL && job.id != NULL &&
        (rc = scr_rm_open_job(&t->env, t->cfg, &v->prm, &job, &rm, why)) == SCR_OK) {
        rc = scr_rm_end_time(&rm, end, why);
        scr_rm_close(&rm);
    }
    scr_hash_delete(h);
    return rc;
}

static int64_t count_spares(const struct scr_rm *rm, const struct scr_status *s)
{
    size_t used = s->nodes > 0 ? (size_t)s->nodes : rm->nodes.n;
    for (size_t i = 0; i < rm->nodes.n; i++)
        used += scr_table_find(&s->log.lost, rm->nodes.name[i]) != NULL;
    return rm->nodes.n == 0     ? -1
           : rm->nodes.n > used ? (int64_t)(rm->nodes.n - used)
                                : 0;
}

/* In an allocation: what its manager says, if the job is this one. */
static int ask_manager(struct view *v, const struct scr_status *s, struct scr_err *why)
{
    struct scr_tool *t = v->t;
    struct scr_rm rm;
    int is_ours = s->job != NULL && strcmp(v->prm.job_id, s->job) == 0;
    if (!is_ours)
        return ask_for_job(v, &v->end, why);
    TRY(scr_rm_open(&t->env, t->cfg, &v->prm, &rm, why));
    v->spares = count_spares(&rm, s);
    int rc = scr_rm_end_time(&rm, &v->end, why);
    if (rc == SCR_OK && v->end == 0)
        rc = ask_for_job(v, &v->end, why);
    scr_rm_close(&rm);
    return rc;
}

/* Once a minute: a manager may need seconds to answer. */
static int find_end(struct view *v, struct scr_status *s, struct scr_err *err)
{
    static const double every_s = 60;
    struct scr_err why = SCR_ERR_INIT;
    double now = scr_now_mono();
    int is_on = s->state == SCR_STATUS_RUNNING || s->state == SCR_STATUS_STARTING;
    if (v->has_prm && is_on && (v->asked <= 0 || now - v->asked >= every_s)) {
        v->asked = now;
        v->spares = -1;
        v->t->log.quiet = 1;
        if (ask_manager(v, s, &why) != SCR_OK)
            scr_status_note(s, "end of the allocation: %s", why.text);
        v->t->log.quiet = 0;
    }
    s->spares = is_on ? v->spares : -1;
    return scr_status_set_end(s, v->has_prm ? &v->prm : NULL, v->end, err);
}

/* --- one look --- */

/* A configuration or a cache that cannot be used leaves what depends on it unknown. */
static int look(struct view *v, struct scr_status *s, struct scr_err *err)
{
    struct scr_tool *t = v->t;
    struct scr_err no_cfg = SCR_ERR_INIT, no_reach = SCR_ERR_INIT;
    int rc;
    scr_reach_fini(&v->reach);
    v->has_prm = scr_tool_params(t, t->prefix.path, &v->prm, &no_cfg) == SCR_OK;
    if (v->has_prm)
        (void)scr_tool_reach_of_run(t, t->prefix.path, 0, &v->reach, &no_reach);
    const struct scr_status_ask q = { .env = &t->env,
                                      .prefix = &t->prefix,
                                      .prm = v->has_prm ? &v->prm : NULL,
                                      .reach = &v->reach,
                                      .now = (int64_t)time(NULL) };
    TRY_OUT(scr_status_gather(&q, s, err));
    if (no_cfg.code != SCR_OK)
        scr_status_note(s, "configuration: %s", no_cfg.text);
    if (no_reach.code != SCR_OK)
        scr_status_note(s, "%s", no_reach.text);
    TRY_OUT(find_end(v, s, err));
out:
    return rc;
}

static int print(struct scr_tool *t, const struct scr_args *a,
                 const struct scr_status *s, struct scr_err *err)
{
    if (a->opt[OPT_JSON] != NULL)
        return scr_tool_json(t, scr_status_json(t, s), err);
    int is_line = a->opt[OPT_LINE] != NULL;
    char *text = is_line                          ? scr_status_line(s)
                 : a->opt[OPT_PROMETHEUS] != NULL ? scr_status_prometheus(t, s)
                                                  : scr_status_text(t, s);
    TRY(text ? SCR_OK : scr_no_memory(err));
    scr_tool_print(t, "%s%s", text, is_line ? "\n" : "");
    free(text);
    return SCR_OK;
}

static int look_once(struct view *v, const struct scr_args *a, struct scr_err *err)
{
    struct scr_status s = { 0 };
    struct scr_err no_cfg = SCR_ERR_INIT;
    int is_text = a->opt[OPT_JSON] == NULL && a->opt[OPT_PROMETHEUS] == NULL &&
                  a->opt[OPT_LINE] == NULL;
    int rc, is_good;
    if (is_text) /* with its warnings; an error becomes a note */
        (void)scr_tool_cfg(v->t, v->t->prefix.path, &no_cfg);
    TRY_OUT(look(v, &s, err));
    is_good = scr_status_is_good(&s);
    if (is_text)
        scr_tool_note_no_data(v->t);
    TRY_OUT(print(v->t, a, &s, err));
    rc = is_good ? SCR_OK : SCR_TOOL_NO;
out:
    scr_status_fini(&s);
    return rc;
}

/* --- watching --- */

static int lines_of(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* On a terminal over what was drawn before, of *drawn lines. */
static void draw(struct scr_tool *t, const char *text, int *drawn)
{
    if (!isatty(fileno(t->out))) {
        scr_tool_print(t, "%s\n", text);
    } else {
        if (*drawn > 0)
            scr_tool_print(t, "\033[%dF\033[J", *drawn);
        scr_tool_print(t, "%s", text);
        *drawn = lines_of(text);
    }
    fflush(t->out);
}

/* 1: the user wants no more. */
static int wait_for_user(const sigset_t *ends, double seconds)
{
    struct timespec left = { (time_t)seconds,
                             (long)((seconds - (double)(time_t)seconds) * 1e9) };
    return sigtimedwait(ends, NULL, &left) > 0;
}

static int watch(struct view *v, double seconds, struct scr_err *err)
{
    sigset_t ends, before;
    int rc = SCR_OK, drawn = 0;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, &before);
    do {
        struct scr_status s = { 0 };
        rc = look(v, &s, err);
        char *text = rc == SCR_OK ? scr_status_text(v->t, &s) : NULL;
        if (text != NULL)
            draw(v->t, text, &drawn);
        else if (rc == SCR_OK)
            rc = scr_no_memory(err);
        free(text);
        scr_status_fini(&s);
    } while (rc == SCR_OK && !ferror(v->t->out) && !wait_for_user(&ends, seconds));
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static int take_seconds(struct scr_tool *t, const char *text, double *seconds,
                        struct scr_err *err)
{
    static const double most = 86400;
    *seconds = 2;
    if (*text == '\0')
        return SCR_OK;
    if (scr_parse_seconds(text, seconds) && *seconds > 0 && *seconds <= most)
        return SCR_OK;
    return scr_tool_usage(t, err, "option --watch: \"%s\" is no time up to a day",
                          text);
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    static const int forms[] = { OPT_JSON, OPT_PROMETHEUS, OPT_LINE, OPT_WATCH, -1 };
    struct view v = { .t = t, .spares = -1 };
    double seconds = 0;
    int rc;
    TRY_OUT(scr_tool_exclusive(t, a, err, forms));
    if (a->opt[OPT_WATCH] != NULL)
        TRY_OUT(take_seconds(t, a->opt[OPT_WATCH], &seconds, err));
    TRY_OUT(scr_tool_prefix(t, a->opt[OPT_PREFIX], 0, err));
    rc = seconds > 0 ? watch(&v, seconds, err) : look_once(&v, a, err);
out:
    scr_reach_fini(&v.reach);
    return rc;
}

const struct scr_cmd scr_cmd_status = {
    .usage = "[OPTION]...",
    .about =
        "Reports how the job of a prefix directory is: whether it runs, where its "
        "newest\n"
        "checkpoints are and what they survive, how far a flush is, when the next\n"
        "checkpoint is due, what failed so far, and when it halts. Nothing is changed.",
    .opts = opts,
    .notes = "The exit status is 0 if it runs or a restart finds a checkpoint, else 1.",
    .run = run,
};
