/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls on files that do not go as asked: one of this process kills it or fails,
 * and those below a directory fail as if it were full or read-only. strike.c takes the
 * place of the C library's functions: linked into a program, also for libscr.so, or
 * preloaded into a command (libscr_strike.so).
 *
 * TEST_TRACE=FILE: a line for each call, from all processes in the order in which they
 * ended; TEST_BELOW=DIR: only calls below DIR are told, counted and struck. */
#ifndef SCR_TEST_STRIKE_H
#define SCR_TEST_STRIKE_H

/* Before the first call that counts. who: the first word of lines of the trace. */
void strike_open(int who);
/* what: KIND:N:HOW, the N-th call of a kind from here on, 1: the next.
 *
 *     open close read write sync size rename link unlink mkdir stat list     KIND
 *     change             … that would change files; not a close, not a sync
 *     before after       HOW: the process dies instead, or afterwards
 *     short              a write or read moves half of its bytes
 *     lie+               all syncs from there on do nothing
 *     EIO ENOSPC EDQUOT EINTR EROFS ENOMEM    fails; with a + the later ones, too
 *
 * die: what a death is; NULL: kill -9. It is not 1 if what is none of these. */
int strike_arm(const char *what, void (*die)(void));
/* Nothing is struck any more. */
void strike_spare(void);
/* Changes below dir fail from here on, with ENOSPC those that take room; 0: none. */
void strike_refuse(const char *dir, int error);

#endif
