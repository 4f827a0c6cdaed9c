# SPDX-License-Identifier: BSD-3-Clause
"""What the scenarios share: the test bed with what was built, and a solver to run on it.

    with scenario.bed() as bed:
        job = Solver(bed, "spare", SCR_COPY_TYPE="XOR")
        job.hold(("compute", 3))
        run = job.salloc(5, "scr_srun", "-N4", job.program)
        job.wait_phase("compute", 3)
        bed.crash("n2")
        assert run.wait() == 0
        job.check_result()

A scenario is a program that ends with 0, with 77 if this machine cannot have a bed, else with a
trace of what was not as it should be, after the logs.
"""
import contextlib
import glob
import os
import sys

import nfs
from bed import Bed, wait_for, why_not

BUILD, BIN, MPI, HEAT2D, FINALIZE = (
    os.environ["SCR_TEST_" + name] for name in ("BUILD", "BIN", "MPI", "HEAT2D", "FINALIZE"))
MPIRUN = f"mpirun.{MPI}"
PRELOAD = f"LD_PRELOAD={FINALIZE} " if MPI == "mpich" else "" # in front of a program, in a shell
SKIPPED = 77


@contextlib.contextmanager
def bed(make=Bed, **how):
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    if "SCR_TEST_NFS" in os.environ:
        make = nfs.NfsBed
    with make(shared=[BUILD], path=[BIN], mpi=MPI, **how) as it:
        try:
            yield it
        except BaseException:
            print_logs(it)
            raise


def print_logs(it):
    for path in sorted(glob.glob(f"{it.logs}/*") + glob.glob(f"{it.pfs}/*/phases")):
        with open(path, errors="replace") as f:
            print(f"--- {os.path.relpath(path, it.state)}\n{''.join(f.readlines()[-40:])}", flush=True)


class Solver:
    """heat2d with SCR in a prefix directory of its own; settings are those of SCR. Its result, in the
    file field, does not depend on how often it was restarted. program: what to launch."""
    command = "heat2d"  # what its processes are called

    def __init__(self, it, name, steps=60, every=10, sleep_ms=30, **settings):
        self.bed, self.name, self.steps = it, name, steps
        self.dir = it.directory(f"pfs/{name}")
        self.field, self.phase_file = f"{self.dir}/field", f"{self.dir}/phases"
        self.settings = {"SCR_PREFIX": self.dir, "SCR_PHASE_FILE": self.phase_file, "SCR_DEBUG": "1", **settings}
        self.program = it.write(f"pfs/{name}/solver", "#!/bin/sh\n"
                                f"{PRELOAD}exec {HEAT2D} --steps {steps} --every {every} --sleep-ms {sleep_ms}"
                                f" --output {self.field}\n", 0o755)

    def start(self, node, *command):
        """Runs a command with the settings; its output is self.said()."""
        return self.bed.start(node, *command, log=f"{self.name}.out", cwd=self.dir, **self.settings)

    def salloc(self, nodes, *command, minutes=15):
        """The same in an allocation that outlives its nodes; the command runs on the head."""
        self.bed.resume_drained()
        return self.start("head", "salloc", "--quiet", "--no-kill", f"--nodes={nodes}",
                          f"--time={minutes}", f"--job-name={self.name}", *command)

    def sbatch(self, nodes, *command, minutes=15, signal=None):
        """The same, but the command runs on the first node of the allocation."""
        self.bed.resume_drained()
        return self.start("head", "sbatch", "--quiet", "--wait", "--no-kill", f"--nodes={nodes}",
                          f"--time={minutes}", f"--job-name={self.name}", *([f"--signal={signal}"] if signal else []),
                          f"--output={self.bed.logs}/{self.name}.out", "--open-mode=append",
                          f"--wrap={' '.join(command)}")

    def scr_srun(self, nodes, ranks=4, minutes=15):
        """scr_srun in an allocation: one rank a node, the others are spares."""
        return self.salloc(nodes, "scr_srun", f"-N{ranks}", f"-n{ranks}", "./solver", minutes=minutes)

    def scr_mpirun(self, nodes, ranks=4):
        """The same with mpirun and a list of hosts, without a manager."""
        self.settings.update(SCR_JOB_ID=self.name, SCR_NODELIST=f"n[1-{nodes}]", SCR_MIN_NODES=str(ranks))
        return self.start("head", "scr_run", MPIRUN, "-n", str(ranks), "./solver")

    def processes(self, node):
        return self.bed.run(node, "pgrep", self.command, check=False).stdout.split()

    def used(self):
        """The nodes that run the solver: srun takes any of those it was given."""
        return [name for name in self.bed.names if name in self.bed.nodes and self.processes(name)]

    def said(self):
        with open(f"{self.bed.logs}/{self.name}.out", errors="replace") as f:
            return f.read()

    def phases(self):
        """Entered so far: (phase, dataset) …"""
        if not os.path.exists(self.phase_file):
            return []
        with open(self.phase_file) as f:
            return [(phase, int(dataset)) for phase, dataset in (line.split() for line in f)]

    def hold(self, *entries):
        """The job is to wait in these entries, (phase, number) …, for what is done to it there."""
        path = f"{self.phase_file}.hold"
        with open(f"{path}.new", "w") as f:
            f.writelines(f"{phase} {number}\n" for phase, number in entries)
        os.rename(f"{path}.new", path)

    def release(self):
        self.hold()

    def wait_phase(self, phase, entry=1):
        """Until the phase was entered that often; returns the dataset of that entry."""
        def entered():
            found = [dataset for name, dataset in self.phases() if name == phase]
            return found[entry - 1:entry]
        return wait_for(f"phase {phase}, {entry}", entered)[0]

    def restarts(self):
        """The datasets that runs went on from."""
        return [dataset for name, dataset in self.phases() if name == "restart"]

    def check_result(self):
        expected = f"{self.bed.pfs}/field.{self.steps}"
        if not os.path.exists(expected):
            self.bed.run("head", MPIRUN, "-n", "1", HEAT2D, "--steps", str(self.steps), "--every", str(self.steps),
                         "--output", expected, SCR_ENABLE="0")
        with open(expected, "rb") as a, open(self.field, "rb") as b:
            assert a.read() == b.read(), f"{self.field} differs from that of an undisturbed run"

