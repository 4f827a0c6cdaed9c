! SPDX-License-Identifier: BSD-3-Clause
! consumer.c over the module scr.
program consumer
    use mpi_f08
    use scr
    implicit none
    character(len=20) :: version
    integer :: rc
    if (command_argument_count() == 0) then
        call scr_get_version(version)
        print '(a)', trim(version)
        stop
    end if
    call MPI_Init()
    call scr_init(rc)
    if (rc == SCR_SUCCESS) call scr_finalize(rc)
    call MPI_Finalize()
    if (rc /= SCR_SUCCESS) stop 1
end program consumer
