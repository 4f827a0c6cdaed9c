#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Notice that a job gets ahead: the signal near the end of its time, one from its owner, a node that is being
drained. The program goes on to its next checkpoint, and nothing is computed twice."""
import scenario

LAUNCH = ("exec", "scr_srun", "-N4", "-n4", "./solver")


def endless(bed, name):
    return scenario.Solver(bed, name, steps=5000, sleep_ms=100, SCR_FLUSH="0", SCR_RUNS="3", SCR_RUN_SLEEP="1")


def stopped_well(bed, job, run, signal):
    """It ended by itself, and its last checkpoint is complete and current."""
    assert run.wait() == 0, job.said()
    assert f"signal {signal}: the program stops after its next checkpoint" in job.said(), job.said()
    newest = max(dataset for phase, dataset in job.phases() if phase == "compute")
    listed = bed.run("head", "scr_index", "--prefix", job.dir).stdout.split("\n")
    current = [line for line in listed if line.startswith("*")]
    assert len(current) == 1 and current[0].endswith(f"heat2d.step.{10 * newest}"), listed
    assert job.restarts() == [], job.phases()


def out_of_time(bed):
    """Slurm sends it up to half a minute early, and at least 75 s before the end: time enough for a checkpoint
    on a machine that is busy."""
    job = endless(bed, "usr1")
    run = job.sbatch(4, *LAUNCH, minutes=2, signal="B:USR1@75")
    stopped_well(bed, job, run, 10)


def told_by_the_owner(bed):
    job = endless(bed, "term")
    run = job.sbatch(4, *LAUNCH)
    job.wait_phase("compute", 2)
    number = bed.run("head", "squeue", "-h", "-n", job.name, "-o", "%i").stdout.strip()
    bed.run("head", "scancel", "--batch", "--signal=TERM", number)
    stopped_well(bed, job, run, 15)


def drained(bed):
    """It is left out of the next run, which begins soon after a process of this one is killed, although Slurm
    would let the others wait for it; what it had is rebuilt on the spare."""
    job = scenario.Solver(bed, "drained", SCR_FLUSH="0", SCR_CACHE_SIZE="2", SCR_RUNS="3", SCR_RUN_SLEEP="0")
    job.hold(("compute", 2), ("rebuild", 1))
    run = job.scr_srun(5)
    last = job.wait_phase("compute", 2)
    used = job.used()
    bed.run("head", "scontrol", "update", f"nodename={used[2]}", "state=drain", "reason=noisy")
    bed.run(used[0], "kill", "-9", *job.processes(used[0]))
    job.wait_phase("rebuild")
    now = job.used()
    assert used[2] not in now and len(now) == 4, (used, now)
    job.release()
    assert run.wait() == 0
    assert f"node {used[2]} is left out: Slurm says drain" in job.said(), job.said()
    assert job.restarts() == [last], job.phases()
    job.check_result()
    bed.run("head", "scontrol", "update", f"nodename={used[2]}", "state=resume")


def main():
    with scenario.bed(kill_on_bad_exit=0) as bed:
        for case in (drained, told_by_the_owner, out_of_time):
            case(bed)


main()
