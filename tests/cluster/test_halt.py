#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_halt, from a node that has no part in the run: the job ends well after its checkpoint, which is on the
prefix; it does not start again until told so, then goes on from there."""
import scenario

FORMS = (
    (["--checkpoints", "1"], "one"),
    ([], "now"),
    (["--after", "1 minute ago"], "after"),
    (["--before", "1 minute", "--seconds", "120"], "before"),
)


def halt(bed, options, name):
    job = scenario.Solver(bed, name, steps=100, sleep_ms=50, SCR_FLUSH="0")
    job.hold(("compute", 2))
    run = job.start("head", "srun", "-N2", "-n2", "./solver")
    job.wait_phase("compute", 2)
    bed.run("n5", "scr_halt", "--prefix", job.dir, *options)
    job.release()
    assert run.wait() == 0
    last = max(dataset for phase, dataset in job.phases() if phase == "compute")
    listed = bed.run("n5", "scr_index", "--prefix", job.dir).stdout
    assert f"heat2d.step.{10 * last}" in listed, listed
    assert job.start("head", "srun", "-N2", "-n2", "./solver").wait() == 0
    assert job.restarts() == [], job.restarts()
    bed.run("n5", "scr_halt", "--prefix", job.dir, "--remove")
    assert job.start("head", "srun", "-N2", "-n2", "./solver").wait() == 0
    assert job.restarts() == [last], job.restarts()
    job.check_result()


def main():
    with scenario.bed() as bed:
        for form in FORMS:
            halt(bed, *form)


main()
