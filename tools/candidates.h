/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of scr why, scr_have_restart and scr_inspect: their options, and the
 * states of datasets in the caches in reach and the prefix directory. */
#ifndef SCR_TOOL_CANDIDATES_H
#define SCR_TOOL_CANDIDATES_H

#include "ops/judge.h"
#include "tool.h"

/* Rows every one of the three has first in its table. */
enum {
    SCR_CAND_PREFIX,
    SCR_CAND_CNTL,
    SCR_CAND_NO_CACHE,
    SCR_CAND_RANKS,
    SCR_CAND_CRC,
    SCR_CAND_JSON,
    SCR_CAND_NOPTS
};
#define SCR_CAND_OPTS                                                                  \
    [SCR_CAND_PREFIX] = { "prefix", 'p', "DIR",                                        \
                          "prefix directory (default: the current one)" },             \
    [SCR_CAND_CNTL] = { "cntl", 'c', "DIR",                                            \
                        "control directory of the node (default: by configuration)" }, \
    [SCR_CAND_NO_CACHE] = { "no-cache", 'n', NULL,                                     \
                            "look at the prefix directory only" },                     \
    [SCR_CAND_RANKS] = { "ranks", 'r', "N", "of a run with N processes" },             \
    [SCR_CAND_CRC] = { "crc", 0, NULL, "read every file and compare its CRC32" },      \
    [SCR_CAND_JSON] = { "json", 0, NULL, "print JSON" }

/* Opens the prefix and finds the states. warns: 1: prints the warnings of the
 * configuration that a run prints. Free with scr_judgement_fini in any case. */
int scr_candidates(struct scr_tool *t, const struct scr_args *a, int warns,
                   struct scr_judgement *j, struct scr_err *err);
/* One object a candidate, as a JSON array; NULL: out of memory. */
struct json_t *scr_candidates_json(const struct scr_judgement *j);

#endif
