/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a prefix directory by its event log. */
#include "ops/runlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "store/eventlog.h"

static int set_text(char **to, const char *text, struct scr_err *err)
{
    char *copy = scr_strdup(text);
    if (text != NULL && copy == NULL)
        return scr_no_memory(err);
    free(*to);
    *to = copy;
    return SCR_OK;
}

/* A node that was left out. */
static int lose(struct scr_runlog *l, const char *node, struct scr_err *err)
{
    struct scr_runlog_node *n = scr_table_add(&l->lost, node);
    TRY(n ? SCR_OK : scr_no_memory(err));
    l->lost_since += n->run != l->runs + 1;
    n->run = l->runs + 1;
    return SCR_OK;
}

/* A list that cannot be read names no node. */
static int lose_list(struct scr_runlog *l, const char *list, struct scr_err *err)
{
    struct scr_hostlist nodes = SCR_HOSTLIST_INIT;
    if (list != NULL)
        (void)scr_hostlist_expand_front(list, SCR_HOSTLIST_FRONT, &nodes, NULL);
    for (size_t i = 0; i < nodes.n; i++)
        (void)scr_table_add(&l->lost, nodes.name[i]);
    scr_hostlist_free(&nodes);
    return scr_table_ok(&l->lost) ? SCR_OK : scr_no_memory(err);
}

/* --- the kinds of events --- */

static int start_run(struct scr_runlog *l, const struct scr_event *e,
                     struct scr_err *err)
{
    if (scr_event_by(e) != SCR_BY_LIBRARY)
        return SCR_OK;
    l->runs = e->run > l->runs ? e->run : l->runs + 1;
    l->began = e->at;
    l->ended = l->ckpt_ended = l->interval = 0;
    l->ranks = e->ranks > 0 ? e->ranks : 0;
    l->nodes = e->nodes > 0 ? e->nodes : 0;
    l->lost_since = 0;
    TRY(set_text(&l->job, e->jobid, err));
    TRY(set_text(&l->nodelist, e->nodelist, err));
    TRY(set_text(&l->config, e->config, err));
    TRY(set_text(&l->halt, NULL, err));
    TRY(set_text(&l->advice, NULL, err));
    return set_text(&l->exit, NULL, err);
}

static int end_run(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    if (scr_event_by(e) == SCR_BY_LOOP)
        return set_text(&l->exit, e->note, err);
    l->ended = e->at;
    return e->note != NULL && l->halt == NULL ? set_text(&l->halt, e->note, err)
                                              : SCR_OK;
}

static int halt(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    return set_text(&l->halt, e->note ? e->note : "halt", err);
}

static int end_checkpoint(struct scr_runlog *l, const struct scr_event *e,
                          struct scr_err *err)
{
    (void)err;
    l->ckpt_ended = e->at;
    return SCR_OK;
}

static int encode(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    enum scr_scheme scheme;
    (void)err;
    if (e->to != NULL && e->dset > 0 && scr_scheme_parse(e->to, &scheme)) {
        l->encoded = (int)e->dset;
        l->scheme = scheme;
    }
    return SCR_OK;
}

static int advise(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    l->interval = e->secs > 0 ? e->secs : 0;
    return set_text(&l->advice, e->note, err);
}

static int lose_node(struct scr_runlog *l, const struct scr_event *e,
                     struct scr_err *err)
{
    const char *why;
    size_t n = scr_event_lost_node(e, &why);
    if (n == 0)
        return SCR_OK;
    char *node = scr_asprintf("%.*s", (int)n, e->note);
    int rc = node == NULL ? scr_no_memory(err) : lose(l, node, err);
    free(node);
    return rc;
}

static int fail(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    static const char *const classes[SCR_FAILURES] = { "process", "node", "beyond" };
    for (int i = 0; i < SCR_FAILURES; i++)
        if (e->class != NULL && strcmp(e->class, classes[i]) == 0)
            l->failures[i]++;
    return lose_list(l, e->nodelist, err);
}

static const struct {
    const char *event;
    int (*take)(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err);
} kinds[] = {
    { "RUN_START", start_run }, { "RUN_END", end_run },
    { "HALT", halt },           { "CHECKPOINT_END", end_checkpoint },
    { "ENCODE", encode },       { "INTERVAL", advise },
    { "NODE_FAIL", lose_node }, { "FAILURE", fail },
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

int scr_runlog_add(struct scr_runlog *l, const struct scr_event *e, struct scr_err *err)
{
    l->events++;
    if (scr_event_by(e) == SCR_BY_LIBRARY && e->at > l->seen)
        l->seen = e->at;
    for (size_t i = 0; i < NKINDS; i++)
        if (strcmp(e->event, kinds[i].event) == 0)
            return kinds[i].take(l, e, err);
    return SCR_OK;
}

static int add(void *arg, const struct scr_event *e, struct scr_err *err)
{
    return scr_runlog_add(arg, e, err);
}

int scr_runlog_read(const struct scr_env *env, const struct scr_prefix *p,
                    struct scr_runlog *l, struct scr_err *err)
{
    struct scr_eventlog_reader r = { .event = add, .arg = l };
    int rc = scr_eventlog_walk(env, p, &r, err);
    l->damaged = r.damaged;
    return rc;
}

void scr_runlog_fini(struct scr_runlog *l)
{
    char *const texts[] = {
        l->job, l->nodelist, l->config, l->halt, l->exit, l->advice
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    scr_table_fini(&l->lost);
    *l = (struct scr_runlog)SCR_RUNLOG_INIT;
}

/* --- redundancy --- */

/* Where the value of key begins in text, before end; NULL: it is not there. */
static const char *value_of(const char *text, const char *end, const char *key)
{
    const char *at = strstr(text, key);
    return at != NULL && at < end ? at + strlen(key) : NULL;
}

/* Of a descriptor of this scheme, else the parameter; -1: neither is set. */
static int find_failures(const char *config, enum scr_scheme scheme)
{
    const char *k = NULL, *rest;
    char type[32];
    (void)snprintf(type, sizeof type, " TYPE=%s", scr_scheme_name(scheme));
    for (const char *at = config, *end; *at != '\0' && k == NULL; at = end) {
        end = at + strcspn(at, ";");
        if (value_of(at, end, type) != NULL)
            k = value_of(at, end, " SET_FAILURES=");
        end += *end == ';';
    }
    if (k == NULL)
        k = value_of(config, config + strlen(config), "SCR_SET_FAILURES=");
    return k ? scr_parse_front(k, &rest) : -1;
}

int scr_runlog_survives(const struct scr_runlog *l, enum scr_scheme scheme)
{
    if (scheme == SCR_SCHEME_SINGLE || l->nodes == 1)
        return 0;
    if (scheme == SCR_SCHEME_XOR)
        return 1;
    int k = l->config ? find_failures(l->config, scheme) : -1;
    return k >= 0 ? k : scheme == SCR_SCHEME_PARTNER ? 1 : 2;
}
