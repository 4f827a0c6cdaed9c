#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program with a fault: after a good checkpoint the last process fails in the next one, and
nobody catches anything. On its second run it reads what is left."""
from mpi4py import MPI

import scr

world = MPI.COMM_WORLD
scr.init()
name = scr.have_restart()
if name is not None:
    with scr.restart() as checkpoint:
        with open(checkpoint.route(f"{name}/{world.rank}"), encoding="utf-8") as f:
            assert f.read() == "good"
    if world.rank == 0:
        print("read", name)
    scr.finalize()
else:
    for name in ("good", "bad"):
        with scr.output(name) as out:
            with open(out.route(f"{name}/{world.rank}"), "w", encoding="utf-8") as f:
                f.write(name)
            if name == "bad" and world.rank == world.size - 1:
                raise ZeroDivisionError("the fault")
    print("not reached")
