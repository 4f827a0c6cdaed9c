#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that edit the halt file and the index in loops, beside a job that does both with each checkpoint: no
update is lost.

    contention.py MPIRUN CKPT_LOOP SCR COUNT

Each condition of the halt file has one editor, which finds there what it wrote; the job counts its checkpoints down
in the same file. Datasets that were added are in the index, under ids of their own, those that were dropped are not,
and all that the job flushed are there as complete.
"""
import json
import os
import subprocess
import sys
import threading

import records
from victim import Victim

LEFT = 1000000        # checkpoints, more than there are
FUTURE = 4000000000   # seconds since 1970
LEAST = 20            # edits of each loop, also if the job is quicker
CONDITIONS = (("after", "ExitAfter"), ("before", "ExitBefore"), ("seconds", "HaltSeconds"))
KEPT = 3              # every third of the datasets added is dropped


class Editor(threading.Thread):
    """Calls edit(n) for n = 0, 1 …, until the job has ended; what went wrong is in wrong."""
    def __init__(self, job, scr):
        super().__init__()
        self.job, self.scr, self.edits, self.wrong = job, scr, 0, []

    def run(self):
        while not self.wrong and (self.edits < LEAST or self.job.job.poll() is None):
            self.edit(self.edits)
            self.edits += 1

    def call(self, *words):
        run = subprocess.run([self.scr, *words, "--prefix", self.job.prefix], env=self.job.env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
        if run.returncode != 0:
            self.wrong.append(f"scr {' '.join(words)}: status {run.returncode}: {run.stdout}")
        return run.stdout


class HaltEditor(Editor):
    def __init__(self, job, scr, option, member):
        super().__init__(job, scr)
        self.option, self.member = option, member

    def edit(self, n):
        value = n % 7 + 1 if self.option == "seconds" else FUTURE + n
        if n % 5 == 4:
            value = None
            self.call("halt", f"--unset-{self.option}")
        else:
            self.call("halt", f"--{self.option}={value if self.option == 'seconds' else f'@{value}'}")
        found = self.call("halt", "--json")
        if not self.wrong and json.loads(found)[self.member] != value:
            self.wrong.append(f"{self.member} is not {value}: {found}")


class IndexEditor(Editor):
    def __init__(self, job, scr, number):
        super().__init__(job, scr)
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


def judge(job, halts, indexers):
    wrong = [text for editor in halts + indexers for text in editor.wrong]
    entries = list(records.index(job.prefix).values())
    complete = {e.name for e in entries if e.complete}
    if len(complete) != sum(e.complete for e in entries):
        wrong.append(f"a name is there twice: {entries}")
    kept = {f"step.{n}" for n in job.done()}.union(*(e.added - e.dropped for e in indexers))
    if complete != kept:
        wrong.append(f"lost: {sorted(kept - complete)}; not dropped: {sorted(complete - kept)}")
    left = json.loads(halts[0].call("halt", "--json"))["CheckpointsLeft"]
    if left != LEFT - len(job.done()):
        wrong.append(f"{left} checkpoints are left, {len(job.done())} were made")
    verified = subprocess.run([halts[0].scr, "verify", "--prefix", job.prefix], env=job.env, stdout=subprocess.PIPE,
                              text=True, check=False)
    return wrong + [verified.stdout] * (verified.returncode != 0)


def main(mpirun, program, scr, count):
    with Victim(mpirun, program, "2000", SCR_FLUSH="1") as job:
        halts = [HaltEditor(job, scr, *condition) for condition in CONDITIONS]
        indexers = [IndexEditor(job, scr, number) for number in range(2)]
        halts[0].call("halt", f"--checkpoints={LEFT}")
        job.start(int(count))
        for editor in halts + indexers:
            editor.start()
        said = job.job.communicate()[1].decode(errors="replace")
        for editor in halts + indexers:
            editor.join()
        wrong = judge(job, halts, indexers)
        if job.job.returncode != 0 or len(job.done()) != int(count):
            wrong.append(f"the job ended with {job.job.returncode}: {said}")
        print("\n".join(f"WRONG: {text}" for text in wrong + [said] * bool(wrong)))
        print(f"{len(job.done())} checkpoints, {sum(e.edits for e in halts)} edits of the halt file, "
              f"{sum(e.edits for e in indexers)} of the index, {len(wrong)} wrong")
    return wrong != []


sys.exit(main(*sys.argv[1:]))
