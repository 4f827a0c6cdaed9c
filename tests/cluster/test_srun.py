#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_srun: a lost node is left out and a spare takes over; without a spare what is left is saved; a program
that hangs or is halted is ended; a drained, an excluded and a full node are not used."""
import time

import scenario

RUNS = {"SCR_RUNS": "3", "SCR_RUN_SLEEP": "1", "SCR_NODE_TIMEOUT": "10"}


def solver(bed, name, **settings):
    return scenario.Solver(bed, name, **{**RUNS, **settings})


def spare(bed):
    job = solver(bed, "spare", SCR_FLUSH="0")
    run = job.salloc(5, "scr_srun", "-N4", "-n4", "./solver")
    last = job.wait_phase("compute", 3)
    bed.crash("n2", notify=True)
    assert run.wait(100) == 0
    assert job.restarts() == [last], job.restarts()
    assert "node n2 is left out" in job.said(), job.said()
    job.check_result()


def down_nodes(bed):
    """n2 is dead by now, and Slurm knows. n3 dies without a word."""
    job = solver(bed, "down", SCR_EXCLUDE_NODES="n4")
    listed = job.start("head", "scr_list_down_nodes", "--reason", "n[1-2,4]")
    assert listed.wait(60) == 1
    assert "n2: " in job.said() and "n4: listed in SCR_EXCLUDE_NODES" in job.said(), job.said()
    script = ("until [ -e go ]; do sleep 0.1; done; date +%s >from; "
              "scr_list_down_nodes --timeout 5 --reason; date +%s >to")
    run = job.salloc(4, "sh", "-c", script)
    time.sleep(1)
    bed.crash("n3", notify=False)
    bed.write(f"pfs/{job.name}/go", "")
    run.wait(60)
    with open(f"{job.dir}/from") as a, open(f"{job.dir}/to") as b:
        assert int(b.read()) - int(a.read()) <= 7
    assert "n3: " in job.said(), job.said()


def no_spare(bed):
    job = solver(bed, "none", SCR_FLUSH="0")
    run = job.salloc(4, "scr_srun", "./solver", minutes=3)
    last = job.wait_phase("compute", 3)
    bed.crash("n4", notify=True)
    assert run.wait(100) != 0
    assert "no run: 3 of 4 nodes are left, 4 are needed" in job.said(), job.said()
    bed.revive("n4")
    assert job.salloc(4, "scr_srun", "./solver").wait(100) == 0
    assert job.restarts() == [last] and ("fetch", last) in job.phases(), job.phases()
    job.check_result()


def hangs(bed):
    job = solver(bed, "hang", SCR_FLUSH="0", SCR_WATCHDOG="1", SCR_WATCHDOG_TIMEOUT="5")
    run = job.salloc(2, "scr_srun", "./solver")
    last = job.wait_phase("compute", 3)
    for node in ("n1", "n2"):
        bed.run(node, "pkill", "-STOP", "heat2d", check=False)
    assert run.wait(100) == 0
    assert "the program hangs" in job.said() and job.restarts()[-1] >= last, job.said()
    job.check_result()


def halted(bed):
    job = solver(bed, "halt", SCR_FLUSH="0", SCR_RUNS="-1")
    run = job.salloc(2, "scr_srun", "./solver")
    last = job.wait_phase("compute", 3)
    bed.run("head", "scr_halt", "--immediate", "--prefix", job.dir)
    assert run.wait(60) != 0
    assert "no other run: exit reason is JOB_HALTED" in job.said(), job.said()
    listed = bed.run("head", "scr_index", "--prefix", job.dir).stdout
    assert f"heat2d.step.{10 * last}" in listed, listed


def drained_and_full(bed):
    """Neither stops the run; both are left out of the next one."""
    job = solver(bed, "drained", SCR_FLUSH="0")
    run = job.salloc(5, "scr_srun", "-N3", "-n3", "./solver")
    job.wait_phase("compute", 2)
    bed.run("head", "scontrol", "update", "nodename=n4", "state=drain", "reason=disk errors")
    bed.run("n5", "dd", "if=/dev/zero", "of=/tmp/full", "bs=1M", check=False)
    bed.run("n1", "pkill", "-9", "heat2d")
    assert run.wait(100) == 0
    bed.run("n5", "rm", "/tmp/full")
    bed.run("head", "scontrol", "update", "nodename=n4", "state=resume")
    assert "node n4 is left out: Slurm says draining: disk errors" in job.said(), job.said()
    assert "node n5 is left out" in job.said() and "no space left" in job.said(), job.said()
    job.check_result()


SCENARIOS = (drained_and_full, spare, down_nodes, no_spare, hangs, halted)


def main():
    with scenario.bed() as bed:
        for run in SCENARIOS:
            run(bed)
            for name in ("n2", "n3"):
                if run is down_nodes:
                    bed.revive(name)


main()
