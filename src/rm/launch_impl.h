/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of src/rm: the table of launchers, and walking over their options. */
#ifndef SCR_RM_LAUNCH_IMPL_H
#define SCR_RM_LAUNCH_IMPL_H

#include "rm/launch.h"

/* What SCR wants to know of an option; the others are passed on. */
enum scr_launch_opt {
    SCR_OPT_OTHER,
    SCR_OPT_NODES,    /* number of nodes */
    SCR_OPT_PROCS,    /* number of processes */
    SCR_OPT_PER_NODE, /* processes on each node */
    SCR_OPT_HOSTS,    /* list of the nodes to run on */
    SCR_OPT_HOSTFILE, /* file with it */
    SCR_OPT_EXCLUDE,  /* list of those not to run on */
    SCR_OPT_CHDIR     /* where the program runs */
};

/* A row of the table of a launcher's options, names separated by blanks: "-N --nodes".
 * A value follows after a "=" or as the next word. */
struct scr_launch_row {
    const char *names;
    enum scr_launch_opt opt;
};

struct scr_launcher_ops {
    const char *names; /* programs that are it, separated by blanks */
    /* Texts of "PROGRAM --version" that distinguish it from others of that name; NULL:
     * the name is enough. */
    const char *version_marks[3];
    const struct scr_launch_row *rows; /* ended by names NULL; may be NULL */
    const char *with_value; /* other options that take the next word as their value */
    const char *with_two;   /* … and the next two words, as "-genv NAME VALUE" */
    int has_letters;        /* 1: the value of a short option may follow at once */
    /* Words before the options, as "run" in "flux run"; may be NULL. */
    size_t (*skip)(const char *const *args);
    int (*line)(const struct scr_rm *rm, const struct scr_launcher *l,
                const struct scr_launch *what, struct scr_strv *argv,
                struct scr_strv *env, struct scr_err *err);
};

extern const struct scr_launcher_ops scr_launch_srun, scr_launch_openmpi,
    scr_launch_hydra, scr_launch_jsrun, scr_launch_lrun, scr_launch_flux,
    scr_launch_aprun;

/* Walks over the launcher's options, up to the program:
 *
 *     struct scr_launch_walk w = scr_launch_begin(ops, args);
 *     while (scr_launch_next(&w)) … w.opt, w.value, args[w.at … w.next - 1] …
 *     args[w.next] is the program, or NULL */
struct scr_launch_walk {
    const struct scr_launcher_ops *ops;
    const char *const *args;
    size_t at, next; /* words of the option: at … next - 1 */
    enum scr_launch_opt opt;
    const char *value; /* NULL: none */
};
struct scr_launch_walk scr_launch_begin(const struct scr_launcher_ops *ops,
                                        const char *const *args);
int scr_launch_next(struct scr_launch_walk *w);

/* Value of the last such option, NULL if there is none. */
const char *scr_launch_find(const struct scr_launcher_ops *ops, const char *const *args,
                            enum scr_launch_opt opt);
/* Appends args without the options of these kinds (bits 1 << opt). */
void scr_launch_copy(const struct scr_launcher_ops *ops, const char *const *args,
                     unsigned without, struct scr_strv *argv);
/* Refuses an option of this kind: SCR_E_ARG "…: use … instead". */
int scr_launch_refuse(const struct scr_launcher *l, const char *const *args,
                      enum scr_launch_opt opt, const char *instead,
                      struct scr_err *err);

#endif
