/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds a lock until it is killed, as a process of a job does; with KEY that of a job:
 *
 *     cli_hold PATH [KEY] */
#include <stdio.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/str.h"

int main(int argc, char **argv)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    int rc = argc == 2   ? scr_lock_acquire(&scr_sys_posix, argv[1], 0, &lock, NULL)
             : argc == 3 ? scr_lock_acquire_key(&scr_sys_posix, argv[1],
                                                scr_str_key(argv[2]), 0, &lock, NULL)
                         : SCR_E_USAGE;
    while (rc == SCR_OK)
        pause();
    fprintf(stderr, "usage: cli_hold PATH [KEY]\n");
    return 1;
}
