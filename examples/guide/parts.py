# SPDX-License-Identifier: BSD-3-Clause
"""Reads a checkpoint that was written by any number of processes."""
from mpi4py import MPI
import numpy as np
import scr

world = MPI.COMM_WORLD
scr.config("SCR_RESTART_ANY_RANKS=1")
scr.init()
name = scr.have_restart()
if name is None:
    name = "parts.1"
    with scr.output(name) as out:
        np.save(out.route(f"{name}/field_{world.rank}.npy"), np.ones(10))
else:
    with scr.restart() as checkpoint:
        if checkpoint.ranks == world.size:          # each process has its own
            parts = [np.load(checkpoint.route(f"{name}/field_{world.rank}.npy"))]
        else:
            parts = [np.load(checkpoint.route(file)) for file, writer in checkpoint.files()
                     if writer % world.size == world.rank]
    print("sum", sum(part.sum() for part in parts))
scr.finalize()
