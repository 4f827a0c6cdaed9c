#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""history.py finds nothing wrong in a good history, and in a forged one, with one rule broken, what is."""
import datetime
import sys

import history
from records import Entry

# Two ranks; what a set survives is one loss. b is only in cache when node m is lost, and rebuilt.
GOOD = """\
- run n,m 1
0 init - 0
1 init - 0
0 offer - 0
1 offer - 0
0 start a 0
event CHECKPOINT_START 1 a
1 start a 0
0 wrote a 1
1 wrote a 1
event CHECKPOINT_END 1 a
event FLUSH_START 1 a
event FLUSH_SUCCESS 1 a
0 complete a 0
1 complete a 0
1 start b 0
0 start b 0
event CHECKPOINT_START 2 b
1 wrote b 1
0 wrote b 1
event CHECKPOINT_END 2 b
0 complete b 0
1 complete b 0
- kill ranks.1 0
- lose m 0
- run n,s 1
0 init - 0
1 init - 0
0 offer b 0
1 offer b 0
0 read b 1
1 read b 1
event RESTART_SUCCESS 2 b
0 restart b 0
1 restart b 0
0 start c 0
1 start c 0
event CHECKPOINT_START 3 c
0 wrote c 1
- kill ranks.0,1 0
- run n,s 1
0 offer b 0
1 offer b 0
"""
INDEX = {1: Entry("a", "j", True, True)}
LATE = GOOD.index("- run n,s 1")

# What is found, and what is replaced by what, everywhere or in the second half.
FORGED = (
    ("acknowledged, and not all ranks had written it", "1 wrote a 1\n", "1 wrote a 0\n", 0),
    ("acknowledged, and not all ranks had written it", "0 wrote b 1\n", "", 0),
    ("answers of the ranks differ", "- kill ranks.1 0\n", "- kill ranks.1 0\n1 complete b 9\n", 0),
    ("complete a: 9, and nothing was killed", "1 complete a 0\n", "1 complete a 9\n", 0),
    ("acknowledged, and not in the event log", "event CHECKPOINT_END 2 b\n", "", 0),
    ("complete in the event log, and not all ranks had written it", "0 wrote c 1\n",
     "0 wrote c 1\nevent CHECKPOINT_END 3 c\n", 0),
    ("is offered, and not all ranks had written it", "offer b", "offer c", GOOD.rindex("- run")),
    ("is offered, and not all ranks had written it", "offer b", "offer x", LATE),
    ("is offered, and b (number 2) must exist", "offer b", "offer a", LATE),
    ("nothing is offered, and b", "offer b", "offer -", LATE),
    ("offer: answers of the ranks differ", "1 offer b", "1 offer a", LATE),
    ("rank 1 got wrong bytes of b", "1 read b 1", "1 read b 0", LATE),
    ("restart b: answers of the ranks differ", "1 restart b 0", "1 restart b 5", LATE),
    ("it was not offered", "event RESTART_SUCCESS 2 b", "event RESTART_SUCCESS 1 a", LATE),
)
# Losses that make an answer right that would be wrong without them: what is put where, and replaced after that.
LAST = GOOD.rindex("- run n,s 1")
LOST = "- lose n 0\n- lose s 0\n"
ALLOWED = (
    ("two losses, and a is on the prefix", GOOD.index("- lose m"), "- lose n 0\n",
     {" b 0\n": " a 0\n", " b 1\n": " a 1\n", "SUCCESS 2 b": "SUCCESS 1 a"}),
    ("two losses after the restart", LAST, LOST, {"offer b": "offer a"}),
    ("a is deleted, and b lost", LAST, f"event DELETE 1 a\n{LOST}", {"offer b": "offer -"}),
    ("a is being replaced, and b lost", LAST,
     f"- run n,s 1\n0 start a 0\nevent CHECKPOINT_START 4 a\nevent FLUSH_START 4 a\n{LOST}", {"offer b": "offer -"}),
)


def check(text, index):
    """A line a second."""
    lines, events = [], []
    for at, line in enumerate(text.splitlines()):
        words = line.split()
        if words[0] == "event":
            time = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat()
            events.append({"time": time, "event": words[1], "dset": int(words[2]), "name": words[3],
                           "from": "prefix"})
        else:
            lines.append(f"{at} {line}")
    return history.check(lines, events, index).wrong


def main():
    failed = [f"good: {wrong}" for wrong in check(GOOD, INDEX)]
    for expected, old, new, start in FORGED:
        wrong = check(GOOD[:start] + GOOD[start:].replace(old, new), INDEX)
        failed += [f"not found: {expected}: {wrong}"] * (not any(expected in text for text in wrong))
    for what, start, more, changes in ALLOWED:
        rest = GOOD[start:]
        for old, new in changes.items():
            rest = rest.replace(old, new)
        failed += [f"allowed: {what}: {wrong}" for wrong in check(GOOD[:start] + more + rest, INDEX)]
    wrong = check(GOOD, {**INDEX, 3: Entry("c", "j", True, True)})
    failed += ["not found: an incomplete dataset in the index"] * (len(wrong) != 1)
    print("\n".join(failed + [f"{len(FORGED) + 1} forged histories, {len(ALLOWED)} with losses: {len(failed)} wrong"]))
    return failed != []


sys.exit(main())
