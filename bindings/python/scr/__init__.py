# SPDX-License-Identifier: BSD-3-Clause
"""SCR, the Scalable Checkpoint/Restart library, for programs in Python.

    from mpi4py import MPI
    import numpy as np
    import scr

    rank = MPI.COMM_WORLD.rank
    step, field = 0, np.zeros(1000)

    scr.config("SCR_CHECKPOINT_INTERVAL=10")
    scr.init()
    while name := scr.have_restart():           # the newest first, then older ones
        try:
            with scr.restart() as checkpoint:
                loaded = np.load(checkpoint.route(f"{name}/field_{rank}.npy"))
            step, field = int(name.split(".")[1]), loaded
            break
        except (OSError, ValueError, scr.Error):
            pass                                # some process could not read it

    while step < 1000 and not scr.should_exit():
        step += 1
        compute(field)
        if scr.need_checkpoint():
            with scr.output(f"step.{step}", scr.FLAG_CHECKPOINT) as out:
                np.save(out.route(f"step.{step}/field_{rank}.npy"), field)
    scr.finalize()

Every call of scr.h is a function here: SCR_Start_output is scr.start_output. What C returns
through a pointer is returned, and a call that fails raises scr.Error, except complete_output and
complete_restart, which say True or False. scr.output and scr.restart are the two phases as
context managers.

Calls are collective over MPI_COMM_WORLD, or the communicator of scr.init_comm, unless they are
said to be local: every process of it makes them, in the same order, between MPI_Init and MPI_Finalize, from one thread at a time. Importing
mpi4py.MPI initialises MPI, and mpi4py finalises it when the program ends; import it before
scr.init(). Start programs with `python3 -m mpi4py program.py`, so that an exception on one
process ends the others too.

libscr is the one the environment variable LIBSCR names (a file or its directory), else the one
this package was installed with, else the one the dynamic linker finds. It must have been built
with the MPI that mpi4py uses; if not, the first call raises an error.

When a halt condition is met (scr_halt(1), the end of the allocation), init, complete_output and
the end of `with scr.output` end the process with exit(0), as in C: what print() has buffered is
written, but functions registered with atexit are not called and other open files not flushed.
Programs that want to leave in their own way set SCR_HALT_ENABLED=0 and ask should_exit().
"""
import os
import sys
from ctypes import byref, c_double, c_int, c_void_p, create_string_buffer, sizeof
from types import TracebackType
from typing import Any, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union

from ._constants import *  # noqa: F403  # every E_*, FLAG_*
from ._constants import E_STATE, FLAG_CHECKPOINT, MAX_FILENAME, VERSION
from ._library import Error as Error  # is part of the package
from ._library import Library

__version__ = VERSION

_Path = Union[str, "os.PathLike[str]"]

_scr = Library()


# --- from Python to C and back ---


def _text(value: _Path) -> bytes:
    text = os.fsencode(value)
    if b"\0" in text:
        raise ValueError(f"{value!r} has a NUL in it")
    return text


def _int(value: int) -> int:
    """What C's int cannot hold is an error: ctypes would drop its upper bits."""
    if c_int(value).value != value:
        raise OverflowError(f"{value} is too large")
    return value


def _comm(comm: Any) -> int:
    """The handle of an mpi4py communicator, for C; an int is one. ctypes would drop upper bits."""
    if isinstance(comm, int):
        if not -(2**31) <= comm < 2 ** (8 * sizeof(c_void_p)):
            raise OverflowError(f"{comm} is no handle of a communicator")
        return comm
    from mpi4py import MPI

    return int(MPI._handleof(comm))


def _flag(name: str, *more: Any) -> int:
    value = c_int()
    _scr.call(name, byref(value), *more)
    return value.value


