# SPDX-License-Identifier: BSD-3-Clause
"""A node dies in a chosen phase of a run that goes on by itself, on a spare within the allocation; the result is
that of an undisturbed run. launch: Solver.scr_srun or Solver.scr_mpirun."""
import scenario
from bed import wait_for

SETTINGS = {"SCR_RUNS": "4", "SCR_RUN_SLEEP": "0"}
# phase, entry and node (which of those in use) of the strike; settings
CASES = (
    ("checkpoint", 3, 2, {"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2"}),
    ("encode", 3, 0, {"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2", "SCR_COPY_TYPE": "PARTNER"}),
    ("flush", 2, 3, {"SCR_FLUSH": "1", "SCR_COPY_TYPE": "RS"}),
)


def begin(bed, launch, name, nodes, *holds, **settings):
    """A run that has written its first checkpoint, and the nodes it is on."""
    job = scenario.Solver(bed, name, **SETTINGS, **settings)
    job.hold(*holds)
    run = launch(job, nodes)
    job.wait_phase("compute")
    return job, run, job.used()


def in_phase(bed, launch, phase, entry, which, settings):
    job, run, used = begin(bed, launch, f"in.{phase}", 5, (phase, entry), **settings)
    struck = job.wait_phase(phase, entry)
    bed.crash(used[which], notify=True)
    assert run.wait() == 0
    newest = struck if phase == "flush" else struck - 1
    assert job.restarts() == [newest], job.phases()
    assert ("rebuild", newest) in job.phases() and ("fetch", newest) not in job.phases(), job.phases()
    job.check_result()
    bed.revive(used[which])


def in_rebuild(bed, launch):
    """The second of the nodes is replaced by the last: ranks in between move to other nodes. Then the spare dies
    before all is rebuilt, with what had come to it."""
    job, run, used = begin(bed, launch, "in.rebuild", 6, ("compute", 2), ("rebuild", 1), SCR_FLUSH="0")
    idle = [name for name in bed.names if name not in used]
    last = job.wait_phase("compute", 2)
    bed.crash(used[1], notify=True)
    spare = wait_for("a spare in use", lambda: [name for name in idle if job.processes(name)])[0]
    job.wait_phase("rebuild")
    bed.crash(spare, notify=True)
    assert run.wait() == 0
    assert job.restarts()[-1] == last and ("fetch", last) not in job.phases(), job.phases()
    job.check_result()
    bed.revive(used[1])
    bed.revive(spare)


def in_async_flush(bed, launch):
    """The node of rank 0 dies while datasets are on their way to the prefix."""
    job, run, used = begin(bed, launch, "in.async", 5, ("flush", 3), SCR_FLUSH="1", SCR_FLUSH_ASYNC="1",
                           SCR_CACHE_SIZE="2")
    struck = job.wait_phase("flush", 3)
    bed.crash(used[0], notify=True)
    assert run.wait() == 0
    assert job.restarts() and job.restarts()[0] >= struck - 1, job.phases()
    job.check_result()
    listed = bed.run("head", "scr_index", "--prefix", job.dir).stdout
    for step in range(10, 60, 10):
        assert "YES" in "".join(line for line in listed.split("\n") if f"step.{step}" in line), listed
    bed.revive(used[0])


def everywhere(launch, parts=("write", "restart")):
    with scenario.bed(count=6) as bed:
        if "write" in parts:
            for case in CASES:
                in_phase(bed, launch, *case)
        if "restart" in parts:
            in_async_flush(bed, launch)
            in_rebuild(bed, launch)
