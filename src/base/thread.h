/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads beside those of the application. */
#ifndef SCR_BASE_THREAD_H
#define SCR_BASE_THREAD_H

#include <pthread.h>

/* pthread_create(3), and its error number. The thread blocks all signals: those of the
 * application are for its threads. */
int scr_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
