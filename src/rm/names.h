/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of a host list, found without walking over it: a job may have 10^5 nodes,
 * and its manager has a line for each of them.
 *
 *     struct scr_rm_names names;
 *     rc = scr_rm_names_init(&names, list, err);
 *     … scr_rm_match(&names, "n7.cluster") …
 *     scr_rm_names_fini(&names);                  // in any case */
#ifndef SCR_RM_NAMES_H
#define SCR_RM_NAMES_H

#include "base/hostlist.h"
#include "base/table.h"

struct scr_rm_names {
    const struct scr_hostlist *list; /* borrowed */
    struct scr_table name, label;    /* labels: names up to their first dot */
};

/* SCR_OK or SCR_E_NOMEM. The list must not be changed meanwhile, except by
 * scr_rm_names_add. */
int scr_rm_names_init(struct scr_rm_names *names, const struct scr_hostlist *list,
                      struct scr_err *err);
void scr_rm_names_fini(struct scr_rm_names *names);

/* Position in the list of the first name that is name, or is so up to the first dot of
 * both, if one of them has none; list->n: there is none. */
size_t scr_rm_find(const struct scr_rm_names *names, const char *name);
/* The same as the name in the list; NULL: there is none. */
const char *scr_rm_match(const struct scr_rm_names *names, const char *name);

/* Appends a copy of name to list, unless the list, of which names is the table, has it.
 * SCR_OK or SCR_E_NOMEM. */
int scr_rm_names_add(struct scr_rm_names *names, struct scr_hostlist *list,
                     const char *name, struct scr_err *err);
/* The same for each name of more. */
int scr_rm_add_nodes(struct scr_hostlist *list, const struct scr_hostlist *more,
                     struct scr_err *err);

/* SCR_E_UNSAFE unless all names are letters, digits and "_-.:%", and begin with one of
 * the former. Resource managers and files may give others: "-x" would be an option of
 * the program that is to reach the node, and pdsh has meanings for '^', '/' and '|'
 * (and for ':', see remote_pdsh.c). */
int scr_rm_check_names(const struct scr_hostlist *nodes, struct scr_err *err);

#endif
