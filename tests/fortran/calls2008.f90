! SPDX-License-Identifier: BSD-3-Clause
! Every call of the module scr, used well and used wrong: with and without what may be left out,
! logical and integer. Run by calls.sh; at the end rank 0 prints how many lines of errors SCR must
! have printed.
program calls
    use mpi_f08
    use scr
    implicit none
    integer, parameter :: e_exist = 5, e_arg = 8, e_state = 9, e_mismatch = 12, e_name = 18
    integer, parameter :: e_invalid = 20, e_missing = 21, e_range = 22
    integer :: rank, ranks, rc
    integer :: bad = 0, lines = 0, all_bad

    call test_version()
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call test_before_init()
    call test_init()
    call test_text()
    call test_output()
    call test_restart()
    call test_management()
    call scr_finalize(rc)
    call expect('finalize', rc, SCR_SUCCESS)
    call scr_finalize(rc)
    call fails('finalize twice', rc, e_state, 1)

    call MPI_Allreduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a,i0)', 'lines of errors: ', lines, 'failed: ', all_bad
    call MPI_Finalize()
    if (all_bad /= 0) stop 1

contains

    ! --- checks ---

    subroutine wrong(what)
        character(len=*), intent(in) :: what
        bad = bad + 1
        print '(a,i0,2a)', 'FAIL: rank ', rank, ': ', what
    end subroutine

    subroutine check(what, good)
        character(len=*), intent(in) :: what
        logical, intent(in) :: good
        if (.not. good) call wrong(what)
    end subroutine

    subroutine expect(what, got, want)
        character(len=*), intent(in) :: what
        integer, intent(in) :: got, want
        character(len=120) :: text
        if (got == want) return
        write (text, '(2a,i0,a,i0)') what, ': ', got, ', not ', want
        call wrong(trim(text))
    end subroutine

    ! An error that must be told in n lines, of all ranks together.
    subroutine fails(what, got, want, n)
        character(len=*), intent(in) :: what
        integer, intent(in) :: got, want, n
        call expect(what, got, want)
        lines = lines + n
    end subroutine

    ! --- before SCR_Init, and SCR_Init ---

    subroutine test_version()
        character(len=40) :: version
        character(len=0) :: nothing
        rank = 0
        ranks = 4 ! not known yet
        call scr_get_version(version, rc)
        call expect('version', rc, SCR_SUCCESS)
        call check('version has dots', version(2:2) == '.' .and. version(40:40) == ' ')
        call scr_get_version(nothing, rc)
        call fails('version into nothing', rc, e_name, ranks)
    end subroutine

    subroutine test_before_init()
        logical :: flag
        character(len=40) :: path
        call scr_start_output(flags=SCR_FLAG_CHECKPOINT, ierr=rc)
        call fails('start before init', rc, e_state, 1)
        flag = .true.
        call scr_have_restart(flag, ierr=rc)
        call fails('have before init', rc, e_state, 1)
        call check('flag before init', .not. flag)
        path = 'stale'
        call scr_route_file('x', path, rc)
        call expect('route before init', rc, SCR_SUCCESS)
        call check('path before init', path == 'x') ! its own file
        call scr_finalize() ! told, and the program goes on
        lines = lines + 1
    end subroutine

    subroutine test_init()
        character(len=20) :: val
        character(len=:), allocatable :: exact
        character(len=SCR_MAX_FILENAME + 500) :: long
        character(len=0) :: nothing
        type(MPI_Comm) :: comm
        call scr_config('SCR_CACHE_SIZE=3')
        val = 'stale'
        call scr_config('SCR_CHECKPOINT_INTERVAL=2', val, rc)
        call expect('config', rc, SCR_SUCCESS)
        call check('a setting has no value', val == '')
        call scr_config('SCR_CACHE_SIZE', val)
        call check('value', val == '3')
        allocate (character(len=1) :: exact)
        call scr_config('SCR_CACHE_SIZE', exact, rc)
        call check('value that just fits', rc == SCR_SUCCESS .and. exact == '3')
        call scr_config('SCR_CACHE_SIZE', val(1:min(rank, 1)), rc)
        call fails('value too long on one rank', rc, e_name, 1)
        call scr_config('SCR_CACHE_SIZE=', ierr=rc)
        call expect('config takes back', rc, SCR_SUCCESS)
        call scr_config(nothing, ierr=rc)
        call fails('config of nothing', rc, e_arg, 1)
        call scr_config('SCR_JOB_ID', nothing, rc)
        call fails('value into nothing', rc, e_name, 1)
        call scr_config('SCR_NODELIST='//repeat('n', len(long))) ! longer than any path
        call scr_config('SCR_NODELIST', long, rc)
        call check('long value', rc == SCR_SUCCESS .and. long == repeat('n', len(long)))
        call scr_config('SCR_NODELIST', long(2:), rc)
        call fails('long value, a character too long', rc, e_name, 1)
        call check('no part of a long value', long(2:) == '')
        call scr_config('SCR_NODELIST=')

        call scr_init_comm(MPI_COMM_NULL%MPI_VAL, rc)
        call fails('init with no communicator', rc, e_arg, ranks)
        call MPI_Comm_dup(MPI_COMM_WORLD, comm)
        call scr_config_comm(comm%MPI_VAL, 'SCR_CACHE_SIZE=5')
        call scr_config_comm(comm%MPI_VAL, 'SCR_CACHE_SIZE', val, rc)
        call expect('config of a communicator', rc, SCR_SUCCESS)
        call check('value of a communicator', val == '5')
        call scr_config_comm(comm%MPI_VAL, 'SCR_CACHE_SIZE=')
        call scr_init_comm(comm%MPI_VAL)
        call MPI_Comm_free(comm)
        call scr_init(rc)
        call fails('init twice', rc, e_state, 1)
    end subroutine

    ! --- text of every length: blank, none, exact, a character short, longer than any path ---

    subroutine test_text()
        character(len=2 * SCR_MAX_FILENAME) :: huge_name
        character(len=SCR_MAX_FILENAME) :: path, was
        character(len=0) :: nothing
        integer :: n

        huge_name = repeat('x', len(huge_name))
        call refuse_name(huge_name)
        call refuse_name(huge_name(1:SCR_MAX_FILENAME))
        call refuse_name(nothing)
        call refuse_name('   ')

        call scr_start_output('text   ', SCR_FLAG_CHECKPOINT, rc)
        call expect('start text', rc, SCR_SUCCESS)
        call scr_route_file('text/a', was, rc)
        call expect('route text', rc, SCR_SUCCESS)
        n = len_trim(was)
        call scr_route_file('text/a  ', path(1:n), rc)
        call check('path that just fits', rc == SCR_SUCCESS .and. path(1:n) == was)
        call scr_route_file('text/a', path(1:n - 1), rc)
        call fails('path a character too long', rc, e_name, ranks)
        call check('no part of it', path(1:n - 1) == '' .and. path(n:n) == was(n:n))
        call scr_route_file('text/a', nothing, rc)
        call fails('path into nothing', rc, e_name, ranks)
        path = 'stale'
        call scr_route_file(nothing, path, rc)
        call fails('file of no name', rc, e_name, ranks)
        call check('its path', path == '')
        path = 'stale'
        call scr_route_file(huge_name, path, rc)
        call fails('file of a huge name', rc, e_name, ranks)
        call check('its path', path == '')
        call scr_complete_output(.true., rc)
        call fails('with files that were refused, and one of all ranks', rc, e_exist, 1)
    end subroutine

    subroutine refuse_name(name)
        character(len=*), intent(in) :: name
        if (len_trim(name) > 0) then ! else it gets a name
            call scr_start_output(name, SCR_FLAG_CHECKPOINT, rc)
            call fails('start of a bad name', rc, e_name, 1)
        end if
        call scr_current(name, rc)
        call fails('current of a bad name', rc, e_name, 1)
        call scr_delete(name, rc)
        call fails('delete of a bad name', rc, e_name, 1)
        call scr_drop(name, rc)
        call fails('drop of a bad name', rc, e_name, 1)
    end subroutine

    ! --- checkpoints ---

    ! A file of each rank, with a record of its rank and one of the name.
    subroutine checkpoint(name, flags)
        character(len=*), intent(in) :: name
        integer, intent(in) :: flags
        character(len=SCR_MAX_FILENAME) :: path
        character(len=80) :: file
        integer :: unit, io
        call scr_start_output(name, flags, rc)
        call expect('start '//name, rc, SCR_SUCCESS)
        write (file, '(a,"/rank.",i0)') name, rank
        call scr_route_file(file, path, rc)
        call expect('route '//name, rc, SCR_SUCCESS)
        open (newunit=unit, file=path, form='unformatted', status='new', iostat=io)
        if (io == 0) write (unit, iostat=io) rank
        if (io == 0) write (unit, iostat=io) len(name), name
        if (io == 0) close (unit, iostat=io)
        call scr_complete_output(io == 0, rc)
        call expect('complete '//name, rc, SCR_SUCCESS)
    end subroutine

    subroutine test_output()
        logical :: flag
        integer :: number
        character(len=10) :: short

        call scr_start_output('a', 8, rc)
        call fails('unknown flag', rc, e_arg, 1)
        call scr_start_output(merge('a', 'b', rank == 0), SCR_FLAG_OUTPUT, rc)
        call fails('names differ', rc, e_mismatch, 1)
        call scr_complete_output(.true., rc)
        call fails('complete without start', rc, e_state, 0) ! start has told

        call scr_start_output(flags=ior(SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT), ierr=rc)
        call expect('start without a name', rc, SCR_SUCCESS)
        call scr_route_file('x', short, rc)
        call fails('path too long', rc, e_name, ranks)
        call check('no part of a path', short == '')
        call scr_complete_output(1, rc)
        call fails('without its file', rc, e_name, 1)
        call scr_start_checkpoint(rc)
        call expect('start checkpoint', rc, SCR_SUCCESS)
        call scr_complete_checkpoint(rank /= 0, rc)
        call fails('not valid on one rank', rc, e_invalid, 1)
        call scr_start_checkpoint()
        call scr_complete_checkpoint(1, rc)
        call fails('a checkpoint without files', rc, e_missing, 1)

        call scr_need_checkpoint(flag, rc)
        call check('the first call says no', rc == SCR_SUCCESS .and. .not. flag)
        call scr_need_checkpoint(number)
        call expect('the second says yes', number, 1)
        call scr_should_exit(flag)
        call scr_should_exit(number, rc)
        call check('go on', rc == SCR_SUCCESS .and. number == 0 .and. .not. flag)

        call checkpoint('first', SCR_FLAG_CHECKPOINT + SCR_FLAG_OUTPUT)
        call checkpoint('second', SCR_FLAG_CHECKPOINT)
    end subroutine

    ! --- what there is ---

    subroutine test_datasets()
        integer :: n, id, flags
        double precision :: bytes, when
        character(len=SCR_MAX_FILENAME) :: name
        call scr_dataset(0, name, ierr=rc)
        call fails('dataset before datasets', rc, e_state, ranks)
        call scr_datasets(n, rc)
        call check('datasets', rc == SCR_SUCCESS .and. n >= 2)
        call scr_dataset(0, name, id, flags, bytes, when, rc)
        call check('second is the first', rc == SCR_SUCCESS .and. name == 'second' .and. id > 0)
        call check('its flags', iand(flags, SCR_FLAG_CHECKPOINT + SCR_FLAG_RESTARTABLE) == 17)
        call check('its bytes and time', bytes > 0 .and. when > 1.6d9)
        call scr_dataset(0, name(1:5), ierr=rc)
        call fails('name of a dataset a character too long', rc, e_name, ranks)
        call scr_dataset(n, name, flags=flags, ierr=rc)
        call fails('a dataset too many', rc, e_range, ranks)
        call check('nothing of it', name == '' .and. flags == 0)
    end subroutine

    ! --- restart ---

    subroutine test_restart()
        integer :: n, writer, number
        logical :: have
        character(len=SCR_MAX_FILENAME) :: path, name
        call scr_have_restart(number)
        call expect('have restart', number, 1)
        call scr_have_restart(have, name(1:5), rc)
        call fails('name a character too long', rc, e_name, 1)
        call scr_have_restart(have, name(1:0), rc)
        call fails('name into nothing', rc, e_name, 1)
        call scr_have_restart(have, name(1:6), rc)
        call check('name that just fits', rc == SCR_SUCCESS .and. name(1:6) == 'second')
        call scr_have_restart(have, name, rc)
        call check('second is offered', rc == SCR_SUCCESS .and. have .and. name == 'second')
        call test_datasets()
        call scr_start_restart()
        call scr_start_restart(name, rc)
        call fails('start twice', rc, e_state, 1)
        call read_back('second')
        call scr_complete_restart(rank /= 1, rc) ! refused: first is loaded
        call fails('not valid on one rank', rc, e_invalid, 1)

        call scr_have_restart(have, name)
        call check('first is offered', have .and. name == 'first')
        call scr_start_restart(name, rc)
        call check('first is opened', rc == SCR_SUCCESS .and. name == 'first')
        call scr_restart_ranks(n, rc)
        call check('ranks', rc == SCR_SUCCESS .and. n == ranks)
        call scr_restart_file(0, path, ierr=rc)
        call fails('file before files', rc, e_state, ranks)
        call scr_restart_files(n, rc)
        call check('files', rc == SCR_SUCCESS .and. n == ranks)
        call scr_restart_file(ranks - 1, path, writer, rc)
        call check('the last file', rc == SCR_SUCCESS .and. writer == ranks - 1)
        call check('its path', index(path, '/first/rank.') > 0)
        call scr_restart_file(ranks - 1, name(1:len_trim(path)), ierr=rc)
        call check('path that just fits', rc == SCR_SUCCESS .and. name(1:len_trim(path)) == path)
        call scr_restart_file(ranks - 1, name(2:len_trim(path)), ierr=rc)
        call fails('path a character too long', rc, e_name, ranks)
        call check('no part of it', name(2:len_trim(path)) == '')
        call scr_restart_file(-1, path, ierr=rc)
        call fails('file -1', rc, e_range, ranks)
        call read_back('first')
        call scr_complete_restart(1, rc)
        call expect('complete restart', rc, SCR_SUCCESS)
    end subroutine

    subroutine read_back(name)
        character(len=*), intent(in) :: name
        character(len=SCR_MAX_FILENAME) :: path
        character(len=80) :: file
        character(len=len(name)) :: was
        integer :: unit, io, writer, n
        write (file, '(a,"/rank.",i0)') name, rank
        call scr_route_file(file, path, rc)
        call expect('route '//name, rc, SCR_SUCCESS)
        open (newunit=unit, file=path, form='unformatted', status='old', action='read', iostat=io)
        if (io == 0) read (unit, iostat=io) writer
        if (io == 0) read (unit, iostat=io) n, was
        call check('read '//name, io == 0)
        if (io /= 0) return
        call check('content of '//name, writer == rank .and. n == len(name) .and. was == name)
        close (unit)
    end subroutine

    ! --- datasets by name ---

    subroutine test_management()
        character(len=10) :: text
        call scr_current('nobody', rc)
        call expect('current nobody', rc, SCR_SUCCESS)
        call scr_current('first', rc)
        call expect('current', rc, SCR_SUCCESS)
        call scr_drop('first   ', rc)
        call expect('drop', rc, SCR_SUCCESS)
        call checkpoint('third', SCR_FLAG_OUTPUT)
        call scr_delete('third', rc)
        call expect('delete', rc, SCR_SUCCESS)
        call scr_delete(' ')
        lines = lines + 1
        call scr_last_error(text, rc)
        call expect('last error', rc, e_name)
        call check('its text, cut', text == 'SCR_Delete')
        call scr_last_error(text(1:0), rc)
        call expect('last error into nothing', rc, e_name)
    end subroutine
end program calls
