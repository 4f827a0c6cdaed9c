#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program printed in README.md, built as it says there, under the batch script for Slurm printed in
doc/guide/running.md: given to sbatch as it is, it loses a node and continues from its newest checkpoint."""
import os
import re

import scenario
from bed import HERE

# What other programs have preloaded here.
MORE = f"{scenario.FINALIZE} -Wl,-rpath,{os.path.dirname(scenario.FINALIZE)}" if scenario.MPI == "mpich" else ""
ROOT = os.path.dirname(os.path.dirname(HERE))


def read(*names):
    with open(os.path.join(ROOT, *names)) as f:
        return f.read()


def program():
    return re.search(r"```c\n(.*?)```", read("README.md"), re.S).group(1)


def compile_line():
    return re.search(r"^(mpicc quickstart\.c .*)$", read("README.md"), re.M).group(1)


def batch_script():
    block = re.search(r"^Slurm:\n\n((?:    .*\n|\n)*)", read("doc", "guide", "running.md"), re.M).group(1)
    return re.sub(r"^    ", "", block, flags=re.M)


class Printed(scenario.Solver):
    """In $SCRATCH/run1, where the script goes; only what a test needs besides is in the environment of sbatch."""
    command = "my_job"

    def __init__(self, bed):
        self.bed, self.name = bed, "run1"
        self.dir = bed.directory("pfs/run1")
        self.phase_file = f"{self.dir}/phases"
        self.home = bed.directory("home")
        self.settings = {"SCRATCH": bed.pfs, "SCR_PHASE_FILE": self.phase_file,
                         "PATH": f"{self.home}/scr/bin:{bed.environment['PATH']}", "SCR_RUN_SLEEP": "1"}

    def build(self):
        self.bed.write("bin/mpicc", f"#!/bin/sh\nexec mpicc.{scenario.MPI} \"$@\" {MORE}\n", 0o755)
        self.bed.run("head", "cmake", "--install", scenario.BUILD, "--prefix", f"{self.home}/scr")
        self.bed.write("pfs/run1/quickstart.c", program())
        self.bed.run("head", "sh", "-ec", f"{compile_line()}\nmv a.out my_job", cwd=self.dir)

    def submit(self):
        script = self.bed.write("home/script", batch_script(), 0o755)
        return self.bed.start("head", "sbatch", "--quiet", "--wait", f"--output={self.bed.logs}/{self.name}.out",
                              script, log="run1.sbatch", cwd=self.home, **self.settings)


def main():
    with scenario.bed(notice=15) as bed:
        job = Printed(bed)
        job.build()
        job.hold(("compute", 5))
        run = job.submit()
        newest = job.wait_phase("compute", 5)
        bed.crash(job.used()[-1])
        assert run.wait() == 0, job.said()
        assert job.restarts() == [newest], job.phases()
        with open(f"{job.dir}/step.100/rank_7.txt") as f:
            assert f.read() == "100 5050\n"
        listed = bed.run("head", f"{job.home}/scr/bin/scr_index", "--prefix", job.dir).stdout
        assert re.search(r"YES.*step\.100$", listed, re.M), listed


main()
