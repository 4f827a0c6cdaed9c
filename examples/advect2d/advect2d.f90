! SPDX-License-Identifier: BSD-3-Clause
! A cloud carried over a periodic plane, with checkpoints and output through SCR (README.md).
!
!     mpirun -n 4 advect2d [run.nml]
!
! The plane is cut into strips of columns, one a rank. Every cell of the next step depends on the
! last step only, so the result has the same bits on any number of ranks, and however often the run
! was stopped and restarted.
program advect2d
    use, intrinsic :: iso_fortran_env, only: error_unit, real64
    use mpi_f08
    use scr
    implicit none

    integer, parameter :: version = 1 ! of the state files
    real(real64), parameter :: flow_x = 0.375_real64, flow_y = 0.25_real64 ! cells a step

    ! The settings, read from the namelist /run/.
    integer :: steps = 400
    integer :: cells = 192           ! rows and columns of the plane
    integer :: every = 40            ! steps between checkpoints; 0: scr_need_checkpoint decides
    character(len=200) :: result = 'field.bin'

    integer :: rank, ranks, step, rc
    integer :: first, last                   ! columns of this rank, counted from 1
    real(real64), allocatable :: density(:, :) ! (cells, first - 1 : last): a column more on the left
    logical :: with_scr, stop_now = .false.

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call read_settings()
    call scr_config('SCR_RESTART_ANY_RANKS=1')
    call scr_init(rc)
    with_scr = rc == SCR_SUCCESS ! else the program runs without checkpoints

    first = begin_of(rank)
    last = begin_of(rank + 1) - 1
    allocate (density(cells, first - 1:last))
    call restart(step)
    do while (step < steps .and. .not. stop_now)
        call advance()
        step = step + 1
        if (is_due()) then
            call checkpoint()
            call scr_should_exit(stop_now, rc)
        end if
    end do
    if (step == steps) call write_result()

    if (with_scr) call scr_finalize()
    if (rank == 0) print '(a,i0)', 'advect2d: ended at step ', step
    call MPI_Finalize()

