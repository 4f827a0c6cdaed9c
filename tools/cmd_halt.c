/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_halt: sets, lists and removes the halt conditions of a job in its prefix
 * directory. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/proc.h"
#include "base/str.h"
#include "base/units.h"
#include "fmt/autopilot.h"
#include "runfile.h"
#include "stop.h"
#include "tool.h"

enum {
    OPT_CHECKPOINTS,
    OPT_BEFORE,
    OPT_AFTER,
    OPT_SECONDS,
    OPT_UNSET_CHECKPOINTS,
    OPT_UNSET_BEFORE,
    OPT_UNSET_AFTER,
    OPT_UNSET_SECONDS,
    OPT_UNSET_REASON,
    OPT_IMMEDIATE,
    OPT_LIST,
    OPT_REMOVE,
    OPT_PREFIX,
    OPT_JSON,
    OPT_N
};

static const struct scr_opt opts[] = {
    [OPT_CHECKPOINTS] = { "checkpoints", 'c', "N", "halt after N more checkpoints" },
    [OPT_BEFORE] = { "before", 'b', "TIME",
                     "halt before TIME, as early as the halt seconds say" },
    [OPT_AFTER] = { "after", 'a', "TIME", "halt at the first checkpoint after TIME" },
    [OPT_SECONDS] = { "seconds", 's', "N",
                      "set how many seconds before the end to halt" },
    [OPT_UNSET_CHECKPOINTS] = { "unset-checkpoints", 0, NULL, "drop --checkpoints" },
    [OPT_UNSET_BEFORE] = { "unset-before", 0, NULL, "drop --before" },
    [OPT_UNSET_AFTER] = { "unset-after", 0, NULL, "drop --after" },
    [OPT_UNSET_SECONDS] = { "unset-seconds", 0, NULL, "drop --seconds" },
    [OPT_UNSET_REASON] = { "unset-reason", 0, NULL,
                           "drop the reason a run stopped for, so that the next one "
                           "starts" },
    [OPT_IMMEDIATE] = { "immediate", 'i', NULL, "end the run now, and start no other" },
    [OPT_LIST] = { "list", 'l', NULL, "list the conditions, change nothing" },
    [OPT_REMOVE] = { "remove", 'r', NULL, "remove all conditions" },
    [OPT_PREFIX] = { "prefix", 'p', "DIR", "prefix directory of the job" },
    [OPT_JSON] = { "json", 0, NULL, "list as JSON" },
    { 0 },
};

static const double DATE_TIMEOUT_S = 30; /* date(1) answers in milliseconds */

/* The conditions of the command line. */
struct change {
    struct scr_halt set; /* fields to set, -1: leave */
    int unset[OPT_N];    /* by option */
    int is_change;
    int halts; /* the job is not started again */
    int immediate;
};

/* --- times as people write them --- */

/* Epoch seconds of text, by GNU date; never through a shell. */
static int parse_time(const char *text, int64_t *out, struct scr_err *err)
{
    char *arg = scr_asprintf("--date=%s", text), *reply = NULL;
    const char *argv[] = { "date", arg, "+%s", NULL };
    const struct scr_proc_spec spec = { .argv = argv, .err_path = "/dev/null" };
    int status = 0;
    int rc;
    TRY_OUT(arg ? scr_proc_run(&spec, DATE_TIMEOUT_S, &reply, &status, err)
                : scr_no_memory(err));
    reply[strcspn(reply, "\n")] = '\0';
    if (status != 0 || text[strspn(text, " \t")] == '\0' ||
        !scr_parse_i64(reply, out) || *out < 0)
        TRY_OUT(scr_fail(err, SCR_E_ARG, 0,
                         "time \"%s\" not understood: write it as for date --date, for "
                         "example '8:30am tomorrow' or 2014-01-14T11:26:06",
                         text));
out:
    free(reply);
    free(arg);
    return rc;
}

static int take_time(struct scr_tool *t, const struct scr_args *a, int row,
                     int64_t *out, struct scr_err *err)
{
    if (a->opt[row] == NULL)
        return SCR_OK;
    TRY(parse_time(a->opt[row], out, err));
    if (*out < (int64_t)time(NULL))
        scr_log(t->env.log, SCR_LOG_WARN, "--%s: \"%s\" is in the past", opts[row].name,
                a->opt[row]);
    return SCR_OK;
}

/* --- the command line --- */

