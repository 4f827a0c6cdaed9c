/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws nodes and moments for the rounds of a drill, and sums up their results. */
#include "drill/drill_rounds.h"

#include <string.h>

#include "base/str.h"
#include "base/units.h"

const char *const scr_drill_from_name[DRILL_FROMS] = { "scratch", "cache", "rebuilt",
                                                       "prefix" };

/* One round in so many: loses more than the scheme survives, is struck again during
 * the restart, is struck some time after it entered a phase. */
enum { BEYOND = 4, AGAIN = 5, LATE = 2 };

/* --- drawing --- */

/* The generator splitmix64, from 0 to n - 1. */
static int draw(uint64_t *state, int n)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static int draw_nodes(struct drill_plan *p, uint64_t *state, int n, struct scr_err *err)
{
    struct scr_hostlist *lost = &p->strike[0].nodes;
    while (lost->n < (size_t)n)
        TRY(scr_hostlist_add_once(lost, p->names.name[draw(state, p->nodes)], err));
    return SCR_OK;
}

/* First line after the flush of a checkpoint; `lines` if there is none. */
static int first_flushed(const char *phases, int lines)
{
    struct drill_moment m;
    int flushed = 0, line = 0;
    for (; line < lines; line++) {
        if (!scr_drill_phase_line(phases, line, &m))
            continue;
        if (flushed && strcmp(m.phase, "compute") == 0)
            break;
        flushed |= strcmp(m.phase, "flush") == 0;
    }
    return line;
}

/* A line of the undisturbed run from `first` on. With a delay the run waits at the last
 * line. */
static int draw_moment(struct drill_plan *p, const struct drill_reference *ref,
                       uint64_t *state, int first, int lines)
{
    struct drill_strike *s = &p->strike[0];
    int line = first + draw(state, lines - first), last = lines - 1;
    double share = (double)draw(state, 1000) / 1000;
    int late = draw(state, LATE) == 0;
    if (!scr_drill_phase_line(ref->phases, line, &s->at) ||
        !scr_drill_phase_line(ref->phases, last, &s->wait))
        return 0;
    if (late && line < last)
        s->delay = share * ref->seconds / lines;
    else
        s->wait = s->at;
    return 1;
}

int scr_drill_draw(struct drill_plan *p, const struct drill_reference *ref,
                   uint32_t seed, struct drill_round *round, struct scr_err *err)
{
    struct drill_phases f;
    uint64_t state = seed;
    TRY(scr_drill_plan_reset(p, err));
    scr_drill_phases(ref->phases, &f);
    int flushed = first_flushed(ref->phases, f.lines);
    int beyond = draw(&state, BEYOND) == 0 && flushed < f.lines;
    beyond = p->survives == 0 || (beyond && p->survives < p->nodes);
    int least = beyond ? p->survives + 1 : 1, most = beyond ? p->nodes : p->survives;
    TRY(draw_nodes(p, &state, least + draw(&state, most - least + 1), err));
    if (flushed == f.lines || !beyond)
        flushed = 0;
    if (f.lines == 0 || !draw_moment(p, ref, &state, flushed, f.lines))
        return scr_fail(err, SCR_E_NOENT, 0,
                        "the undisturbed run entered no phase: does the program call "
                        "SCR_Init?");
    p->nstrikes = draw(&state, AGAIN) == 0 ? 2 : 1;
    p->strike[1].at = (struct drill_moment){ beyond ? "fetch" : "rebuild", 1 };
    p->strike[1].wait = p->strike[1].at;
    *round = (struct drill_round){ .seed = seed,
                                   .beyond = beyond,
                                   .lost = (int)p->strike[0].nodes.n,
                                   .restarted = -1 };
    return SCR_OK;
}

/* --- the verdict --- */

