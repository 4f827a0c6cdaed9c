#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Without a resource manager: mpirun on one of the nodes, ssh to the others. A node dies, first under mpirun
alone, then under scr_run, which goes on by itself."""
import scenario

HOSTS = {"openmpi": "-H", "mpich": "-hosts"}[scenario.MPI]


def launch(job, nodes):
    return job.start("n1", scenario.MPIRUN, "-n", "4", HOSTS, nodes, "./solver")


def started_by_hand(bed, name, kill):
    job = scenario.Solver(bed, name, SCR_FLUSH="0", SCR_JOB_ID=name)
    job.hold(("compute", 2))
    run = launch(job, "n1,n2,n3,n4")
    last = job.wait_phase("compute", 2)
    kill("n3")
    assert run.wait() != 0
    assert launch(job, "n1,n2,n5,n4").wait() == 0
    assert job.restarts() == [last] and ("rebuild", last) in job.phases(), job.phases()
    job.check_result()
    bed.revive("n3")


def started_by_scr(bed):
    job = scenario.Solver(bed, "scr", SCR_FLUSH="0", SCR_JOB_ID="scr", SCR_NODELIST="n[1-5]", SCR_MIN_NODES="4",
                          SCR_RUNS="2", SCR_RUN_SLEEP="0")
    job.hold(("compute", 2))
    run = job.start("n1", "scr_run", scenario.MPIRUN, "-n", "4", "./solver")
    last = job.wait_phase("compute", 2)
    bed.crash("n3")
    assert run.wait() == 0, job.said()
    assert job.restarts() == [last], job.phases()
    job.check_result()
    bed.revive("n3")


def nodes_that_are_down(bed):
    """Found by what the nodes themselves answer."""
    bed.crash("n4")
    done = bed.run("n1", "scr_list_down_nodes", "--timeout", "60", "n[1-5]", check=False)
    assert (done.returncode, done.stdout) == (1, "n4\n"), done
    bed.revive("n4")


def main():
    with scenario.bed() as bed:
        nodes_that_are_down(bed)
        started_by_scr(bed)
        started_by_hand(bed, "crash", bed.crash)
        if scenario.MPI == "openmpi":  # mpirun of MPICH waits for ever for a node that is silent
            started_by_hand(bed, "silence", bed.power_off)


main()
