/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds a lock until it is killed, as a process of a job does:
 *
 *     cli_hold PATH */
#include <stdio.h>
#include <unistd.h>

#include "base/lock.h"

int main(int argc, char **argv)
{
    struct scr_lock lock = SCR_LOCK_INIT;
    if (argc != 2 ||
        scr_lock_acquire(&scr_sys_posix, argv[1], 0, &lock, NULL) != SCR_OK) {
        fprintf(stderr, "usage: cli_hold PATH\n");
        return 1;
    }
    for (;;)
        pause();
}
