#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The node of rank 0 dies while datasets are on their way to the prefix."""
import scenario

SETTINGS = {"SCR_FLUSH": "1", "SCR_FLUSH_ASYNC": "1", "SCR_CACHE_SIZE": "2"}


def main():
    with scenario.bed() as bed:
        job = scenario.Solver(bed, "async", sleep_ms=10, **SETTINGS)
        job.hold(("flush", 3))
        run = job.salloc(5, "sh", "-c", "srun -N4 -n4 -w n[1-4] ./solver; srun -N4 -n4 -x n1 ./solver")
        struck = job.wait_phase("flush", 3)
        bed.crash("n1", notify=True)
        assert run.wait() == 0
        assert job.restarts() and job.restarts()[0] >= struck - 1, job.phases()
        job.check_result()
        listed = bed.run("n2", "scr_index", "--prefix", job.dir).stdout
        for step in range(10, 60, 10):
            assert "YES" in "".join(line for line in listed.split("\n") if f"step.{step}" in line), listed


main()
