#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scr_run with mpirun and a list of hosts: the node of the first rank dies, which reads the configuration. The
rank that takes its place, on another host, gets the same settings."""
import scenario


def main():
    with scenario.bed() as bed:
        job = scenario.Solver(bed, "first", SCR_FLUSH="0", SCR_JOB_ID="first", SCR_NODELIST="n[1-5]",
                              SCR_MIN_NODES="4", SCR_RUNS="3", SCR_RUN_SLEEP="1",)
        job.hold(("compute", 2))
        run = job.start("head", "scr_run", scenario.MPIRUN, "-n", "4", "./solver")
        last = job.wait_phase("compute", 2)
        bed.crash("n1")
        assert run.wait() == 0
        assert "node n1 is left out" in job.said(), job.said()
        assert job.restarts() == [last], job.restarts()
        job.check_result()


main()
