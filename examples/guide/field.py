# SPDX-License-Identifier: BSD-3-Clause
"""Adds up a field, and continues where it was stopped."""
from mpi4py import MPI                          # initialises and finalises MPI
import numpy as np
import scr

rank = MPI.COMM_WORLD.rank
step, field = 0, np.zeros(1000)

scr.init()
while name := scr.have_restart():               # the newest first, then older ones
    try:
        with scr.restart() as checkpoint:
            loaded = np.load(checkpoint.route(f"{name}/field_{rank}.npy"))
        step, field = int(name.split(".")[1]), loaded
        break
    except (OSError, ValueError, scr.Error):
        pass                                    # some process could not read it

while step < 1000 and not scr.should_exit():
    step += 1
    field += rank + step                        # compute
    if scr.need_checkpoint():
        name = f"step.{step}"
        with scr.output(name, scr.FLAG_CHECKPOINT) as out:
            np.save(out.route(f"{name}/field_{rank}.npy"), field)
scr.finalize()
