#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flipped bits, in every kind of file that SCR keeps: a start gives each byte that was written, of the newest
checkpoint that has a good copy.

A world has three checkpoints, in cache and on the prefix. Each bit is flipped in this same state: at each offset where
a file's structure can break (header, counts, ends of words, checksums), and at random ones. Then comes what its place
lets matter (SCENARIOS), and a start; what it did is one of

    unused      the newest is given, and nobody minded the byte, which stays as it is
    repaired    the newest is given, and the byte is right again, or its file was written anew
    other copy  the newest is given from the prefix, not from cache
    older       an older one is given, as no good copy of the newest was left
    refused     none is, as there is no good copy of any

WRONG is all else: other bytes than were written; an older checkpoint, or none, though a newer one has a good copy, or
without a warning; ranks that differ; a status.

usage: flips.py --build DIR [--seed N] [--count N] [--worlds N] [--only WORLD[:N]] [--selftest]
"""
import collections
import dataclasses
import os
import random
import re
import subprocess
import sys
import time

import disk
import promises
import trials
import versions
from launcher import HUNG, Hung

SCHEMES = (("XOR", 1), ("RS", 2), ("PARTNER", 1), ("SINGLE", 1))
NODES = (("n1", "n2", "n3", "n4"), ("n1", "n1", "n2", "n3", "n4"), ("n1", "n2", "n3", "n4", "n5"))
STATE_FILES = ("index.scr", "flush.scr", "halt.scr", "identity.scr", "identity.copy.scr",
               "nodes.scr")
BULK = ("cached file", "flushed file", "parity")
MAGIC = bytes.fromhex("951fc3f5")
OUTCOMES = ("unused", "repaired", "other copy", "older", "refused")


@dataclasses.dataclass
class Kept:
    """A checkpoint, and where it is."""
    id: int
    serial: int
    levels: list
    cached: bool
    stored: bool


@dataclasses.dataclass(frozen=True)
class Place:
    """What a byte belongs to. id: of the dataset, 0: of none; node: "": on the prefix."""
    kind: str
    id: int
    node: str


# --- where a bit can be ---

def packed_offsets(data, at):
    """Of counts, and both ends of each word, of a packed hash, scr_hashfile(5); and where it ends."""
    count = int.from_bytes(data[at:at + 4], "big")
    found, at = [at, at + 3], at + 4
    for _ in range(count):
        end = data.index(b"\0", at)
        more, next_at = packed_offsets(data, end + 1)
        found += [at, end, *more]
        at = next_at
    return found, at


def structure(path, data):
    if data[:4] == MAGIC:
        found, end = packed_offsets(data, disk.records.HEADER)
        return [*range(disk.records.HEADER), *found, *range(end, min(end + 4, len(data))),
                *[at for at in (end + 4, len(data) - 1) if end + 4 < len(data)]]
    if path.endswith(".zst"):
        return sorted({*range(min(18, len(data))), *range(max(0, len(data) - 4), len(data))})
    return [0, len(data) - 1]


def header_size(data):
    """Of a redundancy file: parity follows."""
    return int.from_bytes(data[8:16], "big") if data[:4] == MAGIC else 0


def flip(path, at, bit):
    """The byte as it was before."""
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << bit]))


class Flips(trials.World):
    def __init__(self, args, launcher, number):
        rng = random.Random(f"{args.seed} {number}")
        scheme, failures = SCHEMES[number % len(SCHEMES)]
        self.level = versions.Level(scheme, count=rng.choice([-1, 3]), failures=failures)
        self.spread = rng.choice(NODES)
        self.number, self.counts = number, collections.Counter()
        self.settings = {"SCR_FLUSH": rng.choice("12")}
        for p, setting in ((0.3, "SCR_FLUSH_COMPRESS=ZSTD"), (0.12, "SCR_CRC_ON_FLUSH=0"), (0.12, "SCR_CRC_ON_COPY=0"),
                           (0.15, "SCR_PRESERVE_DIRECTORIES=0"), (0.2, "SCR_FLUSH_TYPE=PTHREAD")):
            if rng.random() < p:
                self.settings.update([setting.split("=")])
        if args.selftest: # nothing sums up what is flipped
            self.settings.update(SCR_CRC_ON_COPY="0", SCR_CRC_ON_FLUSH="0")
        words = [f"{k}={v}" for k, v in self.settings.items()]
        level = f"{scheme}:1:cache:{self.level.count}:8:{failures}:0"
        super().__init__(args, launcher, args.seed * 1000 + number, self.spread, ["u", *words, f"level={level}"])
        self.rng = rng

    # --- the state before ---

    def set_up(self):
        shapes = [self.rng.choice([0, 0, 1, 3, 5, 7]) for _ in range(3)]
        steps = "; ".join(f"ckpt={shape}" for shape in shapes)
        seen = self.start(self.spread, f"init; run=scr halt --checkpoints 999; {steps}")
        if self.offered(seen)[1] or len(seen.paths) != len(shapes):
            raise RuntimeError(f"{self.offered(seen)[1]} {self.said()}")
        self.base = trials.State(self.tops())
        index = disk.index(self.case.prefix)
        self.kept = [self.keep(i + 1, path[0], index) for i, path in enumerate(seen.paths)]
        self.base_files = self.files(self.base)
        self.plan = self.walk(self.rng)

    def keep(self, n, id, index):
        ranks = {m[1] for path in self.base.data if (m := re.search(rf"/scr\.dataset\.{id}/rank\.(\d+)/", path))
                 if not path.startswith(self.case.prefix)}
        return Kept(id, self.runs * 1000 + n, [self.level], len(ranks) == len(self.spread),
                    id in index and index[id].complete)

    def belongs(self, path, at=0, data=b""):
        """None: of no interest."""
        if path.startswith(self.case.prefix):
            return self.belongs_on_prefix(os.path.relpath(path, self.case.prefix))
        node, name = re.search(r"/vnode\.(\w+)/", path)[1], os.path.basename(path)
        m = re.search(r"/scr\.dataset\.(\d+)/(\.scr|rank\.\d+)/", path)
        if m and m[2] != ".scr":
            return Place("cached file", int(m[1]), node)
        if m and "_of_" in name:
            return Place("header" if at < header_size(data) else "parity", int(m[1]), node)
        if name.endswith(".scrinfo"):
            return Place("list of filemaps" if name == "filemap.scrinfo" else "filemap", 0, node)
        return None

    def belongs_on_prefix(self, path):
        if path in [f".scr/{name}" for name in STATE_FILES]:
            return Place(path[5:-4], 0, "")
        if m := re.fullmatch(r"\.scr/scr\.dataset\.(\d+)/(summary|rank2file).*", path):
            return Place(m[2], int(m[1]), "")
        if path.startswith(".scr"):
            return None
        if m := re.match(r"scr\.dataset\.(\d+)/", path):
            return Place("flushed file", int(m[1]), "")
        serial = int(path.split("/")[0].rsplit(".", 1)[1])
        return Place("flushed file", next((v.id for v in self.kept if v.serial == serial), 0), "")

    def files(self, state):
        """{kind: [path]}; a redundancy file has two kinds."""
        found = collections.defaultdict(list)
        for path, data in sorted(state.data.items()):
            place = self.belongs(path, 0, data) if data else None
            if place:
                found[place.kind].append(path)
            if place and place.kind == "header" and len(data) > header_size(data):
                found["parity"].append(path)
        return found

    # --- which bits ---

    def walk(self, rng):
        """(kind, path, offset, bit), in an order of chance; None: any. Of a hash file's header all bits, in the first
        world: one says that there is a checksum."""
        plan = []
        for kind, paths in self.base_files.items():
            path = rng.choice(paths)
            data = self.base.data[path]
            for at in structure(path, data):
                if self.belongs(path, at, data).kind == kind:
                    is_head = at < disk.records.HEADER and data[:4] == MAGIC and self.number == 0
                    plan += [(kind, path, at, bit) for bit in (range(8) if is_head else [None])]
            plan += [(kind, None, None, None)] * (300 if kind in BULK else 30)
        rng.shuffle(plan)
        return plan

    def draw(self, rng, kind, path, at, bit):
        path = path or rng.choice(self.base_files[kind])
        data = self.base.data[path]
        low, high = 0, len(data)
        if kind in ("header", "parity"):
            low, high = (0, header_size(data)) if kind == "header" else (header_size(data), high)
        at = rng.randrange(low, high) if at is None else at
        return self.belongs(path, at, data), path, at, rng.randrange(8) if bit is None else bit

    def is_unsummed(self, place):
        """Nothing is promised of a byte that no sum covers."""
        return (self.settings.get("SCR_CRC_ON_FLUSH") == "0" and place.kind == "flushed file" or
                self.settings.get("SCR_CRC_ON_COPY") == "0" and place.kind in ("cached file", "parity")
                ) and not self.args.selftest

    # --- what was promised ---

    def promised(self, flips, gone, kept=None):
        """The newest of self.kept with a good copy; None: there is none."""
        places = [place for place, *_ in flips]
        has_cache = not {"identity", "identity.copy"} <= {p.kind for p in places} # C13: else it is another directory's
        for v in reversed(kept or self.kept):
            hit = {place.node for place in places if place.node and place.id in (0, v.id)}
            if v.cached and has_cache and versions.is_whole(v, self.spread, gone | hit):
                return v
            if v.stored and not any(not place.node and place.id == v.id for place in places):
                return v
        return None

    # --- one trial ---

    def try_one(self, n):
        rng = random.Random(f"{self.args.seed} {self.number} {n}")
        flips = [self.draw(rng, *self.plan[n % len(self.plan)])]
        for _ in range(rng.choice([0, 0, 0, 0, 1, 2])):
            kind = rng.choice(sorted(self.base_files))
            flips.append(self.draw(rng, kind, None, None, None))
        if any(self.is_unsummed(flip[0]) for flip in flips):
            return
        self.begin(self.base, self.spread)
        scenario = self.scenario(rng, flips[0][0])
        flips = flips[:1] if scenario == "flush" else flips
        try:
            got, least, top, wrong = getattr(self, f"do_{scenario}")(rng, flips)
        except Hung:
            got, least, top, wrong = 0, None, None, [HUNG]
        self.counts["bits"] += len(flips)
        self.counts[f"by {scenario}"] += 1
        if least and got < least.serial:
            wrong.append(f"serial {got} given, {least} promised")
        if top and got < top.serial and not re.search("warning: |error: ", self.said()):
            wrong.append(f"serial {got} given, and nothing said of {top}")
        if wrong:
            self.report(n, scenario, flips, wrong)
            self.counts["WRONG"] += 1
        else:
            self.counts[f"{flips[0][0].kind}: {self.outcome(got, top, flips)}"] += 1

    def scenario(self, rng, place):
        if place.node and place.id:
            return rng.choice(["start", "start", "start", "lost", "lost", "ranks", "postrun", "flush"])
        if place.node:
            return rng.choice(["start", "start", "lost", "ranks", "postrun"])
        return rng.choice(["start", "fetch", "fetch", "fetch", "ranks", "postrun"])

    def outcome(self, got, top, flips):
        if got == 0:
            return "refused"
        if got < top.serial:
            return "older"
        if self.was_cached and "fetch" in self.case.seen.phases:
            return "other copy"
        return "unused" if all(self.is_still(*flip[1:]) for flip in flips) else "repaired"

    def is_still(self, path, at, bit):
        before = self.base.data.get(path)
        return before is not None and os.path.exists(path) and \
            trials.read(path) == before[:at] + bytes([before[at] ^ 1 << bit]) + before[at + 1:]

    def report(self, n, scenario, flips, wrong):
        print(f"WRONG: {'; '.join(wrong)}\n    {self.level} {' '.join(self.spread)} {self.settings}, {scenario}")
        for place, path, at, bit in flips:
            print(f"    bit {bit} of byte {at} of {os.path.relpath(path, self.dir)} ({place.kind})")
        print("\n".join(self.told), self.said(), sep="\n", end="")
        print(f"to repeat it: {sys.argv[0]} --build {self.args.build} --seed {self.args.seed} --only {self.number}:{n}",
              flush=True)

    # --- scenarios ---

    def do_start(self, rng, flips):
        """The same nodes, or ranks have moved."""
        if rng.random() < 0.25:
            self.do_turn(1)
        return self.flip_and_start(rng, flips, set())

    def do_lost(self, rng, flips):
        """Fewer nodes than the scheme survives, or as many."""
        most = versions.losses(self.level, self.spread)
        gone = rng.sample(sorted(set(self.spread)), rng.randint(min(1, most), most))
        return self.flip_and_start(rng, flips, set(gone))

    def do_fetch(self, rng, flips):
        return self.flip_and_start(rng, flips, set(self.spread))

    def do_ranks(self, rng, flips):
        """The last rank's node is not there, and the others read all."""
        gone = {self.spread[-1]}
        self.nodes = self.nodes[:-1]
        return self.flip_and_start(rng, flips, gone, lose=False, SCR_RESTART_ANY_RANKS="1")

    def do_postrun(self, rng, flips):
        """A command saves what a job has left only in its caches, and is newer than what the prefix has."""
        self.flip_all(flips)
        self.do_scr(0, "a", "postrun")
        newest = max(v.serial for v in self.kept if v.stored)
        saved = [dataclasses.replace(v, cached=v.cached and v.serial > newest) for v in self.kept]
        least, top = self.promised(flips, set(), saved), self.promised([], set(), saved)
        self.lose(set(self.spread))
        return self.restart(rng, least, top)

    def do_flush(self, rng, flips):
        """The byte changes between SCR_Complete_output and the flush of SCR_Finalize."""
        place, path, at, bit = flips[0]
        fresh = self.kept[-1].id + 1
        path = re.sub(rf"/scr\.dataset\.{place.id}/", f"/scr.dataset.{fresh}/", path)
        steps = f"init; restart; ckpt=0; run=scr --flip {path} {at} {bit}; finalize"
        seen = self.start(self.spread, steps, SCR_FLUSH="9", TEST_SCR=os.path.abspath(__file__))
        wrong = self.offered(seen)[1]
        new = Kept(fresh, self.runs * 1000 + 1, [self.level], True, False)
        new.stored = disk.index(self.case.prefix)[fresh].complete
        if not new.stored and versions.is_whole(new, self.spread, {place.node}):
            wrong.append("the flush did not rebuild what was damaged")
        self.lose(set(self.spread))
        least = new if new.stored else self.promised([], set(self.spread))
        got, _, _, more = self.restart(rng, least, new, SCR_HALT_ENABLED="0")
        return got, least, new, wrong + more

    def flip_all(self, flips):
        for _, path, at, bit in flips:
            flip(path, at, bit)

    def lose(self, gone):
        for n, node in enumerate(sorted(gone)):
            self.do_lose(node, f"s{n}")

    def flip_and_start(self, rng, flips, gone, lose=True, **env):
        self.flip_all(flips)
        if lose:
            self.lose(gone)
        return self.restart(rng, self.promised(flips, gone), self.promised([], gone), **env)

    def restart(self, rng, least, top, **env):
        if rng.random() < 0.3:
            env[rng.choice(["SCR_FETCH_BYPASS", "SCR_GLOBAL_RESTART", "SCR_FLUSH_ON_RESTART"])] = "1"
        has_cache = any(os.path.isdir(self.path("cache", f"vnode.{node}")) for node in self.nodes)
        self.was_cached = top and top.cached and has_cache
        is_in_place = "SCR_FETCH_BYPASS" in env or "SCR_RESTART_ANY_RANKS" in env
        got, wrong = self.offered(self.start(self.nodes, "init; restart", **env), is_in_place)
        return got, least, top, wrong


