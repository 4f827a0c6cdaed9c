! SPDX-License-Identifier: BSD-3-Clause
! A routed file that all processes open together by MPI, by each of its Fortran interfaces: it is
! refused on all of them, not waited in for ever. Run by calls.sh.
subroutine open_by_f08(path, rc, is_null)
    use mpi_f08
    implicit none
    character(len=*), intent(in) :: path
    integer, intent(out) :: rc
    logical, intent(out) :: is_null
    type(MPI_File) :: file
    integer :: code
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    call MPI_Error_class(code, rc)
    is_null = file == MPI_FILE_NULL
end subroutine

subroutine open_by_mpi(path, rc, is_null)
    use mpi
    implicit none
    character(len=*), intent(in) :: path
    integer, intent(out) :: rc
    logical, intent(out) :: is_null
    integer :: file, code, ignored
    call MPI_FILE_OPEN(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    call MPI_ERROR_CLASS(code, rc, ignored)
    is_null = file == MPI_FILE_NULL
end subroutine

program openfile
    use mpi_f08
    use scr
    implicit none
    integer, parameter :: e_exist = 5
    integer :: rank, rc, given
    integer :: bad = 0, lines = 0, all_bad
    external :: open_by_f08, open_by_mpi

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, given)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call scr_init(rc)
    call check(rc == SCR_SUCCESS)
    call be_refused(open_by_f08)
    call be_refused(open_by_mpi)
    call scr_finalize(rc)
    call check(rc == SCR_SUCCESS)
    call MPI_Allreduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a,i0)', 'lines of errors: ', lines, 'failed: ', all_bad
    call MPI_Finalize()
    if (all_bad /= 0) stop 1

contains

    subroutine check(good)
        logical, intent(in) :: good
        if (.not. good) bad = bad + 1
    end subroutine

    subroutine be_refused(open_it)
        external :: open_it
        character(len=SCR_MAX_FILENAME) :: path
        integer :: class
        logical :: is_null
        call scr_start_output('all', SCR_FLAG_CHECKPOINT, rc)
        call check(rc == SCR_SUCCESS)
        call scr_route_file('all.h5', path, rc)
        call check(rc == SCR_SUCCESS)
        call open_it(path, class, is_null)
        call check(class == MPI_ERR_NOT_SAME)
        call check(is_null)
        call scr_complete_output(.true., rc)
        call check(rc == e_exist)
        lines = lines + 2
    end subroutine
end program
