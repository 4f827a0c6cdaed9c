/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the event log: what is read can be written on one line. */
#include "fuzz.h"

#include "fmt/event.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_event e;
    struct scr_event_owner *owner;
    char *line;
    size_t len;
    if (scr_event_decode((const char *)data, n, &e, &owner, NULL) != SCR_OK)
        return 0;
    if (scr_event_encode(&e, &line, &len, NULL) == SCR_OK) {
        FUZZ_CHECK(strlen(line) == len && strchr(line, '\n') == line + len - 1);
        free(line);
    }
    scr_event_free(owner);
    return 0;
}
