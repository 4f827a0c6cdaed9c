#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what runs of a prefix directory were told against what was durable, from two records of different writers:
the ledger, with a line for each answer that a rank got (witness.c) and each loss (heat_soak.py), and the event log.

    history.py LEDGER PREFIX

- A checkpoint is acknowledged as complete on all ranks or on none, after all of them had written it.
- All ranks are offered the same checkpoint, one that all ranks had written, with the bytes they wrote.
- It is not older than the newest that must exist: acknowledged and in cache with no more losses in a set than its
  redundancy survives, or copied to the prefix directory before the run began. With such a one there is an offer.
- Without a kill no call is refused. Event log and index agree with this.

A line of the ledger is `time rank what name value`; of the supervisor, with rank `-`:
    run NODES SURVIVED    starts; the node of each rank, and the losses that a set survives
    kill WHAT 0           something is killed from here on
    lose NODE 0           its processes and storage are gone
"""
import collections
import dataclasses
import datetime
import json
import os
import sys

import records
from caches import sets_of

COPIES = ("FLUSH_START", "ASYNC_FLUSH_START", "SCAVENGE_START")
FLUSHED = ("FLUSH_SUCCESS", "ASYNC_FLUSH_SUCCESS")


@dataclasses.dataclass(eq=False)
class Dataset:
    name: str
    order: int
    spread: list
    survived: int
    lost: set                 # ranks whose share in cache is lost
    id: int = 0
    wrote: dict = dataclasses.field(default_factory=dict)    # by rank: whether its files are valid
    answers: dict = dataclasses.field(default_factory=dict)  # by rank: what SCR_Complete_output returned
    in_log: bool = False
    flushed: bool = False

    def __str__(self):
        return f"{self.name} (number {self.order})"

    @property
    def written(self):
        return len(self.wrote) == len(self.spread) and all(self.wrote.values())

    @property
    def acknowledged(self):
        return 0 in self.answers.values()

    @property
    def survives(self):
        return all(len(self.lost.intersection(each)) <= self.survived for each in sets_of(self.spread))


class History:
    def __init__(self):
        self.wrong, self.datasets, self.counts = [], [], collections.Counter()
        self.cached = None  # the newest that is in cache for certain, but for losses
        self.run("", 0)

    def complain(self, text):
        self.wrong.append(f"run {self.counts['runs']}: {text}")

    def run(self, nodes, survived):
        self.spread, self.survived = nodes.split(","), survived
        self.killed, self.lost = False, set()
        self.begun, self.offers, self.restarts = {}, collections.defaultdict(list), {}
        self.stored = {d for d in self.datasets if d.flushed}
        self.oldest = self.offered = None
        self.counts["runs"] += bool(nodes)

    def begin(self, name):
        if name not in self.begun:
            self.begun[name] = Dataset(name, len(self.datasets) + 1, self.spread, self.survived, set(self.lost))
            self.datasets.append(self.begun[name])
        return self.begun[name]

    def by_id(self, number):
        return next((d for d in reversed(self.datasets) if d.id == number), None)

    # --- the ledger ---

    def line(self, rank, what, name, value):
        if rank == "-":
            if what == "run":
                self.run(name, value)
            elif what in ("kill", "lose"):
                self.killed = True
                self.lose({r for r, node in enumerate(self.spread) if what == "lose" and node == name})
        else:
            if what not in ("wrote", "read") and value != 0 and not self.killed:
                self.complain(f"rank {rank}: {what} {name}: {value}, and nothing was killed")
            getattr(self, f"take_{what}", lambda *_: None)(int(rank), name, value)

    def lose(self, ranks):
        self.lost |= ranks
        for d in self.datasets:
            d.lost |= ranks

    def take_start(self, _, name, value):
        if value == 0:
            self.begin(name)

    def take_wrote(self, rank, name, value):
        if name in self.begun:
            self.begun[name].wrote[rank] = value

    def take_complete(self, rank, name, value):
        d = self.begin(name)
        self.compare(d.answers, rank, value, f"complete {d}")
        if value == 0 and not d.written:
            self.complain(f"{d} is acknowledged, and not all ranks had written it")
        if value == 0 and (self.cached is None or self.cached.order < d.order):
            self.cached = d
        self.counts["acknowledged"] += len(d.answers) == 1 and value == 0

    def compare(self, answers, rank, value, what):
        answers[rank] = value
        if value != next(iter(answers.values())):
            self.complain(f"{what}: answers of the ranks differ: {answers}")

    def take_offer(self, rank, name, _):
        first = not self.offers
        self.offers[rank].append(name)
        nth = len(self.offers[rank])
        self.compare({r: names[nth - 1] for r, names in self.offers.items() if len(names) >= nth}, rank, name, "offer")
        if first:
            self.judge_offer(name)

    def judge_offer(self, name):
        must = [d for d in self.stored if d.flushed] + [d for d in [self.cached] if d and d.survives]
        self.oldest = max(must, key=lambda d: d.order, default=None)
        self.counts["from scratch" if name == "-" else "offers"] += 1
        if name != "-":
            self.judge(name, [d for d in self.datasets if d.name == name])
        elif self.oldest:
            self.complain(f"nothing is offered, and {self.oldest} must exist")

    def judge(self, name, versions):
        """Which of the versions of a name was offered is not known before it is in the event log."""
        whole = [d for d in versions if d.written and not any(d.answers.values())]
        self.offered = whole[-1] if whole else None
        if not whole:
            self.complain(f"{name} is offered, and not all ranks had written it")
        elif self.oldest and whole[-1].order < self.oldest.order:
            self.complain(f"{whole[-1]} is offered, and {self.oldest} must exist")

    def take_read(self, rank, name, value):
        if not value:
            self.complain(f"rank {rank} got wrong bytes of {name}")

    def take_restart(self, rank, name, value):
        self.compare(self.restarts, rank, value, f"restart {name}")
        if len(self.restarts) == len(self.spread) and not any(self.restarts.values()) and self.offered:
            self.cached = self.offered
            self.cached.lost, self.cached.spread = set(self.lost), self.spread

    # --- the event log ---

    def event(self, e):
        what, number, name = e["event"], e.get("dset", 0), e.get("name", "")
        if what == "CHECKPOINT_START":
            self.begin(name).id = number
        elif what == "CHECKPOINT_END" and "note" not in e:
            self.begin(name).in_log = True
            if not self.begin(name).written:
                self.complain(f"{name} is complete in the event log, and not all ranks had written it")
        elif what in COPIES:
            self.copy(number)
        elif what in FLUSHED or what == "DELETE" and e.get("from") == "prefix":
            d = self.by_id(number)
            if d:
                d.flushed = what in FLUSHED
        elif what == "RESTART_SUCCESS":
            self.judge(name, [d for d in [self.by_id(number)] if d])
            if any(name not in names for names in self.offers.values()):
                self.complain(f"the event log says that {name} was read, and it was not offered")
        if what in FLUSHED or what in ("REBUILD_SUCCESS", "FETCH_SUCCESS"):
            self.counts[what.split("_")[-2].lower()] += 1

    def copy(self, number):
        """From here on an older version with the same files is not complete (P15)."""
        name = getattr(self.by_id(number), "name", None)
        for d in self.datasets:
            d.flushed = d.flushed and (d.name != name or d.id == number)

    # --- the whole ---

    def end(self, index):
        for d in self.datasets:
            if d.answers.get(0) == 0 and not d.in_log:
                self.complain(f"{d} is acknowledged, and not in the event log")
        for number, entry in index.items():
            d = self.by_id(number)
            if entry.complete and not (d and d.written):
                self.complain(f"{entry.name} is complete in the index, and not all ranks had written it")


def check(lines, events, index):
    """The history, with what is wrong; lines as in the ledger, events as in the log, index as records.index gives."""
    history = History()
    steps = []
    for line in lines:
        at, rank, what, name, value = line.split()
        steps.append((float(at), history.line, (rank, what, name, int(value))))
    for e in events:
        steps.append((datetime.datetime.fromisoformat(e["time"]).timestamp(), history.event, (e,)))
    for _, take, words in sorted(steps, key=lambda step: step[0]):
        take(*words)
    history.end(index)
    return history


def check_files(ledger, prefix):
    with open(ledger) as f:
        lines = f.read().splitlines()
    events = []
    for name in ("log.1", "log"):
        path = os.path.join(prefix, ".scr", name)
        if os.path.exists(path):
            with open(path) as f:
                events += map(json.loads, f)
    return check(lines, events, records.index(prefix))


def main(ledger, prefix):
    history = check_files(ledger, prefix)
    print("\n".join(history.wrong + [f"history: {dict(history.counts)}, {len(history.wrong)} wrong"]))
    return history.wrong != []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
