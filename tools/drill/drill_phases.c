/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the phase file of a run (SCR_PHASE_FILE): one line "<phase> <dataset>" an
 * entry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drill/drill.h"

struct line {
    char phase[16];
    int id;
};

/* Takes one whole line off *text; 0 at the end. A line still being written is left
 * alone, one that is no phase gives an empty name. */
static int next_line(const char **text, struct line *l)
{
    const char *end = strchr(*text, '\n');
    const char *blank = end ? memchr(*text, ' ', (size_t)(end - *text)) : NULL;
    if (end == NULL)
        return 0;
    l->phase[0] = '\0';
    l->id = 0;
    if (blank && (size_t)(blank - *text) < sizeof l->phase) {
        snprintf(l->phase, sizeof l->phase, "%.*s", (int)(blank - *text), *text);
        l->id = (int)strtol(blank + 1, NULL, 10);
    }
    *text = end + 1;
    return 1;
}

const char *const scr_drill_phase_name[DRILL_PHASES] = { "compute", "checkpoint",
                                                         "encode",  "flush",
                                                         "rebuild", "fetch" };

int scr_drill_phase_find(const char *name)
{
    for (int i = 0; i < DRILL_PHASES; i++)
        if (strcmp(name, scr_drill_phase_name[i]) == 0)
            return i;
    return -1;
}

static int has_line(const char *text, const char *phase, int id)
{
    struct line l;
    while (next_line(&text, &l))
        if (l.id == id && strcmp(l.phase, phase) == 0)
            return 1;
    return 0;
}

/* A dataset counts as complete when the program computes again after it. */
void scr_drill_phases(const char *text, struct drill_phases *out)
{
    struct line l;
    const char *start = text;
    int fetched = 0, flushing = 0;
    *out = (struct drill_phases){ .last = -1 };
    while (next_line(&text, &l)) {
        out->last = scr_drill_phase_find(l.phase);
        out->lines++;
        if (strcmp(l.phase, "checkpoint") == 0)
            out->begun = l.id;
        if (strcmp(l.phase, "flush") == 0)
            flushing = l.id;
        else if (strcmp(l.phase, "compute") == 0 && flushing > out->flushed)
            out->flushed = flushing;
        if (strcmp(l.phase, "fetch") == 0)
            fetched = l.id;
        else if (strcmp(l.phase, "restart") == 0)
            out->restart = l.id;
        else if (strcmp(l.phase, "compute") == 0 && l.id > out->complete)
            out->complete = l.id;
    }
    out->fetched = out->restart != 0 && fetched == out->restart;
    out->rebuilt = out->restart != 0 && has_line(start, "rebuild", out->restart);
}

int scr_drill_phase_entry(const char *text, const char *phase, int entry)
{
    struct line l;
    while (next_line(&text, &l)) {
        if (strcmp(l.phase, phase) == 0 && --entry == 0)
            return l.id;
    }
    return -1;
}

int scr_drill_phase_line(const char *text, int line, struct drill_moment *out)
{
    int entries[DRILL_PHASES] = { 0 }, phase = -1;
    struct line l;
    for (int i = 0; i <= line; i++) {
        if (!next_line(&text, &l))
            return 0;
        if ((phase = scr_drill_phase_find(l.phase)) >= 0)
            entries[phase]++;
    }
    if (phase < 0)
        return 0;
    *out = (struct drill_moment){ scr_drill_phase_name[phase], entries[phase] };
    return 1;
}
