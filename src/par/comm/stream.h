/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed bytes from rank to rank for a cursor (base/cursor.h), so that neither rank has
 * all of them in memory. One rank calls scr_stream_send, the other begin and end, and a
 * cursor in between. Both return, whatever fails on the other side. */
#ifndef SCR_PAR_STREAM_H
#define SCR_PAR_STREAM_H

#include "base/cursor.h"
#include "par/comm/comm.h"

struct scr_stream {
    struct scr_feed feed; /* rest 0: the sender had nothing */
    const struct scr_comm *comm;
    int from;
    struct scr_err *err;
};

/* Sends what the feed gives. After a failure zeros follow, which no reader takes for a
 * packed list; feed NULL: there is nothing to send. */
int scr_stream_send(const struct scr_comm *c, int to, struct scr_feed *feed,
                    struct scr_err *err);
/* Learns how many bytes come. */
int scr_stream_begin(struct scr_stream *s, const struct scr_comm *c, int from,
                     struct scr_err *err);
/* Takes what the cursor left, and frees its window. */
void scr_stream_end(struct scr_stream *s);

#endif
