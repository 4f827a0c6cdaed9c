# SPDX-License-Identifier: BSD-3-Clause
"""Just enough MPI for the tests: by mpi4py, or by ctypes over the MPI that libscr is linked with.
Debian's mpi4py is made for one MPI, and the package is tested with each."""
import ctypes
import os
from ctypes import byref, c_int, c_void_p
from typing import Union

Handle = Union[c_int, c_void_p]


class Mpi:
    """MPI_COMM_WORLD, from MPI_Init on."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL(os.environ["LIBSCR"])
        rank, size = c_int(), c_int()
        self.lib.MPI_Init(None, None)
        self.world = self.handle("ompi_mpi_comm_world", 0x44000000)
        self.int = self.handle("ompi_mpi_int", 0x4C000405)
        self.op_max = self.handle("ompi_mpi_op_max", 0x58000001)
        self.lib.MPI_Comm_rank(self.world, byref(rank))
        self.lib.MPI_Comm_size(self.world, byref(size))
        self.rank, self.size = rank.value, size.value

    def handle(self, symbol: str, number: int) -> Handle:
        """Open MPI's handles are addresses, MPICH's are numbers."""
        try:
            return c_void_p(ctypes.addressof(c_int.in_dll(self.lib, symbol)))
        except ValueError:
            return c_int(number)

    def comm(self) -> int:
        """What scr.init_comm takes without mpi4py."""
        return int(self.world.value or 0)

    def barrier(self) -> None:
        self.lib.MPI_Barrier(self.world)

    def max(self, value: int) -> int:
        all_of_them = c_int()
        self.lib.MPI_Allreduce(
            byref(c_int(value)), byref(all_of_them), 1, self.int, self.op_max, self.world
        )
        return all_of_them.value

    def finalize(self) -> None:
        self.lib.MPI_Finalize()


class Mpi4py:
    """The same by mpi4py, which initialises and finalises MPI itself."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.op_max = MPI.MAX
        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.rank, self.world.size

    def comm(self) -> object:
        return self.world

    def barrier(self) -> None:
        self.world.Barrier()

    def max(self, value: int) -> int:
        return int(self.world.allreduce(value, op=self.op_max))

    def finalize(self) -> None:
        """Done at the end of the program."""


def world(kind: str) -> Union[Mpi, Mpi4py]:
    return Mpi4py() if kind == "mpi4py" else Mpi()
