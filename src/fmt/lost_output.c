/* SPDX-License-Identifier: BSD-3-Clause */
/* Output that was in cache only and is gone with it. */
#include "fmt/lost_output.h"

#include <stdlib.h>
#include <string.h>

#include "fmt/state.h"

static int is_lost(const scr_hash *flush, const struct scr_index *index,
                   const char *job_id, int id)
{
    return scr_flush_is_open_output(flush, id) &&
           scr_flush_is_of_job(flush, id, job_id) &&
           scr_flush_is_unsaved(flush, index, id);
}

int scr_lost_output_find(struct scr_lost_output *l, const scr_hash *flush,
                         const struct scr_index *index, const char *job_id,
                         scr_lost_output_gone *gone, const void *arg)
{
    int *ids = NULL;
    size_t n = 0;
    if (!scr_hash_list_int(scr_hash_get(flush, "DATASET"), &ids, &n))
        return SCR_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (is_lost(flush, index, job_id, ids[i]) && gone(arg, ids[i]))
            scr_lost_output_add(l, ids[i], scr_flush_name(flush, ids[i]));
    free(ids);
    return SCR_OK;
}

void scr_lost_output_add(struct scr_lost_output *l, int id, const char *name)
{
    scr_str_printf(&l->names, "%s%s (dataset %d)", l->oldest > 0 ? ", " : "", name, id);
    if (l->oldest == 0 || id < l->oldest)
        l->oldest = id;
}

/* --- which checkpoint --- */

static int has_name(const struct scr_restart_copy *c)
{
    return scr_copy_is_offered(c) && c->name != NULL;
}

static int has_newer_namesake(const struct scr_restart_list *list,
                              const struct scr_restart_copy *of)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->c[i].id > of->id && has_name(&list->c[i]) &&
            strcmp(list->c[i].name, of->name) == 0)
            return 1;
    return 0;
}

struct scr_lost_output_choice
scr_lost_output_choose(const struct scr_restart_list *list, int below)
{
    struct scr_lost_output_choice ch = { .newest = 0 };
    for (size_t i = 0; i < list->n && !list->bad; i++) {
        const struct scr_restart_copy *c = &list->c[i];
        if (!has_name(c))
            continue;
        if (c->id > ch.newest)
            ch.newest = c->id;
        if (c->id < below && c->id > ch.before && !has_newer_namesake(list, c)) {
            ch.before = c->id;
            ch.name = c->name;
        }
    }
    ch.goes_back = ch.before > 0 && ch.newest > below;
    return ch;
}

/* --- what is reported --- */

/* Around a checkpoint's name; rows as in enum scr_lost_output_way. */
static const struct {
    const char *head, *tail, *newest;
} ways[] = {
    { "SCR_CURRENT=", " goes back before it", "this run continues from" },
    { "this run goes back to ", ", with SCR_RESTART_PAST_LOST_OUTPUT=1 it would not",
      "this run continues from" },
    { "a restart goes back to ", ", with SCR_RESTART_PAST_LOST_OUTPUT=1 it would not",
      "a restart takes" },
    { "the next run goes back to ", "; SCR_CURRENT takes another one",
      "the next run takes" },
};

char *scr_lost_output_text(const struct scr_lost_output *l,
                           const struct scr_lost_output_choice *c,
                           enum scr_lost_output_way way)
{
    if (l->oldest == 0 || l->names.p == NULL)
        return NULL;
    if (c->newest < l->oldest)
        return scr_asprintf("output is lost: %s; no newer checkpoint exists: it is "
                            "written again",
                            l->names.p);
    if (c->before == 0)
        return scr_asprintf(
            "output is lost: %s; a run from a newer checkpoint does "
            "not write it again, and no older one exists: %s the newest",
            l->names.p, ways[way].newest);
    return scr_asprintf("output is lost: %s; a run from a newer checkpoint does not "
                        "write it again: %s%s%s",
                        l->names.p, ways[way].head, c->name, ways[way].tail);
}

void scr_lost_output_fini(struct scr_lost_output *l)
{
    scr_str_free(&l->names);
    *l = (struct scr_lost_output)SCR_LOST_OUTPUT_INIT;
}
