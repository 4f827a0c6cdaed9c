/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a run of promises.py, from MPI_Init to MPI_Finalize. Its status. */
#ifndef SCR_TEST_PROMISES_H
#define SCR_TEST_PROMISES_H

int promises(int argc, char **argv);

#endif
