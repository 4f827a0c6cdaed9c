/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoint a restart takes. */
#include "fmt/restart_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fmt/lost_output.h"

/* --- the list --- */

void scr_restart_list_add(struct scr_restart_list *list, struct scr_restart_copy c)
{
    struct scr_restart_copy *grown = list->c;
    if ((list->n & (list->n - 1)) == 0) /* its room is a power of two */
        grown = scr_reallocarray(list->c, list->n > 0 ? 2 * list->n : 1, sizeof *grown);
    list->bad |= grown == NULL;
    if (grown == NULL)
        return;
    list->c = grown;
    list->c[list->n++] = c;
}

enum scr_copy_state scr_copy_state_of(const struct scr_index_entry *e)
{
    return e->failed     ? SCR_COPY_FAILED
           : e->complete ? SCR_COPY_WHOLE
           : e->doomed   ? SCR_COPY_DELETED
                         : SCR_COPY_INCOMPLETE;
}

void scr_restart_list_index(struct scr_restart_list *list,
                            const struct scr_index *index)
{
    for (size_t i = index->n; i-- > 0;) {
        const struct scr_index_entry *e = &index->of[i];
        scr_restart_list_add(
            list, (struct scr_restart_copy){ .id = e->id,
                                             .name = e->dset.name,
                                             .is_ckpt = e->dset.is_ckpt,
                                             .current = e->id == index->current_id,
                                             .state = scr_copy_state_of(e) });
    }
}

void scr_restart_list_fini(struct scr_restart_list *list)
{
    free(list->c);
    *list = (struct scr_restart_list){ NULL, 0, 0 };
}

static int id_of(const struct scr_restart_copy *c)
{
    return c != NULL ? c->id : 0;
}

static int is_below(const struct scr_restart_copy *c, int below)
{
    return below == 0 || c->id < below;
}

/* Checkpoints that a search tries. */
static int is_whole(const struct scr_restart_copy *c, int cached)
{
    return c->cached == cached && c->is_ckpt && c->state == SCR_COPY_WHOLE;
}

static int is_own(const struct scr_restart_copy *c)
{
    return is_whole(c, 1) && !c->foreign;
}

static int is_foreign(const struct scr_restart_copy *c)
{
    return is_whole(c, 1) && c->foreign;
}

static int is_stored(const struct scr_restart_copy *c)
{
    return is_whole(c, 0);
}

int scr_copy_is_offered(const struct scr_restart_copy *c)
{
    return is_own(c) || is_stored(c);
}

int scr_copy_is_tried(const struct scr_restart_ask *q, const struct scr_restart_copy *c)
{
    return (c->cached || q->fetch) && is_below(c, q->below) &&
           (scr_copy_is_offered(c) || (is_foreign(c) && q->any_ranks));
}

/* Of a search with something newer in cache the prefix directory is asked, too. */
static int is_missed(const struct scr_restart_copy *c)
{
    return c->cached && (c->state == SCR_COPY_LOST || c->state == SCR_COPY_KEPT);
}

static int is_unfinished(const struct scr_restart_copy *c)
{
    return !c->cached && c->is_ckpt && c->state == SCR_COPY_INCOMPLETE;
}

typedef int is_kind(const struct scr_restart_copy *c);

/* The newest of a kind below an id (0: any); NULL: none. */
static struct scr_restart_copy *newest(const struct scr_restart_list *list, is_kind *is,
                                       int below)
{
    struct scr_restart_copy *found = NULL;
    for (size_t i = 0; i < list->n; i++) {
        struct scr_restart_copy *c = &list->c[i];
        if (c->id > id_of(found) && is_below(c, below) && is(c))
            found = c;
    }
    return found;
}

/* --- the order --- */

struct order {
    const struct scr_restart_ask *q;
    struct scr_restart_list *list;
    int turns;
    int last; /* dataset that was tried last, 0: none */
    int over; /* it is known how the restart ends */
    const struct scr_restart_copy *taken;
};

/* What a look, or the list, says of one whose turn it is. */
static enum scr_passed outcome(const struct scr_restart_ask *q,
                               const struct scr_restart_copy *c)
{
    if (c->foreign && !q->any_ranks)
        return SCR_PASSED_RANKS;
    if (c->cached && c->clash && (q->global || c->foreign))
        return SCR_PASSED_NUMBER;
    return c->look == SCR_LOOK_GOOD          ? SCR_PASSED_NOT
           : c->state == SCR_COPY_INCOMPLETE ? SCR_PASSED_INCOMPLETE
           : c->look == SCR_LOOK_DAMAGED     ? SCR_PASSED_DAMAGED
           : c->look == SCR_LOOK_ERROR       ? SCR_PASSED_ERROR
                                             : SCR_PASSED_NOT;
}

/* Nothing is taken, for that reason. */
static void stop(struct order *o, struct scr_restart_copy *c, enum scr_passed why)
{
    c->passed = why;
    o->over = 1;
    o->taken = NULL;
}

