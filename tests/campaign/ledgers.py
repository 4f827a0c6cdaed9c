# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a run, and the ledgers in which its ranks noted what came of them."""
import collections
import itertools
import os

DEADLY, UNNOTICED = ("before", "after"), ("EINTR", "short", "trace", "lie+") # of what strikes a call


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
