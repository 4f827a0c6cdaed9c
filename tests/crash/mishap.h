/* SPDX-License-Identifier: BSD-3-Clause */
/* Mishaps of a run: a system call on a file, SCR's or the program's own, kills the job
 * or fails (strike.h). */
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
 *     strike=RANK:WHAT    the job dies, or a call of RANK fails (strike_arm)
 *     full=DIR        changes below DIR that take room fail from here on
 *     readonly=DIR    … all changes
 *     heal            they succeed again */
int mishap_step(const char *what, const char *arg);

#endif