# --- many ---

def work(args, launcher, job):
    number, trials_of = job
    world = Flips(args, launcher, number)
    try:
        world.set_up()
        for n in trials_of or range(len(world.plan)):
            if args.until and time.time() > args.until:
                break
            world.try_one(n)
        world.counts["worlds"] += 1
        return world.counts
    finally:
        world.end()


def jobs_of(args):
    number, _, n = args.only.partition(":")
    each = -(-args.count // args.worlds) # 0: every bit of the plan
    return [(world, [int(n)] if n else range(each)) for world in range(args.worlds) if number in ("", str(world))]


def main():
    if sys.argv[1:2] == ["--flip"]: # as a step of a run
        path, at, bit = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        flip(path, at % os.path.getsize(path), bit)
        return 0
    args, start = trials.options(__doc__, count=0, worlds=4), time.time()
    counts = trials.run_all(args, work, jobs_of(args))
    sums = trials.table(counts)
    print("; ".join(f"{name} {n}" for name, n in sorted(counts.items()) if name.startswith("by ")))
    tried = sum(sums[name] for name in OUTCOMES) + counts["WRONG"]
    print(f"flips: seed {args.seed}, {counts['worlds']} worlds, {counts['bits']} bits in {tried} starts: " +
          ", ".join(f"{sums[name]} {name}" for name in OUTCOMES) +
          f", {counts['WRONG']} wrong, {time.time() - start:.0f} s")
    return (counts["WRONG"] == 0) == args.selftest


if __name__ == "__main__":
    sys.exit(main())
