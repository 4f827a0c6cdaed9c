/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of scr why, scr_have_restart and scr_inspect. */
#include "candidates.h"

#include <jansson.h>

#include "fmt/state.h"
#include "reach.h"

/* SCR_CURRENT, unless a run of this job has gone to it before. */
static const char *wanted(struct scr_tool *t, const struct scr_params *prm)
{
    scr_hash *h = scr_hash_new();
    int gone =
        prm->current != NULL &&
        scr_prefix_state_read(&t->env, &t->prefix, "current.scr", h, NULL) == SCR_OK &&
        scr_gone_to_is(h, prm->job_id, prm->current);
    scr_hash_delete(h);
    return gone ? NULL : prm->current;
}

static int judge(struct scr_tool *t, const struct scr_args *a, int ranks,
                 const struct scr_reach *reach, struct scr_judgement *j,
                 struct scr_err *err)
{
    struct scr_params prm;
    struct scr_progress progress = { 0 };
    TRY(scr_cfg_params(t->cfg, &prm, err));
    const struct scr_judge q = { .env = &t->env,
                                 .prefix = &t->prefix,
                                 .reach = reach,
                                 .unseen = a->opt[SCR_CAND_NO_CACHE] == NULL,
                                 .ranks = ranks,
                                 .any_ranks = prm.restart_any_ranks,
                                 .with_crc = a->opt[SCR_CAND_CRC] != NULL,
                                 .distribute = prm.distribute,
                                 .purge = prm.cache_purge,
                                 .fetch = prm.fetch,
                                 .global = prm.global_restart,
                                 .current = wanted(t, &prm),
                                 .job_id = prm.job_id,
                                 .past_lost_output = prm.restart_past_lost_output,
                                 .progress = &progress,
                                 .progress_out = t->log.out };
    return scr_judge(&q, j, err);
}

static int find_reach(struct scr_tool *t, const char *cntl, int ranks,
                      struct scr_reach *reach, struct scr_err *err)
{
    return cntl != NULL ? scr_tool_reach(t, t->prefix.path, cntl, reach, err)
                        : scr_tool_reach_of_run(t, t->prefix.path, ranks, reach, err);
}

int scr_candidates(struct scr_tool *t, const struct scr_args *a, int warns,
                   struct scr_judgement *j, struct scr_err *err)
{
    struct scr_reach reach = { 0 };
    int64_t ranks = 0;
    const char *prefix = a->opt[SCR_CAND_PREFIX], *cntl = a->opt[SCR_CAND_CNTL];
    const int rows[] = { SCR_CAND_CNTL, SCR_CAND_NO_CACHE, -1 };
    *j = (struct scr_judgement){ 0 };
    int rc;
    TRY_OUT(scr_tool_exclusive(t, a, err, rows));
    TRY_OUT(scr_tool_prefix(t, prefix, 0, err));
    TRY_OUT(warns ? scr_tool_cfg(t, t->prefix.path, err)
                  : scr_tool_cfg_quiet(t, t->prefix.path, err));
    TRY_OUT(scr_tool_int(t, a, SCR_CAND_RANKS, SCR_AT_LEAST(1), &ranks, err));
    if (a->opt[SCR_CAND_NO_CACHE] == NULL) {
        TRY_OUT(find_reach(t, cntl, (int)ranks, &reach, err));
        scr_tool_tell_scr3(t);
    }
    TRY_OUT(judge(t, a, (int)ranks, &reach, j, err));
out:
    scr_reach_fini(&reach);
    return rc;
}

static json_t *candidate_json(const struct scr_candidate *c)
{
    return json_pack("{s:i, s:o, s:i, s:s, s:s, s:b, s:b, s:s, s:o}", "id", c->id,
                     "name", scr_tool_json_text(c->name), "ranks", c->ranks, "where",
                     c->in_cache ? "cache" : "prefix", "state",
                     scr_candidate_state_name(c->state), "current", c->current, "taken",
                     c->taken, "reason", c->reason, "why", scr_tool_json_text(c->why));
}

json_t *scr_candidates_json(const struct scr_judgement *j)
{
    json_t *array = json_array();
    for (size_t i = 0; i < j->n; i++)
        array = scr_tool_json_append(array, candidate_json(&j->c[i]));
    return array;
}
