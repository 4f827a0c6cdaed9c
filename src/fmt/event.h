/* SPDX-License-Identifier: BSD-3-Clause */
/* The event log: one JSON object a line, appended with one write (base/io.h
 * scr_file_append).
 *
 *   {"time":"2014-01-14T11:26:06.000123+01:00","host":"atlas3","jobid":"1145655",
 *    "event":"ENCODE","dset":18,"secs":0.25,"bytes":1048576}          (one line in the
 * file) */
#ifndef SCR_FMT_EVENT_H
#define SCR_FMT_EVENT_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct scr_event {
    const char *time;  /* scr_format_iso text */
    const char *host;  /* of the process that speaks */
    const char *jobid; /* NULL: left out, as every text below */
    const char *event; /* one of scr_event_names */
    const char *name;  /* of the dataset */
    const char *from, *to, *note;
    int64_t dset, bytes, files; /* < 0: left out */
    double secs;                /* < 0: left out */
};
#define SCR_EVENT_INIT                                                                 \
    {                                                                                  \
        0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1                                         \
    }

/* Every event SCR writes, NULL at the end. */
extern const char *const scr_event_names[];
int scr_event_known(const char *name);

/* One line, malloc'd, newline included, without control characters inside. Bytes that
 * are not UTF-8 become '?'. SCR_E_ARG without time, host or event, or with an event not
 * in the list. */
int scr_event_encode(const struct scr_event *e, char **line, size_t *n,
                     struct scr_err *err);

#endif
