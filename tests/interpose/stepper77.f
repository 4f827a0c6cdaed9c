C     SPDX-License-Identifier: BSD-3-Clause
C     A program in FORTRAN 77 that knows nothing of SCR: each process writes state.<step>.<rank>
C     every five steps and, if the file goon names a step, goes on from there. If there is a file
C     hold it waits at step 14 until somebody kills it.
      PROGRAM STEPPR
      INCLUDE 'mpif.h'
      INTEGER N
      PARAMETER (N = 1000)
      INTEGER V(N), IERR, ME, I, ISTEP, IFIRST, ISUM, IALL
      LOGICAL GOON, HOLD
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      DO 10 I = 1, N
         V(I) = 0
 10   CONTINUE
      IFIRST = 0
      INQUIRE (FILE='goon', EXIST=GOON)
      IF (GOON) THEN
         OPEN (7, FILE='goon')
         READ (7, *) IFIRST
         CLOSE (7)
         CALL IO(0, IFIRST, ME, V, N)
      END IF
      INQUIRE (FILE='hold', EXIST=HOLD)
      DO 40 ISTEP = IFIRST + 1, 20
         IF (HOLD .AND. ISTEP .EQ. 14) CALL SLEEP(60)
         DO 20 I = 1, N
            V(I) = MOD(V(I) * 5 + ISTEP + I + ME, 1000003)
 20      CONTINUE
         CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
         IF (MOD(ISTEP, 5) .EQ. 0) CALL IO(1, ISTEP, ME, V, N)
         CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
         CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
 40   CONTINUE
      ISUM = 0
      DO 50 I = 1, N
         ISUM = MOD(ISUM * 31 + V(I), 1000003)
 50   CONTINUE
      CALL MPI_ALLREDUCE(ISUM, IALL, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, IERR)
      IF (ME .EQ. 0) PRINT *, 'sum', IALL
      CALL MPIIO(ME)
      CALL MPI_FINALIZE(IERR)
      END

C     A file that MPI writes, with a name that is matched and has blanks after it.
      SUBROUTINE MPIIO(ME)
      INCLUDE 'mpif.h'
      INTEGER ME, IFILE, IERR
      CHARACTER*64 NAME
      NAME = 'state.999.x'
      CALL MPI_FILE_OPEN(MPI_COMM_WORLD, NAME,
     &   MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, IFILE, IERR)
      IF (IERR .NE. MPI_SUCCESS) STOP 'MPI_FILE_OPEN'
      CALL MPI_FILE_CLOSE(IFILE, IERR)
      IF (ME .EQ. 0) CALL MPI_FILE_DELETE(NAME, MPI_INFO_NULL, IERR)
      IF (IERR .NE. MPI_SUCCESS) STOP 'MPI_FILE_DELETE'
      END

C     IWRITE 1: writes the state of a step, else reads it.
      SUBROUTINE IO(IWRITE, ISTEP, ME, V, N)
      INTEGER IWRITE, ISTEP, ME, N, V(N)
      CHARACTER*32 NAME
      WRITE (NAME, '(''state.'', I3.3, ''.'', I1)') ISTEP, ME
      OPEN (8, FILE=NAME, FORM='UNFORMATTED')
      IF (IWRITE .EQ. 1) THEN
         WRITE (8) V
      ELSE
         READ (8) V
      END IF
      CLOSE (8)
      END
