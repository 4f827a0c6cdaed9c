/* SPDX-License-Identifier: BSD-3-Clause */
/* The scan hash: what was copied of a dataset, what is missing, and how it would be
 * rebuilt, as a tree for people.
 *
 *   DLIST/<id>/{UNRECOVERABLE, BUILD/<command>…, INVALID, MISSING/<rank>…, DSET/{…},
 *               RANK2FILE/{RANKS, RANK/<r>/{FILES=<expected>,
 *                          FILE/<name>/{SIZE, CRC, NOFETCH}}},
 *               XOR|PARTNER|RS|SINGLE/<set>/{MEMBERS=<n>, MEMBER/<i>/{FILE, RANK}}} */
#ifndef SCR_TOOL_SCANHASH_H
#define SCR_TOOL_SCANHASH_H

#include "ops/scan.h"

/* Merges the scan hash into h; files are compared by size. s is open and was not
 * rebuilt. */
int scr_scanhash(const struct scr_scan *s, scr_hash *h, struct scr_err *err);

#endif
