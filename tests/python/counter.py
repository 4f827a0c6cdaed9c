#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program for `scr drill` that needs no mpi4py: numbers that all processes stir together.

    counter.py STEPS EVERY calls    checkpoints by the plain calls
    counter.py STEPS EVERY with     … by the context managers

writes field.bin, which does not depend on restarts."""
import os
import struct
import sys
import time
from typing import Optional, Tuple

from tiny_mpi import world

import scr

MODULUS = 2**31 - 1


def stir(value: int, largest: int) -> int:
    return (value * 48271 + largest + 1) % MODULUS


def save(path: str, step: int, value: int) -> None:
    with open(path, "wb") as f:
        f.write(struct.pack("<qq", step, value))


def load(path: str) -> Tuple[int, int]:
    with open(path, "rb") as f:
        step, value = struct.unpack("<qq", f.read())
    return step, value


# --- by the plain calls ---


def checkpoint_calls(name: str, file: str, step: int, value: int) -> None:
    scr.start_output(name, scr.FLAG_CHECKPOINT)
    valid = True
    try:
        save(scr.route_file(file), step, value)
    except (OSError, scr.Error):
        valid = False
    scr.complete_output(valid)


def restart_calls(rank: int) -> Optional[Tuple[int, int]]:
    while scr.have_restart():
        name = scr.start_restart()
        state = None
        try:
            state = load(scr.route_file(f"{name}/{rank}.bin"))
        except (OSError, struct.error, scr.Error):
            pass
        if scr.complete_restart(state is not None):
            return state
    return None


# --- by the context managers ---


def checkpoint_with(name: str, file: str, step: int, value: int) -> None:
    try:
        with scr.output(name, scr.FLAG_CHECKPOINT) as out:
            save(out.route(file), step, value)
    except (OSError, scr.Error):
        pass


def restart_with(rank: int) -> Optional[Tuple[int, int]]:
    while name := scr.have_restart():
        try:
            with scr.restart() as old:
                state = load(old.route(f"{name}/{rank}.bin"))
            return state
        except (OSError, struct.error, scr.Error):
            pass
    return None


WAYS = {"calls": (checkpoint_calls, restart_calls), "with": (checkpoint_with, restart_with)}


def main() -> None:
    steps, every = int(sys.argv[1]), int(sys.argv[2])
    checkpoint, restart = WAYS[sys.argv[3]]
    mpi = world("ctypes")
    scr.init()
    step, value = restart(mpi.rank) or (0, mpi.rank + 1)
    while step < steps:
        value = stir(value, mpi.max(value))
        step += 1
        time.sleep(0.005)
        if step % every == 0:
            checkpoint(f"count.{step}", f"count.{step}/{mpi.rank}.bin", step, value)
    fd = os.open("field.bin", os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, struct.pack("<q", value), 8 * mpi.rank)
    os.close(fd)
    scr.finalize()
    mpi.finalize()


main()
