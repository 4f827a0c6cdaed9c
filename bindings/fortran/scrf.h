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

!     start and end; IERROR is an INTEGER that is set, in all calls
!     (IERROR)
      external SCR_INIT
!     (IERROR)
      external SCR_FINALIZE
!     (CONFIG, VAL, IERROR) CHARACTER*(*) CONFIG, VAL
      external SCR_CONFIG

!     paths
!     (NAME, FILE, IERROR) CHARACTER*(*) NAME, FILE
      external SCR_ROUTE_FILE

!     checkpoints and output
!     (FLAG, IERROR) INTEGER FLAG
      external SCR_NEED_CHECKPOINT
!     (IERROR)
      external SCR_START_CHECKPOINT
!     (VALID, IERROR) INTEGER VALID
      external SCR_COMPLETE_CHECKPOINT
!     (NAME, FLAGS, IERROR) CHARACTER*(*) NAME, INTEGER FLAGS
      external SCR_START_OUTPUT
!     (VALID, IERROR) INTEGER VALID
      external SCR_COMPLETE_OUTPUT

!     restart
!     (FLAG, NAME, IERROR) INTEGER FLAG, CHARACTER*(*) NAME
      external SCR_HAVE_RESTART
!     (NAME, IERROR) CHARACTER*(*) NAME
      external SCR_START_RESTART
!     (VALID, IERROR) INTEGER VALID
      external SCR_COMPLETE_RESTART

!     restart on another number of processes
!     (RANKS, IERROR) INTEGER RANKS
      external SCR_RESTART_RANKS
!     (N, IERROR) INTEGER N
      external SCR_RESTART_FILES
!     (I, FILE, RANK, IERROR) INTEGER I, RANK, CHARACTER*(*) FILE
      external SCR_RESTART_FILE

!     the rest
!     (FLAG, IERROR) INTEGER FLAG
      external SCR_SHOULD_EXIT
!     (NAME, IERROR) CHARACTER*(*) NAME
      external SCR_CURRENT
!     (NAME, IERROR) CHARACTER*(*) NAME
      external SCR_DELETE
!     (NAME, IERROR) CHARACTER*(*) NAME
      external SCR_DROP
!     (VERSION, IERROR) CHARACTER*(*) VERSION
      external SCR_GET_VERSION
!     (TEXT, IERROR) CHARACTER*(*) TEXT; IERROR is that of the last call
      external SCR_LAST_ERROR
