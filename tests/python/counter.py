#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program for `scr drill` that needs no mpi4py: numbers that all processes stir together, with
checkpoints by the plain calls.

    counter.py STEPS EVERY        writes field.bin, which does not depend on restarts
"""
import os
import struct
import sys
import time

from tiny_mpi import world

import scr

MODULUS = 2**31 - 1


def stir(value: int, largest: int) -> int:
    return (value * 48271 + largest + 1) % MODULUS


def save(file: str, step: int, value: int) -> bool:
    try:
        with open(scr.route_file(file), "wb") as f:
            f.write(struct.pack("<qq", step, value))
        return True
    except (OSError, scr.Error):
        return False


def main() -> None:
    steps, every = int(sys.argv[1]), int(sys.argv[2])
    mpi = world("ctypes")
    scr.init()
    step, value = 0, mpi.rank + 1
    while scr.have_restart():
        name = scr.start_restart()
        valid, loaded = True, b""
        try:
            with open(scr.route_file(f"{name}/{mpi.rank}.bin"), "rb") as f:
                loaded = f.read()
        except (OSError, scr.Error):
            valid = False
        if scr.complete_restart(valid and len(loaded) == 16):
            step, value = struct.unpack("<qq", loaded)
            break
    while step < steps:
        value = stir(value, mpi.max(value))
        step += 1
        time.sleep(0.005)
        if step % every == 0:
            scr.start_output(f"count.{step}", scr.FLAG_CHECKPOINT)
            scr.complete_output(save(f"count.{step}/{mpi.rank}.bin", step, value))
    fd = os.open("field.bin", os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, struct.pack("<q", value), 8 * mpi.rank)
    os.close(fd)
    scr.finalize()
    mpi.finalize()


main()
