/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_crc32: the checksum SCR records for a file. */
#include "red/member.h"
#include "tool.h"

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    uint32_t crc;
    uint64_t size;
    for (int i = 0; i < a->noperands; i++) {
        TRY(scr_file_crc32(&t->env, a->operand[i], 0, &size, &crc, err));
        scr_tool_print_line(t, a->noperands > 1 ? "%x  %s" : "%x", (unsigned)crc,
                            a->operand[i]);
    }
    return SCR_OK;
}

const struct scr_cmd scr_cmd_crc32 = {
    .usage = "FILE...",
    .about = "Prints the CRC32 (of zlib and gzip) of FILE in hexadecimal digits, with\n"
             "several files each followed by its name.",
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
