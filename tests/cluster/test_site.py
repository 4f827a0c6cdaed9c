#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a site sets up in Slurm: the prolog makes the user's directory, the epilog removes what a job left in the caches
of its nodes and nothing else, scr_groups reads the switches that Slurm knows, and the canary passes."""
import os

import scenario
from bed import Bed, HERE, wait_for

PACKAGING = os.path.join(os.path.dirname(os.path.dirname(HERE)), "packaging", "slurm")
SLURM = """\
Prolog=@STATE@/prolog.sh
PrologFlags=Alloc
Epilog=@STATE@/epilog.sh
TopologyPlugin=topology/tree
"""
TOPOLOGY = """\
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-4]
SwitchName=root Switches=leaf[1-2]
"""
GROUPS = """\
GROUPS=n[1-2] SWITCH=leaf1
GROUPS=n[3-4] SWITCH=leaf2
# 4 nodes in 2 groups
"""
BASE = "/tmp"  # without a configuration


class SiteBed(Bed):
    """Copies the scripts to where slurm.conf has them, with the commands that were built in their PATH."""

    def write_files(self):
        super().write_files()
        for name in ("prolog.sh", "epilog.sh"):
            with open(os.path.join(PACKAGING, name)) as f:
                text = f.read()
            shebang, rest = text.split("\n", 1)
            self.write(name, f"{shebang}\nPATH={scenario.BIN}\n{rest}", 0o755)


def of_user(bed, node):
    return bed.run(node, "sh", "-c", f"stat -c %a {BASE}/root && ls {BASE}/root").stdout.split()


def killed(bed):
    """The job is killed, with checkpoints that are only in its caches."""
    job = scenario.Solver(bed, "killed", SCR_FLUSH="0")
    job.hold(("compute", 3))
    run = job.sbatch(4, "srun", "-N4", "-n4", "./solver")
    job.wait_phase("compute", 3)
    (number,) = bed.run("head", "squeue", "-h", "-o", "%i").stdout.split()
    for node in bed.names:
        assert of_user(bed, node) == ["700", f"scr.{number}"], of_user(bed, node)
        bed.run(node, "mkdir", f"{BASE}/root/scr.{number}1")
    bed.run("head", "scancel", number)
    run.wait()
    for node in bed.names:
        wait_for(f"{node} is clean", lambda: of_user(bed, node) == ["700", f"scr.{number}1"])
    states = bed.run("head", "sinfo", "-h", "-N", "-t", "drain", "-o", "%N").stdout
    assert states == "", f"drained: {states}"


def switches(bed):
    assert bed.run("head", "scr_groups", "--slurm").stdout == GROUPS
    assert bed.run("head", "scr_groups", "--file", "/etc/slurm/topology.conf").stdout == GROUPS


def canary(bed):
    """The job to run after updates passes, and leaves nothing."""
    where, said = bed.directory("pfs/canary"), f"{bed.logs}/canary.out"
    solver = bed.write("bin/heat2d", f'#!/bin/sh\n{scenario.PRELOAD}exec {scenario.HEAT2D} "$@"\n', 0o755)
    done = bed.run("head", "sbatch", "--wait", "--quiet", f"--output={said}", os.path.join(PACKAGING, "canary.sh"),
                   where, solver, check=False)
    with open(said) as f:
        assert done.returncode == 0 and f.read().endswith("canary: passed\n")
    assert os.listdir(where) == [], os.listdir(where)


def first_node_dies(bed):
    """The batch script dies with it, and Slurm leaves the allocation as it is: what is in cache can be saved from
    outside."""
    job = scenario.Solver(bed, "first", SCR_FLUSH="0")
    job.hold(("compute", 3))
    run = job.sbatch(4, "scr_srun", "-N4", "-n4", "./solver")
    newest = job.wait_phase("compute", 3)
    number, host = bed.run("head", "squeue", "-h", "-o", "%i %B").stdout.split()
    bed.crash(host, notify=True)
    left = bed.run("head", "squeue", "-h", "-o", "%N").stdout.strip()
    saved = job.start("head", "env", f"SLURM_JOB_ID={number}", f"SLURM_JOB_NODELIST={left}", "scr_postrun")
    assert saved.wait() == 0, job.said()
    assert f"dataset {newest} (heat2d.step.{10 * newest}): complete in" in job.said(), job.said()
    assert bed.run("head", "squeue", "-h", "-o", "%T").stdout == "RUNNING\n"
    bed.run("head", "scancel", number)
    run.wait()
    bed.revive(host)


def main():
    with scenario.bed(SiteBed, count=4, slurm=SLURM, topology=TOPOLOGY) as bed:
        switches(bed)
        canary(bed)
        killed(bed)
        first_node_dies(bed)


if __name__ == "__main__":
    main()
