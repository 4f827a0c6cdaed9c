/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the event log: whatever bytes a text has, it is one line of JSON. */
#include "fuzz.h"

#include "fmt/event.h"
#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_event e = SCR_EVENT_INIT;
    char *line, *text = strndup(n > 0 ? (const char *)data : "", n);
    size_t len;
    FUZZ_CHECK(text != NULL);
    e.time = "t";
    e.host = "h";
    e.event = "HALT";
    e.note = text;
    FUZZ_CHECK(scr_event_encode(&e, &line, &len, NULL) == SCR_OK);
    FUZZ_CHECK(strlen(line) == len && strchr(line, '\n') == line + len - 1);
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(json_is_string(json_object_get(root, "note")));
    json_decref(root);
    free(line);
    free(text);
    return 0;
}
