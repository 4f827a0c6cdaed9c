#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node dies in each phase of a checkpoint, once noticed by Slurm, else told to it; the next start in the
allocation goes on from cache, on survivors and the spare, with the result of an undisturbed run."""
import scenario

# phase, entry and node of the strike; is Slurm told; settings
CASES = (
    ("compute", 3, "n2", False, {"SCR_FLUSH": "0"}),
    ("checkpoint", 3, "n3", True, {"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2"}),
    ("encode", 3, "n1", True, {"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2", "SCR_COPY_TYPE": "PARTNER"}),
    ("flush", 2, "n4", True, {"SCR_FLUSH": "1", "SCR_COPY_TYPE": "RS"}),
)


def strike(bed, phase, entry, node, told, settings):
    job = scenario.Solver(bed, f"{phase}.{node}", **settings)
    job.hold((phase, entry))
    run = job.salloc(5, "sh", "-c", f"srun -N4 -n8 -w n[1-4] ./solver; srun -N4 -n8 -x {node} ./solver")
    struck = job.wait_phase(phase, entry)
    bed.crash(node, notify=told)
    assert run.wait() == 0
    newest = struck if phase in ("compute", "flush") else struck - 1
    assert job.restarts() == [newest], job.restarts()
    assert ("rebuild", newest) in job.phases() and ("fetch", newest) not in job.phases()
    job.check_result()
    bed.revive(node)


def main():
    with scenario.bed(notice=15) as bed:
        for case in CASES:
            strike(bed, *case)


main()
