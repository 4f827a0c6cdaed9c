/* SPDX-License-Identifier: BSD-3-Clause */
/* A parallel file system that does what a test wants with the files that are copied to
 * it: holds them up, is slow, full or read-only. pfs_sys is scr_sys_posix except for
 * the files that copies write (xfer/copy.h), which it knows by their names. Threads may
 * use it. */
#ifndef SCR_TEST_HELPER_PFS_H
#define SCR_TEST_HELPER_PFS_H

#include <stdatomic.h>

#include "base/sys.h"

extern struct scr_sys pfs_sys; /* after pfs_reset */

extern struct pfs_control {
    atomic_int pass;        /* copies that are let through; then they are held up */
    atomic_int hold;        /* 1: as above; 0: all are let through */
    atomic_int dead;        /* 1: see pfs_die */
    atomic_int slow_us;     /* microseconds a write takes longer */
    atomic_int write_error; /* errno of each write, 0: none */
    atomic_int open_error;  /* errno of opening a copy */
    /* Creating a file whose path contains this is EIO; NULL: none. */
    const char *_Atomic fail_path;
    atomic_int opened;    /* copies begun */
    atomic_int open_now;  /* copies that are open */
    atomic_int *together; /* shared by all processes: copying now, and the most of them;
                             NULL: not counted */
    atomic_int
        meet; /* copies wait until so many processes were at it together; 0: they do not
               */
} pfs_control;

/* As if the process had died: what is held up or begins from here on ends in errors. */
void pfs_die(void);

/* Nothing is disturbed any more, all counters are 0. */
void pfs_reset(void);

#endif
