/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of src/rm: the rows of the tables, and calls of a tool. */
#ifndef SCR_RM_IMPL_H
#define SCR_RM_IMPL_H

#include "base/str.h"
#include "rm/names.h"
#include "rm/rm.h"

extern const struct scr_rm_ops scr_rm_slurm, scr_rm_lsf, scr_rm_flux, scr_rm_pbs,
    scr_rm_none;

/* Runs a tool of the resource manager; its stdout, malloc'd, without the newline at the
 * end. env as in struct scr_proc_spec, may be NULL; SQUEUE_* and SINFO_* of our
 * environment are removed. A tool that is not there, ends with
 * a status other than 0 or takes too long (rm->ask_by) is an error with the first line
 * it wrote to stderr. */
int scr_rm_ask(const struct scr_rm *rm, const char *const *argv, const char *const *env,
               char **out, struct scr_err *err);

/* Runs a tool that kills a job step; *killed becomes a copy of step. */
int scr_rm_tell_to_kill(const struct scr_rm *rm, const char *const *argv,
                        const char *step, char **killed, struct scr_err *err);

/* Runs a tool that prints lines "node state comment…", and has each of a node of nodes
 * taken: taking it may add the node to down. */
typedef int scr_rm_take_state(struct scr_downs *down, const char *node,
                              const char *state, const char *comment,
                              struct scr_err *err);
int scr_rm_ask_states(const struct scr_rm *rm, const char *const *argv,
                      const struct scr_hostlist *nodes, scr_rm_take_state *take,
                      struct scr_downs *down, struct scr_err *err);

/* Walks over the lines of a text, each cut at its newline in place: NULL at the end.
 * Empty lines are left out. */
char *scr_rm_line(char **text);
/* The next word of a line (blanks between), cut in place: "" at the end. */
char *scr_rm_word(char **line);

/* The names of a text with blanks or newlines between, each once. The text is used
 * up. */
int scr_rm_add_words(struct scr_hostlist *list, char *text, struct scr_err *err);
#endif
