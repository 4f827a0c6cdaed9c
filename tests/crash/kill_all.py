#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills all ranks of a checkpointing job at random instants and restarts it.

Each restart must give the newest checkpoint that was acknowledged as complete, or a newer one
that was whole (doc/design/durability.md C4), with every byte right.

usage: kill_all.py MPIRUN PROGRAM KILLS
"""
import sys
import time

from victim import Victim


def main(mpirun, program, kills):
    failed = 0
    acknowledged = 0
    with Victim(mpirun, program, SCR_FLUSH="7") as job:
        for i in range(kills + 1):
            job.start()
            step = job.restarted_from()
            if step is None:
                print(f"run {i}: no restart line in time:\n{job.kill()}")
                return 1
            if step < acknowledged:
                print(f"run {i}: restarted from {step}, but {acknowledged} was complete")
                failed += 1
            if i % 2 == 0:
                job.done_after(step)
            time.sleep(job.rng.uniform(0.0, 0.5))
            said = job.kill()
            if "wrong bytes" in said:
                print(f"run {i}: {said}")
                failed += 1
            acknowledged = max([step] + job.done()[-1:])
        total = max(job.done(), default=0)
    print(f"{kills} kills, {total} checkpoints, {failed} wrong restarts")
    return failed > 0 or total < kills // 2


sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