static int read_change(struct scr_tool *t, const struct scr_args *a, struct change *c,
                       struct scr_err *err)
{
    const struct scr_range any = SCR_AT_LEAST(0);
    *c = (struct change){ .set = { -1, -1, -1, -1, NULL, 0 } };
    TRY(scr_tool_int(t, a, OPT_CHECKPOINTS, any, &c->set.checkpoints_left, err));
    TRY(scr_tool_int(t, a, OPT_SECONDS, any, &c->set.halt_seconds, err));
    TRY(take_time(t, a, OPT_BEFORE, &c->set.exit_before, err));
    TRY(take_time(t, a, OPT_AFTER, &c->set.exit_after, err));
    c->immediate = c->halts = a->opt[OPT_IMMEDIATE] != NULL;
    for (int i = OPT_CHECKPOINTS; i <= OPT_IMMEDIATE; i++) {
        c->unset[i] =
            i >= OPT_UNSET_CHECKPOINTS && i <= OPT_UNSET_REASON && a->opt[i] != NULL;
        c->is_change |= a->opt[i] != NULL;
    }
    if (!c->is_change && a->opt[OPT_LIST] == NULL && a->opt[OPT_JSON] == NULL) {
        c->halts = 1; /* bare scr_halt: after the next checkpoint, and not again */
        c->set.checkpoints_left = 1;
        c->is_change = 1;
    }
    return SCR_OK;
}

/* --- doing it --- */

static void apply(int64_t *field, int unset, int64_t value)
{
    if (unset)
        *field = -1;
    if (value >= 0)
        *field = value;
}

static int edit_halt(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    const struct change *c = arg;
    struct scr_halt now;
    TRY(scr_halt_get(h, &now, err));
    char *reason = c->unset[OPT_UNSET_REASON] ? NULL : scr_strdup(now.reason);
    now.reason = c->halts ? SCR_HALT_ASKED : reason;
    if (c->halts) /* of every job */
        scr_hash_unset(h, SCR_HALT_EXIT_JOB);
    if (c->set.checkpoints_left >= 0 || c->unset[OPT_UNSET_CHECKPOINTS])
        scr_stop_settle(h);
    apply(&now.checkpoints_left, c->unset[OPT_UNSET_CHECKPOINTS],
          c->set.checkpoints_left);
    apply(&now.exit_before, c->unset[OPT_UNSET_BEFORE], c->set.exit_before);
    apply(&now.exit_after, c->unset[OPT_UNSET_AFTER], c->set.exit_after);
    apply(&now.halt_seconds, c->unset[OPT_UNSET_SECONDS], c->set.halt_seconds);
    int rc = scr_halt_set(h, &now);
    free(reason);
    *changed = 1;
    return rc == SCR_OK ? rc : scr_fail(err, rc, 0, "halt conditions: out of memory");
}

/* --- listing --- */

static void print_count(struct scr_tool *t, const char *what, int64_t n)
{
    if (n >= 0)
        scr_tool_print(t, "%s = %lld\n", what, (long long)n);
}

static void print_time(struct scr_tool *t, const char *what, int64_t when)
{
    char buf[32];
    if (when >= 0)
        scr_tool_print(t, "%s = %s\n", what,
                       scr_format_stamp((time_t)when, buf, sizeof buf));
}

static void print_text(struct scr_tool *t, const struct scr_halt *h, const char *why)
{
    print_count(t, "CheckpointsLeft", h->checkpoints_left);
    print_time(t, "ExitAfter", h->exit_after);
    print_time(t, "ExitBefore", h->exit_before);
    print_count(t, "HaltSeconds", h->halt_seconds);
    if (h->reason != NULL)
        scr_tool_print_line(t, "ExitReason = %s", h->reason);
    if (why != NULL)
        scr_tool_print_line(t, "satisfied now: %s", why);
    if (h->checkpoints_left < 0 && h->exit_after < 0 && h->exit_before < 0 &&
        h->halt_seconds < 0 && h->reason == NULL)
        scr_tool_print(t, "no halt conditions\n");
}

static json_t *number_or_null(int64_t v)
{
    return v >= 0 ? json_integer(v) : json_null();
}

static int print_json(struct scr_tool *t, const struct scr_halt *h, const char *why,
                      struct scr_err *err)
{
    return scr_tool_json(t,
                         json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "CheckpointsLeft",
                                   number_or_null(h->checkpoints_left), "ExitAfter",
                                   number_or_null(h->exit_after), "ExitBefore",
                                   number_or_null(h->exit_before), "HaltSeconds",
                                   number_or_null(h->halt_seconds), "ExitReason",
                                   scr_tool_json_text(h->reason), "satisfied",
                                   scr_tool_json_text(why)),
                         err);
}

