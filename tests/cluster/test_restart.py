#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The library between real nodes: one dies, the next start in the allocation rebuilds on a spare."""
import scenario

RUN = "srun -N4 -n8 -w n[1-4] ./solver; srun -N4 -n8 -x n2 ./solver"


def main():
    with scenario.bed() as bed:
        job = scenario.Solver(bed, "restart", SCR_FLUSH="0")
        run = job.salloc(5, "sh", "-c", RUN)
        last = job.wait_phase("compute", 3)
        bed.crash("n2")
        assert run.wait(60) == 0
        assert job.restarts() and job.restarts()[0] >= last
        assert ("rebuild", job.restarts()[0]) in job.phases()
        job.check_result()


main()
