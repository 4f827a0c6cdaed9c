/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of our own, in the application's process. */
#ifndef SCR_BASE_THREAD_H
#define SCR_BASE_THREAD_H

#include "base/sys.h"
#include <pthread.h>
#include <sched.h>

/* Starts a thread that takes none of the application's signals. where: the processors
 * it may run on; NULL: those of the caller. 0, or an error number. */
int scr_thread_start(pthread_t *thread, const cpu_set_t *where, void *(*run)(void *),
                     void *arg);

/* 1 if a second thread would have a processor: *where is what it may run on. That is
 * what the calling thread may run on, if it is more than one processor; if it is bound
 * to one, those that share its last-level cache, which may be others' too. 0: there is
 * none, or nothing is known of it. */
int scr_thread_find_place(const struct scr_sys *sys, cpu_set_t *where);

#endif
