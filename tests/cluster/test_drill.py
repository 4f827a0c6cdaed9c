#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr drill in a job of four nodes takes place on the node where it was started, as outside of a job, and says so.
Nothing is left on any node."""
import json
import re

import scenario

DRILL = ("scr", "drill", "--nodes", "4", "--ranks", "4", "--timeout", "120")


def program(bed):
    return bed.write("pfs/solver", f"#!/bin/sh\n{scenario.PRELOAD}exec {scenario.HEAT2D} --steps 60 --every 10 --sleep-ms 5 "
                     "--output field.bin\n", 0o755)


def check_nothing_left(bed):
    for name in ["head", *bed.names]:
        found = bed.run(name, "find", "/tmp", "/dev/shm", "-maxdepth", "1", "-name", "scr-drill.*").stdout
        assert found == "", (name, found)
        assert bed.run(name, "pgrep", "heat2d", check=False).stdout == "", name


def drill(bed, launched, *options, status=0):
    """Standard output of a drill below Slurm's command `launched`."""
    done = bed.run("head", *launched, *DRILL, *options, "--", program(bed), check=False)
    print(done.stdout + done.stderr, flush=True)
    assert done.returncode == status, (launched, options, done)
    check_nothing_left(bed)
    return done.stdout + done.stderr


def node_of(said):
    assert "verdict: PASSED" in said
    return re.search("^drill: job [0-9]+ of SLURM: all processes run on this node, (.*), and no real node is lost",
                     said, re.MULTILINE).group(1)


def main():
    with scenario.bed(count=4) as bed:
        allocation = ("salloc", "--quiet", "-N4")
        step = ("srun", "-N1", "-n1")
        assert node_of(drill(bed, allocation)) == "head"  # Slurm starts the command of salloc where salloc is
        assert node_of(drill(bed, (*allocation, *step, "-w", "n3"), "--during", "flush")) == "n3"
        verdict = json.loads(drill(bed, (*allocation, *step), "--rounds", "3", "--seed", "7", "--json"))
        assert verdict["passed"] and verdict["done"] == 3, verdict

        # srun starts processes as part of the job only.
        said = drill(bed, allocation, "--mpirun", "srun", status=2)
        assert re.search(r"error: --mpirun srun: starts processes on the nodes of job \d+, n\[1-4\]; ", said), said
        said = drill(bed, ("salloc", "--quiet", "-N1"), "--mpirun", "srun", status=2)
        assert re.search("; all of a drill runs on this node, head: ", said), said


main()
