# SPDX-License-Identifier: BSD-3-Clause
"""Goes on without SCR, and without a checkpoint that could not be written."""
from mpi4py import MPI
import numpy as np
import scr

field = np.zeros(1000)
name = "step.1"
file = f"{name}/field_{MPI.COMM_WORLD.rank}.npy"

try:
    scr.init()
except scr.Error:
    print("going on without checkpoints")  # SCR has said why

try:
    with scr.output(name) as out:
        np.save(out.route(file), field)
except (OSError, scr.Error) as error:
    print("going on without", name, error)
scr.finalize()
