/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes are behind one switch, from the lines of Slurm's topology.conf, or of
 * "scontrol show topology":
 *
 *     SwitchName=s1 Level=0 Nodes=n[1-4]      a leaf, which has nodes
 *     SwitchName=s9 Level=1 Nodes=n[1-8] Switches=s[1-2]
 *     BlockName=b1 Nodes=n[1-4]               of topology/block, a leaf, too
 */
#ifndef SCR_RM_TOPOLOGY_H
#define SCR_RM_TOPOLOGY_H

#include "base/table.h"
#include "rm/rm.h"

struct scr_rm_leaf {
    struct scr_item item; /* name of the switch or block */
    const char *nodes;    /* host list, part of the text */
};

/* Adds the leaves of the text, which is cut in place and must outlive the table (of
 * struct scr_rm_leaf). SCR_OK or SCR_E_NOMEM. */
int scr_rm_leaves(char *text, struct scr_table *leaves, struct scr_err *err);
/* Such a text from scontrol, malloc'd. */
int scr_rm_ask_topology(const struct scr_rm *rm, char **text, struct scr_err *err);

#endif
