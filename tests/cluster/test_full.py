#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The storage of one node is full: SCR_Init says so on all ranks, the run goes on without it; when there is
room again, checkpoints are written again."""
import scenario


def main():
    with scenario.bed(size="32m") as bed:
        job = scenario.Solver(bed, "full", SCR_FLUSH="0")
        bed.run("n3", "dd", "if=/dev/zero", "of=/tmp/waste", "bs=1M", check=False)
        launch = ("head", "srun", "-N4", "-n8", "-w", "n[1-4]", "./solver")
        assert job.start(*launch).wait() == 0
        job.check_result()
        assert job.said().count("no space left on device") == 1 and job.phases() == []
        bed.run("n3", "rm", "/tmp/waste")
        assert job.start(*launch).wait() == 0
        job.check_result()
        assert ("compute", 5) in job.phases()


main()