def _flush() -> None:
    """Before a call that may end the process: C's exit knows nothing of Python's buffers."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except Exception:
            pass  # closed, the reader has gone, the program's own stream: the others wait in the call


def _complete(name: str, valid: bool) -> bool:
    _flush()
    code = _scr.result(name, 1 if valid else 0)
    if code == E_STATE:
        raise _scr.last_error(code)
    return code == 0


# --- start and end ---


def init() -> None:
    """Starts the library: SCR_Init(3).

    Reads the configuration and rebuilds the datasets in cache, or fetches a checkpoint from the
    prefix directory. Once per process, after mpi4py.MPI was imported. Where SCR is switched off
    (SCR_ENABLE=0), and after an Error, the other calls succeed, and the program writes its files
    where it names them. With SCR_REQUIRED=1 an Error ends the job, with exit(1)."""
    _begin("SCR_Init")


def init_comm(comm: Any) -> None:
    """init() for the processes of an mpi4py communicator only: SCR_Init_comm(3).

    Its processes are all processes that the other calls speak of; others call nothing, or make a
    run of their own. Runs at the same time need prefix directories of their own: config_comm().
    comm may be freed when the call returns."""
    _begin("SCR_Init_comm", _comm(comm))


def _begin(name: str, *arguments: int) -> None:
    _flush()
    _scr.check_mpi()
    if not _scr.mpi_is_up():
        raise Error(E_STATE, "scr.init: MPI is not initialised; import mpi4py.MPI first")
    _scr.call(name, *arguments)


def finalize() -> None:
    """Ends it: SCR_Finalize(3).

    Flushes what must reach the prefix directory and notes that the job is done, so that run
    scripts do not start it again. A program that fails must not call it: its next run continues
    from the cache. Nothing calls it by itself."""
    _scr.call("SCR_Finalize")


def config(text: str) -> Optional[str]:
    """Sets, unsets or asks for a parameter: SCR_Config(3).

    "NAME=value", "NAME=" or "NAME"; for descriptors "CKPT=0 TYPE=XOR SET_SIZE=16" and "CKPT=0
    TYPE". Settings are possible before init() only, hold up to finalize(), and the environment
    wins over them. A question returns the value, or None if it is not set."""
    return _scr.config("SCR_Config", _text(text))


def config_comm(comm: Any, text: str) -> Optional[str]:
    """config(text) for the processes of comm only, before init_comm(comm): SCR_Config_comm(3)."""
    return _scr.config("SCR_Config_comm", _comm(comm), _text(text))


def configf(text: str, *values: object) -> Optional[str]:
    """config(text % values)."""
    return config(text % values)


# --- paths ---


def route_file(name: _Path) -> str:
    """Local. The path to use now for a file under the prefix directory: SCR_Route_file(3).

    name is absolute or relative to the current directory. In an output phase the file is entered
    into the dataset and its directory made; in a restart phase it must exist; outside of both the
    name comes back as it is. The file must be written under exactly this path: np.save adds .npy
    to names that do not end so."""
    path = create_string_buffer(MAX_FILENAME)
    _scr.call("SCR_Route_file", _text(name), path)
    return os.fsdecode(path.value)


# --- checkpoints and output ---


def need_checkpoint() -> bool:
    """True when a checkpoint is advisable now: SCR_Need_checkpoint(3)."""
    return bool(_flag("SCR_Need_checkpoint"))


def start_output(name: Optional[str] = None, flags: int = FLAG_CHECKPOINT) -> None:
    """Opens an output phase: SCR_Start_output(3).

    name is that of the dataset, the same on all processes; without one, or with "", it is called
    scr.dataset.<id>. flags are FLAG_CHECKPOINT, FLAG_OUTPUT or both."""
    _scr.call("SCR_Start_output", None if name is None else _text(name), _int(flags))


def complete_output(valid: bool = True) -> bool:
    """Closes it: SCR_Complete_output(3).

    valid says that this process wrote its files well, or has none; they are closed. True if all
    processes agree and the dataset is protected and, if it is output, copied to the prefix
    directory. After False the library has said why on stderr, and last_error() knows it too: the
    dataset was dropped, or is output that is tried again later; older ones remain. Misuse raises
    an Error. If the job is to halt the process ends here."""
    return _complete("SCR_Complete_output", valid)


def start_checkpoint() -> None:
    """start_output(None, FLAG_CHECKPOINT) under its older name."""
    _scr.call("SCR_Start_checkpoint")


def complete_checkpoint(valid: bool = True) -> bool:
    """complete_output(valid) under its older name."""
    return _complete("SCR_Complete_checkpoint", valid)


# --- restart ---


def have_restart() -> Optional[str]:
    """The name of the checkpoint to restart from, None if there is none: SCR_Have_restart(3)."""
    name = create_string_buffer(MAX_FILENAME)
    have = _flag("SCR_Have_restart", name)
    return os.fsdecode(name.value) if have else None


def start_restart() -> str:
    """Opens the restart phase of the checkpoint that have_restart() offered; returns its name."""
    name = create_string_buffer(MAX_FILENAME)
    _scr.call("SCR_Start_restart", name)
    return os.fsdecode(name.value)


def complete_restart(valid: bool = True) -> bool:
    """Closes it: SCR_Complete_restart(3).

    valid says that this process read all it needed. False if some process did not: that
    checkpoint is abandoned, and have_restart() reports whether there is an older one. Misuse raises
    an Error."""
    return _complete("SCR_Complete_restart", valid)


def restart_ranks() -> int:
    """Local. How many processes wrote the checkpoint that is offered: SCR_Restart_ranks(3). Before
    have_restart() it asks for what other numbers of processes wrote, and may return 0."""
    return _flag("SCR_Restart_ranks")


def restart_files() -> int:
    """How many files it has, of all processes that wrote it: SCR_Restart_files(3)."""
    return _flag("SCR_Restart_files")


def restart_file(i: int) -> Tuple[str, int]:
    """Local, after restart_files(). The i-th of them, counted from 0, and who wrote it:
    SCR_Restart_file(3). The path is for route_file()."""
    name, rank = create_string_buffer(MAX_FILENAME), c_int()
    _scr.call("SCR_Restart_file", _int(i), name, byref(rank))
    return os.fsdecode(name.value), rank.value


# --- what there is ---


class Dataset(NamedTuple):
    """A dataset in cache or in the prefix directory, as dataset(i) returns it."""

    name: str
    id: int
    flags: int  # FLAG_CHECKPOINT, FLAG_OUTPUT, FLAG_IN_CACHE, FLAG_IN_PREFIX, FLAG_RESTARTABLE
    bytes: float  # of all processes, 0: not known
    when: float  # it was begun, as time.time() has it, 0: not known


def datasets() -> int:
    """How many datasets there are in cache and in the prefix directory: SCR_Datasets(3)."""
    return _flag("SCR_Datasets")


def dataset(i: int) -> Dataset:
    """Local, after datasets(). The i-th of them, counted from 0, newest first: SCR_Dataset(3)."""
    name = create_string_buffer(MAX_FILENAME)
    id, flags, size, when = c_int(), c_int(), c_double(), c_double()
    _scr.call("SCR_Dataset", _int(i), name, byref(id), byref(flags), byref(size), byref(when))
    return Dataset(os.fsdecode(name.value), id.value, flags.value, size.value, when.value)


# --- the rest ---


def should_exit() -> bool:
    """True when the program should stop now: SCR_Should_exit(3)."""
    return bool(_flag("SCR_Should_exit"))


def current(name: str) -> None:
    """The dataset of this name is the one to restart from: SCR_Current(3)."""
    _scr.call("SCR_Current", _text(name))


def delete(name: str) -> None:
    """Deletes a dataset's files, in cache and prefix directory, and its entry: SCR_Delete(3)."""
    _scr.call("SCR_Delete", _text(name))


