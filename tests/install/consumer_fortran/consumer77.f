! SPDX-License-Identifier: BSD-3-Clause
! consumer.c over the classic interface.
      program consum
      implicit none
      include 'mpif.h'
      include 'scrf.h'
      character*20 vers
      integer ierr
!     as older programs have it
      external SCR_INIT, SCR_FINALIZE
      if (iargc() .eq. 0) then
         call SCR_GET_VERSION(vers, ierr)
         print '(a)', vers(1:index(vers, ' ') - 1)
         stop
      end if
      call MPI_INIT(ierr)
      call SCR_INIT(ierr)
      if (ierr .ne. SCR_SUCCESS) stop 1
      call SCR_FINALIZE(ierr)
      if (ierr .ne. SCR_SUCCESS) stop 1
      call MPI_FINALIZE(ierr)
      end
