/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as lines of JSON and back. */
#include "fmt/event.h"

#include "base/str.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const scr_event_names[] = {
    "RUN_START",
    "RUN_END",
    "START",
    "HALT",
    "COMPUTE_START",
    "COMPUTE_END",
    "CHECKPOINT_START",
    "CHECKPOINT_END",
    "OUTPUT_START",
    "OUTPUT_END",
    "ENCODE",
    "REBUILD_START",
    "REBUILD_SUCCESS",
    "REBUILD_FAIL",
    "RESTART_SUCCESS",
    "RESTART_FAIL",
    "FETCH_START",
    "FETCH_SUCCESS",
    "FETCH_FAIL",
    "FLUSH_START",
    "FLUSH_SUCCESS",
    "FLUSH_FAIL",
    "ASYNC_FLUSH_START",
    "ASYNC_FLUSH_SUCCESS",
    "ASYNC_FLUSH_FAIL",
    "SCAVENGE_START",
    "SCAVENGE_END",
    "NODE_FAIL",
    "INTERVAL",
    NULL,
};

int scr_event_known(const char *name)
{
    for (const char *const *p = scr_event_names; *p != NULL; p++)
        if (name != NULL && strcmp(*p, name) == 0)
            return 1;
    return 0;
}

/* The members in the order they are written. */
static const struct member {
    const char *key;
    size_t at; /* in struct scr_event */
    enum { TEXT, COUNT, REAL } kind;
    int needed;
} members[] = {
    { "time", offsetof(struct scr_event, time), TEXT, 1 },
    { "host", offsetof(struct scr_event, host), TEXT, 1 },
    { "jobid", offsetof(struct scr_event, jobid), TEXT, 0 },
    { "event", offsetof(struct scr_event, event), TEXT, 1 },
    { "dset", offsetof(struct scr_event, dset), COUNT, 0 },
    { "name", offsetof(struct scr_event, name), TEXT, 0 },
    { "secs", offsetof(struct scr_event, secs), REAL, 0 },
    { "bytes", offsetof(struct scr_event, bytes), COUNT, 0 },
    { "files", offsetof(struct scr_event, files), COUNT, 0 },
    { "from", offsetof(struct scr_event, from), TEXT, 0 },
    { "to", offsetof(struct scr_event, to), TEXT, 0 },
    { "note", offsetof(struct scr_event, note), TEXT, 0 },
};
enum { NMEMBERS = sizeof members / sizeof members[0] };

static void *member_at(struct scr_event *e, const struct member *m)
{
    return (char *)e + m->at;
}

/* --- encode --- */

/* Paths and names may hold any bytes, JSON only UTF-8. */
static json_t *text_json(const char *text)
{
    json_t *j = json_string(text);
    if (j != NULL)
        return j;
    char *copy = scr_strdup(text);
    for (char *p = copy; p != NULL && *p != '\0'; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    j = copy == NULL ? NULL : json_string(copy);
    free(copy);
    return j;
}

/* JSON of a member; *there is 0 if it is left out. */
static json_t *member_json(const struct member *m, const void *at, int *there)
{
    double secs = m->kind == REAL ? *(const double *)at : -1;
    int64_t count = m->kind == COUNT ? *(const int64_t *)at : -1;
    const char *text = m->kind == TEXT ? *(const char *const *)at : NULL;
    *there = text != NULL || count >= 0 || (isfinite(secs) && secs >= 0);
    if (!*there)
        return NULL;
    if (m->kind == TEXT)
        return text_json(text);
    return m->kind == COUNT ? json_integer(count) : json_real(secs);
}

static json_t *event_json(const struct scr_event *e)
{
    struct scr_event copy = *e;
    json_t *root = json_object();
    for (int i = 0; root != NULL && i < NMEMBERS; i++) {
        int there;
        json_t *j = member_json(&members[i], member_at(&copy, &members[i]), &there);
        if (!there || json_object_set_new(root, members[i].key, j) == 0)
            continue;
        json_decref(root);
        root = NULL;
    }
    return root;
}

int scr_event_encode(const struct scr_event *e, char **line, size_t *n,
                     struct scr_err *err)
{
    if (e->time == NULL || e->host == NULL || !scr_event_known(e->event))
        return scr_fail(err, SCR_E_ARG, 0,
                        "event %s: needs a time, a host and a known name",
                        e->event != NULL ? e->event : "without name");
    json_t *root = event_json(e);
    char *text =
        root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    *line = text == NULL ? NULL : scr_asprintf("%s\n", text);
    free(text);
    if (*line == NULL)
        return scr_no_memory(err);
    *n = strlen(*line);
    return SCR_OK;
}

/* --- decode --- */

/* 1 if the value has the kind of the member and was put at its place. */
static int take(const struct member *m, void *at, const json_t *j)
{
    if (m->kind == TEXT && json_is_string(j) &&
        strlen(json_string_value(j)) == json_string_length(j))
        *(const char **)at = json_string_value(j);
    else if (m->kind == COUNT && json_is_integer(j) && json_integer_value(j) >= 0)
        *(int64_t *)at = json_integer_value(j);
    else if (m->kind == REAL && json_is_number(j) && json_number_value(j) >= 0)
        *(double *)at = json_number_value(j);
    else
        return 0;
    return 1;
}

int scr_event_decode(const char *line, size_t n, struct scr_event *e,
                     struct scr_event_owner **owner, struct scr_err *err)
{
    struct scr_event out = SCR_EVENT_INIT;
    json_error_t why;
    json_t *root = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return scr_fail(err, SCR_E_CORRUPT, 0, "event: not a line of JSON: %s",
                        root == NULL ? why.text : "not an object");
    }
    for (int i = 0; i < NMEMBERS; i++) {
        const json_t *j = json_object_get(root, members[i].key);
        if (j == NULL ? !members[i].needed
                      : take(&members[i], member_at(&out, &members[i]), j))
            continue;
        json_decref(root);
        return scr_fail(err, SCR_E_CORRUPT, 0, "event: bad or missing %s",
                        members[i].key);
    }
    *e = out;
    *owner = (struct scr_event_owner *)root;
    return SCR_OK;
}

void scr_event_free(struct scr_event_owner *owner)
{
    json_decref((json_t *)owner);
}
