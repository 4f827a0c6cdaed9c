/* SPDX-License-Identifier: BSD-3-Clause */
/* The command that runs a program in a prefix directory: <prefix>/.scr/run.scr, a hash
 * file with
 *
 *     HOST <host>  PID <pid of scr_srun>  MANAGER <resource manager>  JOB <its id>
 *     OTHERS <list of other job steps>
 *
 * and run.scr.lock, held as long as that process lives. For scr_halt --immediate. */
#ifndef SCR_TOOL_RUNFILE_H
#define SCR_TOOL_RUNFILE_H

#include "base/lock.h"
#include "job.h"

struct runfile {
    struct scr_lock lock;
};
#define RUNFILE_INIT                                                                   \
    {                                                                                  \
        SCR_LOCK_INIT                                                                  \
    }

/* t->prefix is open. others: job steps that run already and are not to be killed, NULL:
 * not known, then only the process itself can end its run. SCR_E_LOCKED: another one
 * runs a program there. */
int scr_runfile_open(const struct job *job, const struct scr_hostlist *others,
                     struct runfile *file, struct scr_err *err);
/* Removes the record; nothing if it is not ours. */
void scr_runfile_close(const struct scr_tool *t, struct runfile *file);

/* Ends the run recorded in t->prefix at once: through the process that runs it if that
 * is on this host, else through its resource manager. *what: how, malloc'd, NULL:
 * nothing runs there. Told that it hangs, that process may start another run; else, and
 * on any SIGUSR2 that others send, it ends, too. */
enum runfile_why {
    RUNFILE_HALT,
    RUNFILE_HANGS /* as the value that comes with SIGUSR2 */
};
int scr_runfile_kill(struct scr_tool *t, enum runfile_why why, char **what,
                     struct scr_err *err);

#endif