static int list(struct scr_tool *t, int is_json, struct scr_err *err)
{
    struct scr_halt now;
    char *why = NULL;
    scr_hash *h = scr_hash_new();
    int rc;
    TRY_OUT(scr_prefix_state_read(&t->env, &t->prefix, "halt.scr", h, err));
    TRY_OUT(scr_halt_get(h, &now, err));
    struct scr_halt running = now; /* continues up to its next checkpoint */
    running.reason = scr_halt_waits(&now) ? NULL : now.reason;
    (void)scr_halt_due(&running, (int64_t)time(NULL), &why);
    if (is_json)
        TRY_OUT(print_json(t, &now, why, err));
    else
        print_text(t, &now, why);
out:
    free(why);
    scr_hash_delete(h);
    return rc;
}

/* The conditions are written by now: what is killed is not started again. */
static int end_run(struct scr_tool *t, struct scr_err *err)
{
    char *what = NULL;
    int rc;
    TRY_OUT(scr_runfile_kill(t, RUNFILE_HALT, &what, err));
    scr_tool_print_line(t, "%s",
                        what ? what : "no run of scr_srun or the like is there");
out:
    free(what);
    return rc;
}

static int halt_one(struct scr_tool *t, const struct scr_args *a, struct change *c,
                    const char *prefix, struct scr_err *err)
{
    int is_remove = a->opt[OPT_REMOVE] != NULL;
    scr_prefix_fini(&t->prefix);
    int rc = scr_tool_prefix(t, prefix, c->is_change && !is_remove, err);
    if (rc != SCR_OK)
        return rc;
    if (is_remove)
        return scr_prefix_state_remove(&t->env, &t->prefix, "halt.scr", err);
    if (c->is_change)
        rc =
            scr_prefix_state_update(&t->env, &t->prefix, "halt.scr", edit_halt, c, err);
    if (rc == SCR_OK && c->immediate) {
        rc = end_run(t, err);
        /* That the run does not end by itself is no failure. */
        (void)scr_prefix_state_update(&t->env, &t->prefix, SCR_AUTOPILOT_FILE,
                                      scr_autopilot_close, NULL, NULL);
    }
    return rc == SCR_OK ? list(t, a->opt[OPT_JSON] != NULL, err) : rc;
}

static int check_options(struct scr_tool *t, const struct scr_args *a,
                         struct scr_err *err)
{
    for (int i = OPT_CHECKPOINTS; i <= OPT_LIST && a->opt[OPT_REMOVE] != NULL; i++)
        if (a->opt[i] != NULL)
            return scr_tool_usage(
                t, err, "options --remove and --%s exclude each other", opts[i].name);
    if (a->opt[OPT_PREFIX] != NULL && a->noperands > 0)
        return scr_tool_usage(t, err, "the prefix is given twice");
    if (a->opt[OPT_JSON] != NULL && a->noperands > 1)
        return scr_tool_usage(t, err, "option --json takes one prefix");
    return SCR_OK;
}

/* One prefix that cannot be had does not keep the others' jobs running. */
static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    struct change c;
    struct scr_err first = SCR_ERR_INIT;
    int rc = SCR_OK;
    TRY(read_change(t, a, &c, err));
    TRY(check_options(t, a, err));
    const char *prefix = a->opt[OPT_PREFIX] ? a->opt[OPT_PREFIX] : a->operand[0];
    if (a->noperands <= 1)
        return halt_one(t, a, &c, prefix, err);
    for (int i = 0; i < a->noperands; i++) {
        struct scr_err why = SCR_ERR_INIT;
        scr_tool_print_line(t, "%s:", a->operand[i]);
        int one = halt_one(t, a, &c, a->operand[i], &why);
        if (one != SCR_OK && rc == SCR_OK)
            first = why;
        else if (one != SCR_OK)
            scr_log(&t->log, SCR_LOG_ERROR, "%s", why.text);
        rc = scr_first(rc, one);
    }
    return scr_err_take(err, rc, &first);
}

const struct scr_cmd scr_cmd_halt = {
    .usage = "[OPTION]... [PREFIX]...",
    .about = "Sets when the job that runs in the prefix directory PREFIX (the current "
             "one by\n"
             "default) stops. Without a condition: after its next checkpoint. The job "
             "checks\n"
             "the conditions when it starts and after each checkpoint. Several "
             "conditions can\n"
             "hold at the same time. The conditions in force afterwards are printed.",
    .opts = opts,
    .notes = "TIME is written as for date --date: '12:00pm today', '8:30am tomorrow',\n"
             "2014-01-14T11:26:06. --before takes effect once the time left is no more "
             "than\n"
             "the seconds of --seconds or SCR_HALT_SECONDS.",
    .max_operands = -1,
    .run = run,
};
