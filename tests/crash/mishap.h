/* SPDX-License-Identifier: BSD-3-Clause */
/* Mishaps of a run: the system calls by which this process changes files, SCR's and
 * its own, are counted, and one of them kills the job; those below a directory fail as
 * if it were full or read-only. Linked into a program, mishap.c takes the place of the
 * C library's functions, also for libscr.so. */
#ifndef SCR_TEST_MISHAP_H
#define SCR_TEST_MISHAP_H

enum { MISHAP_MOST = 16 };

/* The processes that die together. A rank that dies first makes the file mark; the name
 * is borrowed. */
void mishap_job(const int *pids, int n, const char *mark);
/* The calls-th change from here on, 1: the next, is not made: the job dies instead. */
void mishap_die_after(int calls);
/* Only this process dies then, and the launcher has to notice. */
void mishap_die_alone_after(int calls);
/* Changes below dir fail from here on, with ENOSPC where they would take room, with
 * EROFS all. */
void mishap_refuse(const char *dir, int error);
void mishap_refuse_nothing(void);

#endif
