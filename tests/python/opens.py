# SPDX-License-Identifier: BSD-3-Clause
"""A routed file that all processes open together by mpi4py: it is refused, not waited in for ever."""
from mpi4py import MPI
import scr

comm = MPI.COMM_WORLD
scr.init()
scr.start_output("all", scr.FLAG_CHECKPOINT)
path = scr.route_file("all.dat")
try:
    MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    print("opened")
except MPI.Exception as error:
    print("refused" if error.Get_error_class() == MPI.ERR_NOT_SAME else error)
print("complete" if scr.complete_output(True) else "dropped")
scr.finalize()
