/* SPDX-License-Identifier: BSD-3-Clause */
/* Files over MPI: a list of them out to one rank while another comes in from one rank.
 *
 * Both sides of a link know names and sizes before; a file travels as messages of a
 * head and at most `slice` bytes of it, an empty file as one head. The head says
 * whether the sender could read all so far: after a failure it continues sending heads,
 * so that no rank waits for bytes that will not come. Reading, sending, receiving and
 * writing overlap (two buffers each way). */
#ifndef SCR_PAR_SHIP_H
#define SCR_PAR_SHIP_H

#include "base/env.h"
#include "fmt/meta.h"
#include "par/comm/comm.h"

/* Bytes of a message in addition to those of the file. */
enum { SCR_SHIP_HEAD = 8 };

struct scr_ship_file {
    const char *path; /* out: what is read; in: where it ends */
    uint64_t size;
    const scr_meta
        *meta; /* in: CRC to be checked, mode and times to be set; may be NULL */
    int whole; /* in: set when the file is in place */
};

struct scr_ship_list {
    int peer; /* world rank, MPI_PROC_NULL: none */
    struct scr_ship_file *file;
    size_t n;
};

struct scr_ship {
    const struct scr_env *env;
    const struct scr_comm *comm;
    const char *tmp; /* name of the file being received, on the file system of in's */
    size_t slice;    /* equal on all ranks, 1 … 2^30 - SCR_SHIP_HEAD */
    unsigned char *buf[4];
};

/* Allocates the buffers. Local. */
int scr_ship_init(struct scr_ship *s, struct scr_err *err);
void scr_ship_fini(struct scr_ship *s);

/* Runs both lists. A file that its holder cannot read whole, or with a wrong CRC, is
 * not whole afterwards: a warning and no error, because redundancy may rebuild it. An
 * error is what keeps this rank from writing: then nothing more is written, the
 * exchange still runs to its end. */
int scr_ship_run(struct scr_ship *s, const struct scr_ship_list *out,
                 struct scr_ship_list *in, struct scr_err *err);

#endif
