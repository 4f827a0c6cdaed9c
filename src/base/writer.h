/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that writes to a file while its owner does other things.
 *
 * New pages of a memory file system cost more than all else that is done with the bytes
 * that go there, and the kernel lets one at a time write to a file: so two files have
 * two writers. The queue is short, that little is late when all has come. */
#ifndef SCR_BASE_WRITER_H
#define SCR_BASE_WRITER_H

#include "base/err.h"
#include "base/sys.h"
#include <stddef.h>
#include <stdint.h>

struct scr_writer; /* opaque; one thread uses it */

/* NULL: there is none, write yourself: no thread could be had, or it would have no
 * processor beside the caller's (base/thread.h). */
struct scr_writer *scr_writer_start(const struct scr_sys *sys);
/* 1 if the queue has room for one more. */
int scr_writer_has_room(struct scr_writer *w);
/* Hands over n bytes at buf for offset off of fd. buf, fd and path (for messages) are
 * borrowed until that is done. Its number, from 1; 0: the queue is full. */
uint64_t scr_writer_put(struct scr_writer *w, int fd, const void *buf, size_t n,
                        off_t off, const char *path);
/* 1 if this one and all before it are done; number 0 always is. */
int scr_writer_is_done(struct scr_writer *w, uint64_t number);
/* Waits for all, ends the thread, frees w. The first failure; after it nothing more was
 * written. NULL is fine. */
int scr_writer_finish(struct scr_writer *w, struct scr_err *err);

#endif
