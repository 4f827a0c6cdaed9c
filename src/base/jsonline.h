/* SPDX-License-Identifier: BSD-3-Clause */
/* One line that is a JSON object, taken apart in place and without allocations: the
 * event log has millions of them.
 *
 *     struct scr_jsonline j = SCR_JSONLINE(line, n);
 *     while (scr_jsonline_next(&j))
 *         use(j.key, j.kind, j.value);
 *     if (j.damaged)
 *         …the line is no object: what came before is not to be used
 *
 * Keys and values are texts in the bytes of the line, which is changed. Values that are
 * neither text nor number (true, null, objects, arrays) are passed over and reported as
 * SCR_JSON_OTHER, without a value. */
#ifndef SCR_BASE_JSONLINE_H
#define SCR_BASE_JSONLINE_H

enum scr_json { SCR_JSON_TEXT, SCR_JSON_NUMBER, SCR_JSON_OTHER };

struct scr_jsonline {
    char *at, *end;
    int begun, damaged;
    const char *key, *value; /* of the member found, NUL-terminated */
    enum scr_json kind;      /* of its value; a number is as it stands in the line */
};
#define SCR_JSONLINE(line, n)                                                          \
    {                                                                                  \
        .at = (line), .end = (line) + (n)                                              \
    }

/* 1: the next member; 0: there are no more, or the line is damaged, also by bytes
 * behind the object, control characters or a \u0000 in a text. */
int scr_jsonline_next(struct scr_jsonline *j);

#endif
