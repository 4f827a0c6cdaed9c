! SPDX-License-Identifier: BSD-3-Clause
! Calls with and without text, for the compilers that add two underscores
! to a name that has one (-fsecond-underscore). Called by names.c.
      subroutine second(ierr)
      implicit none
      include 'scrf.h'
      integer ierr
      character*20 val, version
      call SCR_GET_VERSION(version, ierr)
      if (ierr .ne. SCR_SUCCESS .or. version .eq. ' ') goto 10
      call SCR_CONFIG('SCR_CACHE_SIZE=5', val, ierr)
      if (ierr .ne. SCR_SUCCESS .or. val .ne. ' ') goto 10
      call SCR_CONFIG('SCR_CACHE_SIZE', val, ierr)
      if (ierr .ne. SCR_SUCCESS .or. val .ne. '5') goto 10
      return
 10   ierr = SCR_FAILURE
      end
