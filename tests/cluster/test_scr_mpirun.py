#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_mpirun without a resource manager: a node dies, a spare of the list takes its place, first rank included."""
import scenario


def dies(bed, name, node):
    job = scenario.Solver(bed, name, SCR_FLUSH="0", SCR_JOB_ID=name, SCR_NODELIST="n[1-5]", SCR_MIN_NODES="4",
                          SCR_RUNS="3", SCR_RUN_SLEEP="1", SCR_NODE_TIMEOUT="10")
    run = job.start("head", "scr_mpirun", "-n", "4", "./solver")
    last = job.wait_phase("compute", 2)
    bed.crash(node)
    assert run.wait(100) == 0
    assert f"node {node} is left out" in job.said(), job.said()
    assert job.restarts() == [last], job.restarts()
    job.check_result()
    bed.revive(node)


def main():
    with scenario.bed() as bed:
        dies(bed, "any", "n3")
        dies(bed, "first", "n1")


main()
