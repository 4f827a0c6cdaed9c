/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of JSON: an object that another parser takes is taken, with the same texts. */
#include "fuzz.h"

#include "base/jsonline.h"
#include <jansson.h>
#include <string.h>

static void check_member(const struct scr_jsonline *j, const json_t *root)
{
    const json_t *value = json_object_get(root, j->key);
    FUZZ_CHECK(value != NULL);
    FUZZ_CHECK(json_is_string(value) == (j->kind == SCR_JSON_TEXT));
    FUZZ_CHECK(json_is_number(value) == (j->kind == SCR_JSON_NUMBER));
    if (json_is_string(value))
        FUZZ_CHECK(strcmp(json_string_value(value), j->value) == 0);
    if (json_is_real(value))
        FUZZ_CHECK(strtod(j->value, NULL) == json_real_value(value));
    if (json_is_integer(value))
        FUZZ_CHECK(strtoll(j->value, NULL, 10) == json_integer_value(value));
}

/* Of the input its first line. jansson passes over a NUL behind a number. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t members = 0;
    const uint8_t *end = memchr(data, '\n', n);
    n = end != NULL ? (size_t)(end - data) : n;
    char *line = malloc(n > 0 ? n : 1); /* no byte more: checkers see it */
    FUZZ_CHECK(line != NULL);
    memcpy(line, data, n);
    json_t *root = memchr(line, '\0', n) == NULL
                       ? json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    struct scr_jsonline j = SCR_JSONLINE(line, n);
    while (scr_jsonline_next(&j)) {
        FUZZ_CHECK(j.key != NULL && (j.value != NULL || j.kind == SCR_JSON_OTHER));
        FUZZ_CHECK(j.key >= line && j.at <= line + n);
        members++;
        if (json_is_object(root))
            check_member(&j, root);
    }
    if (json_is_object(root))
        FUZZ_CHECK(!j.damaged && members == json_object_size(root));
    json_decref(root);
    free(line);
    return 0;
}
