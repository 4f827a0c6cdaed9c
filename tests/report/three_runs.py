#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Three runs on virtual nodes: a node is lost in the first, a process dies in the second, the third ends well. The
numbers of scr report --json equal those worked out here, from the lines of the event log and the program's own clock.

    three_runs.py SCR SLEEPER MPIRUN
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime

SCR, SLEEPER, MPIRUN = sys.argv[1:4]
PATIENCE = 240
STEP_MS, WRITE_MS, BYTES = 200, 50, 10000


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"after {PATIENCE} s still not: {what}")
        time.sleep(0.02)
    return found


class Job:
    def __init__(self, top):
        self.top, self.prefix, self.cache = top, f"{top}/prefix", f"{top}/cache"
        for path in (self.prefix, self.cache):
            os.mkdir(path)
        self.environment = dict(
            os.environ, SCR_PREFIX=self.prefix, SCR_CACHE_BASE=self.cache, SCR_CNTL_BASE=self.cache, SCR_VNODES="n[1-4]",
            SCR_JOB_ID="three", SCR_USER_NAME="tester", SCR_FLUSH="3", SCR_CHECKPOINT_INTERVAL="5", SCR_RUNS="3",
            SCR_RUN_SLEEP="0", SCR_MIN_NODES="4", PATH=f"{os.path.dirname(MPIRUN)}:{os.environ['PATH']}")

    def scr(self, *command):
        return subprocess.run([SCR, *command], env=self.environment, check=True, text=True, stdout=subprocess.PIPE).stdout

    def steps(self):
        """(time, steps completed) …, of all runs."""
        if not os.path.exists(f"{self.prefix}/steps"):
            return []
        with open(f"{self.prefix}/steps") as f:
            return [(float(t), int(step)) for t, step in (line.split() for line in f if line.endswith("\n"))]

    def runs(self):
        """The same, a list for each run: it begins with a step that was there before."""
        runs = []
        for at, step in self.steps():
            if not runs or step <= runs[-1][-1][1]:
                runs.append([])
            runs[-1].append((at, step))
        return runs

    def pids(self, node):
        """Of the ranks that run on a virtual node."""
        found = []
        for root, _, files in os.walk(f"{self.cache}/vnode.{node}"):
            found += [int(open(f"{root}/{name}").read().split()[0]) for name in files if name.startswith("pid.")]
        return found

    def events(self):
        with open(f"{self.prefix}/.scr/log") as f:
            events = [json.loads(line) for line in f]
        for e in events:
            e["at"] = datetime.fromisoformat(e["time"]).timestamp()
        return events

    def work(self):
        """Runs the job; both strikes come between checkpoints, after two of them."""
        loop = subprocess.Popen([SCR, "run", os.path.basename(MPIRUN), "-n", "4", SLEEPER, self.prefix,
                                 str(STEP_MS), str(WRITE_MS), str(BYTES)], env=self.environment, cwd=self.prefix,
                                stdout=subprocess.DEVNULL)
        wait_for("13 steps", lambda: self.runs() and len(self.runs()[0]) > 13)
        pids = self.pids("n2")
        shutil.rmtree(f"{self.cache}/vnode.n2")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_for("13 more", lambda: len(self.runs()) > 1 and len(self.runs()[1]) > 13)
        os.kill(self.pids("n3")[0], signal.SIGKILL)
        wait_for("13 more", lambda: len(self.runs()) > 2 and len(self.runs()[2]) > 13)
        open(f"{self.prefix}/end", "w").close()
        assert loop.wait(PATIENCE) == 0


def by_hand(events):
    """What the lines say, worked out in another way than the program does."""
    def of(name):
        return [e for e in events if e["event"] == name]

    def secs(*names):
        return sum(e.get("secs", 0) for name in names for e in of(name))

    library = [e for e in of("RUN_START") if "run" in e]
    ends = [e["at"] for e in of("RUN_END") if "note" in e and not e["note"].endswith("status 0")]  # by the run loop
    walls = [end - start["at"] + start["secs"] for start, end in zip(library, ends)]
    walls.append(library[2]["secs"] + next(e["secs"] for e in of("RUN_END") if "note" not in e))
    whole = [e for e in of("CHECKPOINT_END") if "bytes" in e]
    lost = 0
    for restart, end in zip(of("RESTART_SUCCESS"), ends):
        begun = max(e["at"] for e in whole if e["dset"] == restart["dset"] and e["at"] < end)
        lost += end - begun - sum(e["secs"] for e in events if begun < e["at"] < end
                                  and e["event"] in ("CHECKPOINT_END", "FLUSH_SUCCESS"))
    times = {"checkpoint": secs("CHECKPOINT_END"), "flush": secs("FLUSH_SUCCESS"), "lost": lost, "output": 0,
             "restart": sum(e["secs"] for e in library) + secs("RESTART_SUCCESS")}
    totals = {"runs": len(library), "failures": len(of("FAILURE")), "checkpoints": len(whole), "ended": 1, "failed": 2,
              "restarts": len(of("RESTART_SUCCESS")), "rebuilds": len(of("REBUILD_SUCCESS")), "restarts_failed": 0,
              "flushes": len(of("FLUSH_SUCCESS")), "fetches": 0, "outputs": 0}
    return totals, times, sum(walls)


def kept_by_clock(runs, events):
    """Of each run the steps that the next one did not do again, by the program's clock, without checkpoints."""
    kept = 0
    for run, following in zip(runs, runs[1:] + [None]):
        until = following[0][1] if following else run[-1][1]
        begin, end = run[0][0], [at for at, step in run if step == until][0]
        kept += end - begin - sum(e["secs"] for e in events if begin < e["at"] < end
                                  and e["event"] in ("CHECKPOINT_END", "FLUSH_SUCCESS"))
    return kept


def near(what, is_, expected, tolerance):
    print(f"{what:12} {is_:9.4f} by hand {expected:9.4f}")
    assert abs(is_ - expected) <= tolerance, what


def compare(job):
    events, runs = job.events(), job.runs()
    said = json.loads(job.scr("report", "--json", "--prefix", job.prefix))
    totals, times, wall = by_hand(events)
    for key, value in totals.items():
        assert said["totals"][key] == value, (key, said["totals"][key], value)
    assert len(runs) == 3 and totals["runs"] == 3 and totals["failures"] == 2 and totals["restarts"] == 2
    assert totals["rebuilds"] >= 1 and totals["checkpoints"] >= 6, totals
    assert [f["class"] for f in said["failures"]] == ["node", "process"], said["failures"]
    # an event has the time at which it was written, and the seconds of a clock that was read before
    near("wall", said["wall"], wall, 0.02 * wall)
    for key, value in times.items():
        near(key, said["time"][key], value, 0.02 * wall if key == "lost" else 1e-6)
    # the clock of the program looks after each step, SCR when it is called
    kept = kept_by_clock(runs, events)
    near("kept", said["time"]["kept"], kept, 0.1 * kept + 0.5)
    near("efficiency", said["efficiency"], said["time"]["kept"] / wall, 0.02)
    near("all of it", sum(v for k, v in said["time"].items() if k != "idle"), said["wall"], 1e-3)


with tempfile.TemporaryDirectory(prefix="scr-report.") as top:
    job = Job(top)
    job.work()
    try:
        compare(job)
    except BaseException:
        with open(f"{job.prefix}/.scr/log") as log:
            print(log.read())
        raise
