#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_run with mpirun and a list of hosts, without a manager: programs that fail or hang, nodes that may not be
used, more lost than redundancy carries, no node to spare, a halt from outside, a signal, the end of the allocation."""
import sys
import time

import scenario

SETTINGS = {"SCR_FLUSH": "0", "SCR_RUNS": "3", "SCR_RUN_SLEEP": "0"}


def endless(bed, name, **settings):
    return scenario.Solver(bed, name, steps=5000, sleep_ms=100, **SETTINGS, **settings)


def is_current(bed, job):
    """The newest checkpoint is on the prefix, and current: its number."""
    newest = max(dataset for phase, dataset in job.phases() if phase == "compute")
    listed = bed.run("head", "scr_index", "--prefix", job.dir).stdout.split("\n")
    current = [line for line in listed if line.startswith("*")]
    assert len(current) == 1 and current[0].endswith(f"heat2d.step.{10 * newest}"), listed
    return newest


def program_fails(bed):
    """SCR_RUNS times, then its status is the status; not on n1, which is excluded, nor on n4, which is full."""
    job = scenario.Solver(bed, "fails", **SETTINGS)
    bed.run("n4", "dd", "if=/dev/zero", "of=/tmp/waste", "bs=1M", check=False)
    job.settings.update(SCR_JOB_ID="fails", SCR_NODELIST="n[1-5]", SCR_MIN_NODES="2",
                        SCR_EXCLUDE_NODES="n1")
    run = job.start("head", "scr_run", scenario.MPIRUN, "-n", "1", "sh", "-c", "echo on `hostname`; exit 3")
    assert run.wait() == 3
    assert job.said().count("\non n2\n") == 3, job.said()
    for node, why in (("n1", "listed in SCR_EXCLUDE_NODES"), ("n4", "")):
        assert f"node {node} is left out: {why}" in job.said(), job.said()
    bed.run("n4", "rm", "/tmp/waste")


def program_hangs(bed):
    job = scenario.Solver(bed, "hangs", sleep_ms=100, SCR_WATCHDOG="1", SCR_WATCHDOG_TIMEOUT="40", SCR_CACHE_SIZE="2",
                          **SETTINGS)
    job.hold(("compute", 2))
    run = job.scr_mpirun(5)
    last = job.wait_phase("compute", 2)
    node = job.used()[-1]
    bed.run(node, "kill", "-STOP", *job.processes(node))
    job.release()
    assert run.wait() == 0
    assert job.restarts() == [last], job.phases()
    job.check_result()


def two_of_a_set(bed):
    """The newest checkpoint of the prefix is taken."""
    job = scenario.Solver(bed, "two", **dict(SETTINGS, SCR_FLUSH="2"))
    job.hold(("compute", 3))
    run = job.scr_mpirun(6)
    job.wait_phase("compute", 3)
    bed.crash("n2", "n3")
    assert run.wait() == 0
    assert job.restarts() == [2] and ("fetch", 2) in job.phases(), job.phases()
    job.check_result()
    for name in ("n2", "n3"):
        bed.revive(name)


def no_node_to_spare(bed):
    """What is in cache is saved from the survivors, and rebuilt; the next job goes on from there."""
    job = scenario.Solver(bed, "alone", steps=100, SCR_CACHE_SIZE="2", **SETTINGS)
    job.hold(("compute", 2))
    run = job.scr_mpirun(4)
    job.wait_phase("compute", 2)
    bed.crash("n3")
    assert run.wait() != 0
    assert "needed" in job.said() and job.restarts() == [], job.said()
    newest = is_current(bed, job)
    bed.revive("n3")
    assert job.scr_mpirun(4).wait() == 0
    assert job.restarts() == [newest], job.phases()
    job.check_result()


def told_by_the_owner(bed):
    job = endless(bed, "term")
    run = job.scr_mpirun(4)
    job.wait_phase("compute", 2)
    bed.run("head", "pkill", "-TERM", "-x", "scr_run")
    assert run.wait() == 0
    assert "signal 15: the program stops after its next checkpoint" in job.said(), job.said()
    is_current(bed, job)


def halted(bed):
    job = endless(bed, "halted")
    run = job.scr_mpirun(4)
    job.wait_phase("compute", 2)
    bed.run("n5", "scr_halt", "--prefix", job.dir)
    assert run.wait() == 0
    is_current(bed, job)


def out_of_time(bed):
    """Nobody knows when it ends but SCR_END_TIME."""
    job = endless(bed, "late", SCR_HALT_SECONDS="70", SCR_END_TIME=str(int(time.time()) + 130))
    assert job.scr_mpirun(4).wait() == 0, job.said()
    is_current(bed, job)


CASES = {"time": (program_hangs, out_of_time),
         "nodes": (program_fails, halted, told_by_the_owner, no_node_to_spare, two_of_a_set)}


def main(name):
    with scenario.bed(count=6, size="64m") as bed:
        for case in CASES[name]:
            case(bed)


main(sys.argv[1])
