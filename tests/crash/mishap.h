/* SPDX-License-Identifier: BSD-3-Clause */
/* Mishaps of a run: the system calls by which this process changes files, SCR's and
 * its own, are counted, and one of them kills the job; those below a directory fail as
 * if it were full or read-only. Linked into a program, mishap.c takes the place of the
 * C library's functions, also for libscr.so. */
#ifndef SCR_TEST_MISHAP_H
#define SCR_TEST_MISHAP_H

enum { MISHAP_MOST = 16 }; /* ranks of a job */

/* All ranks die together from here on. The one that dies first makes the file
 * JOURNAL.died. After MPI_Init, collective. */
void mishap_job(const char *journal);
/* A step of a script, and the word after its `=`. 1: it was one of these:
 *
 *     die=RANK:N      the N-th change of RANK from here on, 1: the next, is not made:
 *                     the job dies instead
 *     alone=RANK:N    only RANK dies then, and the launcher has to notice
 *     full=DIR        changes below DIR that take room fail from here on
 *     readonly=DIR    … all changes
 *     heal            they succeed again */
int mishap_step(const char *what, const char *arg);
/* Changes below dir fail from here on, with ENOSPC those that take room. */
void mishap_refuse(const char *dir, int error);
/* Whoever is to die does not. */
void mishap_spare(void);

#endif
