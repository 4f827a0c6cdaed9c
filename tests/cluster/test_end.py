#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How a job under scr_srun ends before its program is done: no node to spare, stopped from outside, out of
time. Each time the newest checkpoint is on the prefix, and the next job goes on from there."""
import scenario

# Half a minute for what has to begin, and more for what has to end, also on a machine that is busy.
OUT_OF_TIME = {"minutes": 2, "SCR_HALT_SECONDS": "90"}
LAUNCH = ("scr_srun", "-N4", "-n4", "./solver")
BESIDES = ("sh", "-c", "srun --overlap -N1 -n1 sh -c 'touch other; exec sleep 900' & other=$!; "
           "until test -e other; do sleep 0.1; done; \"$@\"; status=$?; "
           "kill -0 $other && echo the other step goes on; exit $status", "sh", *LAUNCH)


def begin(bed, name, *holds, minutes=15, command=LAUNCH, **settings):
    """A job too long to end by itself; the next one waits where it goes on."""
    job = scenario.Solver(bed, name, steps=1000, sleep_ms=300, SCR_FLUSH="0", SCR_RUNS="3", SCR_RUN_SLEEP="1",
                          **settings)
    job.hold(("restart", 1), *holds)
    return job, job.salloc(4, *command, minutes=minutes)


def goes_on(bed, job):
    """In another allocation; where it left off, but not to the end: that would take long."""
    newest = max(dataset for phase, dataset in job.phases() if phase == "compute")
    listed = bed.run("n5", "scr_index", "--prefix", job.dir).stdout
    assert f"heat2d.step.{10 * newest}" in listed, listed
    bed.run("n5", "scr_halt", "--prefix", job.dir, "--remove")
    run = job.salloc(4, *LAUNCH)
    job.wait_phase("restart")
    assert job.restarts() == [newest], job.phases()
    bed.run("n5", "scr_halt", "--prefix", job.dir)
    job.release()
    assert run.wait() == 0


def no_node_to_spare(bed):
    job, run = begin(bed, "alone", ("compute", 2))
    job.wait_phase("compute", 2)
    bed.crash("n3", notify=True)
    assert run.wait() != 0
    assert "needed" in job.said() and job.restarts() == []
    bed.revive("n3")
    goes_on(bed, job)


def stopped_at_once(bed):
    """The program does not get to its next checkpoint: what it has in cache is saved. A step that was there
    before it lives on."""
    job, run = begin(bed, "immediate", ("compute", 2), command=BESIDES)
    job.wait_phase("compute", 2)
    bed.run("n5", "scr_halt", "--prefix", job.dir, "--immediate")
    assert run.wait() != 0
    assert "the other step goes on" in job.said(), job.said()
    goes_on(bed, job)


def out_of_time(bed):
    job, run = begin(bed, "late", **OUT_OF_TIME)
    assert run.wait() == 0, job.said()
    goes_on(bed, job)


def out_of_time_by_itself(bed):
    """The program asks Slurm if nobody has told it, and saves what it has itself."""
    job, run = begin(bed, "asks", command=("srun", "-N4", "-n4", "./solver"), **OUT_OF_TIME)
    assert run.wait() == 0, job.said()
    goes_on(bed, job)


def main():
    with scenario.bed() as bed:
        for case in (stopped_at_once, out_of_time, out_of_time_by_itself, no_node_to_spare):
            case(bed)


main()
