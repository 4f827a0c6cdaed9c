#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Without a resource manager: mpirun on one of the nodes, ssh to the others."""
import scenario

HOSTS = {"openmpi": "-H", "mpich": "-hosts"}[scenario.MPI]


def launch(job, nodes):
    return job.start("n1", "mpirun", "-n", "4", HOSTS, nodes, "./solver")


def dies(bed, name, kill):
    job = scenario.Solver(bed, name, SCR_FLUSH="0", SCR_JOB_ID=name)
    run = launch(job, "n1,n2,n3,n4")
    last = job.wait_phase("compute", 2)
    kill("n3")
    assert run.wait(60) != 0
    assert launch(job, "n1,n2,n5,n4").wait(60) == 0
    assert job.restarts() == [last] and ("rebuild", last) in job.phases(), job.phases()
    job.check_result()
    bed.revive("n3")


def main():
    with scenario.bed() as bed:
        dies(bed, "crash", bed.crash)
        if scenario.MPI == "openmpi":  # mpirun of MPICH waits for ever for a node that is silent
            dies(bed, "silence", bed.power_off)


main()
