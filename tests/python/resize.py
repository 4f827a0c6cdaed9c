#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbers in blocks, one block a process, whose checkpoints any number of processes can read.

    resize.py UNTIL        goes on to step UNTIL from what is there, and checkpoints every ten steps

Rank 0 says where it started; field.bin holds the numbers at the end, which depend neither on the
number of processes nor on restarts."""
import os
import struct
import sys
from typing import Dict, List, Tuple

from tiny_mpi import world

import scr

NUMBERS = 101
MODULUS = 2**31 - 1


def share(ranks: int, rank: int) -> Tuple[int, int]:
    """The numbers of a process: the first, and the one behind the last."""
    return NUMBERS * rank // ranks, NUMBERS * (rank + 1) // ranks


def save(path: str, step: int, first: int, numbers: List[int]) -> None:
    with open(path, "wb") as f:
        f.write(struct.pack(f"<qqq{len(numbers)}q", step, first, len(numbers), *numbers))


def load(path: str) -> Tuple[int, Dict[int, int]]:
    """The step, and the numbers of one file by their place."""
    with open(path, "rb") as f:
        content = f.read()
    step, first, n = struct.unpack_from("<qqq", content)
    return step, dict(enumerate(struct.unpack_from(f"<{n}q", content, 24), first))


def read(checkpoint: scr.restart, first: int, end: int) -> Tuple[int, List[int]]:
    """What this process needs, from whatever files have it; KeyError: nobody wrote it."""
    known: Dict[int, int] = {}
    steps = set()
    files = checkpoint.files()
    if sorted(writer for _, writer in files) != list(range(checkpoint.ranks)):
        raise ValueError(f"files of {checkpoint.ranks} processes: {files}")
    for file, writer in files:
        theirs = share(checkpoint.ranks, writer)
        if theirs[0] < end and first < theirs[1]:
            step, numbers = load(checkpoint.route(file))
            steps.add(step)
            known.update(numbers)
    (step,) = steps
    return step, [known[i] for i in range(first, end)]


def main() -> None:
    until = int(sys.argv[1])
    mpi = world("ctypes")
    first, end = share(mpi.size, mpi.rank)
    step, numbers = 0, list(range(first, end))
    scr.config("SCR_RESTART_ANY_RANKS=1")
    scr.init()
    if name := scr.have_restart():
        ranks = scr.restart_ranks()
        with scr.restart() as checkpoint:
            if ranks == mpi.size:
                step, mine = load(checkpoint.route(f"{name}/block.{mpi.rank}"))
                numbers = list(mine.values())
            else:
                step, numbers = read(checkpoint, first, end)
        if mpi.rank == 0:
            print(f"{name} of {ranks} processes, read by {mpi.size}")
    while step < until:
        numbers = [(n * 48271 + step) % MODULUS for n in numbers]
        step += 1
        if step % 10 == 0:
            with scr.output(f"numbers.{step}") as out:
                save(out.route(f"numbers.{step}/block.{mpi.rank}"), step, first, numbers)
    fd = os.open("field.bin", os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, struct.pack(f"<{len(numbers)}q", *numbers), 8 * first)
    os.close(fd)
    scr.finalize()
    mpi.finalize()


main()
