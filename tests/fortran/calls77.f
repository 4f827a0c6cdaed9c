! SPDX-License-Identifier: BSD-3-Clause
! Every call of the classic interface, used well and used wrong, in the
! Fortran of 1977: fixed form, implicit interfaces, text in variables of
! fixed length. Run by calls.sh; at the end rank 0 prints how many lines
! of errors SCR must have printed.
      program calls
      implicit none
      include 'mpif.h'
      include 'scrf.h'
      integer ierr, bad, lines, all, ranks, rank
      common /counts/ bad, lines, rank
      character*8 shortv
      character*64 longv

      bad = 0
      lines = 0
      rank = 0
      call SCR_GET_VERSION(longv, ierr)
      call expect('version', ierr, SCR_SUCCESS)
      if (longv(2:2) .ne. '.') call wrong('version')
      if (longv(32:64) .ne. ' ') call wrong('version is not padded')

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      call SCR_GET_VERSION(shortv(1:3), ierr)
      call fails('version into 3 characters', ierr, 18, ranks)
      if (shortv(1:3) .ne. ' ') call wrong('a part of the version')

      call before
      call output
      call manage
      call after

      call MPI_ALLREDUCE(bad, all, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a,i4)', 'lines of errors:', lines
      if (rank .eq. 0) print '(a,i4)', 'failed:', all
      call MPI_FINALIZE(ierr)
      if (all .ne. 0) stop 1
      end

!     --- checks ---

      subroutine wrong(what)
      implicit none
      character*(*) what
      integer bad, lines, rank
      common /counts/ bad, lines, rank
      bad = bad + 1
      print '(a,i2,2a)', 'FAIL: rank ', rank, ': ', what
      end

      subroutine expect(what, got, want)
      implicit none
      character*(*) what
      integer got, want
      character*80 text
      if (got .eq. want) return
      write (text, '(a,i5,a,i3)') what, got, ', not', want
      call wrong(text)
      end

!     An error that must be told in n lines, of all ranks together.
      subroutine fails(what, got, want, n)
      implicit none
      character*(*) what
      integer got, want, n
      integer bad, lines, rank
      common /counts/ bad, lines, rank
      call expect(what, got, want)
      lines = lines + n
      end