def drop(name: str) -> None:
    """Removes its entry from the index only: SCR_Drop(3)."""
    _scr.call("SCR_Drop", _text(name))


def get_version() -> str:
    """Local, at any time. The version of libscr: SCR_Get_version(3)."""
    return os.fsdecode(_scr.lib.SCR_Get_version())


def last_error() -> Optional[Error]:
    """Local, at any time. How this process' last call failed, None if it did not:
    SCR_Last_error(3)."""
    error = _scr.last_error()
    return error if error.code != 0 else None


# --- phases as context managers ---

_Self = TypeVar("_Self", bound="_Phase")


class _Phase:
    """From its start to its end. An exception inside makes this process say valid=0 at the end,
    so that the others do not wait for it, and propagates. The others get an Error with code
    E_INVALID. Any other failure is an Error on all processes."""

    _end = ""
    name: Optional[str]

    def route(self, name: _Path) -> str:
        """Local: route_file(name)."""
        return route_file(name)

    def _start(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        where: Optional[TracebackType],
    ) -> None:
        _flush()
        code = _scr.result(self._end, 1 if error is None else 0)
        if error is None and code != 0:
            raise _scr.last_error(code)


class output(_Phase):
    """An output phase: `with scr.output("ckpt.10", scr.FLAG_CHECKPOINT) as out:`.

    Collective, start and end. Inside, out.route(file) gives the path to write to. Files are
    closed before the end. If it ends without an exception, the dataset is what
    complete_output(True) == True promises.

    An exception on one process drops the dataset: it is raised on there after the end of the
    phase, and the other processes get an Error with code E_INVALID. A program that can do without
    this checkpoint catches both: `except (OSError, scr.Error)`."""

    _end = "SCR_Complete_output"

    def __init__(self, name: Optional[str] = None, flags: int = FLAG_CHECKPOINT) -> None:
        self.name = name
        self.flags = flags

    def _start(self) -> None:
        start_output(self.name, self.flags)


class restart(_Phase):
    """A restart phase: `with scr.restart() as checkpoint:`, after have_restart() named one.

    Collective, start and end. checkpoint.name is its name, checkpoint.route(file) gives the path
    to read from. An exception on one process gives the checkpoint up, and is raised on there; the
    other processes get an Error with code E_INVALID, and have_restart() offers the next older one.

    checkpoint.ranks is how many processes wrote it, and checkpoint.files() lists its files, for
    programs that can restart on a different number of processes, and declare it by
    config("SCR_RESTART_ANY_RANKS=1") before init()."""

    _end = "SCR_Complete_restart"

    def _start(self) -> None:
        self.name = start_restart()

    @property
    def ranks(self) -> int:
        """Local: restart_ranks()."""
        return restart_ranks()

    def files(self) -> List[Tuple[str, int]]:
        """Collective: every file of the checkpoint and the process that wrote it."""
        return [restart_file(i) for i in range(restart_files())]