void scr_drill_tally_add(struct drill_tally *all, const struct drill_round *r)
{
    int lost = (r->complete > r->flushed ? r->complete : r->flushed) - r->restart;
    all->done++;
    all->unstruck += r->nstruck == 0;
    for (int i = 0; i < r->nstruck; i++)
        if (r->struck[i] >= 0)
            all->struck[r->struck[i]]++;
    if (r->wrong != NULL && all->wrong++ == 0) {
        all->fault = r->wrong;
        all->fault_seed = r->seed;
    }
    if (r->nstruck == 0)
        return;
    all->beyond += r->beyond;
    all->nodes = r->lost > all->nodes ? r->lost : all->nodes;
    all->from[r->from]++;
    all->checkpoints = lost > all->checkpoints ? lost : all->checkpoints;
    all->restart = r->restarted > all->restart ? r->restarted : all->restart;
}

/* " (3 compute, 1 flush)", what there is none of is left out. */
static void list(struct scr_str *s, const char *const *name, const int *count, int n)
{
    const char *before = " (";
    for (int i = 0; i < n; i++)
        if (count[i] > 0) {
            scr_str_printf(s, "%s%d %s", before, count[i], name[i]);
            before = ", ";
        }
    if (strcmp(before, " (") != 0)
        scr_str_append(s, ")");
}

static int all_passed(const struct drill_plan *p, const struct drill_tally *all)
{
    return all->wrong == 0 && all->done == p->rounds && all->unstruck < all->done;
}

char *scr_drill_tally_text(const struct drill_plan *p, const struct drill_tally *all)
{
    struct scr_str s = SCR_STR_INIT;
    scr_str_printf(&s, "verdict: %s: ",
                   all->wrong > 0       ? "FAILED"
                   : all_passed(p, all) ? "PASSED"
                                        : "INCOMPLETE");
    scr_str_printf(&s, "seed %u, %d of %d rounds, %d wrong; strikes", p->seed,
                   all->done, p->rounds, all->wrong);
    list(&s, scr_drill_phase_name, all->struck, DRILL_PHASES);
    scr_str_printf(&s, " of up to %d node%s, %d beyond %s", all->nodes,
                   scr_plural(all->nodes), all->beyond, scr_scheme_name(p->d.scheme));
    if (all->unstruck > 0)
        scr_str_printf(&s, ", %d round%s not struck", all->unstruck,
                       scr_plural(all->unstruck));
    scr_str_append(&s, "; restarts");
    list(&s, scr_drill_from_name, all->from, DRILL_FROMS);
    scr_str_printf(&s, "; checkpoints lost at most %d; slowest restart %.2f s",
                   all->checkpoints, all->restart);
    if (all->fault != NULL)
        scr_str_printf(&s, "; first fault: %s (--rounds 1 --seed %u)", all->fault,
                       all->fault_seed);
    return scr_str_take(&s);
}

static json_t *counts(const char *const *name, const int *count, int n)
{
    json_t *o = json_object();
    for (int i = 0; i < n; i++)
        o = scr_tool_json_add(o, name[i], json_integer(count[i]));
    return o;
}

json_t *scr_drill_tally_json(const struct drill_plan *p, const struct drill_tally *all,
                             const char *report)
{
    return json_pack(
        "{s:b, s:s?, s:I, s:i, s:i, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:i, "
        "s:f, s:o}",
        "passed", all_passed(p, all), "fault", all->fault, "seed", (json_int_t)p->seed,
        "rounds", p->rounds, "done", all->done, "scheme", scr_scheme_name(p->d.scheme),
        "ranks", p->d.ranks, "nodes", p->nodes, "wrong", all->wrong, "unstruck",
        all->unstruck, "beyond", all->beyond, "nodes_lost", all->nodes, "strikes",
        counts(scr_drill_phase_name, all->struck, DRILL_PHASES), "restarts",
        counts(scr_drill_from_name, all->from, DRILL_FROMS), "checkpoints_lost",
        all->checkpoints, "slowest_restart", all->restart, "report",
        scr_tool_json_text(report));
}
