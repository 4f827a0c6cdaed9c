/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits a transfer file as another program would.
 *
 *     cli_transfer list FILE SOURCE DESTINATION SIZE
 *     cli_transfer bw FILE BYTES_A_SECOND */
#include <stdlib.h>
#include <string.h>

#include "base/hashfile.h"
#include "fmt/transfer.h"

static int edit(scr_hash *h, void *arg, int *changed, struct scr_err *err)
{
    char **a = arg;
    *changed = 1;
    if (strcmp(a[1], "bw") == 0)
        return scr_hash_set_val(h, "BW", a[3]) ? SCR_OK : SCR_E_NOMEM;
    (void)err;
    scr_hash_unset(h, "FLAG");
    return scr_transfer_add_file(h, a[3], a[4], strtoull(a[5], NULL, 10));
}

int main(int argc, char **argv)
{
    struct scr_err err = SCR_ERR_INIT;
    if (argc < 4 || (strcmp(argv[1], "list") == 0) != (argc == 6))
        return 2;
    return scr_hash_file_update(&scr_sys_posix, argv[2], 10000, edit, argv, &err) !=
           SCR_OK;
}
