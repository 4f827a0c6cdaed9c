#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Batch scripts that take the steps of scr_srun by themselves, with installed commands: the one under examples/jobs,
and such as were written for SCR 3.1, with its options. Nodes and processes die; what is in cache at the end is saved,
and the next job goes on from there."""
import os
import sys

import scenario
from bed import HERE

SHIPPED = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "jobs", "srun_loop.sh")

# One launch, then a scavenge.
ONCE = """\
#!/bin/bash
#SBATCH --no-kill
here=`pwd`
if ! scr_prerun -p $here -v; then exit 1; fi
srun "$@"
scr_postrun -p $here -j srun -v
"""

# Nodes are avoided by --exclude, and why the job stops is for scr_should_exit to say.
LOOP = """\
#!/bin/bash
#SBATCH --no-kill
here=`pwd`; bad=""; runs=4

stop() {
    scr_should_exit -p $here --runs $runs --min-nodes 4 -v "$@"
    if [ $? == 0 ]; then echo "stops before $runs more"; scr_postrun -p $here -j srun -v; exit; fi
}

if ! scr_prerun -p $here; then exit 1; fi
bad=`scr_list_down_nodes -j srun --free` || exit 1
while true; do
    srun ${bad:+--exclude $bad} "$@"
    runs=$(($runs - 1))
    stop
    sleep 1
    bad=`scr_list_down_nodes -j srun ${bad:+--down $bad}` || exit 1
    stop ${bad:+--down $bad}
done
"""

LAUNCH = ("-N4", "-n4", "./solver")


class Scripted(scenario.Solver):
    """settings as in an environment of 3.1: commands are found by PATH, the prefix is the working directory."""

    def __init__(self, bed, name, script, **settings):
        super().__init__(bed, name, **{"SCR_FLUSH": "0", "SCR_CACHE_SIZE": "2", "RUNS": "4", "SCR_RUN_SLEEP": "1",
                                       **settings})
        del self.settings["SCR_PREFIX"]
        self.settings["PATH"] = f"{bed.home}/scr/bin:{bed.environment['PATH']}"
        self.script = script if os.path.isabs(script) else bed.write(f"pfs/{name}/script", script, 0o755)

    def submit(self, nodes):
        self.bed.resume_drained()
        return self.start("head", "sbatch", "--quiet", "--wait", f"--nodes={nodes}", "--time=15",
                          f"--output={self.bed.logs}/{self.name}.out", "--open-mode=append", self.script, *LAUNCH)

    def node_dies(self):
        node = self.used()[-1]
        self.bed.crash(node, notify=True)
        return [node]

    def process_dies(self):
        node = self.used()[-1]
        self.bed.run(node, "kill", "-9", self.processes(node)[0])
        return []

    def goes_on(self, newest):
        """In another allocation, to the end."""
        assert self.submit(4).wait() == 0, self.said()
        assert self.restarts()[-1] == newest and ("fetch", newest) in self.phases(), self.phases()
        self.check_result()


def install(bed):
    bed.home = bed.directory("home")
    bed.run("head", "cmake", "--install", scenario.BUILD, "--prefix", f"{bed.home}/scr")


def one_run(bed):
    """Nobody tells the script that the run has failed: scr_postrun saves what there is."""
    job = Scripted(bed, "once", ONCE)
    job.hold(("compute", 3))
    run = job.submit(4)
    newest = job.wait_phase("compute", 3)
    lost = job.node_dies()
    assert run.wait() == 0, job.said()
    assert f"dataset {newest} (heat2d.step.{10 * newest}): complete in" in job.said(), job.said()
    bed.revive(*lost)
    job.goes_on(newest)


def four_runs(bed, name, script):
    """Each makes two checkpoints and loses a node, or a process; none is lost."""
    job = Scripted(bed, name, script, steps=120)
    strikes = ((2, job.node_dies), (5, job.process_dies), (8, job.node_dies), (11, job.process_dies))
    job.hold(*(("compute", entry) for entry, strike in strikes))
    run, lost = job.submit(6), []
    for entry, strike in strikes:  # a restart is an entry, too
        newest = job.wait_phase("compute", entry)
        lost += strike()
    run.wait()
    assert job.restarts() == [2, 4, 6] and newest == 8, job.phases()
    assert "no runs left" in job.said(), job.said()
    for node in lost:
        bed.revive(node)
    job.goes_on(newest)


def too_few_nodes(bed, name, script):
    job = Scripted(bed, name, script, SCR_MIN_NODES="4")
    job.hold(("compute", 2))
    run = job.submit(4)
    newest = job.wait_phase("compute", 2)
    lost = job.node_dies()
    run.wait()
    assert "3 nodes left of 4, 4 needed" in job.said() and job.restarts() == [], job.said()
    bed.revive(*lost)
    job.goes_on(newest)


def halted(bed, name, script):
    """The program ends well, its newest checkpoint is on the prefix, and it is not started again."""
    job = Scripted(bed, name, script, steps=5000)
    job.hold(("compute", 2))
    run = job.submit(4)
    job.wait_phase("compute", 2)
    bed.run("head", f"{bed.home}/scr/bin/scr_halt", "-c", "1", job.dir)
    job.release()
    assert run.wait() == 0, job.said()
    assert job.restarts() == [] and "nothing to save" in job.said(), job.said()


def main(name):
    """Of the script that is shipped, or of one that was written for SCR 3.1 (moved)."""
    script = {"shipped": SHIPPED, "moved": LOOP}[name]
    with scenario.bed(count=6) as bed:
        install(bed)
        if name == "moved":
            one_run(bed)
        halted(bed, f"{name}.halted", script)
        too_few_nodes(bed, f"{name}.few", script)
        four_runs(bed, name, script)


main(sys.argv[1])
