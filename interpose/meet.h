/* SPDX-License-Identifier: BSD-3-Clause */
/* When checkpoints begin and end: what all processes do together, at calls that all of
 * them make anyway. doc/design/interpose.md says why that cannot hang. */
#ifndef SCR_INTERPOSE_MEET_H
#define SCR_INTERPOSE_MEET_H

#include "ip.h"

/* 1, with a line: the program uses an MPI whose handles are not those of the one this
 * was built with. May be asked before MPI_Init. */
int scr_ip_is_foreign(void);

/* After MPI_Init: collective. Starts SCR and hands out what it restarts from, if
 * SCR_INTERPOSE_PATTERN is set; failures are reported, and the program continues
 * without SCR.
 */
void scr_ip_start_all(void);
/* At the begin of a blocking collective call on comm. If that has all processes, they
 * meet now and then, and complete what is whole. Else nothing is done. */
void scr_ip_meet_all(MPI_Comm comm);
/* Before MPI opens a file, collective over comm: what processes have staged under its
 * name is put where MPI looks for it. */
void scr_ip_expose_all(MPI_Comm comm, const char *name);
/* Before MPI_Finalize: collective. Completes what there is, and ends SCR. */
void scr_ip_end_all(void);
/* This process ends without MPI_Finalize, local: its files go where the program put
 * them. */
void scr_ip_abandon(void);

#endif
