#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that share a prefix directory: commands on two of them edit its index and its halt file beside a job on two
others, and no update is lost (tests/crash/contention.py); a lock holds on all, and ends with the node that holds it;
a node reads what another one has just replaced."""
import itertools
import os
import sys

import scenario
from bed import wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crash"))
import contention  # noqa: E402

CHECKPOINTS, ROUNDS = 10, 6
LOCK = "import fcntl, sys, time; f = open('lock', 'a'); fcntl.lockf(f, fcntl.LOCK_EX{}); print('held', flush=True){}"
HOLD, TRY, TAKE = (LOCK.format("", "; time.sleep(999)"), LOCK.format(" | fcntl.LOCK_NB", ""), LOCK.format("", ""))
# Replaces the file again and again; a reader sees a number, and none that is older than one it has seen. What was replaced
# while it was open is stale, and opened again, as scr_file_load does.
WRITER = ("for n in $(seq 100); do echo $n >state.new && mv state.new state; done")
READER = ("last=0; while [ $last -lt 100 ]; do n=$(cat state 2>why) || grep -q Stale why || exit 3; "
          "[ \"${n:-$last}\" -ge $last ] || exit 4; last=${n:-$last}; done")


class Job:
    """What contention.py wants of one, on the nodes n3 and n4."""
    def __init__(self, bed, name):
        self.bed, self.prefix = bed, bed.directory(f"pfs/{name}")
        self.ledger = f"{self.prefix}/ledger"

    def start(self, count):
        loop = f"{scenario.PRELOAD}exec {scenario.BUILD}/tests/crash/ckpt_loop"
        program = self.bed.write("pfs/loop", f'#!/bin/sh\n{loop} "$@"\n', 0o755)
        self.job = self.bed.start("head", "srun", "-N2", "-n2", "-w", "n3,n4", program, self.ledger, str(count), "2000",
                                  log="clients.out", cwd=self.prefix, SCR_PREFIX=self.prefix, SCR_FLUSH="1")

    def wait(self):
        self.job.wait()

    def done(self):
        if not os.path.exists(self.ledger):
            return []
        with open(self.ledger) as f:
            return [int(line.split()[1]) for line in f if line.startswith("done")]

    def scr(self, node):
        return lambda *words: self.bed.run(node, "scr", *words, cwd=self.prefix, check=False)


def contend(bed):
    job = Job(bed, "contend")
    wrong = contention.contend(job, itertools.cycle([job.scr("n1"), job.scr("n2")]), CHECKPOINTS, ROUNDS)
    assert not wrong, "\n".join(wrong)


def python(bed, node, program, **how):
    return bed.run(node, sys.executable, "-c", program, check=False, **how)


def locks(bed):
    """A silent node keeps its lock until the server takes it for dead."""
    holder = bed.start("n1", sys.executable, "-c", HOLD, log="holder.out")
    wait_for("a lock", lambda: os.path.getsize(holder.log))
    assert "held" not in python(bed, "n2", TRY).stdout
    bed.power_off("n1")
    assert "held" in python(bed, "n2", TAKE).stdout


def replaces(bed):
    bed.write("pfs/state", "0\n")
    writer = bed.start("n3", "sh", "-c", WRITER, log="writer.out")
    reader = bed.run("n2", "sh", "-c", READER, check=False)
    assert (reader.returncode, writer.wait()) == (0, 0), (reader, open(writer.log).read())


def heeds(bed):
    """A condition that another node sets where there was no halt file counts from the next checkpoint on."""
    job = Job(bed, "heeds")
    job.start(CHECKPOINTS)
    wait_for("a checkpoint", job.done)
    halts = contention.HaltEditor(job, job.scr("n1"), 0, contention.CONDITIONS[0])
    before = len(job.done())
    halts.call("halt", "--checkpoints=1000")
    after = len(job.done())
    job.wait()
    counted = 1000 - halts.conditions()["CheckpointsLeft"]
    assert CHECKPOINTS - after <= counted <= CHECKPOINTS - before, (counted, before, after)


def main():
    with scenario.bed(count=4) as bed:
        heeds(bed)
        replaces(bed)
        contend(bed)
        locks(bed)


main()