!     --- before SCR_INIT, and SCR_INIT ---

      subroutine before
      implicit none
      include 'mpif.h'
      include 'scrf.h'
      integer ierr, flag, n, ranks
      character*20 val
      integer bad, lines, rank
      common /counts/ bad, lines, rank

      call SCR_RESTART_RANKS(ranks, ierr)
      call fails('ranks before init', ierr, 9, 4)
      call SCR_FINALIZE(ierr)
      call fails('finalize before init', ierr, 9, 1)
      val = 'stale'
      call SCR_ROUTE_FILE('x', val, ierr)
      call expect('route before init', ierr, SCR_SUCCESS)
      if (val .ne. 'x') call wrong('a stale path')
      flag = 7
      call SCR_NEED_CHECKPOINT(flag, ierr)
      call fails('need before init', ierr, 9, 1)
      call expect('flag', flag, 0)

      val = 'stale'
      call SCR_CONFIG('SCR_CACHE_SIZE=3', val, ierr)
      call expect('config sets', ierr, SCR_SUCCESS)
      if (val .ne. ' ') call wrong('a setting has no value')
      call SCR_CONFIG('SCR_CACHE_SIZE   ', val, ierr)
      call expect('config asks', ierr, SCR_SUCCESS)
      if (val .ne. '3') call wrong('value of SCR_CACHE_SIZE')
      call SCR_CONFIG('SCR_DEBUG=', val, ierr)
      call expect('config takes back', ierr, SCR_SUCCESS)
      call SCR_CONFIG('CKPT=0 TYPE=PARTNER', val, ierr)
      call expect('config of a descriptor', ierr, SCR_SUCCESS)
      n = 20
      if (rank .eq. 1) n = 6
      call SCR_CONFIG('CKPT=0 TYPE', val(1:n), ierr)
      call fails('value too long on one rank', ierr, 18, 1)
      if (val(1:n) .ne. ' ') call wrong('a part of a value')
      call SCR_CONFIG('CKPT=0 TYPE', val(1:7), ierr)
      call expect('value that just fits', ierr, SCR_SUCCESS)
      if (val(1:7) .ne. 'PARTNER') call wrong('value that just fits')
      call SCR_CONFIG(' ', val, ierr)
      call fails('blank config', ierr, 8, 1)

      call SCR_CONFIG_COMM(MPI_COMM_WORLD, 'CKPT=0 TYPE', val, ierr)
      call expect('config of a communicator', ierr, SCR_SUCCESS)
      if (val .ne. 'PARTNER') call wrong('value of a communicator')
      call SCR_INIT_COMM(MPI_COMM_NULL, ierr)
      call fails('init with no communicator', ierr, 8, 4)
      call SCR_INIT_COMM(MPI_COMM_WORLD, ierr)
      call expect('init', ierr, SCR_SUCCESS)
      call SCR_INIT(ierr)
      call fails('init twice', ierr, 9, 1)
      call SCR_CONFIG('SCR_FLUSH=3', val, ierr)
      call fails('config after init', ierr, 9, 1)
      flag = 7
      val = 'stale'
      call SCR_HAVE_RESTART(flag, val, ierr)
      call expect('have restart', ierr, SCR_SUCCESS)
      call expect('nothing to restart from', flag, 0)
      if (val .ne. ' ') call wrong('name of nothing')
      end

!     --- checkpoints ---

!     One checkpoint, a file of three numbers of each rank.
      subroutine ckpt(name, flags, ierr)
      implicit none
      include 'scrf.h'
      character*(*) name
      integer flags, ierr
      character*(SCR_MAX_FILENAME) path
      character*80 file
      integer valid
      integer bad, lines, rank
      common /counts/ bad, lines, rank
      call SCR_START_OUTPUT(name, flags, ierr)
      call expect('start', ierr, SCR_SUCCESS)
      write (file, '(2a,i1)') name, '/rank.', rank
      call SCR_ROUTE_FILE(file, path, ierr)
      call expect('route', ierr, SCR_SUCCESS)
      open (10, file=path, form='UNFORMATTED', status='NEW', err=10)
      write (10) rank, 3 * rank, len(name)
      close (10)
      valid = 1
      call SCR_COMPLETE_OUTPUT(valid, ierr)
      return
 10   call wrong('open a routed file')
      call SCR_COMPLETE_OUTPUT(0, ierr)
      end

      subroutine output
      implicit none
      include 'scrf.h'
      integer ierr, flag
      character*2000 huge
      character*8 name
      character*12 path
      integer bad, lines, rank
      common /counts/ bad, lines, rank

      huge = ' '
      call filled(huge)
      call SCR_START_OUTPUT(huge, SCR_FLAG_CHECKPOINT, ierr)
      call fails('long name', ierr, 18, 1)
      write (name, '(i1)') rank
      call SCR_START_OUTPUT(name, SCR_FLAG_CHECKPOINT, ierr)
      call fails('names differ', ierr, 12, 1)
      call SCR_COMPLETE_OUTPUT(1, ierr)
      call fails('complete without start', ierr, 9, 0)

      call SCR_START_OUTPUT('short', SCR_FLAG_CHECKPOINT, ierr)
      call expect('start', ierr, SCR_SUCCESS)
      path = 'stale'
      call SCR_ROUTE_FILE('x', path, ierr)
      call fails('path too long', ierr, 18, 4)
      if (path .ne. ' ') call wrong('a part of a path')
      call SCR_ROUTE_FILE(' ', path, ierr)
      call fails('blank file', ierr, 18, 4)
      path = 'stale'
      call SCR_ROUTE_FILE(huge, path, ierr)
      call fails('file of a huge name', ierr, 18, 4)
      if (path .ne. ' ') call wrong('a path of a huge name')
      call SCR_ROUTE_FILE(huge(1:0), path, ierr)
      call fails('file without characters', ierr, 18, 4)
      call SCR_ROUTE_FILE('x', path(1:0), ierr)
      call fails('path into nothing', ierr, 18, 4)
      call SCR_START_OUTPUT('b', SCR_FLAG_CHECKPOINT, ierr)
      call fails('start twice', ierr, 9, 1)
      call SCR_COMPLETE_OUTPUT(1, ierr)
      call fails('without the file', ierr, 18, 1)

      call SCR_START_CHECKPOINT(ierr)
      call expect('start checkpoint', ierr, SCR_SUCCESS)
      flag = 1
      if (rank .eq. 2) flag = 0
      call SCR_COMPLETE_CHECKPOINT(flag, ierr)
      call fails('not valid on one rank', ierr, 20, 1)

      flag = 7
      call SCR_NEED_CHECKPOINT(flag, ierr)
      call expect('need', ierr, SCR_SUCCESS)
      if (flag .ne. 0 .and. flag .ne. 1) call wrong('need')
      flag = 7
      call SCR_SHOULD_EXIT(flag, ierr)
      call expect('should exit', ierr, SCR_SUCCESS)
      call expect('stop', flag, 0)

      call ckpt('first', SCR_FLAG_CHECKPOINT + SCR_FLAG_OUTPUT, ierr)
      call expect('first', ierr, SCR_SUCCESS)
      call ckpt('second', SCR_FLAG_CHECKPOINT, ierr)
      call expect('second', ierr, SCR_SUCCESS)
      end

      subroutine filled(text)
      implicit none
      character*(*) text
      integer i
      do 10 i = 1, len(text)
 10   text(i:i) = 'x'
      end

