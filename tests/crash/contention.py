#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that edit the halt file and the index in loops, beside a job that does both with each checkpoint: no
update is lost.

    contention.py MPIRUN CKPT_LOOP SCR COUNT

Each condition of the halt file has one editor, which finds there what it wrote; the job counts its checkpoints down
in the same file. Datasets that were added are in the index, under ids of their own, those that were dropped are not,
and all that the job flushed are there as complete.
"""
import itertools
import json
import os
import subprocess
import sys
import threading

import records
from victim import Victim

LEFT = 1000000        # checkpoints, more than there are
FUTURE = 4000000000   # seconds since 1970
CONDITIONS = (("after", "ExitAfter"), ("before", "ExitBefore"), ("seconds", "HaltSeconds"))
KEPT = 3              # every third of the datasets added is dropped


class Editor(threading.Thread):
    """Calls edit(n) for n = 0, 1 … below rounds; what went wrong is in wrong. scr(words): runs a command, gives a
    CompletedProcess."""
    def __init__(self, job, scr, rounds):
        super().__init__()
        self.job, self.scr, self.rounds, self.edits, self.wrong = job, scr, rounds, 0, []

    def run(self):
        while not self.wrong and self.edits < self.rounds:
            self.edit(self.edits)
            self.edits += 1

    def call(self, *words):
        run = self.scr(*words, "--prefix", self.job.prefix)
        if run.returncode != 0:
            self.wrong.append(f"scr {' '.join(words)}: status {run.returncode}: {run.stdout}{run.stderr}")
        return run.stdout


class HaltEditor(Editor):
    def __init__(self, job, scr, rounds, condition):
        super().__init__(job, scr, rounds)
        self.option, self.member = condition

    def edit(self, n):
        value = n % 7 + 1 if self.option == "seconds" else FUTURE + n
        if n % 5 == 4:
            value = None
            self.call("halt", f"--unset-{self.option}")
        else:
            self.call("halt", f"--{self.option}={value if self.option == 'seconds' else f'@{value}'}")
        found = self.conditions()
        if not self.wrong and found[self.member] != value:
            self.wrong.append(f"{self.member} is not {value}: {found}")

    def conditions(self):
        """As the command says; empty where it failed."""
        found = self.call("halt", "--json")
        return {} if self.wrong else json.loads(found)


class IndexEditor(Editor):
    def __init__(self, job, scr, rounds, number):
        super().__init__(job, scr, rounds)
        self.number, self.added, self.dropped = number, set(), set()

    def edit(self, n):
        name = f"mine.{self.number}.{n}"
        os.mkdir(os.path.join(self.job.prefix, name))
        with open(os.path.join(self.job.prefix, name, "file.0"), "w") as f:
            f.write(name)
        self.call("index", f"--add-directory={name}", "--output", "file.%r")
        self.added.add(name)
        if n % KEPT == 0:
            self.call("index", f"--drop={name}")
            self.dropped.add(name)


def judge(job, halts, indexers, count):
    entries, done = list(records.index(job.prefix).values()), job.done()
    complete = {e.name for e in entries if e.complete}
    kept = {f"step.{n}" for n in done}.union(*(e.added - e.dropped for e in indexers))
    left = halts[0].conditions().get("CheckpointsLeft")
    halts[0].call("verify")
    wrong = [text for editor in halts + indexers for text in editor.wrong]
    if len(complete) != sum(e.complete for e in entries):
        wrong.append(f"a name is there twice: {entries}")
    if complete != kept:
        wrong.append(f"lost: {sorted(kept - complete)}; not dropped: {sorted(complete - kept)}")
    if left != LEFT - len(done):
        wrong.append(f"{left} checkpoints are left, {len(done)} were made")
    if job.job.returncode != 0 or len(done) != count:
        wrong.append(f"the job ended with {job.job.returncode}, after {len(done)} checkpoints")
    return wrong


def contend(job, commands, count, rounds):
    """What went wrong. job: of start(count), done(), job, a Popen, and prefix; commands: the scr of each editor."""
    conditions = [HaltEditor(job, next(commands), rounds, condition) for condition in CONDITIONS]
    indexers = [IndexEditor(job, next(commands), rounds, number) for number in range(2)]
    conditions[0].call("halt", f"--checkpoints={LEFT}")
    job.start(count)
    for editor in conditions + indexers:
        editor.start()
    job.wait()
    for editor in conditions + indexers:
        editor.join()
    wrong = judge(job, conditions, indexers, count)
    print(f"{len(job.done())} checkpoints, {sum(e.edits for e in conditions)} edits of the halt file, "
          f"{sum(e.edits for e in indexers)} of the index, {len(wrong)} wrong")
    return wrong


class Loop(Victim):
    def wait(self):
        self.said = self.job.communicate()[1].decode(errors="replace")


def main(mpirun, program, scr, count):
    with Loop(mpirun, program, "2000", SCR_FLUSH="1") as job:
        def run(*words):
            return subprocess.run([scr, *words], env=job.env, stdin=subprocess.DEVNULL, text=True, check=False,
                                  capture_output=True)
        wrong = contend(job, itertools.repeat(run), int(count), int(count))
        print("\n".join([f"WRONG: {text}" for text in wrong] + [job.said] * bool(wrong)))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
