/* SPDX-License-Identifier: BSD-3-Clause */
/* scr_crc32: the checksum SCR records for a file. */
#include <stdlib.h>
#include <strings.h>

#include "base/str.h"
#include "red/member.h"
#include "tool.h"

enum { OPT_EXPECT };

static const struct scr_opt opts[] = {
    [OPT_EXPECT] = { "expect", 'e', "CRC", "say whether the file has this CRC32" },
    { 0 },
};

/* With 0x or without. */
static int parse_crc(const char *text, uint32_t *crc)
{
    char *full =
        scr_asprintf("%s%s", strncasecmp(text, "0x", 2) == 0 ? "" : "0x", text);
    int ok = full != NULL && scr_parse_hex32(full, crc);
    free(full);
    return ok;
}

static int run(struct scr_tool *t, const struct scr_args *a, struct scr_err *err)
{
    uint32_t crc, expected = 0;
    uint64_t size;
    const char *expect = a->opt[OPT_EXPECT];
    if (expect != NULL && !parse_crc(expect, &expected))
        return scr_tool_usage(t, err,
                              "option --expect: \"%s\" is not a CRC32 such as "
                              "d64a1f79",
                              expect);
    if (expect != NULL && a->noperands > 1)
        return scr_tool_usage(t, err, "option --expect takes one file");
    for (int i = 0; i < a->noperands; i++) {
        int rc = scr_file_crc32(&t->env, a->operand[i], 0, &size, &crc, err);
        if (rc != SCR_OK)
            return rc;
        if (expect != NULL)
            return crc == expected ? SCR_OK : SCR_TOOL_NO;
        scr_tool_print_line(t, a->noperands > 1 ? "%x  %s" : "%x", (unsigned)crc,
                            a->operand[i]);
    }
    return SCR_OK;
}

const struct scr_cmd scr_cmd_crc32 = {
    .usage = "[OPTION]... FILE...",
    .about =
        "Prints the CRC32 (of zlib and gzip) of FILE in hexadecimal digits, with\n"
        "several files each followed by its name. With --expect nothing is\n"
        "printed: the exit status is 0 if the CRC32 is the expected one, 1 if not.",
    .opts = opts,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
