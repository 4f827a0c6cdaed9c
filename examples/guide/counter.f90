! SPDX-License-Identifier: BSD-3-Clause
! Counts to 100, ten steps between checkpoints, and continues where it was stopped.
program counter
    use mpi_f08
    use scr
    implicit none
    integer :: rank, rc, step = 0
    logical :: stop_now = .false.

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call scr_init(rc)
    if (rc /= SCR_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1) ! SCR has said why
    call restart()
    if (rank == 0) print '(a,i0)', 'starting at step ', step
    do while (step < 100 .and. .not. stop_now)
        step = step + 10 ! compute
        call checkpoint()
        call scr_should_exit(stop_now)
    end do
    call scr_finalize()
    call MPI_Finalize()

contains

    subroutine checkpoint()
        character(len=SCR_MAX_FILENAME) :: path
        character(len=32) :: set
        integer :: unit, io, rc

        write (set, '("step.",i0)') step
        call scr_start_output(set, SCR_FLAG_CHECKPOINT, rc)
        if (rc /= SCR_SUCCESS) return ! printed on stderr; older ones are kept
        call scr_route_file(file_in(set), path, io)
        if (io == 0) open (newunit=unit, file=path, form='unformatted', &
            status='replace', iostat=io)
        if (io == 0) write (unit, iostat=io) step
        if (io == 0) close (unit, iostat=io)
        call scr_complete_output(io == 0)
    end subroutine

    subroutine restart()
        character(len=SCR_MAX_FILENAME) :: set, path
        integer :: unit, io, rc
        logical :: have

        do
            call scr_have_restart(have, set)
            if (.not. have) return
            call scr_start_restart(set)
            call scr_route_file(file_in(set), path, io)
            if (io == 0) open (newunit=unit, file=path, form='unformatted', &
                status='old', iostat=io)
            if (io == 0) read (unit, iostat=io) step
            if (io == 0) close (unit, iostat=io)
            call scr_complete_restart(io == 0, rc)
            if (rc == SCR_SUCCESS) return
            step = 0 ! another process could not read: the next older one
        end do
    end subroutine

    ! What this process' file is called below the prefix directory.
    function file_in(set) result(name)
        character(len=*), intent(in) :: set
        character(len=SCR_MAX_FILENAME) :: name

        write (name, '(a,"/rank_",i0)') trim(set), rank
    end function
end program
