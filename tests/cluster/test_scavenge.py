#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A node dies and there is no spare: scr_postrun saves the newest checkpoint from the survivors, rebuilds and
indexes it; the next job, on other nodes, fetches it."""
import scenario


def loses(bed, nodes, last_run, **settings):
    """An allocation of n1 to n4 that loses nodes, and what scr_postrun made of it: its status."""
    job = scenario.Solver(bed, f"lost.{len(nodes)}", **settings)
    job.hold(("compute", last_run))
    run = job.salloc(4, "sh", "-c", "srun ./solver; scr_postrun; echo postrun: $?")
    struck = job.wait_phase("compute", last_run)
    bed.crash(*nodes, notify=True)
    run.wait()
    return job, struck


def goes_on(job, dataset):
    assert job.salloc(4, "srun", "./solver").wait() == 0
    assert job.restarts() == [dataset] and ("fetch", dataset) in job.phases(), job.phases()
    job.check_result()


def main():
    with scenario.bed(count=6) as bed:
        job, struck = loses(bed, ["n2"], 3, SCR_FLUSH="0")
        assert "postrun: 0" in job.said(), job.said()
        listed = bed.run("head", "scr_index", "--prefix", job.dir).stdout
        assert f"heat2d.step.{10 * struck}" in listed and "YES" in listed, listed
        goes_on(job, struck)
        bed.revive("n2")

        # Two of a set: the newest is lost, the one on the prefix stays current.
        job, struck = loses(bed, ["n2", "n3"], 3, SCR_FLUSH="2")
        assert "postrun: 1" in job.said(), job.said()
        bed.revive("n2")
        bed.revive("n3")
        goes_on(job, 2)


main()
