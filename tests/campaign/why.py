#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scr why says a run begins with, and what the run then begins with, in a table with the right answers.

Ranks on four virtual nodes, one each, have written dataset 1, which is on the prefix, and dataset 2. Then 0 to 4 nodes
are lost. An answer is a dataset and where it comes from: c: a cache, p: the prefix directory; -: there is none.

usage: why.py --build DIR [--only WORD]
"""
import re
import sys

import disk
import trials
from launcher import Launcher

NODES = ["n1", "n2", "n3", "n4"]
# both: dataset 2 is on the prefix, too. spare: other nodes take the place of those that are lost, whose caches are
# removed; away: … and stay. damaged: a file of n4 is. fewer: the run has three ranks, on the first three nodes.
CASES = """
                                     SINGLE:1   2c 1p 1p 1p 1p
                                     PARTNER:1  2c 2c 1p 1p 1p
                                     XOR:1      2c 2c 1p 1p 1p
                                     RS:2       2c 2c 2c 1p 1p
both                                 SINGLE:1   2c 2p 2p 2p 2p
both                                 PARTNER:1  2c 2c 2p 2p 2p
both                                 XOR:1      2c 2c 2p 2p 2p
both                                 RS:2       2c 2c 2c 2p 2p
SCR_FETCH=0                          SINGLE:1   2c -  -  -  -
SCR_FETCH=0                          PARTNER:1  2c 2c -  -  -
SCR_FETCH=0                          XOR:1      2c 2c -  -  -
SCR_FETCH=0                          RS:2       2c 2c 2c -  -
damaged                              SINGLE:1   1p 1p 1p 1p 1p
damaged                              PARTNER:1  2c 1p 1p 1p 1p
damaged                              XOR:1      2c 1p 1p 1p 1p
damaged                              RS:2       2c 2c 1p 1p 1p
damaged both                         XOR:1      2c 2p 2p 2p 2p
spare                                XOR:1      2c 2c 1p 1p 1p
spare                                RS:2       2c 2c 2c 1p 1p
away                                 SINGLE:1   2c 1p 1p 1p 1p
away                                 XOR:1      2c 2c 1p 1p 1p
away                                 RS:2       2c 2c 2c 1p 1p
away both                            XOR:1      2c 2c 2p 2p 2p
away SCR_FETCH=0                     XOR:1      2c 2c -  -  -
fewer                                XOR:1      -  -  -  -  -
fewer SCR_RESTART_ANY_RANKS=1        SINGLE:1   1p 1p 1p 1p 1p
fewer SCR_RESTART_ANY_RANKS=1        XOR:1      2c 1p 1p 1p 1p
fewer SCR_RESTART_ANY_RANKS=1        RS:2       2c 2c 1p 1p 1p
"""


class Asked(trials.World):
    """Answers to one question."""

    def __init__(self, args, launcher, scheme):
        name, failures = scheme.split(":")
        super().__init__(args, launcher, 1, NODES, ["u", f"level={name}:1:cache:-1:8:{failures}:0"])

    def set_up(self, is_on_both):
        self.start(NODES, "init; ckpt=0", SCR_FLUSH="1")
        self.start(NODES, "init; restart; ckpt=0", SCR_FLUSH="1" if is_on_both else "0")
        self.state = trials.State(self.tops())

    def lose(self, words, count):
        """The nodes of the next run."""
        self.begin(self.state, NODES)
        for node in NODES[:count]:
            if "away" in words:
                self.do_away(node, f"s{node}")
            else:
                self.do_lose(node, f"s{node}" if "spare" in words else "")
        if "damaged" in words and count < 4:
            self.do_damage("n4")
        return self.nodes[:3] if "fewer" in words else self.nodes

    def said(self, nodes, env):
        text = self.why(self.case, "a", nodes, env)
        found = re.search(r"^a restart takes dataset (\d) \(.*\) from (c|the p)\w+( directory)?$", text, re.M)
        is_none = re.search(r"^a restart finds nothing$", text, re.M)
        return f"{found[1]}{found[2][-1]}" if found else "-" if is_none else text

    def begun(self, nodes, env):
        """Of a different number of ranks what is in cache is copied to the prefix directory first."""
        index = disk.index(self.case.prefix)
        seen = self.start(nodes, "init; restart", SCR_QUIET="0", **env)
        found = re.search(r"; restart from ckpt\.(\d+) (in|fetched|on) ", super().said())
        id = {0: 0, 1001: 1, 2001: 2}[self.offered(seen)[0]]
        if not found or not id:
            return "-" if not found and not id else "one offer, and another line"
        is_in_cache = found[2] == "in" or found[2] == "on" and not (id in index and index[id].complete)
        return f"{id}{'c' if is_in_cache else 'p'}" if int(found[1]) == 1000 * id + 1 else found[0]


def check_row(args, launcher, row):
    """How many answers are wrong."""
    *words, scheme = row.split()[:-5]
    env, wrong = dict(word.split("=") for word in words if "=" in word), 0
    asked = Asked(args, launcher, scheme)
    asked.set_up("both" in words)
    for lost, right in enumerate(row.split()[-5:]):
        nodes = asked.lose(words, lost)
        said, begun = asked.said(nodes, env), asked.begun(nodes, env)
        if not said == begun == right:
            wrong += 1
            print(f"WRONG: {' '.join(row.split()[:-5])}, {lost} lost: {right} is right, said: {said}, begun: {begun}")
    asked.end()
    return wrong


def main():
    args = trials.options(__doc__)
    launcher, rows = Launcher(args), [row for row in CASES.strip("\n").split("\n") if args.only in row]
    wrong = sum(check_row(args, launcher, row) for row in rows)
    launcher.end()
    print(f"why: {5 * len(rows)} cases, {wrong} wrong")
    return wrong > 0 or not rows


if __name__ == "__main__":
    sys.exit(main())
