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

/* The fields of an event; doc/man5/scr_event_log.5.md says which event has which.
 * Seconds are of a wall clock, bytes and files those of all ranks together. */
struct scr_event {
    const char *time;  /* scr_format_iso text */
    const char *host;  /* of the process that writes it */
    const char *jobid; /* NULL: left out, as every text below */
    const char *event; /* one of scr_event_names */
    const char *name;  /* of the dataset */
    const char *from, *to, *note;
    const char *nodelist;         /* "n[1-4]" (base/hostlist.h) */
    const char *version, *config; /* of SCR; parameters that are set */
    const char *class;            /* of a failure: "process", "node" or "beyond" */
    int64_t dset, bytes, files;   /* < 0: left out */
    int64_t ranks, nodes;         /* < 0: left out */
    int64_t run;                  /* number of the run in its prefix, from 1 */
    double secs;                  /* < 0: left out */
    double at;                    /* decoded only: time, in seconds since 1970 */
};
#define SCR_EVENT_INIT                                                                 \
    {                                                                                  \
        .dset = -1, .bytes = -1, .files = -1, .ranks = -1, .nodes = -1, .run = -1,     \
        .secs = -1                                                                     \
    }

/* Every event SCR writes, NULL at the end. */
extern const char *const scr_event_names[];
int scr_event_known(const char *name);

/* Runs are what the library records. The run loop brackets each with another RUN_START
 * and RUN_END, which have a note; the RUN_END of the library has one where SCR ended
 * the program for a halt, "halt". Others find lost nodes, and scavenge, when a run is
 * over. */
enum scr_event_by { SCR_BY_LIBRARY, SCR_BY_LOOP, SCR_BY_OTHER };
enum scr_event_by scr_event_by(const struct scr_event *e);

/* The note of a NODE_FAIL is "<node>: <reason>": length of the name it begins with, at
 * most 255, and *why, a part of the note; "" if there is none. 0: it names no node. */
size_t scr_event_lost_node(const struct scr_event *e, const char **why);

/* One line, malloc'd, newline included, without control characters inside. Bytes that
 * are not UTF-8 become '?'. SCR_E_ARG without time, host or event, or with an event not
 * in the list. */
int scr_event_encode(const struct scr_event *e, char **line, size_t *n,
                     struct scr_err *err);

/* One line of n bytes, with or without its newline: 1, and *e; its texts are parts of
 * the line, which is changed. 0: damaged, which is a line that is no JSON object or has
 * no time and event as they should be; *e is not to be used then. Events that are not
 * in the list are decoded, too; members that are unknown, or of another kind than they
 * should be, are left out, as are seconds above 1e10 and, except bytes and files,
 * counts that are no int. Seconds below 1e-9 are 0. */
int scr_event_decode(char *line, size_t n, struct scr_event *e);

#endif
