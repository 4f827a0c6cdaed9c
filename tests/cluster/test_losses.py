#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""More than one node dies: in the rebuild after the first, or both of a set at once; and a process alone."""
import scenario
from bed import wait_for

# The spare takes the place of the lost node: the other ranks stay where they were.
RUN = "srun -N4 -n4 -m arbitrary -w {} ./solver"


def allocate(job, *nodes):
    """Runs one after the other on these nodes, in an allocation of all."""
    return job.salloc(6, "sh", "-c", "; ".join(RUN.format(names) for names in nodes))


def spare_dies_in_rebuild(bed):
    job = scenario.Solver(bed, "rebuild", SCR_FLUSH="0")
    job.hold(("compute", 2), ("rebuild", 1))
    run = allocate(job, "n1,n2,n3,n4", "n1,n5,n3,n4", "n1,n6,n3,n4")
    last = job.wait_phase("compute", 2)
    bed.crash("n2", notify=True)
    job.wait_phase("rebuild")
    bed.crash("n5", notify=True)
    assert run.wait() == 0
    assert job.restarts()[-1] == last and ("fetch", last) not in job.phases()
    job.check_result()


def two_of_a_set(bed):
    """Nothing to rebuild from: the newest checkpoint on the prefix is taken."""
    job = scenario.Solver(bed, "two", SCR_FLUSH="2")
    job.hold(("compute", 3))
    run = allocate(job, "n1,n2,n3,n4", "n1,n5,n6,n4")
    job.wait_phase("compute", 3)
    bed.crash("n2", "n3", notify=True)
    assert run.wait() == 0
    assert job.restarts() == [2] and ("fetch", 2) in job.phases(), job.phases()
    job.check_result()


def a_process_dies(bed):
    """Its node lives: nothing is lost."""
    job = scenario.Solver(bed, "process", SCR_FLUSH="0")
    job.hold(("compute", 2))
    run = allocate(job, "n1,n2,n3,n4", "n1,n2,n3,n4")
    last = job.wait_phase("compute", 2)
    pid = bed.run("n3", "pgrep", "heat2d").stdout.split()[0]
    bed.run("n3", "kill", "-9", pid)
    assert run.wait() == 0
    assert job.restarts() == [last] and "rebuilt" not in job.said(), job.said()
    job.check_result()


def main():
    with scenario.bed(count=6) as bed:
        two_of_a_set(bed)
        for name in ("n2", "n3"):
            bed.revive(name)
        a_process_dies(bed)
        spare_dies_in_rebuild(bed)


main()
