! SPDX-License-Identifier: BSD-3-Clause
! The same in older Fortran, with the classic interface.
      program counter
      implicit none
      include 'mpif.h'
      include 'scrf.h'
      integer rank, step, flag, ierr

      step = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call SCR_INIT(ierr)
      if (ierr .ne. SCR_SUCCESS) then
          call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      call restart(rank, step)
      if (rank .eq. 0) print '(a,i0)', 'starting at step ', step
      flag = 0
10    if (step .lt. 100 .and. flag .eq. 0) then
          step = step + 10
          call checkpoint(rank, step)
          call SCR_SHOULD_EXIT(flag, ierr)
          goto 10
      end if
      call SCR_FINALIZE(ierr)
      call MPI_FINALIZE(ierr)
      end

      subroutine checkpoint(rank, step)
      implicit none
      include 'scrf.h'
      integer rank, step, valid, io, ierr
      character*(SCR_MAX_FILENAME) path
      character*40 set, name

      write (set, '(a,i0)') 'step.', step
      write (name, '(a,i0,a,i0)') 'step.', step, '/rank_', rank
      call SCR_START_OUTPUT(set, SCR_FLAG_CHECKPOINT, ierr)
      if (ierr .ne. SCR_SUCCESS) return
      call SCR_ROUTE_FILE(name, path, io)
      if (io .eq. 0) open (9, file=path, form='unformatted', iostat=io)
      if (io .eq. 0) write (9, iostat=io) step
      if (io .eq. 0) close (9, iostat=io)
      valid = 0
      if (io .eq. 0) valid = 1
      call SCR_COMPLETE_OUTPUT(valid, ierr)
      end

      subroutine restart(rank, step)
      implicit none
      include 'scrf.h'
      integer rank, step, have, valid, io, ierr
      character*(SCR_MAX_FILENAME) set, name, path

20    call SCR_HAVE_RESTART(have, set, ierr)
      if (have .eq. 0) return
      call SCR_START_RESTART(set, ierr)
      write (name, '(a,i0)') set(1:index(set, ' ') - 1)//'/rank_', rank
      call SCR_ROUTE_FILE(name, path, io)
      if (io .eq. 0) open (9, file=path, form='unformatted', iostat=io)
      if (io .eq. 0) read (9, iostat=io) step
      if (io .eq. 0) close (9, iostat=io)
      valid = 0
      if (io .eq. 0) valid = 1
      call SCR_COMPLETE_RESTART(valid, ierr)
      if (ierr .eq. SCR_SUCCESS) return
      step = 0
      goto 20
      end