/* Gives c its turn. What a look says of it is what comes of that. */
static void try(struct order *o, struct scr_restart_copy *c)
{
    if (o->over)
        return;
    o->last = c->id;
    if (c->turn > 0)
        return;
    c->turn = ++o->turns;
    if (c->look == SCR_LOOK_NONE)
        return;
    c->passed = outcome(o->q, c);
    if (c->passed != SCR_PASSED_NOT)
        return;
    o->over = 1;
    if (c->cached && !c->foreign && o->q->global && !o->q->fetch)
        c->passed = SCR_PASSED_PROGRAM;
    else
        o->taken = c;
}

/* What the prefix directory has to offer first below an id. */
static struct scr_restart_copy *first_stored(const struct order *o, int below)
{
    struct scr_restart_copy *c = newest(o->list, is_stored, below);
    for (size_t i = 0; c != NULL && i < o->list->n; i++) {
        struct scr_restart_copy *k = &o->list->c[i];
        if (is_stored(k) && k->current && is_below(k, below))
            return k;
    }
    return c;
}

/* The current one, if that is not older than what is in cache: then there is nothing
 * else for this run. Below it all are older. */
static void try_stored(struct order *o, int above, int below)
{
    struct scr_restart_copy *c = first_stored(o, below);
    if (c != NULL && c->id < above)
        c = newest(o->list, is_stored, below);
    const struct scr_restart_copy *behind = o->list->c + o->list->n;
    for (; c != NULL && c < behind && c->id > above; c++)
        if (is_stored(c))
            try(o, c);
}

/* own: the newest in cache of this number of ranks; above: of any. */
static int asks_prefix(const struct order *o, const struct scr_restart_copy *own,
                       int above, int below)
{
    return o->q->fetch && (own == NULL || below > 0 ||
                           id_of(newest(o->list, is_missed, below)) > own->id ||
                           id_of(first_stored(o, 0)) > above);
}

static void try_own(struct order *o, int below)
{
    struct scr_restart_copy *c;
    while ((c = newest(o->list, is_own, below)) != NULL)
        try(o, c), below = c->id;
}

static void search_local(struct order *o, int below)
{
    int again = 0;
    do {
        struct scr_restart_copy *own = newest(o->list, is_own, below);
        struct scr_restart_copy *foreign = newest(o->list, is_foreign, below);
        int above = id_of(own) > id_of(foreign) ? id_of(own) : id_of(foreign);
        if (asks_prefix(o, own, above, below))
            try_stored(o, above, again > 0 ? again + 1 : below);
        again = id_of(foreign) > id_of(own) ? foreign->id : 0;
        if (again > 0)
            try(o, foreign);
        else
            try_own(o, below);
        below = again;
    } while (again > 0);
}

/* A look at the cache tells whether another dataset has the number; else that is found
 * when it is flushed. */
static void search_global(struct order *o, int below)
{
    for (;;) {
        struct scr_restart_copy *own = newest(o->list, is_own, below);
        struct scr_restart_copy *foreign = newest(o->list, is_foreign, below);
        struct scr_restart_copy *c = id_of(own) > id_of(foreign) ? own : foreign;
        if (c == NULL)
            break;
        if (asks_prefix(o, own, c->id, below))
            try_stored(o, c->id, below);
        try(o, c);
        if (o->q->fetch && (c->look == SCR_LOOK_NONE || c->passed == SCR_PASSED_NUMBER))
            try_stored(o, c->id - 1, c->id + 1);
        below = c->id;
    }
    if (o->q->fetch)
        try_stored(o, 0, below);
}

static void search(struct order *o, int below)
{
    if (o->over)
        return;
    o->last = below;
    if (o->q->global)
        search_global(o, below);
    else
        search_local(o, below);
    if (o->q->global)
        below = o->last;
    for (struct scr_restart_copy *c = o->list->c; c < o->list->c + o->list->n; c++)
        if (o->q->fetch && is_unfinished(c) && is_below(c, below))
            try(o, c);
}

/* --- by name --- */

static int has_no_name(const struct scr_restart_copy *c)
{
    return c->name == NULL || c->state == SCR_COPY_LOST ||
           c->state == SCR_COPY_PURGED || c->state == SCR_COPY_UNLISTED;
}

/* The newest of that name that is there, or that the index lists. */
static struct scr_restart_copy *find_named(const struct scr_restart_list *list,
                                           const char *name, int cached)
{
    struct scr_restart_copy *found = NULL;
    for (size_t i = 0; i < list->n; i++) {
        struct scr_restart_copy *c = &list->c[i];
        if (c->cached == cached && !has_no_name(c) && c->id > id_of(found) &&
            strcmp(c->name, name) == 0)
            found = c;
    }
    return found;
}

struct scr_restart_copy *scr_restart_named(const struct scr_restart_list *list,
                                           const char *name)
{
    struct scr_restart_copy *cached = find_named(list, name, 1);
    struct scr_restart_copy *stored = find_named(list, name, 0);
    if (id_of(stored) > id_of(cached))
        return stored->clash || is_stored(stored) ||
                       (stored->is_ckpt && stored->state == SCR_COPY_FAILED)
                   ? stored
                   : NULL;
    if (cached == NULL || !cached->is_ckpt)
        return NULL;
    int same = id_of(stored) == cached->id && !stored->clash;
    return same && cached->state == SCR_COPY_KEPT ? stored : cached;
}

