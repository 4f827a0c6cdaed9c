/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting processes, always from an argument array, never through a shell. */
#ifndef SCR_BASE_PROC_H
#define SCR_BASE_PROC_H

#include "base/err.h"
#include <sys/types.h>

struct scr_proc_spec {
    const char *const *argv; /* NULL-terminated; argv[0] looked up in PATH */
    const char *const *env;  /* NULL-terminated "K=V" added to (or "K" removed from)
                                ours; may be NULL */
    const char *cwd;         /* NULL: ours */
    const char *in_path;     /* stdin from this file; NULL: inherited */
    const char *out_path;    /* stdout to this file (truncated); NULL: inherited */
    const char *err_path;    /* stderr to this file; equal to out_path: both to it */
    int out_fd, err_fd;      /* > 2: a descriptor in place of a file; 0: none */
    int new_group;           /* 1: its own process group, for scr_proc_kill_group */
    int new_session;         /* 1: its own session: no terminal, a new group */
};

/* Starts the program; a program that cannot be executed is SCR_E_NOENT/SCR_E_IO here,
 * not exit status 127 later. It starts with no signal blocked and SIGPIPE at its
 * default. Paths in spec are relative to our directory, argv[0] with a '/' to cwd. */
int scr_proc_start(const struct scr_proc_spec *spec, pid_t *pid, struct scr_err *err);
/* Becomes the program of that path, which keeps our process id and gets our signals;
 * returns only if that cannot be. Bytes buffered in streams are lost. */
int scr_proc_exec(const char *path, const char *const *argv, struct scr_err *err);
/* Waits up to timeout_s seconds (< 0: for ever). *status: 0…255, or 128 + signal.
 * SCR_E_LOCKED when still running at the end of the time. */
int scr_proc_wait(pid_t pid, double timeout_s, int *status, struct scr_err *err);
/* Signal to the process group that new_group made; one that is gone is success. There
 * is no text: scr_proc_wait says whether it ended. */
int scr_proc_kill_group(pid_t pid, int signo);
/* SIGKILL to one process; one that is gone is left alone. */
void scr_proc_kill(pid_t pid);
/* root becomes this user for good, with all groups that the user has; the user itself
 * may call it, too. SCR_E_NOENT: no such user; SCR_E_UNSAFE: we are another user. */
int scr_proc_become(const char *user, struct scr_err *err);
/* Opens those of stdin, stdout and stderr that are closed, so that no pipe takes the
 * place of one. A write to them fails as before. */
void scr_proc_fill_streams(void);
/* For a process that outlives its parent: inherited descriptors except stdout and
 * stderr are closed, stdin is empty. It must not have opened any file yet. */
void scr_proc_detach(void);
/* Whole run with stdout captured (malloc'd, NUL-terminated; NULL pointer: inherited).
 * When the time is over the program (with new_group, its group) gets SIGTERM, two
 * seconds later SIGKILL, and the result is SCR_E_LOCKED. Ends with the program, even if
 * a daemon it left holds its stdout. *status is -1 on error. */
int scr_proc_run(const struct scr_proc_spec *spec, double timeout_s, char **out,
                 int *status, struct scr_err *err);

#endif
