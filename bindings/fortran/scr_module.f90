! SPDX-License-Identifier: BSD-3-Clause
! SCR, the Scalable Checkpoint/Restart library: module for Fortran 2008.
!
!     use scr
!     logical :: have, stop_now
!     character(len=SCR_MAX_FILENAME) :: name, path
!     integer :: rc
!
!     call scr_init()
!     do
!         call scr_have_restart(have, name)
!         if (.not. have) exit
!         call scr_start_restart(name)
!         call scr_route_file('rank_3.ckpt', path)   ! then read file=path
!         call scr_complete_restart(ok, rc)
!         if (rc == SCR_SUCCESS) exit
!     end do
!
! The calls and their meaning are those of scr.h, and of the classic interface (scrf.h), whose
! statements compile unchanged when its include is replaced by this module:
!
!  - ierr, always the last argument, is optional. An error never ends the program, and a line on
!    stderr reports it, with or without ierr.
!  - flag and valid are logical, or integer with the values 1 and 0 of C.
!  - Text given ends at its last character that is not blank. Text returned is filled with blanks;
!    if it does not fit, the call fails with an error and returns blanks. SCR_MAX_FILENAME
!    characters are enough for any path and any name.
!  - name in scr_start_output and in the calls for restarts, val in scr_config and
!    scr_config_comm, rank in scr_restart_file, and all but i and name in scr_dataset may be left
!    out.
!  - comm is an integer handle; that of a type(MPI_Comm) of mpi_f08 is comm%MPI_VAL.
!
! SCR_Configf has no counterpart: write into a character variable and pass that to scr_config.
module scr
    use, intrinsic :: iso_c_binding, only: c_int, c_char, c_double, c_ptr, c_null_ptr
    implicit none
    private

    ! Error codes; the others are in scr_errors(7).
    integer, parameter, public :: SCR_SUCCESS = 0
    integer, parameter, public :: SCR_FAILURE = 1

    ! Characters of a path or of the name of a dataset.
    integer, parameter, public :: SCR_MAX_FILENAME = 1024

    ! Properties of a dataset, combined by +, each at most once, or by ior().
    integer, parameter, public :: SCR_FLAG_NONE = 0
    integer, parameter, public :: SCR_FLAG_CHECKPOINT = 1
    integer, parameter, public :: SCR_FLAG_OUTPUT = 2

    ! Of a dataset, by scr_dataset only.
    integer, parameter, public :: SCR_FLAG_IN_CACHE = 4
    integer, parameter, public :: SCR_FLAG_IN_PREFIX = 8
    integer, parameter, public :: SCR_FLAG_RESTARTABLE = 16

    public :: scr_init, scr_init_comm, scr_finalize, scr_config, scr_config_comm
    public :: scr_route_file
    public :: scr_need_checkpoint
    public :: scr_start_checkpoint, scr_complete_checkpoint
    public :: scr_start_output, scr_complete_output
    public :: scr_have_restart, scr_start_restart, scr_complete_restart
    public :: scr_restart_ranks, scr_restart_files, scr_restart_file
    public :: scr_datasets, scr_dataset
    public :: scr_should_exit
    public :: scr_current, scr_delete, scr_drop
    public :: scr_get_version, scr_last_error

    interface scr_need_checkpoint
        module procedure need_checkpoint_int, need_checkpoint_log
    end interface
    interface scr_complete_checkpoint
        module procedure complete_checkpoint_int, complete_checkpoint_log
    end interface
    interface scr_complete_output
        module procedure complete_output_int, complete_output_log
    end interface
    interface scr_have_restart
        module procedure have_restart_int, have_restart_log
    end interface
    interface scr_complete_restart
        module procedure complete_restart_int, complete_restart_log
    end interface
    interface scr_should_exit
        module procedure should_exit_int, should_exit_log
    end interface

    ! --- what is called: scr.h, and scrf.c where there is text ---
    interface
        integer(c_int) function c_init() bind(C, name='SCR_Init')
            import :: c_int
        end function
        integer(c_int) function c_finalize() bind(C, name='SCR_Finalize')
            import :: c_int
        end function
        integer(c_int) function c_need_checkpoint(flag) bind(C, name='SCR_Need_checkpoint')
            import :: c_int
            integer(c_int), intent(out) :: flag
        end function
        integer(c_int) function c_start_checkpoint() bind(C, name='SCR_Start_checkpoint')
            import :: c_int
        end function
        integer(c_int) function c_complete_checkpoint(valid) bind(C, name='SCR_Complete_checkpoint')
            import :: c_int
            integer(c_int), value :: valid
        end function
        integer(c_int) function c_complete_output(valid) bind(C, name='SCR_Complete_output')
            import :: c_int
            integer(c_int), value :: valid
        end function
        integer(c_int) function c_complete_restart(valid) bind(C, name='SCR_Complete_restart')
            import :: c_int
            integer(c_int), value :: valid
        end function
        integer(c_int) function c_restart_ranks(ranks) bind(C, name='SCR_Restart_ranks')
            import :: c_int
            integer(c_int), intent(out) :: ranks
        end function
        integer(c_int) function c_restart_files(n) bind(C, name='SCR_Restart_files')
            import :: c_int
            integer(c_int), intent(out) :: n
        end function
        integer(c_int) function c_datasets(n) bind(C, name='SCR_Datasets')
            import :: c_int
            integer(c_int), intent(out) :: n
        end function
        integer(c_int) function c_dataset(i, name, id, flags, bytes, when) bind(C, name='SCR_Dataset')
            import :: c_int, c_double, c_ptr
            integer(c_int), value :: i
            type(c_ptr), value :: name
            integer(c_int), intent(out) :: id, flags
            real(c_double), intent(out) :: bytes, when
        end function
        integer(c_int) function c_dataset_name(i, name, n) bind(C, name='scrf_dataset_name')
            import :: c_int, c_char
            integer(c_int), value :: i, n
            character(kind=c_char), intent(inout) :: name(*)
        end function
        integer(c_int) function c_should_exit(flag) bind(C, name='SCR_Should_exit')
            import :: c_int
            integer(c_int), intent(out) :: flag
        end function

        integer(c_int) function c_config(config, nconfig, val, nval) bind(C, name='scrf_config')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: config(*)
            character(kind=c_char), intent(inout) :: val(*)
            integer(c_int), value :: nconfig, nval
        end function
        integer(c_int) function c_init_comm(comm) bind(C, name='scrf_init_comm')
            import :: c_int
            integer(c_int), value :: comm
        end function
        integer(c_int) function c_config_comm(comm, config, nconfig, val, nval) bind(C, name='scrf_config_comm')
            import :: c_int, c_char
            integer(c_int), value :: comm
            character(kind=c_char), intent(in) :: config(*)
            character(kind=c_char), intent(inout) :: val(*)
            integer(c_int), value :: nconfig, nval
        end function
        integer(c_int) function c_route_file(name, nname, file, nfile) bind(C, name='scrf_route_file')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            character(kind=c_char), intent(inout) :: file(*)
            integer(c_int), value :: nname, nfile
        end function
        integer(c_int) function c_start_output(name, n, flags) bind(C, name='scrf_start_output')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: n, flags
        end function
        integer(c_int) function c_have_restart(flag, name, n) bind(C, name='scrf_have_restart')
            import :: c_int, c_char
            integer(c_int), intent(out) :: flag
            character(kind=c_char), intent(inout) :: name(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_start_restart(name, n) bind(C, name='scrf_start_restart')
            import :: c_int, c_char
            character(kind=c_char), intent(inout) :: name(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_restart_file(i, file, n, rank) bind(C, name='scrf_restart_file')
            import :: c_int, c_char
            character(kind=c_char), intent(inout) :: file(*)
            integer(c_int), value :: i, n
            integer(c_int), intent(inout) :: rank
        end function
        integer(c_int) function c_current(name, n) bind(C, name='scrf_current')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_delete(name, n) bind(C, name='scrf_delete')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_drop(name, n) bind(C, name='scrf_drop')
            import :: c_int, c_char
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_get_version(version, n) bind(C, name='scrf_get_version')
            import :: c_int, c_char
            character(kind=c_char), intent(inout) :: version(*)
            integer(c_int), value :: n
        end function
        integer(c_int) function c_last_error(text, n) bind(C, name='scrf_last_error')
            import :: c_int, c_char
            character(kind=c_char), intent(inout) :: text(*)
            integer(c_int), value :: n
        end function
    end interface

    integer(c_int), parameter :: missing = -1 ! length of an argument that is not there

contains

    ! --- results and arguments ---

    subroutine give(ierr, rc)
        integer, intent(out), optional :: ierr
        integer(c_int), intent(in) :: rc
        if (present(ierr)) ierr = int(rc)
    end subroutine

    pure integer(c_int) function length(text)
        character(len=*), intent(in) :: text
        length = int(len(text), c_int)
    end function

    pure integer(c_int) function to_c(valid)
        logical, intent(in) :: valid
        to_c = merge(1_c_int, 0_c_int, valid)
    end function

    ! --- start and end ---

    subroutine scr_init(ierr)
        integer, intent(out), optional :: ierr
        call give(ierr, c_init())
    end subroutine

    subroutine scr_init_comm(comm, ierr)
        integer, intent(in) :: comm
        integer, intent(out), optional :: ierr
        call give(ierr, c_init_comm(int(comm, c_int)))
    end subroutine

    subroutine scr_finalize(ierr)
        integer, intent(out), optional :: ierr
        call give(ierr, c_finalize())
    end subroutine

    ! 'NAME=value', 'NAME=', or 'NAME' to learn the value, which is blank if there is none.
    subroutine scr_config(config, val, ierr)
        character(len=*), intent(in) :: config
        character(len=*), intent(out), optional :: val
        integer, intent(out), optional :: ierr
        character :: unused(1)
        if (present(val)) then
            call give(ierr, c_config(config, length(config), val, length(val)))
        else
            call give(ierr, c_config(config, length(config), unused, missing))
        end if
    end subroutine

    subroutine scr_config_comm(comm, config, val, ierr)
        integer, intent(in) :: comm
        character(len=*), intent(in) :: config
        character(len=*), intent(out), optional :: val
        integer, intent(out), optional :: ierr
        character :: unused(1)
        if (present(val)) then
            call give(ierr, c_config_comm(int(comm, c_int), config, length(config), val, length(val)))
        else
            call give(ierr, c_config_comm(int(comm, c_int), config, length(config), unused, missing))
        end if
    end subroutine

    ! --- paths ---

    subroutine scr_route_file(name, file, ierr)
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer, intent(out), optional :: ierr
        call give(ierr, c_route_file(name, length(name), file, length(file)))
    end subroutine

    ! --- checkpoints and output ---

    subroutine need_checkpoint_int(flag, ierr)
        integer, intent(out) :: flag
        integer, intent(out), optional :: ierr
        integer(c_int) :: need
        call give(ierr, c_need_checkpoint(need))
        flag = int(need)
    end subroutine

    subroutine need_checkpoint_log(flag, ierr)
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierr
        integer :: need
        call need_checkpoint_int(need, ierr)
        flag = need /= 0
    end subroutine

    subroutine scr_start_checkpoint(ierr)
        integer, intent(out), optional :: ierr
        call give(ierr, c_start_checkpoint())
    end subroutine

    subroutine complete_checkpoint_int(valid, ierr)
        integer, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_checkpoint(int(valid, c_int)))
    end subroutine

    subroutine complete_checkpoint_log(valid, ierr)
        logical, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_checkpoint(to_c(valid)))
    end subroutine

    subroutine scr_start_output(name, flags, ierr)
        character(len=*), intent(in), optional :: name
        integer, intent(in) :: flags
        integer, intent(out), optional :: ierr
        if (present(name)) then
            call give(ierr, c_start_output(name, length(name), int(flags, c_int)))
        else
            call give(ierr, c_start_output('', missing, int(flags, c_int)))
        end if
    end subroutine

    subroutine complete_output_int(valid, ierr)
        integer, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_output(int(valid, c_int)))
    end subroutine

    subroutine complete_output_log(valid, ierr)
        logical, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_output(to_c(valid)))
    end subroutine

    ! --- restart ---

    subroutine have_restart_int(flag, name, ierr)
        integer, intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer, intent(out), optional :: ierr
        integer(c_int) :: have
        character :: unused(1)
        if (present(name)) then
            call give(ierr, c_have_restart(have, name, length(name)))
        else
            call give(ierr, c_have_restart(have, unused, missing))
        end if
        flag = int(have)
    end subroutine

    subroutine have_restart_log(flag, name, ierr)
        logical, intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer, intent(out), optional :: ierr
        integer :: have
        call have_restart_int(have, name, ierr)
        flag = have /= 0
    end subroutine

    subroutine scr_start_restart(name, ierr)
        character(len=*), intent(out), optional :: name
        integer, intent(out), optional :: ierr
        character :: unused(1)
        if (present(name)) then
            call give(ierr, c_start_restart(name, length(name)))
        else
            call give(ierr, c_start_restart(unused, missing))
        end if
    end subroutine

    subroutine complete_restart_int(valid, ierr)
        integer, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_restart(int(valid, c_int)))
    end subroutine

    subroutine complete_restart_log(valid, ierr)
        logical, intent(in) :: valid
        integer, intent(out), optional :: ierr
        call give(ierr, c_complete_restart(to_c(valid)))
    end subroutine

    ! --- restart on a different number of processes ---

    subroutine scr_restart_ranks(ranks, ierr)
        integer, intent(out) :: ranks
        integer, intent(out), optional :: ierr
        integer(c_int) :: n
        call give(ierr, c_restart_ranks(n))
        ranks = int(n)
    end subroutine

    subroutine scr_restart_files(n, ierr)
        integer, intent(out) :: n
        integer, intent(out), optional :: ierr
        integer(c_int) :: files
        call give(ierr, c_restart_files(files))
        n = int(files)
    end subroutine

    ! i counts from 0, as ranks do.
    subroutine scr_restart_file(i, file, rank, ierr)
        integer, intent(in) :: i
        character(len=*), intent(out) :: file
        integer, intent(out), optional :: rank
        integer, intent(out), optional :: ierr
        integer(c_int) :: writer
        writer = -1
        call give(ierr, c_restart_file(int(i, c_int), file, length(file), writer))
        if (present(rank)) rank = int(writer)
    end subroutine

    ! --- what there is ---

    subroutine scr_datasets(n, ierr)
        integer, intent(out) :: n
        integer, intent(out), optional :: ierr
        integer(c_int) :: datasets
        call give(ierr, c_datasets(datasets))
        n = int(datasets)
    end subroutine

    ! i counts from 0.
    subroutine scr_dataset(i, name, id, flags, bytes, when, ierr)
        integer, intent(in) :: i
        character(len=*), intent(out) :: name
        integer, intent(out), optional :: id
        integer, intent(out), optional :: flags
        double precision, intent(out), optional :: bytes
        double precision, intent(out), optional :: when
        integer, intent(out), optional :: ierr
        integer(c_int) :: rc, number, properties
        real(c_double) :: total, begun
        number = 0
        properties = 0
        total = 0
        begun = 0
        rc = c_dataset_name(int(i, c_int), name, length(name))
        if (rc == SCR_SUCCESS) rc = c_dataset(int(i, c_int), c_null_ptr, number, properties, total, begun)
        if (present(id)) id = int(number)
        if (present(flags)) flags = int(properties)
        if (present(bytes)) bytes = total
        if (present(when)) when = begun
        call give(ierr, rc)
    end subroutine

    ! --- the rest ---

    subroutine should_exit_int(flag, ierr)
        integer, intent(out) :: flag
        integer, intent(out), optional :: ierr
        integer(c_int) :: due
        call give(ierr, c_should_exit(due))
        flag = int(due)
    end subroutine

    subroutine should_exit_log(flag, ierr)
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierr
        integer :: due
        call should_exit_int(due, ierr)
        flag = due /= 0
    end subroutine

    subroutine scr_current(name, ierr)
        character(len=*), intent(in) :: name
        integer, intent(out), optional :: ierr
        call give(ierr, c_current(name, length(name)))
    end subroutine

    subroutine scr_delete(name, ierr)
        character(len=*), intent(in) :: name
        integer, intent(out), optional :: ierr
        call give(ierr, c_delete(name, length(name)))
    end subroutine

    subroutine scr_drop(name, ierr)
        character(len=*), intent(in) :: name
        integer, intent(out), optional :: ierr
        call give(ierr, c_drop(name, length(name)))
    end subroutine

    subroutine scr_get_version(version, ierr)
        character(len=*), intent(out) :: version
        integer, intent(out), optional :: ierr
        call give(ierr, c_get_version(version, length(version)))
    end subroutine

    ! ierr is the code of the last call; text that is too long is cut.
    subroutine scr_last_error(text, ierr)
        character(len=*), intent(out) :: text
        integer, intent(out), optional :: ierr
        call give(ierr, c_last_error(text, length(text)))
    end subroutine
end module scr