static struct scr_restart_copy *find_choice(const struct order *o, const char *name)
{
    struct scr_restart_copy *c = scr_restart_named(o->list, name);
    return c != NULL && !c->cached && c->clash ? NULL : c;
}

/* What the user has chosen, or something older; both may come to nothing. */
static void try_wanted(struct order *o)
{
    struct scr_restart_copy *c = find_choice(o, o->q->wanted);
    if (c == NULL)
        return;
    try(o, c);
    if (!c->cached && !o->q->fetch)
        stop(o, c, SCR_PASSED_UNFETCHED);
    else if (c->state == SCR_COPY_KEPT)
        stop(o, c, SCR_PASSED_KEPT);
    else if (c->passed == SCR_PASSED_ERROR)
        o->over = 1;
    search(o, c->id);
}

static void go_back(struct order *o)
{
    struct scr_lost_output_choice ch = scr_lost_output_choose(o->list, o->q->lost);
    for (int back = ch.goes_back; back && ch.before > 0 && !o->over;) {
        struct scr_restart_copy *c = find_choice(o, ch.name);
        if (c == NULL || c->state == SCR_COPY_KEPT)
            return;
        try(o, c);
        back = c->passed == SCR_PASSED_DAMAGED || c->passed == SCR_PASSED_NUMBER;
        ch = scr_lost_output_choose(o->list, ch.before);
    }
}

/* --- reasons --- */

static const struct {
    const char *word, *sentence;
    int is_of;
} reasons[] = {
#define X(name, word, sentence, is_of) [SCR_PASSED_##name] = { word, sentence, is_of },
#include "defs/passed.def"
#undef X
};

const char *scr_passed_word(enum scr_passed p)
{
    return reasons[p].word;
}

char *scr_passed_text(const struct scr_restart_copy *c)
{
    const char *text = reasons[c->passed].sentence;
    return reasons[c->passed].is_of ? scr_asprintf("%s %d", text, c->than)
                                    : scr_strdup(text);
}

/* Why one that could be taken is not. */
static enum scr_passed compare(const struct order *o, struct scr_restart_copy *c)
{
    const struct scr_restart_copy *t = o->taken;
    if (!c->cached && !o->q->fetch)
        return SCR_PASSED_UNFETCHED;
    c->than = t != NULL ? t->id : o->last;
    if (t == NULL)
        return SCR_PASSED_STOPPED;
    if (t->id == c->id && c->clash)
        return SCR_PASSED_NUMBER;
    if (t->id == c->id)
        return t->cached ? SCR_PASSED_CACHED : SCR_PASSED_STORED;
    if (c->id < t->id)
        return SCR_PASSED_OLDER;
    if (o->q->lost <= t->id || c->id < o->q->lost)
        return SCR_PASSED_NEWER;
    c->than = o->q->lost;
    return SCR_PASSED_AFTER_LOST;
}

static enum scr_passed reason(const struct order *o, struct scr_restart_copy *c)
{
    static const enum scr_passed of_state[] = {
        [SCR_COPY_LOST] = SCR_PASSED_LOST,
        [SCR_COPY_KEPT] = SCR_PASSED_KEPT,
        [SCR_COPY_PURGED] = SCR_PASSED_PURGED,
        [SCR_COPY_INCOMPLETE] = SCR_PASSED_INCOMPLETE,
        [SCR_COPY_FAILED] = SCR_PASSED_FAILED,
        [SCR_COPY_DELETED] = SCR_PASSED_DELETED,
        [SCR_COPY_UNLISTED] = SCR_PASSED_UNLISTED,
    };
    if (c->state != SCR_COPY_WHOLE)
        return of_state[c->state];
    if (!c->is_ckpt)
        return SCR_PASSED_OUTPUT;
    enum scr_passed p = outcome(o->q, c);
    return p != SCR_PASSED_NOT ? p : compare(o, c);
}

const struct scr_restart_copy *scr_restart_order(const struct scr_restart_ask *q,
                                                 struct scr_restart_list *list)
{
    struct order o = { .q = q, .list = list };
    if (q->wanted != NULL)
        try_wanted(&o);
    else if (q->lost > 0 && q->fetch)
        go_back(&o);
    search(&o, q->below);
    for (struct scr_restart_copy *c = list->c; c < list->c + list->n; c++)
        if (c != o.taken && c->passed == SCR_PASSED_NOT &&
            (c->turn == 0 || c->look != SCR_LOOK_NONE))
            c->passed = reason(&o, c);
    return o.taken;
}

const struct scr_restart_copy *scr_restart_turn(const struct scr_restart_list *list,
                                                int turn)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->c[i].turn == turn)
            return &list->c[i];
    return NULL;
}
