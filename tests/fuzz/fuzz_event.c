/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the event log: whatever bytes a text has, it is one line of JSON, which is
 * decoded to the same text; whatever bytes a line has, the decoder stays in it. */
#include "fuzz.h"

#include "fmt/event.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A line that is decoded is encoded again, if it is one of ours. */
static void decode(const uint8_t *data, size_t n)
{
    struct scr_event e, again;
    char *line = malloc(n > 0 ? n : 1), *next; /* no byte more: checkers see it */
    size_t len;
    FUZZ_CHECK(line != NULL);
    memcpy(line, data, n);
    if (scr_event_decode(line, n, &e) &&
        scr_event_encode(&e, &next, &len, NULL) == SCR_OK) {
        FUZZ_CHECK(scr_event_decode(next, len, &again));
        FUZZ_CHECK(strcmp(again.event, e.event) == 0 && again.dset == e.dset &&
                   again.bytes == e.bytes && again.files == e.files);
        free(next);
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct scr_event e = SCR_EVENT_INIT;
    char *line, *text = strndup(n > 0 ? (const char *)data : "", n);
    size_t len;
    decode(data, n);
    FUZZ_CHECK(text != NULL);
    e.time = "2014-01-14T11:26:06.000123+01:00";
    e.host = "h";
    e.event = "HALT";
    e.note = text;
    FUZZ_CHECK(scr_event_encode(&e, &line, &len, NULL) == SCR_OK);
    FUZZ_CHECK(strlen(line) == len && strchr(line, '\n') == line + len - 1);
    json_t *root = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *note = json_string_value(json_object_get(root, "note"));
    FUZZ_CHECK(note != NULL);
    FUZZ_CHECK(scr_event_decode(line, len, &e) && strcmp(e.note, note) == 0);
    json_decref(root);
    free(line);
    free(text);
    return 0;
}