contains

    ! --- the plane ---

    ! First column of a rank's strip.
    pure integer function begin_of(r)
        integer, intent(in) :: r
        begin_of = 1 + r * (cells / ranks) + min(r, mod(cells, ranks))
    end function

    subroutine start_anew()
        integer :: i, j
        real(real64) :: x, y
        do j = first, last
            do i = 1, cells
                x = (j - 0.5_real64) / cells - 0.5_real64
                y = (i - 0.5_real64) / cells - 0.5_real64
                density(i, j) = max(0.0_real64, 1 - 16 * (x * x + y * y))
            end do
        end do
    end subroutine

    subroutine advance()
        integer :: left, right, j
        real(real64) :: old(cells), before(cells)
        left = modulo(rank - 1, ranks)
        right = modulo(rank + 1, ranks)
        call MPI_Sendrecv(density(:, last), cells, MPI_DOUBLE_PRECISION, right, 0, &
                          density(:, first - 1), cells, MPI_DOUBLE_PRECISION, left, 0, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        before = density(:, first - 1)
        do j = first, last
            old = density(:, j)
            density(:, j) = old - flow_x * (old - before) - flow_y * (old - cshift(old, -1))
            before = old
        end do
    end subroutine

    ! --- checkpoints ---

    logical function is_due() result(due)
        if (step == steps .or. .not. with_scr) then
            due = .false.
        else if (every > 0) then
            due = mod(step, every) == 0
        else
            call scr_need_checkpoint(due, rc)
        end if
    end function

    subroutine checkpoint()
        character(len=SCR_MAX_FILENAME) :: path
        character(len=64) :: name, file
        logical :: ok
        write (name, '("advect2d.step.",i0)') step
        write (file, '(a,"/columns.",i0)') trim(name), rank
        call scr_start_output(name, SCR_FLAG_CHECKPOINT, rc)
        if (rc == SCR_SUCCESS) then
            call scr_route_file(file, path, rc)
            ok = rc == SCR_SUCCESS
            if (ok) ok = saved(path)
            call scr_complete_output(ok, rc)
        end if
        if (rc /= SCR_SUCCESS .and. rank == 0) call complain('going on without checkpoint '//trim(name))
    end subroutine

    logical function saved(path)
        character(len=*), intent(in) :: path
        integer :: unit, io, io2
        open (newunit=unit, file=path, form='unformatted', status='replace', action='write', iostat=io)
        saved = io == 0
        if (.not. saved) return
        write (unit, iostat=io) version, step, cells, first, last
        if (io == 0) write (unit, iostat=io) density(:, first:last)
        close (unit, iostat=io2)
        saved = io == 0 .and. io2 == 0
    end function

    ! --- restart ---

    ! Tries the checkpoints SCR offers, newest first.
    subroutine restart(step)
        integer, intent(out) :: step
        character(len=SCR_MAX_FILENAME) :: name
        logical :: have
        do while (with_scr)
            call scr_have_restart(have, name, rc)
            if (rc /= SCR_SUCCESS .or. .not. have) exit
            call scr_start_restart(name, rc)
            if (rc /= SCR_SUCCESS) exit
            call scr_complete_restart(loaded(step), rc)
            if (rc == SCR_SUCCESS) then
                if (rank == 0) print '(3a,i0)', 'advect2d: restarted from ', trim(name), ' at step ', step
                return
            end if
        end do
        step = 0
        call start_anew()
        if (rank == 0) print '(a)', 'advect2d: starting from step 0'
    end subroutine

    ! A rank reads its own file; if a different number of ranks wrote the checkpoint, all files that have
    ! columns of its strip. The columns found must be as many as the strip has.
    logical function loaded(step)
        integer, intent(out) :: step
        character(len=SCR_MAX_FILENAME) :: file
        integer :: writers, files, i, found
        character(len=32) :: own
        step = -1
        found = 0
        call scr_restart_ranks(writers, rc)
        loaded = rc == SCR_SUCCESS
        if (writers == ranks) then
            write (own, '("columns.",i0)') rank
            call load(own, step, found, loaded)
        else
            call scr_restart_files(files, rc)
            loaded = loaded .and. rc == SCR_SUCCESS
            do i = 0, files - 1
                call scr_restart_file(i, file, ierr=rc)
                loaded = loaded .and. rc == SCR_SUCCESS
                if (loaded) call load(file, step, found, loaded)
            end do
        end if
        loaded = loaded .and. found == last - first + 1
        loaded = is_same_everywhere(step) .and. loaded
    end function

    ! Adds the columns of a file that belong to this strip.
    subroutine load(file, step, found, ok)
        character(len=*), intent(in) :: file
        integer, intent(inout) :: step, found
        logical, intent(inout) :: ok
        character(len=SCR_MAX_FILENAME) :: path
        real(real64), allocatable :: columns(:, :)
        integer :: unit, io, head(5), from, to
        call scr_route_file(file, path, rc)
        ok = ok .and. rc == SCR_SUCCESS
        if (.not. ok) return
        open (newunit=unit, file=path, form='unformatted', status='old', action='read', iostat=io)
        ok = io == 0
        if (.not. ok) return
        read (unit, iostat=io) head
        ok = io == 0 .and. head(1) == version .and. head(3) == cells .and. (step < 0 .or. head(2) == step)
        from = max(first, head(4))
        to = min(last, head(5))
        if (ok .and. from <= to) then
            allocate (columns(cells, head(4):head(5)))
            read (unit, iostat=io) columns
            ok = io == 0
            density(:, from:to) = columns(:, from:to)
            found = found + to - from + 1
        end if
        close (unit)
        if (ok) step = head(2)
    end subroutine

    logical function is_same_everywhere(number)
        integer, intent(in) :: number
        integer :: low, high
        call MPI_Allreduce(number, low, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
        call MPI_Allreduce(number, high, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
        is_same_everywhere = low == high
    end function

    ! --- the result ---

    ! Output, not a checkpoint: SCR brings it to the prefix directory. Rank 0 writes the whole plane.
    subroutine write_result()
        character(len=SCR_MAX_FILENAME) :: path
        real(real64), allocatable :: plane(:, :)
        logical :: ok
        integer :: r
        allocate (plane(cells, merge(cells, 0, rank == 0)))
        call MPI_Gatherv(density(:, first:last), size(density(:, first:last)), MPI_DOUBLE_PRECISION, plane, &
                         [(cells * (begin_of(r + 1) - begin_of(r)), r=0, ranks - 1)], &
                         [(cells * (begin_of(r) - 1), r=0, ranks - 1)], MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
        path = result
        rc = SCR_SUCCESS
        if (with_scr) call scr_start_output('advect2d.result', SCR_FLAG_OUTPUT, rc)
        if (rc /= SCR_SUCCESS) call give_up('cannot write '//trim(result))
        ok = .true.
        if (rank == 0) then
            if (with_scr) call scr_route_file(result, path, rc)
            ok = rc == SCR_SUCCESS
            if (ok) ok = stored(plane, path)
        end if
        if (with_scr) call scr_complete_output(ok, rc)
        if (rc /= SCR_SUCCESS .or. .not. ok) call give_up('cannot write '//trim(result))
    end subroutine

    logical function stored(plane, path)
        real(real64), intent(in) :: plane(:, :)
        character(len=*), intent(in) :: path
        integer :: unit, io, io2
        open (newunit=unit, file=path, form='unformatted', access='stream', status='replace', &
              action='write', iostat=io)
        stored = io == 0
        if (.not. stored) return
        write (unit, iostat=io) plane
        close (unit, iostat=io2)
        stored = io == 0 .and. io2 == 0
    end function

    ! --- settings and messages ---

    subroutine read_settings()
        namelist /run/ steps, cells, every, result
        character(len=1000) :: file
        integer :: unit, io
        if (command_argument_count() == 0) return
        call get_command_argument(1, file)
        open (newunit=unit, file=file, status='old', action='read', iostat=io)
        if (io == 0) read (unit, nml=run, iostat=io)
        if (io /= 0) call give_up('cannot read the namelist /run/ in '//trim(file))
        close (unit)
        if (cells < ranks) call give_up('fewer columns than ranks')
    end subroutine

    subroutine complain(text)
        character(len=*), intent(in) :: text
        write (error_unit, '(a,i0,2a)') 'advect2d: rank ', rank, ': ', text
        flush (error_unit) ! an abort may follow
    end subroutine

    subroutine give_up(text)
        character(len=*), intent(in) :: text
        call complain(text)
        call MPI_Abort(MPI_COMM_WORLD, 2)
    end subroutine
end program advect2d
