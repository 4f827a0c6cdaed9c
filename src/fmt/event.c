/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as lines of JSON. */
#include "fmt/event.h"

#include "base/jsonline.h"
#include "base/str.h"
#include "base/units.h"
#include <jansson.h>
#include <limits.h>
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
    "FAILURE",
    "DELETE",
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

static int is(const struct scr_event *e, const char *name)
{
    return strcmp(e->event, name) == 0;
}

enum scr_event_by scr_event_by(const struct scr_event *e)
{
    if (is(e, "NODE_FAIL") || strncmp(e->event, "SCAVENGE_", 9) == 0)
        return SCR_BY_OTHER;
    if (e->note == NULL || (is(e, "RUN_END") && strcmp(e->note, "halt") == 0))
        return SCR_BY_LIBRARY;
    return is(e, "RUN_START") || is(e, "RUN_END") ? SCR_BY_LOOP : SCR_BY_LIBRARY;
}

size_t scr_event_lost_node(const struct scr_event *e, const char **why)
{
    const char *note = e->note ? e->note : "";
    size_t n = strcspn(note, ":");
    *why = note + n + strspn(note + n, ": ");
    return n < 256 ? n : 0;
}

/* Seconds: some 300 years, so that sums stay exact, and what a clock can measure, so
 * that bytes a second are finite. */
#define LONGEST  1e10
#define SHORTEST 1e-9

/* The members in the order in which they are written. */
static const struct member {
    const char *key;
    size_t at;                               /* in struct scr_event */
    enum { TEXT, NUMBER, COUNT, REAL } kind; /* NUMBER: a count that is an int */
} members[] = {
    { "time", offsetof(struct scr_event, time), TEXT },
    { "host", offsetof(struct scr_event, host), TEXT },
    { "jobid", offsetof(struct scr_event, jobid), TEXT },
    { "event", offsetof(struct scr_event, event), TEXT },
    { "dset", offsetof(struct scr_event, dset), NUMBER },
    { "name", offsetof(struct scr_event, name), TEXT },
    { "secs", offsetof(struct scr_event, secs), REAL },
    { "bytes", offsetof(struct scr_event, bytes), COUNT },
    { "files", offsetof(struct scr_event, files), COUNT },
    { "from", offsetof(struct scr_event, from), TEXT },
    { "to", offsetof(struct scr_event, to), TEXT },
    { "ranks", offsetof(struct scr_event, ranks), NUMBER },
    { "nodes", offsetof(struct scr_event, nodes), NUMBER },
    { "nodelist", offsetof(struct scr_event, nodelist), TEXT },
    { "run", offsetof(struct scr_event, run), NUMBER },
    { "class", offsetof(struct scr_event, class), TEXT },
    { "version", offsetof(struct scr_event, version), TEXT },
    { "config", offsetof(struct scr_event, config), TEXT },
    { "note", offsetof(struct scr_event, note), TEXT },
};
enum { NMEMBERS = sizeof members / sizeof members[0] };

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
    int is_count = m->kind == NUMBER || m->kind == COUNT;
    int64_t count = is_count ? *(const int64_t *)at : -1;
    const char *text = m->kind == TEXT ? *(const char *const *)at : NULL;
    *there = text != NULL || count >= 0 || (isfinite(secs) && secs >= 0);
    if (!*there)
        return NULL;
    if (m->kind == TEXT)
        return text_json(text);
    return is_count ? json_integer(count) : json_real(secs);
}

static json_t *event_json(const struct scr_event *e)
{
    json_t *root = json_object();
    for (int i = 0; root != NULL && i < NMEMBERS; i++) {
        int there;
        json_t *j = member_json(&members[i], (const char *)e + members[i].at, &there);
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
    TRY(*line ? SCR_OK : scr_no_memory(err));
    *n = strlen(*line);
    return SCR_OK;
}

static const struct member *find_member(const char *key)
{
    for (int i = 0; i < NMEMBERS; i++)
        if (members[i].key[0] == key[0] && strcmp(members[i].key, key) == 0)
            return &members[i];
    return NULL;
}

static void set_member(const struct scr_jsonline *j, const struct member *m,
                       struct scr_event *e)
{
    void *at = (char *)e + m->at;
    int64_t count;
    double real;
    if (m->kind == TEXT && j->kind == SCR_JSON_TEXT)
        *(const char **)at = j->value;
    if (j->kind != SCR_JSON_NUMBER)
        return;
    int64_t most = m->kind == NUMBER ? INT_MAX : INT64_MAX;
    if ((m->kind == NUMBER || m->kind == COUNT) && scr_parse_i64(j->value, &count) &&
        count >= 0 && count <= most)
        *(int64_t *)at = count;
    if (m->kind == REAL && scr_parse_f64(j->value, &real) && real >= 0 &&
        real <= LONGEST)
        *(double *)at = real < SHORTEST ? 0 : real;
}

int scr_event_decode(char *line, size_t n, struct scr_event *e)
{
    *e = (struct scr_event)SCR_EVENT_INIT;
    if (n > 0 && line[n - 1] == '\n')
        n--;
    struct scr_jsonline j = SCR_JSONLINE(line, n);
    while (scr_jsonline_next(&j)) {
        const struct member *m = find_member(j.key);
        if (m != NULL)
            set_member(&j, m, e);
    }
    return !j.damaged && e->event != NULL && scr_parse_iso(e->time, &e->at);
}
