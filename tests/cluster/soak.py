#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program that asks SCR_Need_checkpoint, under random failures, against the efficiency that scr plan promised.

    soak.py [--minutes 30] [--mtbf 120] [--seed 1] [--keep DIR]

First a few minutes of calibration: checkpoints, a lost process, a lost node and a lost set, from which scr plan
--prefix has its figures and --restart is known. The plan's settings, with SCR_FLUSH=AUTO and without an interval,
then apply to the soak, in which minutes / mtbf failures come at random instants, in the shares that the plan
assumes: half of them end a process, four tenths lose a node, one tenth two nodes of a set at once, so that only
the prefix has a checkpoint. Efficiency is the steps that count in the end, times the length of a step, by the
time since the first step began. Fails if it is more than 5 points from the promise.

The number of failures is not left to chance, as with a few the error of that alone would be larger.
"""
import argparse
import json
import os
import random
import shutil
import time

import scenario
from bed import wait_for

SLEEPER = os.environ["SCR_TEST_SLEEPER"]
RANKS, STEP_MS, WRITE_MS, BYTES = 4, 2000, 400, 64 << 20
SHARES = (("process", 0.5), ("node", 0.4), ("set", 0.1))
NODES_LOST = {"process": 0, "node": 1, "set": 2}
POINTS = 5


class Sleeper(scenario.Solver):
    command = "sleeper"

    def __init__(self, it, name, **settings):
        super().__init__(it, name, **dict(settings, SCR_DEBUG="1", SCR_RUNS="1000", SCR_RUN_SLEEP="0",
                                        SCR_PREFIX_SIZE="3"))
        it.write(f"pfs/{name}/solver", "#!/bin/sh\n"
                 f"{scenario.PRELOAD}exec {SLEEPER} {self.dir} {STEP_MS} {WRITE_MS} {BYTES}\n", 0o755)

    def progress(self):
        """(time, steps completed) …, of all runs."""
        if not os.path.exists(f"{self.dir}/steps"):
            return []
        with open(f"{self.dir}/steps") as f:
            return [(float(t), int(step)) for t, step in (line.split() for line in f if line.endswith("\n"))]

    def in_use(self):
        """Waits until there are processes on as many nodes as there are ranks."""
        return wait_for("processes", lambda: (used := self.used()) and len(used) == RANKS and used)

    def fail(self, kind, rng):
        """One failure; returns when it was."""
        used = rng.sample(self.in_use(), RANKS)
        at = time.time()
        if kind == "process":
            self.bed.run(used[0], "pkill", "-9", "-o", self.command, check=False)
        else:
            self.bed.crash(*used[:NODES_LOST[kind]], notify=True)
        return at

    def end(self, run):
        self.bed.write(f"pfs/{self.name}/end", "")
        assert run.wait() == 0, self.said()


def restart_time(job, at):
    """From a failure until the next run computes."""
    return wait_for("a restart", lambda: began_after(job, at)) - at


def began_after(job, at):
    steps = job.progress()
    again = [t for (t, step), (_, before) in zip(steps[1:], steps) if t > at and step <= before]
    return again[0] if again else None


def calibrate(bed, rng):
    """The prefix of runs that were measured, and the mean time of a restart."""
    job = Sleeper(bed, "calibration", SCR_CHECKPOINT_SECONDS="4", SCR_FLUSH="2")
    run = job.scr_srun(RANKS + 3)
    times = {}
    for kind, _ in SHARES:
        count = len(job.progress())
        wait_for("steps", lambda: len(job.progress()) > count + 8)
        times[kind] = restart_time(job, job.fail(kind, rng))
    job.end(run)
    print("restart", {kind: round(t, 1) for kind, t in times.items()}, flush=True)
    return job, sum(share * times[kind] for kind, share in SHARES)


def revive_all(bed):
    for name in bed.names:
        if name not in bed.nodes:
            bed.revive(name)


def plan(bed, job, mtbf, restart):
    """What scr plan says of the machine that was measured, and its settings."""
    command = ["scr", "plan", "--prefix", job.dir, "--mtbf", f"{RANKS * mtbf}s", "--restart", f"{restart:.2f}s",
               "--several", "0", "--allocation", "0", "--json"]
    said = json.loads(bed.run("head", *command).stdout)
    print(bed.run("head", *command[:-1], "--explain").stdout, flush=True)
    return said


def settings_of(said):
    """A line of the configuration is a setting, or a descriptor, which goes to the file. The interval is left to
    SCR_Need_checkpoint, and how much to flush to SCR."""
    lines = [line for line in said["config"] if not line.startswith(("SCR_CHECKPOINT_SECONDS", "SCR_FLUSH"))]
    return "\n".join([*lines, "SCR_FLUSH=AUTO", ""])


def draw(rng, seconds, mtbf):
    """(after seconds, kind) …"""
    count = round(seconds / mtbf)
    kinds = [kind for kind, share in SHARES[1:] for _ in range(round(share * count))]
    kinds += ["process"] * (count - len(kinds))
    rng.shuffle(kinds)
    return list(zip(sorted(rng.uniform(0, seconds) for _ in kinds), kinds))


def soak(bed, config, failures, seconds, rng):
    job = Sleeper(bed, "soak")
    bed.write("pfs/soak/.scrconf", config)
    run = job.scr_srun(len(bed.names), minutes=600)
    began = wait_for("the first step", job.progress)[0][0]
    for after, kind in failures:
        time.sleep(max(0, began + after - time.time()))
        job.fail(kind, rng)
        print(f"{time.time() - began:7.1f} s  {kind:8} {job.progress()[-1][1]} steps", flush=True)
    time.sleep(max(0, began + seconds - time.time()))
    ended, step = job.progress()[-1]
    job.end(run)
    return job, step * STEP_MS / 1000 / max(seconds, ended - began)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--mtbf", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="directory for logs and the prefix directories")
    a = parser.parse_args()
    rng = random.Random(a.seed)
    failures = draw(rng, 60 * a.minutes, a.mtbf)
    lost = sum(NODES_LOST[kind] for _, kind in failures)
    with scenario.bed(count=RANKS + max(3, lost), size="400m") as bed:
        try:
            measured, restart = calibrate(bed, rng)
            revive_all(bed)
            said = plan(bed, measured, a.mtbf, restart)
            job, reached = soak(bed, settings_of(said), failures, 60 * a.minutes, rng)
            print(bed.run("head", "scr", "report", "--text", "--prefix", job.dir).stdout)
        finally:
            if a.keep:
                shutil.copytree(bed.pfs, f"{a.keep}/pfs", ignore=shutil.ignore_patterns("step.*"))
                shutil.copytree(bed.logs, f"{a.keep}/log")
    promised = said["efficiency"]
    print(f"{len(failures)} failures in {a.minutes:g} min: promised {100 * promised:.1f} %, "
          f"reached {100 * reached:.1f} %")
    assert abs(reached - promised) <= POINTS / 100


main()
