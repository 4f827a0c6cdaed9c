/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes of a job cannot be used, found by several tests on all of them at once.
 *
 *     struct scr_node_tests t = { .rm = &rm, .check = argv };
 *     rc = scr_nodes_test(&t, &rm.nodes, &down, err);   // down: known ones first
 *
 * The tests are rows of a table: RM, EXCLUDE, PING, ECHO, CHECK (SCR_NODE_TESTS). Each
 * looks at the nodes that passed those before it. All together take no longer than
 * SCR_NODE_TIMEOUT and a second. */
#ifndef SCR_RM_NODETEST_H
#define SCR_RM_NODETEST_H

#include "rm/rm.h"

struct scr_node_tests {
    const struct scr_rm *rm;
    const char *const *check; /* command of the test CHECK: prints "PASS", or
                                 "FAIL: reason" */
    double timeout_s;         /* 0: SCR_NODE_TIMEOUT */
};

/* Adds to down those of nodes that fail a test; those in it are not tested. A manager
 * that does not answer in a third of the time is a warning, and so is a test for which
 * no time is left.
 * SCR_E_CONFIG: SCR_NODE_TESTS names one that does not exist, or SCR_EXCLUDE_NODES is
 * no list. */
int scr_nodes_test(const struct scr_node_tests *t, const struct scr_hostlist *nodes,
                   struct scr_downs *down, struct scr_err *err);

#endif
