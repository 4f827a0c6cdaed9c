#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every subset of 2 to 8 nodes is lost, in every phase, under every scheme: what the scheme can rebuild is rebuilt,
from the caches alone; of the rest all ranks are refused, and get the checkpoint that the prefix has.

A checkpoint is in cache and on the prefix, the next one is under way or only in cache:

    before    all ranks die while it is written, at a drawn change of a file by a drawn rank
    encode    … while its redundancy is made
    flush     … while it is copied to the prefix
    after     it was complete, and in no place but the caches
    rebuild   after, but a part of the nodes is lost first, and the others when a drawn change of the start that
              rebuilds is not made, and with them nodes that had taken the place of some

Lost nodes come back empty, or spares take their place, and ranks may move. Worlds are even, a rank a node, or uneven
with several sets.

usage: losses.py --build DIR [--seed N] [--most NODES] [--only SCHEME:NODES:UNEVEN[:PHASE:SUBSET]] [--selftest]
"""
import collections
import os
import random
import sys
import time

import disk
import trials
import versions
from launcher import HUNG, Hung

UNEVEN = (("XOR", 1), ("RS", 2), ("PARTNER", 1))
EVEN = (*UNEVEN, ("PARTNER", 2), ("SINGLE", 1))
PHASES = ("before", "encode", "flush", "after", "rebuild")
STATES, TRIES = 3, 40 # of a phase, and runs to find them
CHANGES = 36, 70      # of files until a rebuild is done, about
NONE = disk.records.Entry("", "", False, False)


class Losses(trials.World):
    def __init__(self, args, launcher, world):
        (scheme, failures), count, uneven = world
        self.rng = random.Random(f"{args.seed} {world}")
        each = [self.rng.choice([1, 1, 2] if count > 5 else [1, 2, 3]) if uneven else 1 for _ in range(count)]
        self.spread = [f"n{i + 1}" for i in range(count) for _ in range(each[i])][:16]
        self.level = versions.Level(scheme, failures=failures, set_size=self.rng.choice([3, 4, 8]) if uneven else 8)
        self.levels, self.ranks, self.names = [self.level], len(self.spread), sorted(set(self.spread))
        self.world, self.counts = world, collections.Counter()
        words = f"u level={scheme}:1:cache:-1:{self.level.set_size}:{failures}:0"
        super().__init__(args, launcher, args.seed, self.spread, words.split())

    # --- states ---

    def set_up(self):
        """first: before the second checkpoint. states: (state, serial of the second one) of each phase."""
        self.good(self.start(self.spread, "init; ckpt=0", SCR_FLUSH="1"))
        self.first, self.first_serial = trials.State(self.tops()), self.serial(1)
        self.good(self.start(self.spread, "init; restart; ckpt=0", SCR_FLUSH="0"))
        self.states = collections.defaultdict(list, after=[(trials.State(self.tops()), self.serial(1))])
        changes = 100
        for _ in range(TRIES):
            if all(len(self.states[phase]) >= STATES for phase in PHASES[:3]):
                break
            self.first.go_back()
            victim, at = self.rng.randrange(self.ranks), self.rng.randint(1, changes)
            seen = self.start(self.spread, f"init; restart; die={victim}:{at}; ckpt=0", SCR_FLUSH="1")
            phase = {"checkpoint": "before"}.get(seen.phases[-1], seen.phases[-1])
            if not seen.died:
                changes = max(at - 1, 10)
            elif len(self.states[phase]) < STATES:
                self.states[phase].append((trials.State(self.tops()), self.serial(1)))

    def serial(self, n):
        return self.runs * 1000 + n

    def good(self, seen):
        if self.offered(seen)[1]:
            raise RuntimeError(f"{self.offered(seen)[1]} {self.said()}")

    # --- one subset, in one phase ---

    def try_one(self, phase, subset):
        self.rng = random.Random(f"{self.args.seed} {self.world} {phase} {subset}")
        lost = {name for i, name in enumerate(self.names) if subset >> i & 1}
        if not self.states["after" if phase == "rebuild" else phase]:
            self.counts[f"{phase}: no state"] += 1
            return
        state, second = self.rng.choice(self.states["after" if phase == "rebuild" else phase])
        self.begin(state, self.spread)
        can = self.can(lost)
        try:
            if phase == "rebuild":
                phase, can = self.lose_twice(state, lost)
            else:
                self.lose(lost)
            wrong = self.check(phase, can, second)
        except Hung:
            wrong = [HUNG]
        self.counts["WRONG" if wrong else f"{phase}: {can}"] += 1
        if wrong:
            self.report(phase, subset, lost, can, wrong)

    def can(self, lost):
        return "rebuilt" if versions.is_whole(self, self.spread, lost) else "refused"

    def lose(self, lost, sign="s"):
        for n, node in enumerate(sorted(lost)):
            self.do_lose(node, self.rng.choice(["", f"{sign}{n}"]))
        if self.rng.random() < 0.3:
            self.do_turn(self.rng.randint(1, 2))

    def lose_twice(self, state, lost):
        """The phase in which the second ones were lost, and what can be done."""
        first = set(self.rng.sample(sorted(lost), self.rng.randint(min(1, len(lost)), len(lost))))
        while len(first) > 1 and self.can(first) == "refused":
            first.pop()
        victims = [r for r in range(self.ranks) if self.spread[r] in first] or [0]
        for _ in range(4 if first and self.can(first) == "rebuilt" else 1):
            self.begin(state, self.spread)
            self.lose(first, "t")
            victim, at = self.rng.choice(victims), self.rng.randint(*CHANGES)
            seen = self.start(self.nodes, f"die={victim}:{at}; init", SCR_FETCH="0")
            phase = "rebuild" if seen.died and "rebuild" in seen.phases else "rebuild, earlier or later"
            if phase == "rebuild":
                break
        return phase, self.lose_more(first, lost)

    def lose_more(self, first, lost):
        between = list(self.nodes)
        also = {node for node in set(between) - set(self.spread) if self.rng.random() < 0.3}
        second = (lost - first) & set(between) | also
        self.lose(second, "u")
        again = {self.spread[r] for r in range(self.ranks) if between[r] in second}
        some = {self.can(lost)}
        if self.can(first) == "rebuilt": # the start was done, or not, or files were in both places
            some |= {self.can(again), self.can(lost & again)}
        return some.pop() if len(some) == 1 else "either"

    # --- what must be ---

    def check(self, phase, can, second):
        """What is wrong."""
        stored = {second} if disk.index(self.case.prefix).get(2, NONE).complete else {self.first_serial}
        cached = {"before": {self.first_serial}, "encode": {self.first_serial, second},
                  "flush": {self.first_serial, second}}.get(phase, {second})
        wrong = []
        if can == "rebuilt":
            wrong += self.restart(cached, SCR_FETCH="0")
        elif can == "refused":
            if self.rng.random() < 0.15:
                wrong += self.restart({0}, SCR_FETCH="0")
            wrong += self.restart(stored)
        else:
            wrong += self.restart(cached | stored)
        return wrong

    def restart(self, may, **env):
        got, wrong = self.offered(self.start(self.nodes, "init; restart", **env))
        return wrong + [f"serial {got} given, not of {may} {env}"] * (got not in may)

    def report(self, phase, subset, lost, can, wrong):
        print(f"WRONG: {'; '.join(wrong)}\n    {self.level} {' '.join(self.spread)}, {phase}, lost: "
              f"{' '.join(sorted(lost))}, which can be {can}; ranks are on {' '.join(self.nodes)}")
        print("\n".join(self.told), self.said(), sep="\n", end="")
        (scheme, failures), count, uneven = self.world
        print(f"to repeat it: {sys.argv[0]} --build {self.args.build} --seed {self.args.seed} "
              f"--only {scheme}{failures}:{count}:{uneven}:{phase.split(',')[0]}:{subset}", flush=True)


# --- many ---

def work(args, launcher, job):
    world, only = job
    one = Losses(args, launcher, world)
    try:
        one.set_up()
        for subset in range(1 << world[1]):
            for phase in PHASES:
                if (not only or only == [phase, str(subset)]) and not (args.until and time.time() > args.until):
                    one.try_one(phase, subset)
        one.counts["worlds"] += 1
        return one.counts
    finally:
        one.end()


def jobs_of(args):
    worlds = [(scheme, count, uneven) for count in range(2, args.most + 1) for uneven in (0, 1)
              for scheme in (EVEN, UNEVEN)[uneven] if scheme[1] < count]
    only = args.only.split(":") if args.only else []
    return [(world, only[3:]) for world in worlds
            if not only or [f"{world[0][0]}{world[0][1]}", str(world[1]), str(world[2])] == only[:3]]


def main():
    args, start = trials.options(__doc__, most=8), time.time()
    versions.EXTRA_LOSSES = int(args.selftest)
    counts = trials.run_all(args, work, jobs_of(args))
    sums = trials.table(counts)
    tried = sum(sums[name] for name in ("rebuilt", "refused", "either")) + counts["WRONG"]
    print(f"losses: seed {args.seed}, {counts['worlds']} worlds of 2 to {args.most} nodes, {tried} losses: "
          f"{sums['rebuilt']} rebuilt of those that can be, {sums['refused']} refused of those that cannot, "
          f"{sums['either']} either, {counts['WRONG']} wrong, {time.time() - start:.0f} s")
    return (counts["WRONG"] == 0) == args.selftest


if __name__ == "__main__":
    sys.exit(main())
