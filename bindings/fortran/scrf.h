! SPDX-License-Identifier: BSD-3-Clause
! SCR, the Scalable Checkpoint/Restart library: classic interface for
! Fortran, in fixed or free form:
!
!     include 'scrf.h'
!
! The calls are those of scr.h, with the error code as last argument;
! scr_fortran(7) describes both this and the module scr. INTEGER is the
! default kind, 4 bytes. Names end at their last character that is not
! blank; what is returned in a CHARACTER variable is filled with blanks,
! and SCR_MAX_FILENAME characters are always enough.

!     any other error code: see scr_errors(7)
      integer SCR_SUCCESS, SCR_FAILURE
      parameter (SCR_SUCCESS = 0)
      parameter (SCR_FAILURE = 1)

!     characters of a path or the name of a dataset
      integer SCR_MAX_FILENAME
      parameter (SCR_MAX_FILENAME = 1024)

!     properties of a dataset, combined by +, each at most once
      integer SCR_FLAG_NONE, SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT
      parameter (SCR_FLAG_NONE = 0)
      parameter (SCR_FLAG_CHECKPOINT = 1)
      parameter (SCR_FLAG_OUTPUT = 2)

!     of a dataset in SCR_DATASET only: where it is whole, and whether
!     it may be offered for a restart
      integer SCR_FLAG_IN_CACHE, SCR_FLAG_IN_PREFIX
      integer SCR_FLAG_RESTARTABLE
      parameter (SCR_FLAG_IN_CACHE = 4)
      parameter (SCR_FLAG_IN_PREFIX = 8)
      parameter (SCR_FLAG_RESTARTABLE = 16)

!     start and end; IERROR is an INTEGER that is set, in all calls
!     call SCR_INIT(IERROR)
!     call SCR_INIT_COMM(COMM, IERROR)
!       INTEGER COMM
!     call SCR_FINALIZE(IERROR)
!     call SCR_CONFIG(CONFIG, VAL, IERROR)
!       CHARACTER*(*) CONFIG, VAL
!     call SCR_CONFIG_COMM(COMM, CONFIG, VAL, IERROR)
!       INTEGER COMM, CHARACTER*(*) CONFIG, VAL

!     paths
!     call SCR_ROUTE_FILE(NAME, FILE, IERROR)
!       CHARACTER*(*) NAME, FILE

!     checkpoints and output
!     call SCR_NEED_CHECKPOINT(FLAG, IERROR)
!       INTEGER FLAG
!     call SCR_START_CHECKPOINT(IERROR)
!     call SCR_COMPLETE_CHECKPOINT(VALID, IERROR)
!       INTEGER VALID
!     call SCR_START_OUTPUT(NAME, FLAGS, IERROR)
!       CHARACTER*(*) NAME, INTEGER FLAGS
!     call SCR_COMPLETE_OUTPUT(VALID, IERROR)
!       INTEGER VALID

!     restart
!     call SCR_HAVE_RESTART(FLAG, NAME, IERROR)
!       INTEGER FLAG, CHARACTER*(*) NAME
!     call SCR_START_RESTART(NAME, IERROR)
!       CHARACTER*(*) NAME
!     call SCR_COMPLETE_RESTART(VALID, IERROR)
!       INTEGER VALID

!     restart on a different number of processes
!     call SCR_RESTART_RANKS(RANKS, IERROR)
!       INTEGER RANKS
!     call SCR_RESTART_FILES(N, IERROR)
!       INTEGER N
!     call SCR_RESTART_FILE(I, FILE, RANK, IERROR)
!       INTEGER I, RANK, CHARACTER*(*) FILE

!     what there is
!     call SCR_DATASETS(N, IERROR)
!       INTEGER N
!     call SCR_DATASET(I, NAME, ID, FLAGS, BYTES, WHEN, IERROR)
!       INTEGER I, ID, FLAGS, CHARACTER*(*) NAME, REAL*8 BYTES, WHEN

!     the rest
!     call SCR_SHOULD_EXIT(FLAG, IERROR)
!       INTEGER FLAG
!     call SCR_CURRENT(NAME, IERROR)
!       CHARACTER*(*) NAME
!     call SCR_DELETE(NAME, IERROR)
!       CHARACTER*(*) NAME
!     call SCR_DROP(NAME, IERROR)
!       CHARACTER*(*) NAME
!     call SCR_GET_VERSION(VERSION, IERROR)
!       CHARACTER*(*) VERSION
!     call SCR_LAST_ERROR(TEXT, IERROR)
!       CHARACTER*(*) TEXT; IERROR is that of the last call
