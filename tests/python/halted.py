#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program that `scr halt --checkpoints 1` ends, with output that Python has buffered."""
from tiny_mpi import world

import scr

mpi = world("ctypes")
scr.init()
print(f"rank {mpi.rank} was here")
with scr.output("last") as out:
    with open(out.route(f"last/{mpi.rank}"), "w", encoding="utf-8") as f:
        f.write("state")
print("not reached")
