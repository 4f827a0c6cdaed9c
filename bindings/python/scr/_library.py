# SPDX-License-Identifier: BSD-3-Clause
"""libscr: where it is, what its calls look like, and whether its MPI is the program's."""
import os
import sys
from ctypes import CDLL, POINTER, byref, c_char_p, c_double, c_int, c_void_p, create_string_buffer, string_at
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from ._constants import E_MPI, ERRORS, MAX_FILENAME, VERSION

MAJOR = VERSION.split(".", maxsplit=1)[0]
SONAME = f"libscr.so.{MAJOR}"
VARIABLE = "LIBSCR"
BESIDE = "libscr.path"  # written by the installation: libscr as seen from this directory

# Arguments of every call; all return int but those in RESULTS.
ARGUMENTS: Dict[str, Sequence[Any]] = {
    "SCR_Init": (),
    "SCR_Init_comm": (c_void_p,),  # a number in MPICH, whose half of the register holds it
    "SCR_Finalize": (),
    "SCR_Config": (c_char_p,),
    "SCR_Config_comm": (c_void_p, c_char_p),
    "SCR_Route_file": (c_char_p, c_char_p),
    "SCR_Need_checkpoint": (POINTER(c_int),),
    "SCR_Start_checkpoint": (),
    "SCR_Complete_checkpoint": (c_int,),
    "SCR_Start_output": (c_char_p, c_int),
    "SCR_Complete_output": (c_int,),
    "SCR_Have_restart": (POINTER(c_int), c_char_p),
    "SCR_Start_restart": (c_char_p,),
    "SCR_Complete_restart": (c_int,),
    "SCR_Restart_ranks": (POINTER(c_int),),
    "SCR_Restart_files": (POINTER(c_int),),
    "SCR_Restart_file": (c_int, c_char_p, POINTER(c_int)),
    "SCR_Datasets": (POINTER(c_int),),
    "SCR_Dataset": (
        c_int,
        c_char_p,
        POINTER(c_int),
        POINTER(c_int),
        POINTER(c_double),
        POINTER(c_double),
    ),
    "SCR_Should_exit": (POINTER(c_int),),
    "SCR_Current": (c_char_p,),
    "SCR_Delete": (c_char_p,),
    "SCR_Drop": (c_char_p,),
    "SCR_Get_version": (),
    "SCR_Last_error": (c_char_p,),
}
RESULTS: Dict[str, Any] = {
    "SCR_Config": c_void_p,
    "SCR_Config_comm": c_void_p,
    "SCR_Get_version": c_char_p,
}


class Error(RuntimeError):
    """A call of SCR that failed.

    code       a number, one of scr.E_*; after a collective call the same on all processes
    name       its name, such as "SCR_E_INVALID" (scr_errors(7))
    str(error) the line that the library says: what is wrong, where it came from, what to do
    """

    __module__ = "scr"

    def __init__(self, code: int, text: str = "") -> None:
        self.code = code
        self.name, meaning = ERRORS.get(code, ("SCR_E_?", "unknown error"))
        self.text = text or meaning
        super().__init__(code, text)

    def __str__(self) -> str:
        return self.text


# --- finding libscr ---


def places() -> List[str]:
    """What to try, in order. Who sets the variable means that one and no other."""
    named = os.environ.get(VARIABLE)
    if named:
        return [os.path.join(named, SONAME) if os.path.isdir(named) else named]
    here = Path(__file__).resolve().parent
    try:
        beside = (here / BESIDE).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return [SONAME]  # the dynamic linker knows
    return [os.path.normpath(here / beside), SONAME]


def load() -> CDLL:
    """libscr of this package's version, its calls declared."""
    reasons: List[str] = []
    for place in places():
        try:
            return declared(CDLL(place), place)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError(f"no libscr: {'; '.join(reasons)}; set {VARIABLE} to the path of {SONAME}")


def declared(library: CDLL, place: str) -> CDLL:
    try:
        for name, arguments in ARGUMENTS.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = RESULTS.get(name, c_int)
    except AttributeError:
        raise ImportError(f"{place} is not libscr {VERSION}: it has no {name}") from None
    version = os.fsdecode(library.SCR_Get_version())
    if version.split(".", maxsplit=1)[0] != MAJOR:
        raise ImportError(f"{place} is version {version}; this package needs {MAJOR}.*")
    return library


# --- one MPI ---


def first_line(text: str) -> str:
    """Of what MPI_Get_library_version says, the part that a person needs."""
    return " ".join(text.strip("\0 \n").split("\n")[0].split(",")[0].split())


class Library:
    """The calls of libscr."""

    def __init__(self) -> None:
        self.lib = load()
        self.free = CDLL(None).free
        self.free.argtypes = (c_void_p,)
        self.free.restype = None
        self.mpi_is_one = False  # mpi4py is loaded, and with the same MPI

    def mpi_version(self) -> str:
        """What the MPI says that libscr is linked with; possible before MPI_Init."""
        buffer, length = create_string_buffer(16384), c_int()
        self.lib.MPI_Get_library_version(buffer, byref(length))
        return os.fsdecode(buffer.value)

    def check_mpi(self) -> None:
        """Two MPIs in one process crash sooner or later, so none of libscr's calls is made.
        mpi4py may come in at any time: it is looked for until it is there."""
        mpi4py = sys.modules.get("mpi4py.MPI")
        if mpi4py is None:
            return
        ours, theirs = self.mpi_version(), mpi4py.Get_library_version()
        if ours.strip("\0 \n") != theirs.strip("\0 \n"):
            raise Error(
                E_MPI,
                f"{self.lib._name} uses {first_line(ours)} and mpi4py {first_line(theirs)}: "
                f"set {VARIABLE} to a libscr built with the MPI of mpi4py, or use another mpi4py",
            )
        self.mpi_is_one = True

    def mpi_is_up(self) -> bool:
        up, down = c_int(), c_int()
        self.lib.MPI_Initialized(byref(up))
        self.lib.MPI_Finalized(byref(down))
        return bool(up) and not down

    def result(self, name: str, *arguments: Any) -> int:
        """Makes the call and returns its code."""
        if not self.mpi_is_one:
            self.check_mpi()
        return int(getattr(self.lib, name)(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        """Makes the call and raises an Error if it fails."""
        code = self.result(name, *arguments)
        if code != 0:
            raise self.last_error(code)

    def last_error(self, code: Optional[int] = None) -> Error:
        text = create_string_buffer(MAX_FILENAME)
        last = self.lib.SCR_Last_error(text)
        return Error(last if code is None else code, os.fsdecode(text.value))

    def config(self, name: str, *arguments: Any) -> Optional[str]:
        """SCR_Config or SCR_Config_comm: no code is returned, and the answer is ours to free."""
        if not self.mpi_is_one:
            self.check_mpi()
        answer = getattr(self.lib, name)(*arguments)
        if answer is None:
            error = self.last_error()
            if error.code != 0:
                raise error
            return None
        try:
            return os.fsdecode(string_at(answer))
        finally:
            self.free(answer)
