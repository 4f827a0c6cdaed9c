/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists: "atlas[3,5-7,9-11]" <-> atlas3 atlas5 … Zero padding and order are kept.
 */
#ifndef SCR_BASE_HOSTLIST_H
#define SCR_BASE_HOSTLIST_H

#include "base/err.h"
#include <stddef.h>

struct scr_hostlist {
    char **name;
    size_t n;
};
#define SCR_HOSTLIST_INIT                                                              \
    {                                                                                  \
        0, 0                                                                           \
    }

/* Expands a comma-separated list; order and duplicates preserved; "" is the empty list.
 * Several bracket groups ("r[1-2]n[1-4]") and suffixes ("n[1-2]-ib") work. More than
 * 1,048,576 hosts, a reversed or unclosed range, ends padded differently ("[1-010]"),
 * an empty item or a name that is none (over 255 bytes, with blanks, control characters
 * or '/', or starting with '-') is SCR_E_ARG naming the item. Blanks around items are
 * ignored. */
int scr_hostlist_expand(const char *text, struct scr_hostlist *out,
                        struct scr_err *err);
/* The same for the first `most` names: what follows them is not looked at. For lists
 * that may be damaged, such as a line of the event log, as each name costs. */
enum { SCR_HOSTLIST_FRONT = 1000 };
int scr_hostlist_expand_front(const char *text, size_t most, struct scr_hostlist *out,
                              struct scr_err *err);
/* Compressed text, malloc'd: adjacent names that differ in one number only and have it
 * in one width share a bracket. With sort != 0 names are ordered by prefix and number
 * first (duplicates preserved), as scr_glob_hosts does. Expanding the text gives the
 * same names again. */
int scr_hostlist_compress(const struct scr_hostlist *list, int sort, char **text,
                          struct scr_err *err);
/* a without the names in b; names of a that are in b. Order of a kept. */
int scr_hostlist_minus(const struct scr_hostlist *a, const struct scr_hostlist *b,
                       struct scr_hostlist *out, struct scr_err *err);
int scr_hostlist_intersect(const struct scr_hostlist *a, const struct scr_hostlist *b,
                           struct scr_hostlist *out, struct scr_err *err);
/* Appends a name as it is. */
int scr_hostlist_add(struct scr_hostlist *list, const char *name, struct scr_err *err);
/* The same unless the list has it, which is walked over: for lists of a few. */
int scr_hostlist_add_once(struct scr_hostlist *list, const char *name,
                          struct scr_err *err);
int scr_hostlist_contains(const struct scr_hostlist *list, const char *name);
void scr_hostlist_free(struct scr_hostlist *list);

#endif
