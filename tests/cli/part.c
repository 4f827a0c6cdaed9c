/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes what a copy to PATH leaves that was killed, of the process that has this tag:
 *
 *     cli_part PATH TAG */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "xfer/copy.h"

int main(int argc, char **argv)
{
    int tag = 0;
    char *part =
        argc == 3 && scr_parse_int(argv[2], &tag) ? scr_copy_tmp(argv[1], tag) : NULL;
    FILE *f = part != NULL ? fopen(part, "w") : NULL;
    free(part);
    if (f == NULL || fclose(f) != 0) {
        fprintf(stderr, "usage: cli_part PATH TAG\n");
        return 1;
    }
    return 0;
}
