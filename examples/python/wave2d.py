#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The 2-D wave equation with mpi4py and numpy, with checkpoints through SCR.

    mpirun -n 4 python3 -m mpi4py wave2d.py --steps 400 --every 40 --output field.npy

A square membrane, held at its edges and struck off its middle, is cut into strips of rows, one a
process. Every value of the next step depends on the two last steps only and is computed the same
way whoever does it, so the result has the same bits whatever the number of processes and however
often the run was stopped and restarted. README.md beside this file walks through it.
"""
import argparse
import sys
import time
from dataclasses import dataclass
from typing import Tuple

import numpy as np
from mpi4py import MPI

import scr

world = MPI.COMM_WORLD
COURANT2 = 0.25  # (speed · time step / mesh width)², stable below 0.5


def say(text: str) -> None:
    """One line, from one process, now."""
    if world.rank == 0:
        print(f"wave2d: {text}", flush=True)


def tell(what: str, error: Exception) -> None:
    """From the process that knows: where another failed, SCR only says that one did."""
    if world.rank == 0 or not isinstance(error, scr.Error):
        print(f"wave2d: process {world.rank}: {what}: {error}", flush=True)


def share(size: int, rank: int) -> Tuple[int, int]:
    """First row and number of rows of a process."""
    rows, more = divmod(size, world.size)
    return rank * rows + min(rank, more), rows + (rank < more)


@dataclass
class Membrane:
    """A strip of it, with a border of one cell: its displacement at two steps."""

    step: int
    before: np.ndarray
    now: np.ndarray


def struck(size: int) -> Membrane:
    """Step 0: a bump at rest."""
    first, rows = share(size, world.rank)
    y = np.arange(first - 1, first + rows + 1)[:, None] / (size - 1)
    x = np.arange(-1, size + 1)[None, :] / (size - 1)
    bump = np.exp(-200.0 * ((x - 0.4) ** 2 + (y - 0.3) ** 2))
    bump[:, [0, -1]] = 0.0
    bump[y[:, 0] < 0] = 0.0
    bump[y[:, 0] > 1] = 0.0
    return Membrane(0, bump.copy(), bump)


def exchange_borders(field: np.ndarray) -> None:
    up = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
    down = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
    world.Sendrecv(field[1], dest=up, recvbuf=field[-1], source=down)
    world.Sendrecv(field[-2], dest=down, recvbuf=field[0], source=up)


def advance(m: Membrane) -> None:
    exchange_borders(m.now)
    u = m.now
    bend = (u[:-2, 1:-1] + u[2:, 1:-1]) + (u[1:-1, :-2] + u[1:-1, 2:]) - 4.0 * u[1:-1, 1:-1]
    m.before[1:-1, 1:-1] = 2.0 * u[1:-1, 1:-1] - m.before[1:-1, 1:-1] + COURANT2 * bend
    m.before, m.now = m.now, m.before
    m.step += 1


# --- checkpoint and restart ---


def strip_file(dataset: str) -> str:
    """Where its strip would lie if there were no SCR. np.save adds .npy to other names."""
    return f"{dataset}/strip_{world.rank}.npy"


def checkpoint(m: Membrane) -> None:
    dataset = f"wave.step.{m.step}"
    try:
        with scr.output(dataset, scr.FLAG_CHECKPOINT) as out:
            np.save(out.route(strip_file(dataset)), np.stack([m.before, m.now]))
    except (OSError, scr.Error) as error:  # on all processes; older checkpoints remain
        tell(f"going on without {dataset}", error)


def load(path: str, m: Membrane) -> Tuple[np.ndarray, np.ndarray]:
    """What checkpoint() saved; anything else is an error."""
    strip = np.load(path)
    if strip.shape != (2, *m.now.shape) or strip.dtype != m.now.dtype:
        raise ValueError(f"{path} is not a strip of this run")
    return strip[0], strip[1]


def restart(m: Membrane) -> None:
    """Goes on from the newest checkpoint that all processes can read."""
    while dataset := scr.have_restart():
        try:
            with scr.restart() as old:
                strip = load(old.route(strip_file(dataset)), m)
        except (OSError, EOFError, ValueError, scr.Error) as error:
            tell(dataset, error)
            continue  # have_restart() offers an older one
        m.before, m.now = strip
        m.step = int(dataset.rsplit(".", maxsplit=1)[1])
        say(f"restarted from {dataset} at step {m.step}")
        return
    say("starting from step 0")


# --- the run ---


def begin() -> bool:
    """False: the run does its work without checkpoints."""
    try:
        scr.init()
    except scr.Error as error:  # the same on all processes
        say(f"going on without checkpoints: {error}")
        return False
    return True


def run(m: Membrane, steps: int, every: int, pause: float, safe: bool) -> None:
    while m.step < steps and not (safe and scr.should_exit()):
        advance(m)
        time.sleep(pause)
        if safe and m.step < steps and (m.step % every == 0 if every else scr.need_checkpoint()):
            checkpoint(m)


def save_field(m: Membrane, path: str) -> None:
    strips = world.gather(m.now[1:-1, 1:-1])
    if strips is not None:
        np.save(path, np.concatenate(strips))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the 2-D wave equation")
    parser.add_argument("--steps", type=int, default=200, help="time steps in all (200)")
    parser.add_argument("--size", type=int, default=128, help="rows and columns (128)")
    parser.add_argument("--every", type=int, default=20,
                        help="steps between checkpoints (20); 0: SCR decides")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to rest in each step (0)")
    parser.add_argument("--output", help="write the final field there (.npy)")
    return parser.parse_args()


def main() -> None:
    o = options()
    if o.size < world.size:
        sys.exit(f"wave2d: --size {o.size} is less than a row for each of {world.size} processes")
    membrane = struck(o.size)
    safe = begin()
    if safe:
        restart(membrane)
    run(membrane, o.steps, o.every, o.pause, safe)
    if membrane.step == o.steps and o.output:
        save_field(membrane, o.output)
    say(f"{'done' if membrane.step == o.steps else 'stopped'} at step {membrane.step}")
    if safe:
        scr.finalize()


if __name__ == "__main__":
    main()
