#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_srun in an allocation: what it does when nodes die, programs fail or hang, and which nodes it uses."""
import os

import scenario
from bed import wait_for

SETTINGS = {"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2", "SCR_RUNS": "3", "SCR_RUN_SLEEP": "1"}
LAUNCH = ("scr_srun", "-N4", "-n4", "./solver")


def node_dies(bed):
    """In a batch script, which runs on n1: the dead node is left out, the spare takes part, and the program is
    told what it goes on from. Slurm has to find out by itself."""
    job = scenario.Solver(bed, "spare", **SETTINGS)
    job.hold(("compute", 2))
    run = job.sbatch(5, *LAUNCH[:-1], "-rc", "./solver", "-rs", "'./solver SCR_CKPT_NAME'")
    last = job.wait_phase("compute", 2)
    node = job.used()[-1]
    bed.crash(node)
    assert run.wait() == 0
    assert f"./solver heat2d.step.{10 * last}\n" in job.said(), job.said()
    assert job.restarts() == [last], job.phases()
    job.check_result()
    bed.revive(node)


def program_fails(bed):
    """SCR_RUNS times, then its status is the status."""
    job = scenario.Solver(bed, "fails", **dict(SETTINGS, SCR_RUN_SLEEP="0"))
    run = job.salloc(1, "scr_srun", "-n1", "sh", "-c", "echo once more; exit 3")
    assert run.wait() == 3
    assert job.said().count("\nonce more\n") == 3, job.said()


def program_hangs(bed):
    job = scenario.Solver(bed, "hangs", SCR_WATCHDOG="1", SCR_WATCHDOG_TIMEOUT="30", **SETTINGS)
    job.hold(("compute", 2))
    run = job.salloc(5, *LAUNCH)
    last = job.wait_phase("compute", 2)
    node = job.used()[-1]
    bed.run(node, "kill", "-STOP", *job.processes(node))
    job.release()
    assert run.wait() == 0
    assert job.restarts() == [last], job.phases()
    job.check_result()


def nodes_that_are_used(bed):
    """Not one that is excluded, drained or full."""
    job = scenario.Solver(bed, "choice", SCR_EXCLUDE_NODES="n1", SCR_MIN_NODES="2", **SETTINGS)
    bed.run("n4", "dd", "if=/dev/zero", "of=/tmp/waste", "bs=1M", check=False)
    run = job.salloc(5, "sh", "-c", "touch began; while ! test -e go; do sleep 0.1; done; "
                     "scr_srun -N2 -n2 hostname")
    wait_for("the allocation", lambda: os.path.exists(f"{job.dir}/began"))
    bed.run("head", "scontrol", "update", "nodename=n3", "state=drain", "reason=noisy")
    bed.run("head", "touch", f"{job.dir}/go")
    assert run.wait() == 0
    assert sorted(line for line in job.said().split("\n") if line in bed.names) == ["n2", "n5"], job.said()
    bed.run("head", "scontrol", "update", "nodename=n3", "state=resume")
    bed.run("n4", "rm", "/tmp/waste")


def main():
    with scenario.bed(size="64m", notice=15) as bed:
        for case in (program_fails, nodes_that_are_used, program_hangs, node_dies):
            case(bed)


main()
