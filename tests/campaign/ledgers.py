# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a run, and the ledgers in which its ranks noted what came of them."""
import collections
import dataclasses
import itertools
import os

from versions import Run

DEADLY, UNNOTICED = ("before", "after"), ("EINTR", "short", "trace", "lie+") # of what strikes a call


@dataclasses.dataclass
class Member:
    """A program on some ranks, from its plan to what came of it."""
    case: object
    serial: int
    spread: tuple
    steps: list
    script: str
    ledger: str

    def shift(self, first, settings):
        """In an ensemble it begins at rank first, and sets what its case has."""
        def moved(step):
            what, _, where = step.partition("=")
            rank, _, when = where.partition(":")
            return f"{what}={int(rank) + first}:{when}" if what in ("die", "alone") else step
        self.steps = [new for step in self.steps for new in (*(settings if step == "init" else ()), moved(step))]

    def read(self):
        self.entries, self.closes, self.paths = read_ledgers(self.ledger, len(self.spread))

    def tell(self, job, extra, died):
        """Its case, what it saw."""
        self.case.run(Run(self.serial, job, self.spread, dict(self.case.settings, **extra), self.entries, self.closes,
                          self.paths, faults_of(self.steps), self.case.levels, died))


def faults_of(steps):
    """When calls failed: in what."""
    faults, is_on, is_up = set(), "", False
    for step in steps:
        what, _, where = step.partition("=")
        if what == "strike" and where.split(":")[-1] not in (*DEADLY, *UNNOTICED):
            faults |= {"cache", "prefix"} | ({"start"} if not is_up else set())
        elif what in ("full", "readonly"):
            is_on = "prefix" if where == "prefix" else "cache"
        elif what == "heal":
            is_on = ""
        elif is_on:
            faults.add(is_on)
            if not is_up:
                faults.add("start")
        is_up = is_up or what in ("restart", "refuse")
    return faults


def read_ledgers(ledger, ranks):
    """(word, arguments) that the ranks have noted, how many closed each output as valid, and where rank 0 put it."""
    lines, closes, paths = [], collections.Counter(), {}
    for rank in range(ranks):
        mine, outputs = [], -1
        path = f"{ledger}.{rank}"
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        for line in text.splitlines():
            outputs += line.startswith("begin ")
            word, *args = line.split()
            if line.startswith("my close"):
                closes[outputs] += args[1] == "1"
            elif line.startswith("my id"):
                paths[outputs] = (int(args[1]), args[2] if len(args) > 2 else "")
            else:
                mine.append((word, args))
        lines.append(mine)
    entries = []
    for same in itertools.zip_longest(*lines):
        said = [entry for entry in same if entry]
        entries.append(said[0] if all(entry == said[0] for entry in said) else
                       ("differ", [" ".join([w, *a]) for w, a in said]))
    count = max(closes, default=-1) + 1
    return entries, [closes[i] for i in range(count)], [paths.get(i, (0, "")) for i in range(count)]