!     --- restart and datasets by name ---

      subroutine manage
      implicit none
      include 'scrf.h'
      integer ierr, flag, n, a, b, c, i
      character*(SCR_MAX_FILENAME) path
      character*9 name
      character*2000 huge
      double precision bytes, when
      integer bad, lines, rank
      common /counts/ bad, lines, rank

      n = 9
      if (rank .eq. 3) n = 5
      flag = 7
      call SCR_HAVE_RESTART(flag, name(1:n), ierr)
      call fails('name too long on one rank', ierr, 18, 1)
      call expect('then there is none', flag, 0)
      if (name(1:n) .ne. ' ') call wrong('a part of a name')
      call SCR_LAST_ERROR(path, ierr)
      call expect('last error', ierr, 18)
      if (path(1:16) .ne. 'SCR_Have_restart') call wrong('its text')
      call SCR_HAVE_RESTART(flag, name, ierr)
      call expect('have restart', ierr, SCR_SUCCESS)
      call expect('there is one', flag, 1)
      call SCR_LAST_ERROR(path, ierr)
      call expect('no error', ierr, SCR_SUCCESS)
      if (path .ne. ' ') call wrong('text of no error')
      if (name .ne. 'second') call wrong('name to restart from')

      call SCR_START_RESTART(name(1:0), ierr)
      call fails('name into nothing', ierr, 18, 1)
      call SCR_START_RESTART(name(1:n), ierr)
      call fails('name too long on one rank', ierr, 18, 1)
      call SCR_START_RESTART(name(1:6), ierr)
      call expect('start restart', ierr, SCR_SUCCESS)
      if (name(1:6) .ne. 'second') call wrong('name that just fits')
      call SCR_DATASETS(n, ierr)
      call expect('datasets', ierr, SCR_SUCCESS)
      call SCR_DATASET(0, path, i, n, bytes, when, ierr)
      call expect('dataset', ierr, SCR_SUCCESS)
      if (path .ne. name) call wrong('name of a dataset')
      if (bytes .le. 0 .or. when .lt. 1.6d9) call wrong('bytes, when')
      if (mod(n, 2) .ne. SCR_FLAG_CHECKPOINT) call wrong('its flags')
      call SCR_DATASET(-1, path, i, n, bytes, when, ierr)
      call fails('dataset -1', ierr, 22, 4)
      call SCR_RESTART_RANKS(n, ierr)
      call expect('restart ranks', ierr, SCR_SUCCESS)
      call expect('ranks', n, 4)
      call SCR_RESTART_FILES(n, ierr)
      call expect('restart files', ierr, SCR_SUCCESS)
      call expect('files', n, 4)
      call SCR_RESTART_FILE(rank, path, i, ierr)
      call expect('restart file', ierr, SCR_SUCCESS)
      call expect('who wrote it', i, rank)
      call SCR_RESTART_FILE(rank, name, i, ierr)
      call fails('path into a name', ierr, 18, 4)
      call SCR_RESTART_FILE(n, path, i, ierr)
      call fails('file that is not there', ierr, 22, 4)
      if (path .ne. ' ') call wrong('path of nothing')

      call SCR_RESTART_FILE(rank, path, i, ierr)
      call SCR_ROUTE_FILE(path, path, ierr)
      call expect('route onto itself', ierr, SCR_SUCCESS)
      open (10, file=path, form='UNFORMATTED', status='OLD', err=10)
      read (10) a, b, c
      close (10)
      call expect('first number', a, rank)
      call expect('second number', b, 3 * rank)
      call expect('third number', c, 6)
      goto 20
 10   call wrong('open a file to restart from')
 20   call SCR_COMPLETE_RESTART(1, ierr)
      call expect('complete restart', ierr, SCR_SUCCESS)
      call SCR_COMPLETE_RESTART(1, ierr)
      call fails('complete without start', ierr, 9, 1)

      call filled(huge)
      call SCR_CURRENT('nobody', ierr)
      call expect('current nobody', ierr, SCR_SUCCESS)
      call SCR_CURRENT(' ', ierr)
      call fails('current blank', ierr, 18, 1)
      call SCR_CURRENT(huge(1:SCR_MAX_FILENAME), ierr)
      call fails('current a long name', ierr, 18, 1)
      call SCR_DROP(huge, ierr)
      call fails('drop a long name', ierr, 18, 1)
      call SCR_DROP(huge(1:0), ierr)
      call fails('drop without characters', ierr, 18, 1)
      call SCR_DELETE(huge, ierr)
      call fails('delete a long name', ierr, 18, 1)
      call SCR_CURRENT('first  ', ierr)
      call expect('current', ierr, SCR_SUCCESS)
      call SCR_DROP('first', ierr)
      call expect('drop', ierr, SCR_SUCCESS)
      call SCR_DROP('first', ierr)
      call expect('drop twice', ierr, SCR_SUCCESS)
      call ckpt('third', SCR_FLAG_OUTPUT, ierr)
      call expect('third', ierr, SCR_SUCCESS)
      call SCR_DELETE('third', ierr)
      call expect('delete', ierr, SCR_SUCCESS)
      call SCR_DELETE('third', ierr)
      call expect('delete twice', ierr, SCR_SUCCESS)
      end

      subroutine after
      implicit none
      include 'scrf.h'
      integer ierr, flag
      character*20 val
      call SCR_FINALIZE(ierr)
      call expect('finalize', ierr, SCR_SUCCESS)
      call SCR_CONFIG('SCR_FLUSH', val, ierr)
      call expect('config after finalize', ierr, SCR_SUCCESS)
      if (val .ne. '0') call wrong('a value of the environment')
      call SCR_HAVE_RESTART(flag, val, ierr)
      call fails('have restart after finalize', ierr, 9, 1)
      end
