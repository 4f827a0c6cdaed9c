! SPDX-License-Identifier: BSD-3-Clause
! A vibrating string, in the Fortran of 1977 over the classic interface,
! as programs written for older versions of SCR are. Every rank has a
! piece of the string; cells depend on the last two steps only, so the
! result has the same bits after any number of restarts. For scr drill.
      program solver
      implicit none
      include 'mpif.h'
      include 'scrf.h'
      integer size, steps, every
      parameter (size = 2000, steps = 300, every = 30)
      double precision u(0:size+1), old(0:size+1)
      integer rank, ranks, step, stop, ierr
      common /string/ u, old
      common /world/ rank, ranks

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call SCR_INIT(ierr)
      if (ierr .ne. SCR_SUCCESS) call MPI_ABORT(MPI_COMM_WORLD, 2, ierr)

      call restart(step)
      stop = 0
 10   if (step .ge. steps .or. stop .ne. 0) goto 20
         call move
         step = step + 1
         if (mod(step, every) .eq. 0 .and. step .lt. steps) then
            call ckpt(step)
            call SCR_SHOULD_EXIT(stop, ierr)
         end if
      goto 10

 20   if (step .eq. steps) call result
      call SCR_FINALIZE(ierr)
      call MPI_FINALIZE(ierr)
      end

      subroutine pluck
      implicit none
      integer size, rank, ranks, i
      parameter (size = 2000)
      double precision u(0:size+1), old(0:size+1)
      common /string/ u, old
      common /world/ rank, ranks
      do 10 i = 0, size + 1
         u(i) = dble(mod(rank * size + i, 97)) / 97.0d0
         old(i) = u(i)
 10   continue
      end

!     One step; the ends of the string are fixed.
      subroutine move
      implicit none
      include 'mpif.h'
      integer size, rank, ranks, up, down, i, ierr
      integer status(MPI_STATUS_SIZE)
      parameter (size = 2000)
      double precision u(0:size+1), old(0:size+1), was, left
      common /string/ u, old
      common /world/ rank, ranks
      up = rank + 1
      if (up .eq. ranks) up = MPI_PROC_NULL
      down = rank - 1
      if (down .lt. 0) down = MPI_PROC_NULL
      call MPI_SENDRECV(u(size), 1, MPI_DOUBLE_PRECISION, up, 0,
     &                  u(0), 1, MPI_DOUBLE_PRECISION, down, 0,
     &                  MPI_COMM_WORLD, status, ierr)
      call MPI_SENDRECV(u(1), 1, MPI_DOUBLE_PRECISION, down, 1,
     &                  u(size+1), 1, MPI_DOUBLE_PRECISION, up, 1,
     &                  MPI_COMM_WORLD, status, ierr)
      left = u(0)
      do 10 i = 1, size
         was = u(i)
         u(i) = 2.0d0 * was - old(i)
     &          + 0.25d0 * (left - 2.0d0 * was + u(i+1))
         old(i) = was
         left = was
 10   continue
      end

      subroutine ckpt(step)
      implicit none
      include 'scrf.h'
      integer size, step, rank, ranks, valid, ierr
      parameter (size = 2000)
      double precision u(0:size+1), old(0:size+1)
      character*40 name
      character*60 file
      character*(SCR_MAX_FILENAME) path
      common /string/ u, old
      common /world/ rank, ranks
      write (name, '(a,i6.6)') 'string.', step
      write (file, '(a,i4.4)') 'string/piece.', rank
      call SCR_START_OUTPUT(name, SCR_FLAG_CHECKPOINT, ierr)
      if (ierr .ne. SCR_SUCCESS) return
      valid = 0
      call SCR_ROUTE_FILE(file, path, ierr)
      if (ierr .ne. SCR_SUCCESS) goto 20
      open (11, file=path, form='UNFORMATTED', err=20)
      write (11, err=10) step, u, old
      valid = 1
 10   close (11)
 20   call SCR_COMPLETE_OUTPUT(valid, ierr)
      if (ierr .ne. SCR_SUCCESS) print *, 'no checkpoint', step
      end

      subroutine restart(step)
      implicit none
      include 'scrf.h'
      integer size, step, rank, ranks, have, valid, ierr
      parameter (size = 2000)
      double precision u(0:size+1), old(0:size+1)
      character*(SCR_MAX_FILENAME) name, path
      character*60 file
      common /string/ u, old
      common /world/ rank, ranks
 10   call SCR_HAVE_RESTART(have, name, ierr)
      if (ierr .ne. SCR_SUCCESS .or. have .eq. 0) goto 40
      call SCR_START_RESTART(name, ierr)
      if (ierr .ne. SCR_SUCCESS) goto 40
      valid = 0
      write (file, '(a,i4.4)') 'piece.', rank
      call SCR_ROUTE_FILE(file, path, ierr)
      if (ierr .ne. SCR_SUCCESS) goto 30
      open (11, file=path, form='UNFORMATTED', status='OLD', err=30)
      read (11, err=20, end=20) step, u, old
      valid = 1
 20   close (11)
 30   call SCR_COMPLETE_RESTART(valid, ierr)
      if (ierr .ne. SCR_SUCCESS) goto 10
      if (rank .eq. 0) print *, 'restarted from ', name(1:13), step
      return
 40   step = 0
      call pluck
      end

!     A record a rank, in the file field.bin.
      subroutine result
      implicit none
      include 'mpif.h'
      integer size, rank, ranks, i, ierr
      parameter (size = 2000)
      double precision u(0:size+1), old(0:size+1)
      common /string/ u, old
      common /world/ rank, ranks
      do 10 i = 0, ranks - 1
         if (i .eq. rank) then
            open (11, file='field.bin', form='UNFORMATTED',
     &            access='DIRECT', recl=8*size)
            write (11, rec=rank+1) (u(ierr), ierr = 1, size)
            close (11)
         end if
         call MPI_BARRIER(MPI_COMM_WORLD, ierr)
 10   continue
      end
