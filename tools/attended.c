/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the scavenge that a copy is for is still there. */
#include "attended.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/io.h"
#include "base/lock.h"
#include "base/str.h"
#include "base/units.h"

enum { NUMBER_MAX = 64 };
static const double LOOK_S = 0.25; /* between two looks */

/* 0: there is none, or it cannot be read. */
static int64_t read_number(const struct scr_tool *t, const char *path)
{
    void *text = NULL;
    size_t n;
    int64_t number = 0;
    if (scr_file_load(t->env.sys, path, NUMBER_MAX, &text, &n, NULL) == SCR_OK)
        (void)scr_parse_i64(text, &number);
    free(text);
    return number;
}

/* The time, so that numbers grow even if the file is lost. */
static int64_t next_number(int64_t last)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t number = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return number > last ? number : last + 1;
}

int scr_attended_begin(const struct scr_tool *t, int64_t *number, struct scr_err *err)
{
    char text[NUMBER_MAX], *path = scr_prefix_file(&t->prefix, SCR_SCAVENGE_NUMBER);
    TRY(path ? SCR_OK : scr_no_memory(err));
    *number = next_number(read_number(t, path));
    int n = snprintf(text, sizeof text, "%lld", (long long)*number);
    int rc = scr_file_replace(t->env.sys, path, text, (size_t)n,
                              (struct scr_replace){ 0600, SCR_DURABLE }, err);
    free(path);
    return rc;
}

int scr_attended_open(const struct scr_tool *t, int64_t number, struct scr_attended *a,
                      struct scr_err *err)
{
    *a = (struct scr_attended){ .t = t, .mine = number };
    a->lock = scr_prefix_file(&t->prefix, SCR_SCAVENGE_LOCK);
    a->number = scr_prefix_file(&t->prefix, SCR_SCAVENGE_NUMBER);
    return a->lock && a->number ? scr_attended_check(a, err) : scr_no_memory(err);
}

/* Not every file system shows the locks of other nodes: one never seen held says
 * nothing. */
static int has_gone(struct scr_attended *a)
{
    struct scr_lock_holder who;
    if (scr_lock_look(a->t->env.sys, a->lock, &who, NULL) != SCR_OK)
        who.held = a->seen;
    a->seen |= who.held;
    return (a->seen && !who.held) || read_number(a->t, a->number) > a->mine;
}

int scr_attended_check(void *attended, struct scr_err *err)
{
    struct scr_attended *a = attended;
    double now = scr_now_mono();
    if (now < a->next)
        return SCR_OK;
    a->next = now + LOOK_S;
    return has_gone(a) ? scr_fail(err, SCR_E_CANCELLED, 0,
                                  "the scavenge that started this copy has ended")
                       : SCR_OK;
}

void scr_attended_close(struct scr_attended *a)
{
    free(a->lock);
    free(a->number);
}
